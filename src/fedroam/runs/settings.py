"""
From a TOML file to frozen records, strictly, and back.

This is the edge where names stand for objects: inside the package a policy is an object, in a file
it is ``[policy] name = "dagsa"`` with its options beside the name.
"""

import inspect
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import tomli_w

from fedroam.errors import ConfigError, nearest, require
from fedroam.learning.aggregation import SERVERS
from fedroam.learning.datasets import DATASETS
from fedroam.learning.federation import LearningSettings
from fedroam.learning.partition import PARTITIONS
from fedroam.learning.records import LocalTraining
from fedroam.mobility import MOBILITY
from fedroam.plugins import resolve
from fedroam.radio import RADIO
from fedroam.scheduling.policies import POLICIES
from fedroam.simulation import Evaluating, Fairness, Scenario, World

FAMILIES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "mobility": MOBILITY,
    "radio": RADIO,
    "policy": POLICIES,
    "dataset": DATASETS,
    "partition": PARTITIONS,
    "server": SERVERS,
}

DEFAULTS = {
    "mobility": "random-direction",
    "radio": "urban-macro",
    "policy": "dagsa",
    "dataset": "mnist",
    "partition": "shards",
    "server": "average",
}


@dataclass(frozen=True)
class Choice:
    """A plug-in by name, with all of its options, also those left at their defaults."""

    family: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Any:
        """The object."""
        return _make(self.family, self.name, self.options)[0]


@dataclass(frozen=True)
class Stop:
    """When a run is over: whichever comes first."""

    rounds: int | None = None
    time_s: float | None = None  # simulated

    def __post_init__(self) -> None:
        require(self.rounds is None or self.rounds >= 1, "rounds", self.rounds, ">= 1")
        require(self.time_s is None or 0 < self.time_s < np.inf, "time_s", self.time_s, "> 0")


@dataclass(frozen=True)
class Recording:
    """What is kept of each round beside its row in the round table."""

    detail: bool | Literal["auto"] = "auto"  # a row for every user; auto: up to 2,000 users
    problems: bool = False  # the problem itself, as a problem file
    certify: Literal["no", "prices", "exact"] = "no"  # a bound for every round's length
    tensorboard: bool = False  # event files beside the tables


@dataclass(frozen=True)
class Comparing:
    """Which policies ``fedroam compare`` plays against each other, under how many seeds."""

    policies: tuple[Choice, ...] = ()
    labels: tuple[str, ...] = ()
    seeds: int = 5  # seed, seed + 1, ...
    against: str = ""  # the label that all others are compared with; the first
    accuracies: tuple[float, ...] = ()  # whose times are told; 0.5, 0.8, 0.9, 0.95
    times_s: tuple[float, ...] = ()  # whose accuracies are told; a quarter, half, all

    def __post_init__(self) -> None:
        require(self.seeds >= 1, "seeds", self.seeds, ">= 1")
        for mark in self.accuracies:
            require(0 < mark <= 1, "accuracies", mark, "each in (0, 1]")
        for time_s in self.times_s:
            require(0 < time_s < np.inf, "times_s", time_s, "each > 0 seconds")


@dataclass(frozen=True)
class Learning:
    """
    What the users learn together: ``[learning]``. Without this table a run is timing only.

    Fractions below 1 take a random part of the samples, the same one under a seed.
    """

    dataset: Choice = field(default_factory=lambda: choice("dataset"))
    partition: Choice = field(default_factory=lambda: choice("partition"))
    model: str = "cnn"
    trainer: str = "native"
    device: str = "cpu"  # for the torch trainer
    local: LocalTraining = field(default_factory=LocalTraining)
    server: Choice = field(default_factory=lambda: choice("server"))
    train_fraction: float = 1.0
    test_fraction: float = 1.0

    def __post_init__(self) -> None:
        self.made()

    def made(self) -> LearningSettings:
        """The same as objects."""
        return LearningSettings(
            dataset=self.dataset.make(),
            partition=self.partition.make(),
            model=self.model,
            trainer=self.trainer,
            local=self.local,
            server=self.server.make(),
            train_fraction=self.train_fraction,
            test_fraction=self.test_fraction,
            device=self.device,
        )


