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
from fedroam.learning.native.vectors import LANES, kernel

CONVOLUTION, DENSE, LOSS = 0, 1, 2

_FIELDS = (
    *("kind", "inputs", "outputs", "w", "b"),  # channels or units; weights and biases in the vector
    *("x", "x_size", "x_side", "pad", "side"),  # what it reads: numbers a group, side with frame
    *("d", "d_size", "d_side", "frame"),  # gradient of its sums: side with a frame of zeros
    *("dx", "dx_size", "dx_side"),  # gradient of what it reads
    *("further", "gated"),  # are there layers before; is the one before dense with ReLU
    *("pooled", "code", "relu", "turned", "turned_row"),
)
LAYER = np.dtype([(name, np.int64) for name in _FIELDS])


@kernel
def _gather(work: Any, first: Any, images: Any, table: Any, chosen: Any) -> None:
    """
    Normalised pixels of the samples, batch innermost; lanes without a sample hold 0.

    A row of all lanes at a time: it stays in the nearest cache while they write into it.
    """
    for group in range(-(-chosen.size // LANES)):
        lanes = min(LANES, chosen.size - group * LANES)
        for line in range(table.shape[0] * first.side):
            channel, r = divmod(line, first.side)
            row = (channel * first.x_side + r + first.pad) * first.x_side + first.pad
            at = first.x + group * first.x_size + row * LANES
            for lane in range(LANES):
                i = at + lane
                sample = chosen[group * LANES + min(lane, lanes - 1)]
                for pixel in range(line * first.side, (line + 1) * first.side):
                    work[i] = table[channel, images[sample, pixel]] if lane < lanes else 0
                    i += LANES


@kernel
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


def _cached(kernels: str) -> tuple[Any, Any]:
    """
    The two entry points, compiled once a machine.

    Numba's cache notices a change in the file of an entry point only; as a variable of their
    closure, the digest of all ``kernels`` is part of the key.
    """

    @njit(cache=True)
    def train(layers: Any, w: Any, data: Any, order: Any, batch: int, how: Any, work: Any) -> Any:
        """Train ``w`` in place, a row of ``order`` an epoch; the mean loss over the last one."""
        _ = kernels
        images, labels, table = data
        lr, momentum, prox = how
        start, last = w.copy(), layers.size - 1
        g, velocity = np.zeros_like(w), np.zeros_like(w)
        loss = 0.0
        for epoch in range(order.shape[0]):
            loss = 0.0
            for first in range(0, order.shape[1], batch):
                chosen = order[epoch, first : first + batch]
                groups = -(-chosen.size // LANES)
                _gather(work, layers[0], images, table, chosen)
                for i in range(last):
                    if layers[i].kind == CONVOLUTION:
                        convolution.forward(work, w, layers[i], layers[i + 1], groups)
                    else:
                        dense.forward(work, w, layers[i], layers[i + 1], groups)
                loss += dense.softmax(work, layers[last], labels, chosen)
                for i in range(last - 1, -1, -1):
                    if layers[i].kind == CONVOLUTION:
                        convolution.unpool(work, layers[i], layers[i + 1], groups)
                        convolution.backward(work, w, g, layers[i], groups)
                    else:
                        dense.backward(work, w, g, layers[i], chosen.size)
                _descend(w, g, velocity, start, lr, momentum, prox)
        return loss / order.shape[1]

    @njit(cache=True)
    def evaluate(
        layers: Any, w: Any, data: Any, order: Any, batch: int, hits: Any, work: Any
    ) -> Any:
        """The sum of the losses; ``hits`` gets, per class, the right ones and all."""
        _ = kernels
        images, labels, table = data
        loss, last = 0.0, layers.size - 1
        for first in range(0, order.size, batch):
            chosen = order[first : first + batch]
            groups = -(-chosen.size // LANES)
            _gather(work, layers[0], images, table, chosen)
            for i in range(last):
                if layers[i].kind == CONVOLUTION:
                    convolution.forward(work, w, layers[i], layers[i + 1], groups)
                else:
                    dense.forward(work, w, layers[i], layers[i + 1], groups)
            dense.count_hits(work, layers[last], labels, chosen, hits)
            loss += dense.softmax(work, layers[last], labels, chosen)
        return loss

    return train, evaluate


def _digest() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=16).hexdigest()


train, evaluate = _cached(_digest())
