"""Softmax, means and variances along the last axis of float32 tensors, compiled by Numba.

A row is read vector by vector, the last one masked. Each of the LANES sums of a row is as short as those that NumPy
adds in pairs, as long as rows have at most LONGEST elements. Needs the package numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending, types

from passlab.ir.expr import Call
from passlab.ir.op import op_name
from passlab.op.reduce import reduced_axes
from passlab.threads import PIECES
from passlab.vm.kernels.fused_product import Array, shape_of
from passlab.vm.kernels.numba_blocks import (
    ADDRESS,
    COUNT,
    FLOAT_POINTER,
    LANES,
    VECTOR,
    broadcast,
    close_loop,
    constant,
    loop_variables,
    multiply_add,
    next_piece,
)
from passlab.vm.kernels.numba_convolution import threads_for, write_result
from passlab.vm.kernels.numba_loops import njit
from passlab.vm.kernels.numba_rows import clamp, lanes_between, masked_load, masked_store
from passlab.vm.kernels.numba_waiting import share_pieces

# The crc32 of the instructions that other files hold, as in `numba_loops`.
INSTRUCTIONS = 638585261
LONGEST = 8192  # elements of a row
SMALLEST = 1024  # elements of a tensor: NumPy is as fast on smaller ones
EXP_COST = 4  # time for each element of a softmax, relative to a sum
Turn = Callable[[Any, Any, list[Any]], list[Any]]
_INTEGERS = ir.VectorType(ir.IntType(32), LANES)
# exp(x) = 2^n * exp(r) with |r| <= log(2) / 2: log2(e), log(2) in two parts, and the coefficients of Cephes
LOG2E, LOG2_HIGH, LOG2_LOW = 1.44269504088896341, 0.693359375, -2.12194440e-4
EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1.0, 1.0)
ROUNDING = 12582912.0  # 1.5 * 2^23: added to a small float32, it leaves an integer in the low bits
LEAST = -104.0  # exp of less is 0 in float32


# ---------------------------------------------------------------- instructions of a row
def _numbers(value: float) -> Any:
    return ir.Constant(VECTOR, [float(np.float32(value))] * LANES)


def _over_row(builder: Any, length: Any, totals: list[Any], turn: Turn) -> list[Any]:
    """Emit a loop over the vectors of a row: `turn` computes new totals from an index, a mask and the totals."""
    entry, loop, end = builder.block, builder.append_basic_block("vector"), builder.append_basic_block("end")
    builder.branch(loop)
    builder.position_at_end(loop)
    index, *values = loop_variables(builder, entry, [constant(0), *totals])
    results = turn(index, lanes_between(builder, 0, constant(0), builder.sub(length, index)), values)
    following = builder.add(index, constant(LANES))
    close_loop([index, *values], [following, *results], builder.block)
    builder.cbranch(builder.icmp_signed("<", following, length), loop, end)
    builder.position_at_end(end)
    return results


def _reduce(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Return the combination of all elements of a vector, in pairs."""
    width = LANES
    while width > 1:
        width //= 2
        other = ir.Constant(_INTEGERS, [(i + width) % LANES for i in range(LANES)])
        vector = combine(vector, builder.shuffle_vector(vector, vector, other))
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _greater(builder: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: builder.select(builder.fcmp_ordered(">", b, a), b, a)


def _emit_exp(builder: Any, x: Any) -> Any:
    """Return exp of a vector of numbers that are at most 0, within two roundings; what is not a number stays."""
    add = multiply_add(builder.module)
    x = clamp(builder, x, ir.Constant(ir.FloatType(), LEAST))
    shifted = builder.call(add, [x, _numbers(LOG2E), _numbers(ROUNDING)])
    whole = builder.fsub(shifted, _numbers(ROUNDING))
    rest = builder.call(add, [whole, _numbers(-LOG2_HIGH), x])
    rest = builder.call(add, [whole, _numbers(-LOG2_LOW), rest])
    result = _numbers(EXP[0])
    for coefficient in EXP[1:]:
        result = builder.call(add, [result, rest, _numbers(coefficient)])
    power = builder.sub(builder.bitcast(shifted, _INTEGERS), builder.bitcast(_numbers(ROUNDING), _INTEGERS))
    half = builder.ashr(power, ir.Constant(_INTEGERS, [1] * LANES))
    for part in (half, builder.sub(power, half)):  # one factor of 2^-150 would be 0
        exponent = builder.add(part, ir.Constant(_INTEGERS, [127] * LANES))
        bits = builder.shl(exponent, ir.Constant(_INTEGERS, [23] * LANES))
        result = builder.fmul(result, builder.bitcast(bits, VECTOR))
    return result


def _softmax_row(context: Any, data: Any, target: Any, length: Any) -> Any:
    """Type the function that writes the softmax of a row."""
    return types.void(ADDRESS, ADDRESS, COUNT), _emit_softmax


def _emit_softmax(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data, target, length = args
    data, target = (builder.inttoptr(a, FLOAT_POINTER) for a in (data, target))
    zero, least, greater = _numbers(0), _numbers(-math.inf), _greater(builder)

    def find_maximum(index: Any, mask: Any, totals: list[Any]) -> list[Any]:
        return [greater(totals[0], masked_load(builder, builder.gep(data, [index]), mask, least))]

    def add_exponentials(index: Any, mask: Any, totals: list[Any]) -> list[Any]:
        x = masked_load(builder, builder.gep(data, [index]), mask, zero)
        value = _emit_exp(builder, builder.fsub(x, maximum))
        masked_store(builder, value, builder.gep(target, [index]), mask)
        return [builder.fadd(totals[0], builder.select(mask, value, zero))]

    def divide(index: Any, mask: Any, totals: list[Any]) -> list[Any]:
        place = builder.gep(target, [index])
        masked_store(builder, builder.fdiv(masked_load(builder, place, mask, zero), total), place, mask)
        return []

    maximum = broadcast(builder, _reduce(builder, _over_row(builder, length, [least], find_maximum)[0], greater))
    total = broadcast(builder, _reduce(builder, _over_row(builder, length, [zero], add_exponentials)[0], builder.fadd))
    _over_row(builder, length, [], divide)
    return context.get_dummy_value()


def _sum_row(context: Any, data: Any, centre: Any, length: Any) -> Any:
    """Type the function that returns the sum of a row."""
    return types.float32(ADDRESS, types.float32, COUNT), lambda context, builder, signature, args: _emit_sum(
        builder, args, lambda x, centre: x
    )


def _sum_squares(context: Any, data: Any, centre: Any, length: Any) -> Any:
    """Type the function that returns the sum of the squares of the distances of a row from a number."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def square(x: Any, centre: Any) -> Any:
            distance = builder.fsub(x, centre)
            return builder.fmul(distance, distance)

        return _emit_sum(builder, args, square)

    return types.float32(ADDRESS, types.float32, COUNT), emit


def _emit_sum(builder: Any, args: Any, term: Callable[[Any, Any], Any]) -> Any:
    data, centre, length = args
    data, centre, zero = builder.inttoptr(data, FLOAT_POINTER), broadcast(builder, centre), _numbers(0)

    def add(index: Any, mask: Any, totals: list[Any]) -> list[Any]:
        value = term(masked_load(builder, builder.gep(data, [index]), mask, zero), centre)
        return [builder.fadd(totals[0], builder.select(mask, value, zero))]

    return _reduce(builder, _over_row(builder, length, [zero], add)[0], builder.fadd)


softmax_row, sum_row, sum_squares = (extending.intrinsic(f) for f in (_softmax_row, _sum_row, _sum_squares))


# ---------------------------------------------------------------- loops over rows
def _softmax_rows(x: Any, each: int, counter: Any, out: Any) -> None:  # pragma: no cover
    """Write the softmax of each row; `each` rows are one piece."""
    rows, length = x.shape
    while True:
        first = next_piece(counter.ctypes.data) * each
        if first >= rows:
            return
        for r in range(first, min(first + each, rows)):
            softmax_row(x[r].ctypes.data, out[r].ctypes.data, length)


def _sum_rows(x: Any, centres: Any, is_square: bool, counts: Any, counter: Any, out: Any) -> None:  # pragma: no cover
    """Write the sum of each row, or of its squared distances from `centres`, divided by a number."""
    each, divisor = counts
    rows, length = x.shape
    while True:
        first = next_piece(counter.ctypes.data) * each
        if first >= rows:
            return
        for r in range(first, min(first + each, rows)):
            if is_square:
                out[r] = sum_squares(x[r].ctypes.data, centres[r], length) / divisor
            else:
                out[r] = sum_row(x[r].ctypes.data, np.float32(0), length) / divisor


softmax_rows, sum_rows = njit(_softmax_rows), njit(_sum_rows)


# ---------------------------------------------------------------- operators
def is_reduction(call: Call) -> bool:
    """Whether a call on float32 is a softmax, mean or variance along rows that are neither long nor few."""
    if op_name(call) not in REDUCTIONS:
        return False
    shape, attrs = shape_of(call.args[0]), cast("Any", call.attrs)
    if not shape or not 2 <= shape[-1] <= LONGEST or math.prod(shape) < SMALLEST:
        return False
    axes = (attrs.axis % len(shape),) if op_name(call) == "nn.softmax" else reduced_axes(len(shape), attrs)
    return axes == (len(shape) - 1,) and (op_name(call) != "variance" or shape_of(call.args[1]) == (*shape[:-1], 1))


def softmax(call: Call) -> Callable[..., Any]:
    """Return a function (attrs, data, out) of arrays, of which the last may be None."""
    shape = shape_of(call)
    rows, length = math.prod(shape[:-1]), shape[-1]
    threads, each = _cut(rows, EXP_COST * length)

    def compute(attrs: Any, data: Any, out: Any = None) -> Any:
        x = np.ascontiguousarray(data).reshape(rows, length)

        def write(result: Array) -> None:
            target = result.reshape(rows, length)
            share_pieces(lambda counter: softmax_rows(x, each, counter, target), threads)

        return write_result(out, shape, write)

    return compute


def average(call: Call) -> Callable[..., Any]:
    """Return a function (attrs, data, centres, out) of arrays, of which a mean needs no centres."""
    data_shape, shape = shape_of(call.args[0]), shape_of(call)
    rows, length = math.prod(data_shape[:-1]), data_shape[-1]
    threads, each = _cut(rows, length)
    is_square = op_name(call) == "variance"
    named: Any = call.attrs
    counts = (each, np.float32(length - 1 if is_square and named.unbiased else length))
    nowhere = np.zeros(1, np.float32)

    def compute(attrs: Any, data: Any, centres: Any = None, out: Any = None) -> Any:
        x = np.ascontiguousarray(data).reshape(rows, length)
        middle = nowhere if centres is None else np.ascontiguousarray(centres).reshape(-1)

        def write(result: Array) -> None:
            target = result.reshape(-1)
            share_pieces(lambda counter: sum_rows(x, middle, is_square, counts, counter, target), threads)

        return write_result(out, shape, write)

    return compute


REDUCTIONS: dict[str, Callable[[Call], Callable[..., Any]]] = {
    "nn.softmax": softmax, "mean": average, "variance": average,
}  # fmt: skip


def _cut(rows: int, cost: int) -> tuple[int, int]:
    """Return how many threads share rows, and how many rows are one piece."""
    threads = threads_for(rows * cost, depthwise=True)
    return threads, max(1, rows if threads == 1 else -(-rows // (PIECES * threads)))
