"""Each Relay node knows the ONNX node it comes from."""

from __future__ import annotations

import onnx
from hypothesis import given
from hypothesis import strategies as st

from passlab import record, relay, transform
from passlab.frontend import from_onnx
from passlab.frontend.identifiers import LONGEST, Identifiers
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from tests.frontend.onnx_text import model

GRAPH = "g (float[2] x) => (float y) { a = Softplus(x) b = Neg(a) c = Neg(b) y = Add(c, x) }"


def named(*names: str) -> onnx.ModelProto:
    proto = model(GRAPH)
    for node, name in zip(proto.graph.node, names, strict=False):
        node.name = name
    return proto


def sources(mod: object) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for node in post_order(transform.InlineComposites()(mod)["main"].body):
        if isinstance(node, Call):
            table.setdefault(node.span.source_name, []).append(node.op.name)
    return table


def test_every_call_has_the_name_of_its_node_as_source():
    result = sources(from_onnx(named("soft", "first", "second", "last"))[0])
    assert {name: sorted(ops) for name, ops in result.items()} == {
        "soft": ["abs", "add", "add", "exp", "log", "negative", "nn.relu"],
        "first": ["negative"], "second": ["negative"], "last": ["add"],
    }  # fmt: skip


def test_nodes_without_a_name_are_called_after_their_operator():
    assert list(sources(from_onnx(model(GRAPH))[0])) == ["Softplus_0", "Neg_0", "Neg_1", "Add_0"]


def test_the_model_with_these_names_can_be_written(tmp_path):
    path = tmp_path / "named.onnx"
    from_onnx(model(GRAPH), export_node_renamed_model_path=path)
    from_onnx(model(GRAPH), export_node_renamed_model_path=tmp_path)  # TVM takes a folder
    for written in (path, tmp_path / "tvm_exported_model.onnx"):
        assert [node.name for node in onnx.load(written).graph.node] == ["Softplus_0", "Neg_0", "Neg_1", "Add_0"]


def test_the_text_of_a_source_is_its_node():
    call = from_onnx(model("g (float[4, 4] x) => (float y) { y = Flatten<axis=0>(x) }"))[0]["main"].body
    assert call.span.text == "y = Flatten[axis=0](x)"


HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e\0"


def test_hostile_names_are_shown_harmlessly():
    proto = model("g (float[2] x) => (float y) { y = Softmax<axis=7>(x) }")
    proto.graph.node[0].name = HOSTILE
    try:
        from_onnx(proto)
    except ValueError as error:
        text = str(error)
    assert not {"\x1b", "\u202e", "\0"} & set(text)
    assert "\\x1b[2J\\u202e\\x00" in text


def test_hostile_names_are_no_markup_in_a_report(tmp_path):
    record(from_onnx(named(*(f"{HOSTILE}{number}" for number in range(4))))[0], "InferType, FuseOps").to_html(
        tmp_path / "r.html"
    )
    assert "<img src=x" not in (tmp_path / "r.html").read_text(encoding="utf-8")


@given(st.lists(st.text(), unique=True, max_size=8))
def test_names_become_identifiers_no_two_alike(names):
    identifiers = Identifiers()
    results = [identifiers.of(name) for name in names]
    assert len(set(results)) == len(results)
    assert [identifiers.of(name) for name in names] == results
    for name in results:
        assert len(name) <= LONGEST + 9
        variable = relay.var(name, shape=())
        text = relay.Function([variable], variable).astext()
        assert relay.parse_expr(text).params[0].name_hint == name


def test_legal_names_are_kept():
    identifiers = Identifiers()
    assert [identifiers.of(name) for name in ("data", "conv1.weight", "conv1_weight", "0", "/layer/x")] == [
        "data", "conv1_weight", "conv1_weight1", "v0", "v_layer_x",
    ]  # fmt: skip
