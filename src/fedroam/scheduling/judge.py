"""
The only judge of a schedule: is it feasible, when does each user finish, what does it honour.

Knows nothing of policies; a policy's own forecast never moves the clock.
"""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats, Ints, freeze
from fedroam.compiled import kernel
from fedroam.errors import ContractError
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule, find_link

CAPACITY_RTOL = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Verdict:
    """What a feasible schedule does to the round."""

    finish_s: Floats  # [U] when the user's update has arrived; nan where left out
    used_hz: Floats  # [S] bandwidth given
    station_s: Floats  # [S] when the station's last update has arrived; nan where idle
    round_s: float  # length of the round: the slowest chosen user
    straggler: int  # that user, or -1 where nobody is chosen
    n_selected: int
    missed: Ints  # required users that were left out (rho1 broken)
    lacking: int  # users that are missing for min_selected (rho2 broken)

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def is_lawful(self) -> bool:
        """Every required user takes part, and enough users do."""
        return self.missed.size == 0 and self.lacking == 0


def judge(problem: Problem, schedule: Schedule) -> Verdict:
    """
    The verdict on ``schedule``; ContractError where it is not feasible.

    Feasible: every chosen user has a station within its reach and some bandwidth, and no station
    gives more than it has (to a relative 1e-9). Leaving required users out is feasible, and told.
    """
    if schedule.station.shape != (problem.n_users,):
        raise ContractError(
            f"the schedule is for {schedule.station.size} users, the problem has {problem.n_users}"
        )
    finish_s, used_hz, station_s, straggler, flaw, user = _settle(
        problem.indptr,
        problem.station,
        problem.efficiency,
        problem.compute_s,
        problem.payload_bit,
        problem.n_stations,
        schedule.station,
        schedule.bandwidth_hz,
    )
    if flaw:
        raise ContractError(_explain(flaw, user, problem, schedule))
    over = np.flatnonzero(~(used_hz <= problem.capacity_hz * (1 + CAPACITY_RTOL)))
    if over.size:
        s = over[0]
        raise ContractError(
            f"station {s} gives {used_hz[s]:.12g} Hz, has {problem.capacity_hz[s]:.12g}"
        )
    selected = schedule.station != NO_STATION
    n_selected = int(np.count_nonzero(selected))
    round_s = float(finish_s[straggler]) if n_selected else float(schedule.if_empty_s)
    if not 0 <= round_s < np.inf:
        raise ContractError(f"the round lasts {round_s} s, expected a finite time")
    return Verdict(
        finish_s=finish_s,
        used_hz=used_hz,
        station_s=station_s,
        round_s=round_s,
        straggler=straggler,
        n_selected=n_selected,
        missed=np.flatnonzero(problem.required & ~selected),
        lacking=max(0, problem.min_selected - n_selected),
    )


def finish_times(problem: Problem, schedule: Schedule) -> Floats:
    """When each user's update arrives, ``[U]`` seconds; nan where left out."""
    return judge(problem, schedule).finish_s


def round_length(problem: Problem, schedule: Schedule) -> float:
    """Seconds until the slowest chosen user has finished."""
    return judge(problem, schedule).round_s


def _explain(flaw: int, user: int, problem: Problem, schedule: Schedule) -> str:
    station = int(schedule.station[user])
    match flaw:
        case 1:
            return (
                f"user {user} is sent to station {station}, expected -1..{problem.n_stations - 1}"
            )
        case 2:
            return f"user {user} is sent to station {station}, which is out of its reach"
        case 3:
            return f"user {user} is chosen, but has {schedule.bandwidth_hz[user]} Hz, expected > 0"
        case _:
            return f"user {user} is left out, but has {schedule.bandwidth_hz[user]} Hz, expected 0"


@kernel
def _settle(indptr, station, efficiency, compute_s, payload_bit, n_stations, chosen, bandwidth_hz):  # type: ignore[no-untyped-def]
    """Finish times, station loads and finishes, the last user, or the first flaw and its user."""
    n_users = chosen.size
    finish_s = np.full(n_users, np.nan)
    used_hz = np.zeros(n_stations)
    station_s = np.full(n_stations, np.nan)
    straggler = -1
    for u in range(n_users):
        s = chosen[u]
        if s == -1:
            if bandwidth_hz[u] != 0.0:
                return finish_s, used_hz, station_s, -1, 4, u
            continue
        if s < 0 or s >= n_stations:
            return finish_s, used_hz, station_s, -1, 1, u
        link = find_link(indptr, station, u, s)
        if link == -1:
            return finish_s, used_hz, station_s, -1, 2, u
        if not 0.0 < bandwidth_hz[u] < np.inf:
            return finish_s, used_hz, station_s, -1, 3, u
        finish_s[u] = compute_s[u] + payload_bit[u] / (bandwidth_hz[u] * efficiency[link])
        used_hz[s] += bandwidth_hz[u]
        if not finish_s[u] <= station_s[s]:
            station_s[s] = finish_s[u]
        if straggler == -1 or finish_s[u] > finish_s[straggler]:
            straggler = u
    return finish_s, used_hz, station_s, straggler, 0, 0
