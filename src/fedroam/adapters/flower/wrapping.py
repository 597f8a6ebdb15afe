"""
Messages of the wrapped strategy for users whom somebody else chose.

The strategy is shown a grid on which the chosen nodes alone are connected, so that whatever it puts
into its messages arrives. One that takes only a part of them (``fraction_train``), or waits for
more than there are (``min_available_nodes``), is shown nodes that do not exist; what it sends to
those is dropped, and who is left without a message gets what the others got.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from typing import Any

from flwr.app import Message

from fedroam.adapters.flower.exchange import TimedGrid
from fedroam.errors import ConfigError
from fedroam.streams import entropy

LEAST = ("min_available_nodes", "min_train_nodes", "min_evaluate_nodes")
"""What strategies of Flower's kind wait for."""

PATIENT = 2
"""How often a strategy looks at the nodes when it is not waiting for more of them."""


class _Shown(TimedGrid):
    """A grid on which these nodes are connected, and some that do not exist."""

    def __init__(self, grid: Any, node_ids: Sequence[int], least: int) -> None:
        super().__init__(grid)
        self.node_ids, self._least, self._looks = node_ids, least, 0

    def get_node_ids(self) -> list[int]:
        """The more often it is asked, the more nodes: somebody is waiting for them."""
        self._looks += 1
        more = max(0, self._least - len(self.node_ids))
        if self._looks > PATIENT:
            more += 8 << min(self._looks - PATIENT, 20)
        taken = set(self.node_ids)
        return [*self.node_ids, *islice((n for n in count(2) if n not in taken), more)]

    def get_nodes(self) -> list[Any]:
        """Those that exist."""
        shown = set(self.node_ids)
        return [node for node in self.grid.get_nodes() if node.node_id in shown]


def least_nodes(strategy: Any, names: Sequence[str] = LEAST) -> int:
    """How many nodes a strategy, or the one that it wraps, wants to see."""
    least = 0
    while strategy is not None:
        for name in names:
            value = getattr(strategy, name, 0)
            least = max(least, value if isinstance(value, int) else 0)
        strategy = getattr(strategy, "strategy", None)
    return least


def weight_key_of(strategy: Any) -> str | None:
    """The metric by which a strategy, or the one that it wraps, weighs updates."""
    while strategy is not None:
        key = getattr(strategy, "weighted_by_key", None)
        if isinstance(key, str):
            return key
        strategy = getattr(strategy, "strategy", None)
    return None


def messages_for(
    strategy: Any, kind: str, call: tuple[Any, ...], grid: Any, node_ids: Sequence[int], seed: int
) -> list[Any]:
    """
    What ``strategy.configure_<kind>(*call, grid)`` sends to ``node_ids``, in their order.

    Its own draws (Flower's strategies use ``random``) follow ``seed``.
    """
    shown = _Shown(grid, node_ids, least_nodes(strategy))
    with _drawing(seed, kind, call[0]):
        found = list(getattr(strategy, f"configure_{kind}")(*call, shown))
    by_node = {message.metadata.dst_node_id: message for message in found}
    if kind == "evaluate":  # it chooses whom to ask
        return [by_node[node] for node in node_ids if node in by_node]
    if not found:
        return []
    if any(node not in by_node for node in node_ids):
        _check_alike(strategy, found, len(node_ids))
    return [by_node[node] if node in by_node else _copied(found[0], node) for node in node_ids]


def _check_alike(strategy: Any, messages: Sequence[Any], n_chosen: int) -> None:
    first = messages[0].content
    if all(message.content is first or message.content == first for message in messages):
        return
    name = type(strategy).__name__
    raise ConfigError(
        f"{name} sends different contents to nodes, and only to some of the {n_chosen} chosen "
        "ones; expected one for each (fraction_train=1.0)"
    )


def _copied(message: Any, node_id: int) -> Any:
    meta = message.metadata
    return Message(
        message.content,
        node_id,
        meta.message_type,
        ttl=meta.ttl,
        group_id=meta.group_id,
    )


@contextmanager
def _drawing(seed: int, *names: str | int) -> Iterator[None]:
    """Within it ``random`` follows the seed; afterwards it is as it was."""
    before = random.getstate()
    random.seed(entropy(seed, "flower", *names))
    try:
        yield
    finally:
        random.setstate(before)
