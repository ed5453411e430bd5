"""Wrap constructors and global functions that are used as values in function literals.

before: expand_constructor=True
    type Box[A] { Box(A), }
    def @main[A](%f: fn (fn (A) -> Box[A]) -> Box[A]) -> Box[A] { %f(Box) }
after:
    type Box[A] { Box(A), }
    def @main[A](%f: fn (fn (A) -> Box[A]) -> Box[A]) -> Box[A] {
      %f(fn [B](%eta_expand_param: B) -> Box[B] { Box(%eta_expand_param) })
    }

keep: expand_constructor=True
    type Box[A] { Box(A), }
    def @main(%x: int32) -> Box[int32] { Box(%x) }
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.analysis.contents import contents_of
from passlab.errors import Diagnostic, PassError
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.op import callee_of
from passlab.ir.types import Type, TypeCall, TypeVar, map_type
from passlab.ir.walk import rebuild, rewrite
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, Part, standard_pass


@standard_pass(opt_level=1, contract=EXACT)
class EtaExpand(ModulePass):
    """Wrap constructors in value position, and global functions wherever they are named, in function literals.

    `expand_constructor` selects the constructors, `expand_global_var` the global functions; `PassError` if neither is
    set. External functions are not wrapped.
    """

    expand_constructor: bool = False
    expand_global_var: bool = False

    def acts_on(self) -> Iterable[Part] | None:
        selected = (*(Constructor,) * self.expand_constructor, *(GlobalVar,) * self.expand_global_var)
        return selected or None  # without any the pass raises an error

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if not (self.expand_constructor or self.expand_global_var):
            raise PassError(
                Diagnostic(
                    "EtaExpand has nothing to expand", hint="set expand_constructor or expand_global_var, or both"
                )
            )
        return mod.with_functions({name: self._function(f, mod) for name, f in mod.items()})

    def _function(self, function: Function, mod: IRModule) -> Function:
        if contents_of(function).kinds.isdisjoint((Constructor, GlobalVar)):
            return function
        wrapped: dict[Expr, Expr] = {}

        def wrap(leaf: Expr) -> Expr:
            if leaf not in wrapped:
                result = self._wrap(leaf, mod)
                wrapped[leaf] = leaf if result is None else result
            return wrapped[leaf]

        def expand(pre: Expr, post: Expr) -> Expr:
            callee = callee_of(post) if type(post) is Call else None
            # A constructor that is called stays, and so does the name of a kernel in memory form.
            called = callee if type(callee) is Constructor or callee is not getattr(post, "op", None) else None
            return rebuild(post, lambda e: e if e is called or type(e) not in (Constructor, GlobalVar) else wrap(e))

        return rewrite(function, expand, name="name as function literal")

    def _wrap(self, leaf: Expr, mod: IRModule) -> Function | None:
        """Return the function literal that replaces a name, or None if the name stays."""
        if type(leaf) is Constructor and self.expand_constructor:
            data = mod.type_data(leaf.belong_to.name_hint)
            result: Type = TypeCall(data.header, data.type_vars) if data.type_vars else data.header()
            return _literal(leaf, data.type_vars, leaf.inputs, result)
        if type(leaf) is GlobalVar and self.expand_global_var and leaf in mod:
            function: Function = mod[leaf]
            if function.attrs.get("Extern"):
                return None
            types = [p.type_annotation for p in function.params]
            return _literal(leaf, function.type_params, types, function.ret_type)
        return None


def _literal(
    callee: Expr, type_params: tuple[TypeVar, ...], inputs: Iterable[Type | None], result: Type | None
) -> Function:
    type_vars: dict[Type, TypeVar] = {t: TypeVar(t.name_hint, t.kind) for t in type_params}

    def instance(ty: Type | None) -> Type | None:
        return None if ty is None else map_type(ty, type_vars.get)

    params = [Var("eta_expand_param", instance(ty)) for ty in inputs]
    body = Call(callee, params, type_args=list(type_vars.values()))
    return Function(params, body, instance(result), list(type_vars.values()))
