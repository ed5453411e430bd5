"""Reading and writing elements at indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.frontend.formulas import nonnegative_indices
from passlab.frontend.products import matrix_product
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.frontend.pytorch.operators.movement import expand, permute
from passlab.frontend.sizes import reshape_to, sizes_of
from passlab.ir.expr import Expr

REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


@aten("embedding")
def embedding(n: TorchNode, weight: Expr, indices: Expr, *_: Any) -> Expr:
    """`take`."""
    return n("take", weight, indices, axis=0)  # the other arguments, such as `padding_idx`, concern training


@aten("index_select")
def index_select(n: TorchNode, x: Expr, dim: int, index: Expr) -> Expr:
    """`take`."""
    axis = n.axis(dim, n.rank(x))
    # A scalar index keeps the axis, with one element.
    index = index if n.rank(index) else n("reshape", index, newshape=[1])
    return n("take", x, nonnegative_indices(n, index, x, axis), axis=axis)


@aten("take")
def take(n: TorchNode, x: Expr, index: Expr) -> Expr:
    """`take` of the flattened tensor."""
    flat = n("reshape", x, newshape=[-1])
    return n("take", flat, nonnegative_indices(n, index, flat, 0), axis=0)


@aten("gather")
def gather(n: TorchNode, x: Expr, dim: int, index: Expr, sparse_grad: bool = False) -> Expr:
    """`gather`."""
    axis = n.axis(dim, n.rank(x))
    return n("gather", _crop(n, x, index, axis), axis=axis, indices=nonnegative_indices(n, index, x, axis))


def _crop(n: TorchNode, x: Expr, index: Expr, axis: int) -> Expr:
    """Return `x` cropped to the shape of the indices along the other axes: PyTorch allows smaller indices."""
    shapes = zip(n.shape(x), n.shape(index), strict=True)
    shorter = [
        (at, b)
        for at, (a, b) in enumerate(shapes)
        if at != axis and isinstance(a, int) and isinstance(b, int) and b < a
    ]
    if not shorter:
        return x
    axes, ends = [at for at, _ in shorter], [end for _, end in shorter]
    return n("strided_slice", x, begin=[0] * len(axes), end=ends, strides=[1] * len(axes), axes=axes)


@aten("scatter")
def scatter(n: TorchNode, x: Expr, dim: int, index: Expr, source: Any, reduce: str | None = None) -> Expr:
    """`scatter_elements`."""
    axis = n.axis(dim, n.rank(x))
    if not isinstance(source, Expr):
        source = expand(n, n.tensor(source, n.dtype(x)), sizes_of(n, index))
    mode = "update" if reduce is None else REDUCTIONS[reduce]
    return n(
        "scatter_elements",
        x,
        nonnegative_indices(n, index, x, axis),
        _crop(n, source, index, -1),
        axis=axis,
        reduction=mode,
    )


@aten("scatter_add")
def scatter_add(n: TorchNode, x: Expr, dim: int, index: Expr, source: Expr) -> Expr:
    """`scatter_elements`."""
    return scatter(n, x, dim, index, source, "add")


@aten("scatter_reduce")
def scatter_reduce(
    n: TorchNode, x: Expr, dim: int, index: Expr, source: Expr, reduce: str, include_self: bool = True
) -> Expr:
    """`scatter_elements`."""
    if not include_self or reduce not in REDUCTIONS:
        n.refuse("is supported for sums, products and extremes that include the tensor itself", found=reduce)
    return scatter(n, x, dim, index, source, reduce)


@aten("index_add")
def index_add(n: TorchNode, x: Expr, dim: int, index: Expr, source: Expr, alpha: float = 1) -> Expr:
    """`scatter_elements`."""
    axis = n.axis(dim, n.rank(x))
    source = source if alpha == 1 else n("multiply", source, alpha)
    return scatter(n, x, axis, _broadcast_index(n, index, source, axis), source, "add")


@aten("index_copy")
def index_copy(n: TorchNode, x: Expr, dim: int, index: Expr, source: Expr) -> Expr:
    """`scatter_elements`."""
    axis = n.axis(dim, n.rank(x))
    return scatter(n, x, axis, _broadcast_index(n, index, source, axis), source)


def _broadcast_index(n: TorchNode, index: Expr, source: Expr, axis: int) -> Expr:
    """Return the indices along one axis broadcast to the shape of `source`."""
    line = n("reshape", index, newshape=[-1 if at == axis else 1 for at in range(n.rank(source))])
    return expand(n, line, sizes_of(n, source))


@aten("index", "_unsafe_index")
def index_(n: TorchNode, x: Expr, indices: list[Expr | None]) -> Expr:
    """`take` along one axis, `gather_nd` along several; a mask selects the elements where it holds."""
    axes, selected = _integer_indices(n, indices)
    if len(axes) == 1:
        return n("take", x, nonnegative_indices(n, selected[0], x, axes[0]), axis=axes[0])
    in_place, rank = _stay_in_place(axes), n.rank(x)
    # `gather_nd` indexes the first axes; as in NumPy, adjacent indices leave the axes of the result where they were.
    rest = [axis for axis in range(rank) if axis not in axes]
    joined = _index_tuples(n, x, axes, selected)
    result = n("gather_nd", permute(n, x, [*axes, *rest]), joined, batch_dims=0, index_rank=len(axes))
    if not in_place:
        return result
    count = n.rank(joined) - 1  # the axes of the indices replace the axes they select from
    order = list(range(count, count + axes[0])), list(range(count)), list(range(count + axes[0], count + len(rest)))
    return permute(n, result, [axis for part in order for axis in part])


def _stay_in_place(axes: list[int]) -> bool:
    """Whether the indexed axes are adjacent and not first, so that the axes of the result replace them in place."""
    return axes[-1] - axes[0] == len(axes) - 1 and axes[0] > 0


def _integer_indices(n: TorchNode, indices: list[Expr | None]) -> tuple[list[int], list[Expr]]:
    """Return the indexed axes and their indices; a mask becomes the indices where it holds, along each of its axes."""
    result: list[Expr | None] = []
    for index in indices:
        if index is None or n.dtype(index) != "bool":
            result.append(index)
            continue
        items = n("argwhere", index)
        result += [n("take", items, n.constant(axis, "int64"), axis=1) for axis in range(n.rank(index))]
    axes = [axis for axis, index in enumerate(result) if index is not None]
    return axes, [index for index in result if index is not None]


def _index_tuples(n: TorchNode, x: Expr, axes: list[int], selected: list[Expr]) -> Expr:
    """Return index tuples, with their elements along the first axis."""
    parts = [
        n.cast(nonnegative_indices(n, index, x, axis), "int64") for axis, index in zip(axes, selected, strict=True)
    ]
    # The sum of all parts has the shape that they broadcast to.
    whole = parts[0]
    for part in parts[1:]:
        whole = n("add", whole, part)
    wide = [part if n.shape(part) == n.shape(whole) else n("broadcast_to_like", part, whole) for part in parts]
    return n("stack", n.builder.tuple(wide), axis=0)


@aten("index_put", "_unsafe_index_put")
def index_put(n: TorchNode, x: Expr, indices: list[Expr | None], values: Expr, accumulate: bool = False) -> Expr:
    """`scatter_nd`; `where` by a mask and one value."""
    only_index = indices[0] if len(indices) == 1 else None
    if only_index is not None and n.dtype(only_index) == "bool" and n.rank(values) == 0 and not accumulate:
        trailing_axes = n.rank(x) - n.rank(only_index)
        mask = reshape_to(n, only_index, [*sizes_of(n, only_index), *[1] * trailing_axes])
        return n("where", mask, n.cast(values, n.dtype(x)), x)
    axes, selected = _integer_indices(n, indices)
    rest = [axis for axis in range(n.rank(x)) if axis not in axes]
    if _stay_in_place(axes) and n.rank(values) > len(rest):
        n.refuse("puts values at indices behind other axes")
    moved, order = permute(n, x, [*axes, *rest]), [*axes, *rest]
    joined = _index_tuples(n, moved, list(range(len(axes))), selected)
    target = [*sizes_of(n, joined)[1:], *sizes_of(n, moved)[len(axes) :]]
    mode = "add" if accumulate else "update"
    result = n("scatter_nd", moved, joined, expand(n, n.cast(values, n.dtype(x)), target), mode=mode)
    # The `argsort` of a permutation is its inverse.
    return permute(n, result, [int(at) for at in np.argsort(order)])


@aten("nonzero")
def nonzero(n: TorchNode, x: Expr) -> Expr:
    """`argwhere`."""
    return n("argwhere", x)


@aten("masked_select")
def masked_select(n: TorchNode, x: Expr, mask: Expr) -> Expr:
    """`take` of the indices where the mask holds."""
    flat = n("reshape", expand(n, mask, sizes_of(n, x)), newshape=[-1])
    positions = n("reshape", n("argwhere", flat), newshape=[-1])
    return n("take", n("reshape", x, newshape=[-1]), positions, axis=0)


@aten("one_hot")
def one_hot(n: TorchNode, indices: Expr, num_classes: int = -1) -> Expr:
    """`one_hot`."""
    if num_classes < 0:
        n.refuse("needs the number of classes")
    one, zero = n.constant(1, "int64"), n.constant(0, "int64")
    return n("one_hot", indices, one, zero, depth=num_classes, axis=-1, dtype="int64")


@aten("masked_scatter", "masked_scatter_")
def masked_scatter(n: TorchNode, x: Expr, mask: Expr, source: Expr) -> Expr:
    """`where` between the tensor and the elements of the source, taken at the running count of the mask."""
    # Adding zeros broadcasts the mask to the shape of the tensor.
    ones = n("add", n("cast", mask, dtype="int64"), n("zeros_like", n.cast(x, "int64")))
    flat = n("reshape", ones, newshape=[-1])
    # The running count, from 0, is the place in the source.
    met = n("maximum", n("subtract", n("cumsum", flat, axis=0), n.constant(1, "int64")), n.constant(0, "int64"))
    taken = n("take", n("reshape", source, newshape=[-1]), met, axis=0, mode="clip")
    return n("where", n("not_equal", ones, n.constant(0, "int64")), n("reshape_like", taken, x), x)


def _positions(n: TorchNode, x: Expr) -> Expr:
    """Return the places of the elements of a vector, from 0, as int64."""
    (size,) = n.shape(x)
    if isinstance(size, int):
        return n.constant(np.arange(size), "int64")
    ones = n("ones_like", n.cast(x, "int64"))
    return n("subtract", n("cumsum", ones, axis=0), n.constant(1, "int64"))


@aten("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag")
def embedding_bag(
    n: TorchNode,
    weight: Expr,
    indices: Expr,
    offsets: Expr,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Expr | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> list[Expr | None]:
    """The sum, the mean or the largest of the rows in each bag; the other three results are not available."""
    rows = n("take", weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = n("multiply", rows, n("expand_dims", per_sample_weights, axis=1))
    starts, position, bags = n.cast(offsets, "int64"), _positions(n, indices), _positions(n, offsets)
    # A row belongs to the last bag that begins at it or before it.
    has_begun = n("greater_equal", n("expand_dims", position, axis=1), n("expand_dims", starts, axis=0))
    bag = n("subtract", n("sum", n.cast(has_begun, "int64"), axis=[1]), n.constant(1, "int64"))
    if include_last_offset:  # the end of the last bag begins none
        bags = n("strided_slice", bags, begin=[0], end=[-1], strides=[1], axes=[0])
    n.check_size(*(size for part in (bags, indices) for size in n.shape(part) if isinstance(size, int)))
    inside = n("equal", n("expand_dims", bag, axis=0), n("expand_dims", bags, axis=1))
    if padding_idx is not None and padding_idx < 0:  # negative, counted from the end, in the overload named after it
        padding_idx = padding_idx + n.static_shape(weight)[0] if n.overload == "padding_idx" else None
    if padding_idx is not None:
        counts = n("not_equal", n.cast(indices, "int64"), n.constant(padding_idx, "int64"))
        inside = n("logical_and", inside, n("expand_dims", counts, axis=0))
    if mode == 2:
        least = n.constant(-math.inf, rows)
        chosen = n("where", n("expand_dims", inside, axis=2), n("expand_dims", rows, axis=0), least)
        is_empty = n("logical_not", n("any", inside, axis=[1], keepdims=True))
        return [n("where", is_empty, n.constant(0, rows), n("max", chosen, axis=[1])), None, None, None]
    members = n.cast(inside, n.dtype(weight))
    total = matrix_product(n, members, rows, "")  # a product with a matrix of zeros and ones sums the rows of each bag
    if mode == 1:
        sizes = n("maximum", n("sum", members, axis=[1], keepdims=True), n.constant(1, weight))
        total = n("divide", total, sizes)
    return [total, None, None, None]
