"""Operators of networks whose shape is an input: `dyn.nn.pad` and `dyn.nn.upsampling`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op import dyn_gradients, layout_rules
from passlab.op.declare import operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import layout_axes
from passlab.op.nn.pad import PadAttrs, check_number, padded_type, with_border
from passlab.op.nn.upsampling import UpSampling3DAttrs, UpSamplingAttrs, scaled_shape, upsample
from passlab.op.no_gradient import DYNAMIC_SIZE
from passlab.op.relations import refuse, tensor


# ---------------------------------------------------------------- dyn.nn.pad
def _pad_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, width = tensor(types, 0, "data"), tensor(types, 1, "pad_width")
    check_number(types, 2, "dyn.nn.pad: pad_val")
    if data is None or width is None:
        return None
    if len(width.shape) != 2 or width.shape[1] not in (2, ANY) or width.shape[0] not in (len(data.shape), ANY):
        refuse(
            "dyn.nn.pad: pad_width has a pair for each dimension", 1, expected=f"({len(data.shape)}, 2)", found=width
        )
    return TensorType((ANY,) * len(data.shape), data.dtype)


def _pad_shape(attrs: Attrs, data: Array, pad_width: Array, pad_val: Array) -> Type:
    return padded_type("dyn.nn.pad", TensorType(data.shape, data.dtype.name), pad_width.tolist(), attrs.pad_mode)


@operator(
    "dyn.nn.pad",
    ("data", "pad_width", "pad_val"),
    attrs=PadAttrs,
    relation=_pad_type,
    shape_function=_pad_shape,
    pattern=OpPattern.INJECTIVE,
    level=2,
    gradient=dyn_gradients.pad,
    shapes="data (d0, ...), pad_width (rank, 2), pad_val () -> (before + d0 + after, ...)",
    source="np.pad",
    edge_cases=(
        "dyn.nn.pad(%x: (2, 3), %w: (2, 2) int64 = [[1, 0], [0, 2]], %v: (), pad_width=[])",
        "dyn.nn.pad(%x: (0, 3), %w: (2, 2) int64 = [[1, 1], [0, 0]], %v: (), pad_width=[])",
    ),
)
def pad(attrs: Attrs, data: Array, pad_width: Array, pad_val: Array, *, out: Array | None = None) -> Array:
    """`nn.pad` with the widths of the border as an input."""
    _pad_shape(attrs, data, pad_width, pad_val)  # raises for widths that are too large
    return with_border(data, pad_width.tolist(), pad_val, attrs.pad_mode, out)


# ---------------------------------------------------------------- dyn.nn.upsampling
def _upsampling_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    for i in range(1, len(types)):
        check_number(types, i, "dyn.nn.upsampling: a scale")
    shape: list[Any] = list(data.shape)
    for axis in layout_axes(attrs.layout, shape, len(types) - 1, "dyn.nn.upsampling"):
        shape[axis] = ANY
    return TensorType(tuple(shape), data.dtype)


def _scales(scales: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(scale.reshape(())) for scale in scales)


def _upsampling_shape(attrs: Attrs, data: Array, *scales: Any) -> Type:
    axes = layout_axes(attrs.layout, data.shape, len(scales), "dyn.nn.upsampling")
    return TensorType(scaled_shape(data.shape, axes, _scales(scales), "dyn.nn.upsampling"), data.dtype.name)


@operator(
    "dyn.nn.upsampling",
    ("data", "scale_h", "scale_w"),
    attrs=UpSamplingAttrs,
    relation=_upsampling_type,
    shape_function=_upsampling_shape,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    shapes="data (N, C, H, W), scale_h, scale_w () -> (N, C, H scale_h, W scale_w)",
    source="image.resize2d",
    edge_cases=("dyn.nn.upsampling(%x: (1, 2, 2, 3), %h: () float32 = 2, %w: () float32 = 2, scale_h=0f, scale_w=0f)",),
    layout=layout_rules.OneLayout(split=True, still="DHW"),
    no_gradient=DYNAMIC_SIZE,
)
def upsampling(attrs: Attrs, data: Array, scale_h: Array, scale_w: Array, *, out: Array | None = None) -> Array:
    """`nn.upsampling` with the scales as inputs."""
    return upsample(attrs, data, _scales((scale_h, scale_w)), "dyn.nn.upsampling", out)


@operator(
    "dyn.nn.upsampling3d",
    ("data", "scale_d", "scale_h", "scale_w"),
    attrs=UpSampling3DAttrs,
    relation=_upsampling_type,
    shape_function=_upsampling_shape,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    shapes="data (N, C, D, H, W), three scales () -> (N, C, D scale_d, H scale_h, W scale_w)",
    source="image.resize3d",
    edge_cases=(
        (
            "dyn.nn.upsampling3d(%x: (1, 1, 2, 2, 2), %d: () float32 = 2, %h: () float32 = 1, %w: () float32 = 2, "
            "scale_d=0f, scale_h=0f, scale_w=0f)"
        ),
    ),
    layout=layout_rules.OneLayout(split=True, still="DHW"),
    no_gradient=DYNAMIC_SIZE,
)
def upsampling3d(
    attrs: Attrs, data: Array, scale_d: Array, scale_h: Array, scale_w: Array, *, out: Array | None = None
) -> Array:
    """`nn.upsampling3d` with the scales as inputs."""
    return upsample(attrs, data, _scales((scale_d, scale_h, scale_w)), "dyn.nn.upsampling3d", out)
