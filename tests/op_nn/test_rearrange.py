"""Borders, blocks, sub-pixels, queues: element by element, and back again."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.ir.expr import Constant, Var
from passlab.ir.op import Op
from passlab.ir.types import ANY
from tests.op_nn.running import T, refused, relate, run

RNG = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


def same(got, want):
    np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- pad
def test_pad_puts_a_border_around():
    x = numbers(2, 3)
    same(
        run("nn.pad", x, np.float32(7).reshape(()), pad_width=[[1, 0], [0, 2]]),
        np.pad(x, [(1, 0), (0, 2)], constant_values=7),
    )
    same(run("nn.pad", x, np.array([9]), pad_width=[[0, 0], [1, 1]]), np.pad(x, [(0, 0), (1, 1)], constant_values=9))
    for mode in ("edge", "reflect"):
        same(
            run("nn.pad", x, np.float32(0).reshape(()), pad_width=[[1, 1], [2, 0]], pad_mode=mode),
            np.pad(x, [(1, 1), (2, 0)], mode=mode),
        )


def test_negative_widths_cut_off():
    x = numbers(4, 5)
    zero = np.float32(0).reshape(())
    same(run("nn.pad", x, zero, pad_width=[[-1, 1], [2, -3]]), np.pad(x[1:, :2], [(0, 1), (2, 0)]))
    same(run("nn.pad", x, zero, pad_width=[[-1, -1], [0, 0]], pad_mode="edge"), x[1:3])
    same(
        run("nn.pad", x, zero, pad_width=[[-1, 2], [2, -1]], pad_mode="reflect"),
        np.pad(x[1:, :4], [(0, 2), (2, 0)], mode="reflect"),
    )


def test_pad_refuses():
    value = T()
    assert "pad_width has 1 pairs" in str(refused("nn.pad", T(2, 3), value, pad_width=[[1, 1]]))
    assert "pad_width[1] has 3 numbers" in str(refused("nn.pad", T(2, 3), value, pad_width=[[1, 1], [1, 1, 1]]))
    assert "removes more than dimension 0 has" in str(refused("nn.pad", T(2, 3), value, pad_width=[[-2, -1], [0, 0]]))
    assert "cannot be mirrored" in str(
        refused("nn.pad", T(2, 3), value, pad_width=[[2, 0], [0, 0]], pad_mode="reflect")
    )
    assert "must be a single number" in str(refused("nn.pad", T(2, 3), T(2), pad_width=[[0, 0], [0, 0]]))
    assert relate("nn.pad", T(2, ANY), value, pad_width=[[1, 1], [1, 1]]) == T(4, ANY)


def test_mirror_pad():
    x = numbers(3, 4)
    same(run("nn.mirror_pad", x, pad_width=[[3, 1], [0, 4]]), np.pad(x, [(3, 1), (0, 4)], mode="symmetric"))
    same(
        run("nn.mirror_pad", x, pad_width=[[2, 1], [0, 3]], mode="REFLECT"), np.pad(x, [(2, 1), (0, 3)], mode="reflect")
    )
    assert "cannot be mirrored" in str(refused("nn.mirror_pad", T(3, 4), pad_width=[[4, 0], [0, 0]]))


def test_pad_with_widths_in_a_tensor():
    x, widths = numbers(2, 3), np.array([[1, 0], [0, 2]], np.int32)
    spec = Op.get("dyn.nn.pad").spec
    assert spec.kernel is not None
    assert spec.shape_function is not None
    assert spec.attrs is not None
    attrs = spec.attrs(pad_width=())
    value = np.float32(5).reshape(())
    same(spec.kernel(attrs, x, widths, value), np.pad(x, [(1, 0), (0, 2)], constant_values=5))
    assert spec.shape_function(attrs, x, widths, value) == T(3, 5)
    assert relate("dyn.nn.pad", T(2, 3), T(2, 2, dtype="int32"), T(), pad_width=()) == T(ANY, ANY)
    builder = Op.get("nn.pad").spec.builder
    assert builder is not None
    assert builder(Var("x"), Var("widths"), 0.0).op is Op.get("dyn.nn.pad")
    border = builder(Var("x"), [[1, 1]], 2).args[1]
    assert isinstance(border, Constant)
    assert border.data.dtype == np.int32


def test_batch_flatten():
    same(run("nn.batch_flatten", numbers(2, 3, 4)), numbers(2, 12))
    same(run("nn.batch_flatten", numbers(3)), numbers(3, 1))
    assert run("nn.batch_flatten", np.zeros((0, 3, 4), np.float32)).shape == (0, 12)
    assert relate("nn.batch_flatten", T(ANY, 3, ANY)) == T(ANY, ANY)
    assert "needs a batch dimension" in str(refused("nn.batch_flatten", T()))


# ---------------------------------------------------------------- space, batch and depth
@pytest.mark.parametrize("rest", [(), (3,)])
def test_space_to_batch_takes_each_place_of_a_block_as_a_sample(rest):
    x = numbers(2, 5, 6, *rest)
    blocks, paddings = (2, 3), [[1, 0], [0, 3]]
    got = run("nn.space_to_batch_nd", x, block_shape=blocks, paddings=paddings, pad_value=-1)
    padded = np.pad(x, [(0, 0), (1, 0), (0, 3)] + [(0, 0)] * len(rest), constant_values=-1)
    for i, j, n in np.ndindex(2, 3, 2):
        same(got[(i * 3 + j) * 2 + n], padded[n, i::2, j::3])
    same(run("nn.batch_to_space_nd", got, block_shape=blocks, crops=paddings), x)


def test_space_to_batch_refuses():
    blocks = {"block_shape": (2, 2)}
    assert "cannot be cut into blocks of 2" in str(
        refused("nn.space_to_batch_nd", T(1, 3, 4), **blocks, paddings=[[0, 0], [0, 0]])
    )
    assert "must have two numbers" in str(refused("nn.space_to_batch_nd", T(1, 4, 4), **blocks, paddings=[[0, 0]]))
    assert "needs a batch dimension and 2 more" in str(
        refused("nn.batch_to_space_nd", T(4, 4), **blocks, crops=[[0, 0], [0, 0]])
    )
    assert "remove more than dimension 1" in str(
        refused("nn.batch_to_space_nd", T(4, 1, 1), **blocks, crops=[[2, 1], [0, 0]])
    )
    assert relate("nn.space_to_batch_nd", T(ANY, ANY, 4), **blocks, paddings=[[0, 0], [0, 0]]) == T(ANY, ANY, 2)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_depth_and_space(layout):
    x = numbers(2, 8, 3, 5)
    order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
    array = np.ascontiguousarray(x.transpose(order))
    result = np.empty((2, 2, 6, 10), np.float32)
    other = np.empty_like(result)
    for c, i, j in np.ndindex(2, 2, 2):
        result[:, c, i::2, j::2] = x[:, (i * 2 + j) * 2 + c]
        other[:, c, i::2, j::2] = x[:, c * 4 + i * 2 + j]
    got = run("nn.depth_to_space", array, block_size=2, layout=layout)
    same(got, result.transpose(order))
    same(run("nn.depth_to_space", array, block_size=2, layout=layout, mode="CDR"), other.transpose(order))
    same(run("nn.space_to_depth", got, block_size=2, layout=layout), array)
    assert "cannot be cut into blocks" in str(refused("nn.space_to_depth", T(1, 1, 3, 4), block_size=2))
    assert "block_size must be positive" in str(refused("nn.depth_to_space", T(1, 4, 3, 4), block_size=0))


# ---------------------------------------------------------------- dilate, fifo_buffer
def test_dilate_puts_elements_apart():
    same(run("nn.dilate", numbers(2, 2), strides=(2, 3), dilation_value=-1), [[1, -1, -1, 2], [-1] * 4, [3, -1, -1, 4]])
    assert run("nn.dilate", numbers(0, 2), strides=(3, 2)).shape == (0, 3)
    assert "one positive number for each dimension" in str(refused("nn.dilate", T(2, 2), strides=(2,)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_fifo_buffer_pushes_at_the_end(axis):
    buffer, data = numbers(4, 4), -numbers(*((1, 4) if axis == 0 else (4, 1)))
    want = np.concatenate((np.delete(buffer, 0, axis), data), axis)
    same(run("nn.fifo_buffer", data, buffer, axis=axis), want)


def test_fifo_buffer_refuses():
    assert "does not fit the buffer" in str(refused("nn.fifo_buffer", T(4, 2), T(4, 2)))
    assert "does not fit the buffer" in str(refused("nn.fifo_buffer", T(1, 3), T(4, 2)))
    assert "one rank" in str(refused("nn.fifo_buffer", T(1), T(4, 2)))


# ---------------------------------------------------------------- upsampling
def test_upsampling_repeats_or_interpolates():
    x = numbers(1, 2, 2, 3)
    same(run("nn.upsampling", x, scale_h=2, scale_w=3), x.repeat(2, axis=2).repeat(3, axis=3))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    same(run("nn.upsampling", last, scale_h=2, scale_w=3, layout="NHWC"), last.repeat(2, axis=1).repeat(3, axis=2))
    got = run("nn.upsampling", x, scale_h=2, scale_w=1, method="bilinear", align_corners=True)
    want = x[:, :, :1] + np.linspace(0, 1, 4, dtype=np.float32)[:, None] * (x[:, :, 1:] - x[:, :, :1])
    np.testing.assert_allclose(got, want, rtol=1e-6)
    volume = numbers(1, 1, 2, 2, 2)
    got = run("nn.upsampling3d", volume, scale_d=2, scale_h=1, scale_w=2, coordinate_transformation_mode="asymmetric")
    same(got, volume.repeat(2, axis=2).repeat(2, axis=4))
    assert "the scale must be positive" in str(refused("nn.upsampling", T(1, 1, 2, 2), scale_h=0, scale_w=1))
    assert relate("nn.upsampling", T(1, 1, ANY, 3), scale_h=1.5, scale_w=1.5) == T(1, 1, ANY, 5)


def test_upsampling_with_scales_as_inputs():
    builder = Op.get("nn.upsampling").spec.builder
    assert builder is not None
    call = builder(Var("x"), Var("h"), 2)
    assert call.op is Op.get("dyn.nn.upsampling")
    spec = call.op.spec
    x, scales = numbers(1, 1, 2, 2), (np.array(2.0), np.array([3.0]))
    same(spec.kernel(call.attrs, x, *scales), x.repeat(2, axis=2).repeat(3, axis=3))
    assert spec.shape_function(call.attrs, x, *scales) == T(1, 1, 4, 6)
    assert "must be a single number" in str(
        refused("dyn.nn.upsampling", T(1, 1, 2, 2), T(2), T(), scale_h=0, scale_w=0)
    )
