"""Conditions and loops."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.frontend.onnx.repetition import Iteration, Loop, forget_dimensions, join_types
from passlab.ir.expr import Expr, If
from passlab.ir.types import TensorType


@onnx_operator("If", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def if_(n: OnnxNode, condition: Expr) -> list[Expr]:
    """`if`; of a constant condition, the branch that is taken."""
    value = n.value(condition)
    branches = ("then_branch", "else_branch")
    if value is not None:
        return n.subgraph(n.graph(branches[0] if value.any() else branches[1]), [])
    condition = n.scalar(condition)
    # Branches without parameters: they use the names around them.
    true_values, false_values = (n.subgraph(n.graph(branch), []) for branch in branches)
    if len(true_values) != len(false_values):
        n.refuse("has branches with different numbers of results", str(len(true_values)), str(len(false_values)))
    types = [_common_type(n, a, b) for a, b in zip(true_values, false_values, strict=True)]
    true_values, false_values = (
        [forget_dimensions(n, v, ty) for v, ty in zip(values, types, strict=True)]
        for values in (true_values, false_values)
    )
    if len(true_values) == 1:
        return [n.builder.finish(If(condition, true_values[0], false_values[0]))]
    result = n.builder.finish(If(condition, n.builder.tuple(true_values), n.builder.tuple(false_values)))
    return n.fields(result, len(true_values))


def _common_type(n: OnnxNode, a: Expr, b: Expr) -> TensorType:
    left, right = a.checked_type, b.checked_type
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        n.refuse("chooses between values that are no tensors")
    return join_types(n, left, right)


@onnx_operator("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def loop(n: OnnxNode, limit: Expr | None = None, condition: Expr | None = None, *states: Expr) -> list[Expr]:
    """A recursive function; a loop of few known iterations is unrolled."""
    graph = n.graph("body")
    count = len(states)

    def body(number: Expr, condition_value: Expr, values: list[Expr], capture: Capture) -> Iteration:
        result = n.subgraph(graph, [number, condition_value, *values], capture)
        return Iteration(n.scalar(result[0]), result[1 : 1 + count], result[1 + count :])

    first = None if condition is None else n.scalar(condition)
    max_iterations = None if limit is None else n.cast(n.scalar(limit), "int64")
    return Loop(n, body, max_iterations, first, list(states)).results()


@onnx_operator("Scan", 9, 11, 16, 19, 21, 23, 24, 25)
def scan(n: OnnxNode, *values: Expr) -> list[Expr]:
    """A loop over the slices of tensors; a loop of few known iterations is unrolled."""
    graph, scanned = n.graph("body"), n.integer("num_scan_inputs")
    if not 1 <= scanned <= len(values):
        n.refuse("scans an impossible number of inputs", f"1 to {len(values)}", str(scanned))
    states, inputs = list(values[: len(values) - scanned]), list(values[len(values) - scanned :])
    axes = [n.axis(a, n.rank(x)) for a, x in zip(n.integers("scan_input_axes", [0] * scanned), inputs, strict=True)]
    back = n.integers("scan_input_directions", [0] * scanned)
    (length,) = n.static_shape(inputs[0], [axes[0]])

    def body(number: Expr, condition_value: Expr, carried: list[Expr], capture: Capture) -> Iteration:
        last = n.constant(length - 1, "int64")
        slices = [
            n("take", capture(x), n("subtract", last, number) if backwards else number, axis=axis)
            for x, axis, backwards in zip(inputs, axes, back, strict=True)
        ]
        result = n.subgraph(graph, [*carried, *slices], capture)
        return Iteration(None, result[: len(states)], result[len(states) :])

    output = Loop(n, body, n.constant(length, "int64"), None, states).results()
    return [*output[: len(states)], *_place_iteration_axes(n, output[len(states) :])]


def _place_iteration_axes(n: OnnxNode, outputs: list[Expr]) -> list[Expr]:
    """Return collected values with the axis of iterations moved to its position, reversed where requested."""
    axes = n.integers("scan_output_axes", [0] * len(outputs))
    back = n.integers("scan_output_directions", [0] * len(outputs))
    result = []
    for output, named, backwards in zip(outputs, axes, back, strict=True):
        output = n("reverse", output, axis=0) if backwards else output
        axis = n.axis(named, n.rank(output))
        # `order` has the old axis for each new place; the axis of iterations was 0.
        order = list(range(1, n.rank(output)))
        order.insert(axis, 0)
        result.append(n("transpose", output, axes=order) if axis else output)
    return result
