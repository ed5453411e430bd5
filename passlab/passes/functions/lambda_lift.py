"""Move function literals to global functions.

before:
    def @main(%x: float32) {
      let %f = fn (%y: float32) { add(%x, %y) };
      %f(1f)
    }
after:
    def @main(%x: float32) {
      let %f = @lifted_name12876117094914453894(%x);
      %f(1f)
    }
    def @lifted_name12876117094914453894(%x: float32, Closure=1) -> fn (float32) -> float32 {
      fn (%y: float32) -> float32 { add(%x, %y) }
    }

before:
    def @main(%n: int32) {
      let %f = fn (%k: int32) -> int32 { if (equal(%k, 0)) { 0 } else { %f(subtract(%k, 1)) } };
      %f(%n)
    }
after:
    def @main(%n: int32) {
      let %f = @lifted_name14384435300879022291;
      %f(%n)
    }
    def @lifted_name14384435300879022291(%k: int32) -> int32 {
      if (equal(%k, 0)) { 0 } else { @lifted_name14384435300879022291(subtract(%k, 1)) }
    }

keep:
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) };
      %f(%x)
    }
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.analysis.contents import contents_of
from passlab.analysis.type_variables import free_type_vars
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.types import Type
from passlab.ir.variables import bound_vars, free_vars
from passlab.ir.walk import outside_kernels, post_order, rewrite, substitute
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.rewriting.let_binding import bind_shared_effects
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, required=("InferType",), contract=EXACT)
class LambdaLift(ModulePass):
    """Create a global function for every function literal that is not primitive.

    A literal that captures nothing becomes a global name. A literal that captures variables becomes a call of a global
    function that takes them and returns the literal, marked `Closure=1`. A recursive literal bound by a let calls
    itself through its global function. Global functions are called `lifted_name<hash>` and shared by equal literals.
    Functions for other compilers are not changed. The result is untyped: run InferType.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        lifter = _Lifter(mod)
        changes: dict[GlobalVar | str, Function] = {}
        for name, function in mod.items():
            if not function.attrs.get("Compiler") and not function.is_primitive:
                lifts = bool(_literals(function))
                whole = _as_closure(bind_shared_effects(function, mod) if lifts else function)
                changes[name] = lifter.lift_nested(whole) if lifts else whole
        used = _used_functions(changes.values(), lifter.functions)
        return mod.with_functions({**changes, **_with_fresh_binders(changes.values(), used)})


def _used_functions(users: Iterable[Function], lifted: dict[GlobalVar, Function]) -> dict[GlobalVar, Function]:
    """Return the lifted functions that are in use; an instrument may have refused the lifting of others."""
    by_name = {var.name_hint: function for var, function in lifted.items()}
    worklist, called = list(users), set[str]()
    while lifted and worklist:
        names = {n.name_hint for n in post_order(worklist.pop()) if isinstance(n, GlobalVar)} - called
        called |= names
        worklist += [by_name[name] for name in names if name in by_name]
    return {var: function for var, function in lifted.items() if var.name_hint in called}


def _with_fresh_binders(users: Iterable[Function], lifted: dict[GlobalVar, Function]) -> dict[GlobalVar, Function]:
    """Return lifted functions with fresh binders if another function binds the same variables."""
    seen = {v for function in users for v in bound_vars(function)} if lifted else set()
    result: dict[GlobalVar, Function] = {}
    for var, function in lifted.items():
        binders = bound_vars(function)
        result[var] = function if seen.isdisjoint(binders) else fresh_copy(function)
        seen.update(binders)
    return result


def _as_closure(function: Function) -> Function:
    """Return a function marked `Closure=1` with the literal that it returns as its body, without lets around it.

    The mark is removed from a function that returns something else: it is called like any other function.
    """
    if not function.attrs.get("Closure") or type(function.body) is Function:
        return function
    values: dict[Expr, Expr] = {}
    body: Expr = function.body
    while isinstance(body, Let):
        values[body.var] = body.value
        body = body.body
    while isinstance(body, Var) and body in values:
        body = values.pop(body)
    unused = all(isinstance(value, Var) for value in values.values())
    if unused and isinstance(body, Function) and not body.is_primitive and set(free_vars(body)) <= set(function.params):
        return function.with_fields(body=body)
    return function.without_attr("Closure")


class _Lifter:
    """Lifts function literals; `functions` are the new global functions."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.names = {name for name, _ in mod.items()}
        self.functions: dict[GlobalVar, Function] = {}
        self.by_stem: dict[str, list[GlobalVar]] = {}

    def lift_nested(self, root: Function) -> Function:
        """Return a global function with its literals lifted, innermost first."""
        literals = _literals(root)
        if not literals:
            return root
        bound = {n.value for n in post_order(root, enter=outside_kernels) if isinstance(n, Let) and n.value in literals}

        def rule(pre: Expr, post: Expr) -> Expr:
            if isinstance(post, Let) and isinstance(pre, Let) and pre.value in literals:
                assert isinstance(post.value, Function)
                return Let(post.var, self.lift(post.value, post.var), post.body, post.span)
            if pre in literals and pre not in bound and isinstance(post, Function):
                return self.lift(post, None)
            return post

        return rewrite(root, rule, enter=outside_kernels, name="lifted function")

    def lift(self, literal: Function, name: Var | None) -> Expr:
        """Return the replacement of a literal bound to `name`, and create its global function."""
        captured = [v for v in free_vars(literal) if v is not name]
        recursive = name is not None and name in free_vars(literal)
        inner: dict[Expr, Expr] = {v: Var(v.name_hint, _type(v), v.span) for v in captured}
        var = GlobalVar(f"lifted_name{structural_hash(literal, map_free_vars=True, exact=True) & (1 << 64) - 1}")
        arguments = [inner[v] for v in captured]
        own_value: Expr = Call(var, arguments) if captured else var
        body = substitute(literal, {**inner, **({name: own_value} if recursive and name is not None else {})})
        assert isinstance(body, Function)
        result, generic = body, free_type_vars(body, self.mod)
        if captured:
            params: list[Var] = [v for v in arguments if isinstance(v, Var)]
            result = Function(params, body, literal.checked_type_, generic, {"Closure": 1}, literal.span)
        elif generic:
            result = body.with_fields(type_params=(*body.type_params, *generic))
        var = self._add_function(var, result, recursive)
        return Call(var, captured, span=literal.span) if captured else var

    def _add_function(self, var: GlobalVar, function: Function, recursive: bool) -> GlobalVar:
        """Store a function under its name, or return the name of an equal function.

        A recursive function keeps its name, because it calls itself by that name: equal names mean equal functions.
        """
        stem = var.name_hint
        for other in self.by_stem.setdefault(stem, []):
            if recursive or structural_equal(self.functions[other], function, exact=True):
                return other
        name, count = stem, 0
        while name in self.names:
            count += 1
            name = f"{stem}_{count}"
        self.names.add(name)
        result = var if name == stem else GlobalVar(name)
        self.by_stem[stem].append(result)
        self.functions[result] = function
        return result


def _literals(root: Function) -> set[Expr]:
    """Return the function literals to be lifted from a global function; the literal that a closure returns stays."""
    if Function not in contents_of(root).kinds:
        return set()
    top = root.body if root.attrs.get("Closure") else root
    inside = (n for n in post_order(root, enter=outside_kernels) if isinstance(n, Function) and not n.is_primitive)
    return {n for n in inside if n is not root and n is not top}


def _type(var: Var) -> Type | None:
    return var.type_annotation if var.type_annotation is not None else var.checked_type_
