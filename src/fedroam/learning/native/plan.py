"""From a network to the records and the workspace that the compiled training runs on."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Floats32
from fedroam.errors import ConfigError
from fedroam.learning.models import Conv, Dense, Layer, Network, Pool, Relu, Shape
from fedroam.learning.native.convolution import SIZE
from fedroam.learning.native.dense import ACROSS
from fedroam.learning.native.training import CONVOLUTION, DENSE, LAYER, LOSS
from fedroam.learning.native.vectors import LANES

_ALIGNMENT = 64 // 4  # a cache line of float32


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """What the compiled training is told about a network and a batch."""

    layers: NDArray[Any]  # records, the loss last
    n_work: int

    def workspace(self) -> Floats32:
        """Zeros for all intermediate results, from the start of a cache line."""
        memory = np.zeros(self.n_work + _ALIGNMENT, np.float32)
        start = -(memory.ctypes.data // 4) % _ALIGNMENT
        return memory[start : start + self.n_work]


@dataclass(frozen=True)
class _Block:
    """What runs as one: a convolution with its pooling and ReLU, or a dense layer with its ReLU."""

    layer: Conv | Dense
    shape: Shape  # of what it reads
    relu: bool


def plan(network: Network, batch: int) -> Plan:
    """Sizes and places for batches of at most ``batch`` samples."""
    groups = -(-batch // LANES)
    blocks = list(_blocks(network))
    records: NDArray[Any] = np.zeros(len(blocks) + 1, LAYER)
    offsets = iter(tensor.offset for tensor in network.tensors)
    for record, block in zip(records, blocks, strict=False):
        record["w"], record["b"] = next(offsets), next(offsets)
        _measure(record, block, network.n_classes)
    for before, record in pairwise(records):
        record["further"] = True
        record["gated"] = before["kind"] == DENSE and before["relu"]
    records[-1]["kind"] = LOSS
    records[-1]["inputs"] = network.n_classes
    records[-1]["x_side"] = 1
    records[-1]["x_size"] = network.n_classes * LANES
    return Plan(records, _place(records, groups))


def _blocks(network: Network) -> Iterator[_Block]:
    layers, shapes = list(network.layers), list(network.shapes)
    while layers:
        block, length = _first_block(layers, shapes[0])
        yield block
        del layers[:length], shapes[:length]


def _first_block(layers: list[Layer], shape: Shape) -> tuple[_Block, int]:
    match layers:
        case [Conv() as conv, Pool(), Relu(), *_] | [Conv() as conv, Relu(), Pool(), *_]:
            if conv.size == SIZE:
                return _Block(conv, shape, relu=True), 3
        case [Dense() as layer, Relu(), *_]:
            return _Block(layer, shape, relu=True), 2
        case [Dense() as layer, *_]:
            return _Block(layer, shape, relu=False), 1
    raise ConfigError(
        f"the native trainer has no kernel for {layers[0]} followed by {layers[1:3]}: it runs "
        f"{SIZE} x {SIZE} convolutions with Pool and Relu behind each, and Dense with or without "
        "Relu; the torch trainer runs any list"
    )


def _measure(record: Any, block: _Block, n_classes: int) -> None:
    """Fill in every size."""
    channels, side, _ = block.shape
    record["relu"] = block.relu
    if isinstance(block.layer, Dense):
        record["kind"] = DENSE
        record["inputs"] = channels * side * side
        record["outputs"] = block.layer.units or n_classes
        record["side"] = record["x_side"] = record["dx_side"] = side
        record["x_size"] = record["dx_size"] = record["inputs"] * LANES
        record["d_size"] = record["outputs"] * LANES
        record["turned_row"] = -(-record["inputs"] // ACROSS) * ACROSS
        return
    pad = block.layer.pad
    record["kind"] = CONVOLUTION
    record["inputs"], record["outputs"] = channels, block.layer.channels
    record["pad"], record["side"] = pad, side
    record["x_side"] = side + 2 * pad
    record["x_size"] = channels * record["x_side"] ** 2 * LANES
    record["pooled"] = (side + 2 * pad - SIZE + 1) // 2
    # The gradient of the input is a convolution over this frame, two pixels at a time.
    record["frame"] = SIZE - 1 - pad
    record["dx_side"] = side + side % 2
    record["dx_size"] = channels * record["dx_side"] ** 2 * LANES
    record["d_side"] = record["dx_side"] + SIZE - 1
    record["d_size"] = record["outputs"] * record["d_side"] ** 2 * LANES


def _place(records: Any, groups: int) -> int:
    """Give every array its place in the workspace; the numbers needed in all."""
    taken = 0

    def take(size: int) -> int:
        nonlocal taken
        start = taken
        taken += -(-int(size) // _ALIGNMENT) * _ALIGNMENT
        return start

    for i, record in enumerate(records):
        record["x"] = take(groups * record["x_size"])
        if i > 0:
            record["dx"] = take(groups * record["dx_size"])
        if record["kind"] == CONVOLUTION:
            record["d"] = take(groups * record["d_size"])
            record["code"] = take(groups * record["outputs"] * record["pooled"] ** 2 * LANES)
        if record["kind"] == DENSE:
            record["turned"] = take(groups * LANES * record["turned_row"])
    for record, after in pairwise(records):
        if record["kind"] == DENSE:  # shares the place of the gradient behind it
            record["d"] = after["x"] if after["kind"] == LOSS else after["dx"]
    return taken + LANES * LANES  # turning reads whole squares
