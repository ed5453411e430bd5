"""`tvm.topi.testing`: what operators mean, held against the kernels; shapes and paddings of `topi.utils`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from passlab import relay
from passlab.compat import topi
from passlab.compat.topi import get_const_tuple, get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d
from passlab.relay import image, nn, vision

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 6, 9, 9)).astype("float32")
ONES = np.ones(6, "float32")
BOXES = np.array([[0, 0, 0, 4, 4], [1, 2, 1, 8, 7]], "float32")
CORNERS = np.array([[0.125, 0.25, 0.875, 0.75]], "float32")
Case = tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]


def array(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def computed(build: Callable[..., Any], *arrays: Any) -> Any:
    variables = [relay.var(f"x{at}", shape=a.shape, dtype=a.dtype.name) for at, a in enumerate(arrays)]
    return relay.create_executor("graph").evaluate(relay.Function(variables, build(*variables)))(*arrays)


CASES: dict[str, Case] = {
    "conv1d": (
        lambda x, w: topi.conv1d_ncw_python(x, w, 1, (2,), 2),
        lambda x, w: nn.conv1d(x, w, padding=2, dilation=2),
        (X[0], array(4, 9, 3)),
    ),
    "conv1d_transpose": (
        lambda x, w: topi.group_conv1d_transpose_ncw_python(x, w, 2, 1, 1, 3),
        lambda x, w: nn.conv1d_transpose(x, w, 2, 1, groups=3, channels=6, kernel_size=3, output_padding=(1,)),
        (X[0], array(9, 2, 3)),
    ),
    "conv2d_nchw": (
        lambda x, w: topi.conv2d_nchw_python(x, w, 2, (1, 1), 2),
        lambda x, w: nn.conv2d(x, w, strides=2, padding=1, groups=2),
        (X, array(4, 3, 3, 3)),
    ),
    "conv2d_nhwc": (
        lambda x, w: topi.conv2d_nhwc_python(x, w, 1, "SAME"),
        lambda x, w: nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
        (X, array(3, 3, 9, 4)),
    ),
    "conv2d_transpose": (
        lambda x, w: topi.conv2d_transpose_nchw_python(x, w, 2, 1, (1, 1)),
        lambda x, w: nn.conv2d_transpose(x, w, (2, 2), (1, 1), channels=5, kernel_size=(3, 3), output_padding=(1, 1)),
        (X, array(6, 5, 3, 3)),
    ),
    "conv2d_backward_weight": (
        lambda g, x: topi.conv2d_backward_weight_python(g, x, (3, 3), (2, 2), (1, 1), "NCHW", 2, channels=4),
        lambda g, x: nn.conv2d_backward_weight(g, x, (2, 2), (1, 1), groups=2, channels=4, kernel_size=(3, 3)),
        (array(2, 4, 5, 5), X),
    ),
    "conv3d_ndhwc": (
        lambda x, w: topi.conv3d_ndhwc_python(x, w, 1, 1),
        lambda x, w: nn.conv3d(x, w, padding=(1, 1, 1), data_layout="NDHWC", kernel_layout="DHWIO"),
        (array(1, 4, 4, 4, 3), array(3, 3, 3, 3, 2)),
    ),
    "conv3d_transpose": (
        lambda x, w: topi.conv3d_transpose_ncdhw_python(x, w, 1, 1, 0),
        lambda x, w: nn.conv3d_transpose(x, w, padding=(1, 1, 1), channels=4, kernel_size=(3, 3, 3)),
        (array(1, 3, 6, 6, 6), array(3, 4, 3, 3, 3)),
    ),
    "depthwise": (
        lambda x, w: topi.depthwise_conv2d_python_nchw(x, w, (1, 1), "SAME"),
        lambda x, w: nn.conv2d(x, relay.reshape(w, (12, 1, 3, 3)), padding=1, groups=6),
        (X, array(6, 2, 3, 3)),
    ),
    "deformable": (
        lambda x, o, w: topi.deformable_conv2d_nchw_python(x, o, w, 1, 1, 1, 1, 1),
        lambda x, o, w: nn.deformable_conv2d(x, o, w, padding=(1, 1), channels=2, kernel_size=(3, 3)),
        (array(1, 3, 4, 4), array(1, 18, 4, 4), array(2, 3, 3, 3)),
    ),
    "correlation": (
        lambda x, y: topi.correlation_nchw_python(x, y, 1, 2, 1, 1, 2, True),
        lambda x, y: nn.correlation(x, y, 1, 2, 1, 1, 2, True, "NCHW"),
        (array(1, 2, 5, 5), array(1, 2, 5, 5)),
    ),
    "adaptive_pool": (
        lambda x: topi.adaptive_pool(x, (2, 3), "avg", "NCHW"),
        lambda x: nn.adaptive_avg_pool2d(x, (2, 3)),
        (X,),
    ),
    "max_pool2d_grad": (
        lambda g, x: topi.pool_grad_nchw(x, g, (3, 3), (2, 2), (0, 0, 0, 0), "max", False),
        lambda g, x: nn.max_pool2d_grad(g, x, (3, 3), (2, 2), (0, 0, 0, 0)),
        (array(2, 6, 4, 4), X),
    ),
    "avg_pool2d_grad": (
        lambda g, x: topi.pool_grad_nchw(x, g, (3, 3), (2, 2), (0, 0, 0, 0), "avg", False),
        lambda g, x: nn.avg_pool2d_grad(g, x, (3, 3), (2, 2), (0, 0, 0, 0), count_include_pad=True),
        (array(2, 6, 4, 4), X),
    ),
    "roi_align": (
        lambda x, r: topi.roi_align_nchw_python(x, r, (3, 3), 1.0, 2, b"avg"),
        lambda x, r: vision.roi_align(x, r, (3, 3), 1.0, 2),
        (X, BOXES),
    ),
    "roi_pool": (
        lambda x, r: topi.roi_pool_nchw_python(x, r, (3, 3), 1.0),
        lambda x, r: vision.roi_pool(x, r, (3, 3), 1.0),
        (X, BOXES),
    ),
    "crop": (
        lambda x, b, i: topi.crop_and_resize_python(x, b, i, np.array([5, 4]), "NCHW"),
        lambda x, b, i: image.crop_and_resize(x, b, i, (5, 4), "NCHW"),
        (X, CORNERS, np.array([1], "int32")),
    ),
    "grid_sample": (topi.grid_sample_python, image.grid_sample, (X, array(2, 2, 5, 5))),
    "affine_grid": (
        lambda x: topi.affine_grid_python(x, (4, 5)),
        lambda x: image.affine_grid(x, (4, 5)),
        (array(2, 2, 3),),
    ),
    "reorg": (lambda x: topi.reorg_python(x, 2), lambda x: vision.yolo_reorg(x, 2), (array(1, 4, 6, 6),)),
    "depth_to_space": (
        lambda x: topi.depth_to_space_python(x, 2, "CRD"),
        lambda x: nn.depth_to_space(x, 2, mode="CRD"),
        (array(1, 8, 2, 3),),
    ),
    "space_to_depth": (lambda x: topi.space_to_depth_python(x, 3), lambda x: nn.space_to_depth(x, 3), (X,)),
    "space_to_batch": (
        lambda x: topi.space_to_batch_nd_python(x, [2, 3], [0, 0], [0, 0]),
        lambda x: nn.space_to_batch_nd(x, [2, 3], [[0, 0], [0, 0]]),
        (X,),
    ),
    "batch_to_space": (
        lambda x: topi.batch_to_space_nd_python(x, [2, 1], [1, 0], [0, 2]),
        lambda x: nn.batch_to_space_nd(x, [2, 1], [[1, 0], [0, 2]]),
        (X,),
    ),
    "softmax": (lambda x: topi.softmax_python(x, 1), lambda x: nn.softmax(x, 1), (X,)),
    "log_softmax": (lambda x: topi.log_softmax_python(x, 1), lambda x: nn.log_softmax(x, 1), (X,)),
    "lrn": (lambda x: topi.lrn_python(x, 3, 1, 2, 1e-2, 0.75), lambda x: nn.lrn(x, 3, 1, 2, 1e-2, 0.75), (X,)),
    "l2": (lambda x: topi.l2_normalize_python(x, 1e-3), lambda x: nn.l2_normalize(x, 1e-3, (0, 1, 2, 3)), (X,)),
    "layer_norm": (
        lambda x, g, b: topi.layer_norm_python(x, g, b, (1,)),
        lambda x, g, b: nn.layer_norm(x, g, b, 1),
        (X, array(6), array(6)),
    ),
    "group_norm": (
        lambda x, g, b: topi.group_norm_python(x, g, b, 2, 1, (2, 3)),
        lambda x, g, b: nn.group_norm(x, g, b, 2),
        (X, array(6), array(6)),
    ),
    "instance_norm": (
        lambda x, g, b: topi.instance_norm_python(x, g, b, 1, (2, 3)),
        nn.instance_norm,
        (X, array(6), array(6)),
    ),
    "batch_norm": (
        lambda x, g, b, m, v: topi.batch_norm(x, g, b, m, v, 1, 1e-5, True, True)[0],
        lambda x, g, b, m, v: nn.batch_norm(x, g, b, m, v)[0],
        (X, array(6), array(6), array(6), ONES),
    ),
    "nll_loss": (
        topi.nll_loss,
        lambda p, t, w: nn.nll_loss(p, t, w),
        (array(2, 5, 3), RNG.integers(0, 5, (2, 3)).astype("int32"), np.ones(5, "float32")),
    ),
    "one_hot": (
        lambda i: topi.one_hot(i, 2, -1, 4, 1, "float32"),
        lambda i: relay.one_hot(i, relay.const(2.0), relay.const(-1.0), 4, 1, "float32"),
        (RNG.integers(0, 4, (2, 3)).astype("int32"),),
    ),
    "gather": (
        lambda x, i: topi.gather_python(x, 1, i),
        lambda x, i: relay.gather(x, 1, i),
        (X, RNG.integers(0, 6, (2, 4, 9, 9)).astype("int64")),
    ),
    "gather_nd": (topi.gather_nd_python, relay.gather_nd, (X, RNG.integers(0, 2, (2, 4)).astype("int64"))),
    "set_diag": (
        lambda x, d: topi.matrix_set_diag(x, d, (-1, 0)),
        lambda x, d: relay.matrix_set_diag(x, d, (-1, 0)),
        (X, array(2, 6, 2, 9)),
    ),
    "searchsorted": (
        lambda s, v: topi.searchsorted_ref(s, v, True, "int32"),
        lambda s, v: relay.searchsorted(s, v, right=True),
        (np.sort(array(3, 7)), array(3, 4)),
    ),
    "sequence_mask": (
        lambda x, n: topi.sequence_mask(x, n, 0.5, 1),
        lambda x, n: relay.sequence_mask(x, n, 0.5, 1),
        (X, np.array([2, 5], "int32")),
    ),
    "slice": (
        lambda x: topi.strided_slice_python(x, [0, 1], [1, -1], None, "size", axes=[1, 3]),
        lambda x: relay.strided_slice(x, [0, 1], [1, -1], axes=[1, 3], slice_mode="size"),
        (X,),
    ),
    "backwards": (
        lambda x: topi.strided_slice_python(x, np.int32([0, 0, 4]), np.int32([2, 3, 1]), np.int32([1, 1, -1])),
        lambda x: relay.strided_slice(x, [0, 0, 4], [2, 3, 1], [1, 1, -1]),
        (X,),
    ),
    "strided_set": (
        lambda x, v: topi.strided_set_python(x, v, [0, 1, 0, 0], [2, 5, 9, 9], [1, 2, 1, 1]),
        lambda x, v: relay.strided_set(
            x, v, relay.const([0, 1, 0, 0]), relay.const([2, 5, 9, 9]), relay.const([1, 2, 1, 1])
        ),
        (X, array(2, 2, 9, 9)),
    ),
    "strided_set to the end": (
        lambda x, v: topi.strided_set_python(x, v, [0, 1, 0], [2, 5], np.int32([1, 2, 1])),
        lambda x, v: relay.strided_set(x, v, relay.const([0, 1, 0]), relay.const([2, 5]), relay.const([1, 2, 1])),
        (X, array(2, 2, 9, 9)),
    ),
    "slice_axis": (
        lambda x: topi.slice_axis_python(x, -1, 2, 5),
        lambda x: relay.strided_slice(x, [2], [5], axes=[3]),
        (X,),
    ),
    "batch_matmul": (topi.batch_matmul, nn.batch_matmul, (array(3, 4, 5), array(3, 2, 5))),
    "dense": (topi.dense, nn.dense, (array(3, 5), array(2, 5))),
}
for how in ("nearest_neighbor", "linear", "cubic"):
    for mode in ("asymmetric", "align_corners", "half_pixel"):
        CASES[f"resize {how} {mode}"] = (
            lambda x, how=how, mode=mode: topi.resize2d_python(x, (2, 3), "NHWC", how, mode),
            lambda x, how=how, mode=mode: image.resize2d(x, (12, 27), None, "NHWC", how, mode),
            (X,),
        )


@pytest.mark.rotating
@pytest.mark.parametrize("name", CASES)
def test_a_reference_agrees_with_the_kernel(name: str) -> None:
    reference, build, arrays = CASES[name]
    result, expected = computed(build, *arrays), reference(*arrays)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.rotating
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dilation", [1, 2])
def test_pooling(ceil: bool, full: bool, dilation: int) -> None:
    sizes = ((3, 3), (2, 2), (dilation, 1), (1, 0), (1, 2))
    how = (*sizes[:3], (1, 0, 1, 2), "NCHW", "", ceil)
    mean = computed(lambda x: nn.avg_pool2d(x, *how, full), X)
    np.testing.assert_allclose(mean, topi.poolnd_python(X, *sizes, "avg", full, ceil), rtol=1e-5, atol=1e-6)
    most = computed(lambda x: nn.max_pool2d(x, *how), X)
    np.testing.assert_array_equal(most, topi.poolnd_python(X, *sizes, "max", full, ceil))


def test_pooling_in_other_layouts_and_dtypes() -> None:
    whole = ((3, 3), (2, 2), (1, 1), (0, 0), (0, 0), "max")
    moved = topi.poolnd_python(X.transpose(0, 2, 3, 1), *whole, layout="NHWC")
    np.testing.assert_array_equal(moved.transpose(0, 3, 1, 2), topi.poolnd_python(X, *whole))
    numbers = np.arange(6, dtype="int32").reshape(1, 1, 6)
    assert topi.pool1d_ncw_python(numbers, 2, 2, (0, 0), (1, 1, 3), "max", dtype="int32").tolist() == [[[1, 3, 5]]]
    assert topi.poolnd_python(numbers, [2], [2], [1], [0], [0], "max").tolist() == [[[1, 3, 5]]]
    cube = np.arange(8, dtype="float32").reshape(1, 1, 2, 2, 2)
    assert topi.pool3d_ncdhw_python(cube, (2, 2, 2), (2, 2, 2), [0] * 6, None, "avg").tolist() == [[[[[3.5]]]]]


def test_shapes_and_paddings() -> None:
    from passlab.ir.types import SizeVar

    n = SizeVar("n")
    assert get_const_tuple((np.int64(3), n, 2)) == (3, n, 2)
    assert get_pad_tuple1d(2, (3,)) == (2, 2)
    assert get_pad_tuple((1, 2), (3, 3)) == (1, 2, 1, 2)
    assert get_pad_tuple("SAME", (4, 3)) == (2, 1, 1, 1)
    assert get_pad_tuple("VALID", (4, 3)) == (0, 0, 0, 0)
    assert get_pad_tuple3d((1, 2, 3, 4, 5, 6), (1, 1, 1)) == (1, 2, 3, 4, 5, 6)
