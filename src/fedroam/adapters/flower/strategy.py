"""
A Flower strategy that asks a fedroam policy whom to train.

It wraps another strategy, which goes on to say what is sent and how updates are averaged.
"""

import time
from collections.abc import Iterable, Mapping
from logging import INFO, WARNING
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy
from flwr.supercore import log

from fedroam.adapters.flower.attendance import Attendance, Late, Owed, report_in
from fedroam.adapters.flower.conditions import Conditions
from fedroam.adapters.flower.deadline import Deadline
from fedroam.adapters.flower.exchange import Exchanged, TimedGrid
from fedroam.adapters.flower.measured import Measured, MeasuredWorld
from fedroam.adapters.flower.outcome import OUTCOMES, Sent, judged, round_row, user_rows
from fedroam.adapters.flower.planning import Plan, Planner
from fedroam.adapters.flower.record import Record
from fedroam.adapters.flower.reporting import ORDER
from fedroam.adapters.flower.roster import Roster
from fedroam.adapters.flower.simulated import SimulatedWorld
from fedroam.adapters.flower.updates import shapes_of
from fedroam.adapters.flower.wrapping import least_nodes, messages_for, weight_key_of
from fedroam.errors import require
from fedroam.runs.settings import choice
from fedroam.scheduling.problem import Policy
from fedroam.simulation import Scenario


