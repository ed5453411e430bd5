"""Gradients of writing at indices, for every way an update meets what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr
from passlab.op.along_axis import reshaped
from passlab.op.chain import shape_of, typed
from passlab.op.declare import call
from passlab.op.relations import refuse

Scatter = Callable[[Expr, Expr, str], Expr]
Gather = Callable[[Expr], Expr]


def _written(orig: Call, used: Expr, grad: Expr, how: str, scatter: Scatter, gather: Gather) -> tuple[Expr, Expr]:
    """The gradients of the data and of the updates that are used.

    `scatter(data, updates, how)` writes at the places of the operator, `gather(data)` reads there.
    """
    data = orig.args[0]
    if how == "add":
        return grad, gather(grad)
    if how == "update":
        return scatter(grad, call("zeros_like", used), "update"), _of_the_last(data, used, grad, scatter, gather)
    if how == "mul":
        others = scatter(call("ones_like", data), used, "mul")
        return grad * others, gather(grad * orig) / used
    if how in ("min", "max"):  # those that are the extremum share it
        own = call("cast_like", call("equal", data, orig), data)
        there = call("cast_like", call("equal", used, gather(orig)), data)
        share = grad / scatter(own, there, "add")
        return share * own, gather(share) * there
    refuse(f'{orig.op} has no gradient where updates meet by "{how}"', hint="the mean depends on their order")


def _of_the_last(data: Expr, used: Expr, grad: Expr, scatter: Scatter, gather: Gather) -> Expr:
    """What stands in the result gets the gradient: of several updates in one place, the last."""
    shape = shape_of(used)
    if not all(isinstance(dim, int) for dim in shape):
        return gather(grad)
    numbers = Constant(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
    none = call("cast", call("zeros_like", data), dtype="int64")
    stands = call("equal", gather(scatter(none, numbers, "update")), numbers)
    return call("where", stands, gather(grad), call("zeros_like", used))


def scatter_elements(orig: Call, grad: Expr, how: str) -> list[Expr]:
    """The gradients of data, indices (none) and updates; updates beyond the indices have none."""
    data, indices, updates = orig.args
    axis = orig.attrs["axis"] if orig.attrs is not None else 0

    def scatter(target: Expr, values: Expr, way: str) -> Expr:
        return call("scatter_elements", target, indices, values, axis=axis, reduction=way)

    def gather(source: Expr) -> Expr:
        return call("gather", source, indices, axis=axis)

    size = shape_of(indices)
    bounds: dict[str, Any] = {"begin": [0] * len(size), "end": size, "strides": [1] * len(size), "axes": None}
    all_used = shape_of(updates) == size
    used = updates if all_used else typed(call("strided_slice", updates, **bounds))
    for_data, for_used = _written(orig, used, grad, how, scatter, gather)
    if not all_used:
        vectors = [Constant(np.asarray(bounds[name], np.int64)) for name in ("begin", "end", "strides")]
        for_used = call("strided_set", call("zeros_like", updates), for_used, *vectors)
    return [for_data, call("zeros_like", indices), for_used]


def scatter_nd(orig: Call, grad: Expr) -> list[Expr]:
    """The gradients of data, indices (none) and updates."""
    data, indices, updates = orig.args
    assert orig.attrs is not None

    def scatter(target: Expr, values: Expr, way: str) -> Expr:
        return call("scatter_nd", target, indices, values, mode=way)

    def gather(source: Expr) -> Expr:
        return call("gather_nd", source, indices)

    for_data, for_updates = _written(orig, updates, grad, orig.attrs["mode"], scatter, gather)
    return [for_data, call("zeros_like", indices), for_updates]


def sparse_to_dense(orig: Call, grad: Expr) -> list[Expr]:
    """What stands at the indices gets its gradient, the default the rest."""
    rows, values, default = orig.args[:3]
    rank, given = len(shape_of(orig)), shape_of(rows)
    count = given[0] if given else 1
    turned = call("transpose", reshaped(rows, (count, rank)), axes=[1, 0])
    seen = call("reshape_like", grad, orig)

    def scatter(target: Expr, updates: Expr, way: str) -> Expr:
        return call("scatter_nd", target, turned, updates, mode=way)

    def gather(source: Expr) -> Expr:
        return call("gather_nd", source, turned)

    used = typed(call("broadcast_to", values, shape=(count,)))
    for_default, for_used = _written(call("copy", orig), used, seen, "update", scatter, gather)
    rest = [call("zeros_like", arg) for arg in orig.args[3:]]
    return [call("zeros_like", rows), call("collapse_sum_like", for_used, values), call("sum", for_default), *rest]
