"""Rows of results, a vector at a time: what follows a sum, and windows over one channel, as instructions for LLVM.

A row seldom fills its last vector; the rest of it is masked, so that nothing is written behind the row, and no element
is computed alone. Needs the package numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

from passlab.vm.kernels.numba_blocks import (
    ADDRESS,
    COUNT,
    I64,
    LANES,
    ROW,
    VECTOR,
    close,
    constant,
    load_vector,
    multiply_and_add,
    phis,
    spread,
    vector_at,
)

_I1, _I32 = ir.IntType(1), ir.IntType(32)
_BITS = ir.VectorType(_I1, LANES)
_NAN, _LEAST = (ir.Constant(VECTOR, [value] * LANES) for value in (float("nan"), float("-inf")))


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives instructions as a function that machine code may call."""
    result: Callable[..., Any] = extending.intrinsic(function)
    return result


def _inside(builder: Any, first: int, low: Any, high: Any) -> Any:
    """Return which elements of a vector that begins at `first` lie from `low` on and before `high`."""
    low, high = (builder.trunc(n, _I32) for n in (low, high))
    places = ir.Constant(ir.VectorType(_I32, LANES), [first + i for i in range(LANES)])
    from_low = builder.sub(places, spread(builder, low))
    return builder.icmp_unsigned("<", from_low, spread(builder, builder.sub(high, low)))


def _store(builder: Any, value: Any, target: Any, inside: Any) -> None:
    name = f"llvm.masked.store.v{LANES}f32.p0"
    pointer = ir.PointerType(VECTOR)
    kind = ir.FunctionType(ir.VoidType(), [VECTOR, pointer, _I32, _BITS])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, [value, builder.bitcast(target, pointer), ir.Constant(_I32, 4), inside])


def _load(builder: Any, source: Any, inside: Any, other: Any) -> Any:
    """Return a vector of memory, with `other` in place of what does not lie `inside`."""
    name = f"llvm.masked.load.v{LANES}f32.p0"
    pointer = ir.PointerType(VECTOR)
    kind = ir.FunctionType(VECTOR, [pointer, _I32, _BITS, VECTOR])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, [builder.bitcast(source, pointer), ir.Constant(_I32, 4), inside, other])


def _limit(builder: Any, value: Any, floor: Any) -> Any:
    """Return a value, or the floor where it is less; what is not a number stays."""
    least = spread(builder, floor)
    return builder.select(builder.fcmp_ordered("<", value, least), least, value)


# ---------------------------------------------------------------- moving a row
def _mover(step: int) -> Callable[..., Any]:
    """Return the function (source, target, low, high, padding) that copies a vector of every `step`-th element.

    Only what has a number from `low` to `high` counted from the source is read; the others are `padding`.
    """

    def move(context: Any, source: Any, target: Any, low: Any, high: Any, padding: Any) -> Any:
        signature = types.void(ADDRESS, ADDRESS, COUNT, COUNT, types.float32)
        return signature, lambda context, builder, signature, args: _emit_move(context, builder, args, step)

    return _intrinsic(move)


def _emit_move(context: Any, builder: Any, args: Any, step: int) -> Any:
    source, target, low, high, padding = args
    source, target, other = builder.inttoptr(source, ROW), builder.inttoptr(target, ROW), spread(builder, padding)
    loads = []
    for v in range(step):
        inside = _inside(builder, v * LANES, low, high)
        loads.append(_load(builder, vector_at(builder, source, v), inside, other))
    places = ir.Constant(ir.VectorType(_I32, LANES), [i * step for i in range(LANES)])
    store = builder.store(
        loads[0] if step == 1 else builder.shuffle_vector(*loads, places), vector_at(builder, target, 0)
    )
    store.align = 4
    return context.get_dummy_value()


def _filler() -> Callable[..., Any]:
    """Return the function (value, target) that writes a vector of one number."""

    def write(context: Any, value: Any, target: Any) -> Any:
        return types.void(types.float32, ADDRESS), _emit_fill

    return _intrinsic(write)


