"""
A whole local training, or an evaluation, in one compiled call for every network.

The network is data here: one record a layer with its sizes and the places of its arrays in a
workspace. So one binary serves every model, batch and data set, is compiled once on a machine and
loaded from Numba's cache from then on.
"""

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
def _gather(work: Any, first: Any, images: Any, table: Any, order: Any, start: int,
            samples: int) -> None:
    """Normalised pixels of the samples, batch innermost; lanes without a sample hold 0."""
    n_pixels = images.shape[1]
    for sample in range(-(-samples // LANES) * LANES):
        group, lane = divmod(sample, LANES)
        x = first.x + group * first.x_size + lane
        pixel = 0
        for channel in range(n_pixels // first.side**2):
            for r in range(first.pad, first.pad + first.side):
                i = x + ((channel * first.x_side + r) * first.x_side + first.pad) * LANES
                for _ in range(first.side):
                    if sample < samples:
                        work[i] = table[channel, images[order[start + sample], pixel]]
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
            convolution.unpool(
                work, layers[i - 1], layer.dx, layer.dx_size, layer.dx_side, groups
            )
        elif layers[i - 1].relu:
            dense.back_through_relu(work, layer, groups)


@njit
def _descend(w: Any, g: Any, velocity: Any, start: Any, lr: Any, momentum: Any,
             prox: Any) -> None:
    """One step of SGD; the loss includes ``prox / 2`` times the squared distance to ``start``."""
    for i in range(w.size):
        slope = g[i]
        if prox > 0:
            slope += prox * (w[i] - start[i])
        if momentum > 0:
            slope += momentum * velocity[i]
            velocity[i] = slope
        w[i] -= lr * slope


@njit(cache=True)
def train(layers: Any, w: Any, images: Any, labels: Any, table: Any, order: Any, batch: int,
          lr: Any, momentum: Any, prox: Any, work: Any) -> float:
    """Train ``w`` in place, a row of ``order`` an epoch; the mean loss over the last one."""
    start = w.copy() if prox > 0 else w
    g, velocity = np.zeros_like(w), np.zeros_like(w)
    loss = 0.0
    for epoch in range(order.shape[0]):
        loss = 0.0
        for first in range(0, order.shape[1], batch):
            samples = min(batch, order.shape[1] - first)
            _gather(work, layers[0], images, table, order[epoch], first, samples)
            _forward(work, w, layers, -(-samples // LANES))
            loss += dense.softmax(work, layers[-1], labels, order[epoch], first, samples)
            _backward(work, w, g, layers, samples)
            _descend(w, g, velocity, start, lr, momentum, prox)
    return loss / order.shape[1]


@njit(cache=True)
def evaluate(layers: Any, w: Any, images: Any, labels: Any, table: Any, order: Any, batch: int,
             correct: Any, count: Any, work: Any) -> float:
    """The sum of the losses; hits and samples per class are added to ``correct``, ``count``."""
    loss = 0.0
    for first in range(0, order.size, batch):
        samples = min(batch, order.size - first)
        _gather(work, layers[0], images, table, order, first, samples)
        _forward(work, w, layers, -(-samples // LANES))
        dense.count_hits(work, layers[-1], labels, order, first, samples, correct, count)
        loss += dense.softmax(work, layers[-1], labels, order, first, samples)
    return loss
