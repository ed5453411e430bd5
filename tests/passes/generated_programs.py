"""Random typed programs that compute something: every construct around every kind of operator, with arguments.

A program is a block: statements that each add values to those there are, some bound by a `let`, some shared as they
are, and a result of a few of them. Effects are bound by lets, which say their order. Loops end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr, infer_module
from passlab.ir import (
    ANY,
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    FuncType,
    If,
    IRModule,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    Var,
)  # fmt: skip
from passlab.ir.expr import set_checked_type
from passlab.ir.walk import make_lets, post_order, rewrite
from passlab.op import make
from passlab.text.parser import parse
from tests.passes.generated_operators import ANY_WAY, SMOOTH, type_of

V = "Tensor[(2, 3), float32]"
LIBRARY = infer_module(
    parse(f"""
    type List[A] {{ Cons(A, List[A]), Nil, }}
    type Option[A] {{ Some(A), None, }}
    def @id[A](%x: A) -> A {{ %x }}
    def @square(%x: {V}, Inline=1) -> {V} {{ multiply(%x, %x) }}
    def @power(%x: {V}, %n: int32) -> {V} {{ if (less(%n, 1)) {{ %x }} else {{ tanh(@power(add(%x, 1f), subtract(%n, 1))) }} }}
    def @sum(%xs: List[{V}]) -> {V} {{ match (%xs) {{ Cons(%h, %t) => add(%h, @sum(%t)), Nil => zeros(shape=[2, 3], dtype="float32") }} }}
    def @unused(%x: {V}) -> {V} {{ @square(%x) }}
    """)
)
LIST, CONS, NIL = LIBRARY.get_type("List")
OPTION, SOME, NONE = LIBRARY.get_type("Option")
BOOL, INT, VECTOR = TensorType((), "bool"), TensorType((), "int32"), TensorType((2, 3), "float32")
PARAMETERS: tuple[Type, ...] = (
    VECTOR, VECTOR, TensorType((1, 2, 5, 5), "float32"), TensorType((2, 3), "float16"), TensorType((3,), "int8"),
    TensorType((2, 3), "int32"), TensorType((2, 2, 3), "float32"), TensorType((ANY, 3), "float32"),
    TupleType([VECTOR, TupleType([INT, TensorType((3,), "float32")])]), TensorType((0, 3), "float32"),
    TensorType((4,), "uint8"), TensorType((), "float64"),
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A typed module, arguments for its `main`, and what that gives."""

    mod: IRModule
    args: list[Any]
    value: Any
    effects: bool


