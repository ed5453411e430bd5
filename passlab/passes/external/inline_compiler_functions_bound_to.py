"""Inline global functions for an external compiler, which cannot compile them after all.

before: global_vars=["toy_0"]
    def @main(%x: Tensor[(2), float32]) { nn.relu(@toy_0(%x)) }
    def @toy_0(%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] {
      %0 = fn (%q: Tensor[(2), float32], Composite="toy.exp") -> Tensor[(2), float32] { exp(%q) };
      %0(%p)
    }
after:
    def @main(%x: Tensor[(2), float32]) { nn.relu(exp(%x)) }

keep:
    def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
    def @toy_0(%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.analysis.state import Movability
from passlab.errors import Diagnostic, PassValueError, did_you_mean
from passlab.ir.expr import Call, Expr, Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import permitted, post_order, rewrite
from passlab.passes.external.inline_composites import without_composites
from passlab.rewriting.fresh_copy import apply
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT)
class InlineCompilerFunctionsBoundTo(ModulePass):
    """Replace calls of the functions `global_vars` (variables or names) by their bodies.

    Composite functions inside them are inlined as well. The functions are removed from the module unless they are
    recursive or used as values. Raises `PassValueError` for names that the module does not have.
    """

    global_vars: Sequence[Any] = ()

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        names = {getattr(g, "name_hint", g) for g in self.global_vars}
        existing = [name for name, _ in mod.items()]
        for name in names.difference(existing):
            hint = did_you_mean(str(name), existing)
            raise PassValueError(Diagnostic(f"the module has no function @{name}", hint=hint))
        is_movable = Movability(mod)
        # A function that refers to one of the others, or to itself, is not inlined: that might not end.
        closed = [n for n in names if not names & _global_names(mod[n])]
        with permitted(None):  # its composites belong to the rewrite of a call: without that, nothing changes
            inlined = {n: without_composites(mod[n], is_movable) for n in closed}
        if not inlined:
            return mod
        changes: dict[Any, Function | None] = {
            name: _inline(function, inlined, is_movable) for name, function in mod.items() if name not in inlined
        }
        used = {n for f in changes.values() if f is not None for n in _global_names(f)}
        return mod.with_functions({**changes, **{n: None for n in inlined if n not in used}})


def _global_names(function: Function) -> set[str]:
    return {n.name_hint for n in post_order(function) if isinstance(n, GlobalVar)}


def _inline(function: Function, inlined: dict[str, Function], is_movable: Movability) -> Function:
    def inline(pre: Call, post: Call) -> Expr:
        target = inlined.get(post.op.name_hint) if isinstance(post.op, GlobalVar) else None
        if target is None or len(target.params) != len(post.args):
            return post
        return apply(target, post.args, post.type_args, [is_movable(arg) for arg in pre.args])

    return rewrite(function, inline, only=(Call,), name="inlined call")
