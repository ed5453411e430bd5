"""`lab.simplify`: fewer nodes, the same values, and each removal is undone by disabling its pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import passlab
from benchmarks.simplify import MODELS
from passlab import cli, lab, relay
from passlab.evaluate import Evaluator
from passlab.evaluate.samples import random_arguments
from passlab.frontend import from_onnx
from passlab.frontend.onnx.export.table import writers
from passlab.lab.simplification import nodes_of
from tests.each import each
from tests.frontend.test_export_operators import programs
from tests.frontend.test_names import interface, subset


def values(mod: passlab.IRModule, arguments: list[Any]) -> list[Any]:
    result = Evaluator(mod).run(mod.get_global_var("main"), arguments)
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


@each("name", MODELS)
def test_models_become_smaller_and_keep_their_values(name: str) -> None:
    model = MODELS[name]()
    small = lab.simplify(model)
    if name != "branches":  # a model that states no shape of its output
        onnx.checker.check_model(small.model(), full_check=True)
    assert subset(interface(small.model().graph), interface(model.graph))
    assert nodes_of(small.model().graph) == small.nodes_after <= small.nodes_before == nodes_of(model.graph)
    sizes = {"dynamic_detection": {"x": (2, 8, 6, 6)}, "neighbours": {"x": (4, 3)}, "positions": {"x": (2, 7)}}.get(
        name
    )
    before, after = from_onnx(model, sizes)[0], from_onnx(small.model(), sizes)[0]
    arguments = random_arguments(before["main"], 3, "")
    for one, other in zip(values(after, arguments), values(before, arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert "values agree" in small.text()
    assert small.compared.is_right


# The nodes that the better of onnxsim 0.8.1 and onnxslim 0.1.98 leaves, by `python -m benchmarks.simplify`.
BEST = {
    "convolutional": 9,
    "transformer": 21,
    "duplicates": 2,
    "constant_shapes": 5,
    "detection": 9,
    "recurrent": 17,
    "residual": 21,
    "mobile": 11,
    "squeeze_and_excite": 11,
    "inception": 11,
    "encoder_decoder": 9,
    "gelu_layers": 16,
    "decoder_layer": 33,
    "cached_attention": 17,
    "rotary": 22,
    "temporal": 10,
    "dynamic_detection": 11,
    "quantized": 11,
    "branches": 10,
    "embedding": 14,
    "rows": 13,
    "neighbours": 12,
    "positions": 11,
}


@pytest.mark.rotating
@each("name", MODELS)
def test_no_other_tool_leaves_fewer_nodes(name: str) -> None:
    assert lab.simplify(MODELS[name]()).nodes_after <= BEST[name]


@pytest.mark.rotating
@pytest.mark.parametrize("name", writers())
def test_a_program_of_relay_is_counted_in_nodes_of_onnx_before_and_after(name: str) -> None:
    """A call of Relay may be several nodes: 319 calls that became 450 of 484 nodes looked like a larger model."""
    for text, mod, _ in programs(name, ("float32",)):
        small = lab.simplify(mod)
        if not small.not_written:
            assert small.nodes_after <= small.nodes_before == nodes_of(small.before.graph), text


def test_removals_are_explained_and_undone() -> None:
    small = lab.simplify(MODELS["convolutional"]())
    row = next(row for row in small.table() if row["pass"] == "FoldScaleAxis")
    assert "3 BatchNormalization" in row["removed"]
    kept = lab.simplify(MODELS["convolutional"](), disabled_pass=["FoldScaleAxis"])
    assert sum(node.op_type == "BatchNormalization" for node in kept.model().graph.node) == 3
    assert kept.nodes_after > small.nodes_after


@pytest.mark.rotating
@pytest.mark.parametrize("name", MODELS)
def test_each_removal_is_told_and_undone_by_its_pass(name: str) -> None:
    small = lab.simplify(MODELS[name]())
    rows = small.table().column("pass")
    if small.nodes_after != small.nodes_before:
        assert rows, "nodes are gone, and no row says why"
    for switched in dict.fromkeys(rows):
        kept = lab.simplify(MODELS[name](), disabled_pass=[switched])
        assert switched not in kept.table().column("pass")
        assert kept.nodes_after >= small.nodes_after
        assert kept.compared.is_right
    disabled: list[str] = []
    for _ in range(9):
        bare = lab.simplify(MODELS[name](), disabled_pass=disabled)
        if not bare.table().rows:
            break
        disabled += bare.table().column("pass")  # without some, other ones may find something
    assert bare.table().rows == []
    assert bare.nodes_after == bare.nodes_before


def test_nodes_whose_values_are_known_are_told_in_operators_of_onnx() -> None:
    small = lab.simplify(MODELS["detection"]())
    assert small.table().rows == [("", "FoldConstant", "1 Concat, 1 Mul, 1 Shape, 1 Slice", "")]


def test_layer_norms_stay_whole() -> None:
    x = relay.var("x", shape=(2, 8))
    one = relay.const(np.ones(8, "float32"))
    mod = passlab.IRModule.from_expr(relay.Function([x], relay.nn.layer_norm(x, one, one)))
    small = lab.simplify(mod)
    assert [node.op_type for node in small.model().graph.node] == ["LayerNormalization"]


def test_shapes_can_be_fixed_and_unknown_ones_are_said() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (float[n, 4] x) => (float[m] y) { s = Shape(x) y = Cast <to = 1> (s) }'
    )
    assert lab.simplify(proto, shape={"x": (3, 4)}).nodes_after <= 1
    assert lab.simplify(proto).agreement.startswith("values agree for 4 draws of the open sizes (several, 1, 0, 7)")
    assert lab.simplify(proto, shape={"n": 3}).nodes_after <= 1
    assert lab.simplify(proto, values={"x": np.zeros((3, 4))}).model().graph.input == []


def test_the_command_writes_a_model_and_explains(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "net.onnx", tmp_path / "small.onnx"
    onnx.save(MODELS["duplicates"](), path)
    assert cli.main(["opt", str(path), "simplify", "-o", str(out), "--shape", "x=2,3,4"]) == 0
    text = capsys.readouterr().err
    assert "15 nodes before, 2 after" in text
    assert "EliminateCommonSubexpr" in text
    assert nodes_of(onnx.load(out).graph) == 2
    assert cli.main(["opt", str(path), "simplify", "--shape", "2,3"]) == 1
    assert "NAME=1,3,224,224" in capsys.readouterr().err
    assert cli.main(["opt", str(tmp_path / "nowhere.onnx"), "simplify"]) == 1


def test_a_program_that_onnx_cannot_say_is_counted_in_operators_of_relay_and_the_reason_is_told() -> None:
    text = 'def @main(%x: Tensor[(3), float32]) { reinterpret(negative(negative(%x)), dtype="int32") }'
    small = lab.simplify(passlab.parse(text))
    assert "`reinterpret`" in small.not_written
    assert small.not_written in small.text()
    assert "as operators of Relay" in small.text()
    assert lab.simplify(passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }")).not_written == ""


@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a branch"])
def test_no_inputs_without_elements_where_these_end_the_process(inside: bool) -> None:
    """Onnxruntime divides by the number of elements of an Einsum."""
    product = 'Einsum<equation = "ij,jk->ik">(x, x)'
    branch = f"If<then_branch = a () => (float[N,N] p) {{ p = {product} }}, else_branch = b () => (float[N,N] q) {{ q = Neg(x) }}>(c)"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g (float[N,N] x, bool c) => (float[N,N] y)
        {{ z = {branch if inside else product} w = Identity(z) y = Identity(w) }}"""
    )
    pytest.importorskip("onnxruntime")
    small = lab.simplify(model)
    assert small.compared.is_right
    assert "(several, 1, 7)" in small.agreement


def test_sizes_that_a_model_takes_are_found() -> None:
    pytest.importorskip("onnxruntime")
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (float[N,2] x) => (float[M,2] y)
        { k = Constant<value_ints = [9, 2]>() z = Reshape(x, k) y = Identity(z) }"""
    )
    assert lab.simplify(model).compared.is_right
