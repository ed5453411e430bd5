"""Quantized operators as integer arithmetic: the same bits as the operators themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from passlab import relay, transform
from passlab.errors import DiagnosticError, PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Call, IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.text.parser import parse
from tests.each import each

Q, U, F = "%q: Tensor[(2, 6), int8]", "%u: Tensor[(2, 6), uint8]", "%x: Tensor[(2, 6), float32]"
N, W, V = "%i: Tensor[(2, 6), int32]", "%w: Tensor[(6, 6), int8]", "%v: Tensor[(1, 3, 6, 6), int8]"
K, B = "%k: Tensor[(4, 3, 3, 3), int8]", "%b: Tensor[(2, 3, 4), int8]"
S, Z = "%s: Tensor[(6), float32]", "%z: Tensor[(6), int32]"
CALLS = {
    "dequantize": 'qnn.dequantize(%u, 0.3f, 120, out_dtype="float32")',
    "dequantize by axis": 'qnn.dequantize(%q, %s, %z, axis=1, out_dtype="float32")',
    "dequantize to float16": 'qnn.dequantize(%q, 0.1f, 3, out_dtype="float16")',
    "quantize": 'qnn.quantize(%x, 0.02f, 3, out_dtype="uint8")',
    "quantize by axis": 'qnn.quantize(%x, %s, %z, out_dtype="int8", axis=-1)',
    "quantize to int32": 'qnn.quantize(%x, 1e-9f, 0, out_dtype="int32")',
    "requantize": 'qnn.requantize(%i, 0.0123f, 3, 0.5f, -7, out_dtype="int8")',
    "requantize up": 'qnn.requantize(%q, 3.5f, 3, 0.5f, 2, out_dtype="int16")',
    "requantize to nearest": 'qnn.requantize(%i, 0.5f, 0, 1f, 0, rounding="TONEAREST", out_dtype="int8")',
    "requantize in float": 'qnn.requantize(%i, 0.5f, 0, 1f, 0, compute_dtype="float32", out_dtype="int8")',
    "requantize in float, to nearest": 'qnn.requantize(%i, 0.5f, 0, 1f, 0, rounding="TONEAREST", compute_dtype="float64", out_dtype="int8")',
    "requantize between zeros": 'qnn.requantize(%u, 0.5f, 128, 0.5f, 0, out_dtype="int8")',
    "requantize to int64": 'qnn.requantize(%i, 2f, 0, 0.5f, 1, out_dtype="int64")',
    "add": "qnn.add(%q, %q, 0.1f, 2, 0.3f, -1, 0.25f, 4)",
    "add with broadcasting": "qnn.add(%q, strided_slice(%q, begin=[0], end=[1], strides=[1], axes=[0]), 0.1f, 2, 0.3f, -1, 0.25f, 4)",
    "subtract": "qnn.subtract(%u, %u, 0.1f, 2, 0.3f, 1, 0.25f, 4)",
    "mul": "qnn.mul(%q, %q, 0.1f, 2, 0.3f, -1, 0.25f, 4)",
    "concatenate": "qnn.concatenate((%q, %q), (0.5f, 0.25f), (0, 3), 0.4f, 1, axis=1)",
    "dense": 'qnn.dense(%q, %w, 3, -2, 0.5f, 0.5f, units=6, out_dtype="int32")',
    "dense by channel": 'qnn.dense(%u, %w, 3, %z, 0.5f, %s, units=6, out_dtype="int32")',
    "batch_matmul": 'qnn.batch_matmul(%b, %b, 1, 2, 0.5f, 0.5f, out_dtype="int32", transpose_b=True)',
    "conv2d": 'qnn.conv2d(%v, %k, 4, 1, 0.5f, 0.5f, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype="int32")',
    "conv2d_transpose": 'qnn.conv2d_transpose(%v, transpose(%k, axes=[1, 0, 2, 3]), 4, 1, 0.5f, 0.5f, channels=4, kernel_size=[3, 3], out_dtype="int32")',
    "avg_pool2d": "qnn.avg_pool2d(%v, 0.5f, 1, 0.25f, 2, pool_size=[2, 2], strides=[2, 2])",
    "softmax": "qnn.softmax(%q, 0.1f, 2, 0.0039f, -128, axis=-1)",
    "leaky_relu": "qnn.leaky_relu(%q, 0.1f, 2, 0.2f, 1, alpha=0.3f)",
    **{
        name: f"qnn.{name}(%u, 0.05f, 3, 0.04f, 7)"
        for name in ("abs", "erf", "exp", "hardswish", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
    },
}
STAYS = {
    "a scale that is computed": 'qnn.requantize(%q, strided_slice(%s, begin=[0], end=[1], strides=[1]), 0, 0.5f, 0, out_dtype="int8")',
    "a function of 32 bits": "qnn.exp(%i, 0.05f, 3, 0.04f, 7)",
    "a simulation": "qnn.simulated_quantize(%x, 2, 0.5f, 0)",
}


def module(call: str) -> IRModule:
    return infer_module(parse(f"def @main({Q}, {U}, {F}, {N}, {W}, {V}, {K}, {B}, {S}, {Z}) {{ {call} }}"))


def arguments(mod: IRModule) -> list[Any]:
    rng, result = np.random.default_rng(3), []
    for p in mod["main"].params:
        shape, dtype = p.type_annotation.shape, p.type_annotation.dtype
        bounds = {"int8": (-128, 128), "uint8": (0, 256)}.get(dtype, (-9, 9) if p.name_hint == "z" else (-5000, 5000))
        whole = rng.integers(*bounds, shape).astype(dtype)
        floats = rng.standard_normal(shape).astype("float32")
        result.append(whole if "int" in dtype else np.abs(floats) + np.float32(0.1) if p.name_hint == "s" else floats)
    return result


def quantized(mod: IRModule) -> list[str]:
    calls = (n.op for n in post_order(mod["main"]) if isinstance(n, Call))
    return [op.name for op in calls if isinstance(op, Op) and op.name.startswith("qnn.")]


@each("name", CALLS)
def test_the_bits_are_those_of_the_operator(name: str):
    mod = module(CALLS[name])
    result = relay.qnn.transform.CanonicalizeOps()(mod)
    assert quantized(mod)
    assert not quantized(result)
    want, got = (np.asarray(Evaluator(m).run("main", arguments(mod))) for m in (mod, result))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", STAYS)
def test_what_needs_to_be_known_and_is_not_stays(name: str):
    mod = module(STAYS[name])
    assert transform.QnnCanonicalizeOps()(mod) is mod


def test_every_value_of_eight_bits_is_quantized_and_back():
    mod = infer_module(
        parse("""def @main(%q: Tensor[(256), int8]) -> Tensor[(256), uint8] {
      qnn.requantize(%q, 0.37f, -5, 0.21f, 99, out_dtype="uint8")
    }""")
    )
    result = relay.qnn.transform.CanonicalizeOps()(mod)
    every = np.arange(-128, 128).astype("int8")
    np.testing.assert_array_equal(*(np.asarray(Evaluator(m).run("main", [every])) for m in (mod, result)))


EXTREMES = np.array([0, 1, -1, 3, -5, 127, 10**9, -(10**9), 2**31 - 1, -(2**31)], "int32")


@each("exponent", [*range(-70, 70, 7), *range(-34, -28), *range(-2, 4), *range(28, 34)])
def test_integers_are_rescaled_by_any_ratio(exponent: int):
    ratio = 1.5 * 2.0**exponent
    for dtype, rounding in product(("int8", "uint8", "int16", "int32"), ("UPWARD", "TONEAREST")):
        mod = infer_module(
            parse(f"""def @main(%q: Tensor[(10), int32]) {{
                qnn.requantize(%q, {ratio!r}f, 0, 1f, 0, rounding="{rounding}", out_dtype="{dtype}") }}""")
        )
        ends, exact = np.iinfo(dtype), [Fraction(int(q)) * Fraction(ratio) for q in EXTREMES]
        up = [math.floor(x + Fraction(1, 2)) for x in exact]
        nearest = [math.floor(abs(x) + Fraction(1, 2)) * (-1 if x < 0 else 1) for x in exact]
        want = [min(max(x, ends.min), ends.max) for x in (up if rounding == "UPWARD" else nearest)]
        for program in (mod, relay.qnn.transform.CanonicalizeOps()(mod)):
            assert np.asarray(Evaluator(program).run("main", [EXTREMES])).tolist() == want


# calls in which a scale or zero point is a vector, though the operator has one for the whole tensor
VECTORS = (
    "qnn.tanh(%q, %s, 0, 1f, 0)",
    "qnn.tanh(%q, 1f, 0, %s, 0)",
    "qnn.softmax(%q, 1f, %z, 1f, 0)",
    "qnn.leaky_relu(%q, %s, 0, 1f, 0)",
    "qnn.add(%q, %q, 1f, 0, 1f, 0, %s, 0)",
    "qnn.mul(%q, %q, 1f, 0, 1f, 0, 1f, %z)",
    "qnn.concatenate((%q, %q), (1f, 1f), (0, 0), %s, 0)",
    "qnn.concatenate((%q, %q), (%s, 1f), (0, 0), 1f, 0)",
    'qnn.dense(%q, %w, 0, 0, %s, 1f, units=6, out_dtype="int32")',
    "qnn.avg_pool2d(%v, 1f, %z, 1f, 0, pool_size=[2, 2])",
    'qnn.dequantize(0i8, %s, 0, out_dtype="float32")',
    'qnn.simulated_quantize(%x, 1, ones(shape=[5], dtype="float32"), 0)',
)


@each("call", VECTORS)
def test_a_vector_of_scales_has_an_axis(call: str):
    with pytest.raises(DiagnosticError, match=r"must be a scalar|has 5 elements for 6 slices"):
        module(call)


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_a_ratio_of_scales_is_finite(kind: str):
    for call in ("qnn.add(%q, %q, 1f, 0, 1f, 0, 0f, 0)", "qnn.concatenate((%q, %q), (1f, 1f), (0, 0), 0f, 0)"):
        mod = relay.qnn.transform.CanonicalizeOps()(module(call))
        with pytest.raises(PasslabError, match="a ratio of two scales is not finite"):
            relay.create_executor(kind, mod).evaluate()(*arguments(mod))


def test_legalize_asks_the_target_first():
    mod = module('qnn.dequantize(%q, 0.5f, 0, out_dtype="float32")')
    relay.op.register_qnn_legalize(
        "qnn.dequantize", lambda attrs, args, types: relay.multiply(relay.cast(args[0], "float32"), args[1])
    )
    try:
        result = relay.qnn.transform.Legalize()(mod)
    finally:
        relay.op.unregister_op_attr("qnn.dequantize", "FTVMQnnLegalize")
    assert not quantized(result)
    assert "int32" not in str(result["main"].body)
    plain = module('qnn.dequantize(%q, 0.5f, 1, out_dtype="float32")')
    assert relay.qnn.transform.Legalize()(plain) is plain
