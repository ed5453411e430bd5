"""Infer the type of every expression.

before:
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
      let %y = nn.dense(%x, %w, units=None);
      fn (%z) { add(%z, %y) }(%y)
    }
after:
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] {
      let %y: Tensor[(2, 4), float32] = nn.dense(%x, %w, units=None);
      fn (%z: Tensor[(2, 4), float32]) -> Tensor[(2, 4), float32] { add(%z, %y) }(%y)
    }

keep:
    def @main(%x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] { nn.relu(%x) }
"""

from __future__ import annotations

from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT)
class InferType(ModulePass):
    """Infer all types, and annotate variables and functions that lack them. A typed module is returned as it is."""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return infer_module(mod)
