"""Micro-kernels of compiled convolutions and matrix products: blocks of sums held in registers, emitted as LLVM IR.

    sums[o, i] = sum(weights[c, t, o] * data[c * row + starts[t] + i])      for a few o and a few vectors of i

Each tap of a window reads a contiguous run of the data at its own offset. So a convolution of any stride and dilation
has this form once `numba_convolution` has copied its data into planes, and so has a product of matrices. Compiled from
Python code, the sums would stay in memory; as values of LLVM they stay in registers. See Goto and van de Geijn,
"Anatomy of high-performance matrix multiplication" (2008), and Georganas et al., "Anatomy of high-performance deep
learning convolutions on SIMD architectures" (2018). Needs the package numba.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import extending, types

_FEATURES = llvm.get_host_cpu_features()
# Elements of a vector, and rows of a block of sums (channels of a convolution): as many as the registers hold.
LANES, BLOCK_ROWS = (16, 8) if _FEATURES.get("avx512f") else (8, 4) if _FEATURES.get("avx2") else (4, 4)
REGISTERS = 32 if LANES == 16 or platform.machine().lower() in ("aarch64", "arm64") else 16  # of vectors
CACHE_LINE = 16  # float32 elements; a vector has no more
PANEL = 3 * LANES  # columns of a block of a matrix product
PREFETCH_DISTANCE = 1024  # weights
F32, I64 = ir.FloatType(), ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)
FLOAT_POINTER = ir.PointerType(F32)
ADDRESS, COUNT = types.uintp, types.intp
_SIGNATURE = types.void(ADDRESS, COUNT, ADDRESS, COUNT, ADDRESS, COUNT, ADDRESS, COUNT)


def _sum_block(rows: int, vectors: int) -> Any:
    """Return the function (data, row, starts, taps, weights, channels, sums, sums_row) for a block of rows x vectors.

    Arrays are passed by address, row lengths in elements. There must be at least one tap and one channel.
    """

    def block(
        context: Any, data: Any, row: Any, starts: Any, taps: Any, weights: Any, channels: Any, sums: Any, sums_row: Any
    ) -> Any:
        return _SIGNATURE, lambda context, builder, signature, args: _emit_sums(context, builder, args, rows, vectors)

    return extending.intrinsic(block)


def _emit_sums(context: Any, builder: Any, args: Any, rows: int, vectors: int) -> Any:
    data, row, starts, taps, weights, channels, sums, sums_row = args
    data, weights, sums = (builder.inttoptr(a, FLOAT_POINTER) for a in (data, weights, sums))
    starts = builder.inttoptr(starts, ir.PointerType(I64))
    zeros = [ir.Constant(VECTOR, [0.0] * LANES)] * (rows * vectors)
    entry = builder.block
    outer, inner, after, end = (builder.append_basic_block(n) for n in ("channel", "tap", "next_channel", "end"))
    builder.branch(outer)

    builder.position_at_end(outer)
    channel, plane, channel_weights, *channel_sums = loop_variables(
        builder, entry, [constant(0), data, weights, *zeros]
    )
    builder.branch(inner)

    builder.position_at_end(inner)
    tap, tap_weights, *tap_sums = loop_variables(builder, outer, [constant(0), channel_weights, *channel_sums])
    source = builder.gep(plane, [builder.load(builder.gep(starts, [tap]))])
    results = _emit_tap(builder, source, tap_weights, tap_sums, rows, vectors)
    next_tap, next_weights = builder.add(tap, constant(1)), builder.gep(tap_weights, [constant(rows)])
    close_loop([tap, tap_weights, *tap_sums], [next_tap, next_weights, *results], inner)
    builder.cbranch(builder.icmp_signed("<", next_tap, taps), inner, after)

    builder.position_at_end(after)
    next_channel, next_plane = builder.add(channel, constant(1)), builder.gep(plane, [row])
    variables = [channel, plane, channel_weights, *channel_sums]
    close_loop(variables, [next_channel, next_plane, next_weights, *results], after)
    builder.cbranch(builder.icmp_signed("<", next_channel, channels), outer, end)

    builder.position_at_end(end)
    for o in range(rows):
        target = builder.gep(sums, [builder.mul(sums_row, constant(o))])
        for v in range(vectors):
            store_vector(builder, results[o * vectors + v], target, v)
    return context.get_dummy_value()


def _emit_tap(builder: Any, source: Any, weights: Any, sums: list[Any], rows: int, vectors: int) -> list[Any]:
    """Return the sums with the products of one tap added."""
    emit_prefetch(builder, builder.gep(weights, [constant(PREFETCH_DISTANCE)]))
    data = [load_vector(builder, source, v) for v in range(vectors)]
    return _add_products(builder, data, [builder.gep(weights, [constant(o)]) for o in range(rows)], sums)


def _add_products(builder: Any, data: list[Any], weights: list[Any], sums: list[Any]) -> list[Any]:
    """Return the sums (rows x vectors) with the outer product of the weights at these addresses and the data added."""
    add, results = multiply_add(builder.module), []
    for o, address in enumerate(weights):
        weight = broadcast(builder, builder.load(address))
        results += [builder.call(add, [x, weight, sums[o * len(data) + v]]) for v, x in enumerate(data)]
    return results


def multiply_add(module: Any) -> Any:
    """Return LLVM's function (a, b, c) of vectors that computes a * b + c."""
    return declare(module, f"llvm.fmuladd.v{LANES}f32", VECTOR, [VECTOR] * 3)


