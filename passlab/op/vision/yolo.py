"""The reorganisation layer of YOLO (Redmon and Farhadi, 2017)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import Dim, TensorType, Type
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, integer
from passlab.op.nn.pad import copy_result
from passlab.op.nn.rearrange_gradients import yolo_reorg as yolo_reorg_gradient
from passlab.op.relations import divide_dim, refuse, tensor, times


def _reorg_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    if len(data.shape) != 4:
        refuse("vision.yolo_reorg takes images in NCHW", 0, expected="four dimensions", found=data)
    s = attrs.stride
    if s < 1:
        refuse("vision.yolo_reorg: the stride must be positive", found=s)
    batch, channels, *size = data.shape
    result: list[Dim] = []
    for dim in size:
        if isinstance(dim, int) and dim % s:
            refuse(f"vision.yolo_reorg: an axis of size {dim} cannot be cut into blocks of {s}", 0)
        result.append(divide_dim(dim, s))
    if isinstance(channels, int) and channels % (s * s):
        refuse(f"vision.yolo_reorg: {channels} channels cannot be divided by {s * s}", 0)
    return TensorType((batch, times(channels, s * s), *result), data.dtype)


@operator(
    "vision.yolo_reorg",
    ("data",),
    attrs=attrs("YoloReorgAttrs", integer("stride", 1, "the factor by which the image shrinks along each side")),
    relation=_reorg_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    python=Python("data, stride"),
    gradient=yolo_reorg_gradient,
    shapes="(N, C, H, W) -> (N, C stride², H / stride, W / stride)",
    source="Darknet's reorg layer",
    edge_cases=("vision.yolo_reorg(%x: (1, 4, 2, 4), stride=2)", "vision.yolo_reorg(%x: (2, 1, 2, 2), stride=1)"),
    example="vision.yolo_reorg(%x, stride=2)",
)
def yolo_reorg(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Move pixels into channels by Darknet's rule, which reads the data as if it had fewer channels and larger rows."""
    n, c, h, w = data.shape
    s = attrs.stride
    # Darknet's output k of (c, h, w) reads channel k % (c / s^2) at (row * s + offset / s, column * s + offset % s).
    inner = c // (s * s)
    large = data.reshape(n, inner, h * s, w * s)
    offset, channel = np.divmod(np.arange(c), inner)
    rows = np.arange(h)[None, :, None] * s + (offset // s)[:, None, None]
    columns = np.arange(w)[None, None, :] * s + (offset % s)[:, None, None]
    result = large[:, channel[:, None, None], rows, columns]
    return copy_result(np.ascontiguousarray(result.reshape(n, c * s * s, h // s, w // s)), out)
