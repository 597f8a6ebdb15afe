"""Telling people that something takes a while."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 2.0


@contextmanager
def patience(what: str, growing: Path, after_s: float = PATIENCE_S) -> Iterator[None]:
    """
    Show ``what`` is being done and how much of it lies in ``growing``, on stderr, once it has
    taken ``after_s``; nothing is shown where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, growing, after_s, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, growing: Path, after_s: float, done: threading.Event) -> None:
    if done.wait(after_s):
        return
    from rich.console import Console  # slow to import, and seldom needed

    with Console(stderr=True).status(what) as status:
        while not done.wait(0.25):
            status.update(f"{what} ({_size(growing) / 1e6:.0f} MB)")


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # gone since it was listed
            continue
    return total
