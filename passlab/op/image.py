"""Operators on images besides resizing: grids of positions, sampling at them, and morphological dilation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op.declare import call, operator
from passlab.op.dtypes import Array, array_dtype, is_float
from passlab.op.fields import attrs, boolean, dims, dtype, integers, text
from passlab.op.nn.layouts import conversion, forward_shape
from passlab.op.nn.resample import cubic_weights
from passlab.op.nn.windows import check_lengths, check_positive, full_padding, per_axis, split_padding, window_size
from passlab.op.relations import join_dim, refuse, same_dtype, tensor


# ---------------------------------------------------------------- affine_grid
def _affine_type(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    if len(data.shape) != 3 or join_dim(data.shape[1], 2) is None or join_dim(data.shape[2], 3) is None:
        refuse("the data must be affine matrices", 0, expected="Tensor[(batch, 2, 3), ...]", found=data)
    if len(attrs.target_shape) != 2:
        refuse("target_shape must be two numbers: height and width", found=list(attrs.target_shape))
    return TensorType((data.shape[0], 2, *attrs.target_shape), data.dtype)


def _affine_face(data: Any, target_shape: Any = None) -> Call:
    """The positions that affine maps give the elements of an image of `target_shape`."""
    return call("image.affine_grid", data, target_shape=target_shape)


@operator(
    "image.affine_grid", ("data",),
    attrs=attrs("AffineGridAttrs", dims("target_shape", doc="height and width of the grid")),
    relation=_affine_type, pattern=OpPattern.INJECTIVE, level=5, out=False, warns=True, face=_affine_face,
    example="image.affine_grid(%affine, target_shape=[2, 2])",
)  # fmt: skip
def affine_grid(attrs: Any, data: Array) -> Array:
    """For each element of an image, spread over [-1, 1], its position (x, y) after an affine map."""
    height, width = attrs.target_shape
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.ones(height * width)]).astype(data.dtype)
    return np.asarray(np.matmul(data, points)).reshape(data.shape[0], 2, height, width)


# ---------------------------------------------------------------- grid_sample
_RANKS = {"NCHW": 2, "NCDHW": 3}
_CUBIC = -0.75  # the coefficient that PyTorch uses


def _sample_type(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    data, grid = tensor(types, 0, "data"), tensor(types, 1, "grid")
    if data is None or grid is None:
        return None
    rank = _RANKS[attrs.layout]
    for index, ty in enumerate((data, grid)):
        if len(ty.shape) != rank + 2:
            refuse(f"{attrs.layout} has {rank + 2} dimensions", index, found=ty)
    if join_dim(grid.shape[1], rank) is None:
        refuse(f"a position has {rank} coordinates", 1, expected=rank, found=grid.shape[1])
    if rank == 3 and attrs.method == "bicubic":
        refuse("bicubic interpolation works in two dimensions")
    if join_dim(data.shape[0], grid.shape[0]) is None:
        refuse("data and grid have different batches", 1, expected=data.shape[0], found=grid.shape[0])
    return TensorType((*data.shape[:2], *grid.shape[2:]), data.dtype)


def _sample_face(
    data: Any, grid: Any, method: str = "bilinear", layout: str = "NCHW", padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Call:  # fmt: skip
    """`data` read at the positions of `grid`, in [-1, 1]."""
    facts = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return call("image.grid_sample", data, grid, **facts)


def _pixel(place: Array, size: int, attrs: Any) -> Array:
    """Return positions in [-1, 1] as positions among `size` elements."""
    return (place + 1) * (size - 1) / 2 if attrs.align_corners else ((place + 1) * size - 1) / 2


def _fold(place: Array, size: int, attrs: Any) -> Array:
    """Bring positions into the data as the padding mode says: to the border, or mirrored at it."""
    if attrs.padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if attrs.align_corners else (-0.5, size - 0.5)
        span = high - low
        if span <= 0:
            return np.zeros_like(place)
        away = np.abs(place - low)
        turns = np.floor(away / span)
        rest = away - turns * span
        place = np.where(turns % 2 == 0, rest + low, high - rest)
    return np.clip(place, 0, size - 1) if attrs.padding_mode != "zeros" else place


def _at(data: Array, index: Sequence[Array]) -> Array:
    """Return the elements of `data` (batch, channels, ...) at integer positions (batch, ...), zero outside."""
    inside = np.ones(index[0].shape, bool)
    safe = []
    for axis, part in enumerate(index):
        size = data.shape[2 + axis]
        inside &= (part >= 0) & (part < size)
        safe.append(np.clip(part, 0, size - 1))
    batch = np.arange(data.shape[0]).reshape([-1] + [1] * (index[0].ndim - 1))
    places: tuple[Any, ...] = (batch, slice(None), *safe)
    picked = np.moveaxis(data[places], -1, 1)  # the index axes come first
    return np.asarray(np.where(inside[:, None], picked, data.dtype.type(0)))


def _taps(place: Array, size: int, attrs: Any) -> list[tuple[Array, Array]]:
    """Return (index, weight) of the elements along one axis that a position is mixed from."""
    if attrs.method == "nearest":
        return [(np.rint(_fold(place, size, attrs)).astype(np.int64), np.ones_like(place))]
    if attrs.method == "bilinear":
        place = _fold(place, size, attrs)
    low = np.floor(place)
    part, index = place - low, low.astype(np.int64)
    if attrs.method == "bilinear":
        return [(index, 1 - part), (index + 1, part)]
    weights = cubic_weights(part, _CUBIC)
    return [(_fold(low - 1 + i, size, attrs).astype(np.int64), weight) for i, weight in enumerate(weights)]


@operator(
    "image.grid_sample", ("data", "grid"),
    attrs=attrs(
        "GridSampleAttrs",
        text("method", "bilinear", doc="how elements are mixed", choices=("nearest", "bilinear", "bicubic")),
        text("layout", "NCHW", doc="the layout of data and result", choices=("NCHW", "NCDHW")),
        text("padding_mode", "zeros", doc="what stands outside the data", choices=("zeros", "border", "reflection")),
        boolean("align_corners", True, doc="whether -1 and 1 are the centers of the corners, or their edges"),
    ),
    relation=_sample_type, pattern=OpPattern.INJECTIVE, level=5, out=False, warns=True, face=_sample_face,
    example="image.grid_sample(%im2, %grid)",
)  # fmt: skip
def grid_sample(attrs: Any, data: Array, grid: Array) -> Array:
    """Read images at positions (x, y[, z]) in [-1, 1], mixing neighbours."""
    rank = _RANKS[attrs.layout]
    wide = grid.astype(np.float32) if not is_float(grid.dtype) or grid.dtype.itemsize < 4 else grid
    axes = []
    for axis in range(rank):
        size = data.shape[2 + axis]
        axes.append(_taps(_pixel(wide[:, rank - 1 - axis], size, attrs), size, attrs))
    made = np.zeros((*data.shape[:2], *grid.shape[2:]), np.result_type(wide.dtype, data.dtype, np.float32))
    for taps in itertools.product(*axes):
        weight: Any = 1
        for _, part in taps:
            weight = weight * part
        made += _at(data, [index for index, _ in taps]) * weight[:, None]
    return made.astype(data.dtype, copy=False)


# ---------------------------------------------------------------- dilation2d
def _dilation_ways(attrs: Any) -> tuple[Any, Any]:
    return conversion(attrs.data_layout, "NCHW", "data_layout"), conversion(attrs.kernel_layout, "IHW", "kernel_layout")


def _dilation_type(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
    if data is None or weight is None:
        return None
    same_dtype(data, weight)
    check_lengths(2, strides=attrs.strides, dilations=attrs.dilations)
    check_positive(strides=attrs.strides, dilations=attrs.dilations)
    data_way, kernel_way = _dilation_ways(attrs)
    batch, channels, *sizes = forward_shape(data_way, data.shape, "data", 0)
    planes, *windows = forward_shape(kernel_way, weight.shape, "weight", 1)
    if join_dim(channels, planes) is None:
        refuse("the weight has another number of channels than the data", 1, expected=channels, found=planes)
    before, after = split_padding(attrs.padding, 2)
    spatial = [
        window_size(sizes[i], windows[i], attrs.strides[i], before[i], after[i], attrs.dilations[i], axis=i)
        for i in range(2)
    ]
    return TensorType(data_way.backward_shape((batch, channels, *spatial)), attrs.out_dtype or data.dtype)


def _dilation_face(
    data: Any, weight: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilations: Any = (1, 1),
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW", out_dtype: str = "",
) -> Call:  # fmt: skip
    """The largest sums of windows of `data` and `weight`."""
    return call(
        "image.dilation2d", data, weight, strides=per_axis(strides, 2), padding=full_padding(padding, 2),
        dilations=per_axis(dilations, 2), data_layout=data_layout, kernel_layout=kernel_layout, out_dtype=out_dtype,
    )  # fmt: skip


@operator(
    "image.dilation2d", ("data", "weight"),
    attrs=attrs(
        "Dilation2DAttrs",
        integers("strides", (1, 1), doc="how far apart windows start"),
        integers("padding", (0, 0), doc="zeros around the data: two or four widths"),
        integers("dilations", (1, 1), doc="how far apart the elements of a window lie"),
        text("data_layout", "NCHW", doc="the layout of data and result"),
        text("kernel_layout", "IHW", doc="the layout of the weight"),
        dtype("out_dtype", "", doc="the dtype of the result, that of the data when left out"),
    ),
    relation=_dilation_type, pattern=OpPattern.OUT_ELEMWISE_FUSABLE, level=2, out=False, warns=True,
    face=_dilation_face,
    example="image.dilation2d(%im2, %mask)",
)  # fmt: skip
def dilation2d(attrs: Any, data: Array, weight: Array) -> Array:
    """Grayscale dilation: the largest sum of an element and its weight in each window."""
    data_way, kernel_way = _dilation_ways(attrs)
    before, after = split_padding(attrs.padding, 2)
    plain, mask = data_way.forward(data), kernel_way.forward(weight)
    padded = np.pad(plain, [(0, 0), (0, 0), *zip(before, after, strict=True)])
    height, width = mask.shape[1:]
    steps, gaps = attrs.strides, attrs.dilations
    rows = (padded.shape[2] - (height - 1) * gaps[0] - 1) // steps[0] + 1
    columns = (padded.shape[3] - (width - 1) * gaps[1] - 1) // steps[1] + 1
    made: Array | None = None
    for y, x in itertools.product(range(height), range(width)):
        top, left = y * gaps[0], x * gaps[1]
        window = padded[:, :, top : top + rows * steps[0] : steps[0], left : left + columns * steps[1] : steps[1]]
        term = window[:, :, :rows, :columns] + mask[:, y, x][:, None, None]
        made = term if made is None else np.maximum(made, term)
    wanted = array_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    return np.asarray(data_way.backward(made)).astype(wanted, copy=False)
