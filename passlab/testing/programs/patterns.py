"""Statements of generated programs: matches with nested patterns, functions without parameters, generic functions."""

from __future__ import annotations

from passlab.ir.adt import Clause, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import Call, Expr, Function, If, Match, Tuple, TupleGetItem
from passlab.ir.types import FuncType, TypeCall, TypeVar
from passlab.testing.programs.library import INT, VECTOR
from passlab.testing.programs.operators import type_of
from passlab.testing.programs.writer import ProgramWriter


def nested_patterns(writer: ProgramWriter, size: int) -> None:
    """A match on a list by three clauses with nested patterns; its length is constant or not."""
    library = writer.library
    end = Call(library.nil, [], type_args=[VECTOR])
    short: Expr = Call(library.cons, [writer.like(VECTOR), end])
    long: Expr = Call(library.cons, [writer.like(VECTOR), short])
    pick = writer.random.randrange(4)
    items = (end, short, long, If(writer.condition(), short, end))[pick]
    rest = writer.new_var(TypeCall(library.list_type, [VECTOR]), "rest")
    x, y, only = (writer.new_var(VECTOR) for _ in range(3))
    inner = PatternConstructor(library.cons, [PatternVar(y), PatternVar(rest)])
    clauses = [
        Clause(PatternConstructor(library.cons, [PatternVar(x), inner]), writer.block(size, [x, y], VECTOR)),
        Clause(
            PatternConstructor(library.cons, [PatternVar(only), PatternWildcard()]), writer.block(size, [only], VECTOR)
        ),
        Clause(PatternConstructor(library.nil), writer.block(size, result_type=VECTOR)),
    ]
    writer.add(Match(items, clauses), bound=0.8)


def tuple_patterns(writer: ProgramWriter, size: int) -> None:
    """A match on a tuple of an option and a number."""
    library, tensor = writer.library, writer.static_tensor()
    ty = type_of(tensor)
    none: Expr = Call(library.none, [], type_args=[ty])
    some: Expr = Call(library.some, [tensor])
    pair = Tuple([If(writer.condition(), some, none) if writer.random.random() < 0.5 else some, writer.number()])
    x, k, other = writer.new_var(ty), writer.new_var(INT, "k"), writer.new_var(INT, "k")
    clauses = [
        Clause(
            PatternTuple([PatternConstructor(library.some, [PatternVar(x)]), PatternVar(k)]),
            writer.block(size, [x, k], ty),
        ),
        Clause(PatternTuple([PatternWildcard(), PatternVar(other)]), writer.block(size, [other], ty)),
    ]
    writer.add(Match(pair, clauses), bound=0.8)


def incomplete_match(writer: ProgramWriter, size: int) -> None:
    """An incomplete match, whose one clause always applies."""
    library, tensor = writer.library, writer.static_tensor()
    x = writer.new_var(type_of(tensor))
    lhs: Pattern = PatternConstructor(library.some, [PatternVar(x)])
    writer.add(Match(Call(library.some, [tensor]), [Clause(lhs, writer.block(size, [x]))], complete=False), bound=0.8)


def constructor_as_value(writer: ProgramWriter, size: int) -> None:
    """A constructor passed to a function that calls it."""
    library, tensor = writer.library, writer.static_tensor()
    ty = type_of(tensor)
    maybe = TypeCall(library.option_type, [ty])
    g, x, inside = writer.new_var(FuncType([ty], maybe), "g"), writer.new_var(ty), writer.new_var(ty)
    wrapped = Call(Function([g, x], Call(g, [x]), maybe), [library.some, tensor])
    clauses = [
        Clause(PatternConstructor(library.some, [PatternVar(inside)]), writer.block(size, [inside], ty)),
        Clause(PatternConstructor(library.none), writer.block(size, result_type=ty)),
    ]
    writer.add(Match(wrapped, clauses), bound=0.8)


def without_parameters(writer: ProgramWriter, size: int) -> None:
    """A function without parameters, called twice."""
    f = writer.let(Function([], writer.block(size)))
    first = writer.add(Call(f, []), bound=0.8)
    writer.add(TupleGetItem(Tuple([Call(f, []), first]), writer.random.randrange(2)))


def generic_function(writer: ProgramWriter, size: int) -> None:
    """A local function of any type, called at two types."""
    any_type = TypeVar("A")
    x, number = writer.new_var(any_type), writer.new_var(INT, "k")
    pick = writer.let(Function([x, number], x, any_type, [any_type]))
    for value in (writer.static_tensor(), writer.number()):
        writer.add(Call(pick, [value, writer.number()], type_args=[type_of(value)]), bound=0.7)
