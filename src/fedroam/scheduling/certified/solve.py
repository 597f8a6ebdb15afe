"""Prices, rounding, local search: a near-optimal schedule with its gap, at any size."""

import time

import numpy as np

from fedroam.arrays import Floats, Ints, Stations
from fedroam.scheduling.bandwidth import share, split
from fedroam.scheduling.certified.bound import Bound, bound_from
from fedroam.scheduling.certified.core import SMALL, Core, cut
from fedroam.scheduling.certified.search import search
from fedroam.scheduling.certified.solution import OPTIMAL_GAP, Outcome, Solution, gap_of
from fedroam.scheduling.judge import round_length
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule

_FIRST_STRETCH = 1.05
_PER_STATION, _MANY_IN_DOUBT = 100, 200_000

# Sharpness of the search, how much worse a restart may end to be kept, and restarts without a
# better schedule before it goes back to the best: few users need a wider search, many a sharper.
_WIDE = ((2.0, 8.0), 3.0, 100)
_SHARP = ((2.0, 8.0, 30.0), 0.3, 300)


def solve_certified(
    problem: Problem,
    rng: np.random.Generator,
    *,
    effort: float = 1.0,
    time_limit_s: float | None = None,
    prices: Floats | None = None,
) -> Solution:
    """
    A schedule near the optimum, and the proof of how near.

    ``effort`` multiplies the number of restarts of the local search (0: one descent); the answer is
    then the same, bit for bit, on every machine of the same arithmetic. With ``time_limit_s`` the
    search goes on until the time is up. ``prices``, e.g. those of a similar problem, are where the
    price iteration starts.
    """
    before_s = time.perf_counter()
    proof = bound_from(problem, prices)
    deadline_s = None if time_limit_s is None else before_s + time_limit_s
    link, round_s = round_and_improve(problem, proof, rng, effort=effort, deadline_s=deadline_s)
    schedule = as_schedule(problem, link)
    round_s = round_length(problem, schedule)
    gap = gap_of(round_s, proof.bound_s)
    outcome = Outcome.EFFORT if time_limit_s is None else Outcome.TIME_LIMIT
    return Solution(
        schedule=schedule,
        round_s=round_s,
        bound_s=proof.bound_s,
        outcome=Outcome.OPTIMAL if gap <= OPTIMAL_GAP else outcome,
        prices=proof.prices,
        wall_s=time.perf_counter() - before_s,
    )


def round_and_improve(
    problem: Problem,
    proof: Bound,
    rng: np.random.Generator,
    *,
    effort: float,
    deadline_s: float | None = None,
    start: Ints | None = None,
) -> tuple[Ints, float]:
    """
    The link of every user ``[U]`` (-1: left out) and the length, after rounding and search.

    Starts from what users buy at the prices, or from ``start [U]``.
    """
    link = np.where(proof.demand.chosen, proof.demand.link, -1) if start is None else start
    if not np.any(link >= 0):
        return link, 0.0
    round_s = length_of(problem, link)
    per_station = min(_PER_STATION, max(20, _MANY_IN_DOUBT // problem.n_stations))
    core = cut(problem, proof, link, per_station)
    current = core.inside(link)
    if not np.any(current >= 0):
        return link, round_s
    # The first descent aims near the bound; its end need not be better than its start.
    latest = float(problem.compute_s[link >= 0].max())
    t = min(round_s, max(proof.bound_s * _FIRST_STRETCH, latest * 1.01))
    n_kicks, n_rounds = (
        kicks_of(core, problem.n_stations, effort),
        6 if core.size <= 2_000 else 3 if core.size <= 20_000 else 1,
    )
    done = 0
    while True:
        kicks = 0 if done == 0 else n_kicks
        found = _search(core, problem.capacity_hz, current, t, kicks, rng)
        whole = core.outside(found, link)
        found_s = length_of(problem, whole)
        if done == 0 or found_s < round_s:
            current = found
        if found_s < round_s:
            link, round_s = whole, found_s
        t = round_s
        done += 1
        if gap_of(round_s, proof.bound_s) <= OPTIMAL_GAP / 10 or n_kicks == 0:
            break
        if done > n_rounds if deadline_s is None else time.perf_counter() >= deadline_s:
            break
    return link, round_s


def kicks_of(core: Core, n_stations: int, effort: float) -> int:
    """Restarts in each of the rounds: many where they cost nothing, some where they are dear."""
    return int(np.ceil(effort * max(30_000 / core.size, 25, n_stations / 2)))


def _search(
    core: Core, capacity_hz: Floats, current: Ints, t: float, kicks: int, rng: np.random.Generator
) -> Ints:
    """The core's links ``[C]`` after a search with the deadline ``t``."""
    part = core.parts(t, capacity_hz)
    fill = core.frozen_fill(t, capacity_hz)
    used = current[current >= 0]
    fill += np.bincount(core.station[used], part[used], capacity_hz.size)
    order = np.lexsort((part, core.station))
    typical = part[used].mean()
    sharpness, heat, patience = _WIDE if core.size <= SMALL else _SHARP
    current = current.copy()
    search(
        core.indptr,
        core.station,
        part,
        core.free,
        np.searchsorted(core.station[order], np.arange(capacity_hz.size + 1)),
        order,
        core.owner,
        current,
        fill,
        np.array(sharpness) / typical,
        heat,
        patience,
        rng.random((kicks, 16)),
    )
    return current


def length_of(problem: Problem, link: Ints) -> float:
    """The round's length when users use ``link [U]`` and bands are split at best."""
    chosen = np.flatnonzero(link >= 0)
    used = link[chosen]
    need_hz_s = problem.payload_bit[chosen] / problem.efficiency[used]
    _, finish_s = split(
        problem.station[used], need_hz_s, problem.compute_s[chosen], problem.capacity_hz
    )
    return float(finish_s.max())


def as_schedule(problem: Problem, link: Ints) -> Schedule:
    """The schedule that uses ``link [U]``, with the best split of every band."""
    station: Stations = np.where(
        link >= 0, problem.station[np.maximum(link, 0)] if problem.n_links else 0, NO_STATION
    ).astype(np.int32)
    return share(problem, station)
