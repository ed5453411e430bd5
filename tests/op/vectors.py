"""Known values of operators that round, saturate, wrap, break ties or follow a formula of TVM's documentation.

Each vector is a call in Relay text whose variables `%a`, `%b`, ... are the arrays in order, and the value that the
formula gives; it was computed by hand, never by this program. `FORMULAS` holds the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

INF, NAN = np.inf, np.nan
FORMULAS = """
round            the nearest integer, halves away from zero
qnn.quantize     clamp(round(x / scale) + zero_point)
qnn.requantize   zero_point + round(in_scale / out_scale * (q - in_zero_point)); "UPWARD" moves halves to +infinity,
                 "TONEAREST" away from zero; computed in floats, the zero point is added before the sum is rounded
qnn functions    quantize(f((q - zero_point) * scale))
fixed point      (x * multiplier + 2^(30 - shift)) >> (31 - shift)
floor_divide     floor(a / b); floor_mod: a - floor(a / b) * b; divide and mod of integers: towards zero
resize           half_pixel: (i + 0.5) * in / out - 0.5; asymmetric: i * in / out; align_corners: i * (in-1) / (out-1);
                 tf_half_pixel_for_nn: (i + 0.5) * in / out; tf_crop_and_resize of the whole: align_corners; pytorch_half_pixel: half_pixel, 0 for one pixel
                 whole multiples of the size, asymmetric: i // factor, whatever the rounding
                 round_prefer_floor: ceil(x - 0.5); round_prefer_ceil: floor(x + 0.5)
