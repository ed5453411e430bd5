"""Nodes that return an operand unchanged: a slice of all, a sum along axes of size 1, a pad by nothing, a second Relu.

`unchanged(graph, node)` names the operand. Each entry of `UNCHANGED` is the question of one operator; it says yes only
where the values and the shape are the same for every size that is open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.frontend.onnx.export.combining import NodeGraph
from passlab.frontend.onnx.export.protos import attribute_value
from passlab.ir.types import ANY
from passlab.op.dtypes import Array

END = 2**31 - 1  # exporters write this, or more, for the end of an axis
Question = Callable[[NodeGraph, Any], bool]


def unchanged(graph: NodeGraph, node: Any) -> str | None:
    """Return the operand that the first result of a node is equal to, None where none is; other results are unread."""
    question = None if node.domain not in ("", "ai.onnx") else UNCHANGED.get(node.op_type)
    if (
        question is None
        or not node.input
        or any(graph.readers[name] or name in graph.outputs for name in node.output[1:] if name)
    ):
        return None
    if node.op_type in INVERSE:
        inner = graph.producer(node.input[0], INVERSE[node.op_type])
        return inner.input[0] if inner is not None and question(graph, node) else None
    return str(node.input[0]) if question(graph, node) else None


# ---------------------------------------------------------------- movements of elements
def takes_all(graph: NodeGraph, node: Any) -> bool:
    """Whether a Slice takes all elements of every axis, in their order."""
    bounds, sizes = slice_bounds(graph, node), graph.shapes.get(node.input[0])
    return bounds is not None and all(
        step == 1 and _starts(start, size) and _ends(end, size)
        for axis, (start, end, step) in bounds.items()
        for size in [sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else ANY]
    )


def _starts(start: int, size: Any) -> bool:
    return start == 0 or (isinstance(size, int) and start <= -size)


def _ends(end: int, size: Any) -> bool:
    return end >= END or (isinstance(size, int) and end >= size)


def slice_bounds(graph: NodeGraph, node: Any) -> dict[int, tuple[int, int, int]] | None:
    """Return start, end and step of a Slice by axis counted from 0, None if one of them is not a constant."""
    rank = len(graph.shapes.get(node.input[0], ()))
    if graph.opset < 10:
        starts, ends = attribute_value(node, "starts"), attribute_value(node, "ends")
        if starts is None or ends is None:
            return None
        axes = list(attribute_value(node, "axes") or range(len(starts)))
        steps = [1] * len(starts)
    else:
        values = [graph.constant(name) if name else None for name in node.input[1:]]
        if len(values) < 2 or values[0] is None or values[1] is None:
            return None
        if any(value is None for value, name in zip(values, node.input[1:], strict=True) if name):
            return None
        starts, ends = values[0].reshape(-1).tolist(), values[1].reshape(-1).tolist()
        axes = values[2].reshape(-1).tolist() if len(values) > 2 and values[2] is not None else [*range(len(starts))]
        steps = values[3].reshape(-1).tolist() if len(values) > 3 and values[3] is not None else [1] * len(starts)
    if any(axis < 0 for axis in axes) and not rank:
        return None
    return {
        axis % rank if rank else axis: bound
        for axis, bound in zip(axes, zip(starts, ends, steps, strict=True), strict=True)
    }


def gathers_all(graph: NodeGraph, node: Any) -> bool:
    """Whether a Gather takes every index of its axis, in order."""
    indices, sizes = graph.constant(node.input[1]), graph.shapes.get(node.input[0], ())
    axis = attribute_value(node, "axis", 0)
    if indices is None or indices.ndim != 1 or not -len(sizes) <= axis < len(sizes) or sizes[axis] != indices.size:
        return False
    return bool((indices % max(indices.size, 1) == np.arange(indices.size)).all())


def is_one_part(graph: NodeGraph, node: Any) -> bool:
    """Whether the first part of a Split is all of it."""
    if len(node.output) == 1:
        return True
    lengths = attribute_value(node, "split")
    if len(node.input) > 1 and node.input[1]:
        constant = graph.constant(node.input[1])
        lengths = None if constant is None else constant.tolist()
    return bool(lengths) and not any(lengths[1:])


def has_own_shape(graph: NodeGraph, node: Any) -> bool:
    """Whether the shape of a result is the operand's: all sizes are known, or the same open ones."""
    sizes = graph.shapes.get(node.input[0])
    return sizes is not None and ANY not in sizes and graph.shapes.get(node.output[0]) == sizes


