"""One measure against one setting: what a sweep shows, and the paper's last figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.plots.style import look, new_axes


def plot_swept(
    values: Mapping[str, Sequence[Floats]],
    ticks: Sequence[object],
    xlabel: str,
    ylabel: str,
    *,
    ax: Any = None,
) -> Any:
    """
    Mean and range over the seeds at each value of the setting, one curve a label.

    ``values[label][i]`` holds a figure for each seed at ``ticks[i]``; an empty one, or one with a
    nan, is left open. Numbers stand where they belong on the axis, words side by side.
    """
    axes = new_axes() if ax is None else ax
    is_number = all(isinstance(t, (int, float)) and not isinstance(t, bool) for t in ticks)
    x = np.array(ticks, float) if is_number else np.arange(len(ticks), dtype=float)
    for i, (label, rows) in enumerate(values.items()):
        known = [j for j, row in enumerate(rows) if row.size and np.isfinite(row).all()]
        mean = [rows[j].mean() for j in known]
        style = look(i)
        axes.plot(x[known], mean, label=label, **style)
        for j in known:
            span = [rows[j].min(), rows[j].max()]
            axes.plot([x[j], x[j]], span, color=style["color"], linewidth=1.2, alpha=0.6)
    axes.set_xticks(x, [f"{t:g}" if is_number else str(t) for t in ticks])  # type: ignore[str-format]
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, handlelength=3)
    return axes
