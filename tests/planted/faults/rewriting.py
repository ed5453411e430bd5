"""Faults in `rewriting`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BATCH, LISTS, PLAIN, VECTORS, dataflow

_INLINED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { exp(@part(tanh(%x), %y)) }
def @part(%a: Tensor[(3), float32], %b: Tensor[(3), float32], Inline=1) -> Tensor[(3), float32] {
  subtract(multiply(%a, 2f), %b)
}
"""
_ORDERED = """
let %r = ref(%x);
let %v = subtract((let %u = ref_write(%r, %y); tanh(%y)), exp(ref_read(%r)));
(%v, ref_read(%r))
"""

FAULTS = (
    Fault("the wrong branch of a constant condition", "operands", Mutation("_chosen_branch", "swap branches"),
          dataflow("let %a = tanh(%x);\nif (less(1, 2)) { exp(%a) } else { %a }", f"%x: {BATCH}"),
          "InferType, FoldConstant, FuseOps", "FoldConstant", "folded"),
    Fault("the size is the sum of the sides", "operands", Mutation("shape_constant", "other attribute", 4, "sum"),
          dataflow("(tanh(%x), ndarray_size(exp(%x), dtype=\"int32\"))", f"%x: {BATCH}"),
          "InferType, FoldConstant, FuseOps", "FoldConstant", "folded"),
    Fault("arguments in the other order", "operands", Mutation("apply", "replace name", 27, "it[::-1]"), _INLINED,
          "InferType, Inline, FuseOps", "InlineGlobals", "inlined call"),
    Fault("effects of arguments come twice", "effects",
          Mutation("apply", "replace operation", 2, "it.operand is None"),
          """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %r: ref(Tensor[(3), float32])) {
  let %a = @part({ let %u = ref_write(%r, add(ref_read(%r), %x)); ref_read(%r) }, ref_read(%r));
  exp(%a)
}
def @part(%a: Tensor[(3), float32], %b: Tensor[(3), float32], Inline=1) -> Tensor[(3), float32] { subtract(multiply(%b, 2f), %a) }
""".replace("%r: ref(Tensor[(3), float32])", "%y: Tensor[(3), float32]").replace("let %a = @part", "let %r = ref(%y);\n  let %a = @part"),
          "InferType, Inline", "InlineGlobals", "inlined call"),
    Fault("the clauses of a match in reverse", "match order",
          Mutation("_Binder._rebuild_block", "replace name", 58, "it[::-1]"), LISTS, "InferType, ToANormalForm",
          "ToANormalForm", ""),
    Fault("a known field next to the one asked for", "operands",
          Mutation("_projected_field", "replace attribute", 3, "it - 1"),
          dataflow("%0 = (tanh(%x), exp(%y));\nadd(%0.1, multiply(%0.0, 2f))", VECTORS), PLAIN, "FoldConstant",
          "folded"),
    Fault("arguments are bound from the last to the first", "effects",
          Mutation("evaluation_children", "replace attribute", 0, "it[::-1]"), dataflow(_ORDERED, VECTORS),
          "InferType, ToANormalForm", "ToANormalForm", ""),
)  # fmt: skip
