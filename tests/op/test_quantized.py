"""Quantized operators against the numbers that their integers stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.definitions.elements import round_half_away as away
from passlab.ir.op import Op
from passlab.op.qnn.scales import fixed_point, rescale, rescale_floats
from tests.op_nn.running import run

RANDOM = np.random.default_rng(11)
S, Z = np.float32(0.5), np.int32(3)


def ints(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def scalar(value: Any) -> np.ndarray:
    return np.array(value, np.float32 if isinstance(value, float) else np.int32)


def real(q: np.ndarray, scale: float, zero: int) -> np.ndarray:
    return (q.astype("float64") - zero) * scale


def nearest(values: np.ndarray, scale: float, zero: int, dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    clipped: np.ndarray = np.clip(away(values / scale) + zero, info.min, info.max)
    return clipped


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_quantize_and_back(dtype: str) -> None:
    x = RANDOM.standard_normal((3, 4)).astype("float32") * 20
    q = run("qnn.quantize", x, scalar(0.25), scalar(1), out_dtype=dtype)
    np.testing.assert_array_equal(q, nearest(x, 0.25, 1, dtype))
    back = run("qnn.dequantize", q, scalar(0.25), scalar(1), out_dtype="float32")
    np.testing.assert_array_equal(back, real(q, 0.25, 1).astype("float32"))


def test_the_ends_of_the_range_hold_what_lies_beyond() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 0.5, 1.5, -0.5], "float32")
    q = run("qnn.quantize", x, scalar(1.0), scalar(0), out_dtype="int8")
    np.testing.assert_array_equal(q, np.array([127, -128, 127, 127, -128, 1, 2, -1], "int8"))


def test_the_ends_of_int32() -> None:
    x = np.array([1e30, -1e30, 2.0**31, 5], "float32")
    q = run("qnn.quantize", x, scalar(1.0), scalar(0), out_dtype="int32")
    np.testing.assert_array_equal(q, np.array([2**31 - 1, -(2**31), 2**31 - 1, 5], "int32"))


def test_quantized_programs_run_on_the_virtual_machine() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), int8]) -> Tensor[(2, 4), int8] {
      %0 = qnn.quantize(%x, 0.05f, 3, out_dtype="int8");
      %1 = qnn.dense(%0, %w, 3, 0, 0.05f, 0.1f, units=4, out_dtype="int32");
      qnn.requantize(%1, 0.005f, 0, 0.25f, -1, out_dtype="int8")
    }"""
    mod = passlab.parse(text)
    inputs = RANDOM.standard_normal((2, 3)).astype("float32"), ints("int8", 4, 3)
    want = relay.create_executor("debug", mod=mod).evaluate()(*inputs)
    got = relay.create_executor("vm", mod=mod).evaluate()(*inputs)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_scales_vary_along_an_axis() -> None:
    x = RANDOM.standard_normal((2, 3, 2)).astype("float32")
    scales, zeros = np.array([0.1, 0.2, 0.4], "float32"), np.array([0, 1, -1], "int32")
    q = run("qnn.quantize", x, scales, zeros, out_dtype="int8", axis=1)
    for at in range(3):
        one = run("qnn.quantize", x[:, at], scales[at : at + 1], zeros[at : at + 1], out_dtype="int8")
        np.testing.assert_array_equal(q[:, at], one)
    back = run("qnn.dequantize", q, scales, zeros, out_dtype="float32", axis=-2)
    np.testing.assert_allclose(back, x, atol=0.21)
    again = run("qnn.requantize", q, scales, zeros, scalar(0.1), scalar(0), axis=1, out_dtype="int32")
    np.testing.assert_allclose(again * 0.1, back, atol=0.051)


@pytest.mark.parametrize("ratio", [0.5, 0.7071, 1.0, 3.3, 0.0001, 12345.678])
def test_fixed_point_ratios(ratio: float) -> None:
    multiplier, shift = fixed_point(ratio)
    assert 1 << 30 <= multiplier < 1 << 31
    np.testing.assert_allclose(multiplier * 2.0 ** (shift - 31), ratio, rtol=1e-9)
    x = np.arange(-1000, 1000, dtype="int32")
    np.testing.assert_allclose(rescale(x, np.asarray(ratio)), x * ratio, atol=0.5 + 1e-3)


def test_where_halves_go() -> None:
    x, half = np.array([-3, -1, 1, 3], "int32"), np.asarray(0.5)
    want = {"UPWARD": [-1, 0, 1, 2], "TONEAREST": [-2, -1, 1, 2]}
    for rounding, numbers in want.items():
        np.testing.assert_array_equal(rescale(x, half, rounding), numbers)
        np.testing.assert_array_equal(rescale_floats(x, half, np.asarray(0), rounding, "float32"), numbers)


