"""Paired differences with their intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedroam.comparison.differences import Difference
from fedroam.plots.style import look, new_axes


def plot_differences(
    found: Sequence[Difference], title: str, *, labels: Sequence[str] = (), ax: Any = None
) -> Any:
    """
    One line a policy: the mean difference and its interval; what crosses 0 may be nothing.

    A hollow marker is a difference of restricted times: some runs never reached the accuracy. With
    ``labels``, all policies of the comparison, each looks as it does in the other figures.
    """
    axes = new_axes(height=0.8 + 0.45 * max(3, len(found))) if ax is None else ax
    for i, d in enumerate(found):
        style = look(labels.index(d.label) if d.label in labels else i)
        if np.isfinite(d.low) and np.isfinite(d.high):  # one seed has no interval
            axes.plot([d.low, d.high], [i, i], color=style["color"], linewidth=2)
        axes.plot(
            [d.difference],
            [i],
            marker=style["marker"],
            color=style["color"],
            markerfacecolor=style["color"] if d.reading == "exact" else "white",
            markersize=8,
            linestyle="none",
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(found)), [_name(d) for d in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel(title)
    return axes


def _name(d: Difference) -> str:
    if d.n_reached is None or d.n_reached == d.n_seeds:
        return d.label
    return f"{d.label} (reached in {d.n_reached} of {d.n_seeds})"
