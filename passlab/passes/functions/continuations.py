"""Continuation-passing style: a function passes its result to a continuation and never returns.

    def @f(%x: A) -> B                 def @f_cps[answer](%x: A, %k: fn (B) -> answer) -> answer

Calls of operators, constructors and fused kernels are not changed. The source is in A-normal form, so the continuation
of a call is the rest of its chain of lets: each chain is converted from its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError
from passlab.infer import infer_expr
from passlab.ir.adt import Clause, Constructor
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Match, Var
from passlab.ir.kept_types import keep_type, set_function_type, set_type, typed_let, typed_var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, TupleType, Type, TypeVar, holds, map_type, rebuild_type, type_nodes
from passlab.ir.walk import children, let_chain, note_rewrite, post_order, rebuild, rebuild_typed, with_children
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.rewriting.let_binding import bind_in_scopes, evaluation_children, in_normal_form
from passlab.transform.base import is_optimizable

_UNKNOWN = TupleType(())
BodyKey = tuple[Expr, int]  # a body: the node it belongs to, and its index among the bodies of that node


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Return a function with its continuation as last parameter, and the answer type of that as type parameter.

    `mod` defines the global functions in use; each reachable one is added to it in the same style, as `NAME_cps`.
    Parameters and results that are functions take continuations as well. The result is untyped. Raises
    `DiagnosticError` for values without such a form: operators, constructors and kernels as values, ADT values that
    hold functions.
    """
    mod = mod if mod is not None else IRModule()
    source = _Source(_a_normal_form(func, mod))
    renamed, sources = _reachable(source, mod)
    obstacles = [d for s in (source, *sources.values()) for d in _obstacles(s)]
    if obstacles:
        raise DiagnosticError(*obstacles)
    functions = {renamed[name]: _Style(renamed, mod, s).function() for name, s in sources.items()}
    result = _Style(renamed, mod, source).function()
    for var, function in functions.items():
        mod.add(var, function)
    return result


def un_cps(func: Function) -> Function:
    """Return a function that returns the value `func` passes to its continuation, without the answer type parameter.

    The result is untyped. Raises `DiagnosticError` unless `is_cps(func)`, and if the result is, or holds, a function
    that takes a continuation: the answer type would contain itself.
    """
    if not is_cps(func):
        what = "the function is not in continuation-passing style, or returns functions that are"
        raise DiagnosticError(Diagnostic(what, func.span, expected="fn [answer](..., fn (T) -> answer) -> answer"))
    generic: Any = fresh_copy(func)
    *type_params, answer = generic.type_params
    ty = generic.params[-1].type_annotation.arg_types[0]
    copy: Any = fresh_copy(generic.with_fields(type_params=(), ret_type=None), types={answer: ty})
    *params, k = copy.params
    x = Var("x", ty)
    body = Let(k, Function([x], x, ty), copy.body)
    function = Function(params, body, ty, type_params, func.attrs, func.span)
    note_rewrite(func, function)
    return function


def is_cps(func: Function) -> bool:
    """Return whether the last parameter of a function is a continuation whose result type is the function's own."""
    if not func.type_params or not func.params:
        return False
    answer, k = func.type_params[-1], func.params[-1].type_annotation
    result = func.ret_type or func.body.checked_type_
    is_continuation = isinstance(k, FuncType) and k.ret_type is answer and len(k.arg_types) == 1
    return is_continuation and result is answer and answer not in type_nodes(k.arg_types[0])  # type: ignore[union-attr]


