"""Slices and windows of tensors, and tensors with a slice replaced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Symbol, TorchNode
from passlab.frontend.pytorch.operators.movement import expand, permute
from passlab.frontend.sizes import Size, as_vector, calculated, counted, product, reshape_to, size_of, sizes_of
from passlab.ir.expr import Expr

FAR = 2**63 - 1  # PyTorch's end of a slice that has none


@aten("slice", "slice_copy")
def slice_(n: TorchNode, x: Expr, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Expr:
    """`strided_slice`, or `dyn.strided_slice` by bounds known only at run time."""
    axis, rank = n.axis(dim, n.rank(x)), n.rank(x)
    first, last = n.size(0 if start is None else start), n.size(FAR if end is None else end)
    if isinstance(first, int) and isinstance(last, int):
        if first == 0 and step == 1 and (last >= FAR or last == n.shape(x)[axis]):
            return x
        return n("strided_slice", x, begin=[first], end=[last], strides=[step], axes=[axis])
    # Relay's dynamic slice has bounds for the first axes in order: those before `axis` are taken whole.
    bounds: list[list[Size]] = [[*([0] * axis), first], [*([FAR] * axis), last], [*([1] * axis), step]]
    return n("dyn.strided_slice", x, *(as_vector(n, part) for part in bounds)) if rank else x


@aten("narrow")
def narrow(n: TorchNode, x: Expr, dim: int, start: Any, length: Any) -> Expr:
    """`strided_slice`."""
    first = n.static_int(start)
    return slice_(n, x, dim, first, first + n.static_int(length))


@aten("select", "select_copy")
def select(n: TorchNode, x: Expr, dim: int, index: Any) -> Expr:
    """`take` of one index."""
    axis = n.axis(dim, n.rank(x))
    at = n.size(index)
    if not isinstance(at, int):
        return n("take", x, n("reshape", at, newshape=[]), axis=axis)
    if at >= 0:
        return n("take", x, n.constant(at, "int64"), axis=axis)
    if isinstance(length := n.shape(x)[axis], int):
        return n("take", x, n.constant(at + length, "int64"), axis=axis)
    end = FAR if at == -1 else at + 1  # an end of 0 would be the start
    return n("squeeze", n("strided_slice", x, begin=[at], end=[end], strides=[1], axes=[axis]), axis=[axis])


@aten("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(n: TorchNode, x: Expr, split_sizes: list[Any], dim: int = 0) -> list[Expr]:
    """`split`."""
    sizes, axis = n.static_ints(split_sizes), n.axis(dim, n.rank(x))
    if len(sizes) == 1:
        return [x]
    cuts = [int(cut) for cut in np.cumsum(sizes)[:-1]]
    return n.fields(n("split", x, indices_or_sections=cuts, axis=axis), len(sizes))


def _axis_and_length(n: TorchNode, x: Expr, dim: int) -> tuple[int, int]:
    """Return an axis counted from 0, and its length, which must be known."""
    axis = n.axis(dim, n.rank(x))
    return axis, n.static_shape(x, [axis])[0]


@aten("split", "unsafe_split", "split_copy")
def split(n: TorchNode, x: Expr, split_size: Any, dim: int = 0) -> list[Expr]:
    """`split` into parts of one size; the last may be smaller."""
    if isinstance(split_size, list):
        return split_with_sizes(n, x, split_size, dim)
    size, axis = n.size(split_size), n.axis(dim, n.rank(x))
    length = n.shape(x)[axis]
    if not (isinstance(length, int) and isinstance(size, int)):
        return _parts_of_size(n, x, axis, size)
    count = max(-(-length // size), 1)
    return split_with_sizes(n, x, [min(size, length - at * size) for at in range(count)], dim)


@aten("chunk", "unsafe_chunk")
def chunk(n: TorchNode, x: Expr, chunks: int, dim: int = 0) -> list[Expr]:
    """`split`."""
    axis = n.axis(dim, n.rank(x))
    rounded_up = calculated(n, "floor_divide", calculated(n, "add", size_of(n, x, axis), chunks - 1), chunks)
    size = calculated(n, "maximum", rounded_up, 1)
    return split(n, x, _bound(n, size), dim)


def _bound(n: TorchNode, size: Size) -> int | Symbol:
    return size if isinstance(size, int) else Symbol(as_vector(n, [size]))


def _parts_of_size(n: TorchNode, x: Expr, axis: int, size: Size) -> list[Expr]:
    """Return the slices of an open axis that the program reads."""
    n.check_size(n.parts)
    edges = [_bound(n, calculated(n, "multiply", size, at)) for at in range(n.parts + 1)]
    return [slice_(n, x, axis, first, last) for first, last in pairwise(edges)]


@aten("tensor_split")
def tensor_split(n: TorchNode, x: Expr, parts: Any, dim: int = 0) -> list[Expr]:
    """`split` into parts that differ by one at most."""
    _, length = _axis_and_length(n, x, dim)
    if isinstance(parts, list):
        edges = [0, *n.static_ints(parts), length]
        return split_with_sizes(n, x, [b - a for a, b in pairwise(edges)], dim)
    count = n.static_int(parts)
    return split_with_sizes(n, x, [length // count + (at < length % count) for at in range(count)], dim)


@aten("unbind", "unbind_copy")
def unbind(n: TorchNode, x: Expr, dim: int = 0) -> list[Expr]:
    """`take` of each index."""
    axis, length = _axis_and_length(n, x, dim)
    return [n("take", x, n.constant(at, "int64"), axis=axis) for at in range(length)]


def _replace_elements(n: TorchNode, x: Expr, source: Expr, axis: int, positions: Sequence[int]) -> Expr:
    """Return a tensor with the elements at some indices of an axis replaced."""
    (length,) = n.static_shape(x, [axis])
    new = np.zeros(length, np.int64)
    kept = np.zeros(length, np.bool_)
    new[list(positions)], kept[list(positions)] = np.arange(len(positions)), True
    if not kept.any():
        return x
    replacement = n("take", source, n.constant(new, "int64"), axis=axis)
    mask = kept.reshape([-1 if at == axis else 1 for at in range(n.rank(x))])
    return n("where", n.array(mask), replacement, x)


@aten("slice_scatter")
def slice_scatter(
    n: TorchNode, x: Expr, source: Expr, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Expr:
    """`where` of the part and the rest; along an axis of open length, a `concatenate` or a `take` of both."""
    axis = n.axis(dim, n.rank(x))
    first, last = n.size(0 if start is None else start), n.size(FAR if end is None else end)
    length, sizes = n.shape(x)[axis], sizes_of(n, x)
    positions = None
    if isinstance(length, int) and isinstance(first, int) and isinstance(last, int):
        positions = range(*slice(first, last, step).indices(length))
    count = size_of(n, source, axis) if positions is None else len(positions)
    source = expand(n, n.cast(source, n.dtype(x)), [*sizes[:axis], count, *sizes[axis + 1 :]])
    if positions is not None:
        return _replace_elements(n, x, source, axis, positions)
    if step == 1 and not (isinstance(first, int) and isinstance(last, int) and 0 <= last <= first):
        before, after = slice_(n, x, dim, 0, first), slice_(n, x, dim, last, FAR)
        parts = [before] * (first != 0), [source], [after] * (last != FAR)
        return n.concat([part for some in parts for part in some], axis)
    return _replace_open(n, x, source, axis, (first, last), step)


def _replace_open(n: TorchNode, x: Expr, source: Expr, axis: int, bounds: tuple[Size, Size], step: int) -> Expr:
    """Return a tensor with a slice replaced: each place takes its element from the tensor, or from what follows it."""
    length = size_of(n, x, axis)
    first, last = (_bounded(n, bound, length) for bound in bounds)
    places = counted(n, length)
    steps = n("subtract", places, as_vector(n, [first]))  # from the first place of the slice
    is_inside = n("logical_and", n("less", places, as_vector(n, [last])), n("greater_equal", steps, 0))
    if step > 1:
        is_inside = n("logical_and", is_inside, n("equal", n("floor_mod", steps, step), 0))
    behind = n("add", n("floor_divide", steps, step), as_vector(n, [length]))
    return n("take", n.concat([x, source], axis), n("where", is_inside, behind, places), axis=axis)


def _bounded(n: TorchNode, bound: Size, length: Size) -> Size:
    """Return the bound of a slice as a place from 0 to the length: one below 0 counts from the end."""
    if isinstance(bound, int):
        from_start: Size = bound if bound >= 0 else calculated(n, "add", length, bound)
    else:
        from_start = n("where", n("less", bound, 0), n("add", bound, as_vector(n, [length])), bound)
    return calculated(n, "minimum", calculated(n, "maximum", from_start, 0), length)


@aten("select_scatter")
def select_scatter(n: TorchNode, x: Expr, source: Expr, dim: int, index: Any) -> Expr:
    """A slice of one element replaced."""
    at, axis = n.size(index), n.axis(dim, n.rank(x))
    part = n("expand_dims", n.cast(source, n.dtype(x)), axis=axis)
    if isinstance(at, int) and at == -1:
        return slice_scatter(n, x, part, dim, at)
    end = at + 1 if isinstance(at, int) else Symbol(n("add", at, 1))
    return slice_scatter(n, x, part, dim, at if isinstance(at, int) else Symbol(at), end)


@aten("roll")
def roll(n: TorchNode, x: Expr, shifts: Any, dims: Any = None) -> Expr:
    """A `concatenate` of two slices for each axis."""
    if not dims:  # the flattened tensor is rolled, whatever its shape is
        rolled = _roll_axes(n, n("reshape", x, newshape=[-1]), n.static_int(n.static_ints(shifts)[0]), 0)
        return reshape_to(n, rolled, sizes_of(n, x))
    for shift, dim in zip(n.static_ints(shifts), n.static_ints(dims), strict=True):
        x = _roll_axes(n, x, shift, n.axis(dim, n.rank(x)))
    return x


def _roll_axes(n: TorchNode, x: Expr, shift: int, axis: int) -> Expr:
    if abs(shift) == 1 and not isinstance(n.shape(x)[axis], int):  # one element is there in any length but 0
        edges = [(-shift, 2**63 - 1), (0, -shift)]
        return n.concat([n("strided_slice", x, begin=[a], end=[b], strides=[1], axes=[axis]) for a, b in edges], axis)
    length = n.shape(x)[axis]
    if not isinstance(length, int):
        at = calculated(n, "floor_mod", -shift, calculated(n, "maximum", size_of(n, x, axis), 1))
        bound = Symbol(as_vector(n, [at]))
        return n.concat([slice_(n, x, axis, bound), slice_(n, x, axis, 0, bound)], axis)
    at = -shift % length if length else 0  # the elements from here on come to the front
    if not at:
        return x
    parts = n.fields(n("split", x, indices_or_sections=[at], axis=axis), 2)
    return n.concat(parts[::-1], axis)


@aten("unfold")
def unfold(n: TorchNode, x: Expr, dimension: int, size: int, step: int) -> Expr:
    """`take` of the indices in each window."""
    axis, rank = n.axis(dimension, n.rank(x)), n.rank(x)
    places = _windows(n, size_of(n, x, axis), size, 1, step)
    result = n("take", x, n("transpose", places, axes=[1, 0]), axis=axis)
    return permute(n, result, [*(a for a in range(rank + 1) if a != axis + 1), axis + 1])


def _windows(n: TorchNode, length: Size, size: int, apart: int, step: int) -> Expr:
    """Return the places along an axis that each element of a window takes: (element, window)."""
    room = calculated(n, "subtract", length, apart * (size - 1) + 1)
    count = calculated(n, "add", calculated(n, "floor_divide", room, step), 1)
    return n("add", n("reshape", counted(n, size, apart), newshape=[-1, 1]), counted(n, count, step))


@aten("col2im")
def col2im(n: TorchNode, x: Expr, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Expr:
    """`scatter_nd` that adds each element of a window to the image."""
    kernel, apart, pads, step = (n.static_ints(value, 2) for value in (kernel_size, dilation, padding, stride))
    image, own = n.sizes(output_size), sizes_of(n, x)
    channels = calculated(n, "floor_divide", own[-2], kernel[0] * kernel[1])
    images = product(n, [*own[:-2], channels])
    height, width = (calculated(n, "add", size, 2 * pad) for size, pad in zip(image, pads, strict=True))
    rows, columns = (
        _windows(n, *each) for each in zip((height, width), kernel, apart, step, strict=True)
    )  # (kernel, window) each
    # (kernel, 1, window, 1) and (1, kernel, 1, window) meet in all pairs of a row and a column.
    starts = n("multiply", _spread(n, rows, 1, 3), as_vector(n, [width]))
    places = n("reshape", n("add", starts, _spread(n, columns, 0, 2)), newshape=[1, -1])
    # The elements of a padded image are rows of one matrix, so that one index tuple names an element of all channels.
    area = product(n, [height, width])
    numbers = permute(n, reshape_to(n, x, [images, product(n, [kernel[0] * kernel[1], own[-1]])]), [1, 0])
    shape = [area, images]
    known = all(isinstance(size, int) for size in shape)
    empty = n("zeros", shape=shape if known else as_vector(n, shape), dtype=n.dtype(x))
    added = n("scatter_nd", empty, places, numbers, mode="add")
    padded = reshape_to(n, permute(n, added, [1, 0]), [*own[:-2], channels, height, width])
    for axis, (pad, size) in enumerate(zip(pads, image, strict=True)):
        bounds = pad, size + pad if isinstance(size, int) else Symbol(n("add", size, pad))
        padded = slice_(n, padded, len(own) - 1 + axis, *bounds)
    return padded


def _spread(n: TorchNode, x: Expr, *axes: int) -> Expr:
    """Return a tensor with new dimensions of 1, which get these axes."""
    for axis in axes:
        x = n("expand_dims", x, axis=axis)
    return x
