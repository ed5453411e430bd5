"""Tiles of images whose channels are last in memory: sums and maxima in registers, as instructions for LLVM.

A tile is one or two groups of neighbouring places of the result and one or two vectors of its channels. Its sums stay
in registers while a window's taps are read: each turn multiplies a vector of weights with one number of each place (a
convolution), or with a vector of each place (channels that have windows of their own). The bias, a tensor to be added
and a ReLU follow before the tile is stored. Vectors hold channels, so no sum is computed in vain at the edge of a row.
See Georganas et al., "Anatomy of high-performance deep learning convolutions on SIMD architectures" (2018). Needs the
package numba.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from passlab.vm.kernels.numba_blocks import (
    ADDRESS,
    CACHE_LINE,
    COUNT,
    FLOAT_POINTER,
    I64,
    LANES,
    REGISTERS,
    VECTOR,
    broadcast,
    close_loop,
    constant,
    emit_prefetch,
    load_vector,
    loop_variables,
    multiply_add,
    store_vector,
    vector_address,
)
from passlab.vm.kernels.numba_rows import clamp, lanes_between, masked_load, masked_store

WIDE = 2 * LANES  # channels of a block of weights
# Places of a group: the sums of two groups, two vectors of weights and one number fit into the registers.
PLACES = (7, 6, 4, 1) if REGISTERS == 32 else (3, 2, 1, 1)
AHEAD = 1024  # weights
SHORT_TILES = 4  # of windows: their lines are called in so many tiles before, as a single one takes too little time
UNROLLED = 4 if REGISTERS == 16 else 1  # turns of a loop: small tiles have as many other instructions as sums
_DATA = types.BaseTuple.from_types((ADDRESS, ADDRESS, COUNT, ADDRESS, COUNT, COUNT, ADDRESS))
_ENDING = types.BaseTuple.from_types((ADDRESS, types.float32, COUNT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, COUNT, COUNT))
Turn = Callable[[Any, Any, Any, list[Any], int], list[Any]]


def _tile(groups: int, places: int, vectors: int, turn: Turn, least: float = 0.0, apart: int = 0) -> Any:
    """Return the function (data, ending) of one tile, of so many groups of places and vectors of channels.

    The weights of a turn are `apart` vectors from those of the next, by default as many as there are.

    `data` are the addresses of the first place of each group, the distance of neighbouring places in elements, then
    where runs begin (an address), how many there are and how many elements each has, and the address of the weights.
    `ending` are the addresses of the bias, the least result, whether something is added, the addresses of what is added
    to each group and of the result of each group, the distance of places there, and how many channels are written.
    """

    def tile(context: Any, data: Any, ending: Any) -> Any:
        return types.void(_DATA, _ENDING), lambda context, builder, signature, args: _emit(
            context, builder, args, (groups, places, vectors), (turn, least, apart or vectors)
        )

    return extending.intrinsic(tile)


def _emit(context: Any, builder: Any, args: Any, size: tuple[int, int, int], work: tuple[Turn, float, int]) -> Any:
    turn, least, apart = work
    data, ending = (cgutils.unpack_tuple(builder, a) for a in args)
    first, second, step, starts, runs, length, weights = data
    groups, places, vectors = size
    bases = [builder.inttoptr(a, FLOAT_POINTER) for a in (first, second)[:groups]]
    weights, starts = builder.inttoptr(weights, FLOAT_POINTER), builder.inttoptr(starts, ir.PointerType(I64))
    distances = [builder.mul(step, constant(p)) for p in range(places)]
    empty = [ir.Constant(VECTOR, [least] * LANES)] * (groups * places * vectors)
    _call_in(builder, size, ending)
    before = builder.block
    outer, end = (builder.append_basic_block(n) for n in ("run", "end"))
    builder.branch(outer)

    builder.position_at_end(outer)
    run, factors, *totals = loop_variables(builder, before, [constant(0), weights, *empty])
    start = builder.load(builder.gep(starts, [run]))
    values = [factors, *[builder.gep(base, [start]) for base in bases], *totals]
    for times, unrolled in _parts_of(builder, length, turn):
        values = _turns(builder, (times, unrolled, apart), values, (distances, groups, vectors), turn)
    next_factor, results = values[0], values[1 + groups :]
    next_run = builder.add(run, constant(1))
    close_loop([run, factors, *totals], [next_run, next_factor, *results], builder.block)
    builder.cbranch(builder.icmp_signed("<", next_run, runs), outer, end)

    builder.position_at_end(end)
    _finish(builder, results, size, ending)
    return context.get_dummy_value()


def _parts_of(builder: Any, length: Any, turn: Turn) -> list[tuple[Any, int]]:
    """Return how often each loop over a run is repeated, and how many turns it takes at once."""
    if UNROLLED == 1 or turn is not _numbers:
        return [(length, 1)]
    return [
        (builder.sdiv(length, constant(UNROLLED)), UNROLLED),
        (builder.srem(length, constant(UNROLLED)), 1),
    ]


def _turns(
    builder: Any, counts: tuple[Any, int, int], values: list[Any], reads: tuple[list[Any], int, int], turn: Turn
) -> list[Any]:
    """Emit a loop over the addresses of weights and data, and sums; return these after it."""
    (times, unrolled, apart), (distances, groups, vectors) = counts, reads
    before, loop, end = builder.block, builder.append_basic_block("turn"), builder.append_basic_block("turned")
    may_be_none = UNROLLED > 1 and turn is _numbers
    if may_be_none:
        builder.cbranch(builder.icmp_signed(">", times, constant(0)), loop, end)
    else:
        builder.branch(loop)
    builder.position_at_end(loop)
    left, *now = loop_variables(builder, before, [times, *values])
    factor, at, sums = now[0], now[1 : 1 + groups], now[1 + groups :]
    for t in range(unrolled):
        sources = [builder.gep(builder.gep(p, [d]), [constant(t)]) for p in at for d in distances]
        sums = turn(builder, sources, builder.gep(factor, [constant(t * apart * LANES)]), sums, vectors)
    next_left, next_factor = builder.sub(left, constant(1)), builder.gep(factor, [constant(unrolled * apart * LANES)])
    results = [next_factor, *[builder.gep(pointer, [constant(unrolled)]) for pointer in at], *sums]
    close_loop([left, *now], [next_left, *results], loop)
    builder.cbranch(builder.icmp_signed(">", next_left, constant(0)), loop, end)
    builder.position_at_end(end)
    if not may_be_none:
        return results
    final = loop_variables(builder, before, values)
    close_loop(final, results, loop)
    return final


def _finish(builder: Any, results: list[Any], size: tuple[int, int, int], ending: Any) -> None:
    """Write the sums of a tile, with what follows them."""
    if LANES == 16:
        _finish_masked(builder, results, size, ending)
        return
    # without AVX-512 masks cost time, so there is one question for the whole tile
    is_whole = builder.icmp_signed(">=", ending[-1], constant(size[2] * LANES))
    with builder.if_else(is_whole, likely=True) as (whole, part):
        with whole:
            _finish_whole(builder, results, size, ending)
        with part:
            _finish_masked(builder, results, size, ending)


def _rows(builder: Any, size: tuple[int, int, int], to_step: Any, addresses: tuple[Any, ...]) -> list[Any]:
    """Return where the channels of each place of a tile begin."""
    groups, places, _ = size
    starts = [builder.inttoptr(a, FLOAT_POINTER) for a in addresses[:groups]]
    return [builder.gep(s, [builder.mul(to_step, constant(p))]) for s in starts for p in range(places)]


def _call_in(builder: Any, size: tuple[int, int, int], ending: Any) -> None:
    """Prefetch what a tile writes and adds: places lie apart, so the processor does not expect them.

    Large tiles have more lines than the processor fetches at once. So they are those of a tile behind this one, and
    only come as far as the second cache.
    """
    _, _, adds, more, more_second, to, to_second, to_step, _ = ending
    groups, places, vectors = size
    tiles = 0 if LANES < 16 else 1 if vectors > 1 else SHORT_TILES
    ahead = builder.mul(to_step, constant(tiles * groups * places))
    cache = 2 if LANES == 16 else 1
    lines = [builder.add(ahead, constant(i)) for i in range(0, vectors * LANES, CACHE_LINE)]
    for row, line in itertools.product(_rows(builder, size, to_step, (to, to_second)), lines):
        emit_prefetch(builder, builder.gep(row, [line]), cache, writes=cache == 1)
    with builder.if_then(builder.icmp_signed("!=", adds, constant(0)), likely=False):
        for row, line in itertools.product(_rows(builder, size, to_step, (more, more_second)), lines):
            emit_prefetch(builder, builder.gep(row, [line]), cache)


def _finish_whole(builder: Any, results: list[Any], size: tuple[int, int, int], ending: Any) -> None:
    """Write the sums of a tile whose vectors are full."""
    bias, floor, adds, more, more_second, to, to_second, to_step, _ = ending
    vectors = size[2]
    before, with_other, last = builder.block, builder.append_basic_block("other"), builder.append_basic_block("last")
    offsets = [load_vector(builder, builder.inttoptr(bias, FLOAT_POINTER), v) for v in range(vectors)]
    values = [builder.fadd(value, offsets[i % vectors]) for i, value in enumerate(results)]
    builder.cbranch(builder.icmp_signed("!=", adds, constant(0)), with_other, last)

    builder.position_at_end(with_other)
    others = _rows(builder, size, to_step, (more, more_second))
    sums = [
        builder.fadd(value, load_vector(builder, others[i // vectors], i % vectors)) for i, value in enumerate(values)
    ]
    builder.branch(last)

    builder.position_at_end(last)
    final = loop_variables(builder, before, values)
    close_loop(final, sums, with_other)
    targets = _rows(builder, size, to_step, (to, to_second))
    for i, value in enumerate(final):
        store_vector(builder, clamp(builder, value, floor), targets[i // vectors], i % vectors)


def _finish_masked(builder: Any, results: list[Any], size: tuple[int, int, int], ending: Any) -> None:
    """Write the sums of a tile with a mask for each vector."""
    bias, floor, adds, more, more_second, to, to_second, to_step, count = ending
    vectors = size[2]
    before, with_other, last = builder.block, builder.append_basic_block("other"), builder.append_basic_block("last")
    inside = [lanes_between(builder, v * LANES, constant(0), count) for v in range(vectors)]
    offsets = [load_vector(builder, builder.inttoptr(bias, FLOAT_POINTER), v) for v in range(vectors)]
    values = [builder.fadd(value, offsets[i % vectors]) for i, value in enumerate(results)]
    builder.cbranch(builder.icmp_signed("!=", adds, constant(0)), with_other, last)

    builder.position_at_end(with_other)
    nothing = ir.Constant(VECTOR, ir.Undefined)
    sums: list[Any] = []
    for row in _rows(builder, size, to_step, (more, more_second)):
        for v in range(vectors):
            other = masked_load(builder, vector_address(builder, row, v), inside[v], nothing)
            sums.append(builder.fadd(values[len(sums)], other))
    builder.branch(last)

    builder.position_at_end(last)
    final = loop_variables(builder, before, values)
    close_loop(final, sums, with_other)
    for i, row in enumerate(_rows(builder, size, to_step, (to, to_second))):
        for v in range(vectors):
            value = clamp(builder, final[i * vectors + v], floor)
            masked_store(builder, value, vector_address(builder, row, v), inside[v])


# ---------------------------------------------------------------- one turn
def _numbers(builder: Any, data: list[Any], factor: Any, parts: list[Any], vectors: int) -> list[Any]:
    """Return the sums with the products of one number of each place and the vectors of weights."""
    add, results = multiply_add(builder.module), []
    for ahead in range(AHEAD, AHEAD + vectors * LANES, CACHE_LINE):
        emit_prefetch(builder, builder.gep(factor, [constant(ahead)]))
    factors = [load_vector(builder, factor, v) for v in range(vectors)]
    for i, place in enumerate(data):
        each = broadcast(builder, builder.load(place))
        results += [builder.call(add, [factors[v], each, parts[i * vectors + v]]) for v in range(vectors)]
    return results


def _vectors(builder: Any, data: list[Any], factor: Any, parts: list[Any], vectors: int) -> list[Any]:
    """Return the sums with the products of a vector of each place and the vector of weights."""
    add, weight = multiply_add(builder.module), load_vector(builder, factor, 0)
    return [builder.call(add, [load_vector(builder, place, 0), weight, parts[i]]) for i, place in enumerate(data)]


def _maxima(builder: Any, data: list[Any], factor: Any, parts: list[Any], vectors: int) -> list[Any]:
    """Return the maxima with a vector of each place; what is not a number stays."""
    results = []
    for i, place in enumerate(data):
        value, part = load_vector(builder, place, 0), parts[i]
        greater = builder.select(builder.fcmp_ordered(">", part, value), part, value)  # a value that is no number wins
        results.append(builder.select(builder.fcmp_ordered("ord", part, part), greater, part))
    return results


# ---------------------------------------------------------------- windows of neighbouring columns
def _row_tile(places: int, taps: int, stride: int) -> Any:
    """Return the function (data, ending) of windows over a vector of channels, each of rows of so many neighbours.

    `data` are as in `_tile`, but runs are the rows of a window, and the distance is that of neighbouring columns.
    """

    def tile(context: Any, data: Any, ending: Any) -> Any:
        return types.void(_DATA, _ENDING), lambda context, builder, signature, args: _emit_rows(
            context, builder, args, (places, taps, stride)
        )

    return extending.intrinsic(tile)


def _emit_rows(context: Any, builder: Any, args: Any, shape: tuple[int, int, int]) -> Any:
    data, ending = (cgutils.unpack_tuple(builder, a) for a in args)
    first, _, step, starts, runs, _, weights = data
    places, taps, _ = shape
    base, weights = (builder.inttoptr(a, FLOAT_POINTER) for a in (first, weights))
    starts = builder.inttoptr(starts, ir.PointerType(I64))
    _call_in(builder, (1, places, 1), ending)
    before, loop, end = builder.block, builder.append_basic_block("row"), builder.append_basic_block("end")
    builder.branch(loop)
    builder.position_at_end(loop)
    empty = [ir.Constant(VECTOR, [0.0] * LANES)] * places
    run, factors, *totals = loop_variables(builder, before, [constant(0), weights, *empty])
    source = builder.gep(base, [builder.load(builder.gep(starts, [run]))])
    results = _row_of_columns(
        builder, source, step, [load_vector(builder, factors, t) for t in range(taps)], totals, shape
    )
    next_run = builder.add(run, constant(1))
    close_loop([run, factors, *totals], [next_run, builder.gep(factors, [constant(taps * LANES)]), *results], loop)
    builder.cbranch(builder.icmp_signed("<", next_run, runs), loop, end)
    builder.position_at_end(end)
    _finish(builder, results, (1, places, 1), ending)
    return context.get_dummy_value()


def _row_of_columns(
    builder: Any, source: Any, step: Any, factors: list[Any], totals: list[Any], shape: tuple[int, int, int]
) -> list[Any]:
    """Return the sums with the products of a row: each column is read once, for all windows that it lies in."""
    (places, taps, stride), results, add = shape, list(totals), multiply_add(builder.module)
    for column in range((places - 1) * stride + taps):
        value = load_vector(builder, source, 0)
        source = builder.gep(source, [step])
        for t in range(taps):
            place, rest = divmod(column - t, stride)
            if rest == 0 and 0 <= place < places:
                results[place] = builder.call(add, [value, factors[t], results[place]])
    return results


(pair_0, pair_1, pair_2, pair_3), (alone_0, alone_1, alone_2, alone_3) = (
    [_tile(groups, places, 2, _numbers) for places in PLACES] for groups in (2, 1)
)
# Where no more than a vector is left of the channels: a pair, for the second half of whose weights there is nothing.
(half_0, half_1, half_2, half_3) = [_tile(2, places, 1, _numbers, apart=2) for places in PLACES]
sums_7, sums_4, sums_1 = (_tile(1, places, 1, _vectors) for places in (7, 4, 1))
maxima_7, maxima_4, maxima_1 = (_tile(1, places, 1, _maxima, float("-inf")) for places in (7, 4, 1))
# The usual windows of channels have three columns. There are as many registers as a row of three and its sums need.
COLUMNS = 3
near_7, near_4, near_1 = (_row_tile(places, COLUMNS, 1) for places in (7, 4, 1))
apart_7, apart_4, apart_1 = (_row_tile(places, COLUMNS, 2) for places in (7, 4, 1))
