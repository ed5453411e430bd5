"""Long and deep programs: inference is linear and never recurses."""

from __future__ import annotations

import pytest

from passlab.infer import infer_expr, infer_module
from passlab.infer.type_env import type_dependency_of
from passlab.ir import (
    Call,
    Clause,
    Constant,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    PatternVar,
    RefCreate,
    RefRead,
    TensorType,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.walk import make_lets, post_order
from passlab.op import make
from passlab.text.parser import parse

QUICK, DEEP = 10_000, 100_000
T = TensorType((4, 4))
BOOL = TensorType((), "bool")
X, C = Var("x", T), Var("c", BOOL)


def repeat(count, step, start=X):
    node = start
    for _ in range(count):
        node = step(node)
    return node


def let_chain(count):
    names = [Var(f"v{i}") for i in range(count)]
    values = [make("add", names[i - 1] if i else X, X) for i in range(count)]
    return make_lets(zip(names, values, strict=True), names[-1])


def let_values(count):
    return repeat(count, lambda e: Let(v := Var("v"), e, v))


def match_arms(count):
    return repeat(count, lambda e: Match(X, [Clause(PatternVar(Var("y")), e)]))


def function_calls(count):
    f = Var("f", FuncType([T], T))
    return repeat(count, lambda e: Call(f, [e]))


def a_parameter_that_is_known_last(count):
    p = Var("p")
    return Call(Function([p], repeat(count, lambda e: make("add", e, p), p)), [X])


def functions_inside_functions(count):
    return repeat(count, lambda e: Call(Function([], e), []))


PROGRAMS = {
    "operators": (lambda count: repeat(count, lambda e: make("add", e, X)), T),
    "lets": (let_chain, T),
    "lets in values": (let_values, T),
    "true branches": (lambda count: repeat(count, lambda e: If(C, e, X)), T),
    "false branches": (lambda count: repeat(count, lambda e: If(C, X, e)), T),
    "conditions": (lambda count: repeat(count, lambda e: If(e, C, C), C), BOOL),
    "matches": (match_arms, T),
    "calls": (function_calls, T),
    "closures": (functions_inside_functions, T),
    "references": (lambda count: repeat(count, lambda e: RefRead(RefCreate(e))), T),
    "tuples taken apart": (lambda count: repeat(count, lambda e: TupleGetItem(Tuple([e, X]), 0)), T),
    "an unknown": (a_parameter_that_is_known_last, T),
}
DEEP_TYPES = {
    "tuples": lambda count: repeat(count, lambda e: Tuple([e])),
    "references": lambda count: repeat(count, RefCreate),
    "functions": lambda count: repeat(count, lambda e: Function([], e)),
}


SIZES = pytest.mark.parametrize("count", [QUICK, pytest.param(DEEP, marks=pytest.mark.nightly)])


@pytest.mark.rotating
@SIZES
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_deep_program(name, count):
    build, ty = PROGRAMS[name]
    typed = infer_expr(build(count))
    assert typed.checked_type is ty
    assert infer_expr(typed) is typed


@SIZES
@pytest.mark.parametrize("name", DEEP_TYPES)
def test_a_deep_type(name, count):
    assert infer_expr(DEEP_TYPES[name](count)).checked_type is not None


def test_a_graph_with_more_paths_than_atoms():
    node = X
    for _ in range(300):
        node = make("add", node, node)
    assert infer_expr(node).checked_type is T
    pair = X
    for _ in range(300):
        pair = Tuple([pair, pair])
    assert infer_expr(pair).checked_type.fields[0] is pair.fields[0].checked_type


def test_many_uses_of_one_unknown():
    p = Var("p")
    uses = Tuple([make("exp", p) for _ in range(QUICK)])
    typed = infer_expr(Call(Function([p], uses), [Constant(1.5)]))
    assert len(set(typed.checked_type.fields)) == 1


class CountingDict(dict):
    """Counts how often its keys are read one by one."""

    readings = 0

    def __iter__(self):
        self.readings += 1
        return super().__iter__()


def test_names_of_a_shared_dependency_are_read_once():
    mod = infer_module(parse("def @f(%x: int32) -> int32 { %x } def @main(%x: int32) { @f(@f(@f(@f(%x)))) }"))
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call)]
    (dependency,) = {type_dependency_of(call) for call in calls}
    dependency.signatures = names = CountingDict(dependency.signatures)
    infer_module(IRModule({**mod.functions, GlobalVar("main"): Function(mod["main"].params, Tuple(calls))}))
    assert len(calls) == 4
    assert names.readings == 1
