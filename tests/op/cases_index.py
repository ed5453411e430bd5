"""Uses of operators that pick, scatter, sort, compare, multiply and transform, and of those whose shape is an input."""

from __future__ import annotations

import numpy as np

from passlab.ir.expr import Constant
from tests.op.cases import INTS, X, Y, Z, array, case, f32

# ---------------------------------------------------------------- indices
_i = array([[0, 2], [1, 1]], "int32")
case("take", X, _i, axis=1, want=X[:, _i])
case("take", X, array(1, "int64"), axis=-1, want=X[..., 1])
case("take", X, array([23, 24, -5], "int32"), want=X.ravel()[[23, 23, 0]])
case("take", X, array([-1, 4], "int32"), axis=2, mode="wrap", want=X[..., [3, 0]])
case("take", X, array([-1, 3], "int32"), axis=2, mode="fast", want=X[..., [-1, 3]])
case(
    "take", X, _i, axis=2, batch_dims=1, want=np.stack([X[b][:, _i[b]] for b in range(2)]).swapaxes(1, 2).swapaxes(1, 2)
)
case("take", f32(0, 3), np.zeros((0,), "int32"), axis=0, want=np.zeros((0, 3), "float32"))
case("gather", array([[1, 2], [3, 4]]), array([[0, 0], [1, 0]], "int32"), axis=1, want=array([[1, 1], [4, 3]]))
case("gather", array([[1, 2], [3, 4]]), array([[-1, 0]], "int64"), axis=0, want=array([[3, 2]]))
case("gather_nd", X, array([[0, 1], [2, 0]], "int32"), want=X[[0, 1], [2, 0]])
case("gather_nd", X, array([[1, 0], [0, 1], [3, 2]], "int32"), want=X[[1, 0], [0, 1], [3, 2]])
case("gather_nd", X, array([[[0, 2], [1, 1]]], "int32"), batch_dims=1, want=X[np.arange(2)[:, None], [[0, 2], [1, 1]]])
case("gather_nd", X, array([[2, 1]], "int64"), batch_dims=1, want=X[[0, 1], [2, 1]])
case("adv_index", (X, array([0, 1], "int32"), array([[2], [0]], "int64")), want=X[[0, 1], [[2], [0]]])
case("argwhere", array([[0, 1], [2, 0]]), want=array([[0, 1], [1, 0]], "int32"))
case("argwhere", array(1.0), want=np.zeros((1, 0), "int32"))
case("unravel_index", array([22, 41, 37], "int32"), array([7, 6], "int32"), want=array([[3, 6, 6], [4, 5, 1]], "int32"))
case("unravel_index", array(5, "int64"), array([2, 3], "int64"), want=array([1, 2], "int64"))
case(
    "scatter_elements",
    np.zeros((3, 3), "float32"),
    array([[1, 0, 2], [0, 2, 1]], "int32"),
    array([[1, 1.1, 1.2], [2, 2.1, 2.2]]),
    axis=0,
    want=array([[2, 1.1, 0], [1, 0, 2.2], [0, 2.1, 1.2]]),
)
_five = array([[1, 2, 3, 4, 5]])
case(
    "scatter_elements",
    _five,
    array([[1, 1]], "int64"),
    array([[1.1, 2.1]]),
    axis=1,
    reduction="add",
    want=array([[1, 5.2, 3, 4, 5]]),
    exact=False,
)
case(
    "scatter_elements",
    _five,
    array([[-1, 0]], "int32"),
    array([[2, 9]]),
    axis=1,
    reduction="mul",
    want=array([[9, 2, 3, 4, 10]]),
)
case(
    "scatter_elements",
    _five,
    array([[1, 1]], "int32"),
    array([[0, 9]]),
    axis=1,
    reduction="max",
    want=array([[1, 9, 3, 4, 5]]),
)
case(
    "scatter_elements",
    _five,
    array([[1, 1]], "int32"),
    array([[0, 9]]),
    axis=1,
    reduction="min",
    want=array([[1, 0, 3, 4, 5]]),
)
case(
    "scatter_elements",
    _five,
    array([[1, 1]], "int32"),
    array([[4, 1]]),
    axis=1,
    reduction="mean",
    want=array([[1, 2, 3, 4, 5]]),
)
case(
    "scatter_nd",
    np.zeros((2, 2), "float32"),
    array([[1, 1, 0], [0, 1, 0]], "int32"),
    array([2, 3, 0]),
    want=array([[0, 0], [2, 3]]),
)
case(
    "scatter_nd",
    np.ones((3, 2), "int32"),
    array([[0, 2, 0]], "int64"),
    array([[1, 1], [2, 2], [3, 3]], "int32"),
    mode="add",
    want=array([[5, 5], [1, 1], [3, 3]], "int32"),
)
case(
    "sparse_to_dense",
    array([[0, 0], [1, 1]], "int32"),
    array([3, 3]),
    array(0.0),
    output_shape=[2, 2],
    want=array([[3, 0], [0, 3]]),
)
case(
    "sparse_to_dense",
    array(1, "int32"),
    array(3, "int32"),
    array(9, "int32"),
    output_shape=[3],
    want=array([9, 3, 9], "int32"),
)
case(
    "sparse_reshape",
    array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]], "int32"),
    array([2, 3, 6], "int32"),
    array([9, -1], "int32"),
    want=(array([[0, 0], [0, 1], [1, 2], [4, 2], [8, 1]], "int32"), array([9, 4], "int32")),
)
case(
    "sparse_fill_empty_rows",
    array([[0, 1], [0, 3], [2, 0], [3, 1]], "int64"),
    array([1, 2, 3, 4], "int32"),
    array([5, 6], "int64"),
    array([10], "int32"),
    want=(
        array([[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]], "int64"),
        array([1, 2, 10, 3, 4, 10], "int32"),
        array([0, 1, 0, 0, 1], "int64"),
    ),
)
case(
    "sequence_mask",
    np.ones((3, 2, 1), "float32"),
    array([1, 3], "int32"),
    mask_value=-1,
    want=array([[[1], [1]], [[-1], [1]], [[-1], [1]]]),
)
case(
    "sequence_mask",
    np.ones((2, 3), "int32"),
    array([1, 2], "int32"),
    axis=1,
    want=array([[1, 0, 0], [1, 1, 0]], "int32"),
)
case("matrix_set_diag", np.full((2, 3), 7, "float32"), array([1, 2]), want=array([[1, 7, 7], [7, 2, 7]]))
case(
    "matrix_set_diag",
    np.zeros((3, 3), "float32"),
    array([[8, 9], [1, 2]])[..., :2],
    k1=1,
    k2=2,
    want=array([[0, 1, 9], [0, 0, 2], [0, 0, 0]]),
)
case(
    "matrix_set_diag",
    np.zeros((3, 3), "float32"),
    array([[1, 2, 3], [4, 5, 0]]),
    k1=-1,
    k2=0,
    want=array([[1, 0, 0], [4, 2, 0], [0, 5, 3]]),
)

