"""
Play a comparison's members, each in its own run folder, and gather what they say.

Members are independent runs, so they may be played by any number of processes, stopped, and gone
on with: the tables come out the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.arrays import Floats
from fedroam.comparison.players import PlayParts, play_in_processes
from fedroam.errors import ConfigError, nearest
from fedroam.runs import Progress, RunFolder, Settings, play
from fedroam.runs.settings import Choice, Comparing, choice

DEFAULT_POLICIES = ("dagsa", "random", "uniform", "fedcs-low", "fedcs-high", "all")


@dataclass(frozen=True)
class Member:
    """One policy under one seed."""

    label: str
    settings: Settings
    folder: Path


@dataclass(frozen=True, eq=False)
class Comparison:
    """The summaries of all members; axes ``[policy, seed]``."""

    labels: tuple[str, ...]
    seeds: tuple[int, ...]
    summaries: tuple[tuple[dict[str, Any], ...], ...]
    folders: tuple[tuple[Path, ...], ...]

    def values(self, label: str, measure: str) -> Floats:
        """One measure of one policy, seed by seed."""
        row = self.summaries[self.labels.index(label)]
        return np.array([summary.get(measure, np.nan) for summary in row], float)


def members_of(settings: Settings, folder: Path) -> list[list[Member]]:
    """All members, ``[policy][seed]``, and where each is played."""
    policies = settings.compare.policies or tuple(
        choice("policy", name) for name in DEFAULT_POLICIES
    )
    labels = settings.compare.labels or tuple(_labels(policies))
    if len(labels) != len(policies):
        raise ConfigError(
            f"compare.labels has {len(labels)} entries, expected {len(policies)}, one a policy"
        )
    if len(set(labels)) != len(labels):
        raise ConfigError(f"compare.labels are {list(labels)}, expected each once")
    if (against := settings.compare.against) and against not in labels:
        raise ConfigError(f"compare.against: no {against!r}; {nearest(against, labels)}")
    return [
        [
            Member(
                label,
                replace(settings, name=label, policy=policy, seed=seed, compare=Comparing()),
                folder / label.replace("/", "-") / f"seed-{seed}",
            )
            for seed in range(settings.seed, settings.seed + settings.compare.seeds)
        ]
        for label, policy in zip(labels, policies, strict=True)
    ]


def _labels(policies: tuple[Choice, ...]) -> list[str]:
    """The policies' names, numbered where one is given more than once with other options."""
    names = [policy.name.rpartition(":")[2] for policy in policies]
    return [
        name if names.count(name) == 1 else f"{name}-{names[:i].count(name) + 1}"
        for i, name in enumerate(names)
    ]


def play_all(
    members: list[list[Member]],
    workers: int = 1,
    on_progress: Callable[[Member, Progress], None] = lambda member, progress: None,
    elsewhere: PlayParts | None = None,
) -> Comparison:
    """
    Play what has not been played yet; the first failure stops the comparison and is raised.

    ``workers`` processes of this machine play, or whoever ``elsewhere`` is.
    """
    flat = [member for row in members for member in row]
    if elsewhere is None and workers <= 1:
        for member in flat:
            play(member.settings, member.folder, lambda p, m=member: on_progress(m, p))  # type: ignore[misc]
    else:
        parts = [(member.settings, member.folder) for member in flat]
        play_parts = elsewhere or partial(play_in_processes, workers)
        play_parts(parts, lambda i, p: on_progress(flat[i], p))
    return read_comparison(members)


def read_comparison(members: list[list[Member]]) -> Comparison:
    """What the members' folders say."""
    return Comparison(
        labels=tuple(row[0].label for row in members),
        seeds=tuple(member.settings.seed for member in members[0]),
        summaries=tuple(tuple(RunFolder(m.folder).summary for m in row) for row in members),
        folders=tuple(tuple(m.folder for m in row) for row in members),
    )
