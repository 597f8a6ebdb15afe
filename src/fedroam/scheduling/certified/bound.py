"""A certified lower bound on the length of the round, from any prices or from the best ones."""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats, as_array, freeze
from fedroam.compiled import kernel
from fedroam.errors import require
from fedroam.scheduling.certified.demand import Demand, demand_at, n_to_select
from fedroam.scheduling.certified.prices import best_prices, tidy
from fedroam.scheduling.judge import CAPACITY_RTOL
from fedroam.scheduling.problem import Problem


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """No lawful schedule is shorter than ``bound_s``; the prices are the proof."""

    bound_s: float
    prices: Floats  # [S] per Hz
    demand: Demand  # what users would buy at these prices: where rounding starts

    def __post_init__(self) -> None:
        freeze(self)


def bound(problem: Problem, prices: Floats | None = None, *, passes: int | None = None) -> Bound:
    """
    A length that no lawful schedule beats; InfeasibleError where no schedule exists.

    Any ``prices [S]`` >= 0, not all 0, prove a valid bound by weak duality (see ``demand.py``);
    without them the best are sought, in ``passes`` over all links (None: as many as pay).

    Rigorous against rounding, and against the judge's forgiveness: bands count 1e-9 wider than
    they are, as the judge allows, and the time is taken back until the spending computed at it
    exceeds the money by more than all rounding errors together (see ``_proven_time``). So the bound
    holds for whatever ``judge`` calls lawful, without a tolerance. A price below 1e-9 of the mean
    counts as that, which is another valid list.

    Where stations serve few users each, the time that users need with a whole station to
    themselves may prove more, and is used then.
    """
    n = n_to_select(problem)
    if prices is None:
        prices, demand = best_prices(problem, None, passes)
    else:
        prices = tidy(checked_prices(problem, prices), problem)
        demand = Demand.blank(problem.n_users)
        demand_at(problem, prices, n, demand)
    return Bound(max(demand.bound_s, lonely_bound(problem, n)), prices, demand)


def bound_from(problem: Problem, start: Floats | None, passes: int | None = None) -> Bound:
    """The best bound found from the list ``start`` on."""
    if start is not None:
        start = checked_prices(problem, start)
    prices, demand = best_prices(problem, start, passes)
    return Bound(max(demand.bound_s, lonely_bound(problem, n_to_select(problem))), prices, demand)


def checked_prices(problem: Problem, prices: Floats) -> Floats:
    """``prices`` as an array, or ConfigError."""
    prices = as_array("prices", prices, np.float64, (problem.n_stations,))
    good = bool(np.all(prices >= 0) and np.all(np.isfinite(prices)) and np.any(prices > 0))
    require(good, "prices", prices.tolist(), "finite numbers >= 0, not all 0")
    return prices


def lonely_bound(problem: Problem, n: int) -> float:
    """When the last of the users would be done if each had its best station alone."""
    crowded = 100 * problem.n_stations
    if n == 0 or n > crowded:
        return 0.0  # sharing decides there, and the prices say more
    alone_s = _alone(
        problem.indptr,
        problem.station,
        problem.efficiency,
        problem.payload_bit,
        problem.compute_s,
        problem.capacity_hz * (1.0 + CAPACITY_RTOL),
    )
    optional = alone_s[~problem.required]
    n_optional = n - int(np.count_nonzero(problem.required))
    last = np.partition(optional, n_optional - 1)[n_optional - 1] if n_optional else 0.0
    return float(max(last, alone_s[problem.required].max(initial=0.0))) * (1.0 - 1e-14)


@kernel
def _alone(indptr, station, efficiency, payload, compute, capacity):  # type: ignore[no-untyped-def]
    """When every user would be done at its best station alone; inf out of reach."""
    alone = np.full(compute.size, np.inf)
    for u in range(compute.size):
        for k in range(indptr[u], indptr[u + 1]):
            at_k = compute[u] + payload[u] / (efficiency[k] * capacity[station[k]])
            alone[u] = min(alone[u], at_k)
    return alone
