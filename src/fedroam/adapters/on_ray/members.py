"""
The members of a comparison, each played as a whole by one core of a Ray cluster.

Run folders lie where all nodes see them, so a member that is lost with its node goes on elsewhere
from its last checkpoint.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from fedroam.adapters.on_ray.cluster import DEAD, Cluster, one_core, ray
from fedroam.comparison.players import GRACE_S, Part, PlayParts, fit_to_be_sent
from fedroam.errors import ConfigError, WorkerError
from fedroam.learning.shift import PATIENCE
from fedroam.runs import Progress, Settings, play
from fedroam.runs.folder import told

LOOK_S = 0.5
"""Seconds between two looks at where the runs are."""

LOCK_S = 60.0
"""How long a player that was lost may hold on to its run folder."""


def players_on(cluster: Cluster) -> PlayParts:
    """How runs are played on ``cluster``."""
    return partial(_play_parts, cluster)


def _play_parts(
    cluster: Cluster, parts: Sequence[Part], on_progress: Callable[[int, Progress], None]
) -> None:
    to_do, lost = deque(range(len(parts))), dict.fromkeys(range(len(parts)), 0)
    crew = [_Player() for _ in range(min(cluster.workers, len(parts)))]
    with _seen(parts) as probe:
        try:
            while to_do or any(player.part is not None for player in crew):
                for player in crew:
                    if player.part is None and to_do:
                        player.give(to_do.popleft(), parts, probe)
                _look(crew, on_progress)
                for player in crew:
                    if (part := player.lost) is not None:
                        lost[part] += 1
                        if lost[part] >= PATIENCE:
                            raise WorkerError(
                                f"{parts[part][1]}: {PATIENCE} workers of the Ray cluster were "
                                "lost; the rounds recorded so far are safe, and the same command "
                                "goes on from there"
                            )
                        to_do.appendleft(part)
                        player.lost = None
        finally:
            _dismiss(crew)


def _look(crew: Sequence["_Player"], on_progress: Callable[[int, Progress], None]) -> None:
    """Where the runs are; who has ended or died is given no part any more."""
    busy = {player.end: player for player in crew if player.part is not None}
    ended, _ = ray.wait(list(busy), num_returns=1, timeout=LOOK_S)
    for player in busy.values():
        if (progress := player.news()) is not None:
            on_progress(player.part or 0, progress)
    for ref in ended:
        busy[ref].take()


def _dismiss(crew: Sequence["_Player"]) -> None:
    """Whoever is still playing writes down what it has played."""
    busy = [player for player in crew if player.part is not None]
    for player in busy:
        player.seat.stop.remote()
    if busy:
        ray.wait([player.end for player in busy], num_returns=len(busy), timeout=GRACE_S)
    for player in crew:
        player.bury()


@contextlib.contextmanager
def _seen(parts: Sequence[Part]) -> Iterator[Path]:
    """A file that nodes see if they see the run folders."""
    common = Path(os.path.commonpath([folder.resolve().parent for _, folder in parts]))
    with told(common):
        common.mkdir(parents=True, exist_ok=True)
        file = NamedTemporaryFile(dir=common, prefix=".ray-", suffix=".part")  # noqa: SIM115
    with file:
        yield Path(file.name)


class _Player:
    """One core of the cluster that plays, seen from the one that gives it runs."""

    def __init__(self) -> None:
        self.seat: Any = None
        self.part: int | None = None
        self.lost: int | None = None
        self.end: Any = None
        self._news: Any = None

    def give(self, part: int, parts: Sequence[Part], probe: Path) -> None:
        if self.seat is None:
            self.seat = ray.remote(Stage).options(**one_core(), max_concurrency=2).remote()
        settings, folder = parts[part]
        self.part = part
        self.end = self.seat.play.remote(settings, folder.resolve(), probe)
        self._news = self.seat.news.remote()

    def news(self) -> Progress | None:
        """How far it is, if it has said so since the last time."""
        if not ray.wait([self._news], timeout=0)[0]:
            return None
        try:
            progress: Progress | None = ray.get(self._news)
        except DEAD:
            return None
        self._news = self.seat.news.remote()
        return progress

    def take(self) -> None:
        """The run is over, has failed, or was lost with its node."""
        try:
            error = ray.get(self.end)
        except DEAD:
            self.lost = self.part
            self.bury()
            return
        if error is not None:
            raise error
        self.part = None

    def bury(self) -> None:
        """End it at once."""
        if self.seat is not None:
            with contextlib.suppress(*DEAD):
                ray.kill(self.seat)
        self.seat = self.part = None


class Stage:
    """Where runs are played: a process of its own somewhere in the cluster."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._is_over = threading.Event()

    def play(self, settings: Settings, folder: Path, probe: Path) -> Exception | None:
        """Play a run to its end; what went wrong is returned."""
        try:
            if not probe.exists():
                raise ConfigError(
                    f"{folder} is not seen by the node {os.uname().nodename} of the Ray cluster; "
                    "choose an --out on a file system that all nodes share"
                )
            play(settings, folder, self._note, lock_s=LOCK_S)
        except KeyboardInterrupt:
            return None
        except Exception as error:
            return fit_to_be_sent(error)
        return None

    def news(self) -> Progress | None:
        """How far the run is."""
        return self._progress

    def stop(self) -> None:
        """Have the run stopped after the present round."""
        self._is_over.set()

    def _note(self, progress: Progress) -> None:
        self._progress = replace(progress, last=None)
        if self._is_over.is_set():
            raise KeyboardInterrupt
