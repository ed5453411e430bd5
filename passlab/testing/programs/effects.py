"""Effects in every position: references that are read and written, closures over them, lets inside operands.

`tick(writer)` returns an int32 expression that reads or changes the state. Its value depends on all earlier effects, so
that an effect that is moved, dropped or repeated changes the result of the program. `disturb` puts such an effect
around or into any expression without changing its type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from passlab.ir.adt import Clause, PatternConstructor, PatternVar, PatternWildcard
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.types import RefType, TensorType
from passlab.op import make
from passlab.testing.programs.library import CELL, COUNTER, INT
from passlab.testing.programs.writer import ProgramWriter


def small(writer: ProgramWriter) -> Expr:
    """Return a small int32 constant."""
    return Constant(np.int32(writer.random.randrange(1, 5)))


def cell(writer: ProgramWriter) -> Expr:
    """Return a reference to an int32 in scope, maybe out of a tuple; a new one if the scope has none."""
    if not writer.cells:
        writer.cells.append(writer.let(RefCreate(small(writer))))
    chosen = writer.random.choice(writer.cells)
    return TupleGetItem(Tuple([chosen, small(writer)]), 0) if writer.random.random() < 0.1 else chosen


def reference_in_scope(writer: ProgramWriter) -> Expr:
    """Return a reference in scope, sometimes by an expression that has an effect before the reference is used."""
    chosen = cell(writer)
    if writer.random.random() < 0.8:
        return chosen
    bumped = Call(writer.library.function("bump"), [chosen, small(writer)])
    return then(writer, bumped, chosen)


def counter(writer: ProgramWriter) -> Expr:
    """Return a function from int32 to int32 that changes a reference."""
    if writer.counters and writer.random.random() < 0.8:
        return writer.random.choice(writer.counters)
    pick = writer.random.randrange(3)
    if pick == 0:
        function: Expr = writer.let(Call(writer.library.function("counter"), [small(writer)]))
    else:
        k, changed = writer.new_var(INT, "k"), cell(writer)
        update = RefWrite(changed, make("add", make("multiply", RefRead(changed), Constant(np.int32(3))), k))
        body = Let(Var("u"), update, RefRead(changed))
        function = writer.let(Function([k], body, INT)) if pick == 1 else Function([k], body, INT)
    if isinstance(function, Var):
        writer.counters.append(function)
    return function


def then(writer: ProgramWriter, first: Expr, second: Expr) -> Expr:
    """Return an expression that evaluates two expressions in order and has the value of the second."""
    if writer.random.random() < 0.5:
        return Let(Var(writer.random.choice("uv")), first, second)
    return TupleGetItem(Tuple([first, second]), 1)


# ---------------------------------------------------------------- int32 expressions with an effect
def read(writer: ProgramWriter) -> Expr:
    """Read a reference."""
    return RefRead(reference_in_scope(writer))


def write_and_read(writer: ProgramWriter) -> Expr:
    """Change a reference, then read it."""
    changed = cell(writer)
    value = make("add", make("multiply", RefRead(changed), Constant(np.int32(2))), small(writer))
    target = changed if writer.random.random() < 0.7 else reference_in_scope(writer)
    return then(writer, RefWrite(target, value), RefRead(changed))


def read_then_write(writer: ProgramWriter) -> Expr:
    """Read a reference before another operand changes it."""
    changed = cell(writer)
    return TupleGetItem(Tuple([RefRead(changed), RefWrite(changed, tick(writer, 1))]), 0)


def call_of_counter(writer: ProgramWriter) -> Expr:
    """Call a function that counts."""
    return Call(counter(writer), [small(writer)])


def call_of_global(writer: ProgramWriter) -> Expr:
    """Call the global function that changes a reference."""
    return Call(writer.library.function("bump"), [cell(writer), small(writer)])


def call_with_two(writer: ProgramWriter) -> Expr:
    """Pass two effects to a function that uses the second first."""
    return Call(writer.library.function("swapped"), [tick(writer, 1), tick(writer, 1)])


def difference(writer: ProgramWriter) -> Expr:
    """Subtract one effect from another."""
    return make("subtract", tick(writer, 1), tick(writer, 1))


def chosen_counter(writer: ProgramWriter) -> Expr:
    """Call one of two functions that count, chosen by a branch."""
    f = If(make("less", tick(writer, 1), Constant(np.int32(9))), counter(writer), counter(writer))
    return Call(f, [small(writer)])


def effects_of_callee_and_argument(writer: ProgramWriter) -> Expr:
    """Call a function, computed with an effect, on an argument with an effect: the argument's effect comes first."""
    return Call(then(writer, tick(writer, 1), counter(writer)), [tick(writer, 1)])


