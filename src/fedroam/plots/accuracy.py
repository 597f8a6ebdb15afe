"""Test accuracy against simulated seconds, one curve a policy."""

from collections.abc import Mapping
from typing import Any

from fedroam.comparison.curves import Band
from fedroam.plots.style import COLOURS, DASHES, new_axes


def plot_accuracy(bands: Mapping[str, Band], *, ax: Any = None) -> Any:
    """Mean over the seeds, shaded from the lowest to the highest: up and left is good."""
    axes = new_axes() if ax is None else ax
    for i, (label, band) in enumerate(bands.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(
            band.time_s,
            100 * band.mean,
            label=label,
            color=colour,
            linestyle=DASHES[i % len(DASHES)],
            linewidth=1.8,
        )
        axes.fill_between(
            band.time_s, 100 * band.low, 100 * band.high, color=colour, alpha=0.15, linewidth=0
        )
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel("test accuracy, % (mean and range over seeds)")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="lower right")
    return axes
