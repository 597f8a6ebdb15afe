"""
What data, updates and evaluations look like, and what a trainer can do.

Axes: ``N`` samples, ``C`` channels, ``H`` rows, ``W`` columns, ``P`` parameters, ``L`` classes.
Weights are one flat float32 vector everywhere outside the trainers, so averaging, sending,
saving and hashing them needs to know nothing of layers.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedroam.arrays import Bytes, Floats, Floats32, Ints, freeze
from fedroam.errors import require


@dataclass(frozen=True, eq=False, slots=True)
class Dataset:
    """Images and labels; the arrays may be memory maps that worker processes share."""

    name: str
    n_classes: int
    train_x: Bytes  # [N, C, H, W] pixels 0..255
    train_y: Bytes  # [N]
    test_x: Bytes  # [M, C, H, W]
    test_y: Bytes  # [M]
    mean: tuple[float, ...]  # per channel, of pixels / 255 over the training set
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True)
class LocalTraining:
    """How one user trains: plain SGD over its own samples, as in the paper."""

    local_epochs: int = 10
    batch: int = 32
    lr: float = 0.01
    momentum: float = 0.0
    prox: float = 0.0  # FedProx: adds prox / 2 * ||w - w_global||^2 to the local loss

    def __post_init__(self) -> None:
        require(self.local_epochs >= 1, "local_epochs", self.local_epochs, ">= 1")
        require(self.batch >= 1, "batch", self.batch, ">= 1")
        require(0 < self.lr < np.inf, "lr", self.lr, "> 0")
        require(0 <= self.momentum < 1, "momentum", self.momentum, "in [0, 1)")
        require(0 <= self.prox < np.inf, "prox", self.prox, ">= 0")


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """What one user sends back."""

    weights: Floats32  # [P]
    n_samples: int
    loss: float  # mean training loss over the last local epoch


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """How good a model is on a test set (or on a part of it: parts add up)."""

    loss_sum: float
    correct: Ints  # [L] per true class
    count: Ints  # [L]

    @property
    def accuracy(self) -> float:
        """The share of samples whose label is predicted."""
        return float(self.correct.sum() / self.count.sum())

    @property
    def loss(self) -> float:
        """Mean cross-entropy."""
        return float(self.loss_sum / self.count.sum())


@dataclass(frozen=True, eq=False, slots=True)
class TrainReport:
    """What became of the users of a round."""

    users: Ints  # [n] whose updates were averaged, in the order they were asked for
    loss: Floats  # [n] mean training loss over the last local epoch
    samples: Ints  # [n]
    refused: Ints  # users whose updates held a NaN or an infinity, or no samples

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def n_refused(self) -> int:
        """How many updates never entered the model."""
        return int(self.refused.size)


class Trainer(Protocol):
    """
    One model architecture that can be started, trained and evaluated.

    A trainer is a frozen parameter record without state: equal arguments give equal bits, in any
    process of one machine.
    """

    @property
    def n_parameters(self) -> int:
        """P, which also sets the default payload: 32 bits a parameter."""
        ...

    def initial(self, rng: np.random.Generator) -> Floats32:
        """Freshly drawn weights, ``[P]``."""
        ...

    def train(
        self,
        weights: Floats32,
        dataset: Dataset,
        samples: Ints,
        how: LocalTraining,
        rng: np.random.Generator,
    ) -> Update:
        """Train from ``weights`` on ``samples``; ``rng`` gives the order of the batches."""
        ...

    def evaluate(self, weights: Floats32, dataset: Dataset, samples: Ints) -> Evaluation:
        """Loss and hits on ``samples`` of the test set."""
        ...
