"""
Users that train one model together: what a round of a simulation asks of learning.

Axes: ``U`` users, ``P`` parameters, ``n`` users of one round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Floats, Floats32, Ints
from fedroam.errors import ConfigError, ContractError, DivergedError, blaming, require
from fedroam.learning import datasets
from fedroam.learning.aggregation import Average, Server, State, WeightedMean, is_finite
from fedroam.learning.datasets import Recipe
from fedroam.learning.engine import Batch, StartEngine
from fedroam.learning.partition import Partition, PartitionRule, Shards
from fedroam.learning.processes import local_engine
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Trainer, TrainReport
from fedroam.learning.trainers import trainer_for
from fedroam.streams import stream


@dataclass(frozen=True)
class LearningSettings:
    """
    What is learnt, by which model, from which users' data, and how.

    ``dataset`` and ``trainer`` may be names or objects. Fractions below 1 take a random part of
    the samples, the same one under a seed: for quick looks.
    """

    dataset: str | Recipe = "mnist"
    partition: PartitionRule = field(default_factory=Shards)
    model: str = "cnn"
    trainer: str | Trainer = "native"
    local: LocalTraining = field(default_factory=LocalTraining)
    server: Server = field(default_factory=Average)
    train_fraction: float = 1.0
    test_fraction: float = 1.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        require(0 < self.train_fraction <= 1, "train_fraction", self.train_fraction, "in (0, 1]")
        require(0 < self.test_fraction <= 1, "test_fraction", self.test_fraction, "in (0, 1]")


class Federation:
    """
    The global model and the users that train it, round after round.

    Everything follows from ``settings``, ``users`` and ``seed``; ``workers`` (default: one for
    each core, 0: this process alone) only changes how long it takes, and so does ``start``, which
    may put the work elsewhere. To be closed after use, or used with ``with``.
    """

    def __init__(
        self,
        settings: LearningSettings,
        *,
        users: int,
        seed: int = 0,
        workers: int | None = None,
        folder: str | None = None,
        start: StartEngine | None = None,
    ) -> None:
        require(users >= 1, "users", users, ">= 1")
        with blaming(f"data set {_named(settings.dataset)}"):
            data = datasets.load(settings.dataset, folder)
        if not isinstance(data, Dataset):
            raise ContractError(
                f"data set {_named(settings.dataset)} loaded a {type(data).__name__}, "
                "expected a Dataset"
            )
        self.settings, self.seed = settings, seed
        self.dataset = _tested_part(data, settings.test_fraction, seed)
        self.partition = _divide(data, settings, users, seed)
        self.trainer = _trainer(settings, data)
        self._weights = self.trainer.initial(stream(seed, "weights"))
        self._server_state: State = settings.server.start(self.n_parameters)
        start = start or partial(local_engine, workers=workers)
        self._engine = start(self.trainer, self.dataset, self.partition, settings.local, seed=seed)

    @property
    def n_parameters(self) -> int:
        """P."""
        return self.trainer.n_parameters

    @property
    def payload_bit(self) -> float:
        """What a user sends: 32 bits a parameter."""
        return 32.0 * self.n_parameters

    @property
    def samples_per_user(self) -> Ints:
        """``[U]``."""
        return self.partition.counts

    @property
    def label_histograms(self) -> Ints:
        """``[U, L]`` how many samples of each class each user holds."""
        return self.partition.label_histograms(self.dataset.train_y, self.dataset.n_classes)

    @property
    def weights(self) -> Floats32:
        """``[P]`` the global model; read-only."""
        view = self._weights.view()
        view.flags.writeable = False
        return view

    @property
    def weights_sha256(self) -> str:
        """SHA-256 of the global weights as little-endian float32."""
        return sha256(self._weights.astype("<f4").tobytes()).hexdigest()

    def train(self, round: int, users: Ints) -> TrainReport:
        """
        Let ``users`` train from the global model, and move it by what they send.

        It stays as it was when nobody sends anything fit, and when an error is raised.
        """
        users = self._known(users)
        mean = WeightedMean(self.n_parameters)
        loss: dict[int, float] = {}
        samples: dict[int, int] = {}

        def take(batch: Batch) -> None:
            fit = batch.is_fit
            mean.add_rows(batch.rows, batch.row[fit], batch.n_samples[fit])
            loss.update(zip(batch.users[fit].tolist(), batch.loss[fit], strict=True))
            samples.update(zip(batch.users[fit].tolist(), batch.n_samples[fit], strict=True))

        self._engine.train(self._weights, round, users, take)
        value = mean.finish()
        if value is not None:
            self._weights, self._server_state = self._stepped(value, round)
        taken = np.array([int(user) in loss for user in users], np.bool_)
        return TrainReport(
            users=users[taken],
            loss=np.array([loss[int(user)] for user in users[taken]], np.float64),
            samples=np.array([samples[int(user)] for user in users[taken]], np.int64),
            refused=users[~taken],
        )

    def _stepped(self, mean: Floats, round: int) -> tuple[Floats32, State]:
        """What the server rule makes of the mean; a plug-in may raise or answer anything."""
        culprit = f"server {_named(self.settings.server)}"
        with blaming(f"{culprit} in round {round}"):
            weights, state = self.settings.server.step(self._weights, mean, self._server_state)
            if weights.shape != mean.shape or weights.dtype != np.float32:
                raise ContractError(
                    f"{culprit} answered {weights.dtype}{weights.shape} in round {round}, "
                    f"expected float32{mean.shape}"
                )
        if not is_finite(weights):
            raise DivergedError(f"{culprit} answered nan or infinity in round {round}")
        return weights, state

    def evaluate(self) -> Evaluation:
        """Test the global model."""
        return self._engine.evaluate(self._weights)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next round depends on, as arrays by name."""
        server = {f"server.{name}": array.copy() for name, array in self._server_state.items()}
        return {"weights": self._weights.copy(), **server}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from ``state()``, in this process or another, to the same bits."""
        expected = self.state()
        if state.keys() != expected.keys():
            raise ConfigError(f"state holds {sorted(state)}, expected {sorted(expected)}")
        for name, array in expected.items():
            found = state[name]
            if found.shape != array.shape or found.dtype != array.dtype:
                got, wanted = f"{found.dtype}{found.shape}", f"{array.dtype}{array.shape}"
                raise ConfigError(f"state: {name!r} is {got}, expected {wanted}")
        self._weights = np.array(state["weights"])
        self._server_state = {
            name: np.array(state[f"server.{name}"]) for name in self._server_state
        }

    def close(self) -> None:
        """End the worker processes; they come back if the federation is used again."""
        self._engine.close()

    def __enter__(self) -> "Federation":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The worker processes that are alive."""
        return self._engine.crew.pids

    def _known(self, users: Ints) -> Ints:
        given = np.asarray(users, np.int64)
        n_users = self.partition.n_users
        if np.unique(given).size != given.size:
            raise ContractError("a user is asked to train twice in a round")
        if given.size and not (given.min() >= 0 and given.max() < n_users):
            raise ContractError(f"user {given.max()} is asked to train, there are {n_users}")
        return given


