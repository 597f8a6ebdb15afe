"""
DAGSA, the delay-aware greedy search of the paper (its Algorithm 1).

Reference: Fan et al., "Mobility-Aware Joint User Scheduling and Resource Allocation for Low
Latency Federated Learning", Algorithm 1. The tests hold a transcription of it, line by line, that
gives the same schedules.

How it is made fast without changing what it chooses:

* "T(S_k + i) <= t*" is tested as "load_k(t*) + demand_i(t*) <= capacity_k", where a user's demand
  at a threshold is ``need / (t* - compute)``: loads add up, so the scan needs no root.
* A station's best remaining user is the top of a heap from which users that others took are
  dropped when they come up. At first a heap holds the station's best candidates only, a few times
  as many users as it will add; should they run out, all heaps get the rest of the users.
* A station that refused its best user at some threshold refuses it at any lower one, and at higher
  ones up to a bound that its load tells: it is not asked again until the threshold has risen above
  that or its best user is gone. That halves the questions.
* What a station's members need lies side by side in memory.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedroam.arrays import Bools, Floats, Ints, Stations
from fedroam.compiled import inlined, kernel, part
from fedroam.errors import ConfigError, InfeasibleError, nearest
from fedroam.scheduling.bandwidth import share, wait_of
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule

SLACK = 1e-12
"""Relative slack of comparisons with the threshold: exact ties count as "not later"."""

ROUNDING = 1e-9
"""More than sums of loads can be wrong by, relatively."""

FIRST_SHARE = 4
"""How many candidates a station is offered at first, in multiples of users per station."""

N_LEVELS = 64
"""How finely gains are told apart to find a station's best candidates."""

SAMPLED = 16
"""One user in so many is looked at for that."""


class _Round(NamedTuple):
    """The problem's arrays, in the form that compiled code takes."""

    indptr: Ints  # [U + 1]
    station: Stations  # [L]
    efficiency: Floats  # [L]
    compute_s: Floats  # [U]
    capacity_hz: Floats  # [S]
    payload_bit: Floats  # [U]
    slowest_s: float  # of all compute times


class _Groups(NamedTuple):
    """Who has been placed where; what the members of station ``s`` need begins at ``start[s]``."""

    start: Ints  # [S + 1] as many places for each station as it has links
    chosen: Stations  # [U]
    n_members: Ints  # [S]
    need_hz_s: Floats  # [L] of each member
    compute_s: Floats  # [L] of each member
    refused_at: Floats  # [S] the threshold at which the best remaining user did not fit


class _Heaps(NamedTuple):
    """For each station, the users that it may add: a heap, best first, from ``start[s]`` on."""

    waiting: Bools  # [U] may be added by any station that reaches it
    size: Ints  # [S]
    gain: Floats  # [L]
    user: Stations  # [L]
    cut: Floats  # [S] waiting users with less gain are not in the heap yet
    asked: Ints  # [S] the best remaining user when it was last looked for


