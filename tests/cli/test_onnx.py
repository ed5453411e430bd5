"""The command line takes ONNX models where it takes Relay text."""

from __future__ import annotations

import onnx
import pytest

import passlab
from passlab.cli import main
from tests.frontend.onnx_text import model


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.save(
        model("g (float[2] x) => (float[2] y) { a = Constant<value_float=2.0>() b = Mul(x, a) y = Relu(b) }"), path
    )
    return path


def test_opt_prints_the_relay_program_of_a_model(net, capsys):
    assert main(["opt", str(net), "InferType"]) == 0
    expected = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(multiply(%x, 2f)) }")
    passlab.assert_structural_equal(passlab.parse(capsys.readouterr().out), expected)


def test_run_runs_a_model(net, capsys):
    assert main(["run", str(net), "--executor", "vm"]) == 0
    assert capsys.readouterr().out.startswith("[")


def test_report_names_the_nodes_of_a_model(net, tmp_path):
    assert main(["report", str(net), "InferType, FuseOps", str(tmp_path / "out.html")]) == 0
    assert (tmp_path / "out.html").stat().st_size > 1000


def test_a_model_that_cannot_be_read_is_told(tmp_path, capsys):
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    assert main(["opt", str(tmp_path / "bad.onnx"), "InferType"]) == 1
    assert "bad.onnx cannot be read as an ONNX model" in capsys.readouterr().err
