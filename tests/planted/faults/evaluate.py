"""Faults in `evaluate`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, LISTS

FAULTS = (
    Fault("the reference takes the other branch", "executor", Mutation("evaluator:_if", "swap branches"), BRANCHES,
          "InferType", "debug", "if"),
    Fault("fields are compared from the last to the first", "match order",
          Mutation("match_pattern", "replace attribute", 13, "it[::-1]"),
          LISTS.replace("Cons(Tensor[(2), float32], L), Nil", "Cons(Tensor[(2), float32], Tensor[(2), float32], L), Nil").replace("Cons(%h, Nil) => multiply(%h, 2f)", "Cons(%h, %g, Nil) => subtract(%h, %g)")
          .replace("Cons(%h, %t) => add(%h, ", "Cons(%h, %g, %t) => add(%g, ").replace("Cons(%a, Cons(%y, Cons(%x, Nil)))", "Cons(%a, %x, Cons(%y, %a, Nil))").replace("Cons(%y, Nil)", "Cons(%y, %a, Nil)"),
          "InferType, FuseOps", "debug", "match"),
)  # fmt: skip
