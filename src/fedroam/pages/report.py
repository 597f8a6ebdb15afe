"""``fedroam report``: one page with the tables and figures of a run, and how to repeat it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.errors import ConfigError, StorageError
from fedroam.files import write_text
from fedroam.pages.compared import comparison_body
from fedroam.pages.elements import shown, table, tiles, what_was_run
from fedroam.pages.figures import figure
from fedroam.pages.html import document, escape
from fedroam.pages.replay import Replay, read_replay
from fedroam.plots.one_run import (
    plot_course,
    plot_learning,
    plot_participation,
    plot_stragglers,
)
from fedroam.runs import RunFolder, read_rounds
from fedroam.runs.summary import summarise

STYLES = ("colours.css", "report.css")
MOST_ROWS = 1_000
"""Rounds in the table; the Parquet file beside the page has them all."""

ROUND_TABLE = {
    "start_s": "start, s",
    "length_s": "length, s",
    "bound_s": "bound, s",
    "n_selected": "chosen",
    "n_forced": "required",
    "n_missed": "left out",
    "straggler": "straggler",
    "accuracy": "accuracy",
    "train_loss": "training loss",
}


def report_page(folder: Path, path: Path) -> int:
    """Write the report of a run or a comparison to ``path``; its size in bytes."""
    is_comparison = not (folder / "config.toml").exists() and (
        (folder / "compare.toml").exists() or (folder / "comparison.csv").exists()
    )
    title, body = comparison_body(folder) if is_comparison else run_body(folder)
    text = document(f"fedroam: {title}", body, STYLES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(text.encode())


def run_body(folder: Path) -> tuple[str, str]:
    """Title and content of a run's report."""
    replay = read_replay(folder)
    about, summary = replay.about, _summary(folder, replay)
    state = "" if about["complete"] else f", unfinished: {replay.n_rounds} rounds so far"
    parts = [
        f"<header><p class=kind>Run{escape(state)}</p><h1>{escape(about['label'])}</h1>"
        f"<p>{escape(about['policy'])} · seed {about['seed']} · {about['users']} users · "
        f"{about['stations']} stations · {about['area_m']:g} m square</p></header>"
    ]
    if replay.n_rounds:
        parts += [tiles(_short(summary)), _figures(replay), _tables(replay, summary)]
    else:
        parts.append("<p>No rounds yet.</p>")
    parts.append(what_was_run(folder, "config.toml", f"fedroam run {folder}/config.toml", summary))
    return str(about["label"]), "<main>" + "\n".join(parts) + "</main>"


def _summary(folder: Path, replay: Replay) -> dict[str, Any]:
    """What the run was summed up as; of an unfinished one, what can be said so far."""
    run = RunFolder(folder)
    if run.is_complete:
        try:
            return dict(run.summary)
        except (json.JSONDecodeError, OSError, TypeError, ValueError) as error:
            raise ConfigError(f"{folder} holds no readable summary.json: {error}") from error
    if not replay.n_rounds:
        return {}
    counts = _times_selected(replay)
    rounds = read_rounds(folder).slice(0, replay.n_rounds)
    found = summarise(rounds, counts if counts is not None else np.zeros(1, np.int64))
    left_out = () if counts is not None else ("min_participation", "jain")
    return {name: value for name, value in found.items() if name not in left_out}


def _times_selected(replay: Replay) -> np.ndarray[Any, Any] | None:
    """How often each user took part; None where it was not recorded."""
    n_users = int(replay.about["users"])
    if "station" in replay.arrays:
        counts: np.ndarray[Any, Any] = (replay.arrays["station"] >= 0).sum(axis=0)
        return counts
    if "chosen" in replay.arrays:
        return np.bincount(replay.arrays["chosen"], minlength=n_users)
    return None


