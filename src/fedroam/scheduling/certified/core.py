"""The users about whom there is doubt: the search moves these and leaves the others where they are."""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.compiled import kernel
from fedroam.scheduling.problem import Problem


@dataclass(frozen=True, eq=False, slots=True)
class Core:
    """A small problem cut out of a large one; ``C`` users, ``H`` links, ``F`` frozen users."""

    user: Ints  # [C]
    indptr: Ints  # [C + 1]
    link: Ints  # [H] in the whole problem
    station: Ints  # [H]
    owner: Ints  # [H] 0..C-1
    need: Floats  # [H] Hz s
    compute_s: Floats  # [C]
    free: Bools  # [C] may be left out
    frozen_station: Ints  # [F]
    frozen_need: Floats  # [F]
    frozen_compute_s: Floats  # [F]


@dataclass(frozen=True, eq=False, slots=True)
class Doubt:
    """How nearly every user would do something else, from prices: relative difference of costs."""

    regret: Floats  # [U] inf: no doubt, or no choice


def cut(
    problem: Problem, link: Ints, home: Ints, regret: Floats, costs: Floats, per_station: int
) -> Core:
    """
    The core around a schedule that uses ``link [U]`` (-1: left out).

    Of the users whose cheapest station is ``home [U]`` the ``per_station`` of least ``regret``
    each; of their links the ones that are not hopelessly dearer than the cheapest.
    """
    in_doubt = np.flatnonzero(np.isfinite(regret))
    limit = per_station * problem.n_stations
    if in_doubt.size > limit:
        in_doubt = _least_per_station(in_doubt, home, regret, per_station, problem.n_stations)
    is_core = np.zeros(problem.n_users, bool)
    is_core[in_doubt] = True
    indptr, link_of, owner = _links_within(
        in_doubt, problem.indptr, problem.station, problem.efficiency, costs, link, np.inf
    )
    frozen = np.flatnonzero((link >= 0) & ~is_core)
    return Core(
        user=in_doubt,
        indptr=indptr,
        link=link_of,
        station=problem.station[link_of].astype(np.int64),
        owner=owner,
        need=problem.payload_bit[in_doubt[owner]] / problem.efficiency[link_of],
        compute_s=problem.compute_s[in_doubt],
        free=~problem.required[in_doubt],
        frozen_station=problem.station[link[frozen]].astype(np.int64),
        frozen_need=problem.payload_bit[frozen] / problem.efficiency[link[frozen]],
        frozen_compute_s=problem.compute_s[frozen],
    )


def _least_per_station(users, home, regret, per_station, n_stations):
    limit = 4 * per_station * n_stations
    if users.size > limit:
        users = users[np.argpartition(regret[users], limit)[:limit]]
    order = np.lexsort((regret[users], home[users]))
    users = users[order]
    station = home[users]
    first = np.searchsorted(station, station)
    return np.sort(users[np.arange(users.size) - first < per_station])


@kernel
def _links_within(users, indptr, station, efficiency, costs, link, width):
    n = 0
    for u in users:
        n += indptr[u + 1] - indptr[u]
    starts = np.zeros(users.size + 1, np.int64)
    links, owner = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for i in range(users.size):
        u = users[i]
        for k in range(indptr[u], indptr[u + 1]):
            links[n], owner[n] = k, i
            n += 1
        starts[i + 1] = n
    return starts, links[:n], owner[:n]
