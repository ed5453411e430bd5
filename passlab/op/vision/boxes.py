"""Arithmetic of boxes: overlaps, and the selection of boxes that do not overlap. Arrays only, no operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.op.dtypes import Array


def overlaps(box: Any, others: Any, edge: float = 0.0) -> Array:
    """Return the intersection over union of one box (4,) and others (n, 4); corners may be in any order.

    `edge` is added to widths and heights: 1 if coordinates name whole pixels.
    """
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    sides = np.maximum(np.minimum(high, highs) - np.maximum(low, lows) + edge, 0)
    common = sides[:, 0] * sides[:, 1]
    union = np.prod(high - low + edge) + np.prod(highs - lows + edge, axis=1) - common
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(union > 0, common / union, 0).astype(others.dtype, copy=False)


def descending(scores: Array) -> Array:
    """Return the order of scores from the highest down; equal scores keep their order."""
    return np.argsort(-scores, kind="stable")


def greedy(boxes: Any, limit: int, threshold: float, *, same: Any = None, reached: bool = True) -> list[int]:
    """Return the indices of the kept boxes, where each, in order, removes the later ones that overlap it too much.

    `boxes` (n, 4) are sorted, best first. At most `limit` are kept (negative for no limit). `same(i)` selects the boxes
    that compete with box i (by default all). With `reached`, an overlap equal to `threshold` removes, too.
    """
    alive = np.ones(len(boxes), np.bool_)
    kept: list[int] = []
    for i in range(len(boxes)):
        if not alive[i]:
            continue
        if len(kept) == limit:
            break
        kept.append(i)
        later = slice(i + 1, None)
        ratios = overlaps(boxes[i], boxes[later])
        near = ratios >= threshold if reached else ratios > threshold
        alive[later] &= ~(near if same is None else near & same(i)[later])
    return kept
