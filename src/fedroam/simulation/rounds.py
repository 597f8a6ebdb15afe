"""
The round loop: world -> problem -> schedule -> clock -> updates -> record.

The one loop with state. Its state is arrays (``Simulation.state``), so that a run can stop after
any round and go on later, bit for bit.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Floats, Ints
from fedroam.errors import ContractError, InfeasibleError, blame, require
from fedroam.learning.records import Evaluation, TrainReport
from fedroam.mobility import Mobility, Motion
from fedroam.radio import Reach
from fedroam.scheduling.fairness import least_selected, required_users
from fedroam.scheduling.judge import Verdict, judge
from fedroam.scheduling.problem import Policy, Problem, Schedule
from fedroam.simulation.learner import Learner
from fedroam.simulation.scenario import Ground, Scenario, World, lay_out
from fedroam.streams import stream


@dataclass(frozen=True, eq=False, slots=True)
class Round:
    """One round as it happened."""

    round: int
    start_s: float
    problem: Problem
    schedule: Schedule
    verdict: Verdict
    position_m: Floats  # [U, 2] at the start
    policy_wall_s: float  # what the decision cost, in real seconds
    learned: TrainReport | None = None
    bound_s: float | None = None  # no lawful schedule is shorter, where that was asked for
    score: Evaluation | None = None  # at the end of the round, where evaluation was due

    @property
    def length_s(self) -> float:
        """Simulated seconds."""
        return self.verdict.round_s

    @property
    def end_s(self) -> float:
        """When the next round starts."""
        return self.start_s + self.verdict.round_s


@dataclass(frozen=True)
class Evaluating:
    """When to test the model: after every so many rounds, or simulated seconds, and at the end."""

    every_rounds: int = 1
    every_s: float = 0.0  # 0: go by rounds

    def __post_init__(self) -> None:
        require(self.every_rounds >= 1, "every_rounds", self.every_rounds, ">= 1")
        require(0 <= self.every_s < np.inf, "every_s", self.every_s, ">= 0 seconds")

    def is_due(self, round: int, start_s: float, end_s: float) -> bool:
        """The round crosses a mark."""
        if self.every_s > 0:
            return end_s // self.every_s > start_s // self.every_s
        return (round + 1) % self.every_rounds == 0


class Simulation:
    """
    Rounds of one policy in one scenario under one seed.

    Steps 1 to 6 of a round know no learning; without a ``learner`` that is all (timing only).
    """

    def __init__(
        self,
        scenario: Scenario,
        policy: Policy,
        *,
        seed: int = 0,
        learner: Learner | None = None,
        payload_bit: float | None = None,
        evaluating: Evaluating | None = None,
    ) -> None:
        self.scenario, self.policy, self.seed, self.learner = scenario, policy, seed, learner
        self.evaluating = evaluating or Evaluating()
        world = scenario.world
        self.ground: Ground = lay_out(world, seed, payload_bit)
        self._reach = Reach(self.ground.station_m, world.nearest)
        self._draw = partial(stream, seed, "mobility")
        self.round = 0
        self.now_s = 0.0
        self.motion: Motion = moved(
            scenario.mobility,
            world,
            0,
            lambda mobility: mobility.start(world.users, world.area_m, self._draw),
        )
        self.times_selected: Ints = np.zeros(world.users, np.int64)
        self.last_round: Ints = np.full(world.users, -1, np.int64)
        self.last_loss: Floats = np.full(world.users, np.nan)
        self._samples = learner.samples_per_user if learner else np.ones(world.users, np.int64)
        self._labels = learner.label_histograms if learner else np.zeros((world.users, 0), np.int64)

    def pose(self) -> Problem:
        """The problem of the present round."""
        world, fairness = self.scenario.world, self.scenario.fairness
        links = self._reach.measure(
            self.scenario.radio, self.motion.position_m, self.seed, self.round
        )
        return Problem(
            indptr=links.indptr,
            station=links.station,
            efficiency=links.efficiency,
            compute_s=self.ground.ready_s,
            capacity_hz=self.ground.capacity_hz,
            payload_bit=self.ground.payload_bit,
            required=required_users(
                self.times_selected, self.round, fairness.rho1, fairness.reading
            ),
            # Somebody has to take part, or time would stand still.
            min_selected=max(1, least_selected(world.users, fairness.rho2)),
            round=self.round,
            times_selected=self.times_selected.copy(),
            last_round=self.last_round.copy(),
            last_loss=self.last_loss.copy(),
            samples=self._samples,
            label_counts=self._labels,
        )

    def step(self, *, rounds: int | None = None, time_s: float | None = None) -> Round:
        """
        Play one round; the state moves on only if all of it succeeds.

        The model is tested when that is due, and after the last round: the one that reaches
        ``rounds`` or ``time_s``.
        """
        problem = self.pose()
        schedule, verdict, policy_wall_s = decide(self.policy, problem, self.seed)
        end_s = self.now_s + verdict.round_s
        is_last = not _goes_on(self.round + 1, end_s, rounds, time_s)
        played = Round(
            self.round,
            self.now_s,
            problem,
            schedule,
            verdict,
            self.motion.position_m,
            policy_wall_s,
        )
        with self._learner_as_it_was():
            played = self._learn(played, is_last)
            self._move_on(schedule.chosen, played.learned, end_s)
        return played

    def _learn(self, played: Round, is_last: bool) -> Round:
        """Steps 7 to 9 of the round, where there is a learner."""
        if self.learner is None:
            return played
        learned, score = self.learner.train(self.round, played.schedule.chosen), None
        if is_last or self.evaluating.is_due(self.round, self.now_s, played.end_s):
            score = self.learner.evaluate()
        return replace(played, learned=learned, score=score)

    @contextmanager
    def _learner_as_it_was(self) -> Iterator[None]:
        """Take back what was learnt in a round that breaks off, by Ctrl-C too."""
        round, before = self.round, self.learner.state() if self.learner else {}
        try:
            yield
        except BaseException:
            if self.learner and self.round == round:  # Ctrl-C may come after all has moved on
                self.learner.restore(before)
            raise

    def rounds(self, *, rounds: int | None = None, time_s: float | None = None) -> Iterator[Round]:
        """Play until ``rounds`` have been played or the clock has reached ``time_s``."""
        while _goes_on(self.round, self.now_s, rounds, time_s):
            yield self.step(rounds=rounds, time_s=time_s)

    def _move_on(self, chosen: Ints, learned: TrainReport | None, end_s: float) -> None:
        times_selected, last_round = self.times_selected.copy(), self.last_round.copy()
        last_loss = self.last_loss.copy()
        times_selected[chosen] += 1
        last_round[chosen] = self.round
        if learned:
            # A loss may overflow where the weights do not: then it is as good as unknown.
            last_loss[learned.users] = np.where(np.isfinite(learned.loss), learned.loss, np.nan)
        world = self.scenario.world
        motion = moved(
            self.scenario.mobility,
            world,
            self.round,
            lambda mobility: mobility.advance(
                self.motion, world.area_m, end_s, self.round + 1, self._draw
            ),
        )
        # Nothing is called from here on, so that Ctrl-C comes before or after all of it.
        self.times_selected, self.last_round, self.last_loss = times_selected, last_round, last_loss
        self.round, self.now_s, self.motion = self.round + 1, end_s, motion

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next round depends on, as arrays by name."""
        state = {
            "round": np.int64(self.round),
            "now_s": np.float64(self.now_s),
            "times_selected": self.times_selected,
            "last_round": self.last_round,
            "last_loss": self.last_loss,
            "motion.position_m": self.motion.position_m,
            **{f"motion.memory.{name}": a for name, a in self.motion.memory.items()},
        }
        if self.learner:
            state |= {f"learner.{name}": array for name, array in self.learner.state().items()}
        return {name: np.array(value) for name, value in state.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what ``state()`` gave, in this process or another."""
        self.round, self.now_s = int(state["round"]), float(state["now_s"])
        self.times_selected = state["times_selected"].copy()
        self.last_round = state["last_round"].copy()
        self.last_loss = state["last_loss"].copy()
        self.motion = Motion(state["motion.position_m"], _under("motion.memory.", state))
        if self.learner:
            self.learner.restore(_under("learner.", state))


def _goes_on(round: int, now_s: float, rounds: int | None, time_s: float | None) -> bool:
    """There is time for ``round``, which would begin at ``now_s``."""
    return (rounds is None or round < rounds) and (time_s is None or now_s < time_s)


def moved(
    mobility: Mobility, world: World, round: int, move: Callable[[Mobility], Motion]
) -> Motion:
    """What the mobility model answers to ``move``; a plug-in may raise or answer anything."""
    name = type(mobility).__name__
    try:
        motion = move(mobility)
    except Exception as error:
        raise blame(f"mobility {name}", error, f" in round {round}") from error
    if not isinstance(motion, Motion):
        raise ContractError(
            f"mobility {name} answered a {type(motion).__name__}, expected a Motion"
        )
    place_m = motion.position_m
    if place_m.shape != (world.users, 2):
        raise ContractError(
            f"mobility {name} gave places of shape {place_m.shape}, expected {(world.users, 2)}"
        )
    # min and max carry nan along, which compares false.
    if not (place_m.min() >= 0.0 and place_m.max() <= world.area_m):
        raise ContractError(f"mobility {name} left the area [0, {world.area_m}] m")
    return motion


def decide(
    policy: Policy, problem: Problem, seed: int, *, takes_time: bool = True
) -> tuple[Schedule, Verdict, float]:
    """
    A round's schedule, the verdict on it, and the real seconds that the policy took.

    Where the round ``takes_time`` by the schedule alone, one that takes none is refused: the clock
    would stand still.
    """
    when, before_s = f" in round {problem.round}", time.perf_counter()
    schedule = ask(policy, problem, stream(seed, "policy", problem.round), when)
    wall_s = time.perf_counter() - before_s
    verdict = judge_answer(policy, problem, schedule, when)
    if takes_time and verdict.round_s == 0.0:
        raise ContractError(
            f"policy {name_of(policy)} chose nobody{when} and named no time to wait "
            "(Schedule.if_empty_s)"
        )
    return schedule, verdict, wall_s


def ask(policy: Policy, problem: Problem, rng: np.random.Generator, when: str = "") -> Schedule:
    """The answer of ``policy``, whose name stands in every error: a plug-in may raise anything."""
    try:
        schedule = policy(problem, rng)
    except InfeasibleError as error:
        raise InfeasibleError(
            f"policy {name_of(policy)} found no schedule{when}: {error}"
        ) from error
    except (Exception, SystemExit) as error:
        raise blame(f"policy {name_of(policy)}", error, when) from error
    if not isinstance(schedule, Schedule):
        raise ContractError(
            f"policy {name_of(policy)} answered a {type(schedule).__name__}{when}, "
            "expected a Schedule"
        )
    return schedule


def judge_answer(policy: Policy, problem: Problem, schedule: Schedule, when: str = "") -> Verdict:
    """The verdict on the answer of ``policy``, whose name stands in the refusal."""
    try:
        return judge(problem, schedule)
    except ContractError as error:
        raise ContractError(
            f"policy {name_of(policy)} answered unlawfully{when}: {error}"
        ) from error


def name_of(policy: Policy) -> str:
    """What to call a policy in a message: its class, or its own name where it is a function."""
    return str(getattr(policy, "__name__", type(policy).__name__))


def _under(prefix: str, state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}
