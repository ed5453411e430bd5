"""Definitions of the vision operators, with the overlap and suppression of boxes; see `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.definitions.elements import as_float64, definition_of
from passlab.definitions.networks import to_layout
from passlab.definitions.sampling import weighted_pixels
from passlab.op.dtypes import Array


def iou(a: Any, b: Any, edge: Any = 0.0) -> Any:
    """Return the intersection over union of two boxes (x0, y0, x1, y1); `edge` is 1 where ends are included."""
    a = (min(a[0], a[2]), min(a[1], a[3]), max(a[0], a[2]), max(a[1], a[3]))
    b = (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]) + edge)
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]) + edge)
    areas = [(x[2] - x[0] + edge) * (x[3] - x[1] + edge) for x in (a, b)]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def suppress(rows: Any, limit: Any, threshold: Any, force: Any, top_k: Any) -> Any:
    """Return the indices of the rows (class, score, *box) that survive non-maximum suppression, best first."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i][1])[: top_k if top_k > 0 else None]
    best_rows: list[int] = []
    for i in order:
        rivals = [k for k in best_rows if force or rows[k][0] == rows[i][0]]
        if len(best_rows) != limit and all(iou(rows[k][2:], rows[i][2:]) < threshold for k in rivals):
            best_rows.append(i)
    return best_rows


@definition_of("vision.get_valid_counts")
def get_valid_counts(attrs: Any, x: Any, threshold: Any) -> Any:
    """Define `vision.get_valid_counts`."""
    result, positions, counts = np.full(x.shape, -1.0), np.full(x.shape[:2], -1), np.zeros(len(x), int)
    for n in range(len(x)):
        valid = [
            i
            for i in range(x.shape[1])
            if x[n, i, attrs.score_index] > threshold and (attrs.id_index < 0 or x[n, i, attrs.id_index] >= 0)
        ]
        counts[n] = len(valid)
        result[n, : len(valid)], positions[n, : len(valid)] = x[n, valid], valid
    return counts, result, positions


@definition_of("vision.non_max_suppression")
def non_max_suppression(attrs: Any, x: Any, counts: Any, indices: Any, limit: Any, threshold: Any) -> Any:
    """Define `vision.non_max_suppression`."""
    result, positions, totals = np.full(x.shape, -1.0), np.full(x.shape[:2], -1), np.zeros((len(x), 1), int)
    for n in range(len(x)):
        first = attrs.coord_start
        rows = [(r[attrs.id_index], r[attrs.score_index], *r[first : first + 4]) for r in as_float64(x[n, : counts[n]])]
        best_boxes = suppress(rows, int(limit), float(threshold), attrs.force_suppress, attrs.top_k)
        result[n, : len(best_boxes)], totals[n] = x[n, best_boxes], len(best_boxes)
        positions[n, : len(best_boxes)] = [indices[n, k] for k in best_boxes]
    return (positions, totals) if attrs.return_indices else result


@definition_of("vision.all_class_non_max_suppression")
def all_class_non_max_suppression(attrs: Any, boxes: Any, scores: Any, limit: Any, threshold: Any, low: Any) -> Any:
    """Define `vision.all_class_non_max_suppression`."""
    rows = []
    for n, c in np.ndindex(*scores.shape[:2]):
        valid = [i for i in range(boxes.shape[1]) if scores[n, c, i] > low]
        best_boxes = suppress(
            [(0, scores[n, c, i], *boxes[n, i]) for i in valid], int(limit), float(threshold), True, -1
        )
        rows += [(n, c, valid[k]) for k in best_boxes]
    result = np.zeros((scores.size, 3), int)
    result[: len(rows)] = np.array(rows).reshape(-1, 3)
    return result, np.array([len(rows)])


@definition_of("vision.regular_non_max_suppression")
def regular_non_max_suppression(attrs: Any, boxes: Any, scores: Any) -> Any:
    """Define `vision.regular_non_max_suppression`."""
    count = attrs.max_detections
    result = (
        np.zeros((len(boxes), count, 4)),
        np.zeros((len(boxes), count)),
        np.zeros((len(boxes), count)),
        np.zeros(len(boxes)),
    )
    for n in range(len(boxes)):
        best = []
        for c in range(attrs.num_classes):
            row = scores[n, :, c + scores.shape[2] - attrs.num_classes]
            best_boxes: list[int] = []
            for i in sorted((i for i in range(len(row)) if row[i] >= attrs.score_threshold), key=lambda i: -row[i]):
                if len(best_boxes) < attrs.max_detections_per_class and all(
                    iou(boxes[n, k], boxes[n, i]) <= attrs.iou_threshold for k in best_boxes
                ):
                    best_boxes.append(i)
            best += [(row[i], c, i) for i in best_boxes]
        best = sorted(best, key=lambda item: -item[0])[:count]
        result[3][n] = len(best)
        for at, (score, c, i) in enumerate(best):
            result[0][n, at], result[1][n, at], result[2][n, at] = boxes[n, i], c, score
    return result


