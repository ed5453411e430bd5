"""Kernels of single rows, one vector at a time, emitted as LLVM IR: copies, epilogues and windows over one channel.

A row seldom fills its last vector: the lanes beyond its end are masked, so nothing is written past the row and no
element is computed by scalar code. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

from passlab.vm.kernels.numba_blocks import (
    ADDRESS,
    COUNT,
    FLOAT_POINTER,
    I64,
    LANES,
    VECTOR,
    broadcast,
    close_loop,
    constant,
    declare,
    load_vector,
    loop_variables,
    multiply_add,
    store_vector,
    vector_address,
)

_I1, _I32 = ir.IntType(1), ir.IntType(32)
_MASK, _INDICES = ir.VectorType(_I1, LANES), ir.VectorType(_I32, LANES)
_NAN, _MINUS_INFINITY = (ir.Constant(VECTOR, [value] * LANES) for value in (float("nan"), float("-inf")))


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a typing function as an intrinsic that compiled code may call."""
    result: Callable[..., Any] = extending.intrinsic(function)
    return result


def _lanes_between(builder: Any, first: int, low: Any, high: Any) -> Any:
    """Return the mask of the lanes i of a vector with low <= first + i < high."""
    low, high = (builder.trunc(n, _I32) for n in (low, high))
    indices = ir.Constant(_INDICES, [first + i for i in range(LANES)])
    # one unsigned comparison instead of two signed ones
    return builder.icmp_unsigned(
        "<", builder.sub(indices, broadcast(builder, low)), broadcast(builder, builder.sub(high, low))
    )


def _masked_store(builder: Any, value: Any, target: Any, mask: Any) -> None:
    pointer = ir.PointerType(VECTOR)
    parameters = [VECTOR, pointer, _I32, _MASK]
    function = declare(builder.module, f"llvm.masked.store.v{LANES}f32.p0", ir.VoidType(), parameters)
    builder.call(function, [value, builder.bitcast(target, pointer), ir.Constant(_I32, 4), mask])


def _masked_load(builder: Any, source: Any, mask: Any, default: Any) -> Any:
    """Return a vector of memory, with `default` in the masked-out lanes, which are not read."""
    pointer = ir.PointerType(VECTOR)
    function = declare(builder.module, f"llvm.masked.load.v{LANES}f32.p0", VECTOR, [pointer, _I32, _MASK, VECTOR])
    return builder.call(function, [builder.bitcast(source, pointer), ir.Constant(_I32, 4), mask, default])


def _clamp(builder: Any, value: Any, floor: Any) -> Any:
    """Return the larger of a value and the floor; NaN stays NaN."""
    minimum = broadcast(builder, floor)
    return builder.select(builder.fcmp_ordered("<", value, minimum), minimum, value)


# ---------------------------------------------------------------- copying a row
def _row_copy(step: int) -> Callable[..., Any]:
    """Return the function (source, target, low, high, padding) that copies a vector of every `step`-th element.

    Only elements with an index from `low` to `high`, counted from the source, are read; the others become `padding`.
    """

    def copy(context: Any, source: Any, target: Any, low: Any, high: Any, padding: Any) -> Any:
        signature = types.void(ADDRESS, ADDRESS, COUNT, COUNT, types.float32)
        return signature, lambda context, builder, signature, args: _emit_copy(context, builder, args, step)

    return _intrinsic(copy)


def _emit_copy(context: Any, builder: Any, args: Any, step: int) -> Any:
    source, target, low, high, padding = args
    source, target = (builder.inttoptr(a, FLOAT_POINTER) for a in (source, target))
    default, loads = broadcast(builder, padding), []
    for v in range(step):
        mask = _lanes_between(builder, v * LANES, low, high)
        loads.append(_masked_load(builder, vector_address(builder, source, v), mask, default))
    indices = ir.Constant(_INDICES, [i * step for i in range(LANES)])
    store_vector(builder, loads[0] if step == 1 else builder.shuffle_vector(*loads, indices), target, 0)
    return context.get_dummy_value()


def _fill(context: Any, value: Any, target: Any) -> Any:
    """Type the function that fills one vector with a number."""
    return types.void(types.float32, ADDRESS), _emit_fill


