"""The figures of a comparison, from its tables, as files."""

from pathlib import Path
from typing import Any

from fedroam.comparison import Tables, differences
from fedroam.comparison.sentences import headline
from fedroam.comparison.tables import mark_of
from fedroam.plots.accuracy import plot_accuracy
from fedroam.plots.differences import plot_differences
from fedroam.plots.fairness import plot_fairness
from fedroam.plots.round_lengths import plot_round_lengths
from fedroam.plots.style import KINDS, save_figure
from fedroam.plots.time_to import plot_time_to


def draw_comparison(
    tables: Tables, folder: Path, *, rho1: float, against: str = "", kinds: tuple[str, ...] = KINDS
) -> list[Path]:
    """Draw all that the tables can show, each figure in every format of ``kinds``."""
    figures = figures_of(tables, rho1=rho1, against=against)
    return [
        save_figure(axes, folder / f"{name}.{kind}")
        for name, axes in figures.items()
        for kind in kinds
    ]


def figures_of(tables: Tables, *, rho1: float, against: str = "") -> dict[str, Any]:
    """The axes of each figure, by name."""
    rounds_s = {label: tables.values(label, "mean_round_s") for label in tables.labels}
    share = {label: tables.values(label, "min_participation") for label in tables.labels}
    figures = {
        "round-lengths": plot_round_lengths(tables.lengths_s(), means_s=_pooled_means(tables)),
        "fairness": plot_fairness(rounds_s, share, rho1),
    }
    if len(tables.labels) > 1:
        found = differences(tables, against)
        measure = headline(found)
        chosen = [d for d in found if d.measure == measure]
        title = _title(measure, chosen[0].against)
        figures["differences"] = plot_differences(chosen, title, labels=tables.labels)
    if tables.has_learnt:
        marks = tables.marks()
        times_s = {
            label: [tables.values(label, name) for name in tables.mark_names()]
            for label in tables.labels
        }
        figures["accuracy"] = plot_accuracy(tables.bands())
        figures["time-to"] = plot_time_to(times_s, marks, tables.horizon_s)
    return figures


def _pooled_means(tables: Tables) -> dict[str, float]:
    """The mean over all rounds of all seeds."""
    means = {}
    for label in tables.labels:
        rounds, mean_s = tables.values(label, "rounds"), tables.values(label, "mean_round_s")
        means[label] = float((rounds * mean_s).sum() / rounds.sum())
    return means


def _title(measure: str, against: str) -> str:
    if measure == "mean_round_s":
        return f"mean round, seconds longer than {against} (95 % interval)"
    return f"seconds later at {mark_of(measure):g} % than {against} (95 % interval)"
