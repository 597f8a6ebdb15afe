"""What a round's links and computers are like, whether measured or simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fedroam.adapters.flower.reporting import Report
from fedroam.arrays import Bools, Floats, Ints
from fedroam.radio import Links
from fedroam.scheduling.problem import Problem, Schedule


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """All users in one round, present or not."""

    links: Links
    compute_s: Floats  # [U]
    capacity_hz: Floats  # [S]
    payload_bit: Floats  # [U]
    position_m: Floats  # [U, 2] nan where unknown


class Conditions(Protocol):
    """Where problems come from; changes from round to round."""

    @property
    def is_simulated(self) -> bool:
        """Its seconds are the schedule's, not the server's."""
        ...

    @property
    def n_users(self) -> int | None:
        """U; None where it is as many as come."""
        ...

    def look(self, round: int, n_users: int) -> View:
        """The present round."""
        ...

    def is_measured(self, users: Ints) -> bool:
        """What is predicted of these users rests on measurements of them."""
        ...

    def hear(self, user: int, report: Report, trip_s: float | None = None) -> None:
        """A node reported; ``trip_s`` is what asking it and its answer took."""
        ...

    def learn(self, problem: Problem, schedule: Schedule, finish_s: Mapping[int, float]) -> None:
        """Updates of a round came in so many seconds after it began, as seen by the server."""
        ...

    def advance(self, round: int, end_s: float) -> None:
        """``round`` is over, and the clock stands at ``end_s``."""
        ...


def restricted(links: Links, present: Bools) -> Links:
    """The links of those who are present."""
    if present.all():
        return links
    width = links.indptr[1:] - links.indptr[:-1]
    kept = present.repeat(width)
    indptr = links.indptr.copy()
    indptr[1:] = (width * present).cumsum()
    return Links(indptr, links.station[kept], links.efficiency[kept])
