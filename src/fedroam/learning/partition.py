"""
Who holds which samples.

Axes: ``N`` samples of the training set, ``U`` users, ``L`` classes. A rule is a frozen parameter
record with one ``__call__``; no sample is ever held by two users.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Ints, as_array, freeze
from fedroam.errors import ContractError, require

Labels = NDArray[Any]


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """The samples of user ``u`` are ``sample[indptr[u] : indptr[u + 1]]``, in rising order."""

    indptr: Ints  # [U + 1]
    sample: Ints

    def __post_init__(self) -> None:
        indptr = as_array("indptr", self.indptr, np.int64, (None,))
        sample = as_array("sample", self.sample, np.int64, (None,))
        good = indptr.ndim == 1 and indptr.size > 0 and indptr[0] == 0
        if not (good and indptr[-1] == sample.size and (np.diff(indptr) >= 0).all()):
            raise ContractError(f"indptr does not cut {sample.size} samples into users' parts")
        object.__setattr__(self, "indptr", indptr)
        object.__setattr__(self, "sample", sample)
        freeze(self)

    @property
    def n_users(self) -> int:
        """U."""
        return self.indptr.size - 1

    @property
    def counts(self) -> Ints:
        """``[U]`` samples of each user."""
        return np.diff(self.indptr)

    def samples_of(self, user: int) -> Ints:
        """The samples that ``user`` holds; a view."""
        return self.sample[self.indptr[user] : self.indptr[user + 1]]

    def label_histograms(self, labels: Labels, n_classes: int) -> Ints:
        """``[U, L]`` how many samples of each class each user holds."""
        owner = np.repeat(np.arange(self.n_users), self.counts)
        cell = owner * n_classes + labels[self.sample].astype(np.int64)
        return np.bincount(cell, minlength=self.n_users * n_classes).reshape(-1, n_classes)


class PartitionRule(Protocol):
    """Divides a training set among users."""

    def __call__(self, labels: Labels, n_users: int, rng: np.random.Generator) -> Partition:
        """Every user's samples; ``labels`` is ``[N]``."""
        ...


@dataclass(frozen=True)
class Shards:
    """
    The paper's split: sort by label, cut into ``shards`` equal parts, deal ``per_user`` to each.

    Where the classes are balanced (FashionMNIST, CIFAR-10) every label makes ``shards / L`` parts
    and a user meets at most ``per_user`` labels. MNIST's are not: equal parts of one label each
    and the whole set divided exclude each other. By default the parts are equal and the nine that
    lie across a border hold two labels; with ``pure`` each label is cut by itself into equal parts
    as large as the rarest label allows, and what is over is held by nobody (a tenth of MNIST).

    ``shards = 0`` makes as many as the users need. Parts that are not dealt are held by nobody.
    """

    shards: int = 100
    per_user: int = 2
    pure: bool = False

    def __post_init__(self) -> None:
        require(self.shards >= 0, "shards", self.shards, ">= 1, or 0 for as many as needed")
        require(self.per_user >= 1, "per_user", self.per_user, ">= 1")

    def __call__(self, labels: Labels, n_users: int, rng: np.random.Generator) -> Partition:
        """Shards are drawn without replacement."""
        _require_users(labels, n_users)
        needed = n_users * self.per_user
        shards = self.shards or needed
        expected = f">= {needed}: {n_users} users get {self.per_user} each"
        require(shards >= needed, "shards", shards, expected)
        expected = f"<= {labels.size}, the number of samples"
        require(shards <= labels.size, "shards", shards, expected)
        sample, cuts = _pure_cuts(labels, shards) if self.pure else _even_cuts(labels, shards)
        dealt = rng.permutation(shards)[:needed]
        holder = np.full(shards, -1)
        holder[dealt] = np.repeat(np.arange(n_users), self.per_user)
        return _grouped(sample, np.repeat(holder, np.diff(cuts)), n_users)


@dataclass(frozen=True)
class Iid:
    """Everybody holds a uniform sample of everything; sizes differ by one at most."""

    def __call__(self, labels: Labels, n_users: int, rng: np.random.Generator) -> Partition:
        """Shuffle and cut."""
        _require_users(labels, n_users)
        holder = np.arange(labels.size) * n_users // labels.size
        return _grouped(rng.permutation(labels.size), holder, n_users)


