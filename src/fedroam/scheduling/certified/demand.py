"""
What users would buy at a list of prices per Hz, and the time that the list proves.

With prices ``λ [S]`` user ``u`` costs ``p_u = min_s λ_s need_us`` (money Hz s) at its cheapest
station, whatever the deadline ``t``, since all its links wait for the same ``t - compute_u``. A
schedule of length ``t`` gives no band twice, so it spends at most the money ``Σ λ_s B_s``, and at
least what the cheapest lawful choice of users spends:

    G(λ, t) = Σ_required p_u / (t - c_u) + the cheapest of the others, up to the number asked for.

``G`` falls with ``t``: no schedule is shorter than the ``t`` at which ``G`` meets the money.
"""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.compiled import kernel
from fedroam.errors import InfeasibleError
from fedroam.scheduling.bandwidth import wait_of
from fedroam.scheduling.certified.blocks import over_blocks
from fedroam.scheduling.judge import CAPACITY_RTOL
from fedroam.scheduling.problem import Problem


@dataclass(eq=False, slots=True)
class Demand:
    """What the users ask for at one price list; filled in place by the price iteration."""

    link: Ints  # [U] the cheapest, -1 where no station is in reach
    rival: Ints  # [U] the next cheapest, -1 where there is none
    cost: Floats  # [U] price of the cheapest, Hz s of money
    rival_cost: Floats  # [U]
    chosen: Bools  # [U] the cheapest lawful choice of users
    bound_s: float = 0.0  # the time that this price list proves
    cutoff: float = np.inf  # the dearest choice that was free to be left out, money

    @classmethod
    def blank(cls, n_users: int) -> "Demand":
        """Room for ``n_users``."""
        return cls(
            np.full(n_users, -1),
            np.full(n_users, -1),
            np.full(n_users, np.inf),
            np.full(n_users, np.inf),
            np.zeros(n_users, bool),
        )


def n_to_select(problem: Problem) -> int:
    """How many users the shortest lawful schedule has: no more than it must."""
    n_required = int(np.count_nonzero(problem.required))
    n = max(problem.min_selected, n_required)
    n_reachable = int(np.count_nonzero(np.diff(problem.indptr)))
    if n > n_reachable:
        raise InfeasibleError(
            f"{n} users are to be selected, but only {n_reachable} have a station within reach"
        )
    return n


def demand_at(problem: Problem, prices: Floats, n: int, demand: Demand) -> None:
    """Let ``demand`` hold what ``prices`` make of ``problem`` when ``n`` users are to be chosen."""
    with np.errstate(over="ignore"):
        per_price = 1.0 / prices

    def one_block(first: int, last: int) -> None:
        _cheapest(
            problem.indptr,
            problem.station,
            problem.efficiency,
            problem.payload_bit,
            per_price,
            first,
            last,
            demand.link,
            demand.rival,
            demand.cost,
            demand.rival_cost,
        )

    over_blocks(one_block, problem.n_users, problem.n_links)
    # A judge forgives a relative 1e-9 of every band; so do we, and more than our own rounding.
    money = float(prices @ problem.capacity_hz) * (1.0 + CAPACITY_RTOL) * (1.0 + 1e-12)
    n_optional = n - int(np.count_nonzero(problem.required))
    demand.bound_s, demand.cutoff = _proven_time(
        demand.cost, problem.compute_s, problem.required, n_optional, money, demand.chosen
    )


def least_spending(problem: Problem, demand: Demand, n: int, t: float) -> float:
    """``G(λ, t)`` of a filled ``demand``."""
    n_optional = n - int(np.count_nonzero(problem.required))
    return float(_least_spending(demand.cost, problem.compute_s, problem.required, n_optional, t))


@kernel
def _cheapest(  # type: ignore[no-untyped-def]
    indptr, station, efficiency, payload, per_price, first, last, link, rival, cost, rival_cost
):
    """The cheapest and the next cheapest link of users ``first <= u < last``."""
    for u in range(first, last):
        best, second = 0.0, 0.0
        best_link, second_link = -1, -1
        for k in range(indptr[u], indptr[u + 1]):
            value = efficiency[k] * per_price[station[k]]
            if value > second:
                if value > best:
                    second, second_link = best, best_link
                    best, best_link = value, k
                else:
                    second, second_link = value, k
        link[u], rival[u] = best_link, second_link
        cost[u], rival_cost[u] = payload[u] / best, payload[u] / second


