"""Image operators: resizing, regions and samples. Each uses the definition of passlab's operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab import relay
from passlab.compat.topi.testing.meaning import meaning
from passlab.op.dtypes import Array
from passlab.relay import image, nn, vision


# ------------------------------------------------------------ sizes
def _resize(resize: Any, data: Any, scale: Sequence[float], layout: str, method: str, coordinates: str) -> Array:
    axes = [layout.index(axis) for axis in "DHW" if axis in layout]
    size = [round(data.shape[axis] * factor) for axis, factor in zip(axes, scale, strict=True)]
    rounding = "" if method != "nearest_neighbor" else "round" if coordinates == "align_corners" else "floor"
    return meaning(lambda x: resize(x, size, None, layout, method, coordinates, rounding), data)


def resize1d_python(
    data: Any,
    scale: Sequence[float],
    layout: str = "NCW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return sequences resized by `scale`."""
    return _resize(image.resize1d, data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: Any,
    scale: Sequence[float],
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return images resized by `scale`."""
    return _resize(image.resize2d, data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: Any,
    scale: Sequence[float],
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return volumes resized by `scale`."""
    return _resize(image.resize3d, data, scale, layout, method, coordinate_transformation_mode)


def upsampling_python(data: Any, scale: Sequence[float], layout: str = "NCHW") -> Array:
    """Return images with each pixel repeated."""
    return resize2d_python(data, scale, layout, "nearest_neighbor", "asymmetric")


def upsampling3d_python(data: Any, scale: Sequence[float], layout: str = "NCDHW") -> Array:
    """Return volumes with each element repeated."""
    return resize3d_python(data, scale, layout, "nearest_neighbor", "asymmetric")


def bilinear_resize_python(
    image: Any, out_size: Sequence[int], layout: str, coordinate_transformation_mode: str = "align_corners"
) -> Array:
    """Return images resized by linear interpolation."""
    resize = relay.image.resize2d
    return meaning(lambda x: resize(x, out_size, None, layout, "linear", coordinate_transformation_mode), image)


def trilinear_resize3d_python(
    data_in: Any, out_size: Sequence[int], layout: str, coordinate_transformation_mode: str = "align_corners"
) -> Array:
    """Return volumes resized by linear interpolation."""
    resize = relay.image.resize3d
    return meaning(lambda x: resize(x, out_size, None, layout, "linear", coordinate_transformation_mode), data_in)


# ------------------------------------------------------------ samples and regions
def affine_grid_python(data: Any, target_shape: Sequence[int]) -> Array:
    """Return the positions to which affine maps take a grid of pixels."""
    return meaning(lambda x: image.affine_grid(x, target_shape), data)


def grid_sample_python(
    data: Any,
    grid: Any,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Array:
    """Return the values of images at the positions of a grid."""
    return meaning(lambda x, g: image.grid_sample(x, g, method, layout, padding_mode, align_corners), data, grid)


def grid_sample_nchw_python(data: Any, grid: Any, method: str = "bilinear") -> Array:
    """Return the values of images (N, C, H, W) at the positions of a grid."""
    return grid_sample_python(data, grid, method)


def crop_and_resize_python(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Sequence[int],
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Array:
    """Return boxes of images, resized to one size."""
    crop, size = relay.image.crop_and_resize, [int(count) for count in crop_size]
    return meaning(lambda x, b, i: crop(x, b, i, size, layout, method, extrapolation_value), image, boxes, box_indices)


def roi_align_nchw_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
) -> Array:
    """Return regions of images (N, C, H, W) resized to one size, by interpolation."""
    return _align_ranks(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode, "NCHW")


def roi_align_nhwc_python(
    a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
) -> Array:
    """Return regions of images (N, H, W, C) resized to one size, by interpolation."""
    return _align_ranks(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode, "NHWC")


def _align_ranks(a_np: Any, rois_np: Any, size: Any, scale: float, ratio: int, mode: Any, layout: str) -> Array:
    how = {b"avg": "avg", 0: "avg", b"max": "max", 1: "max"}.get(mode, mode)
    return meaning(lambda x, r: vision.roi_align(x, r, size, scale, ratio, layout, how), a_np, rois_np)


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> Array:
    """Return the maxima of the bins of regions."""
    return meaning(lambda x, r: vision.roi_pool(x, r, pooled_size, spatial_scale), a_np, rois_np)


def reorg_python(a_np: Any, stride: int) -> Array:
    """Return images with pixels moved into channels, as in YOLO."""
    return meaning(lambda x: vision.yolo_reorg(x, stride), a_np)


# ------------------------------------------------------------ pixels and channels
def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Array:
    """Return images with channels moved into pixels."""
    return meaning(lambda x: nn.depth_to_space(x, block_size, "NCHW", mode), data)


def space_to_depth_python(data: Any, block_size: int) -> Array:
    """Return images with pixels moved into channels."""
    return meaning(lambda x: nn.space_to_depth(x, block_size), data)


def space_to_batch_nd_python(
    data: Any, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int], pad_value: float = 0
) -> Array:
    """Return blocks of padded data as entries of the batch."""
    paddings = list(zip(pad_before, pad_after, strict=True))
    return meaning(lambda x: nn.space_to_batch_nd(x, block_shape, paddings, pad_value), data)


def batch_to_space_nd_python(
    data: Any, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> Array:
    """Return entries of the batch as blocks of data, cropped at the borders."""
    crops = list(zip(crop_begin_list, crop_end_list, strict=True))
    return meaning(lambda x: nn.batch_to_space_nd(x, block_shape, crops), data)


# ------------------------------------------------------------ convolutions with moving windows
def correlation_nchw_python(
    data1: Any,
    data2: Any,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
) -> Array:
    """Return the correlation of patches of one image with displaced patches of another."""
    rest = (kernel_size, max_displacement, stride1, stride2, padding, is_multiply, "NCHW")
    return meaning(lambda x, y: nn.correlation(x, y, *rest), data1, data2)


def deformable_conv2d_nchw_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, deformable_groups: int, groups: int
) -> Array:
    """Return a convolution whose taps are moved by `offset_np`."""
    how = (_pair(stride), _pair(padding), _pair(dilation), deformable_groups, groups)
    return meaning(
        lambda x, o, w: nn.deformable_conv2d(x, o, w, *how, w_np.shape[0], w_np.shape[2:]), a_np, offset_np, w_np
    )


def deformable_conv2d_nhwc_python(
    a_np: Any, offset_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, deformable_groups: int, groups: int
) -> Array:
    """Return a convolution of (N, H, W, C) with (KH, KW, C, O) whose taps are moved by `offset_np`."""
    data, offset, weight = a_np.transpose(0, 3, 1, 2), offset_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1)
    how = (stride, padding, dilation, deformable_groups, groups)
    return deformable_conv2d_nchw_python(data, offset, weight, *how).transpose(0, 2, 3, 1)


def _pair(value: Any) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)
