"""The shortest schedule, proven: for tens to hundreds of users."""

from dataclasses import dataclass

import numpy as np

from fedroam.errors import require
from fedroam.scheduling.certified.exact import solve_exact
from fedroam.scheduling.certified.solution import Solution
from fedroam.scheduling.problem import Problem, Schedule


@dataclass(frozen=True)
class Exact:
    """
    Minimise the round's length to a relative 1e-5, or as well as ``time_limit_s`` allows.

    Deterministic as long as the time is not up. Needs ``pip install 'fedroam[exact]'``.
    """

    time_limit_s: float = 60.0
    effort: float = 1.0

    def __post_init__(self) -> None:
        require(self.time_limit_s > 0, "time_limit_s", self.time_limit_s, "seconds > 0")
        require(0 <= self.effort < np.inf, "effort", self.effort, "a number >= 0")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """The shortest schedule found."""
        return self.solve(problem, rng).schedule

    def solve(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """The same with its proof."""
        return solve_exact(problem, rng, effort=self.effort, time_limit_s=self.time_limit_s)
