"""The statements of generated programs: branches, functions, tuples, references, data, loops, calls, gradients.

The file begins with statements of generated programs: matches with nested patterns, functions without parameters,
generic functions.
"""

from __future__ import annotations

import numpy as np

from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.adt import Clause, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, TupleType, TypeCall, TypeVar
from passlab.ir.walk import make_lets
from passlab.op import make
from passlab.passes.gradient.derivatives import gradient as gradient_of
from passlab.passes.gradient.first_order_gradient import FirstOrderGradient
from passlab.testing.programs.effects import cell, counter, tick
from passlab.testing.programs.library import INT, VECTOR
from passlab.testing.programs.operators import ANY_RULE, SMOOTH_RULES, type_of
from passlab.testing.programs.registry import draw, operator_names
from passlab.testing.programs.writer import ProgramWriter, Statement
from passlab.transform.context import PassContext


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


# The dtypes of drawn operators; those that are common in networks stand several times.
SMOOTH_DTYPES = ("float32", "float32", "float64")
DTYPES = (
    *("float32", "float32", "float32", "int32", "int32", "float16", "uint8", "bool", "float64", "int8", "int64"),
    *("int16", "uint16", "uint32", "uint64", "bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e5m2"),
)


def operator(writer: ProgramWriter, size: int) -> None:
    """Add a tensor: by a rule for patterns that passes match, or by any registered operator."""
    chosen = writer.options.operators
    if chosen is None and writer.random.random() < 0.7:
        expr = writer.random.choice(SMOOTH_RULES if writer.options.smooth else ANY_RULE)(writer)
        if expr is not None:
            writer.add(expr)
        return
    dtypes = SMOOTH_DTYPES if writer.options.smooth else DTYPES
    template = draw(writer.random, operator_names(writer.options.smooth) if chosen is None else chosen, dtypes)
    if template is not None:
        writer.add(template.fill(writer.like))


def branch(writer: ProgramWriter, size: int) -> None:
    """An `if` with a block in each branch."""
    one = writer.block(size, result_type=writer.static_type())
    writer.add(If(writer.condition(), one, writer.block(size, result_type=one.checked_type)), bound=0.7)


def function(writer: ProgramWriter, size: int) -> None:
    """A function bound by a let, called twice; it may capture values in scope."""
    argument = writer.static_tensor()
    x = writer.new_var(type_of(argument))
    f = writer.let(Function([x], writer.block(size, [x])))
    first = writer.add(Call(f, [argument]), bound=1)
    if first.checked_type is type_of(argument):
        writer.add(Call(f, [writer.operand(first)]), bound=1)


def literal(writer: ProgramWriter, size: int) -> None:
    """A call of a function literal."""
    argument = writer.static_tensor()
    x = writer.new_var(type_of(argument))
    writer.add(Call(Function([x], writer.block(size, [x])), [argument]), bound=0.8)


def higher_order(writer: ProgramWriter, size: int) -> None:
    """A function that calls its argument twice."""
    argument = writer.static_tensor()
    ty = type_of(argument)
    x, y, g = writer.new_var(ty), writer.new_var(ty), writer.new_var(FuncType([ty], ty), "g")
    twice = writer.let(Function([g, y], Call(g, [Call(g, [y])]), ty))
    writer.add(Call(twice, [Function([x], writer.block(size, [x], ty), ty), argument]), bound=0.8)


def returned_function(writer: ProgramWriter, size: int) -> None:
    """A function that returns a tuple of two functions."""
    argument = writer.static_tensor()
    ty = type_of(argument)
    x, y = writer.new_var(ty), writer.new_var(ty)
    outer = writer.let(Function([x], Function([y], writer.block(size, [x, y], ty), ty)))
    pair = writer.let(Tuple([Call(outer, [argument]), Call(outer, [writer.value(ty)])]))
    writer.add(Call(TupleGetItem(pair, writer.random.randrange(2)), [writer.operand(argument)]), bound=0.8)


def tuples(writer: ProgramWriter, size: int) -> None:
    """A tuple in a tuple, and projections of both."""
    pair = writer.add(Tuple([writer.static_tensor(), Tuple([writer.static_tensor(), writer.number()])]))
    writer.add(TupleGetItem(TupleGetItem(pair, 1), writer.random.randrange(2)))
    writer.add(TupleGetItem(pair, 0))


def option(writer: ProgramWriter, size: int) -> None:
    """A value of a data type, and a match on it."""
    library, tensor = writer.library, writer.static_tensor()
    ty = type_of(tensor)
    some, none = Call(library.some, [tensor]), Call(library.none, [], type_args=[ty])
    maybe: Expr = If(writer.condition(), some, none) if writer.random.random() < 0.5 else some
    x, whole = writer.new_var(ty), writer.new_var(TypeCall(library.option_type, [ty]), "whole")
    last: Pattern = writer.random.choice((PatternConstructor(library.none), PatternWildcard(), PatternVar(whole)))
    clauses = [
        Clause(PatternConstructor(library.some, [PatternVar(x)]), writer.block(size, [x], ty)),
        Clause(last, writer.block(size, result_type=ty)),
    ]
    writer.add(Match(writer.add(maybe, bound=1) if writer.random.random() < 0.5 else maybe, clauses), bound=0.8)


def items(writer: ProgramWriter, size: int) -> None:
    """A list, and its sum by a recursive global function."""
    library = writer.library
    values: Expr = Call(library.nil, [], type_args=[VECTOR])
    for _ in range(writer.random.randrange(4)):
        values = Call(library.cons, [writer.like(VECTOR), values])
    writer.add(Call(library.function("sum"), [values]), bound=0.8)


