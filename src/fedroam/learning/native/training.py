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
from fedroam.learning.native.vectors import (
    ALL,
    LANES,
    ONE,
    filled,
    kernel,
    outer,
    pixels,
    store_tile,
    turned,
    vectors,
)

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
def _gather_squares(
    work: Any, at: int, images: Any, scale: Any, chosen: Any, pixel: int, length: int
) -> None:
    for start in range(0, length, LANES):
        c = min(start, length - LANES)
        for lane in range(LANES):
            sample = chosen[min(lane, chosen.size - 1)]
            value = filled((scale[1],), ONE)
            value = outer(value, (scale[0],), (pixels(images, sample, pixel + c),))
            store_tile(work, at + (c + lane) * LANES, 0, ONE, value)
        square = turned(vectors(work, at + c * LANES, LANES, ALL))
        store_tile(work, at + c * LANES, LANES, ONE, square)


@kernel
def _gather_singly(
    work: Any, at: int, images: Any, scale: Any, chosen: Any, pixel: int, length: int
) -> None:
    for lane in range(LANES):
        sample = chosen[min(lane, chosen.size - 1)]
        for c in range(length):
            value = np.float32(images[sample, pixel + c])
            work[at + c * LANES + lane] = value * scale[0] + scale[1]


@kernel
def _gather(work: Any, first: Any, images: Any, scale: Any, chosen: Any) -> None:
    """
    Normalised pixels of the samples, batch innermost.

    Lanes without a sample repeat the last one: finite, and their gradient is 0. Without a frame a
    channel is one line, else a row of pixels is.
    """
    lines, length = 1, first.side**2
    if first.pad > 0 or length < LANES:
        lines, length = first.side, first.side
    for group in range(-(-chosen.size // LANES)):
        for channel in range(scale.shape[0]):
            for line in range(lines):
                row = (channel * first.x_side + line + first.pad) * first.x_side + first.pad
                at = first.x + group * first.x_size + row * LANES
                pixel = (channel * lines + line) * length
                mine = chosen[group * LANES :]
                if length >= LANES:
                    _gather_squares(work, at, images, scale[channel], mine, pixel, length)
                else:
                    _gather_singly(work, at, images, scale[channel], mine, pixel, length)


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
        images, labels, scale = data
        lr, momentum, prox = how
        start, last = w.copy(), layers.size - 1
        g, velocity = np.zeros_like(w), np.zeros_like(w)
        loss = 0.0
        for epoch in range(order.shape[0]):
            loss = 0.0
            for first in range(0, order.shape[1], batch):
                chosen = order[epoch, first : first + batch]
                groups = -(-chosen.size // LANES)
                _gather(work, layers[0], images, scale, chosen)
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
        images, labels, scale = data
        loss, last = 0.0, layers.size - 1
        for first in range(0, order.size, batch):
            chosen = order[first : first + batch]
            groups = -(-chosen.size // LANES)
            _gather(work, layers[0], images, scale, chosen)
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
