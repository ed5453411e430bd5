"""Gradients of operators that interpolate between pixels, as selections, weights and products.

A sample is a weighted sum of its neighbours; the weights have a gradient, the choice of neighbours has none. If the
positions of a box form a grid, interpolation is a product with a matrix of hat functions along each axis: the weight of
an element is one minus its distance from the position.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial, reduce

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Tuple
from passlab.ir.op import OpCall
from passlab.op.along_axis import indices, number, part, reshape_to, to_layout
from passlab.op.autodiff import attrs_of, by_definition, dtype_of, infer_types, sizes_of
from passlab.op.declare import call
from passlab.op.relations import refuse


def _clip_to(expr: Expr, low: float, high: float) -> Expr:
    return call("clip", expr, a_min=float(low), a_max=float(high))


def _cast(expr: Expr, before: str, after: str) -> Expr:
    """Return an expression of one dtype in another."""
    return expr if before == after else call("cast", expr, dtype=after)


class _SampledImages:
    """Images (N, C, *S) sampled at positions, each (N, P) along one axis; the samples are (N, C, P)."""

    def __init__(self, data: Expr, shape: Sequence[int], dtype: str) -> None:
        self.batch, self.channels, *self.size = shape
        self.dtype = dtype
        self._flat = reshape_to(data, (self.batch, self.channels, int(np.prod(self.size))))

    def number(self, value: float) -> Expr:
        """Return a number in the dtype of the image."""
        return number(value, self.dtype)

    def pixels_at(self, positions: Sequence[Expr], count: int, outside: str) -> Expr:
        """Return the pixels at integer positions: beyond the border zero ("zeros") or the nearest one ("border")."""
        index: Expr = indices(0)
        inside: Expr = self.number(1)
        for position, size in zip(positions, self.size, strict=True):
            clipped = call("cast", _clip_to(position, 0, size - 1), dtype="int64")
            index = index * indices(size) + clipped
            if outside == "zeros":
                low = call("greater_equal", position, self.number(0))
                inside = inside * call("cast", low, dtype=self.dtype)
                inside = inside * call("cast", call("less", position, self.number(size)), dtype=self.dtype)
        shape = (self.batch, self.channels, count)
        positions_in_image = call("broadcast_to", call("expand_dims", index, axis=1), shape=shape)
        samples = call("gather", self._flat, positions_in_image, axis=2)
        return samples * call("expand_dims", inside, axis=1) if outside == "zeros" else samples

    def weighted_sum(self, taps: Sequence[Sequence[tuple[Expr, Expr]]], count: int, outside: str) -> Expr:
        """Return the sum over the pixels at (position, weight), one of each axis, times the product of the weights."""
        terms = []
        for corner in itertools.product(*taps):
            weight = reduce(lambda a, b: a * b, [w for _, w in corner])
            terms.append(self.pixels_at([p for p, _ in corner], count, outside) * call("expand_dims", weight, axis=1))
        return reduce(lambda a, b: a + b, terms)

    def linear(self, positions: Sequence[Expr], count: int, outside: str) -> Expr:
        """Return samples interpolated between the two nearest pixels along each axis."""
        taps = []
        for position in positions:
            low = call("floor", position)
            fraction = position - low
            one = self.number(1)
            taps.append([(low, one - fraction), (low + one, fraction)])
        return self.weighted_sum(taps, count, outside)


# ---------------------------------------------------------------- grid_sample
def _reflect(image: _SampledImages, position: Expr, size: int, aligned: bool) -> Expr:
    """Return a position reflected at the borders until it is inside."""
    start, span = (0.0, size - 1) if aligned else (-0.5, size)
    if span <= 0:
        return call("zeros_like", position)
    distance = call("abs", position - image.number(start))
    times = call("floor", distance / image.number(span))
    extra = distance - times * image.number(span)
    even = call("equal", call("floor_mod", times, image.number(2)), image.number(0))
    reflected = call("where", even, extra, image.number(span) - extra) + image.number(start)
    return _clip_to(reflected, 0, size - 1)


def _cubic_taps(image: _SampledImages, position: Expr, size: int, mode: str, aligned: bool) -> list[tuple[Expr, Expr]]:
    """Return the four neighbours of a position and their weights (Keys, 1981, with the coefficient of grid_sample)."""
    a = -0.75
    low = call("floor", position)

    def polynomial(t: Expr, *coefficients: float) -> Expr:
        return reduce(lambda total, c: total * t + image.number(c), coefficients[1:], image.number(coefficients[0]))

    def near(t: Expr) -> Expr:
        return polynomial(t, a + 2, -(a + 3), 0, 1)

    def far(t: Expr) -> Expr:
        return polynomial(t, a, -5 * a, 8 * a, -4 * a)

    fraction, one = position - low, image.number(1)
    weights = (far(fraction + one), near(fraction), near(one - fraction), far(one - fraction + one))
    neighbours = [low + image.number(i - 1) for i in range(4)]
    if mode == "reflection":
        neighbours = [call("trunc", _reflect(image, neighbour, size, aligned)) for neighbour in neighbours]
    return list(zip(neighbours, weights, strict=True))


def _define_grid_sample(attrs: Attrs, data: Expr, grid: Expr) -> Expr:
    shape, dtype = sizes_of(data, "image.grid_sample"), dtype_of(data)
    size, result = shape[2:], sizes_of(grid, "image.grid_sample")[2:]
    count, aligned, mode = int(np.prod(result)), attrs.align_corners, attrs.padding_mode
    image = _SampledImages(data, shape, dtype)
    cast_grid = _cast(grid, dtype_of(grid), dtype)
    positions = []
    for axis, length in enumerate(size):
        at = len(size) - 1 - axis
        pos: Expr = reshape_to(part(cast_grid, 1, at, at + 1), (shape[0], count)) + image.number(1)
        pos = pos * image.number((length - 1) / 2) if aligned else pos * image.number(length / 2) - image.number(0.5)
        if attrs.method != "bicubic" and mode == "reflection":
            pos = _reflect(image, pos, length, aligned)
        elif attrs.method != "bicubic" and mode == "border":
            pos = _clip_to(pos, 0, length - 1)
        positions.append(pos)
    if attrs.method == "bicubic":
        taps = [_cubic_taps(image, p, n, mode, aligned) for p, n in zip(positions, size, strict=True)]
        samples = image.weighted_sum(taps, count, "zeros" if mode == "zeros" else "border")
    elif attrs.method == "nearest":
        samples = image.pixels_at([_round_half_to_even(image, position) for position in positions], count, "zeros")
    else:
        samples = image.linear(positions, count, "zeros")
    return reshape_to(samples, (*shape[:2], *result))


def _round_half_to_even(image: _SampledImages, position: Expr) -> Expr:
    """Return the nearest integer position, of two equally near ones the even one."""
    above = position + image.number(0.5)
    whole = call("floor", above)
    is_half = call("cast", call("equal", above, whole), dtype=image.dtype)
    is_odd = whole - call("floor", whole * image.number(0.5)) * image.number(2)
    return whole - is_half * is_odd


grid_sample = by_definition(_define_grid_sample)


# ---------------------------------------------------------------- deformable_conv2d
def _define_deformable_conv2d(attrs: Attrs, data: Expr, offset: Expr, weight: Expr) -> Expr:
    """Define `nn.deformable_conv2d`: patches read at positions moved by the offsets, times the weight."""
    x, offsets = (to_layout(e, attrs.data_layout, "NCHW") for e in (data, offset))
    w, dtype = to_layout(weight, attrs.kernel_layout, "OIHW"), dtype_of(data)
    n, c, *size = sizes_of(infer_types(x), "nn.deformable_conv2d")
    o, _, kh, kw = sizes_of(infer_types(w), "nn.deformable_conv2d")
    height, width = sizes_of(infer_types(offsets), "nn.deformable_conv2d")[2:]
    groups, taps, positions = attrs.deformable_groups, kh * kw, height * width
    image = _SampledImages(x, (n * groups, c // groups, *size), dtype)
    offsets = reshape_to(offsets, (n * groups, taps, 2, positions))
    before = (attrs.padding * 2 if len(attrs.padding) < 4 else attrs.padding)[:2]
    rows, columns = np.indices((height, width)).reshape(2, 1, -1)
    tap_rows, tap_columns = np.indices((kh, kw)).reshape(2, -1, 1)
    tap_positions = (
        rows * attrs.strides[0] - before[0] + tap_rows * attrs.dilation[0],
        columns * attrs.strides[1] - before[1] + tap_columns * attrs.dilation[1],
    )
    coordinates, inside = [], image.number(1)
    for axis in range(2):
        pos: Expr = call("squeeze", part(offsets, 2, axis, axis + 1), axis=[2]) + number(tap_positions[axis], dtype)
        flat = reshape_to(pos, (n * groups, taps * positions))
        for test in (call("greater_equal", flat, image.number(0)), call("less", flat, image.number(size[axis]))):
            inside = inside * call("cast", test, dtype=dtype)
        coordinates.append(flat)
    samples = image.linear(coordinates, taps * positions, "zeros") * call("expand_dims", inside, axis=1)
    columns_of = reshape_to(samples, (n, attrs.groups, c // attrs.groups * taps, positions))
    matrix = reshape_to(w, (1, attrs.groups, o // attrs.groups, c // attrs.groups * taps))
    output = call("einsum", Tuple([call("squeeze", matrix, axis=[0]), columns_of]), equation="gok,ngkp->ngop")
    result = to_layout(reshape_to(output, (n, o, height, width)), "NCHW", attrs.out_layout or attrs.data_layout)
    return call("cast", result, dtype=attrs.out_dtype) if attrs.out_dtype not in ("", dtype) else result


deformable_conv2d = by_definition(_define_deformable_conv2d)


# ---------------------------------------------------------------- boxes
def _linear_weights(positions: Expr, size: int, dtype: str) -> Expr:
    """Return the linear weight of each of `size` pixels for positions (..., P) inside the image: (..., P, size)."""
    distance = call("abs", call("expand_dims", positions, axis=-1) - number(np.arange(size), dtype))
    return call("nn.relu", number(1, dtype) - distance)


def _inside(positions: Expr, low: float, high: float, dtype: str) -> Expr:
    """Return one where a position is between `low` and `high`, else zero, with a new last axis."""
    above, below = (
        call("greater_equal", positions, number(low, dtype)),
        call("less_equal", positions, number(high, dtype)),
    )
    return call("expand_dims", call("cast", call("logical_and", above, below), dtype=dtype), axis=-1)


def _matmul_on_both_axes(images: Expr, shape: Sequence[int], matrices: Sequence[Expr], counts: Sequence[int]) -> Expr:
    """Return images (n, C, H, W) times a matrix for their rows (n, h, H) and one for their columns (n, w, W)."""
    rows, columns = matrices
    n, c, height, width = shape
    by_columns = call("nn.batch_matmul", reshape_to(images, (n, c * height, width)), columns, transpose_b=True)
    transposed = call("transpose", reshape_to(by_columns, (n, c, height, counts[1])), axes=[0, 1, 3, 2])
    result = call("nn.batch_matmul", reshape_to(transposed, (n, c * counts[1], height)), rows, transpose_b=True)
    return call("transpose", reshape_to(result, (n, c, counts[1], counts[0])), axes=[0, 1, 3, 2])


def _column(boxes: Expr, index: int) -> Expr:
    """Return one number of each box, with shape (n, 1)."""
    return part(boxes, 1, index, index + 1)


def _crop_positions(boxes: Expr, axis: int, length: int, count: int) -> Expr:
    """Return where each crop is read on one axis of the image: (n, count), in float32 and the order of the kernel.

    Rounding decides whether the last position is outside.
    """
    corners = _cast(boxes, dtype_of(boxes), "float32")
    start, end, extent = _column(corners, axis), _column(corners, axis + 2), number(length - 1, "float32")
    if count == 1:
        return number(0.5, "float32") * (start + end) * extent
    elements, steps = number(np.arange(count)[None], "float32"), number(count - 1, "float32")
    return start * extent + (end - start) * extent / steps * elements


def _define_crop_and_resize(attrs: Attrs, data: Expr, boxes: Expr, box_indices: Expr) -> Expr:
    """Define `image.crop_and_resize`: boxes resized by a product along each axis; pixels outside have no gradient."""
    x, dtype = infer_types(to_layout(data, attrs.layout, "NCHW")), dtype_of(data)
    _, c, *size = sizes_of(x, "image.crop_and_resize")
    n, counts = sizes_of(boxes, "image.crop_and_resize")[0], attrs.crop_size
    matrices = []
    for axis, (length, count) in enumerate(zip(size, counts, strict=True)):
        exact = _crop_positions(boxes, axis, length, count)
        positions, inside = (
            _cast(value, "float32", dtype) for value in (exact, _inside(exact, 0, length - 1, "float32"))
        )
        if attrs.method == "bilinear":
            samples = _linear_weights(positions, length, dtype)
        else:
            nearest = call("floor", positions + number(0.5, dtype))
            pixels = number(np.arange(length), dtype)
            samples = call("cast", call("equal", call("expand_dims", nearest, axis=-1), pixels), dtype=dtype)
        matrices.append(samples * inside)
    images = call("take", x, box_indices, axis=0, mode="fast")
    result = to_layout(_matmul_on_both_axes(images, (n, c, *size), matrices, counts), "NCHW", attrs.layout)
    return call("cast", result, dtype=attrs.out_dtype) if attrs.out_dtype not in ("", dtype) else result


crop_and_resize = by_definition(_define_crop_and_resize)


def _define_roi_align(is_exact: bool, attrs: Attrs, data: Expr, rois: Expr) -> Expr:
    """Define `vision.roi_align`, or the exact one: regions sampled at points of each bin, then mean or maximum.

    For the mode `max_weighted`, the pixels before and after a sample have matrices of their own on both axes.
    """
    x, dtype = infer_types(to_layout(data, attrs.layout, "NCHW")), dtype_of(data)
    _, c, *size = sizes_of(x, "vision.roi_align")
    n, samples, pooled = sizes_of(rois, "vision.roi_align")[0], attrs.sample_ratio, attrs.pooled_size
    batch = call("cast", reshape_to(_column(rois, 0), (n,)), dtype="int64")
    boxes = _cast(rois, dtype_of(rois), dtype) * number(attrs.spatial_scale, dtype)
    matrices = []
    for axis, (length, count) in enumerate(zip(size, pooled, strict=True)):
        start, end = _column(boxes, 2 - axis), _column(boxes, 4 - axis)
        sizes = end - start if is_exact else call("maximum", end - start, number(1, dtype))
        start = start - number(0.5, dtype) if is_exact else start
        bins = sizes / number(count, dtype)
        steps = (np.arange(count)[:, None] + (np.arange(samples) + 0.5) / samples).reshape(1, -1)
        positions = start + bins * number(steps, dtype)
        clipped, inside = _clip_to(positions, 0, length - 1), _inside(positions, -1, length, dtype)
        weights = _linear_weights(clipped, length, dtype) * inside
        if attrs.mode == "max_weighted":
            number_of = call("expand_dims", call("floor", clipped), axis=-1)
            is_first = call("cast", call("equal", number_of, number(np.arange(length), dtype)), dtype=dtype)
            matrices.append([weights * is_first, weights * (number(1, dtype) - is_first)])
        else:
            matrices.append([weights])
    images = call("take", x, batch, axis=0, mode="fast")
    counts = [count * samples for count in pooled]
    parts = [_matmul_on_both_axes(images, (n, c, *size), pair, counts) for pair in itertools.product(*matrices)]
    sampled = reduce(lambda a, b: call("maximum", a, b), parts)
    grid = reshape_to(sampled, (n, c, pooled[0], samples, pooled[1], samples))
    result = call("mean" if attrs.mode == "avg" else "max", grid, axis=[3, 5])
    return to_layout(result, "NCHW", attrs.layout)


_ROI_ALIGN_GRADIENTS = {
    "vision.roi_align": by_definition(partial(_define_roi_align, False)),
    "contrib.roi_align": by_definition(partial(_define_roi_align, True)),
}


def roi_align(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of a region's samples. Raises `RelationError` if their number depends on the region."""
    if attrs_of(orig).sample_ratio < 1:
        refuse(
            f"{orig.op.name} has no gradient where each region has as many samples as it has pixels",
            hint="give a sample_ratio, such as 2",
        )
    return _ROI_ALIGN_GRADIENTS[orig.op.name](orig, grad)
