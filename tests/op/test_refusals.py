"""What operators refuse, and how they say it: the message, and the argument that is pointed at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import LimitError, RunError, TypeInferenceError
from passlab.ir.op import Op
from tests.each import each

ILLEGAL = [
    ("add(%x, %t)", "Incompatible broadcast type"),
    ("add(%x, %i)", "data types float32 and int32 do not match"),
    ("less(%i, %x)", "data types int32 and float32 do not match"),
    ("bitwise_and(%x, %x)", "bitwise operators take integers or bools"),
    ("bitwise_not(%x)", "bitwise operators take integers or bools"),
    ("exp((%x, %x))", "must be a tensor"),
    ("where(%c, %x, %i)", "do not match"),
    ("where(%c, %x, %t)", "Incompatible broadcast type"),
    ('reinterpret(%x, dtype="int64")', "float32 has 4 bytes an element and int64 has 8"),
    ('cast(%x, dtype="float33")', "unknown dtype `float33`"),
    ('cast(%x, dtype="")', "the dtype of a tensor is missing"),
    ("reshape(%x, newshape=[4])", "6 elements cannot be reshaped into 4"),
    ("reshape(%x, newshape=[-1, -1])", "newshape may have one -1"),
    ("reshape(%x, newshape=[4, -1])", "cannot be inferred"),
    ("reshape(%x, newshape=[0, 0, 0])", "needs a dimension that the data does not have"),
    ("reshape(%x, newshape=[-4, -1, -1, 3])", "only one of the two dimensions after -4"),
    ("reshape(%x, newshape=[-4, 2])", "needs two dimensions after it"),
    ("reshape(%x, newshape=[-4, 5, -1, 3])", "a dimension of 2 cannot be split by 5"),
    ("reshape(%x, newshape=[-7])", "-7 means nothing in newshape"),
    ("reshape_like(%x, %v3)", "6 elements cannot be reshaped into 3"),
    ("reshape_like(%x, %t, lhs_end=7)", "must lie in the rank 2"),
    ("squeeze(%x, axis=[0])", "cannot be squeezed away: its size is 2"),
    ("squeeze(%x, axis=[2])", "axis 2 is outside the rank 2"),
    ("expand_dims(%x, axis=4)", "outside the rank 2"),
    ("expand_dims(%x, axis=0, num_newaxis=-1)", "num_newaxis is -1"),
    ("transpose(%x, axes=[0])", "axes must name all 2 dimensions"),
    ("transpose(%x, axes=[0, 0])", "axes names a dimension twice"),
    ("concatenate((%x, %t))", "dimension 1 of field 1 is 2 and was 3"),
    ("concatenate((%x, %v3))", "field 1 has 1 dimensions and field 0 has 2"),
    ("concatenate((%x, %i))", "another dtype"),
    ("concatenate(())", "there is nothing to join"),
    ("concatenate(%x)", "must be a tuple of tensors"),
    ("stack((%x, %x), axis=3)", "axis 3 is outside the rank 3"),
    ("split(%x, indices_or_sections=4, axis=1)", "cannot be split into 4 equal sections"),
    ("split(%x, indices_or_sections=[2, 1], axis=1)", "must not decrease"),
    ("split(%x, indices_or_sections=[9], axis=1)", "index 9 is outside the dimension of 3"),
    ("split(%x, indices_or_sections=0)", "cannot be split into 0 sections"),
    ("strided_slice(%x, begin=[0], end=[1], strides=[0])", "a stride is 0"),
    ("strided_slice(%x, begin=[0, 0, 0], end=[1, 1, 1])", "begin has 3 entries for 2 dimensions"),
    ("strided_slice(%x, begin=[0], end=[1], axes=[5])", "axes 5 is outside the rank 2"),
    ("strided_slice(%x, begin=None, end=[1])", "begin and end are missing"),
    ("slice_like(%v3, %x)", "shape_like has 2 dimensions and data has 1"),
    ("slice_like(%x, %t)", "asks for 3"),
    ("sum(%x, axis=[2])", "axis 2 is outside the rank 2"),
    ("sum(%x, axis=[0, -2])", "axis names a dimension twice"),
    ("variance(%v3, %x)", "mean has more dimensions than data"),
    ("broadcast_to(%x, shape=[3])", "cannot be broadcast to 1"),
    ("broadcast_to(%x, shape=[2, 4])", "a dimension of 3 cannot be broadcast to 4"),
    ("collapse_sum_like(%x, %t)", "cannot be broadcast to"),
    ("tile(%x, reps=[-1])", "less than 0 times"),
    ("repeat(%x, repeats=-1)", "less than 0 times"),
    ("take(%x, %x)", "indices must be integers"),
    ("take(%x, %i, axis=5)", "axis 5 is outside the rank 2"),
    ("take(%x, %i, axis=0, batch_dims=1)", "batch_dims 1 is beyond the axis 0"),
    ("gather(%x, %v4i, axis=0)", "indices must have as many dimensions as data"),
    ("gather_nd(%x, %m3)", "indices of 3 parts do not fit data of 2 dimensions"),
    ("scatter_elements(%x, %i, %v3)", "updates must cover indices"),
    ("scatter_nd(%x, %i, %x)", "updates do not fit indices and data"),
    ("one_hot(%i, 1f, 0f, depth=0)", "depth must be at least 1"),
    ("one_hot(%i, %x, 0f, depth=3)", "on_value must be a scalar"),
    ("topk(%x, k=9)", "there are no 9 elements along a dimension of 3"),
    ("searchsorted(%x, %t)", "must agree in all dimensions but the last"),
    ("unique(%x)", "unique works on a vector"),
    ('einsum((%x, %x), equation="ij,jk->ik")', "the dimension j is 3 in one tensor and 2 in another"),
    ('einsum((%x, %t), equation="ij->i")', "the equation has 1 terms and there are 2 tensors"),
    ('einsum((%x,), equation="ijk->i")', "does not fit 2 dimensions"),
    ('einsum((%x,), equation="ij->iz")', "the dimension z of the result is in no tensor"),
    ('layout_transform(%im, src_layout="NCHW", dst_layout="NHWD")', "dst_layout cannot be `NHWD`"),
    ('layout_transform(%im, src_layout="NCHW", dst_layout="NCHW7c")', "axis C of size 2 cannot be split"),
    ("zeros(shape=None)", "the shape is missing"),
    ("zeros(shape=[2])", "the dtype is missing"),
    ("full(%x, shape=[2])", "fill_value must be a scalar"),
    ("dyn.reshape(%x, %n, newshape=[])", "the length of newshape must be known"),
    ("dyn.zeros(%x, shape=None)", "shape must be integers"),
    ("fixed_point_multiply(%x, multiplier=1, shift=0)", "data must be integers"),
    ("fixed_point_multiply(%i, multiplier=1, shift=40)", "the shift is too large"),
    ("random.threefry_split(%x)", "a key is ten 64-bit words"),
    ("image.resize2d(%im, size=[2], roi=None)", "size has 1 numbers"),
    ("image.resize2d(%x, size=[2, 2], roi=None)", "data has 2 dimensions and its layout NCHW has 4"),
    ("sliding_window(%x, axis=0, window_shape=[3, 3], strides=[1, 1])", "a window of 3 does not fit a dimension of 2"),
    ("trilu(%v3, 0)", "trilu needs at least two dimensions"),
    ("stft(%v3, %v3, n_fft=9, hop_length=1, win_length=9)", "shorter than n_fft"),
    ("matrix_set_diag(%x, %v3, k1=1, k2=0)", "the first diagonal must not lie above the second"),
    ("call_lowered(%x, (%x,))", "call_lowered calls a function"),
]  # fmt: skip
PARAMS = """%x: Tensor[(2, 3), float32], %t: Tensor[(3, 2), float32], %i: Tensor[(2, 3), int32], %c: Tensor[(2, 3), bool],
    %v3: Tensor[(3), float32], %v4i: Tensor[(4), int32], %m3: Tensor[(3, 2), int32],
    %im: Tensor[(1, 2, 3, 4), float32],
    %n: Tensor[(?), int64]"""


@each(("text", "message"), ILLEGAL, ids=[t for t, _ in ILLEGAL])
def test_illegal_uses_are_refused_where_they_stand(text: str, message: str) -> None:
    source = f'#[version = "0.0.5"]\ndef @main({PARAMS}) {{\n  {text}\n}}'
    with pytest.raises(passlab.PasslabError) as caught:
        passlab.parse(source)
    finding = caught.value.diagnostics[0]
    assert message in str(caught.value)
    assert finding.place is not None, "the error says where"
    if isinstance(caught.value, TypeInferenceError):
        assert text.split("(")[0] in str(caught.value)


FAILING: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("take", (np.ones((2, 3)), np.array([5])), {"axis": 0, "mode": "fast"}, "index 5 is outside a dimension of 2"),
    ("take", (np.ones((0, 3)), np.array([0])), {"axis": 0}, "no element to select from"),
    ("gather", (np.ones((2, 2)), np.array([[3]])), {"axis": 0}, "index 3 is outside a dimension of 2"),
    ("gather_nd", (np.ones((2, 2)), np.array([[0], [-3]])), {}, "index -3 is outside a dimension of 2"),
    ("scatter_elements", (np.ones(2), np.array([2]), np.ones(1)), {}, "index 2 is outside"),
    ("scatter_elements", (np.ones(3), np.array([0, 1]), np.ones(1)), {}, "updates must cover indices"),
    ("scatter_nd", (np.ones(2), np.array([[2]]), np.ones(1)), {}, "index 2 is outside"),
    ("unravel_index", (np.array([6]), np.array([2, 3])), {}, "index 6 is outside"),
    ("invert_permutation", (np.array([0, 0]),), {}, "not a permutation"),
    ("argmax", (np.ones((2, 0)),), {"axis": [1]}, "of no elements"),
    ("mean", (np.ones((0,), "int32"),), {}, "the mean of no integers"),
    ("strided_set", (np.ones((2, 2)), np.ones(3), *(np.array([v, v]) for v in (0, 2, 1))), {},
    "does not fill the box"),
    ("arange", (np.array(0.0), np.array(1.0), np.array(0.0)), {"dtype": "float32"}, "arange has no end"),
    ("arange", (np.array(0.0), np.array(np.inf), np.array(1.0)), {"dtype": "float32"}, "arange has no end"),
    ("dyn.zeros", (np.array([-1]),), {"dtype": "float32"}, "no negative sizes"),
    ("vm.reshape_tensor", (np.ones(4), np.array([3])), {"newshape": [3]}, "4 elements cannot be reshaped"),
    ("sparse_reshape", (np.zeros((1, 1), int), np.array([4]), np.array([3])), {}, "cannot be reshaped"),
    ("sparse_fill_empty_rows", (np.array([[7]]), np.ones(1), np.array([2]), np.ones(1)), {}, "outside 2 rows"),
    ("collapse_sum_to", (np.ones((2, 3)), np.array([2])), {}, "does not collapse"),
    ("vm.invoke_tvm_op", (np.ones(1),) * 3, {}, "instruction of the virtual machine"),
]  # fmt: skip


@each(("name", "inputs", "attrs", "message"), FAILING, ids=[f"{f[0]}-{f[3]}" for f in FAILING])
def test_values_that_do_not_fit_are_errors(
    name: str, inputs: tuple[Any, ...], attrs: dict[str, Any], message: str
) -> None:
    spec = Op.get(name).spec
    assert spec.kernel is not None
    with pytest.raises(RunError) as caught:
        spec.kernel(spec.attrs(**attrs) if spec.attrs else None, *inputs)
    assert message in str(caught.value)


HUGE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", (), {"shape": [10**6, 10**6], "dtype": "float32"}),
    ("full", (np.array(1.0),), {"shape": [10**12]}),
    ("arange", (np.array(0), np.array(10**13), np.array(1)), {"dtype": "int64"}),
    ("broadcast_to", (np.ones(1),), {"shape": [10**12]}),
    ("tile", (np.ones(10),), {"reps": [10**12]}),
    ("repeat", (np.ones(10),), {"repeats": 10**12}),
    ("one_hot", (np.zeros(10, int), np.array(1.0), np.array(0.0)), {"depth": 10**12}),
    ("dyn.ones", (np.array([10**6, 10**6]),), {"dtype": "float32"}),
    ("dyn.tile", (np.ones(10), np.array([10**12])), {"reps": []}),
    ("random.threefry_generate", (np.zeros(10, "uint64"),), {"out_shape": [10**12]}),
]


@pytest.mark.parametrize(("name", "inputs", "attrs"), HUGE, ids=[h[0] for h in HUGE])
def test_nothing_huge_is_allocated(name: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    spec = Op.get(name).spec
    assert spec.kernel is not None
    assert spec.attrs is not None
    with pytest.raises(LimitError, match=r"passlab\.limits\.override"):
        spec.kernel(spec.attrs(**attrs), *inputs)


def test_limits_can_be_raised() -> None:
    spec = Op.get("zeros").spec
    assert spec.kernel is not None
    assert spec.attrs is not None
    attrs = spec.attrs(shape=[100], dtype="int8")
    with limits.override(elements=99), pytest.raises(LimitError):
        spec.kernel(attrs)
    with limits.override(elements=100):
        assert spec.kernel(attrs).shape == (100,)