@kernel
def _proven_time(cost, compute, required, n_optional, money, chosen):  # type: ignore[no-untyped-def]
    """
    A time that no schedule beats, and the price of the last optional choice.

    Dinkelbach from the right: any lawful set meets the money at a time that is too late; the
    cheapest set at that time meets it earlier; the times fall until the set repeats.

    Rounding. The differences ``t - c`` are of numbers held exactly, so every term of ``G`` is off
    by at most 6 roundings, the compensated sum by 2 more, and the cheapest choice of perturbed
    terms sums to no more than the perturbed cheapest sum: computed ``G`` is within 1e-14 of ``G``.
    The time is taken back until computed ``G`` exceeds the money by more than that; so true ``G``
    does, and as ``G`` falls with ``t``, every schedule is longer.
    """
    n_users = cost.size
    rank = np.empty(n_users)
    if n_optional == 0:
        chosen[:] = required
    elif not _is_lawful(chosen, required, cost, n_optional):
        _choose(cost, compute, required, n_optional, np.inf, rank, chosen)
    need, wait_for = np.empty(n_users), np.empty(n_users)
    t, cutoff = np.inf, np.inf
    for _ in range(60):
        n = 0
        for u in range(n_users):
            if chosen[u]:
                need[n], wait_for[n] = cost[u], compute[u]
                n += 1
        if n == 0:
            return 0.0, np.inf
        slowest, wait = wait_of(need[:n], wait_for[:n], money)
        if not slowest + wait < t * (1.0 - 1e-13):
            break
        t = slowest + wait
        if n_optional == 0:
            break
        cutoff = _choose(cost, compute, required, n_optional, t, rank, chosen)
    back = 1e-12
    while back < 1e-3:
        proven = t * (1.0 - back)
        if _least_spending(cost, compute, required, n_optional, proven) > money * (1.0 + 4e-14):
            return proven * (1.0 - 1e-14), cutoff
        back *= 2.0
    return 0.0, cutoff


@kernel
def _is_lawful(chosen, required, cost, n_optional):  # type: ignore[no-untyped-def]
    """Whether the set has all required users and the right number of others, all in reach."""
    n = 0
    for u in range(chosen.size):
        if chosen[u]:
            if cost[u] == np.inf:
                return False
            if not required[u]:
                n += 1
        elif required[u]:
            return False
    return n == n_optional


@kernel
def _choose(cost, compute, required, n_optional, t, rank, chosen):  # type: ignore[no-untyped-def]
    """Choose the required and the ``n_optional`` cheapest others at ``t``; the last one's price."""
    n = 0
    for u in range(cost.size):
        if not required[u]:
            rank[n] = _spending(cost[u], compute[u], t)
            n += 1
    cutoff = np.partition(rank[:n], n_optional - 1)[n_optional - 1]
    spare = n_optional
    for i in range(n):
        if rank[i] < cutoff:
            spare -= 1
    n = 0
    for u in range(cost.size):
        chosen[u] = required[u]
        if required[u]:
            continue
        if rank[n] < cutoff:
            chosen[u] = True
        elif rank[n] == cutoff and spare > 0:
            chosen[u] = True
            spare -= 1
        n += 1
    return cutoff


@kernel
def _spending(cost, compute, t):  # type: ignore[no-untyped-def]
    """What a user spends when the round ends at ``t``; at ``inf``, to rank by, what it needs."""
    if t == np.inf:
        return cost
    return cost / (t - compute) if t > compute else np.inf


@kernel
def _least_spending(cost, compute, required, n_optional, t):  # type: ignore[no-untyped-def]
    """``G(λ, t)``: compensated sums over the required and the cheapest others."""
    n, total, lost = 0, 0.0, 0.0
    rank = np.empty(cost.size)
    for u in range(cost.size):
        spending = _spending(cost[u], compute[u], t)
        if not required[u]:
            rank[n] = spending
            n += 1
            continue
        if spending == np.inf:
            return np.inf
        y = spending - lost
        s = total + y
        lost = (s - total) - y
        total = s
    if n_optional > 0:
        for spending in np.partition(rank[:n], n_optional - 1)[:n_optional]:
            if spending == np.inf:
                return np.inf
            y = spending - lost
            s = total + y
            lost = (s - total) - y
            total = s
    return total
