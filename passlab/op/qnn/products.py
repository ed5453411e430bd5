"""Matrix products and convolutions of quantized tensors: sums of products of integers minus their zero points.

The scale of the result is the product of the scales of data and weight. The sums are computed in float64, which holds
them exactly, because NumPy multiplies matrices of floats many times faster than matrices of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Relation, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python, attrs_record, raw_kernel
from passlab.op.dtypes import Array, array_dtype
from passlab.op.nn.window_sizes import on_axes, window_parameters
from passlab.op.qnn.declare import quantized_operator
from passlab.op.qnn.scales import along, check_parameter, integer_input

_WEIGHT_PARAMETERS = ("input_zero_point", "weight_zero_point", "input_scale", "weight_scale")


@lru_cache(maxsize=256)
def _in_float64(attrs: Attrs) -> Attrs:
    """Return the attributes of a product that is computed in float64."""
    return attrs.with_fields(out_dtype="float64")


def _product_relation(float_op: str, names: Sequence[str], channel: Callable[[Any], int]) -> Relation:
    """Derive the relation from the relation of `float_op`; `channel` returns the weight's axis of output channels."""

    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data, weight = integer_input(types, 0), integer_input(types, 1, "weight")
        axes = (None, channel(attrs), None, channel(attrs))
        scaled_tensors = (None, weight, None, weight)
        parameters = [check_parameter(types, 2 + i, name, scaled_tensors[i], axes[i]) for i, name in enumerate(names)]
        if data is None or weight is None or not all(parameters):
            return None
        result_dtype = attrs.out_dtype or "int32"
        integer_types = [TensorType(ty.shape, result_dtype) for ty in (data, weight)]
        result = Op.get(float_op).spec.relation(integer_types, attrs, reporter)
        return TensorType(result.shape, result_dtype) if isinstance(result, TensorType) else None

    return relation


def _product_kernel(float_op: str, channel: Callable[[Any], int]) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array, weight: Array, data_zero: Array, weight_zero: Array, *scales: Array) -> Array:
        left = data.astype(np.float64) - along(data_zero, -1, data.ndim)
        right = weight.astype(np.float64) - along(weight_zero, channel(attrs), weight.ndim)
        result = raw_kernel(float_op)(_in_float64(attrs), left, right)
        return result.astype(np.int64).astype(array_dtype(attrs.out_dtype or "int32"))  # type: ignore[no-any-return]

    return kernel


def _quantized_product(
    name: str, float_op: str, names: Sequence[str], channel: Callable[[Any], int], doc: str, **facts: Any
) -> Op:
    """Declare the quantized form of the operator `float_op`; `names` are the zero points and scales."""
    return quantized_operator(
        name,
        facts.pop("inputs", ("data", "weight", *names)),
        attrs=attrs_record(float_op),
        relation=_product_relation(float_op, names, channel),
        pattern=facts.pop("pattern", OpPattern.OUT_ELEMWISE_FUSABLE),
        doc=doc,
        **facts,
    )(_product_kernel(float_op, channel))


# ---------------------------------------------------------------- dense
dense = _quantized_product(
    "qnn.dense",
    "nn.dense",
    _WEIGHT_PARAMETERS,
    lambda attrs: 0,
    "Multiply quantized `data` by the transpose of quantized `weight`.",
    python=Python(
        "data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, units, out_dtype='int32'",
        names={"kernel_zero_point": "weight_zero_point", "kernel_scale": "weight_scale"},
    ),
    shapes="data (m, k), weight (units, k) -> (m, units)",
    edge_cases=(
        'qnn.dense(%q: (2, 3) int8, %w: (4, 3) int8, 1, -2, 0.5f, 0.5f, units=4, out_dtype="int32")',
        'qnn.dense(%q: (0, 3) uint8, %w: (4, 3) int8, 128, 0, 0.5f, 0.5f, units=4, out_dtype="int32")',
    ),
)


