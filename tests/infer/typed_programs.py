"""Random programs that are well-typed by construction, with the annotations that inference can do without left out."""

from __future__ import annotations

import random

import numpy as np

from passlab.ir import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    FuncType,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    Var,
)  # fmt: skip
from passlab.op import make
from tests.infer.programs import LIST, untyped

LIBRARY = untyped(
    LIST
    + """def @id[A](%x: A) { %x }
def @pair[A, B](%x: A, %y: B) { (%x, %y) }
def @swap[A, B](%p: (A, B)) -> (B, A) { (%p.1, %p.0) }
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) {
  match (%xs) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
"""
)
LIST_VAR, CONS, NIL = LIBRARY.get_type("List")
BOOL, INT, VECTOR = TensorType((), "bool"), TensorType((), "int32"), TensorType((3,), "float32")
Scope = dict[Var, Type]


class Writer:
    """Writes an expression of a given type. Variables keep their annotation with probability `annotated`."""

    def __init__(self, seed: int, annotated: float = 0.3) -> None:
        self.random = random.Random(seed)
        self.annotated = annotated

    def var(self, ty: Type) -> Var:
        return Var("v", ty if self.random.random() < self.annotated else None)

    def ty(self, depth: int = 2) -> Type:
        pick = self.random.randrange(8 if depth else 3)
        if pick < 3:
            return (BOOL, INT, VECTOR)[pick]
        if pick == 3:
            return TupleType([self.ty(depth - 1) for _ in range(self.random.randrange(3))])
        if pick == 4:
            return RefType(self.ty(depth - 1))
        if pick == 5:
            return FuncType([self.ty(depth - 1)], self.ty(depth - 1))
        return TypeCall(LIST_VAR, [self.ty(depth - 1)])

    def expr(self, ty: Type, size: int, scope: Scope) -> Expr:
        """Return an expression of type `ty` over the variables in scope."""
        if size <= 0:
            return self.simplest(ty, scope)
        size = size * 2 // 3
        ways = [
            self.let,
            self.if_,
            self.project,
            self.call_closure,
            self.read,
            self.generic,
            self.match_tuple,
            self.match_list,
            self.loop,
        ]
        if self.random.random() < 0.5:
            return self.build(ty, size, scope)
        return self.random.choice(ways)(ty, size, scope)

    def simplest(self, ty: Type, scope: Scope) -> Expr:
        fitting = [v for v, annotation in scope.items() if annotation is ty]
        return self.random.choice(fitting) if fitting else self.build(ty, 0, scope)

    def build(self, ty: Type, size: int, scope: Scope) -> Expr:
        """Return an expression by the outermost constructor of its type."""
        if isinstance(ty, TupleType):
            return Tuple([self.expr(t, size, scope) for t in ty.fields])
        if isinstance(ty, RefType):
            return RefCreate(self.expr(ty.value, size, scope))
        if isinstance(ty, FuncType):
            return self.function(ty, size, scope, annotated=True)
        if isinstance(ty, TypeCall):
            if self.random.random() < 0.4 or not size:
                return Call(NIL, [], type_args=ty.args)
            return Call(CONS, [self.expr(ty.args[0], size, scope), self.expr(ty, size, scope)])
        if size and ty is VECTOR:
            return make("add", self.expr(VECTOR, size, scope), self.expr(VECTOR, size, scope))
        if size and ty is BOOL:
            return make("less", self.expr(INT, size, scope), self.expr(INT, size, scope))
        assert isinstance(ty, TensorType)
        return Constant(np.ones(ty.shape, ty.dtype))

    def function(self, ty: FuncType, size: int, scope: Scope, annotated: bool) -> Function:
        params = [Var("p", t) if annotated else self.var(t) for t in ty.arg_types]
        body = self.expr(ty.ret_type, size, {**scope, **dict(zip(params, ty.arg_types, strict=True))})
        return Function(params, body, ty.ret_type if self.random.random() < self.annotated else None)

    # ------------------------------------------------------------ ways to get a value of any type
    def let(self, ty: Type, size: int, scope: Scope) -> Expr:
        bound = self.ty()
        var = self.var(bound)
        return Let(var, self.expr(bound, size, scope), self.expr(ty, size, {**scope, var: bound}))

    def if_(self, ty: Type, size: int, scope: Scope) -> Expr:
        return If(self.expr(BOOL, size, scope), self.expr(ty, size, scope), self.expr(ty, size, scope))

    def project(self, ty: Type, size: int, scope: Scope) -> Expr:
        return TupleGetItem(self.expr(TupleType([self.ty(), ty]), size, scope), 1)

    def call_closure(self, ty: Type, size: int, scope: Scope) -> Expr:
        argument = self.ty()
        fn = self.function(FuncType([argument], ty), size, scope, annotated=False)
        call = [self.expr(argument, size, scope)]
        if self.random.random() < 0.5:
            return Call(fn, call)
        var = Var("f")
        return Let(var, fn, Call(var, call))

    def loop(self, ty: Type, size: int, scope: Scope) -> Expr:
        """A local function that calls itself."""
        f, n = Var("f"), self.var(INT)
        again = Call(f, [self.expr(INT, size, {**scope, n: INT})])
        body = If(self.expr(BOOL, size, {**scope, n: INT}), self.expr(ty, size, {**scope, n: INT}), again)
        return Let(f, Function([n], body), Call(f, [self.expr(INT, size, scope)]))

    def read(self, ty: Type, size: int, scope: Scope) -> Expr:
        cell, done = self.var(RefType(ty)), self.var(TupleType(()))
        write = RefWrite(cell, self.expr(ty, size, {**scope, cell: RefType(ty)}))
        return Let(cell, RefCreate(self.expr(ty, size, scope)), Let(done, write, RefRead(cell)))

    def generic(self, ty: Type, size: int, scope: Scope) -> Expr:
        other = self.ty()
        call = lambda name, *args: Call(LIBRARY.get_global_var(name), args)  # noqa: E731
        if isinstance(ty, TupleType) and len(ty.fields) == 2:
            first, second = (self.expr(t, size, scope) for t in ty.fields)
            return call("swap", call("pair", second, first))
        if isinstance(ty, TypeCall):
            fn = self.function(FuncType([other], ty.args[0]), size, scope, annotated=False)
            return call("map", fn, self.expr(TypeCall(LIST_VAR, [other]), size, scope))
        return Call(call("id", LIBRARY.get_global_var("id")), [self.expr(ty, size, scope)])

    def match_tuple(self, ty: Type, size: int, scope: Scope) -> Expr:
        parts = [self.ty(), self.ty()]
        names = [self.var(t) for t in parts]
        inner = {**scope, **dict(zip(names, parts, strict=True))}
        pattern = PatternTuple([PatternVar(v) for v in names])
        return Match(self.expr(TupleType(parts), size, scope), [Clause(pattern, self.expr(ty, size, inner))])

    def match_list(self, ty: Type, size: int, scope: Scope) -> Expr:
        item = self.ty()
        whole = TypeCall(LIST_VAR, [item])
        head = self.var(item)
        some = PatternConstructor(CONS, [PatternVar(head), PatternWildcard()])
        clauses = [
            Clause(some, self.expr(ty, size, {**scope, head: item})),
            Clause(PatternConstructor(NIL), self.expr(ty, size, scope)),
        ]
        return Match(self.expr(whole, size, scope), clauses)
