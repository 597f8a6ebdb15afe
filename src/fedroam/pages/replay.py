"""
What the page needs of a run folder, finished or not, as checked arrays.

Nothing that a folder names is imported: a run of someone else's, with a policy of theirs, can be
looked at without running their code. Axes: ``R`` rounds, ``S`` stations, ``U`` users, ``C`` the
chosen of all rounds, one after another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fedroam.arrays import Floats
from fedroam.errors import ConfigError
from fedroam.runs import RunFolder, Settings, parse, read_rounds, read_users
from fedroam.runs.settings import read_table
from fedroam.simulation.scenario import lay_out

PER_ROUND = {
    "start_s": np.float64,
    "length_s": np.float64,
    "bound_s": np.float64,
    "accuracy": np.float64,
    "loss": np.float64,
    "train_loss": np.float64,
    "n_selected": np.int32,
    "n_forced": np.int32,
    "n_missed": np.int32,
    "n_lacking": np.int32,
    "straggler": np.int32,
}
PER_STATION = ("station_load", "station_s")
MAY_BE_UNKNOWN = ("bound_s", "accuracy", "loss", "train_loss")
"""These are nan where they were not asked for; everything else is known of every round."""

PLACES = 65_535
"""Steps of the grid on which places are told: 15 mm in a square kilometre."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A run, or the part of it from ``first`` on, ready to be packed."""

    about: Mapping[str, Any]  # plain values: names, sizes, the world
    arrays: Mapping[str, np.ndarray[Any, Any]]
    first: int = 0

    @property
    def n_rounds(self) -> int:
        """How many rounds it holds."""
        return len(self.arrays["start_s"])

    def since(self, first: int) -> "Replay":
        """The rounds from ``first`` on."""
        return self.between(first, self.n_rounds)

    def between(self, first: int, end: int) -> "Replay":
        """The rounds ``first`` to ``end - 1``."""
        chosen = np.concatenate([[0], np.cumsum(self.arrays["n_selected"])])
        low, high = chosen[first], chosen[end]
        cut = {
            name: values
            if name in ("station_m", "capacity_hz", "ready_s")
            else values[low:high]
            if name in ("chosen", "finish_s", "share")
            else values[first:end]
            for name, values in self.arrays.items()
        }
        return replace(self, arrays=cut, first=first)


def read_replay(path: Path, label: str | None = None) -> Replay:
    """The run in ``path``; ConfigError, in one line, where there is none or it is damaged."""
    settings, policy, learns = _settings(path)
    rounds = _checked(read_rounds(path), path)
    users = read_users(path)
    n_users, n_stations = settings.world.users, settings.world.stations
    n_rounds = len(rounds)
    if len(users):
        n_rounds = min(n_rounds, len(users) // n_users)  # the two tables grow one after the other
    rounds = rounds.slice(0, n_rounds)
    ground = lay_out(settings.world, settings.seed)
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "station_m": ground.station_m.astype(np.float32),
        "capacity_hz": ground.capacity_hz.astype(np.float32),
        "ready_s": ground.ready_s.astype(np.float32),
    }
    for name, kind in PER_ROUND.items():
        arrays[name] = _column(rounds, name).astype(kind)
    for name in PER_STATION:
        arrays[name] = _matrix(rounds, name, n_stations, path)
    if len(users):
        arrays |= _detail(users, settings, ground.capacity_hz, path, arrays["n_selected"])
    elif n_rounds and rounds["selected"].null_count == 0:
        arrays["chosen"] = _flat(rounds["selected"]).astype(np.int32)
        _require(len(arrays["chosen"]) == arrays["n_selected"].sum(), path, "rounds", "selected")
    about = {
        "label": label or settings.name,
        "name": settings.name,
        "policy": policy,
        "seed": settings.seed,
        "users": n_users,
        "stations": n_stations,
        "area_m": settings.world.area_m,
        "band_hz": settings.world.band_hz,
        "rho1": settings.fairness.rho1,
        "rho2": settings.fairness.rho2,
        "stop": {"rounds": settings.stop.rounds, "time_s": settings.stop.time_s},
        "complete": RunFolder(path).is_complete,
        "detail": bool(len(users)),
        "learns": learns,
    }
    return Replay(about, arrays)


