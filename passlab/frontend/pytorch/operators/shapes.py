"""Arithmetic on sizes known only at run time, and elements of lists."""

from __future__ import annotations

from functools import partial
from typing import Any

from passlab.frontend.pytorch.entries import add_entry, aten, torch_operator
from passlab.frontend.pytorch.node import Symbol, TorchNode
from passlab.frontend.sizes import product, sizes_of
from passlab.ir.expr import Expr

_ARITHMETIC = {
    "operator.add": "add",
    "operator.sub": "subtract",
    "operator.mul": "multiply",
    "operator.floordiv": "floor_divide",
    "operator.mod": "floor_mod",
    "torch.sym_max": "maximum",
    "torch.sym_min": "minimum",
}


@torch_operator("operator.getitem", "_operator.getitem")
def getitem(n: TorchNode, values: Any, index: int) -> Any:
    """One of several results."""
    items = values[index]
    if items is None:
        n.refuse("uses a result that is not available here", found=f"result {index}")
    return items


def _symbolic(operator: str, n: TorchNode, a: Any, b: Any) -> Symbol:
    sizes = (n.size(a), n.size(b))
    return Symbol(n(operator, *(size if isinstance(size, Expr) else n.constant([size], "int64") for size in sizes)))


for _name, _operator in _ARITHMETIC.items():
    add_entry(_name, partial(_symbolic, _operator), f"`{_operator}` of sizes.")


@torch_operator("operator.neg")
def negative(n: TorchNode, a: Any) -> int | Symbol:
    """`negative` of a size."""
    size = n.size(a)
    return -size if isinstance(size, int) else Symbol(n("negative", size))


@aten("sym_size")
def sym_size(n: TorchNode, x: Expr, dim: int) -> int | Symbol:
    """A dimension."""
    size = n.builder.size(x, n.axis(dim, n.rank(x)))
    return size if isinstance(size, int) else Symbol(size)


@aten("sym_numel")
def sym_numel(n: TorchNode, x: Expr) -> int | Symbol:
    """The product of the dimensions."""
    size = product(n, sizes_of(n, x))
    return size if isinstance(size, int) else Symbol(size)


@aten("_local_scalar_dense", "item")
def local_scalar(n: TorchNode, x: Expr) -> Symbol:
    """The element of an integer tensor, as a size."""
    if n.is_float(x):
        n.refuse("takes a number out of a tensor of floats")
    return Symbol(n("reshape", n.cast(x, "int64"), newshape=[1]))
