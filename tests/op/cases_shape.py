"""Uses of operators that make, shape, order, join, cut and reduce tensors."""

from __future__ import annotations

import numpy as np

from tests.op.cases import INTS, NONE, X, Y, Z, array, case, f32

# ---------------------------------------------------------------- shape
case("reshape", X, newshape=[4, 0, 2], want=X.reshape(4, 3, 2))
case("reshape", X, newshape=[6, 1, -1], want=X.reshape(6, 1, 4))
case("reshape", X, newshape=[-2], want=X)
case("reshape", X, newshape=[2, -2], want=X)
case("reshape", X, newshape=[-2, 1, 1], want=X.reshape(2, 3, 4, 1, 1))
case("reshape", X, newshape=[-3, 4], want=X.reshape(6, 4))
case("reshape", f32(2, 3, 4, 5), newshape=[-3, -3], want=None)
case("reshape", X, newshape=[0, -3], want=X.reshape(2, 12))
case("reshape", X, newshape=[-3, -2], want=X.reshape(6, 4))
case("reshape", X, newshape=[-4, 1, 2, -2], want=X.reshape(1, 2, 3, 4))
case("reshape", X, newshape=[2, -4, -1, 3, -2], want=X.reshape(2, 1, 3, 4))
case("reshape", NONE, newshape=[3, 0], allowzero=True, want=NONE.reshape(3, 0))
case("reshape", NONE, newshape=[0, -1], want=None)
case("reshape", array([[5.0]]), newshape=[], want=array(5.0))
case("reshape", array(5.0), newshape=[1, 1], want=array([[5.0]]))
case("contrib_reverse_reshape", f32(10, 5, 4), newshape=[-1, 0], want=None)
case("contrib_reverse_reshape", X, newshape=[-3, 0], want=X.reshape(6, 4))
case("reshape_like", X, f32(6, 4), want=X.reshape(6, 4))
case("reshape_like", f32(30, 9), f32(15, 2, 4), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2, want=None)
case("reshape_like", f32(6, 4), f32(9, 2, 3), lhs_end=1, rhs_begin=-2, want=None)
case("expand_dims", X, axis=0, want=X[None])
case("expand_dims", X, axis=-1, num_newaxis=2, want=X[..., None, None])
case("expand_dims", X, axis=-4, want=X[None])
case("expand_dims", array(3.0), axis=0, want=array([3.0]))
case("expand_dims", X, axis=1, num_newaxis=0, want=X)
case("squeeze", X[:1, :, :1], want=X[0, :, 0])
case("squeeze", X[:1, :, :1], axis=[-1], want=X[:1, :, 0])
case("squeeze", array([[3.0]]), want=array(3.0))
case("squeeze", array(3.0), axis=[], want=array(3.0))

# ---------------------------------------------------------------- order
case("transpose", X, axes=None, want=X.T)
case("transpose", X, axes=[1, -1, 0], want=X.transpose(1, 2, 0))
case("transpose", array(1.0), axes=[], want=array(1.0))
case("reverse", X, axis=1, want=X[:, ::-1])
case("reverse", X, axis=-1, want=X[..., ::-1])
case("reverse", NONE, axis=0, want=NONE)
_rows = np.arange(16, dtype="float32").reshape(4, 4)
case(
    "reverse_sequence",
    _rows,
    array([1, 2, 3, 4], "int32"),
    seq_axis=0,
    batch_axis=1,
    want=array([[0, 5, 10, 15], [4, 1, 6, 11], [8, 9, 2, 7], [12, 13, 14, 3]]),
)
case(
    "reverse_sequence",
    _rows,
    array([1, 2, 3, 9], "int64"),
    want=array([[0, 1, 2, 3], [5, 4, 6, 7], [10, 9, 8, 11], [15, 14, 13, 12]]),
)
case("invert_permutation", array([3, 4, 0, 2, 1], "int32"), want=array([2, 4, 3, 0, 1], "int32"))
case("invert_permutation", array([], "int64"), want=array([], "int64"))

