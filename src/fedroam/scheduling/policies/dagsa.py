"""
DAGSA, the delay-aware greedy search of the paper (its Algorithm 1).

Reference: Fan et al., "Mobility-Aware Joint User Scheduling and Resource Allocation for Low
Latency Federated Learning", Algorithm 1. The tests hold a transcription of it, line by line, that
gives the same schedules.

How it is made fast without changing what it chooses:

* "T(S_k + i) <= t*" is tested as "load_k(t*) + demand_i(t*) <= capacity_k", where a user's demand
  at a threshold is ``need / (t* - compute)``: loads add up, so the scan needs no root.
* A station's best remaining user is the top of a heap from which users that others took are
  dropped when they come up.
* A station that refused its best user at some threshold refuses it at any lower one, so it is not
  asked again until the threshold has risen or its best user is gone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedroam.arrays import Floats, Ints, Stations
from fedroam.compiled import kernel
from fedroam.errors import ConfigError, InfeasibleError, nearest
from fedroam.scheduling.bandwidth import share, wait_of
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule

SLACK = 1e-12
"""Relative slack of comparisons with the threshold: exact ties count as "not later"."""


class _Round(NamedTuple):
    """The problem's arrays, in the form that compiled code takes."""

    indptr: Ints  # [U + 1]
    station: Stations  # [L]
    efficiency: Floats  # [L]
    compute_s: Floats  # [U]
    capacity_hz: Floats  # [S]
    payload_bit: Floats  # [U]


class _Groups(NamedTuple):
    """Who has been placed where: a linked list of users for each station."""

    chosen: Stations  # [U]
    need_hz_s: Floats  # [U] at the chosen station
    after: Ints  # [U] the next member of the same station, or -1
    head: Ints  # [S]
    n_members: Ints  # [S]
    refused_at: Floats  # [S] the threshold at which the best remaining user did not fit


