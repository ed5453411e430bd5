"""Dumps by other options and versions, and of several programs: the recording agrees with the compiler."""

import re
import shlex
import shutil
import subprocess

import pytest

from passlab.cli import main
from passlab.dumps import read, read_text
from passlab.errors import DumpError
from tests.dumps import corpus, writer


def verdicts(recording):
    return [(step.name, step.unit, step.verdict) for step in recording.steps]


# ---------------------------------------------------------------- LLVM: -print-changed in all its kinds
@pytest.mark.parametrize("seed", range(6))
def test_a_quiet_dump_names_only_passes_that_changed_something(seed):
    steps = writer.run(seed, 60)
    recording = read(writer.llvm_dump(steps, "quiet").encode())
    assert [step.name for step in recording.steps] == [name for name, *_, changed in steps if changed]
    assert {step.verdict for step in recording.steps} == {"changed"}
    assert any("changed something" in note for note in recording.notes)


DIFF = """*** IR Dump After SimplifyCFGPass on f ***
·
 entry:
   %a = add i32 %x, 1
-  br label %end
+  ret i32 %a
-
-end:                                              ; preds = %entry
-  ret i32 %a

*** IR Dump After GlobalOptPass on [module] ***

*** IR for function [module] ***
·
 entry:
-  %b = load i32, ptr @g
+  %b = add i32 7, 0
   ret i32 %b

""".replace("·", " ")


@pytest.mark.parametrize("colours", [False, True])
def test_diffs_of_the_quiet_kind_are_changes_with_or_without_colours(colours):
    text = DIFF
    if colours:
        rows = [
            f"\x1b[3{'1' if r[:1] == '-' else '2'}m{r}\x1b[0m" if r[:1] in "-+" and r else r for r in text.split("\n")
        ]
        text = "\n".join(rows)
    recording = read(text.encode())
    assert verdicts(recording) == [("SimplifyCFGPass", "f", "changed"), ("GlobalOptPass", "[module]", "changed")]
    assert recording[1].before.split("\n")[-1].strip() == "ret i32 %a"
    assert "br label" in recording[1].before
    assert "br label" not in recording[1].after
    assert "\x1b" not in recording[1].after
    assert {"removed", "changed"} & set(recording[1].diff().counts)


# ---------------------------------------------------------------- several programs
@pytest.mark.parametrize("mode", ["after", "both", "changed", "module"])
def test_two_programs_in_one_stream_are_read_as_each_by_itself(mode):
    texts = [writer.llvm_dump(writer.run(seed), mode, f"{name}.c").encode() for seed, name in ((1, "a"), (2, "b"))]
    both = read(b"".join(texts))
    assert verdicts(both) == [step for text in texts for step in verdicts(read(text))]
    second = writer.run(2)
    assert both.program(-1).count("define") == len([u for u in read(texts[1]).units_at(-1) if u])
    last = next(s for s in reversed(both.steps) if s.unit in second[-1][3].functions)
    assert both.blame(f"b.c: {last.unit}").lines


def test_one_real_program_after_another():
    texts = [corpus.stream(name) for name in ("llvm22-list-both", "llvm19-dot-modscope")]
    assert (
        verdicts(read(texts[0] + texts[0].replace(b"ModuleID = '", b"ModuleID = 'other-")))
        == verdicts(read(texts[0])) * 2
    )


# ---------------------------------------------------------------- a few chosen passes
@pytest.mark.parametrize("name", ["llvm22-list-after", "llvm22-list-both"])
@pytest.mark.parametrize("other", ["llvm22-list-changed", "llvm22-dot-changed-diff"])
def test_a_run_whose_module_is_not_shown_is_not_of_the_run_that_starts_below(name, other):
    """As the end of a log, or a dump of some functions, in front of `-print-changed`."""
    parts = re.split(r"(?m)^(?=(?:; )?\*\*\* IR Dump)", corpus.stream(name).decode())
    data = "".join([part for part in parts if part.strip() and "; ModuleID" not in part])
    alone, together = read_text(data), read_text(data + corpus.stream(other).decode())
    assert verdicts(together)[: len(alone.steps)] == verdicts(alone)
    assert verdicts(together)[len(alone.steps) :] == verdicts(read(corpus.stream(other)))


