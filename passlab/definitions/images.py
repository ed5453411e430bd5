"""Definitions of padding, of rearranging blocks of pixels, and of image operators; see `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, as_float64, definition_of, elementwise, is_int
from passlab.definitions.networks import PLAIN_LAYOUTS, pad_widths, to_layout
from passlab.definitions.sampling import grid_value, resize_last_axis, sample
from passlab.op.dtypes import Array


# ---------------------------------------------------------------- borders and blocks
def _pad(x: Any, widths: Any, value: Any, mode: Any) -> Array:
    # Negative widths cut elements off.
    inner = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))]
    widths = [(max(int(a), 0), max(int(b), 0)) for a, b in widths]
    return np.pad(inner, widths, mode, **({"constant_values": value} if mode == "constant" else {}))


MEANING["nn.pad"] = lambda attrs, x, v: _pad(x, attrs.pad_width, np.asarray(v).astype(x.dtype), attrs.pad_mode)
MEANING["dyn.nn.pad"] = lambda attrs, x, w, v: _pad(x, w, np.asarray(v).astype(x.dtype), attrs.pad_mode)
MEANING["nn.mirror_pad"] = lambda attrs, x: np.pad(x, attrs.pad_width, attrs.mode.lower())


@definition_of("nn.dilate")
def dilate(attrs: Any, x: Any) -> Array:
    """Define `nn.dilate`."""
    result = np.full(
        [max((n - 1) * s + 1, 0) for n, s in zip(x.shape, attrs.strides, strict=True)],
        np.asarray(attrs.dilation_value).astype(x.dtype),
    )
    result[tuple(slice(None, None, s) for s in attrs.strides)] = x
    return result


@definition_of("nn.fifo_buffer")
def fifo_buffer(attrs: Any, x: Any, buffer: Any) -> Array:
    """Define `nn.fifo_buffer`."""
    both = np.concatenate((buffer, x), attrs.axis)
    length = both.shape[attrs.axis]
    return np.take(both, range(length - buffer.shape[attrs.axis], length), attrs.axis)


@definition_of("nn.depth_to_space")
def depth_to_space(attrs: Any, x: Any) -> Any:
    """Define `nn.depth_to_space`."""
    b, x = attrs.block_size, to_layout(x, attrs.layout, "NCHW")
    n, c, h, w = x.shape
    result = np.zeros((n, c // b**2, h * b, w * b), x.dtype)
    for k, i, j in np.ndindex(*result.shape[1:]):
        offset = i % b * b + j % b
        source = offset * (c // b**2) + k if attrs.mode == "DCR" else k * b * b + offset
        result[:, k, i, j] = x[:, source, i // b, j // b]
    return to_layout(result, "NCHW", attrs.layout)


@definition_of("nn.space_to_depth")
def space_to_depth(attrs: Any, x: Any) -> Any:
    """Define `nn.space_to_depth`."""
    b, x = attrs.block_size, to_layout(x, attrs.layout, "NCHW")
    result = np.zeros((x.shape[0], x.shape[1] * b**2, x.shape[2] // b, x.shape[3] // b), x.dtype)
    for k, i, j in np.ndindex(*x.shape[1:]):
        result[:, (i % b * b + j % b) * x.shape[1] + k, i // b, j // b] = x[:, k, i, j]
    return to_layout(result, "NCHW", attrs.layout)


@definition_of("nn.space_to_batch_nd")
def space_to_batch_nd(attrs: Any, x: Any) -> Any:
    """Define `nn.space_to_batch_nd`."""
    blocks, rank = attrs.block_shape, len(attrs.block_shape)
    x = np.pad(
        x,
        [(0, 0), *attrs.paddings, *[(0, 0)] * (x.ndim - rank - 1)],
        constant_values=np.asarray(attrs.pad_value).astype(x.dtype),
    )
    parts = [
        x[(slice(None), *(slice(s, None, b) for s, b in zip(at, blocks, strict=True)))] for at in np.ndindex(*blocks)
    ]
    return np.concatenate(parts)


@definition_of("nn.batch_to_space_nd")
def batch_to_space_nd(attrs: Any, x: Any) -> Any:
    """Define `nn.batch_to_space_nd`."""
    blocks, rank = attrs.block_shape, len(attrs.block_shape)
    count = len(x) // math.prod(blocks)
    result = np.zeros(
        (count, *(n * b for n, b in zip(x.shape[1:], blocks, strict=False)), *x.shape[rank + 1 :]), x.dtype
    )
    for number, at in enumerate(np.ndindex(*blocks)):
        result[(slice(None), *(slice(s, None, b) for s, b in zip(at, blocks, strict=True)))] = x[
            number * count : (number + 1) * count
        ]
    return result[(slice(None), *(slice(a, result.shape[1 + d] - b) for d, (a, b) in enumerate(attrs.crops)))]


# ---------------------------------------------------------------- images
def _resize(attrs: Any, x: Any, size: Any, roi: Any) -> Any:
    plain = PLAIN_LAYOUTS[x.ndim - 2][0]
    x = as_float64(to_layout(x, attrs.layout, plain))
    for d, count in enumerate(size):
        region = (float(roi[d]), float(roi[d + len(size)])) if roi is not None and len(roi) else (0.0, 1.0)
        result = resize_last_axis(
            np.moveaxis(x, 2 + d, -1),
            int(count),
            attrs.method,
            attrs.coordinate_transformation_mode,
            rounding=attrs.rounding_method or "",
            alpha=attrs.cubic_alpha,
            exclude=bool(attrs.cubic_exclude),
            roi=region,
            fill=attrs.extrapolation_value,
        )
        x = np.moveaxis(result, -1, 2 + d)
    return to_layout(x, plain, attrs.layout)


for _rank in (1, 2, 3):
    MEANING[f"image.resize{_rank}d"] = lambda attrs, x: _resize(attrs, x, attrs.size, attrs.roi)
MEANING["dyn.image.resize2d"] = lambda attrs, x, size, roi: _resize(attrs, x, size, roi)


def _upsample(attrs: Any, x: Any, scales: Any) -> Any:
    plain = PLAIN_LAYOUTS[x.ndim - 2][0]
    x = as_float64(to_layout(x, attrs.layout, plain))
    is_nearest = attrs.method == "nearest_neighbor"
    method = attrs.method if is_nearest else "cubic" if attrs.method == "bicubic" else "linear"
    corners = "align_corners" if getattr(attrs, "align_corners", False) and not is_nearest else "asymmetric"
    mode = getattr(attrs, "coordinate_transformation_mode", corners)
    for d, scale in enumerate(scales):
        count = math.floor(x.shape[2 + d] * float(scale) + 0.5)
        x = np.moveaxis(resize_last_axis(np.moveaxis(x, 2 + d, -1), count, method, mode), -1, 2 + d)
    return to_layout(x, plain, attrs.layout)


MEANING["nn.upsampling"] = lambda attrs, x: _upsample(attrs, x, (attrs.scale_h, attrs.scale_w))
MEANING["nn.upsampling3d"] = lambda attrs, x: _upsample(attrs, x, (attrs.scale_d, attrs.scale_h, attrs.scale_w))
MEANING["dyn.nn.upsampling"] = MEANING["dyn.nn.upsampling3d"] = lambda attrs, x, *scales: _upsample(attrs, x, scales)


def _crop_position(i: int, count: int, length: int, start: np.float32, end: np.float32) -> float:
    """Return where element i of a crop is read: in float32, since rounding decides what is outside the image."""
    last = np.float32(length - 1)
    if count == 1:
        return float(np.float32(0.5) * (start + end) * last)
    return float(start * last + (end - start) * last / np.float32(count - 1) * np.float32(i))


@definition_of("image.crop_and_resize")
def crop_and_resize(attrs: Any, x: Any, boxes: Any, indices: Any) -> Any:
    """Define `image.crop_and_resize`."""
    x = as_float64(to_layout(x, attrs.layout, "NCHW"))
    (oh, ow), (height, width) = attrs.crop_size, x.shape[2:]
    result = np.full((len(boxes), x.shape[1], oh, ow), attrs.extrapolation_value)
    for k, i, j in np.ndindex(len(boxes), oh, ow):
        y1, x1, y2, x2 = np.asarray(boxes[k], np.float32)
        y, z = _crop_position(i, oh, height, y1, y2), _crop_position(j, ow, width, x1, x2)
        if not (0 <= y <= height - 1 and 0 <= z <= width - 1):
            continue
        image = x[int(indices[k])]
        if attrs.method == "nearest_neighbor":
            result[k, :, i, j] = image[:, math.floor(y + 0.5), math.floor(z + 0.5)]
        else:
            result[k, :, i, j] = sample(image, y, z)
    return to_layout(result, "NCHW", attrs.layout)


@definition_of("image.dilation2d")
def dilation2d(attrs: Any, x: Any, w: Any) -> Any:
    """Define `image.dilation2d`."""
    x, w = to_layout(x, attrs.data_layout, "NCHW"), to_layout(w, attrs.kernel_layout, "IHW")
    sides, (sh, sw), (dh, dw) = pad_widths(attrs.padding, 2), attrs.strides, attrs.dilations
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[1:], (dh, dw), strict=True)]
    counts = [(n + sum(p) - r) // s + 1 for n, p, r, s in zip(x.shape[2:], sides, extents, (sh, sw), strict=True)]
    result = np.zeros((*x.shape[:2], *counts), x.dtype)
    x = np.pad(x, [(0, 0), (0, 0), *sides])
    for n, c, i, j in np.ndindex(*result.shape):
        taps = []
        for a, b in np.ndindex(*w.shape[1:]):
            y, z = i * sh + a * dh, j * sw + b * dw
            taps.append(
                elementwise(lambda u, v: u + v, x[n, c, y, z], w[c, a, b]) if is_int(x) else x[n, c, y, z] + w[c, a, b]
            )
        result[n, c, i, j] = np.max(np.array(taps))
    return to_layout(result, "NCHW", attrs.data_layout)


@definition_of("image.affine_grid")
def affine_grid(attrs: Any, theta: Any) -> Array:
    """Define `image.affine_grid`."""
    rows, columns = attrs.target_shape
    result = np.zeros((len(theta), 2, rows, columns))
    for i, j in np.ndindex(rows, columns):
        result[:, :, i, j] = as_float64(theta) @ np.array([-1 + 2 * j / (columns - 1), -1 + 2 * i / (rows - 1), 1])
    return result


@definition_of("image.grid_sample")
def grid_sample(attrs: Any, x: Any, grid: Any) -> Array:
    """Define `image.grid_sample`."""
    result = np.zeros((*x.shape[:2], *grid.shape[2:]))
    rank = x.ndim - 2
    for n, *at in np.ndindex(len(x), *grid.shape[2:]):
        point = []
        for d in reversed(range(rank)):  # the grid has x before y
            g, length = float(as_float64(grid)[(n, d, *at)]), x.shape[2:][rank - 1 - d]
            point.append((g + 1) / 2 * (length - 1) if attrs.align_corners else ((g + 1) * length - 1) / 2)
        if not all(map(math.isfinite, point)):
            result[(n, slice(None), *at)] = np.nan
            continue
        color = grid_value(as_float64(x)[n], tuple(point), attrs.method, attrs.padding_mode, attrs.align_corners)
        result[(n, slice(None), *at)] = color
    return result
