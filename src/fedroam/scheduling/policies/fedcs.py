"""
FedCS with several stations, as the paper extends it.

Reference: Nishio and Yonetani, "Client Selection for Federated Learning with Heterogeneous
Resources in Mobile Edge" (ICC 2019); the extension is the paper's.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedroam.arrays import Stations
from fedroam.compiled import kernel
from fedroam.errors import require
from fedroam.scheduling.bandwidth import links_of
from fedroam.scheduling.policies.best_station import best_station, split_evenly
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule


@dataclass(frozen=True)
class FedCS:
    """
    As many users as finish within ``threshold_s``, best channel first, at equal bandwidth.

    A user is a candidate of its best station only. A round that nobody can finish within the
    threshold is empty and lasts the threshold.
    """

    threshold_s: float = 1.0
    ignores: ClassVar = ("required", "min_selected")

    def __post_init__(self) -> None:
        require(0 < self.threshold_s < np.inf, "threshold_s", self.threshold_s, "> 0 seconds")

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Admit users station by station until the next one would make somebody late."""
        del rng  # nothing is left to chance
        station = self._admit(problem, best_station(problem))
        schedule = split_evenly(problem, station)
        return Schedule(station, schedule.bandwidth_hz, if_empty_s=self.threshold_s)

    def _admit(self, problem: Problem, station: Stations) -> Stations:
        """
        A user that is admitted as the n-th, or before it, keeps the threshold while
        ``n <= (threshold - compute) * capacity / need``: admission stops when the running minimum
        of these limits falls below n.
        """
        candidates = np.flatnonzero(station != NO_STATION)
        link = links_of(problem, station)[candidates]
        gain = problem.efficiency[link]
        need_hz_s = problem.payload_bit[candidates] / gain
        time_s = self.threshold_s - problem.compute_s[candidates]
        limit = time_s * problem.capacity_hz[station[candidates]] / need_hz_s
        order = np.lexsort((-gain, station[candidates]))  # stable: the lower user first
        admitted = candidates[order[_prefix(station[candidates][order], limit[order])]]
        chosen = np.full_like(station, NO_STATION)
        chosen[admitted] = station[admitted]
        return chosen


@kernel
def _prefix(station, limit):  # type: ignore[no-untyped-def]
    """Which users are admitted, where users stand grouped by station, best first."""
    admitted = np.zeros(station.size, np.bool_)
    lowest, n, is_open = np.inf, 0, True
    for i in range(station.size):
        if i == 0 or station[i] != station[i - 1]:
            lowest, n, is_open = np.inf, 0, True
        lowest = min(lowest, limit[i])
        is_open = is_open and n + 1 <= lowest * (1.0 + 1e-12)
        if is_open:
            n += 1
            admitted[i] = True
    return admitted