def _emit_fill(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    store = builder.store(spread(builder, args[0]), vector_at(builder, builder.inttoptr(args[1], ROW), 0))
    store.align = 4
    return context.get_dummy_value()


fill = _filler()
copy_each, copy_second = (_mover(step) for step in (1, 2))


# ---------------------------------------------------------------- what follows a sum
def _ending(adds: bool) -> Callable[..., Any]:
    """Return the function (sums, offset, other, floor, target, count) that writes a vector's first `count` elements."""

    def end(context: Any, sums: Any, offset: Any, other: Any, floor: Any, target: Any, count: Any) -> Any:
        signature = types.void(ADDRESS, types.float32, ADDRESS, types.float32, ADDRESS, COUNT)
        return signature, lambda context, builder, signature, args: _emit_end(context, builder, args, adds)

    return _intrinsic(end)


def _emit_end(context: Any, builder: Any, args: Any, adds: bool) -> Any:
    sums, offset, other, floor, target, count = args
    sums, other, target = (builder.inttoptr(a, ROW) for a in (sums, other, target))
    inside = _inside(builder, 0, constant(0), count)
    value = builder.fadd(load_vector(builder, sums, 0), spread(builder, offset))
    if adds:
        value = builder.fadd(value, _load(builder, other, inside, ir.Constant(VECTOR, ir.Undefined)))
    _store(builder, _limit(builder, value, floor), target, inside)
    return context.get_dummy_value()


end_vector, add_and_end_vector = (_ending(adds) for adds in (False, True))


# ---------------------------------------------------------------- windows over one channel
def _row(vectors: int, emit: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Return the function (data, starts, taps, weights, offset, floor, target, count) of so many vectors of a row."""

    def row(
        context: Any, data: Any, starts: Any, taps: Any, weights: Any, offset: Any, floor: Any, target: Any, count: Any
    ) -> Any:
        number = types.float32
        signature = types.void(ADDRESS, ADDRESS, COUNT, ADDRESS, number, number, ADDRESS, COUNT)
        return signature, lambda context, builder, signature, args: _emit_row(context, builder, args, vectors, emit)

    return _intrinsic(row)


def _emit_row(context: Any, builder: Any, args: Any, vectors: int, emit: Callable[..., list[Any]]) -> Any:
    data, starts, taps, weights, offset, floor, target, count = args
    data, weights, target = (builder.inttoptr(a, ROW) for a in (data, weights, target))
    starts = builder.inttoptr(starts, ir.PointerType(I64))
    before = builder.block
    loop, end = (builder.append_basic_block(name) for name in ("tap", "end"))
    first = emit(builder, None, None, [], vectors, offset)
    builder.branch(loop)

    builder.position_at_end(loop)
    tap, *parts = phis(builder, before, [constant(0), *first])
    run = builder.gep(data, [builder.load(builder.gep(starts, [tap]))])
    results = emit(builder, run, builder.gep(weights, [tap]), parts, vectors, offset)
    next_tap = builder.add(tap, constant(1))
    close([tap, *parts], [next_tap, *results], loop)
    builder.cbranch(builder.icmp_signed("<", next_tap, taps), loop, end)

    builder.position_at_end(end)
    for v in range(vectors):
        value = results[v]
        if len(results) > vectors:  # what was not a number is told apart
            value = builder.select(results[vectors + v], _NAN, value)
        _store(
            builder,
            _limit(builder, value, floor),
            vector_at(builder, target, v),
            _inside(builder, v * LANES, constant(0), count),
        )
    return context.get_dummy_value()


def _sum(builder: Any, run: Any, weight: Any, parts: list[Any], vectors: int, offset: Any) -> list[Any]:
    """Return the sums with the products of one tap added; of no tap, the offset."""
    if run is None:
        return [spread(builder, offset)] * vectors
    factor, add = spread(builder, builder.load(weight)), multiply_and_add(builder.module)
    return [builder.call(add, [load_vector(builder, run, v), factor, parts[v]]) for v in range(vectors)]


def _maximum(builder: Any, run: Any, weight: Any, parts: list[Any], vectors: int, offset: Any) -> list[Any]:
    """Return the maxima with one tap, then whether anything was not a number, which comparisons would forget."""
    if run is None:
        return [_LEAST] * vectors + [ir.Constant(_BITS, [0] * LANES)] * vectors
    results, marks = [], []
    for v in range(vectors):
        value = load_vector(builder, run, v)
        results.append(builder.select(builder.fcmp_ordered(">", value, parts[v]), value, parts[v]))
        marks.append(builder.or_(parts[vectors + v], builder.fcmp_unordered("uno", value, value)))
    return [*results, *marks]


sum_2, sum_4, maximum_2 = _row(2, _sum), _row(4, _sum), _row(2, _maximum)
