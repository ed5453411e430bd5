"""Definitions of quantized operators and of vision operators, for small arrays; see `elements`."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, means, nearest, wide
from passlab.definitions.images import _pad
from passlab.definitions.networks import _along, _pool, _spread, _to
from passlab.definitions.places import iou, sample, survivors
from passlab.op.dtypes import Array


# ---------------------------------------------------------------- quantized
def _real(q: Any, scale: Any, zero: Any, axis: int = -1) -> Any:
    fit: Any = (lambda v: _along(v, axis, q.ndim)) if np.ndim(scale) else wide
    return (q.astype(np.float64) - (fit(zero) if np.ndim(zero) else wide(zero))) * wide(fit(scale))


def _steps(x: Any, scale: Any, zero: Any, axis: int = -1) -> Any:
    """Return numbers as quantized integers before clipping to a range; NaN counts as infinity."""
    fit: Any = (lambda v: _along(v, axis, x.ndim)) if np.ndim(scale) else wide
    return nearest(wide(x) / wide(fit(scale)) + (fit(zero) if np.ndim(zero) else wide(zero)))


def _held(x: Any, dtype: Any) -> Any:
    info = np.iinfo(dtype)
    return np.clip(np.nan_to_num(x, nan=info.max, posinf=info.max, neginf=info.min), info.min, info.max)


_FUNCTIONS: dict[str, Any] = {
    "abs": lambda x, a: np.abs(x),
    "exp": lambda x, a: np.exp(x),
    "log": lambda x, a: np.log(x),
    "sqrt": lambda x, a: np.sqrt(x),
    "rsqrt": lambda x, a: 1 / np.sqrt(x),
    "erf": lambda x, a: np.vectorize(math.erf, otypes=[float])(x),
    "sigmoid": lambda x, a: 1 / (1 + np.exp(-x)),
    "tanh": lambda x, a: np.tanh(x),
    "hardswish": lambda x, a: x * np.clip(x + 3, 0, 6) / 6,
    "leaky_relu": lambda x, a: np.where(x < 0, x * a.alpha, x),
    "softmax": lambda x, a: (
        np.exp(x - x.max(a.axis, keepdims=True)) / np.exp(x - x.max(a.axis, keepdims=True)).sum(a.axis, keepdims=True)
        if x.size
        else x
    ),
}
for _name, _function in _FUNCTIONS.items():
    MEANING[f"qnn.{_name}"] = lambda attrs, q, s, z, os, oz, f=_function: _held(
        _steps(f(_real(q, s, z), attrs), os, oz), q.dtype
    )
for _name, _combine in (("add", np.add), ("subtract", np.subtract), ("mul", np.multiply)):
    MEANING[f"qnn.{_name}"] = lambda attrs, a, b, sa, za, sb, zb, so, zo, f=_combine: _held(
        _steps(f(_real(a, sa, za), _real(b, sb, zb)), so, zo), a.dtype
    )
MEANING["qnn.quantize"] = lambda attrs, x, s, z: _held(_steps(x, s, z, attrs.axis), attrs.out_dtype)
MEANING["qnn.dequantize"] = lambda attrs, q, s, z: _real(q, s, z, attrs.axis)
MEANING["qnn.requantize"] = lambda attrs, q, s, z, os, oz: _held(
    _steps(_real(q, s, z, attrs.axis), os, oz), attrs.out_dtype or q.dtype
)
MEANING["qnn.concatenate"] = lambda attrs, parts, scales, zeros, s, z: np.concatenate(
    [_held(_steps(_real(p, ps, pz), s, z), p.dtype) for p, ps, pz in zip(parts, scales, zeros, strict=True)], attrs.axis
)
_CODES = {1: "int8", 2: "uint8", 3: "int32"}


@means("qnn.simulated_quantize")
def simulated_quantize(attrs: Any, x: Any, code: Any, s: Any, z: Any) -> Any:
    """Define `qnn.simulated_quantize`."""
    info = np.iinfo(_CODES.get(int(code), "int8"))
    return x if int(code) == 0 else np.clip(_steps(x, s, z, attrs.axis), info.min, info.max)


@means("qnn.simulated_dequantize")
def simulated_dequantize(attrs: Any, x: Any, code: Any, s: Any, z: Any) -> Any:
    """Define `qnn.simulated_dequantize`."""
    s, z = (_along(v, attrs.axis, x.ndim) if np.size(v) > 1 else v for v in (wide(s), wide(z)))
    return x if int(code) == 0 else (wide(x) - z) * s


@means("qnn.avg_pool2d")
def avg_pool2d(attrs: Any, q: Any, s: Any, z: Any, os: Any, oz: Any) -> Any:
    """Define `qnn.avg_pool2d`."""
    return _held(_steps(_real(_pool(attrs, q.astype(np.int32), True), s, z), os, oz), q.dtype)


def _centre(name: str) -> Any:
    def meaning(attrs: Any, q: Any, w: Any, zq: Any, zw: Any, sq: Any, sw: Any) -> Any:
        data, weight = q.astype(np.int64) - int(zq), w.astype(np.int64) - int(zw)
        if name == "nn.conv2d":
            spots = [attrs.data_layout.index(axis) for axis in "HW"]
            sides = dict(
                zip(spots, zip(_spread(attrs.padding, 4)[:2], _spread(attrs.padding, 4)[2:], strict=True), strict=True)
            )
            data = _pad(data, [sides.get(d, (0, 0)) for d in range(data.ndim)], 0, "constant")
            attrs = (
                SimpleNamespace(**{f: getattr(attrs, f) for f in attrs.field_names} | {"padding": (0, 0, 0, 0)})
                if hasattr(attrs, "field_names")
                else attrs
            )
        return MEANING[name](attrs, data, weight)

    return meaning


for _name in ("dense", "batch_matmul", "conv2d_transpose"):
    MEANING[f"qnn.{_name}"] = _centre(f"nn.{_name}")


@means("qnn.conv2d")
def conv2d(attrs: Any, q: Any, w: Any, zq: Any, zw: Any, sq: Any, sw: Any) -> Any:
    """Define `qnn.conv2d`."""
    return MEANING["nn.conv2d"](attrs, q.astype(np.int64) - int(zq), w.astype(np.int64) - int(zw))


# ---------------------------------------------------------------- boxes
@means("vision.get_valid_counts")
def get_valid_counts(attrs: Any, x: Any, threshold: Any) -> Any:
    """Define `vision.get_valid_counts`."""
    result, positions, counts = np.full(x.shape, -1.0), np.full(x.shape[:2], -1), np.zeros(len(x), int)
    for n in range(len(x)):
        good = [
            i
            for i in range(x.shape[1])
            if x[n, i, attrs.score_index] > threshold and (attrs.id_index < 0 or x[n, i, attrs.id_index] >= 0)
        ]
        counts[n] = len(good)
        result[n, : len(good)], positions[n, : len(good)] = x[n, good], good
    return counts, result, positions


@means("vision.non_max_suppression")
def non_max_suppression(attrs: Any, x: Any, counts: Any, indices: Any, limit: Any, threshold: Any) -> Any:
    """Define `vision.non_max_suppression`."""
    result, positions, totals = np.full(x.shape, -1.0), np.full(x.shape[:2], -1), np.zeros((len(x), 1), int)
    for n in range(len(x)):
        first = attrs.coord_start
        rows = [(r[attrs.id_index], r[attrs.score_index], *r[first : first + 4]) for r in wide(x[n, : counts[n]])]
        best_boxes = survivors(rows, int(limit), float(threshold), attrs.force_suppress, attrs.top_k)
        result[n, : len(best_boxes)], totals[n] = x[n, best_boxes], len(best_boxes)
        positions[n, : len(best_boxes)] = [indices[n, k] for k in best_boxes]
    return (positions, totals) if attrs.return_indices else result


@means("vision.all_class_non_max_suppression")
def all_class(attrs: Any, boxes: Any, scores: Any, limit: Any, threshold: Any, low: Any) -> Any:
    """Define `vision.all_class_non_max_suppression`."""
    rows = []
    for n, c in np.ndindex(*scores.shape[:2]):
        good = [i for i in range(boxes.shape[1]) if scores[n, c, i] > low]
        best_boxes = survivors(
            [(0, scores[n, c, i], *boxes[n, i]) for i in good], int(limit), float(threshold), True, -1
        )
        rows += [(n, c, good[k]) for k in best_boxes]
    result = np.zeros((scores.size, 3), int)
    result[: len(rows)] = np.array(rows).reshape(-1, 3)
    return result, np.array([len(rows)])


@means("vision.regular_non_max_suppression")
def regular(attrs: Any, boxes: Any, scores: Any) -> Any:
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


@means("vision.multibox_prior")
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


@means("vision.multibox_transform_loc")
def multibox_transform_loc(attrs: Any, p: Any, loc: Any, anchor: Any) -> Any:
    """Define `vision.multibox_transform_loc`."""
    result, counts = np.full((len(p), p.shape[2], 6), -1.0), np.zeros(len(p), int)
    for n, a in np.ndindex(len(p), p.shape[2]):
        scores = p[n, 0 if attrs.keep_background else 1 :, a]
        if scores.max() < attrs.threshold:
            continue
        left, top, right, bottom = anchor[0, a]
        move = loc[n].reshape(-1, 4)[a] * np.array(attrs.variances)
        w, h = right - left, bottom - top
        cx, cy = (left + right) / 2 + move[0] * w, (top + bottom) / 2 + move[1] * h
        half = np.exp(move[2]) * w / 2, np.exp(move[3]) * h / 2
        box = np.array([cx - half[0], cy - half[1], cx + half[0], cy + half[1]])
        result[n, counts[n]] = [scores.argmax(), scores.max(), *(np.clip(box, 0, 1) if attrs.clip else box)]
        counts[n] += 1
    return result, counts


@means("vision.proposal")
def proposal(attrs: Any, scores: Any, moves: Any, info: Any) -> Array:
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
            middle = (stride - 1) / 2
            dx, dy, dw, dh = moves[n, 4 * k : 4 * k + 4, i, j]
            cx, cy = middle + j * stride + dx * width, middle + i * stride + dy * height
            w, h = math.exp(dw) * width, math.exp(dh) * height
            ends = [info[n, 1] - 1, info[n, 0] - 1] * 2
            box = [cx - 0.5 * (w - 1), cy - 0.5 * (h - 1), cx + 0.5 * (w - 1), cy + 0.5 * (h - 1)]
            if attrs.iou_loss:  # the four numbers move the corners of the box
                x0, y0 = middle + j * stride - 0.5 * (width - 1), middle + i * stride - 0.5 * (height - 1)
                box = [x0 + dx, y0 + dy, x0 + width - 1 + dw, y0 + height - 1 + dh]
            box = [max(min(b, e), 0) for b, e in zip(box, ends, strict=True)]
            score, least = scores[n, len(anchors) + k, i, j], attrs.rpn_min_size * info[n, 2]
            if i >= int(info[n, 0] / stride) or j >= int(info[n, 1] / stride):
                score = -1.0
            if box[2] - box[0] + 1 < least or box[3] - box[1] + 1 < least:
                box, score = [box[0] - least / 2, box[1] - least / 2, box[2] + least / 2, box[3] + least / 2], -1.0
            rows.append((score, box))
        best_boxes: list[Any] = []
        for _, box in sorted(rows, key=lambda row: -row[0])[: attrs.rpn_pre_nms_top_n]:
            if all(iou(other, box, 1.0) <= attrs.threshold for other in best_boxes):
                best_boxes.append(box)
        for m in range(attrs.rpn_post_nms_top_n):
            result[n * attrs.rpn_post_nms_top_n + m] = [n, *best_boxes[m % len(best_boxes)]]
    return result


@means("vision.roi_align")
def roi_align(attrs: Any, x: Any, rois: Any) -> Any:
    """Define `vision.roi_align`."""
    x = _to(x, attrs.layout, "NCHW")
    ph, pw = attrs.pooled_size
    result = np.zeros((len(rois), x.shape[1], ph, pw))
    for n, i, j in np.ndindex(len(rois), ph, pw):
        left, top, right, bottom = rois[n, 1:] * attrs.spatial_scale
        tall, broad = max(bottom - top, 1.0) / ph, max(right - left, 1.0) / pw
        ny, nx = (attrs.sample_ratio,) * 2 if attrs.sample_ratio > 0 else (math.ceil(tall), math.ceil(broad))
        spots = [
            (top + (i + (a + 0.5) / ny) * tall, left + (j + (b + 0.5) / nx) * broad)
            for a in range(ny)
            for b in range(nx)
        ]
        samples = [sample(wide(x[int(rois[n, 0])]), *spot) for spot in spots]
        result[n, :, i, j] = np.max(samples, axis=0) if attrs.mode == "max" else np.mean(samples, axis=0)
    return _to(result, "NCHW", attrs.layout)


@means("vision.roi_pool")
def roi_pool(attrs: Any, x: Any, rois: Any) -> Any:
    """Define `vision.roi_pool`."""
    x = _to(x, attrs.layout, "NCHW")
    ph, pw = attrs.pooled_size
    result = np.zeros((len(rois), x.shape[1], ph, pw), x.dtype)
    for n, i, j in np.ndindex(len(rois), ph, pw):
        left, top, right, bottom = (math.floor(v * attrs.spatial_scale + 0.5) for v in rois[n, 1:])
        tall, broad = max(bottom - top + 1, 1) / ph, max(right - left + 1, 1) / pw
        height, width = x.shape[2:]
        rows = slice(
            min(max(top + math.floor(i * tall), 0), height), min(max(top + math.ceil((i + 1) * tall), 0), height)
        )
        columns = slice(
            min(max(left + math.floor(j * broad), 0), width), min(max(left + math.ceil((j + 1) * broad), 0), width)
        )
        part = x[int(rois[n, 0]), :, rows, columns]
        result[n, :, i, j] = part.max(axis=(1, 2)) if part.size else 0
    return _to(result, "NCHW", attrs.layout)


@means("vision.yolo_reorg")
def yolo_reorg(attrs: Any, x: Any) -> Any:
    """Define `vision.yolo_reorg`."""
    s, (n, c, h, w) = attrs.stride, x.shape
    flat, result = x.reshape(n, c * h * w), np.zeros_like(x)
    few = c // (s * s) if c >= s * s else 1
    if s == 1:
        return x
    for k, j, i in np.ndindex(c, h, w):
        column, row = i * s + k // few % s, j * s + k // few // s
        result[:, k, j, i] = flat[:, column + w * s * (row + h * s * (k % few))]
    return result.reshape(n, c * s * s, h // s, w // s)