# ---------------------------------------------------------------- sorting
_s = array([[3, 1, 2], [1, 1, 0]])
case("sort", _s, axis=1, want=np.sort(_s, 1))
case("sort", _s, axis=0, is_ascend=False, want=array([[3, 1, 2], [1, 1, 0]]))
case("argsort", _s, axis=1, dtype="int64", want=array([[1, 2, 0], [2, 0, 1]], "int64"))
case("argsort", _s, axis=1, is_ascend=False, want=array([[0, 2, 1], [0, 1, 2]], "int32"))
case("topk", _s, k=2, dtype="int32", want=(array([[3, 2], [1, 1]]), array([[0, 2], [0, 1]], "int32")))
case("topk", _s, k=0, axis=0, ret_type="values", is_ascend=True, want=np.sort(_s, 0))
case("topk", _s, k=1, ret_type="indices", dtype="int64", want=array([[0], [0]], "int64"))
case("searchsorted", array([1, 3, 5]), array([[0, 3], [5, 9]]), want=array([[0, 1], [2, 3]], "int32"))
case(
    "searchsorted",
    array([[1, 3], [2, 4]]),
    array([[3], [3]]),
    right=True,
    dtype="int64",
    want=array([[2], [1]], "int64"),
)
case(
    "unique",
    array([2, 1, 2, 5], "int32"),
    want=(
        array([1, 2, 5, 0], "int32"),
        array([1, 0, 3, 0], "int32"),
        array([1, 0, 1, 2], "int32"),
        array([3], "int32"),
    ),
)
case(
    "unique",
    array([2, 1, 2, 5], "int32"),
    sorted=False,
    return_counts=True,
    want=(
        array([2, 1, 5, 0], "int32"),
        array([0, 1, 3, 0], "int32"),
        array([0, 1, 0, 2], "int32"),
        array([3], "int32"),
        array([2, 1, 1, 0], "int32"),
    ),
)