@dataclass(frozen=True)
class Dagsa:
    """
    Place the required users, then add others until enough take part, under a moving threshold.

    ``threshold``: ``"assign"`` sets it to the new station's finish time as the algorithm is
    printed, so it may fall; ``"raise"`` never lowers it, as the text around the algorithm says.
    ``overshoot``: the last scan may select more than ``min_selected`` users, as printed; False
    stops at the first user that makes enough.
    """

    threshold: str = "assign"
    overshoot: bool = True

    def __post_init__(self) -> None:
        if self.threshold not in ("assign", "raise"):
            hint = nearest(self.threshold, ("assign", "raise"))
            raise ConfigError(f"threshold: no {self.threshold!r}; {hint}")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Select and assign by the greedy search, then split every band optimally."""
        shuffled = rng.permutation(np.flatnonzero(problem.required))
        station, n_selected = _answer(
            # One by one: a tuple of arrays would cost more to pass than the search at 50 x 8.
            problem.indptr,
            problem.station,
            problem.efficiency,
            problem.compute_s,
            problem.capacity_hz,
            problem.payload_bit,
            problem.required,
            shuffled,
            problem.min_selected,
            self.threshold == "raise",
            self.overshoot,
            rng,
        )
        if n_selected < problem.min_selected:
            raise InfeasibleError(
                f"only {n_selected} users can reach a station, "
                f"{problem.min_selected} must take part"
            )
        return share(problem, station)


@kernel
def _answer(  # type: ignore[no-untyped-def]
    indptr,
    station,
    efficiency,
    compute_s,
    capacity_hz,
    payload_bit,
    required,
    shuffled,
    min_selected,
    only_raise,
    overshoot,
    rng,
):
    slowest_s = compute_s.max()
    view = _Round(indptr, station, efficiency, compute_s, capacity_hz, payload_bit, slowest_s)
    return _search(view, required, shuffled, min_selected, only_raise, overshoot, rng)


@part
def _search(view, required, shuffled, min_selected, only_raise, overshoot, rng):  # type: ignore[no-untyped-def]
    """The two loops of Algorithm 1; ``shuffled`` is the required users in random order."""
    n_users, n_stations, n_links = required.size, view.capacity_hz.size, view.station.size
    groups = _Groups(
        _starts(view),
        np.full(n_users, NO_STATION, np.int32),
        np.zeros(n_stations, np.int64),
        np.empty(n_links),
        np.empty(n_links),
        np.zeros(n_stations),
    )
    heaps = _Heaps(
        required.copy(),
        np.zeros(n_stations, np.int64),
        np.empty(n_links),
        np.empty(n_links, np.int32),
        np.zeros(n_stations),
        np.full(n_stations, -1, np.int64),
    )
    threshold, n_selected = 0.0, 0

    if shuffled.size > 0:
        _offer_best(view, groups, heaps)
    for user in shuffled:
        if groups.chosen[user] != NO_STATION:
            continue
        link = _best_link(view, user)
        s = view.station[link]
        _place(view, groups, heaps, s, user, view.payload_bit[user] / view.efficiency[link])
        finish = _finish_of(view, groups, s)
        threshold = max(threshold, finish) if only_raise else finish
        n_selected += 1 + _scan(view, groups, heaps, threshold, n_users)

    if n_selected < min_selected:
        heaps.waiting[:] = groups.chosen == NO_STATION
        _offer_best(view, groups, heaps)
        groups.refused_at[:] = 0.0
    while n_selected < min_selected:
        room = n_users if overshoot else min_selected - n_selected
        n_selected += _scan(view, groups, heaps, threshold, room)
        if n_selected >= min_selected and not overshoot:
            break
        s = int(rng.random() * n_stations)
        user = _best_remaining(view, groups, heaps, s)
        if user != -1:
            _place(view, groups, heaps, s, user, _need_of_best(view, groups, heaps, s))
            finish = _finish_of(view, groups, s)
            threshold = max(threshold, finish) if only_raise else finish
            n_selected += 1
        elif _is_exhausted(view, groups, heaps):
            break
    return groups.chosen, n_selected


@part
def _scan(view, groups, heaps, threshold, room):  # type: ignore[no-untyped-def]
    """Each station in turn adds its best remaining users while it keeps the threshold."""
    limit, added = threshold * (1.0 + SLACK), 0
    for s in range(view.capacity_hz.size):
        if limit <= groups.refused_at[s]:
            continue
        load = _load(groups, s, limit)
        while added < room:
            user = _best_remaining(view, groups, heaps, s)
            if user == -1:
                groups.refused_at[s] = np.inf
                break
            need = _need_of_best(view, groups, heaps, s)
            load += _demand(need, view.compute_s[user], limit)
            if not load <= view.capacity_hz[s]:
                groups.refused_at[s] = _refused_up_to(view, limit, load / view.capacity_hz[s])
                break
            _place(view, groups, heaps, s, user, need)
            added += 1
    return added


@part
def _refused_up_to(view, limit, load):  # type: ignore[no-untyped-def]
    """
    A threshold at which a station that would be ``load`` times full at ``limit`` is still too full.

    No user's demand falls faster with the threshold than that of the slowest computer.
    """
    if limit <= view.slowest_s:
        return limit
    return max(limit, (view.slowest_s + (limit - view.slowest_s) * load) * (1.0 - ROUNDING))


@part
def _demand(need, compute, limit):  # type: ignore[no-untyped-def]
    """The bandwidth that a user needs to finish by ``limit``."""
    time = limit - compute
    return need / time if time > 0.0 else np.inf


@part
def _load(groups, s, limit):  # type: ignore[no-untyped-def]
    """The bandwidth that the members of ``s`` need to finish by ``limit``."""
    load = 0.0
    for m in range(groups.start[s], groups.start[s] + groups.n_members[s]):
        load += _demand(groups.need_hz_s[m], groups.compute_s[m], limit)
    return load


@part
def _finish_of(view, groups, s):  # type: ignore[no-untyped-def]
    """T(S_k) of the paper."""
    members = slice(groups.start[s], groups.start[s] + groups.n_members[s])
    slowest, wait = wait_of(
        groups.need_hz_s[members], groups.compute_s[members], view.capacity_hz[s]
    )
    return slowest + wait


@part
def _best_link(view, user):  # type: ignore[no-untyped-def]
    """The user's link to its best station (the first of equals)."""
    best = view.indptr[user]
    for link in range(best + 1, view.indptr[user + 1]):
        if view.efficiency[link] > view.efficiency[best]:
            best = link
    return best


