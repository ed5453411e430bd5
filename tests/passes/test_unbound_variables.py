"""A variable that nothing binds, as a user's pass may leave one: every executor names it, and no pass ends in another error."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from passlab import ir, relay, transform
from passlab.errors import DiagnosticError, PasslabError
from passlab.executor import create_executor
from passlab.ir import Function, If, IRModule, RefCreate, Tuple, TupleGetItem
from tests.each import each
from tests.passes.test_laws import EVERY_PASS, make_pass

X, LOOSE, FLAG = relay.var("x", shape=(2,)), relay.var("loose", shape=(2,)), relay.var("loose", shape=(), dtype="bool")
BODIES = {
    "operand": lambda: relay.add(X, LOOSE),
    "result": lambda: LOOSE,
    "condition": lambda: If(FLAG, X, X),
    "field": lambda: TupleGetItem(Tuple([X, LOOSE]), 1),
    "captured": lambda: relay.Call(Function([], relay.add(X, LOOSE)), []),
    "reference": lambda: relay.RefRead(RefCreate(LOOSE)),
}


def program(position: str) -> IRModule:
    return IRModule().with_functions({"main": Function([X], BODIES[position]())})


@each("position", BODIES)
@each("executor", ["debug", "vm", "aot", "graph"])
def test_an_executor_names_it(executor, position):
    with pytest.raises(PasslabError, match="%loose"):
        create_executor(executor, program(position)).evaluate()(np.ones(2, "float32"))


@pytest.mark.parametrize("executor", ["debug", "vm", "aot"])
def test_a_parameter_that_leaves_its_function_is_named(executor):
    """Two functions have one parameter and share a call of it, which is computed before either: where nothing binds it."""
    k = relay.var("k", shape=(2,))
    shared = relay.add(k, X)
    twice = [Function([k], shared)(X), Function([k], relay.multiply(shared, X))(X)]
    with pytest.raises(PasslabError, match="%k"):
        create_executor(executor, IRModule.from_expr(Function([X], Tuple(twice)))).evaluate()(np.ones(2, "float32"))


@each("position", BODIES)
@each("name", EVERY_PASS)
def test_a_pass_leaves_it_or_refuses_it(name, position, capsys):
    logging.disable(logging.WARNING)
    try:
        with transform.PassContext(opt_level=4):
            transform.Sequential([make_pass(name)])(program(position))
    except PasslabError as error:
        assert str(error)  # noqa: PT017 - it may be refused, it need not
    finally:
        logging.disable(logging.NOTSET)


def test_json_with_one_is_refused():
    with pytest.raises(DiagnosticError, match="@main has free variables: %loose"):
        ir.load_json(ir.save_json(program("operand")))