# ---------------------------------------------------------------- asking
case("shape_of", X, want=array([2, 3, 4], "int32"))
case("shape_of", array(1.0), dtype="int64", want=array([], "int64"))
case("ndarray_size", X, dtype="int64", want=array(24, "int64"))
case("vm.shape_of", X, dtype="int64", want=array([2, 3, 4], "int64"))
case("vm.reshape_tensor", X, array([4, 6], "int64"), newshape=[4, 6], want=X.reshape(4, 6))

# ---------------------------------------------------------------- choosing and comparing
case("where", array([[True], [False], [True]], "bool"), X[0], Z, want=np.where([[True], [False], [True]], X[0], Z))
case("where", array([0.0, 0.5, float("nan")]), array([1, 2, 3]), array([4, 5, 6]), want=array([4, 2, 3]))
case("less", X, Z, want=X < Z)
case("equal", array([float("nan"), 1]), array([float("nan"), 1]), want=array([False, True], "bool"))
case("clip", array([-5, 0.5, 9, float("nan")]), a_min=0, a_max=6, want=array([0, 0.5, 6, float("nan")]))
case("clip", array([0, 100, 255], "uint8"), a_min=-5.5, a_max=127.9, want=array([0, 100, 127], "uint8"))
case("clip", array([1.0, 5.0]), a_min=6, a_max=2, want=array([2, 2]))
case("trilu", np.ones((3, 3), "int32"), array(0, "int64"), want=np.triu(np.ones((3, 3), "int32")))
case("trilu", X, array([-1], "int32"), upper=False, want=np.tril(X, -1))

# ---------------------------------------------------------------- products
case("einsum", (X[0], Y[0].T.copy()), equation="ij,jk->ik", want=X[0] @ Y[0].T, exact=False)
case("einsum", (X, Y), equation="b...,b...", want=np.einsum("b...,b...", X, Y), exact=False)
case("einsum", (X,), equation="...ij->...ji", want=X.swapaxes(1, 2))
case("einsum", (INTS, INTS), equation="ij,ij->", want=array((INTS * INTS).sum(), "int32"))
case(
    "fixed_point_multiply",
    array([1, -1, 7, -7, 2**20], "int32"),
    multiplier=1 << 30,
    shift=0,
    want=array([1, 0, 4, -3, 2**19], "int32"),
)
case("fixed_point_multiply", array([5, -5], "int32"), multiplier=1 << 30, shift=3, want=array([20, -20], "int32"))
case("fixed_point_multiply", array([100], "int32"), multiplier=1717986918, shift=-3, want=array([10], "int32"))
case(
    "fixed_point_multiply_per_axis",
    array([[100, 100], [8, 8]], "int32"),
    array([1717986918, 1 << 30], "int32"),
    array([0, 2], "int32"),
    array([3, 0], "int32"),
    is_lshift_required=True,
    is_rshift_required=True,
    axes=[0],
    want=array([[10, 10], [16, 16]], "int32"),
)
case("layout_transform", f32(1, 8, 2, 3), src_layout="NCHW", dst_layout="NHWC", want=None)
case(
    "layout_transform",
    np.arange(8, dtype="float32").reshape(1, 8, 1, 1),
    src_layout="NCHW",
    dst_layout="NCHW4c",
    want=np.arange(8, dtype="float32").reshape(1, 2, 1, 1, 4),
)
case(
    "layout_transform",
    np.arange(8, dtype="float32").reshape(1, 2, 1, 1, 4),
    src_layout="NCHW4c",
    dst_layout="NHWC",
    want=np.arange(8, dtype="float32").reshape(1, 1, 1, 8),
)

