"""
The built-in networks, each a short list of layers, and how a list becomes a vector of weights.

A ``Model`` is a recipe that knows no data; ``model.network(dataset)`` fits it to a data set's
channels, side and classes. The flat vector holds the tensors one after another, weight before
bias, in the order of the layers: PyTorch's order of parameters, with PyTorch's shapes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fedroam.arrays import Floats32
from fedroam.errors import ConfigError, require
from fedroam.learning.records import Dataset


@dataclass(frozen=True)
class Conv:
    """``channels`` square filters with a bias, over an input padded with ``pad`` zeros."""

    channels: int
    pad: int = 0
    size: int = 5

    def __post_init__(self) -> None:
        require(self.channels >= 1, "channels", self.channels, ">= 1")
        require(self.size >= 1, "size", self.size, ">= 1")
        require(0 <= self.pad < self.size, "pad", self.pad, f"in 0..{self.size - 1}")


@dataclass(frozen=True)
class Pool:
    """The largest of every 2 x 2 pixels; an odd last row or column is left out."""


@dataclass(frozen=True)
class Relu:
    """``max(x, 0)``."""


@dataclass(frozen=True)
class Dense:
    """Fully connected ``units`` with a bias; 0 stands for the number of classes."""

    units: int = 0

    def __post_init__(self) -> None:
        require(self.units >= 0, "units", self.units, ">= 1, or 0 for the number of classes")


Layer = Conv | Pool | Relu | Dense
Shape = tuple[int, int, int]  # channels, rows, columns


@dataclass(frozen=True)
class Tensor:
    """Where one weight or bias lies in the flat vector."""

    name: str
    shape: tuple[int, ...]
    offset: int
    fan_in: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True)
class Network:
    """A model fitted to images of one shape: every size is known."""

    layers: tuple[Layer, ...]
    channels: int
    side: int
    n_classes: int

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """What goes into each layer, and last what comes out: channels, rows, columns."""
        return tuple(_shapes(self))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """The layout of the flat vector."""
        return tuple(_tensors(self))

    @property
    def n_parameters(self) -> int:
        """The length of the flat vector."""
        last = self.tensors[-1]
        return last.offset + last.size

    def initial(self, rng: np.random.Generator) -> Floats32:
        """PyTorch's default for these layers: uniform within ``1 / sqrt(fan_in)``."""
        weights = np.empty(self.n_parameters, np.float32)
        for tensor in self.tensors:
            bound = 1 / np.sqrt(tensor.fan_in)
            weights[tensor.offset : tensor.offset + tensor.size] = rng.uniform(
                -bound, bound, tensor.size
            )
        return weights


@dataclass(frozen=True)
class Model:
    """A recipe for a network: its layers, before the data set is known."""

    name: str
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        last = self.layers[-1] if self.layers else None
        require(last == Dense(), "the last layer", last, "Dense(), one output per class")

    def __call__(self, channels: int, side: int, n_classes: int) -> Network:
        """The network for square images; ConfigError where they are too small for it."""
        network = Network(self.layers, channels, side, n_classes)
        try:
            _ = network.shapes
        except ConfigError as error:
            raise ConfigError(
                f"model {self.name!r} does not fit images of {side} x {side} pixels: {error}; "
                f"it needs a side of at least {self._least_side(channels, n_classes)}, "
                "'mlp' and 'logistic' take any size"
            ) from error
        return network

    def network(self, dataset: Dataset) -> Network:
        """The network for the images and classes of ``dataset``."""
        return self(*image_format(dataset))

    def _least_side(self, channels: int, n_classes: int) -> int:
        side = 1
        while True:
            try:
                _ = Network(self.layers, channels, side, n_classes).shapes
            except ConfigError:
                side += 1
            else:
                return side


def image_format(dataset: Dataset) -> tuple[int, int, int]:
    """Channels, side and classes of a data set of square images."""
    _, channels, rows, columns = dataset.train_x.shape
    require(rows == columns, f"data set {dataset.name!r}: image size", (rows, columns), "a square")
    return channels, rows, dataset.n_classes


def normalised(dataset: Dataset) -> Floats32:
    """``(pixel / 255 - mean) / std`` for every channel and value of a pixel, ``[C, 256]``."""
    mean = np.asarray(dataset.mean, np.float64)[:, None]
    std = np.asarray(dataset.std, np.float64)[:, None]
    require(bool(np.all(std > 0)), f"data set {dataset.name!r}: std", dataset.std, "> 0")
    return ((np.arange(256) / 255 - mean) / std).astype(np.float32)


def _shapes(network: Network) -> Iterator[Shape]:
    shape = (network.channels, network.side, network.side)
    yield shape
    for layer in network.layers:
        shape = _after(layer, shape, network.n_classes)
        yield shape


def _after(layer: Layer, shape: Shape, n_classes: int) -> Shape:
    channels, side, _ = shape
    match layer:
        case Conv():
            side += 2 * layer.pad - layer.size + 1
            channels = layer.channels
        case Pool():
            side //= 2
        case Dense():
            channels, side = layer.units or n_classes, 1
    if side < 1:
        raise ConfigError(f"nothing is left after {layer}")
    return channels, side, side


def _tensors(network: Network) -> Iterator[Tensor]:
    offset, counts = 0, {Conv: 0, Dense: 0}
    for layer, shape in zip(network.layers, network.shapes, strict=False):
        if isinstance(layer, Pool | Relu):
            continue
        counts[type(layer)] += 1
        name = f"{type(layer).__name__.lower()}{counts[type(layer)]}"
        for part, part_shape in zip(
            ("weight", "bias"), _weights(layer, shape, network), strict=True
        ):
            fan_in = _fan_in(layer, shape)
            yield Tensor(f"{name}.{part}", part_shape, offset, fan_in)
            offset += prod(part_shape)


def _fan_in(layer: Conv | Dense, shape: Shape) -> int:
    return shape[0] * layer.size**2 if isinstance(layer, Conv) else prod(shape)


def _weights(
    layer: Conv | Dense, shape: Shape, network: Network
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(layer, Conv):
        return (layer.channels, shape[0], layer.size, layer.size), (layer.channels,)
    units = layer.units or network.n_classes
    return (units, prod(shape)), (units,)


CNN = Model("cnn", (Conv(10), Pool(), Relu(), Conv(20), Pool(), Relu(), Dense(50), Relu(), Dense()))
LENET = Model(
    "lenet",
    (
        *(Conv(6), Relu(), Pool(), Conv(16), Relu(), Pool()),
        *(Dense(120), Relu(), Dense(84), Relu(), Dense()),
    ),
)
MCMAHAN = Model(
    "mcmahan",
    (
        *(Conv(32, pad=2), Relu(), Pool(), Conv(64, pad=2), Relu(), Pool()),
        *(Dense(512), Relu(), Dense()),
    ),
)
LOGISTIC = Model("logistic", (Dense(),))
MLP = Model("mlp", (Dense(200), Relu(), Dense(200), Relu(), Dense()))

MODELS = {
    "cnn": CNN,  # the paper's for MNIST and FashionMNIST, 21,840 parameters
    "lenet": LENET,  # the paper's for CIFAR-10, 62,006 parameters
    "mcmahan": MCMAHAN,  # arXiv:1602.05629, 1,663,370 parameters on MNIST
    "logistic": LOGISTIC,
    "mlp": MLP,
}
