"""
The experiments: the paper's three, and how much they hang on what the paper leaves open.

A study has a profile (``quick``: a tenth of the data, half the local epochs, five seeds;
``paper``: all data, ten epochs, one seed) and a data set. ``timing`` is a data set too: nothing is
learnt, so there are twenty seeds and a hundred rounds, in seconds.

These settings are what ``docs/results`` was computed with. Another value here is another
experiment: folders that hold the old one are refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedroam.comparison import Cell, cells_of
from fedroam.comparison.sweep import Point
from fedroam.errors import ConfigError, nearest
from fedroam.runs import Settings, parse
from fedroam.runs.settings import put

PROFILES = ("quick", "paper")
LEARNT = ("mnist", "fashion-mnist", "cifar10")
TIMING = "timing"
DATASETS = (*LEARNT, TIMING)

POLICIES = ("dagsa", "certified", "random", "uniform", "fedcs-low", "fedcs-high", "all")

MARKS = {
    "mnist": [0.5, 0.8, 0.85, 0.9, 0.925, 0.95],
    "fashion-mnist": [0.5, 0.6, 0.65, 0.7, 0.75, 0.8],
    "cifar10": [0.2, 0.25, 0.3, 0.35, 0.4, 0.45],
}
"""Accuracies whose times are told, by how hard the sets are."""

SLOWEST_S = {"mnist": 20.0, "fashion-mnist": 20.0, "cifar10": 40.0}
"""How long the quick runs last, in simulated seconds."""

SPEEDS = {"quick": (0.0, 5.0, 10.0, 20.0, 50.0), "paper": (0.0, 20.0, 50.0)}

PAYLOADS = ((698_880.0, 20.0), (2e6, 50.0), (53e6, 1160.0))
"""Bits, and simulated seconds in which DAGSA has about as many rounds as at the first."""

THRESHOLDS_S = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.5)


@dataclass(frozen=True)
class Study:
    """One experiment: what is compared, and at which points if it is a sweep."""

    name: str
    says: str
    datasets: tuple[str, ...]  # those of the paper, or those that are taken for it
    change: Mapping[str, Any]  # of the settings that all studies start from
    points: Callable[[str, str], list[Point]] | None = None  # by profile and data set

    def piece(self, profile: str, dataset: str, out: Path, seeds: int | None = None) -> "Piece":
        """The study with everything chosen."""
        table = _table(profile, self.name, dataset)
        for path, value in self.change.items():
            put(table, path, value)
        if seeds is not None:
            table["compare"]["seeds"] = seeds
        folder = out / profile / self.name / dataset
        points = self.points(profile, dataset) if self.points else []
        if profile == "paper" and self.name == "fig3" and dataset != TIMING:
            table["compare"]["policies"] = ["dagsa"]
        return Piece(self.name, profile, dataset, folder, table, tuple(points))


@dataclass(frozen=True)
class Piece:
    """A study in one profile on one data set: a comparison's folder, or a sweep's."""

    study: str
    profile: str
    dataset: str
    folder: Path
    table: dict[str, Any]
    points: tuple[Point, ...] = ()

    @property
    def name(self) -> str:
        """As it is called on the screen and in folders."""
        return f"{self.profile}/{self.study}/{self.dataset}"

    @property
    def settings(self) -> Settings:
        """The settings of the comparison (of a sweep: at no point of it)."""
        return parse(self.table)

    def cells(self) -> list[Cell]:
        """The points of a sweep, with their settings and folders."""
        return cells_of(self.table, self.points, self.folder)


def _speeds(profile: str, dataset: str) -> list[Point]:
    """Both readings of the direction at every speed; standing still they are one."""
    del dataset
    return [
        {"mobility.speed_m_s": speed, "mobility.turn_every": turn}
        for turn in ("round", "never")
        for speed in SPEEDS[profile]
    ]


def _payloads(profile: str, dataset: str) -> list[Point]:
    """The small network's bits, CIFAR-10's, and those of one with 1.66 million parameters."""
    del profile
    if dataset == TIMING:
        return [{"world.payload_bit": bits} for bits, _ in PAYLOADS]
    return [{"world.payload_bit": bits, "stop.time_s": time_s} for bits, time_s in PAYLOADS]


def _values(path: str, *values: Any) -> Callable[[str, str], list[Point]]:
    return lambda profile, dataset: [{path: value} for value in values]


def _thresholds() -> dict[str, Any]:
    """FedCS at many thresholds beside those who need none."""
    fedcs = [{"name": "fedcs", "threshold_s": s} for s in THRESHOLDS_S]
    return {
        "compare.policies": ["dagsa", "certified", *fedcs],
        "compare.labels": ["dagsa", "certified", *(f"fedcs-{s:g}" for s in THRESHOLDS_S)],
    }


THREE = {"compare.policies": ["dagsa", "certified", "random"]}

STUDIES = {
    study.name: study
    for study in (
        Study("fig1", "accuracy against time under all policies", LEARNT, {}),
        Study(
            "fig2",
            "the same with unequal bands, U[0.5, 1.5] MHz",
            ("fashion-mnist",),
            {"world.band_spread": 0.5},
        ),
        Study(
            "fig3",
            "users at several speeds that turn every round, or never",
            ("fashion-mnist",),
            {"compare.policies": ["dagsa", "certified"]},
            _speeds,
        ),
        Study("threshold", "FedCS at many thresholds", (TIMING, "fashion-mnist"), _thresholds()),
        Study("payload", "0.7, 2 and 53 Mbit", (TIMING, "fashion-mnist"), THREE, _payloads),
        Study(
            "rho1",
            "how often each user has to take part",
            (TIMING, "fashion-mnist"),
            THREE,
            _values("fairness.rho1", 0.0, 0.05, 0.1, 0.2, 0.3),
        ),
        Study(
            "reading",
            "rho1 read strictly, in whole selections, or spread over the rounds",
            (TIMING, "fashion-mnist"),
            THREE,
            _values("fairness.reading", "strict", "floor", "staggered"),
        ),
        Study(
            "rho2",
            "how many users take part in each round",
            (TIMING, "fashion-mnist"),
            THREE,
            _values("fairness.rho2", 0.1, 0.3, 0.5, 0.7, 0.9),
        ),
    )
}

GROUPS = {
    "all": ("fig1", "fig2", "fig3"),
    "sensitivity": ("threshold", "payload", "rho1", "reading", "rho2"),
}


def pieces(
    name: str,
    out: Path,
    *,
    profile: str = "quick",
    datasets: tuple[str, ...] = (),
    seeds: int | None = None,
) -> list[Piece]:
    """What ``fedroam reproduce NAME`` plays, in order."""
    known = (*STUDIES, *GROUPS)
    if name not in known:
        raise ConfigError(f"reproduce: no {name!r}; {nearest(name, known)}")
    if profile not in PROFILES:
        raise ConfigError(f"profile: no {profile!r}; {nearest(profile, PROFILES)}")
    for dataset in datasets:
        if dataset not in DATASETS:
            raise ConfigError(f"dataset: no {dataset!r}; {nearest(dataset, DATASETS)}")
    studies = [STUDIES[n] for n in GROUPS.get(name, (name,))]
    return [
        study.piece(profile, dataset, out, seeds)
        for study in studies
        for dataset in datasets or study.datasets
    ]


def _table(profile: str, study: str, dataset: str) -> dict[str, Any]:
    """The paper's first experiment, from which the others are changes."""
    table: dict[str, Any] = {
        "name": f"{profile}-{study}-{dataset}",
        "seed": 0,
        "record": {"certify": "prices"},
        "compare": {"policies": list(POLICIES), "seeds": 5 if profile == "quick" else 1},
    }
    if dataset == TIMING:
        table["stop"] = {"rounds": 100}
        table["compare"]["seeds"] = 20
        if study not in GROUPS["all"]:
            del table["record"]  # bounds take longer than the rounds
        return table
    quick = profile == "quick"
    table["stop"] = {"time_s": SLOWEST_S[dataset] if quick else 30.0}
    table["learning"] = {
        "dataset": dataset,
        "model": "lenet" if dataset == "cifar10" else "cnn",
        "train_fraction": 0.1 if quick else 1.0,
        "test_fraction": 0.3 if quick else 1.0,
        "local": {"local_epochs": 5, "lr": 0.05} if quick else {"local_epochs": 10, "lr": 0.01},
    }
    table["compare"]["accuracies"] = MARKS[dataset]
    table["compare"]["times_s"] = [5.0, 10.0, 20.0] + ([30.0] if not quick else [])
    return table
