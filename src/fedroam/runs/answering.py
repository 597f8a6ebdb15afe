"""One problem, one answer: a policy by name with its options, its schedule, what is proven."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from fedroam.errors import ConfigError, nearest
from fedroam.runs.settings import choice
from fedroam.scheduling.certified.certify import LEVELS, certify
from fedroam.scheduling.judge import Verdict
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.exact import Exact
from fedroam.scheduling.problem import Policy, Problem, Schedule
from fedroam.simulation.rounds import ask, judge_answer
from fedroam.streams import stream

PROOFS = (*LEVELS, "no")


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """A schedule and all that is known of it."""

    schedule: Schedule
    verdict: Verdict
    wall_s: float
    proof: Mapping[str, Any]  # bound_s and gap, and from solvers the outcome

    def figures(self) -> dict[str, Any]:
        """All but the schedule, by the names of the interchange format."""
        return {
            "round_s": self.verdict.round_s,
            "selected": self.verdict.n_selected,
            "is_lawful": self.verdict.is_lawful,
            "missed_required": self.verdict.missed.tolist(),
            "lacking": self.verdict.lacking,
            "wall_s": self.wall_s,
            **self.proof,
        }

    def lists(self) -> dict[str, list[Any]]:
        """The schedule as lists."""
        return {
            "station": self.schedule.station.tolist(),
            "bandwidth_hz": self.schedule.bandwidth_hz.tolist(),
        }


def checked_level(level: str) -> str:
    """``level`` where it names a way to prove a bound, or none ("no")."""
    if level not in PROOFS:
        raise ConfigError(f"certify: no {level!r}; {nearest(level, PROOFS)}")
    return level


def answer(problem: Problem, policy: Policy, *, seed: int, level: str) -> Answer:
    """
    What ``policy`` answers under ``seed``, judged, with a bound proven in the way of ``level``.

    Solvers bring their own bound.
    """
    rng, solution = stream(seed, "policy", problem.round), None
    before_s = time.perf_counter()
    if isinstance(policy, (Certified, Exact)):
        solution = policy.solve(problem, rng)
        schedule = solution.schedule
    else:
        schedule = ask(policy, problem, rng)
    wall_s = time.perf_counter() - before_s
    verdict = judge_answer(policy, problem, schedule)
    proof: dict[str, Any] = {}
    if solution:
        proof = {"bound_s": solution.bound_s, "gap": solution.gap}
        proof["outcome"] = solution.outcome.value
    elif level != "no":
        proof["bound_s"], proof["gap"] = certify(problem, schedule, level=level)
    return Answer(schedule, verdict, wall_s, proof)


def takes_time_limit(policy: Policy) -> bool:
    """It has an option of that name."""
    return is_dataclass(policy) and "time_limit_s" in {f.name for f in fields(policy)}


def make_policy(name: str, options: Mapping[str, Any], time_limit_s: float | None) -> Any:
    """The policy object with its options set."""
    made = choice("policy", name, options).make()
    if time_limit_s is None:
        return made
    if not takes_time_limit(made):
        raise ConfigError(f"policy {name!r} takes no time limit")
    return choice("policy", name, {**options, "time_limit_s": time_limit_s}).make()
