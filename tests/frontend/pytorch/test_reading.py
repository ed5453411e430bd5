"""What the reader of exported PyTorch programs makes of names, places, shapes and bad input."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import errors, relay, transform
from passlab.frontend import from_pytorch
from passlab.frontend.pytorch.node import common_dtype
from passlab.frontend.pytorch.program import FORMAT, from_data, to_data
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from tests.frontend.pytorch.test_archive import files, write

PROGRAMS = Path(__file__).parent / "programs"


def program(*nodes: dict[str, Any], results: Any = None, **weights: Any) -> dict[str, Any]:
    """Return a stored program of one input `x: Tensor[(2, 3), float32]`."""
    names = [{"args": [{"node": "x"}], **node} for node in nodes]
    x = {"name": "x", "type": {"dtype": "float32", "shape": [2, 3]}}
    return {
        "format": FORMAT,
        "version": 1,
        "name": "Net",
        "inputs": [x],
        "nodes": names,
        "results": results or [{"node": names[-1]["name"]}],
        "weights": weights,
    }


def stored(name: str) -> dict[str, Any]:
    return json.loads((PROGRAMS / f"{name}.json").read_text())["program"]


def test_a_program_becomes_relay() -> None:
    mod, params = from_pytorch(
        program(
            {"name": "a", "op": "aten.relu.default"}, {"name": "b", "op": "aten.tanh.default", "args": [{"node": "a"}]}
        )
    )
    expected = passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { tanh(nn.relu(%x)) }")
    passlab.ir.assert_structural_equal(mod, transform.InferType()(expected))
    assert params == {}


def test_weights_are_parameters_under_their_names_or_constants() -> None:
    mod, params = from_pytorch(stored("mlp"))
    assert [p.name_hint for p in mod["main"].params] == [
        "x",
        "layers_0_weight",
        "layers_0_bias",
        "layers_2_weight",
        "layers_2_bias",
    ]
    assert {name: array.shape for name, array in params.items()}["layers_0_weight"] == (16, 8)
    frozen, none = relay.frontend.from_pytorch(stored("mlp"), freeze_params=True)
    assert [p.name_hint for p in frozen["main"].params] == ["x"]
    assert none == {}


def test_weights_that_nothing_reads_are_no_parameters() -> None:
    _, params = from_pytorch(stored("cnn"))
    assert not any("num_batches_tracked" in name for name in params)


def test_a_dynamic_dimension_serves_inputs_of_many_sizes() -> None:
    mod, _params = from_pytorch(stored("mlp"), freeze_params=True)
    assert "Tensor[(?, 8), float32]" in str(mod["main"].params[0].type_annotation)
    run = relay.create_executor("vm", mod).evaluate()
    for rows in (1, 2, 17):
        assert run(np.ones((rows, 8), "float32")).shape == (rows, 4)


def test_an_expression_of_dynamic_dimensions_is_computed_when_the_program_runs() -> None:
    mod, _ = from_pytorch(stored("dynamic_shapes"))
    x = np.random.default_rng(0).normal(size=(5, 7, 6)).astype("float32")
    results = relay.create_executor("vm", mod).evaluate()(x)
    np.testing.assert_array_equal(results[0], x.reshape(35, 6))
    np.testing.assert_array_equal(results[5], x[:, :6])
    np.testing.assert_array_equal(results[7], x.transpose(1, 0, 2).reshape(7, 30))


@pytest.mark.parametrize("at", [0, 1, 2, -1, -2, -3])
def test_a_row_is_taken_from_the_front_or_the_end_of_an_open_axis(at: int) -> None:
    data = program({"name": "a", "op": "aten.select.int", "args": [{"node": "x"}, 0, at]})
    data["inputs"][0]["type"]["shape"] = ["s0", 3]
    function = relay.create_executor("vm", from_pytorch(data)[0]).evaluate()
    for rows in (3, 5):
        x = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
        np.testing.assert_array_equal(function(x), x[at])


@pytest.mark.parametrize(("axis", "start", "length"), [(0, 0, 1), (1, 1, 2), (-1, 0, 2), (1, -2, 1)])
def test_a_part_of_an_axis_begins_at_its_start(axis: int, start: int, length: int) -> None:
    data = program({"name": "a", "op": "aten.narrow.default", "args": [{"node": "x"}, axis, start, length]})
    x = np.arange(6, dtype="float32").reshape(2, 3)
    result = relay.create_executor("vm", from_pytorch(data)[0]).evaluate()(x)
    first = start % x.shape[axis]
    np.testing.assert_array_equal(result, np.take(x, range(first, first + length), axis))


def test_a_node_stands_at_the_users_line_of_python() -> None:
    mod, _ = from_pytorch(stored("resnet_block"))
    span = mod["main"].body.span
    assert span.source_name == "tests/frontend/pytorch/networks.py"
    line = (Path(__file__).parent / "networks.py").read_text().splitlines()[span.line - 1]
    assert span.source_line(span.line).startswith(line.strip())
    assert span.text == span.source_line(span.line)
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call)]
    assert len(calls) > 3
    assert all(node.span is not None for node in calls)


def test_the_biography_of_a_rewritten_node_reaches_the_line_of_python() -> None:
    mod, _ = from_pytorch(stored("cnn"), freeze_params=True)
    recording = passlab.record(mod, ["SimplifyInference", "FoldConstant", "FuseOps"])
    story = str(recording.biography(recording.output["main"].body))
    assert "input: nn.bias_add at tests/frontend/pytorch/networks.py:" in story


def test_a_wrong_type_is_told_at_the_line_of_python_with_model_and_operator() -> None:
    wrong = program(
        {
            "name": "bad",
            "op": "aten.add.Tensor",
            "args": [{"node": "x"}, {"node": "w"}],
            "module": "layers.1",
            "place": ["net.py", 12, "return x + self.w"],
        },
        w={"dtype": "float32", "shape": [4], "data": "AAAAAAAAAAAAAAAAAAAAAA=="},
    )
    wrong["inputs"].append({"name": "w", "weight": "w"})
    with pytest.raises(errors.ModelError) as caught:
        from_pytorch(wrong)
    text = str(caught.value)
    assert " --> net.py:12:1" in text
    assert "return x + self.w  # layers.1: aten.add.Tensor, node bad" in text
    assert "in the model `Net`" in text


def test_operators_that_are_not_supported_are_told_at_once() -> None:
    nodes = [
        {"name": "a", "op": "aten.fft_fft.default"},
        {"name": "b", "op": "aten.rela.default", "args": [{"node": "a"}]},
    ]
    with pytest.raises(errors.ModelError) as caught:
        from_pytorch(program(*nodes))
    text = str(caught.value)
    assert "`aten.fft_fft.default` is not supported" in text
    assert "did you mean `aten.relu`" in text
    assert "used by `b` of `Net`" in text


def test_nodes_that_no_result_needs_are_left_out() -> None:
    mod, _ = from_pytorch(
        program({"name": "a", "op": "aten.unknown.default"}, {"name": "b", "op": "aten.relu.default"})
    )
    assert "nn.relu" in str(mod)


def test_what_pytorch_says_of_a_result_is_held_against_relay() -> None:
    node = {"name": "a", "op": "aten.relu.default", "type": {"dtype": "float32", "shape": [3, 2]}}
    with pytest.raises(errors.ModelError, match="another shape in Relay than in PyTorch"):
        from_pytorch(program(node))


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([("int32", 2), ("int64", 2)], "int64"),
        ([("int32", 2), ("int64", 1)], "int32"),
        ([("int32", 2), ("float32", 0)], "float32"),
        ([("float16", 2), ("float32", 0)], "float16"),
        ([("float16", 2), ("float64", 1)], "float16"),
        ([("int8", 2), ("float64", 1)], "float64"),
        ([("uint8", 2), ("int8", 2)], "int16"),
        ([("bool", 2), ("int64", 0)], "int64"),
        ([("float16", 2), ("bfloat16", 2)], "float32"),
        ([("bool", 1), ("float32", 0)], "float32"),
        ([("uint8", 2), ("int32", 2)], "int32"),
        ([("int64", 0), ("float32", 0)], "float32"),
    ],
)
def test_operands_meet_in_pytorchs_dtype(operands: list[tuple[str, int]], expected: str) -> None:
    assert common_dtype(operands) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("format"), "not a stored PyTorch program"),
        (lambda p: p.update(version=9), "reads version 1"),
        (lambda p: p.update(nodes=3), "`nodes` is not a list"),
        (lambda p: p["nodes"][0].pop("op"), "`op` is not a text"),
        (lambda p: p["inputs"][0]["type"].update(dtype="complex64"), "no tensors of this dtype"),
        (lambda p: p["inputs"][0]["type"].update(shape=[-1]), "a dimension is a number"),
        (lambda p: p["nodes"][0].update(args=[{"node": "nowhere"}]), "reads `nowhere`"),
        (lambda p: p["nodes"][0].update(args=[{"odd": 1}]), "this is not an argument"),
        (lambda p: p["nodes"][0].update(args=[]), "invalid arguments"),
        (lambda p: p.update(results=[None]), "returns no tensor"),
        (lambda p: p["inputs"].append({"name": "w", "weight": "gone"}), "lacks the weight `gone`"),
        (lambda p: p["weights"].update(w={"dtype": "int8", "shape": [2], "data": "AA=="}), "bytes of its shape"),
        (lambda p: p["weights"].update(w={"dtype": "int8", "shape": [2], "data": "?"}), "not in base64"),
        (lambda p: p["nodes"][0].update(place=["f", 0, "x"]), "a place is a file"),
    ],
)
def test_a_damaged_program_is_told(change: Any, message: str) -> None:
    data = program({"name": "a", "op": "aten.relu.default"})
    change(data)
    with pytest.raises(errors.ModelError, match=message):
        from_pytorch(data)


def test_a_weight_too_large_is_refused_before_it_is_allocated() -> None:
    data = program({"name": "a", "op": "aten.relu.default"}, w={"dtype": "int8", "shape": [1 << 40], "data": ""})
    with pytest.raises(errors.LimitError):
        from_pytorch(data)


def test_damaged_programs_end_in_errors_of_passlab() -> None:
    draw = random.Random(5)
    originals = [stored(name) for name in ("integers", "gathered", "poolings", "movements", "norms", "masks")]
    for _ in range(400):
        data = copy.deepcopy(draw.choice(originals))
        for _ in range(draw.randint(1, 3)):
            _damage(data, draw)
        with contextlib.suppress(errors.PasslabError):
            from_pytorch(data)


def _damage(data: dict[str, Any], draw: random.Random) -> None:
    """Change one argument, operator or type."""
    node = draw.choice(data["nodes"])
    odd = [
        None,
        -1,
        0,
        2**40,
        "x",
        1.5,
        [],
        [1, [2]],
        True,
        {"node": "x"},
        {"float": "nan"},
        {"node": draw.choice(data["nodes"])["name"]},
    ]
    if draw.random() < 0.6 and node["args"]:
        node["args"][draw.randrange(len(node["args"]))] = draw.choice(odd)
    elif draw.random() < 0.5:
        node["op"] = draw.choice(data["nodes"])["op"]
    else:
        node["args"].append(draw.choice(odd))


def test_a_program_survives_being_stored() -> None:
    for name in ("mlp", "functions", "half_precision", "masks"):
        data = stored(name)
        assert to_data(from_data(data)) == {**data, "version": 1}


def test_what_is_no_program_is_told(tmp_path: Path) -> None:
    with pytest.raises(errors.ModelError, match="export it first"):
        from_pytorch(object())
    odd = tmp_path / "net.json"
    odd.write_text("{")
    with pytest.raises(errors.ModelError, match="it is not JSON"):
        from_pytorch(odd)


def test_a_file_of_pytorch_needs_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.MissingPackageError, match="pip install torch"):
        from_pytorch(write(tmp_path / "net.pt2", files(tmp_path / "marker")))