@inlined
def _place(view, groups, heaps, s, user, need):  # type: ignore[no-untyped-def]
    """Make ``user`` a member; stations whose best remaining user that was are asked again."""
    member = groups.start[s] + groups.n_members[s]
    groups.need_hz_s[member], groups.compute_s[member] = need, view.compute_s[user]
    groups.n_members[s] += 1
    groups.chosen[user] = s
    groups.refused_at[s] = 0.0
    heaps.waiting[user] = False
    for link in range(view.indptr[user], view.indptr[user + 1]):
        if heaps.asked[view.station[link]] == user:
            groups.refused_at[view.station[link]] = 0.0


@part
def _starts(view):  # type: ignore[no-untyped-def]
    """Where each station's part begins in arrays that have one place for each link."""
    start = np.zeros(view.capacity_hz.size + 1, np.int64)
    for link in range(view.station.size):
        start[view.station[link] + 1] += 1
    for s in range(view.capacity_hz.size):
        start[s + 1] += start[s]
    return start


@part
def _offer_best(view, groups, heaps):  # type: ignore[no-untyped-def]
    """Heaps of every station's best waiting users, all above one gain each."""
    heaps.size[:] = 0
    heaps.asked[:] = -1
    heaps.cut[:] = _cuts(view, heaps.waiting)
    for user in range(heaps.waiting.size):
        if heaps.waiting[user]:
            for link in range(view.indptr[user], view.indptr[user + 1]):
                if view.efficiency[link] >= heaps.cut[view.station[link]]:
                    _append(groups, heaps, view.station[link], view.efficiency[link], user)
    _heapify(groups, heaps)


@part
def _offer_rest(view, groups, heaps):  # type: ignore[no-untyped-def]
    """The waiting users that were left out so far go into the heaps."""
    for user in range(heaps.waiting.size):
        if heaps.waiting[user]:
            for link in range(view.indptr[user], view.indptr[user + 1]):
                if view.efficiency[link] < heaps.cut[view.station[link]]:
                    _append(groups, heaps, view.station[link], view.efficiency[link], user)
    heaps.cut[:] = 0.0
    _heapify(groups, heaps)