def flattens_matrix(graph: NodeGraph, node: Any) -> bool:
    """Whether a Flatten leaves a matrix as it is."""
    rank = len(graph.shapes.get(node.input[0], ()))
    return rank == 2 and attribute_value(node, "axis", 1) in (1, -1)


def adds_no_axis(graph: NodeGraph, node: Any) -> bool:
    """Whether an Unsqueeze has an empty list of axes."""
    axes = _numbers(graph, node, "axes", 1)
    return axes is not None and len(axes) == 0


def repeats_once(graph: NodeGraph, node: Any) -> bool:
    """Whether a Tile repeats every axis once."""
    return _all_of(graph.constant(node.input[1]) if len(node.input) == 2 else None, 1)


def pads_nothing(graph: NodeGraph, node: Any) -> bool:
    """Whether the widths of a Pad are all 0."""
    return _all_of(_numbers(graph, node, "pads", 1), 0)


def resizes_nothing(graph: NodeGraph, node: Any) -> bool:
    """Whether a Resize has scales of 1, or sizes that are there already, and takes each element from its own place."""
    if attribute_value(node, "coordinate_transformation_mode", b"half_pixel") in (
        b"tf_crop_and_resize",
        b"tf_half_pixel_for_nn",
    ):
        return False
    at = 1 if node.op_type == "Upsample" or graph.opset < 11 else 2
    scales = _numbers(graph, node, "scales", at)
    return _all_of(scales, 1) if scales is not None and len(scales) else has_known_shape(graph, node)


def has_known_shape(graph: NodeGraph, node: Any) -> bool:
    """Whether all sizes of a result are known, and are the operand's."""
    sizes = graph.shapes.get(node.input[0], (ANY,))
    return all(isinstance(size, int) for size in sizes) and graph.shapes.get(node.output[0]) == sizes


def moves_no_block(graph: NodeGraph, node: Any) -> bool:
    """Whether blocks of depth and space are single elements."""
    return bool(attribute_value(node, "blocksize", 0) == 1)


def has_no_update(graph: NodeGraph, node: Any) -> bool:
    """Whether a scatter has no indices."""
    return 0 in graph.shapes.get(node.input[1], ())


# ---------------------------------------------------------------- sums, means, windows
def reduces_nothing(graph: NodeGraph, node: Any) -> bool:
    """Whether a reduction keeps its axes, if it has any, and all of them have the size 1."""
    if attribute_value(node, "keepdims", 1) != 1:
        return False
    sizes = graph.shapes.get(node.input[0])
    is_given = len(node.input) > 1 and bool(node.input[1])
    axes = _numbers(graph, node, "axes", 1)
    if axes is None and is_given:
        return False
    if axes is None or len(axes) == 0:
        if attribute_value(node, "noop_with_empty_axes", 0):
            return True
        axes = range(len(sizes or ()))
    return sizes is not None and all(-len(sizes) <= axis < len(sizes) and sizes[axis] == 1 for axis in axes)


def adds_up_nothing(graph: NodeGraph, node: Any) -> bool:
    """Whether a CumSum is along an axis of size 1, which it takes itself."""
    axis, sizes = graph.scalar(node.input[1]), graph.shapes.get(node.input[0], ())
    if axis is None or attribute_value(node, "exclusive", 0) or not -len(sizes) <= axis < len(sizes):
        return False
    return bool(sizes[int(axis)] == 1)


def is_window_of_one(graph: NodeGraph, node: Any) -> bool:
    """Whether a pooling has windows of one element at every place."""
    plain = {"kernel_shape": 1, "strides": 1, "pads": 0}
    return all(all(v == one for v in attribute_value(node, key) or ()) for key, one in plain.items())


def pools_one(graph: NodeGraph, node: Any) -> bool:
    """Whether a pooling of whole images has images of one element."""
    sizes = graph.shapes.get(node.input[0], ())
    return len(sizes) > 2 and all(size == 1 for size in sizes[2:])


def is_alone(graph: NodeGraph, node: Any) -> bool:
    """Whether a node combines one operand only, or one with itself."""
    return all(name == node.input[0] for name in node.input) and (len(node.input) == 1 or node.op_type in IDEMPOTENT)


