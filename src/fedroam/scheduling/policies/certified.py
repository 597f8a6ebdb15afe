"""Near-optimal schedules with a proof of how near: prices, rounding, local search."""

from dataclasses import dataclass

import numpy as np

from fedroam.errors import require
from fedroam.scheduling.certified.solution import Solution
from fedroam.scheduling.certified.solve import solve_certified
from fedroam.scheduling.problem import Problem, Schedule


@dataclass(frozen=True)
class Certified:
    """
    Minimise the round's length to within a few tenths of a per cent, whatever the size.

    ``effort`` multiplies the restarts of the local search; the answer is then deterministic. With
    ``time_limit_s`` it searches for that long instead, and the answer depends on the machine.
    ``solve_certified`` gives the same schedule with its bound and gap.
    """

    effort: float = 1.0
    time_limit_s: float | None = None

    def __post_init__(self) -> None:
        require(0 <= self.effort < np.inf, "policy.effort", self.effort, "a number >= 0")
        limit = 0.0 if self.time_limit_s is None else self.time_limit_s
        require(limit >= 0, "policy.time_limit_s", self.time_limit_s, "seconds >= 0")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """The best schedule found."""
        return self.solve(problem, rng).schedule

    def solve(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """The same with its bound."""
        return solve_certified(problem, rng, effort=self.effort, time_limit_s=self.time_limit_s)
