"""`well_formed`: each variable is bound once, and used in its scope; the report says where it is not."""

from __future__ import annotations

import pytest

from passlab import relay
from passlab.analysis import well_formed
from passlab.errors import WellFormedError
from passlab.ir import (
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalTypeVar,
    If,
    IRModule,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    Tuple,
    Var,
)

x, y, z = Var("x"), Var("y"), Var("z")
one = relay.const(1)
BOX = Constructor("Box", (), GlobalTypeVar("Box"))


def box(var: Var) -> PatternConstructor:
    return PatternConstructor(BOX, (PatternVar(var),))


FN = Function((x,), x)
LET = Let(x, one, x)
SUM = relay.add(x, one)


@pytest.mark.parametrize(
    "program",
    [
        x,
        Function((x, y), relay.add(x, y)),
        Tuple((FN, FN)),
        Tuple((LET, LET)),
        Let(x, Function((y,), relay.add(x, y)), x),
        Let(x, one, relay.add(SUM, SUM)),
        Match(z, (Clause(box(x), x), Clause(box(y), y))),
    ],
    ids=range(7),
)
def test_well_formed(program: Expr) -> None:
    report = well_formed(program)
    assert report
    assert str(report) == "well formed"
    report.check()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (Tuple((Function((x,), x), Function((x,), x))), "`%x` is bound twice"),
        (Function((x, x), x), "`%x` is bound twice"),
        (Let(x, one, Let(x, one, x)), "`%x` is bound twice"),
        (Tuple((LET, x)), "`%x` is used outside its scope"),
        (Let(x, one, Tuple((Function((y,), y), y))), "`%y` is used outside its scope"),
        (If(z, Let(x, one, SUM), SUM), "`%x` is used outside its scope"),
        (Match(z, (Clause(box(x), x), Clause(box(y), x))), "`%x` is used outside its scope"),
        (Tuple((x, Function((y,), Let(x, one, one)))), "`%x` is used outside its scope"),
    ],
    ids=range(8),
)
def test_ill_formed(program: Expr, why: str) -> None:
    report = well_formed(program)
    assert not report
    assert why in str(report)
    with pytest.raises(WellFormedError, match=r"%[xy]"):
        report.check()


def test_functions_of_modules_are_closed() -> None:
    mod = IRModule().with_functions({"f": Function((x,), relay.add(x, y)), "g": Function((x,), x)})
    assert "`%y` is not bound in @f" in str(well_formed(mod))
    assert well_formed(IRModule({"f": Function((x,), x), "g": Function((x,), x)}))


def test_deep_programs(depth: int) -> None:
    body: Expr = x
    for _ in range(depth):
        body = Let(Var("v"), SUM, body)
    assert well_formed(Function((x,), body))
    assert not well_formed(Function((y,), Tuple((Let(x, one, body), x))))
