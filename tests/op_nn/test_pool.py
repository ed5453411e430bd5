"""Pooling against its definition; what its relations infer and refuse."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.ir.expr import Var
from passlab.ir.op import Op
from passlab.ir.types import ANY
from passlab.op.nn.pool import plan_of
from tests.each import each
from tests.op_nn.definitions import windows
from tests.op_nn.running import T, close, refused, relate, run

RNG = np.random.default_rng(1)
LEAST = np.finfo(np.float32).min


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def pooled(x, size, strides, padding, dilation, ceil, include):
    """The maxima and means by definition."""
    most, mean = None, None
    for place, inside, reached, shape in windows(x, size, strides, padding, dilation, ceil):
        if most is None:
            most, mean = np.zeros(shape), np.zeros(shape)
        most[place] = max(inside, default=LEAST)
        mean[place] = sum(inside) / max(1, reached if include else len(inside))
    return most, mean


CASES = [
    ((2, 2), (1, 1), (0, 0), (1, 1)),
    ((3, 3), (2, 2), (1,), (1, 1)),
    ((2, 3), (3, 2), (1, 0, 2, 1), (1, 2)),
    ((1, 1), (2, 2), (0,), (1, 1)),
    ((2, 2), (1, 1), (3, 0, 3, 1), (1, 1)),
]


@pytest.mark.parametrize(("size", "strides", "padding", "dilation"), CASES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "HWCN"])
@pytest.mark.parametrize(("flat", "slab"), [(0, 1), (1 << 20, 1), (1 << 20, 700), (0, 1 << 20)])
def test_however_the_data_is_cut_up_pooling_is_its_definition(
    size, strides, padding, dilation, layout, flat, slab, monkeypatch
):
    monkeypatch.setattr("passlab.op.nn.pool._MOST_FLAT_ELEMENTS", flat)
    monkeypatch.setattr("passlab.op.nn.pool._SLAB_BYTES", slab)
    monkeypatch.setattr("passlab.op.nn.pool._LONG_ROW", 1)
    plan_of.cache_clear()
    x = normal(2, 3, 8, 7)
    x[0, 0, :2] = -np.inf
    most, mean = pooled(np.maximum(x, -9), size, strides, padding, dilation, False, False)
    order = ["NCHW".index(axis) for axis in layout]
    options = {"pool_size": size, "strides": strides, "padding": padding, "dilation": dilation, "layout": layout}
    turned = np.ascontiguousarray(x.transpose(order))
    got = run("nn.max_pool2d", turned, **options).transpose([layout.index(axis) for axis in "NCHW"])
    close(np.maximum(got, np.where(most < -1e30, LEAST, -9)), most)
    got = run("nn.avg_pool2d", np.maximum(turned, -9), **options).transpose([layout.index(axis) for axis in "NCHW"])
    close(got, mean)
    plan_of.cache_clear()


def test_windows_of_nothing_but_the_least_number_are_that_only_where_there_is_no_padding():
    x = np.full((1, 1, 6, 6), -np.inf, np.float32)
    got = run("nn.max_pool2d", x, pool_size=(3, 3), strides=(1, 1), padding=(1, 1))
    assert (got[0, 0, 1:-1, 1:-1] == -np.inf).all()
    for edge in (got[..., 0, :], got[..., -1, :], got[..., 0], got[..., -1]):
        assert (edge == LEAST).all()


@each(("size", "strides", "padding", "dilation"), CASES)
@each("ceil", [False, True])
@each("include", [False, True])
def test_pool2d_is_its_definition(size, strides, padding, dilation, ceil, include):
    x = normal(2, 3, 8, 7)
    most, mean = pooled(x, size, strides, padding, dilation, ceil, include)
    options = {"pool_size": size, "strides": strides, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
    close(run("nn.max_pool2d", x, **options), most)
    close(run("nn.avg_pool2d", x, **options, count_include_pad=include), mean)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    close(run("nn.max_pool2d", last, **options, layout="NHWC"), most.transpose(0, 2, 3, 1))
    close(run("nn.avg_pool2d", last, **options, layout="NHWC", count_include_pad=include), mean.transpose(0, 2, 3, 1))


@pytest.mark.parametrize(("rank", "shape"), [(1, (2, 3, 9)), (3, (1, 2, 4, 5, 6))])
def test_pool1d_and_pool3d_are_their_definition(rank, shape):
    x = normal(*shape)
    most, mean = pooled(x, (2,) * rank, (2,) * rank, (1,), (1,) * rank, False, False)
    options = {"pool_size": (2,) * rank, "strides": (2,) * rank, "padding": (1,)}
    close(run(f"nn.max_pool{rank}d", x, **options), most)
    close(run(f"nn.avg_pool{rank}d", x, **options), mean)


def test_pooling_packed_channels():
    x = normal(1, 2, 6, 6, 4)
    got = run("nn.max_pool2d", x, pool_size=(2, 2), strides=(2, 2), layout="NCHW4c")
    np.testing.assert_array_equal(got, x.reshape(1, 2, 3, 2, 3, 2, 4).max(axis=(3, 5)))


def test_means_of_integers_are_cut_off_towards_zero():
    x = np.array([[[[1, 2], [3, 5]], [[-1, -2], [-3, -5]]]], np.int8)
    np.testing.assert_array_equal(run("nn.avg_pool2d", x, pool_size=(2, 2)).ravel(), [2, -2])
    np.testing.assert_array_equal(run("nn.global_avg_pool2d", x).ravel(), [2, -2])
    np.testing.assert_array_equal(run("nn.max_pool2d", x, pool_size=(2, 2), padding=(1, 1)).max(axis=(2, 3)), [[5, -1]])


def test_half_floats_are_averaged_in_single_precision():
    x = np.full((1, 1, 64, 64), 1000, np.float16)
    np.testing.assert_array_equal(run("nn.global_avg_pool2d", x).ravel(), [1000])
    np.testing.assert_array_equal(run("nn.avg_pool2d", x, pool_size=(64, 64)).ravel(), [1000])


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_global_pooling(layout):
    x = normal(2, 3, 4, 5)
    axes = (layout.index("H"), layout.index("W"))
    close(run("nn.global_avg_pool2d", x, layout=layout), x.mean(axis=axes, keepdims=True))
    np.testing.assert_array_equal(run("nn.global_max_pool2d", x, layout=layout), x.max(axis=axes, keepdims=True))


@pytest.mark.parametrize("counts", [(), (1,), (3,), (3, 2), (7, 5)])
def test_adaptive_pool2d_covers_the_image(counts):
    x = normal(2, 3, 7, 5)
    many = {0: (7, 5), 1: counts * 2, 2: counts}[len(counts)]
    most, mean = np.zeros((2, 3, *many)), np.zeros((2, 3, *many))
    for i, j in np.ndindex(*many):
        rows = slice(i * 7 // many[0], -(-(i + 1) * 7 // many[0]))
        columns = slice(j * 5 // many[1], -(-(j + 1) * 5 // many[1]))
        most[:, :, i, j] = x[:, :, rows, columns].max(axis=(2, 3))
        mean[:, :, i, j] = x[:, :, rows, columns].mean(axis=(2, 3))
    close(run("nn.adaptive_max_pool2d", x, output_size=counts), most)
    close(run("nn.adaptive_avg_pool2d", x, output_size=counts), mean)


def test_adaptive_pool1d_and_pool3d():
    x = normal(2, 3, 8)
    close(run("nn.adaptive_avg_pool1d", x, output_size=(4,)), x.reshape(2, 3, 4, 2).mean(axis=3))
    y = normal(1, 2, 4, 4, 4)
    close(run("nn.adaptive_max_pool3d", y, output_size=(1, 2, 4)), y.reshape(1, 2, 1, 4, 2, 2, 4).max(axis=(3, 5)))
    close(run("nn.adaptive_avg_pool3d", y, output_size=(1, 1, 1)), y.mean(axis=(2, 3, 4), keepdims=True))


def test_empty_batches():
    assert run("nn.max_pool2d", normal(0, 3, 4, 4), pool_size=(2, 2)).shape == (0, 3, 3, 3)
    assert run("nn.avg_pool2d", normal(2, 0, 4, 4), pool_size=(2, 2)).shape == (2, 0, 3, 3)
    assert run("nn.global_max_pool2d", normal(0, 3, 4, 4)).shape == (0, 3, 1, 1)
    assert run("nn.adaptive_avg_pool2d", normal(0, 3, 4, 4), output_size=(3, 3)).shape == (0, 3, 3, 3)


# ---------------------------------------------------------------- gradients as operators
@pytest.mark.parametrize(("size", "strides", "padding", "dilation"), CASES[:3])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_pool_gradients_are_those_of_the_sums(size, strides, padding, dilation, layout):
    """The gradient of sum(grad * pool(x)), by finite differences on distinct numbers."""
    order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
    x = RNG.permutation(2 * 2 * 6 * 7).reshape(2, 2, 6, 7).astype(np.float64)
    x = np.ascontiguousarray(x.transpose(order))
    options = {"pool_size": size, "strides": strides, "padding": padding, "dilation": dilation, "layout": layout}
    for name in ("nn.max_pool2d", "nn.avg_pool2d"):
        result = run(name, x, **options)
        grad = RNG.standard_normal(result.shape)
        got = run(f"{name}_grad", grad, x, **options)
        want = np.zeros_like(x)
        for place in np.ndindex(*x.shape):
            moved = x.copy()
            moved[place] += 0.25
            want[place] = ((run(name, moved, **options) - result) * grad).sum() / 0.25
        close(got, want)


def test_of_equal_maxima_the_first_one_takes_the_gradient():
    got = run(
        "nn.max_pool2d_grad", np.ones((1, 1, 1, 1), np.float32), np.ones((1, 1, 2, 2), np.float32), pool_size=(2, 2)
    )
    np.testing.assert_array_equal(got.ravel(), [1, 0, 0, 0])


# ---------------------------------------------------------------- relations and builders
def test_dynamic_sizes_stay_dynamic():
    assert relate("nn.max_pool2d", T(ANY, 3, ANY, 8), pool_size=(2, 2)) == T(ANY, 3, ANY, 7)
    assert relate("nn.global_avg_pool2d", T(ANY, 3, ANY, 8)) == T(ANY, 3, 1, 1)
    assert relate("nn.adaptive_avg_pool2d", T(1, 3, ANY, 8), output_size=(2,)) == T(1, 3, 2, 2)


@pytest.mark.parametrize(
    ("name", "ty", "attrs", "says"),
    [
        ("nn.max_pool2d", T(1, 3, 8), {"pool_size": (2, 2)}, "data has 3 dimensions and its layout NCHW has 4"),
        ("nn.max_pool2d", T(1, 3, 8, 8), {"pool_size": (2,)}, "pool_size has 1 numbers"),
        ("nn.max_pool2d", T(1, 3, 8, 8), {"pool_size": (2, 0)}, "pool_size must be positive"),
        ("nn.max_pool2d", T(1, 3, 8, 8), {"pool_size": (9, 9)}, "window is larger than spatial axis 0"),
        ("nn.max_pool2d", T(1, 3, 8, 8), {"pool_size": (2, 2), "padding": (1, 1, 1)}, "padding has 3 numbers"),
        ("nn.max_pool2d", T(1, 3, 8, 8), {"pool_size": (2, 2), "padding": (-1, 0)}, "padding must not be negative"),
        (
            "nn.avg_pool2d",
            T(1, 3, 8, 8),
            {"pool_size": (2, 2), "layout": "NCW"},
            "the layout must have the whole axes H, W",
        ),
        (
            "nn.avg_pool2d",
            T(1, 3, 2, 2, 4),
            {"pool_size": (2, 2), "layout": "NCHW4w"},
            "the layout must have the whole axes H, W",
        ),
        ("nn.global_avg_pool2d", T(1, 3, 8), {}, "data has 3 dimensions"),
        ("nn.adaptive_avg_pool2d", T(1, 3, 8, 8), {"output_size": (1, 2, 3)}, "output_size has 3 numbers"),
        ("nn.adaptive_avg_pool2d", T(1, 3, 8, 8), {"output_size": (0,)}, "output_size must be positive"),
    ],
)
def test_pooling_refuses(name, ty, attrs, says):
    assert says in str(refused(name, ty, **attrs))


def test_a_gradient_that_is_not_like_the_result_is_refused():
    assert "is not like the pooled data" in str(
        refused("nn.max_pool2d_grad", T(1, 3, 8, 8), T(1, 3, 8, 8), pool_size=(2, 2))
    )


def test_the_faces_spread_numbers_over_the_axes():
    builder = Op.get("nn.avg_pool2d").spec.builder
    assert builder is not None
    attrs = builder(Var("x"), 2, 2, padding=1, count_include_pad=True).attrs
    assert (attrs.pool_size, attrs.strides, attrs.dilation, attrs.padding) == ((2, 2), (2, 2), (1, 1), (1, 1, 1, 1))
    adaptive = Op.get("nn.adaptive_max_pool2d").spec.builder
    assert adaptive is not None
    assert adaptive(Var("x")).attrs.output_size == ()
    assert adaptive(Var("x"), 3).attrs.output_size == (3,)
