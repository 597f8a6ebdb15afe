"""The crew of each station that is worth most: one knapsack a station."""

import numpy as np

from fedroam.compiled import kernel

PRUNED = 1e-11
"""Crews that are worth more by less than this are not looked for."""


@kernel
def best_crews(part, worth, floor, most_steps):  # type: ignore[no-untyped-def]
    """
    For every station the most that a crew is worth, at most, and the members ``[S, U]`` of one.

    A crew has a ``part [S, U]`` of at most 1 in all. Only crews worth more than ``floor [S]`` are
    looked for: where there is none, or none was found in time, the members are nobody.
    """
    n_stations, n_users = part.shape
    at_most = np.zeros(n_stations)
    members = np.zeros((n_stations, n_users), np.bool_)
    for s in range(n_stations):
        able = np.flatnonzero((part[s] <= 1.0) & (worth > 0.0))
        order = able[np.argsort(part[s][able] / worth[able])]
        chosen = np.zeros(order.size, np.bool_)
        at_most[s] = _knapsack(worth[order], part[s][order], floor[s], chosen, most_steps)
        for j in range(order.size):
            members[s, order[j]] = chosen[j]
    return at_most, members


@kernel
def _knapsack(worth, part, floor, chosen, most_steps):  # type: ignore[no-untyped-def]
    """
    No more than this fits in 1, depth first, best ratios first; ``chosen`` gets the best above
    ``floor``.
    """
    n = worth.size
    worth_before, part_before = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        worth_before[j + 1] = worth_before[j] + worth[j]
        part_before[j + 1] = part_before[j] + part[j]
    taken = np.empty(n, np.int64)
    n_taken, filled, gained = 0, 0.0, 0.0
    best, first_bound, j = floor, np.inf, 0
    for step in range(most_steps):
        # The items from j on that fit in one go, and then a part of the next.
        stop = np.searchsorted(part_before, part_before[j] + (1.0 - filled), side="right") - 1
        stop = max(stop, j)
        more = worth_before[stop] - worth_before[j]
        bound = gained + more
        if stop < n:
            room = 1.0 - filled - (part_before[stop] - part_before[j])
            bound += room * worth[stop] / part[stop]
        if step == 0:
            first_bound = bound
        if bound > best + PRUNED:
            for k in range(j, stop):
                taken[n_taken] = k
                n_taken += 1
            gained += more
            filled += part_before[stop] - part_before[j]
            if gained > best:
                best = gained
                chosen[:] = False
                chosen[taken[:n_taken]] = True
            if stop < n:
                j = stop + 1
                continue
        if n_taken == 0:
            return best + PRUNED
        n_taken -= 1
        k = taken[n_taken]
        gained -= worth[k]
        filled -= part[k]
        j = k + 1
    return max(first_bound, best) + PRUNED


@kernel
def affordable_arcs(part, worth, at_most, slack):  # type: ignore[no-untyped-def]
    """
    The arcs ``[S, U]`` that a station can use and still be worth all but ``slack`` of its most.

    With the user in, what else fits is worth no more than its fractional knapsack.
    """
    n_stations, n_users = part.shape
    keeps = np.zeros((n_stations, n_users), np.bool_)
    for s in range(n_stations):
        able = np.flatnonzero((part[s] <= 1.0) & (worth > 0.0))
        order = able[np.argsort(part[s][able] / worth[able])]
        for u in range(n_users):
            if not part[s, u] <= 1.0:
                continue
            room, total = 1.0 - part[s, u], worth[u]
            for j in order:
                if j == u:
                    continue
                if part[s, j] > room:
                    total += worth[j] * room / part[s, j]
                    break
                room -= part[s, j]
                total += worth[j]
            keeps[s, u] = total >= at_most[s] - slack - 1e-9
    return keeps