@definition_of("vision.multibox_prior")
def multibox_prior(attrs: Any, x: Any) -> Array:
    """Define `vision.multibox_prior`."""
    height, width = x.shape[2:]
    steps = [s if s > 0 else 1 / n for s, n in zip(attrs.steps, (height, width), strict=True)]
    first = attrs.sizes[0]
    shapes = [(s * height / width / 2, s / 2) for s in attrs.sizes]
    shapes += [(first * height / width * math.sqrt(r) / 2, first / math.sqrt(r) / 2) for r in attrs.ratios[1:]]
    result = []
    for i, j in np.ndindex(height, width):
        cy, cx = (i + attrs.offsets[0]) * steps[0], (j + attrs.offsets[1]) * steps[1]
        result += [(cx - w, cy - h, cx + w, cy + h) for w, h in shapes]
    return np.clip(np.array([result]), 0, 1) if attrs.clip else np.array([result])


@definition_of("vision.multibox_transform_loc")
def multibox_transform_loc(attrs: Any, p: Any, loc: Any, anchor: Any) -> Any:
    """Define `vision.multibox_transform_loc`."""
    result, counts = np.full((len(p), p.shape[2], 6), -1.0), np.zeros(len(p), int)
    for n, a in np.ndindex(len(p), p.shape[2]):
        scores = p[n, 0 if attrs.keep_background else 1 :, a]
        if scores.max() < attrs.threshold:
            continue
        left, top, right, bottom = anchor[0, a]
        delta = loc[n].reshape(-1, 4)[a] * np.array(attrs.variances)
        w, h = right - left, bottom - top
        cx, cy = (left + right) / 2 + delta[0] * w, (top + bottom) / 2 + delta[1] * h
        half = np.exp(delta[2]) * w / 2, np.exp(delta[3]) * h / 2
        box = np.array([cx - half[0], cy - half[1], cx + half[0], cy + half[1]])
        result[n, counts[n]] = [scores.argmax(), scores.max(), *(np.clip(box, 0, 1) if attrs.clip else box)]
        counts[n] += 1
    return result, counts


@definition_of("vision.proposal")
def proposal(attrs: Any, scores: Any, deltas: Any, info: Any) -> Array:
    """Define `vision.proposal`."""
    result = np.zeros((len(scores) * attrs.rpn_post_nms_top_n, 5))
    anchors, stride = [(s, r) for r in attrs.ratios for s in attrs.scales], attrs.feature_stride
    for n in range(len(scores)):
        rows = []
        for i, j, k in np.ndindex(*scores.shape[2:], len(anchors)):
            scale, ratio = anchors[k]
            width = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
            height = math.floor(width * ratio + 0.5)
            width, height = width * scale, height * scale
            center = (stride - 1) / 2
            dx, dy, dw, dh = deltas[n, 4 * k : 4 * k + 4, i, j]
            cx, cy = center + j * stride + dx * width, center + i * stride + dy * height
            w, h = math.exp(dw) * width, math.exp(dh) * height
            ends = [info[n, 1] - 1, info[n, 0] - 1] * 2
            box = [cx - 0.5 * (w - 1), cy - 0.5 * (h - 1), cx + 0.5 * (w - 1), cy + 0.5 * (h - 1)]
            if attrs.iou_loss:  # the four numbers move the corners of the box
                x0, y0 = center + j * stride - 0.5 * (width - 1), center + i * stride - 0.5 * (height - 1)
                box = [x0 + dx, y0 + dy, x0 + width - 1 + dw, y0 + height - 1 + dh]
            box = [max(min(b, e), 0) for b, e in zip(box, ends, strict=True)]
            score, min_size = scores[n, len(anchors) + k, i, j], attrs.rpn_min_size * info[n, 2]
            if i >= int(info[n, 0] / stride) or j >= int(info[n, 1] / stride):
                score = -1.0
            if box[2] - box[0] + 1 < min_size or box[3] - box[1] + 1 < min_size:
                box, score = (
                    [box[0] - min_size / 2, box[1] - min_size / 2, box[2] + min_size / 2, box[3] + min_size / 2],
                    -1.0,
                )
            rows.append((score, box))
        best_boxes: list[Any] = []
        for _, box in sorted(rows, key=lambda row: -row[0])[: attrs.rpn_pre_nms_top_n]:
            if all(iou(other, box, 1.0) <= attrs.threshold for other in best_boxes):
                best_boxes.append(box)
        for m in range(attrs.rpn_post_nms_top_n):
            result[n * attrs.rpn_post_nms_top_n + m] = [n, *best_boxes[m % len(best_boxes)]]
    return result


