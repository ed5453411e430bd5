"""The expressions of Relay and what makes them, under the name its examples import them from."""

from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from passlab.ir.variables import bind
from passlab.relay.leaves import const, var

__all__ = [
    "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "RefCreate", "RefRead", "RefWrite", "RelayExpr",
    "Tuple", "TupleGetItem", "TupleWrapper", "Var", "bind", "const", "var",
]  # fmt: skip
