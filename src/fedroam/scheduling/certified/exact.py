"""
Proving optimality: is there a schedule shorter than the best one found?

At a fixed deadline ``t`` loads add up, so the question is a packing problem: every arc takes a
part of its station, no station is filled beyond 1. Prices make it small before the tree of
``crews.py`` sees it. At deadline ``t`` the money left after the cheapest choice of users is
``slack = Σ λ B - G(λ, t)``; an arc that would cost more than ``slack`` above what its user spends
anyway (or, for a user left out, above the cutoff) is in no schedule that meets ``t``; a user whose
replacement would cost more than ``slack`` extra is in all of them.
"""

import time
from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.scheduling.certified.bound import Bound, bound_from
from fedroam.scheduling.certified.crews import Packing, pack_crews
from fedroam.scheduling.certified.demand import n_to_select
from fedroam.scheduling.certified.linear import require_solver
from fedroam.scheduling.certified.solution import OPTIMAL_GAP, Outcome, Solution, gap_of
from fedroam.scheduling.certified.solve import (
    as_schedule,
    length_of,
    round_and_improve,
)
from fedroam.scheduling.judge import round_length
from fedroam.scheduling.problem import Problem

_STEP = 0.9 * OPTIMAL_GAP
_FORGIVEN = 4e-9
"""Relative width added to every band: more than the judge forgives, and all roundings."""


def solve_exact(
    problem: Problem,
    rng: np.random.Generator,
    *,
    effort: float = 1.0,
    time_limit_s: float = 60.0,
    start: Ints | None = None,
) -> Solution:
    """
    The shortest schedule, proven to a relative 1e-5, or the best with its bound when time is up.

    ``start [U]``, the link of every user, is a lawful schedule to begin with. Raises ConfigError
    where the solver is not installed.
    """
    require_solver()
    before_s = time.perf_counter()
    end_s = before_s + time_limit_s
    proof = bound_from(problem, None)
    link, round_s = round_and_improve(
        problem, proof, rng, effort=effort, deadline_s=None if effort else end_s
    )
    if start is not None and (start_s := length_of(problem, start)) < round_s:
        link, round_s = start, start_s
    search = _Search(problem, proof, rng, effort, end_s)
    link, round_s, bound_s = search.close(link, round_s)
    schedule = as_schedule(problem, link)
    round_s = round_length(problem, schedule)
    proven = gap_of(round_s, bound_s) <= OPTIMAL_GAP
    return Solution(
        schedule=schedule,
        round_s=round_s,
        bound_s=bound_s,
        outcome=Outcome.OPTIMAL if proven else Outcome.TIME_LIMIT,
        prices=proof.prices,
        wall_s=time.perf_counter() - before_s,
    )


@dataclass(eq=False, slots=True)
class _Search:
    """Questions about one problem, until the best schedule and the bound meet or time is up."""

    problem: Problem
    proof: Bound
    rng: np.random.Generator
    effort: float
    end_s: float

    def close(self, link: Ints, round_s: float) -> tuple[Ints, float, float]:
        """
        The best links ``[U]`` and their length, and what no schedule beats.

        First: is anything shorter? Answers mostly take milliseconds, and where each is a little
        shorter only, the next question asks for four times more. Where that takes a third of the
        time, the root of the tree alone is asked how far it can prove, and then whole trees again,
        nearer to the bound where the answer does not come in time.
        """
        best = self._shorten(_Best(link, round_s, self.proof.bound_s))
        if not best.is_proven:
            best = self._raise_root(best)
        nearness = 0.5
        while not best.is_proven and (left_s := self.end_s - time.perf_counter()) > 0:
            t = min(best.bound_s + nearness * (best.round_s - best.bound_s), best.tip_s)
            following = self._asked(best, t, left_s / 4)
            nearness = nearness / 2 if following is best else 0.5
            best = following
        return best.link, best.round_s, best.bound_s

    def _shorten(self, best: "_Best") -> "_Best":
        end_s = time.perf_counter() + (self.end_s - time.perf_counter()) / 3
        step = _STEP
        while not best.is_proven and (left_s := end_s - time.perf_counter()) > 0:
            t = max(best.round_s * (1 - step), best.bound_s)
            following = self._asked(best, t, left_s)
            if following is best:
                break
            step = 4 * step if following.round_s < best.round_s else max(step / 8, _STEP)
            best = following
        return best

    def _raise_root(self, best: "_Best") -> "_Best":
        """A higher bound, or by chance a better schedule, without branching."""
        low, high = best.bound_s, best.tip_s
        while high > low * (1 + _STEP) and (left_s := self.end_s - time.perf_counter()) > 0:
            t = (low + high) / 2
            following = self._asked(best, t, left_s, most_nodes=1)
            low, high = max(low, following.bound_s), t if following.bound_s < t else high
            best = following
        return best

    def _asked(
        self, best: "_Best", t: float, time_limit_s: float, most_nodes: int = 10**9
    ) -> "_Best":
        """What is known after the question about ``t``: the same object where that is no more."""
        answer = ask(self.problem, self.proof, t, time_limit_s, most_nodes)
        if answer is None:
            return best
        if not np.any(answer >= 0):
            return _Best(best.link, best.round_s, max(best.bound_s, t * (1 - 1e-12)))
        found_s = length_of(self.problem, answer)
        if not found_s < best.round_s:
            return best  # longer by the forgiven width only: nothing more can be decided
        link, round_s = round_and_improve(
            self.problem, self.proof, self.rng, effort=self.effort, start=answer
        )
        return _Best(link, round_s, best.bound_s)


