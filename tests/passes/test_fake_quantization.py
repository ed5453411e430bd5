"""FakeQuantizationToInteger, operator by operator: which integer program it leaves."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import relay, transform
from passlab.errors import PassError
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from passlab.transform.registering import register_fake_quantization_to_integer, unregister_op_attr

X, Y = "%x: Tensor[(1, 2, 4, 4), int8]", "%y: Tensor[(1, 2, 4, 4), int8]"
REAL_X = '%0 = qnn.dequantize(%x, 2f, 3, out_dtype="float32");'
REAL_Y = '%1 = qnn.dequantize(%y, 4f, 3, out_dtype="float32");'
# name: (parameters, what is computed on real numbers from %0 and %1, scale and zero point of the result, on integers)
CASES = {
    "an operand in the scale of the result is not requantized": (
        f"{X}, {Y}", "maximum(%0, %1)", "2f, 3",
        'maximum(%x, qnn.requantize(%y, 4f, 3, 2f, 3, out_dtype="int8"))'),
    "a constant operand does not decide the scale of the result": (
        X, "subtract(%0, 6f)", "8f, -5",
        'qnn.subtract(%x, qnn.quantize(6f, 2f, 3, out_dtype="int8"), 2f, 3, 2f, 3, 8f, -5)'),
    "a pooled average keeps its dtype": (
        X, "nn.avg_pool2d(%0, pool_size=[2, 2])", "2f, 3",
        'cast(clip(nn.avg_pool2d(cast(%x, dtype="int32"), pool_size=[2, 2]), a_min=-128f, a_max=127f), dtype="int8")'),
    "a global average is rounded once": (
        X, "nn.global_avg_pool2d(%0)", "8f, -5",
        """%0 = qnn.requantize(%x, 2f, 3, 8f, -5, out_dtype="int32");
        qnn.requantize(nn.global_avg_pool2d(%0), 8f, -5, 8f, -5, out_dtype="int8")"""),
    "a leaky relu": (
        X, "nn.leaky_relu(%0, alpha=0.1f)", "8f, -5",
        "qnn.leaky_relu(%x, 2f, 3, 8f, -5, alpha=0.1f)"),
}  # fmt: skip


def rewritten(mod: IRModule) -> IRModule:
    return infer_module(transform.FakeQuantizationToInteger(hard_fail=True)(mod))


@pytest.mark.parametrize("case", CASES)
def test_what_an_operator_becomes(case: str):
    params, real, scale, integer = CASES[case]
    reads = REAL_X + (REAL_Y if "%y" in params else "")
    text = f'def @main({params}) {{ {reads} %2 = {real}; qnn.quantize(%2, {scale}, out_dtype="int8") }}'
    expected = infer_module(parse(f"def @main({params}) {{ {integer} }}"))
    assert structural_equal(rewritten(infer_module(parse(text))), expected)


def test_a_constant_bias_is_quantized_in_the_scale_of_the_sum():
    x = relay.var("x", shape=(1, 2, 4, 4), dtype="int32")
    real = relay.qnn.op.dequantize(x, relay.const(2.0), relay.const(0))
    bias = relay.const(np.array([6.0, -8.0], "float32"))
    quantized = relay.qnn.op.quantize(relay.nn.bias_add(real, bias), relay.const(4.0), relay.const(0), out_dtype="int8")
    steps = relay.qnn.op.quantize(bias, relay.const(2.0), relay.const(0), axis=0, out_dtype="int32")
    target = relay.qnn.op.requantize(
        relay.nn.bias_add(x, steps),
        relay.const(2.0),
        relay.const(0),
        relay.const(4.0),
        relay.const(0),
        out_dtype="int8",
    )
    result, expected = (infer_module(IRModule.from_expr(e)) for e in (quantized, target))
    assert structural_equal(rewritten(result), expected)


def test_what_is_taken_keeps_its_scale():
    x = relay.var("x", shape=(5, 3), dtype="int8")
    real = relay.qnn.op.dequantize(x, relay.const(2.0), relay.const(7))
    rows = relay.const(np.array([4, 0], "int32"))
    quantized = relay.qnn.op.quantize(
        relay.take(real, rows, axis=0), relay.const(2.0), relay.const(7), out_dtype="int8"
    )
    result, expected = (infer_module(IRModule.from_expr(e)) for e in (quantized, relay.take(x, rows, axis=0)))
    assert structural_equal(rewritten(result), expected)


def test_a_rule_that_is_not_implemented_for_a_call_leaves_the_region_as_it_is():
    def refuse(call: object, region: object) -> None:
        raise NotImplementedError("no vectors")

    register_fake_quantization_to_integer("cosh", refuse)
    try:
        source = """def @main(%x: Tensor[(4), int8]) {
            qnn.quantize(cosh(qnn.dequantize(%x, 2f, 0, out_dtype="float32")), 2f, 0, out_dtype="int8") }"""
        mod = infer_module(parse(source))
        assert transform.FakeQuantizationToInteger()(mod) is mod
        with pytest.raises(PassError, match="`cosh` does not cover it: no vectors"):
            transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    finally:
        unregister_op_attr("cosh", "FTVMFakeQuantizationToInteger")
