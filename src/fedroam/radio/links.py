"""
Which stations a user can be scheduled at, how far away they are, and what those links are worth.

Axes: ``U`` users, ``S`` stations, ``L`` links, those of user ``u`` being
``indptr[u]:indptr[u + 1]``, sorted by station.
"""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats, Ints, Stations, freeze
from fedroam.compiled import kernel
from fedroam.errors import ContractError, blame
from fedroam.radio.draws import LinkDraws
from fedroam.radio.model import Radio
from fedroam.radio.nearest import cells_of, nearest_stations

BLOCK_LINKS = 1 << 15
"""Links are measured in blocks that stay in the processor's cache (and bound the memory)."""


@dataclass(frozen=True, eq=False, slots=True)
class Links:
    """What every user hears in one round."""

    indptr: Ints  # [U + 1]
    station: Stations  # [L]
    efficiency: Floats  # [L] bit/s/Hz

    def __post_init__(self) -> None:
        freeze(self)


class Reach:
    """The links of users to fixed stations: to all of them (0), or to the ``nearest`` ones."""

    def __init__(self, station_m: Floats, nearest: int = 0) -> None:
        self.station_m = station_m
        self.width = nearest if 0 < nearest < len(station_m) else len(station_m)
        self._cells = cells_of(station_m, nearest) if self.width < len(station_m) else None
        self._n_rows = max(1, BLOCK_LINKS // self.width)
        self._user = np.repeat(np.arange(self._n_rows), self.width)  # of the first block's links
        self._indptr = np.zeros(1, np.int64)
        self._everything = np.zeros((0, self.width), np.int32)

    def stations_of(self, user_m: Floats) -> Stations:
        """The stations of each user in ascending order, ``[U, width]``."""
        n_users = len(user_m)
        if self._cells is None:
            if len(self._everything) != n_users:
                row = np.arange(self.width, dtype=np.int32)
                self._everything = _kept(np.tile(row, (n_users, 1)))
            return self._everything
        return nearest_stations(self._cells, user_m, self.width)

    def measure(self, radio: Radio, user_m: Floats, seed: int, round: int) -> Links:
        """Every link's efficiency in ``round``, for users at ``user_m [U, 2]``."""
        n_users = len(user_m)
        if self._indptr.size != n_users + 1:
            self._indptr = _kept(np.arange(n_users + 1) * self.width)
        station = self.stations_of(user_m).reshape(-1)
        efficiency = np.empty(station.size)
        for first in range(0, n_users, self._n_rows):
            last = min(first + self._n_rows, n_users)
            links = slice(first * self.width, last * self.width)
            user = self._user[: (last - first) * self.width] + first
            distance_m = _distances(user_m[first:last], self.station_m, station[links], self.width)
            draws = LinkDraws(seed, round, user, station[links])
            efficiency[links] = _ask(radio, distance_m, draws)
        return Links(self._indptr, station, efficiency)


def _kept(array: np.ndarray) -> np.ndarray:
    """``array``, read-only: rounds share it."""
    array.flags.writeable = False
    return array


def _ask(radio: Radio, distance_m: Floats, draws: LinkDraws) -> Floats:
    """The efficiencies, finite and positive; a plug-in may raise or answer anything."""
    culprit, when = f"radio {type(radio).__name__}", f" in round {draws.round}"
    try:
        worth = np.asarray(radio.efficiency(distance_m, draws), np.float64)
    except Exception as error:
        raise blame(culprit, error, when) from error
    if worth.shape != draws.user.shape:
        raise ContractError(
            f"{culprit} answered shape {worth.shape}{when}, expected {draws.user.shape}"
        )
    if not _are_fine(worth):
        i = int(np.argmin((worth > 0.0) & (worth < np.inf)))
        raise ContractError(
            f"{culprit} answered {worth[i]} bit/s/Hz{when} for user {draws.user[i]} and station "
            f"{draws.station[i]}, {distance_m[i]:.6g} m apart, expected a finite number > 0"
        )
    return worth


@kernel
def _are_fine(worth):  # type: ignore[no-untyped-def]
    """All are finite and positive."""
    fine = True
    for i in range(worth.size):
        fine &= (worth[i] > 0.0) & (worth[i] < np.inf)
    return fine


@kernel
def _distances(user_m, station_m, station, width):  # type: ignore[no-untyped-def]
    """Metres between the ends of each link, ``width`` of them a user."""
    distance_m = np.empty(station.size)
    for u in range(user_m.shape[0]):
        x, y = user_m[u, 0], user_m[u, 1]
        links = slice(u * width, (u + 1) * width)
        heard, square = station[links], distance_m[links]
        for i in range(width):
            s = np.uint32(heard[i])  # never negative: nothing to look up from the end
            dx, dy = x - station_m[s, 0], y - station_m[s, 1]
            square[i] = dx * dx + dy * dy
    for i in range(distance_m.size):  # a loop of its own: roots of several at a time
        distance_m[i] = np.sqrt(distance_m[i])
    return distance_m