def _short(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures that people look for first."""
    known = {
        "rounds": ("rounds", "{:.0f}"),
        "time_s": ("simulated time", "{:.4g} s"),
        "mean_round_s": ("mean round", "{:.4g} s"),
        "p95_round_s": ("95 % of rounds within", "{:.4g} s"),
        "mean_gap": ("mean gap to the bound", "{:.1%}"),
        "users_per_round": ("users per round", "{:.4g}"),
        "min_participation": ("least participation", "{:.1%}"),
        "accuracy": ("test accuracy", "{:.2%}"),
        "time_to_90_s": ("90 % accuracy after", "{:.4g} s"),
    }
    return [
        (name, form.format(summary[key]))
        for key, (name, form) in known.items()
        if summary.get(key) is not None
    ]


def _figures(replay: Replay) -> str:
    a = replay.arrays
    start_s, length_s = a["start_s"], a["length_s"]
    found = []
    tested = np.isfinite(a["accuracy"])
    if tested.any():
        end_s, accuracy = (start_s + length_s)[tested], a["accuracy"][tested]
        found.append(figure(lambda: plot_learning(end_s, accuracy), "Test accuracy"))
    caption = "Length of the rounds"
    if np.isfinite(a["bound_s"]).any():
        caption += " and the bound: no lawful schedule is shorter"
    found.append(figure(lambda: plot_course(start_s, length_s, a["bound_s"]), caption))
    if (counts := _times_selected(replay)) is not None:
        share, rho1 = counts / replay.n_rounds, float(replay.about["rho1"])
        due = f"; dashed: {rho1:g} is due" if rho1 > 0 else ""
        found.append(figure(lambda: plot_participation(share, rho1), f"Participation{due}"))
    n_users = int(replay.about["users"])
    found.append(figure(lambda: plot_stragglers(a["straggler"], n_users), "Who ended the rounds"))
    return f"<section class=figures>{''.join(found)}</section>"


def _tables(replay: Replay, summary: dict[str, Any]) -> str:
    rows = [
        (_in_words(name), shown(value))
        for name, value in summary.items()
        if name not in ("name", "policy", "seed") and not name.endswith("sha256")
    ]
    return (
        "<section class=beside>"
        f"<div><h2>Figures of the run</h2>{table(('', 'value'), rows)}</div>"
        f"<div><h2>Stations</h2>{_station_table(replay)}</div></section>"
        f"{_round_table(replay)}"
    )


def _in_words(name: str) -> str:
    if name.startswith("time_to_"):
        return f"{name.removeprefix('time_to_').removesuffix('_s')} % accuracy after, s"
    return name.replace("_", " ")


def _station_table(replay: Replay) -> str:
    load, last_s = replay.arrays["station_load"], replay.arrays["station_s"]
    busy = np.isfinite(last_s)
    n_busy = busy.sum(axis=0)
    mean_s = np.where(busy, last_s, 0).sum(axis=0) / np.maximum(n_busy, 1)
    ends = np.bincount(
        np.argmax(np.where(busy, last_s, -1), axis=1)[busy.any(axis=1)], minlength=load.shape[1]
    )
    rows = [
        (
            str(s),
            f"{replay.arrays['capacity_hz'][s] / 1e6:.4g}",
            f"{load[:, s].mean():.1%}",
            f"{n_busy[s]}",
            f"{mean_s[s]:.4g}" if n_busy[s] else "–",
            f"{ends[s]}",
        )
        for s in range(min(load.shape[1], MOST_ROWS))
    ]
    header = ("station", "band, MHz", "mean load", "rounds in use", "mean finish, s", "was last")
    return table(header, rows)


def _round_table(replay: Replay) -> str:
    columns = {
        name: replay.arrays[name]
        for name in ROUND_TABLE
        if not np.isnan(replay.arrays[name].astype(float)).all()
    }
    n = min(replay.n_rounds, MOST_ROWS)
    rows: Sequence[Sequence[str]] = [
        (str(r), *(shown(values[r].item()) for values in columns.values())) for r in range(n)
    ]
    header = ("round", *(ROUND_TABLE[name] for name in columns))
    more = f" (the first {n} of {replay.n_rounds})" if n < replay.n_rounds else ""
    return f"<details><summary>All rounds{more}</summary>{table(header, rows)}</details>"
