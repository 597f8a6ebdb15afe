"""
Convolution 5 x 5, max-pooling 2 x 2 and ReLU as one layer, forwards and backwards.

Images lie as ``[group][channel][row][column][lane]``: a group is a vector full of samples, so a
pixel of ``LANES`` samples is one load. Maps that a convolution reads carry a frame of zeros, as
wide as it needs. Every kernel works on ``rows`` channels of its result at once.
"""

from typing import Any

import numpy as np

from fedroam.learning.native.vectors import (
    FIVE,
    FOUR,
    LANES,
    MANY,
    ONE,
    TWO,
    filled,
    kernel,
    load,
    outer,
    pooled,
    scalars,
    store_tile,
    store_totals,
    unpooled,
    vectors,
    zeros,
)

SIZE = 5


@kernel
def _span(frame: int, inside: int, at: int) -> Any:
    """The taps that reach beyond the frame of zeros, from the two output pixels at ``at``."""
    return max(0, frame - 1 - at), min(SIZE, frame + inside - at)


@kernel
def _correlate(
    tile: Any, x: Any, at: int, side: int, spans: Any, w: Any, at_w: int, how: Any, rows: Any
) -> Any:
    """
    Add to a tile of 2 x 2 pixels the taps within ``spans``.

    ``how`` holds the number of channels and the steps in ``w`` from row to row of the tile, from
    channel to channel and from tap to tap.
    """
    u0, u1, v0, v1 = spans
    channels, by_row, by_channel, by_tap = how
    line = side * LANES
    for channel in range(channels):
        for u in range(u0, u1):
            i = at + ((channel * side + u) * side + v0) * LANES
            j = at_w + channel * by_channel + (u * SIZE + v0) * by_tap
            for _ in range(v0, v1):
                upper, lower = vectors(x, i, LANES, TWO), vectors(x, i + line, LANES, TWO)
                tile = outer(tile, scalars(w, j, by_row, rows), upper + lower)
                i += LANES
                j += by_tap
    return tile


@kernel
def _forward_rows(work: Any, w: Any, layer: Any, after: Any, group: int, o: int, rows: Any) -> None:
    n, side = layer.pooled, layer.x_side
    x = layer.x + group * layer.x_size
    y = after.x + group * after.x_size + o * after.x_side**2 * LANES
    code = layer.code + (group * layer.outputs + o) * n * n * LANES
    how = (layer.inputs, layer.inputs * SIZE * SIZE, SIZE * SIZE, 1)
    at_w = layer.w + o * how[1]
    for r in range(n):
        for c in range(n):
            tile = filled(scalars(w, layer.b + o, 1, rows), FOUR)
            at = x + (2 * r * side + 2 * c) * LANES
            spans = _span(layer.pad, layer.side, 2 * r) + _span(layer.pad, layer.side, 2 * c)
            tile = _correlate(tile, work, at, side, spans, w, at_w, how, rows)
            largest, which = pooled(tile)
            at_y = y + ((r + after.pad) * after.x_side + c + after.pad) * LANES
            store_tile(work, at_y, after.x_side**2 * LANES, ONE, largest)
            store_tile(work, code + (r * n + c) * LANES, n * n * LANES, ONE, which)


@kernel
def forward(work: Any, w: Any, layer: Any, after: Any, groups: int) -> None:
    """From the maps of ``layer`` to what the layer behind it reads."""
    for group in range(groups):
        for o in range(0, layer.outputs - len(MANY) + 1, len(MANY)):
            _forward_rows(work, w, layer, after, group, o, MANY)
        rest = layer.outputs % len(MANY)
        for o in range(layer.outputs - rest, layer.outputs - 1, 2):
            _forward_rows(work, w, layer, after, group, o, TWO)
        if rest % 2:
            o = layer.outputs - 1
            _forward_rows(work, w, layer, after, group, o, ONE)


@kernel
def unpool(work: Any, layer: Any, after: Any, groups: int) -> None:
    """From the gradient of what ``after`` reads to that of the sums here, before pooling."""
    n, side = layer.pooled, layer.d_side
    dx, dx_size, dx_side = after.dx, after.dx_size, after.dx_side
    for group in range(groups):
        for channel in range(layer.outputs):
            code = layer.code + (group * layer.outputs + channel) * n * n * LANES
            d = layer.d + group * layer.d_size + channel * side * side * LANES
            for r in range(n):
                i = dx + group * dx_size + (channel * dx_side + r) * dx_side * LANES
                j = d + ((2 * r + layer.frame) * side + layer.frame) * LANES
                for _ in range(n):
                    four = unpooled(load(work, i), load(work, code))
                    store_tile(work, j, 0, (0, LANES, side * LANES, (side + 1) * LANES), four)
                    i += LANES
                    code += LANES
                    j += 2 * LANES


