"""``fedroam solve``."""

import time
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import ConfigError, StorageError, nearest
from fedroam.files import aside
from fedroam.runs.settings import assign, choice
from fedroam.scheduling.certified.certify import LEVELS, certify
from fedroam.scheduling.certified.sweep import sweep_selected
from fedroam.scheduling.interchange import read_problem
from fedroam.scheduling.judge import Verdict
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.exact import Exact
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.simulation.rounds import ask, judge_answer
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
    if level not in (*LEVELS, "no"):
        raise ConfigError(f"certify: no {level!r}; {nearest(level, (*LEVELS, 'no'))}")
    problem = read_problem(file)
    policy = make_policy(policy_name, assignments, time_limit_s)
    rng, solution = stream(seed, "policy", problem.round), None
    before_s = time.perf_counter()
    if isinstance(policy, (Certified, Exact)):
        solution = policy.solve(problem, rng)
        schedule = solution.schedule
    else:
        schedule = ask(policy, problem, rng)
    wall_s = time.perf_counter() - before_s
    verdict = judge_answer(policy, problem, schedule)
    answer = describe(verdict, wall_s)
    if solution:
        answer |= {"bound_s": solution.bound_s, "gap": solution.gap}
        answer["outcome"] = solution.outcome.value
    elif level != "no":
        answer["bound_s"], answer["gap"] = certify(problem, schedule, level=level)
    if out:
        write_schedule(schedule, out)
        answer["out"] = str(out)
    else:
        answer["schedule"] = {
            "station": schedule.station.tolist(),
            "bandwidth_hz": schedule.bandwidth_hz.tolist(),
        }
    if as_json:
        print_json(answer)
        return
    shown = {k: v for k, v in answer.items() if k != "schedule"}
    print_table(policy_name, ("", "value"), [(k, _show(v)) for k, v in shown.items()])
    if not out:
        _print_schedule(problem, schedule, verdict)


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


def make_policy(name: str, assignments: list[str], time_limit_s: float | None) -> Any:
    """The policy object with its options set."""
    table: dict[str, Any] = {"policy": {"name": name}}
    for assignment in assignments:
        key = assignment if assignment.startswith("policy.") else f"policy.{assignment}"
        assign(table, key)
    options = {k: v for k, v in table["policy"].items() if k != "name"}
    made = choice("policy", name, options).make()
    if time_limit_s is None:
        return made
    if not is_dataclass(made) or "time_limit_s" not in {f.name for f in fields(made)}:
        raise ConfigError(f"policy {name!r} takes no time limit")
    return choice("policy", name, options | {"time_limit_s": time_limit_s}).make()


def describe(verdict: Verdict, wall_s: float) -> dict[str, Any]:
    """The answer's figures."""
    return {
        "round_s": verdict.round_s,
        "selected": verdict.n_selected,
        "is_lawful": verdict.is_lawful,
        "missed_required": verdict.missed.tolist(),
        "lacking": verdict.lacking,
        "wall_s": wall_s,
    }


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
