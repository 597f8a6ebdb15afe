"""Near-optimal schedules with a proof of how near: prices, rounding, local search."""

from dataclasses import dataclass

import numpy as np

from fedroam.errors import ConfigError, nearest, require
from fedroam.scheduling.certified.queues import solve_fair
from fedroam.scheduling.certified.solution import Solution
from fedroam.scheduling.certified.solve import solve_certified
from fedroam.scheduling.problem import Problem, Schedule

FAIRNESS = ("hard", "queues")


@dataclass(frozen=True)
class Certified:
    """
    Minimise the round's length to within a few tenths of a per cent, whatever the size.

    ``effort`` multiplies the restarts of the local search; the answer is then deterministic. With
    ``time_limit_s`` it searches for that long instead, and the answer depends on the machine.
    ``solve_certified`` gives the same schedule with its bound and gap.

    ``fairness="queues"`` weighs the length against how far users are behind ``quota``, their part
    of the rounds (``queues.py``); a larger ``weight`` makes shorter rounds and longer waits.
    Required users take part in either case.
    """

    effort: float = 1.0
    time_limit_s: float | None = None
    fairness: str = "hard"
    quota: float = 0.1
    weight: float = 200.0  # selections per second

    def __post_init__(self) -> None:
        require(0 <= self.effort < np.inf, "effort", self.effort, "a number >= 0")
        limit = 0.0 if self.time_limit_s is None else self.time_limit_s
        require(limit >= 0, "time_limit_s", self.time_limit_s, "seconds >= 0")
        if self.fairness not in FAIRNESS:
            hint = nearest(self.fairness, FAIRNESS)
            raise ConfigError(f"fairness: no {self.fairness!r}; {hint}")
        require(0 <= self.quota <= 1, "quota", self.quota, "a part of the rounds, 0..1")
        require(0 < self.weight < np.inf, "weight", self.weight, "a number > 0")
        clash = self.fairness == "queues" and self.time_limit_s is not None
        require(not clash, "time_limit_s", self.time_limit_s, "none with queues")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """The best schedule found."""
        return self.solve(problem, rng).schedule

    def solve(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """The same with its bound."""
        if self.fairness == "queues":
            return solve_fair(
                problem, rng, quota=self.quota, weight=self.weight, effort=self.effort
            )
        return solve_certified(problem, rng, effort=self.effort, time_limit_s=self.time_limit_s)
