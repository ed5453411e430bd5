"""Arithmetic of boxes as arrays: their overlap, and the selection of boxes that do not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.op.dtypes import Array


def overlap_ratios(box: Any, others: Any, edge: float = 0.0) -> Array:
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


def descending_order(scores: Array) -> Array:
    """Return the order of scores from the highest down; equal scores keep their order."""
    return np.argsort(-scores, kind="stable")


def suppress(boxes: Any, limit: int, threshold: float, *, competes: Any = None, inclusive: bool = True) -> list[int]:
    """Return the indices of the boxes that remain if each, in order, removes the later ones that overlap it too much.

    `boxes` (n, 4) are sorted, best first. At most `limit` remain (any number if it is negative). `competes(i)` selects
    the boxes that box i may remove, by default all. `inclusive`: an overlap equal to `threshold` removes a box as well.
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
        ratios = overlap_ratios(boxes[i], boxes[later])
        overlapping = ratios >= threshold if inclusive else ratios > threshold
        alive[later] &= ~(overlapping if competes is None else overlapping & competes(i)[later])
    return kept
