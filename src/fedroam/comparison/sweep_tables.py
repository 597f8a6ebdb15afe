"""
A sweep in three tidy tables: those of its points, with the swept values as columns before them.

``pandas.read_parquet("runs/sweep/sweep.parquet")`` has all measures of all points, policies and
seeds.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fedroam.comparison.compare import Comparison
from fedroam.comparison.sweep import Point
from fedroam.comparison.tables import Tables, read_table_in, tables_of, write_table
from fedroam.runs import Settings

FILES = {"comparison": "sweep", "curves": "curves", "lengths": "lengths"}
"""What the tables are called in files: the first is the sweep's own."""


@dataclass(frozen=True, eq=False)
class SweepTables:
    """The tables of each point, in order."""

    points: tuple[Point, ...]
    tables: tuple[Tables, ...]

    @property
    def keys(self) -> list[str]:
        """The settings that are swept."""
        return list(self.points[0])

    @property
    def labels(self) -> list[str]:
        """All policies, in order."""
        return list(dict.fromkeys(label for tables in self.tables for label in tables.labels))

    @property
    def has_learnt(self) -> bool:
        """There are accuracies, at all points."""
        return all(tables.has_learnt for tables in self.tables)

    def joined(self, name: str) -> pa.Table:
        """The tables called ``name``, one below the other, swept values first."""
        mixed = [path for path in self.keys if len({type(_cell(p[path])) for p in self.points}) > 1]
        parts = [
            _with_point(getattr(tables, name), point, mixed)
            for point, tables in zip(self.points, self.tables, strict=True)
        ]
        return pa.concat_tables(parts, promote_options="permissive")

    def across(self, label: str, names: Sequence[str] | None = None) -> Tables:
        """
        One policy at all points as the tables of one comparison, in which points are the labels.

        They are compared up to the time for which all of them are known.
        """
        chosen = [i for i, tables in enumerate(self.tables) if label in tables.labels]
        names = names or [title_of(self.points[i]) for i in range(len(self.points))]
        horizon_s = min(self.tables[i].horizon_s for i in chosen)
        parts = {
            name: pa.concat_tables(
                [_renamed(getattr(self.tables[i], name), label, names[i]) for i in chosen],
                promote_options="permissive",
            )
            for name in FILES
        }
        comparison = parts["comparison"]
        at = comparison.column_names.index("horizon_s")
        column = pa.array(np.full(len(comparison), horizon_s))
        parts["comparison"] = comparison.set_column(at, "horizon_s", column)
        return Tables(**parts)


def sweep_tables_of(found: Sequence[tuple[Point, Settings, Comparison]]) -> SweepTables:
    """The tables, from the members' folders."""
    return SweepTables(
        tuple(point for point, _, _ in found),
        tuple(tables_of(settings, comparison) for _, settings, comparison in found),
    )


def write_sweep_tables(tables: SweepTables, folder: Path) -> list[Path]:
    """Each table as Parquet and as CSV."""
    return [
        file
        for name, called in FILES.items()
        for file in write_table(tables.joined(name), folder / called)
    ]


def read_sweep_tables(folder: Path, points: Sequence[Point]) -> SweepTables:
    """The tables in a sweep's folder; ``points`` are those that its note names, or some of them."""
    joined = {name: read_table_in(folder, called) for name, called in FILES.items()}
    kept, tables = [], []
    for point in points:
        mine = {name: _at(table, point) for name, table in joined.items()}
        if len(mine["comparison"]):
            kept.append(point)
            tables.append(Tables(**mine))
    return SweepTables(tuple(kept), tuple(tables))


def title_of(point: Point) -> str:
    """A point in words: ``speed_m_s 20, turn_every never``."""
    return ", ".join(f"{path.rpartition('.')[2]} {word_of(v)}" for path, v in point.items())


def word_of(value: Any) -> str:
    """A swept value in words."""
    cell = _cell(value)
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _with_point(table: pa.Table, point: Point, mixed: Sequence[str]) -> pa.Table:
    """The swept values as columns; where numbers and words are ``mixed``, all are words."""
    for i, (path, value) in enumerate(point.items()):
        cell = word_of(value) if path in mixed else _cell(value)
        table = table.add_column(i, path, pa.array([cell] * len(table)))
    return table


def _at(table: pa.Table, point: Point) -> pa.Table:
    """The rows of a point, without the columns that say so."""
    for path, value in point.items():
        cell = word_of(value) if pa.types.is_string(table[path].type) else _cell(value)
        table = table.filter(pc.equal(table[path], pa.scalar(cell)))
    return table.drop_columns(list(point))


def _cell(value: Any) -> Any:
    """A value in a table: numbers are real numbers, lists JSON, plug-ins their names."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, dict):
        return str(value.get("name", json.dumps(value)))
    return json.dumps(value)


def _renamed(table: pa.Table, label: str, name: str) -> pa.Table:
    mine = table.filter(pc.equal(table["label"], label))
    column = pa.array([name] * len(mine), pa.string())
    return mine.set_column(mine.column_names.index("label"), "label", column)
