"""How long the round would be for every number of users: for those who choose it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from fedroam.arrays import Floats, Ints, as_array, freeze
from fedroam.errors import require
from fedroam.scheduling.certified.bound import Bound, bound_from
from fedroam.scheduling.certified.demand import n_to_select
from fedroam.scheduling.certified.solve import round_and_improve
from fedroam.scheduling.problem import Problem

_AT_MOST = 200
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class Sweep:
    """The best round length found for each number of users, and what none beats."""

    n_selected: Ints  # [N] ascending
    round_s: Floats  # [N] never falling
    bound_s: Floats  # [N] never falling
    gap: Floats  # [N] round_s / bound_s - 1

    def __post_init__(self) -> None:
        freeze(self)


def sweep_selected(
    problem: Problem,
    rng: np.random.Generator,
    *,
    n_selected: ArrayLike | None = None,
    effort: float = 0.1,
) -> Sweep:
    """
    T(K) with certificates: ``problem`` solved for every number of users ``n_selected``.

    None means all from the required ones to everyone in reach, or 200 of them, evenly spread.
    Neighbours share prices and schedules: each search starts also from the next larger schedule
    with its dearest user left out. A schedule for more users does for fewer, and a bound for
    fewer holds for more, so both columns rise.
    """
    counts = _counts(problem, n_selected)
    prices: Floats | None = None
    link: Ints | None = None
    round_s, bound_s = np.zeros(counts.size), np.zeros(counts.size)
    for i in range(counts.size - 1, -1, -1):
        asked = replace(problem, min_selected=int(counts[i]))
        proof = bound_from(asked, prices, None if prices is None else 12)
        prices = proof.prices
        bound_s[i] = proof.bound_s
        found, found_s = round_and_improve(asked, proof, rng, effort=effort)
        if link is not None:
            thinner = thinned(asked, proof, link)
            other, other_s = round_and_improve(asked, proof, rng, effort=effort, start=thinner)
            if other_s < found_s:
                found, found_s = other, other_s
        link, round_s[i] = found, found_s * (1 + _ROUNDING)
    round_s = np.minimum.accumulate(round_s[::-1])[::-1]
    bound_s = np.maximum.accumulate(bound_s)
    gap = np.divide(round_s, bound_s, out=np.ones_like(round_s), where=bound_s > 0) - 1
    return Sweep(counts, round_s, bound_s, gap)


def _counts(problem: Problem, n_selected: ArrayLike | None) -> Ints:
    least = int(np.count_nonzero(problem.required))
    most = int(np.count_nonzero(np.diff(problem.indptr)))
    if n_selected is None:
        least = max(least, 1)
        return np.unique(np.linspace(least, most, min(most - least + 1, _AT_MOST)).astype(np.int64))
    counts = np.unique(as_array("n_selected", np.asarray(n_selected), np.int64, (None,)))
    for count in counts[[0, -1]] if counts.size else ():
        require(least <= count <= most, "n_selected", int(count), f"{least}..{most}")
    return counts


def thinned(problem: Problem, proof: Bound, link: Ints) -> Ints:
    """``link [U]`` without the dearest users that may be left out, down to the number asked for."""
    thin = link.copy()
    optional = np.flatnonzero((link >= 0) & ~problem.required)
    n_extra = int(np.count_nonzero(link >= 0)) - n_to_select(problem)
    if n_extra > 0:
        used = link[optional]
        time_s = np.maximum(proof.bound_s - problem.compute_s[optional], 1e-9 * proof.bound_s)
        need_hz_s = problem.payload_bit[optional] / problem.efficiency[used]
        spent = proof.prices[problem.station[used]] * need_hz_s / time_s
        thin[optional[np.argsort(-spent, kind="stable")[:n_extra]]] = -1
    return thin
