"""What becomes of the updates that a round asked for."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np

from fedroam.adapters.flower.attendance import Late, report_in
from fedroam.adapters.flower.planning import Plan
from fedroam.adapters.flower.reporting import REPORT, Report
from fedroam.adapters.flower.roster import Roster
from fedroam.adapters.flower.updates import UNREACHABLE, flaw_of, numbers_in

LOSSES = ("train_loss", "loss")
"""Metrics in which a node may say what its loss was."""

OUTCOMES = ("used", "missing", "failed", "refused")


@dataclass(eq=False)
class Sent:
    """A round whose updates have been asked for."""

    plan: Plan
    messages: dict[int, Any]  # by user; they have their ids when they have been sent
    shapes: Mapping[str, tuple[int, ...]]
    deadline_s: float
    sent_s: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class Outcome:
    """What became of a round's updates."""

    used: list[Any] = field(default_factory=list)  # messages
    fate: dict[int, str] = field(default_factory=dict)  # by user, ascending: one of OUTCOMES
    reason: dict[int, str] = field(default_factory=dict)
    arrived_s: dict[int, float] = field(default_factory=dict)
    report: dict[int, Report] = field(default_factory=dict)
    loss: dict[int, float] = field(default_factory=dict)
    samples: dict[int, int] = field(default_factory=dict)

    def of(self, fate: str) -> list[int]:
        """The users that it befell."""
        return [user for user, found in self.fate.items() if found == fate]


def judged(
    sent: Sent, replies: Iterable[Any], arrived_s: Mapping[str, float], weight_key: str | None
) -> Outcome:
    """
    What became of each chosen user's update.

    In the order of users: the same updates give the same sum, whoever was first.
    """
    outcome = Outcome()
    reply_to = {reply.metadata.reply_to_message_id: reply for reply in replies}
    for user, message in sent.messages.items():
        reply = reply_to.get(message.metadata.message_id)
        fate, outcome.reason[user] = _fate(sent, reply, weight_key)
        outcome.fate[user] = fate
        if fate != "missing" and message.metadata.message_id in arrived_s:
            outcome.arrived_s[user] = arrived_s[message.metadata.message_id]
        if fate in ("used", "refused"):
            outcome.report[user] = report_in(reply)
        if fate == "used":
            _use(outcome, user, reply, weight_key)
    return outcome


def _use(outcome: Outcome, user: int, reply: Any, weight_key: str | None) -> None:
    n, *losses = numbers_in(reply.content, (weight_key or "", *LOSSES))
    outcome.loss[user] = next((loss for loss in losses if isfinite(loss)), nan)
    if isfinite(n) and n == int(n):
        outcome.samples[user] = int(n)
    if REPORT in reply.content:
        del reply.content[REPORT]  # the wrapped strategy did not ask for it
    outcome.used.append(reply)


def _fate(sent: Sent, reply: Any, weight_key: str | None) -> tuple[str, str]:
    """One of OUTCOMES, and why."""
    if reply is None:
        return "missing", ""
    if reply.has_error():
        is_lost = reply.error.code in UNREACHABLE
        return ("missing" if is_lost else "failed"), " ".join(str(reply.error.reason).split())
    flaw = flaw_of(reply.content, sent.shapes, weight_key)
    return ("refused", flaw) if flaw else ("used", "")


def round_row(
    sent: Sent, outcome: Outcome, length_s: float, waited_s: float, late: Iterable[Late]
) -> dict[str, Any]:
    """The round's row in the record."""
    plan, losses = sent.plan, [loss for loss in outcome.loss.values() if isfinite(loss)]
    return {
        "round": plan.round,
        "start_s": plan.start_s,
        "length_s": length_s,
        "predicted_s": plan.verdict.round_s,
        "deadline_s": sent.deadline_s,
        "waited_s": waited_s,
        "n_present": int(np.count_nonzero(plan.present)),
        "n_forced": int(np.count_nonzero(plan.problem.required)),
        "n_missed": plan.verdict.missed.size,
        "n_lacking": plan.verdict.lacking,
        "selected": list(sent.messages),
        **{fate: outcome.of(fate) for fate in OUTCOMES},
        "late": sorted(one.owed.user for one in late if one.reply.has_content()),
        "train_loss": float(np.mean(losses)) if losses else None,
        "policy_wall_s": plan.policy_wall_s,
    }


def user_rows(sent: Sent, outcome: Outcome, roster: Roster) -> list[dict[str, Any]]:
    """The rows of its chosen users."""
    plan = sent.plan
    return [
        {
            "round": plan.round,
            "user": user,
            "name": roster.name_of[user],
            "x_m": float(plan.position_m[user, 0]),
            "y_m": float(plan.position_m[user, 1]),
            "is_required": bool(plan.problem.required[user]),
            "station": int(plan.schedule.station[user]),
            "bandwidth_hz": float(plan.schedule.bandwidth_hz[user]),
            "predicted_s": float(plan.verdict.finish_s[user]),
            "arrived_s": outcome.arrived_s.get(user, np.nan),
            "outcome": outcome.fate[user],
            "reason": outcome.reason[user],
        }
        for user in sent.messages
    ]
