"""Region proposals of Faster R-CNN (Ren et al., 2015)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, boolean, integer, number, numbers
from passlab.op.nn.arithmetic import cast_result
from passlab.op.no_gradient import BOX_CHOICE
from passlab.op.relations import product, refuse, tensor
from passlab.op.vision.boxes import descending_order, overlap_ratios

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
    warns=True,
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
    example="vision.proposal(%p, %moves, %info, scales=[8f], ratios=[1f])",
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
