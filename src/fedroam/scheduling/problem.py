"""
The question that a policy answers, and the form of its answer.

Axes: ``U`` users, ``S`` stations, ``L`` links. Links are sparse: those of user ``u`` are
``indptr[u]:indptr[u + 1]``, sorted by station; a station that is not listed is out of reach.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fedroam.arrays import Bools, Floats, Ints, Stations, as_array, freeze
from fedroam.compiled import kernel, part
from fedroam.errors import ConfigError, require

NO_STATION = -1


def _unknown() -> np.ndarray:
    """Stands for a part of the past that was not given; the record fills it in."""
    return np.empty(0)


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """
    One round as the scheduler sees it.

    Choose users, a station for each and a bandwidth for each, so that the slowest,
    ``max_u compute_s[u] + payload_bit[u] / (bandwidth_hz[u] * efficiency[u, station[u]])``,
    is as early as possible; every required user and at least ``min_selected`` users take part,
    and no station gives more than its ``capacity_hz``.

    The past (from ``round`` on) is carried along so that policies need no memory.
    """

    indptr: Ints  # [U + 1]
    station: Stations  # [L] ascending within a user
    efficiency: Floats  # [L] bit/s/Hz, positive
    compute_s: Floats  # [U] local training time
    capacity_hz: Floats  # [S]
    payload_bit: Floats  # [U], or one number for all
    required: Bools  # [U]
    min_selected: int
    round: int = 0
    times_selected: Ints = field(default_factory=_unknown)  # [U] 0 where unknown
    last_round: Ints = field(default_factory=_unknown)  # [U] -1: never selected
    last_loss: Floats = field(default_factory=_unknown)  # [U] nan: unknown, never infinite
    samples: Ints = field(default_factory=_unknown)  # [U] 1 where unknown
    label_counts: Ints = field(default_factory=_unknown)  # [U, C] of each class; C = 0: unknown

    def __post_init__(self) -> None:
        indptr = as_array("indptr", self.indptr, np.int64, (None,))
        require(indptr.size >= 2, "indptr", indptr.tolist(), "one entry a user and one more")
        n_users = indptr.size - 1
        station = as_array("station", self.station, np.int32, (None,))
        payload_bit = np.asarray(self.payload_bit)
        if payload_bit.ndim == 0:
            payload_bit = np.full(n_users, as_array("payload_bit", payload_bit, np.float64, ()))
        arrays = {
            "indptr": indptr,
            "station": station,
            "efficiency": as_array("efficiency", self.efficiency, np.float64, station.shape),
            "compute_s": as_array("compute_s", self.compute_s, np.float64, (n_users,)),
            "capacity_hz": as_array("capacity_hz", self.capacity_hz, np.float64, (None,)),
            "payload_bit": as_array("payload_bit", payload_bit, np.float64, (n_users,)),
            "required": as_array("required", self.required, np.bool_, (n_users,)),
        }
        past = (
            ("times_selected", np.int64, 0),
            ("last_round", np.int64, -1),
            ("last_loss", np.float64, np.nan),
            ("samples", np.int64, 1),
        )
        for name, dtype, unknown in past:
            value = getattr(self, name)
            arrays[name] = (
                as_array(name, value, dtype, (n_users,))
                if np.size(value)
                else np.full(n_users, unknown, dtype)
            )
        counts = self.label_counts if np.size(self.label_counts) else np.empty((n_users, 0), int)
        arrays["label_counts"] = as_array("label_counts", counts, np.int64, (n_users, None))
        for name, value in arrays.items():
            object.__setattr__(self, name, value)
        self._refuse_flaws()
        freeze(self)

    def _refuse_flaws(self) -> None:
        require(self.n_stations >= 1, "capacity_hz", [], "at least one station")
        for name in ("min_selected", "round"):
            value = getattr(self, name)
            is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            require(is_whole, name, value, "a whole number")
        require(
            0 <= self.min_selected <= self.n_users,
            "min_selected",
            self.min_selected,
            f"0..{self.n_users}",
        )
        require(self.round >= 0, "round", self.round, ">= 0")
        least = self.label_counts.min(initial=0)
        require(least >= 0, "label_counts", int(least), "no number below 0")
        flaw, index = _first_flaw(
            self.indptr,
            self.station,
            self.efficiency,
            self.compute_s,
            self.capacity_hz,
            self.payload_bit,
            self.required,
            self.times_selected,
            self.samples,
            self.last_loss,
        )
        if flaw:
            name, expected = _FLAWS[flaw]
            expected = expected.format(
                links=self.station.size, last=self.n_stations - 1, user=self._owner(index)
            )
            value = getattr(self, name)[index].item()
            raise ConfigError(f"{name}[{index}] is {value!r}, expected {expected}")

    def _owner(self, link: int) -> int:
        return int(np.searchsorted(self.indptr, link, side="right")) - 1

    @property
    def n_users(self) -> int:
        """U."""
        return self.indptr.size - 1

    @property
    def n_stations(self) -> int:
        """S."""
        return self.capacity_hz.size

    @property
    def n_links(self) -> int:
        """L."""
        return self.station.size


@part
def find_link(indptr, station, user, s):  # type: ignore[no-untyped-def]
    """For kernels: the link between ``user`` and station ``s``, by bisection; -1: out of reach."""
    low, high = indptr[user], indptr[user + 1]
    while low < high:
        middle = (low + high) // 2
        if station[middle] < s:
            low = middle + 1
        else:
            high = middle
    return low if low < indptr[user + 1] and station[low] == s else -1


_FLAWS = {
    1: ("indptr", "0 at the start, never falling, {links} (the number of links) at the end"),
    2: ("station", "0..{last}"),
    3: ("station", "ascending stations, each once, within user {user}"),
    4: ("efficiency", "a finite number > 0 (leave out a station that is out of reach)"),
    5: ("compute_s", "a finite number >= 0"),
    6: ("payload_bit", "a finite number > 0"),
    7: ("capacity_hz", "a finite number > 0"),
    8: ("required", "false, since no station is within this user's reach"),
    9: ("times_selected", ">= 0"),
    10: ("samples", ">= 0"),
    11: ("last_loss", "a finite number, or nan where it is unknown"),
}


@kernel
def _first_flaw(  # type: ignore[no-untyped-def]
    indptr, station, efficiency, compute_s, capacity_hz, payload_bit, required, times, samples, loss
):
    """The kind and the index of the first thing that is wrong, or (0, 0)."""
    n_users, n_stations = indptr.size - 1, capacity_hz.size
    if indptr[0] != 0:
        return 1, 0
    for u in range(n_users):
        if indptr[u + 1] < indptr[u] or indptr[u + 1] > station.size:
            return 1, u + 1
    if indptr[n_users] != station.size:
        return 1, n_users
    for s in range(n_stations):
        if not 0.0 < capacity_hz[s] < np.inf:
            return 7, s
    for u in range(n_users):
        if not 0.0 <= compute_s[u] < np.inf:
            return 5, u
        if not 0.0 < payload_bit[u] < np.inf:
            return 6, u
        if times[u] < 0:
            return 9, u
        if samples[u] < 0:
            return 10, u
        if np.isinf(loss[u]):
            return 11, u
        links = slice(indptr[u], indptr[u + 1])
        if _are_fine(station[links], efficiency[links], n_stations):
            continue
        before = -1
        for link in range(indptr[u], indptr[u + 1]):
            if station[link] < 0 or station[link] >= n_stations:
                return 2, link
            if station[link] <= before:
                return 3, link
            before = station[link]
            if not 0.0 < efficiency[link] < np.inf:
                return 4, link
        if required[u] and indptr[u] == indptr[u + 1]:
            return 8, u
    return 0, 0


@kernel
def _are_fine(station, efficiency, n_stations):  # type: ignore[no-untyped-def]
    """Some links of one user are as they should be; without branches, for speed."""
    fine = station.size > 0 and station[0] >= 0 and station[-1] < n_stations
    for i in range(efficiency.size):
        fine &= (efficiency[i] > 0.0) & (efficiency[i] < np.inf)
    for i in range(1, station.size):
        fine &= station[i] > station[i - 1]
    return fine


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """The answer: a station and a bandwidth for every chosen user."""

    station: Stations  # [U] NO_STATION where the user is left out
    bandwidth_hz: Floats  # [U] 0 where the user is left out
    if_empty_s: float = 0.0  # how long the round lasts when nobody is chosen (a deadline)

    def __post_init__(self) -> None:
        station = as_array("station", self.station, np.int32, (None,))
        bandwidth_hz = as_array("bandwidth_hz", self.bandwidth_hz, np.float64, station.shape)
        object.__setattr__(self, "station", station)
        object.__setattr__(self, "bandwidth_hz", bandwidth_hz)
        freeze(self)

    @property
    def chosen(self) -> Ints:
        """The users that take part, ascending."""
        return np.flatnonzero(self.station != NO_STATION)


class Policy(Protocol):
    """
    Anything that maps a problem to a schedule.

    Deterministic given ``rng``, and without memory: all it may know of the past is in the problem.
    A policy that leaves required users out, or may choose too few, says so in a class attribute
    ``ignores = ("required", "min_selected")``.
    """

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Answer ``problem``, or raise InfeasibleError with the reason."""
        ...


def dense(
    efficiency: Floats,
    *,
    compute_s: Floats,
    capacity_hz: Floats,
    payload_bit: float | Floats,
    min_selected: int,
    required: Bools | None = None,
) -> Problem:
    """The problem with a link wherever ``efficiency [U, S]`` is positive."""
    matrix = as_array("efficiency", efficiency, np.float64, (None, None))
    reach = ~(matrix <= 0)  # keeps nan, which the record refuses
    return Problem(
        indptr=np.concatenate([[0], np.cumsum(reach.sum(axis=1))]),
        station=np.nonzero(reach)[1].astype(np.int32),
        efficiency=matrix[reach],
        compute_s=compute_s,
        capacity_hz=capacity_hz,
        payload_bit=payload_bit,  # type: ignore[arg-type]
        required=np.zeros(len(matrix), bool) if required is None else required,
        min_selected=min_selected,
    )
