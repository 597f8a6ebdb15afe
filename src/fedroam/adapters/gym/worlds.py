"""
Many worlds of one scenario side by side, each bit for bit that of ``Simulation`` under its seed.

No record is made for a step: places, links and the past are arrays with one row a world, and the
loops over them are compiled. Random directions that change with every round and the urban macro
channel are computed for all worlds at once; every other model of motion and channel, plug-ins
too, world by world by the same calls as in ``Simulation``.

Axes: ``N`` worlds, ``U`` users, ``S`` stations, ``W`` links a user.
"""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from fedroam.adapters.gym.decoding import decide, distances, note, observe
from fedroam.arrays import Bools, Floats, Floats32, Ints, Stations
from fedroam.errors import ConfigError
from fedroam.mobility import Motion, RandomDirection
from fedroam.mobility.motion import reflect
from fedroam.radio import LinkDraws, Reach, UrbanMacro
from fedroam.radio.links import BLOCK_LINKS
from fedroam.scheduling.fairness import least_selected, selections_due
from fedroam.scheduling.problem import Problem
from fedroam.simulation import Scenario, lay_out
from fedroam.simulation.rounds import moved
from fedroam.streams import stream


@dataclass(frozen=True, eq=False, slots=True)
class _ManyDraws:
    """The numbers of several worlds' links, as if they were the links of one."""

    draws: list[LinkDraws]

    def uniform(self, name: str, *, lasting: bool = False) -> Floats:
        return np.concatenate([one.uniform(name, lasting=lasting) for one in self.draws])

    def exponential(self, name: str, *, lasting: bool = False) -> Floats:
        return -np.log(self.uniform(name, lasting=lasting))

    def normal(self, name: str, *, lasting: bool = False) -> Floats:
        return np.concatenate([one.normal(name, lasting=lasting) for one in self.draws])


