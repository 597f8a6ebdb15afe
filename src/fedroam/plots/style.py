"""What all figures have in common. matplotlib is imported in this package only, when it is used."""

from pathlib import Path
from typing import Any

from fedroam.errors import StorageError
from fedroam.files import aside

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#5A5A5A")
"""Okabe and Ito's palette with grey for yellow: the colour-blind can tell them apart."""

DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-", "--")
"""So that curves can be told apart in grey,"""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""and without looking along them."""

KINDS = ("png", "svg", "pdf")
"""For the screen, for pages, for papers."""


def look(i: int) -> dict[str, Any]:
    """Colour, dashes and marker of the ``i``-th curve."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": DASHES[i % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.6,
    }


def spaced(i: int, n_curves: int, n_points: int) -> tuple[int, int]:
    """Where the ``i``-th of some curves has its markers: some ten, beside those of the others."""
    every = max(1, n_points // 10)
    return (i * every // max(1, n_curves), every)


def new_axes(width: float = 7.0, height: float = 4.2) -> Any:
    """Empty axes on a figure of their own, which no window shows."""
    return new_panels(1, width, height)[0]


def new_panels(n: int, width: float = 7.0, height: float = 4.2) -> list[Any]:
    """Some empty axes side by side, with a common vertical axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    row = figure.subplots(1, n, sharey=True, squeeze=False)[0]
    for axes in row:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
    return list(row)


def save_figure(axes: Any, path: Path) -> Path:
    """Write the figure of ``axes`` (the format by the ending), whole or not at all."""
    import matplotlib as mpl

    # Without dates and random names in it, and laid out once, equal data give equal bytes.
    axes.figure.draw_without_rendering()
    axes.figure.set_layout_engine("none")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(path.suffix[1:], {})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside(path) as temporary, mpl.rc_context({"svg.hashsalt": "fedroam"}):
            axes.figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=metadata)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return path
