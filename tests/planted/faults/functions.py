"""Faults in `passes/functions`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, CLOSURES, LISTS

_CONSTRUCTOR_AS_VALUE = """
#[version = "0.0.5"]
type P { Pair(Tensor[(3), float32], Tensor[(3), float32]), }
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %f = Pair;
  match (%f(tanh(%x), %y)) { Pair(%a, %b) => subtract(exp(%a), %b) }
}
"""
_TWO_LOOPS = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %up: fn (int32, Tensor[(3), float32]) -> Tensor[(3), float32] = fn (%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
    if (less(%i, 1)) { %a } else { %up(subtract(%i, 1), add(%a, 1f)) }
  };
  let %down: fn (int32, Tensor[(3), float32]) -> Tensor[(3), float32] = fn (%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
    if (less(%i, 1)) { %a } else { %down(subtract(%i, 1), multiply(%a, 0.5f)) }
  };
  let %b = %up(%n, tanh(%x));
  (%down(%n, %x), %b)
}
"""
_HIGHER = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %c: bool) {
  let %u = exp(%y);
  let %f = if (%c) { fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { subtract(multiply(%a, %u), multiply(%b, %y)) } }
    else { fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { add(%a, %b) } };
  tanh(%f(%x, %y))
}
"""

FAULTS = (
    Fault("captured values in the other order", "captures", Mutation("_Lifter.lift", "replace name", 72, "it[::-1]"),
          CLOSURES, "InferType, LambdaLift", "LambdaLift", "lifted function"),
    Fault("a constructor as a function with its fields reversed", "captures",
          Mutation("_literal", "replace name", 20, "it[::-1]"), _CONSTRUCTOR_AS_VALUE,
          "InferType, EtaExpand(expand_constructor=True)", "EtaExpand", "name as function"),
    Fault("the condition of a branch in the new style is turned", "operands",
          Mutation("_Style._pass_to", "swap arguments", 0, "1 2"), BRANCHES, "InferType, ToCPS, UnCPS", "ToCPS", ""),
    Fault("loops with captures alike are one", "cache",
          Mutation("_Lifter.lift", "replace operation", 1, "len(local[3])"), _TWO_LOOPS, "InferType, LambdaLift",
          "LambdaLift", "lifted function"),
    Fault("first-order closures with captures in reverse", "captures",
          Mutation("_BodyRewriter._literal", "replace name", 35, "it[::-1]"), _HIGHER,
          "InferType, Defunctionalization", "Defunctionalization", ""),
    Fault("first-order calls with arguments in reverse", "operands",
          Mutation("_BodyRewriter._call", "replace name", 107, "it[::-1]"), _HIGHER, "InferType, Defunctionalization",
          "Defunctionalization", ""),
    Fault("continuations get arguments in reverse", "operands",
          Mutation("_Style._pass_to", "replace attribute", 27, "it[::-1]"), CLOSURES, "InferType, ToCPS, UnCPS",
          "ToCPS", ""),
    Fault("every arm goes on as the first", "match order",
          Mutation("_Style._pass_to", "replace comprehension", 0, "(Clause(it.elt.args[0], it.elt.args[1].value[it.elt.args[1].slice.elts[0], len(it.generators[0].iter.args[0]) - 1], it.elt.args[2]) for it.generators[0].target in it.generators[0].iter)"),
          LISTS, "InferType, ToCPS, UnCPS", "ToCPS", ""),
)  # fmt: skip
