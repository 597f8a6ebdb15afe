"""
The price list that proves most, by Newton's method on the log prices.

At the best prices every station that costs something is asked for exactly its band. Demand is
piecewise constant in the prices, but users that are nearly indifferent, between two stations or
between in and out, are many, and their density is the derivative: a graph Laplacian over the
stations, plus one coupling of all of them through the users left out.
"""

import numpy as np

from fedroam.arrays import Floats, Stations
from fedroam.compiled import kernel
from fedroam.scheduling.certified.demand import Demand, demand_at, n_to_select
from fedroam.scheduling.problem import Problem

LOWEST_PRICE = 1e-9
"""As a part of the mean price: nothing is quite free, so that every root exists."""

_DENSE_STATIONS = 600
_WIDEST_TIE = 0.15
_LEAST_FILL = 0.02


def best_prices(
    problem: Problem, start: Floats | None, passes: int | None
) -> tuple[Floats, Demand]:
    """
    Prices and demand of the list that proves most, after at most ``passes`` steps from ``start``.

    Stops early when steps gain less than a millionth, several times in a row.
    """
    is_small = problem.n_links < 200_000
    if passes is None:
        passes = 30 if is_small else 12
    n = n_to_select(problem)
    now, best = Demand.blank(problem.n_users), Demand.blank(problem.n_users)
    log_price = np.zeros(problem.n_stations) if start is None else np.log(tidy(start, problem))
    prices = np.exp(log_price)
    tie, reach, before, stale = _WIDEST_TIE, 0.5, np.inf, 0
    for i in range(max(passes, 1)):
        log_price -= np.log(np.exp(log_price) @ problem.capacity_hz / problem.capacity_hz.sum())
        log_price = np.maximum(log_price, np.log(LOWEST_PRICE))
        demand_at(problem, np.exp(log_price), n, now)
        stale = 0 if now.bound_s > best.bound_s * (1 + 1e-6) else stale + 1
        if now.bound_s > best.bound_s or i == 0:
            prices = np.exp(log_price)
            now, best = best, now
            latest = best
        else:
            latest = now
        if n == 0 or i == passes - 1 or stale >= (8 if is_small else 2):
            break
        excess, step = _even_out(problem, np.exp(log_price), latest, tie)
        norm = float(np.sqrt(np.mean(excess**2)))
        reach = 0.5 * reach if norm > before else min(1.5 * reach, 0.7)
        before = norm
        step = np.clip(step, -reach, reach)
        log_price = log_price + step
        widest = max(0.6 * tie, 3 * float(np.abs(step).max()), 3.0 * problem.n_stations / n)
        tie = min(widest, _WIDEST_TIE)
        np.copyto(now.chosen, latest.chosen)
    return prices, best


def tidy(prices: Floats, problem: Problem) -> Floats:
    """The same list with mean price 1 per Hz, and nothing below LOWEST_PRICE."""
    mean = float(prices @ problem.capacity_hz) / float(problem.capacity_hz.sum())
    return np.maximum(prices / mean, LOWEST_PRICE)


def _even_out(
    problem: Problem, prices: Floats, demand: Demand, tie: float
) -> tuple[Floats, Floats]:
    """The log relative load of every station, and the step of the log prices that evens it."""
    load, a, b, pull, edge = _tension(
        problem.station,
        problem.efficiency,
        problem.payload_bit,
        problem.compute_s,
        problem.required,
        prices,
        demand.link,
        demand.rival,
        demand.cost,
        demand.rival_cost,
        demand.chosen,
        demand.bound_s,
        demand.cutoff,
        tie,
    )
    load = np.maximum(load, _LEAST_FILL * problem.capacity_hz)
    excess = np.log(load / problem.capacity_hz)
    spent = prices * load
    pressure = spent * (excess - float(spent @ excess) / float(spent.sum()))
    return excess, _laplacian_solve(a, b, pull, edge, spent, pressure)


@kernel
def _tension(  # type: ignore[no-untyped-def]
    station,
    efficiency,
    payload,
    compute,
    required,
    prices,
    link,
    rival,
    cost,
    rival_cost,
    chosen,
    t,
    cutoff,
    tie,
):
    """
    Loads, and how fast spending moves per unit of log price: between pairs of stations
    ``(a, b, pull)``, and between each station and the users left out (``edge``).
    """
    n_stations = prices.size
    load, edge = np.zeros(n_stations), np.zeros(n_stations)
    a, b = np.empty(cost.size, np.int32), np.empty(cost.size, np.int32)
    pull = np.empty(cost.size)
    n = 0
    inside, outside = np.exp(-tie), np.exp(tie)
    for u in range(cost.size):
        if link[u] < 0 or not t > compute[u]:
            continue
        s = station[link[u]]
        spending = cost[u] / (t - compute[u])
        if not required[u] and inside < spending / cutoff < outside:
            edge[s] += cutoff / (2 * tie)
        if not chosen[u]:
            continue
        load[s] += payload[u] / efficiency[link[u]] / (t - compute[u])
        if rival[u] >= 0 and rival_cost[u] < cost[u] * outside:
            a[n], b[n], pull[n] = s, station[rival[u]], spending / (2 * tie)
            n += 1
    return load, a[:n], b[:n], pull[:n], edge


def _laplacian_solve(
    a: Stations, b: Stations, pull: Floats, edge: Floats, spent: Floats, pressure: Floats
) -> Floats:
    """
    Solve ``A step = pressure``, where ``A`` is the Laplacian of the pulls plus that of the complete
    graph which the users left out make of all stations, plus a little damping.
    """
    n, total = spent.size, max(float(edge.sum()), 1e-300)
    diagonal = edge + 1e-3 * spent
    diagonal += np.zeros(n) + np.bincount(a, pull, n)  # floats, also where there is no pull
    diagonal += np.bincount(b, pull, n)
    if n <= _DENSE_STATIONS:
        pulls = np.zeros(n * n) + np.bincount(a.astype(np.int64) * n + b, pull, n * n)
        square = pulls.reshape(n, n)
        matrix = np.diag(diagonal) - square - square.T - np.outer(edge, edge / total)
        return np.asarray(np.linalg.solve(matrix, pressure), np.float64)
    # Loading these takes as long as the rest of the program; few problems need them.
    from scipy.sparse import coo_matrix, diags_array
    from scipy.sparse.linalg import LinearOperator, cg

    sparse = coo_matrix((pull, (a, b)), (n, n)).tocsr()
    sparse = sparse + sparse.T
    laplacian = (diags_array(diagonal) - sparse).tocsr()

    def apply(x: Floats) -> Floats:
        return laplacian @ x - edge * (float(edge @ x) / total)

    def precondition(x: Floats) -> Floats:
        return np.asarray(x / diagonal)

    step, _ = cg(
        LinearOperator((n, n), matvec=apply, dtype=float),
        pressure,
        rtol=1e-4,
        maxiter=500,
        M=LinearOperator((n, n), matvec=precondition, dtype=float),
    )
    return np.asarray(step)
