"""`%dump`, `%%llvm` and `%%mlir`, through a real shell: with programs on PATH that speak as compilers do, and with one."""

import gzip
import json
import os
import shutil
import sys

import pytest
from IPython.core.error import UsageError

from passlab.dumps import TextRecording
from passlab.errors import DumpError
from tests.dumps import corpus, writer

# Notes how it was called, copies what it was given, prints a stored dump to its error output, and ends as it is told.
FAKE = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
cell = pathlib.Path(sys.argv[-1]).read_text()
(here / "called.json").write_text(json.dumps([sys.argv[1:], cell]))
if "wrong" in cell:
    sys.exit("cell:1:1: error: this is wrong")
sys.stderr.write((here / "dump.txt").read_text())
"""


@pytest.fixture
def shell(running_shell):
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    yield running_shell
    for name in ("rec", "other"):
        running_shell.user_ns.pop(name, None)


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A function that puts a compiler on PATH, and nothing else; it returns how the compiler was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name, dump):
        path = folder / name
        path.write_text(FAKE.format(python=sys.executable))
        path.chmod(0o755)
        (folder / "dump.txt").write_text(dump)
        return lambda: json.loads((folder / "called.json").read_text())

    return put


def changed_dump(seed=1):
    steps = writer.run(seed)
    return writer.llvm_dump(steps, "changed"), [changed for *_, changed in steps]


def verdicts(recording):
    return [step.verdict == "changed" for step in recording.steps]


def test_dump_opens_a_file_and_binds_it(shell, tmp_path):
    path = tmp_path / "dump.txt.gz"
    path.write_bytes(gzip.compress(corpus.stream("xdsl-a")))
    shown = shell.run_line_magic("dump", f"{path} -o rec")
    assert isinstance(shown, TextRecording)
    assert shell.user_ns["rec"] is shown
    assert shown.format == "xdsl"
    with pytest.raises(DumpError, match="there is no file"):
        shell.run_line_magic("dump", str(tmp_path / "nothing.txt"))


def test_llvm_compiles_c_and_records_it(shell, tool):
    dump, truth = changed_dump()
    called = tool("clang-22", dump)
    recording = shell.run_cell_magic("llvm", "-O3 -DN=4 --out rec", "int f(int x) { return x; }\n")
    assert verdicts(recording) == truth
    assert shell.user_ns["rec"] is recording
    words, cell = called()
    prints = ["-mllvm", "-print-before-all", "-mllvm", "-print-after-all"]  # the code generator prints no changes
    assert words[:-1] == [*prints, "-O3", "-DN=4", "-x", "c", "-c", "-o", os.devnull]
    assert cell == "int f(int x) { return x; }\n"


def test_llvm_takes_other_languages_of_clang(shell, tool):
    called = tool("clang", changed_dump()[0])
    shell.run_cell_magic("llvm", "-x c++ -O1", "template <class T> T f(T x) { return x; }\n")
    assert called()[0][4:7] == ["-x", "c++", "-O1"]
    assert "c" not in called()[0]


def test_llvm_runs_passes_on_ir(shell, tool):
    dump, truth = changed_dump(2)
    called = tool("opt-19", dump)
    ir = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
    assert verdicts(shell.run_cell_magic("llvm", "-O1", ir)) == truth
    assert "-passes=default<O1>" in called()[0]
    shell.run_cell_magic("llvm", "-passes=instcombine,dce", ir)
    assert [word for word in called()[0] if word.startswith("-passes")] == ["-passes=instcombine,dce"]


@pytest.mark.parametrize(
    ("passes", "pipeline"),
    [
        ("canonicalize,cse", "builtin.module(canonicalize,cse)"),
        ("func.func(cse)", "builtin.module(func.func(cse))"),
        ("builtin.module(cse)", "builtin.module(cse)"),
    ],
)
def test_mlir_runs_passes_on_the_cell(shell, tool, passes, pipeline):
    steps = writer.run(3)
    called = tool("mlir-opt", writer.mlir_dump(steps, "both"))
    recording = shell.run_cell_magic("mlir", f"--passes {passes} --out other", "func.func @f() { return }\n")
    assert verdicts(recording) == [changed for *_, changed in steps]
    assert f"--pass-pipeline={pipeline}" in called()[0]
    assert "--mlir-disable-threading" in called()[0]
    assert shell.user_ns["other"] is recording


def test_what_a_compiler_refuses_is_an_error_with_its_words(shell, tool):
    tool("clang", "")
    with pytest.raises(DumpError, match="this is wrong"):
        shell.run_cell_magic("llvm", "--out rec", "wrong\n")
    assert "rec" not in shell.user_ns


def test_a_compiler_that_is_not_there_is_named(shell, tool):
    with pytest.raises(DumpError, match="`clang` is not installed"):
        shell.run_cell_magic("llvm", "", "int f;\n")
    with pytest.raises(DumpError, match="`/nowhere/mlir-opt` is not installed here"):
        shell.run_cell_magic("mlir", "--tool /nowhere/mlir-opt", "func.func @f() { return }\n")
    with pytest.raises((UsageError, DumpError)):
        shell.run_cell_magic("llvm", "--out 'open", "int f;\n")


@pytest.mark.skipif(not shutil.which("opt"), reason="LLVM is not installed: apt-get install llvm")
def test_the_real_opt(shell):
    ir = "define i32 @f(i32 %x) {\n  %a = add i32 %x, 0\n  %b = mul i32 %a, 1\n  ret i32 %b\n}\n"
    recording = shell.run_cell_magic("llvm", "-passes=instcombine", ir)
    step = recording["InstCombinePass"]
    assert step.verdict == "changed"
    assert step.diff().counts["removed"] == 2
    last = recording.last("mul i32")  # older versions print the program after a verifier that runs first, too
    assert last is None or last.number < step.number
