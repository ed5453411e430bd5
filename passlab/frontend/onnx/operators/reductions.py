"""Operators that reduce axes."""

from __future__ import annotations

from collections.abc import Callable

from passlab.frontend.onnx.entries import add_entry
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr

Reduction = Callable[[OnnxNode, Expr, list[int], bool], Expr]  # (node, tensor, axes, keepdims)


def _direct(operator: str) -> Reduction:
    def reduce(n: OnnxNode, x: Expr, axes: list[int], keep: bool) -> Expr:
        return n(operator, x, axis=axes, keepdims=keep) if axes else x

    return reduce


def _extreme(operator: str, of_booleans: str) -> Reduction:
    def reduce(n: OnnxNode, x: Expr, axes: list[int], keep: bool) -> Expr:
        name = of_booleans if n.dtype(x) == "bool" else operator
        return n(name, x, axis=axes, keepdims=keep) if axes else x

    return reduce


def _of(function: Callable[[OnnxNode, Expr], Expr], reduction: Reduction) -> Reduction:
    return lambda n, x, axes, keep: reduction(n, function(n, x), axes, keep)


def _followed_by(reduction: Reduction, function: str) -> Reduction:
    return lambda n, x, axes, keep: n(function, reduction(n, x, axes, keep))


def log_sum_exp(n: OnnxNode, x: Expr, axes: list[int], keep: bool) -> Expr:
    """Return log(sum(exp(x))) with the maximum subtracted first, unless that is infinite."""
    if not axes:
        return x
    top = n("max", x, axis=axes, keepdims=True)
    top = n("where", n("isfinite", top), top, n.constant(0, x))  # infinity minus infinity would be NaN
    result = n("add", n("log", n("sum", n("exp", n("subtract", x, top)), axis=axes, keepdims=True)), top)
    return result if keep else n("squeeze", result, axis=axes)


def _square(n: OnnxNode, x: Expr) -> Expr:
    return n("multiply", x, x)


def _absolute(n: OnnxNode, x: Expr) -> Expr:
    return n("abs", x)


SUM = _direct("sum")
# By ONNX's name: the reduction, its versions, the first version with the axes as an input, and the manual's text.
REDUCTIONS: dict[str, tuple[Reduction, tuple[int, ...], int, str]] = {
    "ReduceL1": (_of(_absolute, SUM), (1, 11, 13, 18), 18, "`sum` of absolute values."),
    "ReduceL2": (_followed_by(_of(_square, SUM), "sqrt"), (1, 11, 13, 18), 18, "`sqrt` of the `sum` of squares."),
    "ReduceLogSum": (_followed_by(SUM, "log"), (1, 11, 13, 18, 28), 18, "`log` of the `sum`."),
    "ReduceLogSumExp": (log_sum_exp, (1, 11, 13, 18, 28), 18, "`log` of the `sum` of `exp`, without overflow."),
    "ReduceMax": (_extreme("max", "any"), (1, 11, 12, 13, 18, 20), 18, "`max`, or `any` of booleans."),
    "ReduceMean": (_direct("mean"), (1, 11, 13, 18), 18, "`mean`."),
    "ReduceMin": (_extreme("min", "all"), (1, 11, 12, 13, 18, 20), 18, "`min`, or `all` of booleans."),
    "ReduceProd": (_direct("prod"), (1, 11, 13, 18), 18, "`prod`."),
    "ReduceSum": (SUM, (1, 11, 13), 13, "`sum`."),
    "ReduceSumSquare": (_of(_square, SUM), (1, 11, 13, 18), 18, "`sum` of squares."),
}


def _entry(reduction: Reduction, axes_are_input: int) -> Callable[..., Expr]:
    def translate(n: OnnxNode, x: Expr, axes: Expr | None = None) -> Expr:
        if n.version < axes_are_input:
            named = n.integers("axes", [])
        else:
            named = [] if axes is None else n.constant_ints(axes, "the axes")
        rank = n.rank(x)
        every = list(range(rank)) if not n.flag("noop_with_empty_axes") else []  # by default, no axes mean all
        return reduction(n, x, [n.axis(axis, rank) for axis in named] or every, n.flag("keepdims", True))

    return translate


for _name, (_reduction, _versions, _input, _doc) in REDUCTIONS.items():
    add_entry(_name, _versions, _entry(_reduction, _input), _doc)
