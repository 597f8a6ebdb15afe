"""
What a node tells of itself, and how its client app tells it.

Loaded in every client process, so it needs Flower alone.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

log = logging.getLogger(__name__)

REPORT = "fedroam.report"
"""The record in which a node reports, in replies."""

ORDER = "fedroam.order"
"""The record that tells a node its round, station, bandwidth and deadline, in messages."""

ACTION = "fedroam"
QUERY = f"query.{ACTION}"

Measure = Callable[[Any], Mapping[str, Any]]
"""From the app's context to what its device has measured; names as in ``Report``."""


@dataclass(frozen=True)
class Report:
    """
    One node's own measurements; nan, or nothing, where it made none.

    An upload is its seconds and bits, with the band that it had, where that is known. Signals are
    those of ``station``: one number each, or as many as stations.
    """

    name: str = ""
    compute_s: float = nan
    upload_s: float = nan
    upload_bit: float = nan
    bandwidth_hz: float = nan
    x_m: float = nan
    y_m: float = nan
    station: tuple[int, ...] = ()
    snr_db: tuple[float, ...] = ()
    efficiency: tuple[float, ...] = ()

    @staticmethod
    def read(record: Mapping[str, Any]) -> "Report":
        """What a record says; what is not of its kind, or out of range, counts as not said."""
        given: dict[str, Any] = {"name": str(record.get("name", ""))}
        for name, (least, most) in RANGES.items():
            values = tuple(_number(value, least, most) for value in _listed(record.get(name)))
            if not values or not all(map(isfinite, values)):
                continue
            if name in ("snr_db", "efficiency"):
                given[name] = values
            elif name == "station":
                given[name] = tuple(int(value) for value in values)
            elif len(values) == 1:
                given[name] = values[0]
        return Report(**given)


RANGES = {
    "compute_s": (0.0, 1e9),
    "upload_s": (0.0, 1e9),
    "upload_bit": (1.0, 1e18),
    "bandwidth_hz": (1e-3, 1e15),
    "x_m": (-1e9, 1e9),
    "y_m": (-1e9, 1e9),
    "station": (0.0, 2.0**31 - 1),
    "snr_db": (-200.0, 200.0),
    "efficiency": (1e-9, 1e3),
}
"""What is believed of a node: anything else would end the run at the server, for everybody."""


def _listed(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, (list, tuple)) else (value,)


def _number(value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return nan
    return float(value) if least <= value <= most else nan


@dataclass(frozen=True)
class Reporter:
    """
    A Flower mod that answers fedroam's query and reports with every trained update.

    It measures how long training takes. ``measure`` adds what else the device knows, under the
    names of ``Report``: the last upload's ``upload_s``, ``upload_bit`` and ``bandwidth_hz``, the
    ``station`` it hears and its ``snr_db`` or ``efficiency``, its place ``x_m``, ``y_m``. The node
    is known by its ``user`` or ``partition-id`` in the node's configuration.
    """

    measure: Measure | None = None
    name: Callable[[Any], str] | None = None
    keys: tuple[str, ...] = field(default=("user", "partition-id"), repr=False)

    def __call__(self, message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        """Answer the query; time everything that trains."""
        kind = message.metadata.message_type
        if kind == QUERY:
            return self.answer(message, context)
        if not kind.startswith("train"):
            return call_next(message, context)
        before_s = time.perf_counter()
        reply = call_next(message, context)
        if reply.has_content():
            compute_s = time.perf_counter() - before_s
            context.state[REPORT] = ConfigRecord({"compute_s": compute_s})
            reply.content[REPORT] = self.report(context)
        return reply

    def answer(self, message: Any, context: Any) -> Any:
        """The reply to fedroam's query."""
        return Message(RecordDict({REPORT: self.report(context)}), reply_to=message)

    def report(self, context: Any) -> Any:
        """Name, the last training's seconds, and what ``measure`` finds."""
        said = ConfigRecord({"name": self._named(context), **context.state.get(REPORT, {})})
        if self.measure is None:
            return said
        try:
            for name, value in self.measure(context).items():
                said[name] = _plain(value)
        except Exception:  # an update is worth more than a measurement
            log.exception("measure failed; reporting without it")
        return said

    def _named(self, context: Any) -> str:
        if self.name is not None:
            return str(self.name(context))
        found = [context.node_config[key] for key in self.keys if key in context.node_config]
        return str(found[0]) if found else ""


def _plain(value: Any) -> Any:
    """Without tuples and NumPy's numbers, which records refuse."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def reporting_app(
    client_fn: Any = None,
    *,
    measure: Measure | None = None,
    name: Callable[[Any], str] | None = None,
    mods: Sequence[Any] = (),
) -> Any:
    """
    A ``ClientApp`` that reports to fedroam; otherwise as Flower's.

    Without fedroam at the server it behaves as any other.
    """
    reporter = Reporter(measure, name)
    app = ClientApp(client_fn, mods=[reporter, *mods])
    if client_fn is None:
        app.query(ACTION)(reporter.answer)
    return app
