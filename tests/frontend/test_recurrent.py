"""Recurrent layers are one operator: imported, computed, exported, written out; beside ONNX and onnxruntime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import passlab
from passlab import relay, transform
from passlab.display.views.graph import GraphView
from passlab.frontend import from_onnx
from passlab.ir.expr import Call
from passlab.ir.op import op_name
from passlab.ir.walk import post_order
from tests.frontend.onnx_text import assert_close, reference, run

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, SIZE, HIDDEN = 5, 2, 3, 4
KINDS = ("LSTM", "GRU", "GRU before", "RNN", "RNN relu")


def layer(kind: str, direction: str, bias: bool, lengths: bool, state: bool, is_open: bool) -> tuple[Any, list[Any]]:
    """A model of one layer, and values of its inputs."""
    name, _, how = kind.partition(" ")
    count, gates = 2 if direction == "bidirectional" else 1, GATES[name]
    rng = np.random.default_rng(7)
    shapes = {
        "w": (count, gates * HIDDEN, SIZE),
        "r": (count, gates * HIDDEN, HIDDEN),
        "b": (count, 2 * gates * HIDDEN),
    }
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype("float32"), part)
        for part, shape in shapes.items()
        if part != "b" or bias
    ]
    steps, batch = ("T", "N") if is_open else (STEPS, BATCH)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, SIZE])]
    given = [rng.standard_normal((STEPS, BATCH, SIZE)).astype("float32")]
    names = ["x", "w", "r", "b" if bias else "", "n" if lengths else ""]
    if lengths:
        inputs.append(helper.make_tensor_value_info("n", TensorProto.INT32, [batch]))
        given.append(np.array([STEPS, 2], "int32"))
    for part in (("h", "c") if name == "LSTM" else ("h",)) if state else ():
        inputs.append(helper.make_tensor_value_info(part, TensorProto.FLOAT, [count, batch, HIDDEN]))
        given.append(rng.standard_normal((count, BATCH, HIDDEN)).astype("float32"))
        names.append(part)
    attributes = {"before": {"linear_before_reset": 1}, "relu": {"activations": ["Relu"] * count}}.get(how, {})
    outputs = ["y", "last", *(["cell"] if name == "LSTM" else [])]
    node = helper.make_node(name, names, outputs, "my layer", hidden_size=HIDDEN, direction=direction, **attributes)
    results = [helper.make_tensor_value_info(out, TensorProto.FLOAT, None) for out in outputs]
    graph = helper.make_graph([node], "g", inputs, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), given


def by_runtime(proto: Any, given: list[Any]) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install passlab[bench]")
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    results: list[Any] = session.run(None, dict(zip([i.name for i in proto.graph.input], given, strict=True)))
    return results


def operators(mod: Any) -> list[str]:
    return [op_name(node) for node in post_order(mod["main"].body) if isinstance(node, Call)]


@pytest.mark.rotating
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_layer_computes_what_onnx_says(kind: str, direction: str) -> None:
    for bias, lengths, state, is_open in itertools.product([True, False], repeat=4):
        proto, given = layer(kind, direction, bias, lengths, state, is_open)
        expected = by_runtime(proto, given)
        if not lengths and kind != "RNN relu":  # ONNX has no reference for relu
            assert_close(expected, reference(proto, *given))
        mod, _ = from_onnx(proto)
        assert operators(mod) == ["contrib.recurrent"]
        for executor in ("debug", "graph", "vm"):
            assert_close(run(executor, mod, *given), expected)
        assert_close(run("vm", passlab.parse(mod.astext()), *given), expected)
        written = relay.to_onnx(mod)
        onnx.checker.check_model(written, full_check=True)
        assert [(node.op_type, node.name) for node in written.graph.node] == [(kind.split()[0], "my layer")]
        assert_close(by_runtime(written, given), expected)


@pytest.mark.rotating
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_written_out_where_a_pass_wants_to_see_its_steps(kind: str) -> None:
    for direction, lengths, state in itertools.product(["reverse", "bidirectional"], [True, False], [True, False]):
        proto, given = layer(kind, direction, True, lengths, state, False)
        mod, _ = from_onnx(proto)
        flat = transform.UnrollRecurrent()(mod)
        assert "contrib.recurrent" not in operators(flat)
        assert "nn.dense" in operators(flat)
        assert_close(run("vm", flat, *given), run("vm", mod, *given))
    still, _ = from_onnx(layer(kind, "forward", True, False, False, True)[0])
    assert transform.UnrollRecurrent()(still) is still, "steps of an open number cannot be written out"


def test_a_long_layer_is_one_box_and_a_few_lines() -> None:
    proto, _ = layer("LSTM", "bidirectional", True, False, False, False)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4000
    mod, _ = from_onnx(proto)
    assert len(mod.astext(show_meta_data=False)) < 2000
    boxes = [box for box in GraphView(mod["main"]).graph.boxes if box.name == "contrib.recurrent"]
    assert len(boxes) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats_are_rounded_at_the_end_only(dtype: str) -> None:
    text = f"""def @main(%x: Tensor[(5, 2, 3), {dtype}], %w: Tensor[(1, 12, 3), {dtype}], %r: Tensor[(1, 12, 4), {dtype}]) {{
        %0 = (); contrib.recurrent(%x, %w, %r, %0, mode="gru") }}"""
    rng = np.random.default_rng(0)
    values = [relay.const(rng.standard_normal(shape), dtype).data for shape in ((5, 2, 3), (1, 12, 3), (1, 12, 4))]
    wide = [value.astype("float64") for value in values]
    exact = run("debug", passlab.parse(text.replace(dtype, "float64")), *wide)
    for ours, theirs in zip(run("vm", passlab.parse(text), *values), exact, strict=True):
        assert ours.dtype == values[0].dtype
        eps = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float64": 2.0**-52}[dtype]
        np.testing.assert_allclose(ours.astype("float64"), theirs, rtol=4 * eps, atol=4 * eps)


ACTIVATIONS = {
    "Tanh": lambda x, alpha, beta: np.tanh(x),
    "Relu": lambda x, alpha, beta: np.maximum(x, 0),
    "LeakyRelu": lambda x, alpha, beta: np.where(x >= 0, x, alpha * x),
    "ThresholdedRelu": lambda x, alpha, beta: np.where(x > alpha, x, 0),
    "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "ScaledTanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "Affine": lambda x, alpha, beta: alpha * x + beta,
    "Elu": lambda x, alpha, beta: np.where(x >= 0, x, alpha * (np.exp(x) - 1)),
    "Softsign": lambda x, alpha, beta: x / (1 + np.abs(x)),
    "Softplus": lambda x, alpha, beta: np.log1p(np.exp(x)),
}
ALPHAS, BETAS = (
    ("LeakyRelu", "ThresholdedRelu", "HardSigmoid", "ScaledTanh", "Affine", "Elu"),
    ("HardSigmoid", "ScaledTanh", "Affine"),
)


@pytest.mark.parametrize("first", ACTIVATIONS)
@pytest.mark.parametrize("second", ["Tanh", "LeakyRelu", "Affine"])
def test_activations_take_their_own_parameters(first: str, second: str) -> None:
    draw = np.random.default_rng(3)
    x, w, r = (draw.normal(size=shape).astype("float32") for shape in ((3, 2, 4), (2, 5, 4), (2, 5, 5)))
    names, alphas, betas = (first, second), (0.3, 0.7), (0.2, 0.4)
    numbers = {
        "activation_alpha": [a for a, name in zip(alphas, names, strict=True) if name in ALPHAS],
        "activation_beta": [b for b, name in zip(betas, names, strict=True) if name in BETAS],
    }
    stated = {name: values for name, values in numbers.items() if values}
    node = helper.make_node(
        "RNN", ["x", "w", "r"], ["y"], hidden_size=5, direction="bidirectional", activations=names, **stated
    )
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(r, "r")]
    model = helper.make_model(helper.make_graph([node], "net", inputs, outputs, weights))
    expected = np.zeros((3, 2, 2, 5))
    for at, (name, alpha, beta) in enumerate(zip(names, alphas, betas, strict=True)):
        state = np.zeros((2, 5))
        for step in (range(3), reversed(range(3)))[at]:
            state = ACTIVATIONS[name](x[step] @ w[at].T + state @ r[at].T, alpha, beta)
            expected[step, at] = state
    mod = from_onnx(model, freeze_params=True)[0]
    (result,) = run("vm", mod, x)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
