"""
The best split of every station's band among the users that it serves.

At the optimum all users of a station finish together, at the ``T`` that solves

    sum_i need_i / (T - compute_i) = capacity,        need_i = payload_i / efficiency_i

(the paper's equation for ``t_k*``). The left side is convex and falls strictly with ``T``, so the
root is unique. Solved for the wait ``u = T - max_i compute_i``, which has no cancellation near
the slowest computer, by Newton's method on the reciprocal of the left side: that function is
concave, so the iteration rises monotonically from any point left of the root and stops by itself
when it no longer rises; it needs two or three steps on the paper's problems.
"""

import numpy as np

from fedroam.arrays import Floats, Stations
from fedroam.compiled import kernel
from fedroam.errors import ContractError
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule, find_link


def split(
    station: Stations,  # [K] of each chosen user
    need_hz_s: Floats,  # [K] payload / efficiency, positive
    compute_s: Floats,  # [K]
    capacity_hz: Floats,  # [S]
) -> tuple[Floats, Floats]:
    """Bandwidth per user ``[K]`` and finish time per station ``[S]`` (0 where it serves nobody)."""
    return split_bands(station, need_hz_s, compute_s, capacity_hz)  # type: ignore[no-any-return]


def share(problem: Problem, station: Stations) -> Schedule:
    """Users sent to ``station [U]`` (NO_STATION: left out), with the best split of every band."""
    link = links_of(problem, station)
    chosen = np.flatnonzero(station != NO_STATION)
    need_hz_s = problem.payload_bit[chosen] / problem.efficiency[link[chosen]]
    bandwidth_hz = np.zeros(problem.n_users)
    bandwidth_hz[chosen], _ = split(
        station[chosen].astype(np.int32, copy=False),
        need_hz_s,
        problem.compute_s[chosen],
        problem.capacity_hz,
    )
    return Schedule(station, bandwidth_hz)


def links_of(problem: Problem, station: Stations) -> np.ndarray:
    """The link that each user uses, ``[U]``; -1 where it is left out."""
    link = _links_of(problem.indptr, problem.station, np.asarray(station, np.int32))
    lost = np.flatnonzero(link == -2)
    if lost.size:
        raise ContractError(
            f"user {lost[0]} is sent to station {station[lost[0]]}, which is out of its reach"
        )
    return link  # type: ignore[no-any-return]


@kernel
def _links_of(indptr, station, chosen):  # type: ignore[no-untyped-def]
    """Each user's link; -2 where the station is out of its reach."""
    link = np.full(chosen.size, -1, np.int64)
    for u in range(chosen.size):
        if chosen[u] != -1:
            found = find_link(indptr, station, u, chosen[u])
            link[u] = found if found != -1 else -2
    return link


@kernel
def split_bands(station, need, compute, capacity):  # type: ignore[no-untyped-def]
    """``split`` for kernels."""
    n_stations, n = capacity.size, station.size
    start = np.zeros(n_stations + 1, np.int64)
    for i in range(n):
        start[station[i] + 1] += 1
    for s in range(n_stations):
        start[s + 1] += start[s]
    fill = start[:-1].copy()
    order = np.empty(n, np.int64)
    grouped_need, grouped_compute = np.empty(n), np.empty(n)
    for i in range(n):
        place = fill[station[i]]
        fill[station[i]] += 1
        order[place], grouped_need[place], grouped_compute[place] = i, need[i], compute[i]
    bandwidth, finish = np.empty(n), np.zeros(n_stations)
    for s in range(n_stations):
        first, last = start[s], start[s + 1]
        if first == last:
            continue
        slowest, wait = wait_of(grouped_need[first:last], grouped_compute[first:last], capacity[s])
        finish[s] = slowest + wait
        for place in range(first, last):
            head_start = slowest - grouped_compute[place]
            bandwidth[order[place]] = grouped_need[place] / (wait + head_start)
    return bandwidth, finish


@kernel
def wait_of(need, compute, capacity):  # type: ignore[no-untyped-def]
    """
    The slowest computer's time, and the wait after it until all users of one station are done.

    The start is the best of three points left of the root: all need at the mean compute time
    (Jensen), the greediest user alone, the slowest computers alone.
    """
    slowest = compute.max()
    total, pole, mean_head_start, wait = 0.0, 0.0, 0.0, 0.0
    for i in range(need.size):
        q, head_start = need[i] / capacity, slowest - compute[i]
        total += q
        mean_head_start += q * head_start
        wait = max(wait, q - head_start)
        if head_start == 0.0:
            pole += q
    wait = max(wait, pole, total - mean_head_start / total)
    for _ in range(100):
        # Compensated sums: a station may serve 10^5 users, and the twelfth digit counts.
        s1, s2, lost = -1.0, 0.0, 0.0
        for i in range(need.size):
            z = 1.0 / (wait + (slowest - compute[i]))
            term = need[i] / capacity * z
            s2 += term * z
            y = term - lost
            t = s1 + y
            lost = (t - s1) - y
            s1 = t
        better = wait + (s1 + 1.0) / s2 * s1
        if not better > wait * (1.0 + 4e-16):
            break
        wait = better
    return slowest, wait
