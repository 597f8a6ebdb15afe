"""What short rounds cost the users that are seldom chosen."""

from collections.abc import Mapping
from typing import Any

from fedroam.arrays import Floats
from fedroam.plots.style import look, new_axes


def plot_fairness(
    rounds_s: Mapping[str, Floats],
    least_share: Mapping[str, Floats],
    rho1: float,
    *,
    ax: Any = None,
) -> Any:
    """
    Each policy's mean round against the share of rounds of the user that takes part least.

    One small marker a seed, a large one for the mean: up and left is good, below the line the
    right to take part (rho1) is broken.
    """
    axes = new_axes() if ax is None else ax
    for i, (label, round_s) in enumerate(rounds_s.items()):
        style = look(i) | {"linestyle": "none"}
        share = least_share[label]
        axes.plot(round_s, share, alpha=0.45, **style)
        large = style | {"markersize": 10, "markeredgecolor": "black"}
        axes.plot([round_s.mean()], [share.mean()], label=label, **large)
    if rho1 > 0:
        axes.axhline(rho1, color="black", linewidth=0.8, linestyle=":")
        axes.annotate(f"rho1 = {rho1:g}", (0.99, rho1), xycoords=("axes fraction", "data"),
                      ha="right", va="bottom", fontsize=8)  # fmt: skip
    axes.set_xlabel("mean round, simulated seconds")
    axes.set_ylabel("share of rounds of the user chosen least")
    axes.set_xlim(left=0)
    axes.set_ylim(-0.02, 1.02)
    axes.legend(frameon=False)
    return axes