def counter_in_a_tuple(writer: ProgramWriter) -> Expr:
    """Call a function out of a tuple."""
    return Call(TupleGetItem(Tuple([counter(writer), counter(writer)]), writer.random.randrange(2)), [tick(writer, 1)])


def counter_in_a_cell(writer: ProgramWriter) -> Expr:
    """Call a function out of a reference."""
    held = writer.new_var(RefType(COUNTER), "held")
    return Let(held, RefCreate(counter(writer)), Call(RefRead(held), [tick(writer, 1)]))


def counter_in_data(writer: ProgramWriter) -> Expr:
    """Call a function out of a data type."""
    library, f = writer.library, writer.new_var(COUNTER, "f")
    clauses = [
        Clause(PatternConstructor(library.some, [PatternVar(f)]), Call(f, [small(writer)])),
        Clause(PatternConstructor(library.none), small(writer)),
    ]
    return Match(Call(library.some, [counter(writer)]), clauses)


def counter_as_argument(writer: ProgramWriter) -> Expr:
    """Pass a function that counts to one that calls it twice."""
    f, k = writer.new_var(COUNTER, "f"), writer.new_var(INT, "k")
    twice = Function([f, k], make("subtract", Call(f, [k]), Call(f, [k])), INT)
    return Call(twice, [counter(writer), tick(writer, 1)])


def cell_as_argument(writer: ProgramWriter) -> Expr:
    """Pass a reference to a function that writes to it."""
    q, k = writer.new_var(CELL, "q"), writer.new_var(INT, "k")
    return Call(Function([q, k], then(writer, RefWrite(q, k), RefRead(q)), INT), [cell(writer), tick(writer, 1)])


def shared_tick(writer: ProgramWriter) -> Expr:
    """Use one effect twice."""
    first = tick(writer, 1)
    return make("subtract", make("multiply", first, Constant(np.int32(2))), first)


def shared_with_a_branch(writer: ProgramWriter) -> Expr:
    """Use one effect in a branch, sometimes in both, and after it: the effect comes before the branch."""
    first = tick(writer, 1)
    inside = make("subtract", tick(writer, 1), first)
    other = first if writer.random.random() < 0.5 else tick(writer, 1)
    return make("subtract", If(make("less", tick(writer, 1), small(writer)), inside, other), first)


def shared_with_an_arm(writer: ProgramWriter) -> Expr:
    """Use one effect in a clause of a match and after it."""
    library, first, held = writer.library, tick(writer, 1), writer.new_var(INT, "held")
    clauses = [
        Clause(PatternConstructor(library.some, [PatternVar(held)]), make("subtract", first, held)),
        Clause(PatternWildcard(), small(writer)),
    ]
    return make("subtract", Match(Call(library.some, [tick(writer, 1)]), clauses), first)


def shared_with_a_function(writer: ProgramWriter) -> Expr:
    """Use one effect in a function, called once or twice, and after it: the effect comes before the function."""
    first, k = writer.infer_type(tick(writer, 1)), writer.new_var(INT, "k")  # typed, so that a let keeps one node
    function: Expr = Function([k], make("subtract", tick(writer, 1), first), INT)
    if writer.random.random() < 0.5:
        function = writer.let(function)
        return make("subtract", Call(function, [Call(function, [small(writer)])]), first)
    return make("subtract", Call(function, [tick(writer, 1)]), first)


def shared_with_a_let(writer: ProgramWriter) -> Expr:
    """Use one effect in the body of a let inside an operand, and after it."""
    first, x = tick(writer, 1), writer.new_var(INT, "x")
    return make("subtract", Let(x, tick(writer, 1), make("subtract", first, x)), first)


