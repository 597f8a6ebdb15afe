"""The crew of each station that is worth most: one knapsack a station."""

import numpy as np

from fedroam.compiled import kernel

PRUNED = 1e-11
"""Crews that are worth more by less than this are not looked for."""


MANY = 8
"""Members of a crew from which on their number is worth a thought."""

_SHIFT_STEPS, _GOLDEN = 16, (5**0.5 - 1) / 2


@kernel
def best_crews(part, worth, floor, least, most, most_sums):  # type: ignore[no-untyped-def]
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
        fit = _most_that_fit(parts)
        fewest, largest = least[s], min(most[s], fit)
        shift, offset = _shift(worths, parts, fewest, largest)
        order = _by_ratio(worths - shift, parts)
        chosen = np.zeros(order.size, np.bool_)
        is_counted = fewest > 0 or most[s] < fit  # that no more fit holds without counting
        at_most[s] = _knapsack(
            worths[order],
            parts[order],
            shift,
            offset,
            fewest,
            largest,
            is_counted,
            floor[s],
            chosen,
            most_sums,
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
    worth, part, shift, offset, least, most, is_counted, floor, chosen, most_sums
):
    """
    What lawful items are worth at most, or ``floor`` if that is more; after ``most_sums`` sums what
    they would be worth if they could be cut. ``chosen`` gets the best ones above ``floor``.

    Item by item, best ratios first: all sums of worth and part that some of the items so far have.
    One that fills more than another without being worth more is forgotten (Nemhauser and Ullmann
    1969), and so is one that even parts of the items to come cannot make better than the best.
    Among users who are alike that leaves hardly more than how many of them are in. Where numbers
    of members matter (``is_counted``), only sums of as many members are compared; elsewhere what
    completes a sum that is forgotten also completes the other, to no less.
    """
    n = worth.size
    part_before, shifted_before = np.zeros(n + 1), np.zeros(n + 1)
    n_good = 0
    for j in range(n):
        part_before[j + 1] = part_before[j] + part[j]
        shifted_before[j + 1] = shifted_before[j] + max(worth[j] - shift, 0.0)
        n_good += worth[j] > shift

    best, best_trace, n_sums = floor, -1, 0
    # Sums, how many items are in them and which was the last, row by row, in each row by part.
    filled, gained, members, trace = _sums(64)
    next_filled, next_gained, next_members, next_trace = _sums(64)
    filled[0], gained[0], members[0], trace[0] = 0.0, 0.0, 0, -1
    n_rows = most + 1 if is_counted else 1
    row, next_row = np.ones(n_rows + 1, np.int64), np.zeros(n_rows + 1, np.int64)
    row[0] = 0
    # What a sum got last, and where it is written what it got before.
    taken, before, n_traces = np.empty(64, np.int64), np.empty(64, np.int64), 0
    for j in range(n):
        n_old, k = row[-1], 0
        if 2 * n_old > next_filled.size:
            next_filled, next_gained, next_members, next_trace = _sums(4 * n_old)
        if n_traces + n_old > taken.size:
            taken, before = _longer(taken, n_traces + n_old), _longer(before, n_traces + n_old)
        for r in range(n_rows):
            next_row[r] = k
            without, without_end = row[r], row[r + 1]
            into, into_end = without, without_end
            if is_counted:
                into, into_end = row[max(r - 1, 0)], row[r]
            most_gained, stop = -1.0, n
            while without < without_end or into < into_end:
                is_taken = without == without_end or (
                    into < into_end and filled[into] + part[j] < filled[without]
                )
                old = into if is_taken else without
                x, y, m, mark = filled[old], gained[old], members[old], trace[old]
                if is_taken:
                    into += 1
                    x, y, m = x + part[j], y + worth[j], m + 1
                    if x > 1.0:
                        into = into_end
                        continue
                else:
                    without += 1
                if y <= most_gained:
                    continue
                most_gained = y
                if is_taken:
                    taken[n_traces], before[n_traces] = j, mark
                    mark = n_traces
                    if y > best and m >= least:
                        best, best_trace = y, mark
                # What of the items after j fits when one may be cut.
                room_end = part_before[j + 1] + 1.0 - x
                while stop > j + 1 and part_before[stop] > room_end:
                    stop -= 1
                bound = y - m * shift + offset + shifted_before[stop] - shifted_before[j + 1]
                if stop < n_good:
                    bound += (room_end - part_before[stop]) * (worth[stop] - shift) / part[stop]
                is_hopeful = bound > best + PRUNED
                if is_taken and (is_hopeful or best_trace == mark):
                    n_traces += 1
                if not is_hopeful:
                    continue
                next_filled[k], next_gained[k], next_members[k], next_trace[k] = x, y, m, mark
                k += 1
        next_row[n_rows] = k
        filled, next_filled, gained, next_gained = next_filled, filled, next_gained, gained
        members, next_members, trace, next_trace = next_members, members, next_trace, trace
        row, next_row = next_row, row
        n_sums += k
        if k == 0 or n_sums > most_sums:
            break
    while best_trace >= 0:
        chosen[taken[best_trace]] = True
        best_trace = before[best_trace]
    if n_sums > most_sums:
        best = max(best, _shifted(worth, part, shift, least, most))
    return best + PRUNED


@kernel
def _sums(size):  # type: ignore[no-untyped-def]
    """Room for sums: part, worth, number of members, trace."""
    whole = np.int64
    return np.empty(size), np.empty(size), np.empty(size, whole), np.empty(size, whole)


@kernel
def _longer(values, size):  # type: ignore[no-untyped-def]
    """The same values with room for more than ``size``."""
    longer = np.empty(2 * size, values.dtype)
    longer[: values.size] = values
    return longer


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
            # Who is worth nothing is not among those who were counted.
            own = shifted[u] if worth[u] > 0.0 or least[s] > 0 else 0.0
            room, total = 1.0 - part[s, u], own + offset
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
