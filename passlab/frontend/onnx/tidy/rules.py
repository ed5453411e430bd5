"""Rules on neighbouring nodes: arithmetic moved into weights, pads into convolutions, products and movements combined.

Each rule gets the graph and one node, changes the graph where the node is the last of its pattern, and says whether it
did. Values change by rounding only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.frontend.onnx.export.combining import NodeGraph
from passlab.frontend.onnx.export.protos import attribute_value
from passlab.frontend.onnx.package import onnx
from passlab.op.dtypes import Array

ORDER_KEPT = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}  # nodes that keep the order of the elements
SCALED = ("Conv", "ConvTranspose", "Gemm")


# ---------------------------------------------------------------- scales and shifts of channels
def fold_batch_norm(graph: NodeGraph, root: Any) -> bool:
    """Scale the weights of a convolution or a Gemm by the batch norm that follows it."""
    if root.op_type != "BatchNormalization" or len([name for name in root.output if name]) != 1:
        return False
    values = [graph.constant(name) for name in root.input[1:5]]
    producer = _private_producer(graph, root, root.input[0])
    if producer is None or any(v is None for v in values) or attribute_value(root, "training_mode", 0):
        return False
    scale, shift, mean, variance = (np.asarray(value, "float64") for value in values)
    factor = scale / np.sqrt(variance + attribute_value(root, "epsilon", 1e-5))
    return _scale(graph, producer, root, factor, shift - mean * factor)


def fold_scale(graph: NodeGraph, root: Any) -> bool:
    """Move the multiplication of channels by constants, or the addition of some, into the weights before it."""
    if root.op_type not in ("Add", "Sub", "Mul", "Div") or len(root.input) != 2 or graph.opset < 7:
        return False
    for at, (data, other) in enumerate((tuple(root.input), tuple(root.input)[::-1])):
        producer, value = _private_producer(graph, root, data), graph.constant(other)
        if producer is None or value is None or value.dtype.kind != "f" or (at and root.op_type == "Div"):
            continue
        vector = _per_channel(graph, producer, value)
        if vector is None:
            continue
        one, zero = np.ones_like(vector), np.zeros_like(vector)
        if root.op_type in ("Add", "Sub"):
            sign = -1.0 if root.op_type == "Sub" else 1.0
            factor, shift = (one, sign * vector) if not (at and root.op_type == "Sub") else (-one, vector)
        else:
            with np.errstate(divide="ignore"):
                factor, shift = (1 / vector if root.op_type == "Div" else vector), zero
        if np.isfinite(factor).all() and _scale(graph, producer, root, factor, shift):
            return True
    return False


def _private_producer(graph: NodeGraph, root: Any, name: str) -> Any:
    """Return the convolution or Gemm that computes a tensor for one node only."""
    producer = graph.producer(name, *SCALED)
    if producer is None or len(graph.readers[name]) != 1 or name in graph.outputs:
        return None
    weights = [graph.constant(part) for part in producer.input[1:] if part]
    if not weights or any(weight is None or weight.dtype.kind != "f" for weight in weights):
        return None
    if producer.op_type == "Gemm":
        plain = all(attribute_value(producer, key, 1.0) == 1.0 for key in ("alpha", "beta"))
        return producer if plain and weights[0] is not None and weights[0].ndim == 2 else None
    if producer.op_type == "ConvTranspose" and attribute_value(producer, "group", 1) != 1:
        return None
    return producer


def _channels(producer: Any, weight: Array) -> tuple[int, int]:
    """Return the axis of the channels of the result in the weight, and their number."""
    if producer.op_type == "Gemm":
        axis = 0 if attribute_value(producer, "transB", 0) else 1
    else:
        axis = 0 if producer.op_type == "Conv" else 1
    return axis, weight.shape[axis]


def _per_channel(graph: NodeGraph, producer: Any, value: Array) -> Array | None:
    """Return a constant that is combined with the result of a node as one number for each channel, if it is that."""
    weight = graph.constant(producer.input[1])
    assert weight is not None
    count = _channels(producer, weight)[1]
    trailing = 0 if producer.op_type == "Gemm" else weight.ndim - 2
    if value.ndim > trailing + 2 or any(size != 1 for size in value.shape[value.ndim - trailing :]):
        return None
    rest = value.shape[: value.ndim - trailing] if trailing else value.shape
    if any(size != 1 for size in rest[:-1]) or (rest and rest[-1] not in (1, count)):
        return None
    return np.broadcast_to(np.asarray(value, "float64").reshape(-1), (count,))


def _scale(graph: NodeGraph, producer: Any, root: Any, factor: Array, shift: Array) -> bool:
    """Let a node compute `result * factor + shift` for each channel, and remove the node that did."""
    weight = graph.constant(producer.input[1])
    assert weight is not None
    axis, count = _channels(producer, weight)
    if factor.shape != (count,):
        return False
    name = producer.input[2] if len(producer.input) > 2 else ""
    bias = graph.constant(name) if name else None
    if bias is not None and bias.size not in (1, count):
        return False
    old = np.zeros(count) if bias is None else np.broadcast_to(np.asarray(bias, "float64").reshape(-1), (count,))
    inputs = list(producer.input[:2])
    if not np.array_equal(factor, np.ones(count)):
        form = [count if at == axis else 1 for at in range(weight.ndim)]
        scaled = (np.asarray(weight, "float64") * factor.reshape(form)).astype(weight.dtype)
        inputs[1] = _store(graph, producer.input[1], scaled)
    total = (old * factor + shift).astype(weight.dtype)
    if np.any(total) or bias is not None:
        inputs.append(
            _store(graph, name, total) if name else graph.add_weight(f"{producer.name or root.name}_bias", total)
        )
    new = onnx().NodeProto()
    new.CopyFrom(producer)
    del new.input[:]
    new.input.extend(inputs)
    new.output[0] = root.output[0]
    graph.replace([producer, root], root, new)
    return True


def _store(graph: NodeGraph, name: str, value: Array) -> str:
    """Store a changed weight under its name, or under another one where other nodes read it."""
    if len(graph.readers[name]) == 1 and name not in graph.outputs:
        graph.weights[name] = value
        return name
    return graph.add_weight(f"{name}_scaled", value)


# ---------------------------------------------------------------- pads
def fold_pad(graph: NodeGraph, root: Any) -> bool:
    """Let a convolution pad by the zeros of the Pad before it."""
    if root.op_type != "Conv" or attribute_value(root, "auto_pad", b"NOTSET") not in (b"NOTSET", b""):
        return False
    pad, weight = graph.producer(root.input[0], "Pad"), graph.constant(root.input[1])
    if pad is None or weight is None or not graph.is_private([root, pad], root):
        return False
    widths = _zero_pads(graph, pad)
    rank = weight.ndim
    if widths is None or len(widths) != 2 * rank or any(width < 0 for width in widths):
        return False
    if any(widths[axis] for axis in (0, 1, rank, rank + 1)):
        return False
    own = attribute_value(root, "pads") or [0] * (2 * (rank - 2))
    joined = [int(a) + b for a, b in zip(own, [*widths[2:rank], *widths[rank + 2 :]], strict=True)]
    new = onnx().NodeProto()
    new.CopyFrom(root)
    _set(new, "pads", joined)
    new.input[0] = pad.input[0]
    graph.replace([root, pad], root, new)
    return True


def _zero_pads(graph: NodeGraph, pad: Any) -> list[int] | None:
    """Return the widths of a Pad of zeros, None for any other."""
    if attribute_value(pad, "mode", b"constant") != b"constant" or len(pad.input) > 3:
        return None
    widths, value = attribute_value(pad, "pads"), attribute_value(pad, "value", 0.0)
    if len(pad.input) > 1:
        constant = graph.constant(pad.input[1])
        widths = None if constant is None else constant.tolist()
    if len(pad.input) > 2 and pad.input[2]:
        value = graph.scalar(pad.input[2])
    return [int(width) for width in widths] if widths is not None and value == 0 else None


def _set(node: Any, name: str, value: Any) -> None:
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    attributes = [*kept, onnx().helper.make_attribute(name, value)]
    copies = [type(attribute).FromString(attribute.SerializeToString()) for attribute in attributes]
    del node.attribute[:]
    node.attribute.extend(copies)


# ---------------------------------------------------------------- products
def matrix_and_shift(graph: NodeGraph, root: Any) -> bool:
    """Combine the product of two matrices and the addition of a vector into one Gemm."""
    if root.op_type != "Add" or graph.opset < 7 or len(root.input) != 2:
        return False
    for data, other in (tuple(root.input), tuple(root.input)[::-1]):
        product, value = graph.producer(data, "MatMul"), graph.constant(other)
        if product is None or value is None or not graph.is_private([root, product], root):
            continue
        weight = graph.constant(product.input[1])
        rank = len(graph.shapes.get(product.input[0], ()))
        if rank != 2 or weight is None or weight.ndim != 2 or weight.dtype.kind != "f":
            continue
        if value.shape not in ((weight.shape[1],), (1, weight.shape[1])):
            continue
        gemm = onnx().helper.make_node("Gemm", [*product.input, other], list(root.output), name=product.name)
        graph.replace([root, product], root, gemm)
        return True
    return False


# ---------------------------------------------------------------- movements of elements
def join_transposes(graph: NodeGraph, root: Any) -> bool:
    """Combine two transpositions, or drop both where they cancel."""
    inner = graph.producer(root.input[0], "Transpose") if root.op_type == "Transpose" else None
    if inner is None:
        return False
    first, second = attribute_value(inner, "perm"), attribute_value(root, "perm")
    if not first or not second or len(first) != len(second):
        return False
    new = onnx().NodeProto()
    new.CopyFrom(root)
    _set(new, "perm", [first[axis] for axis in second])
    new.input[0] = inner.input[0]
    graph.replace([root], root, new)
    return True


def drop_transpose(graph: NodeGraph, root: Any) -> bool:
    """Drop a transposition that leaves every axis in its place."""
    perm = attribute_value(root, "perm") if root.op_type == "Transpose" else None
    if not perm or list(perm) != list(range(len(perm))) or root.output[0] in graph.outputs:
        return False
    alias = getattr(graph, "alias", None)
    assert alias is not None
    alias({root.output[0]: root.input[0]})
    return True


def join_reshapes(graph: NodeGraph, root: Any) -> bool:
    """Let a Reshape to a constant shape read past a node that keeps the order of the elements."""
    if root.op_type != "Reshape" or len(root.input) != 2:
        return False
    shape, inner = graph.constant(root.input[1]), graph.producers.get(root.input[0])
    if shape is None or 0 in shape or inner is None or inner.op_type not in ORDER_KEPT:
        return False
    new = onnx().NodeProto()
    new.CopyFrom(root)
    new.input[0] = inner.input[0]
    graph.replace([root], root, new)
    return True


Rule = Callable[[NodeGraph, Any], bool]
# By the pass of Relay that does the same: disabling that pass disables the rules.
RULES: dict[str, tuple[Rule, ...]] = {
    "FoldScaleAxis": (fold_batch_norm, fold_scale),
    "FoldExplicitPadding": (fold_pad,),
    "CombineSumOfProducts": (matrix_and_shift,),
    "SimplifyExpr": (join_transposes, drop_transpose),
    "CombineReshapes": (join_reshapes,),
}


def apply(graph: NodeGraph, rules: tuple[Rule, ...]) -> bool:
    """Apply rules to every node until none matches; return whether any did."""
    changed, at = False, 0
    while at < len(graph.nodes):
        before = len(graph.nodes)
        if any(rule(graph, graph.nodes[at]) for rule in rules):
            changed = True
            at = max(at - max(before - len(graph.nodes), 1), 0)  # the removed nodes came before this one
        else:
            at += 1
    return changed
