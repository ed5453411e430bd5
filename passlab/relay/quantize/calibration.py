"""Calibration: the largest absolute value that a quantized tensor represents. This file uses arrays only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BINS = 8001
LEVELS = 255  # of a signed 8-bit integer, without the lowest


def power_of_two_scale(weight: Array) -> float:
    """Return the least power of two that no element of a weight exceeds."""
    largest = float(np.abs(weight).max(initial=0))
    return float(2.0 ** math.ceil(math.log2(largest))) if largest > 0 else 1.0


def max_scale(weight: Array) -> float:
    """Return the largest absolute number of a weight."""
    return float(np.abs(weight).max(initial=0)) or 1.0


def find_scale_by_percentile(data: Array, percentile: float = 0.99999) -> float:
    """Return the absolute value that the given fraction of all elements does not exceed."""
    sizes = np.sort(np.abs(np.asarray(data, np.float64)).reshape(-1))
    scale = float(sizes[min(int(percentile * sizes.size), sizes.size - 1)]) if sizes.size else 0.0
    return scale or 1.0


def find_scale_by_kl(data: Array, bins: int = BINS, levels: int = LEVELS) -> float:
    """Return the bound that loses the least information when values beyond it are clipped and the rest quantized.

    Source: S. The method is from Migacz, 8-bit Inference with TensorRT, 2017. For each bound of a histogram, the
    distribution inside, with the outliers added to the ends, is compared with the same after quantization to `levels`
    steps, by the Kullback-Leibler divergence. At most 257 bounds are compared.
    """
    sizes = np.asarray(data, np.float64).reshape(-1)
    largest = float(np.abs(sizes).max(initial=0))
    if largest == 0:
        return 1.0
    counts, edges = np.histogram(sizes, bins=bins, range=(-largest, largest))
    middle, half = bins // 2, levels // 2
    best, scale = math.inf, largest
    for radius in range(half, middle + 1, max((middle - half) // 256, 1)):
        loss = _divergence(counts, middle - radius, middle + radius + 1, levels)
        if loss < best:
            best, scale = loss, float(edges[middle + radius + 1])
    return scale


def _divergence(counts: Array, start: int, stop: int, levels: int) -> float:
    """Return the Kullback-Leibler divergence between a histogram clipped to a range and its quantization to levels."""
    inside = counts[start:stop].astype(np.float64)
    clipped = inside.copy()
    clipped[0] += counts[:start].sum()
    clipped[-1] += counts[stop:].sum()
    level = np.minimum(np.arange(inside.size) * levels // inside.size, levels - 1)
    filled = clipped != 0
    total = np.bincount(level, inside, levels)
    members = np.bincount(level, filled, levels)
    mean = np.divide(total, members, out=np.zeros(levels), where=members > 0)
    quantized = np.where(filled, mean[level], 0.0)
    p, q = (_smooth(part) for part in (clipped, quantized))
    return math.inf if p is None or q is None else float(np.sum(p * np.log(p / q)))


_EPSILON = 1e-4  # what replaces a zero


def _smooth(counts: Array) -> Array | None:
    """Return a distribution without zeros, None if it has too few nonzero entries."""
    zeros = counts == 0
    if zeros.all():
        return None
    reduction = _EPSILON * zeros.sum() / (~zeros).sum()
    if reduction >= counts[~zeros].min():
        return None
    smooth: Array = np.where(zeros, _EPSILON, counts - reduction)
    distribution: Array = smooth / smooth.sum()
    return distribution
