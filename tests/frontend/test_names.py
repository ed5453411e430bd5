"""Names of a model survive import, passes and export: of the graph, inputs, outputs, sizes, nodes, weights, metadata."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest

from passlab import relay, transform
from passlab.errors import ModelError, PasslabError
from passlab.frontend import from_onnx, to_onnx
from tests.frontend.test_node_cases import cases, reason

ODD = ("onnx::{}.1", "/layer.0/{}", "{} with spaces", "0{}", "größe_{}", "{}:0", "main", "output")


def renamed(model: Any, is_open: bool) -> Any:
    """Return a model whose names are no identifiers, with all sizes named and open, or as they were."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model)
    graph = proto.graph
    values = [*graph.input, *graph.output]
    new = {v.name: ODD[at % len(ODD)].format(v.name) + f"#{at}" for at, v in enumerate(values)}
    for value in values:
        value.name = new[value.name]
        value.doc_string = f"about {value.name}"
        for axis, dim in enumerate(value.type.tensor_type.shape.dim if is_open else ()):
            dim.dim_param = f"{value.name} size {axis}"
    for at, node in enumerate(graph.node):
        node.name = f"/block.{at}/{node.op_type}"
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                names[place] = new.get(name, name)
    graph.name, graph.doc_string, proto.doc_string = "my graph/1", "of the graph", "of the model"
    return proto


def interface(graph: Any) -> list[Any]:
    def sizes(value: Any) -> list[str]:
        return [dim.dim_param for dim in value.type.tensor_type.shape.dim if not dim.HasField("dim_value")]

    return [graph.name, graph.doc_string] + [
        [(v.name, v.doc_string, *sizes(v)) for v in side] for side in (graph.input, graph.output)
    ]


def subset(names: list[Any], all_of: list[Any]) -> bool:
    """Whether the names are the same; a size that became known has no name any more."""
    if names[:2] != all_of[:2]:
        return False
    return all(
        [v[:2] for v in mine] == [v[:2] for v in its]
        and all(set(v[2:]) - {""} <= set(w[2:]) for v, w in zip(mine, its, strict=True))
        for mine, its in zip(names[2:], all_of[2:], strict=True)
    )


def lost(case: Any, is_open: bool) -> str | None:
    """Return what a case lost on the way through Relay, None where nothing is, or where it cannot go that way."""
    proto = renamed(case.model, is_open)
    if any(value.type.HasField("sequence_type") for value in proto.graph.output):
        return None  # a sequence is written as the tensors in it
    try:
        mod, _ = from_onnx(proto)
        written = to_onnx(mod)
    except PasslabError:
        return None
    if not subset(interface(written.graph), interface(proto.graph)) or written.doc_string != "of the model":
        return f"{interface(written.graph)} instead of {interface(proto.graph)}"
    known = {node.name for node in proto.graph.node}
    made = [n.name for n in written.graph.node if n.op_type != "Identity" and not n.name.startswith(tuple(known))]
    return f"nodes of their own names: {made}" if made else None


@pytest.mark.rotating
@pytest.mark.parametrize("is_open", [False, True])
def test_every_case_keeps_its_names(is_open: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problems = {case.name: lost(case, is_open) for case in cases()[is_open::5] if reason(case) is None}
    assert len(problems) > 300
    assert {name: text for name, text in problems.items() if text} == {}


def network() -> Any:
    """A model with a name of every kind, none an identifier."""
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[batch, 3] x, float[batch, 3] y) => (float[batch, 3] a, float[batch, 3] b)'
        "<float[3] w = {1.0, 2.0, 3.0}> { s = Add(x, w) a = Relu(s) t = Mul(y, a) b = Identity(t) }"
    )
    proto = onnx.parser.parse_model(text)
    new = {"x": "onnx::x.1", "a": "logits", "w": "layer.0.weight"}
    for value in [*proto.graph.input, *proto.graph.output, *proto.graph.initializer]:
        value.name = new.get(value.name, value.name)
    for node in proto.graph.node:
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                names[place] = new.get(name, name)
    proto.graph.node[0].name = "/layer.0/Add"
    onnx.helper.set_model_props(proto, {"author": "somebody"})
    return proto


