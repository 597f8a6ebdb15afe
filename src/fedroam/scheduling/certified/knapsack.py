"""The crew of each station that is worth most: one knapsack a station."""

import numpy as np

from fedroam.compiled import kernel

PRUNED = 1e-11
"""Crews that are worth more by less than this are not looked for."""


MANY = 8
"""Members of a crew from which on their number is worth a thought."""

_SHIFT_STEPS, _GOLDEN = 48, (5**0.5 - 1) / 2


@kernel
def best_crews(part, worth, floor, least, most, most_steps):  # type: ignore[no-untyped-def]
    """
    For every station the most that a crew is worth, at most, and the members ``[S, U]`` of one.

    A crew has a ``part [S, U]`` of at most 1 in all, and ``least [S]`` to ``most [S]`` members.
    Crews worth more than ``floor [S]`` are looked for: where there is none, or none was found in
    time, the members are nobody.
    """
    n_stations, n_users = part.shape
    at_most = np.zeros(n_stations)
    members = np.zeros((n_stations, n_users), np.bool_)
    for s in range(n_stations):
        able = np.flatnonzero((part[s] <= 1.0) & ((worth > 0.0) | (least[s] > 0)))
        worths, parts = worth[able], part[s][able]
        fewest, largest = least[s], min(most[s], _most_that_fit(parts))
        shift, offset = _shift(worths, parts, fewest, largest)
        order = _by_ratio(worths - shift, parts)
        chosen = np.zeros(order.size, np.bool_)
        at_most[s] = _knapsack(
            worths[order],
            parts[order],
            shift,
            offset,
            fewest,
            largest,
            floor[s],
            chosen,
            most_steps,
        )
        for j in range(order.size):
            members[s, able[order[j]]] = chosen[j]
    return at_most, members


@kernel
def _most_that_fit(part):  # type: ignore[no-untyped-def]
    """
    How many of the items fit at best; any number, where only few do. Where many are alike, part of
    one more always promises a little, and a search without this number would try them all.
    """
    room, n = 1.0, 0
    for x in np.sort(part):
        room -= x
        if room < -1e-12:
            break
        n += 1
    return n if n >= MANY else part.size


@kernel
def _by_ratio(worth, part):  # type: ignore[no-untyped-def]
    """Items by part for worth, those worth nothing last."""
    ratio = np.empty(worth.size)
    for j in range(worth.size):
        ratio[j] = part[j] / worth[j] if worth[j] > 0.0 else np.inf
    return np.argsort(ratio)


@kernel
def _fraction(worth, part, order, room):  # type: ignore[no-untyped-def]
    """The most that fits when items may be cut."""
    total = 0.0
    for j in order:
        if not worth[j] > 0.0:
            break
        if part[j] > room:
            return total + worth[j] * room / part[j]
        room -= part[j]
        total += worth[j]
    return total


@kernel
def _shift(worth, part, least, most):  # type: ignore[no-untyped-def]
    """
    What to take from every item's worth, and to give back in all, so that ``least`` and ``most``
    are hardly felt: no lawful crew is worth more than its shifted worth and the offset.
    """
    if least <= 0 and most >= worth.size:
        return 0.0, 0.0
    low = -worth.max() if least > 0 and worth.size else 0.0
    high = worth.max() if most < worth.size else 0.0
    # Golden section: the shifted bound is convex in the shift.
    one, other = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_one = _shifted(worth, part, one, least, most)
    at_other = _shifted(worth, part, other, least, most)
    for _ in range(_SHIFT_STEPS):
        if at_one <= at_other:
            high, other, at_other = other, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = _shifted(worth, part, one, least, most)
        else:
            low, one, at_one = one, other, at_other
            other = low + _GOLDEN * (high - low)
            at_other = _shifted(worth, part, other, least, most)
    shift = one if at_one <= at_other else other
    return shift, shift * (most if shift > 0 else least)


@kernel
def _shifted(worth, part, shift, least, most):  # type: ignore[no-untyped-def]
    """No lawful crew is worth more, whatever the shift."""
    shifted = worth - shift
    total = _fraction(shifted, part, _by_ratio(shifted, part), 1.0)
    return total + shift * (most if shift > 0 else least)


@kernel
def _knapsack(  # type: ignore[no-untyped-def]
    worth, part, shift, offset, least, most, floor, chosen, most_steps
):
    """
    No more than this fits in 1, depth first, best ratios first; ``chosen`` gets the best above
    ``floor``.
    """
    n = worth.size
    worth_before, part_before, shifted_before = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    n_good = 0
    for j in range(n):
        worth_before[j + 1] = worth_before[j] + worth[j]
        part_before[j + 1] = part_before[j] + part[j]
        shifted_before[j + 1] = shifted_before[j] + max(worth[j] - shift, 0.0)
        n_good += worth[j] > shift
    taken = np.empty(n, np.int64)
    n_taken, filled, gained = 0, 0.0, 0.0
    best, first_bound, j = floor, np.inf, 0
    for step in range(most_steps):
        # The items from j on that fit in one go, and then a part of the next.
        stop = np.searchsorted(part_before, part_before[j] + (1.0 - filled), side="right") - 1
        stop = max(stop, j)
        bound = gained - n_taken * shift + offset + shifted_before[stop] - shifted_before[j]
        if stop < n_good:
            room = 1.0 - filled - (part_before[stop] - part_before[j])
            bound += room * (worth[stop] - shift) / part[stop]
        if step == 0:
            first_bound = bound
        if bound > best + PRUNED:
            stop = min(stop, j + most - n_taken)
            for k in range(j, stop):
                taken[n_taken] = k
                n_taken += 1
            gained += worth_before[stop] - worth_before[j]
            filled += part_before[stop] - part_before[j]
            if gained > best and n_taken >= least:
                best = gained
                chosen[:] = False
                chosen[taken[:n_taken]] = True
            if stop < n and n_taken < most:
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
def affordable_arcs(part, worth, least, most, at_most, slack):  # type: ignore[no-untyped-def]
    """
    The arcs ``[S, U]`` that a station can use and still be worth all but ``slack`` of its most.

    With the user in, what else fits is worth no more than its fractional knapsack.
    """
    n_stations, n_users = part.shape
    keeps = np.zeros((n_stations, n_users), np.bool_)
    for s in range(n_stations):
        able = np.flatnonzero((part[s] <= 1.0) & ((worth > 0.0) | (least[s] > 0)))
        largest = min(most[s], _most_that_fit(part[s][able]))
        shift, offset = _shift(worth[able], part[s][able], least[s], largest)
        shifted = worth - shift
        order = able[_by_ratio(shifted[able], part[s][able])]
        for u in range(n_users):
            if not part[s, u] <= 1.0:
                continue
            room, total = 1.0 - part[s, u], shifted[u] + offset
            for j in order:
                if j == u:
                    continue
                if not shifted[j] > 0.0:
                    break
                if part[s, j] > room:
                    total += shifted[j] * room / part[s, j]
                    break
                room -= part[s, j]
                total += shifted[j]
            keeps[s, u] = total >= at_most[s] - slack - 1e-9
    return keeps
