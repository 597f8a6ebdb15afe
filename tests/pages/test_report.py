"""Reports: the figures of the files, in one page that runs nothing and asks for nothing."""

import json
import re
import shutil
from html import unescape

import numpy as np
import pytest

from fedroam.runs import RunFolder, parse, play
from looking import WORLD, table_of, unfinished

EVIL = "</script><img src=x onerror=alert(1)><b>'\"&"
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.S)


def reported(fedroam, folder, tmp_path):
    """The report's page and text."""
    done = fedroam("report", folder, "--out", tmp_path / "r.html", "--no-open", "--json")
    assert done.code == 0, done.err
    page = tmp_path / "r.html"
    assert json.loads(done.out) == {"page": str(page), "bytes": page.stat().st_size}
    return page, page.read_text()


def rows_of(text):
    """All table rows, as lists of texts."""
    return [[unescape(c) for c in CELL.findall(row)] for row in text.split("<tr>")[1:]]


def inspect(look, page, scheme):
    """Open it without scripts; how many images there are, and how many of them can be seen."""
    with look(page, moment="", scheme=scheme, ready="main") as seen:
        images = "() => [...document.images].filter(i => i.complete && i.naturalWidth > 100).length"
        seen.until(lambda: seen.page.evaluate(images) == seen.page.locator("img").count())
        assert seen.page.evaluate("document.scripts.length") == 0
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 1280
        return seen.page.locator("img").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_is_reported(fedroam, look, learns, tmp_path, scheme):
    """Figures of its summary, a table of its rounds and stations, four drawings, the command."""
    page, text = reported(fedroam, learns, tmp_path)
    summary, rows = json.loads((learns / "summary.json").read_text()), rows_of(text)
    table = table_of(learns)

    assert ["mean round s", f"{summary['mean_round_s']:.5g}"] in rows
    assert summary["rounds_sha256"] in text
    assert summary["weights_sha256"] in text
    for row in table:
        cells = next(c for c in rows if c[0] == str(row["round"]) and len(c) == 10)
        assert cells[2] == f"{row['length_s']:.5g}"
        assert cells[4] == str(row["n_selected"])
    assert f"fedroam run {learns}/config.toml" in unescape(text)
    assert inspect(look, page, scheme) == 4


def test_a_comparison_is_reported(fedroam, look, tmp_path):
    """Sentences, means, every run, paired differences, and the drawings of the comparison."""
    (tmp_path / "small.toml").write_text("stop.rounds = 4\nworld = { users = 9, stations = 3 }\n")
    options = ["-p", "random", "-p", "all", "--seeds", 3, "--workers", 1, "--out", "cmp", "--json"]
    found = json.loads(fedroam("compare", "small.toml", *options).out)
    page, text = reported(fedroam, "cmp", tmp_path)
    rows = rows_of(text)

    assert all(sentence in unescape(text) for sentence in found["sentences"])
    mean = found["policies"]["all"]["mean_round_s"]["mean"]
    assert next(c for c in rows if c[0] == "mean round, s")[2].startswith(f"{mean:.4g} ± ")
    assert len([c for c in rows if c[0] in ("random", "all")]) >= 2 * 3
    assert f"numpy {np.__version__}" in text
    assert inspect(look, page, "light") >= 3


def test_names_are_text(fedroam, look, tmp_path):
    """Markup in a name is shown, not obeyed."""
    play(parse(WORLD | {"name": EVIL, "stop": {"rounds": 2}}), tmp_path / "evil")
    page, text = reported(fedroam, tmp_path / "evil", tmp_path)

    assert "<b>" not in text
    with look(page, moment="", ready="main") as seen:
        assert seen.page.locator("h1").evaluate("e => e.textContent") == EVIL


def test_unfinished_and_coarse_runs_are_reported_as_far_as_they_go(fedroam, learns, tmp_path):
    """So many rounds so far; without user detail the same but for who was where; none at all."""
    unfinished(learns, tmp_path / "half", range(5))
    text = reported(fedroam, tmp_path / "half", tmp_path)[1]
    assert "unfinished: 5 rounds so far" in text
    assert ["rounds", "5"] in rows_of(text)
    play(parse(WORLD | {"record": {"detail": False}}), tmp_path / "coarse")
    assert reported(fedroam, tmp_path / "coarse", tmp_path)[1].count("<img") == 3
    RunFolder(tmp_path / "new").begin(parse(WORLD))
    assert "No rounds yet." in reported(fedroam, tmp_path / "new", tmp_path)[1]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: shutil.rmtree(f), "there is no folder"),
        (lambda f: (f / "config.toml").unlink(), "no config.toml in it"),
        (lambda f: (f / "summary.json").write_text("{"), "no readable summary.json"),
        (lambda f: (f / "rounds.parquet").write_bytes(b""), "readable table of rounds"),
        (
            lambda f: ((f / "config.toml").unlink(), (f / "compare.toml").write_text("")),
            "holds no table comparison",
        ),
    ],
    ids=["gone", "no settings", "summary", "rounds", "no tables"],
)
def test_damaged_folders_are_one_line_exit_2(fedroam, learns, tmp_path, spoil, message):
    """What is wrong, no traceback, no page."""
    shutil.copytree(learns, tmp_path / "bad")
    spoil(tmp_path / "bad")

    done = fedroam("report", "bad", "--no-open")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "bad/report.html").exists()
