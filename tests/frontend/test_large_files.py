"""A large model is read without its weights, which are read one by one where they are used."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import passlab
import passlab.errors
from passlab.errors import ModelError
from passlab.frontend import from_onnx
from passlab.frontend.onnx import importing
from tests.frontend.onnx_text import assert_close, reference, run

SIZE = 256


def network(layers: int) -> Any:
    rng = np.random.default_rng(0)
    weights, nodes, last = [], [], "x"
    for at in range(layers):
        matrix = (rng.standard_normal((SIZE, SIZE)) / 16).astype("float32")
        weights.append(numpy_helper.from_array(matrix, f"w{at}"))
        nodes += [
            helper.make_node("MatMul", [last, f"w{at}"], [f"h{at}"]),
            helper.make_node("Relu", [f"h{at}"], [f"r{at}"]),
        ]
        last = f"r{at}"
    vector = helper.make_tensor_value_info("x", 1, [1, SIZE])
    graph = helper.make_graph(nodes, "g", [vector], [helper.make_tensor_value_info(last, 1, [1, SIZE])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a network all of whose weights count as large."""
    monkeypatch.setattr(importing, "LARGE", 1 << 16)
    monkeypatch.setattr(importing, "LARGE_FILE", 1 << 16)
    path = tmp_path / "net.onnx"
    onnx.save(network(12), path)
    return path


def test_a_large_file_is_the_same_program(large: Path) -> None:
    mod, _ = from_onnx(large)
    passlab.assert_structural_equal(mod, from_onnx(large.read_bytes())[0])
    x = np.random.default_rng(1).standard_normal((1, SIZE)).astype("float32")
    assert_close(run("vm", mod, x), reference(onnx.load(large), x))
    variables, params = from_onnx(large, freeze_params=False)
    assert set(params) == {f"w{at}" for at in range(12)}
    assert_close(run("vm", variables, x, *params.values()), reference(onnx.load(large), x))


def test_a_large_file_takes_less_than_twice_its_size(large: Path) -> None:
    from_onnx(large)  # what is loaded and cached once
    tracemalloc.start()
    try:
        mod, _ = from_onnx(large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert mod["main"].params
    assert peak < 2 * large.stat().st_size


@pytest.mark.parametrize("cut", [1, 100, 5000, 70_000, 300_000, 1_000_000])
def test_a_file_that_is_cut_short_is_refused(large: Path, cut: int) -> None:
    large.write_bytes(large.read_bytes()[:-cut])
    with pytest.raises(ModelError):
        from_onnx(large)


def test_damaged_heads_are_refused_or_read(large: Path) -> None:
    """Each byte outside the weights, changed: a program, or a `PasslabError`."""
    data = large.read_bytes()
    rng = np.random.default_rng(2)
    for place in (*range(64), *rng.integers(len(data), size=60).tolist()):
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        large.write_bytes(changed)
        try:
            from_onnx(large)
        except passlab.errors.PasslabError:
            continue
