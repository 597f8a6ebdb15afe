"""The native trainer: fedroam's own compiled kernels for the built-in networks."""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bytes, Floats32, Ints
from fedroam.errors import require
from fedroam.learning.batches import batch_order, check_images, check_request
from fedroam.learning.models import Network, image_format
from fedroam.learning.native.plan import plan
from fedroam.learning.native.training import evaluate, train
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Update

_EVALUATION_BATCH = 64


@dataclass(frozen=True)
class NativeTrainer:
    """
    Trains a network with the batch innermost, on one core, without PyTorch.

    The batches of an epoch are consecutive slices of ``rng.permutation(n)``, the last one being
    smaller where ``batch`` does not divide ``n``. A training that diverges gives nan or infinite
    weights, as it would in PyTorch.
    """

    network: Network

    def __post_init__(self) -> None:
        plan(self.network, 1)  # refuses what it cannot run

    @property
    def n_parameters(self) -> int:
        """The length of the flat vector."""
        return self.network.n_parameters

    def initial(self, rng: np.random.Generator) -> Floats32:
        """Fresh weights, ``[P]``: PyTorch's default distribution."""
        return self.network.initial(rng)

    def train(
        self,
        weights: Floats32,
        dataset: Dataset,
        samples: Ints,
        how: LocalTraining,
        rng: np.random.Generator,
    ) -> Update:
        """The weights after ``how.local_epochs`` over ``samples``, from ``weights``."""
        self._check(weights, dataset, dataset.train_x, samples)
        batch = min(how.batch, samples.size)
        task, trained = plan(self.network, batch), np.array(weights, np.float32)
        loss = train(
            task.layers,
            trained,
            _data(dataset, dataset.train_x, dataset.train_y),
            batch_order(samples, how.local_epochs, rng),
            batch,
            (np.float32(how.lr), np.float32(how.momentum), np.float32(how.prox)),
            task.workspace(),
        )
        return Update(trained, int(samples.size), loss)

    def evaluate(self, weights: Floats32, dataset: Dataset, samples: Ints) -> Evaluation:
        """Loss and hits on ``samples`` of the test set."""
        self._check(weights, dataset, dataset.test_x, samples)
        task = plan(self.network, _EVALUATION_BATCH)
        hits = np.zeros((2, dataset.n_classes), np.int64)
        loss_sum = evaluate(
            task.layers,
            np.array(weights, np.float32),
            _data(dataset, dataset.test_x, dataset.test_y),
            np.array(samples, np.int64),
            _EVALUATION_BATCH,
            hits,
            task.workspace(),
        )
        return Evaluation(loss_sum, hits[0], hits[1])

    def _check(self, weights: Floats32, dataset: Dataset, images: Bytes, samples: Ints) -> None:
        network = self.network
        expected = network.channels, network.side, network.n_classes
        check_images(expected, image_format(dataset), dataset.name)
        check_request(self.n_parameters, weights, images, samples)


def _data(dataset: Dataset, images: Bytes, labels: Bytes) -> tuple[Bytes, Bytes, Floats32]:
    """
    Flat images, labels, and a factor and a summand per channel that normalise pixels.

    Read-only, so that arrays and memory maps have one type and are compiled for once.
    """
    flat, labels = images.reshape(len(images), -1).view(), labels.view()
    mean, std = np.array(dataset.mean), np.array(dataset.std)
    require(bool(np.all(std > 0)), f"data set {dataset.name!r}: std", dataset.std, "> 0")
    scale = np.stack([1 / (255 * std), -mean / std], axis=1).astype(np.float32)
    flat.flags.writeable = labels.flags.writeable = False
    return np.asarray(flat), np.asarray(labels), scale