"""


@dataclass(frozen=True)
class Vector:
    """A call, the arrays of its variables, and its value: an array, or a tuple of arrays."""

    call: str
    inputs: tuple[np.ndarray, ...]
    want: Any

    @property
    def name(self) -> str:
        """The operator."""
        return self.call.split("(", 1)[0]

    def __str__(self) -> str:
        return self.call


VECTORS: list[Vector] = []


def v(call: str, *arrays: Any) -> None:
    """Add a vector; the last of the arrays is the value."""
    VECTORS.append(Vector(call, arrays[:-1], arrays[-1]))


def f32(*values: Any) -> np.ndarray:
    return np.array(values, "float32")


def i8(*values: Any) -> np.ndarray:
    return np.array(values, "int8")


def u8(*values: Any) -> np.ndarray:
    return np.array(values, "uint8")


def i32(*values: Any) -> np.ndarray:
    return np.array(values, "int32")


def i64(*values: Any) -> np.ndarray:
    return np.array(values, "int64")


def bf16(*values: Any) -> np.ndarray:
    return np.array(values, ml_dtypes.bfloat16)


# ---------------------------------------------------------------- rounding of floats
BELOW_HALF = 0.49999997  # the float32 below one half: plus one half, it is 1 in float32
v("round(%a)", f32(-2.5, -1.5, -0.5, -BELOW_HALF, BELOW_HALF, 0.5, 1.5, 2.5, 8388609, INF, -INF, NAN),
  f32(-3, -2, -1, -0.0, 0, 1, 2, 3, 8388609, INF, -INF, NAN))  # fmt: skip
v("floor(%a)", f32(-1.5, -0.5, -0.0, 0.5, 1.5, INF, NAN), f32(-2, -1, -0.0, 0, 1, INF, NAN))
v("ceil(%a)", f32(-1.5, -0.5, -0.0, 0.5, 1.5, INF, NAN), f32(-1, -0.0, -0.0, 1, 2, INF, NAN))
v("trunc(%a)", f32(-1.5, -0.5, -0.0, 0.5, 1.5, INF, NAN), f32(-1, -0.0, -0.0, 0, 1, INF, NAN))
v("sign(%a)", f32(-2, -0.0, 0, 3, INF), f32(-1, 0, 0, 1, 1))
v("erf(%a)", f32(0, -0.0, INF, -INF, NAN, 1), f32(0, -0.0, 1, -1, NAN, 0.8427008))
# ---------------------------------------------------------------- casts
v('cast(%a, dtype="int32")', f32(-2.9, -0.5, 0.99, 2.9, 16777216), i32(-2, 0, 0, 2, 16777216))
v('cast(%a, dtype="int8")', i32(127, 128, 255, 256, -129), i8(127, -128, -1, 0, 127))
v('cast(%a, dtype="uint8")', i32(-1, 256, 255), u8(255, 0, 255))
v('cast(%a, dtype="bool")', f32(0, -0.0, 0.5, NAN), np.array([False, False, True, True]))
v('cast(%a, dtype="float16")', f32(2049, 2051, 65519, 65520), np.array([2048, 2052, 65504, INF], "float16"))
v('cast(%a, dtype="bfloat16")', f32(1.00390625, 1.01171875, 1.0048828125), bf16(1, 1.015625, 1.0078125))
v('cast(%a, dtype="float32")', i32(16777217, 16777219), f32(16777216, 16777220))
v("cast_like(%a, %b)", f32(-2.9, 2.9), i8(0, 0), i8(-2, 2))
# ---------------------------------------------------------------- integers wrap around, shifts round down
v("add(%a, %b)", i8(127, -128), i8(1, -1), i8(-128, 127))
v("subtract(%a, %b)", u8(0, 255), u8(1, 255), u8(255, 0))
v("multiply(%a, %b)", i8(64, -128), i8(2, -1), i8(-128, -128))
v("negative(%a)", i8(-128, 127), i8(-128, -127))
v("abs(%a)", i8(-128, -127, 0), i8(-128, 127, 0))
v("sum(%a)", i8(100, 100, 100), np.array(44, "int8"))
v("prod(%a)", i8(16, 16, 3), np.array(0, "int8"))
v("cumsum(%a, axis=0)", i8(100, 100, 100), i8(100, -56, 44))
v("cumprod(%a, axis=0)", i8(16, 8, 2), i8(16, -128, 0))
v("left_shift(%a, %b)", i8(1, 64, -1), i8(7, 1, 1), i8(-128, -128, -2))
v("right_shift(%a, %b)", i32(-1, -5, 5, -2147483648), i32(1, 1, 1, 31), i32(-1, -3, 2, -1))
v("right_shift(%a, %b)", u8(255, 128), u8(1, 7), u8(127, 1))
# ---------------------------------------------------------------- quotients, remainders, powers
v("divide(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(3, -3, -3, 3))
v("divide(%a, %b)", f32(1, -1, 0, 1), f32(0, 0, 0, INF), f32(INF, -INF, NAN, 0))
v("floor_divide(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(3, -4, -4, 3))
v("floor_divide(%a, %b)", f32(5.5, -5.5, 5.5, -5.5), f32(2, 2, -2, -2), f32(2, -3, -3, 2))
v("floor_mod(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(1, 1, -1, -1))
v("floor_mod(%a, %b)", f32(5.5, -5.5, 5.5, -5.5), f32(2, 2, -2, -2), f32(1.5, 0.5, -0.5, -1.5))
v("trunc_divide(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(3, -3, -3, 3))
v("trunc_divide(%a, %b)", f32(5.5, -5.5), f32(2, 2), f32(2, -2))
v("trunc_mod(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(1, -1, 1, -1))
v("mod(%a, %b)", i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(1, -1, 1, -1))
v("mod(%a, %b)", f32(5.5, -5.5), f32(2, 2), f32(1.5, -1.5))
v("power(%a, %b)", f32(4, -2, 0, 0, 2, -8), f32(0.5, 3, 0, -1, -1, 2), f32(2, -8, 1, INF, 0.5, 64))
v("power(%a, %b)", i32(2, -2, 0, 7), i32(10, 3, 0, 0), i32(1024, -8, 1, 1))
v("power(%a, %b)", i8(2, 3), i8(8, 5), i8(0, -13))
v("mean(%a)", i32(1, 2), np.array(1, "int32"))
v("mean(%a)", i32(-1, -2), np.array(-1, "int32"))
v("clip(%a, a_min=-1f, a_max=2.5f)", f32(-INF, -1.5, -1, 0, 2.5, 3, INF), f32(-1, -1, -1, 0, 2.5, 2.5, 2.5))
v("clip(%a, a_min=-3f, a_max=100f)", i8(-128, -3, 5, 100, 127), i8(-3, -3, 5, 100, 100))
v("maximum(%a, %b)", f32(1, -INF), f32(2, 3), f32(2, 3))
v("minimum(%a, %b)", f32(1, INF), f32(2, 3), f32(1, 3))
# ---------------------------------------------------------------- fixed point: halves go up
v("fixed_point_multiply(%a, multiplier=1073741824, shift=0)", i32(-3, -1, 0, 1, 3), i32(-1, 0, 0, 1, 2))
v("fixed_point_multiply(%a, multiplier=1073741824, shift=1)", i32(-3, -1, 1, 2147483647), i32(-3, -1, 1, 2147483647))
v("fixed_point_multiply(%a, multiplier=1073741824, shift=-1)", i32(-6, -2, 2, 6), i32(-1, 0, 1, 2))
v("fixed_point_multiply_per_axis(%a, %b, %c, %d, is_lshift_required=True, is_rshift_required=True, axes=[1])",
  i32([-3, -6], [1, 2], [3, 6]), i32(1073741824, 1073741824), i32(0, 0), i32(0, 1), i32([-1, -1], [1, 1], [2, 2]))  # fmt: skip
# ---------------------------------------------------------------- ties: the first wins, order is kept
v("argmax(%a)", f32(1, 3, 3, 2), np.array(1, "int32"))
v("argmax(%a, select_last_index=True)", f32(1, 3, 3, 2), np.array(2, "int32"))
v("argmin(%a)", f32(3, 1, 1, 2), np.array(1, "int32"))
v("argmin(%a, select_last_index=True)", f32(3, 1, 1, 2), np.array(2, "int32"))
v('argsort(%a, dtype="int32")', f32(3, 1, 3, 1), i32(1, 3, 0, 2))
v('argsort(%a, is_ascend=False, dtype="int32")', f32(3, 1, 3, 1), i32(0, 2, 1, 3))
v("sort(%a)", f32(3, -INF, 1), f32(-INF, 1, 3))
v("sort(%a, is_ascend=False)", f32(3, -INF, 1), f32(3, 1, -INF))
v('topk(%a, k=3, dtype="int32")', f32(3, 1, 3, 1), (f32(3, 3, 1), i32(0, 2, 1)))
v('topk(%a, k=3, is_ascend=True, dtype="int32")', f32(3, 1, 3, 1), (f32(1, 1, 3), i32(1, 3, 0)))
v('dyn.topk(%a, %b, dtype="int32")', f32(3, 1, 3, 1), i64(3), (f32(3, 3, 1), i32(0, 2, 1)))
v("searchsorted(%a, %b)", f32(1, 2, 2, 3), f32(2, 0, 4), i32(1, 0, 4))
v("searchsorted(%a, %b, right=True)", f32(1, 2, 2, 3), f32(2, 0, 4), i32(3, 0, 4))
# ---------------------------------------------------------------- indices out of range
v('one_hot(%a, 5f, 2f, depth=3, axis=-1, dtype="float32")', i32(0, 2, 3, -1),
  f32([5, 2, 2], [2, 2, 5], [2, 2, 2], [2, 2, 2]))  # fmt: skip
v('take(%a, %b, axis=0, mode="clip")', f32(1, 2, 3), i32(-5, -1, 0, 2, 3), f32(1, 1, 1, 3, 3))
v('take(%a, %b, axis=0, mode="wrap")', f32(1, 2, 3), i32(-4, -1, 0, 3, 5), f32(3, 3, 1, 1, 3))
v("strided_slice(%a, begin=[-100], end=[100], strides=[2])", f32(1, 2, 3, 4, 5), f32(1, 3, 5))
v('scatter_nd(%a, %b, %c, mode="update")', f32(1, 2, 3), i64([0, 2]), f32(7, 9), f32(7, 2, 9))
v('scatter_nd(%a, %b, %c, mode="add")', f32(1, 2, 3), i64([0, 0]), f32(7, 9), f32(17, 2, 3))
v("image.grid_sample(%a, %b, method=\"nearest\", align_corners=True)", f32([[[1, 2], [3, 4]]]),
  f32([[[-1, 1]], [[-1, 1]]]), f32([[[1, 4]]]))  # fmt: skip
v("image.grid_sample(%a, %b, method=\"nearest\", align_corners=False)", f32([[[1, 2, 3, 4]]]),
  f32([[[-1, -0.5, 0, 0.5, 1]], [[0, 0, 0, 0, 0]]]), f32([[[1, 1, 3, 3, 0]]]))  # fmt: skip
v("image.grid_sample(%a, %b, align_corners=False)", f32([[[1, 2], [3, 4]]]), f32([[[0, 0.5]], [[0, 0.5]]]),
  f32([[[2.5, 4]]]))  # fmt: skip

# ---------------------------------------------------------------- pools: padding in the mean, windows that reach beyond
ROW = f32([[2, 4, 6]])
v("nn.avg_pool1d(%a, pool_size=[2], strides=[1], padding=[1, 1])", ROW, f32([[2, 3, 5, 6]]))
v("nn.avg_pool1d(%a, pool_size=[2], strides=[1], padding=[1, 1], count_include_pad=True)", ROW, f32([[1, 3, 5, 3]]))
v("nn.avg_pool1d(%a, pool_size=[2], strides=[2], ceil_mode=True)", ROW, f32([[3, 6]]))
v("nn.max_pool1d(%a, pool_size=[2], strides=[2], ceil_mode=True)", -ROW, f32([[-2, -6]]))
v("nn.max_pool1d(%a, pool_size=[2], strides=[1], padding=[1, 1])", -ROW, f32([[-2, -2, -4, -6]]))
v("nn.avg_pool1d(%a, pool_size=[2], strides=[2])", i32([[1, 2, -1, -2]]), i32([[1, -1]]))
v("nn.avg_pool2d(%a, pool_size=[1, 2], strides=[1, 1], padding=[0, 1, 0, 1])", f32([[[2, 4, 6]]]),
  f32([[[2, 3, 5, 6]]]))  # fmt: skip
v("nn.avg_pool2d(%a, pool_size=[1, 2], strides=[1, 1], padding=[0, 1, 0, 1], count_include_pad=True)",
  f32([[[2, 4, 6]]]), f32([[[1, 3, 5, 3]]]))  # fmt: skip
v("nn.avg_pool2d(%a, pool_size=[1, 2], strides=[1, 2], ceil_mode=True)", f32([[[2, 4, 6]]]), f32([[[3, 6]]]))
v("nn.max_pool2d(%a, pool_size=[1, 2], strides=[1, 2], ceil_mode=True)", f32([[[-2, -4, -6]]]), f32([[[-2, -6]]]))
v("nn.avg_pool3d(%a, pool_size=[1, 1, 2], strides=[1, 1, 1], padding=[0, 0, 1, 0, 0, 1], count_include_pad=True)",
  f32([[[[2, 4, 6]]]]), f32([[[[1, 3, 5, 3]]]]))  # fmt: skip
v("nn.avg_pool3d(%a, pool_size=[1, 1, 2], strides=[1, 1, 2], ceil_mode=True)", f32([[[[2, 4, 6]]]]), f32([[[[3, 6]]]]))
v("nn.max_pool3d(%a, pool_size=[1, 1, 2], strides=[1, 1, 2], ceil_mode=True)", f32([[[[-2, -4, -6]]]]),
  f32([[[[-2, -6]]]]))  # fmt: skip
v("nn.avg_pool2d_grad(%a, %b, pool_size=[1, 2], strides=[1, 1], padding=[0, 1, 0, 1])", f32([[[6, 2, 4, 8]]]),
  f32([[[0, 0, 0]]]), f32([[[7, 3, 10]]]))  # fmt: skip
v("nn.avg_pool2d_grad(%a, %b, pool_size=[1, 2], strides=[1, 1], padding=[0, 1, 0, 1], count_include_pad=True)",
  f32([[[6, 2, 4, 8]]]), f32([[[0, 0, 0]]]), f32([[[4, 3, 6]]]))  # fmt: skip
v("nn.max_pool2d_grad(%a, %b, pool_size=[1, 2], strides=[1, 2])", f32([[[5, 7]]]), f32([[[1, 2, 4, 3]]]),
  f32([[[0, 5, 7, 0]]]))  # fmt: skip
v("nn.adaptive_avg_pool1d(%a, output_size=[2])", f32([[1, 2, 4]]), f32([[1.5, 3]]))

# ---------------------------------------------------------------- resizing: a row 10 20 30 40, alike in each line
LINE = (10.0, 20.0, 30.0, 40.0)
NEAREST = {  # (coordinates, rounding): the pixels taken for 8, 6, 2 or 7 columns
    ("asymmetric", "floor", 8): (0, 0, 1, 1, 2, 2, 3, 3),
    ("asymmetric", "ceil", 8): (0, 0, 1, 1, 2, 2, 3, 3),  # TVM divides integers: each pixel is repeated
    ("asymmetric", "round", 6): (0, 1, 1, 2, 3, 3),  # 0 0.67 1.33 2 2.67 3.33
    ("asymmetric", "round_prefer_floor", 6): (0, 1, 1, 2, 3, 3),
    ("asymmetric", "round_prefer_ceil", 6): (0, 1, 1, 2, 3, 3),
    ("asymmetric", "floor", 6): (0, 0, 1, 2, 2, 3),
    ("asymmetric", "ceil", 6): (0, 1, 2, 2, 3, 3),
    ("half_pixel", "round", 8): (0, 0, 1, 1, 2, 2, 3, 3),
    ("half_pixel", "round", 2): (1, 3),
    ("half_pixel", "round_prefer_floor", 2): (0, 2),
    ("half_pixel", "round_prefer_ceil", 2): (1, 3),
    ("half_pixel", "floor", 2): (0, 2),
    ("half_pixel", "ceil", 2): (1, 3),
    ("align_corners", "round", 7): (0, 1, 1, 2, 2, 3, 3),
    ("align_corners", "round_prefer_floor", 7): (0, 0, 1, 1, 2, 2, 3),
    ("align_corners", "floor", 7): (0, 0, 1, 1, 2, 2, 3),
    ("pytorch_half_pixel", "round_prefer_floor", 2): (0, 2),
    ("tf_half_pixel_for_nn", "floor", 2): (1, 3),
}
LINEAR = {
    ("half_pixel", 8): (10, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 40),
    ("half_pixel", 2): (15, 35),
    ("asymmetric", 8): (10, 15, 20, 25, 30, 35, 40, 40),
    ("asymmetric", 2): (10, 30),
    ("align_corners", 7): (10, 15, 20, 25, 30, 35, 40),
    ("tf_crop_and_resize", 7): (10, 15, 20, 25, 30, 35, 40),
    ("pytorch_half_pixel", 2): (15, 35),
    ("pytorch_half_pixel", 1): (10,),
    ("half_pixel", 1): (25,),
}


def lines(values: Any, rank: int) -> np.ndarray:
    """Images of `rank` dimensions whose lines are all alike: two lines in each further dimension."""
    return np.broadcast_to(f32(*values), (1, 1, *[2] * (rank - 1), len(values))).copy()


def _resized(rank: int, count: int, mode: str, method: str, rounding: str, values: Any) -> None:
    layout, extra = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank], ", ".join(["0f"] * rank + ["1f"] * rank)
    size = ", ".join(["2"] * (rank - 1) + [str(count)])
    attrs = (
        f'roi=[{extra}], layout="{layout}", method="{method}", coordinate_transformation_mode="{mode}"'
        f', rounding_method="{rounding}", out_dtype="float32"'
    )
    inputs, want = lines(LINE, rank), lines(values, rank)
    v(f"image.resize{rank}d(%a, size=[{size}], {attrs})", inputs, want)
    if rank == 2:
        v(f"dyn.image.resize2d(%a, %b, %c, {attrs})", inputs, i64(2, count), f32(0, 0, 1, 1), want)


for _rank in (1, 2, 3):
    for (_mode, _rounding, _count), _pixels in NEAREST.items():
        _resized(_rank, _count, _mode, "nearest_neighbor", _rounding, [LINE[p] for p in _pixels])
    for (_mode, _count), _values in LINEAR.items():
        _resized(_rank, _count, _mode, "linear", "round", _values)
_SQUARE = lines((10, 30), 2)
v('nn.upsampling(%a, scale_h=1f, scale_w=2f, method="nearest_neighbor")', _SQUARE, lines((10, 10, 30, 30), 2))
v('nn.upsampling(%a, scale_h=1f, scale_w=2f, method="bilinear", align_corners=False)', _SQUARE,
  lines((10, 20, 30, 30), 2))  # fmt: skip
v('nn.upsampling(%a, scale_h=1f, scale_w=1.5f, method="bilinear", align_corners=True)', _SQUARE,
  lines((10, 20, 30), 2))  # fmt: skip
v(
    'dyn.nn.upsampling(%a, 1f, 1.5f, scale_h=0f, scale_w=0f, method="bilinear", align_corners=True)',
    _SQUARE,
    lines((10, 20, 30), 2),
)
for _mode, _factor, _values in (
    ("half_pixel", 2, (10, 15, 25, 30)),
    ("pytorch_half_pixel", 2, (10, 15, 25, 30)),
    ("tf_half_pixel_for_nn", 2, (15, 25, 30, 30)),
    ("asymmetric", 2, (10, 20, 30, 30)),
    ("align_corners", 1.5, (10, 20, 30)),
    ("tf_crop_and_resize", 1.5, (10, 20, 30)),
):
    _attrs = f'method="trilinear", coordinate_transformation_mode="{_mode}"'
    _sizes = lines((10, 30), 3), lines(_values, 3)
    v(f"nn.upsampling3d(%a, scale_d=1f, scale_h=1f, scale_w={_factor}f, {_attrs})", *_sizes)
    v(f"dyn.nn.upsampling3d(%a, 1f, 1f, {_factor}f, scale_d=0f, scale_h=0f, scale_w=0f, {_attrs})", *_sizes)

# ---------------------------------------------------------------- quantized operators
v('qnn.quantize(%a, 0.5f, 3, out_dtype="int8")', f32(-1.25, -0.75, -0.25, 0.25, 0.75, INF, -INF, 1e30),
  i8(0, 1, 2, 4, 5, 127, -128, 127))  # fmt: skip
v('qnn.quantize(%a, 0.5f, 128, out_dtype="uint8")', f32(-1.25, -0.75, -0.25, 0.25, 0.75, 63.5, 63.75, -64),
  u8(125, 126, 127, 129, 130, 255, 255, 0))  # fmt: skip
v('qnn.quantize(%a, 1f, -3, out_dtype="int32")', f32(-0.5, 0.5, 16777216, 1e30, -1e30),
  i32(-4, -2, 16777213, 2147483647, -2147483648))  # fmt: skip
v('qnn.quantize(%a, %b, %c, axis=1, out_dtype="int8")', f32([-0.5, -0.5]), f32(1, 0.5), i32(3, -3), i8([2, -4]))
v('qnn.dequantize(%a, 0.5f, 127, out_dtype="float32")', i8(-128, 127, 0), f32(-127.5, 0, -63.5))
_STEPS = i32(-3, -1, 1, 3, 1000, -1000)  # halves: -1.5 -0.5 0.5 1.5
for _compute in ("int64", "float32", "float64"):
    v(f'qnn.requantize(%a, 0.5f, 0, 1f, 3, rounding="UPWARD", compute_dtype="{_compute}", out_dtype="int8")', _STEPS,
      i8(2, 3, 4, 5, 127, -128))  # fmt: skip
    v(f'qnn.requantize(%a, 0.5f, 0, 1f, 0, rounding="TONEAREST", compute_dtype="{_compute}", out_dtype="int8")',
      _STEPS, i8(-2, -1, 1, 2, 127, -128))  # fmt: skip
v('qnn.requantize(%a, 0.5f, 0, 1f, 3, rounding="TONEAREST", compute_dtype="int64", out_dtype="int8")', _STEPS,
  i8(1, 2, 4, 5, 127, -128))  # fmt: skip
v('qnn.requantize(%a, 0.5f, 0, 1f, 3, rounding="TONEAREST", compute_dtype="float32", out_dtype="int8")', _STEPS,
  i8(2, 3, 4, 5, 127, -128))  # fmt: skip
v('qnn.requantize(%a, 0.5f, 0, 1f, 3, rounding="None", out_dtype="int8")', _STEPS, i8(2, 3, 4, 5, 127, -128))
v('qnn.requantize(%a, 0.5f, 1, 0.5f, 3, out_dtype="int8")', i32(-1, 300, -300), i8(1, 127, -128))
v("qnn.add(%a, %b, 0.5f, 1, 0.5f, 0, 1f, 3)", i8(0, 2, 127), i8(1, 1, 127), i8(4, 5, 127))
v("qnn.subtract(%a, %b, 0.5f, 1, 0.5f, 0, 1f, 3)", i8(0, 2, -128), i8(1, 1, 127), i8(2, 3, -125))
v("qnn.mul(%a, %b, 0.5f, 0, 0.5f, 0, 0.5f, 3)", i8(-1, 1, 3, 127), i8(1, 1, 1, 127), i8(3, 4, 5, 127))
v("qnn.concatenate((%a, %b), (0.5f, 1f), (0, 3), 1f, 3, axis=0)", i8(1, -1), i8(127), i8(4, 3, 127))
v("qnn.abs(%a, 0.25f, 1, 0.5f, -3)", i8(-1, 1, 2, 5, 127), i8(-2, -3, -2, -1, 60))
v("qnn.exp(%a, 1f, 0, 2f, -3)", i8(0, -128, 127), i8(-2, -3, 127))
v("qnn.log(%a, 1f, 0, 0.5f, 3)", i8(1, 2, 0), i8(3, 4, -128))
v("qnn.sqrt(%a, 1f, 0, 2f, -3)", i8(0, 1, 4, 9), i8(-3, -2, -2, -1))
v("qnn.rsqrt(%a, 1f, 0, 1f, -3)", i8(1, 4, 0), i8(-2, -2, 127))
v("qnn.erf(%a, 1f, 0, 2f, 3)", i8(0, 100, -100), i8(3, 4, 2))
v("qnn.sigmoid(%a, 1f, 0, 1f, -3)", i8(0, 127, -128), i8(-2, -2, -3))
v("qnn.tanh(%a, 1f, 0, 2f, 3)", i8(0, 100, -100), i8(3, 4, 2))
v("qnn.hardswish(%a, 0.5f, 0, 0.75f, 3)", i8(-3, 6, -128), i8(2, 7, 3))
v("qnn.leaky_relu(%a, 1f, 0, 1f, 3, alpha=0.5f)", i8(-1, -3, 3, 127), i8(2, 1, 6, 127))
v("qnn.softmax(%a, 1f, 0, 1f, -3)", i8([5, 5]), i8([-2, -2]))
v("qnn.avg_pool2d(%a, 1f, 0, 1f, 3, pool_size=[1, 2], strides=[1, 2])", i8([[[1, 2, -1, -2]]]), i8([[[4, 2]]]))
v("qnn.avg_pool2d(%a, 0.5f, 0, 1f, 3, pool_size=[1, 2], strides=[1, 1], padding=[0, 1, 0, 1], count_include_pad=True)",
  i8([[[2, 4, 6]]]), i8([[[4, 5, 6, 5]]]))  # fmt: skip
v('qnn.dense(%a, %b, 128, -1, 0.5f, 0.5f, units=1, out_dtype="int32")', u8([0, 255]), i8([-128, 127]),
  i32([-128 * -127 + 127 * 128]))  # fmt: skip
v('qnn.batch_matmul(%a, %b, 1, -1, 0.5f, 0.5f, out_dtype="int32", transpose_b=True)', i8([[-128, 3]]), i8([[127, 1]]),
  i32([[-129 * 128 + 4]]))  # fmt: skip
v('qnn.conv2d(%a, %b, 128, 1, 0.5f, 0.5f, padding=[0, 1, 0, 1], channels=1, kernel_size=[1, 2], out_dtype="int32")',
  u8([[[0, 255]]]), i8([[[3, -1]]]), i32([[[256, -256 - 254, 254]]]))  # fmt: skip
v('qnn.conv2d_transpose(%a, %b, 128, 1, 0.5f, 0.5f, channels=1, kernel_size=[1, 2], out_dtype="int32")',
  u8([[[0, 255]]]), i8([[[3, -1]]]), i32([[[-256, 256 + 254, -254]]]))  # fmt: skip
v("qnn.simulated_quantize(%a, 1, 0.5f, 3)", f32(-1.25, -0.75, -0.25, 0.25, 1e30), f32(0, 1, 2, 4, 127))
v("qnn.simulated_quantize(%a, 2, 0.5f, 128)", f32(-1.25, -0.25, 100), f32(125, 127, 255))
v("qnn.simulated_quantize(%a, 0, 0.5f, 128)", f32(-1.25, 0.3), f32(-1.25, 0.3))
v('qnn.simulated_dequantize(%a, 1, 0.5f, 3, out_dtype="float32")', f32(-128, 3), f32(-65.5, 0))
for _rounding, _want in (("round", (-1, -0.5, 0.5, 1)), ("floor", (-1, -0.5, 0, 0.5)), ("ceil", (-0.5, -0.0, 0.5, 1))):
    v(f'relay.op.annotation.simulated_quantize(%a, 0.5f, -127f, 127f, kind=2, rounding="{_rounding}")',
      f32(-0.75, -0.25, 0.25, 0.75, 1000), f32(*_want, 63.5))  # fmt: skip
