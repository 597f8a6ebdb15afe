"""A simulated world: nodes train for real, but move and send as users of a scenario do."""

from collections.abc import Mapping
from functools import partial

from fedroam.adapters.flower.conditions import View
from fedroam.adapters.flower.reporting import Report
from fedroam.arrays import Ints
from fedroam.mobility import Motion
from fedroam.radio import Reach
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.simulation import Scenario, lay_out
from fedroam.simulation.rounds import moved
from fedroam.streams import stream


class SimulatedWorld:
    """The world of ``Simulation`` under the same seed: same places, links and compute times."""

    is_simulated = True

    def __init__(self, scenario: Scenario, seed: int, payload_bit: float) -> None:
        world = scenario.world
        self.scenario, self.seed, self.n_users = scenario, seed, world.users
        self.ground = lay_out(world, seed, payload_bit)
        self._reach = Reach(self.ground.station_m, world.nearest)
        self._draw = partial(stream, seed, "mobility")
        self.motion: Motion = moved(
            scenario.mobility,
            world,
            0,
            lambda mobility: mobility.start(world.users, world.area_m, self._draw),
        )

    def look(self, round: int, n_users: int) -> View:
        """Fading is drawn anew for every round."""
        place_m = self.motion.position_m
        return View(
            links=self._reach.measure(self.scenario.radio, place_m, self.seed, round),
            compute_s=self.ground.ready_s,
            capacity_hz=self.ground.capacity_hz,
            payload_bit=self.ground.payload_bit,
            position_m=place_m,
        )

    def is_measured(self, users: Ints) -> bool:
        """A simulated world is known."""
        return True

    def hear(self, user: int, report: Report, trip_s: float | None = None) -> None:
        """Real measurements do not matter here."""

    def learn(self, problem: Problem, schedule: Schedule, finish_s: Mapping[int, float]) -> None:
        """Nor do real seconds."""

    def advance(self, round: int, end_s: float) -> None:
        """Users move on to the end of the round."""
        world = self.scenario.world
        self.motion = moved(
            self.scenario.mobility,
            world,
            round,
            lambda mobility: mobility.advance(
                self.motion, world.area_m, end_s, round + 1, self._draw
            ),
        )
