"""One run over simulated time: how long its rounds are, what it learns, who takes part."""

from typing import Any

import numpy as np

from fedroam.arrays import Floats, Ints
from fedroam.plots.style import COLOURS, new_axes


def plot_course(start_s: Floats, length_s: Floats, bound_s: Floats, *, ax: Any = None) -> Any:
    """The length of each round, and below it the bound where there is one (nan elsewhere)."""
    axes = new_axes() if ax is None else ax
    edges_s = np.append(start_s, start_s[-1:] + length_s[-1:])
    axes.stairs(length_s, edges_s, color=COLOURS[0], linewidth=1.3, label="round", baseline=None)
    if np.isfinite(bound_s).any():
        axes.stairs(bound_s, edges_s, color=COLOURS[2], linewidth=1.1, label="bound", baseline=None)
        axes.legend(frameon=False, loc="upper right", ncols=2)
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel("length of the round, s")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    return axes


def plot_learning(end_s: Floats, accuracy: Floats, *, ax: Any = None) -> Any:
    """Test accuracy against simulated seconds."""
    axes = new_axes() if ax is None else ax
    axes.plot(end_s, 100 * accuracy, color=COLOURS[0], linewidth=1.8, marker="o", markersize=2.5)
    axes.set_xlabel("simulated seconds")
    axes.set_ylabel("test accuracy, %")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    return axes


def plot_participation(share: Floats, rho1: float, *, ax: Any = None) -> Any:
    """In which share of the rounds each user took part, from seldom to often, and what is due."""
    axes = new_axes() if ax is None else ax
    ordered = np.sort(share)
    axes.stairs(ordered, np.arange(ordered.size + 1), fill=True, color=COLOURS[0], alpha=0.85)
    if rho1 > 0:
        axes.axhline(rho1, color=COLOURS[1], linestyle="--", linewidth=1.2)
    axes.set_xlabel("users, from seldom to often")
    axes.set_ylabel("share of rounds taken part in")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(0, ordered.size)
    return axes


def plot_stragglers(straggler: Ints, n_users: int, *, ax: Any = None) -> Any:
    """How often each user was the last, the twenty most frequent ones."""
    axes = new_axes() if ax is None else ax
    times = np.bincount(straggler[straggler >= 0], minlength=n_users)
    users = np.argsort(-times, kind="stable")[:20]
    users = users[times[users] > 0]
    axes.bar([str(user) for user in users], times[users], color=COLOURS[1])
    axes.set_xlabel("user")
    axes.set_ylabel("rounds that ended with this user")
    axes.yaxis.get_major_locator().set_params(integer=True)
    return axes
