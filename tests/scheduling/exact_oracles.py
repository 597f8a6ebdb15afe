"""Optima found without our solvers: by trying everything, and by an independent MILP."""

from itertools import combinations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, brentq, milp

from fedroam.scheduling.problem import Problem


def textbook_length(need, compute, capacity) -> float:
    """The root of ``sum need / (T - compute) = capacity``, by bracketing."""
    low = max(compute + need / capacity)
    high = max(compute) + sum(need) / capacity
    excess = lambda t: np.sum(need / (t - compute)) - capacity  # noqa: E731
    if excess(low) <= 0:
        return low
    return brentq(excess, low, high * (1 + 1e-12), xtol=1e-15, rtol=1e-14)


def brute_force(problem: Problem) -> float:
    """The shortest lawful round, by trying every set of users and every station for each."""
    required = np.flatnonzero(problem.required)
    others = [u for u in np.flatnonzero(np.diff(problem.indptr)) if u not in required]
    extra = max(0, problem.min_selected - required.size)
    best = np.inf
    for chosen in combinations(others, extra):
        users = [*required, *chosen]
        links = [range(problem.indptr[u], problem.indptr[u + 1]) for u in users]
        for used in product(*links):
            best = min(best, _length(problem, users, np.array(used, int)))
    return best


def _length(problem: Problem, users, used) -> float:
    longest = 0.0
    for s in set(problem.station[used].tolist()):
        here = problem.station[used] == s
        who = np.array(users)[here]
        need = problem.payload_bit[who] / problem.efficiency[used[here]]
        longest = max(
            longest, textbook_length(need, problem.compute_s[who], problem.capacity_hz[s])
        )
    return longest


def by_milp(problem: Problem, low: float, high: float) -> tuple[float, float]:
    """A bracket of the shortest lawful round, by bisection over its length: 1e-4 wide."""
    while high / low > 1 + 1e-4:
        middle = np.sqrt(low * high)
        if _fits(problem, middle):
            high = middle
        else:
            low = middle
    return low, high


def _fits(problem: Problem, t: float) -> bool:
    """Least greatest fill over all assignments is at most 1."""
    user = np.repeat(np.arange(problem.n_users), np.diff(problem.indptr))
    usable = t > problem.compute_s[user]
    need = problem.payload_bit[user] / problem.efficiency
    part = np.where(usable, need / np.where(usable, t - problem.compute_s[user], 1.0), 0.0)
    part /= problem.capacity_hz[problem.station]
    fill = least_greatest_fill(
        user[usable],
        problem.station[usable],
        part[usable],
        problem.required,
        problem.n_stations,
        problem.min_selected,
    )
    return fill <= 1.0 + 1e-9


def least_greatest_fill(user, station, part, must, n_stations, n_selected) -> float:
    """
    How full the fullest station is at best; inf where nobody can be served lawfully.

    Each of ``user [A]`` takes ``part [A]`` of ``station [A]`` on at most one of its arcs, and on
    one where it ``must [U]``; ``n_selected`` do in all.
    """
    n_arcs, arcs = user.size, np.arange(user.size)
    filling = np.zeros((n_stations, n_arcs + 1))
    filling[station, arcs] = part
    filling[:, -1] = -1.0
    once = np.zeros((must.size, n_arcs + 1))
    once[user, arcs] = 1.0
    answer = milp(
        np.eye(n_arcs + 1)[-1],
        integrality=np.append(np.ones(n_arcs), 0),
        bounds=Bounds(0, np.append(np.ones(n_arcs), np.inf)),
        constraints=[
            LinearConstraint(filling, ub=0.0),
            LinearConstraint(once, lb=must.astype(float), ub=1.0),
            LinearConstraint(once.sum(axis=0)[None], lb=n_selected),
        ],
    )
    return float(answer.x[-1]) if answer.status == 0 else np.inf
