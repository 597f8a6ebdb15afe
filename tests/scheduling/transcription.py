"""
Algorithm 1 of the paper, line by line, with a textbook root finder: the oracle for ``dagsa``.

Comments quote the lines. What the print leaves open is read as the specification says:
``arg min h`` means the best channel; among equals the lower station or user; comparisons with the
threshold have the relative slack of the policy; random draws are taken in the policy's order.
"""

import numpy as np
from scipy.optimize import brentq

from fedroam.errors import InfeasibleError
from fedroam.scheduling.policies.dagsa import SLACK
from fedroam.scheduling.problem import NO_STATION, Problem


def channels(problem: Problem) -> np.ndarray:
    """``H``: efficiency ``[U, S]``, 0 where out of reach."""
    h = np.zeros((problem.n_users, problem.n_stations))
    for i in range(problem.n_users):
        for link in range(problem.indptr[i], problem.indptr[i + 1]):
            h[i, problem.station[link]] = problem.efficiency[link]
    return h


def optimal_time(problem: Problem, h: np.ndarray, members: list[int], k: int) -> float:
    """``Func T(S_k)``: the root of ``sum_i S / ((t - c_i) e_ik) = B_k``."""
    need = problem.payload_bit[members] / h[members, k] / problem.capacity_hz[k]
    compute = problem.compute_s[members]
    slowest = compute.max()

    def excess(wait: float) -> float:
        return float(np.sum(need / (wait + (slowest - compute)))) - 1.0

    low, high = float(need[compute == slowest].sum()), float(need.sum())
    if excess(low) <= 0:
        return slowest + low
    if excess(high) >= 0:
        return slowest + high
    return slowest + brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=2000)


def algorithm_1(
    problem: Problem,
    rng: np.random.Generator,
    *,
    threshold: str = "assign",
    overshoot: bool = True,
) -> np.ndarray:
    """The station of every user, ``[U]``."""
    # Input: User set N, BS set M, channel state matrix H
    stations = range(problem.n_stations)
    h = channels(problem)
    # Initialize selection set S_1, ..., S_k = {}
    s: list[list[int]] = [[] for _ in stations]
    # Obtain necessary user set C, N <- N \ C
    c = set(np.flatnonzero(problem.required).tolist())
    n = set(range(problem.n_users)) - c
    t_star = 0.0

    def best(users: set[int], k: int) -> int | None:
        # i <- arg min_{i in C} h_{i,k}
        within_reach = [i for i in users if h[i, k] > 0]
        return min(within_reach, key=lambda i: (-h[i, k], i)) if within_reach else None

    def new_threshold(k: int) -> float:
        # t* <- T(S_k)
        finish = optimal_time(problem, h, s[k], k)
        return finish if threshold == "assign" else max(t_star, finish)

    def scan(users: set[int], n_wanted: float) -> None:
        # For k in M:
        for k in stations:
            # While |C| > 0:
            while users and sum(map(len, s)) < n_wanted:
                i = best(users, k)
                if i is None:
                    break
                # t <- T(S_k + {i})
                t = optimal_time(problem, h, [*s[k], i], k)
                # if t > t*: break
                if t > t_star * (1 + SLACK):
                    break
                # else: S_k <- S_k + {i}, C <- C \ {i}
                s[k].append(i)
                users.remove(i)

    # While |C| > 0:
    for i in rng.permutation(np.flatnonzero(problem.required)).tolist():
        # Random select i in C
        if i not in c:
            continue
        # k <- arg min_{k in M} h_{i,k}, S_k <- S_k + {i}, C <- C \ {i}
        k = int(np.argmax(h[i]))
        s[k].append(i)
        c.remove(i)
        t_star = new_threshold(k)
        scan(c, np.inf)

    # While (rho2) is not satisfied:
    while sum(map(len, s)) < problem.min_selected:
        scan(n, np.inf if overshoot else problem.min_selected)
        if not overshoot and sum(map(len, s)) == problem.min_selected:
            break
        # (nobody can be added any more: infeasible)
        if not any(h[i].any() for i in n):
            if sum(map(len, s)) >= problem.min_selected:
                break
            raise InfeasibleError("too few users can reach a station")
        # if |N| > 0: Random select k in M
        k = int(rng.random() * problem.n_stations)
        i = best(n, k)
        if i is not None:
            # S_k <- S_k + {i}, N <- N \ {i}, t* <- T(S_k)
            s[k].append(i)
            n.remove(i)
            t_star = new_threshold(k)

    # Output: S_1*, ..., S_k*
    station = np.full(problem.n_users, NO_STATION)
    for k in stations:
        station[s[k]] = k
    return station