# ---------------------------------------------------------------- join
case("concatenate", (X, Y[:, :1]), axis=1, want=np.concatenate([X, Y[:, :1]], 1))
case("concatenate", (X,), axis=-3, want=X)
case("concatenate", (NONE, f32(2, 3)), want=None)
case("stack", (X, Y), axis=-1, want=np.stack([X, Y], -1))
case("stack", (array(1.0), array(2.0)), axis=0, want=array([1.0, 2.0]))
case("split", X, indices_or_sections=2, axis=2, want=tuple(np.split(X, 2, 2)))
case("split", X, indices_or_sections=[0, 1, 1], axis=-2, want=tuple(np.split(X, [0, 1, 1], 1)))
case(
    "meshgrid",
    (array([1, 2, 3]), array([4, 5]), array(6)),
    want=tuple(np.meshgrid([1, 2, 3], [4, 5], 6, indexing="ij")),
    exact=False,
)
case(
    "meshgrid",
    (array([1, 2, 3]), array([4, 5])),
    indexing="xy",
    want=tuple(np.meshgrid([1, 2, 3], [4, 5])),
    exact=False,
)

# ---------------------------------------------------------------- slices
case("strided_slice", X, begin=[0, 1, 1], end=[2, 3, 4], strides=[1], want=X[0:2, 1:3, 1:4])
case("strided_slice", X, begin=[1, -1], end=[9, -9], strides=[1, -1], want=X[1:, ::-1])
case("strided_slice", X, begin=[0, 0], end=[2**63 - 1, 2**63 - 1], strides=[1, 2], want=X[:, ::2])
case("strided_slice", X, begin=[0, -3], end=[1, 2], strides=[], slice_mode="size", want=X[0:1, 0:2])
case("strided_slice", X, begin=[1, 1, 1], end=[-1, 1, -1], slice_mode="size", want=X[1:, 1:2, 1:])
case("strided_slice", X, begin=[1], end=[3], strides=[2], axes=[-1], want=X[..., 1:3:2])
case("strided_slice", X, begin=[2], end=[1], want=X[2:1])
case("strided_slice", array(2.0), begin=[], end=[], want=array(2.0))
_set = X.copy()
_set[0:1, 1:3] = Y[0:1, 0:2]
case("strided_set", X, Y[0:1, 0:2], array([0, 1], "int64"), array([1, 3], "int64"), array([1, 1], "int64"), want=_set)
case("slice_like", X, f32(1, 2, 3), want=X[:1, :2, :3])
case("slice_like", X, f32(1, 2, 3), axes=[-1, 0], want=X[:1, :, :3])
case("slice_like", X, f32(1), want=X[:1])

# ---------------------------------------------------------------- creation
case("zeros", shape=[2, 0, 3], dtype="int8", want=np.zeros((2, 0, 3), "int8"))
case("ones", shape=[], dtype="bool", want=np.ones((), bool))
case("full", array(2.7), shape=[2, 2], dtype="int32", want=np.full((2, 2), 2, "int32"))
case("full", array(2.5), shape=[3], want=np.full(3, 2.5, "float32"))
case("full_like", INTS, array(7, "int64"), want=np.full_like(INTS, 7))
case("zeros_like", INTS, want=np.zeros_like(INTS))
case("ones_like", array(3.0), want=array(1.0))
case("arange", array(1.0), array(9.0), array(3.0), dtype="int32", want=np.arange(1, 9, 3, dtype="int32"))
case("arange", array(5, "int32"), array(0, "int32"), array(-2, "int32"), dtype="int64", want=np.array([5, 3, 1]))
case("arange", array(2, "int32"), array(1, "int32"), array(1, "int32"), dtype="int64", want=np.array([], "int64"))
case(
    "one_hot",
    array([0, 2, 7, -1], "int32"),
    array(1.0),
    array(0.0),
    depth=3,
    dtype="float32",
    want=array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
)
case(
    "one_hot",
    array([0, 2], "int32"),
    array(5, "int32"),
    array(1, "int32"),
    depth=3,
    axis=0,
    dtype="int32",
    want=array([[5, 1], [1, 1], [1, 5]], "int32"),
)
case("one_hot", array(1, "int64"), array(1.0), array(0.0), depth=2, dtype="bool", want=array([False, True], "bool"))

# ---------------------------------------------------------------- spreading
case("broadcast_to", Z, shape=[2, 3, 4], want=np.broadcast_to(Z, (2, 3, 4)))
case("broadcast_to", array(4.0), shape=[0, 2], want=np.zeros((0, 2), "float32"))
case("broadcast_to_like", Z, X, want=np.broadcast_to(Z, (2, 3, 4)))
case("collapse_sum_like", X, Z, want=X.sum((0, 2)).reshape(3, 1), exact=False)
case("collapse_sum_like", INTS, INTS, want=INTS)
case("collapse_sum_to", X, array([3, 1], "int64"), want=X.sum((0, 2)).reshape(3, 1), exact=False)
case("tile", X, reps=[2, 1], want=np.tile(X, [2, 1]))
case("tile", Z, reps=[2, 1, 2], want=np.tile(Z, [2, 1, 2]))
case("tile", Z, reps=[0], want=np.tile(Z, [0]))
case("repeat", X, repeats=2, axis=-2, want=np.repeat(X, 2, -2))
case("repeat", X, repeats=0, axis=0, want=X[:0])
case("repeat", X, repeats=3, axis=None, want=np.repeat(X, 3))

