"""An operator as a value: bound to a variable, or given to a function, it computes what its call computes."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.errors import PasslabError, VerifyError
from passlab.infer import infer_module
from passlab.ir.op import Op
from passlab.relay import create_executor

SHAPE = "Tensor[(2, 3), float32]"
KINDS = ("debug", "vm", "aot", "graph")


def text(name, count, form):
    params = [f"%x{i}" for i in range(count)]
    head = f"def @main({', '.join(f'{p}: {SHAPE}' for p in params)})"
    args = ", ".join(params)
    if form == "call":
        return f"{head} {{ {name}({args}) }}"
    if form == "let":
        return f"{head} {{ let %f = {name}; let %g = %f; %g({args}) }}"
    types = ", ".join([SHAPE] * count)
    own = ", ".join(f"%a{i}: {SHAPE}" for i in range(count))
    given = ", ".join(f"%a{i}" for i in range(count))
    return f"def @apply(%f: fn ({types}) -> {SHAPE}, {own}) -> {SHAPE} {{ %f({given}) }} {head} {{ @apply({name}, {args}) }}"


def typed(name, count, form):
    try:
        return infer_module(passlab.parse(text(name, count, form)))
    except PasslabError:
        return None


OPERATORS = [
    (name, count)
    for name in Op.list_op_names()
    for count in (1, 2)
    if (mod := typed(name, count, "call")) and str(mod["main"].ret_type) == SHAPE and not name.startswith("random")
]


def value(kind, mod, count):
    arguments = [np.float32([[0.25, -0.5, 2.0], [1.5, 3.0, 0.75]]) + np.float32(i) for i in range(count)]
    return create_executor(kind, mod).evaluate()(*arguments)


def test_there_are_such_operators():
    assert len(OPERATORS) > 60


@pytest.mark.rotating
@pytest.mark.parametrize("form", ["let", "argument"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_as_a_value_computes_what_its_call_computes(kind, form, subtests):
    for name, count in OPERATORS:
        try:
            right = value(kind, typed(name, count, "call"), count)
        except PasslabError:
            continue  # only a compiler uses it
        with subtests.test(operator=name):
            mod = typed(name, count, form)
            assert mod is not None
            if kind == "graph" and form == "argument":
                continue  # a graph has no functions as values where they are not inlined
            np.testing.assert_array_equal(value(kind, mod, count), right)


def test_one_operator_for_arguments_of_several_types():
    mod = passlab.parse("def @main(%a: int32, %b: Tensor[(3), int32]) { let %f = add; (%f(%a, %b), %f(%a, %a)) }")
    for kind in ("debug", "vm", "aot"):
        row, one = create_executor(kind, mod).evaluate()(np.int32(2), np.int32([1, 2, 3]))
        assert (list(row), int(one)) == ([3, 4, 5], 4)


@pytest.mark.parametrize("kind", ["vm", "aot"])
def test_where_no_type_says_which_function_is_wanted_the_operator_is_named(kind):
    mod = passlab.parse("def @main(%a: int32) { let %f = (add, multiply); %f.0(%a, %a) }")
    with pytest.raises(VerifyError, match=r"the operator `add` .*as a value here"):
        create_executor(kind, mod).evaluate()(np.int32(1))
