"""
From scores to a lawful schedule.

Axes: ``N`` worlds, ``U`` users, ``S`` stations, ``W`` links a user.

The decoding, which any finite scores ``[U, S]`` survive:

1. every user wants the station within its reach where it scores highest (the first of equals), and
   that score is the user's own;
2. the required users take part, and after them those with the highest scores (the first of equals)
   until ``min_selected`` take part;
3. with ``extra``, everybody else whose score is above 0 takes part, too;
4. every band is split at best.

Only the order of scores counts (and their sign, with ``extra``). The shortest lawful round can be
reached: no round of the same problem is shortened by one more user.
"""

import numpy as np

from fedroam.compiled import kernel, part
from fedroam.scheduling.bandwidth import split_bands

FASTEST = 1e6
"""Updates a second. A link that is better still is seen as this: what is seen has bounds."""


@part
def _choose(scores, reach, required, least, extra, chosen, link):  # type: ignore[no-untyped-def]
    """Fill the station ``[U]`` and the link ``[U]`` of one world's users; False for nan or inf."""
    n_users, width = required.size, reach.size // required.size
    own = np.empty(n_users)
    n_chosen = 0
    for u in range(n_users):
        first = u * width
        own[u], link[u] = scores[u, reach[first]], first
        for at in range(first, first + width):
            score = scores[u, reach[at]]
            if not -np.inf < score < np.inf:
                return False
            if score > own[u]:
                own[u], link[u] = score, at
        chosen[u] = -1
        if required[u]:
            chosen[u] = reach[link[u]]
            n_chosen += 1
    if n_chosen < least:
        for u in np.argsort(-own, kind="mergesort"):  # stable: the first of equals
            if chosen[u] == -1:
                chosen[u] = reach[link[u]]
                n_chosen += 1
                if n_chosen == least:
                    break
    if extra:
        for u in range(n_users):
            if own[u] > 0.0:
                chosen[u] = reach[link[u]]
    return True


@part
def _length(chosen, link, efficiency, compute_s, payload_bit, capacity_hz):  # type: ignore[no-untyped-def]
    """The length of one world's round, as the judge computes it."""
    n = np.count_nonzero(chosen != -1)
    station, need, compute = np.empty(n, np.int32), np.empty(n), np.empty(n)
    users = np.empty(n, np.int64)
    i = 0
    for u in range(chosen.size):
        if chosen[u] != -1:
            users[i], station[i], compute[i] = u, chosen[u], compute_s[u]
            need[i] = payload_bit[u] / efficiency[link[u]]
            i += 1
    bandwidth_hz, _ = split_bands(station, need, compute, capacity_hz)
    length_s = 0.0
    for i in range(n):
        u = users[i]
        finish_s = compute_s[u] + payload_bit[u] / (bandwidth_hz[i] * efficiency[link[u]])
        length_s = max(length_s, finish_s)
    return length_s


@kernel
def decide(  # type: ignore[no-untyped-def]
    plays,
    scores,
    reach,
    efficiency,
    required,
    least,
    extra,
    compute_s,
    payload_bit,
    capacity_hz,
    chosen,
    length_s,
):
    """
    Fill the stations ``[N, U]`` and the round's length ``[N]`` of the worlds that play.

    The answer is the first of them whose scores are not all finite, or -1.
    """
    link = np.empty(required.shape[1], np.int64)
    for w in range(plays.size):
        if not plays[w]:
            continue
        if not _choose(scores[w], reach[w], required[w], least, extra, chosen[w], link):
            return w
        length_s[w] = _length(
            chosen[w], link, efficiency[w], compute_s[w], payload_bit[w], capacity_hz[w]
        )
    return -1


@kernel
def note(plays, chosen, round, times, last, n_selected):  # type: ignore[no-untyped-def]
    """The chosen users of the worlds that play have taken part in the present round."""
    for w in range(plays.size):
        if plays[w]:
            n_selected[w] = 0
            for u in range(chosen.shape[1]):
                if chosen[w, u] != -1:
                    times[w, u] += 1
                    last[w, u] = round[w]
                    n_selected[w] += 1


@kernel
def observe(  # type: ignore[no-untyped-def]
    reach, efficiency, required, compute_s, payload_bit, capacity_hz, times, last, round, seen
):
    """Fill what is seen of every world, ``[N, U, S + 4]``."""
    n_users, n_stations = required.shape[1], capacity_hz.shape[1]
    width = reach.shape[1] // n_users
    for w in range(round.size):
        for u in range(n_users):
            for at in range(u * width, (u + 1) * width):
                s = reach[w, at]
                rate = efficiency[w, at] * capacity_hz[w, s] / payload_bit[w, u]
                seen[w, u, s] = min(rate, FASTEST)
            seen[w, u, n_stations] = compute_s[w, u]
            seen[w, u, n_stations + 1] = required[w, u]
            seen[w, u, n_stations + 2] = times[w, u] / max(round[w], 1)
            seen[w, u, n_stations + 3] = round[w] - last[w, u]


@kernel
def distances(position_m, station_m, reach, out):  # type: ignore[no-untyped-def]
    """Fill the metres between the ends of every link of every world."""
    width = reach.shape[1] // position_m.shape[1]
    for w in range(position_m.shape[0]):
        for at in range(reach.shape[1]):
            u, s = at // width, reach[w, at]
            dx = position_m[w, u, 0] - station_m[w, s, 0]
            dy = position_m[w, u, 1] - station_m[w, s, 1]
            out[w, at] = np.sqrt(dx * dx + dy * dy)