@dataclass(frozen=True)
class Settings:
    """All that determines a run."""

    name: str = "run"
    seed: int = 0
    stop: Stop = Stop(rounds=100)
    world: World = field(default_factory=World)
    mobility: Choice = field(default_factory=lambda: choice("mobility"))
    radio: Choice = field(default_factory=lambda: choice("radio"))
    fairness: Fairness = field(default_factory=Fairness)
    policy: Choice = field(default_factory=lambda: choice("policy"))
    learning: Learning | None = None
    evaluation: Evaluating = field(default_factory=Evaluating)
    record: Recording = field(default_factory=Recording)
    compare: Comparing = field(default_factory=Comparing)

    def __post_init__(self) -> None:
        require(self.seed >= 0, "seed", self.seed, ">= 0")
        if self.stop.rounds is None and self.stop.time_s is None:
            raise ConfigError("stop: neither rounds nor time_s is set, so the run would never end")

    def scenario(self) -> Scenario:
        """What all policies of a comparison have in common, as objects."""
        return Scenario(self.world, self.mobility.make(), self.radio.make(), self.fairness)


def read_settings(path: Path, assignments: tuple[str, ...] = ()) -> Settings:
    """The settings in a TOML file, changed by ``key=value`` assignments."""
    table = read_table(path)
    for assignment in assignments:
        assign(table, assignment)
    return parse(table)


