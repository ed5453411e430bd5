"""The names of `passlab.relay.image`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import Literal, SupportsFloat, SupportsIndex

from numpy.typing import DTypeLike

from passlab.ir.expr import Call, Expr
from passlab.ir.types import Dim
from passlab.op.declare import Operand

def affine_grid(data: Operand, target_shape: Iterable[SupportsIndex] | None = None) -> Call:
    """The positions (x, y) in -1..1 to which affine matrices map the corner-aligned pixels of an image.

    Attributes:
      target_shape: height and width of the grid (list of int)
    Shapes: (N, 2, 3) -> (N, 2, H, W).
    Source: Jaderberg et al., Spatial transformer networks (2015).
    In Relay text: image.affine_grid(%theta, target_shape=[2, 3])
    """

def crop_and_resize(
    data: Operand,
    boxes: Operand,
    box_indices: Operand,
    crop_size: Iterable[SupportsIndex] | None,
    layout: str,
    method: Literal["bilinear", "nearest_neighbor"] = "bilinear",
    extrapolation_value: SupportsFloat = 0.0,
    out_dtype: DTypeLike | None = None,
) -> Call:
    """Cut boxes (in units of the image's size) out of images, and resize each.

    Attributes:
      crop_size: height and width of the crops (list of int or None)
      layout: layout of data and result (str)
      method: how elements are mixed ('bilinear' | 'nearest_neighbor')
      extrapolation_value: the value of elements outside the image (float)
      out_dtype: dtype of the result (dtype)
    Shapes: data (N, C, H, W), boxes (n, 4), box_indices (n) -> (n, C, crop_size).
    Source: TensorFlow's crop_and_resize.
    In Relay text: image.crop_and_resize(%x, %boxes, %indices, crop_size=[2, 3])
    """

def dilation2d(
    data: Operand,
    weight: Operand,
    strides: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    padding: SupportsIndex | Iterable[SupportsIndex] = (0, 0),
    dilations: SupportsIndex | Iterable[SupportsIndex] = (1, 1),
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW",
    out_dtype: DTypeLike = "",
) -> Call:
    """Greyscale dilation: the maximum over a window of data plus weight, channel by channel.

    Attributes:
      strides: steps of the window (list of int)
      padding: zeros around the data (list of int)
      dilations: distance between the taps of the window (list of int)
      data_layout: layout of data and result (str)
      kernel_layout: layout of the weight (str)
      out_dtype: dtype of the result (dtype)
    Shapes: data (N, C, H, W), weight (C, KH, KW) -> (N, C, OH, OW).
    Source: TensorFlow's dilation2d.
    In Relay text: image.dilation2d(%x, %w)
    """

def grid_sample(
    data: Operand,
    grid: Operand,
    method: Literal["bilinear", "nearest", "bicubic"] = "bilinear",
    layout: Literal["NCHW", "NCDHW"] = "NCHW",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
    align_corners: bool = True,
) -> Call:
    """Samples of images at positions (x, y[, z]) in -1..1, as in PyTorch's grid_sample.

    Attributes:
      method: how pixels are mixed ('bilinear' | 'nearest' | 'bicubic')
      layout: layout of the data ('NCHW' | 'NCDHW')
      padding_mode: the values beyond the border ('zeros' | 'border' | 'reflection')
      align_corners: whether -1 and 1 are the centres of the outer pixels, or their edges (bool)
    Shapes: data (N, C, H, W), grid (N, 2, OH, OW) -> (N, C, OH, OW).
    Source: Jaderberg et al., Spatial transformer networks (2015).
    In Relay text: image.grid_sample(%x, %grid)
    """

def resize1d(
    data: Operand,
    size: SupportsIndex | Iterable[SupportsIndex | Dim] | None,
    roi: Iterable[SupportsFloat] | None = None,
    layout: str = "NCW",
    method: Literal["nearest_neighbor", "linear", "cubic"] = "linear",
    coordinate_transformation_mode: Literal[
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"
    ] = "half_pixel",
    rounding_method: Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "",
    cubic_alpha: SupportsFloat = -0.5,
    cubic_exclude: SupportsIndex = 0,
    extrapolation_value: SupportsFloat = 0.0,
    out_dtype: DTypeLike | None = None,
) -> Call:
    """Resize along 1 spatial axis, by the coordinates of ONNX's Resize.

    Attributes:
      size: size of the result along the spatial axes (shape or None)
      roi: region to resize (all starts, then all ends), for tf_crop_and_resize (list of float or None)
      layout: layout of data and result (str)
      method: how elements are mixed ('nearest_neighbor' | 'linear' | 'cubic')
      coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
      rounding_method: which element is nearest ('' | 'round' | 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil')
      cubic_alpha: coefficient of the cubic (float)
      cubic_exclude: whether cubic interpolation ignores pixels beyond the border (int)
      extrapolation_value: the value of elements outside the data, for tf_crop_and_resize (float)
      out_dtype: dtype of the result (dtype)
    Shapes: (N, C, W) -> (N, C, size).
    Source: ONNX's Resize; Keys (1981) for cubic.
    In Relay text: image.resize1d(%x, size=[6], roi=None)
    """

def resize2d(
    data: Operand,
    size: SupportsIndex | Iterable[SupportsIndex | Dim] | Expr | None,
    roi: Iterable[SupportsFloat] | Expr | None = None,
    layout: str = "NCHW",
    method: Literal["nearest_neighbor", "linear", "cubic"] = "linear",
    coordinate_transformation_mode: Literal[
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"
    ] = "half_pixel",
    rounding_method: Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "",
    cubic_alpha: SupportsFloat = -0.5,
    cubic_exclude: SupportsIndex = 0,
    extrapolation_value: SupportsFloat = 0.0,
    out_dtype: DTypeLike | None = None,
) -> Call:
    """Resize along 2 spatial axes, by the coordinates of ONNX's Resize.

    Attributes:
      size: size of the result along the spatial axes (shape or None)
      roi: region to resize (all starts, then all ends), for tf_crop_and_resize (list of float or None)
      layout: layout of data and result (str)
      method: how elements are mixed ('nearest_neighbor' | 'linear' | 'cubic')
      coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
      rounding_method: which element is nearest ('' | 'round' | 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil')
      cubic_alpha: coefficient of the cubic (float)
      cubic_exclude: whether cubic interpolation ignores pixels beyond the border (int)
      extrapolation_value: the value of elements outside the data, for tf_crop_and_resize (float)
      out_dtype: dtype of the result (dtype)
    Shapes: (N, C, H, W) -> (N, C, size).
    Source: ONNX's Resize; Keys (1981) for cubic.
    In Relay text: image.resize2d(%x, size=[6, 7], roi=None)
    """

def resize3d(
    data: Operand,
    size: SupportsIndex | Iterable[SupportsIndex | Dim] | None,
    roi: Iterable[SupportsFloat] | None = None,
    layout: str = "NCDHW",
    method: Literal["nearest_neighbor", "linear", "cubic"] = "linear",
    coordinate_transformation_mode: Literal[
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"
    ] = "half_pixel",
    rounding_method: Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "",
    cubic_alpha: SupportsFloat = -0.5,
    cubic_exclude: SupportsIndex = 0,
    extrapolation_value: SupportsFloat = 0.0,
    out_dtype: DTypeLike | None = None,
) -> Call:
    """Resize along 3 spatial axes, by the coordinates of ONNX's Resize.

    Attributes:
      size: size of the result along the spatial axes (shape or None)
      roi: region to resize (all starts, then all ends), for tf_crop_and_resize (list of float or None)
      layout: layout of data and result (str)
      method: how elements are mixed ('nearest_neighbor' | 'linear' | 'cubic')
      coordinate_transformation_mode: where new elements lie ('half_pixel' | 'align_corners' | 'asymmetric' | 'pytorch_half_pixel' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize')
      rounding_method: which element is nearest ('' | 'round' | 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil')
      cubic_alpha: coefficient of the cubic (float)
      cubic_exclude: whether cubic interpolation ignores pixels beyond the border (int)
      extrapolation_value: the value of elements outside the data, for tf_crop_and_resize (float)
      out_dtype: dtype of the result (dtype)
    Shapes: (N, C, D, H, W) -> (N, C, size).
    Source: ONNX's Resize; Keys (1981) for cubic.
    In Relay text: image.resize3d(%x, size=[6, 7, 4], roi=None)
    """
