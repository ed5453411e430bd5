"""The expressions of Relay and their constructors, at the address from which Relay's examples import them."""

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
    Var,
)
from passlab.ir.op import Op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.variables import bind
from passlab.relay.base import Span, astext, pretty_print
from passlab.relay.var_const import const, var

__all__ = [
    "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "Op", "RefCreate", "RefRead", "RefWrite",
    "RelayExpr", "Span", "Tuple", "TupleGetItem", "TupleWrapper", "Var", "astext", "bind", "const", "pretty_print",
    "var",
]  # fmt: skip
