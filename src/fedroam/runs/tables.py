"""
The tables of a run: one row a round, and where asked for one row a user and round.

Parquet, so that ``pandas.read_parquet`` or anything else reads them. While a run goes on its rows
lie in parts, written aside and renamed; they are joined when it ends.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedroam.errors import ConfigError
from fedroam.scheduling.certified.solution import gap_of
from fedroam.scheduling.problem import Problem
from fedroam.simulation import Round

MANY_USERS = 10_000
"""Above this the round table names no single users."""

ROUND_COLUMNS = pa.schema(
    {
        "round": pa.int64(),
        "start_s": pa.float64(),
        "length_s": pa.float64(),
        "n_selected": pa.int32(),
        "n_forced": pa.int32(),  # users that rho1 required
        "n_missed": pa.int32(),  # of those, left out
        "n_lacking": pa.int32(),  # too few for rho2, by so many
        "straggler": pa.int32(),
        "selected": pa.list_(pa.int32()),
        "station_load": pa.list_(pa.float64()),  # share of the band in use
        "station_s": pa.list_(pa.float64()),  # last finish; nan where idle
        "bound_s": pa.float64(),  # certified: no lawful schedule is shorter
        "gap": pa.float64(),  # length_s / bound_s - 1
        "train_loss": pa.float64(),
        "n_refused": pa.int32(),  # updates with nan or infinity
        "accuracy": pa.float64(),
        "loss": pa.float64(),
        "class_accuracy": pa.list_(pa.float64()),
        "policy_wall_s": pa.float64(),
    }
)
MEASURED = ("policy_wall_s",)
"""Columns that depend on the machine and the hour; everything else is the same for a seed."""

NOTES = ("bound_s", "gap")
"""Columns that can be added afterwards (``fedroam certify``), and are no part of the digest."""

USER_COLUMNS = pa.schema(
    {
        "round": pa.int64(),
        "user": pa.int32(),
        "x_m": pa.float32(),  # to be looked at: 0.1 mm is enough
        "y_m": pa.float32(),
        "is_required": pa.bool_(),
        "station": pa.int32(),  # -1: left out
        "bandwidth_hz": pa.float64(),
        "finish_s": pa.float64(),  # nan: left out
    }
)


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """
    What a run keeps of one round until it is written.

    Not the round itself: its links would be held for seconds, and at a million of them taking
    fresh memory for every round costs more than the radio does.
    """

    round: int
    row: Mapping[str, object]
    users: pa.Table | None  # a row for each user, where they are kept
    problem: Problem | None


def keep(played: Round, *, users: bool = False, problem: bool = False) -> Kept:
    """The rows of a round, and what else is to be kept of it."""
    return Kept(
        played.round,
        _round_row(played),
        _user_rows(played) if users else None,
        played.problem if problem else None,
    )


def round_table(kept: Sequence[Kept]) -> pa.Table:
    """The rows of some rounds."""
    return pa.Table.from_pylist([k.row for k in kept], schema=ROUND_COLUMNS)


def user_table(kept: Sequence[Kept]) -> pa.Table | None:
    """The rows of all users in some rounds; None where users are not kept."""
    tables = [k.users for k in kept if k.users is not None]
    return pa.concat_tables(tables) if tables else None


def _round_row(played: Round) -> dict[str, object]:
    problem, verdict, learned, score = (
        played.problem,
        played.verdict,
        played.learned,
        played.score,
    )
    row: dict[str, object] = {
        "round": played.round,
        "start_s": played.start_s,
        "length_s": played.length_s,
        "n_selected": verdict.n_selected,
        "n_forced": int(np.count_nonzero(problem.required)),
        "n_missed": verdict.missed.size,
        "n_lacking": verdict.lacking,
        "straggler": verdict.straggler,
        "selected": played.schedule.chosen if problem.n_users <= MANY_USERS else None,
        "station_load": verdict.used_hz / problem.capacity_hz,
        "station_s": verdict.station_s,
        "policy_wall_s": played.policy_wall_s,
    }
    if played.bound_s is not None:
        row["bound_s"], row["gap"] = played.bound_s, gap_of(played.length_s, played.bound_s)
    if learned:
        row["train_loss"] = float(learned.loss.mean()) if learned.loss.size else None
        row["n_refused"] = learned.n_refused
    if score:
        row["accuracy"], row["loss"] = score.accuracy, score.loss
        row["class_accuracy"] = score.correct / np.maximum(score.count, 1)
    return row


def _user_rows(played: Round) -> pa.Table:
    n_users = played.problem.n_users
    return pa.table(
        {
            "round": np.full(n_users, played.round),
            "user": np.arange(n_users, dtype=np.int32),
            "x_m": played.position_m[:, 0].astype(np.float32),
            "y_m": played.position_m[:, 1].astype(np.float32),
            "is_required": played.problem.required,
            "station": played.schedule.station,
            "bandwidth_hz": played.schedule.bandwidth_hz,
            "finish_s": played.verdict.finish_s,
        },
        schema=USER_COLUMNS,
    )


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table compactly: the bytes of real numbers side by side, then compressed."""
    split = {f.name: "BYTE_STREAM_SPLIT" for f in table.schema if pa.types.is_floating(f.type)}
    names = [f.name for f in table.schema if f.name not in split and not pa.types.is_list(f.type)]
    pq.write_table(table, path, compression="zstd", use_dictionary=names, column_encoding=split)


def read_rounds(folder: Path) -> pa.Table:
    """The round table of a run, finished or not."""
    return read_table(folder, "rounds", ROUND_COLUMNS)


def read_users(folder: Path) -> pa.Table:
    """The table of users of a run; empty where it was not recorded."""
    return read_table(folder, "users", USER_COLUMNS)


def parts_of(folder: Path, name: str) -> list[Path]:
    """The parts that a table lies in while a run goes on, in order."""
    return sorted((folder / name).glob("*.parquet"))


def read_table(folder: Path, name: str, schema: pa.Schema) -> pa.Table:
    """A table of ``schema``, whole or in the parts that there are; empty where there is none."""
    whole = folder / f"{name}.parquet"
    try:
        if whole.exists():
            return pq.read_table(whole)
        parts = parts_of(folder, name)
        if not parts:
            return schema.empty_table()
        return pa.concat_tables([pq.read_table(part).cast(schema) for part in parts])
    except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
        raise ConfigError(f"{folder} does not hold a readable table of {name}: {error}") from error


def sha256_of(table: pa.Table) -> str:
    """A digest of every value that the settings determine (not of measured wall times)."""
    digest = hashlib.sha256()
    for name in table.column_names:
        if name in MEASURED + NOTES:
            continue
        digest.update(name.encode())
        column = table[name].combine_chunks()
        if pa.types.is_list(column.type):
            digest.update(_bytes_of(column.value_lengths()))
            column = column.flatten()
        digest.update(_bytes_of(column))
    return digest.hexdigest()


def _bytes_of(column: pa.Array) -> bytes:
    """Which values are there, and the values."""
    filled = column.fill_null(0).to_numpy(zero_copy_only=False)
    return column.is_valid().to_numpy(zero_copy_only=False).tobytes() + filled.tobytes()  # type: ignore[no-any-return]
