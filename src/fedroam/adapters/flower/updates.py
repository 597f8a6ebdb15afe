"""Which replies may reach the model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.common.constant import ErrorCode, SType

UNREACHABLE = (
    ErrorCode.NODE_UNAVAILABLE,
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
)
"""Errors that the server itself makes of a reply that will never come."""


def shapes_of(arrays: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of all real-valued arrays by name; others (trees as bytes) may change their size."""
    return {
        name: tuple(array.shape)
        for name, array in arrays.items()
        if np.dtype(array.dtype).kind == "f"
    }


def flaw_of(content: Any, expected: Mapping[str, tuple[int, ...]], weight_key: str | None) -> str:
    """Why an update must not reach the model, in a few words; nothing where it may."""
    for record in content.array_records.values():
        for name, array in record.items():
            if name in expected and tuple(array.shape) != expected[name]:
                return f"{name} has shape {tuple(array.shape)}, expected {expected[name]}"
            if not _is_finite(array):
                return f"{name} holds nan or infinity"
        if missing := expected.keys() - record.keys():
            return f"{min(missing)} is missing"
    if expected and not content.array_records:
        return "there are no arrays"
    if weight_key is None:
        return ""
    # What Flower's strategies ask of every reply; one that differs would end the run.
    for kind in ("array", "metric"):
        n = len(getattr(content, f"{kind}_records"))
        if n != 1:
            return f"there are {n} {kind} records, expected 1"
    weight = number_in(content, weight_key)
    return "" if 0 < weight < np.inf else f"{weight_key} is {weight}"


def number_in(content: Any, key: str | None) -> float:
    """A metric by name, nan where there is none."""
    for record in content.metric_records.values():
        value = record.get(key)
        if isinstance(value, (int, float)):
            return float(value)
    return np.nan


def _is_finite(array: Any) -> bool:
    if array.stype != SType.NUMPY:
        return True  # only those who wrote it can read it
    try:
        values = array.numpy()
    except ValueError:
        return False
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())
