"""``fedroam compare``."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import typer

from fedroam.arrays import Floats
from fedroam.cli.running import stop_like_ctrl_c
from fedroam.cli.screen import print_json, print_table, progress_bars, say
from fedroam.comparison import (
    Band,
    Comparison,
    Member,
    band_of,
    begin_comparison,
    curve_of,
    mean_interval,
    members_of,
    paired,
    play_all,
)
from fedroam.files import aside
from fedroam.plots import plot_accuracy, plot_round_lengths, save_figure
from fedroam.runs import Progress, Settings, parse, read_rounds
from fedroam.runs.folder import told
from fedroam.runs.settings import assign, read_table
from fedroam.runs.summary import MARKS, mark_name

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

LEARNT = ("accuracy", "best_accuracy", *(mark_name(mark) for mark in MARKS))
"""The same where something was learnt."""

SHOWN = MEASURES[1:7]
SHOWN_LEARNT = ("accuracy", mark_name(0.8), mark_name(0.9), "users_per_round", "missed_per_round")


def compare_command(
    config: Path,
    policies: list[str],
    seeds: int | None,
    assignments: tuple[str, ...],
    out: Path | None,
    workers: int,
    *,
    as_json: bool,
) -> None:
    """Read the settings, play the members, show the comparison."""
    table = read_table(config)
    if policies:
        assign(table, f"compare.policies={json.dumps(policies)}")
        table["compare"].pop("labels", None)
    if seeds is not None:
        assign(table, f"compare.seeds={seeds}")
    for assignment in assignments:
        assign(table, assignment)
    settings = parse(table)
    folder = out or Path("runs") / f"{config.stem}-compare"
    comparison = play_with_bars(settings, folder, workers)
    files = write_comparison(comparison, folder)
    if as_json:
        print_json(as_object(settings, comparison, files))
    else:
        print_comparison(settings, comparison)
        for file in files:
            say(f"wrote {file}")


def play_with_bars(settings: Settings, folder: Path, workers: int) -> Comparison:
    """Play all members with a bar for each policy."""
    members = members_of(settings, folder)
    begin_comparison(settings, members, folder)
    stop_like_ctrl_c()
    with progress_bars() as bars:
        tasks = {
            row[0].label: bars.add_task(row[0].label, total=len(row), note="") for row in members
        }
        shares: dict[tuple[str, int], float] = {}

        def show(member: Member, progress: Progress) -> None:
            shares[member.label, member.settings.seed] = progress.share
            done = sum(share for (label, _), share in shares.items() if label == member.label)
            note = f"seed {member.settings.seed}, round {progress.round}"
            bars.update(tasks[member.label], completed=done, note=note)

        try:
            return play_all(members, workers, show)
        except KeyboardInterrupt:
            bars.stop()
            say(f"fedroam: stopped; what has been played is in {folder}; the same command goes on")
            raise typer.Exit(130) from None


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """The tidy table (CSV and Parquet) and the figure (PNG and SVG)."""
    table = comparison.table()
    with told(folder):
        with aside(folder / "comparison.parquet") as path:
            pyarrow.parquet.write_table(table, path)
        with aside(folder / "comparison.csv") as path:
            pyarrow.csv.write_csv(table, path)
    rounds = {
        label: [read_rounds(f) for f in row]
        for label, row in zip(comparison.labels, comparison.folders, strict=True)
    }
    lengths_s = {
        label: np.concatenate([r["length_s"].to_numpy() for r in row])
        for label, row in rounds.items()
    }
    axes = {"round-lengths": plot_round_lengths(lengths_s)}
    if _has_learnt(comparison):
        axes = {"accuracy": plot_accuracy(_bands(rounds)), **axes}
    with told(folder):
        figures = [
            save_figure(ax, folder / f"{name}.{kind}")
            for name, ax in axes.items()
            for kind in ("png", "svg")
        ]
    return [*figures, folder / "comparison.csv", folder / "comparison.parquet"]


def _bands(rounds: dict[str, list[Any]]) -> dict[str, Band]:
    """Mean curves over the time that all runs have in common."""
    curves = {label: [curve_of(r) for r in row] for label, row in rounds.items()}
    end_s = min(curve.end_s[-1] for row in curves.values() for curve in row)
    time_s = np.linspace(0, end_s, 400)
    return {label: band_of(row, time_s) for label, row in curves.items()}


def _has_learnt(comparison: Comparison) -> bool:
    return "accuracy" in comparison.summaries[0][0]


def print_comparison(settings: Settings, comparison: Comparison) -> None:
    """The table, and what it means."""
    rows = []
    shown = SHOWN_LEARNT if _has_learnt(comparison) else SHOWN
    if settings.record.certify != "no":
        shown = ("mean_gap", *shown)
    reference = comparison.values(comparison.labels[0], "mean_round_s")
    for label in comparison.labels:
        lengths = comparison.values(label, "mean_round_s")
        mean = mean_interval(lengths)
        spread = f" ± {mean.high - mean.mean:.3f}" if np.isfinite(mean.high) else ""
        ratio = mean_interval(lengths / reference)
        rows.append(
            (
                label,
                f"{mean.mean:.3f}{spread}",
                f"{ratio.mean:.2f}x",
                *(_cell(comparison.values(label, m), m) for m in shown),
            )
        )
    header = ("policy", "round, s", f"vs {comparison.labels[0]}", *map(_heading, shown))
    n_seeds = len(comparison.seeds)
    print_table(f"{settings.name}: {n_seeds} seeds, {_until(settings)}", header, rows)
    say(common_ground(settings))


def as_object(settings: Settings, comparison: Comparison, files: list[Path]) -> dict[str, Any]:
    """The comparison as one JSON object."""
    first = comparison.labels[0]
    policies = {}
    for label in comparison.labels:
        measures = {}
        known = comparison.summaries[0][0]
        for name in (n for n in (*MEASURES, *GAPS, *LEARNT) if n in known):
            values = comparison.values(label, name)
            measures[name] = {**vars(mean_interval(values)), "per_seed": values.tolist()}
        difference = paired(
            comparison.values(label, "mean_round_s"), comparison.values(first, "mean_round_s")
        )
        policies[label] = {**measures, f"mean_round_s_minus_{first}": vars(difference)}
    return {
        "name": settings.name,
        "seeds": list(comparison.seeds),
        "paired": common_ground(settings),
        "policies": policies,
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


def _cell(values: Floats, measure: str) -> str:
    """The mean over the seeds; in how many of them it is known where that is not all."""
    known = values[np.isfinite(values)]
    if not known.size:
        return "-"
    note = "" if known.size == values.size else f" ({known.size} of {values.size})"
    mean = f"{known.mean():.1%}" if measure in ("mean_gap", "accuracy") else f"{known.mean():.3g}"
    return mean + note


def _heading(measure: str) -> str:
    units = {
        "p95_round_s": "p95, s",
        "users_per_s": "users/s",
        "users_per_round": "users",
        "mean_gap": "gap",
        "missed_per_round": "missed",
        "min_participation": "least part",
        mark_name(0.8): "to 80 %, s",
        mark_name(0.9): "to 90 %, s",
    }
    return units.get(measure, measure.replace("_per_round", "/round").replace("_", " "))


def _until(settings: Settings) -> str:
    stop = settings.stop
    parts = [f"{stop.rounds} rounds"] if stop.rounds else []
    return " or ".join(parts + ([f"{stop.time_s:g} s"] if stop.time_s else []))
