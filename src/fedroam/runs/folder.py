"""
A run folder: all that is needed to repeat, resume and show a run.

Everything is written aside and renamed, the rows of some rounds before the checkpoint that follows
them: whatever happens in between, what lies there is whole, and what lies beyond the last
checkpoint is computed again, bit for bit.
"""

import contextlib
import fcntl
import json
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from fedroam.errors import ConfigError, FedroamError, StorageError
from fedroam.files import aside, make_folder, write_text
from fedroam.learning.checkpoints import load_arrays, save_arrays
from fedroam.runs.settings import Settings, parse, read_table, to_table, to_toml
from fedroam.runs.tables import (
    Kept,
    parts_of,
    read_rounds,
    read_users,
    round_table,
    user_table,
    write_table,
)
from fedroam.scheduling.interchange import write_problem
from fedroam.simulation import Simulation

TABLES = ("rounds", "users")
BEGUN = frozenset({"config.toml", "versions.json", ".lock"})
"""What a run holds before its first round is recorded."""


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_complete(self) -> bool:
        """The run has ended and been summed up."""
        return (self.path / "summary.json").exists()

    @property
    def summary(self) -> dict[str, Any]:
        """What ``finish`` wrote."""
        return json.loads((self.path / "summary.json").read_text())  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        """The settings that the run was started with."""
        return parse(read_table(self.path / "config.toml"))

    def begin(self, settings: Settings) -> None:
        """Make the folder; ConfigError where it holds anything else than this very run."""
        config = self.path / "config.toml"
        if config.exists():
            self.check(settings)
            return
        if self.path.exists() and not self._is_as_good_as_empty():
            raise ConfigError(f"{self.path} exists and is no run folder; choose another --out")
        with told(self.path):
            make_folder(self.path)
            write_text(self.path / "versions.json", json.dumps(versions(), indent=2) + "\n")
            write_text(config, to_toml(settings))

    def check(self, settings: Settings) -> None:
        """Raise ConfigError where the folder holds another run; one that holds none is fine."""
        if (self.path / "config.toml").exists() and self.settings != settings:
            raise ConfigError(
                f"{self.path} holds another run (its settings differ in "
                f"{difference(self.settings, settings)}); choose another --out"
            )

    @contextlib.contextmanager
    def alone(self, patience_s: float = 0.0) -> Iterator[None]:
        """Hold the folder against other processes; freed by the system however this one ends."""
        deadline_s = time.monotonic() + patience_s
        with told(self.path):
            lock = (self.path / ".lock").open("w")
        with lock:
            while not _is_locked(lock):
                if time.monotonic() >= deadline_s:
                    raise ConfigError(f"another process is writing {self.path}")
                time.sleep(0.1)
            with told(self.path):
                self._drop_loose_ends()
            yield

    @contextlib.contextmanager
    def or_not_begun(self) -> Iterator[None]:
        """What cannot even start (a model that is not there) leaves no run that is in the way."""
        try:
            yield
        except FedroamError:
            if {file.name for file in self.path.iterdir()} <= BEGUN:
                for name in BEGUN:
                    (self.path / name).unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    self.path.rmdir()
            raise

    def load_state(self) -> dict[str, NDArray[Any]] | None:
        """The state at the last checkpoint; rows beyond it are dropped."""
        file = self.path / "checkpoint.safetensors"
        state = load_arrays(file)[0] if file.exists() else None
        done = int(state["round"]) if state else 0
        for name in TABLES:
            for part in parts_of(self.path, name):
                if int(part.stem) >= done:
                    part.unlink()
        return state

    def save(self, kept: Sequence[Kept], state: dict[str, NDArray[Any]]) -> None:
        """Write the rounds since the last checkpoint, then the state after them."""
        with told(self.path):
            if kept:
                name = f"{kept[0].round:08d}.parquet"
                self._write_part(self.path / "rounds" / name, round_table(kept))
                if (users := user_table(kept)) is not None:
                    self._write_part(self.path / "users" / name, users)
            for k in kept:
                if k.problem:
                    file = self.path / "problems" / f"round-{k.round:06d}.npz"
                    write_problem(k.problem, file)
            save_arrays(self.path / "checkpoint.safetensors", state)

    def keep_if_best(self, accuracy: float, simulation: Simulation) -> None:
        """Keep the model that did best so far on the test set, in ``best.safetensors``."""
        file = self.path / "best.safetensors"
        best = float(load_arrays(file)[1]["accuracy"]) if file.exists() else -1.0
        if accuracy > best and simulation.learner:
            notes = {"accuracy": repr(accuracy), "round": str(simulation.round - 1)}
            with told(self.path):
                save_arrays(file, simulation.learner.state(), notes)

    def finish(self, summary: dict[str, Any]) -> None:
        """Join the parts, sum up, and take the parts away."""
        with told(self.path):
            for name, read in (("rounds", read_rounds), ("users", read_users)):
                if parts_of(self.path, name):
                    self._write_part(self.path / f"{name}.parquet", read(self.path))
            write_text(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")
            for name in TABLES:
                shutil.rmtree(self.path / name, ignore_errors=True)

    def annotate(self, rounds: Any, summary: dict[str, Any]) -> None:
        """Put columns that were computed afterwards into a finished run."""
        with told(self.path):
            self._write_part(self.path / "rounds.parquet", rounds)
            write_text(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    @staticmethod
    def _write_part(path: Path, table: Any) -> None:
        path.parent.mkdir(exist_ok=True)
        with aside(path) as temporary:
            write_table(table, temporary)

    def _is_as_good_as_empty(self) -> bool:
        """Nothing but what a start that was cut short may leave behind."""
        ours = ("versions.json", ".lock")
        return self.path.is_dir() and all(
            file.name in ours or (file.name.startswith(".") and file.name.endswith(".part"))
            for file in self.path.iterdir()
        )

    def _drop_loose_ends(self) -> None:
        for temporary in self.path.rglob(".*.part"):
            temporary.unlink(missing_ok=True)


def _is_locked(file: IO[str]) -> bool:
    """Whether the file could be locked, now and by this process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def versions() -> dict[str, str]:
    """What the bits of a run depend on beside its settings."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("fedroam", "numpy", "scipy", "numba", "pyarrow", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found | {"platform": sys.platform}


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Tell what could not be written, and that the rest is safe."""
    try:
        yield
    except OSError as error:
        is_ours = isinstance(error, StorageError)  # it names the file already
        reason = str(error) if is_ours else f"{path}: {error.strerror or error}"
        raise StorageError(
            f"{reason}; the rounds recorded so far are safe, "
            "and the same command goes on from there"
        ) from error


def difference(one: Settings, other: Settings) -> str:
    """The first setting in which two runs differ, with both values."""
    a, b = _flat(to_table(one)), _flat(to_table(other))
    key = next(k for k in sorted({*a, *b}) if a.get(k) != b.get(k))
    return f"{key}: {a.get(key)!r} there, {b.get(key)!r} here"


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
