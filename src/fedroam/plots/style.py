"""What all figures have in common. matplotlib is imported in this package only, when it is used."""

from pathlib import Path
from typing import Any

from fedroam.errors import StorageError
from fedroam.files import aside

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8A8A8A")
"""Okabe and Ito's palette, which the colour-blind can tell apart; blue first."""

DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-", "--")
"""So that curves can be told apart in grey."""


def new_axes(width: float = 7.0, height: float = 4.2) -> Any:
    """Empty axes on a figure of their own, which no window shows."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(width, height), layout="constrained").subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    return axes


def save_figure(axes: Any, path: Path) -> Path:
    """Write the figure of ``axes`` (the format by the ending), whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without a date in it, equal data give equal bytes.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(path.suffix[1:], {})
        with aside(path) as temporary:
            axes.figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=metadata)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return path
