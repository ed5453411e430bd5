"""The boxes of single-shot detectors (Liu et al., "SSD", 2016): prior boxes, and the detections derived from them.

The file ends with the reorganisation layer of YOLO.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import Dim, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, boolean, integer, number, numbers
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.nn.accumulation import cast_result
from passlab.op.nn.pad import copy_result
from passlab.op.nn.rearrange_gradients import yolo_reorg as yolo_reorg_gradient
from passlab.op.no_gradient import BOX_CHOICE
from passlab.op.relations import divide_dim, on_tensors, product, refuse, tensor, times

_F32 = np.float32


# ---------------------------------------------------------------- multibox_prior
@on_tensors
def _prior_type(attrs: Attrs, data: TensorType) -> Type:
    if len(data.shape) != 4:
        refuse("vision.multibox_prior takes images in NCHW", 0, expected="four dimensions", found=data)
    for name, values in (("steps", attrs.steps), ("offsets", attrs.offsets)):
        if len(values) != 2:
            refuse(f"vision.multibox_prior: {name} must be two numbers (y, x)", found=list(values))
    if not attrs.sizes or not attrs.ratios or min(attrs.ratios) <= 0:
        refuse("vision.multibox_prior needs sizes and positive ratios")
    boxes_per_pixel = len(attrs.sizes) + len(attrs.ratios) - 1
    return TensorType((1, product((*data.shape[2:], boxes_per_pixel)), 4), data.dtype)


@operator(
    "vision.multibox_prior",
    ("data",),
    attrs=attrs(
        "MultiBoxPriorAttrs",
        numbers("sizes", (1.0,), "sizes of boxes, in units of the image"),
        numbers("ratios", (1.0,), "ratios of width to height"),
        numbers("steps", (-1.0, -1.0), "distance between the boxes (y, x), -1 for one pixel"),
        numbers("offsets", (0.5, 0.5), "centre of the first box (y, x), in steps"),
        boolean("clip", False, "whether boxes are clipped at the border"),
    ),
    relation=_prior_type,
    level=5,
    silenced=True,
    gradient=zero_gradient,
    shapes="(N, C, H, W) -> (1, H W boxes, 4)",
    source="Liu et al., SSD (2016)",
    edge_cases=(
        "vision.multibox_prior(%x: (1, 2, 2, 3), sizes=[0.5f, 0.2f], ratios=[1f, 2f])",
        "vision.multibox_prior(%x: (1, 1, 1, 1), clip=True)",
    ),
)
def multibox_prior(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Boxes (left, top, right, bottom) around each pixel: all sizes, then the first size with the other ratios."""
    height, width = data.shape[2:]
    aspect = _F32(height) / _F32(width)
    halves = [(_F32(s) * aspect / 2, _F32(s) / 2) for s in attrs.sizes]
    first = _F32(attrs.sizes[0])
    halves += [(first * aspect * np.sqrt(_F32(r)) / 2, first / np.sqrt(_F32(r)) / 2) for r in attrs.ratios[1:]]
    centres = []
    for count, step, offset in zip((height, width), attrs.steps, attrs.offsets, strict=True):
        distance = _F32(step) if step > 0 else _F32(1) / _F32(count)
        centres.append((np.arange(count, dtype=_F32) + _F32(offset)) * distance)
    y, x = (coordinate[..., None] for coordinate in np.meshgrid(*centres, indexing="ij"))
    half_width, half_height = (np.array(coordinate, _F32) for coordinate in zip(*halves, strict=True))
    result = np.stack((x - half_width, y - half_height, x + half_width, y + half_height), axis=-1).reshape(1, -1, 4)
    return cast_result(np.clip(result, 0, 1) if attrs.clip else result, data.dtype, out)


