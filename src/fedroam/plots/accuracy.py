"""Test accuracy against simulated seconds, one curve a policy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedroam.comparison.curves import Band
from fedroam.plots.style import look, new_axes, spaced


def plot_accuracy(bands: Mapping[str, Band], *, labels: Sequence[str] = (), ax: Any = None) -> Any:
    """
    Mean over the seeds, shaded from the lowest to the highest: up and left is good.

    With ``labels`` each curve looks as the one at that place would.
    """
    axes = new_axes() if ax is None else ax
    for label, band in bands.items():
        i = (labels or list(bands)).index(label)
        markevery = spaced(i, len(bands), band.time_s.size)
        axes.plot(band.time_s, 100 * band.mean, label=label, markevery=markevery, **look(i))
        axes.fill_between(
            band.time_s,
            100 * band.low,
            100 * band.high,
            color=look(i)["color"],
            alpha=0.12,
            linewidth=0,
        )
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel("test accuracy, % (mean and range over seeds)")
    highest = max(np.nanmax(band.high, initial=0.0) for band in bands.values())
    axes.set_ylim(0, min(100.0, 10 * np.floor(10 * highest + 1)))  # the legend is below them
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="lower right", handlelength=3)
    return axes
