"""Operators that add a border or only reshape: `nn.pad`, `nn.mirror_pad` and `nn.batch_flatten`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Reporter, Trait
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, pairs, text
from passlab.op.autodiff import gradient_by
from passlab.op.declare import Dynamic, Python, constant, operator
from passlab.op.dtypes import Array
from passlab.op.nn import gradients
from passlab.op.relations import on_tensors, plus, product, refuse, tensor


def check_number(types: Sequence[Type], index: int, name: str) -> None:
    """Raise `RelationError` if a known input is not a single number."""
    ty = tensor(types, index, name)
    if ty is not None and any(dim not in (1, ANY) for dim in ty.shape):
        refuse(f"{name} must be a single number", index, found=ty)


def _border_type(name: str, data: TensorType, widths: Sequence[Sequence[int]], offset: int | None) -> Type:
    """Return the type of `data` with a border; negative widths crop.

    `offset` limits a mirrored border to that many elements less than the remaining size; None is not a limit.
    """
    rank = len(data.shape)
    if len(widths) != rank:
        refuse(f"{name}: pad_width has {len(widths)} pairs", 0, expected=f"{rank}, one for each dimension")
    shape: list[Dim] = []
    for i, (dim, pair) in enumerate(zip(data.shape, widths, strict=True)):
        entry = f"{name}: pad_width[{i}]"
        if len(pair) != 2:
            refuse(f"{entry} has {len(pair)} numbers", 0, expected="two: before and after")
        if not isinstance(dim, int):
            shape.append(plus(dim, sum(pair)))
            continue
        if dim + sum(pair) < 0:
            refuse(f"{entry} removes more than dimension {i} has", 0, expected=f"at most {dim}", found=list(pair))
        remaining = dim + sum(width for width in pair if width < 0)
        if offset is not None and max(pair) > max(0, remaining - offset):
            message = f"{entry} cannot be mirrored from dimension {i} of size {remaining}"
            refuse(message, 0, expected=f"at most {remaining - offset}", found=list(pair))
        shape.append(dim + sum(pair))
    return TensorType(tuple(shape), data.dtype)


def padded_type(name: str, data: TensorType, widths: Sequence[Sequence[int]], mode: str) -> Type:
    """Return the type of `data` with a border, by `nn.pad`'s modes. Raises `RelationError` for bad widths."""
    return _border_type(name, data, widths, 1 if mode == "reflect" else None)


def _pad_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    check_number(types, 1, "nn.pad: pad_val")
    if data is None:
        return None
    return padded_type("nn.pad", data, attrs.pad_width, attrs.pad_mode)


def add_border(data: Array, widths: Sequence[Sequence[int]], value: Any, out: Array | None = None) -> Array:
    """Return `data` with a border of `value`; negative widths crop."""
    shape = tuple(n + a + b for n, (a, b) in zip(data.shape, widths, strict=True))
    result = np.empty(shape, data.dtype) if out is None else out
    result[...] = np.asarray(value).astype(data.dtype)
    target = tuple(slice(max(a, 0), max(n - max(b, 0), 0)) for n, (a, b) in zip(shape, widths, strict=True))
    source = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(data.shape, widths, strict=True))
    result[target] = data[source]
    return result


PadAttrs = attrs(
    "PadAttrs",
    pairs("pad_width", doc="for each dimension the width before and after"),
    text("pad_mode", "constant", "what the border holds", choices=("constant", "edge", "reflect")),
)


