"""
Problem files: how other programs pose problems to fedroam, and read the ones it posed.

``.npz`` without pickle, or JSON for small ones; the names are those of ``Problem``'s fields. Read
strictly: what is missing, unknown or of the wrong kind is named.
"""

import json
import zipfile
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.errors import ConfigError, StorageError, nearest
from fedroam.files import aside
from fedroam.scheduling.problem import Problem

NAMES = tuple(f.name for f in fields(Problem))
NEEDED = NAMES[: NAMES.index("round")]
"""The rest is the past, which may be left out."""

SCALARS = ("min_selected", "round")

UNREADABLE = (
    ValueError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # a zip of a kind that is not read
    RecursionError,  # JSON nested without end
    MemoryError,  # a header that promises more than there can be
)
"""What files that are no problem files make the readers raise."""


def read_problem(path: Path) -> Problem:
    """The problem in a ``.npz`` or ``.json`` file."""
    try:
        values = _read_json(path) if path.suffix == ".json" else _read_npz(path)
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder, expected a problem file (.npz or .json)") from None
    except UNREADABLE as error:
        raise ConfigError(f"{path} is not a problem file (.npz or .json): {error}") from error
    try:
        return problem_from(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def problem_from(values: dict[str, Any]) -> Problem:
    """The problem in a dictionary of arrays or lists, by the names of the fields."""
    for name in values:
        if name not in NAMES:
            raise ConfigError(f"{name}: no such field of a problem; {nearest(name, NAMES)}")
    for name in NEEDED:
        if name not in values:
            raise ConfigError(f"{name} is missing; a problem needs {', '.join(NEEDED)}")
    values = {name: _array(name, value) for name, value in values.items()}
    for name in SCALARS:
        if name in values:
            values[name] = _whole_number(name, values[name])
    for name in ("times_selected", "last_round", "last_loss", "samples", "label_counts"):
        if name in values and not np.size(values[name]):
            raise ConfigError(f"{name} is empty, expected one number a user (or leave it out)")
    return Problem(**values)


def write_problem(problem: Problem, path: Path) -> None:
    """Write a problem file, whole or not at all; ``.json`` by its ending, else ``.npz``."""
    values = {name: np.asarray(getattr(problem, name)) for name in NAMES}
    if not problem.label_counts.size:
        del values["label_counts"]
    if (problem.payload_bit == problem.payload_bit[0]).all():
        values["payload_bit"] = problem.payload_bit[0]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside(path) as temporary, temporary.open("wb") as file:
            if path.suffix == ".json":
                lists = {name: _listed(value) for name, value in values.items()}
                file.write(json.dumps(lists, allow_nan=False).encode())
            else:
                np.savez_compressed(file, **values)  # type: ignore[arg-type]
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def _read_npz(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:  # which NumPy leaves open where the zip is broken
        found = np.load(file, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise ConfigError(f"{path} holds one array, expected a .npz with named arrays")
        return _each_once([(name, found[name]) for name in found.files])


def _read_json(path: Path) -> dict[str, Any]:
    values = from_json(path.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds a {type(values).__name__}, expected an object")
    return with_unknown_losses(values)


def from_json(text: str) -> Any:
    """What a JSON text says; every name of an object is given once."""
    return json.loads(text, object_pairs_hook=_each_once)


def with_unknown_losses(values: dict[str, Any]) -> dict[str, Any]:
    """A problem's values, with nan for each loss that is null: JSON has no nan."""
    loss = values.get("last_loss")
    if not isinstance(loss, list):
        return values
    return values | {"last_loss": [np.nan if item is None else item for item in loss]}


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    once: dict[str, Any] = {}
    for name, value in pairs:
        if name in once:
            raise ConfigError(f"{name} is given twice")
        once[name] = value
    return once


def _listed(value: np.ndarray) -> Any:
    if value.dtype == np.float64 and np.isnan(value).any():
        return [None if np.isnan(item) else item for item in value.tolist()]
    return value.tolist()


def _array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ConfigError(f"{name} has rows of different lengths, expected one list") from None
    if array.size == 0 and isinstance(value, list):  # [] says nothing of its kind
        return array.astype(np.int32 if name == "station" else np.float64)
    if array.dtype.kind not in "buif":
        raise ConfigError(f"{name} holds {array.dtype}, expected numbers")
    return array


def _whole_number(name: str, value: np.ndarray) -> int:
    if value.ndim or value.dtype.kind not in "ui":
        raise ConfigError(f"{name} is {value.tolist()!r}, expected one whole number")
    return int(value)
