"""Well-formedness: variables bound once, used inside (language-semantics, section 5)."""

from __future__ import annotations

import pytest

import passlab
from passlab.analysis.well_formed import check_well_formed, well_formed
from passlab.errors import WellFormedError
from passlab.ir import Call, Function, If, IRModule, Let, TensorType, Tuple, Var
from passlab.op import make

SCALAR = TensorType((), "float32")
X, Y = Var("x", SCALAR), Var("y", SCALAR)
COND = Var("c", TensorType((), "bool"))
ONE = make("ones", shape=(), dtype="float32")


@pytest.mark.parametrize(
    "expr",
    [
        X,
        Let(X, ONE, X),
        Tuple([Let(X, ONE, X)] * 2),
        Function([X], make("exp", X)),
        Let(X, Function([Y], Call(X, [Y])), X),
        If(COND, Let(X, ONE, X), Let(Y, ONE, Y)),
        Let(X, ONE, If(COND, make("exp", X), make("tanh", X))),
    ],
)
def test_good(expr):
    assert well_formed(expr)


SHARED = make("exp", X)


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (Tuple([Let(X, ONE, X), X]), "`%x` is used outside its scope"),
        (Tuple([X, Let(X, ONE, X)]), "`%x` is used outside its scope"),
        (Let(X, ONE, Let(X, ONE, X)), "`%x` is bound twice"),
        (Tuple([Let(X, ONE, X), Let(X, ONE, ONE)]), "`%x` is bound twice"),
        (Function([X, X], X), "`%x` is bound twice"),
        (If(COND, Let(X, ONE, SHARED), SHARED), "`%x` is used outside its scope"),
        (Let(Y, Let(X, ONE, ONE), X), "`%x` is used outside its scope"),
    ],
)
def test_bad(expr, words):
    with pytest.raises(WellFormedError, match=words):
        check_well_formed(expr)


def test_pattern_variables_are_binders_of_their_arm():
    source = """#[version = "0.0.5"]
type L { N, C(float32, L) }
def @main(%l: L) -> float32 { match (%l) { C(%h, %t) => %h, N => 0f } }
"""
    mod = passlab.parse(source)
    assert well_formed(mod)
    match = mod["main"].body
    head = match.clauses[0].rhs
    assert not well_formed(Tuple([match, head]))


def test_functions_of_a_module_are_closed():
    mod = IRModule({"main": Function([X], X)}).with_functions({"main": Function([], X)})
    with pytest.raises(WellFormedError, match="`%x` is not bound in @main"):
        check_well_formed(mod)


def test_deep_lets_and_branches(depth: int):
    body = X
    for _ in range(depth):
        body = Let(Var("v", SCALAR), ONE, body)
    for _ in range(10_000):
        body = If(COND, body, X)
    assert well_formed(Function([X, COND], body))
