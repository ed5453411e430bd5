"""Faults in `passes/precision`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import MATRIX, QUANTIZED, dataflow

_QNN_MUL = dataflow(
    'qnn.dequantize(qnn.mul(%x, %y, 0.5f, 3, 0.25f, 1, 0.125f, 2), 0.125f, 2, out_dtype="float32")',
    "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]",
)
_QNN = "InferType, QnnCanonicalizeOps, FuseOps"
_FAKE_RELU = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = nn.relu(reshape(%0, newshape=[4, 3]));\nqnn.quantize(%1, 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8]",
)
_SHORT = "InferType, ToMixedPrecision, FuseOps"
_FAKE_CLIP = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = clip(transpose(%0, axes=[1, 0]), a_min=-1f, a_max=6f);\n'
    'qnn.quantize(%1, 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8]",
)
_FAKE = "InferType, FakeQuantizationToInteger"
_FAKE_SUB = dataflow(
    '%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = qnn.dequantize(%y, 0.125f, 2, out_dtype="float32");\n'
    'qnn.quantize(maximum(%0, %1), 0.5f, 3, out_dtype="uint8")',
    "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]",
)

FAULTS = (
    Fault("a clip to bounds that half precision does not hold", "cast",
          Mutation("MixedPrecision._bounds_overflow", "replace call", 3, "False"),
          dataflow("tanh(multiply(clip(nn.dense(%x, %w), a_min=-1e5f, a_max=-7e4f), 1e-5f))", "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"),
          "InferType, ToMixedPrecision, FuseOps", "ToMixedPrecision", "in float16"),
    Fault("one cast for all dtypes", "cast",
          Mutation("MixedPrecision._cast", "replace statement", 6, "it.targets[0] = make('multiply', it.targets[0].slice.elts[0], it.targets[0].slice.elts[0]) if it.targets[0].slice.elts[1] == it.targets[0].value.value.short else it.value"),
          dataflow("nn.dense(exp(nn.dense(%x, %w)), %v)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 4), float32], %v: Tensor[(5, 4), float32]"),
          "InferType, ToMixedPrecision, FuseOps", "ToMixedPrecision", "in float16"),
    Fault("a quantized product over the wrong scale", "operands",
          Mutation("qnn_canonicalize_ops:_product", "other operator", 4, "*"), _QNN_MUL, _QNN, "QnnCanonicalizeOps",
          "qnn.mul"),
    Fault("quantizing rounds down", "rounding", Mutation("_quantize_in", "other text", 7, "'floor'"),
          dataflow('qnn.dequantize(qnn.quantize(tanh(%x), 0.1f, 3, out_dtype="uint8"), 0.1f, 3, out_dtype="float32")', MATRIX),
          _QNN, "QnnCanonicalizeOps", "qnn.quantize"),
    Fault("saturation is left out", "guard", Mutation("qnn_canonicalize_ops:_saturate", "keep argument", 6),
          QUANTIZED, _QNN, "QnnCanonicalizeOps", "qnn.requantize"),
    Fault("the weight gets the zero point of the data", "operands",
          Mutation("_products.build", "replace name", 13, "0"), QUANTIZED, _QNN, "QnnCanonicalizeOps", "qnn.dense"),
    Fault("halves go up whatever is asked", "rounding",
          Mutation("qnn_canonicalize_ops:_rescale", "replace comparison", 0, "it.left == ''"),
          dataflow('qnn.requantize(%x, 0.5f, 0, 1f, 0, rounding="TONEAREST", out_dtype="int8")', "%x: Tensor[(4, 4), int32]"),
          _QNN, "QnnCanonicalizeOps", "qnn.requantize"),
    Fault("relu at zero and not at the zero point", "guard",
          Mutation("_clamp", "replace name", 18, "make('zeros_like', it)"), _FAKE_RELU,
          "InferType, FakeQuantizationToInteger", "FakeQuantizationToInteger", "nn.relu|maximum|quantize|integer"),
    Fault("branches of two dtypes", "types",
          Mutation("MixedPrecision._with_one_type", "replace comparison", 0, "True"),
          dataflow("%0 = nn.dense(%x, %w);\nif (%c) { nn.relu(%0) } else { exp(%x) }", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %c: bool"),
          _SHORT, "ToMixedPrecision", ""),
    Fault("what is never short stays short", "cast",
          Mutation("MixedPrecision._op_call", "replace comprehension", 2, "local[6]"),
          dataflow("%0 = nn.dense(%x, %w);\nadd(log(exp(multiply(%0, 10f))), %y)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(3, 4), float32]"),
          _SHORT, "ToMixedPrecision", ""),
    Fault("a cell that is written in short", "types", Mutation("MixedPrecision._node", "other attribute", 17, "_new"),
          dataflow("let %r = ref(%x);\nlet %a = nn.dense(%x, %w);\nlet %u = ref_write(%r, %a);\ntanh(ref_read(%r))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]"),
          _SHORT, "ToMixedPrecision", ""),
    Fault("bounds without their zero point", "guard", Mutation("quantized_region:steps_of", "keep operand", 2), _FAKE_CLIP, _FAKE,
          "FakeQuantizationToInteger", "clip|quantize|integer"),
    Fault("the larger of two scales", "operands", Mutation("_in_one_scale", "replace name", 25, "local[3]"), _FAKE_SUB, _FAKE,
          "FakeQuantizationToInteger", "maximum|quantize|integer"),
    Fault("a quantized product of one scale", "operands", Mutation("integer_rules:_product", "replace name", 32, "local[8]"),
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\n%1 = qnn.dequantize(%w, 0.5f, 1, out_dtype="float32");\nqnn.quantize(nn.dense(%0, %1), 2f, 100, out_dtype="uint8")',
                   "%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), uint8]"),
          _FAKE, "FakeQuantizationToInteger", "dense|quantize|integer"),
    Fault("a sum with the zero point of one side", "operands", Mutation("_sum.build", "other constant", 3, "3"),
          dataflow('qnn.dequantize(qnn.add(%x, %y, 0.5f, 3, 0.25f, 1, 0.5f, 2), 0.5f, 2, out_dtype="float32")', "%x: Tensor[(3, 4), uint8], %y: Tensor[(3, 4), uint8]"),
          _QNN, "QnnCanonicalizeOps", "qnn.add"),
    Fault("rounding by a whole and not by a half", "rounding",
          Mutation("qnn_canonicalize_ops:_rescale", "replace call", 8, "it * 2"), QUANTIZED, _QNN, "QnnCanonicalizeOps",
          "qnn.requantize"),
    Fault("a table that begins at zero", "off by one", Mutation("_table.build", "replace name", 28, "it + 1"),
          dataflow('qnn.dequantize(qnn.tanh(qnn.quantize(%x, 0.02f, 3, out_dtype="int8"), 0.02f, 3, 0.01f, 0), 0.01f, 0, out_dtype="float32")', MATRIX),
          _QNN, "QnnCanonicalizeOps", "qnn.tanh"),
    Fault("whatever can be short makes all short", "cast",
          Mutation("MixedPrecision._can_follow", "replace name", 4, "any"),
          dataflow("multiply(nn.dense(%x, %w), exp(multiply(%y, 10f)))", "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32]"),
          _SHORT, "ToMixedPrecision", "add|float16"),
    Fault("a padding of any scale", "cast",
          Mutation("integer_rules:_pad", "replace call", 8, "make('cast', it.args[0], dtype=it.args[1].dtype)"),
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\nqnn.quantize(nn.pad(%0, 0f, pad_width=[[0, 0], [1, 1]]), 0.5f, 3, out_dtype="uint8")', "%x: Tensor[(2, 4), uint8]"),
          _FAKE, "FakeQuantizationToInteger", "pad|quantize|integer"),
    Fault("an average of bytes wraps", "cast", Mutation("_average", "keep argument", 10),
          dataflow('%0 = qnn.dequantize(%x, 0.25f, 7, out_dtype="float32");\nqnn.quantize(mean(%0, axis=[1]), 0.25f, 7, out_dtype="uint8")', "%x: Tensor[(2, 8), uint8]"),
          _FAKE, "FakeQuantizationToInteger", "mean|quantize|integer"),
)  # fmt: skip