# ---------------------------------------------------------------- the functions to be converted
class _Source:
    """A typed function in A-normal form, its nodes (children first), and the variables that kernels are bound to."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.nodes = post_order(function)
        lets = [n for n in self.nodes if type(n) is Let]
        self.kernels: set[Expr] = {n.var for n in lets if type(n.value) is Function and n.value.is_primitive}

    def global_names(self) -> list[str]:
        """Return the names of the global functions that the function refers to, the last one first."""
        return [n.name_hint for n in self.nodes if type(n) is GlobalVar][::-1]


def _a_normal_form(function: Function, mod: IRModule) -> Function:
    if not in_normal_form(function):
        function = bind_in_scopes(function, lambda node, plan: True, flatten=True, annotate=True)
    return infer_expr(function, mod)


def _reachable(function: _Source, mod: IRModule) -> tuple[dict[str, GlobalVar], dict[str, _Source]]:
    """Return the new names of the reachable global functions, and the functions that have yet to be converted."""
    renamed: dict[str, GlobalVar] = {}
    sources: dict[str, _Source] = {}
    stack = function.global_names()
    while stack:
        name = stack.pop()
        if name in renamed or name not in mod or not _is_converted(mod[name]):
            continue
        source = mod[name] if mod[name].checked_type_ is not None else _a_normal_form(mod[name], mod)
        answer = TypeVar("answer")
        result: Any = cps_type(source.checked_type, answer)
        new, signature = f"{name}_cps", FuncType(result.arg_types, result.ret_type, (*result.type_params, answer))
        while new in mod and not structural_equal(_annotated_type(mod[new]), signature):
            new += "_"
        renamed[name] = mod.get_global_var(new) if new in mod else GlobalVar(new)
        if new not in mod:
            sources[name] = _Source(_a_normal_form(source, mod))
            stack += sources[name].global_names()
    return renamed, sources


def _is_converted(function: Function) -> bool:
    return is_optimizable(function) and not function.is_primitive


def _obstacles(source: _Source) -> Iterator[Diagnostic]:
    kernels = source.kernels
    # few nodes use an operator, a constructor or a kernel as a value
    suspects = kernels.union(n for n in source.nodes if type(n) is Op or type(n) is Constructor)
    for node in source.nodes:
        callee = node.op if type(node) is Call else None
        parts = node.args if type(node) is Call else children(node)
        for part in () if suspects.isdisjoint(parts) else parts:
            if type(part) is Op:
                yield Diagnostic(f"the operator `{part}` is used as a value", node.span, hint="wrap it in `fn`")
            elif type(part) is Constructor and part.inputs:
                what = f"the constructor `{part}` is used as a value"
                yield Diagnostic(what, node.span, hint="run EtaExpand(expand_constructor=True) first")
            elif part in kernels and type(node) is not Let:
                yield Diagnostic("a fused kernel is used as a value", node.span, hint="run DefuseOps first")
        if type(callee) is Constructor and any(holds(i, FuncType) for i in callee.inputs):
            yield Diagnostic(f"the constructor `{callee}` holds functions that are not of a type parameter", node.span)


def cps_type(ty: Any, answer: TypeVar) -> Any:
    """Return a type (or None) with a continuation as the last parameter of each function type in it."""
    if ty is None or not holds(ty, FuncType):
        return ty
    memo: dict[Type, Type] = {}
    for node in type_nodes(ty):
        result = rebuild_type(node, memo.__getitem__)
        if isinstance(result, FuncType):
            k = FuncType((result.ret_type,), answer)
            result = FuncType((*result.arg_types, k), answer, result.type_params, result.type_constraints)
        memo[node] = result
    return memo[ty]


def _annotated_type(function: Function) -> Type:
    """Return the type of a function from its annotations; a missing annotation counts as the empty tuple."""
    types = [p.type_annotation or _UNKNOWN for p in function.params]
    return FuncType(types, function.ret_type or _UNKNOWN, function.type_params)


def _chain(body: Expr) -> tuple[list[Let], Expr]:
    """Return a chain of lets and the atom it ends in, without trailing aliases of that atom."""
    lets, last = let_chain(body)
    while lets and lets[-1].var is last and type(lets[-1].value) is Var:
        last = lets.pop().value
    return lets, last


# ---------------------------------------------------------------- the conversion
class _Style:
    """The conversion of one global function and all functions inside it: they share the answer type."""

    def __init__(self, renamed: dict[str, GlobalVar], mod: IRModule, source: _Source) -> None:
        self._renamed = renamed
        self._mod = mod
        self._source = source.function
        self._direct = source.kernels
        self._answer = TypeVar("answer")
        self._vars: dict[Expr, Expr] = {}
        self._bodies: dict[BodyKey, Expr] = {}
        self._continuations: dict[Expr, Var] = {}  # of each function literal and of each branch

    def function(self) -> Function:
        """Convert the function to continuation-passing style."""
        self._convert_bodies(self._source)
        output = self._function(self._source)
        result: Function = output.with_fields(type_params=(*output.type_params, self._answer))
        note_rewrite(self._source, result)
        return result

    # ------------------------------------------------------------ types and variables
    def _convert_type(self, ty: Any) -> Any:
        return cps_type(ty, self._answer)

    def _continuation(self, ty: Type) -> Var:
        return typed_var("k", FuncType((self._convert_type(ty),), self._answer))

    def _literal(self, params: Sequence[Var], body: Expr, **fields: Any) -> Function:
        """Return a function with a body that passes its result on."""
        result = Function(params, body, self._answer, **fields)
        set_function_type(result)
        return result

    def _new(self, node: Expr) -> Expr:
        """Return the new form of an atom."""
        if type(node) is Var:
            if node not in self._vars:
                ty = node.type_annotation if node.type_annotation is not None else node.checked_type
                new_type = ty if node in self._direct else self._convert_type(ty)
                self._vars[node] = typed_var(node.name_hint, new_type, node.span, node.virtual_device)
            return self._vars[node]
        return self._wrap(node) if type(node) is GlobalVar else node

    def _wrap(self, var: GlobalVar) -> Expr:
        """Return a function literal that wraps a global function used as a value."""
        ty: Any = self._mod[var].checked_type_ or var.checked_type
        type_vars = {t: TypeVar(t.name_hint, t.kind) for t in ty.type_params}
        instance: Any = map_type(ty, type_vars.get)
        params = [Var(f"p{i}", self._convert_type(t)) for i, t in enumerate(instance.arg_types)]
        k = self._continuation(instance.ret_type)
        args = list(type_vars.values())
        if var.name_hint in self._renamed:
            body: Expr = Call(self._renamed[var.name_hint], [*params, k], None, [*args, self._answer])
        else:
            body = Call(k, [Call(var, params, None, args)])
        return Function([*params, k], body, self._answer, args)

    # ------------------------------------------------------------ bodies
    def _convert_bodies(self, function: Function) -> None:
        """Convert the bodies of the function and of all functions and branches inside, innermost first."""
        k = self._continuations[function] = self._continuation(function.ret_type or function.body.checked_type)
        bodies: list[tuple[BodyKey, Expr, Var]] = [((function, 0), function.body, k)]  # grows
        for _, body, outer in bodies:
            lets, last = _chain(body)
            for let in lets:
                value = let.value
                if type(value) is Function and not value.is_primitive:
                    own = self._continuations[value] = self._continuation(value.ret_type or value.body.checked_type)
                    bodies.append(((value, 0), value.body, own))
                elif type(value) is If or type(value) is Match:
                    is_tail = let is lets[-1] and let.var is last
                    join = self._continuations[value] = outer if is_tail else self._continuation(value.checked_type)
                    arms = evaluation_children(value)[1:]
                    bodies += [((value, i), arm, join) for i, arm in enumerate(arms)]
        for key, body, continuation in reversed(bodies):
            self._bodies[key] = self._convert_chain(body, continuation)

    def _convert_chain(self, body: Expr, k: Var) -> Expr:
        """Return a chain of lets that passes its result to `k`."""
        lets, last = _chain(body)
        if lets and lets[-1].var is last and self._takes_continuation(lets[-1].value):
            value = lets.pop().value
            rest = self._pass_to(value, k)
            note_rewrite(value, rest)
        else:
            rest = Call(k, [self._new(last)])
            set_type(rest, self._answer, (k, *rest.args))
        for let in reversed(lets):
            rest = self._convert_let(let, rest)
        return rest

    def _takes_continuation(self, value: Expr) -> bool:
        """Return True if the users of a value get it through a continuation."""
        return type(value) is If or type(value) is Match or (type(value) is Call and self._converts(value.op))

    def _converts(self, callee: Expr) -> bool:
        if type(callee) is GlobalVar:
            return callee.name_hint in self._renamed
        return type(callee) is not Op and type(callee) is not Constructor and callee not in self._direct

    def _pass_to(self, value: Expr, k: Expr) -> Expr:
        """Return a branch, match or call that passes its result to `k`."""
        if type(value) is If:
            return If(self._new(value.cond), self._bodies[value, 0], self._bodies[value, 1], value.span)
        if type(value) is Match:
            # `rebuild` renames the variables of the patterns as well.
            again: Any = rebuild(value, lambda e: self._new(e) if type(e) is Var else e)
            arms = (Clause(c.lhs, self._bodies[value, i], c.span) for i, c in enumerate(again.clauses))
            return Match(self._new(value.data), tuple(arms), value.complete, value.span)
        assert isinstance(value, Call)
        callee, types = self._new(value.op), [self._convert_type(t) for t in value.type_args]
        if type(value.op) is GlobalVar:
            callee = self._renamed[value.op.name_hint]
            complete = len(types) == len(self._mod[value.op].type_params)
            types = [*types, self._answer] if complete else []
        return Call(callee, [*map(self._new, value.args), k], value.attrs, types, value.span)

    def _convert_let(self, let: Let, rest: Expr) -> Expr:
        """Return the converted binding of a let in front of `rest`."""
        var: Any = self._new(let.var)
        value = let.value
        if self._takes_continuation(value):
            continuation = self._literal([var], rest)
            if type(value) is Call:
                result = self._pass_to(value, continuation)
                note_rewrite(value, result)
                return result
            k = self._continuations[value]
            return Let(k, continuation, self._pass_to(value, k), let.span)
        result = self._convert_direct(value)
        note_rewrite(value, result)
        return typed_let(var, result, rest, let.span)

    def _convert_direct(self, value: Expr) -> Expr:
        """Convert a value that takes no continuation."""
        if type(value) is Function:
            return fresh_copy(value) if value.is_primitive else self._function(value)
        if type(value) is Call:
            types = () if type(value.op) is Op else [self._convert_type(t) for t in value.type_args]
            parts = (value.op if type(value.op) is not Var else self._new(value.op), *map(self._new, value.args))
            if not types and not value._type_args:
                return with_children(value, (value.op, *value.args), parts)
            result = Call(parts[0], parts[1:], value.attrs, types, value.span)
            if not types:
                keep_type(value, result, children(value), parts)
            return result
        return self._new(value) if type(value) is Var or type(value) is GlobalVar else rebuild_typed(value, self._new)

    def _function(self, function: Function) -> Function:
        params: Any = [*map(self._new, function.params), self._continuations[function]]
        fields = {"type_params": function.type_params, "attrs": function.attrs, "span": function.span}
        return self._literal(params, self._bodies[function, 0], **fields)
