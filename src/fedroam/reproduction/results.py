"""
What is kept of a study: its tables as CSV, its settings and versions, and what follows from them.

``collect`` copies from run folders; ``derive`` makes the paired differences and the figures from
the tables alone, so whoever has the tables has everything.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv

from fedroam.comparison import (
    SweepTables,
    Tables,
    differences,
    differences_table,
    open_comparison,
    open_sweep,
    read_sweep_tables,
    read_tables,
    sweep_tables_of,
    tables_of,
)
from fedroam.comparison.folder import NOTE
from fedroam.comparison.sweep import SWEEP
from fedroam.comparison.sweep_tables import FILES
from fedroam.errors import ConfigError
from fedroam.files import aside, write_text
from fedroam.plots import draw_comparison, draw_sweep
from fedroam.runs import Settings, parse, to_toml
from fedroam.runs.folder import told
from fedroam.runs.settings import read_table

KINDS = ("svg", "pdf")


def collect(folder: Path, into: Path, marks: Any = None) -> list[str]:
    """Copy what a comparison or a sweep in ``folder`` has so far; the labels that it has."""
    with told(into):
        into.mkdir(parents=True, exist_ok=True)
    if (folder / SWEEP).exists():
        return _collect_sweep(folder, into, marks)
    settings, comparison = open_comparison(folder)
    settings = _asking(settings, marks)
    tables = tables_of(settings, comparison)
    _write(into, {name: getattr(tables, name) for name in FILES})
    _note(into, settings, comparison.folders[0][0])
    return tables.labels


def _collect_sweep(folder: Path, into: Path, marks: Any) -> list[str]:
    found = [(p, _asking(s, marks), c) for p, s, c in open_sweep(folder)]
    tables = sweep_tables_of(found)
    _write(into, {called: tables.joined(name) for name, called in FILES.items()})
    _note(into, found[0][1], found[0][2].folders[0][0])
    with told(into):
        write_text(into / SWEEP, (folder / SWEEP).read_text())
    return tables.labels


def _asking(settings: Settings, compare: Any) -> Settings:
    """The settings with the accuracies and times that are asked for now."""
    if compare is None:
        return settings
    return replace(
        settings,
        compare=replace(settings.compare, accuracies=compare.accuracies, times_s=compare.times_s),
    )


def _write(into: Path, tables: dict[str, Any]) -> None:
    with told(into):
        for name, table in tables.items():
            with aside(into / f"{name}.csv") as path:
                pyarrow.csv.write_csv(table, path)


def _note(into: Path, settings: Settings, run: Path) -> None:
    with told(into):
        write_text(into / NOTE, to_toml(settings))
        write_text(into / "versions.json", (run / "versions.json").read_text())


def is_sweep(folder: Path) -> bool:
    """A sweep rather than a comparison."""
    return (folder / SWEEP).exists()


def read_results(folder: Path) -> tuple[Settings, Tables]:
    """A comparison's settings and tables, as they were collected."""
    return parse(read_table(folder / NOTE)), read_tables(folder)


def read_sweep_results(folder: Path) -> tuple[Settings, SweepTables]:
    """The settings at a sweep's first point, and its tables, as they were collected."""
    points = [cell["point"] for cell in read_table(folder / SWEEP)["cells"]]
    return parse(read_table(folder / NOTE)), read_sweep_tables(folder, points)


def derive(folder: Path, into: Path | None = None) -> list[Path]:
    """Paired differences and figures from a folder's tables; they replace what is there."""
    into = into or folder
    with told(into):
        into.mkdir(parents=True, exist_ok=True)
    if is_sweep(folder):
        _, swept = read_sweep_results(folder)
        tables = [swept.across(label) for label in swept.labels]
        found = [d for label, t in zip(swept.labels, tables, strict=True) for d in _named(label, t)]
        _write(into, {"paired": differences_table(found)})
        return [into / "paired.csv", *draw_sweep(swept, into, kinds=KINDS)]
    settings, one = read_results(folder)
    _write(into, {"paired": differences_table(differences(one, settings.compare.against))})
    figures = draw_comparison(
        one, into, rho1=settings.fairness.rho1, against=settings.compare.against, kinds=KINDS
    )
    return [into / "paired.csv", *figures]


def _named(label: str, tables: Tables) -> Sequence[Any]:
    """One policy's differences between points, which say whose they are."""
    if len(tables.labels) < 2:
        return []
    return [
        replace(d, label=f"{label}: {d.label}", against=f"{label}: {d.against}")
        for d in differences(tables)
    ]


def folders_in(root: Path) -> list[Path]:
    """All folders below ``root`` that hold the tables of a comparison or a sweep."""
    return sorted(note.parent for note in root.glob(f"*/*/*/{NOTE}"))


def versions_of(folder: Path) -> dict[str, str]:
    """What the runs were made with."""
    try:
        return json.loads((folder / "versions.json").read_text())  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder} holds no readable versions.json: {error}") from error
