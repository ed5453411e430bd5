"""Every gradient of a neural network operator against finite differences of its kernel."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType

RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def typed(function: Function) -> Function:
    return infer_module(IRModule.from_expr(function))["main"]


def gradients(name: str, arrays: list[np.ndarray], attrs: dict) -> tuple[list[np.ndarray], object]:
    """Return the gradients of the sum of the (first) result, as the operator's declaration gives them."""
    op = Op.get(name)
    record = op.spec.attrs(**attrs) if op.spec.attrs else None
    params = [Var(f"x{i}", TensorType(x.shape, x.dtype)) for i, x in enumerate(arrays)]
    function = typed(Function(params, Call(op, params, record)))
    orig = function.body
    result = orig.checked_type
    slots = result.fields if isinstance(result, TupleType) else [result]
    seeds = [np.ones(t.shape, t.dtype) if i == 0 else np.zeros(t.shape, t.dtype) for i, t in enumerate(slots)]
    output_gradients = [Var(f"g{i}", t) for i, t in enumerate(slots)]
    grad = Tuple(output_gradients) if isinstance(result, TupleType) else output_gradients[0]
    parts = op.spec.gradient(orig, grad)
    mod = infer_module(IRModule.from_expr(Function([*function.params, *output_gradients], Tuple(parts))))
    return list(Evaluator(mod).run("main", [*arrays, *seeds])), record


def check(name: str, *arrays: np.ndarray, wrt: tuple[int, ...] | None = None, **attrs) -> None:
    """Assert that the gradients for the floating-point inputs are the finite differences."""
    arrays = list(arrays)
    result, record = gradients(name, arrays, attrs)
    kernel = Op.get(name).spec.kernel

    def total(values):
        output = kernel(record, *values)
        return float((output[0] if isinstance(output, tuple) else output).sum())

    for i in wrt if wrt is not None else [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]:
        want = np.zeros(arrays[i].shape)
        for place in np.ndindex(*arrays[i].shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [x.copy() for x in arrays]
                moved[i][place] += step
                ends.append(total(moved))
            want[place] = (ends[0] - ends[1]) / 2e-5
        assert result[i].shape == arrays[i].shape
        np.testing.assert_allclose(result[i], want, rtol=1e-4, atol=1e-6, err_msg=f"{name}, input {i}")


def test_activations():
    x = normal(2, 3, 4)
    check("nn.relu", x)
    check("nn.leaky_relu", x, alpha=0.3)
    check("nn.prelu", x, normal(3), axis=1)
    check("nn.prelu", x, normal(4), axis=-1)
    check("nn.bias_add", x, normal(3), axis=1)
    check("nn.bias_add", x, normal(2), axis=0)
    check("nn.dropout", x)


@pytest.mark.parametrize("axis", [1, -1])
def test_the_softmax_family(axis):
    # The sum over a softmax is constant: weights make the check see something.
    x, w = normal(2, 3), normal(2, 3)
    for name in ("nn.softmax", "nn.fast_softmax", "nn.log_softmax"):
        op = Op.get(name)
        attrs = op.spec.attrs(axis=axis)
        var = Var("x", TensorType((2, 3), "float64"))
        function = typed(Function([var], Call(op, [var], attrs)))
        grad = Var("g", TensorType((2, 3), "float64"))
        body = op.spec.gradient(function.body, grad)[0]
        got = Evaluator(infer_module(IRModule.from_expr(Function([*function.params, grad], body)))).run("main", [x, w])
        want = np.zeros_like(x)
        for place in np.ndindex(2, 3):
            step = np.zeros_like(x)
            step[place] = 1e-6
            want[place] = ((op.spec.kernel(attrs, x + step) - op.spec.kernel(attrs, x - step)) * w).sum() / 2e-6
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-7)


def test_products():
    check("nn.dense", normal(2, 3), normal(4, 3), units=None)
    check("nn.dense", normal(2, 5, 3), normal(4, 3), units=None)
    for ta in (False, True):
        for tb in (False, True):
            a, b = normal(*((3, 2) if ta else (2, 3))), normal(*((4, 3) if tb else (3, 4)))
            check("nn.matmul", a, b, units=None, transpose_a=ta, transpose_b=tb)
            check("nn.batch_matmul", np.stack([a, a]), np.stack([b, b + 1]), transpose_a=ta, transpose_b=tb)
    check("nn.batch_matmul", normal(1, 2, 3), normal(2, 3, 4))


@pytest.mark.parametrize(
    ("strides", "padding", "dilation", "groups"),
    [
        ((1, 1), (1, 1), (1, 1), 1),
        ((2, 1), (1, 0, 0, 1), (1, 1), 2),
        ((2, 2), (0, 0), (2, 1), 1),
        ((1, 1), (1, 1), (1, 1), 4),
    ],
)
def test_conv2d(strides, padding, dilation, groups):
    options = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    check("nn.conv2d", normal(2, 4, 6, 5), normal(4, 4 // groups, 3, 2), **options)


def test_pooling():
    x = RNG.permutation(2 * 3 * 5 * 6).reshape(2, 3, 5, 6).astype(np.float64)
    for options in (
        {"pool_size": (2, 2), "strides": (2, 2)},
        {"pool_size": (3, 2), "padding": (1, 1), "ceil_mode": True, "strides": (2, 2)},
    ):
        check("nn.max_pool2d", x, **options)
        check("nn.avg_pool2d", x, **options)
        check("nn.avg_pool2d", x, **options, count_include_pad=True)
    check("nn.global_avg_pool2d", x)
    check("nn.global_max_pool2d", x)


def test_normalisations():
    x = normal(2, 3, 4)
    vectors = [normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.5]
    for options in ({}, {"scale": False}, {"center": False}):
        check("nn.batch_norm", x, *vectors, **options)
    # The sum of a normalised tensor is constant up to gamma: use gammas of mixed sign.
    check("nn.layer_norm", x, normal(4), normal(4))
    check("nn.instance_norm", normal(2, 3, 4, 2), normal(3), normal(3))


def test_shapes_and_borders():
    check("nn.batch_flatten", normal(2, 3, 4))
    check("nn.pad", normal(2, 3), np.array(0.5), pad_width=((1, 0), (2, 1)))


def test_losses():
    p, y = np.abs(normal(3, 4)) + 0.5, np.abs(normal(3, 4))
    check("nn.cross_entropy", p, y)
    check("nn.cross_entropy_with_logits", p, y)
    targets, weights = np.array([1, 0, -100, 3], np.int32), np.abs(normal(4)) + 0.1
    for reduction in ("mean", "sum", "none"):
        check("nn.nll_loss", normal(4, 4), targets, weights, wrt=(0,), reduction=reduction, ignore_index=-100)
    wide = RNG.integers(0, 3, (2, 4)).astype(np.int32)
    check("nn.nll_loss", normal(2, 3, 4), wide, normal(3), wrt=(0,), reduction="sum", ignore_index=-1)