def test_a_dump_of_one_chosen_pass_blames_it_for_nothing():
    steps = writer.run(5)
    chosen = [step for step in steps if step[0] == "Pass1"]
    recording = read(writer.llvm_dump(chosen * 2, "after").encode())
    assert all(step.verdict in ("unknown", "unchanged") for step in recording.steps)
    assert any("only a few chosen passes" in note for note in recording.notes)


def test_a_dump_of_one_chosen_pass_is_decided_where_what_was_before_is_there():
    steps = [step for step in writer.run(5) if step[0] == "Pass1"]
    recording = read(writer.llvm_dump(steps, "both").encode())
    assert [step.verdict == "changed" for step in recording.steps] == [changed for *_, changed in steps]


# ---------------------------------------------------------------- groups of functions, and passes beside the point
def test_a_group_of_functions_that_falls_apart_has_changed():
    text = """; *** IR Dump After FirstPass on [module] ***
; ModuleID = 'm'
define i32 @odd(i32 %n) {
  ret i32 1
}
define i32 @even(i32 %n) {
  ret i32 0
}
; *** IR Dump After VerifierPass on [module] ***
; ModuleID = 'm'
define i32 @odd(i32 %n) {
  ret i32 1
}
define i32 @even(i32 %n) {
  ret i32 0
}
; *** IR Dump After InlinerPass on (odd, even) ***
define i32 @even(i32 %n) {
  ret i32 0
}
"""
    assert read(text.encode())[3].verdict == "changed"


def test_a_function_pass_is_not_blamed_for_what_changed_in_another_function():
    module = "; ModuleID = 'm'\ndefine i32 @f() {\n  ret i32 1\n}\n"
    other = "define i32 @g() {\n  ret i32 2\n}\n"
    dumps = [
        ("VerifierPass", "[module]", module + other),
        ("InlinerPass", "(f)", module + other),
        ("InvalidateAnalysisPass", "f", module),
        ("SROAPass", "f", module.replace("ret i32 1", "ret i32 3")),
    ]
    recording = read("".join([f"; *** IR Dump After {p} on {u} ***\n{t}\n" for p, u, t in dumps]).encode())
    assert [step.verdict for step in recording.steps][1:] == ["unchanged", "unchanged", "changed"]
    assert "elsewhere" in recording[3].note


# ---------------------------------------------------------------- folders
def test_a_dump_directory_with_befores_pairs_them(tmp_path):
    steps = writer.run(9)
    for number, (name, unit, before, after, _) in enumerate(steps):
        kind = "module-" if unit is None else "function-0123456789abcdef-"
        for when, program in (("before", before), ("after", after)):
            text = writer.llvm_module(program) if unit is None else writer.llvm_function(unit, program.functions[unit])
            path = tmp_path / f"{number}-0123456789abcdef-{kind}{name}-{when}.ll"
            path.write_text(f"; *** IR Dump {when.title()} {name} on {unit or '[module]'} ***\n{text}\n")
    recording = read(tmp_path)
    assert [(s.name, s.verdict == "changed") for s in recording.steps] == [(s[0], s[4]) for s in steps]


# ---------------------------------------------------------------- machine code
MACHINE = """# *** IR Dump {when} {name} ({name}) ***:
# Machine code for function f: {flags}
{lines}
# End machine code for function f.

"""


def machine(when, name, lines, flags="IsSSA"):
    return MACHINE.format(when=when, name=name, flags=flags, lines="\n".join(lines))


