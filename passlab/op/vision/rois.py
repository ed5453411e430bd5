"""Pooling over regions of interest: `vision.roi_align` and `vision.roi_pool`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op import layout_rules
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, as_array
from passlab.op.fields import attrs, integer, integers, number, text
from passlab.op.nn.arithmetic import cast_result
from passlab.op.nn.sampling import check_batch, nearest_index
from passlab.op.nn.sampling_gradients import roi_align as roi_align_gradient
from passlab.op.nn.windows import check_lengths, check_positive, on_axes
from passlab.op.relations import refuse, tensor

_LAYOUTS = ("NCHW", "NHWC")


def _roi_type(name: str, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
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


Pool = Callable[[Array, Any, Array], Array]


def _pool_regions(name: str, attrs: Attrs, data: Array, rois: Array, out: Array | None, pool: Pool) -> Array:
    """Pool regions with `pool(images, batch, rois)`, from images (N, H, W, C) to a result (n, *pooled_size, C)."""
    batch = rois[:, 0].astype(np.int64)
    check_batch(name, batch, len(data))
    used = np.unique(batch)
    if len(used) < len(data):  # images without regions need no transposed copy
        data, batch = data[used], np.searchsorted(used, batch)
    images = np.ascontiguousarray(data.transpose(0, 2, 3, 1) if attrs.layout == "NCHW" else data)
    result = pool(images, batch, rois[:, 1:]).astype(data.dtype, copy=False)
    return cast_result(
        np.ascontiguousarray(result.transpose(0, 3, 1, 2)) if attrs.layout == "NCHW" else result, data.dtype, out
    )


# ---------------------------------------------------------------- roi_align
_ELEMENTS_PER_STEP = 1 << 18  # elements read in one step, so that intermediate arrays stay in cache


def _align_regions(attrs: Attrs, images: Array, batch: Array, rois: Array) -> Array:
    """Return the regions aligned; those with the same number of samples in each bin are computed together."""
    result = np.empty((len(rois), *attrs.pooled_size, images.shape[3]), images.dtype)
    scaled = (rois * rois.dtype.type(attrs.spatial_scale)).astype(np.float64)
    starts = scaled[:, 1::-1]
    bins = np.maximum(scaled[:, :1:-1] - starts, 1.0) / attrs.pooled_size
    grids = np.maximum(1, np.ceil(bins)).astype(np.int64)
    if attrs.sample_ratio > 0:
        grids[:] = attrs.sample_ratio
    for grid in np.unique(grids, axis=0):
        members = np.flatnonzero((grids == grid).all(axis=1))
        size = math.prod(attrs.pooled_size) * math.prod(grid.tolist()) * images.shape[3]
        step = max(1, _ELEMENTS_PER_STEP // max(1, size))
        for first in range(0, len(members), step):
            chunk = members[first : first + step]
            result[chunk] = _align_same_grid(attrs, images, batch[chunk], starts[chunk], bins[chunk], grid.tolist())
    return result


def _align_same_grid(attrs: Attrs, images: Array, batch: Array, starts: Array, bins: Array, grid: list[int]) -> Array:
    """Pool regions with the same number of samples along both sides of a bin."""
    positions = []
    for axis, (count_in_bin, count) in enumerate(zip(grid, attrs.pooled_size, strict=True)):
        steps = (np.arange(count)[:, None] + (np.arange(count_in_bin) + 0.5) / count_in_bin).reshape(-1)
        positions.append(steps * bins[:, axis, None] + starts[:, axis, None])
    dtype = images.dtype if images.dtype.kind == "f" else np.dtype(np.float32)
    y, x = (position.astype(dtype) for position in positions)
    height, width = images.shape[1:3]
    samples: Any = 0
    for row, row_weight in _neighbours(y, height):
        rows = (batch[:, None] * height + row)[:, :, None] * width
        for column, column_weight in _neighbours(x, width):
            pixels = images.reshape(-1, images.shape[3]).take(rows + column[:, None, :], axis=0)
            samples = samples + pixels * (row_weight[:, :, None] * column_weight[:, None, :])[..., None]
    inside = ((y >= -1) & (y <= height))[:, :, None] & ((x >= -1) & (x <= width))[:, None, :]
    values = np.where(inside[..., None], samples, 0).reshape(
        len(batch), attrs.pooled_size[0], grid[0], attrs.pooled_size[1], grid[1], images.shape[3]
    )
    return as_array(values.max(axis=(2, 4)) if attrs.mode == "max" else values.mean(axis=(2, 4)))


def _neighbours(position: Any, length: int) -> list[tuple[Any, Any]]:
    """Return the pixels on both sides of positions on an axis, each with its weight."""
    clipped = np.clip(position, 0, length - 1)
    low = np.floor(clipped)
    fraction, index = clipped - low, low.astype(np.int64)
    return [(index, 1 - fraction), (np.minimum(index + 1, length - 1), fraction)]


@operator(
    "vision.roi_align",
    ("data", "rois"),
    attrs=attrs(
        "ROIAlignAttrs",
        integers("pooled_size", doc="height and width of the result"),
        number("spatial_scale", doc="size of the data divided by the size of the image of the regions"),
        integer("sample_ratio", -1, "samples along each side of a bin, -1 for one per pixel"),
        text("layout", "NCHW", "layout of data and result", choices=_LAYOUTS),
        text("mode", "avg", "the reduction of the samples of a bin", choices=("avg", "max")),
    ),
    relation=partial(_roi_type, "vision.roi_align"),
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
    edge_cases=(
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
def roi_align(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Array:
    """Pool regions over samples interpolated between pixels (He et al., "Mask R-CNN", 2017)."""
    return _pool_regions("vision.roi_align", attrs, data, rois, out, partial(_align_regions, attrs))


# ---------------------------------------------------------------- roi_pool
def _bins(start: int, end: int, count: int, length: int) -> list[tuple[int, int]]:
    """Return the pixels (from, to) of each bin of a region along one axis."""
    size = np.float32(max(end - start + 1, 1)) / np.float32(count)
    bounds = [(math.floor(i * size), math.ceil((i + 1) * size)) for i in range(count)]
    return [(min(max(a + start, 0), length), min(max(b + start, 0), length)) for a, b in bounds]


def _max_pool_regions(attrs: Attrs, images: Array, batch: Array, rois: Array) -> Array:
    """Return the maximum of each bin, first over the rows of a bin, which are contiguous, then over its columns."""
    result = np.zeros((len(rois), *attrs.pooled_size, images.shape[3]), images.dtype)
    corners = nearest_index(rois * rois.dtype.type(attrs.spatial_scale)).tolist()
    for i, (index, (left, top, right, bottom)) in enumerate(zip(batch.tolist(), corners, strict=True)):
        rows = _bins(top, bottom, attrs.pooled_size[0], images.shape[1])
        columns = _bins(left, right, attrs.pooled_size[1], images.shape[2])
        first, end = columns[0][0], columns[-1][1]
        nonempty = [j for j, (a, b) in enumerate(rows) if a < b]
        if first >= end or not nonempty:
            continue
        row_maxima = np.empty((len(nonempty), end - first, images.shape[3]), images.dtype)
        for maxima, (a, b) in zip(row_maxima, [rows[j] for j in nonempty], strict=True):
            images[index, a:b, first:end].max(axis=0, out=maxima)
        for k, (c, d) in enumerate(columns):
            if c < d:
                result[i, nonempty, k] = row_maxima[:, c - first : d - first].max(axis=1)
    return result


@operator(
    "vision.roi_pool",
    ("data", "rois"),
    attrs=attrs(
        "ROIPoolAttrs",
        integers("pooled_size", doc="height and width of the result"),
        number("spatial_scale", doc="size of the data divided by the size of the image of the regions"),
        text("layout", "NCHW", "layout of data and result", choices=_LAYOUTS),
    ),
    relation=partial(_roi_type, "vision.roi_pool"),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=5,
    warns=True,
    python=Python("data, rois, pooled_size, spatial_scale, layout='NCHW'", pooled_size=on_axes(2)),
    shapes="data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size)",
    source="Girshick, Fast R-CNN (2015)",
    edge_cases=(
        (
            "vision.roi_pool(%x: (2, 2, 4, 5), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 2, 1, 9, 4]], "
            "pooled_size=[2, 2], spatial_scale=0.5f)"
        ),
    ),
    example="vision.roi_pool(%x, %rois, pooled_size=[7, 7], spatial_scale=0.5f)",
    layout=layout_rules.OneLayout(follows=False),
    no_gradient=(
        "the pixels of a bin depend on the values of its region, and no operator computes them; use vision.roi_align"
    ),
)
def roi_pool(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Array:
    """The maximum of the pixels of each bin of a region, 0 for a bin without pixels (Girshick, "Fast R-CNN", 2015)."""
    return _pool_regions("vision.roi_pool", attrs, data, rois, out, partial(_max_pool_regions, attrs))
