"""The bound and free type variables of a program or type, and the dtypes it uses.

A type variable is free if nothing in the program or type binds it. Function types, generic functions and definitions of
data types bind their type parameters. A constructor stands for its definition, which binds the variables in its types;
those that occur in none of them are looked up in the module.
"""

from __future__ import annotations

from passlab.arguments import checked
from passlab.ir.adt import Constructor, PatternConstructor, TypeData, pattern_nodes
from passlab.ir.expr import Call, Constant, Expr, Function, Match, Var
from passlab.ir.functor import type_parts
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, GlobalTypeVar, TensorType, Type, TypeVar, type_nodes
from passlab.ir.walk import CHILDREN


class _Collector:
    """Collects all type variables and the bound ones, each in order of first encounter from the root down."""

    def __init__(self, root: Expr | Type, mod: IRModule | None) -> None:
        self.all: dict[TypeVar, None] = {}
        self.bound: dict[TypeVar, None] = {}
        self.mod = mod
        self._seen: set[Expr | Type] = set()
        if isinstance(root, Type):
            self._type(root)
        else:
            self._expr(root)

    def _expr(self, root: Expr) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            if node in self._seen:
                continue
            self._seen.add(node)
            if isinstance(node, Var):
                self._type(node.type_annotation)
            elif isinstance(node, Function):
                self._bind(node.type_params)
                self._type(node.ret_type)
            elif isinstance(node, Call):
                for ty in node.type_args:
                    self._type(ty)
            elif isinstance(node, Constructor):
                self._constructor(node)
            elif isinstance(node, Match):
                for clause in node.clauses:
                    for pattern in pattern_nodes(clause.lhs):
                        if isinstance(pattern, PatternConstructor):
                            self._constructor(pattern.constructor)
            stack.extend(CHILDREN[type(node)](node)[::-1])

    def _bind(self, variables: tuple[TypeVar, ...]) -> None:
        self.all.update(dict.fromkeys(variables))
        self.bound.update(dict.fromkeys(variables))

    def _constructor(self, constructor: Constructor) -> None:
        data = self.mod.find_type(constructor.belong_to.name_hint) if self.mod is not None else None
        if data is not None:
            self._bind(data.type_vars)
        for ty in constructor.inputs:
            for part in type_nodes(ty):
                if isinstance(part, TypeVar):
                    self._bind((part,))

    def _type(self, root: Type | None) -> None:
        stack = [] if root is None else [root]
        while stack:
            ty = stack.pop()
            if ty in self._seen:
                continue
            self._seen.add(ty)
            if isinstance(ty, TypeVar):
                self.all[ty] = None
            elif isinstance(ty, FuncType):
                self._bind(ty.type_params)
            elif isinstance(ty, TypeData):
                self._bind(ty.type_vars)
            elif isinstance(ty, GlobalTypeVar):
                continue
            stack.extend(reversed(type_parts(ty)))


@checked
def free_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that are used and not bound, in order of first encounter."""
    collector = _Collector(expr, mod)
    return [v for v in collector.all if v not in collector.bound]


@checked
def bound_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that are bound inside, in binding order."""
    return list(_Collector(expr, mod).bound)


@checked
def all_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return every type variable, bound or free, in order of first encounter."""
    return list(_Collector(expr, mod).all)


@checked
def all_dtypes(expr: Expr) -> set[str]:
    """Return the dtypes in the types of all nodes; before inference, only constants and annotations have dtypes.

    >>> relay.analysis.all_dtypes(passlab.parse("def @main(%x: float32) { exp(%x) }")["main"])
    {'float32'}
    """
    types: set[Type] = set()
    stack, seen = [expr], {expr}
    while stack:
        node = stack.pop()
        if node.checked_type_ is not None:
            types.add(node.checked_type_)
        if isinstance(node, Constant):
            types.add(node.tensor_type)
        elif isinstance(node, Var) and node.type_annotation is not None:
            types.add(node.type_annotation)
        for child in CHILDREN[type(node)](node):
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return _dtypes(types)


def _dtypes(types: set[Type]) -> set[str]:
    dtypes: set[str] = set()
    stack = list(types)
    seen = set(stack)
    while stack:
        ty = stack.pop()
        if isinstance(ty, TensorType):
            dtypes.add(ty.dtype)
        for part in type_parts(ty):
            if part not in seen:
                seen.add(part)
                stack.append(part)
    return dtypes
