"""Accuracy against simulated seconds: one run's curve, and the mean of several on common times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fedroam.arrays import Floats, freeze


@dataclass(frozen=True, eq=False)
class Curve:
    """A run's test accuracy at the ends of the rounds after which it was tested."""

    end_s: Floats
    accuracy: Floats

    def __post_init__(self) -> None:
        freeze(self)

    def at(self, time_s: Floats) -> Floats:
        """What is known at each time: the last test before it; nan before the first."""
        last = np.searchsorted(self.end_s, time_s, side="right") - 1
        return np.where(last >= 0, self.accuracy[np.maximum(last, 0)], np.nan)

    def time_to(self, mark: float) -> float:
        """Seconds until ``mark`` is first reached; nan where it is not."""
        reached = np.flatnonzero(self.accuracy >= mark)
        return float(self.end_s[reached[0]]) if reached.size else np.nan


@dataclass(frozen=True, eq=False)
class Band:
    """Several runs' curves on common times: mean, lowest, highest."""

    time_s: Floats
    mean: Floats
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        freeze(self)


def curve_of(rounds: pa.Table) -> Curve:
    """The curve in a round table; empty where nothing was learnt."""
    tested = rounds["accuracy"].is_valid().to_numpy()
    end_s = rounds["start_s"].to_numpy() + rounds["length_s"].to_numpy()
    return Curve(end_s[tested], rounds["accuracy"].drop_null().to_numpy())


def band_of(curves: Sequence[Curve], time_s: Floats) -> Band:
    """
    The mean, lowest and highest of ``curves`` where all of them are known.

    The range, not an interval of the mean: with the few seeds that people start with, an honest
    interval fills the figure and hides the curves.
    """
    values = np.array([curve.at(time_s) for curve in curves])
    return Band(time_s, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