class Worlds:
    """``n`` worlds; ``begin`` starts one of them anew, ``decide`` and ``go_on`` play a round."""

    def __init__(self, scenario: Scenario, n: int) -> None:
        self.scenario, self.n = scenario, n
        world = scenario.world
        self.n_users, self.n_stations = world.users, world.stations
        self.width = Reach(np.zeros((world.stations, 2)), world.nearest).width
        self.least = max(1, least_selected(world.users, scenario.fairness.rho2))
        mobility = scenario.mobility
        self._is_walk = type(mobility) is RandomDirection and mobility.turn_every == "round"
        n_links = world.users * self.width
        self._is_macro = type(scenario.radio) is UrbanMacro and n_links <= BLOCK_LINKS
        users, stations, links = (n, world.users), (n, world.stations), (n, n_links)
        self.seed = [0] * n
        self.round: Ints = np.zeros(n, np.int64)
        self.now_s: Floats = np.zeros(n)
        self.station_m: Floats = np.zeros((*stations, 2))
        self.capacity_hz: Floats = np.ones(stations)
        self.compute_s: Floats = np.zeros(users)
        self.payload_bit: Floats = np.ones(users)
        self.position_m: Floats = np.zeros((*users, 2))
        self._velocity_m_s: Floats = np.zeros((*users, 2))
        self._motion: list[Motion | None] = [None] * n
        self._reach: list[Reach | None] = [None] * n
        self.reach: Stations = np.tile(np.arange(world.stations, dtype=np.int32), (n, world.users))
        if self.width < world.stations:
            self.reach = np.zeros(links, np.int32)
        self.efficiency: Floats = np.ones(links)
        self.required: Bools = np.zeros(users, bool)
        self.times_selected: Ints = np.zeros(users, np.int64)
        self.last_round: Ints = np.full(users, -1, np.int64)
        self.chosen: Stations = np.full(users, -1, np.int32)
        self.length_s: Floats = np.zeros(n)
        self.n_selected: Ints = np.zeros(n, np.int64)
        self._user = np.repeat(np.arange(world.users), self.width)
        fairness = scenario.fairness
        self._due = lru_cache(maxsize=4096)(
            lambda round: selections_due(world.users, round, fairness.rho1, fairness.reading)
        )

    def begin(self, w: int, seed: int) -> None:
        """World ``w`` starts anew, as it is under ``seed``."""
        world, mobility = self.scenario.world, self.scenario.mobility
        ground = lay_out(world, seed)
        self.seed[w], self.round[w], self.now_s[w] = seed, 0, 0.0
        self.station_m[w], self.capacity_hz[w] = ground.station_m, ground.capacity_hz
        self.compute_s[w], self.payload_bit[w] = ground.ready_s, ground.payload_bit
        self.times_selected[w], self.last_round[w], self.chosen[w] = 0, -1, -1
        self.length_s[w], self.n_selected[w] = 0.0, 0
        self._reach[w] = Reach(ground.station_m, world.nearest)
        draw = partial(stream, seed, "mobility")
        motion = moved(mobility, world, 0, lambda m: m.start(world.users, world.area_m, draw))
        self._motion[w], self.position_m[w] = motion, motion.position_m
        if self._is_walk:
            self._velocity_m_s[w] = motion.memory["velocity_m_s"]

    def look(self) -> None:
        """Measure the links of the present round, and find out who is required in it."""
        if self.width < self.n_stations:
            for w, reach in enumerate(self._reach):
                self.reach[w] = reach.stations_of(self.position_m[w]).reshape(-1)  # type: ignore[union-attr]
        block = max(1, BLOCK_LINKS // self.reach.shape[1])
        for first in range(0, self.n, block):
            self._measure(slice(first, min(first + block, self.n)))
        for w, round in enumerate(self.round.tolist()):
            np.less(self.times_selected[w], self._due(round), out=self.required[w])

    def _measure(self, some: slice) -> None:
        radio, which = self.scenario.radio, range(some.start, some.stop)
        if not self._is_macro:
            for w in which:
                links = self._reach[w].measure(  # type: ignore[union-attr]
                    radio, self.position_m[w], self.seed[w], int(self.round[w])
                )
                self.efficiency[w] = links.efficiency
            return
        distance_m = np.empty((len(which), self.reach.shape[1]))
        distances(self.position_m[some], self.station_m[some], self.reach[some], distance_m)
        draws = _ManyDraws(
            [LinkDraws(self.seed[w], int(self.round[w]), self._user, self.reach[w]) for w in which]
        )
        worth = radio.efficiency(distance_m.reshape(-1), draws)  # type: ignore[arg-type]
        self.efficiency[some] = worth.reshape(len(which), -1)

    def observe(self) -> Floats32:
        """What is seen of every world, ``[N, U, S + 4]``."""
        seen = np.zeros((self.n, self.n_users, self.n_stations + 4), np.float32)
        observe(
            self.reach,
            self.efficiency,
            self.required,
            self.compute_s,
            self.payload_bit,
            self.capacity_hz,
            self.times_selected,
            self.last_round,
            self.round,
            seen,
        )
        return seen

    def decide(self, plays: Bools, scores: Floats, *, extra: bool) -> None:
        """Stations and lengths of the round in the worlds that play, by ``scores [N, U, S]``."""
        flaw = decide(
            plays,
            scores,
            self.reach,
            self.efficiency,
            self.required,
            self.least,
            extra,
            self.compute_s,
            self.payload_bit,
            self.capacity_hz,
            self.chosen,
            self.length_s,
        )
        if flaw >= 0:
            raise ConfigError(f"action holds nan or inf (world {flaw}), expected finite scores")

    def go_on(self, plays: Bools) -> None:
        """The chosen users have taken part, time has passed, users have walked on."""
        which = slice(None) if plays.all() else np.flatnonzero(plays)
        note(plays, self.chosen, self.round, self.times_selected, self.last_round, self.n_selected)
        self._walk(np.arange(self.n)[which], which)
        self.round[which] += 1
        self.now_s[which] += self.length_s[which]

    def _walk(self, worlds: Ints, which: slice | Ints) -> None:
        """Bring the users of some worlds to the end of the round."""
        world, mobility = self.scenario.world, self.scenario.mobility
        end_s = self.now_s[which] + self.length_s[which]
        if self._is_walk:
            since_s = end_s - self.now_s[which]
            straight_m = self.position_m[which] + self._velocity_m_s[which] * since_s[:, None, None]
            self.position_m[which] = reflect(straight_m, world.area_m)
            angle = np.empty((worlds.size, self.n_users))
            for i, w in enumerate(worlds.tolist()):
                rng = stream(self.seed[w], "mobility", "direction", int(self.round[w]) + 1)
                rng.random(out=angle[i])
            angle *= 2 * np.pi
            velocity = np.empty((*angle.shape, 2))
            np.cos(angle, out=velocity[..., 0])
            np.sin(angle, out=velocity[..., 1])
            self._velocity_m_s[which] = mobility.speed_m_s * velocity  # type: ignore[attr-defined]
            return
        for i, w in enumerate(worlds.tolist()):
            draw, motion = partial(stream, self.seed[w], "mobility"), self._motion[w]
            round, now_s = int(self.round[w]), float(end_s[i])
            walked = moved(
                mobility,
                world,
                round,
                lambda m: m.advance(motion, world.area_m, now_s, round + 1, draw),  # noqa: B023
            )
            self._motion[w], self.position_m[w] = walked, walked.position_m

    def problem(self, w: int) -> Problem:
        """The problem of world ``w``, the same that ``Simulation.pose`` gives."""
        return Problem(
            indptr=np.arange(self.n_users + 1) * self.width,
            station=self.reach[w].copy(),
            efficiency=self.efficiency[w].copy(),
            compute_s=self.compute_s[w].copy(),
            capacity_hz=self.capacity_hz[w].copy(),
            payload_bit=self.payload_bit[w].copy(),
            required=self.required[w].copy(),
            min_selected=self.least,
            round=int(self.round[w]),
            times_selected=self.times_selected[w].copy(),
            last_round=self.last_round[w].copy(),
            last_loss=np.full(self.n_users, np.nan),
            samples=np.ones(self.n_users, np.int64),
            label_counts=np.zeros((self.n_users, 0), np.int64),
        )
