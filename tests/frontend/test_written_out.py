"""Operators that ONNX has no single word for, written with those it has: Relay in, ONNX's own reference out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import passlab
from passlab.frontend import to_onnx
from passlab.frontend.onnx.export.emitter import GraphEmitter
from tests.each import each

DRAW = np.random.default_rng(2)
X = DRAW.uniform(-2, 2, (3, 5)).astype("float32")
SIGNED = np.array([-128, -7, -1, 0, 1, 5, 127], "int8")
PLACES = np.array([0, 1, 3, 7, 2, 6, 5], "int8")

CASES: dict[str, tuple[str, list[Any], Any]] = {
    "products along an axis": (
        "def @main(%x: Tensor[(3, 5), float32]) { cumprod(%x, axis=1) }",
        [X],
        np.cumprod(X, 1),
    ),
    "products without the element itself": (
        "def @main(%x: Tensor[(3, 5), float32]) { cumprod(%x, axis=0, exclusive=True) }",
        [X],
        np.concatenate([np.ones((1, 5), "float32"), np.cumprod(X, 0)[:-1]]),
    ),
    "products of all": ("def @main(%x: Tensor[(3, 5), float32]) { cumprod(%x) }", [X], np.cumprod(X)),
    "signed shifts to the right": (
        "def @main(%x: Tensor[(7), int8], %n: Tensor[(7), int8]) { right_shift(%x, %n) }",
        [SIGNED, PLACES],
        SIGNED >> PLACES,
    ),
    "signed shifts to the left": (
        "def @main(%x: Tensor[(7), int8], %n: Tensor[(7), int8]) { left_shift(%x, %n) }",
        [SIGNED, PLACES],
        SIGNED << PLACES,
    ),
    "a Fourier transform": (
        "def @main(%x: Tensor[(3, 5), float32]) { %0 = dft(%x, %x); %0.1 }",
        [X],
        np.fft.fft(X + 1j * X).imag.astype("float32"),
    ),
    "a Fourier transform of one line, back": (
        "def @main(%x: Tensor[(5), float32]) { %0 = dft(%x, %x, inverse=True); %0.0 }",
        [X[0]],
        np.fft.ifft(X[0] + 1j * X[0]).real.astype("float32"),
    ),
    "quotients of fractions without what is behind the point": (
        "def @main(%x: Tensor[(3, 5), float32], %y: float32) { trunc_divide(%x, %y) }",
        [X, np.float32(-0.3)],
        np.trunc(X / np.float32(-0.3)),
    ),
    "each element over its own size": (
        "def @main(%x: Tensor[(3, 5), float32]) { nn.l2_normalize(%x, eps=1e-6f, axis=[]) }",
        [X],
        np.sign(X),
    ),
    "one row of what an index says": (
        'def @main(%i: int64) { one_hot(%i, 2f, 1f, depth=3, axis=0, dtype="float32") }',
        [np.int64(1)],
        np.array([1, 2, 1], "float32"),
    ),
    "whether any of nothing holds": (
        "def @main(%x: Tensor[(2, 0), bool]) { any(%x, axis=[1]) }",
        [np.zeros((2, 0), "bool")],
        np.zeros(2, "bool"),
    ),
}


@each("opset", [19, 21])
@each("name", CASES)
def test_values_are_those_of_numpy(name: str, opset: int) -> None:
    text, inputs, expected = CASES[name]
    model = to_onnx(passlab.parse(text), opset_version=opset)
    onnx.checker.check_model(model, full_check=True)
    names = [value.name for value in model.graph.input]
    (result,) = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_weights_that_are_made_on_the_way_are_not_taken_for_each_other() -> None:
    """An array that is let go leaves its address to the next one."""
    emitter = GraphEmitter(passlab.IRModule(), 21)
    names = [emitter.constant(np.full(100, number, "float32")) for number in range(20)]
    assert [emitter.weights[name][0] for name in names] == list(range(20))


def test_a_weight_in_two_dtypes_is_two_weights() -> None:
    emitter, value = GraphEmitter(passlab.IRModule(), 21), np.arange(100)
    names = [emitter.constant(value, dtype) for dtype in ("float32", "int32", "float32")]
    assert [emitter.weights[name].dtype for name in names] == ["float32", "int32", "float32"]


def test_deformable_convolutions_have_an_operator_of_their_own() -> None:
    text = """def @main(%x: Tensor[(1, 2, 5, 5), float32], %o: Tensor[(1, 18, 3, 3), float32], %w: Tensor[(4, 2, 3, 3), float32]) {
        nn.deformable_conv2d(%x, %o, %w, channels=4, kernel_size=[3, 3]) }"""
    model = to_onnx(passlab.parse(text))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["DeformConv"]
    with pytest.raises(passlab.errors.ModelError, match="before opset 19"):
        to_onnx(passlab.parse(text), opset_version=18)
