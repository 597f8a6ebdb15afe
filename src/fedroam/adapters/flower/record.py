"""
What happened, round by round, as Parquet in a folder.

Each round is written when it is over, as a part that is there whole or not at all; the parts are
joined when the run ends. Axis: one row a round, and one row a chosen user and round.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from fedroam.errors import ConfigError, StorageError
from fedroam.files import aside, make_folder
from fedroam.runs.tables import parts_of, read_table, write_table

ROUND_COLUMNS = pa.schema(
    {
        "round": pa.int64(),
        "start_s": pa.float64(),  # of the clock: simulated, or measured at the server
        "length_s": pa.float64(),
        "predicted_s": pa.float64(),  # by the schedule
        "deadline_s": pa.float64(),  # real seconds; infinite where there was none
        "waited_s": pa.float64(),  # real seconds until all had come, or the deadline
        "n_present": pa.int32(),
        "n_forced": pa.int32(),  # users that rho1 required
        "n_missed": pa.int32(),  # of those, left out
        "n_lacking": pa.int32(),  # too few for rho2, by so many
        "selected": pa.list_(pa.int32()),  # who was chosen; each is in one of the next four
        "used": pa.list_(pa.int32()),  # whose updates are in the model
        "missing": pa.list_(pa.int32()),  # who had sent nothing when the round was closed
        "failed": pa.list_(pa.int32()),  # who sent an error
        "refused": pa.list_(pa.int32()),  # who sent what must not reach the model
        "late": pa.list_(pa.int32()),  # whose updates of earlier rounds came by now
        "train_loss": pa.float64(),
        "policy_wall_s": pa.float64(),
    }
)

USER_COLUMNS = pa.schema(
    {
        "round": pa.int64(),
        "user": pa.int32(),
        "name": pa.string(),  # by which its node is known
        "x_m": pa.float64(),  # nan where unknown
        "y_m": pa.float64(),
        "is_required": pa.bool_(),
        "station": pa.int32(),
        "bandwidth_hz": pa.float64(),
        "predicted_s": pa.float64(),
        "arrived_s": pa.float64(),  # real seconds since it was asked; nan where nothing came
        "outcome": pa.string(),  # used, missing, failed, refused
        "reason": pa.string(),  # of a failure or refusal
    }
)


class Record:
    """The folder of one run, which must not hold another run's record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if any(parts_of(folder, "rounds")) or (folder / "rounds.parquet").exists():
            raise ConfigError(f"record: {folder} holds the record of another run")
        for name in ("rounds", "users"):
            with _told(folder):
                make_folder(folder / name)

    def add(self, row: Mapping[str, object], users: Sequence[Mapping[str, object]]) -> None:
        """Write a round down."""
        part = f"{row['round']:08d}.parquet"
        for name, schema, rows in (
            ("users", USER_COLUMNS, users),
            ("rounds", ROUND_COLUMNS, [row]),  # last: a round that is there has its users
        ):
            with _told(self.folder), aside(self.folder / name / part) as path:
                write_table(pa.Table.from_pylist(list(rows), schema=schema), path)

    def close(self) -> None:
        """Join the parts."""
        for name, schema in (("users", USER_COLUMNS), ("rounds", ROUND_COLUMNS)):
            with _told(self.folder):
                with aside(self.folder / f"{name}.parquet") as path:
                    write_table(read_table(self.folder, name, schema), path)
                for part in parts_of(self.folder, name):
                    part.unlink()
                os.rmdir(self.folder / name)


def read_rounds(folder: Path) -> pa.Table:
    """One row a round, of a run that goes on or is over."""
    return read_table(Path(folder), "rounds", ROUND_COLUMNS)


def read_users(folder: Path) -> pa.Table:
    """One row for each chosen user of each round."""
    return read_table(Path(folder), "users", USER_COLUMNS)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Tell what could not be written, and that the rest is safe."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(
            f"record: {folder}: {reason}; rounds recorded so far are safe"
        ) from error
