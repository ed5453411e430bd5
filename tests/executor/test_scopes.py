"""A program whose variables are bound twice, or used outside their scope, is refused: by each executor, in the same words."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import relay
from passlab.errors import WellFormedError
from passlab.ir.expr import Expr, Function, Let, Var
from passlab.ir.module import IRModule

X, Y, Z = relay.var("x", shape=(2,)), relay.var("y", shape=(2,)), Var("z")
DOUBLE, SQUARE = Function([Y], relay.add(Y, Y)), Function([Y], relay.multiply(Y, Y))
PROGRAMS: dict[str, tuple[Expr, str]] = {
    "two functions share a parameter": (relay.add(DOUBLE(X), SQUARE(X)), "`%y` is bound twice"),
    "a function within one that has its parameter": (
        Function([Y], relay.add(DOUBLE(Y), Y))(X), "`%y` is bound twice"),
    "a let binds a parameter": (Let(X, relay.add(X, X), X), "`%x` is bound twice"),
    "a parameter outside its function": (relay.add(DOUBLE(X), Y), "`%y` is used outside its scope"),
    "a variable behind its let": (relay.add(Let(Z, relay.add(X, X), Z), Z), "`%z` is used outside its scope"),
    "a variable before its let": (relay.add(Z, Let(Z, relay.add(X, X), Z)), "`%z` is used outside its scope"),
}  # fmt: skip
COMPILERS = {
    **{
        kind: lambda mod, kind=kind: relay.create_executor(kind, mod).evaluate()(np.ones(2, "float32"))
        for kind in ("debug", "definition", "vm", "graph", "aot")
    },
    "relay.build": relay.build,
    "relay.build for aot": lambda mod: relay.build(mod, executor="aot"),
    "relay.vm.compile": relay.vm.compile,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_executor_and_compiler_refuses_it_in_the_same_words(name: str):
    body, message = PROGRAMS[name]
    for run in COMPILERS.values():
        with pytest.raises(WellFormedError, match=message):
            run(IRModule.from_expr(Function([X], body)))
