"""Nodes that return an operand unchanged are dropped by `simplify_nodes`, those that are close to it stay, and values are the same.

Each operator of `UNCHANGED` and `NEUTRAL` has models of both kinds here. onnxruntime says what they compute.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from passlab.frontend.onnx.simplify.node_by_node import simplify_nodes
from passlab.frontend.onnx.simplify.rules import NEUTRAL
from passlab.frontend.onnx.simplify.unchanged import UNCHANGED
from tests.each import each

ort = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install passlab[bench]")

# The operands of each node, with their sizes.
INPUTS = {
    "x": ("float", "N, 3, 1, 4"),
    "m": ("float", "N, 5"),
    "p": ("float", "2, 3, 1, 1"),
    "k": ("float", "2, 5"),
    "h": ("float", "1, 1, 4, 4"),
    "i": ("int32", "N, 3"),
    "b": ("bool", "N, 3"),
}
KINDS: dict[str, Any] = {"float": "float32", "int32": "int32", "bool": "bool"}


def ints(*values: int) -> Any:
    return np.array(values, "int64")


def floats(*values: float) -> Any:
    return np.array(values, "float32")


FAR = 2**63 - 1
# Operator, the node with its result z, the weights it reads, and the opset.
DROPPED: list[tuple[str, str, dict[str, Any], int]] = [
    *((op, f"z = {op}<keepdims = 1>(x, a)", {"a": ints(2)}, 18) for op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")),
    ("ReduceSum", "z = ReduceSum<keepdims = 1, noop_with_empty_axes = 1>(x)", {}, 18),
    ("ReduceSum", "z = ReduceSum(p, a)", {"a": ints(-1, 2)}, 18),
    ("ReduceMax", "z = ReduceMax<axes = [2]>(x)", {}, 13),
    *((op, f"z = {op}(x)", {}, 17) for op in ("Max", "Mean", "Min", "Sum")),
    *((op, f"z = {op}(x, x)", {}, 17) for op in ("Max", "Min")),
    *((op, f"z = {op}(b, b)", {}, 17) for op in ("And", "Or")),
    *((op, f"z = {op}(i, i)", {}, 18) for op in ("BitwiseAnd", "BitwiseOr")),
    ("Concat", "z = Concat<axis = 1>(x)", {}, 17),
    ("Relu", "y1 = Sigmoid(x) z = Relu(y1)", {}, 17),
    ("Relu", "y1 = Relu(x) z = Relu(y1)", {}, 17),
    ("Abs", "y1 = Exp(x) z = Abs(y1)", {}, 17),
    ("Abs", "y1 = Abs(i) z = Abs(y1)", {}, 17),
    ("Sign", "y1 = Sign(x) z = Sign(y1)", {}, 17),
    *((op, f"y1 = Ceil(x) z = {op}(y1)", {}, 17) for op in ("Ceil", "Floor", "Round")),
    ("Neg", "y1 = Neg(x) z = Neg(y1)", {}, 17),
    ("Not", "y1 = Not(b) z = Not(y1)", {}, 17),
    ("BitwiseNot", "y1 = BitwiseNot(i) z = BitwiseNot(y1)", {}, 18),
    ("QuantizeLinear", "q = QuantizeLinear(x, s, o) d = DequantizeLinear(q, s, o) r = QuantizeLinear(d, s, o) z = DequantizeLinear(r, s, o)",
     {"s": np.float32(0.1), "o": np.uint8(3)}, 17),
    ("AveragePool", "z = AveragePool<kernel_shape = [1, 1]>(x)", {}, 17),
    ("MaxPool", "z = MaxPool<kernel_shape = [1, 1], strides = [1, 1]>(x)", {}, 17),
    ("GlobalAveragePool", "z = GlobalAveragePool(p)", {}, 17),
    ("GlobalMaxPool", "z = GlobalMaxPool(p)", {}, 17),
    ("DepthToSpace", "z = DepthToSpace<blocksize = 1>(x)", {}, 17),
    ("SpaceToDepth", "z = SpaceToDepth<blocksize = 1>(x)", {}, 17),
    ("ScatterElements", "z = ScatterElements<axis = 1>(m, a, u)", {"a": np.zeros((0, 5), "int64"), "u": np.zeros((0, 5), "float32")}, 17),
    ("ScatterND", "z = ScatterND(m, a, u)", {"a": np.zeros((0, 2), "int64"), "u": floats()}, 17),
    ("Resize", "z = Resize<mode = \"linear\">(x, , s)", {"s": floats(1, 1, 1, 1)}, 17),
    ("Resize", "z = Resize<coordinate_transformation_mode = \"align_corners\">(p, , , s)", {"s": ints(2, 3, 1, 1)}, 17),
    ("Upsample", "z = Upsample(x, s)", {"s": floats(1, 1, 1, 1)}, 9),
    ("Clip", "z = Clip(x)", {}, 17),
    ("Clip", "z = Clip(x, , h)", {"h": np.float32(np.inf)}, 17),
    ("CumSum", "z = CumSum(x, a)", {"a": np.int64(2)}, 17),
    ("Expand", "z = Expand(p, s)", {"s": ints(3, 1, 1)}, 17),
    ("Flatten", "z = Flatten(m)", {}, 17),
    ("Flatten", "z = Flatten<axis = -1>(m)", {}, 17),
    ("Gather", "z = Gather<axis = 1>(x, a)", {"a": ints(0, 1, -1)}, 17),
    ("Pad", "z = Pad(m, w)", {"w": ints(0, 0, 0, 0)}, 17),
    ("Pad", "z = Pad<pads = [0, 0, 0, 0]>(m)", {}, 7),
    ("Slice", "z = Slice(x, s, e, a)", {"s": ints(0, -3), "e": ints(FAR, 3), "a": ints(0, 1)}, 17),
    ("Slice", "z = Slice<axes = [1], starts = [0], ends = [5]>(m)", {}, 9),
    ("Split", "z = Split<axis = 1>(m)", {}, 17),
    ("Split", "z, v = Split<axis = 1>(m, l)", {"l": ints(5, 0)}, 17),
    ("Squeeze", "z = Squeeze(k)", {}, 17),
    ("Tile", "z = Tile(m, r)", {"r": ints(1, 1)}, 17),
    ("Unsqueeze", "z = Unsqueeze(m, a)", {"a": ints()}, 17),
    *((op, f"z = {op}(x, c)", {"c": np.float32(0)}, 17) for op in ("Add", "Sub")),
    *((op, f"z = {op}(x, c)", {"c": floats(1)}, 17) for op in ("Mul", "Div", "Pow")),
    ("Mul", "z = Mul(c, x)", {"c": np.float32(1)}, 17),
    ("And", "z = And(c, b)", {"c": np.array([True])}, 17),
    *((op, f"z = {op}(b, c)", {"c": np.array([False])}, 17) for op in ("Or", "Xor")),
    *((op, f"z = {op}(i, c)", {"c": np.array([0], "int32")}, 18) for op in ("BitwiseOr", "BitwiseXor")),
    ("BitwiseAnd", "z = BitwiseAnd(i, c)", {"c": np.array([-1], "int32")}, 18),
]  # fmt: skip
KEPT: list[tuple[str, str, dict[str, Any], int]] = [
    ("ReduceSum", "z = ReduceSum<keepdims = 0>(x, a)", {"a": ints(2)}, 18),
    ("ReduceSum", "z = ReduceSum(x, a)", {"a": ints(1)}, 18),
    ("ReduceSum", "z = ReduceSum(x)", {}, 18),
    ("ReduceMax", "z = ReduceMax(x, a)", {"a": ints(0)}, 18),
    ("Max", "z = Max(x, c)", {"c": np.float32(0)}, 17),
    ("Sum", "z = Sum(x, x)", {}, 17),
    ("Relu", "y1 = Tanh(x) z = Relu(y1)", {}, 17),
    ("Relu", "y1 = Abs(i) z = Relu(y1)", {}, 17),  # the least integer has no absolute value
    ("Abs", "y1 = Floor(x) z = Abs(y1)", {}, 17),
    ("Neg", "y1 = Abs(x) z = Neg(y1)", {}, 17),
    ("QuantizeLinear", "q = QuantizeLinear(x, s, o) d = DequantizeLinear(q, s, o) r = QuantizeLinear(d, t, o) z = DequantizeLinear(r, t, o)",
     {"s": np.float32(0.1), "t": np.float32(0.3), "o": np.uint8(3)}, 17),
    ("AveragePool", "z = AveragePool<kernel_shape = [1, 1], strides = [1, 2]>(x)", {}, 17),
    ("MaxPool", "z = MaxPool<kernel_shape = [1, 2]>(x)", {}, 17),
    ("GlobalMaxPool", "z = GlobalMaxPool(x)", {}, 17),
    ("SpaceToDepth", "z = SpaceToDepth<blocksize = 2>(h)", {}, 17),
    ("Resize", "z = Resize<coordinate_transformation_mode = \"half_pixel\">(x, , s)", {"s": floats(1, 1, 1, 2)}, 17),
    ("Resize", "z = Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, r, s)",
     {"r": floats(0, 0, 0, 0.5, 1, 1, 1, 1), "s": floats(1, 1, 1, 1)}, 17),
    ("Clip", "z = Clip(x, l)", {"l": np.float32(0)}, 17),
    ("Clip", "z = Clip(x, , h)", {"h": np.float32(1)}, 17),
    ("CumSum", "z = CumSum<exclusive = 1>(x, a)", {"a": np.int64(2)}, 17),
    ("CumSum", "z = CumSum(x, a)", {"a": np.int64(1)}, 17),
    ("Expand", "z = Expand(p, s)", {"s": ints(1, 1, 1, 2)}, 17),
    ("Flatten", "z = Flatten<axis = 0>(m)", {}, 17),
    ("Flatten", "z = Flatten(x)", {}, 17),
    ("Gather", "z = Gather<axis = 1>(x, a)", {"a": ints(0, 2, 1)}, 17),
    ("Gather", "z = Gather<axis = 1>(x, a)", {"a": ints(0, 1)}, 17),
    ("Pad", "z = Pad(m, w)", {"w": ints(0, 0, 0, 1)}, 17),
    ("Slice", "z = Slice(x, s, e, a)", {"s": ints(0), "e": ints(2), "a": ints(1)}, 17),
    ("Slice", "z = Slice(x, s, e, a)", {"s": ints(0), "e": ints(1000), "a": ints(0)}, 17),
    ("Slice", "z = Slice(x, s, e, a, t)", {"s": ints(-1), "e": ints(-FAR), "a": ints(1), "t": ints(-1)}, 17),
    ("Slice", "z = Slice(x, s, e, a)", {"s": ints(1), "e": ints(FAR), "a": ints(3)}, 17),
    ("Split", "z, v = Split<axis = 1>(m, l)", {"l": ints(4, 1)}, 17),
    ("Squeeze", "z = Squeeze(x)", {}, 17),
    ("Squeeze", "z = Squeeze(m)", {}, 17),
    ("Tile", "z = Tile(m, r)", {"r": ints(1, 2)}, 17),
    ("Unsqueeze", "z = Unsqueeze(m, a)", {"a": ints(0)}, 17),
    ("Add", "z = Add(x, c)", {"c": np.zeros((1, 1, 1, 1, 1), "float32")}, 17),
    ("Add", "z = Add(p, c)", {"c": np.zeros((1, 2), "float32")}, 17),
    ("Pow", "z = Pow(c, x)", {"c": np.float32(1)}, 17),
    ("Sub", "z = Sub(c, x)", {"c": np.float32(0)}, 17),
    ("And", "z = And(b, c)", {"c": np.array([False])}, 17),
]  # fmt: skip


def model(body: str, weights: dict[str, Any], opset: int) -> Any:
    """Return the model of a node: its result z goes through one more node, for an output keeps its name."""
    read = [name for name in INPUTS if re.search(rf"[(, ]{name}[,)]", body) and name not in weights]
    inputs = ", ".join(f"{INPUTS[name][0]}[{INPUTS[name][1]}] {name}" for name in read)
    kind = INPUTS[read[0]][0] if read else "float"
    last = "y = Not(z)" if kind == "bool" else "y = Mul(z, z)"
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({kind} y) {{ {body} {last} }}'
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items())
    return proto


def results(proto: Any, size: int) -> list[Any]:
    rng = np.random.default_rng(size)
    feed = {}
    for value in proto.graph.input:
        kind, shape = INPUTS[value.name]
        drawn = rng.normal(0, 3, [size if dim == "N" else int(dim) for dim in shape.split(", ")])
        feed[value.name] = (drawn > 0) if kind == "bool" else drawn.astype(KINDS[kind])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feed))


def small(case: tuple[str, str, dict[str, Any], int]) -> Any:
    """Return a smaller model, after a look at its values at several sizes."""
    before = model(*case[1:])
    after = simplify_nodes(before).model
    for size in (0, 1, 2, 3):
        for one, other in zip(results(after, size), results(before, size), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    return after


def operators(proto: Any) -> list[str]:
    return [node.op_type for node in proto.graph.node]


@each("case", DROPPED, ids=lambda case: case[1])
def test_a_node_that_changes_nothing_is_dropped(case: Any) -> None:
    before = operators(model(*case[1:]))
    assert len(operators(small(case))) < len(before)
    assert operators(small(case)).count(case[0]) < before.count(case[0])


@each("case", KEPT, ids=lambda case: case[1])
def test_a_node_that_changes_something_stays(case: Any) -> None:
    assert operators(small(case)) == operators(model(*case[1:]))


def test_every_operator_of_the_tables_has_a_case() -> None:
    assert {case[0] for case in DROPPED} >= {*UNCHANGED, *NEUTRAL} - {"BitShift"}
