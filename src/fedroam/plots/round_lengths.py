"""How long the rounds of each policy are."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.plots.style import look, new_axes, spaced


def plot_round_lengths(
    lengths_s: Mapping[str, Floats], *, means_s: Mapping[str, float] | None = None, ax: Any = None
) -> Any:
    """
    The distribution of round lengths, one curve a policy: left and steep is good.

    ``means_s`` says what the means are where ``lengths_s`` are percentiles only.
    """
    axes = new_axes() if ax is None else ax
    for i, (label, length_s) in enumerate(lengths_s.items()):
        mean_s = means_s[label] if means_s else np.mean(length_s)
        share = np.arange(1, len(length_s) + 1) / len(length_s)
        axes.step(
            np.sort(length_s),
            share,
            where="post",
            label=f"{label} (mean {mean_s:.3f} s)",
            markevery=spaced(i, len(lengths_s), len(length_s)),
            **look(i),
        )
    axes.set_xlabel("round length, simulated seconds")
    axes.set_ylabel("share of rounds that are no longer")
    axes.set_ylim(0, 1.01)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="lower right", handlelength=3)
    return axes
