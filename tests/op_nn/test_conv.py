"""Convolutions against their definition, in every layout; what their relations infer and refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from passlab.errors import AttrsError
from passlab.ir.expr import Var
from passlab.ir.op import Op
from passlab.ir.types import ANY
from passlab.op.nn import conv_kernels
from passlab.op.nn.conv_kernels import convolve_stacked
from tests.op_nn.definitions import conv, conv_transpose
from tests.op_nn.running import T, close, refused, relate, relate_reporting, run, unknown

RNG = np.random.default_rng(0)
ORDERS = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1), "CHWN": (1, 2, 3, 0)}
KERNELS = {"OIHW": (0, 1, 2, 3), "HWIO": (2, 3, 1, 0), "HWOI": (2, 3, 0, 1), "OHWI": (0, 2, 3, 1)}


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def turned(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(order))


@pytest.mark.parametrize(("groups", "outputs"), [(1, 6), (2, 6), (4, 4), (4, 8)])
@pytest.mark.parametrize(
    ("strides", "padding", "dilation"),
    [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 0, 2, 1), (1, 1)), ((1, 1), (1,), (2, 2))],
)
@pytest.mark.parametrize("kernel", [(1, 1), (3, 2)])
def test_conv2d_is_its_definition_in_every_layout(groups, outputs, strides, padding, dilation, kernel):
    x, w = normal(2, 4, 7, 6), normal(outputs, 4 // groups, *kernel)
    want = conv(x, w, strides, padding, dilation, groups)
    options = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "kernel_size": kernel}
    for layout, kernel_layout, out_layout in itertools.product(ORDERS, KERNELS, ["", *ORDERS]):
        got = run(
            "nn.conv2d", turned(x, ORDERS[layout]), turned(w, KERNELS[kernel_layout]), **options, channels=outputs,
            data_layout=layout, kernel_layout=kernel_layout, out_layout=out_layout,
        )  # fmt: skip
        close(got, want.transpose(ORDERS[out_layout or layout]))


def test_conv2d_works_on_packed_layouts():
    x, w = normal(1, 8, 5, 5), normal(4, 8, 3, 3)
    packed = np.ascontiguousarray(x.reshape(1, 2, 4, 5, 5).transpose(0, 1, 3, 4, 2))
    weight = np.ascontiguousarray(w.reshape(2, 2, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1))
    got = run("nn.conv2d", packed, weight, data_layout="NCHW4c", kernel_layout="OIHW4i2o", out_layout="NCHW2c")
    close(got.transpose(0, 1, 4, 2, 3).reshape(1, 4, 3, 3), conv(x, w))


@pytest.mark.parametrize("products", [1, 1500, 1 << 20])
@pytest.mark.parametrize(
    ("size", "kernel", "strides", "padding", "dilation"),
    [
        ((9,), (3,), (1,), (1,), (1,)),
        ((12,), (4,), (1,), (0, 5), (2,)),
        ((6, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
        ((5, 8), (2, 3), (1, 2), (0, 3, 1, 2), (2, 1)),
        ((2, 3), (3, 3), (1, 3), (4, 5), (1, 1)),
        ((4, 3, 5), (2, 3, 2), (1, 1, 2), (1, 0, 1), (1, 1, 2)),
    ],
)
def test_stacked_convolutions_are_their_definition(size, kernel, strides, padding, dilation, products, monkeypatch):
    for name, value in {"MIN_ROWS": 0, "MIN_INPUTS": 1, "PRODUCT_BYTES": products}.items():
        monkeypatch.setattr(f"passlab.op.nn.conv_kernels.{name}", value)
    used = []
    monkeypatch.setattr(conv_kernels, "convolve_stacked", lambda *a: (used.append(a), convolve_stacked(*a)))
    x, w = normal(2, 3, *size), normal(5, 3, *kernel)
    got = run(f"nn.conv{len(size)}d", x, w, strides=strides, padding=padding, dilation=dilation, kernel_size=kernel)
    assert used
    close(got, conv(x, w, strides, padding, dilation))


@pytest.mark.parametrize("long", [1, 1000])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)])
def test_patches_of_short_and_of_long_rows_are_the_same(long, strides, monkeypatch):
    monkeypatch.setattr("passlab.op.nn.conv_kernels.LONG_ROW", long)
    x, w = normal(3, 4, 7, 9), normal(6, 2, 3, 4)
    options = {"strides": strides, "padding": (1, 2), "dilation": (1, 2), "groups": 2}
    close(run("nn.conv2d", x, w, **options, kernel_size=(3, 4)), conv(x, w, strides, (1, 2), (1, 2), 2))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("shape", [(3, 16, 40, 36), (5, 3, 6, 5), (1, 64, 3, 50)])
def test_conv2d_in_blocks_is_its_definition(last, shape, monkeypatch):
    monkeypatch.setattr(conv_kernels, "SMALL_BLOCK_BYTES", 10_000)
    x, w = normal(*shape), normal(5, shape[1], 3, 3)
    # The definition by another road: one shifted matrix product a tap, in float64.
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = sum(
        np.einsum("ncyx,oc->noyx", padded[:, :, i : i + shape[2], j : j + shape[3]], w[:, :, i, j].astype(np.float64))
        for i in range(3)
        for j in range(3)
    )
    if last:
        got = run(
            "nn.conv2d",
            turned(x, ORDERS["NHWC"]),
            turned(w, KERNELS["HWIO"]),
            padding=(1, 1),
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        got = got.transpose(0, 3, 1, 2)
    else:
        got = run("nn.conv2d", x, w, padding=(1, 1))
    close(got, want)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("width", [5, 40])
def test_depthwise_with_a_multiplier_written_both_ways(layout, width):
    x, w = normal(2, 3, 4, width), normal(6, 1, 3, 3)
    want = conv(x, w, 1, 1, 1, 3)
    data = turned(x, ORDERS[layout])
    for weight in (w, w.reshape(3, 2, 3, 3)):
        got = run("nn.conv2d", data, weight, padding=(1, 1), groups=3, channels=6, data_layout=layout)
        close(got, want.transpose(ORDERS[layout]))


@pytest.mark.parametrize(("rank", "size"), [(1, (9,)), (3, (4, 5, 3))])
@pytest.mark.parametrize(("strides", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4)])
@pytest.mark.parametrize("last", [False, True])
def test_conv1d_and_conv3d_are_their_definition(rank, size, strides, padding, dilation, groups, last):
    x, w = normal(2, 4, *size), normal(4, 4 // groups, *(2,) * rank)
    many = {"strides": (strides,) * rank, "padding": (padding,) * rank, "dilation": (dilation,) * rank}
    want = conv(x, w, strides, padding, dilation, groups)
    spatial = "DHW"[3 - rank :]
    if not last:
        close(run(f"nn.conv{rank}d", x, w, **many, groups=groups), want)
        return
    data = turned(x, (0, *range(2, rank + 2), 1))
    weight = turned(w, (*range(2, rank + 2), 1, 0))
    got = run(
        f"nn.conv{rank}d", data, weight, **many, groups=groups, data_layout=f"N{spatial}C", kernel_layout=f"{spatial}IO"
    )
    close(got, want.transpose(0, *range(2, rank + 2), 1))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("strides", "padding", "dilation", "extra"),
    [
        ((1, 1), (0, 0), (1, 1), (0, 0)),
        ((2, 2), (1, 1, 1, 1), (1, 1), (1, 0)),
        ((2, 3), (1, 0), (2, 1), (0, 2)),
        ((3, 3), (0,), (1, 1), (2, 2)),
    ],
)
def test_conv2d_transpose_is_its_definition(groups, strides, padding, dilation, extra):
    x, w = normal(2, 4, 3, 4), normal(4, 3, 3, 2)
    want = conv_transpose(x, w, strides, padding, dilation, groups, extra)
    options = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "output_padding": extra}
    close(run("nn.conv2d_transpose", x, w, **options), want)
    got = run(
        "nn.conv2d_transpose",
        turned(x, ORDERS["NHWC"]),
        turned(w, (2, 3, 1, 0)),
        **options,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )
    close(got, want.transpose(ORDERS["NHWC"]))


@pytest.mark.parametrize("block", [1, 5_000, 20_000, 1 << 20])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_transpose_in_blocks_is_its_definition(groups, block, monkeypatch):
    monkeypatch.setattr(conv_kernels, "BLOCK_BYTES", block)  # channels of a sample, samples, or all at a time
    x, w = normal(5, 4, 4, 3), normal(4, 3, 3, 2)
    close(
        run("nn.conv2d_transpose", x, w, strides=(2, 1), groups=groups), conv_transpose(x, w, (2, 1), 0, 1, groups, 0)
    )


@pytest.mark.parametrize(("rank", "size"), [(1, (5,)), (3, (2, 3, 2))])
def test_conv1d_and_conv3d_transpose_are_their_definition(rank, size):
    x, w = normal(1, 2, *size), normal(2, 3, *(3,) * rank)
    got = run(f"nn.conv{rank}d_transpose", x, w, strides=(2,) * rank, padding=(1,) * rank, output_padding=(1,) * rank)
    close(got, conv_transpose(x, w, 2, 1, 1, 1, 1))


@pytest.mark.parametrize("groups", [1, 2])
def test_the_gradient_for_the_weight_in_other_layouts(groups):
    x, grad = normal(2, 4, 6, 5), normal(2, 6, 3, 4)
    options = {"kernel_size": (3, 2), "strides": (2, 1), "padding": (1, 0), "groups": groups}
    want = np.zeros((6, 4 // groups, 3, 2))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)]).astype(np.float64)
    for o, i, ky, kx in np.ndindex(*want.shape):
        channel = padded[:, o // (6 // groups) * (4 // groups) + i]
        want[o, i, ky, kx] = (grad[:, o] * channel[:, ky : ky + 5 : 2, kx : kx + 4]).sum()
    name = "nn.conv2d_backward_weight"
    close(run(name, grad, x, **options, kernel_layout="NCHW", out_layout="OIHW"), want)
    last = [turned(array, ORDERS["NHWC"]) for array in (grad, x)]
    got = run(name, *last, **options, data_layout="NHWC", kernel_layout="NHWC", out_layout="HWIO")
    close(got, want.transpose(KERNELS["HWIO"]))
    builder = Op.get(name).spec.builder
    assert builder is not None
    attrs = builder(
        Var("g"), Var("x"), kernel_size=3, grad_layout="NHWC", data_layout="NHWC", kernel_layout="OHWI"
    ).attrs
    assert (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) == ("NHWC", "NHWC", "OHWI")
    assert "layouts of gradient, data and weight" in str(
        refused(name, T(1, 1, 4, 4), T(1, 1, 4, 4), kernel_size=(1, 1))
    )


def test_small_integers_are_summed_exactly_and_wrap_like_integers():
    x = RNG.integers(-128, 128, (1, 8, 5, 5)).astype(np.int8)
    w = RNG.integers(-128, 128, (3, 8, 3, 3)).astype(np.int8)
    want = conv(x, w)
    np.testing.assert_array_equal(run("nn.conv2d", x, w, out_dtype="int32"), want)
    np.testing.assert_array_equal(run("nn.conv2d", x, w), want.astype(np.int8))
    np.testing.assert_array_equal(run("nn.conv2d", x.astype(np.int32), w.astype(np.int32)), want)


def test_half_floats_are_summed_in_single_precision():
    x, w = normal(1, 64, 4, 4).astype(np.float16), normal(2, 64, 3, 3).astype(np.float16)
    got = run("nn.conv2d", x, w)
    np.testing.assert_array_equal(got, run("nn.conv2d", x.astype(np.float32), w.astype(np.float32)).astype(np.float16))


def test_empty_batches_and_channels():
    assert run("nn.conv2d", normal(0, 3, 5, 5), normal(4, 3, 3, 3)).shape == (0, 4, 3, 3)
    assert not run("nn.conv2d", normal(1, 0, 5, 5), normal(4, 0, 3, 3)).any()
    assert run("nn.conv2d_transpose", normal(0, 3, 5, 5), normal(3, 4, 3, 3)).shape == (0, 4, 7, 7)


# ---------------------------------------------------------------- relations
def test_an_unknown_weight_is_inferred():
    assert relate_reporting("nn.conv2d", T(1, 3, 8, 8), unknown(), channels=4, kernel_size=(3, 3)) == (
        T(1, 4, 6, 6),
        {1: T(4, 3, 3, 3)},
    )
    result = relate_reporting(
        "nn.conv2d", T(1, 8, 8, 3), unknown(), channels=4, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"
    )
    assert result == (T(1, 6, 6, 4), {1: T(3, 3, 3, 4)})
    assert relate_reporting("nn.conv2d_transpose", T(1, 3, 8, 8), unknown(), channels=4, kernel_size=(2, 2), strides=(2, 2)) == (
        T(1, 4, 16, 16), {1: T(3, 4, 2, 2)},
    )  # fmt: skip
    assert relate("nn.conv2d", T(1, 3, 8, 8), unknown()) is None
    assert relate("nn.conv2d", unknown(), T(4, 3, 3, 3)) is None


def test_dynamic_dimensions_stay_dynamic():
    assert relate("nn.conv2d", T(ANY, 3, ANY, 8), T(4, 3, 3, 3)) == T(ANY, 4, ANY, 6)
    assert relate("nn.conv2d", T(1, ANY, 8, 8), T(4, 3, 3, 3)) == T(1, 4, 6, 6)
    assert relate("nn.conv2d_transpose", T(ANY, 3, ANY, 8), T(3, 4, 3, 3)) == T(ANY, 4, ANY, 10)
    assert relate("nn.conv3d", T(1, 3, ANY, 4, 4), T(4, 3, 1, 1, 1)) == T(1, 4, ANY, 4, 4)


def test_the_result_dtype_is_out_dtype():
    assert relate("nn.conv2d", T(1, 3, 8, 8, dtype="int8"), T(4, 3, 3, 3, dtype="int8"), out_dtype="int32") == T(
        1, 4, 6, 6, dtype="int32"
    )


@pytest.mark.parametrize(
    ("types", "attrs", "says", "argument"),
    [
        ((T(1, 3, 8), T(4, 3, 3, 3)), {}, "data has 3 dimensions", 0),
        ((T(1, 3, 8, 8), T(4, 3, 3)), {}, "weight has 3 dimensions", 1),
        ((T(1, 3, 8, 8), T(4, 5, 3, 3)), {}, "does not fit the channels", 1),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"kernel_size": (5, 5)}, "does not have the kernel_size", 1),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"channels": 8}, "does not have the output channels", 1),
        ((T(1, 3, 8, 8), T(4, 3, 9, 9)), {}, "window is larger than spatial axis 0", 0),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"data_layout": "NCDHW"}, "data_layout cannot be", None),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"kernel_layout": "OHW"}, "kernel_layout cannot be", None),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"out_layout": "N?HW"}, "out_layout cannot be", None),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"strides": (1,)}, "strides has 1 numbers", None),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"strides": (0, 1)}, "strides must be positive", None),
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {"padding": (1, 1, 1)}, "padding has 3 numbers", None),
        ((T(1, 3, 8, 8), T(4, 1, 3, 3)), {"groups": 2}, "cannot be divided into 2 groups", 0),
        ((T(1, 4, 8, 8), T(3, 2, 3, 3)), {"groups": 2}, "cannot be divided into 2 groups", 1),
        ((T(1, 4, 8, 8), unknown()), {"groups": 2, "channels": 4, "kernel_size": (1, 1)}, "cannot infer its weight", 1),
    ],
)  # fmt: skip
def test_conv2d_refuses(types, attrs, says, argument):
    error = refused("nn.conv2d", *types, **attrs)
    assert says in str(error)
    assert error.argument == argument


@pytest.mark.parametrize(
    ("types", "attrs", "says"),
    [
        ((T(1, 3, 8, 8), T(4, 3, 3, 3)), {}, "does not fit the channels"),
        ((T(1, 4, 8, 8), T(4, 3, 3, 3)), {"channels": 4}, "does not have the output channels"),
        ((T(1, 4, 1, 1), T(4, 3, 3, 3)), {"padding": (3, 3)}, "padding is larger"),
        ((T(1, 4, 8, 8), T(4, 3, 3, 3)), {"output_padding": (1,)}, "output_padding has 1 numbers"),
        ((T(1, 4, 8, 8), T(4, 3, 3, 3)), {"kernel_size": (2, 2)}, "does not have the kernel_size"),
    ],
)
def test_conv2d_transpose_refuses(types, attrs, says):
    assert says in str(refused("nn.conv2d_transpose", *types, **attrs))


# ---------------------------------------------------------------- the Python builder
def test_the_face_spreads_numbers_over_the_axes():
    builder = Op.get("nn.conv2d").spec.builder
    assert builder is not None
    call = builder(Var("x"), Var("w"), strides=2, padding=(1, 2), kernel_size=3, channels=8)
    assert call.attrs.strides == (2, 2)
    assert call.attrs.padding == (1, 2, 1, 2)
    assert call.attrs.kernel_size == (3, 3)
    with pytest.raises(AttrsError, match="padding has 3 numbers"):
        builder(Var("x"), Var("w"), padding=(1, 2, 3))
