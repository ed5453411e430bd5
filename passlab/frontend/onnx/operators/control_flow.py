"""Conditions and loops."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.frontend.onnx.repetition import Loop, Round, join, weaken
from passlab.ir.expr import Expr, If
from passlab.ir.types import TensorType


@onnx_operator("If", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def if_(n: OnnxNode, condition: Expr) -> list[Expr]:
    """`if`; the branch that is taken, where that is known."""
    value = n.value(condition)
    branches = ("then_branch", "else_branch")
    if value is not None:
        return n.subgraph(n.graph(branches[0] if value.any() else branches[1]), [])
    condition = n("reshape", condition, newshape=[]) if n.rank(condition) else condition
    yes, no = (n.subgraph(n.graph(branch), []) for branch in branches)
    if len(yes) != len(no):
        n.refuse("has branches with different numbers of results", str(len(yes)), str(len(no)))
    types = [_common(n, a, b) for a, b in zip(yes, no, strict=True)]
    yes, no = ([weaken(n, v, ty) for v, ty in zip(values, types, strict=True)] for values in (yes, no))
    if len(yes) == 1:
        return [n.builder.finish(If(condition, yes[0], no[0]))]
    result = n.builder.finish(If(condition, n.builder.tuple(yes), n.builder.tuple(no)))
    return n.fields(result, len(yes))


def _common(n: OnnxNode, a: Expr, b: Expr) -> TensorType:
    left, right = a.checked_type, b.checked_type
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        n.refuse("chooses between values that are no tensors")
    return join(n, left, right)


@onnx_operator("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def loop(n: OnnxNode, limit: Expr | None = None, condition: Expr | None = None, *states: Expr) -> list[Expr]:
    """A function that calls itself; its rounds one by one, where they are known and few."""
    graph = n.graph("body")
    count = len(states)

    def body(number: Expr, again: Expr, values: list[Expr], capture: Capture) -> Round:
        result = n.subgraph(graph, [number, again, *values], capture)
        return Round(_scalar(n, result[0]), result[1 : 1 + count], result[1 + count :])

    first = None if condition is None else _scalar(n, condition)
    most = None if limit is None else n.cast(_scalar(n, limit), "int64")
    return Loop(n, body, most, first, list(states)).results()


def _scalar(n: OnnxNode, x: Expr) -> Expr:
    return n("reshape", x, newshape=[]) if n.rank(x) else x


@onnx_operator("Scan", 9, 11, 16, 19, 21, 23, 24, 25)
def scan(n: OnnxNode, *values: Expr) -> list[Expr]:
    """A loop over the slices of tensors; its rounds one by one, where they are known and few."""
    graph, scanned = n.graph("body"), n.integer("num_scan_inputs")
    if not 1 <= scanned <= len(values):
        n.refuse("scans an impossible number of inputs", f"1 to {len(values)}", str(scanned))
    states, inputs = list(values[: len(values) - scanned]), list(values[len(values) - scanned :])
    axes = [n.axis(a, n.rank(x)) for a, x in zip(n.integers("scan_input_axes", [0] * scanned), inputs, strict=True)]
    back = n.integers("scan_input_directions", [0] * scanned)
    (length,) = n.static_shape(inputs[0], [axes[0]])

    def body(number: Expr, again: Expr, carried: list[Expr], capture: Capture) -> Round:
        last = n.constant(length - 1, "int64")
        slices = [
            n("take", capture(x), n("subtract", last, number) if backwards else number, axis=axis)
            for x, axis, backwards in zip(inputs, axes, back, strict=True)
        ]
        result = n.subgraph(graph, [*carried, *slices], capture)
        return Round(None, result[: len(states)], result[len(states) :])

    output = Loop(n, body, n.constant(length, "int64"), None, states).results()
    return [*output[: len(states)], *_position(n, output[len(states) :])]


def _position(n: OnnxNode, outputs: list[Expr]) -> list[Expr]:
    """Return collected values with the axis of iterations moved to its position, and in the requested order."""
    axes = n.integers("scan_output_axes", [0] * len(outputs))
    back = n.integers("scan_output_directions", [0] * len(outputs))
    result = []
    for output, named, backwards in zip(outputs, axes, back, strict=True):
        output = n("reverse", output, axis=0) if backwards else output
        axis = n.axis(named, n.rank(output))
        order = list(range(1, n.rank(output)))
        order.insert(axis, 0)
        result.append(n("transpose", output, axes=order) if axis else output)
    return result
