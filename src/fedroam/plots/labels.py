"""Which classes the users hold."""

from typing import Any

from fedroam.arrays import Ints
from fedroam.plots.style import new_axes


def plot_labels(label_counts: Ints, *, ax: Any = None) -> Any:
    """Users across, classes up, the darker the more samples; ``label_counts`` is ``[U, C]``."""
    axes = new_axes() if ax is None else ax
    image = axes.imshow(label_counts.T, aspect="auto", origin="lower", cmap="Greys", vmin=0)
    axes.grid(visible=False)
    axes.set_xlabel("user")
    axes.set_ylabel("class")
    axes.figure.colorbar(image, ax=axes, label="samples")
    return axes
