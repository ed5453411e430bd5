"""Convolutions and products on weights packed in blocks, as the kernels of processors read them.

They compute the same as `nn.conv2d` and `nn.dense`, in blocked layouts. Passes create them and choose the blocks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpPattern
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.along_axis import to_layout
from passlab.op.attr_fields import attrs, dtype, integer, text
from passlab.op.autodiff import by_definition
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import conversion, forward_shape
from passlab.op.nn import conv_gradients
from passlab.op.nn.accumulation import matmul, result_dtype
from passlab.op.nn.conv import conv_attrs, conv_kernel, conv_relation, conv_signature
from passlab.op.nn.matmul import check_inner, check_units
from passlab.op.relations import on_tensors, refuse

_PACK = "nn.contrib_dense_pack"


def _packed_conv2d(name: str, **facts: Any) -> Op:
    """Declare a convolution on data and weights in blocks."""
    return operator(
        name,
        ("data", "weight"),
        attrs=conv_attrs(2),
        relation=conv_relation(2, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        silenced=True,
        python=conv_signature(2, "data, kernel", "NCHW8c", {"kernel": "weight"}),
        gradient=conv_gradients.conv(2),
        layout=layout_rules.TwoLayouts({}),
        **facts,
    )(partial(conv_kernel, 2))


contrib_conv2d_nchwc = _packed_conv2d(
    "nn.contrib_conv2d_NCHWc",
    shapes="data (N, C / c, H, W, c), weight (O / o, C / i, KH, KW, i, o) -> (N, O / o, OH, OW, o)",
    source="im2col and a matrix product in BLAS, panel by panel",
    edge_cases=(
        (
            "nn.contrib_conv2d_NCHWc(%x: (1, 2, 3, 3, 2), %w: (1, 2, 2, 2, 2, 3), channels=3, kernel_size=[2, 2], "
            'data_layout="NCHW2c", kernel_layout="OIHW2i3o", out_layout="NCHW3c")'
        ),
        "nn.contrib_conv2d_NCHWc(%x: (0, 2, 4, 4), %w: (3, 2, 3, 3), padding=[1, 1])",
        (
            "nn.contrib_conv2d_NCHWc(%x: (1, 4, 5, 5) int8, %w: (2, 2, 2, 2) int8, strides=[2, 1], dilation=[1, 2], "
            'groups=2, out_dtype="int32")'
        ),
    ),
    doc="`nn.conv2d` on data and weights whose channels are in blocks.",
)
contrib_depthwise_conv2d_nchwc = _packed_conv2d(
    "nn.contrib_depthwise_conv2d_NCHWc",
    shapes="data (N, C / c, H, W, c), weight (C / c, 1, KH, KW, 1, c) -> (N, C / c, OH, OW, c)",
    source="one product per tap of the window",
    edge_cases=(
        (
            "nn.contrib_depthwise_conv2d_NCHWc(%x: (1, 2, 3, 3, 2), %w: (2, 1, 2, 2, 1, 2), groups=4, channels=4, "
            'kernel_size=[2, 2], data_layout="NCHW2c", kernel_layout="OIHW1i2o", out_layout="NCHW2c")'
        ),
        "nn.contrib_depthwise_conv2d_NCHWc(%x: (0, 2, 4, 4), %w: (2, 1, 3, 3), groups=2, padding=[1, 1])",
        (
            "nn.contrib_depthwise_conv2d_NCHWc(%x: (1, 2, 5, 5) int8, %w: (2, 1, 2, 2) int8, strides=[2, 1], "
            'dilation=[1, 2], groups=2, out_dtype="int32")'
        ),
    ),
    doc="`nn.conv2d` with as many groups as channels, on data and weights whose channels are in blocks.",
)


# ---------------------------------------------------------------- contrib_dense_pack
@on_tensors
def _pack_type(attrs: Attrs, data: TensorType, weight: TensorType) -> Type:
    if len(data.shape) != 2:
        refuse(f"{_PACK}: data must have two dimensions", 0, found=data)
    check_units(_PACK, attrs.units)
    rows, width = forward_shape(conversion(attrs.weight_layout, "NC", "weight_layout"), weight.shape, "weight", 1)
    check_inner(_PACK, data, weight, data.shape[1], width)
    if attrs.units is not None and isinstance(rows, int) and rows != attrs.units:
        refuse(f"{_PACK}: units is {attrs.units} and the weight has {rows} rows", 1, found=weight)
    return TensorType((data.shape[0], rows), attrs.out_dtype or data.dtype)


def _define_dense_pack(attrs: Attrs, data: Expr, weight: Expr) -> Expr:
    """Define `nn.contrib_dense_pack` as the product with the unpacked weight."""
    return call("nn.dense", data, to_layout(weight, attrs.weight_layout, "NC"), units=None, out_dtype=attrs.out_dtype)


@operator(
    _PACK,
    ("data", "weight"),
    attrs=attrs(
        "DensePackAttrs",
        integer("units", optional=True, doc="rows of the weight, None to read them off"),
        dtype("out_dtype", "", "dtype of sums and result"),
        text("weight_layout", "NC", "layout of the weight: N its rows, C the summed dimension, in blocks"),
    ),
    relation=_pack_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    silenced=True,
    python=Python("data, weight, weight_layout='NC', units=None, out_dtype=''"),
    gradient=by_definition(_define_dense_pack),
    shapes="data (m, k), weight (units / b, k, b) -> (m, units)",
    source="a matrix product in BLAS",
    edge_cases=(
        'nn.contrib_dense_pack(%x: (2, 3), %w: (2, 3, 2), units=None, weight_layout="NC2n")',
        'nn.contrib_dense_pack(%x: (2, 4), %w: (1, 2, 3, 2), units=3, weight_layout="NC3n2c")',
        "nn.contrib_dense_pack(%x: (0, 3), %w: (4, 3), units=4)",
        'nn.contrib_dense_pack(%x: (2, 3) int8, %w: (2, 3, 2) int8, units=4, out_dtype="int32", weight_layout="NC2n")',
    ),
)
def contrib_dense_pack(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Multiply `data` (m, k) by the transpose of a weight (units, k) packed in blocks of rows."""
    unpacked = conversion(attrs.weight_layout, "NC", "weight_layout").forward(weight)
    return matmul(data, unpacked.T, result_dtype(attrs.out_dtype, data.dtype), out)