class Writer:
    """Writes one program. `scope` holds the values that may be used where it writes."""

    def __init__(self, seed: int, smooth: bool) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.ways = SMOOTH if smooth else ANY_WAY
        self.smooth = smooth
        self.scope: list[Expr] = []
        self.lets: list[tuple[Var, Expr]] = []
        self.effects = False

    # ------------------------------------------------------------ values
    def tensor(self, fits: Callable[[TensorType], bool] = lambda ty: True) -> Expr | None:
        """Return a tensor in scope, one of the newer more likely, or None."""
        found = [e for e in self.scope if type(e.checked_type) is TensorType and fits(e.checked_type)]
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))] if found else None

    def like(self, ty: TensorType) -> Expr:
        """Return a tensor of a type: one in scope, or a constant; itself where its shape is not known."""
        found = [e for e in self.scope if e.checked_type is ty]
        if ty.dynamic:
            return found[-1]
        return (
            self.random.choice(found)
            if found and self.random.random() < 0.8
            else self.array(ty.concrete_shape, ty.dtype)
        )

    def array(self, shape: tuple[int, ...], dtype: str, positive: bool = False) -> Constant:
        if dtype == "bool":
            return Constant(np.asarray(self.numbers.random(shape) < 0.5))
        if "int" in dtype:
            return Constant(np.asarray(self.numbers.integers(0, 3, shape)).astype(dtype))
        noise = self.numbers.standard_normal(shape)
        return Constant(np.asarray(np.abs(noise) + 0.5 if positive else noise).astype(dtype))

    def typed(self, expr: Expr) -> Expr:
        """Return an expression with its type inferred."""
        return infer_expr(expr, LIBRARY)

    def add(self, expr: Expr, bound: float = 0.4) -> Expr:
        """Type a value and put it in scope, as it is or bound by a let."""
        expr = self.typed(expr)
        made = self.let(expr) if self.random.random() < bound else expr
        self.scope.append(made)
        return made

    def let(self, expr: Expr) -> Var:
        expr = self.typed(expr)
        var = self.fresh(expr.checked_type, self.random.choice("abv"))
        self.lets.append((var, expr))
        return var

    # ------------------------------------------------------------ blocks
    def block(self, size: int, params: list[Var] | None = None, want: Type | None = None) -> Expr:
        """Return a few statements and a result: of type `want`, or the newest values."""
        outer, lets = self.scope, self.lets
        self.scope, self.lets = [*outer, *(params or ())], []
        for _ in range(size):
            self.statement(size)
        if want is not None:
            result = next((e for e in self.scope[::-1] if e.checked_type is want), None) or self.made(want)
        else:
            newest = self.scope[-3:] or [self.array((), "float32")]
            result = newest[-1] if self.random.random() < 0.5 else Tuple(newest)
        body = self.typed(make_lets(self.lets, result))
        self.scope, self.lets = outer, lets
        return body

    def made(self, ty: Type) -> Expr:
        if isinstance(ty, TupleType):
            return Tuple([self.made(f) for f in ty.fields])
        assert isinstance(ty, TensorType)
        return self.array(tuple(d if type(d) is int else 2 for d in ty.shape), ty.dtype)

    def statement(self, size: int) -> None:
        if size < 2 or self.random.random() < 0.65:
            made = self.random.choice(self.ways)(self)
            if made is not None:
                self.add(made)
            return
        ways = (self.branch, self.function, self.literal, self.tuple_, self.reference, self.option, self.items, self.loop,
                self.global_, self.higher)  # fmt: skip
        self.random.choice(ways)(size // 2)

    def fresh(self, ty: Type, name: str = "p") -> Var:
        var = Var(name, ty)
        set_checked_type(var, ty)
        return var

    def static_tensor(self) -> Expr:
        return self.tensor(lambda t: not t.dynamic) or self.array((2, 3), "float32")

    def condition(self) -> Expr:
        flag = self.tensor(lambda t: t is BOOL)
        if flag is None or self.random.random() < 0.3:
            return self.random.choice((Constant(np.asarray(True)), make("less", self.number(), Constant(np.int32(2)))))
        return flag

    def number(self) -> Expr:
        return self.tensor(lambda t: t is INT) or Constant(np.asarray(self.random.randrange(4), "int32"))

    # ------------------------------------------------------------ constructs
    def branch(self, size: int) -> None:
        one = self.block(size, want=type_of(self.static_tensor()))
        self.add(If(self.condition(), one, self.block(size, want=one.checked_type)))

    def function(self, size: int) -> None:
        """A function bound by a let, called twice; it may use what is around it."""
        argument = self.static_tensor()
        x = self.fresh(type_of(argument))
        f = self.let(Function([x], self.block(size, [x])))
        first = self.add(Call(f, [argument]), bound=1)
        if first.checked_type is type_of(argument):
            self.add(Call(f, [first]), bound=1)

    def literal(self, size: int) -> None:
        argument = self.static_tensor()
        x = self.fresh(type_of(argument))
        self.add(Call(Function([x], self.block(size, [x])), [argument]), bound=1)

    def higher(self, size: int) -> None:
        argument = self.static_tensor()
        ty = type_of(argument)
        x, y, g = self.fresh(ty), self.fresh(ty), self.fresh(FuncType([ty], ty), "g")
        twice = self.let(Function([g, y], Call(g, [Call(g, [y])]), ty))
        self.add(Call(twice, [Function([x], self.block(size, [x], ty), ty), argument]), bound=1)

    def tuple_(self, size: int) -> None:
        pair = self.add(Tuple([self.static_tensor(), Tuple([self.static_tensor(), self.number()])]))
        self.add(TupleGetItem(TupleGetItem(pair, 1), self.random.randrange(2)))
        self.add(TupleGetItem(pair, 0))

    def reference(self, size: int) -> None:
        self.effects = True
        start = self.static_tensor()
        cell = self.let(RefCreate(start))
        old = self.let(RefRead(cell))
        if self.random.random() < 0.5:
            x = self.fresh(type_of(start))
            put = Function([x], make_lets([(Var("u"), RefWrite(cell, x))], RefRead(cell)))
            self.add(Call(self.let(put), [self.block(size, want=type_of(start))]), bound=1)
        else:
            self.let(RefWrite(cell, self.block(size, want=type_of(start))))
        self.add(Tuple([old, self.let(RefRead(cell))]))
        self.add(TupleGetItem(self.scope[-1], self.random.randrange(2)))

    def option(self, size: int) -> None:
        held = self.static_tensor()
        ty = type_of(held)
        some, none = Call(SOME, [held]), Call(NONE, [], type_args=[ty])
        maybe = self.random.choice((some, If(self.condition(), some, none)))
        x = self.fresh(ty)
        whole = self.fresh(TypeCall(OPTION, [ty]), "whole")
        last = self.random.choice((PatternConstructor(NONE), PatternWildcard(), PatternVar(whole)))
        clauses = [
            Clause(PatternConstructor(SOME, [PatternVar(x)]), self.block(size, [x], ty)),
            Clause(last, self.block(size, want=ty)),
        ]
        self.add(Match(self.add(maybe) if self.random.random() < 0.5 else maybe, clauses), bound=1)

    def items(self, size: int) -> None:
        made: Expr = Call(NIL, [], type_args=[VECTOR])
        for _ in range(self.random.randrange(4)):
            made = Call(CONS, [self.like(VECTOR), made])
        self.add(Call(LIBRARY.get_global_var("sum"), [made]), bound=1)

    def loop(self, size: int) -> None:
        """A local function that calls itself a few times."""
        start = self.static_tensor()
        ty = type_of(start)
        n, x, f = self.fresh(INT, "n"), self.fresh(ty), self.fresh(FuncType([INT, ty], ty), "loop")
        step = self.block(size, [x], ty)
        again = Call(f, [make("subtract", n, Constant(np.int32(1))), step])
        body = If(make("less", n, Constant(np.int32(1))), x, again)
        self.lets.append((f, self.typed(Function([n, x], body, ty))))
        times = make("minimum", self.number(), Constant(np.int32(3)))
        self.add(Call(f, [times, start]), bound=1)

    def global_(self, size: int) -> None:
        pick = self.random.randrange(4)
        vector, var = self.like(VECTOR), LIBRARY.get_global_var
        if pick == 0:
            self.add(Call(var("id"), [self.static_tensor()]))
        elif pick == 1:
            self.add(Call(var("square"), [vector]))
        elif pick == 2:
            self.add(Call(var("power"), [vector, Constant(np.int32(self.random.randrange(4)))]))
        else:
            self.add(Call(Call(var("id"), [var("square")]), [vector]), bound=1)


def argument(ty: Type, numbers: np.random.Generator) -> Any:
    """Return a value of a type; what is not known of its shape is 2."""
    if isinstance(ty, TupleType):
        return tuple(argument(f, numbers) for f in ty.fields)
    assert isinstance(ty, TensorType)
    shape = [d if type(d) is int else 2 for d in ty.shape]
    if ty.dtype == "bool":
        return np.asarray(numbers.random(shape) < 0.5)
    if "int" in ty.dtype:
        return np.asarray(numbers.integers(0, 6, shape)).astype(ty.dtype)
    return np.asarray(numbers.standard_normal(shape)).astype(ty.dtype)


def unannotated(main: Function, choice: random.Random) -> Function:
    """Return a function where only some of the lets say what type they bind."""
    bound = [n.var for n in post_order(main) if type(n) is Let and not isinstance(n.value, Function)]
    return rewrite(main, replace={v: Var(v.name_hint) for v in bound if choice.random() < 0.5})  # type: ignore[return-value]


def attempt(seed: int, smooth: bool) -> Program | None:
    """Return the program of a seed, or None where its shapes do not fit when it runs."""
    writer = Writer(seed, smooth)
    types = [VECTOR, BOOL, INT, *writer.random.sample(PARAMETERS, writer.random.randrange(1, 4))]
    params = [writer.fresh(t, f"x{i}") for i, t in enumerate(types)]
    for param in params:
        writer.scope.append(param)
        if isinstance(param.checked_type, TupleType):
            writer.scope += [
                writer.typed(TupleGetItem(param, 0)),
                writer.typed(TupleGetItem(TupleGetItem(param, 1), 1)),
            ]
    try:
        main = Function(params, writer.block(writer.random.choice((2, 4, 6, 9))))
        mod = infer_module(LIBRARY.with_functions({"main": unannotated(main, writer.random)}))
        args = [argument(t, writer.numbers) for t in types]
        return Program(mod, args, Evaluator(mod).run("main", args), writer.effects)
    except PasslabError:
        return None


def program(seed: int, smooth: bool = False) -> Program:
    """Return a program: that of the seed, or of the next one like it that runs."""
    for again in range(100):
        made = attempt(seed * 100 + again, smooth)
        if made is not None:
            return made
    raise AssertionError(f"no program of seed {seed} runs")
