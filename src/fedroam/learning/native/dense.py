"""
Fully connected layers and the loss.

Values lie as ``[group][unit][lane]``. The gradient of the weights is a sum over samples, so for
it the inputs are kept a second time, turned: ``[sample][unit]``, rows filled up to whole tiles.
"""

from typing import Any

import numpy as np

from fedroam.learning.native.vectors import (
    ALL,
    FOUR,
    LANES,
    MANY,
    ONE,
    TWO,
    filled,
    gated,
    kernel,
    load,
    multiples,
    outer,
    relu,
    scalars,
    store,
    store_rows,
    store_tile,
    store_totals,
    turned,
    vectors,
    zeros,
)

ACROSS = len(FOUR) * LANES  # inputs whose weights one tile of a gradient covers


@kernel
def _forward_tile(
    work: Any, w: Any, layer: Any, after: Any, group: int, o: int, rows: Any, groups: Any
) -> None:
    tile = filled(scalars(w, layer.b + o, 1, rows), groups)
    i, j = layer.x + group * layer.x_size, layer.w + o * layer.inputs
    for _ in range(layer.inputs):
        inputs = vectors(work, i, layer.x_size, groups)
        tile = outer(tile, scalars(w, j, layer.inputs, rows), inputs)
        i += LANES
        j += 1
    if layer.relu:
        tile = relu(tile)
    at = after.x + group * after.x_size + o * LANES
    store_tile(work, at, LANES, multiples(after.x_size, groups), tile)


@kernel
def _forward(work: Any, w: Any, layer: Any, after: Any, group: int, groups: Any) -> None:
    for o in range(0, layer.outputs - len(MANY) + 1, len(MANY)):
        _forward_tile(work, w, layer, after, group, o, MANY, groups)
    for o in range(layer.outputs - layer.outputs % len(MANY), layer.outputs):
        _forward_tile(work, w, layer, after, group, o, ONE, groups)


@kernel
def forward(work: Any, w: Any, layer: Any, after: Any, groups: int) -> None:
    """From the inputs of ``layer`` to those of the layer behind it."""
    for group in range(0, groups - 1, 2):
        _forward(work, w, layer, after, group, TWO)
    if groups % 2:
        _forward(work, w, layer, after, groups - 1, ONE)


@kernel
def _input_tile(work: Any, w: Any, layer: Any, group: int, k: int, rows: Any, groups: Any) -> None:
    tile = zeros(rows, groups)
    i, j = layer.d + group * layer.d_size, layer.w + k
    for _ in range(layer.outputs):
        gradients = vectors(work, i, layer.d_size, groups)
        tile = outer(tile, scalars(w, j, 1, rows), gradients)
        i += LANES
        j += layer.inputs
    at = layer.dx + group * layer.dx_size + k * LANES
    store_tile(work, at, LANES, multiples(layer.dx_size, groups), tile)


@kernel
def _input_gradient(work: Any, w: Any, layer: Any, group: int, groups: Any) -> None:
    for k in range(0, layer.inputs - len(MANY) + 1, len(MANY)):
        _input_tile(work, w, layer, group, k, MANY, groups)
    for k in range(layer.inputs - layer.inputs % len(MANY), layer.inputs):
        _input_tile(work, w, layer, group, k, ONE, groups)


@kernel
def _back_through_relu(work: Any, layer: Any, groups: int) -> None:
    """From ``layer.dx`` to the gradient of the sums in the dense layer before it."""
    for group in range(groups):
        i, j = layer.dx + group * layer.dx_size, layer.x + group * layer.x_size
        for k in range(0, layer.inputs * LANES, LANES):
            store(work, i + k, gated(load(work, i + k), load(work, j + k)))


@kernel
def _turn(work: Any, layer: Any, groups: int) -> None:
    # The last square may reach beyond the inputs; what it brings along is cut in store_rows.
    for group in range(groups):
        for k in range(0, layer.inputs, LANES):
            i = layer.x + group * layer.x_size + k * LANES
            t = layer.turned + group * LANES * layer.turned_row + k
            store_tile(work, t, layer.turned_row, ONE, turned(vectors(work, i, LANES, ALL)))


