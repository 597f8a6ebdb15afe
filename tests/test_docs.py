"""What the documents show works as shown."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Language, flags and text of every block of code that is to be run."""
    found = [(lang, flags.strip(), text) for lang, flags, text in BLOCK.findall(page.read_text())]
    return [b for b in found if b[0] == "python" or (b[0] == "sh" and b[1] == "run")]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks_of(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_snippets_run(page, tmp_path):
    """
    Every Python block, and every shell block marked `run`, works in the order of the page.

    A Python block whose first line is `# name.py` is that file. Shell blocks find the examples.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for lang, _, text in blocks_of(page):
        name = re.match(r"# (\w+\.py)\n", text)
        if name:
            (tmp_path / name[1]).write_text(text)
            continue
        commands = (
            [[sys.executable, "-c", text]]
            if lang == "python"
            else [shlex.split(line, comments=True) for line in text.splitlines() if line.strip()]
        )
        for command in commands:
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file that is there."""
    for target in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
