"""
Who is there: nodes are asked who they are when they turn up, and waited for when they are silent.

A node that owes an answer is away until it gives it, so that nobody waits for it twice. One that is
still connected after a while may have lost the message: then it is asked again who it is.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore import log

from fedroam.adapters.flower.exchange import LONGEST_LOOK_S, LOOK_S
from fedroam.adapters.flower.planning import Plan
from fedroam.adapters.flower.reporting import QUERY, REPORT, Report
from fedroam.adapters.flower.roster import Roster
from fedroam.adapters.flower.updates import UNREACHABLE
from fedroam.arrays import Bools

PATIENCE = 3
"""After so many rounds without its answer a node is asked again who it is."""

AT_ONCE = 500
"""Queries in one request: a SuperLink refuses those that are too large."""


@dataclass(frozen=True, eq=False)
class Owed:
    """An update that did not come in time."""

    user: int
    node: int
    plan: Plan
    sent_s: float


@dataclass(frozen=True, eq=False)
class Late:
    """It came after all; its message may tell of the node's own failure."""

    owed: Owed
    seconds: float  # since it was asked for, until somebody looked
    reply: Any


@dataclass(frozen=True, eq=False)
class Heard:
    """What a node said of itself when it was asked."""

    user: int
    report: Report
    trip_s: float | None  # there and back, where somebody was looking all the time


class Attendance:
    """The users who are connected and owe nothing."""

    def __init__(self, roster: Roster, query_s: float) -> None:
        self.roster, self.query_s = roster, query_s
        self._here: set[int] = set()  # nodes
        self._asked: dict[str, tuple[int, float]] = {}  # by query: node, when
        self._owed: dict[str, Owed] = {}
        self._refused: set[int] = set()  # nodes for whom there is no room
        self.late: list[Late] = []  # until somebody takes them
        self.heard: list[Heard] = []

    def gather(self, grid: Any, least: int, round: int) -> Bools:
        """
        The users who are present ``[U]``: ``least`` of them, however long that takes.

        Before the first round everybody gets ``query_s`` to answer; later nobody is waited for
        while there are enough.
        """
        begin_s, told_s, waits = time.monotonic(), 0.0, not self.roster.name_of
        while True:
            look_s = time.monotonic()
            self._look(grid, round, is_looking=waits)
            waited_s = time.monotonic() - begin_s
            n_here = len(self._users())
            if n_here >= least and not (waits and self._asked and waited_s < self.query_s):
                return self.present()
            if waited_s - told_s > 10:
                told_s = waited_s
                log(INFO, "fedroam: %d users are there, waiting for %d", n_here, least)
            pause_s = max(LOOK_S, 0.02 * waited_s, 2 * (time.monotonic() - look_s))
            time.sleep(min(pause_s, LONGEST_LOOK_S))

    def present(self) -> Bools:
        """``[U]``."""
        found: Bools = np.zeros(self.roster.n_users, bool)
        found[self._users()] = True
        return found

    def owes(self, message_id: str, owed: Owed) -> None:
        """A deadline has passed without the answer to this message."""
        self._owed[message_id] = owed

    def _users(self) -> list[int]:
        there = self._here - {owed.node for owed in self._owed.values()}
        return [user for user, node in self.roster.node_of.items() if node in there]

    def _look(self, grid: Any, round: int, *, is_looking: bool) -> None:
        """Who is connected; ask those who are new; take what has come in."""
        self._here = set(grid.get_node_ids())
        known = self.roster.user_of.keys() | {n for n, _ in self._asked.values()} | self._refused
        silent = {
            owed.node for owed in self._owed.values() if round - owed.plan.round >= PATIENCE
        } - {node for node, _ in self._asked.values()}
        self._ask(grid, sorted((self._here - known) | (self._here & silent)))
        waiting = [*self._asked, *self._owed]
        if not waiting:
            return
        self._take(list(grid.pull_messages(waiting)), is_looking)

    def _ask(self, grid: Any, nodes: Iterable[int]) -> None:
        messages = [Message(RecordDict(), node, QUERY) for node in nodes]
        pushed: set[str] = set()
        for first in range(0, len(messages), AT_ONCE):
            sent = grid.push_messages(messages[first : first + AT_ONCE])
            pushed.update(name for name in sent if name)
        for message in messages:
            if message.metadata.message_id in pushed:
                asked = message.metadata.dst_node_id, time.monotonic()
                self._asked[message.metadata.message_id] = asked

    def _take(self, replies: Iterable[Any], is_looking: bool) -> None:
        names: dict[int, str] = {}
        reports: dict[int, tuple[Report, float | None]] = {}
        for reply in replies:
            sent = reply.metadata.reply_to_message_id
            if sent in self._asked:
                node, asked_s = self._asked.pop(sent)
                if reply.has_error() and reply.error.code in UNREACHABLE:
                    self._forget(node)
                    continue
                report = report_in(reply)
                # An app that does not report takes part, but what it is called changes.
                names[node] = report.name or f"node {node}"
                trip_s = time.monotonic() - asked_s if is_looking else None
                reports[node] = report, trip_s
            elif sent in self._owed:
                self._settle(sent, reply)
        self._admit(names, reports)

    def _admit(
        self, names: Mapping[int, str], reports: Mapping[int, tuple[Report, float | None]]
    ) -> None:
        self._owed = {sent: owed for sent, owed in self._owed.items() if owed.node not in names}
        before = dict(self.roster.node_of)
        for node, user in self.roster.admit(names).items():
            if user is not None and before.get(user, node) != node:
                log(INFO, "fedroam: %r is another node from now on", names[node])
            if user is None:
                self._refused.add(node)
                log(WARNING, "fedroam: no room in this world for %r: left out", names[node])
            else:
                self.heard.append(Heard(user, *reports[node]))

    def _settle(self, sent: str, reply: Any) -> None:
        owed = self._owed.pop(sent)
        if reply.has_error() and reply.error.code in UNREACHABLE:
            self._forget(owed.node)  # if it comes back, it is asked who it is
        else:
            self.late.append(Late(owed, time.monotonic() - owed.sent_s, reply))

    def _forget(self, node: int) -> None:
        user = self.roster.user_of.pop(node, None)
        if user is not None and self.roster.node_of.get(user) == node:
            del self.roster.node_of[user]


def report_in(reply: Any) -> Report:
    """What a reply says of its node; an empty report where it says nothing."""
    record = reply.content.get(REPORT) if reply.has_content() else None
    return Report.read(record) if isinstance(record, ConfigRecord) else Report()
