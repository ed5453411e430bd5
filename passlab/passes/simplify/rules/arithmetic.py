"""Rules about sums, products and quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import op_name
from passlab.op import make
from passlab.op.dtypes import array_dtype, is_float_name
from passlab.rewriting.rules import Rule, RuleMatch, compute
from passlab.transform.numeric_contract import FINITE, Rounds

_BROADCASTING = "add|subtract|multiply|divide|maximum|minimum"
_FULL = frozenset({"full", "ones", "zeros", "full_like", "ones_like", "zeros_like"})
_UNIFORM = _FULL | {Constant}
_RESULT: dict[str, Any] = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}


def uniform_value(expr: Expr) -> Any:
    """Return the value that all elements of a tensor share, if that is known, else None.

    Known are scalar constants, and `zeros`, `ones`, `full` of a scalar constant and their `_like` forms.
    """
    if type(expr) is Constant:
        return expr.data[()] if expr.data.ndim == 0 else None
    name = op_name(expr)
    if name in _RESULT:
        return _RESULT[name]
    if name not in _FULL:
        return None
    assert isinstance(expr, Call)
    value = expr.args[0 if name == "full" else 1]
    return value.data[()] if type(value) is Constant and value.data.ndim == 0 else None


def _neutral(value: int) -> Callable[[RuleMatch], bool]:
    """Return a condition: all elements of operand `n` are that number, and the result has the type of the other
    operand.
    """

    def holds(match: RuleMatch) -> bool:
        return uniform_value(match["n"]) == value and match.type("x") is match.type("root") and match.pure("n")

    return holds


def _scalar(value: Any, dtype: str) -> Constant:
    return Constant(np.asarray(value, dtype=array_dtype(dtype)))


def _uniform_operand(match: RuleMatch) -> Expr | None:
    """Replace an operand with equal elements by a scalar, if the other operand determines the result type."""
    root = match["root"]
    for i, other in ((1, "x"), (0, "y")):
        operand, ty = root.args[i], match.tensor("root")
        name = op_name(operand)
        if ty is None or name not in _FULL or match.type(other) is not match.type("root"):
            continue
        value = uniform_value(operand)
        if value is not None and match.purity.of(operand):
            scalar = _scalar(value, ty.dtype)
            return make(root.op.name, *((root.args[0], scalar) if i else (scalar, root.args[1])))
    return None


def _variable(match: RuleMatch) -> bool:
    return type(match["x"]) is not Constant


def _double(match: RuleMatch) -> Expr | None:
    ty = match.tensor("x")
    return (
        None
        if ty is None or ty.dtype == "bool" or not _variable(match)
        else make("multiply", match["x"], _scalar(2, ty.dtype))
    )


def _join(op: str, match: RuleMatch) -> Expr | None:
    """Return the sum or product of the constants; None if it leaves the range in which rounding is small."""
    c1, c2 = match["c1"], match["c2"]
    result = compute(make(op, c1, c2))
    if type(result) is not Constant or not is_float_name(result.tensor_type.dtype):
        return result
    data = np.abs(result.data.astype("float64"))
    info: Any = ml_dtypes.finfo(result.data.dtype)  # type: ignore[no-untyped-call]
    normal = (data >= float(info.tiny)) & np.isfinite(data)
    exact = (c1.data == 0) | (c2.data == 0) if op == "multiply" else data == 0
    return result if np.all(normal | exact) else None


_CANCELS = 2048.0  # a sum smaller than its parts by this factor has lost digits that the rule must keep


def _cancel(c1: Any, c2: Any) -> bool:
    """Return True if two float constants nearly cancel in some element: the first sum rounds more than the second."""
    if not is_float_name(c1.tensor_type.dtype):
        return False
    one, other = c1.data.astype("float64"), c2.data.astype("float64")
    with np.errstate(all="ignore"):  # infinities that cancel
        return bool(np.any(np.maximum(np.abs(one), np.abs(other)) > _CANCELS * np.abs(one + other)))


def _regroup(match: RuleMatch) -> Expr | None:
    """Join the constants of two sums or two products, if the result keeps its type.

    Float constants that cancel are not joined: in `(x + 1e8) - 1e8` the first sum rounds x away.
    """
    if not _variable(match) or (match["root"].op.name == "add" and _cancel(match["c1"], match["c2"])):
        return None
    joined = _join(match["root"].op.name, match)
    if joined is None:
        return None
    result = make(match["root"].op.name, match["x"], joined)
    return result if match.types.of(result) is match.type("root") else None


def _distribute(match: RuleMatch) -> Expr | None:
    joined = _join("multiply", match) if _variable(match) else None
    if joined is None:
        return None
    result = make("add", make("multiply", match["x"], match["c2"]), joined)
    return result if match.types.of(result) is match.type("root") else None


ARITHMETIC = (
    Rule("sum with itself", "add(x, x)", _double),
    Rule("quotient by a root", "divide(x, sqrt(y))", "multiply(x, rsqrt(y))", contract=Rounds(4)),
    Rule("adding zero", "add(x, n)", "x", _neutral(0), contract=FINITE, needs=_UNIFORM),
    Rule("subtracting zero", "subtract(x, n)", "x", _neutral(0), needs=_UNIFORM),
    Rule("multiplying by one", "multiply(x, n)", "x", _neutral(1), needs=_UNIFORM),
    Rule("dividing by one", "divide(x, n)", "x", _neutral(1), needs=_UNIFORM),
    Rule("one value throughout", f"{_BROADCASTING}(x, y)", _uniform_operand, needs=_FULL),
    Rule("sum times a constant", "multiply(add(x, c1), c2)", _distribute, contract=Rounds(4096) + FINITE),
    Rule("product of products", "multiply(multiply(x, c1), c2)", _regroup, contract=Rounds(4) + FINITE),
    Rule("sum of sums", "add(add(x, c1), c2)", _regroup, contract=Rounds(4096) + FINITE),
)