# ---------------------------------------------------------------- batch_matmul
_MATMUL = ("x_zero_point", "y_zero_point", "x_scale", "y_scale")
batch_matmul = _quantized_product(
    "qnn.batch_matmul",
    "nn.batch_matmul",
    _MATMUL,
    lambda attrs: -1,
    "Multiply quantized matrices, batch by batch.",
    inputs=("x", "y", *_MATMUL),
    python=Python(
        "x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype='int32'",
        fixed={"transpose_a": False, "transpose_b": True},
    ),
    shapes="x (b, m, k), y (b, k, n); with transpose_b (b, n, k) -> (b, m, n)",
    edge_cases=(
        (
            'qnn.batch_matmul(%x: (2, 2, 3) int8, %y: (2, 4, 3) int8, 1, -2, 0.5f, 0.5f, out_dtype="int32", '
            "transpose_b=True)"
        ),
        (
            'qnn.batch_matmul(%x: (1, 3, 2) int8, %y: (1, 3, 4) int8, 1, -2, 0.5f, 0.5f, out_dtype="int32", '
            "transpose_a=True)"
        ),
    ),
)


# ---------------------------------------------------------------- conv2d
def output_channel(attrs: Attrs) -> int:
    """Return the index of axis O in the layout of the weight, 0 if it has none."""
    return int(attrs.kernel_layout.index("O")) if "O" in attrs.kernel_layout else 0


conv2d = _quantized_product(
    "qnn.conv2d",
    "nn.conv2d",
    _WEIGHT_PARAMETERS,
    output_channel,
    "Convolve quantized `data` with a quantized `weight`; the padding represents zero.",
    python=Python(
        "data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale, kernel_size, "
        "channels, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, data_layout='NCHW', "
        "kernel_layout='OIHW', out_layout='', out_dtype='int32'",
        names={"kernel": "weight", "kernel_zero_point": "weight_zero_point", "kernel_scale": "weight_scale"},
        **window_parameters(2),
    ),
    shapes="data (N, C, H, W), weight (O, C / groups, KH, KW) -> (N, O, OH, OW)",
    edge_cases=(
        (
            "qnn.conv2d(%q: (1, 2, 4, 4) uint8, %w: (3, 2, 2, 2) int8, 128, -3, 0.5f, 0.5f, channels=3, "
            'kernel_size=[2, 2], padding=[1, 1], out_dtype="int32")'
        ),
        (
            "qnn.conv2d(%q: (1, 4, 4, 2) int8, %w: (3, 3, 2, 1) int8, 3, 0, 0.5f, 0.5f, groups=2, channels=2, "
            'kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI", out_dtype="int32")'
        ),
    ),
    layout=layout_rules.TwoLayouts({"NCHW": "OIHW", "NHWC": "HWIO"}),
)


conv2d_transpose = _quantized_product(
    "qnn.conv2d_transpose",
    "nn.conv2d_transpose",
    _WEIGHT_PARAMETERS,
    output_channel,
    "The transposed convolution of quantized `data` with a quantized `weight`.",
    python=Python(
        "data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, strides=(1, "
        "1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, kernel_size=None, "
        "data_layout='NCHW', kernel_layout='IOHW', out_layout='', output_padding=(0, 0), "
        "out_dtype='int32'",
        names={"kernel_zero_point": "weight_zero_point", "kernel_scale": "weight_scale"},
        **window_parameters(2),
        output_padding=on_axes(2),
    ),
    pattern=OpPattern.OPAQUE,
    shapes="data (N, C, H, W), weight (C, O / groups, KH, KW) -> (N, O, OH, OW)",
    edge_cases=(
        (
            "qnn.conv2d_transpose(%q: (1, 2, 3, 3) uint8, %w: (2, 3, 2, 2) int8, 128, -3, 0.5f, 0.5f, channels=3, "
            'kernel_size=[2, 2], strides=[2, 2], out_dtype="int32")'
        ),
    ),
    layout=layout_rules.TwoLayouts({"NCHW": "IOHW", "NHWC": "HWIO"}),
)
