"""`topi.nn`'s functions for `Legalize`: under a CUDA target they pad products to the sizes of a tensor core.

A tensor core multiplies matrices of fixed sizes. The functions pad the rows, the inner dimension and the columns of a
product with zeros up to multiples of these sizes, and slice the result; under any other target they change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from passlab import relay
from passlab.devices import Target
from passlab.ir.expr import Expr
from passlab.op import make

Sizes = tuple[int, ...]
WIDE: tuple[Sizes, ...] = ((16, 16, 16), (32, 16, 8), (8, 16, 32))  # rows, inner dimension, columns
NARROW: tuple[Sizes, ...] = ((8, 32, 8),)
MOST_EXTRA_WORK = 2  # times the work of the unpadded product
BYTES, NIBBLES = ("int8", "uint8"), ("int4", "uint4")


def padding(sizes: Sizes, shapes: Sequence[Sizes]) -> Sizes | None:
    """Return what to append to each size of a product; None if nothing, or if the work would more than triple."""

    def work(pads: Sizes) -> int:
        return prod(size + pad for size, pad in zip(sizes, pads, strict=True))

    best = min((tuple(-size % m for size, m in zip(sizes, shape, strict=True)) for shape in shapes), key=work)
    return best if any(best) and work(best) - prod(sizes) <= MOST_EXTRA_WORK * prod(sizes) else None


def conv2d_legalize(attrs: Any, inputs: Sequence[Expr], arg_types: Sequence[Any]) -> Expr | None:
    """Return a convolution on padded data and weight, or None."""
    layouts = (attrs.data_layout, attrs.kernel_layout)
    shapes = _shapes_of_conv2d(layouts, arg_types[0].dtype)
    if not _applies(arg_types) or tuple(attrs.dilation) != (1, 1) or attrs.groups != 1 or shapes is None:
        return None
    data, weight = (dict(zip(layout, ty.shape, strict=True)) for layout, ty in zip(layouts, arg_types, strict=False))
    pads = padding((data["N"], data["C"], weight["O"]), shapes)
    if pads is None:
        return None
    rows, inner, columns = pads
    operands = (
        _pad(inputs[0], [{"N": rows, "C": inner}.get(axis, 0) for axis in layouts[0]]),
        _pad(inputs[1], [{"I": inner, "O": columns}.get(axis, 0) for axis in layouts[1]]),
    )
    changes = {"channels": weight["O"] + columns} if columns else {}
    result = make("nn.conv2d", *operands, **{**dict(attrs.items()), **changes})
    return _cut(result, arg_types[-1]) if rows or columns else result


def _shapes_of_conv2d(layouts: tuple[str, str], dtype: str) -> tuple[Sizes, ...] | None:
    """Return the sizes to which a convolution is padded, None if it stays."""
    if layouts == ("NCHW", "OIHW") and dtype in BYTES:
        return ((1, 4, 4),)
    if layouts == ("NHWC", "HWIO") and dtype in (*BYTES, *NIBBLES, "float16"):
        return WIDE
    if layouts == ("HWNC", "HWOI"):
        return WIDE[2:] if dtype in BYTES else NARROW if dtype in NIBBLES else None
    return None


def dense_legalize(attrs: Any, inputs: Sequence[Expr], arg_types: Sequence[Any]) -> Expr | None:
    """Return a dense layer on padded data and weight, or None."""
    return _product("nn.dense", dict(attrs.items()), inputs, arg_types)


def batch_matmul_legalize(attrs: Any, inputs: Sequence[Expr], arg_types: Sequence[Any]) -> Expr | None:
    """Return a batched product on padded operands, or None; products of which only the second is transposed."""
    if attrs.transpose_a or not attrs.transpose_b:
        return None
    return _product("nn.batch_matmul", dict(attrs.items()), inputs, arg_types)


def _product(op: str, attrs: dict[str, Any], inputs: Sequence[Expr], arg_types: Sequence[Any]) -> Expr | None:
    left, right = arg_types[:2]
    shapes = WIDE if left.dtype in (*BYTES, "float16") else NARROW if left.dtype in NIBBLES else None
    if not _applies(arg_types) or shapes is None:
        return None
    pads = padding((*left.shape[-2:], right.shape[-2]), shapes)
    if pads is None:
        return None
    rows, inner, columns = pads
    outer = [0] * (len(left.shape) - 2)
    operands = _pad(inputs[0], [*outer, rows, inner]), _pad(inputs[1], [*outer, columns, inner])
    if op == "nn.dense" and attrs.get("units") is not None:
        attrs["units"] += columns
    result = make(op, *operands, **attrs)
    return _cut(result, arg_types[-1]) if rows or columns else result


def _applies(arg_types: Sequence[Any]) -> bool:
    target = Target.current()
    is_static = all(isinstance(dim, int) for ty in arg_types for dim in ty.shape)
    return target is not None and target.kind == "cuda" and is_static


def _pad(expr: Expr, pads: Sequence[int]) -> Expr:
    result: Expr = relay.nn.pad(expr, pad_width=tuple((0, pad) for pad in pads)) if any(pads) else expr
    return result


def _cut(expr: Expr, ty: Any) -> Expr:
    result: Expr = relay.strided_slice(expr, begin=[0] * len(ty.shape), end=list(ty.shape))
    return result
