"""Faults in `passes/normal_form`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, REFERENCES, dataflow

FAULTS = (
    Fault("bias along the wrong axis", "axis",
          Mutation("CanonicalizeOps.transform_function.canonical", "replace name", 22, "it + 1"),
          dataflow("tanh(nn.bias_add(exp(%x), %b))", "%x: Tensor[(2, 4, 4), float32], %b: Tensor[(4), float32]"),
          "InferType, CanonicalizeOps, FuseOps", "CanonicalizeOps", "bias_add as add"),
    Fault("a value used twice is put in once, with its effects", "effects",
          Mutation("ToGraphNormalForm.transform_function.fate", "drop guard"), REFERENCES,
          "InferType, ToGraphNormalForm", "ToGraphNormalForm", "let"),
    Fault("parameters in reverse", "operands",
          Mutation("_to_basic_blocks", "replace call", 1, "it.with_fields(params=it.args[0].params[::-1])"),
          BRANCHES.replace("%c: bool", "%y: Tensor[(3, 4), float32], %c: bool").replace("subtract(%a, %0)", "subtract(%a, %y)"),
          "InferType, ToBasicBlockNormalForm", "ToBasicBlockNormalForm", "the parameters of @main"),
    Fault("a cast copied from the other operand", "operands",
          Mutation("CanonicalizeCast.transform_function.own_casts", "replace name", 26, "0"),
          dataflow("%0 = cast(%x, dtype=\"int32\");\n(add(%0, %y), subtract(cast(%z, dtype=\"int32\"), %0))",
                   "%x: Tensor[(3), int8], %y: Tensor[(3), int32], %z: Tensor[(3), int8]"),
          "InferType, CanonicalizeCast, FuseOps", "CanonicalizeCast", "cast of its own"),
)  # fmt: skip
