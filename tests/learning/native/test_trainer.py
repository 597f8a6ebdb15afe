"""The native trainer against PyTorch, against finite differences, and at its edges."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from fedroam.errors import ConfigError
from fedroam.learning.models import MODELS, Conv, Dense, Model, Pool, Relu
from fedroam.learning.native import NativeTrainer
from fedroam.learning.native.vectors import LANES
from fedroam.learning.records import LocalTraining
from learning.plain import assert_same_training, plain_images, plain_module, plain_training
from learning.toys import toy_images

ODD = Model("odd", (Conv(7, pad=1), Relu(), Pool(), Conv(3, pad=4), Pool(), Relu(), Dense()))
NARROW = Model("narrow", (Conv(1), Pool(), Relu(), Dense(1), Relu(), Dense(3), Dense()))
RECIPES = {**MODELS, "odd": ODD, "narrow": NARROW}


def drawn(network, seed=1):
    """First weights of a network."""
    return network.initial(np.random.default_rng(seed))


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(("channels", "side"), [(1, 16), (3, 21)])
def test_a_local_training_is_torchs(name, channels, side):
    """Three epochs with a partial last batch, momentum and prox: equal to float32 rounding."""
    dataset = toy_images(channels, side, n_classes=5)
    network = RECIPES[name].network(dataset)
    how = LocalTraining(local_epochs=3, batch=20, lr=0.02, momentum=0.5, prox=0.3)
    weights, samples = drawn(network), np.arange(3, 66)
    ours = NativeTrainer(network).train(weights, dataset, samples, how, np.random.default_rng(2))
    theirs, loss = plain_training(network, weights, dataset, samples, how, np.random.default_rng(2))
    assert_same_training(ours.weights, theirs, weights)
    assert ours.loss == pytest.approx(loss, rel=1e-5)
    assert ours.n_samples == 63


@pytest.mark.parametrize("batch", [1, 2, LANES, LANES + 1, 3 * LANES, 96, 1000])
def test_any_batch_is_torchs(batch):
    """Fewer samples than lanes, whole groups, odd numbers of groups, more than there are."""
    dataset = toy_images()
    network = MODELS["cnn"].network(dataset)
    how, weights = LocalTraining(local_epochs=1, batch=batch, lr=0.02), drawn(network)
    samples = np.arange(96)
    ours = NativeTrainer(network).train(weights, dataset, samples, how, np.random.default_rng(2))
    theirs, _ = plain_training(network, weights, dataset, samples, how, np.random.default_rng(2))
    assert_same_training(ours.weights, theirs, weights)


@pytest.mark.parametrize("name", ["odd", "narrow", "logistic"])
def test_gradients_are_finite_differences(name):
    """One step of SGD goes down the slope of the loss, computed in float64 without any gradient."""
    dataset = toy_images(2, 11, n_classes=3, n=4)
    network = RECIPES[name].network(dataset)
    weights = drawn(network, seed=4).astype(np.float64)
    lr = 0.125  # a power of two: dividing the step by it is exact
    update = NativeTrainer(network).train(
        weights.astype(np.float32),
        dataset,
        np.arange(4),
        LocalTraining(local_epochs=1, batch=4, lr=lr),
        np.random.default_rng(0),
    )
    slope = (weights - update.weights) / lr
    images = plain_images(dataset, dataset.train_x).double()
    labels = torch.from_numpy(dataset.train_y.astype(np.int64))

    def loss(vector):
        module = plain_module(network, vector)
        with torch.no_grad():
            return torch.nn.functional.cross_entropy(module.double()(images), labels).item()

    rng, h = np.random.default_rng(5), 1e-6
    for i in rng.choice(weights.size, 40, replace=False):
        up, down = weights.copy(), weights.copy()
        up[i] += h
        down[i] -= h
        assert slope[i] == pytest.approx((loss(up) - loss(down)) / (2 * h), abs=2e-6, rel=1e-4)


def test_evaluation_is_torchs():
    """Loss in float64, hits and counts per class, over any choice of test samples."""
    dataset = toy_images(n=150)
    network = MODELS["lenet"].network(dataset)
    weights, samples = drawn(network), np.arange(1, 150, 2)
    found = NativeTrainer(network).evaluate(weights, dataset, samples)
    with torch.no_grad():
        logits = plain_module(network, weights)(plain_images(dataset, dataset.test_x[samples]))
    labels = dataset.test_y[samples].astype(np.int64)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
    right = labels[logits.argmax(1).numpy() == labels]
    assert found.loss == pytest.approx(loss.item(), rel=1e-6)
    assert np.array_equal(found.correct, np.bincount(right, minlength=10))
    assert np.array_equal(found.count, np.bincount(labels, minlength=10))


@pytest.mark.parametrize("lr", [1e6, 1e30])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "logistic"])
def test_a_diverging_training_is_never_finite_garbage(name, lr):
    """With an absurd learning rate the weights end up nan or infinite, where all can see it."""
    dataset = toy_images()
    network = MODELS[name].network(dataset)
    trainer, how = NativeTrainer(network), LocalTraining(local_epochs=8, batch=8, lr=lr)
    update = trainer.train(drawn(network), dataset, np.arange(48), how, np.random.default_rng(0))
    assert not np.isfinite(update.weights).all()
    assert not np.isfinite(trainer.evaluate(update.weights, dataset, np.arange(48)).loss)


def test_logistic_regression_stays_a_perceptron_at_any_learning_rate():
    """Its slope is bounded, so it cannot diverge: large weights, finite, and torch's."""
    dataset = toy_images()
    network = MODELS["logistic"].network(dataset)
    how, samples = LocalTraining(local_epochs=2, batch=8, lr=1e6), np.arange(48)
    trainer, weights = NativeTrainer(network), drawn(network)
    update = trainer.train(weights, dataset, samples, how, np.random.default_rng(0))
    theirs, _ = plain_training(network, weights, dataset, samples, how, np.random.default_rng(0))
    assert np.allclose(update.weights, theirs, rtol=1e-4, atol=1)


