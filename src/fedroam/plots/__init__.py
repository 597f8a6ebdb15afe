"""Figures, one file each: ``plot_x(data, *, ax=None) -> Axes``; data come from saved runs."""

from fedroam.plots.accuracy import plot_accuracy
from fedroam.plots.labels import plot_labels
from fedroam.plots.round_lengths import plot_round_lengths
from fedroam.plots.style import COLOURS, save_figure

__all__ = ["COLOURS", "plot_accuracy", "plot_labels", "plot_round_lengths", "save_figure"]
