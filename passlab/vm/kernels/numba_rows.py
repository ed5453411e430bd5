"""Kernels of single rows, one vector at a time, emitted as LLVM IR: copies and epilogues.

A row seldom fills its last vector: the lanes beyond its end are masked, so nothing is written past the row and no
element is computed by scalar code. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from passlab.vm.kernels.numba_blocks import (
    ADDRESS,
    COUNT,
    FLOAT_POINTER,
    LANES,
    VECTOR,
    broadcast,
    constant,
    declare,
    load_vector,
    store_vector,
    vector_address,
)

_I1, _I32 = ir.IntType(1), ir.IntType(32)
_MASK, _INDICES = ir.VectorType(_I1, LANES), ir.VectorType(_I32, LANES)


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a typing function as an intrinsic that compiled code may call."""
    result: Callable[..., Any] = extending.intrinsic(function)
    return result


def lanes_between(builder: Any, first: int, low: Any, high: Any) -> Any:
    """Return the mask of the lanes i of a vector with low <= first + i < high."""
    low, high = (builder.trunc(n, _I32) for n in (low, high))
    indices = ir.Constant(_INDICES, [first + i for i in range(LANES)])
    # one unsigned comparison instead of two signed ones
    return builder.icmp_unsigned(
        "<", builder.sub(indices, broadcast(builder, low)), broadcast(builder, builder.sub(high, low))
    )


def masked_store(builder: Any, value: Any, target: Any, mask: Any) -> None:
    """Store the lanes of a vector that a mask names.

    Processors without AVX-512 take many times as long for a masked store, so they store a whole vector without a mask.
    """
    if LANES == 16:
        _store_lanes(builder, value, target, mask)
        return
    bits = ir.IntType(LANES)
    is_whole = builder.icmp_unsigned("==", builder.bitcast(mask, bits), ir.Constant(bits, 2**LANES - 1))
    with builder.if_else(is_whole, likely=True) as (whole, part):
        with whole:
            store_vector(builder, value, builder.bitcast(target, FLOAT_POINTER), 0)
        with part:
            _store_lanes(builder, value, target, mask)


def _store_lanes(builder: Any, value: Any, target: Any, mask: Any) -> None:
    pointer = ir.PointerType(VECTOR)
    parameters = [VECTOR, pointer, _I32, _MASK]
    function = declare(builder.module, f"llvm.masked.store.v{LANES}f32.p0", ir.VoidType(), parameters)
    builder.call(function, [value, builder.bitcast(target, pointer), ir.Constant(_I32, 4), mask])


def masked_load(builder: Any, source: Any, mask: Any, default: Any) -> Any:
    """Return a vector of memory, with `default` in the masked-out lanes, which are not read."""
    pointer = ir.PointerType(VECTOR)
    function = declare(builder.module, f"llvm.masked.load.v{LANES}f32.p0", VECTOR, [pointer, _I32, _MASK, VECTOR])
    return builder.call(function, [builder.bitcast(source, pointer), ir.Constant(_I32, 4), mask, default])


def clamp(builder: Any, value: Any, floor: Any) -> Any:
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
        mask = lanes_between(builder, v * LANES, low, high)
        loads.append(masked_load(builder, vector_address(builder, source, v), mask, default))
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


def _copy_memory(context: Any, source: Any, target: Any, size: Any) -> Any:
    """Type the function that copies so many bytes."""
    return types.void(ADDRESS, ADDRESS, COUNT), _emit_memory_copy


def _emit_memory_copy(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    source, target, size = args
    byte = ir.PointerType(ir.IntType(8))
    cgutils.raw_memcpy(builder, builder.inttoptr(target, byte), builder.inttoptr(source, byte), size, 1)
    return context.get_dummy_value()


def _interleave_three(context: Any, source: Any, distance: Any, target: Any) -> Any:
    """Type the function that interleaves a vector of each of three planes; `distance` lies between planes."""
    return types.void(ADDRESS, COUNT, ADDRESS), _emit_interleave


def _emit_interleave(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    source, distance, target = args
    source, target = (builder.inttoptr(a, FLOAT_POINTER) for a in (source, target))
    planes = [load_vector(builder, builder.gep(source, [builder.mul(distance, constant(c))]), 0) for c in range(3)]
    both = _indices(range(2 * LANES))
    first, second = (builder.shuffle_vector(*pair, both) for pair in ((planes[0], planes[1]), (planes[2], planes[2])))
    result = builder.shuffle_vector(first, second, _indices([c * LANES + i for i in range(LANES) for c in range(3)]))
    store = builder.store(result, builder.bitcast(target, ir.PointerType(result.type)))
    store.align = 4
    return context.get_dummy_value()


def _indices(numbers: Iterable[int]) -> Any:
    indices = list(numbers)
    return ir.Constant(ir.VectorType(_I32, len(indices)), indices)


def _scale(context: Any, source: Any, factors: Any, biases: Any, floor: Any, target: Any, count: Any) -> Any:
    """Type the function that writes max(x * factor + bias, floor) for the first `count` elements of a vector."""
    return types.void(ADDRESS, ADDRESS, ADDRESS, types.float32, ADDRESS, COUNT), _emit_scale


def _emit_scale(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    *sources, floor, target, count = args
    mask, undefined = lanes_between(builder, 0, constant(0), count), ir.Constant(VECTOR, ir.Undefined)
    x, factor, bias = (masked_load(builder, builder.inttoptr(s, FLOAT_POINTER), mask, undefined) for s in sources)
    result = clamp(builder, builder.fadd(builder.fmul(x, factor), bias), floor)
    masked_store(builder, result, builder.inttoptr(target, FLOAT_POINTER), mask)
    return context.get_dummy_value()


fill_vector, copy_memory = _intrinsic(_fill), _intrinsic(_copy_memory)
interleave_three, scale_vector = _intrinsic(_interleave_three), _intrinsic(_scale)
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
    mask = lanes_between(builder, 0, constant(0), count)
    value = builder.fadd(load_vector(builder, sums, 0), broadcast(builder, bias))
    if adds:
        value = builder.fadd(value, masked_load(builder, other, mask, ir.Constant(VECTOR, ir.Undefined)))
    masked_store(builder, clamp(builder, value, floor), target, mask)
    return context.get_dummy_value()


store_results, add_and_store_results = (_epilogue(adds) for adds in (False, True))
