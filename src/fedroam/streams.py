"""Random numbers that do not depend on who else draws them."""

from collections.abc import Callable
from hashlib import blake2b

import numpy as np

Draw = Callable[..., np.random.Generator]
"""``stream`` with the seed (and a family's name) already given: ``draw("heading", 3)``."""


def entropy(seed: int, *names: str | int) -> int:
    """128 bits that belong to ``names`` under ``seed``; equal on every machine."""
    text = "/".join([str(seed), *(f"{type(n).__name__}:{n}" for n in names)])
    return int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "little")


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """
    The generator that belongs to ``names``, e.g. ``stream(seed, "fading", round)``.

    Streams are named and order-free: two policies compared under one seed meet the same users,
    walks and fading, however many numbers each of them draws for itself.
    """
    return np.random.Generator(np.random.PCG64(entropy(seed, *names)))
