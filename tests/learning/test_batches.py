"""The order of the batches, and what both trainers refuse."""

import numpy as np
import pytest

from fedroam.errors import ConfigError
from fedroam.learning.batches import batch_order
from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.records import LocalTraining
from fedroam.learning.torch_trainer import TorchTrainer
from learning.toys import toy_images


def test_an_epoch_is_a_permutation_of_the_samples():
    """Each epoch holds every sample once, in the order that the generator gives."""
    order = batch_order(np.array([4, 8, 15]), 5, np.random.default_rng(0))
    assert order.shape == (5, 3)
    assert all(sorted(epoch) == [4, 8, 15] for epoch in order.tolist())
    rng = np.random.default_rng(0)
    assert order[0].tolist() == np.array([4, 8, 15])[rng.permutation(3)].tolist()


@pytest.mark.parametrize("kind", [NativeTrainer, TorchTrainer])
@pytest.mark.parametrize(
    ("samples", "size", "side", "message"),
    [
        ([], 0, 16, "at least one"),
        ([0, 96], 0, 16, r"\(0, 96\), expected in 0\.\.95"),
        ([-1], 0, 16, "-1"),
        ([0], 1, 16, "weights: shape"),
        ([0], 0, 20, r"\(1, 20, 10\), expected \(1, 16, 10\)"),
    ],
    ids=["no sample", "beyond the end", "negative", "weights", "other images"],
)
def test_impossible_requests_are_refused(kind, samples, size, side, message):
    """No trainer reads outside its arrays: kernels do not check indices, so this must."""
    trainer = kind(MODELS["cnn"](1, 16, 10))
    weights = np.zeros(trainer.n_parameters + size, np.float32)
    dataset, chosen = toy_images(side=side), np.array(samples, np.int64)
    with pytest.raises(ConfigError, match=message):
        trainer.train(weights, dataset, chosen, LocalTraining(), np.random.default_rng(0))
    with pytest.raises(ConfigError, match=message):
        trainer.evaluate(weights, dataset, chosen)
