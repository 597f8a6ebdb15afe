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
    n_links = problem.n_links
    user = np.repeat(np.arange(problem.n_users), np.diff(problem.indptr))
    usable = t > problem.compute_s[user]
    need = problem.payload_bit[user] / problem.efficiency
    part = np.where(usable, need / np.where(usable, t - problem.compute_s[user], 1.0), 0.0)
    part /= problem.capacity_hz[problem.station]
    filling = np.zeros((problem.n_stations, n_links + 1))
    filling[problem.station, np.arange(n_links)] = part
    filling[:, -1] = -1.0
    once = np.zeros((problem.n_users, n_links + 1))
    once[user, np.arange(n_links)] = 1.0
    everyone = np.ones((1, n_links + 1))
    everyone[0, -1] = 0.0
    answer = milp(
        np.eye(n_links + 1)[-1],
        integrality=np.append(np.ones(n_links), 0),
        bounds=Bounds(0, np.append(usable.astype(float), np.inf)),
        constraints=[
            LinearConstraint(filling, ub=0.0),
            LinearConstraint(once, lb=problem.required.astype(float), ub=1.0),
            LinearConstraint(everyone, lb=problem.min_selected),
        ],
    )
    return bool(answer.status == 0 and answer.x[-1] <= 1.0 + 1e-9)
