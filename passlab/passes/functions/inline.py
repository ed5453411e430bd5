"""Inline global functions that are marked for it.

before:
    def @main(%x: int32) -> int32 { multiply(@inc(%x), 2) }
    def @inc(%y: int32, Inline=1) -> int32 { add(%y, 1) }
after:
    def @main(%x: int32) -> int32 { multiply(add(%x, 1), 2) }

keep:
    def @first(%x: int32, Inline=1) -> int32 { add(%x, 1) }
    def @second(%y: int32, Inline=1) -> int32 { add(%y, 2) }

keep:
    def @main(%x: int32) -> int32 { @loop(%x) }
    def @loop(%y: int32, Inline=1) -> int32 { @loop(%y) }
"""

from __future__ import annotations

from passlab.analysis.call_graph import CallGraph
from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Expr, Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order, rewrite
from passlab.rewriting.fresh_copy import apply, fresh_copy
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT, name="InlineGlobals", acts_on=(GlobalVar,))
class Inline(ModulePass):
    """Inline global functions with a nonzero attribute `Inline`, unless they are recursive or name a function that
    stays.

    A call becomes the body; a function for another compiler, or a name used as a value, becomes the function literal.
    Each use gets a copy with fresh binders. Arguments that read or change state are first bound by lets, so that they
    are still evaluated once and in order (Relay does not ensure this). Functions that are no longer used are removed;
    functions that were unused before, entry points such as `main`, are kept, and so are functions that are still used
    (Relay stops with an error).
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        graph = CallGraph(mod)
        is_movable = Movability(mod)
        inlined: dict[str, Function] = {}
        results: dict[str, Function] = {}
        for name in graph.topological_order():
            results[name] = function = _inline(mod[name], inlined, is_movable)
            marked = function.attrs.get("Inline") and not function.attrs.get("Extern")
            callees = [callee for callee in graph.callees(name) if callee in mod]
            if marked and not graph.is_recursive(name) and all(callee in inlined for callee in callees):
                inlined[name] = function
        used = {n.name_hint for f in results.values() for n in post_order(f) if type(n) is GlobalVar}
        used_before = {callee for names in graph.names.values() for callee in names}
        removed: dict[str, Function | None] = {n: None for n in inlined if n in used_before and n not in used}
        return mod.with_functions({**results, **removed})


def _inline(function: Function, inlined: dict[str, Function], is_movable: Movability) -> Function:
    if not inlined:
        return function

    def inline(pre: Expr, post: Expr) -> Expr:
        if type(post) is GlobalVar and post.name_hint in inlined:
            target = inlined[post.name_hint]
            return target if target.attrs.get("Compiler") else fresh_copy(target)
        if type(pre) is not Call or type(pre.op) is not GlobalVar or pre.op.name_hint not in inlined:
            return post
        assert isinstance(post, Call)
        target = inlined[pre.op.name_hint]
        if target.attrs.get("Compiler") or len(target.params) != len(post.args):
            return Call(target, post.args, post.attrs, post.type_args)
        return apply(target, post.args, post.type_args, [is_movable(arg) for arg in pre.args])

    return rewrite(function, inline, name="inlined call")
