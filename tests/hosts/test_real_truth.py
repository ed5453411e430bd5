"""Verdicts on fresh dumps of real compilers, where they are installed, against what the compilers or their texts say.

The truth is made without the reader of dumps: by a run of each prefix of the pipeline, by an instrument of the host, or
by the texts of files that follow one another.
"""

import importlib
import itertools
import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from passlab.dumps import read
from tests.hosts.test_real_tools import MLIR, C

pytestmark = pytest.mark.nightly
CPP = """
struct S { virtual int f(int) = 0; virtual ~S() {} };
struct A : S { int f(int x) override { return x + 1; } };
struct B : S { int f(int x) override { if (x < 0) throw 3; return x * 2; } };
int run(S* s, int n) { int t = 0; try { for (int i = 0; i < n; i++) t += s->f(i); } catch (int e) { t = e; } return t; }
int run(int n) { A a; B b; return run(&a, n) + run(&b, n); }
"""


def agree(steps, truth):
    """Whether each verdict is that of `truth`, a list of name and changed or not; return how many are decided."""
    assert [step.name for step in steps] == [name for name, _ in truth]
    decided = [(step, changed) for step, (_, changed) in zip(steps, truth, strict=True) if step.verdict != "unknown"]
    assert [str(step) for step, changed in decided if (step.verdict == "changed") != changed] == []
    return len(decided)


def functions_of(text):
    """The code of each function in a dump of GCC, from the last line with only a brace or the first instruction on."""
    found = {}
    parts = re.split(r"(?m)^;; Function (.+? \([^,\n]*),.*$", text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = body.split("\n")
        if "{" in lines:
            begin = len(lines) - 1 - lines[::-1].index("{")
            code = lines[begin - 1 : lines.index("}", begin) + 1]
        else:
            code = list(itertools.dropwhile(lambda line: not re.match(r"\((?:note|\w*insn|code_label)\b", line), lines))
            code = [line for line in code if line[:1] in "( "]  # what is logged behind it begins lines with words
        rows = [line.rstrip() for line in code if line.strip() and not line.startswith(";;")]
        if rows:
            found[name] = rows
    return found


@pytest.mark.parametrize("flags", ["a.c -O0", "a.c -O2", "a.c -O3 -g -march=native", "a.c -Os", "b.cc -O2"])
def test_gcc(flags, tmp_path):
    name, *options = flags.split()
    tool = "g++" if name.endswith("cc") else "gcc"
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / name).write_text(CPP if tool == "g++" else C)
    folder = tmp_path / "dump"
    folder.mkdir()
    dumps = ["-fdump-tree-all", "-fdump-rtl-all", "-fdump-ipa-all"]
    subprocess.run([tool, *options, *dumps, "-c", f"../{name}", "-o", "x.o"], cwd=folder, check=True)
    steps = list(read(folder).steps)
    files = sorted(folder.glob("x.*.*"), key=lambda path: (path.name.split(".")[-2][:3], path.name))
    state, decided = {}, 0
    for step, path in zip(steps, files, strict=True):
        number, pass_name = path.name.split(".")[-2:]
        assert step.name == pass_name
        found = functions_of(path.read_text(errors="surrogateescape")) if number[3:] in "tr" else {}
        if step.verdict != "unknown":
            assert (step.verdict == "changed") == any(state.get(one) != code for one, code in found.items()), path.name
            decided += 1
        state |= found
    assert decided > 0.8 * sum(step.kind != "ipa" for step in steps)


PIPELINES = ["canonicalize,cse,dce,convert-scf-to-cf,canonicalize,cse", "dce,dce,cse,cse", "cse,loop-hoist-memref,dce"]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_xdsl(pipeline, tmp_path):
    if find_spec("xdsl") is None:
        pytest.skip("xdsl is not installed")
    (tmp_path / "in.mlir").write_text(MLIR)

    def run(*words):
        command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", *words, "in.mlir"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout

    names = pipeline.split(",")
    texts = [run(*(["-p", ",".join(names[:at])] if at else [])) for at in range(len(names) + 1)]
    steps = read(run("-p", pipeline, "--print-between-passes")).steps
    truth = [(name, one != two) for name, (one, two) in zip(names, itertools.pairwise(texts), strict=True)]
    truth[-1] = (steps[-1].name, truth[-1][1])  # of which the dump has no heading
    assert agree(steps, truth) >= len(names) - 1