def test_passes_leave_names_alone_and_a_session_runs_as_before() -> None:
    mod, _ = from_onnx(network())
    passes = [
        "InferType",
        "SimplifyExpr",
        "FoldConstant",
        "EliminateCommonSubexpr",
        "FuseOps",
        "DefuseOps",
        "ToANormalForm",
    ]
    written = to_onnx(transform.Sequential([getattr(transform, name)() for name in passes])(mod))
    assert interface(written.graph) == interface(network().graph)
    assert [w.name for w in written.graph.initializer] == ["layer.0.weight"]
    assert written.graph.node[0].name == "/layer.0/Add"
    assert {p.key: p.value for p in written.metadata_props} == {"author": "somebody"}
    runtime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install onnxruntime")
    session = runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.array([[-4.0, 1.0, 2.0]], "float32")
    (logits,) = session.run(["logits"], {"onnx::x.1": x, "y": x})
    np.testing.assert_array_equal(logits, [[0.0, 3.0, 5.0]])


def test_an_output_that_is_an_input_and_one_that_is_another_output() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] x, float[2] a, float[2] b) { a = Exp(x) b = Exp(x) }'
    mod, _ = from_onnx(onnx.parser.parse_model(text))
    written = to_onnx(transform.EliminateCommonSubexpr()(mod))
    assert [v.name for v in written.graph.output] == ["x", "a", "b"]
    assert sorted(node.op_type for node in written.graph.node) == ["Exp", "Identity"]
    onnx.checker.check_model(written, full_check=True)


def test_sizes_are_fixed_by_name_and_inputs_by_value() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[batch, n] x, float[batch, 2] y, int64 rate) => (float[batch, m] z)'
        "<int64 known = {16000}> { is = Equal(rate, known) z = If(is) <"
        "then_branch = t () => (float[batch, m] p) { p = Concat<axis = 1>(x, y) },"
        "else_branch = e () => (float[batch, m] q) { q = Relu(y) }> }"
    )
    model = onnx.parser.parse_model(text)
    mod, _ = from_onnx(model, shape={"batch": 4}, values={"rate": 16000})
    (x, y) = mod["main"].params
    assert (x.type_annotation.shape[0], y.type_annotation.concrete_shape) == (4, (4, 2))
    assert "if" not in str(mod)
    # The shape of an input fixes the sizes that it shares with others.
    mod, _ = from_onnx(model, shape={"x": (3, 5)})
    assert mod["main"].params[1].type_annotation.concrete_shape == (3, 2)
    assert [value.name for value in to_onnx(mod).graph.input] == ["x", "y", "rate"]
    for wrong, words in (
        ({"shape": {"batsh": 1}}, "`batch`"),
        ({"shape": {"batch": -1}}, "whole number"),
        ({"values": {"rat": 1}}, "no input `rat`"),
        ({"values": {"rate": 0.5}}, "int64"),
        ({"values": {"rate": [1, 2]}}, "shape (2,)"),
        ({"values": 3}, "by name"),
    ):
        with pytest.raises(ModelError) as caught:
            from_onnx(model, **wrong)
        assert words in str(caught.value)


def test_a_program_of_relay_has_names_of_its_own() -> None:
    x = relay.var("x", shape=(relay.Any(), 3))
    model = to_onnx(relay.Function([x], relay.exp(x)))
    assert (model.graph.name, model.graph.output[0].name) == ("main", "output")
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "d"


def test_a_node_of_many_long_outputs_keeps_its_name() -> None:
    """Its text is cut off for people; the name must not depend on what is left of it."""
    outputs = [f"model/bidirectional/forward_lstm/PartitionedCall/while_loop/part:{at}" for at in range(8)]
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Split", ["x"], outputs, "model/split of eight", axis=0, num_outputs=8)
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [16, 2])], [value(name, 1, [2, 2]) for name in outputs])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    mod, _ = from_onnx(proto)
    assert [each.name for each in to_onnx(mod).graph.node] == ["model/split of eight"]
