"""Pooling over regions of interest: `vision.roi_align` and `vision.roi_pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, integer, integers, number, text
from passlab.op.nn.activation import finish
from passlab.op.nn.sampling import check_batch, linear, nearest_index
from passlab.op.nn.sampling_gradients import roi_align as roi_align_gradient
from passlab.op.nn.windows import check_lengths, check_positive, on_axes
from passlab.op.relations import refuse, tensor

_LAYOUTS = ("NCHW", "NHWC")


def _type(name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, rois = tensor(types, 0, "data"), tensor(types, 1, "rois")
    if data is None or rois is None:
        return None
    if len(data.shape) != 4:
        refuse(f"{name}: data must be images", 0, expected="four dimensions", found=data)
    if len(rois.shape) != 2 or rois.shape[1] not in (5, ANY):
        refuse(f"{name}: a region is five numbers: image, and left, top, right, bottom", 1, found=rois)
    if "float" not in rois.dtype or not 0 < attrs.spatial_scale < math.inf:
        refuse(f"{name}: regions are floating-point numbers, and spatial_scale is positive", 1, found=rois)
    check_lengths(2, pooled_size=attrs.pooled_size)
    check_positive(pooled_size=attrs.pooled_size)
    if attrs.layout == "NCHW":
        return TensorType((rois.shape[0], data.shape[1], *attrs.pooled_size), data.dtype)
    return TensorType((rois.shape[0], *attrs.pooled_size, data.shape[3]), data.dtype)


def _pool(name: str, attrs: Attrs, data: Any, rois: Any, out: Any, region: Any) -> Any:
    """Pool each region with `region(image, roi)`, which gives (C, *pooled_size)."""
    images = data if attrs.layout == "NCHW" else data.transpose(0, 3, 1, 2)
    batch = rois[:, 0].astype(np.int64)
    check_batch(name, batch, len(images))
    result = np.empty((len(rois), images.shape[1], *attrs.pooled_size), data.dtype)
    for i, index in enumerate(batch.tolist()):
        result[i] = region(images[index], rois[i, 1:])
    return finish(
        result if attrs.layout == "NCHW" else np.ascontiguousarray(result.transpose(0, 2, 3, 1)), data.dtype, out
    )


# ---------------------------------------------------------------- roi_align
def _align(attrs: Attrs, image: Array, roi: Array) -> Any:
    kind = roi.dtype.type
    left, top, right, bottom = (roi * kind(attrs.spatial_scale)).tolist()
    sides = [max(bottom - top, 1.0), max(right - left, 1.0)]
    bins = [side / count for side, count in zip(sides, attrs.pooled_size, strict=True)]
    grid = [attrs.sample_ratio if attrs.sample_ratio > 0 else max(1, math.ceil(size)) for size in bins]
    lines = []
    for start, size, samples, count in zip((top, left), bins, grid, attrs.pooled_size, strict=True):
        steps = (np.arange(count)[:, None] + (np.arange(samples) + 0.5) / samples) * size + start
        lines.append(steps.reshape(-1).astype(image.dtype if image.dtype.kind == "f" else np.float32))
    y, x = np.broadcast_arrays(lines[0][:, None], lines[1][None, :])
    height, width = image.shape[1:]
    inside = (y >= -1) & (x >= -1) & (y <= height) & (x <= width)
    found = linear(image, (np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)), "border")
    values = np.where(inside, found, 0).reshape(
        len(image), attrs.pooled_size[0], grid[0], attrs.pooled_size[1], grid[1]
    )
    return values.max(axis=(2, 4)) if attrs.mode == "max" else values.mean(axis=(2, 4))


@operator(
    "vision.roi_align",
    ("data", "rois"),
    attrs=attrs(
        "ROIAlignAttrs",
        integers("pooled_size", doc="height and width of the result"),
        number("spatial_scale", doc="size of the data over the size of the image the regions are given in"),
        integer("sample_ratio", -1, "samples along each side of a bin, -1 for as many as it has pixels"),
        text("layout", "NCHW", "layout of data and result", choices=_LAYOUTS),
        text("mode", "avg", "what becomes of the samples of a bin", choices=("avg", "max")),
    ),
    relation=partial(_type, "vision.roi_align"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=5,
    warns=True,
    python=Python(
        "data, rois, pooled_size, spatial_scale, sample_ratio=-1, layout='NCHW', mode='avg'",
        pooled_size=on_axes(2),
        mode=lambda mode: {0: "avg", 1: "max"}.get(mode, mode),
    ),
    gradient=roi_align_gradient,
    shapes="data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size)",
    source="He et al., Mask R-CNN (2017)",
    edges=(
        (
            "vision.roi_align(%x: (2, 2, 4, 5), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 1, 1, 9, 2]], "
            "pooled_size=[2, 2], spatial_scale=0.5f)"
        ),
        (
            "vision.roi_align(%x: (1, 2, 4, 4), %r: (1, 5) float32 = [[0, 0.5, 0, 3, 3]], pooled_size=[2, 1], "
            'spatial_scale=1f, sample_ratio=2, mode="max")'
        ),
    ),
    example="vision.roi_align(%x, %rois, pooled_size=[7, 7], spatial_scale=0.5f)",
    layout=layout_rules.OneLayout(follows=False),
)
def roi_align(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Any:
    """Pool regions over samples between the pixels (He et al., "Mask R-CNN", 2017)."""
    return _pool("vision.roi_align", attrs, data, rois, out, partial(_align, attrs))


# ---------------------------------------------------------------- roi_pool
def _bins(start: int, end: int, count: int, length: int) -> list[tuple[int, int]]:
    """Return the pixels (from, to) of each bin of a region along one axis."""
    size = np.float32(max(end - start + 1, 1)) / np.float32(count)
    edges = [(math.floor(i * size), math.ceil((i + 1) * size)) for i in range(count)]
    return [(min(max(a + start, 0), length), min(max(b + start, 0), length)) for a, b in edges]


def _maxima(attrs: Attrs, image: Array, roi: Array) -> Any:
    left, top, right, bottom = nearest_index(roi * roi.dtype.type(attrs.spatial_scale)).tolist()
    rows = _bins(top, bottom, attrs.pooled_size[0], image.shape[1])
    columns = _bins(left, right, attrs.pooled_size[1], image.shape[2])
    result = np.zeros((len(image), *attrs.pooled_size), image.dtype)
    for i, (a, b) in enumerate(rows):
        for j, (c, d) in enumerate(columns):
            if a < b and c < d:
                result[:, i, j] = image[:, a:b, c:d].max(axis=(1, 2))
    return result


@operator(
    "vision.roi_pool",
    ("data", "rois"),
    attrs=attrs(
        "ROIPoolAttrs",
        integers("pooled_size", doc="height and width of the result"),
        number("spatial_scale", doc="size of the data over the size of the image the regions are given in"),
        text("layout", "NCHW", "layout of data and result", choices=_LAYOUTS),
    ),
    relation=partial(_type, "vision.roi_pool"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=5,
    warns=True,
    python=Python("data, rois, pooled_size, spatial_scale, layout='NCHW'", pooled_size=on_axes(2)),
    shapes="data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size)",
    source="Girshick, Fast R-CNN (2015)",
    edges=(
        (
            "vision.roi_pool(%x: (2, 2, 4, 5), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 2, 1, 9, 4]], "
            "pooled_size=[2, 2], spatial_scale=0.5f)"
        ),
    ),
    example="vision.roi_pool(%x, %rois, pooled_size=[7, 7], spatial_scale=0.5f)",
    layout=layout_rules.OneLayout(follows=False),
)
def roi_pool(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Any:
    """The maximum of the pixels of each bin of a region, 0 for a bin without pixels (Girshick, "Fast R-CNN", 2015)."""
    return _pool("vision.roi_pool", attrs, data, rois, out, partial(_maxima, attrs))