def read_table(path: Path) -> dict[str, Any]:
    """A TOML file as it stands; ConfigError says what is wrong with it."""
    if path.is_dir():
        inside = path / "config.toml"
        hint = f"; did you mean {inside}?" if inside.exists() else ""
        raise ConfigError(f"{path} is a folder, expected a settings file (TOML){hint}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        beside = sorted(p.name for p in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = f"; {nearest(path.name, beside)}" if beside else ""
        raise ConfigError(f"there is no file {path}{hint}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text file (UTF-8): {error}") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def parse(table: Mapping[str, Any]) -> Settings:
    """The settings in a table of tables."""
    settings: Settings = _record(Settings, table, "")
    return settings


def to_table(settings: Settings) -> dict[str, Any]:
    """The complete table: every value that could have been given."""
    return _plain(settings)  # type: ignore[no-any-return]


def to_toml(settings: Settings) -> str:
    """The complete settings file; reading it gives equal settings."""
    return tomli_w.dumps(to_table(settings))


def assign(table: dict[str, Any], assignment: str) -> None:
    """
    Set one value, ``key=value``, in a table read from a file.

    The key is a path (``learning.local.lr``), or as much of its end as is unique (``local.lr``,
    ``lr``). The value is TOML; what is not TOML is text.
    """
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{assignment!r} is not an assignment, expected key=value")
    put(table, full_path(table, key.strip()), value_of(text))


def value_of(text: str) -> Any:
    """A value as it is typed: TOML, and what is not TOML is text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a full path (``world.users``)."""
    *parents, leaf = path.split(".")
    here = table
    for parent in parents:
        inner = here.setdefault(parent, {})
        if isinstance(inner, str):  # policy = "dagsa" is short for a table with that name
            inner = here[parent] = {"name": inner}
        if not isinstance(inner, dict):
            raise ConfigError(f"{parent} is {inner!r}, expected a table")
        here = inner
    if leaf in FAMILIES:
        choose(here, leaf, value)
    else:
        here[leaf] = value


def choose(table: dict[str, Any], family: str, name: Any) -> None:
    """Put another plug-in into a table; the options of the one it replaces go with it."""
    present = table.get(family, {})
    is_same = isinstance(present, dict) and present.get("name", DEFAULTS[family]) == name
    table[family] = present if is_same else {"name": name}


def full_path(table: Mapping[str, Any], key: str) -> str:
    """The path of the setting that ``key`` names; ConfigError where there is none, or several."""
    known = _paths(Settings, table)
    matches = [path for path in known if path.endswith(f".{key}")]
    if key in known or ("." in key and not matches):
        return key
    if not matches and key in {path.rpartition(".")[2] for path in _paths(Learning, {})}:
        raise ConfigError(f"{key}: these settings have no [learning] table, they are timing only")
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ConfigError(f"{key} could be any of {', '.join(matches)}: give the whole path")
    leaves = {path.rpartition(".")[2] for path in known}
    raise ConfigError(f"{key}: no such setting; {nearest(key, leaves)}")


def _paths(cls: type, table: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Every setting that can be given, by its path."""
    paths = []
    for name, kind in get_type_hints(cls).items():
        inner = _record_in(kind)
        if inner is None:
            paths.append(prefix + name)
        elif inner is Learning and name not in table:
            continue  # timing only
        elif inner is Choice:
            paths.append(prefix + name)
            chosen = table.get(name, {})
            chosen = chosen if isinstance(chosen, dict) else {"name": chosen}
            options = _option_types(name, str(chosen.get("name", DEFAULTS[name])))
            paths += [f"{prefix}{name}.{option}" for option in ("name", *options)]
        else:
            paths += _paths(inner, table.get(name, {}), f"{prefix}{name}.")
    return paths


def _record_in(kind: Any) -> Any:
    """The record class that a field holds (also an optional one), or None."""
    for option in (kind, *get_args(kind)):
        if isinstance(option, type) and is_dataclass(option) and get_origin(kind) is not tuple:
            return option
    return None


def _record(cls: Any, table: Any, path: str) -> Any:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path.rstrip('.')} is {table!r}, expected a table")
    kinds = {f.name: get_type_hints(cls)[f.name] for f in fields(cls) if f.init}
    for key in table:
        if key not in kinds:
            raise ConfigError(f"{path}{key}: no such setting; {nearest(key, kinds)}")
    values = {key: _value(kinds[key], value, f"{path}{key}") for key, value in table.items()}
    try:
        return cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{path}{error}") from error


def _value(kind: Any, value: Any, path: str) -> Any:
    inner = _record_in(kind)
    if inner is Choice:
        return _choice_in(path.rpartition(".")[2], value)
    if inner is not None:
        return _record(inner, value, f"{path}.")
    if kind == tuple[Choice, ...]:
        if not isinstance(value, list):
            raise ConfigError(f"{path} is {value!r}, expected a list of policies")
        return tuple(_choice_in("policy", item) for item in value)
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        raise ConfigError(f"{path} is {value!r}, expected {_describe(kind)}") from None


def _choice_in(family: str, value: Any) -> Choice:
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or not isinstance(table.get("name", ""), str):
        raise ConfigError(f"{family} is {value!r}, expected a name or a table with a name")
    options = {key: option for key, option in table.items() if key != "name"}
    return choice(family, table.get("name"), options)


def choice(
    family: str, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Choice:
    """A plug-in by name (by default the paper's), with its options completed."""
    name = name or DEFAULTS[family]
    _, complete = _make(family, name, options or {})
    return Choice(family, name, complete)


def _make(family: str, name: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The object, and all of its options."""
    factory = resolve(family, name, FAMILIES[family])
    kinds = _option_types(family, name)
    for key in options:
        if key not in kinds:
            hint = nearest(key, kinds) if kinds else "it has no options"
            raise ConfigError(f"{family}.{key}: no such option of {name!r}; {hint}")
    values = {key: _value(kinds[key], v, f"{family}.{key}") for key, v in options.items()}
    try:
        made = factory if _is_itself(family, factory) else factory(**values)
    except ConfigError as error:
        raise ConfigError(f"{family}.{error}") from error
    except Exception as error:  # a plug-in may raise anything while it is made
        raise ConfigError(
            f"{family}: {name!r} cannot be made: {type(error).__name__}: {error}"
        ) from error
    complete = {key: _plain(getattr(made, key)) for key in kinds}
    return made, {key: value for key, value in complete.items() if value is not None}


def _is_itself(family: str, factory: Callable[..., Any]) -> bool:
    """A function of a problem and random numbers is a policy, not something that makes one."""
    if family != "policy" or not inspect.isfunction(factory):
        return False
    given = inspect.signature(factory).parameters.values()
    return sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in given) == 2


def _option_types(family: str, name: str) -> dict[str, Any]:
    """The options of a plug-in: the fields of its record (a plain function has none)."""
    try:
        factory: Any = resolve(family, name, FAMILIES[family])
    except ConfigError:
        return {}
    if isinstance(factory, partial):
        factory = factory.func
    if not is_dataclass(factory):
        return {}
    hints = get_type_hints(factory)
    return {f.name: hints[f.name] for f in fields(factory) if f.init and f.name != "name"}


def _plain(value: Any) -> Any:
    """Records as tables, tuples as lists, None left out."""
    if isinstance(value, Choice):
        return {"name": value.name, **value.options}
    if is_dataclass(value) and not isinstance(value, type):
        table = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {key: item for key, item in table.items() if item is not None}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _describe(kind: Any) -> str:
    """A type in words."""
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if kind in words:
        return words[kind]
    if get_origin(kind) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        return " or ".join(_describe(option) for option in options)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return f"a list, each {_describe(inner[0])}"
        return f"a list of {len(inner)}: {', '.join(_describe(option) for option in inner)}"
    return str(kind)