# ---------------------------------------------------------------- arithmetic
def has_no_bounds(graph: NodeGraph, node: Any) -> bool:
    """Whether a Clip has neither a least nor a greatest value."""
    values = [graph.scalar(name) for name in node.input[1:] if name]
    attributes = [attribute_value(node, key) for key in ("min", "max")]
    low, high = (float("-inf"), float("inf"))
    if any(value is not None for value in attributes):
        return False
    given = [bool(name) for name in node.input[1:]]
    infinite = [low, high][: len(given)]
    return values == [bound for bound, is_there in zip(infinite, given, strict=True) if is_there]


def is_done_before(graph: NodeGraph, node: Any) -> bool:
    """Whether the operand is the result of a node after which this one changes nothing: Floor after Round."""
    inner = graph.producers.get(node.input[0])
    return inner is not None and not inner.domain and inner.op_type in AFTER[node.op_type]


def is_inverse(graph: NodeGraph, node: Any) -> bool:
    """Whether the operand is the result of the inverse, with the same parameters: Neg of Neg."""
    inner = graph.producer(node.input[0], INVERSE[node.op_type])
    if inner is None or inner.domain or list(inner.input[1:]) != list(node.input[1:]):
        return False
    if node.op_type != "QuantizeLinear":
        return True
    zero = graph.constant(node.input[2]) if len(node.input) > 2 else None
    same = all(attribute_value(node, key, 1) == attribute_value(inner, key, 1) for key in ("axis", "block_size"))
    return zero is not None and zero.dtype.kind in "iu" and same and not attribute_value(node, "output_dtype", 0)


def keeps_shape(graph: NodeGraph, data: str, value: Array) -> bool:
    """Whether a tensor has the same shape when it is combined with a constant."""
    sizes = graph.shapes.get(data, ())
    own = sizes[len(sizes) - value.ndim :] if value.ndim else ()
    return len(own) == value.ndim and all(size in (1, dim) for size, dim in zip(value.shape, own, strict=True))


def _numbers(graph: NodeGraph, node: Any, name: str, at: int) -> Sequence[Any] | None:
    """Return numbers that are an attribute or, in later opsets, an input; None if they are absent or computed."""
    own: Sequence[Any] | None = attribute_value(node, name)
    if own is not None or len(node.input) <= at or not node.input[at]:
        return own
    constant = graph.constant(node.input[at])
    return None if constant is None else constant.reshape(-1).tolist()


def _all_of(values: Any, number: Any) -> bool:
    return values is not None and bool((np.asarray(values) == number).all())


SIGNLESS = {"Exp", "HardSigmoid", "Relu", "Sigmoid", "Softmax", "Sqrt"}  # not Abs, whose integers may wrap
WHOLE = {"Ceil", "Floor", "Round"}
IDEMPOTENT = {"And", "BitwiseAnd", "BitwiseOr", "Max", "Min", "Or"}
# What changes nothing after which operators.
AFTER = {"Relu": SIGNLESS, "Abs": SIGNLESS | {"Abs"}, "Sign": {"Sign"}, **dict.fromkeys(WHOLE, WHOLE)}
INVERSE = {"Neg": "Neg", "Not": "Not", "BitwiseNot": "BitwiseNot", "QuantizeLinear": "DequantizeLinear"}
UNCHANGED: dict[str, Question] = {
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), reduces_nothing),
    **dict.fromkeys(("Concat", "Mean", "Sum", *sorted(IDEMPOTENT)), is_alone),
    **dict.fromkeys(AFTER, is_done_before),
    **dict.fromkeys(INVERSE, is_inverse),
    **dict.fromkeys(("AveragePool", "MaxPool"), is_window_of_one),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), pools_one),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), moves_no_block),
    **dict.fromkeys(("ScatterElements", "ScatterND"), has_no_update),
    **dict.fromkeys(("Resize", "Upsample"), resizes_nothing),
    "Clip": has_no_bounds,
    "CumSum": adds_up_nothing,
    "Expand": has_own_shape,
    "Flatten": flattens_matrix,
    "Gather": gathers_all,
    "Pad": pads_nothing,
    "Slice": takes_all,
    "Split": is_one_part,
    "Squeeze": has_own_shape,
    "Tile": repeats_once,
    "Unsqueeze": adds_no_axis,
}