@pytest.mark.parametrize("name", [name for name in corpus.STREAMS if name.startswith("llvm")])
def test_a_program_that_begins_in_the_line_of_its_heading_is_read_as_below_it(name):
    """The passes of the legacy manager on a call graph print no line break, and name no unit."""
    old = re.sub(
        rb"(?m)^((?:; )?\*\*\* IR Dump (?:Before|After) \w+) on \w+ \*\*\*$", rb"\1 (it) ***", corpus.stream(name)
    )
    glued = re.sub(rb"(?m)^([^\n]* \(it\) \*\*\*)\n(?=; |define )", rb"\1", old)
    assert (glued == old) == (b" (it) ***\n;" not in old)
    assert verdicts(read(glued)) == verdicts(read(old))


def test_numbers_of_slots_are_no_change_of_machine_code():
    plain = ["bb.0:", "  %0:gr64 = COPY $rdi", "  RET 0, %0"]
    slots = ["0B\tbb.0:", "16B\t  %0:gr64 = COPY $rdi", "32B\t  RET 0, %0"]
    text = machine("Before", "slotindexes", plain) + machine("After", "slotindexes", slots)
    assert read(text.encode())[1].verdict == "unchanged"


BACK_END = [
    "expand-reductions",
    "pre-isel-intrinsic-lowering",
    "safe-stack",
    "scalarize-masked-mem-intrin",
    "unreachableblockelim",
]


def test_flags_that_an_analysis_may_have_set_decide_nothing():
    lines = ["bb.0:", "  RET 0"]
    text = machine("After", "machineverifier", lines) + machine("After", "second", lines)
    text += machine("After", "greedy", lines, "IsSSA, TracksDebugUserValues") + machine(
        "After", "last", [*lines, "  NOOP"]
    )
    text += "".join([machine("After", name, lines) for name in BACK_END])
    assert [step.verdict for step in read(text.encode()).steps][1:4] == ["unchanged", "unknown", "changed"]


def test_debug_values_that_an_analysis_may_have_taken_out_decide_nothing():
    lines = ["bb.0:", '  DBG_VALUE $edi, $noreg, !"n", debug-location !55; a.c:0', "  RET 0, dead $eflags"]
    text = machine("After", "machineverifier", lines) + machine("After", "second", lines)
    text += machine("After", "greedy", ["bb.0:", "  RET 0, $eflags"], "IsSSA, TracksDebugUserValues")
    text += "".join([machine("After", name, lines) for name in BACK_END])
    assert [step.verdict for step in read(text.encode()).steps][1:3] == ["unchanged", "unknown"]


# ---------------------------------------------------------------- XLA
def hlo(op):
    return f"HloModule jit_f\n\nENTRY %main.1 (x.1: f32[2]) -> f32[2] {{\n  ROOT %{op}.2 = f32[2] {op}(%x.1)\n}}\n"


def test_modules_of_xla_are_compared_each_with_its_own_past(tmp_path):
    for module, ops in (("module_0001.jit_f", "sin sin cos"), ("module_0002.jit_f", "exp exp tan")):
        first, *rest = ops.split()
        (tmp_path / f"{module}.before_optimizations.txt").write_text(hlo(first))
        for number, (name, op) in enumerate(zip(("pipeline-start", "algsimp"), rest, strict=True)):
            (tmp_path / f"{module}.000{number}.simplification.after_{name}.before_dce.txt").write_text(hlo(op))
        (tmp_path / f"{module}.0000.simplification.after_pipeline-start.before_dce.html").write_text("<html>")
    recording = read(tmp_path)
    assert [step.verdict for step in recording.steps] == ["unchanged", "changed"] * 2
    assert "exp" in recording[4].before
    assert "tan" in recording[4].after
    assert recording.text().count("module_0002.jit_f:") == 1


