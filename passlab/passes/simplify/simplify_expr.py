"""Rewrite arithmetic, casts, shapes and layouts to simpler forms.

before:
    def @main(%x: Tensor[(2), float32]) { multiply(multiply(add(%x, %x), 3f), 4f) }
after:
    def @main(%x: Tensor[(2), float32]) { multiply(%x, 24f) }

before:
    def @main(%x: Tensor[(2), float32]) { add(cast(cast(%x, dtype="float64"), dtype="float32"), 0f) }
after:
    def @main(%x: Tensor[(2), float32]) { %x }

before:
    def @main(%x: Tensor[(1, 2, 3, 4), float32]) {
      layout_transform(transpose(%x, axes=[0, 2, 3, 1]), src_layout="NHWC", dst_layout="NCHW")
    }
after:
    def @main(%x: Tensor[(1, 2, 3, 4), float32]) { %x }

before:
    def @main(%x: Tensor[(4), float32]) {
      cast(cast(clip(round(%x), a_min=-128f, a_max=127f), dtype="int8"), dtype="float32")
    }
after:
    def @main(%x: Tensor[(4), float32]) { clip(round(%x), a_min=-128f, a_max=127f) }

keep:
    def @main(%x: Tensor[(4), float32]) {
      cast(cast(clip(%x, a_min=-128f, a_max=127f), dtype="int8"), dtype="float32")
    }

keep:
    def @main(%x: Tensor[(2), int8]) { cast(cast(%x, dtype="uint8"), dtype="int16") }
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.simplify.rules import RULES
from passlab.rewriting.rules import Rule, RuleSet
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, Part, Rounds, standard_pass


@cache
def rule_set() -> RuleSet:
    """Return the rules of this pass."""
    return RuleSet(RULES)


@standard_pass(opt_level=0, required=("InferType",), contract=Rounds(8192) + FINITE)
class SimplifyExpr(FunctionPass):
    """Apply the rules of `passlab.passes.simplify.rules.RULES` until none matches, in one walk from the leaves up.

    Each rule declares its numeric contract. Unlike in Relay, casts are dropped only if no value is lost: not from
    signed through unsigned types, and after a clip only for whole numbers. Sums of products are not factored ((x + y) *
    (x + y) for x * x + 2 * x * y + y * y loses digits).
    """

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, for tools that inspect a run of this pass."""
        return rule_set().rules

    def acts_on(self) -> Iterable[Part]:
        return rule_set().operators

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rule_set().simplify(func)
