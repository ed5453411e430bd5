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
from passlab.frontend.onnx.simplify.elementwise import ORDER_KEPT, compute_before_reshape
from passlab.frontend.onnx.simplify.unchanged import keeps_shape, slice_bounds, unchanged
from passlab.ir.types import ANY
from passlab.op.dtypes import Array

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
    if len(graph.readers[name]) == 1 and name not in graph.outputs and not graph.is_shared(name):
        graph.weights[name] = value
        return name
    return graph.add_weight(f"{name}_scaled", value)


def fold_scale_before(graph: NodeGraph, root: Any) -> bool:
    """Move the multiplication of a tensor by a number into the weights of the convolution or product after it."""
    if root.op_type not in ("Conv", "Gemm", "MatMul") or graph.opset < 7:
        return False
    before, weight = graph.producer(root.input[0], "Mul", "Div"), graph.constant(root.input[1])
    if before is None or weight is None or weight.dtype.kind != "f" or not graph.is_private([root, before], root):
        return False
    if len(graph.readers[root.input[1]]) != 1:
        return False  # a second copy of the weight costs more than the multiplication
    for data, other in [tuple(before.input), tuple(before.input)[::-1]][: 1 if before.op_type == "Div" else 2]:
        value = graph.constant(other)
        if value is None or value.size != 1 or not keeps_shape(graph, data, value):
            continue
        factor = float(value.reshape(-1)[0])
        if before.op_type == "Div":
            factor = 1 / factor if factor else float("inf")
        if not np.isfinite(factor) or data in graph.weights:
            continue
        new = onnx().NodeProto()
        new.CopyFrom(root)
        scaled = (np.asarray(weight, "float64") * factor).astype(weight.dtype)
        new.input[0], new.input[1] = data, _store(graph, root.input[1], scaled)
        graph.replace([root, before], root, new)
        return True
    return False


NEUTRAL: dict[str, Any] = {
    **dict.fromkeys(("Add", "BitShift", "BitwiseOr", "BitwiseXor", "Sub"), 0),
    **dict.fromkeys(("Div", "Mul", "Pow"), 1),
    **dict.fromkeys(("Or", "Xor"), False),
    "And": True,
    "BitwiseAnd": -1,
}
ONE_SIDED = {"BitShift", "Div", "Pow", "Sub"}


def drop_neutral(graph: NodeGraph, root: Any) -> bool:
    """Drop the addition of 0, the multiplication by 1, and other operators with an operand that changes nothing."""
    neutral = NEUTRAL.get(root.op_type)
    if neutral is None or len(root.input) != 2 or graph.opset < 7:
        return False
    sides = [tuple(root.input), tuple(root.input)[::-1]]
    for data, other in sides[: 1 if root.op_type in ONE_SIDED else 2]:
        value = graph.constant(other)
        if value is None or not (value == neutral).all() or data in graph.weights:
            continue
        # An output keeps its name, and an input its own.
        if keeps_shape(graph, data, value) and (root.output[0] not in graph.outputs or data in graph.producers):
            return graph.same(root, data)
    return False


def drop_unchanged(graph: NodeGraph, root: Any) -> bool:
    """Drop a node that returns an operand unchanged."""
    source = unchanged(graph, root)
    if source is None or (root.output[0] in graph.outputs and source not in graph.producers):
        return False
    return graph.same(root, source)


# ---------------------------------------------------------------- first states of recurrent layers
RECURRENT = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}  # where the first states are among the inputs
SPREADING = {
    "Cast",
    "Concat",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
}


def drop_zero_states(graph: NodeGraph, root: Any) -> bool:
    """Leave out the first state of a recurrent layer if it is 0, as it is without one."""
    places = [at for at in RECURRENT.get(root.op_type, ()) if at < len(root.input) and root.input[at]]
    dropped = [at for at in places if _is_zero(graph, root.input[at])]
    if root.domain or not dropped:
        return False
    for at in dropped:
        root.input[at] = ""
    while root.input and not root.input[-1]:
        del root.input[-1]
    graph.reindex()
    return True


def _is_zero(graph: NodeGraph, name: str) -> bool:
    """Whether all elements of a tensor are 0: it is a constant or is spread out of one, whatever its size."""
    todo, seen = [name], set()
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        value, node = graph.constant(current), graph.producers.get(current)
        if value is not None:
            if np.any(value):
                return False
        elif node is None or node.domain:
            return False
        elif node.op_type == "ConstantOfShape":
            filler = attribute_value(node, "value")
            if filler is not None and np.any(onnx().numpy_helper.to_array(filler)):
                return False
        elif node.op_type in SPREADING:
            todo += node.input if node.op_type == "Concat" else node.input[:1]
        elif node.op_type == "Expand":
            todo.append(node.input[0])
        else:
            return False
    return True


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


