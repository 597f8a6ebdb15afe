"""
The real world, as far as it is measured: links and compute times from what nodes report.

A link's efficiency is what a model makes of the reports (of the signal, or of the place), times a
factor of the user's own that measured uploads correct: so the same band is predicted to take as
long as it did. What cannot be told apart from training or from an empty message's way there and
back counts as upload.

Axes: ``U`` users, ``S`` stations, ``L`` links.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fedroam.adapters.flower.conditions import View
from fedroam.adapters.flower.reporting import Report
from fedroam.arrays import Floats, Ints, Stations
from fedroam.errors import ConfigError, require
from fedroam.radio import LinkDraws, Links, Radio, Reach, UrbanMacro
from fedroam.scheduling.bandwidth import links_of
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.simulation import Fairness

SHORTEST_S = 1e-3
"""No upload counts as shorter: clocks are not finer, and a rate has to be finite."""


@dataclass(frozen=True)
class Measured:
    """
    What is known of a real network beside the reports.

    ``band_hz`` is what a station has to share: one number for a single station (with links that
    are measured it is only a unit), or one for each. ``station_m`` says where the stations stand;
    then users who report a place, and no signal, hear the ``nearest`` ones (0: all) as ``radio``
    has it. ``smoothing`` is the weight of the latest measurement against those before it.
    """

    band_hz: float | tuple[float, ...] = 1e6
    station_m: tuple[tuple[float, float], ...] = ()
    nearest: int = 0
    radio: Radio = field(default_factory=lambda: UrbanMacro(fading="none"))
    fairness: Fairness = field(default_factory=Fairness)
    smoothing: float = 0.5
    assumed_compute_s: float = 1.0  # of users who were never measured, when nobody was
    assumed_efficiency: float = 1.0  # bit/s/Hz, of links of which nothing is known

    def __post_init__(self) -> None:
        for band_hz in self.bands_hz:
            require(0 < band_hz < np.inf, "band_hz", self.band_hz, "> 0")
        if self.station_m and len(self.station_m) != len(self.bands_hz):
            raise ConfigError(
                f"station_m has {len(self.station_m)} places, expected {len(self.bands_hz)}, "
                "one for each number in band_hz"
            )
        require(self.nearest >= 0, "nearest", self.nearest, ">= 0")
        require(0 < self.smoothing <= 1, "smoothing", self.smoothing, "in (0, 1]")
        for name in ("assumed_compute_s", "assumed_efficiency"):
            require(0 < getattr(self, name) < np.inf, name, getattr(self, name), "> 0")

    @property
    def bands_hz(self) -> tuple[float, ...]:
        """``[S]``."""
        return self.band_hz if isinstance(self.band_hz, tuple) else (self.band_hz,)


class MeasuredWorld:
    """What has been measured so far."""

    is_simulated = False
    n_users = None

    def __init__(self, known: Measured, seed: int, payload_bit: float) -> None:
        self.known, self.seed, self.payload_bit = known, seed, payload_bit
        self.capacity_hz: Floats = np.array(known.bands_hz, np.float64)
        place_m = np.array(known.station_m, np.float64).reshape(-1, 2)
        self._reach = Reach(place_m, known.nearest) if len(place_m) else None
        self.compute_s: Floats = np.empty(0)  # [U] nan: never measured
        self.trip_s: Floats = np.empty(0)  # [U] an empty message's way there and back
        self.factor: Floats = np.empty(0)  # [U] measured over modelled efficiency
        self.position_m: Floats = np.empty((0, 2))
        self._heard: dict[int, tuple[Ints, Floats]] = {}  # stations and efficiencies, of signals
        self._granted: dict[int, float] = {}  # the band that a user had last
        self._uploads: set[int] = set()  # users who measure their uploads themselves
        self._links: Links | None = None

    def look(self, round: int, n_users: int) -> View:
        """The best guess: of a user who was never measured, the median of those who were."""
        self._grow(n_users)
        links, factor = self._modelled(), _filled(self.factor, 1.0)
        worth = links.efficiency * factor.repeat(np.diff(links.indptr))
        compute_s = _filled(self.compute_s, self.known.assumed_compute_s)
        return View(
            links=Links(links.indptr, links.station, worth),
            compute_s=compute_s + _filled(self.trip_s, 0.0),
            capacity_hz=self.capacity_hz,
            payload_bit=np.full(n_users, self.payload_bit),
            position_m=self.position_m.copy(),
        )

    def is_measured(self, users: Ints) -> bool:
        """Each of them has trained and sent before."""
        return bool(
            np.isfinite(self.compute_s[users]).all() & np.isfinite(self.factor[users]).all()
        )

    def hear(self, user: int, report: Report, trip_s: float | None = None) -> None:
        """Keep what is new; an upload that the node measured itself corrects its factor."""
        self._grow(user + 1)
        if trip_s is not None:
            self.trip_s[user] = np.fmin(self.trip_s[user], trip_s)
        if np.isfinite(report.compute_s):
            self.compute_s[user] = self._mixed(self.compute_s[user], report.compute_s)
        if np.isfinite(report.x_m) and np.isfinite(report.y_m):
            self.position_m[user] = report.x_m, report.y_m
            self._links = None
        self._hear_signal(user, report)
        if np.isfinite(report.upload_s) and report.upload_bit > 0:
            band_hz = report.bandwidth_hz
            if not band_hz > 0:  # what it was given last, or else all that there is
                band_hz = self._granted.get(user, float(self.capacity_hz.mean()))
            self._uploads.add(user)
            rate = report.upload_bit / max(report.upload_s, SHORTEST_S)
            self._correct(user, rate / band_hz / self._best_of(user))

    def learn(self, problem: Problem, schedule: Schedule, finish_s: Mapping[int, float]) -> None:
        """What came back when: the rest of each user's time, after trip and training, is upload."""
        link, factor = links_of(problem, schedule.station), _filled(self.factor, 1.0)
        for user, seconds in finish_s.items():
            self._granted[user] = float(schedule.bandwidth_hz[user])
            if user in self._uploads or not np.isfinite(self.compute_s[user]):
                continue  # known better, or nothing can be told apart from training
            # When everybody is asked at once the server is busy, and trips take longer than ever.
            rest_s = max(seconds - self.compute_s[user], SHORTEST_S)
            if self.trip_s[user] > rest_s:
                self.trip_s[user] = rest_s
            busy_s = self.compute_s[user] + np.nan_to_num(self.trip_s[user])
            rate = problem.payload_bit[user] / max(seconds - busy_s, SHORTEST_S)
            used = rate / schedule.bandwidth_hz[user] / problem.efficiency[link[user]]
            self._correct(user, used * factor[user])

    def advance(self, round: int, end_s: float) -> None:
        """The real world moves by itself."""

    def _correct(self, user: int, factor: float) -> None:
        mixed = self._mixed(np.log(self.factor[user]), np.log(factor))
        self.factor[user] = np.exp(np.clip(mixed, -50.0, 50.0))

    def _mixed(self, before: float, now: float) -> float:
        if not np.isfinite(before):
            return now
        return (1 - self.known.smoothing) * before + self.known.smoothing * now

    def _hear_signal(self, user: int, report: Report) -> None:
        worth = np.array(report.efficiency)
        if not worth.size:
            worth = np.log2(1 + 10 ** (np.array(report.snr_db) / 10))
        if not worth.size:
            return
        station = np.array(report.station or range(worth.size), np.int64)
        fits = station.size == worth.size and np.unique(station).size == station.size
        if fits and station.max() < self.capacity_hz.size:
            order = np.argsort(station)
            self._heard[user] = station[order], np.clip(worth[order], 1e-9, 1e3)
            self._links = None

    def _best_of(self, user: int) -> float:
        """The modelled efficiency of the user's best link."""
        if user in self._heard:
            return float(self._heard[user][1].max())
        if self._reach is not None and np.isfinite(self.position_m[user]).all():
            return float(self._by_place(np.array([user]))[1].max())
        return self.known.assumed_efficiency

    def _grow(self, n_users: int) -> None:
        more = n_users - self.compute_s.size
        if more > 0:
            unknown = np.full(more, np.nan)
            self.compute_s = np.concatenate([self.compute_s, unknown])
            self.trip_s = np.concatenate([self.trip_s, unknown])
            self.factor = np.concatenate([self.factor, unknown])
            self.position_m = np.concatenate([self.position_m, np.full((more, 2), np.nan)])
            self._links = None

    def _modelled(self) -> Links:
        """Every user's links without its factor: by signal, else by place, else all alike."""
        if self._links is not None:
            return self._links
        n_users, n_stations = self.compute_s.size, self.capacity_hz.size
        station: list[Stations | Ints] = [np.arange(n_stations)] * n_users
        worth: list[Floats] = [np.full(n_stations, self.known.assumed_efficiency)] * n_users
        placed = np.flatnonzero(np.isfinite(self.position_m).all(axis=1))
        if self._reach is not None and placed.size:
            for user, row, value in zip(placed.tolist(), *self._by_place(placed), strict=True):
                station[user], worth[user] = row, value
        for user, (row, value) in self._heard.items():
            station[user], worth[user] = row, value
        width = np.array([row.size for row in station])
        self._links = Links(
            np.concatenate([[0], np.cumsum(width)]),
            np.concatenate(station).astype(np.int32),
            np.concatenate(worth),
        )
        return self._links

    def _by_place(self, placed: Ints) -> tuple[Stations, Floats]:
        """Stations and efficiencies of the users who told their place, ``[n, width]`` each."""
        assert self._reach is not None
        station = self._reach.stations_of(self.position_m[placed])
        away_m = self.position_m[placed][:, None, :] - self._reach.station_m[station]
        distance_m = np.hypot(away_m[..., 0], away_m[..., 1]).reshape(-1)
        user = placed.repeat(station.shape[1])
        draws = LinkDraws(self.seed, 0, user, station.reshape(-1))
        worth = np.asarray(self.known.radio.efficiency(distance_m, draws), np.float64)
        return station, np.maximum(worth, 1e-9).reshape(station.shape)


def _filled(values: Floats, default: float) -> Floats:
    """``values`` with the median of those that are known in the place of those that are not."""
    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, np.median(known) if known.size else default)