def test_an_xla_folder_without_passes_has_the_program_before_and_after_all(tmp_path):
    (tmp_path / "module_0001.jit_f.before_optimizations.txt").write_text(hlo("sin"))
    (tmp_path / "module_0001.jit_f.cpu_after_optimizations.txt").write_text(hlo("cos"))
    (tmp_path / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text("allocation 0")
    recording = read(tmp_path)
    assert [(step.name, step.verdict) for step in recording.steps] == [("all passes", "changed")]
    assert any("xla_dump_hlo_pass_re" in note for note in recording.notes)
    assert recording[1].diff().counts["changed"] == 1


# ---------------------------------------------------------------- TVM
def tvm(name, *functions):
    body = "\n".join([f"    @R.function\n    def {f}(x):\n        return x" for f in functions]) or "    pass"
    info = f'transform.PassInfo(opt_level=0, name="{name}", required=(), traceable=False)'
    return f"After Running Pass: {info}\n# from tvm.script import ir as I\n@I.ir_module\nclass Module:\n{body}\n"


def test_a_pass_of_tvm_that_ran_on_a_program_of_its_own_changed_nothing_of_this_one():
    text = tvm("LegalizeOps", "f") + tvm("NormalizeGlobalVar") + tvm("ComputePrimValue", "f") + tvm("VMShapeLower", "g")
    recording = read(text.encode())
    assert [step.verdict for step in recording.steps][1:] == ["unknown", "unchanged", "changed"]
    assert "another program" in recording[2].note
    assert [str(origin) for origin in recording.blame(step=3).origins] == ["input-1"] * len(recording.blame(step=3))


# ---------------------------------------------------------------- torch
def torch_lines(artifact, graph, *lines):
    prefix = f"V1122 02:59:17.582000 16144 torch/_inductor/compile_fx.py:1382] [{graph}] [__{artifact}] "
    return "".join([f"{prefix}{line}\n" for line in lines])


def test_only_what_holds_a_program_is_a_step_of_torch_logs():
    text = (
        torch_lines("trace_bytecode", "0/0", "TRACE LOAD_FAST x []")
        + torch_lines(
            "graph_code",
            "0/0",
            "TRACED GRAPH",
            f" ===== __compiled_fn_1_{'0' * 8}{'_0000' * 3}_{'0' * 12} =====",
            "x = 1",
        )
        + torch_lines("guards", "0/0", "GUARDS: x")
        + torch_lines("graph", "0/0", "opcode  name", "placeholder  x")
        + torch_lines("output_code", "0/0", "Output code: ", "import torch", "Output code written to: cache/a.py")
    )
    recording = read(text.encode())
    names = [(step.name, step.phase) for step in recording.steps]
    assert names == [
        ("__compiled_fn_1", "0/0 graph_code"),
        ("graph", "0/0 graph"),
        ("Output code", "0/0 forward code"),
    ]
    assert "GUARDS" in recording.other_output
    assert "LOAD_FAST" in recording.other_output


def test_graphs_of_different_frames_and_sides_are_different_programs():
    """A graph break and a recompilation: the graphs of Inductor come after those of AOT, in turns."""

    def graph(artifact, graph, title, given, value):
        lines = ["class GraphModule(torch.nn.Module):", f"    def forward(self, {given}):", f"        return {value}"]
        return torch_lines(artifact, graph, f"===== {title} =====", *lines)

    rec = read(
        "".join(
            graph("aot_graphs", f"{frame}/0", f"Forward graph {frame}", "primals_1", f"a{frame}")
            + graph("aot_graphs", f"{frame}/0", f"Backward graph {frame}", "primals_1, tangents_1", f"b{frame}")
            + graph("post_grad_graphs", f"{frame}/0", "AFTER POST GRAD", "primals_1", f"c{frame}")
            for frame in (0, 1)
        ).encode()
        + graph("post_grad_graphs", "0/0", "AFTER POST GRAD", "primals_1, tangents_1", "d0").encode()
    )
    assert [*rec.units] == ["0/0 forward", "0/0 backward", "1/0 forward", "1/0 backward"]
    assert rec[3].before == rec[1].after
    assert rec[7].before == rec[2].after
    assert rec[7].diff().counts["changed"] == 1
    assert {origin.step for origin in rec.blame("1/0 forward").origins} == {4, 6}
    assert [step.verdict for step in rec] == [
        "ignored",
        "ignored",
        "changed",
        "ignored",
        "ignored",
        "changed",
        "changed",
    ]
    assert all(step.is_exact for step in rec)


def test_what_stands_in_front_of_the_class_of_a_graph_is_no_change():
    """Torch prints the file of a graph's code there, which has a new name for each print."""

    def graph(title, file, value):
        lines = [f"{file} class GraphModule(torch.nn.Module):", "    def forward(self, x):", f"        return {value}"]
        return torch_lines(
            "aot_graphs" if title[0] == "F" else "post_grad_graphs", "0/0", f"===== {title} =====", *lines
        )

    first = graph("Forward graph 0", "/site-packages/torch/fx/_lazy_graph_module.py", "(x,)")
    for value, verdict in (("(x,)", "unchanged"), ("(x, x)", "changed")):
        rec = read((first + graph("AFTER POST GRAD", "<eval_with_key>.13", value)).encode())
        assert rec[2].verdict == verdict
        assert rec[2].before == rec[1].after


def test_the_codes_of_two_sides_are_two_programs():
    code = [
        torch_lines(
            "output_code", "0/0", "Output code: ", "def call(args):", f"    primals_1, {last} = args", "    return (x,)"
        )
        for last in ("x", "tangents_1")
    ]
    rec = read("".join(code).encode())
    assert [(step.phase, step.verdict) for step in rec] == [
        ("0/0 forward code", "ignored"),
        ("0/0 backward code", "ignored"),
    ]


# ---------------------------------------------------------------- xDSL
@pytest.mark.parametrize(("before", "name"), [(["cse"], "(last pass)"), (["canonicalize", "cse"], "canonicalize")])
def test_the_last_pass_of_xdsl_is_named_only_where_there_is_a_reason(before, name):
    module = "builtin.module {\n  func.func @f() {\n    func.return\n  }\n}\n"
    text = "".join([f"IR after {one}:\n{module}\n\n\n" for one in before]) + module
    assert [step.name for step in read(text.encode()).steps] == [*before, name]


@pytest.mark.parametrize("between", ["", "// -----\n", "done\n"])
@pytest.mark.parametrize("count", [2, 3])
def test_runs_of_xdsl_in_one_stream_are_read_as_each_by_itself(count, between):
    """As for a file that is split, or files one after the other: each run ends with a program without a heading."""
    data = corpus.stream("xdsl-a")
    alone, together = read(data), read((between.encode()).join([data] * count))
    assert verdicts(together) == verdicts(alone) * count
    assert [step.after for step in together] == [step.after for step in alone] * count


def test_what_the_first_pass_ran_on_is_its_unit_and_not_the_whole_input():
    function = "define i32 @f(i32 %x) {\n  %a = add i32 %x, 0\n  ret i32 %a\n}"
    text = f"*** IR Dump At Start ***\n; ModuleID = 'm'\n\n{function}\n\n*** IR Dump After InstCombinePass on f ***\n"
    recording = read((text + function.replace("  %a = add i32 %x, 0\n", "").replace("%a", "%x")).encode())
    assert recording[1].before == function
    assert recording[1].diff().counts["removed"] == 1


def test_a_pass_that_changed_nothing_is_shown_with_what_it_ran_on():
    steps = writer.run(6)
    recording = read(writer.llvm_dump(steps, "changed").encode())
    for step, (_, unit, before, _, changed) in zip(recording.steps, steps, strict=True):
        if not changed and unit is not None:
            assert step.before == step.after == writer.llvm_function(unit, before.functions[unit])
            assert not step.diff()


def test_the_command_line_compares_dumps_and_refuses_steps_that_are_not_there(tmp_path, capsys):
    for name, seed in (("a.txt", 1), ("b.txt", 2)):
        (tmp_path / name).write_text(writer.llvm_dump(writer.run(seed), "both"))
    assert main(["dump", str(tmp_path / "a.txt"), "--compare", str(tmp_path / "b.txt")]) == 0
    assert "in both" in capsys.readouterr().out
    assert main(["dump", str(tmp_path / "a.txt"), "--step", "999"]) != 0
    assert "there is no step 999" in capsys.readouterr().err


# ---------------------------------------------------------------- what a tool is given
PIECES = """*** IR Dump At Start ***
; ModuleID = 'm'
target triple = "x86_64-pc-linux-gnu"

%pair = type { i32, i32 }

define i32 @f(ptr %p) {
  %a = load i32, ptr %p, align 4, !tbaa !9
  ret i32 %a
}

!9 = !{!"int", !10, i64 0}

*** IR Dump After SROAPass on f ***
define i32 @f(ptr %p) {
  %b = getelementptr %pair, ptr %p, i32 0, i32 1
  call void @llvm.dbg.value(metadata ptr %b, metadata !19, metadata !DIExpression()), !dbg !20
  %a = load i32, ptr %b, align 4, !tbaa !3
  ret i32 %a
}

*** IR Dump After GVNPass on f ***
define i32 @f(ptr %p) {
  ret i32 0
}
"""


def test_a_program_put_together_for_a_tool_has_its_types_in_front_and_no_metadata(tmp_path):
    recording = read(PIECES.encode())
    command = recording.save_before("GVNPass", tmp_path / "before.ll")
    text = (tmp_path / "before.ll").read_text()
    assert text.index("target triple") < text.index("%pair = type") < text.index("define i32 @f")
    assert not re.search(r"!tbaa|![0-9]", text)
    assert command == f"opt -S -passes='gvn' {tmp_path / 'before'}.ll -o -"
    assert recording.bisect(["grep", "-q", "getelementptr"], low=1).step.name == "GVNPass"


@pytest.mark.skipif(not shutil.which("opt"), reason="LLVM is not installed: apt-get install llvm")
def test_the_command_of_a_step_runs(tmp_path):
    plain = "define i32 @f(i32 %x) {\n  %a = add i32 %x, 0\n  %b = mul i32 %a, 1\n  ret i32 %b\n}\n"
    start = f"*** IR Dump At Start ***\n; ModuleID = 'm'\nsource_filename = \"m\"\n\n{plain}\n"
    recording = read(f"{start}*** IR Dump After InstCombinePass on f ***\n{plain.replace('%b', '%x')}".encode())
    command = recording.save_before(1, tmp_path / "before.ll")
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ret i32 %x" in done.stdout


@pytest.mark.parametrize(
    ("name", "hint"),
    [("passes.html", "-print-changed alone"), ("module_0000.jit_f.0000.a.after_b.hlo.pb", "xla_dump_hlo_as_text")],
)
def test_folders_without_texts_say_what_to_ask_for(tmp_path, name, hint):
    for file in (name, "other.bin"):
        (tmp_path / file).write_bytes(b"x")
    with pytest.raises(DumpError, match=hint):
        read(tmp_path)


def test_options_with_braces_inside_are_kept_whole():
    text = "// -----// IR Dump After AssignPass: assign{targets={local} n=1} //----- //\nmodule {\n}\n"
    step = read(text.encode())[1]
    assert (step.name, step.options) == ("AssignPass", "targets={local} n=1")
    assert step.command == "mlir-opt --pass-pipeline='builtin.module(assign{targets={local} n=1})' before.mlir"


FUNCTION = "; Function Attrs: {attributes}\ndefine {linkage}i32 @{name}(i32 %x) #{number} !tag !{number} {{\n{lines}  ret i32 %x\n}}\n"


def module_with(functions):
    """A module whose groups of attributes and metadata are numbered from 0, as LLVM prints them."""
    bodies = [
        FUNCTION.format(name=name, number=number, linkage=linkage, lines=lines, attributes=attributes)
        for number, (name, linkage, lines, attributes) in enumerate(functions)
    ]
    groups = [f"attributes #{number} = {{ {one[3]} }}" for number, one in enumerate(functions)]
    tags = [f'!{number} = !{{!"{one[0]}"}}' for number, one in enumerate(functions)]
    return "\n".join(["; ModuleID = 'm'\n", *bodies, "\n".join(groups), "", "\n".join(tags), ""])


@pytest.mark.parametrize("when", ["Before", "After"])
@pytest.mark.parametrize("unit", ["(main)", "main", "loop %l in function main", "(main, other)"])
@pytest.mark.parametrize("attributes", ["nounwind", "nounwind willreturn"])
def test_a_function_that_the_pass_manager_removes_is_no_work_of_a_pass_on_another(when, unit, attributes):
    dead, other = ("dead", "internal ", "", "cold"), ("other", "", "", "memory(none)")
    main, later = [("main", "", "  %l = add i32 %x, 1\n", one) for one in ("nounwind", attributes)]
    first, second = [dead, main, other], [later, other]
    # Before each pass: the change is seen below the next heading; after each pass: below its own.
    programs = [first, first, second, second] if when == "Before" else [first, second, second, second]
    units = ["other", unit, "[module]", "[module]"]
    names = ["VerifierPass", "Pass1", "Pass2", "Pass3"]
    dumps = [
        f"; *** IR Dump {when} {name} on {one} ***\n{module_with(program)}\n"
        for name, one, program in zip(names, units, programs, strict=True)
    ]
    step = read("".join(dumps).encode()).steps[1]
    assert step.verdict == ("unchanged" if attributes == "nounwind" else "changed")


def test_two_texts_without_a_program_prove_nothing():
    llvm = "*** IR Dump Before A on f ***\n?\n*** IR Dump After A on f ***\n?\n"
    mlir = "".join(f"// -----// IR Dump Before {name} ('builtin.module' operation) //----- //\n?\n" for name in "ABC")
    for text in (llvm, mlir, mlir.replace("Before B", "After A")):
        assert {step.verdict for step in read(text.encode())} == {"unknown"}


# ---------------------------------------------------------------- what is no dump
@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("x.ll", "define i32 @f() {\n  ret i32 0\n}\n", "`passlab host record opt -O2 x.ll`"),
        ("out.txt", "; ModuleID = 'x.c'\n", "`passlab host record opt -O2 FILE`"),
        ("x.mlir", "func.func @f() {\n}\n", "`passlab host record mlir-opt --canonicalize x.mlir`"),
        ("x.cpp", "int main() { return 0; }\n", "`passlab host record clang -O2 -c x.cpp`"),
        ("x.ptx", "//\n.version 8.0\n", "`passlab.recorders.triton.record(kernel, signature)`"),
        ("x.py", "print(1)\n", "`passlab.recorders.torch.record(function, *inputs)`"),
        ("x.txt", "\n \n", "standard error: `2> dump.txt`"),
        ("out.txt", "// RUN: x\n\nmodule {\n}\n", "is a program (MLIR), not a dump; to record its passes: `passlab"),
        (
            "log",
            "warning: unused\nmodule {\n}\nnote: above\n",
            "program (MLIR) begins in line 2; to record its passes",
        ),
        ("log", "[1/2] cc\nx.c:3: warning\ndefine i32 @f() {\n}\n", "program (LLVM IR) begins in line 3"),
    ],
)
def test_a_program_is_no_dump_and_what_records_it_is_said(name, text, advice, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    recording = read(tmp_path / name)
    assert not recording.steps
    assert any(advice in note for note in recording.notes), recording.notes
    main(["dump", str(tmp_path / name)])
    assert advice in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    "text", ["[1/3] cc x.o\nTraceback:\nimport torch\n", "In file included from x.c:3:\n#include <foo.h>\n"]
)
def test_a_message_that_cites_a_line_of_a_program_is_none(text):
    assert read(text.encode()).notes == [f"its first line is: {text.partition(chr(10))[0]}"]