@pytest.mark.parametrize("where", ["conv1.weight", "conv2.bias", "dense1.weight", "dense2.bias"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_bad_weight_is_seen_in_loss_and_update(where, bad):
    """Neither pooling nor ReLU swallows a nan: from any layer it reaches the loss."""
    dataset = toy_images()
    network = MODELS["cnn"].network(dataset)
    weights = drawn(network)
    weights[next(t.offset for t in network.tensors if t.name == where)] = bad
    trainer = NativeTrainer(network)
    update = trainer.train(
        weights, dataset, np.arange(20), LocalTraining(1), np.random.default_rng(0)
    )
    assert not np.isfinite(update.weights).all()
    assert not np.isfinite(update.loss)
    assert not np.isfinite(trainer.evaluate(weights, dataset, np.arange(20)).loss)


def test_lanes_without_a_sample_change_nothing():
    """A batch of one less than the lanes gives what torch gives, and zeros stay out of the loss."""
    dataset = toy_images()
    network = MODELS["logistic"].network(dataset)
    one = NativeTrainer(network).train(
        drawn(network), dataset, np.array([7]), LocalTraining(1), np.random.default_rng(0)
    )
    many = NativeTrainer(network).train(
        drawn(network), dataset, np.full(LANES, 7), LocalTraining(1), np.random.default_rng(0)
    )
    assert np.abs(one.weights - many.weights).max() < 1e-7
    assert one.loss == pytest.approx(many.loss, rel=1e-6)


def test_memory_maps_and_writeable_arrays_share_one_binary(tmp_path):
    """Whatever kind of array holds the data, nothing is compiled again and the bits are equal."""
    from fedroam.learning.native import training

    dataset = toy_images()
    np.save(tmp_path / "x.npy", dataset.train_x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    network = MODELS["logistic"].network(dataset)
    results = []
    for pixels in (dataset.train_x, mapped, dataset.train_x.copy()):
        one = type(dataset)(
            "toy",
            10,
            pixels,
            dataset.train_y,
            dataset.test_x,
            dataset.test_y,
            dataset.mean,
            dataset.std,
        )
        results.append(
            NativeTrainer(network)
            .train(drawn(network), one, np.arange(30), LocalTraining(1), np.random.default_rng(0))
            .weights
        )
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    assert len(training.train.signatures) == 1


def test_a_second_process_loads_the_binary_and_gives_equal_bits():
    """Kernels are compiled once a machine; bits do not depend on the process."""
    program = (
        "import numpy as np\n"
        "from learning.toys import toy_images\n"
        "from fedroam.learning.models import MODELS\n"
        "from fedroam.learning.native import NativeTrainer, training\n"
        "from fedroam.learning.records import LocalTraining\n"
        "data = toy_images()\n"
        "trainer = NativeTrainer(MODELS['cnn'].network(data))\n"
        "rng = np.random.default_rng\n"
        "weights = trainer.train(trainer.initial(rng(1)), data, np.arange(50), "
        "LocalTraining(1), rng(2)).weights\n"
        "print(weights.tobytes().hex(), sum(training.train.stats.cache_misses.values()))\n"
    )
    dataset = toy_images()
    trainer = NativeTrainer(MODELS["cnn"].network(dataset))
    here = trainer.train(
        drawn(trainer.network), dataset, np.arange(50), LocalTraining(1), np.random.default_rng(2)
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "src:tests", "PATH": "/usr/bin:/bin"},
    )
    bits, misses = done.stdout.split()
    assert bits == here.weights.tobytes().hex()
    assert misses == "0"


@pytest.mark.parametrize(
    "layers",
    [
        (Conv(3), Relu(), Dense()),
        (Conv(3, size=3), Relu(), Pool(), Dense()),
        (Relu(), Dense()),
        (Conv(3), Pool(), Dense()),
    ],
)
def test_what_has_no_kernel_is_refused_with_a_way_out(layers):
    """The native trainer says what it runs and who runs the rest."""
    network = Model("mine", layers)(1, 16, 10)
    with pytest.raises(ConfigError, match=r"no kernel for .* torch trainer"):
        NativeTrainer(network)
