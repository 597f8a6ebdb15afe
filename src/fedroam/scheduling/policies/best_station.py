"""
The paper's simple baselines: every chosen user goes to its best station.

They look at no fairness rule (rho1): required users may be left out.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedroam.arrays import Ints, Stations
from fedroam.compiled import kernel
from fedroam.errors import InfeasibleError
from fedroam.scheduling.bandwidth import share
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule


@dataclass(frozen=True)
class Random:
    """
    RS: users drawn uniformly, band split optimally.

    Exactly ``min_selected`` users; with ``independent`` each user takes part by its own coin, with
    the same mean, which breaks the rho2 rule in about 44 % of rounds at one half of 50 users.
    """

    independent: bool = False
    ignores: ClassVar = ("required", "min_selected")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Draw users; everyone to the best station."""
        return share(problem, _only(draw(problem, rng, self.independent), best_station(problem)))


@dataclass(frozen=True)
class Uniform:
    """UB: users drawn as in RS, every band split evenly."""

    independent: bool = False
    ignores: ClassVar = ("required", "min_selected")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Draw users; everyone to the best station, at equal bandwidth."""
        station = _only(draw(problem, rng, self.independent), best_station(problem))
        return split_evenly(problem, station)


@dataclass(frozen=True)
class All:
    """SA: everyone who can reach a station, band split optimally."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Everyone to the best station."""
        del rng  # nothing is left to chance
        station = best_station(problem)
        reachable = int(np.count_nonzero(station != NO_STATION))
        _check_enough(problem, reachable)
        return share(problem, station)


def best_station(problem: Problem) -> Stations:
    """The station of each user's best link (the first of equals), ``[U]``."""
    return _best_station(problem.indptr, problem.station, problem.efficiency)  # type: ignore[no-any-return]


def draw(problem: Problem, rng: np.random.Generator, independent: bool) -> Ints:
    """Users drawn uniformly among those within reach of a station."""
    reachable = np.flatnonzero(np.diff(problem.indptr) > 0)
    _check_enough(problem, reachable.size)
    if not independent:
        return rng.permutation(reachable)[: problem.min_selected]
    while True:  # nobody at all is not a round: draw again
        users = reachable[rng.random(reachable.size) * reachable.size < problem.min_selected]
        if users.size or problem.min_selected == 0:
            return users


def split_evenly(problem: Problem, station: Stations) -> Schedule:
    """The schedule that gives all users of a station the same bandwidth."""
    chosen = np.flatnonzero(station != NO_STATION)
    n_users_at = np.bincount(station[chosen], minlength=problem.n_stations)
    bandwidth_hz = np.zeros(problem.n_users)
    bandwidth_hz[chosen] = (problem.capacity_hz / np.maximum(n_users_at, 1))[station[chosen]]
    return Schedule(station, bandwidth_hz)


def _only(users: Ints, station: Stations) -> Stations:
    chosen = np.full_like(station, NO_STATION)
    chosen[users] = station[users]
    return chosen


def _check_enough(problem: Problem, reachable: int) -> None:
    if reachable < problem.min_selected:
        raise InfeasibleError(
            f"only {reachable} users can reach a station, {problem.min_selected} must take part"
        )


@kernel
def _best_station(indptr, station, efficiency):  # type: ignore[no-untyped-def]
    best = np.full(indptr.size - 1, -1, np.int32)
    for user in range(best.size):
        gain = 0.0
        for link in range(indptr[user], indptr[user + 1]):
            if efficiency[link] > gain:
                gain, best[user] = efficiency[link], station[link]
    return best
