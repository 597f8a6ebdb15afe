"""
Runs in parallel: processes that play one member of a comparison after another.

Each has a pipe of its own and shares nothing with the others, so that one that is killed at any
moment, also while it is speaking, keeps nobody waiting.
"""

import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fedroam.errors import FedroamError, WorkerError
from fedroam.runs import Progress, Settings, play
from fedroam.spawn import PROCESSES, deaf_to_ctrl_c, our_environment

TOLD_EVERY_S = 0.2
"""Between two words of a player."""

GRACE_S = 30.0
"""How long a player that is told to stop may take to write down what it has played."""


Part = tuple[Settings, Path]
"""One run to play, and where."""

PlayParts = Callable[[Sequence[Part], Callable[[int, Progress], None]], None]
"""Plays all parts, and tells by their positions how far they are."""


def play_in_processes(
    workers: int, parts: Sequence[Part], on_progress: Callable[[int, Progress], None]
) -> None:
    """Play all parts, by their positions; the first failure stops the others and is raised."""
    to_do = deque(range(len(parts)))
    crew = [_Player() for _ in range(min(workers, len(parts)))]
    try:
        for player in crew:
            player.start()
            player.give(to_do.popleft(), parts)
        while busy := {p.connection: p for p in crew if p.part is not None}:
            for connection in wait(list(busy)):
                player = busy[connection]  # type: ignore[index]
                word = player.hear()
                if isinstance(word, Progress):
                    on_progress(player.part or 0, word)
                elif isinstance(word, BaseException):
                    raise word
                elif to_do:
                    player.give(to_do.popleft(), parts)
                else:
                    player.part = None
    finally:
        for player in crew:
            player.stop()
        for player in crew:
            player.bury()


class _Player:
    """One process that plays, seen from the one that gives it runs."""

    def __init__(self) -> None:
        self.part: int | None = None
        self.connection: Connection
        self.process: Any = None

    def start(self) -> None:
        self.connection, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=_play, args=(theirs,), name="fedroam-player")
        with theirs, our_environment(), deaf_to_ctrl_c():
            process.start()
        self.process = process

    def give(self, part: int, parts: Sequence[Part]) -> None:
        self.part = part
        try:
            self.connection.send(parts[part])
        except OSError as error:
            raise _died() from error

    def hear(self) -> Progress | BaseException | None:
        """Where the run is; what went wrong; None when it is over."""
        try:
            return self.connection.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            return _died()

    def stop(self) -> None:
        """Tell it to write down what it has played, and go."""
        if self.process is not None:
            self.process.terminate()

    def bury(self) -> None:
        """See that it is gone."""
        if self.process is None:
            return
        self.process.join(GRACE_S)
        if self.process.is_alive():  # kill -9 loses no round that has been written
            self.process.kill()
            self.process.join()
        self.process.close()
        self.connection.close()


def _died() -> WorkerError:
    return WorkerError(
        "a worker process died (killed, or out of memory?); the rounds recorded so far "
        "are safe, and the same command goes on from there"
    )


def _play(connection: Connection) -> None:
    """
    The process: play what comes until it is told to stop, by SIGTERM.

    Ctrl-C reaches all processes of a terminal at once and is left to the one that gives the runs.
    """
    told_s = 0.0

    def tell(progress: Progress) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > TOLD_EVERY_S or progress.share >= 1:
            told_s = time.monotonic()
            _say(connection, replace(progress, last=None))

    signal.signal(signal.SIGTERM, _stop)
    try:
        while True:
            settings, folder = connection.recv()
            try:
                play(settings, folder, tell)
            except Exception as error:
                _say(connection, error)
            else:
                _say(connection, None)
    except (EOFError, KeyboardInterrupt):
        os._exit(130)  # all that has been played is kept; nobody waits for what comes next


def _say(connection: Connection, word: Progress | Exception | None) -> None:
    try:
        connection.send(fit_to_be_sent(word) if isinstance(word, Exception) else word)
    except OSError:  # whoever gave the runs is gone
        raise KeyboardInterrupt from None


def fit_to_be_sent(error: Exception) -> Exception:
    """The error with where it came from; others' may not survive the way."""
    if not isinstance(error, FedroamError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkerError(f"{type(error).__name__}: {error}")
    return error


def _stop(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise KeyboardInterrupt
