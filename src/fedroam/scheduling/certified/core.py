"""The users about whom there is doubt: the search moves these and leaves all others in place."""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bools, Floats, Ints, freeze
from fedroam.compiled import kernel
from fedroam.scheduling.certified.bound import Bound
from fedroam.scheduling.problem import Problem

SMALL = 300
"""Up to so many users all links are looked at; beyond, only those that are not much too dear."""

_DEAR = 3.0


@dataclass(frozen=True, eq=False, slots=True)
class Core:
    """A small problem cut out of a large one: ``C`` users, ``H`` links, ``F`` frozen users."""

    user: Ints  # [C]
    indptr: Ints  # [C + 1]
    link: Ints  # [H] in the whole problem
    station: Ints  # [H]
    owner: Ints  # [H] 0..C-1
    need_hz_s: Floats  # [H]
    compute_s: Floats  # [C]
    free: Bools  # [C] may be left out
    frozen_station: Ints  # [F]
    frozen_need_hz_s: Floats  # [F]
    frozen_compute_s: Floats  # [F]

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def size(self) -> int:
        """C."""
        return self.user.size

    def parts(self, t: float, capacity_hz: Floats) -> Floats:
        """What part of its station every link would take, ``[H]``, were the round to end at t."""
        time_s = (t - self.compute_s)[self.owner]
        late = time_s <= 0
        parts = self.need_hz_s / np.where(late, 1.0, time_s) / capacity_hz[self.station]
        return np.where(late, np.inf, parts)

    def frozen_fill(self, t: float, capacity_hz: Floats) -> Floats:
        """How full every station is, ``[S]``, with the users outside the core."""
        load = self.frozen_need_hz_s / (t - self.frozen_compute_s)
        return np.bincount(self.frozen_station, load, capacity_hz.size) / capacity_hz

    def inside(self, link: Ints) -> Ints:
        """Whole-problem links ``[U]`` as links of the core ``[C]``."""
        return _inside(self.indptr, self.link, link[self.user])

    def outside(self, current: Ints, link: Ints) -> Ints:
        """A copy of ``link [U]`` with the core's users on ``current [C]``."""
        whole = link.copy()
        whole[self.user] = np.where(current >= 0, self.link[current], -1)
        return whole


def cut(problem: Problem, bound: Bound, link: Ints, per_station: int) -> Core:
    """
    The core around the schedule that uses ``link [U]`` (-1: left out).

    Of the users whose cheapest station is the same, the ``per_station`` that would do something
    else for the least money; everyone, where they are few.
    """
    demand = bound.demand
    users = np.flatnonzero(demand.link >= 0)
    if users.size > per_station * problem.n_stations:
        home = problem.station[np.maximum(demand.link, 0)].astype(np.int64)
        regret = _regret(problem, bound)
        users = users[np.isfinite(regret[users])]
        users = _least_per_station(users, home, regret, per_station, problem.n_stations)
    is_core = np.zeros(problem.n_users, bool)
    is_core[users] = True
    indptr, link_of, owner = _links_within(
        users,
        problem.indptr,
        problem.station,
        problem.efficiency,
        bound.prices,
        link,
        np.inf if users.size <= SMALL else _DEAR,
    )
    frozen = np.flatnonzero((link >= 0) & ~is_core)
    return Core(
        user=users,
        indptr=indptr,
        link=link_of,
        station=problem.station[link_of].astype(np.int64),
        owner=owner,
        need_hz_s=problem.payload_bit[users[owner]] / problem.efficiency[link_of],
        compute_s=problem.compute_s[users],
        free=~problem.required[users],
        frozen_station=problem.station[link[frozen]].astype(np.int64),
        frozen_need_hz_s=problem.payload_bit[frozen] / problem.efficiency[link[frozen]],
        frozen_compute_s=problem.compute_s[frozen],
    )


def _regret(problem: Problem, bound: Bound) -> Floats:
    """How much dearer, in logarithms, the next best thing is that each user could do, ``[U]``."""
    demand = bound.demand
    return _log_regret(  # type: ignore[no-any-return]
        demand.link,
        demand.rival,
        demand.cost,
        demand.rival_cost,
        demand.chosen,
        problem.required,
        problem.compute_s,
        demand.bound_s,
        demand.cutoff,
    )


@kernel
def _log_regret(link, rival, cost, rival_cost, chosen, required, compute, t, cutoff):  # type: ignore[no-untyped-def]
    regret = np.full(link.size, np.inf)
    for u in range(link.size):
        if link[u] < 0:
            continue
        if chosen[u] and rival[u] >= 0:
            regret[u] = np.log(rival_cost[u] / cost[u])
        if not required[u] and t > compute[u] and cutoff < np.inf:
            margin = abs(np.log(cost[u] / (t - compute[u]) / cutoff))
            regret[u] = min(regret[u], margin)
    return regret


def _least_per_station(
    users: Ints, home: Ints, regret: Floats, per_station: int, n_stations: int
) -> Ints:
    """Of ``users`` the ``per_station`` with the least regret at each home, ascending."""
    many = 4 * per_station * n_stations
    if users.size > many:
        users = users[np.argpartition(regret[users], many)[:many]]
    order = np.lexsort((regret[users], home[users]))
    users = users[order]
    at_home = home[users]
    rank = np.arange(users.size) - np.searchsorted(at_home, at_home)
    return np.sort(users[rank < per_station])


@kernel
def _links_within(users, indptr, station, efficiency, prices, link, dear):  # type: ignore[no-untyped-def]
    """The users' links that cost up to ``dear`` times the cheapest, and the ones in use."""
    n = 0
    for u in users:
        n += indptr[u + 1] - indptr[u]
    starts = np.zeros(users.size + 1, np.int64)
    links, owner = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for i in range(users.size):
        u = users[i]
        cheapest = np.inf
        for k in range(indptr[u], indptr[u + 1]):
            cheapest = min(cheapest, prices[station[k]] / efficiency[k])
        for k in range(indptr[u], indptr[u + 1]):
            if k == link[u] or prices[station[k]] / efficiency[k] <= dear * cheapest:
                links[n], owner[n] = k, i
                n += 1
        starts[i + 1] = n
    return starts, links[:n].copy(), owner[:n].copy()


@kernel
def _inside(indptr, link, wanted):  # type: ignore[no-untyped-def]
    current = np.full(wanted.size, -1)
    for i in range(wanted.size):
        for h in range(indptr[i], indptr[i + 1]):
            if link[h] == wanted[i]:
                current[i] = h
    return current
