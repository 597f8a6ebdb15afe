"""
A vector register as a Numba type: what the loop vectoriser of a compiler cannot be told.

A kernel keeps a *tile*, a small matrix of vectors with ``rows`` x ``columns``, in registers over
a whole sum and adds ``weights (one a row) x inputs (one a column)`` to it, so that one load feeds
several multiply-adds. How many rows and columns there are is the length of the tuples passed, so
it is known when a kernel is compiled and costs nothing when it runs. A tile is a tuple, row by
row. Indices are not checked, and no sum is reordered: nan and infinity go through as they should.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils, config
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic, models, register_model

# Kernels are called by kernels only; ways in for Python would double the time to compile them.
kernel = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)

# What Numba compiles for: the processor here, unless NUMBA_CPU_FEATURES says otherwise.
_features = (config.CPU_FEATURES or get_host_cpu_features()).split(",")
# Samples that a vector holds. Binaries are cached per kind of CPU, so this may be frozen here.
LANES = 16 if "+avx512f" in _features else 8 if "+avx" in _features else 4
_FEW = 2 if LANES == 8 else 4  # 16 registers hold 2 x 4 sums, 32 registers 4 x 4

ONE, TWO, FOUR, FIVE = (0,), (0, 0), (0, 0, 0, 0), (0, 0, 0, 0, 0)  # only their lengths count
MANY = (0,) * _FEW  # rows of a full tile
ALL = (0,) * LANES

_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


_ZERO = _constant(0.0)


class VectorType(types.Type):  # type: ignore[misc]
    """``LANES`` float32 numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


vector = VectorType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _tuple(length: int) -> Any:
    return types.UniTuple(vector, length)


def _pack(context: Any, builder: Any, signature: Any, values: list[Any]) -> Any:
    return context.make_tuple(builder, signature.return_type, values)


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _addresses(context: Any, builder: Any, signature: Any, values: Any, count: int) -> list[Any]:
    """Where ``array[at + i * step]`` lie, for the arguments ``array, at, step``."""
    array, at, step = values[:3]
    found = []
    for _ in range(count):
        found.append(_address(context, builder, signature.args[0], array, at))
        at = builder.add(at, step)
    return found


def _load(builder: Any, address: Any) -> Any:
    loaded = builder.load(builder.bitcast(address, _VECTOR.as_pointer()))
    loaded.align = 4
    return loaded


def _store(builder: Any, address: Any, value: Any) -> None:
    builder.store(value, builder.bitcast(address, _VECTOR.as_pointer())).align = 4


def _splat(builder: Any, scalar: Any) -> Any:
    undefined = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_INT, 0))
    everywhere = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, everywhere)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
    return builder.call(function, [a, b, c])