# ---------------------------------------------------------------- cast
case("cast", array([1.9, -1.9, 300.0]), dtype="int32", want=array([1, -1, 300], "int32"))
case("cast", array([300, -1], "int32"), dtype="uint8", want=array([44, 255], "uint8"))
case("cast", array([0.0, 0.5, float("nan")]), dtype="bool", want=array([False, True, True], "bool"))
case("cast_like", array([1.9, -1.9]), array(0, "int8"), want=array([1, -1], "int8"))
case("reinterpret", array([1.0, -2.0]), dtype="int32", want=array([1.0, -2.0]).view("int32"))
case("copy", X, want=X)

# ---------------------------------------------------------------- reductions
for _name, _numpy in (("sum", np.sum), ("mean", np.mean), ("prod", np.prod), ("max", np.max), ("min", np.min)):
    case(_name, X, want=_numpy(X), exact=False)
    case(_name, X, axis=[0, -1], keepdims=True, want=_numpy(X, (0, 2), keepdims=True), exact=False)
    case(_name, X, axis=[1], exclude=True, want=_numpy(X, (0, 2)), exact=False)
    case(_name, X, axis=[], want=X)
case("sum", array([120, 120], "int8"), want=array(-16, "int8"))
case("sum", NONE, axis=[0], want=np.zeros(3, "float32"))
case("prod", NONE, axis=[0], want=np.ones(3, "float32"))
case("prod", array([2**31, 4], "int64"), want=array(2**33, "int64"))
case("mean", array([-3, -4], "int32"), want=array(-3, "int32"))
case("mean", array([250] * 200, "uint8"), axis=[0], want=array(sum([250] * 200) % 256 // 200, "uint8"))
case("max", NONE, axis=[0], want=np.full(3, -np.inf, "float32"))
case("min", np.zeros((0,), "int8"), want=array(127, "int8"))
case("max", array([1.0, float("nan")]), want=array(float("nan")))
_b = array([[True, False], [True, True]], "bool")
case("all", _b, axis=[1], want=array([False, True], "bool"))
case("any", _b, axis=[1], keepdims=True, want=array([[True], [True]], "bool"))
case("all", np.zeros((0,), bool), want=array(True, "bool"))
_ties = array([[1, 3, 3], [0, 0, 5]])
case("argmax", _ties, axis=[1], want=array([1, 2], "int32"))
case("argmax", _ties, axis=[1], select_last_index=True, want=array([2, 2], "int32"))
case("argmin", _ties, axis=[0], keepdims=True, want=array([[1, 1, 0]], "int32"))
case("argmax", _ties, want=array(5, "int32"))
case("argmin", _ties, axis=[1], select_last_index=True, want=array([0, 1], "int32"))
case("argmax", X, axis=[0, 2], want=X.transpose(1, 0, 2).reshape(3, -1).argmax(-1).astype("int32"))
case("argmax", np.zeros((0, 3), "float32"), axis=[1], want=np.zeros((0,), "int32"))
_center = X.mean((0, 2), keepdims=True)
case("variance", X, _center, axis=[0, 2], want=X.var((0, 2)), exact=False)
case(
    "variance",
    X,
    _center,
    axis=[1],
    exclude=True,
    keepdims=True,
    unbiased=True,
    want=X.var((0, 2), keepdims=True, ddof=1),
    exact=False,
)
case("cumsum", X, axis=-1, want=np.cumsum(X, -1), exact=False)
case("cumsum", INTS, axis=None, dtype="int64", want=np.cumsum(INTS, dtype="int64"))
case("cumsum", array([1, 2, 3], "int32"), axis=0, exclusive=True, want=array([0, 1, 3], "int32"))
case("cumsum", array([200, 100], "uint8"), axis=0, want=array([200, 44], "uint8"))
case("cumprod", array([[2, 3], [4, 5]], "int32"), axis=0, want=array([[2, 3], [8, 15]], "int32"))
case("cumprod", array([2, 3, 4], "int32"), axis=0, exclusive=True, want=array([1, 2, 6], "int32"))
case("cumsum", NONE, axis=0, exclusive=True, want=NONE)
