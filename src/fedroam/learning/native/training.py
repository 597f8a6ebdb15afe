"""
A whole local training, or an evaluation, in one compiled call for every network.

The network is data here: one record a layer with its sizes and the places of its arrays in a
workspace. So one binary serves every model, batch and data set, is compiled once on a machine and
loaded from Numba's cache from then on.
"""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from fedroam.learning.native import convolution, dense
from fedroam.learning.native.vectors import LANES

CONVOLUTION, DENSE, LOSS = 0, 1, 2

_FIELDS = (
    *("kind", "inputs", "outputs", "w", "b"),  # channels or units; weights and biases in the vector
    *("x", "x_size", "x_side", "pad", "side"),  # what it reads: numbers a group, side with frame
    *("d", "d_size", "d_side", "frame"),  # gradient of its sums: side with a frame of zeros
    *("dx", "dx_size", "dx_side"),  # gradient of what it reads
    *("pooled", "code", "relu", "turned", "turned_row"),
)
LAYER = np.dtype([(name, np.int64) for name in _FIELDS])


@njit
def _gather(work: Any, first: Any, images: Any, table: Any, chosen: Any) -> None:
    """Normalised pixels of the samples, batch innermost; lanes without a sample hold 0."""
    for sample in range(-(-chosen.size // LANES) * LANES):
        group, lane = divmod(sample, LANES)
        x = first.x + group * first.x_size + lane
        pixel = 0
        for channel in range(table.shape[0]):
            for r in range(first.pad, first.pad + first.side):
                i = x + ((channel * first.x_side + r) * first.x_side + first.pad) * LANES
                for _ in range(first.side):
                    if sample < chosen.size:
                        work[i] = table[channel, images[chosen[sample], pixel]]
                    else:
                        work[i] = 0
                    i += LANES
                    pixel += 1


@njit
def _forward(work: Any, w: Any, layers: Any, groups: int) -> None:
    for i in range(layers.size - 1):
        if layers[i].kind == CONVOLUTION:
            convolution.forward(work, w, layers[i], layers[i + 1], groups)
        else:
            dense.forward(work, w, layers[i], layers[i + 1], groups)


@njit
def _backward(work: Any, w: Any, g: Any, layers: Any, samples: int) -> None:
    groups = -(-samples // LANES)
    for i in range(layers.size - 2, -1, -1):
        layer = layers[i]
        if layer.kind == CONVOLUTION:
            convolution.weights_gradient(work, g, layer, groups)
        else:
            dense.weights_gradient(work, g, layer, samples)
        if i == 0:
            break
        if layer.kind == CONVOLUTION:
            convolution.input_gradient(work, w, layer, groups)
        else:
            dense.input_gradient(work, w, layer, groups)
        if layers[i - 1].kind == CONVOLUTION:
            convolution.unpool(work, layers[i - 1], layer.dx, layer.dx_size, layer.dx_side, groups)
        elif layers[i - 1].relu:
            dense.back_through_relu(work, layer, groups)


@njit
def _descend(w: Any, g: Any, velocity: Any, start: Any, lr: Any, momentum: Any, prox: Any) -> None:
    """One step of SGD; the loss includes ``prox / 2`` times the squared distance to ``start``."""
    for i in range(w.size):
        slope = g[i]
        if prox > 0:
            slope += prox * (w[i] - start[i])
        if momentum > 0:
            slope += momentum * velocity[i]
            velocity[i] = slope
        w[i] -= lr * slope


@njit
def _train(layers: Any, w: Any, data: Any, order: Any, batch: int, how: Any, work: Any) -> float:
    """Train ``w`` in place, a row of ``order`` an epoch; the mean loss over the last one."""
    images, labels, table = data
    lr, momentum, prox = how
    start = w.copy() if prox > 0 else w
    g, velocity = np.zeros_like(w), np.zeros_like(w)
    loss = 0.0
    for epoch in range(order.shape[0]):
        loss = 0.0
        for first in range(0, order.shape[1], batch):
            chosen = order[epoch, first : first + batch]
            _gather(work, layers[0], images, table, chosen)
            _forward(work, w, layers, -(-chosen.size // LANES))
            loss += dense.softmax(work, layers[-1], labels, chosen)
            _backward(work, w, g, layers, chosen.size)
            _descend(w, g, velocity, start, lr, momentum, prox)
    return loss / order.shape[1]


@njit
def _evaluate(
    layers: Any, w: Any, data: Any, order: Any, batch: int, hits: Any, work: Any
) -> float:
    """The sum of the losses; ``hits`` gets, per class, the right ones and all."""
    images, labels, table = data
    loss = 0.0
    for first in range(0, order.size, batch):
        chosen = order[first : first + batch]
        _gather(work, layers[0], images, table, chosen)
        _forward(work, w, layers, -(-chosen.size // LANES))
        dense.count_hits(work, layers[-1], labels, chosen, hits)
        loss += dense.softmax(work, layers[-1], labels, chosen)
    return loss


def _cached(kernels: str) -> tuple[Any, Any]:
    """
    The two entry points, compiled once a machine.

    Numba's cache notices a change in the file of an entry point only; as a variable of their
    closure, the digest of all ``kernels`` is part of the key.
    """

    @njit(cache=True)
    def train(layers: Any, w: Any, data: Any, order: Any, batch: int, how: Any, work: Any) -> Any:
        _ = kernels
        return _train(layers, w, data, order, batch, how, work)

    @njit(cache=True)
    def evaluate(
        layers: Any, w: Any, data: Any, order: Any, batch: int, hits: Any, work: Any
    ) -> Any:
        _ = kernels
        return _evaluate(layers, w, data, order, batch, hits, work)

    return train, evaluate


def _digest() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=16).hexdigest()


train, evaluate = _cached(_digest())