def _settings(path: Path) -> tuple[Settings, str, bool]:
    """What the world was, the policy's name (its code is left alone), and whether they learn."""
    if not path.is_dir():
        raise ConfigError(f"there is no run folder {path}")
    if not (path / "config.toml").exists():
        is_comparison = (path / "compare.toml").exists()
        hint = ", but a comparison" if is_comparison else " (no config.toml in it)"
        raise ConfigError(f"{path} is no run folder{hint}")
    table = read_table(path / "config.toml")
    known: dict[str, Any] = {
        key: table[key] for key in ("name", "seed", "stop", "world", "fairness") if key in table
    }
    chosen = table.get("policy", "dagsa")
    name = chosen.get("name", "dagsa") if isinstance(chosen, dict) else chosen
    try:
        return parse(known), str(name), "learning" in table
    except ConfigError as error:
        raise ConfigError(f"{path / 'config.toml'}: {error}") from error


def _checked(rounds: pa.Table, path: Path) -> pa.Table:
    needed = {*PER_ROUND, *PER_STATION, "round", "selected"}
    if missing := sorted(needed - set(rounds.column_names)):
        raise ConfigError(f"{path} does not hold a readable table of rounds: no {missing[0]}")
    numbers = rounds["round"].to_numpy()
    _require(np.array_equal(numbers, np.arange(len(numbers))), path, "rounds", "round")
    for name in PER_ROUND:
        if name not in MAY_BE_UNKNOWN:
            _require(bool(np.isfinite(_column(rounds, name)).all()), path, "rounds", name)
    _require(bool((_column(rounds, "length_s") >= 0).all()), path, "rounds", "length_s")
    return rounds


def _column(table: pa.Table, name: str) -> Floats:
    """A column of numbers; nan where there is none."""
    try:
        filled: Floats = table[name].cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return np.full(len(table), np.nan)
    return filled


def _flat(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    flat: np.ndarray[Any, Any] = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat


def _matrix(rounds: pa.Table, name: str, width: int, path: Path) -> np.ndarray[Any, Any]:
    values = _flat(rounds[name]) if len(rounds) else np.empty(0)
    _require(values.size == len(rounds) * width, path, "rounds", name)
    return values.reshape(-1, width).astype(np.float32)


def _detail(
    users: pa.Table,
    settings: Settings,
    capacity_hz: Floats,
    path: Path,
    n_selected: np.ndarray[Any, Any],
) -> dict[str, np.ndarray[Any, Any]]:
    """Where everyone was, and what the chosen got."""
    n_users, n_rounds = settings.world.users, len(n_selected)
    shape = (n_rounds, n_users)
    users = users.slice(0, n_rounds * n_users)
    wanted = ("round", "user", "x_m", "y_m", "is_required", "station", "bandwidth_hz", "finish_s")
    for name in wanted:
        _require(name in users.column_names and not users[name].null_count, path, "users", name)
    cells = {name: users[name].to_numpy().reshape(shape) for name in wanted}
    _require(bool((cells["user"] == np.arange(n_users)).all()), path, "users", "user")
    _require(np.array_equal(cells["round"][:, 0], np.arange(n_rounds)), path, "users", "round")
    station = cells["station"]
    n_stations = settings.world.stations
    _require(bool(((station >= -1) & (station < n_stations)).all()), path, "users", "station")
    is_chosen = station >= 0
    _require(np.array_equal(is_chosen.sum(axis=1), n_selected), path, "users", "station")
    small = np.int8 if n_stations < 128 else np.int16 if n_stations < 2**15 else np.int32
    return {
        "x": _on_grid(cells["x_m"], settings.world.area_m, path),
        "y": _on_grid(cells["y_m"], settings.world.area_m, path),
        "station": station.astype(small),
        "required": np.packbits(cells["is_required"], axis=1, bitorder="little"),
        "finish_s": cells["finish_s"][is_chosen].astype(np.float32),
        "share": (cells["bandwidth_hz"][is_chosen] / capacity_hz[station[is_chosen]]).astype(
            np.float32
        ),
    }


def _on_grid(place_m: Floats, area_m: float, path: Path) -> np.ndarray[Any, Any]:
    _require(bool(((place_m >= 0) & (place_m <= area_m)).all()), path, "users", "x_m or y_m")
    return np.rint(place_m * (PLACES / area_m)).astype(np.uint16)


def _require(ok: bool, path: Path, table: str, column: str) -> None:
    if not ok:
        raise ConfigError(
            f"{path} does not hold a readable table of {table}: {column} is not what a run writes"
        )
