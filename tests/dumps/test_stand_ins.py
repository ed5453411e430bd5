"""Dumps of single functions: the symbols they use are declared by their uses, so that tools accept the program."""

import shlex
import shutil
import subprocess

import pytest

from passlab.dumps import read
from passlab.dumps.declarations import declared_llvm, declared_mlir, unknown_type

OPAQUE = """\
define i32 @f(ptr %p, <4 x i32> %v) {
  %1 = load i32, ptr @counter, align 4
  %2 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 %1) ; as @comment says
  %3 = tail call fastcc noundef { i64, [2 x i32] } @pair(<4 x i32> %v, ptr nonnull @g, double 1.0)
  %4 = call ptr @llvm.threadlocal.address.p0(ptr @own)
  call void asm "nop @asm", ""()
  %5 = call i32 @f(ptr %p, <4 x i32> %v)
  ret i32 %2
}"""
TYPED = """\
define void @f(i32* %p) {
  %1 = load i8*, i8** getelementptr inbounds ([3 x i8*], [3 x i8*]* @names, i64 0, i64 1), align 8
  call void @qsort(i8* %1, i64 4, i32 (i8*, i8*)* noundef nonnull @cmp)
  store i32* @counter, i32** null
  ret void
}"""


def test_a_call_says_what_a_function_takes_and_gives():
    assert declared_llvm(OPAQUE) == [
        "declare i32 @printf(ptr, ...)",
        "declare { i64, [2 x i32] } @pair(<4 x i32>, ptr, double)",
        "declare ptr @llvm.threadlocal.address.p0(ptr)",
        "@counter = external global i8",
        "@.str = external global i8",
        "@g = external global i8",
        "@own = external thread_local global i8",
    ]


def test_pointers_that_say_to_what_are_taken_at_their_word():
    assert declared_llvm(TYPED) == [
        "declare void @qsort(i8*, i64, i32 (i8*, i8*)*)",
        "@names = external global [3 x i8*]",
        "declare i32 @cmp(i8*, i8*)",
        "@counter = external global i32",
    ]


def test_what_a_program_has_is_not_declared_again():
    text = 'declare i32 @printf(ptr, ...)\n@counter = global i32 0\n@"a b" = global i8 0\ndefine void @g() {\n}\n'
    program = 'define void @f() {\n  store ptr @"a b", ptr @counter\n  call i32 (ptr, ...) @printf(ptr @g)\n}\n'
    assert declared_llvm(text + program) == []


def test_a_structure_that_no_dump_shows_is_the_reason_for_no_command():
    function = "define void @f(ptr %p) {\n  %q = getelementptr %struct.node, ptr %p, i32 0, i32 1\n  ret void\n}\n"
    assert unknown_type(function) == "%struct.node"
    assert not unknown_type("%struct.node = type { i32, ptr }\n" + function)
    banner = "; *** IR Dump After {} on {} ***\n"
    text = banner.format("SROAPass", "f") + function + banner.format("GVNPass", "g") + function.replace("f(", "g(")
    recording = read((text + banner.format("GVNPass", "f") + function).encode())
    assert recording[3].command == ""
    assert recording.no_command(3) == "no dump shows %struct.node, to which the program refers"


MLIR = """func.func @f(%arg0: i32) -> i32 {
  %0 = call @ext(%arg0) : (i32) -> i32
  func.call @done() : () -> ()
  %1 = memref.get_global @cst : memref<4xf32>
  %2 = constant @ptr : (i32) -> i32
  return %0 : i32
}
"""


def test_a_use_in_mlir_says_the_type_of_a_symbol():
    assert declared_mlir(MLIR) == {
        "ext": "func.func private @ext(i32) -> i32",
        "done": "func.func private @done()",
        "cst": 'memref.global "private" @cst : memref<4xf32>',
        "ptr": "func.func private @ptr(i32) -> i32",
    }


def ran(command, tool):
    return subprocess.run([tool, *shlex.split(command)[1:]], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("opt"), reason="LLVM is not installed: apt-get install llvm")
def test_opt_takes_every_program_of_a_dump_of_functions_alone(tmp_path):
    version = subprocess.run(["opt", "--version"], capture_output=True, text=True, check=False).stdout
    program = TYPED if "LLVM version 14" in version else OPAQUE
    (tmp_path / "in.ll").write_text("\n".join([program, *declared_llvm(program)]))
    passes = ["-disable-output", "-passes=function(sroa,instcombine,gvn)", "-print-after-all"]
    result = subprocess.run(["opt", *passes, tmp_path / "in.ll"], capture_output=True, check=True)
    recording = read(result.stderr)
    commands = [recording.save_before(step, tmp_path / "before.ll") for step in recording.steps if step.number > 1]
    assert len([command for command in commands if command]) >= 2
    for step, command in zip(recording.steps[1:], commands, strict=True):
        recording.save_before(step, tmp_path / "before.ll")
        done = ran(command, "opt") if command else None
        assert done is None or done.returncode == 0, f"{step}: {done.stderr}"
