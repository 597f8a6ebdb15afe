"""Names for the array types that the records carry, and the two things every record does."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Stations = NDArray[np.int32]
Bools = NDArray[np.bool_]


def as_array(value: Any, dtype: Any) -> NDArray[Any]:
    """``value`` as a contiguous array of ``dtype``, without a copy where it is one already."""
    return np.ascontiguousarray(value, dtype=dtype)


def freeze(record: object) -> None:
    """
    Make every array of a record read-only: who writes into its input fails at once.

    The record gets a view of its own; the arrays of the caller stay as they were.
    """
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(record, field.name, view)
