"""Sampling along a grid, and non-maximum suppression."""

from __future__ import annotations

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr

_OLD_METHODS = {name: name for name in ("bilinear", "nearest", "bicubic")}
_METHODS = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}  # since opset 20


@onnx_operator("GridSample", 16, 20, 22)
def grid_sample(n: OnnxNode, x: Expr, grid: Expr) -> Expr:
    """`image.grid_sample`, with the coordinates of the grid as the second axis."""
    rank = n.rank(x)
    if rank not in (4, 5):
        n.refuse("samples images with two or three spatial axes", found=f"{rank} dimensions in all")
    methods = _METHODS if n.version >= 20 else _OLD_METHODS
    method = methods[n.choice("mode", next(iter(methods)), tuple(methods))]
    if rank == 5 and method == "bicubic":
        n.refuse("samples volumes by cubics", hint="`linear` and `nearest` are supported there")
    return n(
        "image.grid_sample",
        x,
        n("transpose", grid, axes=[0, rank - 1, *range(1, rank - 1)]),
        method=method,
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=n.text("padding_mode", "zeros"),
        align_corners=n.flag("align_corners"),
    )


@onnx_operator("NonMaxSuppression", 10, 11)
def non_max_suppression(
    n: OnnxNode,
    boxes: Expr,
    scores: Expr,
    max_boxes: Expr | None = None,
    overlap: Expr | None = None,
    threshold: Expr | None = None,
) -> Expr:
    """`vision.all_class_non_max_suppression`, cropped to the number of selected boxes."""
    if n.flag("center_point_box"):
        centre, size = n.fields(n("split", boxes, indices_or_sections=2, axis=2), 2)
        half = n("multiply", size, 0.5)
        boxes = n.concat([n("subtract", centre, half), n("add", centre, half)], 2)
    limits = [
        n.constant(0, "int64") if max_boxes is None else n.cast(n.scalar(max_boxes), "int64"),
        _just_above(n, n.constant(0.0, "float32") if overlap is None else n.scalar(overlap)),
        n.constant(float("-inf"), "float32") if threshold is None else n.scalar(threshold),
    ]
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    result = n("vision.all_class_non_max_suppression", boxes, scores, **dict(zip(names, limits, strict=True)))
    selected, count = n.fields(result, 2)
    start, step = n.constant([0], "int64"), n.constant([1], "int64")
    cut = n(
        "strided_slice", selected, begin=start, end=n("reshape", n.cast(count, "int64"), newshape=[1]), strides=step
    )
    return n.cast(cut, "int64")


def _just_above(n: OnnxNode, threshold: Expr) -> Expr:
    """Return the next larger float32: ONNX suppresses overlaps above its threshold, Relay those that reach it."""
    value = n.value(threshold)
    if value is not None:
        return n.constant(np.nextafter(value, np.float32(np.inf)), "float32")
    # Bits of positive floats are ordered as integers are, so the next float has the next integer.
    bits = n("reinterpret", threshold, dtype="int32")
    return n("reinterpret", n("add", n("where", n("less", bits, 0), n.constant(0, bits), bits), 1), dtype="float32")
