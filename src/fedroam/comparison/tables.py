"""
A comparison in three tidy tables: all that its figures, differences and sentences are made of.

* ``comparison``: one row a policy and seed, a column a measure.
* ``curves``: one row a policy, seed and time of a common grid.
* ``lengths``: one row a policy and percentile of its rounds' lengths, over all seeds.

They hold what the settings determine and nothing that depends on the machine's speed: the same
settings give the same files, byte for byte, however often the runs were stopped in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fedroam.arrays import Floats
from fedroam.comparison.compare import Comparison
from fedroam.comparison.curves import Band, Curve, curve_of
from fedroam.errors import ConfigError
from fedroam.files import aside
from fedroam.runs import Settings, read_rounds
from fedroam.runs.folder import told
from fedroam.runs.summary import MARKS, mark_name

GRID = 101
"""Times in the table of curves."""

PERCENTILES = np.arange(0, 101)

LEFT_OUT = ("name", "policy_wall_ms")
"""Of a run's summary: what is there already as the label, and what was measured."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one comparison."""

    comparison: pa.Table
    curves: pa.Table
    lengths: pa.Table

    @property
    def labels(self) -> list[str]:
        """The policies, in order."""
        return list(dict.fromkeys(self.comparison["label"].to_pylist()))

    @property
    def horizon_s(self) -> float:
        """Up to this simulated time all runs are known."""
        return float(self.comparison["horizon_s"][0].as_py())

    @property
    def has_learnt(self) -> bool:
        """There are accuracies."""
        return "accuracy" in self.comparison.column_names

    def values(self, label: str, measure: str) -> Floats:
        """One measure of one policy, seed by seed; nan where it is not known."""
        rows = zip(
            self.comparison["label"].to_pylist(), self.comparison[measure].to_pylist(), strict=True
        )
        return np.array([np.nan if v is None else v for name, v in rows if name == label], float)

    def marks(self) -> list[float]:
        """The accuracies whose times are told."""
        return [mark_of(name) / 100 for name in self.mark_names()]

    def mark_names(self) -> list[str]:
        """The measures of those times."""
        return [name for name in self.comparison.column_names if name.startswith("time_to_")]

    def bands(self) -> dict[str, Band]:
        """Each policy's mean curve with the range over its seeds."""
        return {label: self._band(label) for label in self.labels}

    def lengths_s(self) -> dict[str, Floats]:
        """Each policy's round lengths at percentiles 0, 1, ..., 100."""
        label = np.array(self.lengths["label"].to_pylist())
        length_s = self.lengths["length_s"].to_numpy()
        return {name: length_s[label == name] for name in self.labels}

    def _band(self, label: str) -> Band:
        mine = np.array(self.curves["label"].to_pylist()) == label
        seed = self.curves["seed"].to_numpy()[mine]
        order = np.argsort(seed, kind="stable")
        n_seeds = np.unique(seed).size
        accuracy = self.curves["accuracy"].cast(pa.float64()).to_numpy()[mine][order]
        values = accuracy.reshape(n_seeds, -1)
        time_s = self.curves["time_s"].to_numpy()[mine][order][: values.shape[1]]
        return Band(time_s, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def tables_of(settings: Settings, comparison: Comparison) -> Tables:
    """The tables, from the members' folders."""
    rounds = [[read_rounds(folder) for folder in row] for row in comparison.folders]
    horizon_s = min(summary["time_s"] for row in comparison.summaries for summary in row)
    if settings.stop.time_s and settings.stop.time_s <= horizon_s:
        horizon_s = settings.stop.time_s
    rows, curves, lengths = [], [], []
    for label, tables, summaries in zip(
        comparison.labels, rounds, comparison.summaries, strict=True
    ):
        for table, summary in zip(tables, summaries, strict=True):
            rows.append(_row(label, table, summary, settings, horizon_s))
            curves.append(_sampled(label, summary["seed"], table, horizon_s))
        lengths.append(_percentiles(label, tables))
    return Tables(_from_rows(rows), pa.concat_tables(curves), pa.concat_tables(lengths))


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Each table as Parquet and as CSV."""
    return [
        file
        for name in ("comparison", "curves", "lengths")
        for file in write_table(getattr(tables, name), folder / name)
    ]


def write_table(table: pa.Table, stem: Path) -> list[Path]:
    """One table as ``stem.csv`` and ``stem.parquet``."""
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("csv", "parquet")]
    with told(stem.parent):
        with aside(files[0]) as path:
            pyarrow.csv.write_csv(table, path)
        with aside(files[1]) as path:
            pyarrow.parquet.write_table(table, path)
    return files


def read_tables(folder: Path) -> Tables:
    """The tables of a comparison's folder, from Parquet or, where only that is there, from CSV."""
    return Tables(*(read_table_in(folder, n) for n in ("comparison", "curves", "lengths")))


def read_table_in(folder: Path, name: str) -> pa.Table:
    """One table by its name; ConfigError where it is not there or not readable."""
    parquet, csv = folder / f"{name}.parquet", folder / f"{name}.csv"
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    try:
        if parquet.exists():
            return pyarrow.parquet.read_table(parquet)
        return pyarrow.csv.read_csv(csv, convert_options=options)
    except FileNotFoundError:
        raise ConfigError(f"{folder} holds no table {name}.parquet or {name}.csv") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise ConfigError(f"{folder} holds no readable table {name}: {error}") from error


def _row(
    label: str, rounds: pa.Table, summary: dict[str, Any], settings: Settings, horizon_s: float
) -> dict[str, Any]:
    """One run's measures; times and accuracies at the marks that the settings ask for."""
    kept = {
        key: value
        for key, value in summary.items()
        if key not in LEFT_OUT and not key.startswith("time_to_")
    }
    row = {"label": label, **kept, "horizon_s": horizon_s}
    curve = curve_of(rounds)
    if not curve.end_s.size:
        return row
    for mark in settings.compare.accuracies or MARKS:
        reached_s = curve.time_to(mark)
        row[mark_name(mark)] = None if np.isnan(reached_s) else reached_s
    for time_s in settings.compare.times_s or (horizon_s / 4, horizon_s / 2, horizon_s):
        row[time_name(time_s)] = _known(curve, time_s, summary["time_s"])
    return row


def mark_of(measure: str) -> float:
    """90.0 for ``time_to_90_s``."""
    return float(measure.removeprefix("time_to_").removesuffix("_s"))


def time_name(time_s: float) -> str:
    """``accuracy_at_5_s``."""
    return f"accuracy_at_{time_s:.4g}_s"


def _known(curve: Curve, time_s: float, end_s: float) -> float | None:
    """The accuracy at a time; None before the first test and beyond the end of the run."""
    found = float(curve.at(np.array([time_s]))[0])
    return None if np.isnan(found) or time_s > end_s else found


def _sampled(label: str, seed: int, rounds: pa.Table, horizon_s: float) -> pa.Table:
    """A run on the common grid: accuracy (null before the first test), rounds, updates so far."""
    time_s = np.round(np.linspace(0, horizon_s, GRID), 9)
    end_s = rounds["start_s"].to_numpy() + rounds["length_s"].to_numpy()
    n_rounds = np.searchsorted(end_s, time_s, side="right")
    updates = np.concatenate([[0], np.cumsum(rounds["n_selected"].to_numpy())])
    curve = curve_of(rounds)
    accuracy = curve.at(time_s) if curve.end_s.size else np.full(GRID, np.nan)
    return pa.table(
        {
            "label": [label] * GRID,
            "seed": np.full(GRID, seed),
            "time_s": time_s,
            "accuracy": pa.array(np.round(accuracy, 6), from_pandas=True),
            "rounds": n_rounds,
            "updates": updates[n_rounds],
        }
    )


def _percentiles(label: str, rounds: Sequence[pa.Table]) -> pa.Table:
    pooled = np.concatenate([table["length_s"].to_numpy() for table in rounds])
    length_s = np.percentile(pooled, PERCENTILES, method="inverted_cdf")
    return pa.table(
        {"label": [label] * 101, "percentile": PERCENTILES, "length_s": np.round(length_s, 9)}
    )


def _from_rows(rows: list[dict[str, Any]]) -> pa.Table:
    columns = {key: None for row in rows for key in row}
    table = pa.table({key: [row.get(key) for row in rows] for key in columns})
    empty = [f.name for f in table.schema if pa.types.is_null(f.type)]  # a mark nobody reached
    for name in empty:
        i = table.column_names.index(name)
        table = table.set_column(i, name, table[name].cast(pa.float64()))
    return table
