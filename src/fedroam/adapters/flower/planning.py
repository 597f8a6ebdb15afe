"""
The rounds of one policy among users who come and go: problem, schedule, judge, clock, fairness.

Knows nothing of Flower. With everybody present in a simulated world it poses the problems of
``Simulation`` under the same seed, bit for bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedroam.adapters.flower.conditions import Conditions, restricted
from fedroam.arrays import Bools, Floats, Ints
from fedroam.scheduling.fairness import least_selected, required_users, selections_due
from fedroam.scheduling.judge import Verdict
from fedroam.scheduling.problem import Policy, Problem, Schedule
from fedroam.simulation import Fairness
from fedroam.simulation.rounds import decide


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """What is to happen in one round."""

    round: int
    start_s: float
    present: Bools  # [U]
    problem: Problem
    schedule: Schedule
    verdict: Verdict
    position_m: Floats  # [U, 2] nan where unknown
    is_measured: bool
    policy_wall_s: float


class Planner:
    """Plans rounds, and keeps what the next one depends on."""

    def __init__(
        self, policy: Policy, conditions: Conditions, fairness: Fairness, *, seed: int
    ) -> None:
        self.policy, self.conditions, self.fairness, self.seed = policy, conditions, fairness, seed
        self.round = 0
        self.now_s = 0.0
        n_users = conditions.n_users or 0
        self.times_selected: Ints = np.zeros(n_users, np.int64)
        self.last_round: Ints = np.full(n_users, -1, np.int64)
        self.last_loss: Floats = np.full(n_users, np.nan)
        self.samples: Ints = np.ones(n_users, np.int64)
        self._excused: Ints = np.zeros(n_users, np.int64)

    def plan(self, present: Bools) -> Plan:
        """The schedule of the present round for those who are ``present [U]``, judged."""
        self._grow(present.size)
        view = self.conditions.look(self.round, present.size)
        links = restricted(view.links, present)
        can_take_part = np.diff(links.indptr) > 0
        n_able = int(np.count_nonzero(can_take_part))
        problem = Problem(
            indptr=links.indptr,
            station=links.station,
            efficiency=links.efficiency,
            compute_s=view.compute_s,
            capacity_hz=view.capacity_hz,
            payload_bit=view.payload_bit,
            required=self._required(present) & can_take_part,
            # Somebody has to take part, or time would stand still.
            min_selected=min(n_able, max(1, least_selected(n_able, self.fairness.rho2))),
            round=self.round,
            times_selected=self.times_selected.copy(),
            last_round=self.last_round.copy(),
            last_loss=self.last_loss.copy(),
            samples=self.samples.copy(),
        )
        schedule, verdict, wall_s = decide(
            self.policy, problem, self.seed, takes_time=self.conditions.is_simulated
        )
        return Plan(
            round=self.round,
            start_s=self.now_s,
            present=present,
            problem=problem,
            schedule=schedule,
            verdict=verdict,
            position_m=view.position_m,
            is_measured=self.conditions.is_measured(schedule.chosen),
            policy_wall_s=wall_s,
        )

    def settle(
        self,
        plan: Plan,
        *,
        finish_s: Mapping[int, float],
        waited_s: float,
        loss: Mapping[int, float],
        samples: Mapping[int, int],
    ) -> float:
        """
        Move on to the next round; the length of this one.

        That is the schedule's in a simulated world, and what the server ``waited_s`` for in the
        real one. Who was chosen has had its turn, whatever became of its update.
        """
        is_simulated = self.conditions.is_simulated
        length_s = plan.verdict.round_s if is_simulated else waited_s
        self.conditions.learn(plan.problem, plan.schedule, finish_s)
        self.conditions.advance(plan.round, self.now_s + length_s)
        self.times_selected[plan.schedule.chosen] += 1
        self.last_round[plan.schedule.chosen] = plan.round
        for user, value in loss.items():
            self.last_loss[user] = value if np.isfinite(value) else np.nan
        for user, n in samples.items():
            self.samples[user] = n
        self.round += 1
        self.now_s += length_s
        return length_s

    def catch_up(self, plan: Plan, user: int, seconds: float) -> None:
        """An update of an earlier round came after all: too late for the model, but measured."""
        self.conditions.learn(plan.problem, plan.schedule, {user: seconds})

    def _required(self, present: Bools) -> Bools:
        """
        Whom rho1 requires; who is away owes nothing.

        Else whoever joins, or comes back, would be forced into every round until it has made up
        for all that it missed.
        """
        rho1, reading = self.fairness.rho1, self.fairness.reading
        counted = self.times_selected + self._excused
        due = selections_due(counted.size, self.round, rho1, reading)
        self._excused = np.where(
            present, self._excused, np.maximum(self._excused, due - self.times_selected)
        )
        return required_users(counted, self.round, rho1, reading) & present

    def _grow(self, n_users: int) -> None:
        more = n_users - self.times_selected.size
        if more <= 0:
            return
        due = selections_due(n_users, self.round, self.fairness.rho1, self.fairness.reading)
        owed = np.broadcast_to(np.asarray(due, np.int64), n_users)[-more:]
        self.times_selected = np.concatenate([self.times_selected, np.zeros(more, np.int64)])
        self.last_round = np.concatenate([self.last_round, np.full(more, -1)])
        self.last_loss = np.concatenate([self.last_loss, np.full(more, np.nan)])
        self.samples = np.concatenate([self.samples, np.ones(more, np.int64)])
        self._excused = np.concatenate([self._excused, owed])
