"""Activations, bias and softmax, normalisations and matrix products: values by NumPy's own formulas, and types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from passlab.ir.expr import Var
from passlab.ir.op import Op
from passlab.ir.types import ANY, TupleType
from tests.op_nn.running import T, close, refused, relate, relate_reporting, run, unknown

RNG = np.random.default_rng(2)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# ---------------------------------------------------------------- elementwise
def test_relu_and_leaky_relu():
    x = np.array([-2, -0.0, 0, 3, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(run("nn.relu", x), [0, 0, 0, 3, np.inf, 0])
    np.testing.assert_array_equal(run("nn.leaky_relu", x, alpha=0.5), [-1, 0, 0, 3, np.inf, -np.inf])
    assert np.isnan(run("nn.relu", np.array([np.nan], np.float32))).all()
    np.testing.assert_array_equal(run("nn.relu", np.array([-3, 4], np.int8)), [0, 4])
    half = np.array([-1.5, 2.5], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(run("nn.relu", half), np.array([0, 2.5], ml_dtypes.bfloat16))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("size", [8191, 8192, 30_000])
def test_relu_of_long_arrays(dtype, size):
    x = (normal(size) * 50).astype(dtype)
    for i, odd in enumerate([np.nan, np.inf, -np.inf, -0.0]):
        if np.dtype(dtype).kind != "i":
            x[i], x[-1 - i] = odd, odd
    wide = x.astype("float64")
    expected = np.where(np.isnan(wide) | (wide > 0), wide, 0)
    np.testing.assert_array_equal(run("nn.relu", x).astype("float64"), expected)
    grid = x[: size // 10 * 10].reshape(10, -1).T  # whose elements do not lie in order
    turned = expected[: grid.size].reshape(10, -1).T
    np.testing.assert_array_equal(run("nn.relu", grid).astype("float64"), turned)
    with np.errstate(all="ignore"):
        Op.get("nn.relu").spec.kernel(None, x, out=x)
    np.testing.assert_array_equal(x.astype("float64"), expected)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 1.5, -0.5, np.inf, np.nan])
def test_leaky_relu_multiplies_whatever_is_not_positive(alpha):
    x = np.array([-2, 0, 3, np.inf, -np.inf, np.nan, 1e38, -1e-45], np.float32)
    with np.errstate(all="ignore"):
        expected = np.where(x > 0, x, x * np.float32(alpha))
    np.testing.assert_array_equal(run("nn.leaky_relu", x, alpha=alpha), expected)
    np.testing.assert_array_equal(run("nn.prelu", x, np.full(8, alpha, np.float32), axis=0), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_bias_add_and_prelu_run_along_their_axis(axis):
    x = normal(3, 4, 5)
    vector = normal(x.shape[axis])
    wide = vector.reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    np.testing.assert_array_equal(run("nn.bias_add", x, vector, axis=axis), x + wide)
    np.testing.assert_array_equal(run("nn.prelu", x, vector, axis=axis), np.where(x > 0, x, x * wide))


def test_vectors_of_unknown_type_are_inferred():
    for name in ("nn.bias_add", "nn.prelu"):
        assert relate_reporting(name, T(2, 3, 4), unknown(), axis=1) == (T(2, 3, 4), {1: T(3)})
        assert relate(name, unknown(), T(3)) is None
        assert "axis 3 is outside the rank 3" in str(refused(name, T(2, 3, 4), T(3), axis=3))
    assert relate_reporting("nn.bias_add", T(2, ANY), T(4), axis=1) == (T(2, ANY), {1: T(ANY)})


# ---------------------------------------------------------------- softmax
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["nn.softmax", "nn.fast_softmax"])
def test_softmax_sums_to_one_without_overflow(axis, name):
    x = normal(3, 4, 5) * 100
    want = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    close(run(name, x, axis=axis), want / want.sum(axis=axis, keepdims=True), 1e-5)


def test_log_softmax():
    x = normal(3, 4) * 50
    wide = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    close(run("nn.log_softmax", x, axis=1), wide - np.log(np.exp(wide).sum(axis=1, keepdims=True)))


def test_softmax_of_half_floats_and_of_nothing():
    x = normal(2, 3).astype(np.float16)
    np.testing.assert_array_equal(run("nn.softmax", x), run("nn.softmax", x.astype(np.float32)).astype(np.float16))
    assert run("nn.softmax", normal(0, 3)).shape == (0, 3)
    assert "outside the rank" in str(refused("nn.softmax", T(2, 3), axis=2))


def test_dropout_is_the_identity_at_inference():
    x = normal(2, 3)
    data, mask = run("nn.dropout", x, rate=0.3)
    np.testing.assert_array_equal(data, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))
    assert relate("nn.dropout", T(2, 3)) == TupleType((T(2, 3), T(2, 3)))
    assert Op.get("nn.dropout").spec.stateful


# ---------------------------------------------------------------- normalisations
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize(("center", "scale"), [(True, True), (False, True), (True, False)])
def test_batch_norm(axis, center, scale):
    x = normal(2, 3, 4, 5)
    gamma, beta, mean, var = (np.abs(normal(x.shape[axis])) + 0.5 for _ in range(4))
    wide = [v.reshape([-1 if i == axis % 4 else 1 for i in range(4)]) for v in (gamma, beta, mean, var)]
    want = (x - wide[2]) / np.sqrt(wide[3] + 1e-3)
    want = want * (wide[0] if scale else 1) + (wide[1] if center else 0)
    data, same_mean, same_var = run(
        "nn.batch_norm", x, gamma, beta, mean, var, axis=axis, epsilon=1e-3, center=center, scale=scale
    )
    close(data, want)
    np.testing.assert_array_equal(same_mean, mean)
    np.testing.assert_array_equal(same_var, var)


def test_batch_norm_infers_its_vectors():
    result = relate_reporting("nn.batch_norm", T(1, 3, 8, 8), *[unknown()] * 4)
    assert result == (TupleType((T(1, 3, 8, 8), T(3), T(3))), dict.fromkeys(range(1, 5), T(3)))


def by_own_mean(x, axes, epsilon):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axis=axes, keepdims=True)) / np.sqrt(wide.var(axis=axes, keepdims=True) + epsilon)


def test_layer_instance_and_group_norm():
    x = normal(2, 6, 4, 5)
    gamma, beta = normal(5), normal(5)
    close(run("nn.layer_norm", x, gamma, beta, epsilon=1e-3), by_own_mean(x, -1, 1e-3) * gamma + beta)
    gamma, beta = normal(6), normal(6)
    wide = [v.reshape(1, 6, 1, 1) for v in (gamma, beta)]
    close(run("nn.instance_norm", x, gamma, beta), by_own_mean(x, (2, 3), 1e-5) * wide[0] + wide[1])
    grouped = by_own_mean(x.reshape(2, 3, 2, 4, 5), (2, 3, 4), 1e-5).reshape(x.shape)
    close(run("nn.group_norm", x, gamma, beta, num_groups=3), grouped * wide[0] + wide[1])
    close(run("nn.group_norm", x, gamma, beta, num_groups=3, scale=False, center=False), grouped)


def test_normalisations_refuse():
    assert "needs a batch, a channel and a spatial axis" in str(refused("nn.instance_norm", T(2, 3), T(3), T(3)))
    assert "cannot divide 6 channels into 4 groups" in str(
        refused("nn.group_norm", T(2, 6, 4), T(6), T(6), num_groups=4)
    )
    assert "outside the rank" in str(refused("nn.layer_norm", T(2, 3), T(3), T(3), axis=2))
    assert "outside the rank" in str(refused("nn.l2_normalize", T(2, 3), eps=1e-3, axis=(2,)))
    assert "size must be positive" in str(refused("nn.lrn", T(2, 3, 4, 4), size=0))


def test_l2_normalize_and_lrn():
    x = normal(2, 5, 3, 3)
    close(
        run("nn.l2_normalize", x, eps=1e-3, axis=(1,)),
        x / np.sqrt(np.maximum((x * x).sum(axis=1, keepdims=True), 1e-3)),
    )
    close(run("nn.l2_normalize", x, eps=1e-3, axis=None), x / np.sqrt((x * x).sum()))
    want = np.empty_like(x)
    for c in range(5):
        total = (x[:, max(0, c - 1) : c + 2] ** 2).sum(axis=1)
        want[:, c] = x[:, c] / (2 + 0.1 / 3 * total) ** 0.75
    close(run("nn.lrn", x, size=3, alpha=0.1), want)


# ---------------------------------------------------------------- matrix products
def test_dense_and_matmul():
    x, w = normal(2, 3, 4), normal(5, 4)
    close(run("nn.dense", x, w, units=5), x @ w.T)
    close(run("nn.matmul", x, w, units=None, transpose_b=True), x @ w.T)
    a, b = normal(4, 3), normal(4, 5)
    close(run("nn.matmul", a, b, units=5, transpose_a=True), a.T @ b)
    tall, flat = RNG.integers(-128, 128, (3, 300)).astype(np.int8), RNG.integers(-128, 128, (5, 300)).astype(np.int8)
    want = tall.astype(np.int64) @ flat.astype(np.int64).T
    np.testing.assert_array_equal(run("nn.dense", tall, flat, units=5, out_dtype="int32"), want)
    np.testing.assert_array_equal(run("nn.dense", tall, flat, units=5), want.astype(np.int8))
    half = normal(2, 4).astype(ml_dtypes.bfloat16)
    close(run("nn.dense", half, half, units=2).astype(np.float32), (half.astype("f") @ half.astype("f").T), 1e-2)


@pytest.mark.parametrize(("turn_a", "turn_b"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("batch", [(2, 2), (1, 2), (2, 1)])
def test_batch_matmul(turn_a, turn_b, batch):
    a, b = normal(batch[0], 3, 4), normal(batch[1], 4, 5)
    operands = [m.swapaxes(1, 2).copy() if turn else m for m, turn in ((a, turn_a), (b, turn_b))]
    close(run("nn.batch_matmul", *operands, transpose_a=turn_a, transpose_b=turn_b), a @ b)


def test_products_infer_and_refuse():
    assert relate_reporting("nn.dense", T(2, 3), unknown(), units=4) == (T(2, 4), {1: T(4, 3)})
    assert relate_reporting("nn.matmul", T(2, 3), unknown(), units=4) == (T(2, 4), {1: T(3, 4)})
    assert relate("nn.dense", T(2, 3), unknown(), units=None) is None
    assert relate("nn.dense", T(ANY, 3), T(4, 3), units=None) == T(ANY, 4)
    assert relate("nn.batch_matmul", T(ANY, 2, 3), T(5, 3, 4)) == T(5, 2, 4)
    assert "cannot multiply" in str(refused("nn.dense", T(2, 3), T(4, 5), units=None))
    assert "units is 7" in str(refused("nn.dense", T(2, 3), T(4, 3), units=7))
    assert "must have two dimensions" in str(refused("nn.dense", T(2, 3), T(3), units=None))
    assert "data has too few dimensions" in str(refused("nn.dense", T(), T(4, 3), units=None))
    assert "units must not be negative" in str(refused("nn.dense", T(2, 3), unknown(), units=-1))
    assert "cannot multiply" in str(refused("nn.matmul", T(2, 3), T(4, 5), units=None))
    assert "cannot multiply" in str(refused("nn.batch_matmul", T(1, 2, 3), T(1, 4, 5)))
    assert "equal batch sizes, or 1" in str(refused("nn.batch_matmul", T(2, 2, 3), T(3, 3, 4)))
    assert "three dimensions" in str(refused("nn.batch_matmul", T(2, 3), T(1, 3, 4)))


def test_batch_matmul_face_transposes_by_default():
    builder = Op.get("nn.batch_matmul").spec.builder
    assert builder is not None
    assert builder(Var("a"), Var("b")).attrs.transpose_b is True
    norm = Op.get("nn.batch_norm").spec.builder
    assert norm is not None
    assert len(norm(*[Var("x")] * 5)) == 3
