"""Simulated seconds to given accuracies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.plots.style import look, new_axes


def plot_time_to(
    times_s: Mapping[str, Sequence[Floats]],
    marks: Sequence[float],
    horizon_s: float,
    *,
    ax: Any = None,
) -> Any:
    """
    Mean and range over the seeds, one curve a policy: down is good.

    ``times_s[label][mark]`` holds a time for each seed, nan where the accuracy was not reached.
    Where that is so for some seeds, they count with the horizon and the marker is hollow; where it
    is so for all, there is none.
    """
    axes = new_axes() if ax is None else ax
    for i, (label, rows) in enumerate(times_s.items()):
        shift = 0.06 * (i - (len(times_s) - 1) / 2)
        style = look(i)
        reached = [j for j, row in enumerate(rows) if (row <= horizon_s).any()]
        filled = [np.where(rows[j] <= horizon_s, rows[j], horizon_s) for j in reached]
        mean = [row.mean() for row in filled]
        x = np.array(reached) + shift
        axes.plot(x, mean, label=label, **(style | {"linewidth": 1.0}))
        for j, row, at in zip(reached, filled, x, strict=True):
            axes.plot([at, at], [row.min(), row.max()], color=style["color"], linewidth=1.6)
            if (rows[j] <= horizon_s).all():
                continue
            hollow = style | {"linestyle": "none", "markerfacecolor": "white", "zorder": 3}
            axes.plot([at], [row.mean()], **hollow)
    axes.axhline(horizon_s, color="black", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(marks)), [f"{100 * mark:g} %" for mark in marks])
    axes.set_xlabel("test accuracy to reach (hollow: not under all seeds)")
    axes.set_ylabel("simulated seconds (mean and range)")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, handlelength=3)
    return axes
