"""`passlab culprit` and `passlab fuzz`: what `lab.culprit` and `lab.fuzz` say, and the files that they write."""

from __future__ import annotations

import subprocess
import sys

import pytest

from passlab import relay
from passlab.cli import main
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.transform import function_pass, register_pass, unregister_pass

NET = "def @main(%x: Tensor[(3), float32]) { exp(floor(%x)) + (1f + 2f) }"


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(NET)
    return str(path)


@pytest.fixture
def truncates():
    register_pass(function_pass(truncating, opt_level=0, name="Truncates"))
    yield
    unregister_pass("Truncates")


def truncating(func, mod, ctx):
    def rule(old, new):
        return relay.trunc(new.args[0]) if getattr(new.op, "name", "") == "floor" else new

    return rewrite(func, rule, only=(Call,))


def test_culprit_names_pass_and_operator_and_writes_a_script(net, tmp_path, capsys, truncates):
    script = tmp_path / "bug.py"
    assert main(["culprit", net, "InferType, Truncates, FoldConstant", "--script", str(script)]) == 1
    shown = capsys.readouterr().out
    assert "Step 2, Truncates, broke the program" in shown
    assert "`trunc`, which was `floor`" in shown
    assert "floor(" in script.read_text()


def test_culprit_without_a_fault(net, capsys):
    assert main(["culprit", net, "InferType, FoldConstant", "--executors", "debug,vm"]) == 0
    assert capsys.readouterr().out.startswith("No fault was found: 2 of 2 steps that changed it were compared")


def test_fuzz_writes_tests(tmp_path, capsys, truncates):
    assert main(["fuzz", "Truncates", "--seconds", "30", "--most", "1", "-o", str(tmp_path / "out")]) == 1
    assert "floor" in capsys.readouterr().out
    assert list((tmp_path / "out").glob("test_truncates_*.py"))


def test_wrong_arguments_are_diagnostics(net, capsys):
    assert main(["culprit", net, "InferType", "--executors", "gpu"]) == 1
    assert "there is no executor `gpu`" in capsys.readouterr().err
    assert main(["fuzz", "NoSuchPass", "--seconds", "1"]) == 1


def test_the_command_is_there():
    ran = subprocess.run([sys.executable, "-m", "passlab", "culprit", "--help"], check=False, capture_output=True)
    assert ran.returncode == 0