def _relu(builder: Any, value: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", value, _ZERO), _ZERO, value)


def _total(builder: Any, whole: Any) -> Any:
    width = LANES
    while width > 1:
        width //= 2
        undefined = ir.Constant(whole.type, ir.Undefined)
        low, high = (
            ir.Constant(ir.VectorType(_INT, width), list(range(start, start + width)))
            for start in (0, width)
        )
        whole = builder.fadd(
            builder.shuffle_vector(whole, undefined, low),
            builder.shuffle_vector(whole, undefined, high),
        )
    return builder.extract_element(whole, ir.Constant(_INT, 0))


@intrinsic
def load(typing: Any, array: Any, at: Any) -> Any:
    """The vector that starts at ``array[at]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _load(builder, _address(context, builder, signature.args[0], *values))

    return vector(array, types.intp), emit


@intrinsic
def store(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """``array[at : at + LANES] = value``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _store(builder, _address(context, builder, signature.args[0], *values[:2]), values[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), emit


@intrinsic
def scalars(typing: Any, array: Any, at: Any, step: Any, like: Any) -> Any:
    """The numbers ``array[at + i * step]``, as many as ``like`` is long."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        where = _addresses(context, builder, signature, values, len(like))
        return _pack(context, builder, signature, [builder.load(address) for address in where])

    result = types.UniTuple(types.float32, len(like))
    return result(array, types.intp, types.intp, like), emit


@intrinsic
def vectors(typing: Any, array: Any, at: Any, step: Any, like: Any) -> Any:
    """The vectors that start at ``array[at + i * step]``, as many as ``like`` is long."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        where = _addresses(context, builder, signature, values, len(like))
        return _pack(context, builder, signature, [_load(builder, address) for address in where])

    return _tuple(len(like))(array, types.intp, types.intp, like), emit


@intrinsic
def multiples(typing: Any, step: Any, like: Any) -> Any:
    """``(0, step, 2 * step, ...)``, as many as ``like`` is long."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = [ir.Constant(_LONG, 0)]
        for _ in range(len(like) - 1):
            found.append(builder.add(found[-1], values[0]))
        return _pack(context, builder, signature, found)

    return types.UniTuple(types.intp, len(like))(types.intp, like), emit


@intrinsic
def pixels(typing: Any, images: Any, row: Any, at: Any) -> Any:
    """The bytes from ``images[row, at]`` on as a vector of numbers."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        stride = builder.extract_value(array.strides, 0)
        address = builder.gep(array.data, [builder.add(builder.mul(values[1], stride), values[2])])
        kind = ir.VectorType(ir.IntType(8), LANES)
        loaded = builder.load(builder.bitcast(address, kind.as_pointer()))
        loaded.align = 1
        return builder.uitofp(loaded, _VECTOR)

    return vector(images, types.intp, types.intp), emit


@intrinsic
def turned(typing: Any, tile: Any) -> Any:
    """Rows and lanes exchanged, for as many vectors as there are lanes."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = cgutils.unpack_tuple(builder, values[0])
        kind = ir.VectorType(_INT, LANES)
        width = LANES // 2
        while width:  # exchange ever smaller off-diagonal squares
            lanes = range(LANES)
            low = [i if not i & width else LANES + i - width for i in lanes]
            high = [i + width if not i & width else LANES + i for i in lanes]
            for r in (r for r in lanes if not r & width):
                pair = rows[r], rows[r + width]
                rows[r] = builder.shuffle_vector(*pair, ir.Constant(kind, low))
                rows[r + width] = builder.shuffle_vector(*pair, ir.Constant(kind, high))
            width //= 2
        return _pack(context, builder, signature, rows)

    return tile(tile), emit


@intrinsic
def zeros(typing: Any, rows: Any, columns: Any) -> Any:
    """A tile of zeros."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _pack(context, builder, signature, [_ZERO] * (len(rows) * len(columns)))

    return _tuple(len(rows) * len(columns))(rows, columns), emit


@intrinsic
def filled(typing: Any, firsts: Any, columns: Any) -> Any:
    """A tile whose row ``r`` holds ``firsts[r]`` everywhere."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = [_splat(builder, first) for first in cgutils.unpack_tuple(builder, values[0])]
        return _pack(context, builder, signature, [row for row in rows for _ in columns])

    return _tuple(len(firsts) * len(columns))(firsts, columns), emit


@intrinsic
def outer(typing: Any, tile: Any, weights: Any, inputs: Any) -> Any:
    """The tile plus ``weights[row] * inputs[column]``; the weights are scalars or vectors."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        sums, rows, columns = (cgutils.unpack_tuple(builder, value) for value in values)
        if weights.dtype == types.float32:
            rows = [_splat(builder, row) for row in rows]
        pairs = [(row, column) for row in rows for column in columns]
        added = [
            _multiply_add(builder, row, column, before)
            for (row, column), before in zip(pairs, sums, strict=True)
        ]
        return _pack(context, builder, signature, added)

    return tile(tile, weights, inputs), emit


@intrinsic
def store_tile(typing: Any, array: Any, at: Any, step: Any, columns: Any, tile: Any) -> Any:
    """Put row ``r``, column ``c`` of the tile at ``array[at + r * step + columns[c]]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        offsets = cgutils.unpack_tuple(builder, values[3])
        parts = iter(cgutils.unpack_tuple(builder, values[4]))
        row = values[1]
        for _ in range(len(tile) // len(columns)):
            for offset in offsets:
                where = builder.add(row, offset)
                address = _address(context, builder, signature.args[0], values[0], where)
                _store(builder, address, next(parts))
            row = builder.add(row, values[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, columns, tile), emit


@intrinsic
def store_rows(
    typing: Any, array: Any, at: Any, step: Any, count: Any, tile: Any, like: Any
) -> Any:
    """
    Put row ``r`` at ``array[at + r * step]``, its columns one behind the other, cut at ``count``.

    ``like`` is as long as a row is wide.
    """

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = iter(cgutils.unpack_tuple(builder, values[4]))
        numbers = ir.VectorType(_LONG, LANES)
        row, limit = values[1], _splat(builder, values[3])
        for _ in range(len(tile) // len(like)):
            for column in range(len(like)):
                first = column * LANES
                where = builder.add(row, ir.Constant(_LONG, first))
                address = _address(context, builder, signature.args[0], values[0], where)
                pointer = builder.bitcast(address, _VECTOR.as_pointer())
                lanes = ir.Constant(numbers, list(range(first, first + LANES)))
                mask = builder.icmp_signed("<", lanes, limit)
                kinds = [_VECTOR, pointer.type, _INT, mask.type]
                function = cgutils.get_or_insert_function(
                    builder.module,
                    ir.FunctionType(ir.VoidType(), kinds),
                    f"llvm.masked.store.v{LANES}f32.p0",
                )
                builder.call(function, [next(parts), pointer, ir.Constant(_INT, 4), mask])
            row = builder.add(row, values[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, types.intp, tile, like), emit


@intrinsic
def store_totals(typing: Any, array: Any, at: Any, step: Any, tile: Any, like: Any) -> Any:
    """Put the sum over the lanes of row ``r``, column ``c`` at ``array[at + r * step + c]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = iter(cgutils.unpack_tuple(builder, values[3]))
        row = values[1]
        for _ in range(len(tile) // len(like)):
            for column in range(len(like)):
                where = builder.add(row, ir.Constant(_LONG, column))
                address = _address(context, builder, signature.args[0], values[0], where)
                builder.store(_total(builder, next(parts)), address)
            row = builder.add(row, values[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, tile, like), emit


@intrinsic
def relu(typing: Any, tile: Any) -> Any:
    """``max(x, 0)``; nan stays nan, so that a training that diverged is seen."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = cgutils.unpack_tuple(builder, values[0])
        return _pack(context, builder, signature, [_relu(builder, part) for part in parts])

    return tile(tile), emit


@intrinsic
def gated(typing: Any, value: Any, gate: Any) -> Any:
    """``value`` where ``gate > 0`` and 0 elsewhere: the way back through ``relu``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        passes = builder.fcmp_ordered(">", values[1], _ZERO)
        return builder.select(passes, values[0], _ZERO)

    return vector(vector, vector), emit


@intrinsic
def pooled(typing: Any, tile: Any) -> Any:
    """
    For every row of four columns the largest, cut at 0, and which of them it was (-1: cut).

    The first of equals wins, as in PyTorch. Where one is nan or infinite, the largest is nan.
    """

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = cgutils.unpack_tuple(builder, values[0])
        both = [_pooled(builder, parts[i : i + 4]) for i in range(0, len(parts), 4)]
        halves = [
            context.make_tuple(builder, kind, [pair[i] for pair in both])
            for i, kind in enumerate(signature.return_type)
        ]
        return _pack(context, builder, signature, halves)

    half = _tuple(len(tile) // 4)
    return types.UniTuple(half, 2)(tile), emit


def _pooled(builder: Any, parts: list[Any]) -> tuple[Any, Any]:
    best, which, everything = parts[0], _ZERO, parts[0]
    for i, part in enumerate(parts[1:], 1):
        larger = builder.fcmp_ordered(">", part, best)
        best = builder.select(larger, part, best)
        which = builder.select(larger, _constant(float(i)), which)
        everything = builder.fadd(everything, part)
    passes = builder.fcmp_ordered(">", best, _ZERO)
    # Comparisons lose nan; nothing times the sum of all keeps it.
    kept = _multiply_add(builder, _ZERO, everything, _relu(builder, best))
    return kept, builder.select(passes, which, _constant(-1.0))


@intrinsic
def unpooled(typing: Any, gradient: Any, which: Any) -> Any:
    """The way back through ``pooled``: ``gradient`` at the largest of the four, else 0."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        chosen = [builder.fcmp_ordered("==", values[1], _constant(float(i))) for i in range(4)]
        parts = [builder.select(here, values[0], _ZERO) for here in chosen]
        return _pack(context, builder, signature, parts)

    return _tuple(4)(vector, vector), emit