def _roi_align(attrs: Any, x: Any, rois: Any, offset: float, least: float) -> Any:
    """Return regions aligned: moved by -offset, at least so long and so wide."""
    x = to_layout(x, attrs.layout, "NCHW")
    ph, pw = attrs.pooled_size
    result = np.zeros((len(rois), x.shape[1], ph, pw))
    for n, i, j in np.ndindex(len(rois), ph, pw):
        left, top, right, bottom = rois[n, 1:] * attrs.spatial_scale - offset
        bin_height, bin_width = max(bottom - top, least) / ph, max(right - left, least) / pw
        ny, nx = (attrs.sample_ratio,) * 2 if attrs.sample_ratio > 0 else (math.ceil(bin_height), math.ceil(bin_width))
        points = [
            (top + (i + (a + 0.5) / ny) * bin_height, left + (j + (b + 0.5) / nx) * bin_width)
            for a in range(ny)
            for b in range(nx)
        ]
        if points:
            pixels = [weighted_pixels(as_float64(x[int(rois[n, 0])]), *point) for point in points]
            parts = [np.max(four, axis=0) if attrs.mode == "max_weighted" else sum(four) for four in pixels]
            result[n, :, i, j] = np.mean(parts, axis=0) if attrs.mode == "avg" else np.max(parts, axis=0)
    return to_layout(result, "NCHW", attrs.layout)


@definition_of("vision.roi_align")
def roi_align(attrs: Any, x: Any, rois: Any) -> Any:
    """Define `vision.roi_align`."""
    return _roi_align(attrs, x, rois, 0.0, 1.0)


@definition_of("contrib.roi_align")
def exact_roi_align(attrs: Any, x: Any, rois: Any) -> Any:
    """Define `contrib.roi_align`."""
    return _roi_align(attrs, x, rois, 0.5, -math.inf)


@definition_of("vision.roi_pool")
def roi_pool(attrs: Any, x: Any, rois: Any) -> Any:
    """Define `vision.roi_pool`."""
    x = to_layout(x, attrs.layout, "NCHW")
    ph, pw = attrs.pooled_size
    result = np.zeros((len(rois), x.shape[1], ph, pw), x.dtype)
    for n, i, j in np.ndindex(len(rois), ph, pw):
        left, top, right, bottom = (math.floor(v * attrs.spatial_scale + 0.5) for v in rois[n, 1:])
        bin_height, bin_width = max(bottom - top + 1, 1) / ph, max(right - left + 1, 1) / pw
        height, width = x.shape[2:]
        rows = slice(
            min(max(top + math.floor(i * bin_height), 0), height),
            min(max(top + math.ceil((i + 1) * bin_height), 0), height),
        )
        columns = slice(
            min(max(left + math.floor(j * bin_width), 0), width),
            min(max(left + math.ceil((j + 1) * bin_width), 0), width),
        )
        patch = x[int(rois[n, 0]), :, rows, columns]
        result[n, :, i, j] = patch.max(axis=(1, 2)) if patch.size else 0
    return to_layout(result, "NCHW", attrs.layout)


@definition_of("vision.yolo_reorg")
def yolo_reorg(attrs: Any, x: Any) -> Any:
    """Define `vision.yolo_reorg`."""
    s, (n, c, h, w) = attrs.stride, x.shape
    flat, result = x.reshape(n, c * h * w), np.zeros_like(x)
    out_channels = c // (s * s) if c >= s * s else 1
    if s == 1:
        return x
    for k, j, i in np.ndindex(c, h, w):
        column, row = i * s + k // out_channels % s, j * s + k // out_channels // s
        result[:, k, j, i] = flat[:, column + w * s * (row + h * s * (k % out_channels))]
    return result.reshape(n, c * s * s, h // s, w // s)
