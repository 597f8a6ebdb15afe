"""
The replay page in headless Chromium: its size, its first picture, its frames while it plays.

    python benchmarks/pages.py [--quick]

Runs of 200 rounds without training, with all user detail and bounds, written as by `fedroam view`.
The first picture is there when the browser asks for the frame after the one in which the page
has drawn everything, counted from the beginning of the navigation; every load has a fresh profile.
A frame is what lies between two animation callbacks of the playing page. At the page's own speed a
round lasts about 1.5 s; at 10 x some 20 go by in a second (4 of 2,000 users), each with a schedule
that is laid out anew. The browser draws on the processor, without a graphics card.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import side_by_side
from side_by_side import Row, row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fedroam.pages import read_replay, view_page
from fedroam.runs import parse, play
from looking import browser

ROUNDS = 200
SMALL = {"users": 50, "stations": 8}
LARGE = {"users": 2_000, "stations": 40, "area_m": 3_000.0}
PAGES = {
    "50 x 8": (SMALL, ("dagsa",), "<= 1000 ms, <= 3 MB"),
    "2,000 x 40": (LARGE, ("dagsa",), "<= 25 MB"),
    "50 x 8, 3 policies": (SMALL, ("dagsa", "certified", "random"), ""),
}
SMOOTH = "<= 50 ms"  # 20 a second
SPEEDS = {"its own speed": None, "10 x": "10"}

FIRST_PICTURE = """
const wait = () => document.documentElement && document.documentElement.dataset.ready
  ? requestAnimationFrame(() => { window.firstPicture = performance.now(); })
  : requestAnimationFrame(wait);
wait();
"""
FRAMES = """
ms => new Promise(done => {
  const found = [], begin = performance.now();
  let last = begin;
  const tick = now => {
    found.push(performance.now() - last);
    last = performance.now();
    if (last - begin < ms) requestAnimationFrame(tick); else done(found.slice(2));
  };
  requestAnimationFrame(tick);
})
"""


def page_of(world: dict[str, object], policies: Sequence[str], folder: Path) -> Path:
    """The page of these policies' runs in one world."""
    replays = []
    for policy in policies:
        table = {
            "name": policy,
            "policy": policy,
            "world": world,
            "stop": {"rounds": ROUNDS},
            "record": {"certify": "prices", "detail": True},
        }
        play(parse(table), folder / policy)
        replays.append(read_replay(folder / policy))
    view_page(replays, folder / "page.html")
    return folder / "page.html"


def first_pictures_s(chromium, page: Path, repeats: int) -> list[float]:
    found = []
    for _ in range(repeats):
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        context.add_init_script(FIRST_PICTURE)
        tab = context.new_page()
        tab.goto(page.as_uri() + "#t=0")
        while not (ms := tab.evaluate("window.firstPicture || 0")):
            tab.wait_for_timeout(5)
        found.append(ms / 1000)
        context.close()
    return found


def frames_s(chromium, page: Path, spent_s: float, speed: str | None) -> tuple[list[float], int]:
    """The lengths of the frames while it plays, and how many rounds went by."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.goto(page.as_uri() + "#round=2")
    tab.wait_for_selector("html[data-ready]")
    if speed:
        tab.select_option("#speed", speed)
    shown = tab.locator("[data-fact=round]").first
    begin = int(shown.get_attribute("data-value"))
    tab.click("#play")
    found = [ms / 1000 for ms in tab.evaluate(FRAMES, 1000 * spent_s)]
    rounds = int(shown.get_attribute("data-value")) - begin
    assert tab.locator("#play").get_attribute("aria-label") == "Pause", "it does not play"
    context.close()
    return found, rounds


def playing(what: str, who: str, found: tuple[list[float], int], target: str) -> Row:
    times_s, rounds = found
    slow_ms = 1e3 * statistics.quantiles(times_s, n=20)[-1]
    a_second = len(times_s) / sum(times_s)
    note = f"{a_second:.0f} frames a second, 95 % within {slow_ms:.0f} ms; {rounds} rounds seen"
    return row(what, who, times_s, target, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    before, rows, sizes = side_by_side.machine(), [], {}
    repeats, spent_s = (2, 1.0) if given.quick else (9, 6.0)
    with tempfile.TemporaryDirectory() as home, browser() as chromium:
        for what, (world, policies, target) in PAGES.items():
            page = page_of(world, policies, Path(home) / what)
            sizes[what] = page.stat().st_size
            first_s = first_pictures_s(chromium, page, repeats)
            note = f"page of {sizes[what] / 1e6:.2f} MB"
            rows.append(row(f"first picture, {what}", "fedroam view", first_s, target, note))
            for who, speed in SPEEDS.items():
                seen = frames_s(chromium, page, spent_s, speed)
                rows.append(playing(f"a frame, {what}", who, seen, SMOOTH))
        extra = {"bytes": sizes, "chromium": chromium.version, "rounds": ROUNDS}
    side_by_side.report("pages", rows, before=before, extra=extra, is_kept=not given.quick)


if __name__ == "__main__":
    main()
