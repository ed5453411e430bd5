"""Libraries as one Python file: it runs where passlab is not, and its stub has its types."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import FileAccessError, RunError
from tests.architecture.sources import ROOT

RUN = """
import sys
sys.path.insert(0, {folder!r})
sys.modules["passlab"] = None
import net, numpy as np
print(net.main(np.ones((2, 3), "float32")).tolist())
"""
NET = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(20, 3), float32]) { nn.relu(nn.dense(%x, %w)) }"
W = np.linspace(-1, 1, 60, dtype="float32").reshape(20, 3)


def library(text: str = NET, **params: object) -> object:
    return relay.build(passlab.parse(text), params=params, executor="aot")


def test_a_module_with_its_constants_runs_without_passlab(tmp_path: Path) -> None:
    library(w=W).export_library(tmp_path / "net.py")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.py", "net.pyi"]
    code = RUN.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = np.maximum(np.ones((2, 3), "float32") @ W.T, 0)
    np.testing.assert_allclose(np.array(ast.literal_eval(done.stdout)), expected, rtol=1e-5)


def test_the_same_program_gives_the_same_file(tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        library(w=W).export_library(tmp_path / f"{name}.py")
        texts.append((tmp_path / f"{name}.py").read_text())
    assert texts[0] == texts[1]


def test_the_stub_has_arrays_tuples_and_shapes(tmp_path: Path) -> None:
    text = "def @main(%x: Tensor[(?, 3), float32], %c: (bool, int64)) { (%x, %c.1, ()) }"
    library(text).export_library(tmp_path / "net.py")
    stub = (tmp_path / "net.pyi").read_text()
    ast.parse(stub)
    assert "x: NDArray[np.float32],  # Tensor[(?, 3), float32]" in stub
    assert "c: tuple[NDArray[np.bool_], NDArray[np.int64]]" in stub
    assert "-> tuple[NDArray[np.float32], NDArray[np.int64], tuple[()]]: ..." in stub


def test_a_function_without_parameters(tmp_path: Path) -> None:
    library("def @main() { 1f }").export_library(tmp_path / "net.py")
    assert "def main(\n) -> NDArray[np.float32]: ..." in (tmp_path / "net.pyi").read_text()
    ast.parse((tmp_path / "net.pyi").read_text())


def test_a_graph_is_no_module(tmp_path: Path) -> None:
    with pytest.raises(RunError, match='executor="aot"'):
        relay.build(passlab.parse(NET)).export_library(tmp_path / "net.py")


def test_a_name_that_is_no_module_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a name of a Python module"):
        library(w=W).export_library(tmp_path / "my-net.py")
    with pytest.raises(FileAccessError, match="create the folder first"):
        library(w=W).export_library(tmp_path / "absent" / "net.py")


def test_a_network_of_many_weights_is_written_line_by_line(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((4000, 1000), "float32")  # 16 MB, which nothing makes smaller
    x = relay.var("x", shape=(1000,))
    mod = passlab.IRModule.from_expr(relay.Function([x], relay.multiply(x, relay.const(weight))))
    relay.build(mod, executor="aot").export_library(tmp_path / "net.py")
    lines = (tmp_path / "net.py").read_text("utf-8").splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) > 150_000


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import passlab
from passlab import relay
from passlab.op.declare import operator
from passlab.op.relations import identity

HOME
operator("laws.own", ("data",), relation=identity, doc="Doubles.", example="laws.own(%x)")(own)
mod = passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(laws.own(%x)) }")
x = np.arange(3, dtype="float32")
assert np.array_equal(relay.create_executor("aot", mod).evaluate()(x), np.exp(x + x))
Path("net.py").write_text("old")
try:
    relay.build(mod, executor=relay.backend.Executor("aot")).export_library("net.py")
except passlab.errors.PasslabError as error:
    print(error.diagnostics[0].message)
"""
KERNEL = "def own(attrs, data):\n    return data + data\n"
HOMES = {
    "of the script": KERNEL,
    "made by a factory of the script": "def make():\n    def own(attrs, data):\n        return data + data\n    return own\nown = make()",
    "of a module": "from kernels import own",
}


@pytest.mark.parametrize("home", HOMES)
def test_a_kernel_that_only_this_process_has_is_refused_in_a_module(home: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "script.py").write_text(SCRIPT.replace("HOME", HOMES[home]))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*command: str) -> str:
        ran = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return ran.stdout

    said = run("script.py")
    if home == "of a module":
        assert run("-c", "import net; print(net.main([0.0, 0.0, 0.0]))")
        assert not said
    else:
        assert "would import `own` from the script or notebook" in said
        assert (tmp_path / "net.py").read_text() == "old"