@dataclass(frozen=True, eq=False, slots=True)
class _Best:
    """The best schedule so far, and what no schedule beats."""

    link: Ints  # [U]
    round_s: float
    bound_s: float

    @property
    def is_proven(self) -> bool:
        return gap_of(self.round_s, self.bound_s) <= OPTIMAL_GAP

    @property
    def tip_s(self) -> float:
        """Just below the best schedule."""
        return max(self.round_s * (1 - _STEP), self.bound_s)


def ask(
    problem: Problem, proof: Bound, t: float, time_limit_s: float, most_nodes: int = 10**9
) -> Ints | None:
    """
    The links ``[U]`` of a schedule no longer than ``t`` (to a relative 1e-8).

    All -1 where there is none; None where that was not decided in ``most_nodes`` of the tree and
    ``time_limit_s``.
    """
    nobody = np.full(problem.n_users, -1)
    n = n_to_select(problem)
    arcs = _Arcs.at(problem, proof.prices, t)
    must = problem.required
    for _ in range(3):
        kept = arcs.kept(must, n)
        if kept is None:
            return nobody
        before = arcs.link.size
        arcs, must = kept
        if arcs.link.size == before:
            break
    packing = Packing(
        user=arcs.user,
        station=problem.station[arcs.link].astype(np.int64),
        part=arcs.part,
        must=must,
        n_stations=problem.n_stations,
        n_selected=n,
    )
    found = pack_crews(packing, arcs.cheapest() / arcs.money, time_limit_s, most_nodes)
    if found is None:
        return None
    link = nobody
    link[arcs.user[found]] = arcs.link[found]
    return link


@dataclass(frozen=True, eq=False, slots=True)
class _Arcs:
    """Links that a schedule of the length asked for may use."""

    user: Ints  # [A] ascending
    link: Ints  # [A]
    part: Floats  # [A] of the station
    spending: Floats  # [A] at the prices
    money: float
    n_users: int

    @classmethod
    def at(cls, problem: Problem, prices: Floats, t: float) -> "_Arcs":
        user = np.repeat(np.arange(problem.n_users), np.diff(problem.indptr))
        in_time = np.flatnonzero(t > problem.compute_s[user])
        user = user[in_time]
        station = problem.station[in_time]
        load_hz = problem.payload_bit[user] / problem.efficiency[in_time]
        load_hz = load_hz / (t - problem.compute_s[user])
        capacity_hz = problem.capacity_hz * (1 + _FORGIVEN)
        part = load_hz / capacity_hz[station]
        fits = part <= 1.0
        return cls(
            user=user[fits],
            link=in_time[fits],
            part=part[fits],
            spending=(load_hz * prices[station])[fits],
            money=float(prices @ capacity_hz),
            n_users=problem.n_users,
        )

    def cheapest(self) -> Floats:
        """What every user would spend at least ``[U]``, inf without arcs."""
        cheapest = np.full(self.n_users, np.inf)
        np.minimum.at(cheapest, self.user, self.spending)
        return cheapest

    def kept(self, must: Bools, n: int) -> tuple["_Arcs", Bools] | None:
        """The arcs that survive the prices, and who is in every schedule; None: no schedule."""
        cheapest = self.cheapest()
        n_optional = n - int(np.count_nonzero(must))
        optional = np.sort(cheapest[~must])
        chosen = optional[: max(n_optional, 0)]
        slack = self.money - float(cheapest[must].sum()) - float(chosen.sum())
        slack += 1e-12 * self.money
        if not slack >= 0 or n_optional > np.count_nonzero(np.isfinite(optional)):
            return None
        cutoff = chosen[-1] if n_optional > 0 else -np.inf
        following = optional[n_optional] if 0 <= n_optional < optional.size else np.inf
        anyway = np.where(must, cheapest, np.minimum(cheapest, cutoff))
        survives = self.spending - anyway[self.user] <= slack
        if n_optional <= 0:
            survives &= must[self.user]
        forced = ~must & (cheapest <= cutoff) & (following > cheapest + slack)
        arcs = _Arcs(
            self.user[survives],
            self.link[survives],
            self.part[survives],
            self.spending[survives],
            self.money,
            self.n_users,
        )
        return arcs, must | forced