_LEAVES: tuple[Callable[[ProgramWriter], Expr], ...] = (read, write_and_read, call_of_counter, call_of_global)
_TICKS: tuple[Callable[[ProgramWriter], Expr], ...] = (
    *_LEAVES,
    *_LEAVES,
    read_then_write,
    call_with_two,
    difference,
    chosen_counter,
    effects_of_callee_and_argument,
    counter_in_a_tuple,
    counter_in_a_cell,
    counter_as_argument,
    cell_as_argument,
    shared_tick,
    shared_with_a_branch,
    shared_with_a_function,
    shared_with_a_let,
)


def tick(writer: ProgramWriter, depth: int = 0) -> Expr:
    """Return an int32 expression with an effect; at `depth` 1 one without effects inside it."""
    if depth:
        return writer.random.choice(_LEAVES)(writer)
    rules = (*_TICKS, counter_in_data, shared_with_an_arm) if writer.options.data_types else _TICKS
    return writer.random.choice(rules)(writer)


# ---------------------------------------------------------------- around and into any expression
def before(writer: ProgramWriter, expr: Expr) -> Expr:
    """Put an effect before an expression."""
    return then(writer, tick(writer), expr)


def after(writer: ProgramWriter, expr: Expr) -> Expr:
    """Put an effect after an expression."""
    return TupleGetItem(Tuple([expr, tick(writer)]), 0)


def mix_in(writer: ProgramWriter, expr: Expr) -> Expr:
    """Add the state to the value, so that a moved effect changes the numbers."""
    ty = expr.checked_type
    if not isinstance(ty, TensorType):
        return before(writer, expr)
    if ty.dtype == "bool":
        return make("logical_xor", expr, make("less", tick(writer), Constant(np.int32(5))))
    kept = make("bitwise_and", tick(writer), Constant(np.int32(7)))
    number = make("cast", kept, dtype=ty.dtype)
    return make("add", expr, number) if writer.random.random() < 0.5 else make("subtract", number, expr)


def in_a_branch(writer: ProgramWriter, expr: Expr) -> Expr:
    """Put an expression into both branches, which computes it before either, and an effect into one of them."""
    less = make("less", tick(writer, 1), small(writer))
    if writer.random.random() < 0.5:
        return If(less, expr, before(writer, expr))
    return If(less, before(writer, expr), expr)


def in_an_arm(writer: ProgramWriter, expr: Expr) -> Expr:
    """Put an expression into the clauses of a match, and an effect into one of them."""
    library = writer.library
    held = writer.new_var(expr.checked_type, "held")
    clauses = [
        Clause(PatternConstructor(library.some, [PatternVar(held)]), before(writer, held)),
        Clause(PatternWildcard(), expr),
    ]
    return Match(Call(library.some, [expr]), clauses)


def in_a_function(writer: ProgramWriter, expr: Expr) -> Expr:
    """Pass an expression to a function literal with an effect."""
    x = writer.new_var(expr.checked_type, "x")
    return Call(Function([x], before(writer, x)), [expr])


def through_a_cell(writer: ProgramWriter, expr: Expr) -> Expr:
    """Store an expression in a reference during another effect."""
    held = writer.new_var(RefType(expr.checked_type), "held")
    return Let(held, RefCreate(expr), Let(Var("u"), tick(writer, 1), RefRead(held)))


def behind_a_let(writer: ProgramWriter, expr: Expr) -> Expr:
    """Bind an expression by a let inside the operand."""
    x = writer.new_var(expr.checked_type, "x")
    return Let(x, expr, then(writer, tick(writer), x))


_AROUND = (before, after, mix_in, mix_in, in_a_branch, in_a_function, through_a_cell, behind_a_let)


def disturb(writer: ProgramWriter, expr: Expr) -> Expr:
    """Return an expression of the same type with an effect around it or in it."""
    rules = (*_AROUND, in_an_arm) if writer.options.data_types else _AROUND
    return writer.random.choice(rules)(writer, expr)
