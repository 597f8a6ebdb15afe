"""A replay as one JSON object: plain values, and all arrays in one block of base64."""

import base64
import json
import math
from typing import Any

import numpy as np

from fedroam.pages.replay import Replay

ALIGNED = 8
"""Bytes: typed arrays in JavaScript begin at multiples of their item's size."""


def pack(replay: Replay) -> dict[str, Any]:
    """The replay for the page: ``arrays`` names type, shape and place in the block ``data``."""
    blocks, arrays, offset = [], {}, 0
    for name, values in replay.arrays.items():
        little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        raw = little.tobytes()
        arrays[name] = {"type": values.dtype.name, "shape": list(values.shape), "at": offset}
        padding = -len(raw) % ALIGNED
        blocks.append(raw + b"\0" * padding)
        offset += len(raw) + padding
    return {
        "about": dict(replay.about),
        "first": replay.first,
        "rounds": replay.n_rounds,
        "arrays": arrays,
        "data": base64.b64encode(b"".join(blocks)).decode(),
    }


def size_of(replay: Replay) -> int:
    """How many bytes ``pack`` makes of it, about."""
    return sum(4 * math.ceil(values.nbytes / 3) for values in replay.arrays.values())


def as_script(value: Any) -> str:
    """
    JSON that can stand inside a ``<script>`` element.

    No text in it can end the element or begin a comment: ``<``, ``>``, ``&`` and the two line ends
    that JSON allows and old scripts do not are written as escapes.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