# ---------------------------------------------------------------- legacy passes of AMD's back end
REGION = "  %a = add i32 %0, 1\n  br label %b\n\nb:                                                ; preds = %1\n  ret void\n"


def test_a_pass_on_a_region_prints_a_part_of_a_function_without_its_first_label():
    f = "define void @f(i32 %0) {\n" + REGION + "}\n"
    regions = [("Structurize control flow (structurizecfg)", REGION)] * 2
    dumps = [("Module Verifier (verify)", f), *regions, ("Annotate Values (annotate)", f), ("Cleanup (cleanup)", f)]
    rec = read("".join([f"*** IR Dump After {name} ***\n{body}\n" for name, body in dumps]).encode())
    assert [(step.scope, step.note) for step in rec][1:3] == [("fragment", "")] * 2
    assert "missing" not in rec[4].note
    assert rec[2].after.strip().startswith("%a = add")


def test_a_number_of_metadata_that_nothing_uses_may_be_left_out():
    program = "; ModuleID = 'm'\ndefine void @f() {\n  ret void, !dbg !2\n}\n\n!m = !{!0}\n!0 = !{}\n!2 = !{!0}\n"
    verdicts = {}
    for used in ("!0", "!1"):
        text = program.replace("!dbg !2", f"!dbg {used}")
        heads = [f"*** IR Dump {when} GlobalOptPass on [module] ***\n{text}" for when in ("Before", "After")]
        verdicts[used] = read("".join([*heads, heads[0]]).encode())[1].verdict
    assert verdicts == {"!0": "unchanged", "!1": "unknown"}


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_first_machine_code_of_a_function_is_a_change_where_no_pass_is_missing(is_whole):
    f = "*** IR Dump After {0} ({0}) ***\ndefine void @f() {{\n  ret void\n}}\n"
    lines = ["bb.0:", "  RET 0"]
    text = "".join([f.format(name) for name in (BACK_END if is_whole else BACK_END[:2])])
    text += machine("After", "x86-isel", lines) + machine("After", "finalize-isel", lines)
    verdicts = [step.verdict for step in read(text.encode()).steps][-2:]
    assert verdicts == (["changed", "unchanged"] if is_whole else ["unknown", "unknown"])


def test_each_program_of_a_stream_is_judged_by_what_its_own_passes_print():
    """A file compiled with `-print-changed`, then one whose passes were printed after each."""
    texts = [
        writer.llvm_dump(writer.run(seed, 30), mode, f"m{seed}.ll") for seed, mode in ((1, "changed"), (2, "module"))
    ]
    alone = [[(step.name, step.unit, step.verdict) for step in read_text(text)] for text in texts]
    together = [(step.name, step.unit, step.verdict) for step in read_text("".join(texts))]
    assert together == alone[0] + alone[1]
    assert together != alone[1] + alone[0]


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("width", ["16", "32"])
def test_text_of_wide_characters_is_read(width, mark, order):
    """With a byte order mark or without one."""
    text = writer.mlir_dump(writer.run(5, 24), "both")
    wide = (mark + text.replace("\n", "\r\n")).encode(f"utf-{width}-{order}")
    rows = [(step.name, step.unit, step.verdict, step.after) for step in read(wide)]
    assert rows == [(step.name, step.unit, step.verdict, step.after) for step in read(text.encode())]
    assert len(rows) == 24
