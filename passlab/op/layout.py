"""The conversion of a tensor from one data layout to another, such as NCHW to NCHW4c."""

from __future__ import annotations

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, OpPattern
from passlab.ir.types import TensorType, Type
from passlab.op.attr_fields import attrs, text
from passlab.op.declare import call, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import Conversion, conversion, forward_shape, parse_layout
from passlab.op.relations import on_tensors, refuse


def _conversions(attrs: Attrs) -> tuple[Conversion, Conversion]:
    """Return the conversions of both layouts to the plain one with the same axes, in alphabetical order."""
    source = parse_layout(attrs.src_layout)
    if source is None:
        refuse(f'"{attrs.src_layout}" is not a layout', hint='such as "NCHW" or "NCHW4c"')
    plain = "".join(sorted(source.axes))
    return conversion(attrs.src_layout, plain, "src_layout"), conversion(attrs.dst_layout, plain, "dst_layout")


@on_tensors
def _layout_type(attrs: Attrs, data: TensorType) -> Type:
    source_to_plain, target_to_plain = _conversions(attrs)
    return TensorType(target_to_plain.backward_shape(forward_shape(source_to_plain, data.shape, "data", 0)), data.dtype)


def _layout_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [call("layout_transform", grad, src_layout=orig.attrs["dst_layout"], dst_layout=orig.attrs["src_layout"])]


@operator(
    "layout_transform",
    ("data",),
    attrs=attrs(
        "LayoutTransformAttrs",
        text("src_layout", doc="the layout of the data, a letter for each axis"),
        text("dst_layout", doc='the new layout; "4c" is a part of 4 split off axis C'),
    ),
    relation=_layout_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    gradient=_layout_grad,
    shapes="src_layout -> dst_layout",
    source="Relay's layouts: a capital for an axis, 4c for a part of 4 split off it",
    edge_cases=(
        'layout_transform(%x: (1, 4, 2, 3), src_layout="NCHW", dst_layout="NHWC")',
        'layout_transform(%x: (1, 4, 2, 3), src_layout="NCHW", dst_layout="NCHW2c")',
        'layout_transform(%x: (0, 4, 2, 3), src_layout="NCHW", dst_layout="HWCN")',
    ),
)
def layout_transform(attrs: Attrs, data: Array) -> Array:
    """Convert a tensor from one data layout to another."""
    source_to_plain, target_to_plain = _conversions(attrs)
    return np.asarray(target_to_plain.backward(source_to_plain.forward(data)))
