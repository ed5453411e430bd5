"""Structural equality by the book: recursive, without shortcuts, for small programs. The fast one must agree with it."""

from __future__ import annotations

from typing import Any

from passlab.ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)  # fmt: skip

GRAPH = (Call, Tuple, Function, Let, If, Match, RefCreate, RefRead, RefWrite)


class Reference:
    def __init__(self, map_free_vars: bool = False) -> None:
        self.map_free_vars = map_free_vars
        self.left: dict[Any, Any] = {}
        self.right: dict[Any, Any] = {}

    def var(self, a: Var, b: Var, define: bool) -> bool:
        if a in self.left or b in self.right:
            return self.left.get(a) is b
        if a is not b and not define and not self.map_free_vars:
            return False
        self.left[a], self.right[b] = b, a
        return a.type_annotation is b.type_annotation

    def equal(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        if isinstance(a, Var):
            return self.var(a, b, False)
        if isinstance(a, GRAPH) and not (isinstance(a, Tuple) and not a.fields and not b.fields):
            if a in self.left or b in self.right:
                return self.left.get(a) is b
            if not self.fields(a, b):
                return False
            self.left[a], self.right[b] = b, a
            return True
        return self.fields(a, b)

    def all(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return len(a) == len(b) and all(self.equal(x, y) for x, y in zip(a, b, strict=True))

    def fields(self, a: Any, b: Any) -> bool:
        if isinstance(a, (GlobalVar, Op)):
            return a is b or (isinstance(a, GlobalVar) and self.map_free_vars and a.name_hint == b.name_hint)
        if isinstance(a, Constructor):
            return a.name_hint == b.name_hint and a.inputs == b.inputs
        if isinstance(a, Constant):
            return (a.data.shape, a.data.dtype, a.data.tobytes()) == (b.data.shape, b.data.dtype, b.data.tobytes())
        if isinstance(a, Call):
            return a.attrs == b.attrs and self.equal(a.op, b.op) and self.all(a.args, b.args)
        if isinstance(a, Tuple):
            return self.all(a.fields, b.fields)
        if isinstance(a, TupleGetItem):
            return a.index == b.index and self.equal(a.tuple_value, b.tuple_value)
        if isinstance(a, Let):
            return self.var(a.var, b.var, True) and self.equal(a.value, b.value) and self.equal(a.body, b.body)
        if isinstance(a, Function):
            if len(a.params) != len(b.params) or a.ret_type is not b.ret_type or a.attrs != b.attrs:
                return False
            return all(self.var(p, q, True) for p, q in zip(a.params, b.params, strict=True)) and self.equal(
                a.body, b.body
            )
        if isinstance(a, Match):
            return a.complete == b.complete and self.equal(a.data, b.data) and self.all(a.clauses, b.clauses)
        if isinstance(a, Clause):
            return self.pattern(a.lhs, b.lhs) and self.equal(a.rhs, b.rhs)
        return self.all(tuple(getattr(a, n) for n in a.field_names), tuple(getattr(b, n) for n in b.field_names))

    def pattern(self, a: Pattern, b: Pattern) -> bool:
        if type(a) is not type(b):
            return False
        if isinstance(a, PatternVar) and isinstance(b, PatternVar):
            return self.var(a.var, b.var, True)
        if (
            isinstance(a, PatternConstructor)
            and isinstance(b, PatternConstructor)
            and not self.equal(a.constructor, b.constructor)
        ):
            return False
        if isinstance(a, (PatternConstructor, PatternTuple)) and isinstance(b, (PatternConstructor, PatternTuple)):
            return len(a.patterns) == len(b.patterns) and all(map(self.pattern, a.patterns, b.patterns))
        return True


def reference_equal(a: Expr, b: Expr, map_free_vars: bool = False) -> bool:
    return Reference(map_free_vars).equal(a, b)