@dataclass(frozen=True)
class Dirichlet:
    """
    Each class is divided among the users in proportions drawn from Dirichlet(alpha, ..., alpha).

    Small ``alpha`` gives each user few classes and users of very different sizes; large ``alpha``
    tends to equal shares. Users that would hold less than ``min_samples`` are filled up from the
    largest ones, so that the draw always succeeds. Reference: Yurochkin et al., Bayesian
    nonparametric federated learning of neural networks, ICML 2019, section 4.
    """

    alpha: float = 0.5
    min_samples: int = 1

    def __post_init__(self) -> None:
        require(1e-3 <= self.alpha < np.inf, "alpha", self.alpha, ">= 0.001 and finite")
        require(self.min_samples >= 1, "min_samples", self.min_samples, ">= 1")

    def __call__(self, labels: Labels, n_users: int, rng: np.random.Generator) -> Partition:
        """Covers the whole set."""
        _require_users(labels, n_users)
        most = labels.size // n_users
        expected = f"<= {most}: {labels.size} samples for {n_users} users"
        require(self.min_samples <= most, "min_samples", self.min_samples, expected)
        sample = rng.permutation(labels.size)
        holder = np.empty(labels.size, np.int64)
        for label in np.unique(labels):
            held = np.flatnonzero(labels[sample] == label)
            share = np.cumsum(rng.dirichlet(np.full(n_users, self.alpha)))
            cuts = np.rint(share / share[-1] * held.size).astype(np.int64)
            holder[held] = np.searchsorted(cuts, np.arange(held.size), side="right")
        _fill_up(holder, n_users, self.min_samples)
        return _grouped(sample, holder, n_users)


PARTITIONS: Mapping[str, Callable[..., PartitionRule]] = {
    "shards": Shards,
    "iid": Iid,
    "dirichlet": Dirichlet,
}


def _require_users(labels: Labels, n_users: int) -> None:
    require(n_users >= 1, "n_users", n_users, ">= 1")
    require(n_users <= labels.size, "n_users", n_users, f"<= {labels.size}, the number of samples")


def _even_cuts(labels: Labels, shards: int) -> tuple[Ints, Ints]:
    """All samples sorted by label, and where to cut them; sizes differ by one at most."""
    return np.argsort(labels, kind="stable"), np.arange(shards + 1) * labels.size // shards


def _pure_cuts(labels: Labels, shards: int) -> tuple[Ints, Ints]:
    """As many samples of each label as make equal shards of one label, and where to cut them."""
    kinds, counts = np.unique(labels, return_counts=True)
    expected = f"a multiple of {kinds.size}, the number of labels, with pure shards"
    require(shards % kinds.size == 0, "shards", shards, expected)
    each = shards // kinds.size
    size = int(counts.min()) // each
    expected = f"<= {counts.min() * kinds.size}: the rarest label has {counts.min()} samples"
    require(size >= 1, "shards", shards, expected)
    kept = [np.flatnonzero(labels == kind)[: each * size] for kind in kinds]
    return np.concatenate(kept), np.arange(shards + 1) * size


def _grouped(sample: Ints, holder: Ints, n_users: int) -> Partition:
    """Samples by user and then by number; those of user -1 are left out."""
    held = holder >= 0
    sample, holder = sample[held], holder[held]
    order = np.lexsort((sample, holder))
    counts = np.bincount(holder, minlength=n_users)
    return Partition(np.concatenate([[0], np.cumsum(counts)]), sample[order])


def _fill_up(holder: Ints, n_users: int, least: int) -> None:
    """Give samples of the largest users, in place, to those who hold less than ``least``."""
    counts = np.bincount(holder, minlength=n_users)
    wanted = np.maximum(least - counts, 0)
    missing = int(wanted.sum())
    if missing == 0:
        return
    spare = np.maximum(counts - _level(counts, missing, least), 0)
    order = np.argsort(holder, kind="stable")
    rank = np.arange(holder.size) - np.repeat(np.cumsum(counts) - counts, counts)
    given = order[rank < np.repeat(spare, counts)]
    # The level is whole, so slightly more may be on offer than is missing: take evenly.
    taken = given[np.arange(missing) * given.size // missing]
    holder[taken] = np.repeat(np.arange(n_users), wanted)


def _level(counts: Ints, missing: int, least: int) -> int:
    """The largest size to which the largest users can be cut to yield ``missing`` samples."""
    low, high = least, int(counts.max())
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.maximum(counts - middle, 0).sum()) >= missing:
            low = middle
        else:
            high = middle - 1
    return low
