"""Several nodes of an exported graph as one: ONNX text in, operators and the same values out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from passlab import lab
from passlab.frontend.onnx.export.combining import RULES
from tests.frontend.onnx_text import model, reference

NORM = """m = ReduceMean<axes=[-1]>(x) c = Sub(x, m) two = Constant<value_float=2.0>() p = Pow(c, two)
    v = ReduceMean<axes=[-1]>(p) e = Constant<value_float=0.00001>() a = Add(v, e) s = Sqrt(a) d = Div(c, s)"""
ROOT = (
    "r = Constant<value_float=1.41421356>() i = Div(x, r) b = Erf(i) one = Constant<value_float=1.0>() t = Add(b, one)"
)
HALF = "h = Constant<value_float=0.5>()"
SUMS = "a = MatMul(x, wa) ka = Add(a, ba) b = MatMul(x, wb) kb = Add(bb, b) c = MatMul(x, wc) kc = Add(c, bc)"
W = {name: np.arange(12, dtype="float32").reshape(4, 3) / (7 + at) for at, name in enumerate(("wa", "wb", "wc"))}
B = {name: np.arange(3, dtype="float32") + at for at, name in enumerate(("ba", "bb", "bc"))}
LAYER = {"g": np.linspace(1, 2, 4, dtype="float32"), "k": np.linspace(0, 1, 4, dtype="float32")}

CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "a layer norm": (
        f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ {NORM} q = Mul(d, g) y = Add(q, k) }}",
        LAYER,
        ["LayerNormalization"],
    ),
    "a layer norm the other way round": (
        f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ {NORM} q = Mul(g, d) y = Add(k, q) }}",
        LAYER,
        ["LayerNormalization"],
    ),
    "a GELU": (f"g (float[2, 3] x) => (float[2, 3] y) {{ {ROOT} {HALF} z = Mul(x, t) y = Mul(z, h) }}", {}, ["Gelu"]),
    "a GELU with the half first": (
        f"g (float[2, 3] x) => (float[2, 3] y) {{ {ROOT} {HALF} z = Mul(h, x) y = Mul(z, t) }}",
        {},
        ["Gelu"],
    ),
    "products of one input": (
        f"g (float[1, 2, 4] x) => (float[1, 2, 3] y) {{ {SUMS} l = Add(ka, kb) y = Mul(l, kc) }}",
        W | B,
        ["MatMul", "Add", "Split", "Add", "Mul"],
    ),
    "a sum of products": (
        "g (float[2, 4] x, float[2, 4] z) => (float[2, 3] y) { a = MatMul(x, wa) b = MatMul(z, wb) y = Add(a, b) }",
        W,
        ["Gemm", "Gemm"],
    ),
    "reshapes around axes of one element": (
        """g (float[1, 1, 8] x) => (float[8, 1] y) { s = Constant<value_ints=[1, 1, 2, 4]>() a = Reshape(x, s)
           b = Transpose<perm=[0, 2, 1, 3]>(a) u = Constant<value_ints=[8, 1]>() y = Reshape(b, u) }""",
        {},
        ["Reshape"],
    ),
    "a convolution whose readers add to each channel": (
        """g (float[1, 1, 4, 4] x) => (float[1, 2, 2, 2] y) { c = Conv(x, w) a = Add(c, b1) r = Relu(a) d = Add(c, b2) y = Mul(r, d) }""",
        {
            "w": np.arange(18, dtype="float32").reshape(2, 1, 3, 3) / 9,
            "b1": np.array([1, -2], "float32").reshape(1, 2, 1, 1),
            "b2": np.array([3, 5], "float32").reshape(1, 2, 1, 1),
        },
        ["Conv", "Relu", "Add", "Mul"],
    ),
}


def inputs_of(proto: Any) -> list[Any]:
    draw = np.random.default_rng(4)
    weights = {tensor.name for tensor in proto.graph.initializer}
    shapes = [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in proto.graph.input if v.name not in weights]
    return [draw.normal(size=shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("name", CASES)
def test_nodes_become_one(name: str) -> None:
    text, weights, expected = CASES[name]
    proto = model(text, 17, **weights)
    small = lab.simplify(proto)
    after = small.model()
    onnx.checker.check_model(after, full_check=True)
    assert [node.op_type for node in after.graph.node] == expected
    inputs = inputs_of(proto)
    np.testing.assert_allclose(reference(after, *inputs)[0], reference(proto, *inputs)[0], rtol=1e-5, atol=1e-6)
    assert "values agree" in small.agreement


LEFT: dict[str, tuple[str, dict[str, Any], str]] = {
    "along another axis": (
        f"g (float[2, 4, 4] x) => (float[2, 4, 4] y) {{ {NORM.replace('axes=[-1]', 'axes=[1]')} q = Mul(d, g) y = Add(q, k) }}",
        LAYER,
        "LayerNormalization",
    ),
    "with a deviation that is read as well": (
        f"g (float[2, 4] x) => (float[2, 4] y, float[2, 1] s) {{ {NORM} q = Mul(d, g) y = Add(q, k) }}",
        LAYER,
        "LayerNormalization",
    ),
    "of another number": (
        f"g (float[2, 3] x) => (float[2, 3] y) {{ {ROOT.replace('1.41421356', '1.5')} {HALF} z = Mul(x, t) y = Mul(z, h) }}",
        {},
        "Gelu",
    ),
    "of two inputs": (
        f"g (float[2, 3] x, float[2, 3] w) => (float[2, 3] y) {{ {ROOT} {HALF} z = Mul(w, t) y = Mul(z, h) }}",
        {},
        "Gelu",
    ),
    "of fewer than three products": (
        "g (float[1, 2, 4] x) => (float[1, 2, 3] y) { a = MatMul(x, wa) c = Add(a, ba) b = MatMul(x, wb) d = Add(b, bb) y = Mul(c, d) }",
        W | B,
        "Split",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_means_something_else_is_left(name: str) -> None:
    text, weights, absent = LEFT[name]
    proto = model(text, 17, **weights)
    after = lab.simplify(proto).model()
    assert absent not in [node.op_type for node in after.graph.node]
    inputs = inputs_of(proto)
    for one, other in zip(reference(after, *inputs), reference(proto, *inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_rule_can_be_left_out_and_is_told() -> None:
    text, weights, _ = CASES["a layer norm"]
    small = lab.simplify(model(text, 17, **weights))
    assert "CombineLayerNorm" in small.table().column("pass")
    kept = lab.simplify(model(text, 17, **weights), disabled_pass=["CombineLayerNorm"])
    assert "LayerNormalization" not in [node.op_type for node in kept.model().graph.node]
    assert kept.nodes_after > small.nodes_after
    assert set(RULES) >= {"CombineLayerNorm", "CombineGelu", "CombineParallelProducts", "CombineReshapes"}
