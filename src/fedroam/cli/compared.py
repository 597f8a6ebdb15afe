"""A comparison on the screen and as JSON."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.cli.screen import print_table, say
from fedroam.comparison import (
    Comparison,
    Tables,
    differences,
    mean_interval,
    paired,
    sentence,
    sentences,
)
from fedroam.comparison.tables import mark_of
from fedroam.runs import Settings

MEASURES = (
    "mean_round_s",
    "p95_round_s",
    "users_per_round",
    "users_per_s",
    "min_participation",
    "jain",
    "missed_per_round",
    "forced_per_round",
)
"""What ``--json`` tells of every policy; the files hold the rest too."""

GAPS = ("mean_bound_s", "mean_gap", "worst_gap")
"""The same where rounds were certified."""

LEARNT = ("accuracy", "best_accuracy")
"""The same where something was learnt, beside times to accuracies and accuracies at times."""

SHOWN = MEASURES[1:7]
SHOWN_LEARNT = ("users_per_round", "missed_per_round")

CHANCE = (
    "intervals are 95 %, each for itself, over the seeds: the studentised bootstrap of the paired "
    "differences (Student's below 5 seeds)"
)


def print_comparison(settings: Settings, tables: Tables) -> None:
    """The table, the paired differences in words, and what they rest on."""
    shown = _shown(settings, tables)
    reference = settings.compare.against or tables.labels[0]
    base = tables.values(reference, "mean_round_s")
    rows = []
    for label in tables.labels:
        lengths = tables.values(label, "mean_round_s")
        mean = mean_interval(lengths)
        spread = f" ± {mean.high - mean.mean:.3f}" if np.isfinite(mean.high) else ""
        ratio = float((lengths / base).mean())
        cells = (_cell(tables.values(label, m), m) for m in shown)
        rows.append((label, f"{mean.mean:.3f}{spread}", f"{ratio:.2f}x", *cells))
    header = ("policy", "round, s", f"vs {reference}", *map(_heading, shown))
    n_seeds = tables.values(reference, "mean_round_s").size
    print_table(f"{settings.name}: {n_seeds} seeds, {_until(settings)}", header, rows)
    found = differences(tables, settings.compare.against)
    for line in sentences(found):
        say(line)
    say(common_ground(settings))
    if found and n_seeds > 1:
        say(CHANCE)


def as_object(
    settings: Settings, comparison: Comparison, tables: Tables, files: list[Path]
) -> dict[str, Any]:
    """The comparison as one JSON object."""
    first = settings.compare.against or tables.labels[0]
    known = tables.comparison.column_names
    at_marks = tuple(n for n in known if n.startswith(("time_to_", "accuracy_at_")))
    measures = [n for n in (*MEASURES, *GAPS, *LEARNT, *at_marks) if n in known]
    policies = {}
    for label in tables.labels:
        difference = paired(
            tables.values(label, "mean_round_s"), tables.values(first, "mean_round_s")
        )
        policies[label] = {
            **{name: _with_seeds(tables.values(label, name)) for name in measures},
            f"mean_round_s_minus_{first}": vars(difference),
        }
    found = differences(tables, settings.compare.against)
    return {
        "name": settings.name,
        "seeds": list(comparison.seeds),
        "paired": common_ground(settings),
        "intervals": CHANCE,
        "against": first,
        "policies": policies,
        "differences": [asdict(d) for d in found],
        "sentences": sentences(found),
        "all_sentences": [sentence(d) for d in found],
        "files": [str(file) for file in files],
    }


def common_ground(settings: Settings) -> str:
    """What is equal for all policies under one seed."""
    walks = (
        "and the same walks"
        if settings.mobility.make().follows_time
        else "and the same draws of directions (walks differ: a user turns when a round begins)"
    )
    return (
        "under one seed all policies meet the same users, stations, compute times and fading, "
        + walks
    )


def _with_seeds(values: Floats) -> dict[str, Any]:
    """Mean and interval of the seeds for which a measure is known, how many, and each."""
    known = int(np.isfinite(values).sum())
    return {**vars(mean_interval(values)), "n_known": known, "per_seed": values.tolist()}


def _shown(settings: Settings, tables: Tables) -> tuple[str, ...]:
    """The measures that fit on a screen."""
    shown: tuple[str, ...] = SHOWN
    if tables.has_learnt:
        reached = [n for n in tables.mark_names() if any(_is_reached(tables, n))]
        shown = ("accuracy", *reached[-2:], *SHOWN_LEARNT)
    return ("mean_gap", *shown) if settings.record.certify != "no" else shown


def _is_reached(tables: Tables, measure: str) -> list[bool]:
    return [bool(np.isfinite(tables.values(label, measure)).any()) for label in tables.labels]


def _cell(values: Floats, measure: str) -> str:
    """The mean over the seeds; in how many of them it is known where that is not all."""
    known = values[np.isfinite(values)]
    if not known.size:
        return "-"
    note = "" if known.size == values.size else f" ({known.size} of {values.size})"
    mean = f"{known.mean():.1%}" if measure in ("mean_gap", "accuracy") else f"{known.mean():.3g}"
    return mean + note


def _heading(measure: str) -> str:
    if measure.startswith("time_to_"):
        return f"to {mark_of(measure):g} %, s"
    units = {
        "p95_round_s": "p95, s",
        "users_per_s": "users/s",
        "users_per_round": "users",
        "mean_gap": "gap",
        "missed_per_round": "missed",
        "min_participation": "least part",
    }
    return units.get(measure, measure.replace("_per_round", "/round").replace("_", " "))


def _until(settings: Settings) -> str:
    stop = settings.stop
    parts = [f"{stop.rounds} rounds"] if stop.rounds else []
    return " or ".join(parts + ([f"{stop.time_s:g} s"] if stop.time_s else []))
