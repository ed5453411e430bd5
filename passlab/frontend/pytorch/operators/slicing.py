"""Slices of tensors, and tensors with a slice replaced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.pytorch.operators.movement import expand
from passlab.frontend.sizes import Size, as_vector, sizes_of
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
    _, length = _axis_and_length(n, x, dim)
    size = n.static_int(split_size)
    count = max(-(-length // size), 1)
    return split_with_sizes(n, x, [min(size, length - at * size) for at in range(count)], dim)


@aten("chunk", "unsafe_chunk")
def chunk(n: TorchNode, x: Expr, chunks: int, dim: int = 0) -> list[Expr]:
    """`split`."""
    _, length = _axis_and_length(n, x, dim)
    return split(n, x, max(-(-length // chunks), 1), dim)


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
    """`where` of the part and the rest; along an axis of open length, a `concatenate` with the rest."""
    axis = n.axis(dim, n.rank(x))
    if step == 1 and not isinstance(n.shape(x)[axis], int):
        before = slice_(n, x, dim, 0, 0 if start is None else start)
        after = slice_(n, x, dim, FAR if end is None else end, FAR)
        known = [n.size(bound) for bound in (start or 0, FAR if end is None else end)]
        parts = [before] * (known[0] != 0), [n.cast(source, n.dtype(x))], [after] * (known[1] != FAR)
        return n.concat([part for some in parts for part in some], axis)
    axis, length = _axis_and_length(n, x, dim)
    bounds = slice(None if start is None else n.static_int(start), None if end is None else n.static_int(end), step)
    sizes = sizes_of(n, x)
    positions = range(*bounds.indices(length))
    source = expand(n, n.cast(source, n.dtype(x)), [*sizes[:axis], len(positions), *sizes[axis + 1 :]])
    return _replace_elements(n, x, source, axis, positions)


@aten("select_scatter")
def select_scatter(n: TorchNode, x: Expr, source: Expr, dim: int, index: int) -> Expr:
    """`where` of the part and the rest."""
    axis, length = _axis_and_length(n, x, dim)
    return _replace_elements(
        n, x, n("expand_dims", n.cast(source, n.dtype(x)), axis=axis), axis, [n.static_int(index) % length]
    )
