"""
Fairness over time by virtual queues: a user may wait for a good moment, but not for ever.

Each user has a quota, a part of the rounds. Its queue is how many selections it is behind,

    Q_u = max(0, quota * round - times_selected_u),

known from the problem's past alone. A round minimises ``weight * T - Σ_chosen Q_u`` (drift plus
penalty, Neely 2010). For this queue, as for the usual recursion, ``Q'^2 <= Q^2 + 2 Q (quota - x) +
(quota - x)^2``: also where the user is ahead, since then ``Q = 0`` and ``Q' <= max(0, quota - x)``.
So the usual theorem holds: in the long run every quota is met, with deficits of order ``weight``,
and the mean length is within ``U / (2 weight)`` seconds of the best that meets the quotas. What the
recursion has and this has not: there, being served early earns no right to starve later.

The round's problem is solved for rising sets of users that must take part, those that are most
behind for the money that they cost first; each answer is topped up with users that are behind and
still fit. Required users are required here too: to have queues *instead* of the hard rule, pose
problems without it (``rho1 = 0``).
"""

import time
from dataclasses import replace

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.compiled import kernel
from fedroam.scheduling.certified.bound import Bound, bound_from
from fedroam.scheduling.certified.solution import Outcome, Solution
from fedroam.scheduling.certified.solve import as_schedule, length_of, round_and_improve
from fedroam.scheduling.fairness import exact_fraction
from fedroam.scheduling.judge import round_length
from fedroam.scheduling.problem import Problem

_LEVELS = 10


def queues(problem: Problem, quota: float) -> Floats:
    """How many selections every user is behind its quota, ``[U]``, before this round."""
    due = float(exact_fraction(quota) * problem.round)
    return np.maximum(due - problem.times_selected, 0.0)


def solve_fair(
    problem: Problem,
    rng: np.random.Generator,
    *,
    quota: float,
    weight: float,
    effort: float = 1.0,
) -> Solution:
    """
    A schedule with small ``weight * T - Σ_chosen Q_u``; ``weight`` is selections per second.

    ``bound_s`` and ``gap`` are those of the length alone: the gap is the price of fairness and of
    the search together.
    """
    before_s = time.perf_counter()
    proof = bound_from(problem, None)
    queue = queues(problem, quota)
    best, best_cost = _level(problem, proof, queue, problem.required, weight, rng, effort)
    order = _most_behind_first(problem, proof, queue)
    n_behind = order.size
    levels = np.geomspace(1, n_behind, _LEVELS).astype(np.int64) if n_behind else np.arange(0)
    for n_forced in np.unique(levels):
        forced = problem.required.copy()
        forced[order[:n_forced]] = True
        asked = replace(problem, required=forced)
        proof_here = bound_from(asked, proof.prices, 12)
        # Whoever else is chosen, the queues can give no more than all of them.
        if weight * proof_here.bound_s - float(queue.sum()) >= best_cost:
            break
        found, cost = _level(asked, proof_here, queue, forced, weight, rng, effort / 3)
        if cost < best_cost:
            best, best_cost = found, cost
    schedule = as_schedule(problem, best)
    return Solution(
        schedule=schedule,
        round_s=round_length(problem, schedule),
        bound_s=proof.bound_s,
        outcome=Outcome.EFFORT,
        prices=proof.prices,
        wall_s=time.perf_counter() - before_s,
    )


def _most_behind_first(problem: Problem, proof: Bound, queue: Floats) -> Ints:
    """Users that are behind and may be left out, by queue per money that they would spend."""
    demand = proof.demand
    users = np.flatnonzero((queue > 0) & ~problem.required & (demand.link >= 0))
    time_s = np.maximum(proof.bound_s - problem.compute_s[users], 1e-9 * proof.bound_s)
    return users[np.argsort(-queue[users] * time_s / demand.cost[users], kind="stable")]


def _level(
    problem: Problem,
    proof: Bound,
    queue: Floats,
    required: Bools,
    weight: float,
    rng: np.random.Generator,
    effort: float,
) -> tuple[Ints, float]:
    """The links and the cost of a short schedule with these users, topped up."""
    link, round_s = round_and_improve(problem, proof, rng, effort=effort)
    if round_s > 0:
        _top_up(
            problem.indptr,
            problem.station,
            problem.payload_bit / (round_s - np.minimum(problem.compute_s, round_s)).clip(1e-300),
            problem.efficiency,
            problem.capacity_hz,
            required,
            queue,
            np.argsort(-queue, kind="stable"),
            link,
        )
        round_s = length_of(problem, link)
    return link, weight * round_s - float(queue[link >= 0].sum())


@kernel
def _top_up(  # type: ignore[no-untyped-def]
    indptr, station, rate, efficiency, capacity, required, queue, order, link
):
    """
    Let users that are behind join where they fit, or take the place of one that is less behind.

    ``rate [U]`` is the bit/s that a user needs to meet the present length of the round.
    """
    fill = np.zeros(capacity.size)
    for u in range(link.size):
        if link[u] >= 0:
            s = station[link[u]]
            fill[s] += rate[u] / efficiency[link[u]] / capacity[s]
    for u in order:
        if not queue[u] > 0:
            return
        if link[u] >= 0:
            continue
        best, best_link, best_gone = 0.0, -1, -1
        for k in range(indptr[u], indptr[u + 1]):
            s = station[k]
            part = rate[u] / efficiency[k] / capacity[s]
            if fill[s] + part <= 1.0:
                best, best_link, best_gone = queue[u], k, -1
                break
            for v in range(link.size):
                if link[v] < 0 or required[v] or station[link[v]] != s:
                    continue
                gone = rate[v] / efficiency[link[v]] / capacity[s]
                if queue[u] - queue[v] > best and fill[s] + part - gone <= 1.0:
                    best, best_link, best_gone = queue[u] - queue[v], k, v
        if best_link < 0:
            continue
        s = station[best_link]
        fill[s] += rate[u] / efficiency[best_link] / capacity[s]
        link[u] = best_link
        if best_gone >= 0:
            fill[s] -= rate[best_gone] / efficiency[link[best_gone]] / capacity[s]
            link[best_gone] = -1
