"""Elementwise operators between two reshapes, computed in the shape before the first one.

    Reshape(Tanh(Reshape(x, [2, 7, 128])), [-1, 128])       is        Reshape(Tanh(x), [-1, 128])

The second reshape then often has nothing to do: between two linear layers on rows, there is an activation only.
"""

from __future__ import annotations

from typing import Any

from passlab.frontend.onnx.export.combining import NodeGraph
from passlab.frontend.onnx.export.protos import attribute_value, rename_inputs

ORDER_KEPT = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}  # nodes that keep the order of the elements
# Operators whose result has at each place what they make of their operands at that place.
NAMES = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike
    Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN
    LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or Pow Reciprocal Relu Round Selu Shrink Sigmoid
    Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor
"""
ELEMENTWISE = set(NAMES.split())


def compute_before_reshape(graph: NodeGraph, root: Any) -> bool:
    """Drop a reshape whose result is read by elementwise operators only, and theirs by reshapes to known sizes."""
    sizes = graph.shapes.get(root.input[0]) if root.op_type in ORDER_KEPT and not root.domain else None
    if sizes is None or root.input[0] in graph.weights or graph.opset < 7:
        return False
    inside = _inside(graph, root, len(sizes))
    if not inside:
        return False
    same = {root.output[0]: root.input[0]}
    for node in inside:
        for at, name in enumerate(node.output):
            same[name] = node.output[at] = graph.new_name(f"{name}_before")  # the old name may have a stated shape
            graph.shapes[same[name]] = sizes
    for node in graph.nodes:
        rename_inputs(node, same)
    graph.replace([root], root)
    return True


def _inside(graph: NodeGraph, root: Any, rank: int) -> list[Any]:
    """Return the elementwise nodes between a node and reshapes that read the last of them; none where others do."""
    made, found, todo = {root.output[0]}, dict[int, Any](), [root]
    while todo:
        node = todo.pop()
        for name in node.output:
            readers = graph.readers[name]
            if name in graph.outputs or not readers:
                return []
            for reader in readers:
                if id(reader) in found:
                    continue
                if reader.op_type in ELEMENTWISE and not reader.domain:
                    found[id(reader)] = reader
                    todo.append(reader)
                    made.update(reader.output)
                elif not _reshapes_all(graph, reader, made):
                    return []
    fits = all(
        name in made or not name or _is_number(graph, name, rank) for node in found.values() for name in node.input
    )
    return list(found.values()) if fits else []


def _reshapes_all(graph: NodeGraph, node: Any, made: set[str]) -> bool:
    """Whether a node is a Reshape of one of these tensors to sizes none of which is copied from it."""
    if node.op_type != "Reshape" or node.domain or len(node.input) != 2 or node.input[1] in made:
        return False
    codes = graph.constant(node.input[1])
    return codes is not None and (0 not in codes or bool(attribute_value(node, "allowzero", 0)))


def _is_number(graph: NodeGraph, name: str, rank: int) -> bool:
    """Whether a tensor is a constant of one element that adds no axis to others of a rank."""
    value = graph.constant(name)
    return value is not None and value.size == 1 and value.ndim <= rank
