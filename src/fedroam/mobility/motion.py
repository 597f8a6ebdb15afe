"""What a model of motion is. Axis: ``U`` users."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Floats, freeze
from fedroam.streams import Draw


@dataclass(frozen=True, eq=False, slots=True)
class Motion:
    """Where users are, and what the model needs to know to go on from there."""

    position_m: Floats  # [U, 2] within [0, area_m]
    memory: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # saved with checkpoints

    def __post_init__(self) -> None:
        freeze(self)


class Mobility(Protocol):
    """
    How users move over the square ``[0, area_m]``.

    ``draw(name, ...)`` gives the random generator that belongs to that name under the run's seed.
    A model whose motion is a function of absolute time draws by leg, not by round, and then gives
    every policy the same walks.
    """

    @property
    def follows_time(self) -> bool:
        """Positions depend on absolute time only, not on when rounds begin."""
        ...

    def start(self, n_users: int, area_m: float, draw: Draw) -> Motion:
        """Users at time 0, at the beginning of round 0."""
        ...

    def advance(
        self, motion: Motion, area_m: float, now_s: float, round: int, draw: Draw
    ) -> Motion:
        """Users at the absolute time ``now_s``, at the beginning of ``round``."""
        ...


def scatter(n: int, area_m: float, rng: np.random.Generator) -> Floats:
    """``n`` places, uniform over the area, ``[n, 2]``."""
    return rng.random((n, 2)) * area_m


def reflect(path_m: Floats, area_m: float) -> Floats:
    """
    A straight path folded back at the borders as often as needed.

    Reflection is the triangle wave of period ``2 area_m``, so any step length is one formula.
    """
    folded = np.mod(path_m, 2 * area_m)
    return np.minimum(np.minimum(folded, 2 * area_m - folded), area_m)
