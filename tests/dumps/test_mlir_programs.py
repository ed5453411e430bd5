"""Inputs of MLIR passes, assembled so that mlir-opt accepts them: aliases and declarations of other dumps."""

import shutil
import subprocess

import pytest

from passlab.dumps import read
from tests.dumps import corpus

BANNER = "// -----// IR Dump {} {} ({}) //----- //\n"
FIRST = """#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: memref<4xf32, #map>) {
    call @h() : () -> ()
    return
  }
  func.func private @h()
}
"""


def function(alias: str, call: str) -> str:
    return f"func.func @{alias}(%arg0: i32) {{\n  {call}\n  return\n}}\n"


def test_aliases_and_declarations_of_other_dumps_are_put_in(tmp_path):
    dump = BANNER.format("After", "Canonicalizer", "canonicalize") + FIRST
    dump += BANNER.format("After", "CSE", "cse") + "func.func @g(%arg0: i32) {\n  call @h() : () -> ()\n  return\n}\n"
    dump += BANNER.format("After", "CSE", "cse") + "func.func @g(%arg0: i32) {\n  call @h() : () -> ()\n  return\n}\n"
    recording = read(dump.encode())
    command = recording.save_before(3, tmp_path / "before.mlir")
    text = (tmp_path / "before.mlir").read_text()
    assert "mlir-opt" in command
    assert text.startswith("#map = affine_map<(d0) -> (d0)>\n")
    assert "func.func private @h()" in text
    assert text.count("@g(") == 1


def test_a_program_that_refers_to_what_no_dump_shows_has_a_reason_instead_of_a_command():
    dump = BANNER.format("After", "CSE", "cse") + function("f", "util.call @nowhere() : () -> ()")
    dump += BANNER.format("After", "Canonicalizer", "canonicalize") + function("f", "util.call @nowhere() : () -> ()")
    step = read(dump.encode())[2]
    assert step.command == ""
    assert step.recording.no_command(step) == "no dump shows @nowhere, to which the program refers"


def test_mlir_opt_takes_what_every_pass_ran_on(tmp_path):
    tool = next((path for name in ("mlir-opt-22", "mlir-opt") if (path := shutil.which(name))), None)
    if tool is None:
        pytest.skip("needs mlir-opt")
    recording = read(corpus.stream("mlir22-small-after"))
    for step in recording.steps[1:]:
        command = recording.save_before(step, tmp_path / "before.mlir")
        ran = subprocess.run(command.replace("mlir-opt", tool, 1), shell=True, capture_output=True, check=False)
        assert ran.returncode == 0, (step, ran.stderr[:300])
