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


OWN = """
import time
from passlab import relay
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.transform import function_pass

@function_pass(opt_level=0)
def leaky(func, mod, ctx):
    def rule(pre, post):
        return relay.nn.leaky_relu(post.args[0], alpha=0.1) if getattr(post.op, "name", "") == "nn.relu" else post
    return rewrite(func, rule, only=(Call,), name="leaky")

@function_pass(opt_level=0)
def sleepy(func, mod, ctx):
    time.sleep(1000)
    return func
"""


@pytest.mark.rotating
def test_passes_of_a_file_are_searched(tmp_path, capsys):
    (tmp_path / "own_passes.py").write_text(OWN)
    program = tmp_path / "relu.relay"
    program.write_text("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    own = ["--passes", str(tmp_path / "own_passes.py")]
    assert main(["culprit", str(program), "InferType, leaky", *own]) == 1
    assert "It is rewrite 1 of 1, by the rule `leaky`." in capsys.readouterr().out
    assert main(["culprit", str(program), "sleepy", *own, "--seconds", "3"]) == 1
    assert "it was in `sleepy`, own_passes.py" in capsys.readouterr().out
    assert main(["fuzz", "leaky", *own, "--programs", "200", "--most", "1"]) == 1
    assert "leaky breaks programs in 1 way" in capsys.readouterr().out


def test_a_file_of_passes_that_does_not_run_is_a_diagnostic(tmp_path, capsys):
    (tmp_path / "broken_passes.py").write_text("x = undefined_name")
    assert main(["fuzz", "SimplifyExpr", "--passes", str(tmp_path / "broken_passes.py")]) == 1
    assert "does not run: NameError: name 'undefined_name' is not defined" in capsys.readouterr().err
    assert main(["fuzz", "SimplifyExpr", "--passes", str(tmp_path / "none.py")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_a_search_that_tried_nothing_is_no_success(capsys):
    assert main(["fuzz", "InferType", "--seconds", "0"]) == 1
    assert "0 programs" in capsys.readouterr().out
