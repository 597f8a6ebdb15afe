"""What the tests of pages share: a small world, its tables, and what a browser has seen."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fedroam.runs import read_rounds, read_users
from fedroam.runs.tables import write_table

WORLD = {
    "name": "roaming",
    "stop": {"rounds": 12},
    "world": {"users": 15, "stations": 3},
    "mobility": {"name": "random-direction", "speed_m_s": 40.0},
    "fairness": {"rho1": 0.3},
}
LEARNING = {
    "dataset": "synthetic",
    "model": "mlp",
    "local": {"local_epochs": 1},
    "train_fraction": 0.2,
    "test_fraction": 0.2,
}

CHROMIUM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--no-sandbox",  # the tests may be run by root, and open nothing but their own files
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[object]:
    """Headless Chromium, of the name in CHROMIUM or on the PATH."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert found, "no Chromium on the PATH; `make browser` installs Debian's"
    with sync_playwright() as playwright:
        headless = playwright.chromium.launch(executable_path=found, args=[*FLAGS])
        yield headless
        headless.close()


def table_of(run: Path) -> list[dict]:
    """The round table, as rows."""
    return read_rounds(run).to_pylist()


def same(a, b):
    """Equal, or both unknown."""
    return a == b or (np.isnan(a) and np.isnan(b))


def unfinished(whole: Path, folder: Path, rounds: range) -> None:
    """Add these rounds of a whole run to one that is still going on: its rows lie in parts."""
    n_users = WORLD["world"]["users"]
    for name, table, rows in (
        ("users", read_users(whole), n_users),
        ("rounds", read_rounds(whole), 1),
    ):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for first in rounds[::3]:
            n = min(3, rounds.stop - first) * rows
            write_table(table.slice(first * rows, n), folder / name / f"{first:08d}.parquet")
    shutil.copy(whole / "config.toml", folder)


@dataclass
class Seen:
    """A page, and what it said and asked for while it was open."""

    page: object
    said: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def fact(self, name, run=0):
        """A figure of the present round, to its last digit."""
        shown = self.page.locator(".card").nth(run).locator(f"[data-fact={name}]")
        return shown.get_attribute("data-value")

    def facts(self, run=0):
        """The figures that the round table has too."""
        names = ("round", "length", "bound", "chosen", "required", "straggler", "accuracy")
        cards = self.page.locator(".card").nth(run)
        return {
            n: float(self.fact(n, run)) for n in names if cards.locator(f"[data-fact={n}]").count()
        }

    def at(self, part):
        """Scrub: move the slider to this part of the whole time."""
        self.page.evaluate(
            """part => { const time = document.getElementById("time");
                time.value = part * time.max;
                time.dispatchEvent(new Event("input")); }""",
            part,
        )
        self.settle()

    def settle(self):
        """Until the picture is up to date."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def until(self, holds, within_s=20.0):
        """Wait for something to become true (the page's own rules forbid it to wait itself)."""
        deadline_s = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline_s, "it has not come true"
            self.page.wait_for_timeout(20)

    @property
    def clock(self):
        """What the clock shows, in seconds."""
        return float(self.page.locator("#clock").inner_text().split()[0])

    @property
    def tip(self):
        """What is said where the pointer is."""
        return self.page.locator("#tip").inner_text()
