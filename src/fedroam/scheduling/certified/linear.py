"""The only file that knows the solver of linear problems."""

from typing import Any

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.errors import ConfigError

_TOO_MANY = 100.0
"""What a crew too many costs: far more than a user can be worth, in crews."""


class Crews:
    """
    The fractional problem over crews, sets of users of which each fits its station.

    Serve everyone who must be served, and enough users in all, with as few crews as possible; more
    than one a station cost dearly. Columns are the crews too many of each station, how much of each
    user is served, and the crews; rows are the users, the number of users, and the stations.
    """

    def __init__(self, n_stations: int, n_users: int, n_selected: int) -> None:
        self._n_users, self._n_stations = n_users, n_stations
        self._station = np.zeros(0, np.int64)  # [C]
        self._members = np.zeros((0, n_users), bool)  # [C, U]
        self._is_spare = np.zeros(0, bool)  # [C] not allowed, but there is an answer with them
        self._has_own = np.zeros((n_stations, n_users), bool)  # who has a crew of one
        self._highs = highs = _solver()
        stations = np.arange(n_stations, dtype=np.int32)
        for _ in stations:
            highs.addVar(0.0, np.inf)
        highs.changeColsCost(n_stations, stations, np.full(n_stations, _TOO_MANY))
        users = n_stations + np.arange(n_users, dtype=np.int32)
        for u in users:
            highs.addVar(0.0, 1.0)
            highs.addRow(0.0, np.inf, 1, np.array([u]), np.array([-1.0]))
        highs.addRow(float(n_selected), np.inf, n_users, users, np.ones(n_users))
        for s in stations:
            highs.addRow(-np.inf, 1.0, 1, np.array([s]), np.array([-1.0]))

    def restrict(self, able: Bools, must: Bools, least: Ints, most: Ints) -> None:
        """
        Crews with a user not ``able [S, U]`` to be there are out, and those with fewer members
        than ``least [S]`` or more than ``most [S]``; who ``must [U]`` is served.
        """
        n = self._n_users
        # Whoever can be served at all can be served alone, if dearly: so there always is an answer.
        station = able.argmax(axis=0)
        lonely = np.flatnonzero(able[station, np.arange(n)] & ~self._has_own[station, np.arange(n)])
        self._has_own[station[lonely], lonely] = True
        self.add(station[lonely], np.eye(n, dtype=bool)[lonely])
        limits = (able.any(axis=0) | must).astype(float)
        users = self._n_stations + np.arange(n, dtype=np.int32)
        self._highs.changeColsBounds(n, users, must.astype(float), limits)
        out = (self._members & ~able[self._station]).any(axis=1)
        size = self._members.sum(axis=1)
        is_odd = (size < least[self._station]) | (size > most[self._station])
        self._is_spare = is_odd & (size == 1)
        index = self._n_stations + n + np.arange(out.size, dtype=np.int32)
        upper = np.where(out | (is_odd & ~self._is_spare), 0.0, np.inf)
        self._highs.changeColsBounds(out.size, index, np.zeros(out.size), upper)
        self._highs.changeColsCost(out.size, index, np.where(self._is_spare, _TOO_MANY, 1.0))

    def add(self, station: Ints, members: Bools) -> None:
        """The crews ``members [C, U]`` of the stations ``[C]``."""
        crew, user = np.nonzero(members)
        rows = np.concatenate([user, self._n_users + 1 + station])
        order = np.argsort(np.concatenate([crew, np.arange(station.size)]), kind="stable")
        sizes = members.sum(axis=1) + 1
        self._highs.addCols(
            station.size,
            np.ones(station.size),
            np.zeros(station.size),
            np.full(station.size, np.inf),
            rows.size,
            (np.cumsum(sizes) - sizes).astype(np.int32),
            rows[order].astype(np.int32),
            np.ones(rows.size),
        )
        self._station = np.append(self._station, station)
        self._members = np.concatenate([self._members, members])
        self._is_spare = np.append(self._is_spare, np.zeros(station.size, bool))

    def solve(self) -> tuple[float, Floats, Floats] | None:
        """
        How many crews are too many, the worth of each user, and the rent of each station: no crew
        at hand is worth more. None where the solver gave up.
        """
        self._highs.run()
        if self._highs.getModelStatus() != _highspy().HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        dual = np.asarray(solution.row_dual)
        n, value = self._n_users, np.asarray(solution.col_value)
        too_many = float(value[: self._n_stations].sum())
        too_many += float(value[self._n_stations + n :][self._is_spare].sum())
        return too_many, np.maximum(dual[:n], 0.0), np.maximum(-dual[n + 1 :], 0.0) + 1.0

    def use(self) -> Floats:
        """How much of every user each station serves ``[S, U]``."""
        x = np.asarray(self._highs.getSolution().col_value)[self._n_stations + self._n_users :]
        served = np.zeros((self._n_stations, self._n_users))
        np.add.at(served, self._station, self._members * x[:, None])
        return served


def require_solver() -> None:
    """ConfigError with the cure where the solver is not installed."""
    _highspy()


def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise ConfigError(
            "exact solving needs the HiGHS solver: pip install 'fedroam[exact]'"
        ) from error
    return highspy


def _solver() -> Any:
    highs = _highspy().Highs()
    highs.silent()
    for option, value in (
        ("threads", 1),
        ("presolve", "off"),
        ("simplex_strategy", 4),  # primal: new columns keep the basis feasible
        ("random_seed", 0),
    ):
        highs.setOptionValue(option, value)
    return highs
