"""``fedroam solve``."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import StorageError
from fedroam.files import aside
from fedroam.runs.answering import answer, checked_level, make_policy
from fedroam.runs.settings import assign
from fedroam.scheduling.certified.sweep import sweep_selected
from fedroam.scheduling.interchange import read_problem
from fedroam.scheduling.judge import Verdict
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.streams import stream


def solve_command(
    file: Path,
    policy_name: str,
    seed: int,
    time_limit_s: float | None,
    assignments: list[str],
    level: str,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Read the problem, ask the policy, judge the answer."""
    level = checked_level(level)
    problem = read_problem(file)
    policy = make_policy(policy_name, _options(assignments), time_limit_s)
    found = answer(problem, policy, seed=seed, level=level)
    figures = found.figures()
    if out:
        write_schedule(found.schedule, out)
        figures["out"] = str(out)
    if as_json:
        print_json(figures if out else figures | {"schedule": found.lists()})
        return
    print_table(policy_name, ("", "value"), [(k, _show(v)) for k, v in figures.items()])
    if not out:
        _print_schedule(problem, found.schedule, found.verdict)


def sweep_command(file: Path, seed: int, *, as_json: bool) -> None:
    """T(K): how long the round is for every number of users, with what is proven."""
    problem = read_problem(file)
    before_s = time.perf_counter()
    sweep = sweep_selected(problem, stream(seed, "policy", problem.round))
    wall_s = time.perf_counter() - before_s
    columns = ("n_selected", "round_s", "bound_s", "gap")
    if as_json:
        lists = {name: getattr(sweep, name).tolist() for name in columns}
        print_json({**lists, "wall_s": wall_s})
        return
    rows = [
        (str(n), f"{round_s:.4f}", f"{bound_s:.4f}", f"{gap:.2%}")
        for n, round_s, bound_s, gap in zip(
            sweep.n_selected, sweep.round_s, sweep.bound_s, sweep.gap, strict=True
        )
    ]
    print_table("", ("users", "round, s", "bound, s", "gap"), rows)


def _options(assignments: list[str]) -> dict[str, Any]:
    """A policy's options from ``key=value`` assignments."""
    table: dict[str, Any] = {"policy": {}}
    for assignment in assignments:
        key = assignment if assignment.startswith("policy.") else f"policy.{assignment}"
        assign(table, key)
    return dict(table["policy"])


def write_schedule(schedule: Schedule, path: Path) -> None:
    """A ``.npz`` with ``station`` and ``bandwidth_hz``, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, station=schedule.station, bandwidth_hz=schedule.bandwidth_hz)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def _print_schedule(problem: Problem, schedule: Schedule, verdict: Verdict) -> None:
    many = 30
    rows = [
        (
            str(user),
            str(schedule.station[user]),
            f"{schedule.bandwidth_hz[user]:,.0f}",
            f"{verdict.finish_s[user]:.4f}",
        )
        for user in schedule.chosen[:many]
    ]
    print_table("", ("user", "station", "bandwidth, Hz", "finish, s"), rows)
    if verdict.n_selected > many:
        say(
            f"... and {verdict.n_selected - many} more of {problem.n_users} (--out writes them all)"
        )


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
