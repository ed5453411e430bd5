"""Regions of interest: pooling over them (`vision.roi_align`, `vision.roi_pool`) and `vision.proposal`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, integer, integers, number, numbers, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, as_array, guard_size, round_half_away
from passlab.op.nn.accumulation import cast_result
from passlab.op.nn.sampling import check_batch
from passlab.op.nn.sampling_gradients import roi_align as roi_align_gradient
from passlab.op.nn.window_sizes import check_lengths, check_positive, on_axes
from passlab.op.no_gradient import BOX_CHOICE
from passlab.op.relations import product, refuse, tensor
from passlab.op.vision.boxes import descending_order, overlap_ratios

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


def _align_regions(is_exact: bool, attrs: Attrs, images: Array, batch: Array, rois: Array) -> Array:
    """Return the regions aligned; those with the same number of samples in each bin are computed together.

    Exact regions begin half a pixel earlier, where the centre of the first pixel is, and may be smaller than a pixel.
    """
    result = np.empty((len(rois), *attrs.pooled_size, images.shape[3]), images.dtype)
    scaled = (rois * rois.dtype.type(attrs.spatial_scale)).astype(np.float64)
    starts = scaled[:, 1::-1] - 0.5 if is_exact else scaled[:, 1::-1]
    sizes = scaled[:, :1:-1] - scaled[:, 1::-1]
    bins = (sizes if is_exact else np.maximum(sizes, 1.0)) / attrs.pooled_size
    grids = np.maximum(0 if is_exact else 1, np.ceil(bins)).astype(np.int64)
    if attrs.sample_ratio > 0:
        grids[:] = attrs.sample_ratio
    for grid in np.unique(grids, axis=0):
        members = np.flatnonzero((grids == grid).all(axis=1))
        if not grid.all():  # a region without area has no samples
            result[members] = 0
            continue
        size = math.prod(attrs.pooled_size) * math.prod(grid.tolist()) * images.shape[3]
        guard_size((size,), images.dtype, f"{'contrib' if is_exact else 'vision'}.roi_align")
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
    samples: Any = None
    combine = np.maximum if attrs.mode == "max_weighted" else np.add
    for row, row_weight in _neighbours(y, height):
        rows = (batch[:, None] * height + row)[:, :, None] * width
        for column, column_weight in _neighbours(x, width):
            pixels = images.reshape(-1, images.shape[3]).take(rows + column[:, None, :], axis=0)
            weighted = pixels * (row_weight[:, :, None] * column_weight[:, None, :])[..., None]
            samples = weighted if samples is None else combine(samples, weighted)
    inside = ((y >= -1) & (y <= height))[:, :, None] & ((x >= -1) & (x <= width))[:, None, :]
    values = np.where(inside[..., None], samples, 0).reshape(
        len(batch), attrs.pooled_size[0], grid[0], attrs.pooled_size[1], grid[1], images.shape[3]
    )
    return as_array(values.mean(axis=(2, 4)) if attrs.mode == "avg" else values.max(axis=(2, 4)))


def _neighbours(position: Any, length: int) -> list[tuple[Any, Any]]:
    """Return the pixels on both sides of positions on an axis, each with its weight."""
    clipped = np.clip(position, 0, length - 1)
    low = np.floor(clipped)
    fraction, index = clipped - low, low.astype(np.int64)
    return [(index, 1 - fraction), (np.minimum(index + 1, length - 1), fraction)]


_ROI_ALIGN = attrs(
    "ROIAlignAttrs",
    integers("pooled_size", doc="height and width of the result"),
    number("spatial_scale", doc="size of the data divided by the size of the image of the regions"),
    integer("sample_ratio", -1, "samples along each side of a bin, -1 for one per pixel"),
    text("layout", "NCHW", "layout of data and result", choices=_LAYOUTS),
    text(
        "mode",
        "avg",
        "the reduction of the samples of a bin; `max_weighted` takes the largest of the products of pixels and weights "
        "that a sample is the sum of, as ONNX does",
        choices=("avg", "max", "max_weighted"),
    ),
)


def _align_operator(name: str, more: tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Op]:
    """Return the decorator that declares an alignment of regions; `more` are further regions for its edge cases."""
    regions = ", ".join(["[0, 0, 0, 3, 3]", "[1, 1, 1, 9, 2]", *more])
    return operator(
        name,
        ("data", "rois"),
        attrs=_ROI_ALIGN,
        relation=partial(_roi_type, name),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        level=5,
        silenced=True,
        python=Python(
            pooled_size=on_axes(2),
            mode=lambda mode: {0: "avg", 1: "max"}.get(mode, mode),
        ),
        gradient=roi_align_gradient,
        shapes="data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size)",
        source="He et al., Mask R-CNN (2017)",
        edge_cases=(
            (
                f"{name}(%x: (2, 2, 4, 5), %r: ({2 + len(more)}, 5) float32 = [{regions}], "
                "pooled_size=[2, 2], spatial_scale=0.5f)"
            ),
            (
                f"{name}(%x: (1, 2, 4, 4), %r: (1, 5) float32 = [[0, 0.5, 0, 3, 3]], pooled_size=[2, 1], "
                'spatial_scale=1f, sample_ratio=2, mode="max")'
            ),
            (
                f"{name}(%x: (2, 1, 4, 5), %r: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 1, -3, 9, 2]], "
                'pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2, mode="max_weighted")'
            ),
        ),
        layout=layout_rules.OneLayout(follows=False),
    )


@_align_operator("vision.roi_align")
def roi_align(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Array:
    """Pool regions over samples interpolated between pixels (He et al., "Mask R-CNN", 2017)."""
    return _pool_regions("vision.roi_align", attrs, data, rois, out, partial(_align_regions, False, attrs))


@_align_operator("contrib.roi_align", ("[0, 1, 1, 1.5, 1.25]", "[1, 2, 2, 2, 2]", "[1, 3, 3, 1, 4]"))
def exact_roi_align(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Array:
    """Pool regions as `vision.roi_align` does, at their exact places and sizes: torchvision's `aligned=True`.

    The centre of the first pixel is at 0.5, and regions may be smaller than a pixel, which `vision.roi_align` enlarges
    to one. A region without area has no samples and gives zeros, unless `sample_ratio` says how many it has.
    """
    return _pool_regions("contrib.roi_align", attrs, data, rois, out, partial(_align_regions, True, attrs))


# ---------------------------------------------------------------- roi_pool
def _bins(start: int, end: int, count: int, length: int) -> list[tuple[int, int]]:
    """Return the pixels (from, to) of each bin of a region along one axis."""
    size = np.float32(max(end - start + 1, 1)) / np.float32(count)
    bounds = [(math.floor(i * size), math.ceil((i + 1) * size)) for i in range(count)]
    return [(min(max(a + start, 0), length), min(max(b + start, 0), length)) for a, b in bounds]


def _max_pool_regions(attrs: Attrs, images: Array, batch: Array, rois: Array) -> Array:
    """Return the maximum of each bin, first over the rows of a bin, which are contiguous, then over its columns."""
    result = np.zeros((len(rois), *attrs.pooled_size, images.shape[3]), images.dtype)
    corners = round_half_away(rois * rois.dtype.type(attrs.spatial_scale)).astype(np.int64).tolist()
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
    silenced=True,
    python=Python(pooled_size=on_axes(2)),
    shapes="data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size)",
    source="Girshick, Fast R-CNN (2015)",
    edge_cases=(
        (
            "vision.roi_pool(%x: (2, 2, 4, 5), %rois: (2, 5) float32 = [[0, 0, 0, 3, 3], [1, 2, 1, 9, 4]], "
            "pooled_size=[2, 2], spatial_scale=0.5f)"
        ),
    ),
    layout=layout_rules.OneLayout(follows=False),
    no_gradient=(
        "the pixels of a bin depend on the values of its region, and no operator computes them; use vision.roi_align"
    ),
)
def roi_pool(attrs: Attrs, data: Array, rois: Array, *, out: Array | None = None) -> Array:
    """The maximum of the pixels of each bin of a region, 0 for a bin without pixels (Girshick, "Fast R-CNN", 2015)."""
    return _pool_regions("vision.roi_pool", attrs, data, rois, out, partial(_max_pool_regions, attrs))


# ---------------------------------------------------------------- proposal
# Region proposals of Faster R-CNN (Ren et al., 2015).
NAME = "vision.proposal"


def _proposal_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    inputs = [tensor(types, i, name) for i, name in enumerate(("cls_prob", "bbox_pred", "im_info"))]
    scores, predictions, info = inputs
    if scores is None or predictions is None or info is None:
        return None
    for i, (ty, rank) in enumerate(((scores, 4), (predictions, 4), (info, 2))):
        if len(ty.shape) != rank:
            refuse(f"{NAME}: input {i} must have {rank} dimensions", i, found=ty)
    if info.shape[1] not in (3, ANY):
        refuse(f"{NAME}: im_info is height, width and scale of each image", 2, expected="(batch, 3)", found=info)
    if attrs.rpn_post_nms_top_n < 0 or attrs.feature_stride < 1 or min((*attrs.scales, *attrs.ratios), default=1) <= 0:
        refuse(f"{NAME}: counts, strides, scales and ratios must be positive")
    anchors = len(attrs.scales) * len(attrs.ratios)
    for i, (ty, each) in enumerate(((scores, 2), (predictions, 4))):
        if isinstance(ty.shape[1], int) and ty.shape[1] != each * anchors:
            refuse(f"{NAME}: wrong number of channels for {anchors} anchors", i, expected=each * anchors, found=ty)
    return TensorType((product((scores.shape[0], attrs.rpn_post_nms_top_n)), 5), scores.dtype)


def _anchor(ratio: float, scale: float, size: float) -> tuple[float, float, float, float]:
    """Return the anchor of a ratio and scale around the first pixel: left, top, right, bottom, in whole pixels."""
    width = math.floor(math.sqrt(math.floor(size * size / ratio)) + 0.5) * scale
    height = math.floor(width / scale * ratio + 0.5) * scale
    centre = 0.5 * (size - 1.0)
    return (
        centre - 0.5 * (width - 1.0),
        centre - 0.5 * (height - 1.0),
        centre + 0.5 * (width - 1.0),
        centre + 0.5 * (height - 1.0),
    )


def _decode_boxes(anchors: Array, predictions: Array, iou_loss: bool) -> Array:
    """Return anchors (n, 4) moved by predictions (n, 4): corner by corner, or centre and logarithm of the size."""
    if iou_loss:
        return anchors + predictions
    size = anchors[:, 2:] - anchors[:, :2] + 1
    centre = anchors[:, :2] + 0.5 * (size - 1) + predictions[:, :2] * size
    half = 0.5 * (np.exp(predictions[:, 2:]) * size - 1)
    return np.concatenate((centre - half, centre + half), axis=1)


def _candidates(attrs: Attrs, scores: Array, predictions: Array, info: Array) -> tuple[Any, Any]:
    """Return boxes (n, 4) and scores (n,) of one image, pixel by pixel and anchor by anchor."""
    height, width = scores.shape[1:]
    stride = attrs.feature_stride
    base = np.array([_anchor(r, s, float(stride)) for r in attrs.ratios for s in attrs.scales], scores.dtype)
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    shifts = (np.stack((x, y, x, y), axis=-1) * stride).astype(scores.dtype)
    anchors = (shifts[:, :, None] + base).reshape(-1, 4)
    deltas = predictions.reshape(len(base), 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
    limit = np.array([info[1] - 1, info[0] - 1] * 2, scores.dtype)
    boxes = np.maximum(np.minimum(_decode_boxes(anchors, deltas, attrs.iou_loss), limit), 0)
    foreground = scores[len(base) :].transpose(1, 2, 0)
    outside = (y >= int(info[0] / stride)) | (x >= int(info[1] / stride))
    foreground = np.where(outside[:, :, None], scores.dtype.type(-1), foreground).reshape(-1)
    min_size = info[2] * attrs.rpn_min_size
    small = (boxes[:, 2:] - boxes[:, :2] + 1 < min_size).any(axis=1)
    boxes[small] += np.array([-1, -1, 1, 1], scores.dtype) * (min_size / 2)
    return boxes, np.where(small, scores.dtype.type(-1), foreground)


def _suppress_overlaps(boxes: Any, threshold: float) -> list[int]:
    """Return the boxes that no better one overlaps by more than `threshold`, in whole pixels."""
    alive = np.ones(len(boxes), np.bool_)
    for i in range(len(boxes)):
        if alive[i]:
            alive[i + 1 :] &= overlap_ratios(boxes[i], boxes[i + 1 :], edge=1.0) <= threshold
    return [int(i) for i in np.flatnonzero(alive)]


@operator(
    NAME,
    ("cls_prob", "bbox_pred", "im_info"),
    attrs=attrs(
        "ProposalAttrs",
        numbers("scales", (4.0, 8.0, 16.0, 32.0), "scales of the anchors"),
        numbers("ratios", (0.5, 1.0, 2.0), "ratios of height to width of the anchors"),
        integer("feature_stride", 16, "distance between the anchors in pixels"),
        number("threshold", 0.7, "overlap above which the worse proposal is removed"),
        integer("rpn_pre_nms_top_n", 6000, "the number of best proposals to consider, 0 or less for all"),
        integer("rpn_post_nms_top_n", 300, "the number of proposals to return for each image"),
        integer("rpn_min_size", 16, "least side of a proposal"),
        boolean("iou_loss", False, "whether the predictions are corners instead of centre and size"),
    ),
    relation=_proposal_type,
    level=5,
    silenced=True,
    python=Python(
        "cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, threshold, "
        "rpn_pre_nms_top_n, rpn_post_nms_top_n, rpn_min_size, iou_loss"
    ),
    shapes=(
        "cls_prob (N, 2 anchors, H, W), bbox_pred (N, 4 anchors, H, W), im_info (N, 3) -> (N * rpn_post_nms_top_n, 5)"
    ),
    source="Ren et al., Faster R-CNN (2015)",
    edge_cases=(
        (
            "vision.proposal(%p: (1, 2, 2, 2) float32 = [[[[0, 0], [0, 0]], [[0.9, 0.3], [0.5, 0.7]]]], %m: (1, 4, "
            "2, 2) float32 = [[[[0, 0.1], [0, -0.1]], [[0, 0], [0.1, 0]], [[0, 0.2], [0, 0]], [[0, 0], [-0.2, 0]]]], "
            "%i: (1, 3) float32 = [[64, 64, 1]], scales=[1f], ratios=[1f], rpn_pre_nms_top_n=4, "
            "rpn_post_nms_top_n=3, rpn_min_size=1)"
        ),
    ),
    no_gradient=BOX_CHOICE,
)
def proposal(attrs: Attrs, cls_prob: Array, bbox_pred: Array, im_info: Array, *, out: Array | None = None) -> Array:
    """Rows (image, left, top, right, bottom) of the best regions, repeated if there are too few."""
    limit = attrs.rpn_post_nms_top_n
    result = np.zeros((len(cls_prob) * limit, 5), cls_prob.dtype)
    for i in range(len(cls_prob)):
        boxes, scores = _candidates(attrs, cls_prob[i], bbox_pred[i], im_info[i])
        order = descending_order(scores)
        if attrs.rpn_pre_nms_top_n > 0:
            order = order[: attrs.rpn_pre_nms_top_n]
        selected = _suppress_overlaps(boxes[order], attrs.threshold)
        if selected:
            result[i * limit : (i + 1) * limit, 0] = i
            result[i * limit : (i + 1) * limit, 1:] = boxes[order][[selected[n % len(selected)] for n in range(limit)]]
    return cast_result(result, cls_prob.dtype, out)
