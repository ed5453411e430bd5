"""Gradients of writing at indices, for every combination of an update with the old value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall
from passlab.op.along_axis import number, reshape_to, take_along
from passlab.op.autodiff import attrs_of, dtype_of, infer_types, shape_of, sizes_of
from passlab.op.declare import call
from passlab.op.relations import refuse

Scatter = Callable[[Expr, Expr, str], Expr]
Gather = Callable[[Expr], Expr]


def _scatter_gradients(
    orig: OpCall, updates: Expr, grad: Expr, mode: str, scatter: Scatter, gather: Gather
) -> tuple[Expr, Expr]:
    """Return the gradients of the data and of `updates`, those that have an index.

    `scatter(data, updates, how)` writes at the positions of the operator, `gather(data)` reads there.
    """
    data = orig.args[0]
    if mode == "add":
        return grad, gather(grad)
    if mode == "update":
        data_grad = scatter(grad, call("zeros_like", updates), "update")
        return data_grad, _last_update_gradient(data, updates, grad, scatter, gather)
    if mode == "mul":
        others = scatter(call("ones_like", data), updates, "mul")
        return grad * others, gather(grad * orig) / updates
    if mode not in ("min", "max"):
        refuse(f'{orig.op} has no gradient if updates are combined by "{mode}"', hint="the mean depends on their order")
    data_share = call("cast_like", call("equal", data, orig), data)
    update_share = call("cast_like", call("equal", updates, gather(orig)), data)
    part = grad / scatter(data_share, update_share, "add")
    return part * data_share, gather(part) * update_share  # the values equal to the extremum share the gradient


def _last_update_gradient(data: Expr, updates: Expr, grad: Expr, scatter: Scatter, gather: Gather) -> Expr:
    """Return the gradient of updates that replace values: of several at one position, the last receives it.

    Each update writes its number; one that reads back its own number was the last.
    """
    shape = shape_of(updates)
    if not all(isinstance(dim, int) for dim in shape):
        return gather(grad)
    ids = Constant(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
    no_id = call("cast", call("zeros_like", data), dtype="int64")
    is_last = call("equal", gather(scatter(no_id, ids, "update")), ids)
    return call("where", is_last, gather(grad), call("zeros_like", updates))


def scatter_elements(orig: OpCall, grad: Expr, reduction: str) -> list[Expr]:
    """The gradients of data, indices (zero) and updates; updates without an index get zero."""
    indices, updates = orig.args[1:]
    axis = attrs_of(orig)["axis"] if attrs_of(orig) is not None else 0

    def scatter(target: Expr, values: Expr, mode: str) -> Expr:
        return call("scatter_elements", target, indices, values, axis=axis, reduction=mode)

    def gather(source: Expr) -> Expr:
        return call("gather", source, indices, axis=axis)

    size = shape_of(indices)
    bounds: dict[str, Any] = {"begin": [0] * len(size), "end": size, "strides": [1] * len(size), "axes": None}
    static = all(isinstance(dim, int) for dim in (*size, *shape_of(updates)))
    all_used = not static or shape_of(updates) == size
    used = updates if all_used else infer_types(call("strided_slice", updates, **bounds))
    data_grad, update_grad = _scatter_gradients(orig, used, grad, reduction, scatter, gather)
    if not all_used:
        vectors = [Constant(np.asarray(bounds[name], np.int64)) for name in ("begin", "end", "strides")]
        update_grad = call("strided_set", call("zeros_like", updates), update_grad, *vectors)
    return [data_grad, call("zeros_like", indices), update_grad]


def scatter_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of data, indices (zero) and updates."""
    indices, updates = orig.args[1:]
    data_grad, update_grad = _scatter_gradients(orig, updates, grad, attrs_of(orig)["mode"], *_access_by_nd(indices))
    return [data_grad, call("zeros_like", indices), update_grad]


def _access_by_nd(indices: Expr) -> tuple[Scatter, Gather]:
    """Return the functions that write and read at the indices of `scatter_nd`."""

    def scatter(target: Expr, values: Expr, mode: str) -> Expr:
        return call("scatter_nd", target, indices, values, mode=mode)

    return scatter, lambda source: call("gather_nd", source, indices)


def sparse_to_dense(orig: OpCall, grad: Expr) -> list[Expr]:
    """The values receive the gradients at their indices, the default value the sum of the others."""
    rows, values = orig.args[:2]
    rank, sizes = len(shape_of(orig)), shape_of(rows)
    count = sizes[0] if sizes else 1
    indices = call("transpose", reshape_to(rows, (count, rank)), axes=[1, 0])
    grad_like = call("reshape_like", grad, orig)
    scatter, gather = _access_by_nd(indices)
    used = infer_types(call("broadcast_to", values, shape=(count,)))
    default_grad, value_grad = _scatter_gradients(call("copy", orig), used, grad_like, "update", scatter, gather)
    rest = [call("zeros_like", arg) for arg in orig.args[3:]]
    return [call("zeros_like", rows), call("collapse_sum_like", value_grad, values), call("sum", default_grad), *rest]


def matrix_set_diag(orig: OpCall, grad: Expr) -> list[Expr]:
    """The data's gradient is zero on the replaced diagonals, which receive the gradient at their positions."""
    attrs, (data, diagonal) = attrs_of(orig), orig.args
    shape, diagonal_shape = sizes_of(data, "matrix_set_diag"), sizes_of(diagonal, "matrix_set_diag")
    rows, columns = shape[-2:]
    bands = attrs.k2 - attrs.k1 + 1
    positions, mask = np.zeros((bands, diagonal_shape[-1]), np.int64), np.zeros((bands, diagonal_shape[-1]))
    for k in range(attrs.k1, attrs.k2 + 1):
        length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = diagonal_shape[-1] - length if right and bands > 1 else 0
        steps = np.arange(length)
        positions[attrs.k2 - k, start : start + length] = (steps + max(-k, 0)) * columns + steps + max(k, 0)
        mask[attrs.k2 - k, start : start + length] = 1
    flat = reshape_to(grad, (*shape[:-2], rows * columns))
    picked = take_along(flat, len(shape) - 2, positions.reshape(-1))
    data_grad = call("matrix_set_diag", grad, call("zeros_like", diagonal), **dict(attrs.items()))
    return [data_grad, reshape_to(picked * number(mask.reshape(-1), dtype_of(data)), diagonal_shape)]
