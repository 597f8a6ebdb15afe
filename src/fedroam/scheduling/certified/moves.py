"""
The changes that the local search looks at: the best one that relieves a given station.

``energy [S]`` is ``exp(α fill)`` and ``grown [H]`` is ``exp(α part)``, so that a user who joins a
station multiplies its energy, one who leaves divides it, and no change needs an exponential.
"""

import numpy as np

from fedroam.compiled import kernel

OUT = -1
NEWCOMERS = 300  # stations that are asked for a newcomer in place of a user that leaves


@kernel
def _heaviest_free(s, free, part, current, head, after):  # type: ignore[no-untyped-def]
    """The user of ``s`` that takes most, among those that may be left out; or -1."""
    heaviest = -1
    u = head[s]
    while u >= 0:
        if free[u] and (heaviest < 0 or part[current[u]] > part[current[heaviest]]):
            heaviest = u
        u = after[u]
    return heaviest


@kernel
def _note(users, links, u0, k0, u1, k1, u2, k2):  # type: ignore[no-untyped-def]
    users[0], links[0] = u0, k0
    users[1], links[1] = u1, k1
    users[2], links[2] = u2, k2


@kernel
def best_short(b, state, lists, grown, energy, row, users, links):  # type: ignore[no-untyped-def]
    """The best move, replace, swap or substitution that relieves station ``b``."""
    indptr, station, part, free, sorted_start, sorted_link, owner = state
    current, fill, head, after, before, entry = lists
    best = 0.0
    leaver = _heaviest_free(b, free, part, current, head, after)
    if leaver >= 0:
        lighter = energy[b] / grown[current[leaver]]
        for offset in range(min(energy.size, NEWCOMERS)):
            s = (b + offset) % energy.size
            k = entry[s]
            if k < 0:
                continue
            if s == b:
                gain = lighter * grown[k] - energy[b]
            else:
                gain = lighter - energy[b] + energy[s] * grown[k] - energy[s]
            if gain < best:
                best = gain
                _note(users, links, leaver, OUT, owner[k], k, -1, -1)
        for i in range(sorted_start[b], sorted_start[b + 1]):
            k = sorted_link[i]
            if part[k] >= part[current[leaver]]:
                break
            j = owner[k]
            if current[j] < 0 or station[current[j]] == b:
                continue
            s = station[current[j]]
            if entry[s] < 0:
                continue
            gain = lighter * grown[k] - energy[b]
            gain += energy[s] / grown[current[j]] * grown[entry[s]] - energy[s]
            if gain < best:
                best = gain
                _note(users, links, leaver, OUT, j, k, owner[entry[s]], entry[s])
    u = head[b]
    while u >= 0:
        mine = current[u]
        lighter = energy[b] / grown[mine]
        for k in range(indptr[u], indptr[u + 1]):
            s = station[k]
            row[s] = k
            if s == b:
                continue
            gain = lighter - energy[b] + energy[s] * grown[k] - energy[s]
            if gain < best:
                best = gain
                _note(users, links, u, k, -1, -1, -1, -1)
        for i in range(sorted_start[b], sorted_start[b + 1]):
            k = sorted_link[i]
            if part[k] >= part[mine]:
                break
            theirs = current[owner[k]]
            if theirs < 0:
                continue
            s = station[theirs]
            if s == b or row[s] < 0:
                continue
            gain = lighter * grown[k] - energy[b]
            gain += energy[s] / grown[theirs] * grown[row[s]] - energy[s]
            if gain < best:
                best = gain
                _note(users, links, u, row[s], owner[k], k, -1, -1)
        for k in range(indptr[u], indptr[u + 1]):
            row[station[k]] = -1
        u = after[u]
    return best


@kernel
def best_long(b, state, lists, grown, energy, users, links):  # type: ignore[no-untyped-def]
    """The best relay or ejection that relieves station ``b``."""
    indptr, station, part, free, sorted_start, sorted_link, owner = state
    current, fill, head, after, before, entry = lists
    best = 0.0
    # The three cheapest entries: at least one is at neither of two given stations.
    first, second, third = -1, -1, -1
    for offset in range(min(energy.size, NEWCOMERS)):
        s = (b + offset) % energy.size
        if entry[s] < 0:
            continue
        rise = energy[s] * (grown[entry[s]] - 1.0)
        if first < 0 or rise < energy[first] * (grown[entry[first]] - 1.0):
            first, second, third = s, first, second
        elif second < 0 or rise < energy[second] * (grown[entry[second]] - 1.0):
            second, third = s, second
        elif third < 0 or rise < energy[third] * (grown[entry[third]] - 1.0):
            third = s
    u = head[b]
    while u >= 0:
        relief = energy[b] / grown[current[u]] - energy[b]
        for k in range(indptr[u], indptr[u + 1]):
            s = station[k]
            if s == b:
                continue
            fuller = energy[s] * grown[k]
            if not fuller < np.inf:
                continue
            j = head[s]
            while j >= 0:
                eased = relief + fuller / grown[current[j]] - energy[s]
                if eased < best:
                    for k2 in range(indptr[j], indptr[j + 1]):
                        m = station[k2]
                        if m == s or m == b:
                            continue
                        gain = eased + energy[m] * grown[k2] - energy[m]
                        if gain < best:
                            best = gain
                            _note(users, links, u, k, j, k2, -1, -1)
                j = after[j]
            j = _heaviest_free(s, free, part, current, head, after)
            if j < 0:
                continue
            eased = fuller / grown[current[j]]
            if entry[s] >= 0:
                gain = relief + eased * grown[entry[s]] - energy[s]
                if gain < best:
                    best = gain
                    _note(users, links, u, k, j, OUT, owner[entry[s]], entry[s])
            m = first
            if m == s or m == b:
                m = second
            if m == s or m == b:
                m = third
            if m >= 0 and m != s and m != b:
                gain = relief + eased - energy[s] + energy[m] * (grown[entry[m]] - 1.0)
                if gain < best:
                    best = gain
                    _note(users, links, u, k, j, OUT, owner[entry[m]], entry[m])
        u = after[u]
    return best
