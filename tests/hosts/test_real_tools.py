"""The real compilers, where they are installed: recordings, and each command that passlab prints, which runs."""

import re
import shlex
import shutil
import subprocess

import pytest

from passlab import hosts
from passlab.dumps.commands import llvm_pass_argument
from passlab.errors import DumpError
from passlab.hosts.compilers import VERSIONS

C = """
static int square(int x) { return x * x; }
int sum(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += square(a[i]); return s; }
int pick(int i) { switch (i & 3) { case 0: return 7; case 1: return i; default: return -i; } }
"""
LL = """
define i32 @f(i32 %x) {
entry:
  %p = alloca i32
  store i32 %x, ptr %p
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = load i32, ptr %p
  %w = add i32 %v, %i
  store i32 %w, ptr %p
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, 16
  br i1 %more, label %loop, label %end
end:
  %r = load i32, ptr %p
  ret i32 %r
}
"""
MLIR = """
func.func @dead(%x: i32) -> i32 {
  return %x : i32
}
func.func @main(%x: i32, %m: memref<16xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %a = arith.muli %x, %x : i32
  %b = arith.muli %x, %x : i32
  %s = arith.addi %a, %b : i32
  scf.for %i = %c0 to %c16 step %c1 {
    memref.store %s, %m[%i] : memref<16xi32>
  }
  return %s : i32
}
"""
PIPELINE = "builtin.module(func.func(canonicalize,cse),convert-scf-to-cf,convert-arith-to-llvm,canonicalize)"
COMMANDS = {
    "opt": ["-O2", "in.ll"],
    "llc": ["in.ll"],
    "clang": ["-O2", "-g", "in.c"],
    "mlir-opt": [f"--pass-pipeline={PIPELINE}", "in.mlir"],
}
pytestmark = pytest.mark.nightly


def said_by(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def installed(name, oldest=16):
    """The newest version of a tool, or the test is skipped. Versions below 16 have no opaque pointers."""
    for candidate in (*(f"{name}-{version}" for version in VERSIONS if version >= oldest), name):
        if shutil.which(candidate):
            if not any(f"version {old}." in said_by(candidate, "--version") for old in range(13, oldest)):
                return candidate
    pytest.skip(f"{name} is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in (("in.c", C), ("in.ll", LL), ("in.mlir", MLIR)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_is_printed_runs(name, whole, folder):
    recording = hosts.record([installed(name), *COMMANDS[name]], whole=whole)
    ending = ".mlir" if name == "mlir-opt" else ".ll"
    seen, ran = set(), 0
    for step in recording.steps:
        if step.name in seen:
            continue
        seen.add(step.name)
        command = recording.save_before(step, folder / f"before{ending}")
        if not command:
            continue
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        assert done.returncode == 0, (step, command, done.stderr[:1000])
        ran += 1
    assert ran >= 4


@pytest.mark.parametrize(
    ("name", "check", "found"),
    [
        ("opt", "alloca", "sroa"),
        ("mlir-opt", r"scf\.for", "SCFToControlFlowPass"),
        ("mlir-opt", lambda text: "llvm.mul" not in text, "ArithToLLVMConversionPass"),
    ],
)
def test_the_counter_of_the_tool_names_the_pass(name, check, found, folder):
    command = [installed(name), *COMMANDS[name]]
    if name == "mlir-opt" and "--log-actions-to" not in said_by(command[0], "--help-hidden"):
        with pytest.raises(DumpError, match="counts them since version 17"):
            hosts.bisect(command, check)
        pytest.skip(f"{command[0]} has no counter of its passes")
    result = hosts.bisect(command, check)
    assert result.name == found
    right, wrong = (
        subprocess.run(shlex.split(line), capture_output=True, check=False).returncode for line in result.commands
    )
    assert (right, wrong) == (0, 0)


@pytest.mark.parametrize(
    ("name", "check"), [("opt", "alloca"), ("mlir-opt", r"scf\.for"), ("clang", r"call\w*\s+square")]
)
def test_the_reducer_of_the_tool_makes_the_input_smaller(name, check, folder):
    command = [installed(name), *COMMANDS[name]]
    installed("mlir-reduce" if name == "mlir-opt" else "llvm-reduce")
    if name == "clang":
        command = [*command[:1], "-O2", "-S", "in.c"]
    result = hosts.reduce(command, check)
    assert result.lines < result.before
    assert result.tried > 2


def test_reports_join_the_steps(folder):
    recording = hosts.record([installed("clang"), *COMMANDS["clang"]], reports=True)
    assert any(one.pass_name == "inline" and one.first == one.last for one in recording.reports.remarks)
    assert sum(step.seconds is not None for step in recording.steps) > len(recording.steps) // 2


LOOP = """
define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %i
}
"""
WRAPS = re.compile(r"(?:function|cgscc|loop|loop-mssa)\((.*)\)")
AROUND = re.compile(r"(?:PassManager|Require|Invalidate|Verifier|LCSSA|LoopSimplifyPass)|.*Adaptor|.*ProxyPass")
# Passes that only print or draw, pipelines under one name, and names that versions of LLVM spell in two ways.
OTHERS = re.compile(
    r"(?:print|dot|view|no-op|default|inliner-wrapper|scc-oz|aa-eval|hello|flattencfg|lower(?:atomic|invoke|switch)$)"
)


def test_each_class_of_a_pass_has_the_name_under_which_opt_has_it(tmp_path):
    opt = installed("opt", oldest=13)
    (tmp_path / "loop.ll").write_text(LOOP)
    listed = re.findall(r"^  ([\w-]+)(?:<[^>]*>)?$", said_by(opt, "--print-passes"), re.MULTILINE)
    right = 0
    for name in sorted({name for name in listed if not OTHERS.match(name)}):
        words = [opt, f"-passes={name}", "-print-after-all", "-disable-output", str(tmp_path / "loop.ll")]
        printed = subprocess.run(words, capture_output=True, text=True, check=False).stderr
        classes = {found for found in re.findall(r"IR Dump After (.*?) on ", printed) if not AROUND.match(found)}
        found = {WRAPS.sub(r"\1", llvm_pass_argument(one)).partition("<")[0] for one in classes}
        assert not found or name in found, classes
        right += bool(found)
    assert right > 100


@pytest.mark.parametrize(("options", "has_code"), [("-O2 -c", True), ("-O0 -S", True), ("-O2 -S -emit-llvm", False)])
def test_a_recording_of_clang_has_the_code_generator_where_it_runs(options, has_code, folder):
    """`-print-changed` of LLVM 14 to 18 shows the passes on IR alone."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    recording = hosts.record(["clang", *options.split(), "in.c", "-o", "out"])
    assert any(step.language == "mir" for step in recording.steps) == has_code
    assert {step.verdict for step in recording.steps} <= {"changed", "unchanged", "invalidated"}