@part
def _cuts(view, waiting):  # type: ignore[no-untyped-def]
    """
    For each station a gain that only its best candidates reach; 0 where all are few enough.

    Estimated from every sixteenth user: its choice is a matter of speed alone.
    """
    n_stations = view.capacity_hz.size
    enough = max(64, FIRST_SHARE * waiting.size // n_stations)
    cut, best = np.zeros(n_stations), np.zeros(n_stations)
    if view.station.size <= 2 * enough * n_stations:
        return cut
    tally = np.zeros((n_stations, N_LEVELS), np.int64)
    for user in range(0, waiting.size, SAMPLED):
        for link in range(view.indptr[user], view.indptr[user + 1]):
            best[view.station[link]] = max(best[view.station[link]], view.efficiency[link])
    for user in range(0, waiting.size, SAMPLED):
        if waiting[user]:
            for link in range(view.indptr[user], view.indptr[user + 1]):
                s = view.station[link]
                level = int(view.efficiency[link] / best[s] * N_LEVELS)
                tally[s, min(level, N_LEVELS - 1)] += SAMPLED
    for s in range(n_stations):
        level, count = N_LEVELS, 0
        while level > 0 and count < enough:
            level -= 1
            count += tally[s, level]
        cut[s] = best[s] * level / N_LEVELS
    return cut


@part
def _append(groups, heaps, s, gain, user):  # type: ignore[no-untyped-def]
    place = groups.start[s] + heaps.size[s]
    heaps.gain[place], heaps.user[place] = gain, user
    heaps.size[s] += 1


@part
def _heapify(groups, heaps):  # type: ignore[no-untyped-def]
    for s in range(heaps.size.size):
        for root in range(heaps.size[s] // 2 - 1, -1, -1):
            _sink(groups, heaps, s, root)


@part
def _sink(groups, heaps, s, root):  # type: ignore[no-untyped-def]
    """Move one entry down to where it belongs: by gain, then by the lower user."""
    first, size = groups.start[s], heaps.size[s]
    gain, user = heaps.gain[first : first + size], heaps.user[first : first + size]
    g, u = gain[root], user[root]
    while 2 * root + 1 < size:
        child = 2 * root + 1
        right = child + 1
        if right < size and (
            gain[right] > gain[child] or (gain[right] == gain[child] and user[right] < user[child])
        ):
            child = right
        if not (gain[child] > g or (gain[child] == g and user[child] < u)):
            break
        gain[root], user[root] = gain[child], user[child]
        root = child
    gain[root], user[root] = g, u


@inlined
def _best_remaining(view, groups, heaps, s):  # type: ignore[no-untyped-def]
    """The best user that ``s`` can still add, or -1."""
    if heaps.size[s] > 0:
        user = np.int64(heaps.user[groups.start[s]])
        if heaps.waiting[user]:
            heaps.asked[s] = user
            return user
    return _next_remaining(view, groups, heaps, s)


@part
def _next_remaining(view, groups, heaps, s):  # type: ignore[no-untyped-def]
    """The same, where the top of the heap is gone; users that others took are dropped."""
    while True:
        _drop_taken(groups, heaps, s)
        if heaps.size[s] > 0:
            heaps.asked[s] = heaps.user[groups.start[s]]
            return heaps.asked[s]
        if heaps.cut[s] == 0.0:
            return np.int64(-1)
        _offer_rest(view, groups, heaps)


@part
def _drop_taken(groups, heaps, s):  # type: ignore[no-untyped-def]
    first = groups.start[s]
    while heaps.size[s] > 0 and not heaps.waiting[heaps.user[first]]:
        heaps.size[s] -= 1
        last = first + heaps.size[s]
        heaps.gain[first], heaps.user[first] = heaps.gain[last], heaps.user[last]
        if heaps.size[s] > 0:
            _sink(groups, heaps, s, 0)


@part
def _need_of_best(view, groups, heaps, s):  # type: ignore[no-untyped-def]
    """What the user on top of the heap needs at ``s``, in Hz s."""
    first = groups.start[s]
    return view.payload_bit[heaps.user[first]] / heaps.gain[first]


@part
def _is_exhausted(view, groups, heaps):  # type: ignore[no-untyped-def]
    """No station can add anybody."""
    for s in range(heaps.size.size):
        if _best_remaining(view, groups, heaps, s) != -1:
            return False
    return True
