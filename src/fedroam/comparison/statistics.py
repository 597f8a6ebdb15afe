"""Intervals for means over seeds, and for paired differences."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from fedroam.arrays import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and where the true mean lies, at 95 % confidence."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_interval(values: Floats) -> Interval:
    """
    Student's interval for the mean of independent ``values``.

    Values that are not known (nan) are left out. With one value nothing is known of the spread:
    the interval is unbounded.
    """
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]  # an accuracy that was not reached has no time
    if not values.size:
        return Interval(np.nan, np.nan, np.nan)
    mean = float(values.mean())
    if values.size < 2:
        return Interval(mean, -np.inf, np.inf)
    error = float(values.std(ddof=1)) / np.sqrt(values.size)
    width = float(stats.t.ppf(0.5 + CONFIDENCE / 2, values.size - 1)) * error
    return Interval(mean, mean - width, mean + width)


def paired(values: Floats, reference: Floats) -> Interval:
    """
    The interval for ``mean(values - reference)``, seed by seed.

    Under one seed both met the same world, so what is common to them drops out of the difference.
    """
    return mean_interval(np.asarray(values, float) - np.asarray(reference, float))