@kernel
def _weights_tiles(work: Any, g: Any, layer: Any, samples: int, o: int, rows: Any) -> None:
    for k in range(0, layer.inputs, ACROSS):
        tile = zeros(rows, FOUR)
        i = layer.turned + k
        for sample in range(samples):
            group, lane = divmod(sample, LANES)
            d = layer.d + group * layer.d_size + o * LANES + lane
            inputs = vectors(work, i, LANES, FOUR)
            tile = outer(tile, scalars(work, d, LANES, rows), inputs)
            i += layer.turned_row
        at = layer.w + o * layer.inputs + k
        store_rows(g, at, layer.inputs, layer.inputs - k, tile, FOUR)


@kernel
def backward(work: Any, w: Any, g: Any, layer: Any, samples: int) -> None:
    """
    The gradient of the weights and biases, from ``layer.x`` and ``layer.d``, into ``g``.

    Where there are layers before it, that of ``layer.x`` as well, into ``layer.dx``.
    """
    groups = -(-samples // LANES)
    _turn(work, layer, groups)
    for o in range(0, layer.outputs - len(MANY) + 1, len(MANY)):
        _weights_tiles(work, g, layer, samples, o, MANY)
    for o in range(layer.outputs - layer.outputs % len(MANY), layer.outputs):
        _weights_tiles(work, g, layer, samples, o, ONE)
    for o in range(layer.outputs):
        tile = zeros(ONE, ONE)
        one = filled((np.float32(1),), ONE)
        for at in range(0, samples, LANES):
            d = layer.d + at // LANES * layer.d_size + o * LANES
            tile = outer(tile, vectors(work, d, 0, ONE), one)
        store_totals(g, layer.b + o, 1, tile, ONE)
    if not layer.further:
        return
    for group in range(0, groups - 1, 2):
        _input_gradient(work, w, layer, group, TWO)
    if groups % 2:
        _input_gradient(work, w, layer, groups - 1, ONE)
    if layer.gated:
        _back_through_relu(work, layer, groups)


@kernel
def softmax(work: Any, layer: Any, labels: Any, chosen: Any) -> float:
    """
    The sum of the cross-entropies; the logits give way to the gradient of their mean.

    Lanes without a sample get the gradient 0, so that nothing comes of them further back.
    """
    loss, share = 0.0, np.float32(1 / chosen.size)
    for sample in range(-(-chosen.size // LANES) * LANES):
        group, lane = divmod(sample, LANES)
        z = layer.x + group * layer.x_size + lane
        end = z + layer.inputs * LANES
        if sample >= chosen.size:
            for i in range(z, end, LANES):
                work[i] = 0
            continue
        largest = work[z]
        for i in range(z, end, LANES):
            largest = max(largest, work[i])
        right = z + labels[chosen[sample]] * LANES
        logit = work[right]
        total = np.float32(0)
        for i in range(z, end, LANES):
            work[i] = np.exp(work[i] - largest)
            total += work[i]
        loss += np.log(np.float64(total)) + (np.float64(largest) - np.float64(logit))
        for i in range(z, end, LANES):
            work[i] *= share / total
        work[right] -= share
    return loss


@kernel
def count_hits(work: Any, layer: Any, labels: Any, chosen: Any, hits: Any) -> None:
    """Add to ``hits[0]`` per true class the samples whose logits are right, to ``hits[1]`` all."""
    for sample in range(chosen.size):
        group, lane = divmod(sample, LANES)
        z = layer.x + group * layer.x_size + lane
        best = 0
        for c in range(1, layer.inputs):
            if work[z + c * LANES] > work[z + best * LANES]:
                best = c
        label = labels[chosen[sample]]
        hits[1, label] += 1
        if best == label:
            hits[0, label] += 1
