"""Sorting."""

from __future__ import annotations

from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr


@aten("sort")
def sort(n: TorchNode, x: Expr, *args: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> list[Expr]:
    """`argsort`, which is stable, and `gather`."""
    # The overloads (dim, descending) and (stable, dim, descending); `argsort` is stable in any case.
    values = list(args)
    if n.overload == "stable" and values:
        values.pop(0)
    dim = values[0] if values else dim
    descending = values[1] if len(values) > 1 else descending
    axis = n.axis(dim, n.rank(x))
    positions = n("argsort", x, axis=axis, is_ascend=not descending, dtype="int64")
    return [n("gather", x, axis=axis, indices=positions), positions]


@aten("argsort")
def argsort(n: TorchNode, x: Expr, *args: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Expr:
    """`argsort`."""
    return sort(n, x, *args, dim=dim, descending=descending)[1]


@aten("topk")
def topk(n: TorchNode, x: Expr, k: Any, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> list[Expr]:
    """`topk`."""
    axis = n.axis(dim, n.rank(x))
    result = n("topk", x, k=n.static_int(k), axis=axis, ret_type="both", is_ascend=not largest, dtype="int64")
    return n.fields(result, 2)


@aten("searchsorted")
def searchsorted(
    n: TorchNode, sequence: Expr, values: Expr, out_int32: bool = False, right: bool = False, **_: Any
) -> Expr:
    """`searchsorted`."""
    return n("searchsorted", sequence, values, right=right, dtype="int32" if out_int32 else "int64")


@aten("bucketize")
def bucketize(n: TorchNode, values: Expr, boundaries: Expr, out_int32: bool = False, right: bool = False) -> Expr:
    """`searchsorted`."""
    return searchsorted(n, boundaries, values, out_int32, right)
