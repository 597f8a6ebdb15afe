"""Play a run into its folder, from the beginning or from where it stopped."""

import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedroam.learning.engine import StartEngine
from fedroam.learning.federation import Federation
from fedroam.runs.folder import RunFolder
from fedroam.runs.settings import Settings
from fedroam.runs.sizes import keeps_users
from fedroam.runs.summary import summarise
from fedroam.runs.tables import Kept, keep, read_rounds
from fedroam.runs.tensorboard import event_writer
from fedroam.scheduling.certified.certify import certify
from fedroam.simulation import Round, Simulation

CHECKPOINT_S = 2.0
"""Real seconds between checkpoints: what a kill costs at most."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    round: int  # rounds played
    now_s: float  # simulated
    share: float  # of the run, 0..1
    accuracy: float | None = None  # at the last evaluation
    length_s: float | None = None  # of the last round
    straggler: int = -1  # of the last round; -1: nobody took part
    last: Round | None = None


def play(
    settings: Settings,
    path: Path,
    on_round: Callable[[Progress], None] = lambda progress: None,
    workers: int = 1,
    *,
    start: StartEngine | None = None,
    lock_s: float = 0.0,
) -> dict[str, Any]:
    """
    The summary of the run in ``path``, which is played to its end if it has not been.

    A run that was stopped, at whatever moment, goes on from its last checkpoint and ends with the
    same tables bit for bit. ``workers`` processes train; with one, this process does. ``start``
    has them trained elsewhere. Another process may hold the folder for ``lock_s`` seconds more.
    """
    folder = RunFolder(path)
    folder.begin(settings)
    with folder.alone(lock_s):
        if folder.is_complete:
            return folder.summary
        with ExitStack() as open_ones:
            with folder.or_not_begun():
                federation = open_ones.enter_context(_federation(settings, workers, start))
                simulation = Simulation(
                    settings.scenario(),
                    settings.policy.make(),
                    seed=settings.seed,
                    learner=federation,
                    payload_bit=federation.payload_bit if federation else None,
                    evaluating=settings.evaluation,
                )
            if (state := folder.load_state()) is not None:
                simulation.restore(state)
            with _events(settings, path, simulation.round) as write_events:
                _play_on(simulation, settings, folder, on_round, write_events)
        learnt = {"weights_sha256": federation.weights_sha256} if federation else {}
        summary = {
            "name": settings.name,
            "policy": settings.policy.name,
            "seed": settings.seed,
            "payload_bit": float(simulation.ground.payload_bit[0]),
            **summarise(read_rounds(path), simulation.times_selected),
            **learnt,
        }
        folder.finish(summary)
        return folder.summary


def _federation(settings: Settings, workers: int, start: StartEngine | None) -> Any:
    """The users that learn together, or a context that holds None: timing only."""
    if settings.learning is None:
        return nullcontext()
    return Federation(
        settings.learning.made(),
        users=settings.world.users,
        seed=settings.seed,
        workers=workers if workers > 1 else 0,
        start=start,
    )


def _events(settings: Settings, path: Path, round: int) -> Any:
    """Where each round is told to TensorBoard, if it is."""
    if not settings.record.tensorboard:
        return nullcontext(lambda played: None)
    return event_writer(path / "tensorboard", round)


def _play_on(
    simulation: Simulation,
    settings: Settings,
    folder: RunFolder,
    on_round: Callable[[Progress], None],
    write_events: Callable[[Round], None],
) -> None:
    keep_users = keeps_users(settings)
    pending: list[Kept] = []
    state = simulation.state()  # after the last round that was completed and noted
    saved_s, accuracy = time.monotonic(), None
    try:
        for played in simulation.rounds(rounds=settings.stop.rounds, time_s=settings.stop.time_s):
            played = _bounded(played, settings.record.certify)
            if played.score:
                accuracy = played.score.accuracy
                folder.keep_if_best(accuracy, simulation)
            write_events(played)
            pending.append(keep(played, users=keep_users, problem=settings.record.problems))
            state = simulation.state()
            on_round(_progress(simulation, settings, accuracy, played))
            if time.monotonic() - saved_s > CHECKPOINT_S:
                folder.save(pending, state)
                pending = []
                saved_s = time.monotonic()
    finally:
        # Also after Ctrl-C or a plug-in's mistake, in the middle of a round or of a save (to save
        # the same again does no harm): what has been played up to ``state`` is kept.
        if done := [kept for kept in pending if kept.round < int(state["round"])]:
            folder.save(done, state)


def _bounded(played: Round, level: str) -> Round:
    """The round with a proven lower limit of its length, where that is asked for."""
    if level == "no":
        return played
    bound_s, _ = certify(played.problem, played.schedule, level=level)
    return replace(played, bound_s=bound_s)


def _progress(
    simulation: Simulation, settings: Settings, accuracy: float | None, played: Round
) -> Progress:
    stop = settings.stop
    by_round = simulation.round / stop.rounds if stop.rounds else 0.0
    by_time = simulation.now_s / stop.time_s if stop.time_s else 0.0
    share = min(1.0, max(by_round, by_time))
    return Progress(
        simulation.round,
        simulation.now_s,
        share,
        accuracy,
        played.length_s,
        played.verdict.straggler,
        played,
    )