# ---------------------------------------------------------------- multibox_transform_loc
def _loc_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    probabilities, positions, anchor = (tensor(types, i, n) for i, n in enumerate(("cls_prob", "loc_pred", "anchor")))
    if probabilities is None or positions is None or anchor is None:
        return None
    for i, (ty, rank) in enumerate(((probabilities, 3), (positions, 2), (anchor, 3))):
        if len(ty.shape) != rank:
            refuse(f"vision.multibox_transform_loc: input {i} must have {rank} dimensions", i, found=ty)
    batch, count = probabilities.shape[0], probabilities.shape[2]
    if isinstance(count, int) and isinstance(positions.shape[1], int) and positions.shape[1] != 4 * count:
        refuse(
            "vision.multibox_transform_loc: loc_pred has four numbers for each anchor",
            1,
            expected=4 * count,
            found=positions,
        )
    if isinstance(count, int) and isinstance(anchor.shape[1], int) and anchor.shape[1] != count:
        refuse("vision.multibox_transform_loc: wrong number of anchors", 2, expected=count, found=anchor)
    if len(attrs.variances) != 4:
        refuse("vision.multibox_transform_loc: variances must be four numbers", found=list(attrs.variances))
    return TupleType((TensorType((batch, count, 6), probabilities.dtype), TensorType((batch,), "int32")))


def _decode_boxes(anchor: Any, predictions: Array, variances: Sequence[float], clip: bool) -> Array:
    """Return anchors (n, 4) moved and scaled by predictions (n, 4)."""
    scaled = predictions * np.array(variances, predictions.dtype)
    size = anchor[:, 2:] - anchor[:, :2]
    centre = (anchor[:, :2] + anchor[:, 2:]) / 2 + scaled[:, :2] * size
    half = np.exp(scaled[:, 2:]) * size / 2
    boxes = np.concatenate((centre - half, centre + half), axis=1)
    return np.clip(boxes, 0, 1) if clip else boxes


_VARIANCES = tuple(float(_F32(v)) for v in (0.1, 0.1, 0.2, 0.2))  # Relay stores these defaults in single precision


@operator(
    "vision.multibox_transform_loc",
    ("cls_prob", "loc_pred", "anchor"),
    attrs=attrs(
        "MultiBoxTransformLocAttrs",
        boolean("clip", True, "whether boxes are clipped at the border"),
        number("threshold", 0.01, "least probability of a detection"),
        numbers("variances", _VARIANCES, "factors of the four predicted numbers"),
        boolean("keep_background", False, "whether class 0 counts as a class"),
    ),
    relation=_loc_type,
    level=5,
    silenced=True,
    python=Python(
        "cls_prob, loc_pred, anchor, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2, 0.2), keep_background=False"
    ),
    results=2,
    shapes="cls_prob (N, classes, n), loc_pred (N, 4 n), anchor (1, n, 4) -> (N, n, 6), (N)",
    source="Liu et al., SSD (2016)",
    edge_cases=(
        (
            "vision.multibox_transform_loc(%p: (1, 2, 2) float32 = [[[0.1, 0.8], [0.9, 0.2]]], %loc: (1, 8) float32, "
            "%anchor: (1, 2, 4) float32 = [[[0.1, 0.1, 0.4, 0.5], [0.2, 0.2, 0.8, 0.9]]], threshold=0.1f)"
        ),
    ),
    no_gradient=BOX_CHOICE,
)
def multibox_transform_loc(attrs: Attrs, cls_prob: Array, loc_pred: Array, anchor: Array) -> tuple[Array, ...]:
    """Convert class probabilities and predicted moves of anchors into detections: valid ones first, then -1."""
    first = 0 if attrs.keep_background else 1
    count = cls_prob.shape[2]
    result = np.full((len(cls_prob), count, 6), -1, cls_prob.dtype)
    counts = np.zeros(len(cls_prob), np.int32)
    for i, probabilities in enumerate(cls_prob):
        if count == 0 or len(probabilities) <= first:
            continue
        scores = probabilities[first:].max(axis=0)
        chosen = np.flatnonzero(scores >= attrs.threshold)
        boxes = _decode_boxes(anchor[0, chosen], loc_pred[i].reshape(count, 4)[chosen], attrs.variances, attrs.clip)
        result[i, : len(chosen), 0] = probabilities[first:].argmax(axis=0)[chosen]
        result[i, : len(chosen), 1] = scores[chosen]
        result[i, : len(chosen), 2:] = boxes
        counts[i] = len(chosen)
    return result, counts


# ---------------------------------------------------------------- yolo
# The reorganisation layer of YOLO (Redmon and Farhadi, 2017).
@on_tensors
def _reorg_type(attrs: Attrs, data: TensorType) -> Type:
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