def _named(plugin: object) -> str:
    """What to call a plug-in in a message."""
    return str(getattr(plugin, "name", None) or type(plugin).__name__)


def _trainer(settings: LearningSettings, data: Dataset) -> Trainer:
    if isinstance(settings.trainer, str):
        with blaming(f"trainer {settings.trainer!r}"):
            return trainer_for(data, settings.model, settings.trainer, settings.device)
    return settings.trainer


def _divide(data: Dataset, settings: LearningSettings, users: int, seed: int) -> Partition:
    """The partition of the part of the training set that is used, in numbers of the whole set."""
    part = _part(len(data.train_y), settings.train_fraction, seed, "train")
    with blaming(f"partition {_named(settings.partition)}"):
        divided = settings.partition(data.train_y[part], users, stream(seed, "partition"))
        return Partition(divided.indptr, part[divided.sample])


def _tested_part(data: Dataset, fraction: float, seed: int) -> Dataset:
    """The data set with that part of the test set that is used."""
    if fraction == 1:
        return data
    part = _part(len(data.test_y), fraction, seed, "test")
    return Dataset(
        data.name,
        data.n_classes,
        data.train_x,
        data.train_y,
        data.test_x[part],
        data.test_y[part],
        data.mean,
        data.std,
    )


def _part(n: int, fraction: float, seed: int, name: str) -> Ints:
    """A random part of ``n`` samples, rising; at least one."""
    if fraction == 1:
        return np.arange(n)
    return np.sort(stream(seed, "part", name).permutation(n)[: max(1, round(n * fraction))])
