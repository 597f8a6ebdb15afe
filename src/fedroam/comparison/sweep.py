"""
A grid over any settings: one comparison for each point, in one folder, with one table for all.

Points differ in the values that are swept and in nothing else. They share their seeds, so they are
paired as policies are: under one seed all points draw from the same streams of random numbers.
"""

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from fedroam.comparison.compare import Comparison, Member, members_of, play_all, read_comparison
from fedroam.comparison.folder import NOTE, begin_comparison, open_comparison
from fedroam.comparison.players import PlayParts
from fedroam.errors import ConfigError
from fedroam.files import make_folder, write_text
from fedroam.runs import Progress, RunFolder, Settings, parse
from fedroam.runs.folder import told
from fedroam.runs.settings import full_path, put, read_table, value_of

SWEEP = "sweep.toml"

Point = dict[str, Any]
"""The values that make a point, by the full paths of their settings."""


@dataclass(frozen=True)
class Cell:
    """One point of a sweep: its values, and the comparison that is played there."""

    point: Point
    settings: Settings
    folder: Path

    def members(self) -> list[list[Member]]:
        """The runs of this point."""
        return members_of(self.settings, self.folder)


def grid(table: Mapping[str, Any], over: Sequence[str]) -> list[Point]:
    """All combinations of the values in ``key=v1,v2,...``; the last key changes fastest."""
    axes: dict[str, list[Any]] = {}
    for axis in over:
        key, equals, text = axis.partition("=")
        if not equals or not key.strip() or not text.strip():
            raise ConfigError(f"over: {axis!r} is no axis, expected key=value,value,...")
        path = full_path(table, key.strip())
        if path in axes:
            raise ConfigError(f"over: {path} is swept twice")
        if path == "seed" or path.startswith("compare."):
            raise ConfigError(f"over: {path} is the same at every point; use --seeds and --policy")
        axes[path] = _values(text)
        if len({json.dumps(value, sort_keys=True) for value in axes[path]}) < len(axes[path]):
            raise ConfigError(f"over: {axis!r} has a value twice")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _values(text: str) -> list[Any]:
    """What stands between the commas; a list of words is one too."""
    whole = value_of(f"[{text}]")
    return whole if isinstance(whole, list) else [value_of(part) for part in text.split(",")]


def cells_of(table: Mapping[str, Any], points: Sequence[Point], folder: Path) -> list[Cell]:
    """The settings of each point, checked, and its folder."""
    cells = [Cell(point, _settings_at(table, point), folder / name_of(point)) for point in points]
    folders = [cell.folder for cell in cells]
    for cell in cells:
        if folders.count(cell.folder) > 1:
            raise ConfigError(f"over: two points would be called {cell.folder.name}")
    return cells


def _settings_at(table: Mapping[str, Any], point: Point) -> Settings:
    """The comparison at a point; where policies are swept it is the swept one's alone."""
    here = deepcopy(dict(table))
    for path, value in point.items():
        put(here, path, value)
    settings = parse(here)
    is_swept = any(path == "policy" or path.startswith("policy.") for path in point)
    if is_swept or not settings.compare.policies:
        alone = replace(settings.compare, policies=(settings.policy,), labels=(), against="")
        settings = replace(settings, compare=alone)
    return settings


def name_of(point: Point) -> str:
    """A folder's name: ``speed_m_s=20,turn_every=never``."""
    leaves = [path.rpartition(".")[2] for path in point]
    keys = [
        leaf if leaves.count(leaf) == 1 else path for path, leaf in zip(point, leaves, strict=True)
    ]
    parts = [f"{key}={_short(value)}" for key, value in zip(keys, point.values(), strict=True)]
    return ",".join(parts)


def _short(value: Any) -> str:
    """A value in a file's name."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-") or "-"


def begin_sweep(cells: Sequence[Cell], folder: Path) -> None:
    """Make the folder and those of the points; ConfigError where anything else lies there."""
    note = folder / SWEEP
    if not note.exists() and folder.exists():
        is_free = folder.is_dir() and all(f.name.startswith(".") for f in folder.iterdir())
        if not is_free:
            raise ConfigError(f"{folder} exists and is no sweep; choose another --out")
    for cell in cells:  # all are looked at before anything is written
        _check(cell)
    with told(folder):
        make_folder(folder)
        points = [{"folder": cell.folder.name, "point": cell.point} for cell in cells]
        write_text(note, tomli_w.dumps({"cells": points}))
    for cell in cells:
        begin_comparison(cell.settings, cell.members(), cell.folder)


def _check(cell: Cell) -> None:
    for member in (member for row in cell.members() for member in row):
        RunFolder(member.folder).check(member.settings)


def play_sweep(
    cells: Sequence[Cell],
    workers: int = 1,
    on_progress: Callable[[Member, Progress], None] = lambda member, progress: None,
    elsewhere: PlayParts | None = None,
) -> list[Comparison]:
    """Play the runs of all points, as many at a time as there are workers."""
    rows = [cell.members() for cell in cells]
    flat = [member for members in rows for row in members for member in row]
    play_all([flat], workers, on_progress, elsewhere)
    return [read_comparison(members) for members in rows]


def open_sweep(folder: Path) -> list[tuple[Point, Settings, Comparison]]:
    """The points of a sweep that have been played, as far as they have."""
    note = folder / SWEEP
    if not note.exists():
        raise ConfigError(f"{folder} is no sweep's folder, it holds no {SWEEP}")
    found = []
    for cell in read_table(note)["cells"]:
        here = folder / cell["folder"]
        if (here / NOTE).exists():
            try:
                found.append((cell["point"], *open_comparison(here)))
            except ConfigError:  # nothing has been played there yet
                continue
    if not found:
        raise ConfigError(f"{folder}: no point of this sweep has been played yet")
    return found
