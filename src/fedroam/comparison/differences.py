"""
Paired differences of every policy against a chosen one, with intervals, and what they say in words.

What is paired: under one seed all policies meet the same users, stations, compute times and fading
(`common random numbers`), so the unit is the seed, and a difference is taken within each.

A run that never reaches an accuracy has no time to it, and leaving it out would favour the slower
policy. It counts with the horizon, up to which all runs are known: the difference is one of
*restricted* times, known for every seed. Where all runs of one side reached the accuracy the true
difference can only be larger than that, and the sentence says "at least".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np
import pyarrow as pa

from fedroam.arrays import Floats
from fedroam.comparison.statistics import paired, sign_flip_p
from fedroam.comparison.tables import Tables
from fedroam.errors import ConfigError, nearest

LOWER = (
    "mean_round_s",
    "p95_round_s",
    "missed_per_round",
    "rounds_missing_rho1",
    "rounds_missing_rho2",
    "mean_gap",
)
HIGHER = ("users_per_s", "min_participation", "jain", "best_accuracy")
NEITHER = ("users_per_round", "forced_per_round")
"""Measures by which way is better."""


@dataclass(frozen=True)
class Difference:
    """One measure of ``label`` minus that of ``against``, paired by seed."""

    label: str
    against: str
    measure: str
    better: str  # "lower", "higher" or "" where neither is
    n_seeds: int
    mean: float  # of label; restricted to the horizon for times to an accuracy
    mean_against: float
    difference: float
    low: float
    high: float
    how: str  # how the interval was made
    n_same_way: int  # seeds whose difference has the sign of the mean
    p_flip: float  # two-sided, over all flips of signs
    n_reached: int | None = None  # seeds that reached the accuracy
    n_reached_against: int | None = None
    reading: str = "exact"  # "at least", "restricted", "not reached": see `_reading`
    horizon_s: float | None = None


def differences(tables: Tables, against: str = "") -> list[Difference]:
    """Every policy but ``against`` (by default the first) in every measure that there is."""
    against = against or tables.labels[0]
    if against not in tables.labels:
        raise ConfigError(f"against: no {against!r} here; {nearest(against, tables.labels)}")
    others = [label for label in tables.labels if label != against]
    return [
        _difference(tables, label, against, measure)
        for label in others
        for measure in measures_in(tables)
    ]


def measures_in(tables: Tables) -> list[str]:
    """What of a comparison is compared."""
    names = tables.comparison.column_names
    at_marks = [n for n in names if n.startswith(("time_to_", "accuracy_at_"))]
    return [n for n in (*LOWER, *HIGHER, *NEITHER) if n in names] + at_marks


def differences_table(found: Iterable[Difference]) -> pa.Table:
    """Tidy: one row a policy and measure; figures to ten digits, so that machines agree."""
    rows = [asdict(d) for d in found]
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    kinds = {f.name: types[str(f.type).partition(" ")[0]] for f in fields(Difference)}
    columns = {
        name: pa.array([_plain(row[name]) for row in rows], kind) for name, kind in kinds.items()
    }
    return pa.table(columns)


def _plain(value: object) -> object:
    """Ten significant digits; null for what is not known."""
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{value:.10g}")
    return value


def _difference(tables: Tables, label: str, against: str, measure: str) -> Difference:
    one, other = tables.values(label, measure), tables.values(against, measure)
    is_time = measure.startswith("time_to_")
    n_reached = n_against = horizon_s = None
    reading = "exact"
    if is_time:
        horizon_s = tables.horizon_s
        reached, reached_against = one <= horizon_s, other <= horizon_s  # nan is not
        n_reached, n_against = int(reached.sum()), int(reached_against.sum())
        one, other = np.where(reached, one, horizon_s), np.where(reached_against, other, horizon_s)
        all_here, all_there = bool(reached.all()), bool(reached_against.all())
        reading = _reading(all_here, all_there, n_reached + n_against, one - other)
    interval = paired(one, other)
    change = one - other
    return Difference(
        label=label,
        against=against,
        measure=measure,
        better=_better(measure),
        n_seeds=one.size,
        mean=float(one.mean()),
        mean_against=float(other.mean()),
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        how=interval.how,
        n_same_way=int(np.count_nonzero(np.sign(change) == np.sign(interval.mean))),
        p_flip=sign_flip_p(change),
        n_reached=n_reached,
        n_reached_against=n_against,
        reading=reading,
        horizon_s=horizon_s,
    )


def _reading(all_here: bool, all_there: bool, n_reached: int, change: Floats) -> str:
    """
    What a difference of restricted times says of the true one.

    ``exact``: everybody reached the accuracy. ``at least``: those that did not are all on the
    slower side, so the true difference is larger. ``restricted``: it is what it is within the
    horizon. ``not reached``: by nobody.
    """
    if all_here and all_there:
        return "exact"
    if not n_reached:
        return "not reached"
    mean = float(change.mean())
    return "at least" if (all_here and mean < 0) or (all_there and mean > 0) else "restricted"


def _better(measure: str) -> str:
    if measure in LOWER or measure.startswith("time_to_"):
        return "lower"
    return "higher" if measure in HIGHER or measure.startswith("accuracy_at_") else ""