class Scheduled(Strategy):  # type: ignore[misc]
    """
    ``strategy`` among the users that ``policy`` chooses.

    ``world`` says what is known of links and computers: ``Measured()``, the default, learns them
    from what nodes report (``reporting_app``) and when their updates arrive; a ``Scenario`` is a
    simulated world, in which users move and send while nodes train for real. Either brings its
    fairness (rho1, rho2) along. ``policy`` is an object or a name, as in ``fedroam run --policy``.

    Updates must carry the arrays that were sent, finite and of the same shapes; others are refused
    and counted, and so is a reply without the wrapped strategy's weight (``num-examples``).

    ``record`` names a folder for what happened, one row a round and one a chosen user
    (``read_rounds``, ``read_users``). Under one ``seed`` the same users take part, as long as the
    same ones are present, and in a measured world measure the same.
    """

    def __init__(
        self,
        strategy: Any,
        policy: Policy | str = "dagsa",
        *,
        world: Scenario | Measured | None = None,
        deadline: Deadline | None = None,
        seed: int = 0,
        record: Path | str | None = None,
    ) -> None:
        require(isinstance(strategy, Strategy), "strategy", strategy, "a strategy of Flower's")
        is_whole = isinstance(seed, int) and not isinstance(seed, bool)
        require(is_whole and seed >= 0, "seed", seed, "a whole number >= 0")
        self.strategy, self.seed = strategy, seed
        self.policy: Policy = choice("policy", policy).make() if isinstance(policy, str) else policy
        self.world = world or Measured()
        require(
            isinstance(self.world, (Scenario, Measured)), "world", world, "a Scenario or Measured"
        )
        self.deadline = deadline or Deadline()
        self.folder = None if record is None else Path(record)
        self.weight_key = weight_key_of(strategy)
        self.planner: Planner | None = None
        self._attendance: Attendance | None = None
        self._record: Record | None = None
        self._grid: TimedGrid | None = None
        self._sent: Sent | None = None

    def start(self, grid: Any, initial_arrays: Any, *args: Any, **kwargs: Any) -> Any:
        """As Flower's, with deadlines; the record is complete when it returns or raises."""
        self._record = Record(self.folder) if self.folder is not None else None
        try:
            return super().start(TimedGrid(grid), initial_arrays, *args, **kwargs)
        finally:
            if self._record is not None:
                self._record.close()
                self._record = None

    def summary(self) -> None:
        """What decides, and the wrapped strategy's own summary."""
        log(INFO, "\t├──> fedroam: policy %s, seed %d", self.policy, self.seed)
        log(INFO, "\t│\t└── world: %s", self.world)
        self.strategy.summary()

    def configure_train(
        self, server_round: int, arrays: Any, config: Any, grid: Any
    ) -> Iterable[Any]:
        """What the wrapped strategy sends, to the users that the policy chooses."""
        self._grid = grid if isinstance(grid, TimedGrid) else None
        planner, attendance = self._ready(arrays)
        # Who waits for many nodes does so once: a run goes on when some of them are lost.
        wanted = least_nodes(self.strategy, ("min_available_nodes",))
        least = 1 if planner.round else max(1, wanted)
        present = attendance.gather(grid, least, planner.round)
        for heard in attendance.heard:
            planner.conditions.hear(heard.user, heard.report, heard.trip_s)
        attendance.heard = []
        self._hear_late(attendance.late)
        plan = planner.plan(present)
        chosen = plan.schedule.chosen.tolist()
        node_ids = [attendance.roster.node_of[user] for user in chosen]
        call = server_round, arrays, config
        messages = messages_for(self.strategy, "train", call, grid, node_ids, self.seed)
        if not messages:  # the wrapped strategy trains nobody
            self._sent = None
            return []
        deadline_s = self.deadline.after_s(
            plan.verdict.round_s,
            is_simulated=planner.conditions.is_simulated,
            is_measured=plan.is_measured,
        )
        if not planner.conditions.is_simulated:
            _order(messages, chosen, plan, deadline_s)
        if self._grid is not None:
            self._grid.limit_s = deadline_s
        by_user = dict(zip(chosen, messages, strict=True))
        self._sent = Sent(plan, by_user, shapes_of(arrays), deadline_s)
        log(
            INFO,
            "fedroam: %d of %d users, %.3f s by the schedule",
            len(chosen),
            int(np.count_nonzero(present)),
            plan.verdict.round_s,
        )
        return messages

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        """Average what came in time and is sound; the round's seconds are in the metrics."""
        sent, exchanged = self._sent, self._exchanged()
        if sent is None:
            return self.strategy.aggregate_train(server_round, list(replies))  # type: ignore[no-any-return]
        assert self.planner is not None
        assert self._attendance is not None
        outcome = judged(sent, replies, exchanged.arrived_s, self.weight_key)
        for user, report in outcome.report.items():
            self.planner.conditions.hear(user, report)
        for user, message in sent.messages.items():
            if message.metadata.message_id in exchanged.waiting:
                owed = Owed(user, message.metadata.dst_node_id, sent.plan, sent.sent_s)
                self._attendance.owes(message.metadata.message_id, owed)
        finish_s = {u: outcome.arrived_s[u] for u in outcome.of("used") if u in outcome.arrived_s}
        length_s = self.planner.settle(
            sent.plan,
            finish_s=finish_s,
            waited_s=exchanged.waited_s,
            loss=outcome.loss,
            samples=outcome.samples,
        )
        arrays, metrics = None, None
        if outcome.used:
            arrays, metrics = self.strategy.aggregate_train(server_round, outcome.used)
        late, self._attendance.late = self._attendance.late, []
        row = round_row(sent, outcome, length_s, exchanged.waited_s, late)
        if self._record is not None:
            self._record.add(row, user_rows(sent, outcome, self._attendance.roster))
        _tell(row)
        return arrays, _with_times(metrics, row)

    def configure_evaluate(
        self, server_round: int, arrays: Any, config: Any, grid: Any
    ) -> Iterable[Any]:
        """What the wrapped strategy sends, to those of the present users that it chooses."""
        _, attendance = self._ready(arrays)
        users = np.flatnonzero(attendance.present()).tolist()
        if isinstance(grid, TimedGrid):
            last_s = self._sent.deadline_s if self._sent else inf
            grid.limit_s = self.deadline.evaluate_s or last_s
        if not users:
            return []
        node_ids = [attendance.roster.node_of[user] for user in users]
        call = server_round, arrays, config
        return messages_for(self.strategy, "evaluate", call, grid, node_ids, self.seed)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> Any:
        """As the wrapped strategy's."""
        return self.strategy.aggregate_evaluate(server_round, list(replies))

    def _ready(self, arrays: Any) -> tuple[Planner, Attendance]:
        """What the first round makes: how much users send is known by then."""
        if self.planner is None or self._attendance is None:
            payload_bit = max(1.0, 8.0 * sum(len(array.data) for array in arrays.values()))
            world: Conditions
            if isinstance(self.world, Scenario):
                world = SimulatedWorld(self.world, self.seed, payload_bit)
            else:
                world = MeasuredWorld(self.world, self.seed, payload_bit)
            self.planner = Planner(self.policy, world, self.world.fairness, seed=self.seed)
            self._attendance = Attendance(Roster(world.n_users), self.deadline.query_s)
        return self.planner, self._attendance

    def _hear_late(self, late: Iterable[Late]) -> None:
        """An update that came too late still tells how long its user takes."""
        assert self.planner is not None
        for one in late:
            if one.reply.has_content():
                self.planner.conditions.hear(one.owed.user, report_in(one.reply))
                self.planner.catch_up(one.owed.plan, one.owed.user, one.seconds)

    def _exchanged(self) -> Exchanged:
        """What is known of the exchange; in a loop of somebody else's, only how long it took."""
        if self._grid is not None or self._sent is None:
            return self._grid.last if self._grid else Exchanged()
        return Exchanged(waited_s=time.monotonic() - self._sent.sent_s)


def _order(messages: Iterable[Any], chosen: Iterable[int], plan: Plan, deadline_s: float) -> None:
    """Tell every chosen node what it was given: a device may keep to it, and report with it."""
    for message, user in zip(messages, chosen, strict=True):
        order = {
            "round": plan.round,
            "station": int(plan.schedule.station[user]),
            "bandwidth_hz": float(plan.schedule.bandwidth_hz[user]),
            "deadline_s": deadline_s,
        }
        message.content = RecordDict({**message.content, ORDER: ConfigRecord(order)})


def _tell(row: Mapping[str, Any]) -> None:
    for fate in ("missing", "failed", "refused", "late"):
        if row[fate]:
            log(WARNING, "fedroam: %s in round %d: %s", fate, row["round"], row[fate])


def _with_times(metrics: Any, row: Mapping[str, Any]) -> Any:
    """The wrapped strategy's metrics, and when and how the round went."""
    found = MetricRecord() if metrics is None else metrics
    found["fedroam.round_s"] = row["length_s"]
    found["fedroam.now_s"] = row["start_s"] + row["length_s"]
    found["fedroam.predicted_s"] = row["predicted_s"]
    for fate in OUTCOMES:
        found[f"fedroam.n_{fate}"] = len(row[fate])
    return found