def loop(writer: ProgramWriter, size: int) -> None:
    """A local function that calls itself a few times."""
    start = writer.static_tensor()
    ty = type_of(start)
    n, x, f = writer.new_var(INT, "n"), writer.new_var(ty), writer.new_var(FuncType([INT, ty], ty), "loop")
    step = writer.block(size, [x], ty)
    again = Call(f, [make("subtract", n, Constant(np.int32(1))), step])
    body = If(make("less", n, Constant(np.int32(1))), x, again)
    writer.lets.append((f, writer.infer_type(Function([n, x], body, ty))))
    times = make("minimum", writer.number(), Constant(np.int32(3)))
    writer.add(Call(f, [times, start]), bound=0.8)


def global_call(writer: ProgramWriter, size: int) -> None:
    """A call of a global function: polymorphic, inlined, recursive, or passed as a value."""
    pick, function_of = writer.random.randrange(4), writer.library.function
    if pick == 0:
        writer.add(Call(function_of("id"), [writer.static_tensor()]))
    elif pick == 1:
        writer.add(Call(function_of("square"), [writer.like(VECTOR)]))
    elif pick == 2:
        times = Constant(np.int32(writer.random.randrange(4)))
        writer.add(Call(function_of("power"), [writer.like(VECTOR), times]))
    else:
        writer.add(Call(Call(function_of("id"), [function_of("square")]), [writer.like(VECTOR)]), bound=1)


def reference(writer: ProgramWriter, size: int) -> None:
    """A tensor in a reference, changed in place or by a closure, and read before and after."""
    start = writer.static_tensor()
    ref = writer.let(RefCreate(start))
    old = writer.let(RefRead(ref))
    ty = type_of(start)
    if writer.random.random() < 0.5:
        x = writer.new_var(ty)
        put = Function([x], make_lets([(Var("u"), RefWrite(ref, x))], RefRead(ref)))
        writer.add(Call(writer.let(put), [writer.block(size, result_type=ty)]), bound=0.8)
    else:
        writer.let(RefWrite(ref, writer.block(size, result_type=ty)))
    pair = writer.add(Tuple([old, writer.let(RefRead(ref))]))
    writer.add(TupleGetItem(pair, writer.random.randrange(2)))


def state(writer: ProgramWriter, size: int) -> None:
    """A reference to a number, or a function that counts, and a first use of it."""
    if writer.random.random() < 0.5:
        counter(writer)
    else:
        cell(writer)
    writer.add(tick(writer))


def gradient(writer: ProgramWriter, size: int) -> None:
    """A call of the gradient of a function of floats: its value and the derivative."""
    x = writer.new_var(VECTOR)
    function = Function([x], _scalar_of(writer, x))
    try:
        if writer.options.effects:  # the derivative of higher order keeps its sums in references
            derivative = gradient_of(writer.infer_type(function))
        else:
            with PassContext():  # the instruments of the user must not see this pass
                derivative = FirstOrderGradient()(infer_module(IRModule.from_expr(function)))["main"]
    except PasslabError:
        return  # some operators have no gradient
    result = writer.add(Call(derivative, [writer.like(VECTOR)]), bound=1)
    if isinstance(result.checked_type, TupleType):
        writer.add(TupleGetItem(TupleGetItem(result, 1), 0))
        writer.add(TupleGetItem(result, 0))


def _scalar_of(writer: ProgramWriter, x: Var) -> Expr:
    """Return a float scalar made of one variable, without effects."""
    saved = writer.scope
    writer.scope = [x]
    writer.pure += 1
    try:
        terms = [rule(writer) for rule in (writer.random.choice(SMOOTH_RULES[:4]), SMOOTH_RULES[0])]
        body = make("sum", make("multiply", x, x))
        for term in terms:
            body = body if term is None else make("add", body, make("sum", term))
        return body
    finally:
        writer.pure -= 1
        writer.scope = saved


def compound(writer: ProgramWriter, size: int) -> None:
    """A construct that contains blocks of half the size."""
    options = writer.options
    rules: list[Statement] = [branch, function, literal, higher_order, returned_function, tuples, loop, global_call]
    rules += [without_parameters, generic_function]
    if options.data_types:
        rules += [option, items, nested_patterns, tuple_patterns, incomplete_match, constructor_as_value]
    if options.effects and not writer.pure:
        rules += [reference, state, state]
    if options.gradients:
        rules.append(gradient)
    writer.random.choice(rules)(writer, size // 2)


def statement(writer: ProgramWriter, size: int) -> None:
    """A statement: mostly an operator, and always one in a block of one statement."""
    (operator if size < 2 or writer.random.random() < 0.6 else compound)(writer, size)


def main_function(writer: ProgramWriter, params: list[Var], size: int) -> Function:
    """Return `main`: a block of statements, whose result includes the final state."""
    for param in params:
        writer.scope.append(param)
        if isinstance(param.checked_type, TupleType):
            inner = TupleGetItem(TupleGetItem(param, 1), 1)
            writer.scope += [writer.infer_type(TupleGetItem(param, 0)), writer.infer_type(inner)]
    start = [(cell(writer), None)] if writer.options.effects else []
    opening, writer.lets = writer.lets, []
    body = writer.block(size)
    if start:
        final = RefRead(writer.cells[0])
        result = writer.new_var(body.checked_type, "result")
        body = make_lets([*opening, (result, body)], Tuple([result, final]))
    return Function(params, writer.infer_type(body))
