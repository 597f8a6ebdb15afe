"""The figures of a sweep, from its tables, as files."""

from pathlib import Path
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.comparison import SweepTables, Tables
from fedroam.comparison.sweep import Point
from fedroam.comparison.sweep_tables import title_of, word_of
from fedroam.comparison.tables import mark_of
from fedroam.plots.accuracy import plot_accuracy
from fedroam.plots.style import KINDS, new_panels, save_figure
from fedroam.plots.swept import plot_swept

MOST_CURVES = 8
"""In one panel: as many as can be told apart."""


def draw_sweep(tables: SweepTables, folder: Path, *, kinds: tuple[str, ...] = KINDS) -> list[Path]:
    """Draw all that the tables can show, each figure in every format of ``kinds``."""
    return [
        save_figure(axes, folder / f"{name}.{kind}")
        for name, axes in sweep_figures_of(tables).items()
        for kind in kinds
    ]


def sweep_figures_of(tables: SweepTables) -> dict[str, Any]:
    """The axes of each figure, by name: measures against the first key, curves where they fit."""
    figures = {
        "mean-round": _swept(tables, "mean_round_s", "mean round, simulated seconds"),
        "forced": _swept(tables, "forced_per_round", "required users a round"),
    }
    if not tables.has_learnt:
        return figures
    mark = highest_mark(tables)
    if mark:
        label = f"simulated seconds to {mark_of(mark):g} % (mean and range)"
        figures["time-to"] = _swept(tables, mark, label)
    for label in tables.labels:
        if axes := _curves(tables, label):
            figures["accuracy" if len(tables.labels) == 1 else f"accuracy-{label}"] = axes
    return figures


def highest_mark(tables: SweepTables) -> str:
    """The highest accuracy that some policy reached under all seeds at every point, or ''."""
    always = [
        name
        for name in tables.tables[0].mark_names()
        if any(
            all(_is_reached(t, label, name) for t in tables.tables if label in t.labels)
            for label in tables.labels
        )
    ]
    return max(always, key=mark_of, default="")


def _is_reached(tables: Tables, label: str, name: str) -> bool:
    known = name in tables.comparison.column_names
    return known and bool((tables.values(label, name) <= tables.horizon_s).all())


def _swept(tables: SweepTables, measure: str, ylabel: str) -> Any:
    """A measure against the first key; a curve for each policy and value of the other keys."""
    first, *others = tables.keys
    ticks = list(dict.fromkeys(point[first] for point in tables.points))
    curves: dict[str, list[Floats]] = {}
    for point, at in zip(tables.points, tables.tables, strict=True):
        rest = title_of({key: point[key] for key in others})
        for label in at.labels:
            name = ", ".join(part for part in (label, rest) if part)
            rows = curves.setdefault(name, [np.empty(0) for _ in ticks])
            rows[ticks.index(point[first])] = _restricted(at, label, measure)
    ordered = sorted(ticks) if all(isinstance(t, (int, float)) for t in ticks) else ticks
    values = {n: [rows[ticks.index(t)] for t in ordered] for n, rows in curves.items()}
    shown = [t if isinstance(t, (int, float)) else word_of(t) for t in ordered]
    return plot_swept(values, shown, first, ylabel)


def _restricted(tables: Tables, label: str, measure: str) -> Floats:
    """A measure seed by seed; times to accuracies that were not reached count with the horizon."""
    values = tables.values(label, measure)
    if not measure.startswith("time_to_"):
        return values
    return np.where(values <= tables.horizon_s, values, tables.horizon_s)


def _curves(tables: SweepTables, label: str) -> Any:
    """One policy's accuracy over time, a curve for each value of the first key."""
    panels: dict[str, list[tuple[Point, Tables]]] = {}
    for point, at in zip(tables.points, tables.tables, strict=True):
        if label in at.labels:
            rest = title_of({key: point[key] for key in tables.keys[1:]})
            panels.setdefault(rest, []).append((point, at))
    if max(map(len, panels.values())) > MOST_CURVES or len(panels) > 3:
        return None
    row = new_panels(len(panels), width=1.5 + 5.5 * len(panels))
    key = tables.keys[0]
    names = list(dict.fromkeys(title_of({key: point[key]}) for point in tables.points))
    for axes, (rest, cells) in zip(row, panels.items(), strict=True):
        bands = {title_of({key: point[key]}): at.bands()[label] for point, at in cells}
        plot_accuracy(bands, labels=names, ax=axes)
        axes.set_title(", ".join(part for part in (label, rest) if part), fontsize=10)
    return row[0]
