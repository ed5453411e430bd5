"""Gradients of writing at indices, for every combination of an update with the old value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpCall
from passlab.op.along_axis import number, pick, reshape_to
from passlab.op.chain import attrs_of, dtype_of, infer_types, shape_of, sizes_of
from passlab.op.declare import call
from passlab.op.relations import refuse

Scatter = Callable[[Expr, Expr, str], Expr]
Gather = Callable[[Expr], Expr]


def _written(orig: OpCall, used: Expr, grad: Expr, how: str, scatter: Scatter, gather: Gather) -> tuple[Expr, Expr]:
    """Return the gradients of the data and of the updates that are used.

    `scatter(data, updates, how)` writes at the positions of the operator, `gather(data)` reads there.
    """
    data = orig.args[0]
    if how == "add":
        return grad, gather(grad)
    if how == "update":
        return scatter(grad, call("zeros_like", used), "update"), _of_the_last(data, used, grad, scatter, gather)
    if how == "mul":
        others = scatter(call("ones_like", data), used, "mul")
        return grad * others, gather(grad * orig) / used
    if how not in ("min", "max"):
        refuse(f'{orig.op} has no gradient if updates are combined by "{how}"', hint="the mean depends on their order")
    own = call("cast_like", call("equal", data, orig), data)
    there = call("cast_like", call("equal", used, gather(orig)), data)
    share = grad / scatter(own, there, "add")
    return share * own, gather(share) * there  # the values equal to the extremum share the gradient


def _of_the_last(data: Expr, used: Expr, grad: Expr, scatter: Scatter, gather: Gather) -> Expr:
    """The value in the result receives the gradient: of several updates at one position, the last."""
    shape = shape_of(used)
    if not all(isinstance(dim, int) for dim in shape):
        return gather(grad)
    numbers = Constant(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
    none = call("cast", call("zeros_like", data), dtype="int64")
    stands = call("equal", gather(scatter(none, numbers, "update")), numbers)
    return call("where", stands, gather(grad), call("zeros_like", used))


def scatter_elements(orig: OpCall, grad: Expr, how: str) -> list[Expr]:
    """The gradients of data, indices (none) and updates; updates beyond the indices have none."""
    indices, updates = orig.args[1:]
    axis = attrs_of(orig)["axis"] if attrs_of(orig) is not None else 0

    def scatter(target: Expr, values: Expr, way: str) -> Expr:
        return call("scatter_elements", target, indices, values, axis=axis, reduction=way)

    def gather(source: Expr) -> Expr:
        return call("gather", source, indices, axis=axis)

    size = shape_of(indices)
    bounds: dict[str, Any] = {"begin": [0] * len(size), "end": size, "strides": [1] * len(size), "axes": None}
    static = all(isinstance(dim, int) for dim in (*size, *shape_of(updates)))
    all_used = not static or shape_of(updates) == size
    used = updates if all_used else infer_types(call("strided_slice", updates, **bounds))
    for_data, for_used = _written(orig, used, grad, how, scatter, gather)
    if not all_used:
        vectors = [Constant(np.asarray(bounds[name], np.int64)) for name in ("begin", "end", "strides")]
        for_used = call("strided_set", call("zeros_like", updates), for_used, *vectors)
    return [for_data, call("zeros_like", indices), for_used]


def scatter_nd(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of data, indices (none) and updates."""
    indices, updates = orig.args[1:]

    def scatter(target: Expr, values: Expr, way: str) -> Expr:
        return call("scatter_nd", target, indices, values, mode=way)

    def gather(source: Expr) -> Expr:
        return call("gather_nd", source, indices)

    for_data, for_updates = _written(orig, updates, grad, attrs_of(orig)["mode"], scatter, gather)
    return [for_data, call("zeros_like", indices), for_updates]


def sparse_to_dense(orig: OpCall, grad: Expr) -> list[Expr]:
    """The values at the indices receive their gradients, the default value the rest."""
    rows, values = orig.args[:2]
    rank, sizes = len(shape_of(orig)), shape_of(rows)
    count = sizes[0] if sizes else 1
    turned = call("transpose", reshape_to(rows, (count, rank)), axes=[1, 0])
    seen = call("reshape_like", grad, orig)

    def scatter(target: Expr, updates: Expr, way: str) -> Expr:
        return call("scatter_nd", target, turned, updates, mode=way)

    def gather(source: Expr) -> Expr:
        return call("gather_nd", source, turned)

    used = infer_types(call("broadcast_to", values, shape=(count,)))
    for_default, for_used = _written(call("copy", orig), used, seen, "update", scatter, gather)
    rest = [call("zeros_like", arg) for arg in orig.args[3:]]
    return [call("zeros_like", rows), call("collapse_sum_like", for_used, values), call("sum", for_default), *rest]


def matrix_set_diag(orig: OpCall, grad: Expr) -> list[Expr]:
    """Zero for replaced elements; for the diagonals, the gradient at their constant positions in each matrix."""
    attrs, (data, diagonal) = attrs_of(orig), orig.args
    shape, held = sizes_of(data, "matrix_set_diag"), sizes_of(diagonal, "matrix_set_diag")
    rows, columns = shape[-2:]
    bands = attrs.k2 - attrs.k1 + 1
    positions, used = np.zeros((bands, held[-1]), np.int64), np.zeros((bands, held[-1]))
    for k in range(attrs.k1, attrs.k2 + 1):
        length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = held[-1] - length if right and bands > 1 else 0
        along = np.arange(length)
        positions[attrs.k2 - k, start : start + length] = (along + max(-k, 0)) * columns + along + max(k, 0)
        used[attrs.k2 - k, start : start + length] = 1
    flat = reshape_to(grad, (*shape[:-2], rows * columns))
    seen = pick(flat, len(shape) - 2, positions.reshape(-1))
    kept = call("matrix_set_diag", grad, call("zeros_like", diagonal), **dict(attrs.items()))
    return [kept, reshape_to(seen * number(used.reshape(-1), dtype_of(data)), held)]