def test_requantize_saturates_and_keeps() -> None:
    q = ints("int32", 5, 5)
    same = run("qnn.requantize", q, scalar(0.5), scalar(0), scalar(0.5), scalar(0), out_dtype="int8")
    np.testing.assert_array_equal(same, np.clip(q, -128, 127))
    small = ints("int8", 4, 4)
    result = run("qnn.requantize", small, scalar(0.5), scalar(3), scalar(0.3), scalar(-1), out_dtype="int16")
    np.testing.assert_allclose(real(result, 0.3, -1), real(small, 0.5, 3), atol=0.16)


@pytest.mark.parametrize(
    ("name", "combine"), [("qnn.add", np.add), ("qnn.subtract", np.subtract), ("qnn.mul", np.multiply)]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_arithmetic(name: str, combine: Any, dtype: str) -> None:
    a, b = ints(dtype, 60, 50), ints(dtype, 50)
    facts = (scalar(0.5), scalar(3), scalar(0.25), scalar(-2), scalar(2.0), scalar(10))
    got = run(name, a, b, *facts)
    want = nearest(combine(real(a, 0.5, 3), real(b, 0.25, -2)), 2.0, 10, dtype)
    assert np.abs(got.astype(int) - want).max() <= 1, "each operand is rounded once more"
    assert (got == want).mean() > 0.5


FUNCTIONS: dict[str, Any] = {
    "abs": np.abs, "exp": np.exp, "sqrt": lambda x: np.sqrt(np.maximum(x, 0)), "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_all_values(name: str) -> None:
    q = np.arange(0, 128, dtype="int8") if name == "sqrt" else np.arange(-128, 128).astype("int8")
    got = run(f"qnn.{name}", q, scalar(0.05), scalar(0), scalar(0.07), scalar(-5))
    want = nearest(FUNCTIONS[name](real(q, 0.05, 0)), 0.07, -5, "int8")
    assert np.abs(got.astype(int) - want).max() <= 1, "a half may fall on either side in float32"
    assert (got == want).mean() > 0.95


def test_functions_with_attributes() -> None:
    q = ints("int8", 3, 5)
    got = run("qnn.leaky_relu", q, scalar(0.1), scalar(0), scalar(0.1), scalar(0), alpha=0.5)
    np.testing.assert_allclose(got, np.where(q < 0, q * 0.5, q), atol=0.51)
    soft = run("qnn.softmax", q, scalar(0.1), scalar(0), scalar(0.01), scalar(0))
    powers = np.exp(real(q, 0.1, 0))
    np.testing.assert_allclose(soft, np.clip(powers / powers.sum(-1, keepdims=True) / 0.01, -128, 127), atol=0.51)


def test_products_count_from_the_zero_points() -> None:
    x, w = ints("uint8", 4, 7), ints("int8", 3, 7)
    zeros = np.array([1, -2, 5], "int32")
    got = run("qnn.dense", x, w, scalar(100), zeros, scalar(0.5), np.ones(3, "float32"), units=3, out_dtype="int32")
    np.testing.assert_array_equal(got, (x.astype(int) - 100) @ (w.astype(int) - zeros[:, None]).T)
    a, b = ints("int8", 2, 3, 4), ints("int8", 2, 5, 4)
    got = run(
        "qnn.batch_matmul", a, b, scalar(1), scalar(-1), scalar(0.5), scalar(0.5), out_dtype="int32", transpose_b=True
    )
    np.testing.assert_array_equal(got, np.einsum("bik,bjk->bij", a.astype(int) - 1, b.astype(int) + 1))


def test_a_padded_convolution_pads_with_zero_not_with_the_integer_zero() -> None:
    x, w = ints("uint8", 1, 2, 4, 4), ints("int8", 3, 2, 3, 3)
    facts = (scalar(128), scalar(2), scalar(0.5), scalar(0.5))
    attrs = {"padding": [1, 1, 1, 1], "kernel_size": [3, 3], "channels": 3, "out_dtype": "int32"}
    got = run("qnn.conv2d", x, w, *facts, **attrs)
    plain = Op.get("nn.conv2d").spec
    assert plain.kernel is not None
    assert plain.attrs is not None
    want = plain.kernel(plain.attrs(**attrs), x.astype("int32") - 128, w.astype("int32") - 2)
    np.testing.assert_array_equal(got, want)


def test_convolutions_with_a_zero_point_for_each_channel() -> None:
    x, w, zeros = ints("int8", 1, 2, 3, 3), ints("int8", 2, 2, 2, 2), np.array([1, -7], "int32")
    scales = np.array([0.1, 0.2], "float32")
    got = run(
        "qnn.conv2d", x, w, scalar(0), zeros, scalar(0.5), scales, kernel_size=[2, 2], channels=2, out_dtype="int32"
    )
    for at in range(2):
        one = run(
            "qnn.conv2d",
            x,
            w[at : at + 1],
            scalar(0),
            zeros[at : at + 1],
            scalar(0.5),
            scales[at : at + 1],
            kernel_size=[2, 2],
            channels=1,
            out_dtype="int32",
        )
        np.testing.assert_array_equal(got[:, at], one[:, 0])
    back = run(
        "qnn.conv2d_transpose",
        x,
        w,
        scalar(0),
        scalar(0),
        scalar(0.5),
        scalar(0.5),
        kernel_size=[2, 2],
        channels=2,
        out_dtype="int32",
    )
    assert back.shape == (1, 2, 4, 4)


def test_products_name_the_parameters_of_their_weights_after_the_kernel() -> None:
    x, w = relay.var("x", shape=(1, 2, 4, 4), dtype="uint8"), relay.var("w", shape=(2, 3, 2, 2), dtype="int8")
    one, zero = relay.const(1.0), relay.const(0)
    parameters = {"input_zero_point": zero, "kernel_zero_point": zero, "input_scale": one, "kernel_scale": one}
    back = relay.qnn.op.conv2d_transpose(x, w, **parameters, kernel_size=(2, 2), channels=3)
    there = relay.qnn.op.conv2d(x, w, **parameters, kernel_size=(2, 2), channels=3)
    rows = relay.qnn.op.dense(x, w, **parameters, units=3)
    assert back.args[2:] == there.args[2:] == rows.args[2:] == (zero, zero, one, one)


def test_large_sums_are_exact() -> None:
    x, w = np.full((1, 4096), 127, "int8"), np.full((1, 4096), 127, "int8")
    got = run("qnn.dense", x, w, scalar(-128), scalar(-128), scalar(1.0), scalar(1.0), units=1, out_dtype="int32")
    assert got.item() == 255 * 255 * 4096


def test_concatenate_brings_all_to_one_scale() -> None:
    a, b = ints("uint8", 2, 2), ints("uint8", 2, 3)
    got = run(
        "qnn.concatenate", (a, b), (scalar(0.5), scalar(1.0)), (scalar(0), scalar(4)), scalar(0.5), scalar(0), axis=1
    )
    np.testing.assert_array_equal(got[:, :2], a)
    np.testing.assert_array_equal(got[:, 2:], np.clip((b.astype(int) - 4) * 2, 0, 255))


def test_pooling_takes_means_of_integers() -> None:
    q = np.array([[[[0, 2], [4, 7]]]], "uint8")
    got = run("qnn.avg_pool2d", q, scalar(0.5), scalar(1), scalar(0.5), scalar(1), pool_size=[2, 2])
    np.testing.assert_array_equal(got, [[[[3]]]])


def test_the_function_of_average_pooling_takes_channels_last() -> None:
    q = ints("int8", 1, 4, 4, 2)
    x, one, zero = relay.var("x", shape=q.shape, dtype="int8"), relay.const(1.0), relay.const(0)
    call = relay.qnn.op.avg_pool2d(x, one, zero, one, zero, (2, 2), (2, 2), (0, 0), (1, 1))
    got = relay.create_executor("vm", passlab.IRModule.from_expr(call)).evaluate()(q)
    want = q.astype("float64").reshape(1, 2, 2, 2, 2, 2).mean((2, 4))
    np.testing.assert_array_equal(got, np.trunc(want))


def test_a_configuration_says_how_calls_inside_it_round() -> None:
    def attrs(**text: str) -> tuple[str, str]:
        result = relay.qnn.op.requantize(relay.var("q"), *map(relay.const, (0.5, 0, 1.0, 0)), **text)
        return result.attrs.rounding, result.attrs.compute_dtype

    assert attrs() == ("None", "None")
    with relay.qnn.op.requantize_config(rounding="TONEAREST", compute_dtype="float32"):
        assert attrs() == ("TONEAREST", "float32")
        with relay.qnn.op.requantize_config():
            assert attrs(compute_dtype="float64") == ("UPWARD", "float64")
        assert attrs(rounding="UPWARD") == ("UPWARD", "float32")
    assert attrs() == ("None", "None")
    with pytest.raises(ValueError, match="rounding is one of"), relay.qnn.op.requantize_config(rounding="DOWN"):
        raise AssertionError


def test_simulated_quantization_stays_in_floats() -> None:
    x = np.array([0.3, 100.0, -100.0], "float32")
    q = run("qnn.simulated_quantize", x, scalar(1), scalar(0.5), scalar(1))
    np.testing.assert_array_equal(q, np.array([2, 127, -128], "float32"))
    unsigned = run("qnn.simulated_quantize", x, scalar(2), scalar(0.5), scalar(1))
    np.testing.assert_array_equal(unsigned, np.array([2, 201, 0], "float32"))
    np.testing.assert_array_equal(run("qnn.simulated_quantize", x, scalar(0), scalar(0.5), scalar(1)), x)
    back = run("qnn.simulated_dequantize", q, scalar(2), scalar(0.5), scalar(1), out_dtype="float32")
    np.testing.assert_array_equal(back, np.array([0.5, 63, -64.5], "float32"))
