"""Cutting boxes out of images: `image.crop_and_resize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dtype, integers, number, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.layout_names import conversion, forward_shape
from passlab.op.nn import sampling, sampling_gradients
from passlab.op.nn.accumulation import cast_result, result_dtype
from passlab.op.nn.resample import Scheme, taps, widen
from passlab.op.nn.window_sizes import check_lengths, check_positive
from passlab.op.relations import refuse, tensor


def _crop_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, boxes, indices = (tensor(types, i, name) for i, name in enumerate(("data", "boxes", "box_indices")))
    if data is None or boxes is None or indices is None:
        return None
    if attrs.crop_size is None:
        refuse("image.crop_and_resize needs a crop_size")
    check_lengths(2, crop_size=attrs.crop_size)
    check_positive(crop_size=attrs.crop_size)
    if len(boxes.shape) != 2 or boxes.shape[1] not in (4, ANY):
        refuse("image.crop_and_resize: a box is four numbers (y1, x1, y2, x2)", 1, expected="(boxes, 4)", found=boxes)
    if len(indices.shape) != 1 or "int" not in indices.dtype:
        refuse("image.crop_and_resize: box_indices must be a vector of integers", 2, found=indices)
    nchw = conversion(attrs.layout, "NCHW", "layout")
    channels = forward_shape(nchw, data.shape, "data", 0)[1]
    return TensorType(nchw.backward_shape((boxes.shape[0], channels, *attrs.crop_size)), attrs.out_dtype or data.dtype)


@operator(
    "image.crop_and_resize",
    ("data", "boxes", "box_indices"),
    attrs=attrs(
        "CropAndResizeAttrs",
        integers("crop_size", None, "height and width of the crops"),
        text("layout", "NCHW", "layout of data and result"),
        text("method", "bilinear", "how elements are mixed", choices=("bilinear", "nearest_neighbor")),
        number("extrapolation_value", 0.0, "the value of elements outside the image"),
        dtype("out_dtype", "", "dtype of the result"),
    ),
    relation=_crop_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python(
        "data, boxes, box_indices, crop_size, layout, method='bilinear', extrapolation_value=0.0, out_dtype=None"
    ),
    gradient=sampling_gradients.crop_and_resize,
    shapes="data (N, C, H, W), boxes (n, 4), box_indices (n) -> (n, C, crop_size)",
    source="TensorFlow's crop_and_resize",
    edge_cases=(
        (
            "image.crop_and_resize(%x: (2, 1, 3, 4), %boxes: (2, 4) float32 = [[0, 0, 1, 1], [0.2, 0.1, 0.7, 1.5]], "
            "%indices: (2) int32 = [1, 0], crop_size=[2, 3])"
        ),
        (
            "image.crop_and_resize(%x: (1, 3, 4, 2), %b: (1, 4) float32 = [[0, 0, 1, 1]], %i: (1) int32 = [0], "
            'crop_size=[2, 2], layout="NHWC", method="nearest_neighbor")'
        ),
        (
            # in float32, the last row is read behind the last one of the image
            "image.crop_and_resize(%x: (1, 224, 1, 1), %b: (1, 4) float32 = [[0.2, 0, 1, 1]], %i: (1) int32 = [0], "
            'crop_size=[20, 1], layout="NHWC")'
        ),
    ),
    layout=layout_rules.OneLayout(ends=True),
)
def crop_and_resize(attrs: Attrs, data: Array, boxes: Array, box_indices: Array, *, out: Array | None = None) -> Array:
    """Cut boxes (in units of the image's size) out of images, and resize each."""
    to_nhwc = conversion(attrs.layout, "NHWC", "layout")
    images, dtype = to_nhwc.forward(data), result_dtype(attrs.out_dtype, data.dtype)
    sampling.check_batch("image.crop_and_resize", box_indices, len(images))
    height, width = attrs.crop_size
    crops = np.empty((len(boxes), height, width, images.shape[3]), dtype)
    if 4 * crops[..., 0].size > images[..., 0].size:
        # reading pixels is several times faster when their channels are contiguous
        images = np.ascontiguousarray(images)
    corners = boxes.astype(np.float32)
    rows = _crop_positions(corners[:, 0], corners[:, 2], images.shape[1], height)
    columns = _crop_positions(corners[:, 1], corners[:, 3], images.shape[2], width)
    step = max(1, _ELEMENTS_PER_STEP // max(crops[0].size, 1)) if len(boxes) else 1
    for first in range(0, len(boxes), step):
        batch = slice(first, first + step)
        crops[batch] = _crop(images, box_indices[batch].astype(np.int64), rows[batch], columns[batch], attrs)
    return cast_result(np.ascontiguousarray(to_nhwc.backward(crops)), dtype, out)


_ELEMENTS_PER_STEP = 1 << 22  # elements of crops computed in one step, so that intermediate arrays stay small


def _crop_positions(start: Array, end: Array, length: int, count: int) -> Array:
    """Return the position of each crop's elements on one axis of the images: (boxes, count)."""
    extent, start, end = np.float32(length - 1), start[:, None], end[:, None]
    if count == 1:  # the one element is in the middle
        return np.float32(0.5) * (start + end) * extent
    return start * extent + (end - start) * extent / np.float32(count - 1) * np.arange(count, dtype=np.float32)


def _crop(images: Array, indices: Array, rows: Any, columns: Any, attrs: Attrs) -> Array:
    """Return crops (boxes, height, width, channels) of images of the same layout, read at `rows` and `columns`."""
    scheme = Scheme(
        "linear" if attrs.method == "bilinear" else attrs.method,
        "tf_crop_and_resize",
        "round",
        fill=attrs.extrapolation_value,
    )
    batch = indices[:, None, None]
    crops: Array | None = None
    for y, row_weight in taps(scheme, images.shape[1], rows):
        row: Array | None = None
        for x, column_weight in taps(scheme, images.shape[2], columns):
            pixel: Array = images[batch, y[:, :, None], x[:, None, :]]
            if column_weight is not None:
                pixel = widen(pixel) * column_weight[:, None, :, None]
            row = pixel if row is None else row + pixel
        row = row if row_weight is None else row * row_weight[:, :, None, None]
        crops = row if crops is None else crops + row
    assert crops is not None
    outside = [(p < 0) | (p > size - 1) for p, size in ((rows, images.shape[1]), (columns, images.shape[2]))]
    crops[outside[0][:, :, None] | outside[1][:, None, :]] = scheme.fill
    return crops
