"""Non-maximum suppression: selects detections among those that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Reporter
from passlab.ir.types import ANY, Dim, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, boolean, integer, number, text
from passlab.op.declare import Python, constant, operator
from passlab.op.dtypes import Array, ArrayOrArrays
from passlab.op.nn.pad import check_number
from passlab.op.no_gradient import BOX_CHOICE
from passlab.op.relations import join_dim, product, refuse, tensor
from passlab.op.vision.boxes import descending_order, suppress


def _detection_type(types: Sequence[Type], index: int, name: str) -> TensorType | None:
    data = tensor(types, index, name)
    if data is not None and len(data.shape) != 3:
        refuse(f"{name} must have three dimensions: batch, box, and numbers of the box", index, found=data)
    return data


def _check_columns(name: str, width: Dim, last_coordinate: int, score: int, class_index: int) -> None:
    """Raise `RelationError` unless a detection of `width` numbers holds those that the attributes name."""
    needed = max(last_coordinate, score, class_index) + 1
    if isinstance(width, int) and needed > width:
        refuse(f"{name}: a detection has too few numbers", 0, expected=f"at least {needed}", found=width)
    if score < 0 or last_coordinate < 0:
        refuse(f"{name}: score_index and coord_start must not be negative")


# ---------------------------------------------------------------- get_valid_counts
def _counts_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = _detection_type(types, 0, "data")
    check_number(types, 1, "vision.get_valid_counts: score_threshold")
    if data is None:
        return None
    batch, boxes, width = data.shape
    if data.dtype.startswith("u") or data.dtype == "bool":
        refuse("vision.get_valid_counts: data must hold -1", 0, expected="floats or signed integers", found=data)
    _check_columns("vision.get_valid_counts", width, attrs.score_index, attrs.score_index, attrs.id_index)
    return TupleType((TensorType((batch,), "int32"), data, TensorType((batch, boxes), "int32")))


@operator(
    "vision.get_valid_counts",
    ("data", "score_threshold"),
    attrs=attrs(
        "GetValidCountsAttrs",
        number("score_threshold", doc="not used: the threshold is an input", optional=True),
        integer("id_index", 0, "the index of the class in a detection, -1 for none"),
        integer("score_index", 1, "the index of the score in a detection"),
    ),
    relation=_counts_type,
    level=5,
    python=Python(score_threshold=constant("float32")),
    results=3,
    silenced=True,
    shapes="data (N, n, fields), score_threshold () -> (N), (N, n, fields), (N, n)",
    source="MXNet's box_nms",
    edge_cases=("vision.get_valid_counts(%x: (1, 3, 6), 0.1f)", "vision.get_valid_counts(%x: (2, 0, 6), 0.1f)"),
    no_gradient=BOX_CHOICE,
)
def get_valid_counts(attrs: Attrs, data: Array, score_threshold: Array) -> tuple[Array, ...]:
    """Move detections that have a class and a score above a threshold to the front; fill the rest with -1."""
    valid = data[:, :, attrs.score_index] > score_threshold.reshape(())
    if attrs.id_index >= 0:
        valid &= data[:, :, attrs.id_index] >= 0
    counts = valid.sum(axis=1, dtype=np.int32)
    detections, positions = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    sample, chosen = np.nonzero(valid)  # sample by sample
    rank = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
    detections[sample, rank] = data[sample, chosen]
    positions[sample, rank] = chosen
    return counts, detections, positions


# ---------------------------------------------------------------- non_max_suppression
def _check_indices(name: str, data: TensorType, indices: TensorType | None) -> None:
    """Raise `RelationError` unless `indices` has an integer for each detection."""
    if indices is None:
        return
    if len(indices.shape) != 2 or "int" not in indices.dtype:
        refuse(f"{name}: indices has one integer for each detection", 2, found=indices)
    if any(join_dim(a, b) is None for a, b in zip(indices.shape, data.shape, strict=False)):
        refuse(f"{name}: indices does not fit the data", 2, expected=data.shape[:2], found=indices)


def _nms_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, count = _detection_type(types, 0, "data"), tensor(types, 1, "valid_count")
    if data is None or count is None:
        return None
    if len(count.shape) != 1:
        refuse("vision.non_max_suppression: valid_count must be a vector", 1, found=count)
    name = "vision.non_max_suppression"
    last_coordinate = attrs.coord_start + 3 if attrs.coord_start >= 0 else -1
    _check_columns(name, data.shape[2], last_coordinate, attrs.score_index, attrs.id_index)
    if "int" not in count.dtype:
        refuse(f"{name}: valid_count has one integer for each sample", 1, found=count)
    if attrs.return_indices:
        _check_indices(name, data, tensor(types, 2, "indices"))
    if join_dim(count.shape[0], data.shape[0]) is None:
        refuse(f"{name}: valid_count does not fit the data", 1, expected=data.shape[0], found=count)
    check_number(types, 3, f"{name}: max_output_size")
    check_number(types, 4, f"{name}: iou_threshold")
    if not attrs.return_indices:
        return data
    return TupleType((TensorType(data.shape[:2], "int32"), TensorType((data.shape[0], 1), "int32")))


def _suppress_sample(attrs: Attrs, data: Array, count: int, limit: int, threshold: float) -> tuple[Any, Any]:
    """Return the detections of one sample by score, removed ones as -1, and the original index of each or -1."""
    result, positions = np.full_like(data, -1), np.full(len(data), -1, np.int64)
    if threshold <= 0:  # without a threshold nothing is suppressed or sorted, as in Relay
        result[:count], positions[:count] = data[:count], np.arange(count)
        return result, positions
    order = descending_order(data[:count, attrs.score_index])
    if 0 < attrs.top_k < count:
        order = order[: attrs.top_k]
    sorted_data = data[order]
    positive = sorted_data[:, attrs.score_index] > 0
    candidates = np.flatnonzero(positive)
    boxes = sorted_data[candidates, attrs.coord_start : attrs.coord_start + 4]
    competes = None
    if attrs.id_index >= 0:
        ids = sorted_data[candidates, attrs.id_index]

        def competes(i: int) -> Array:  # a detection without a class removes nothing
            return (ids == ids[i]) | attrs.force_suppress if ids[i] >= 0 else np.zeros(len(ids), np.bool_)

    winners = candidates[suppress(boxes, limit, threshold, competes=competes)]
    # Detections without a positive score neither suppress nor are suppressed; they remain unless the limit is reached.
    keep = np.zeros(len(order), np.bool_)
    keep[winners] = True
    if not 0 <= limit <= len(winners):
        keep |= ~positive
    ranks = np.flatnonzero(keep)
    result[ranks], positions[ranks] = sorted_data[ranks], order[ranks]
    return result, positions


@operator(
    "vision.non_max_suppression",
    ("data", "valid_count", "indices", "max_output_size", "iou_threshold"),
    attrs=attrs(
        "NonMaximumSuppressionAttrs",
        boolean("force_suppress", False, "whether detections of different classes suppress each other"),
        integer("top_k", -1, "the number of best detections to consider, -1 for all"),
        integer("coord_start", 2, "the index of the first of the four coordinates in a detection"),
        integer("score_index", 1, "the index of the score in a detection"),
        integer("id_index", 0, "the index of the class in a detection, -1 for none"),
        boolean("return_indices", True, "whether to return indices of detections, or the detections"),
        boolean("invalid_to_bottom", False, "whether to move the remaining detections to the front"),
    ),
    relation=_nms_type,
    level=5,
    python=Python(
        "data, valid_count, indices, max_output_size=-1, iou_threshold=0.5, force_suppress=False, top_k=-1, "
        "coord_start=2, score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False",
        max_output_size=constant("int32"),
        iou_threshold=constant("float32"),
    ),
    results=lambda attrs: 2 if attrs.return_indices else None,
    shapes="data (N, n, fields), valid_count (N), indices (N, n) -> (N, n), (N, 1)",
    source="greedy suppression, best score first: MXNet's box_nms",
    edge_cases=(
        (
            "vision.non_max_suppression(%x: (1, 3, 6) float32 = [[[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 1.9], "
            "[1, 0.7, 5, 5, 6, 6]]], %count: (1) int32 = [3], %indices: (1, 3) int32 = [[0, 1, 2]], -1, 0.5f)"
        ),
        (
            "vision.non_max_suppression(%x: (1, 2, 6) float32 = [[[0, 0.9, 0, 0, 2, 2], [1, 0.8, 0, 0, 2, 1.9]]], "
            "%c: (1) int32 = [2], %i: (1, 2) int32 = [[0, 1]], -1, 0.5f, force_suppress=True, return_indices=False)"
        ),
    ),
    no_gradient=BOX_CHOICE,
)
def non_max_suppression(
    attrs: Attrs, data: Array, valid_count: Array, indices: Array, max_output_size: Array, iou_threshold: Array
) -> ArrayOrArrays:
    """Keep, from the best score down, the detections that do not overlap a kept one."""
    limit, threshold = int(max_output_size.reshape(())), float(iou_threshold.reshape(()))
    result, result_indices = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    counts = np.zeros((len(data), 1), np.int32)
    for i, count in enumerate(np.clip(valid_count, 0, data.shape[1]).tolist()):
        result[i], positions = _suppress_sample(attrs, data[i], count, limit, threshold)
        indices_kept = positions[positions >= 0]
        counts[i] = len(indices_kept)
        if attrs.return_indices:
            result_indices[i, : len(indices_kept)] = indices[i, indices_kept]
        if attrs.invalid_to_bottom and not attrs.return_indices:
            rows = result[i][result[i][:, 0] >= 0]
            result[i] = -1
            result[i, : len(rows)] = rows
    return (result_indices, counts) if attrs.return_indices else result


# ---------------------------------------------------------------- all_class_non_max_suppression
def _boxes_and_scores(types: Sequence[Type], name: str) -> tuple[TensorType, TensorType] | None:
    boxes, scores = _detection_type(types, 0, "boxes"), _detection_type(types, 1, "scores")
    if boxes is None or scores is None:
        return None
    if boxes.shape[2] not in (4, ANY):
        refuse(f"{name}: a box is four numbers", 0, found=boxes)
    if join_dim(boxes.shape[0], scores.shape[0]) is None:
        refuse(f"{name}: boxes and scores have different batch sizes", 1, expected=boxes.shape[0], found=scores)
    return boxes, scores


def _check_score_count(name: str, boxes: TensorType, count: Dim) -> None:
    if join_dim(boxes.shape[1], count) is None:
        refuse(f"{name}: there is not a score for each box", 1, expected=boxes.shape[1], found=count)


def _all_class_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    ty = _boxes_and_scores(types, "vision.all_class_non_max_suppression")
    if ty is None:
        return None
    boxes, scores = ty
    batch, classes, count = scores.shape[0], scores.shape[1], boxes.shape[1]
    _check_score_count("vision.all_class_non_max_suppression", boxes, scores.shape[2])
    for i, name in enumerate(("max_output_boxes_per_class", "iou_threshold", "score_threshold"), 2):
        check_number(types, i, f"vision.all_class_non_max_suppression: {name}")
    if attrs.output_format == "onnx":
        return TupleType((TensorType((product((batch, classes, count)), 3), "int64"), TensorType((1,), "int64")))
    total: Dim = product((classes, count))
    fields = (
        TensorType((batch, total, 2), "int64"),
        TensorType((batch, total), "float32"),
        TensorType((batch,), "int64"),
    )
    return TupleType(fields)


def _select_class(boxes: Array, scores: Array, limit: int, iou: float, min_score: float) -> Array:
    """Return the indices of the kept boxes for the scores of one class, the best first."""
    order = descending_order(scores)
    order = order[scores[order] > min_score]
    return order[suppress(boxes[order], limit, iou)]


@operator(
    "vision.all_class_non_max_suppression",
    ("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"),
    attrs=attrs(
        "AllClassNonMaximumSuppressionAttrs",
        text("output_format", "onnx", "the format of the result", choices=("onnx", "tensorflow")),
    ),
    relation=_all_class_type,
    level=5,
    python=Python(
        "boxes, scores, max_output_boxes_per_class=-1, iou_threshold=-1.0, score_threshold=-1.0, output_format='onnx'",
        max_output_boxes_per_class=constant("int32"),
        iou_threshold=constant("float32"),
        score_threshold=constant("float32"),
    ),
    results=lambda attrs: 2 if attrs.output_format == "onnx" else 3,
    shapes="boxes (N, n, 4), scores (N, classes, n) -> rows (N * classes * n, 3), their count (1)",
    source="ONNX's NonMaxSuppression",
    edge_cases=(
        (
            "vision.all_class_non_max_suppression(%boxes: (1, 3, 4) float32 = [[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, "
            "6, 6]]], %scores: (1, 1, 3) float32 = [[[0.7, 0.9, 0.8]]], 3, 0.5f, 0f)"
        ),
    ),
    no_gradient=BOX_CHOICE,
)
def all_class_non_max_suppression(
    attrs: Attrs,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array,
    iou_threshold: Array,
    score_threshold: Array,
) -> tuple[Array, ...]:
    """Suppress class by class: rows (batch, class, box) for "onnx"; otherwise (class, box) and scores of each sample.

    In TensorFlow's form the detections of a sample are sorted by score. Unused rows are 0.
    """
    scalars = [array.reshape(()) for array in (max_output_boxes_per_class, iou_threshold, score_threshold)]
    limits = int(scalars[0]), float(scalars[1]), float(scalars[2])
    batch, classes, count = scores.shape
    choices = [[_select_class(boxes[i], scores[i, c], *limits) for c in range(classes)] for i in range(batch)]
    if attrs.output_format == "onnx":
        rows = np.zeros((batch * classes * count, 3), np.int64)
        triples = [(i, c, int(box)) for i in range(batch) for c in range(classes) for box in choices[i][c]]
        if triples:
            rows[: len(triples)] = triples
        return rows, np.array([len(triples)], np.int64)
    pairs, points = (np.zeros((batch, classes * count, 2), np.int64), np.zeros((batch, classes * count), np.float32))
    totals = np.zeros(batch, np.int64)
    for i in range(batch):
        detections = [(c, int(box)) for c in range(classes) for box in choices[i][c]]
        totals[i] = len(detections)
        if detections:
            pairs[i, : len(detections)] = detections
            points[i, : len(detections)] = [scores[i, c, box] for c, box in detections]
    return pairs, points, totals


# ---------------------------------------------------------------- regular_non_max_suppression
def _regular_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    ty = _boxes_and_scores(types, "vision.regular_non_max_suppression")
    if ty is None:
        return None
    boxes, scores = ty
    classes = scores.shape[2]
    _check_score_count("vision.regular_non_max_suppression", boxes, scores.shape[1])
    if min(attrs.max_detections, attrs.num_classes) < 0:
        refuse("vision.regular_non_max_suppression: counts must not be negative")
    if isinstance(classes, int) and classes < attrs.num_classes:
        refuse(
            "vision.regular_non_max_suppression: scores have too few classes",
            1,
            expected=attrs.num_classes,
            found=classes,
        )
    batch, limit = boxes.shape[0], attrs.max_detections
    fields = (
        TensorType((batch, limit, 4), boxes.dtype),
        TensorType((batch, limit), "float32"),
        TensorType((batch, limit), scores.dtype),
        TensorType((batch,), "int32"),
    )
    return TupleType(fields)


@operator(
    "vision.regular_non_max_suppression",
    ("boxes", "scores"),
    attrs=attrs(
        "RegularNonMaximumSuppressionAttrs",
        integer("max_detections_per_class", doc="the most detections to keep of a class"),
        integer("max_detections", doc="the number of detections to return"),
        integer("num_classes", doc="number of classes, without background"),
        number("iou_threshold", doc="the overlap above which the worse detection is removed"),
        number("score_threshold", doc="least score of a detection"),
    ),
    relation=_regular_type,
    level=5,
    results=4,
    shapes=(
        "boxes (N, n, 4), scores (N, n, classes) -> (N, max_detections, 4), (N, max_detections), (N, "
        "max_detections), (N)"
    ),
    source="TensorFlow Lite's detection postprocessing",
    edge_cases=(
        (
            "vision.regular_non_max_suppression(%boxes: (1, 3, 4) float32 = [[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, "
            "6]]], %scores: (1, 3, 1) float32 = [[[0.7], [0.9], [0.8]]], max_detections_per_class=3, max_detections=2, "
            "num_classes=1, iou_threshold=0.5f, score_threshold=0.1f)"
        ),
    ),
    no_gradient=BOX_CHOICE,
)
def regular_non_max_suppression(attrs: Attrs, boxes: Array, scores: Array) -> tuple[Array, ...]:
    """Suppress class by class and keep the best of all, as TensorFlow Lite's detection postprocessing does."""
    batch, limit, first = len(boxes), attrs.max_detections, scores.shape[2] - attrs.num_classes
    best_boxes = np.zeros((batch, limit, 4), boxes.dtype)
    classes, best_scores = np.zeros((batch, limit), np.float32), np.zeros((batch, limit), scores.dtype)
    counts = np.zeros(batch, np.int32)
    for i in range(batch):
        candidates: list[tuple[int, int]] = []
        for c in range(attrs.num_classes):
            values = scores[i, :, first + c]
            order = descending_order(values)
            order = order[values[order] >= attrs.score_threshold]
            chosen = suppress(boxes[i][order], attrs.max_detections_per_class, attrs.iou_threshold, inclusive=False)
            candidates += [(int(order[n]), c) for n in chosen]
            candidates = sorted(candidates, key=lambda pair: -scores[i, pair[0], first + pair[1]])[:limit]
        counts[i] = len(candidates)
        for rank, (box, c) in enumerate(candidates):
            best_boxes[i, rank], classes[i, rank], best_scores[i, rank] = (boxes[i, box], c, scores[i, box, first + c])
    return best_boxes, classes, best_scores, counts