@operator(
    "nn.pad",
    ("data", "pad_val"),
    attrs=PadAttrs,
    relation=_pad_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    python=Python(
        "data, pad_width, pad_value=0, pad_mode='constant'",
        names={"pad_value": "pad_val"},
        dynamic=Dynamic("dyn.nn.pad"),
        pad_value=constant(),
    ),
    gradient=gradients.pad,
    shapes="(d0, ...), pad_val () -> (before + d0 + after, ...)",
    source="np.pad",
    edge_cases=(
        "nn.pad(%x: (2, 3), %v: (), pad_width=[[1, 0], [0, 2]])",
        'nn.pad(%x: (2, 3), %v: (), pad_width=[[1, 1], [1, 2]], pad_mode="edge")',
        'nn.pad(%x: (2, 3), %v: (), pad_width=[[1, 1], [2, 1]], pad_mode="reflect")',
        "nn.pad(%x: (0, 3), %v: (), pad_width=[[1, 1], [0, 0]])",
        "nn.pad(%x: (4, 3), %v: (), pad_width=[[-1, 0], [1, -1]])",
    ),
    layout=layout_rules.permute("pad_width"),
    precision=Precision.FOLLOW,
)
def pad(attrs: Attrs, data: Array, pad_val: Array, *, out: Array | None = None) -> Array:
    """Put a border around a tensor: a constant, its edge, or its reflection. Negative widths crop."""
    return with_border(data, attrs.pad_width, pad_val, attrs.pad_mode, out)


def with_border(data: Array, widths: Sequence[Sequence[int]], value: Any, mode: str, out: Array | None) -> Array:
    """Return `data` with a border by one of `nn.pad`'s modes; negative widths crop."""
    if mode == "constant":
        return add_border(data, widths, np.asarray(value).reshape(()), out)
    return _mirror(data, widths, "reflect" if mode == "reflect" else "edge", out)


def _mirror(data: Array, widths: Sequence[Sequence[int]], mode: Any, out: Array | None) -> Array:
    """Return `data`, cropped by negative widths, with a border of its own elements by a mode of `np.pad`."""
    cropped = data[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(data.shape, widths, strict=True))]
    border: Any = [(max(a, 0), max(b, 0)) for a, b in widths]
    return copy_result(np.pad(cropped, border, mode=mode), out)


def copy_result(result: Array, out: Array | None) -> Array:
    """Return `result`, in `out` if it is given."""
    if out is None:
        return result
    np.copyto(out, result)
    return out


def _mirror_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    offset = 0 if attrs.mode == "SYMMETRIC" else 1
    return None if data is None else _border_type("nn.mirror_pad", data, attrs.pad_width, offset)


@operator(
    "nn.mirror_pad",
    ("data",),
    attrs=attrs(
        "MirrorPadAttrs",
        text("mode", "SYMMETRIC", "whether the edge itself is repeated", choices=("SYMMETRIC", "REFLECT")),
        pairs("pad_width", doc="for each dimension the width before and after"),
    ),
    relation=_mirror_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    gradient=gradients.mirror_pad,
    shapes="(d0, ...) -> (before + d0 + after, ...)",
    source="np.pad",
    edge_cases=(
        "nn.mirror_pad(%x: (2, 3), pad_width=[[1, 0], [0, 2]])",
        'nn.mirror_pad(%x: (2, 3), mode="REFLECT", pad_width=[[1, 1], [2, 0]])',
        "nn.mirror_pad(%x: (0, 3), pad_width=[[0, 0], [1, 1]])",
    ),
    layout=layout_rules.permute("pad_width"),
)
def mirror_pad(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Put the tensor's mirror image around it, with (SYMMETRIC) or without (REFLECT) its edge."""
    return _mirror(data, attrs.pad_width, attrs.mode.lower(), out)


@on_tensors
def _flatten_type(attrs: Attrs, data: TensorType) -> Type:
    if not data.shape:
        raise RelationError(Diagnostic("nn.batch_flatten needs a batch dimension", found=str(data)), 0)
    rest = data.shape[1:]
    return TensorType((data.shape[0], product(rest)), data.dtype)


@operator(
    "nn.batch_flatten",
    ("data",),
    relation=_flatten_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    gradient=gradient_by("reshape_like"),
    shapes="(n, ...) -> (n, size of the rest)",
    source="np.reshape",
    edge_cases=("nn.batch_flatten(%x: (2, 3, 2))", "nn.batch_flatten(%x: (0, 3, 2))", "nn.batch_flatten(%x: (2, 1))"),
    precision=Precision.FOLLOW,
    traits=Trait.RESHAPES | Trait.MOVES,
)
def batch_flatten(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Join all dimensions after the first."""
    return copy_result(data.reshape(data.shape[0], math.prod(data.shape[1:])), out)
