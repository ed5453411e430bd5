"""Random well-typed modules that between them use every construct of the language, with and without annotations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from passlab.infer import infer_module
from passlab.ir import (
    ANY,
    Call,
    Clause,
    Constant,
    DictAttrs,
    Expr,
    Function,
    IRModule,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    TypeCall,
    TypeVar,
    Var,
)  # fmt: skip
from passlab.op import make
from tests.infer.typed_programs import BOOL, CONS, INT, LIBRARY, NIL, VECTOR, Scope, Writer

DTYPES: tuple[Any, ...] = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    ml_dtypes.bfloat16,
)  # fmt: skip
ODD = (np.nan, np.inf, -np.inf, -0.0, 1e-30, 3.14159274, 16777217.0)
ATTRIBUTES = {"Primitive": 1, "note": 'a "quoted"\\ \n text', "ratio": 0.1, "list": (1, (2.5, "x")), "nothing": None}
UNKNOWN = TensorType((ANY, 3), "float32")


class Everything(Writer):
    """The writer of inference's tests, with what only text has to get right."""

    def expr(self, ty: Type, size: int, scope: Scope) -> Expr:
        if size > 2 and self.random.random() < 0.25:
            way = self.random.choice((self.literal, self.shared, self.generic_literal, self.partial, self.marked))
            return way(ty, size * 2 // 3, scope)
        return super().expr(ty, size, scope)

    def build(self, ty: Type, size: int, scope: Scope) -> Expr:
        if isinstance(ty, TypeCall) and (not size or self.random.random() < 0.3):
            var = Var("none", ty)  # nothing else may say what it is a list of
            return Let(var, Call(NIL, []), var)
        if isinstance(ty, TypeCall):
            return Call(CONS, [self.expr(ty.args[0], size // 2, scope), self.expr(ty, size // 2, scope)])
        if ty is VECTOR and size > 3 and self.random.random() < 0.5:
            return self.operator(size, scope)
        return super().build(ty, size, scope)

    def operator(self, size: int, scope: Scope) -> Expr:
        """A vector made by an operator with attributes, or with several results."""
        vector = self.expr(VECTOR, size // 2, scope)
        pick = self.random.randrange(5)
        if pick == 0:
            return make("nn.softmax", vector, axis=self.random.choice((-1, 0)))
        if pick == 1:
            return make("clip", vector, a_min=self.random.choice((-1.5, float("-inf"))), a_max=2.25)
        if pick == 2:
            return make("cast", make("cast", vector, dtype="float64"), dtype="float32")
        if pick == 3:
            return TupleGetItem(
                make("split", make("concatenate", Tuple([vector, vector]), axis=0), indices_or_sections=2), 1
            )
        return make("reshape", make("expand_dims", vector, axis=0, num_newaxis=2), newshape=(-1,))

    def literal(self, ty: Type, size: int, scope: Scope) -> Expr:
        """Bind a constant of any dtype, and go on."""
        dtype = np.dtype(self.random.choice(DTYPES))
        shape = self.random.choice(((), (), (2,), (0, 2)))
        value = self.random.choice(ODD) if dtype.kind in "fV" else self.random.randrange(2)
        with np.errstate(all="ignore"):  # what does not fit becomes an infinity or a zero
            data = np.full(shape, value).astype(dtype)
        return Let(Var("c"), Constant(data), self.expr(ty, size, scope))

    def shared(self, ty: Type, size: int, scope: Scope) -> Expr:
        """Use one node twice."""
        node = self.expr(ty, size, scope)
        return TupleGetItem(Tuple([node, node]), self.random.randrange(2))

    def generic_literal(self, ty: Type, size: int, scope: Scope) -> Expr:
        """Bind a polymorphic function literal and use it at two types."""
        a = TypeVar(self.random.choice(("A", "B")))
        x, f = Var("x", a), Var("poly")
        function = Function([x], x, a, [a])
        both = Tuple([Call(f, [self.expr(ty, size, scope)]), Call(f, [self.expr(BOOL, 0, scope)])])
        return Let(f, function, TupleGetItem(both, 0))

    def partial(self, ty: Type, size: int, scope: Scope) -> Expr:
        """A `match?` that leaves cases out, and one that binds the whole."""
        item, rest = self.var(INT), self.var(TypeCall(NIL.belong_to, [INT]))
        one = Clause(
            PatternConstructor(CONS, [PatternVar(item), PatternVar(rest)]), self.expr(ty, size, {**scope, item: INT})
        )
        data = self.expr(TypeCall(NIL.belong_to, [INT]), size, scope)
        if self.random.random() < 0.5:
            return Match(data, [one], complete=False)
        whole = self.var(TypeCall(NIL.belong_to, [INT]))
        return Match(
            data, [one, Clause(self.random.choice((PatternVar(whole), PatternWildcard())), self.expr(ty, 0, scope))]
        )

    def marked(self, ty: Type, size: int, scope: Scope) -> Expr:
        """A call of a function with attributes."""
        kept = self.random.sample(sorted(ATTRIBUTES), self.random.randrange(1, 4))
        body = self.expr(ty, size, scope)
        return Call(Function([], body, None, [], DictAttrs({key: ATTRIBUTES[key] for key in kept})), [])


def module(seed: int) -> IRModule:
    """Return a typed module: two functions with parameters of random types, and the generic ones of the library."""
    writer = Everything(seed)
    table: dict[str, Function] = {}
    for name in ("main", "other"):
        params = [writer.var(writer.ty()) for _ in range(writer.random.randrange(3))]
        types = [p.type_annotation or VECTOR for p in params]
        params = [Var("p", t) for t in types]
        unknown = Var("unknown", UNKNOWN)
        scope: Scope = dict(zip(params, types, strict=True))
        result = writer.expr(writer.ty(), writer.random.choice((3, 5, 8, 12)), scope)
        table[name] = Function([*params, unknown], Tuple([result, make("add", unknown, unknown)]))
    return infer_module(LIBRARY.with_functions(table))


def constructs(mod: IRModule, order: Iterable[Expr]) -> set[str]:
    """Return the names of the classes of nodes, patterns and types that programs use."""
    names = {type(node).__name__ for node in order}
    for node in order:
        if isinstance(node, Match):
            names |= {type(clause.lhs).__name__ for clause in node.clauses} | {f"complete={node.complete}"}
        if isinstance(node, Function):
            names |= {"generic"} if node.type_params else set()
            names |= {"attributes"} if len(node.attrs) else set()
        if isinstance(node, Var) and node.checked_type_ is not None:
            names.add(type(node.checked_type_).__name__)
    return names


__all__ = ["constructs", "module"]
