"""Inline composite functions, so that passes see the operators inside them.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%X: Tensor[(2), float32], Composite="onnx.Softsign", opset=20) -> Tensor[(2), float32] {
        divide(%X, add(abs(%X), 1f))
      };
      exp(%0(%x))
    }
after:
    def @main(%x: Tensor[(2), float32]) { exp(divide(%x, add(abs(%x), 1f))) }

keep: prefix="toy."
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%X: Tensor[(2), float32], Composite="onnx.Abs") -> Tensor[(2), float32] { abs(%X) };
      exp(%0(%x))
    }
"""

from __future__ import annotations

from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order, rewrite
from passlab.rewriting.fresh_copy import apply
from passlab.transform.base import FunctionPass, is_optimizable
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT, acts_on=(Function,))
class InlineComposites(FunctionPass):
    """Replace each call of a composite function by the body of the function.

    A composite function has the attribute `Composite`, which names what it stands for: `from_onnx` makes one for each
    node that Relay says in several calls, `MergeComposite` one for each match. `prefix` is the beginning of the names
    of those to inline; "" inlines all. Functions for external compilers keep theirs.
    """

    prefix: str = ""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return without_composites(func, Movability(mod), self.prefix)


def without_composites(function: Function, is_movable: Movability, prefix: str = "") -> Function:
    """Return a function with calls of composite functions replaced by their bodies; the same module if it has none."""

    def inline(pre: Call, post: Call) -> Expr:
        target = post.op
        name = target.attrs.get("Composite") if isinstance(target, Function) else None
        if not isinstance(target, Function) or name is None or not str(name).startswith(prefix):
            return post
        # What a loop inside reads is computed before the loop.
        loops = any(type(node) is Function for node in post_order(target.body))
        movable = [is_movable(arg) and (not loops or isinstance(arg, (Var, Constant))) for arg in pre.args]
        return apply(target, post.args, post.type_args, movable)

    return rewrite(function, inline, only=(Call,), name="inlined composite")


def inlined(mod: IRModule) -> IRModule:
    """Return a module without composite functions, except the ones for external compilers; itself without one."""
    with_composites = {
        name: function
        for name, function in mod.items()
        if is_optimizable(function)
        and any(type(node) is Function and "Composite" in node.attrs for node in post_order(function))
    }
    if not with_composites:
        return mod
    is_movable = Movability(mod)
    return mod.with_functions({name: without_composites(f, is_movable) for name, f in with_composites.items()})
