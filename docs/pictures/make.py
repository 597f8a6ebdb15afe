"""
Make the pictures of the README and of docs/see.md: play the run, write the page, look at it.

    python docs/pictures/make.py [FOLDER]     FOLDER: where the comparison is kept or found

Plays two policies for 15 simulated seconds of the demo's setting (a minute or two of computing),
with a bound for every round, and photographs the page of `fedroam view` in headless Chromium. Needs
what the tests need (`make browser`, the extra `dev`).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from looking import browser

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

POLICIES = ("certified", "random")
SETTINGS = ROOT / "examples" / "paper_mnist.toml"
SETS = (
    "stop.time_s=15",
    "evaluation.every_s=0.5",
    "train_fraction=0.1",
    "test_fraction=0.3",
    "local_epochs=5",
    "lr=0.05",
    "certify=prices",
)
AT = "#t=7.74"
"""A moment in the midst of a round, for both."""

PICTURES = {
    # name: runs, width, height, colours, pixels to a css pixel
    "side-by-side-dark": (POLICIES, 1440, 860, "dark", 1),
    "side-by-side-light": (POLICIES, 1440, 860, "light", 1),
    "one-run": (POLICIES[1:], 1440, 900, "light", 1),
    "phone": (POLICIES[1:], 390, 844, "dark", 1.5),
}


def main() -> None:
    """Play, write the pages, photograph them."""
    with tempfile.TemporaryDirectory() as home:
        runs = Path(sys.argv[1] if len(sys.argv) > 1 else home)
        sets = [word for assignment in SETS for word in ("--set", assignment)]
        policies = [word for policy in POLICIES for word in ("-p", policy)]
        fedroam("compare", SETTINGS, *policies, "--seeds", 1, *sets, "--out", runs)
        with browser() as chromium:
            for name, (shown, width, height, scheme, scale) in PICTURES.items():
                page = Path(home) / f"{name}.html"
                folders = [runs / policy / "seed-0" for policy in shown]
                fedroam("view", *folders, "--out", page, "--no-open")
                context = chromium.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    device_scale_factor=scale,
                )
                tab = context.new_page()
                tab.goto(page.as_uri() + AT)
                tab.wait_for_selector("html[data-ready]")
                tab.wait_for_timeout(200)
                tab.screenshot(path=HERE / f"{name}.png")
                context.close()


def fedroam(*arguments: object) -> None:
    """Call the command line."""
    subprocess.run([sys.executable, "-m", "fedroam", *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
