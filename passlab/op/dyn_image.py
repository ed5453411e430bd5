"""Images whose size is an input: `dyn.image.resize2d`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op.declare import operator
from passlab.op.dtypes import Array
from passlab.op.image import RESIZE, check_resize, resize
from passlab.op.layout_names import layout_axes
from passlab.op.no_gradient import DYNAMIC_SIZE
from passlab.op.relations import refuse, tensor


def _resize_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    size = tensor(types, 1, "size")
    if size is not None and (len(size.shape) != 1 or size.shape[0] not in (2, ANY) or size.dtype == "bool"):
        refuse("dyn.image.resize2d: size must be two numbers", 1, found=size)  # Relay takes floats here, and truncates
    shape: list[Any] = list(data.shape)
    for axis in layout_axes(attrs.layout, shape, 2, "dyn.image.resize2d"):
        shape[axis] = ANY
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype)


def _resize_shape(attrs: Attrs, data: Array, size: Array, roi: Array) -> Type:
    shape = list(data.shape)
    axes = layout_axes(attrs.layout, shape, 2, "dyn.image.resize2d")
    for axis, length in zip(axes, size.astype("int64").tolist(), strict=True):
        check_resize("dyn.image.resize2d", shape[axis], length)
        shape[axis] = int(length)
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype.name)


@operator(
    "dyn.image.resize2d",
    ("data", "size", "roi"),
    attrs=RESIZE[2],
    relation=_resize_type,
    shape_function=_resize_shape,
    pattern=OpPattern.INJECTIVE,
    level=5,
    warns=True,
    shapes="data (N, C, H, W), size (2), roi (4) -> (N, C, size)",
    source="ONNX's Resize; Keys (1981) for cubic",
    edge_cases=(
        (
            "dyn.image.resize2d(%x: (1, 2, 3, 4), %s: (2) int64 = [6, 7], %r: (4) float32 = [0, 0, 0, 0], "
            "size=None, roi=None)"
        ),
    ),
    example="dyn.image.resize2d(%x, %size, %roi)",
    no_gradient=DYNAMIC_SIZE,
)
def resize2d(attrs: Attrs, data: Array, size: Array, roi: Array, *, out: Array | None = None) -> Array:
    """`image.resize2d` with size and region as inputs."""
    _resize_shape(attrs, data, size, roi)  # raises for a bad size
    region = roi.tolist() if roi.size == 4 else None
    return resize(2, attrs, data, [int(n) for n in size.tolist()], region, out)
