"""Tensors created from a shape alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import Symbol, TorchNode
from passlab.frontend.sizes import Size, as_vector, sizes_of
from passlab.ir.expr import Expr


def _full(n: TorchNode, sizes: list[Size], value: Any) -> Expr:
    filled = n.tensor(value, n.out_dtype)
    static = all(isinstance(size, int) for size in sizes)
    return n("full", filled, shape=sizes if static else as_vector(n, sizes), dtype=n.out_dtype)


@aten("full", "new_full")
def full(n: TorchNode, *args: Any, **_: Any) -> Expr:
    """`full`."""
    # `x.new_full(size, value)` has the tensor as its first argument, of which only the dtype matters.
    size, value = args[-2:] if n.op_type.startswith("aten.new") else args[:2]
    return _full(n, n.sizes(size), value)


@aten("zeros", "empty", "new_zeros", "new_empty", "empty_strided", "empty_permuted", "new_empty_strided")
def zeros(n: TorchNode, *args: Any, **_: Any) -> Expr:
    """`full` of zeros, also for uninitialised tensors."""
    return _full(n, n.sizes(args[1] if isinstance(args[0], Expr) else args[0]), 0)


@aten("ones", "new_ones")
def ones(n: TorchNode, *args: Any, **_: Any) -> Expr:
    """`full` of ones."""
    return _full(n, n.sizes(args[1] if isinstance(args[0], Expr) else args[0]), 1)


@aten("full_like", "fill")
def full_like(n: TorchNode, x: Expr, value: Any, **_: Any) -> Expr:
    """`full`."""
    return _full(n, sizes_of(n, x), value)


@aten("zeros_like", "empty_like")
def zeros_like(n: TorchNode, x: Expr, **_: Any) -> Expr:
    """`full` of zeros."""
    return _full(n, sizes_of(n, x), 0)


@aten("ones_like")
def ones_like(n: TorchNode, x: Expr, **_: Any) -> Expr:
    """`full` of ones."""
    return _full(n, sizes_of(n, x), 1)


@aten("scalar_tensor")
def scalar_tensor(n: TorchNode, value: Any, **_: Any) -> Expr:
    """A constant."""
    return n.tensor(value, n.out_dtype)


@aten("arange")
def arange(n: TorchNode, *args: Any, **_: Any) -> Expr:
    """A constant; `arange` if a bound is known only at run time."""
    # The overloads (end), (start, end) and (start, end, step).
    start, end, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
    dtype = n.out_dtype
    values: list[Any] = [n.size(a) if isinstance(a, Symbol) else a for a in (start, end, step)]
    if all(isinstance(a, (int, float)) for a in values):
        n.check_size(max(math.ceil((values[1] - values[0]) / values[2]), 0))
        return n.constant(np.arange(*values), dtype)
    parts = [n.tensor(Symbol(a) if isinstance(a, Expr) else a, dtype) for a in values]
    return n("arange", *parts, dtype=dtype)


@aten("linspace")
def linspace(n: TorchNode, start: Any, end: Any, steps: int, **_: Any) -> Expr:
    """A constant."""
    n.check_size(steps)
    return n.constant(np.linspace(float(start), float(end), steps), n.out_dtype)


@aten("eye")
def eye(n: TorchNode, rows: int, columns: int | None = None, **_: Any) -> Expr:
    """A constant."""
    n.check_size(rows, columns or rows)
    return n.constant(np.eye(rows, columns), n.out_dtype)


@aten("tril_indices")
def tril_indices(n: TorchNode, row: int, col: int, offset: int = 0, **_: Any) -> Expr:
    """A constant."""
    n.check_size(row, col)
    return n.constant(np.stack(np.tril_indices(row, offset, col)), n.out_dtype)