def join_products(graph: NodeGraph, root: Any) -> bool:
    """Combine two products by matrices, with a vector added between them, where their product is no larger than both.

    `(x A + a) B` is `x (A B) + a B`: two linear layers without an activation between them.
    """
    second = _matrix(graph, root)
    inner = graph.producers.get(root.input[0]) if second is not None else None
    if inner is None or second is None:
        return False
    nodes, shift = [inner], None
    if inner.op_type == "Add":
        shift = next((graph.constant(name) for name in inner.input if name in graph.weights), None)
        inner = graph.producer(next((name for name in inner.input if name not in graph.weights), ""), "MatMul")
        nodes.append(inner)
    first = _matrix(graph, inner) if inner is not None else None
    if first is None or not graph.is_private([root, *nodes], root):
        return False
    if inner.op_type == "Gemm" and len(inner.input) > 2:
        shift = graph.constant(inner.input[2])
    if (len(nodes) > 1 or len(inner.input) > 2) and (shift is None or shift.size not in (1, first.shape[1])):
        return False
    if shift is not None and (shift.ndim > (2 if inner.op_type == "Gemm" else 1)):
        return False  # it could give the result another axis
    if first.dtype != second.dtype or first.shape[0] * second.shape[1] > first.size + second.size:
        return False
    product = (np.asarray(first, "float64") @ second).astype(first.dtype)
    name = graph.add_weight(f"{root.input[1]}_joined", product)
    moved = (
        None if shift is None else np.broadcast_to(np.asarray(shift, "float64").reshape(-1), first.shape[1:]) @ second
    )
    return _emit_product(graph, [root, *nodes], inner.input[0], name, moved)


def _matrix(graph: NodeGraph, node: Any) -> Array | None:
    """Return the matrix of floats that a MatMul or a plain Gemm multiplies by, if no other node reads it."""
    if node.domain or node.op_type not in ("MatMul", "Gemm") or graph.opset < 7 or not node.input[0]:
        return None
    weight = graph.constant(node.input[1])
    if weight is None or weight.ndim != 2 or weight.dtype.kind != "f" or len(graph.readers[node.input[1]]) != 1:
        return None
    options = {"alpha": 1.0, "beta": 1.0, "transA": 0} if node.op_type == "Gemm" else {}
    if any(attribute_value(node, key, plain) != plain for key, plain in options.items()):
        return None
    return weight.T if attribute_value(node, "transB", 0) else weight


def _emit_product(graph: NodeGraph, matched: list[Any], x: str, weight: str, moved: Array | None) -> bool:
    """Write one product in place of two; the vector `moved` is added to it."""
    root, make = matched[0], onnx().helper.make_node
    dtype, results = graph.weights[weight].dtype, list(root.output)
    own = graph.constant(root.input[2]) if len(root.input) > 2 and root.input[2] else None
    if root.op_type == "Gemm" and len(root.input) > 2 and own is None:
        return False
    if moved is not None or own is not None:
        total = (0 if moved is None else moved) + (0 if own is None else np.asarray(own, "float64"))
        shift = graph.add_weight(f"{root.name or weight}_shift", np.asarray(total).astype(dtype))
    if root.op_type == "Gemm":
        inputs = [x, weight] if moved is None and own is None else [x, weight, shift]
        new = [make("Gemm", inputs, results, name=root.name)]
    elif moved is None:
        new = [make("MatMul", [x, weight], results, name=root.name)]
    else:
        between = f"{root.output[0]}_product"
        new = [
            make("MatMul", [x, weight], [between], name=root.name),
            make("Add", [between, shift], results, name=f"{root.name}_shift"),
        ]
    graph.replace(matched, root, *new)
    return True


def join_constants(graph: NodeGraph, root: Any) -> bool:
    """Add the sum of two constants instead of one after the other, and multiply by their product."""
    if root.op_type not in ("Add", "Mul") or len(root.input) != 2 or graph.opset < 7:
        return False
    for data, other in (tuple(root.input), tuple(root.input)[::-1]):
        inner, value = graph.producer(data, root.op_type), graph.constant(other)
        if inner is None or value is None or not graph.is_private([root, inner], root):
            continue
        for source, first in (tuple(inner.input), tuple(inner.input)[::-1]):
            constant = graph.constant(first)
            if constant is None or source in graph.weights or constant.dtype != value.dtype:
                continue
            with np.errstate(all="ignore"):
                joined = constant + value if root.op_type == "Add" else constant * value
            # x + c - c rounds x, and a product may be too small for its type.
            is_rounding = np.signbit(constant) != np.signbit(value) if root.op_type == "Add" else joined == 0
            lost = value.dtype.kind not in "iu" and (is_rounding & (constant != 0) & (value != 0)).any()
            if joined.size > max(constant.size, value.size) or not np.isfinite(joined).all() or lost:
                continue
            new = onnx().NodeProto()
            new.CopyFrom(root)
            del new.input[:]
            new.input.extend([source, graph.add_weight(f"{other}_joined", joined.astype(value.dtype))])
            graph.replace([root, inner], root, new)
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
    return graph.same(root, root.input[0])