@kernel
def _bias_rows(work: Any, g: Any, layer: Any, groups: int, o: int, rows: Any) -> None:
    side = layer.d_side
    plane = side * side * LANES
    tile, one = zeros(rows, ONE), filled((np.float32(1),), ONE)
    for group in range(groups):
        d = layer.d + group * layer.d_size + o * plane
        for r in range(layer.frame, layer.frame + 2 * layer.pooled):
            for c in range(layer.frame, layer.frame + 2 * layer.pooled):
                parts = vectors(work, d + (r * side + c) * LANES, plane, rows)
                tile = outer(tile, parts, one)
    store_totals(g, layer.b + o, 1, tile, ONE)


@kernel
def _weights_rows(work: Any, g: Any, layer: Any, groups: int, o: int, rows: Any) -> None:
    n, side = layer.x_side, layer.d_side
    plane = side * side * LANES
    for channel in range(layer.inputs):
        for u in range(SIZE):
            tile = zeros(rows, FIVE)
            for group in range(groups):
                x = layer.x + group * layer.x_size + (channel * n + u) * n * LANES
                d = layer.d + group * layer.d_size + o * plane
                for r in range(2 * layer.pooled):
                    i = x + r * n * LANES
                    j = d + ((r + layer.frame) * side + layer.frame) * LANES
                    for _ in range(2 * layer.pooled):
                        taps = vectors(work, i, LANES, FIVE)
                        tile = outer(tile, vectors(work, j, plane, rows), taps)
                        i += LANES
                        j += LANES
            at = layer.w + (o * layer.inputs + channel) * SIZE * SIZE + u * SIZE
            store_totals(g, at, layer.inputs * SIZE * SIZE, tile, FIVE)
    _bias_rows(work, g, layer, groups, o, rows)


@kernel
def _input_rows(work: Any, w: Any, layer: Any, group: int, channel: int, rows: Any) -> None:
    side, n = layer.d_side, layer.dx_side
    d = layer.d + group * layer.d_size
    taps = SIZE * SIZE
    how = (layer.outputs, taps, layer.inputs * taps, -1)
    at_w = layer.w + channel * taps + taps - 1
    dx = layer.dx + group * layer.dx_size + channel * n * n * LANES
    inside = 2 * layer.pooled
    for r in range(0, n, 2):
        for c in range(0, n, 2):
            at = d + (r * side + c) * LANES
            spans = _span(layer.frame, inside, r) + _span(layer.frame, inside, c)
            tile = _correlate(zeros(rows, FOUR), work, at, side, spans, w, at_w, how, rows)
            four = (0, LANES, n * LANES, (n + 1) * LANES)
            store_tile(work, dx + (r * n + c) * LANES, n * n * LANES, four, tile)


@kernel
def backward(work: Any, w: Any, g: Any, layer: Any, groups: int) -> None:
    """
    The gradient of filters and biases, from ``layer.x`` and ``layer.d``, into ``g``.

    Where there are layers before it, that of ``layer.x`` as well, into ``layer.dx``: a convolution
    of ``layer.d`` with the filters turned round.
    """
    for o in range(0, layer.outputs - len(MANY) + 1, len(MANY)):
        _weights_rows(work, g, layer, groups, o, MANY)
    rest = layer.outputs % len(MANY)
    for o in range(layer.outputs - rest, layer.outputs - 1, 2):
        _weights_rows(work, g, layer, groups, o, TWO)
    if rest % 2:
        o = layer.outputs - 1
        _weights_rows(work, g, layer, groups, o, ONE)
    for group in range(groups if layer.further else 0):
        for o in range(0, layer.inputs - len(MANY) + 1, len(MANY)):
            _input_rows(work, w, layer, group, o, MANY)
        rest = layer.inputs % len(MANY)
        for o in range(layer.inputs - rest, layer.inputs - 1, 2):
            _input_rows(work, w, layer, group, o, TWO)
        if rest % 2:
            o = layer.inputs - 1
            _input_rows(work, w, layer, group, o, ONE)