TVM = """
import json, sys
import tvm, tvm_ffi
from tvm import relax
from tvm.relax.frontend import nn

equal = getattr(tvm.ir, "structural_equal", None) or tvm_ffi.structural_equal


class Net(nn.Module):
    def __init__(self):
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def f(self, x):
        return nn.op.softmax(self.b(nn.op.relu(self.a(x))), axis=-1)


mod, _ = Net().export_tvm({"f": {"x": nn.spec.Tensor([2, 8], "float32")}})
begun, truth = [], []


@tvm.ir.instrument.pass_instrument
class Truth:
    def run_before_pass(self, mod, info):
        begun.append((len(truth), mod))
        truth.append(None)

    def run_after_pass(self, mod, info):
        at, before = begun.pop()
        truth[at] = str(info.name), not equal(before, mod)
        ended.append(truth[at])


ended = []
instruments = [getattr(tvm.ir.instrument, name)() for name in sys.argv[2:]]
with tvm.transform.PassContext(opt_level=3, instruments=[Truth(), *instruments]):
    relax.get_pipeline(sys.argv[1])(mod)
print(json.dumps(truth if sys.argv[2:] == ["PrintBeforeAll"] else ended), file=sys.stderr)
"""


@pytest.mark.parametrize("prints", ["PrintBeforeAll", "PrintAfterAll", "PrintBeforeAll PrintAfterAll"])
@pytest.mark.parametrize("pipeline", ["zero", "default_build"])
def test_tvm(pipeline, prints):
    if find_spec("tvm") is None:
        pytest.skip("TVM is not installed")
    done = subprocess.run([sys.executable, "-c", TVM, pipeline, *prints.split()], capture_output=True, check=True)
    truth = json.loads(done.stderr.splitlines()[-1])
    assert agree(read(done.stdout).steps, truth) >= len(truth) / 2


JAX = """
import jax, jax.numpy as jnp

def loss(w, x):
    return jnp.mean(jax.nn.softmax(jnp.tanh(x @ w[0]) @ w[1]) ** 2)

jax.jit(jax.grad(loss))([jnp.ones((8, 16)), jnp.ones((16, 4))], jnp.ones((5, 8)))
jax.jit(lambda x: jax.lax.scan(lambda c, v: (c * 0.9 + jnp.sin(v), jnp.cumsum(v)), jnp.zeros(3), x))(jnp.ones((7, 3)))
"""


def test_xla(tmp_path, monkeypatch):
    if find_spec("jax") is None:
        pytest.skip("jax is not installed")
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={tmp_path} --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text")
    subprocess.run([sys.executable, "-c", JAX], check=True)
    files = {}
    for path in sorted(tmp_path.iterdir()):
        pattern = r"(module_\d+\..+?)\.(?:\d{4}\..+\.after_(.+?)(?:\.before_.+)?|before_optimizations)\.txt"
        if match := re.fullmatch(pattern, path.name):
            is_input = match[2] is None
            files.setdefault(match[1], []).insert(0 if is_input else len(path.name), (match[2], path.read_text()))
    steps = [step for step in read(tmp_path).steps if step.language == "hlo" and step.kind == "pipeline"]
    decided = 0
    for module, texts in files.items():
        truth = [(name, text != before) for (_, before), (name, text) in itertools.pairwise(texts)]
        decided += agree([step for step in steps if step.phase == module], truth)
    assert decided == len(steps) > 40


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch():
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    torch = importlib.import_module("torch")
    observer = importlib.import_module("torch.fx.passes.graph_transform_observer").GraphTransformObserver
    recorder = importlib.import_module("passlab.recorders.torch")
    truth, begun = [], []

    def enter(self, old=observer.__enter__):
        begun.append(str(self.gm.graph))
        return old(self)

    def leave(self, *error, old=observer.__exit__):
        result = old(self, *error)
        truth.append((self.passname, begun.pop() != str(self.gm.graph)))
        return result

    def program(x, w):
        return torch.nn.functional.softmax(torch.relu(x @ w) @ w.T, -1).sum() + (x * 1.0).permute(1, 0).sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observer, "__enter__", enter)
        patch.setattr(observer, "__exit__", leave)
        arguments = torch.randn(4, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
        recording = recorder.record(program, *arguments)
    steps = [step for step in recording.steps if step.name in {name for name, _ in truth}]
    assert len(steps) > 8
    for name in {step.name for step in steps}:
        told = any(step.verdict == "changed" for step in steps if step.name == name)
        assert told == any(changed for one, changed in truth if one == name), name
