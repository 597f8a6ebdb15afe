"""Which replies may reach the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, MetricRecord
from flwr.common.constant import ErrorCode, SType

UNREACHABLE = (
    ErrorCode.NODE_UNAVAILABLE,
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
)
"""Errors that the server itself makes of a reply that will never come."""

MOST_WEIGHT = 2.0**53
"""Beyond it whole numbers are not exact; one user must not outweigh all others by a slip."""


def shapes_of(arrays: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of all real-valued arrays by name; others (trees as bytes) may change their size."""
    return {
        name: tuple(array.shape)
        for name, array in arrays.items()
        if np.dtype(array.dtype).kind == "f"
    }


def flaw_of(content: Any, expected: Mapping[str, tuple[int, ...]], weight_key: str | None) -> str:
    """Why an update must not reach the model, in a few words; nothing where it may."""
    # One pass: each look through Flower's views of a content by kind copies it.
    arrays = [record for record in content.values() if isinstance(record, ArrayRecord)]
    metrics = [record for record in content.values() if isinstance(record, MetricRecord)]
    for record in arrays:
        if flaw := _flaw_in(record, expected):
            return flaw
    if expected and not arrays:
        return "there are no arrays"
    if weight_key is None:
        return ""
    # What Flower's strategies ask of every reply; one that differs would end the run.
    for kind, records in (("array", arrays), ("metric", metrics)):
        if len(records) != 1:
            return f"there are {len(records)} {kind} records, expected 1"
    weight = _number(metrics[0].get(weight_key))
    return "" if 0 < weight <= MOST_WEIGHT else f"{weight_key} is {weight}"


def _flaw_in(record: Any, expected: Mapping[str, tuple[int, ...]]) -> str:
    for name, array in record.items():
        if array.stype != SType.NUMPY:
            continue  # only those who wrote it can read it
        try:
            values = array.numpy()
        except Exception as error:  # whatever somebody else's bytes provoke
            return f"{name} cannot be read: {error}"
        if values.shape != expected.get(name, values.shape):
            return f"{name} has shape {values.shape}, expected {expected[name]}"
        if values.dtype.kind not in "biufc":
            return f"{name} holds {values.dtype}, expected numbers"
        if not np.isfinite(values).all():
            return f"{name} holds nan or infinity"
    missing = expected.keys() - record.keys()
    return f"{min(missing)} is missing" if missing else ""


def numbers_in(content: Any, keys: Sequence[str]) -> list[float]:
    """Metrics by name, each nan where there is none."""
    metrics = [record for record in content.values() if isinstance(record, MetricRecord)]
    return [
        next((_number(record[key]) for record in metrics if key in record), np.nan) for key in keys
    ]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else np.nan
