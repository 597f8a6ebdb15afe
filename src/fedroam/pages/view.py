"""The page that replays runs: one file, everything in it."""

from collections.abc import Sequence
from pathlib import Path

from fedroam.errors import ConfigError, StorageError
from fedroam.files import write_text
from fedroam.pages.html import document, part
from fedroam.pages.packing import as_script, pack, size_of
from fedroam.pages.replay import Replay

STYLES = ("colours.css", "view.css")
SCRIPTS = (
    "theme.js",
    "run.js",
    "canvas.js",
    "map.js",
    "charts.js",
    "curves.js",
    "player.js",
    "card.js",
    "live.js",
    "main.js",
)
LARGEST = 200_000_000
"""Bytes of a page that a browser still opens without complaint."""


def page_of(replays: Sequence[Replay], live: str | None = None) -> str:
    """The page's HTML; ``live`` is where more rounds of the run can be asked for."""
    size = sum(map(size_of, replays))
    if size > LARGEST:
        rounds = max(replay.n_rounds for replay in replays)
        fits = max(1, rounds * LARGEST // size)
        raise ConfigError(
            f"the page would be about {size / 1e6:.0f} MB, at most {LARGEST / 1e6:.0f} are shown; "
            f"choose some of the rounds, e.g. --rounds 0:{fits}"
        )
    title = " · ".join(str(replay.about["label"]) for replay in replays)
    data = as_script({"runs": [pack(replay) for replay in replays], "live": live})
    body = part("view.html") + f'<script type="application/json" id="data">{data}</script>'
    return document(f"fedroam: {title}", body, STYLES, SCRIPTS, connect="self" if live else "none")


def view_page(replays: Sequence[Replay], path: Path) -> int:
    """Write the page to ``path``, whole or not at all; its size in bytes."""
    text = page_of(replays)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(text.encode())
