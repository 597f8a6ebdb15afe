"""Figures, one file each: ``plot_x(data, *, ax=None) -> Axes``; data come from saved runs."""

from fedroam.plots.accuracy import plot_accuracy
from fedroam.plots.differences import plot_differences
from fedroam.plots.draw import draw_comparison, figures_of
from fedroam.plots.draw_sweep import draw_sweep, sweep_figures_of
from fedroam.plots.fairness import plot_fairness
from fedroam.plots.labels import plot_labels
from fedroam.plots.round_lengths import plot_round_lengths
from fedroam.plots.style import COLOURS, KINDS, save_figure
from fedroam.plots.swept import plot_swept
from fedroam.plots.time_to import plot_time_to

__all__ = [
    "COLOURS",
    "KINDS",
    "draw_comparison",
    "draw_sweep",
    "figures_of",
    "plot_accuracy",
    "plot_differences",
    "plot_fairness",
    "plot_labels",
    "plot_round_lengths",
    "plot_swept",
    "plot_time_to",
    "save_figure",
    "sweep_figures_of",
]