def declare(module: Any, name: str, result: Any, parameters: list[Any]) -> Any:
    """Return an intrinsic function of LLVM, which is declared in the module on first use."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, parameters), name)


def emit_prefetch(builder: Any, address: Any, cache: int = 1, writes: bool = False) -> None:
    """Prefetch a line into the nearest cache, or the second: weights are each read once, from a cache far away."""
    byte, i32 = ir.PointerType(ir.IntType(8)), ir.IntType(32)
    function = declare(builder.module, "llvm.prefetch.p0", ir.VoidType(), [byte, i32, i32, i32])
    access, locality, data = (ir.Constant(i32, n) for n in (int(writes), 4 - cache, 1))
    builder.call(function, [builder.bitcast(address, byte), access, locality, data])


def constant(value: int) -> Any:
    """Return an integer as a 64-bit value of LLVM."""
    return ir.Constant(I64, value)


def broadcast(builder: Any, value: Any) -> Any:
    """Return a vector whose elements are all `value`."""
    ty = ir.VectorType(value.type, LANES)
    undefined, first = ir.Constant(ty, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(builder.insert_element(undefined, value, first), undefined, zeros)


def load_vector(builder: Any, start: Any, index: int) -> Any:
    """Return the vector with this index behind an address. Addresses are aligned to elements only."""
    load = builder.load(vector_address(builder, start, index))
    load.align = 4
    return load


def store_vector(builder: Any, value: Any, start: Any, index: int) -> None:
    """Store the vector with this index behind an address."""
    store = builder.store(value, vector_address(builder, start, index))
    store.align = 4


def vector_address(builder: Any, start: Any, index: int) -> Any:
    """Return the address of the vector with this index behind an address."""
    return builder.bitcast(builder.gep(start, [constant(index * LANES)]), ir.PointerType(VECTOR))


def loop_variables(builder: Any, source: Any, values: list[Any]) -> list[Any]:
    """Return the phi nodes of a loop's variables, with their initial values from the block `source`."""
    variables = []
    for value in values:
        phi = builder.phi(value.type)
        phi.add_incoming(value, source)
        variables.append(phi)
    return variables


def close_loop(variables: list[Any], values: list[Any], source: Any) -> None:
    """Give the phi nodes of a loop their values for the next iteration, from the block `source`."""
    for phi, value in zip(variables, values, strict=True):
        phi.add_incoming(value, source)


def _add_panel(context: Any, panel: Any, weights: Any, row: Any, channels: Any, sums: Any) -> Any:
    """Type the function that adds the products of rows of data (`weights`) with a panel to (BLOCK_ROWS, PANEL) sums.

    `row` is the length of a row in elements.
    """
    return types.void(ADDRESS, ADDRESS, COUNT, COUNT, ADDRESS), _emit_panel


def _emit_panel(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    panel, weights, row, channels, sums = args
    panel, weights, sums = (builder.inttoptr(a, FLOAT_POINTER) for a in (panel, weights, sums))
    vectors, entry = PANEL // LANES, builder.block
    loop, end = (builder.append_basic_block(name) for name in ("channel", "end"))
    initial_sums = [load_vector(builder, sums, i) for i in range(BLOCK_ROWS * vectors)]
    distances = [builder.mul(row, constant(o)) for o in range(BLOCK_ROWS)]
    builder.branch(loop)

    builder.position_at_end(loop)
    channel, *loop_sums = loop_variables(builder, entry, [constant(0), *initial_sums])
    source, column = builder.gep(panel, [builder.mul(channel, constant(PANEL))]), builder.gep(weights, [channel])
    data = [load_vector(builder, source, v) for v in range(vectors)]
    results = _add_products(builder, data, [builder.gep(column, [distance]) for distance in distances], loop_sums)
    next_channel = builder.add(channel, constant(1))
    close_loop([channel, *loop_sums], [next_channel, *results], loop)
    builder.cbranch(builder.icmp_signed("<", next_channel, channels), loop, end)

    builder.position_at_end(end)
    for i, value in enumerate(results):
        store_vector(builder, value, sums, i)
    return context.get_dummy_value()


def _prefetch(context: Any, address: Any) -> Any:
    return types.void(ADDRESS), _emit_prefetch


def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    emit_prefetch(builder, builder.inttoptr(args[0], FLOAT_POINTER))
    return context.get_dummy_value()


def _next_piece(context: Any, counter: Any) -> Any:
    """Type the function that takes the next piece of a shared loop: it returns its number and adds one to the counter.

    Behind the counter is the address of another number, or 0. Who takes the first piece adds one there, too, which
    calls the threads that wait for a loop to begin.
    """
    return COUNT(ADDRESS), _emit_next_piece


def _emit_next_piece(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    counter = builder.inttoptr(args[0], ir.PointerType(I64))
    piece = builder.atomic_rmw("add", counter, constant(1), "monotonic")
    with builder.if_then(builder.icmp_signed("==", piece, constant(0)), likely=False):
        begun = builder.load(builder.gep(counter, [constant(1)]))
        with builder.if_then(builder.icmp_signed("!=", begun, constant(0))):
            builder.atomic_rmw("add", builder.inttoptr(begun, ir.PointerType(I64)), constant(1), "release")
    return piece


sum_one_vector, sum_two_vectors, sum_three_vectors = (_sum_block(BLOCK_ROWS, vectors) for vectors in (1, 2, 3))
add_panel, prefetch = extending.intrinsic(_add_panel), extending.intrinsic(_prefetch)
next_piece = extending.intrinsic(_next_piece)