class _Heaps(NamedTuple):
    """For each station, the users that it may add: a heap, best first."""

    start: Ints  # [S + 1]
    size: Ints  # [S]
    gain: Floats  # [L']
    user: Stations  # [L']


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
        view = _Round(
            problem.indptr,
            problem.station,
            problem.efficiency,
            problem.compute_s,
            problem.capacity_hz,
            problem.payload_bit,
        )
        shuffled = rng.permutation(np.flatnonzero(problem.required))
        station, n_selected = _search(
            view,
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
def _search(view, required, shuffled, min_selected, only_raise, overshoot, rng):  # type: ignore[no-untyped-def]
    """The two loops of Algorithm 1; ``shuffled`` is the required users in random order."""
    n_users, n_stations = required.size, view.capacity_hz.size
    groups = _Groups(
        np.full(n_users, NO_STATION, np.int32),
        np.empty(n_users),
        np.empty(n_users, np.int64),
        np.full(n_stations, -1, np.int64),
        np.zeros(n_stations, np.int64),
        np.zeros(n_stations),
    )
    threshold, n_selected = 0.0, 0

    heaps = _build_heaps(view, required, True)
    for user in shuffled:
        if groups.chosen[user] != NO_STATION:
            continue
        link = _best_link(view, user)
        _place(view, groups, heaps, user, link)
        finish = _finish_of(view, groups, view.station[link])
        threshold = max(threshold, finish) if only_raise else finish
        n_selected += 1 + _scan(view, groups, heaps, threshold, n_users)

    heaps = _build_heaps(view, required, False)
    groups.refused_at[:] = 0.0
    while n_selected < min_selected:
        room = n_users if overshoot else min_selected - n_selected
        n_selected += _scan(view, groups, heaps, threshold, room)
        if n_selected >= min_selected and not overshoot:
            break
        s = int(rng.random() * n_stations)
        user = _best_remaining(groups, heaps, s)
        if user != -1:
            _place(view, groups, heaps, user, _link_to(view, user, s))
            finish = _finish_of(view, groups, s)
            threshold = max(threshold, finish) if only_raise else finish
            n_selected += 1
        elif _is_exhausted(groups, heaps):
            break
    return groups.chosen, n_selected


@kernel
def _scan(view, groups, heaps, threshold, room):  # type: ignore[no-untyped-def]
    """Each station in turn adds its best remaining users while it keeps the threshold."""
    limit, added = threshold * (1.0 + SLACK), 0
    for s in range(view.capacity_hz.size):
        if limit <= groups.refused_at[s]:
            continue
        load = _load(view, groups, s, limit)
        while added < room:
            user = _best_remaining(groups, heaps, s)
            if user == -1:
                groups.refused_at[s] = np.inf
                break
            link = _link_to(view, user, s)
            load += _demand(view, user, view.payload_bit[user] / view.efficiency[link], limit)
            if not load <= view.capacity_hz[s]:
                groups.refused_at[s] = limit
                break
            _place(view, groups, heaps, user, link)
            added += 1
    return added


@kernel
def _demand(view, user, need, limit):  # type: ignore[no-untyped-def]
    """The bandwidth that ``user`` needs to finish by ``limit``."""
    time = limit - view.compute_s[user]
    return need / time if time > 0.0 else np.inf


@kernel
def _load(view, groups, s, limit):  # type: ignore[no-untyped-def]
    """The bandwidth that the members of ``s`` need to finish by ``limit``."""
    load, user = 0.0, groups.head[s]
    while user != -1:
        load += _demand(view, user, groups.need_hz_s[user], limit)
        user = groups.after[user]
    return load


@kernel
def _finish_of(view, groups, s):  # type: ignore[no-untyped-def]
    """T(S_k) of the paper."""
    need, compute = np.empty(groups.n_members[s]), np.empty(groups.n_members[s])
    user = groups.head[s]
    for m in range(groups.n_members[s]):
        need[m], compute[m] = groups.need_hz_s[user], view.compute_s[user]
        user = groups.after[user]
    slowest, wait = wait_of(need, compute, view.capacity_hz[s])
    return slowest + wait


@kernel
def _best_link(view, user):  # type: ignore[no-untyped-def]
    """The user's link to its best station (the first of equals)."""
    best = view.indptr[user]
    for link in range(best + 1, view.indptr[user + 1]):
        if view.efficiency[link] > view.efficiency[best]:
            best = link
    return best


@kernel
def _link_to(view, user, s):  # type: ignore[no-untyped-def]
    """The user's link to station ``s``, which is within its reach."""
    low, high = view.indptr[user], view.indptr[user + 1]
    while low < high:
        middle = (low + high) // 2
        if view.station[middle] < s:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _place(view, groups, heaps, user, link):  # type: ignore[no-untyped-def]
    """Make ``user`` a member; stations whose best remaining user that was are asked again."""
    s = view.station[link]
    groups.chosen[user] = s
    groups.need_hz_s[user] = view.payload_bit[user] / view.efficiency[link]
    groups.after[user] = groups.head[s]
    groups.head[s] = user
    groups.n_members[s] += 1
    groups.refused_at[s] = 0.0
    for other in view.station[view.indptr[user] : view.indptr[user + 1]]:
        if heaps.size[other] > 0 and heaps.user[heaps.start[other]] == user:
            groups.refused_at[other] = 0.0


@kernel
def _build_heaps(view, required, wanted):  # type: ignore[no-untyped-def]
    """Heaps of the users that are required, or of those that are not."""
    n_users, n_stations = required.size, view.capacity_hz.size
    start = np.zeros(n_stations + 1, np.int64)
    for user in range(n_users):
        if required[user] == wanted:
            for link in range(view.indptr[user], view.indptr[user + 1]):
                start[view.station[link] + 1] += 1
    start = np.cumsum(start)
    size = np.zeros(n_stations, np.int64)
    heaps = _Heaps(start, size, np.empty(start[-1]), np.empty(start[-1], np.int32))
    for user in range(n_users):
        if required[user] == wanted:
            for link in range(view.indptr[user], view.indptr[user + 1]):
                s = view.station[link]
                place = start[s] + size[s]
                heaps.gain[place], heaps.user[place] = view.efficiency[link], user
                size[s] += 1
    for s in range(n_stations):
        for root in range(size[s] // 2 - 1, -1, -1):
            _sink(heaps, s, root)
    return heaps


@kernel
def _sink(heaps, s, root):  # type: ignore[no-untyped-def]
    """Move one entry down to where it belongs: by gain, then by the lower user."""
    first, size = heaps.start[s], heaps.size[s]
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


@kernel
def _best_remaining(groups, heaps, s):  # type: ignore[no-untyped-def]
    """The best user that ``s`` can still add, or -1; users that others took are dropped."""
    first = heaps.start[s]
    while heaps.size[s] > 0:
        user = np.int64(heaps.user[first])
        if groups.chosen[user] == NO_STATION:
            return user
        heaps.size[s] -= 1
        last = first + heaps.size[s]
        heaps.gain[first], heaps.user[first] = heaps.gain[last], heaps.user[last]
        if heaps.size[s] > 0:
            _sink(heaps, s, 0)
    return np.int64(-1)


@kernel
def _is_exhausted(groups, heaps):  # type: ignore[no-untyped-def]
    """No station can add anybody."""
    for s in range(heaps.size.size):
        if _best_remaining(groups, heaps, s) != -1:
            return False
    return True
