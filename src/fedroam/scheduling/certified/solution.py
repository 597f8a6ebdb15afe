"""What a solver hands back: a schedule and the proof of how good it is."""

from dataclasses import dataclass
from enum import Enum

from fedroam.arrays import Floats, freeze
from fedroam.scheduling.problem import Schedule

OPTIMAL_GAP = 1e-5
"""A schedule that is proven to be within this of the shortest is called optimal."""


class Outcome(Enum):
    """Why the solver stopped."""

    OPTIMAL = "optimal"  # nothing is shorter by more than OPTIMAL_GAP
    EFFORT = "effort"  # the work that was asked for is done
    TIME_LIMIT = "time_limit"


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """A lawful schedule, its length, and a length that none beats."""

    schedule: Schedule
    round_s: float
    bound_s: float
    outcome: Outcome
    prices: Floats  # [S] per Hz: the proof of the bound, unless a search proved more
    wall_s: float

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def gap(self) -> float:
        """``round_s / bound_s - 1``."""
        return gap_of(self.round_s, self.bound_s)


def gap_of(round_s: float, bound_s: float) -> float:
    """``round_s / bound_s - 1``; 0 where nothing takes no time."""
    if bound_s > 0:
        return round_s / bound_s - 1.0
    return 0.0 if round_s == 0 else float("inf")
