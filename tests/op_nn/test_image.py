"""Resizing, cropping, dilation and grids, element by element by their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.definitions.sampling import grid_value, resize_last_axis
from passlab.errors import RunError
from passlab.ir.expr import Var
from passlab.ir.op import Op
from passlab.ir.types import ANY
from tests.each import each
from tests.op_nn.running import T, close, refused, relate, run

RNG = np.random.default_rng(6)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# ---------------------------------------------------------------- resize
MODES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"]


@each("method", ["linear", "cubic"])
@each("mode", MODES)
@each("count", [1, 3, 9])
def test_resize1d_is_its_formula(method, mode, count):
    x = normal(2, 3, 5)
    options = {"method": method, "coordinate_transformation_mode": mode}
    close(run("image.resize1d", x, size=(count,), **options), resize_last_axis(x, count, method, mode))
    if method == "cubic":
        got = run("image.resize1d", x, size=(count,), **options, cubic_alpha=-0.75, cubic_exclude=1)
        close(got, resize_last_axis(x, count, method, mode, alpha=-0.75, exclude=True), 1e-3)


@each("rounding", ["floor", "ceil", "round", "round_prefer_floor", "round_prefer_ceil"])
@each("mode", MODES)
@each("count", [1, 4, 10, 7])
def test_nearest_neighbours(rounding, mode, count):
    x = normal(1, 2, 5)
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
    if mode == "asymmetric" and count == 10:
        rounding = "floor"  # an upscaling by whole numbers repeats each element, whatever the rounding
    close(
        run("image.resize1d", x, size=(count,), **options),
        resize_last_axis(x, count, "nearest_neighbor", mode, rounding=rounding),
    )


def test_resize_works_axis_by_axis():
    x = normal(1, 2, 4, 5)
    rows = resize_last_axis(x.transpose(0, 1, 3, 2), 7, "linear", "half_pixel").transpose(0, 1, 3, 2)
    want = resize_last_axis(rows, 3, "linear", "half_pixel")
    close(run("image.resize2d", x, size=(7, 3)), want)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    close(run("image.resize2d", last, size=(7, 3), layout="NHWC"), want.transpose(0, 2, 3, 1))
    volume = normal(1, 1, 2, 4, 5)
    close(run("image.resize3d", volume, size=(2, 4, 8)), resize_last_axis(volume, 8, "linear", "half_pixel"))


def test_regions_are_cut_out_and_filled_up():
    x = normal(1, 2, 6)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -1.0}
    for roi in ((0.2, 0.7), (-0.5, 1.2)):
        want = resize_last_axis(x, 5, "linear", "tf_crop_and_resize", roi=roi, fill=-1.0)
        close(run("image.resize1d", x, size=(5,), roi=roi, **options), want)


def test_resize_to_another_dtype_and_refusals():
    x = np.array([[[0, 10]]], np.uint8)
    np.testing.assert_array_equal(run("image.resize1d", x, size=(4,)), [[[0, 2, 7, 10]]])
    assert run("image.resize1d", x, size=(4,), out_dtype="float32").dtype == np.float32
    assert relate("image.resize2d", T(ANY, 3, ANY, 8), size=(4, 4)) == T(ANY, 3, 4, 4)
    assert "needs a size" in str(refused("image.resize2d", T(1, 3, 8, 8)))
    assert "size has 1 numbers" in str(refused("image.resize2d", T(1, 3, 8, 8), size=(4,)))
    assert "must be positive" in str(refused("image.resize2d", T(1, 3, 8, 8), size=(0, 4)))
    assert "without pixels" in str(refused("image.resize2d", T(1, 3, 0, 8), size=(4, 4)))
    assert "all starts, then all ends" in str(refused("image.resize2d", T(1, 3, 8, 8), size=(4, 4), roi=(0.0, 1.0)))


def test_resize_with_a_size_in_a_tensor():
    builder = Op.get("image.resize2d").spec.builder
    assert builder is not None
    call = builder(Var("x"), Var("size"))
    assert call.op is Op.get("dyn.image.resize2d")
    x, size = normal(1, 2, 4, 4), np.array([8, 2], np.int32)
    roi = np.zeros(4, np.float32)
    spec = call.op.spec
    close(spec.kernel(call.attrs, x, size, roi), run("image.resize2d", x, size=(8, 2), rounding_method=""))
    assert spec.shape_function(call.attrs, x, size, roi) == T(1, 2, 8, 2)
    assert "two numbers" in str(refused("dyn.image.resize2d", T(1, 2, 4, 4), T(3), T(4)))


# ---------------------------------------------------------------- crop_and_resize
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
def test_crop_and_resize(layout, method):
    x = normal(2, 3, 6, 7)
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0], [-0.3, 0.5, 0.5, 1.4]], np.float32)
    indices = np.array([1, 0, 1], np.int32)
    want = np.empty((3, 3, 4, 5))
    how = {
        "method": "linear" if method == "bilinear" else method,
        "rounding": "round",
        "fill": 9.0,
        "mode": "tf_crop_and_resize",
    }
    for i, (y1, x1, y2, x2) in enumerate(boxes):
        columns = resize_last_axis(x[indices[i]], 5, roi=(x1, x2), **how)
        want[i] = resize_last_axis(columns.transpose(0, 2, 1), 4, roi=(y1, y2), **how).transpose(0, 2, 1)
    order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
    array = np.ascontiguousarray(x.transpose(order))
    options = {"crop_size": (4, 5), "layout": layout, "method": method, "extrapolation_value": 9.0}
    close(run("image.crop_and_resize", array, boxes, indices, **options), want.transpose(order))
    with pytest.raises(RunError, match="outside the batch of 2"):
        run("image.crop_and_resize", array, boxes, np.array([0, 2, 1], np.int32), **options)


def test_crop_and_resize_refuses():
    ints = T(3, dtype="int32")
    assert "four numbers" in str(refused("image.crop_and_resize", T(1, 1, 4, 4), T(3, 5), ints, crop_size=(2, 2)))
    assert "vector of integers" in str(refused("image.crop_and_resize", T(1, 1, 4, 4), T(3, 4), T(3), crop_size=(2, 2)))


# ---------------------------------------------------------------- dilation2d
@pytest.mark.parametrize(
    ("strides", "padding", "dilations"), [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 0, 2, 1), (1, 2))]
)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_dilation2d(strides, padding, dilations, layout):
    x, w = normal(2, 3, 6, 7), normal(3, 2, 3)
    top, left, bottom, right = padding * 2 if len(padding) == 2 else padding
    padded = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
    height = (padded.shape[2] - dilations[0] - 1) // strides[0] + 1
    width = (padded.shape[3] - 2 * dilations[1] - 1) // strides[1] + 1
    want = np.full((2, 3, height, width), -np.inf)
    for i, j, ky, kx in np.ndindex(height, width, 2, 3):
        pixel = padded[:, :, i * strides[0] + ky * dilations[0], j * strides[1] + kx * dilations[1]]
        want[:, :, i, j] = np.maximum(want[:, :, i, j], pixel + w[:, ky, kx])
    order, kernel = ((0, 1, 2, 3), "IHW") if layout == "NCHW" else ((0, 2, 3, 1), "HWI")
    weight = w if layout == "NCHW" else np.ascontiguousarray(w.transpose(1, 2, 0))
    options = {
        "strides": strides,
        "padding": padding,
        "dilations": dilations,
        "data_layout": layout,
        "kernel_layout": kernel,
    }
    close(run("image.dilation2d", np.ascontiguousarray(x.transpose(order)), weight, **options), want.transpose(order))
    assert "does not fit the channels" in str(refused("image.dilation2d", T(1, 3, 8, 8), T(2, 3, 3)))


# ---------------------------------------------------------------- grids
def test_affine_grid_maps_the_corners_to_one():
    theta = normal(2, 2, 3)
    got = run("image.affine_grid", theta, target_shape=(3, 4))
    for n, i, j in np.ndindex(2, 3, 4):
        close(got[n, :, i, j], theta[n] @ [j * 2 / 3 - 1, i - 1, 1])
    assert "affine matrices" in str(refused("image.affine_grid", T(2, 3, 3), target_shape=(3, 4)))


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [True, False])
def test_grid_sample_is_its_definition(method, mode, aligned):
    cases = [(normal(2, 3, 4, 5), normal(2, 2, 3, 3) * 1.5, "NCHW")]
    if method != "bicubic":
        cases.append((normal(1, 2, 3, 4, 5), normal(1, 3, 2, 2, 3) * 1.5, "NCDHW"))
    for x, grid, layout in cases:
        got = run("image.grid_sample", x, grid, method=method, layout=layout, padding_mode=mode, align_corners=aligned)
        for n, *spot in np.ndindex(len(grid), *grid.shape[2:]):
            part = grid[(n, slice(None), *spot)][::-1].astype(np.float64)
            sizes = x.shape[2:]
            at = [(p + 1) * (s - 1) / 2 if aligned else (p + 1) * s / 2 - 0.5 for p, s in zip(part, sizes, strict=True)]
            close(got[(n, slice(None), *spot)], grid_value(x[n], at, method, mode, aligned), 1e-3)


def test_grid_sample_refuses():
    assert "does not have the rank" in str(refused("image.grid_sample", T(1, 1, 4), T(1, 2, 3, 3)))
    assert "one number for each spatial axis" in str(refused("image.grid_sample", T(1, 1, 4, 4), T(1, 3, 3, 3)))
    assert "different batch sizes" in str(refused("image.grid_sample", T(2, 1, 4, 4), T(1, 2, 3, 3)))
    assert "images of two axes" in str(
        refused("image.grid_sample", T(1, 1, 4, 4, 4), T(1, 3, 3, 3, 3), layout="NCDHW", method="bicubic")
    )
