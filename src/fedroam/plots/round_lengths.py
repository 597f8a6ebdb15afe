"""How long the rounds of each policy are, and how many users they bring in."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.plots.style import COLOURS, DASHES, new_axes


def plot_round_lengths(lengths_s: Mapping[str, Floats], *, ax: Any = None) -> Any:
    """The distribution of round lengths, one curve a policy: left and steep is good."""
    axes = new_axes() if ax is None else ax
    for i, (label, length_s) in enumerate(lengths_s.items()):
        share = np.arange(1, len(length_s) + 1) / len(length_s)
        axes.step(
            np.sort(length_s),
            share,
            where="post",
            label=f"{label} (mean {np.mean(length_s):.3f} s)",
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i % len(DASHES)],
            linewidth=1.8,
        )
    axes.set_xlabel("round length, simulated seconds")
    axes.set_ylabel("share of rounds that are no longer")
    axes.set_ylim(0, 1.01)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="lower right")
    return axes
