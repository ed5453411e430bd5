"""Enlarging images by a factor: `nn.upsampling` and `nn.upsampling3d`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern
from passlab.ir.types import ANY, Shape, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, number, text
from passlab.op.declare import Dynamic, Python, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import layout_axes
from passlab.op.nn.accumulation import cast_result
from passlab.op.nn.resample import COORDINATES, ResizePlan, Scheme, resample
from passlab.op.nn.resize_gradients import resampling
from passlab.op.relations import on_tensors, times

UPSAMPLING = ("nearest_neighbor", "bilinear", "bicubic")
UPSAMPLING3D = ("nearest_neighbor", "trilinear")
_METHOD = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def scaled_shape(shape: Shape, axes: Sequence[int], scales: Sequence[float], name: str) -> Shape:
    """Return `shape` with sizes multiplied by scales, rounded. Raises `RelationError` for a scale of 0 or less."""
    result = list(shape)
    for axis, scale in zip(axes, scales, strict=True):
        if not 0 < scale < float("inf"):
            raise RelationError(Diagnostic(f"{name}: the scale must be positive", found=str(scale)))
        dim = result[axis]
        if isinstance(dim, int):
            result[axis] = int(dim * scale + 0.5)
        else:
            result[axis] = times(dim, int(scale)) if float(scale).is_integer() else ANY
    return tuple(result)


def _scales(attrs: Attrs) -> tuple[float, ...]:
    names = ("scale_d", "scale_h", "scale_w")
    return tuple(attrs[name] for name in names if name in attrs)


@on_tensors
def _upsampling_type(attrs: Attrs, data: TensorType) -> Type:
    scales = _scales(attrs)
    name = "nn.upsampling" if len(scales) == 2 else "nn.upsampling3d"
    axes = layout_axes(attrs.layout, data.shape, len(scales), name)
    return TensorType(scaled_shape(data.shape, axes, scales, name), data.dtype)


def upsampling_scheme(attrs: Attrs) -> Scheme:
    """Return the interpolation scheme of an upsampling operator."""
    if "align_corners" in attrs:
        return Scheme(_METHOD[attrs.method], "align_corners" if attrs.align_corners else "asymmetric")
    return Scheme(_METHOD[attrs.method], attrs.coordinate_transformation_mode)


def upsampling_plan(attrs: Attrs, shape: Shape) -> ResizePlan:
    """Return the axes, sizes, interpolation scheme and region (None) of an upsampling."""
    scales = _scales(attrs)
    axes = layout_axes(attrs.layout, shape, len(scales), "nn.upsampling")
    result = scaled_shape(shape, axes, scales, "nn.upsampling")
    return axes, [result[axis] for axis in axes], upsampling_scheme(attrs), None


def upsample(attrs: Attrs, data: Array, scales: Sequence[float], name: str, out: Array | None) -> Array:
    """Enlarge `data` along the spatial axes of its layout."""
    axes = layout_axes(attrs.layout, data.shape, len(scales), name)
    shape = scaled_shape(data.shape, axes, scales, name)
    sizes: Any = tuple(shape[a] for a in axes)
    return cast_result(resample(data, axes, sizes, upsampling_scheme(attrs), None, data.dtype), data.dtype, out)


UpSamplingAttrs = attrs(
    "UpSamplingAttrs",
    number("scale_h", doc="factor of the height"),
    number("scale_w", doc="factor of the width"),
    text("layout", "NCHW", "layout of data and result"),
    text("method", "nearest_neighbor", "the interpolation of new elements", choices=UPSAMPLING),
    boolean("align_corners", False, "whether the corners of data and result coincide"),
)
UpSampling3DAttrs = attrs(
    "UpSampling3DAttrs",
    number("scale_d", doc="factor of the depth"),
    number("scale_h", doc="factor of the height"),
    number("scale_w", doc="factor of the width"),
    text("layout", "NCDHW", "layout of data and result"),
    text("method", "nearest_neighbor", "the interpolation of new elements", choices=UPSAMPLING3D),
    text("coordinate_transformation_mode", "half_pixel", "where new elements lie", choices=COORDINATES),
)


@operator(
    "nn.upsampling",
    ("data",),
    attrs=UpSamplingAttrs,
    relation=_upsampling_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    python=Python(
        "data, scale_h=1, scale_w=1, layout='NCHW', method='nearest_neighbor', align_corners=False",
        dynamic=Dynamic("dyn.nn.upsampling", scale_h="float64", scale_w="float64"),
    ),
    gradient=resampling("nn.upsampling", upsampling_plan),
    shapes="(N, C, H, W) -> (N, C, H scale_h, W scale_w)",
    source="image.resize2d",
    edge_cases=(
        "nn.upsampling(%x: (1, 2, 2, 3), scale_h=2f, scale_w=2f)",
        'nn.upsampling(%x: (1, 2, 3, 2), scale_h=2f, scale_w=1f, layout="NHWC", method="bilinear", align_corners=True)',
        "nn.upsampling(%x: (0, 2, 2, 3), scale_h=2f, scale_w=2f)",
    ),
    layout=layout_rules.OneLayout(split=True, still="DHW"),
)
def upsampling(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Enlarge images, repeating elements or interpolating between them."""
    return upsample(attrs, data, (attrs.scale_h, attrs.scale_w), "nn.upsampling", out)


@operator(
    "nn.upsampling3d",
    ("data",),
    attrs=UpSampling3DAttrs,
    relation=_upsampling_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    silenced=True,
    python=Python(
        "data, scale_d=1, scale_h=1, scale_w=1, layout='NCDHW', method='nearest_neighbor', "
        "coordinate_transformation_mode='half_pixel'",
        dynamic=Dynamic("dyn.nn.upsampling3d", scale_d="float64", scale_h="float64", scale_w="float64"),
    ),
    gradient=resampling("nn.upsampling3d", upsampling_plan),
    shapes="(N, C, D, H, W) -> (N, C, D scale_d, H scale_h, W scale_w)",
    source="image.resize3d",
    edge_cases=(
        "nn.upsampling3d(%x: (1, 1, 2, 2, 2), scale_d=2f, scale_h=1f, scale_w=2f)",
        'nn.upsampling3d(%x: (1, 1, 2, 2, 2), scale_d=2f, scale_h=2f, scale_w=2f, method="trilinear")',
    ),
    layout=layout_rules.OneLayout(split=True, still="DHW"),
)
def upsampling3d(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Enlarge volumes, repeating elements or interpolating between them."""
    return upsample(attrs, data, (attrs.scale_d, attrs.scale_h, attrs.scale_w), "nn.upsampling3d", out)