# ---------------------------------------------------------------- signals
_signal = np.arange(1, 7, dtype="float32")[None]
_frames = np.stack([_signal[0, 0:3], _signal[0, 3:6]]) * [4, 3, 2]
_spectrum = np.fft.rfft(_frames).T[None]
case(
    "stft",
    _signal,
    array([4, 3, 2], "int32"),
    n_fft=3,
    hop_length=3,
    win_length=3,
    want=np.stack([_spectrum.real, _spectrum.imag], -1),
    exact=False,
)
case(
    "stft",
    _signal,
    array([4, 3, 2], "int32"),
    n_fft=3,
    hop_length=3,
    win_length=3,
    normalized=True,
    onesided=False,
    want=np.stack([np.fft.fft(_frames).T[None].real, np.fft.fft(_frames).T[None].imag], -1) / np.sqrt(3),
    exact=False,
)
case("dft", X, Y, want=(np.fft.fft(X + 1j * Y).real, np.fft.fft(X + 1j * Y).imag), exact=False)
case("dft", X, Y, inverse=True, want=(np.fft.ifft(X + 1j * Y).real, np.fft.ifft(X + 1j * Y).imag), exact=False)
case(
    "sliding_window",
    np.arange(12, dtype="float32").reshape(3, 4),
    axis=0,
    window_shape=[2, 3],
    strides=[1, 1],
    want=np.lib.stride_tricks.sliding_window_view(np.arange(12, dtype="float32").reshape(3, 4), (2, 3)),
)
case("sliding_window", X, axis=-1, window_shape=[2], strides=[2], want=np.stack([X[..., 0:2], X[..., 2:4]], -2))

# ---------------------------------------------------------------- shapes that are inputs
_shape = array([4, 6], "int64")
case("dyn.reshape", X, array([0, -1], "int32"), newshape=[], want=X.reshape(2, 12))
case("dyn.squeeze", X[:1], array([0], "int64"), want=X[0])
case("dyn.expand_dims", X, array(-1, "int64"), num_newaxis=2, want=X[..., None, None])
case("dyn.broadcast_to", Z, array([2, 3, 4], "int64"), want=np.broadcast_to(Z, (2, 3, 4)))
case("dyn.tile", X, array([2, 1], "int32"), reps=[], want=np.tile(X, [2, 1]))
case("dyn.zeros", _shape, dtype="float32", want=np.zeros((4, 6), "float32"))
case("dyn.ones", array([], "int64"), dtype="int8", want=array(1, "int8"))
case("dyn.full", array(3.5), _shape, dtype="int32", want=np.full((4, 6), 3, "int32"))
case("dyn.strided_slice", X, array([0, 1], "int64"), array([9, 3], "int64"), array([1, 1], "int64"), want=X[:, 1:3])
case(
    "dyn.strided_slice",
    X,
    array([1], "int32"),
    array([2], "int32"),
    array([1], "int32"),
    slice_mode="size",
    axes=[2],
    want=X[..., 1:3],
)
case("dyn.topk", _s, array(2, "int32"), want=(array([[3, 2], [1, 1]]), array([[0, 2], [0, 1]], "int32")))
case(
    "dyn.one_hot",
    array([0, 2], "int32"),
    array(1.0),
    array(0.0),
    array(3, "int32"),
    depth=0,
    dtype="float32",
    want=array([[1, 0, 0], [0, 0, 1]]),
)
case(
    "dyn.sparse_to_dense",
    array([1, 3], "int32"),
    array([5, 6]),
    array(0.0),
    array([4], "int64"),
    want=array([0, 5, 0, 6]),
)

# ---------------------------------------------------------------- marks
for _mark in (
    "annotation.stop_fusion",
    "annotation.checkpoint",
    "annotation.bitpack_start",
    "annotation.bitpack_end",
    "on_device",
):
    case(_mark, X, want=X)
case("annotation.compiler_begin", X, compiler="dnnl", want=X)
case("annotation.compiler_end", X, compiler="dnnl", want=X)
case("annotation.cast_hint", X, dtype="int8", want=X)
case("device_copy", X, want=X)
case(
    "relay.op.annotation.simulated_quantize",
    array([0.3, 9.0, -9.0]),
    array(0.5),
    array(-4.0),
    array(3.0),
    kind=1,
    want=array([0.5, 1.5, -2.0]),
)

CONSTANT_BOUNDS = tuple(Constant(np.array(v, "float32")) for v in (1, 9, 3))
case(
    "arange",
    *(c.data for c in CONSTANT_BOUNDS),
    start=CONSTANT_BOUNDS[0],
    stop=CONSTANT_BOUNDS[1],
    step=CONSTANT_BOUNDS[2],
    dtype="float32",
    want=array([1, 4, 7]),
)