def join_reshapes(graph: NodeGraph, root: Any) -> bool:
    """Let a Reshape that copies no size from its input read past a node that keeps the order of the elements."""
    if root.op_type != "Reshape" or len(root.input) != 2:
        return False
    shape, inner = graph.constant(root.input[1]), graph.producers.get(root.input[0])
    copies = not attribute_value(root, "allowzero", 0) if shape is None else 0 in shape
    if copies or inner is None or inner.op_type not in ORDER_KEPT:
        return False
    new = onnx().NodeProto()
    new.CopyFrom(root)
    new.input[0] = inner.input[0]
    graph.replace([root], root, new)
    return True


def drop_reshape(graph: NodeGraph, root: Any) -> bool:
    """Drop a Reshape to the sizes that its input has; one of them may be inferred, and need not be known."""
    sizes = graph.shapes.get(root.input[0]) if root.op_type == "Reshape" and len(root.input) == 2 else None
    if sizes is None or (root.output[0] in graph.outputs and root.input[0] not in graph.producers):
        return False
    codes = graph.constant(root.input[1])
    if codes is None:
        if ANY in sizes or graph.shapes.get(root.output[0]) != sizes:
            return False
    elif (
        codes.shape != (len(sizes),)
        or attribute_value(root, "allowzero", 0)
        or [int(code) for code, size in zip(codes, sizes, strict=True) if code not in (0, size)] not in ([], [-1])
    ):
        return False
    return graph.same(root, root.input[0])


def join_parts(graph: NodeGraph, root: Any) -> bool:
    """Let a Concat read the parts of the Concat before it, no empty parts, and neighbours by one Gather."""
    if root.op_type != "Concat":
        return False
    axis, inputs = attribute_value(root, "axis", 1), list(root.input)
    for at, name in enumerate(inputs):
        inner = graph.producer(name, "Concat")
        if _is_empty(graph, name, axis):
            new = [*inputs[:at], *inputs[at + 1 :]]
        elif inner is not None and attribute_value(inner, "axis", 1) == axis and graph.is_private([root, inner], root):
            new = [*inputs[:at], *inner.input, *inputs[at + 1 :]]
        elif (joined := _gathered(graph, root, at)) is not None:
            new = [*inputs[:at], joined, *inputs[at + 2 :]]
        else:
            continue
        if not new or (len(new) == 1 and root.output[0] in graph.outputs and new[0] not in graph.producers):
            continue
        del root.input[:]
        root.input.extend(new)
        graph.reindex()
        return graph.same(root, new[0]) if len(new) == 1 else True
    return False


def _is_empty(graph: NodeGraph, name: str, axis: int) -> bool:
    """Whether a part of a Concat has no elements, and the other parts have all sizes of the result."""
    value = graph.constant(name)
    sizes: Any = graph.shapes.get(name, ()) if value is None else value.shape
    return bool(-len(sizes) <= axis < len(sizes) and sizes[axis] == 0)


def _gathered(graph: NodeGraph, root: Any, at: int) -> str | None:
    """Emit one Gather for two parts of a Concat that are gathered from one vector; return its result."""
    names: list[str] = list(root.input[at : at + 2])
    nodes = [graph.producer(name, "Gather") for name in names]
    first, second = nodes if len(nodes) == 2 else (None, None)
    if first is None or second is None or first.input[0] != second.input[0] or first is second:
        return None
    indices = [graph.constant(node.input[1]) for node in nodes]
    is_vector = len(graph.shapes.get(first.input[0], ())) == 1
    if (
        not is_vector
        or any(index is None or index.ndim != 1 for index in indices)
        or not graph.is_private([root, *nodes], root)
    ):
        return None
    new = onnx().NodeProto()
    new.CopyFrom(first)
    new.input[1] = graph.add_weight(f"{names[0]}_indices", np.concatenate(indices))  # type: ignore[arg-type]
    graph.replace([first, second], second, new)
    return names[0]


def decide_comparison(graph: NodeGraph, root: Any) -> bool:
    """Decide that no size is equal to a number below 0."""
    if root.op_type != "Equal" or root.output[0] in graph.outputs:
        return False
    for sizes, other in (tuple(root.input), tuple(root.input)[::-1]):
        value = graph.constant(other)
        if value is None or not (value < 0).all() or not graph.producer(sizes, "Shape"):
            continue
        (length,) = graph.shapes[sizes] if keeps_shape(graph, sizes, value) else (None,)
        if isinstance(length, int):
            graph.weights[root.output[0]] = np.zeros(length, bool)
            graph.replace([root], root)
            return True
    return False


