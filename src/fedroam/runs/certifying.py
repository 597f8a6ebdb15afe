"""
Certify a run afterwards: a proven lower limit for every round's length.

The problems come from the run's problem files where it kept them. Otherwise the world is walked
through again: the same seed poses the same problems, given the schedules that the run recorded, and
every round must come out exactly as long as it was.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fedroam.errors import ConfigError, StorageError
from fedroam.runs.folder import RunFolder
from fedroam.runs.settings import Settings
from fedroam.runs.summary import gaps
from fedroam.runs.tables import read_rounds, read_users
from fedroam.scheduling.certified.bound import bound
from fedroam.scheduling.certified.exact import solve_exact
from fedroam.scheduling.certified.solution import gap_of
from fedroam.scheduling.interchange import read_problem
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.simulation import Simulation


def certify_run(
    path: Path,
    level: str = "prices",
    on_round: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """The run's gaps; they are written into its round table and its summary."""
    folder = RunFolder(path)
    if not folder.is_complete:
        raise ConfigError(f"{path} is no finished run; `fedroam run` it to its end first")
    rounds = read_rounds(path)
    bounds = np.empty(len(rounds))
    for i, problem in enumerate(_problems(folder, rounds)):
        bounds[i] = _bound_of(problem, level)
        on_round(i + 1, len(rounds))
    gap = [gap_of(x, b) for x, b in zip(rounds["length_s"].to_pylist(), bounds, strict=True)]
    for name, values in (("bound_s", bounds), ("gap", np.array(gap))):
        rounds = rounds.set_column(rounds.column_names.index(name), name, pa.array(values))
    found = {"certified_by": level, **gaps(rounds)}
    folder.annotate(rounds, folder.summary | found)
    return found


def _bound_of(problem: Problem, level: str) -> float:
    if level == "exact":
        return solve_exact(problem, np.random.default_rng(0)).bound_s
    return bound(problem).bound_s


def _problems(folder: RunFolder, rounds: pa.Table) -> Iterator[Problem]:
    path = folder.path
    files = [path / "problems" / f"round-{r:06d}.npz" for r in rounds["round"].to_pylist()]
    if all(file.exists() for file in files):
        yield from map(read_problem, files)
        return
    users = read_users(path)
    if len(users) == 0:
        raise ConfigError(
            f"{path} kept neither problems nor users; run with --set problems=true or detail=true"
        )
    yield from _walk_again(folder.settings, folder.summary["payload_bit"], rounds, users)


def _walk_again(
    settings: Settings, payload_bit: float, rounds: pa.Table, users: pa.Table
) -> Iterator[Problem]:
    shape = (len(rounds), settings.world.users)
    station = users["station"].to_numpy().reshape(shape)
    bandwidth_hz = users["bandwidth_hz"].to_numpy().reshape(shape)
    length_s = rounds["length_s"].to_numpy()

    def recorded(problem: Problem, rng: np.random.Generator) -> Schedule:
        del rng
        i = problem.round
        return Schedule(station[i], bandwidth_hz[i], if_empty_s=float(length_s[i]))

    world = Simulation(settings.scenario(), recorded, seed=settings.seed, payload_bit=payload_bit)
    for i in range(len(rounds)):
        played = world.step()
        if played.length_s != length_s[i]:
            raise StorageError(
                f"round {i} was {length_s[i]!r} s long and is now {played.length_s!r} s: the run "
                "was made by other versions (see its versions.json), or its table was changed"
            )
        yield played.problem
