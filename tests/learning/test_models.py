"""Networks as data: sizes, layout, first weights, and what does not fit."""

import dataclasses
import pickle

import numpy as np
import pytest

from fedroam.errors import ConfigError
from fedroam.learning.models import MODELS, Conv, Dense, Model, Pool, Relu, image_format, normalised
from learning.toys import toy_images


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        # 10*25+10 + 20*250+20 + 50*320+50 + 10*50+10
        ("cnn", (1, 28, 10), 21_840),
        # 6*75+6 + 16*150+16 + 120*400+120 + 84*120+84 + 10*84+10
        ("lenet", (3, 32, 10), 62_006),
        # 32*25+32 + 64*800+64 + 512*3136+512 + 10*512+10
        ("mcmahan", (1, 28, 10), 1_663_370),
        ("logistic", (1, 28, 10), 7_850),
        # 200*784+200 + 200*200+200 + 10*200+10
        ("mlp", (1, 28, 10), 199_210),
        # 10*75+10 + 20*250+20 + 50*500+50 + 7*50+7
        ("cnn", (3, 32, 7), 31_187),
    ],
)
def test_parameter_counts_are_the_published_ones(name, shape, expected):
    """Every built-in network has the parameters of its paper, or what its layers add up to."""
    assert MODELS[name](*shape).n_parameters == expected


def test_layout_is_torchs_order_without_gaps():
    """Weight before bias, layer by layer, each where the one before it ends."""
    network = MODELS["cnn"](1, 28, 10)
    assert [tensor.name for tensor in network.tensors] == [
        f"{layer}.{part}"
        for layer in ("conv1", "conv2", "dense1", "dense2")
        for part in ("weight", "bias")
    ]
    ends = [tensor.offset + tensor.size for tensor in network.tensors]
    assert [tensor.offset for tensor in network.tensors] == [0, *ends[:-1]]
    assert network.tensors[2].shape == (20, 10, 5, 5)


def test_first_weights_fill_the_range_of_torchs_default():
    """Weights and biases are uniform within 1 / sqrt(fan_in): half of them in the outer half."""
    network = MODELS["cnn"](1, 28, 10)
    weights = network.initial(np.random.default_rng(0))
    assert weights.dtype == np.float32
    dense = next(t for t in network.tensors if t.name == "dense1.weight")
    part = weights[dense.offset : dense.offset + dense.size]
    bound = 1 / np.sqrt(320)
    assert bound * 0.99 < np.abs(part).max() <= bound
    assert 0.47 < np.mean(np.abs(part) > bound / 2) < 0.53


def test_equal_streams_give_equal_first_weights():
    """The first weights are a function of the generator."""
    network = MODELS["lenet"](3, 32, 10)
    first, again, other = (network.initial(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_too_small_images_are_refused_with_the_least_side():
    """The message names the model, the images, what they should be, and a way out."""
    with pytest.raises(ConfigError, match=r"'cnn' does not fit images of 8 x 8.*at least 16.*mlp"):
        MODELS["cnn"](1, 8, 10)
    assert MODELS["cnn"](1, 16, 10).shapes[6] == (20, 1, 1)


def test_same_padding_keeps_the_side():
    """McMahan's network halves 28 twice and nothing else."""
    assert MODELS["mcmahan"](1, 28, 10).shapes[6] == (64, 7, 7)


@pytest.mark.parametrize(
    "layers",
    [(), (Conv(3),), (Dense(5),), (Dense(), Relu())],
    ids=["none", "conv", "units", "relu"],
)
def test_a_model_ends_with_one_output_per_class(layers):
    """A list of layers that does not end in logits is refused."""
    with pytest.raises(ConfigError, match="last layer"):
        Model("mine", layers)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Conv(0),
        lambda: Conv(3, pad=5),
        lambda: Conv(3, size=0),
        lambda: Dense(-1),
    ],
)
def test_layers_refuse_nonsense(make):
    """A layer that cannot exist is refused when it is made."""
    with pytest.raises(ConfigError):
        make()


def test_networks_are_values():
    """Equal recipes are equal, can be keys, and survive the way to a worker."""
    network = MODELS["cnn"](1, 28, 10)
    _ = network.tensors
    assert network == MODELS["cnn"](1, 28, 10)
    assert hash(network) == hash(pickle.loads(pickle.dumps(network)))
    mine = Model("mine", (Conv(2), Pool(), Relu(), Dense()))
    assert mine(1, 28, 10) != network


def test_image_format_refuses_oblong_pictures():
    """The networks are for square images, and say so."""
    dataset = toy_images()
    oblong = dataclasses.replace(dataset, train_x=dataset.train_x[:, :, :10])
    assert image_format(dataset) == (1, 16, 10)
    with pytest.raises(ConfigError, match=r"\(10, 16\), expected a square"):
        image_format(oblong)


def test_normalised_pixels_have_mean_0_and_deviation_1():
    """Over the training set, per channel."""
    dataset = toy_images(channels=2)
    table = normalised(dataset)
    for channel in range(2):
        values = table[channel][dataset.train_x[:, channel]]
        assert abs(values.mean()) < 1e-4
        assert abs(values.std() - 1) < 1e-4
