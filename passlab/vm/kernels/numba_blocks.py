"""Sums of products in registers: the innermost loops of convolutions and products, as instructions for LLVM.

    sums[o, i] = sum(weights[c, t, o] * data[c * row + starts[t] + i])      for a few o and a few vectors of i

Each tap of a window is a run of the data, some places further on; so a convolution of any stride and dilation is this,
once its data is laid out as `numba_convolution` does, and so is a product of matrices. A compiler for Python code
would keep the sums in memory; here they are values of LLVM, which keeps them in registers. See Goto and van de Geijn,
"Anatomy of high-performance matrix multiplication" (2008), and Georganas et al., "Anatomy of high-performance deep
learning convolutions on SIMD architectures" (2018). Needs the package numba.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import extending, types

_FEATURES = llvm.get_host_cpu_features()
# Elements of a vector, and how many sums of how many vectors are held at a time: as many as the registers take.
LANES, SUMS = (16, 8) if _FEATURES.get("avx512f") else (8, 4) if _FEATURES.get("avx2") else (4, 4)
AHEAD = 1024  # weights
F32, I64 = ir.FloatType(), ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)
ROW = ir.PointerType(F32)
ADDRESS, COUNT = types.uintp, types.intp
_SIGNATURE = types.void(ADDRESS, COUNT, ADDRESS, COUNT, ADDRESS, COUNT, ADDRESS, COUNT)


def _block(rows: int, vectors: int) -> Any:
    """Return the function (data, row, starts, taps, weights, channels, sums, sums_row) for so many o and vectors of i.

    The arrays are addresses, the rows distances in elements; there is at least one tap and one channel.
    """

    def block(
        context: Any, data: Any, row: Any, starts: Any, taps: Any, weights: Any, channels: Any, sums: Any, sums_row: Any
    ) -> Any:
        return _SIGNATURE, lambda context, builder, signature, args: _emit(context, builder, args, rows, vectors)

    return extending.intrinsic(block)


def _emit(context: Any, builder: Any, args: Any, rows: int, vectors: int) -> Any:
    data, row, starts, taps, weights, channels, sums, sums_row = args
    data, weights, sums = (builder.inttoptr(a, ROW) for a in (data, weights, sums))
    starts = builder.inttoptr(starts, ir.PointerType(I64))
    zeros = [ir.Constant(VECTOR, [0.0] * LANES)] * (rows * vectors)
    before = builder.block
    outer, inner, after, end = (builder.append_basic_block(n) for n in ("channel", "tap", "next_channel", "end"))
    builder.branch(outer)

    builder.position_at_end(outer)
    channel, at, factors, *totals = phis(builder, before, [constant(0), data, weights, *zeros])
    builder.branch(inner)

    builder.position_at_end(inner)
    tap, factor, *parts = phis(builder, outer, [constant(0), factors, *totals])
    run = builder.gep(at, [builder.load(builder.gep(starts, [tap]))])
    results = _multiply(builder, run, factor, parts, rows, vectors)
    next_tap, next_factor = builder.add(tap, constant(1)), builder.gep(factor, [constant(rows)])
    close([tap, factor, *parts], [next_tap, next_factor, *results], inner)
    builder.cbranch(builder.icmp_signed("<", next_tap, taps), inner, after)

    builder.position_at_end(after)
    next_channel, next_at = builder.add(channel, constant(1)), builder.gep(at, [row])
    close([channel, at, factors, *totals], [next_channel, next_at, next_factor, *results], after)
    builder.cbranch(builder.icmp_signed("<", next_channel, channels), outer, end)

    builder.position_at_end(end)
    for o in range(rows):
        target = builder.gep(sums, [builder.mul(sums_row, constant(o))])
        for v in range(vectors):
            store = builder.store(results[o * vectors + v], vector_at(builder, target, v))
            store.align = 4
    return context.get_dummy_value()


def _multiply(builder: Any, run: Any, factor: Any, parts: list[Any], rows: int, vectors: int) -> list[Any]:
    """Return the sums with the products of one tap added."""
    add = multiply_and_add(builder.module)
    _prefetch(builder, builder.gep(factor, [constant(AHEAD)]))
    data = [load_vector(builder, run, v) for v in range(vectors)]
    results = []
    for o in range(rows):
        each = spread(builder, builder.load(builder.gep(factor, [constant(o)])))
        results += [builder.call(add, [data[v], each, parts[o * vectors + v]]) for v in range(vectors)]
    return results


def multiply_and_add(module: Any) -> Any:
    """Return LLVM's function (a, b, c) of vectors that gives a * b + c."""
    name = f"llvm.fmuladd.v{LANES}f32"
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(VECTOR, [VECTOR] * 3), name)


