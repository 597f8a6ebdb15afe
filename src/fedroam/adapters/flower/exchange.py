"""
Messages out, replies in, no later than a deadline, with the time of each arrival.

Flower's grids look for replies every few seconds (over the network) and do not tell when each one
came.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from flwr.serverapp import Grid

LOOK_S = 0.05
"""The shortest pause between two looks for replies."""

LONGEST_LOOK_S = 1.0


@dataclass
class Exchanged:
    """What has come back so far."""

    replies: list[Any] = field(default_factory=list)
    arrived_s: dict[str, float] = field(default_factory=dict)  # by message, since it was sent
    waiting: set[str] = field(default_factory=set)  # messages without a reply
    waited_s: float = 0.0


def exchange(grid: Any, messages: Sequence[Any], deadline_s: float) -> Exchanged:
    """Send ``messages`` and wait for their replies, ``deadline_s`` seconds at most."""
    done, begin_s = Exchanged(), time.monotonic()
    if not messages:
        return done
    done.waiting = {sent for sent in grid.push_messages(messages) if sent}
    while done.waiting:
        before_s = time.monotonic() - begin_s
        for reply in grid.pull_messages(list(done.waiting)):
            done.replies.append(reply)
            done.arrived_s[reply.metadata.reply_to_message_id] = before_s
            done.waiting.discard(reply.metadata.reply_to_message_id)
        now_s = time.monotonic() - begin_s
        if not done.waiting or now_s >= deadline_s:
            break
        # Looking costs the server something: a few per cent of the time is enough.
        pause_s = max(LOOK_S, 0.02 * now_s, 2 * (now_s - before_s))
        time.sleep(min(pause_s, LONGEST_LOOK_S, deadline_s - now_s))
    done.waited_s = time.monotonic() - begin_s
    return done


class TimedGrid(Grid):  # type: ignore[misc]
    """A grid whose ``send_and_receive`` keeps ``limit_s`` and notes when replies came."""

    def __init__(self, grid: Any) -> None:
        self.grid = grid
        self.limit_s = inf
        self.last = Exchanged()

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Any:
        """As Flower's, with the earlier one of the two limits."""
        limit_s = self.limit_s if timeout is None else min(self.limit_s, timeout)
        self.last = exchange(self.grid, list(messages), limit_s)
        return self.last.replies

    @property
    def run(self) -> Any:
        """As the grid's."""
        return self.grid.run

    def set_run(self, run: Any) -> None:
        """As the grid's."""
        self.grid.set_run(run)

    def create_message(self, *args: Any, **kwargs: Any) -> Any:
        """As the grid's."""
        return self.grid.create_message(*args, **kwargs)

    def get_node_ids(self) -> Any:
        """As the grid's."""
        return self.grid.get_node_ids()

    def get_nodes(self) -> Any:
        """As the grid's."""
        return self.grid.get_nodes()

    def push_messages(self, messages: Iterable[Any]) -> Any:
        """As the grid's."""
        return self.grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Any:
        """As the grid's."""
        return self.grid.pull_messages(message_ids)
