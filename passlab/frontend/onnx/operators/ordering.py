"""Operators that compare elements along an axis: extremes, sorting, distinct elements; and running sums."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr


def _arg_extreme(n: OnnxNode, operator: str, x: Expr) -> Expr:
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    last = n.flag("select_last_index")
    result = n(operator, x, axis=axis, keepdims=n.flag("keepdims", True), select_last_index=last)
    return n.cast(result, "int64")


@onnx_operator("ArgMax", 1, 11, 12, 13)
def arg_max(n: OnnxNode, x: Expr) -> Expr:
    """`argmax`."""
    return _arg_extreme(n, "argmax", x)


@onnx_operator("ArgMin", 1, 11, 12, 13)
def arg_min(n: OnnxNode, x: Expr) -> Expr:
    """`argmin`."""
    return _arg_extreme(n, "argmin", x)


@onnx_operator("TopK", 1, 10, 11, 24)
def top_k(n: OnnxNode, x: Expr, k: Expr | None = None) -> list[Expr]:
    """`topk`, or `dyn.topk`."""
    count: int | Expr
    if n.version < 10 or k is None:
        count = n.integer("k")
    else:
        count = k if n.value(k) is None else n.constant_ints(k, "k")[0]
    if isinstance(count, Expr):
        count = n("reshape", count, newshape=[])
    axis, ascending = n.axis(n.integer("axis", -1), n.rank(x)), not n.flag("largest", True)
    result = n("topk", x, k=count, axis=axis, ret_type="both", is_ascend=ascending, dtype="int64")
    return n.fields(result, 2)


@onnx_operator("CumSum", 11, 14)
def cumulative_sum(n: OnnxNode, x: Expr, axis: Expr) -> Expr:
    """`cumsum`, of the reversed tensor if `reverse` is set."""
    return _cumulative(n, "cumsum", x, axis)


@onnx_operator("CumProd", 26)
def cumulative_product(n: OnnxNode, x: Expr, axis: Expr) -> Expr:
    """`cumprod`, of the reversed tensor if `reverse` is set."""
    return _cumulative(n, "cumprod", x, axis)


def _cumulative(n: OnnxNode, operator: str, x: Expr, axis: Expr) -> Expr:
    position = n.axis(n.constant_ints(axis, "the axis")[0], n.rank(x))
    back = n.flag("reverse")
    result = n("reverse", x, axis=position) if back else x
    result = n(operator, result, axis=position, dtype=n.dtype(x), exclusive=n.flag("exclusive"))
    return n("reverse", result, axis=position) if back else result


@onnx_operator("Unique", 11, 28)
def unique(n: OnnxNode, x: Expr) -> list[Expr | None]:
    """`unique` of a vector or of all elements, cropped to the number of distinct ones."""
    if n.has("axis") and n.rank(x) != 1:
        n.refuse("looks for different slices along an axis", hint="Relay's `unique` compares single elements")
    flat = x if n.rank(x) == 1 else n("reshape", x, newshape=[-1])
    sorted_ = n.flag("sorted", True)
    values, firsts, inverse, count, counts = n.fields(n("unique", flat, is_sorted=sorted_, return_counts=True), 5)
    results = []
    # Relay's results have the length of the input; all but `inverse` are valid up to `count`.
    for part, cut in ((values, True), (firsts, True), (inverse, False), (counts, True)):
        results.append(
            n(
                "strided_slice",
                part,
                begin=n.constant([0], "int64"),
                end=n.cast(count, "int64"),
                strides=n.constant([1], "int64"),
            )
            if cut
            else part
        )
    return [results[0], *(n.cast(part, "int64") for part in results[1:])]
