"""Names for the array types that the records carry, and the two things every record does."""

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.errors import ConfigError

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Stations = NDArray[np.int32]
Bools = NDArray[np.bool_]


def as_array(field: str, value: Any, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """
    ``value`` as a contiguous array of ``dtype`` and ``shape`` (None: any length).

    No copy where it is one already; no silent loss (1.5 is not a station).
    """
    array = np.asarray(value)
    if array.dtype == dtype and array.shape == shape and array.flags.c_contiguous:
        return array
    if not np.can_cast(array.dtype, dtype, "same_kind") or (dtype is not np.bool_) == (
        array.dtype == np.bool_
    ):
        raise ConfigError(f"{field} holds {array.dtype}, expected {np.dtype(dtype).name}")
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = "x".join("any" if n is None else str(n) for n in shape) or "one number"
        raise ConfigError(f"{field} has shape {array.shape}, expected {wanted}")
    if array.dtype.kind in "ui" and array.dtype != dtype and np.issubdtype(dtype, np.integer):
        room = np.iinfo(dtype)
        for value in (array.min(initial=0), array.max(initial=0)):
            if not room.min <= int(value) <= room.max:
                raise ConfigError(f"{field} holds {value}, too large for {np.dtype(dtype).name}")
    return np.ascontiguousarray(array, dtype=dtype)


def freeze(record: object) -> None:
    """
    Make every array of a record read-only: who writes into its input fails at once.

    The record gets a view of its own; the arrays of the caller stay as they were.
    """
    for name in _names_of(type(record)):  # type: ignore[arg-type]
        value = getattr(record, name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(record, name, view)


@cache
def _names_of(cls: Any) -> tuple[str, ...]:
    """The fields of a record; asked for a dozen times in a round that takes half a millisecond."""
    return tuple(field.name for field in fields(cls))