def choose_operand(graph: NodeGraph, root: Any) -> bool:
    """Read the operand that a Where with a known condition chooses."""
    condition = graph.constant(root.input[0]) if root.op_type == "Where" and len(root.input) == 3 else None
    if condition is None or not (condition.all() or not condition.any()):
        return False
    chosen, other = root.input[1:] if condition.all() else list(root.input[1:])[::-1]
    sizes, rest = graph.shapes.get(chosen), graph.shapes.get(other)
    fits = sizes is not None and rest is not None and all(isinstance(size, int) for size in (*sizes, *rest))
    if not fits or chosen in graph.weights or (root.output[0] in graph.outputs and chosen not in graph.producers):
        return False
    if np.broadcast_shapes(sizes, rest, condition.shape) != tuple(sizes):  # type: ignore[arg-type]
        return False
    return graph.same(root, chosen)


def choose_without_not(graph: NodeGraph, root: Any) -> bool:
    """Let a Where by a negated condition choose the other way round."""
    negation = graph.producer(root.input[0], "Not") if root.op_type == "Where" and len(root.input) == 3 else None
    if negation is None or not graph.is_private([root, negation], root):
        return False
    new = onnx().NodeProto()
    new.CopyFrom(root)
    del new.input[:]
    new.input.extend([negation.input[0], root.input[2], root.input[1]])
    graph.replace([root, negation], root, new)
    return True


def gather_kept_axis(graph: NodeGraph, root: Any) -> bool:
    """Gather by a vector of one index where an axis was removed by one index and put back."""
    inner = graph.producer(root.input[0], "Gather") if root.op_type == "Unsqueeze" else None
    if inner is None or not graph.is_private([root, inner], root):
        return False
    index, axis = graph.constant(inner.input[1]), attribute_value(inner, "axis", 0)
    axes = attribute_value(root, "axes")
    if len(root.input) > 1:
        constant = graph.constant(root.input[1])
        axes = None if constant is None else constant.reshape(-1).tolist()
    if index is None or index.ndim or axis < 0 or list(axes or ()) != [axis]:
        return False
    new = onnx().NodeProto()
    new.CopyFrom(inner)
    new.input[1] = graph.add_weight(f"{root.output[0]}_index", index.reshape(1))
    new.output[0] = root.output[0]
    graph.replace([root, inner], root, new)
    return True


def join_slices(graph: NodeGraph, root: Any) -> bool:
    """Combine two slices of constant bounds: of different axes, or of one axis in steps of 1."""
    inner = graph.producer(root.input[0], "Slice") if root.op_type == "Slice" and graph.opset >= 10 else None
    if inner is None:
        return False
    first, second = (slice_bounds(graph, node) for node in (inner, root))
    if first is None or second is None:
        return False
    joined = dict(first)
    for axis, (start, end, step) in second.items():
        if axis not in joined:
            joined[axis] = (start, end, step)
            continue
        begin, stop, own = joined[axis]
        if min(begin, start, stop, end) < 0 or (own, step) != (1, 1):
            return False
        joined[axis] = (begin + start, min(stop, begin + end), 1)
    new = onnx().NodeProto()
    new.CopyFrom(root)
    columns = [*zip(*joined.values(), strict=True)]
    parts = [columns[0], columns[1], tuple(joined), columns[2]]
    names = [
        graph.add_weight(f"{root.output[0]}_{part}", np.array(values, "int64"))
        for part, values in zip(("starts", "ends", "axes", "steps"), parts, strict=True)
    ]
    del new.input[:]
    new.input.extend([inner.input[0], *names])
    graph.replace([root], root, new)
    return True


Rule = Callable[[NodeGraph, Any], bool]
# By the pass of Relay that does the same: disabling that pass disables the rules.
RULES: dict[str, tuple[Rule, ...]] = {
    "FoldScaleAxis": (fold_batch_norm, fold_scale, fold_scale_before),
    "FoldExplicitPadding": (fold_pad,),
    "CombineSumOfProducts": (matrix_and_shift, join_products),
    "SimplifyExpr": (
        join_constants,
        join_transposes,
        drop_transpose,
        join_slices,
        join_parts,
        drop_neutral,
        drop_unchanged,
        drop_zero_states,
        gather_kept_axis,
        decide_comparison,
        choose_operand,
        choose_without_not,
    ),
    "CombineReshapes": (join_reshapes, compute_before_reshape, drop_reshape),
}


def apply_rules(graph: NodeGraph, rules: tuple[Rule, ...]) -> bool:
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