def _emit_fill(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    value, target = args
    store_vector(builder, broadcast(builder, value), builder.inttoptr(target, FLOAT_POINTER), 0)
    return context.get_dummy_value()


fill_vector = _intrinsic(_fill)
copy_contiguous, copy_every_second = (_row_copy(step) for step in (1, 2))


# ---------------------------------------------------------------- the epilogue of a sum
def _epilogue(adds: bool) -> Callable[..., Any]:
    """Return the function (sums, bias, other, floor, target, count) that writes a vector's first `count` results.

    A result is max(sum + bias, floor), or max(sum + bias + other, floor) if `adds`.
    """

    def store(context: Any, sums: Any, bias: Any, other: Any, floor: Any, target: Any, count: Any) -> Any:
        signature = types.void(ADDRESS, types.float32, ADDRESS, types.float32, ADDRESS, COUNT)
        return signature, lambda context, builder, signature, args: _emit_epilogue(context, builder, args, adds)

    return _intrinsic(store)


def _emit_epilogue(context: Any, builder: Any, args: Any, adds: bool) -> Any:
    sums, bias, other, floor, target, count = args
    sums, other, target = (builder.inttoptr(a, FLOAT_POINTER) for a in (sums, other, target))
    mask = _lanes_between(builder, 0, constant(0), count)
    value = builder.fadd(load_vector(builder, sums, 0), broadcast(builder, bias))
    if adds:
        value = builder.fadd(value, _masked_load(builder, other, mask, ir.Constant(VECTOR, ir.Undefined)))
    _masked_store(builder, _clamp(builder, value, floor), target, mask)
    return context.get_dummy_value()


store_results, add_and_store_results = (_epilogue(adds) for adds in (False, True))


# ---------------------------------------------------------------- windows over one channel
def _window_row(vectors: int, emit: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Return the function (data, starts, taps, weights, bias, floor, target, count) for some vectors of a row."""

    def row(
        context: Any, data: Any, starts: Any, taps: Any, weights: Any, bias: Any, floor: Any, target: Any, count: Any
    ) -> Any:
        number = types.float32
        signature = types.void(ADDRESS, ADDRESS, COUNT, ADDRESS, number, number, ADDRESS, COUNT)
        return signature, lambda context, builder, signature, args: _emit_row(context, builder, args, vectors, emit)

    return _intrinsic(row)


def _emit_row(context: Any, builder: Any, args: Any, vectors: int, emit: Callable[..., list[Any]]) -> Any:
    data, starts, taps, weights, bias, floor, target, count = args
    data, weights, target = (builder.inttoptr(a, FLOAT_POINTER) for a in (data, weights, target))
    starts = builder.inttoptr(starts, ir.PointerType(I64))
    entry = builder.block
    loop, end = (builder.append_basic_block(name) for name in ("tap", "end"))
    initial = emit(builder, None, None, [], vectors, bias)
    builder.branch(loop)

    builder.position_at_end(loop)
    tap, *partial = loop_variables(builder, entry, [constant(0), *initial])
    source = builder.gep(data, [builder.load(builder.gep(starts, [tap]))])
    results = emit(builder, source, builder.gep(weights, [tap]), partial, vectors, bias)
    next_tap = builder.add(tap, constant(1))
    close_loop([tap, *partial], [next_tap, *results], loop)
    builder.cbranch(builder.icmp_signed("<", next_tap, taps), loop, end)

    builder.position_at_end(end)
    for v in range(vectors):
        value = _clamp(builder, _with_nan(builder, results, v, vectors), floor)
        mask = _lanes_between(builder, v * LANES, constant(0), count)
        _masked_store(builder, value, vector_address(builder, target, v), mask)
    return context.get_dummy_value()


def _with_nan(builder: Any, results: list[Any], v: int, vectors: int) -> Any:
    """Return the value of vector `v`, NaN where its window has one: `_emit_maximum` returns these masks as well."""
    return results[v] if len(results) == vectors else builder.select(results[vectors + v], _NAN, results[v])


def _emit_sum(builder: Any, source: Any, weight: Any, sums: list[Any], vectors: int, bias: Any) -> list[Any]:
    """Return the sums with the products of one tap added; before the first tap, the bias."""
    if source is None:
        return [broadcast(builder, bias)] * vectors
    factor, add = broadcast(builder, builder.load(weight)), multiply_add(builder.module)
    return [builder.call(add, [load_vector(builder, source, v), factor, sums[v]]) for v in range(vectors)]


def _emit_maximum(builder: Any, source: Any, weight: Any, partial: list[Any], vectors: int, bias: Any) -> list[Any]:
    """Return the maxima with one tap included, then the masks of the windows with a NaN, which comparisons ignore."""
    if source is None:
        return [_MINUS_INFINITY] * vectors + [ir.Constant(_MASK, [0] * LANES)] * vectors
    maxima, masks = [], []
    for v in range(vectors):
        value = load_vector(builder, source, v)
        maxima.append(builder.select(builder.fcmp_ordered(">", value, partial[v]), value, partial[v]))
        masks.append(builder.or_(partial[vectors + v], builder.fcmp_unordered("uno", value, value)))
    return [*maxima, *masks]


sum_row_2, sum_row_4 = (_window_row(vectors, _emit_sum) for vectors in (2, 4))
maximum_row_2 = _window_row(2, _emit_maximum)
