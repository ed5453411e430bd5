"""Operators that move elements without changing them, and casts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.sizes import (
    Size,
    as_vector,
    broadcast_to,
    calculated,
    counted,
    product,
    reshape_to,
    size_of,
    sizes_of,
)
from passlab.ir.expr import Expr


@aten(
    "alias", "clone", "contiguous", "detach", "detach_", "lift_fresh_copy", "lift_fresh", "lift", "copy_", "positive_"
)
def same(n: TorchNode, x: Expr, *_: Any, **__: Any) -> Expr:
    """Its input."""
    return x


@aten("copy")
def copy(n: TorchNode, x: Expr, source: Any, *_: Any) -> Expr:
    """The second input in the shape and the dtype of the first."""
    return expand(n, n.tensor(source, n.dtype(x)), sizes_of(n, x))


@aten("_to_copy", "to", "type_as")
def to(n: TorchNode, x: Expr, *_: Any, **__: Any) -> Expr:
    """`cast` to the dtype of the result."""
    target = n.out_dtype
    if target == "bool":
        return x if n.dtype(x) == "bool" else n("not_equal", x, n.constant(0, x))
    return n.cast(x, target)


@aten("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy")
def view(n: TorchNode, x: Expr, shape: Any) -> Expr:
    """`reshape`; a view in another dtype is `reinterpret`."""
    if isinstance(shape, str):
        return n("reinterpret", x, dtype=shape)
    return _reshape(n, x, n.sizes(shape))


def _reshape(n: TorchNode, x: Expr, sizes: list[Size]) -> Expr:
    """Return a reshape; a size -1 is inferred from the other sizes and the sizes of `x`."""
    if -1 not in sizes:
        return reshape_to(n, x, sizes)
    own, at = sizes_of(n, x), sizes.index(-1)
    left_own, left = list(own), [*sizes[:at], *sizes[at + 1 :]]
    for size in list(left):  # unknown sizes on both sides are not part of the size to infer
        if not isinstance(size, int) and size in left_own:
            left_own.remove(size)
            left.remove(size)
    if all(isinstance(size, int) for size in (*left_own, *left)):
        rest = math.prod(int(size) for size in left if isinstance(size, int))
        whole = math.prod(int(size) for size in left_own if isinstance(size, int))
        return reshape_to(n, x, [*sizes[:at], whole // rest if rest else 0, *sizes[at + 1 :]])
    # Relay's codes: -1 infers a size itself, 0 copies the size of the same axis, which may be unknown.
    codes = [
        size if isinstance(size, int) else 0 if i < len(own) and own[i] is size else None
        for i, size in enumerate(sizes)
    ]
    if None not in codes and 0 not in sizes:
        return n("reshape", x, newshape=codes)
    return n("reshape", x, newshape=as_vector(n, sizes))


@aten("view_as", "reshape_as")
def view_as(n: TorchNode, x: Expr, other: Expr) -> Expr:
    """`reshape`."""
    return reshape_to(n, x, sizes_of(n, other))


@aten("flatten")
def flatten(n: TorchNode, x: Expr, start_dim: int = 0, end_dim: int = -1) -> Expr:
    """`reshape`."""
    rank = n.rank(x)
    if rank == 0:
        return n("reshape", x, newshape=[1])
    first, last = n.axis(start_dim, rank), n.axis(end_dim, rank)
    sizes = sizes_of(n, x)
    if first == last:
        return x
    return reshape_to(n, x, [*sizes[:first], product(n, sizes[first : last + 1]), *sizes[last + 1 :]])


@aten("unflatten")
def unflatten(n: TorchNode, x: Expr, dim: int, shape: Sequence[Any]) -> Expr:
    """`reshape`."""
    sizes, axis = sizes_of(n, x), n.axis(dim, n.rank(x))
    return _reshape(n, x, [*sizes[:axis], *n.sizes(shape), *sizes[axis + 1 :]])


@aten("permute", "permute_copy")
def permute(n: TorchNode, x: Expr, dims: list[int]) -> Expr:
    """`transpose`."""
    order = [n.axis(dim, n.rank(x)) for dim in dims]
    return x if order == list(range(len(order))) else n("transpose", x, axes=order)


@aten("transpose", "swapaxes", "transpose_copy", "swapdims")
def transpose(n: TorchNode, x: Expr, dim0: int, dim1: int) -> Expr:
    """`transpose` of two axes."""
    order = list(range(n.rank(x)))
    a, b = n.axis(dim0, n.rank(x)), n.axis(dim1, n.rank(x))
    order[a : a + 1], order[b : b + 1] = [b], [a]  # slices, since a scalar has no axis to assign to
    return permute(n, x, order)


@aten("t", "numpy_T", "mT")
def transpose_last(n: TorchNode, x: Expr) -> Expr:
    """`transpose` of the last two axes."""
    return x if n.rank(x) < 2 else transpose(n, x, -2, -1)


@aten("movedim", "moveaxis")
def movedim(n: TorchNode, x: Expr, source: Any, destination: Any) -> Expr:
    """`transpose`."""
    rank = n.rank(x)
    sources = [n.axis(axis, rank) for axis in n.static_ints(source)]
    # By axis of the result: the axis of `x` that moves there. The others fill the gaps in their order.
    order: dict[int, int] = dict(zip([n.axis(a, rank) for a in n.static_ints(destination)], sources, strict=True))
    rest = iter(axis for axis in range(rank) if axis not in sources)
    return permute(n, x, [order[at] if at in order else next(rest) for at in range(rank)])


@aten("expand", "broadcast_to", "expand_copy")
def expand(n: TorchNode, x: Expr, size: Sequence[Any], implicit: bool = False) -> Expr:
    """`broadcast_to`; its input if nothing is repeated."""
    own = sizes_of(n, x)
    extra = len(size) - len(own)
    target: list[Size] = [
        own[at - extra] if isinstance(s, int) and s == -1 else s if isinstance(s, Expr) else n.size(s)
        for at, s in enumerate(size)
    ]
    return broadcast_to(n, x, target)


@aten("expand_as")
def expand_as(n: TorchNode, x: Expr, other: Expr) -> Expr:
    """`broadcast_to`."""
    return expand(n, x, sizes_of(n, other))


@aten("squeeze", "squeeze_copy")
def squeeze(n: TorchNode, x: Expr, dim: Any = None) -> Expr:
    """`squeeze` of the named axes that have one element."""
    axes = n.axes(dim, x) if dim is None or dim != [] else []
    lone = [axis for axis in axes if n.shape(x)[axis] == 1]
    return n("squeeze", x, axis=lone) if lone else x


@aten("unsqueeze", "unsqueeze_copy")
def unsqueeze(n: TorchNode, x: Expr, dim: int) -> Expr:
    """`expand_dims`."""
    return n("expand_dims", x, axis=n.axis(dim, n.rank(x) + 1))


@aten("cat", "concat", "concatenate")
def cat(n: TorchNode, tensors: list[Expr], dim: int = 0) -> Expr:
    """`concatenate`."""
    dtype = n.promoted_dtype(*tensors)
    # PyTorch ignores empty vectors here, whatever the rank of the others is.
    parts = [n.cast(x, dtype) for x in tensors if n.shape(x) != (0,)]
    return n.concat(parts, n.axis(dim, n.rank(parts[0])))


@aten("stack")
def stack(n: TorchNode, tensors: list[Expr], dim: int = 0) -> Expr:
    """`stack`."""
    parts = n.builder.tuple(n.promote(*tensors))
    return n("stack", parts, axis=n.axis(dim, n.rank(tensors[0]) + 1))


@aten("repeat", "tile")
def repeat(n: TorchNode, x: Expr, repeats: list[Any]) -> Expr:
    """`tile`, or `dyn.tile` by counts known only at run time."""
    # Even a count of 1 for an axis that `x` does not have adds this axis.
    times = n.sizes(repeats)
    reps = times if all(isinstance(count, int) for count in times) else as_vector(n, times)
    return n("tile", x, reps=reps) if (times and set(times) != {1}) or len(times) > n.rank(x) else x


@aten("repeat_interleave")
def repeat_interleave(n: TorchNode, x: Expr, repeats: Any, dim: int | None = None, output_size: Any = None) -> Expr:
    """`repeat`."""
    if dim is None:  # the elements of the flattened tensor
        x, dim = n("reshape", x, newshape=[-1]), 0
    return n("repeat", x, repeats=n.static_int(repeats), axis=n.axis(dim, n.rank(x)))


@aten("flip")
def flip(n: TorchNode, x: Expr, dims: list[int]) -> Expr:
    """`reverse`, axis by axis."""
    for dim in dims:
        x = n("reverse", x, axis=n.axis(dim, n.rank(x)))
    return x


@aten("pixel_shuffle")
def pixel_shuffle(n: TorchNode, x: Expr, upscale_factor: int) -> Expr:
    """`nn.depth_to_space`."""
    return n("nn.depth_to_space", x, block_size=upscale_factor, layout="NCHW", mode="CRD")


@aten("pixel_unshuffle")
def pixel_unshuffle(n: TorchNode, x: Expr, downscale_factor: int) -> Expr:
    """A `transpose` between two reshapes."""
    axis, block = n.rank(x) - 3, downscale_factor
    copied = [0] * axis
    # -4 splits a dimension into two, -3 joins two, whatever their sizes are.
    parts = n("reshape", x, newshape=[*copied, 0, -4, -1, block, -4, -1, block])
    order = [*range(axis + 1), axis + 2, axis + 4, axis + 1, axis + 3]
    joined = n("reshape", n("transpose", parts, axes=order), newshape=[*copied, -3, 0, 0, 0])
    return n("reshape", joined, newshape=[*copied, -3, 0, 0])


@aten("tril")
def tril(n: TorchNode, x: Expr, diagonal: int = 0) -> Expr:
    """`trilu`."""
    return n("trilu", x, k=n.constant(diagonal, "int64"), upper=False)


@aten("triu")
def triu(n: TorchNode, x: Expr, diagonal: int = 0) -> Expr:
    """`trilu`."""
    return n("trilu", x, k=n.constant(diagonal, "int64"), upper=True)


@aten("diagonal", "diagonal_copy")
def diagonal(n: TorchNode, x: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Expr:
    """`take` of the diagonal from two merged axes."""
    rank = n.rank(x)
    a, b = n.axis(dim1, rank), n.axis(dim2, rank)
    rest = [axis for axis in range(rank) if axis not in (a, b)]
    rows, columns = size_of(n, x, a), size_of(n, x, b)
    left = calculated(n, "subtract", columns, offset) if offset >= 0 else columns
    down = rows if offset >= 0 else calculated(n, "add", rows, offset)
    count = calculated(n, "maximum", calculated(n, "minimum", down, left), 0)
    # A step along the diagonal is one row and one column.
    step, first = calculated(n, "add", columns, 1), offset if offset >= 0 else product(n, [-offset, columns])
    places = n("add", n("multiply", counted(n, count), as_vector(n, [step])), as_vector(n, [first]))
    sizes = sizes_of(n, x)
    # PyTorch puts the diagonal behind all other axes.
    flat = reshape_to(n, permute(n, x, [*rest, a, b]), [*(sizes[at] for at in rest), product(n, [rows, columns])])
    return n("take", flat, places, axis=len(rest))


@aten("as_strided")
def as_strided(n: TorchNode, x: Expr, size: list[Any], stride: list[Any], storage_offset: Any = None) -> Expr:
    """`take` of the offsets that the strides give, from a contiguous tensor."""
    shape, steps = n.static_ints(size), n.static_ints(stride)
    n.static_shape(x)
    n.check_size(*shape)
    # Each turn adds an axis at the end, along which the offset grows by the stride.
    positions = np.full((), 0 if storage_offset is None else n.static_int(storage_offset), np.int64)
    for length, step in zip(shape, steps, strict=True):
        positions = positions[..., None] + np.arange(length) * step
    return n("take", n("reshape", x, newshape=[-1]), n.constant(positions, "int64"), axis=0)


@aten("meshgrid")
def meshgrid(n: TorchNode, tensors: list[Expr], indexing: str = "ij") -> list[Expr]:
    """`meshgrid`."""
    return n.fields(n("meshgrid", n.builder.tuple(tensors), indexing=indexing), len(tensors))