def _prefetch(builder: Any, address: Any) -> None:
    """Ask for the weights of taps to come, which are read once from a far memory."""
    byte, whole = ir.PointerType(ir.IntType(8)), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
    name = "llvm.prefetch.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    read, near, data = (ir.Constant(whole, n) for n in (0, 3, 1))
    builder.call(function, [builder.bitcast(address, byte), read, near, data])


def constant(value: int) -> Any:
    """Return a number of elements as a value of LLVM."""
    return ir.Constant(I64, value)


def spread(builder: Any, value: Any) -> Any:
    """Return a vector of one number."""
    kind = ir.VectorType(value.type, LANES)
    nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(builder.insert_element(nothing, value, first), nothing, everywhere)


def load_vector(builder: Any, start: Any, at: int) -> Any:
    """Return the vector with this number behind an address."""
    load = builder.load(vector_at(builder, start, at))
    load.align = 4
    return load


def vector_at(builder: Any, start: Any, at: int) -> Any:
    """Return the address of the vector with this number behind an address."""
    return builder.bitcast(builder.gep(start, [constant(at * LANES)]), ir.PointerType(VECTOR))


def phis(builder: Any, source: Any, values: list[Any]) -> list[Any]:
    """Return the variables of a loop, with their values at its beginning."""
    phis = []
    for value in values:
        phi = builder.phi(value.type)
        phi.add_incoming(value, source)
        phis.append(phi)
    return phis


def close(phis: list[Any], values: list[Any], source: Any) -> None:
    """Give the variables of a loop their values of the next turn."""
    for phi, value in zip(phis, values, strict=True):
        phi.add_incoming(value, source)


def _add_panel(context: Any, panel: Any, weights: Any, row: Any, channels: Any, sums: Any) -> Any:
    """Type the function that adds the products of rows of weights, so far apart, with a panel to (SUMS, PANEL) sums."""
    return types.void(ADDRESS, ADDRESS, COUNT, COUNT, ADDRESS), _emit_panel


def _emit_panel(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    panel, weights, row, channels, sums = args
    panel, weights, sums = (builder.inttoptr(a, ROW) for a in (panel, weights, sums))
    vectors, before = PANEL // LANES, builder.block
    loop, end = (builder.append_basic_block(name) for name in ("channel", "end"))
    first = [load_vector(builder, sums, i) for i in range(SUMS * vectors)]
    distances = [builder.mul(row, constant(o)) for o in range(SUMS)]
    add = multiply_and_add(builder.module)
    builder.branch(loop)

    builder.position_at_end(loop)
    channel, *totals = phis(builder, before, [constant(0), *first])
    run, factors = builder.gep(panel, [builder.mul(channel, constant(PANEL))]), builder.gep(weights, [channel])
    data = [load_vector(builder, run, v) for v in range(vectors)]
    results = []
    for o in range(SUMS):
        each = spread(builder, builder.load(builder.gep(factors, [distances[o]])))
        results += [builder.call(add, [data[v], each, totals[o * vectors + v]]) for v in range(vectors)]
    following = builder.add(channel, constant(1))
    close([channel, *totals], [following, *results], loop)
    builder.cbranch(builder.icmp_signed("<", following, channels), loop, end)

    builder.position_at_end(end)
    for i, value in enumerate(results):
        store = builder.store(value, vector_at(builder, sums, i))
        store.align = 4
    return context.get_dummy_value()


def _ask(context: Any, address: Any) -> Any:
    return types.void(ADDRESS), _emit_ask


def _emit_ask(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    _prefetch(builder, builder.inttoptr(args[0], ROW))
    return context.get_dummy_value()


PANEL = 3 * LANES  # columns of a product that are summed at a time
add_panel, ask_for = extending.intrinsic(_add_panel), extending.intrinsic(_ask)
one_vector, two_vectors, three_vectors = (_block(SUMS, vectors) for vectors in (1, 2, 3))


def _counter() -> Any:
    """Return the function of an address that adds one to the number there, as threads may at the same time.

    It returns the number before.
    """

    def count(context: Any, counter: Any) -> Any:
        return COUNT(ADDRESS), _emit_count

    return extending.intrinsic(count)


def _emit_count(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.atomic_rmw("add", builder.inttoptr(args[0], ir.PointerType(I64)), constant(1), "monotonic")


next_number = _counter()
