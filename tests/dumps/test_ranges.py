"""`first`, `last`, `bisect` and blame name a step only where the dump proves that it made the change."""

import re
from pathlib import Path

import pytest

from passlab.dumps import read, read_text
from passlab.errors import DumpError
from passlab.recorders.protocol import HostRecorder
from tests.dumps import corpus, writer

MODULE = "; ModuleID = 'm'\ndefine i32 @f() {{\n  {}\n}}\n\ndefine i32 @g() {{\n  {}\n}}\n"


def after(name, unit, f, g):
    return f"; *** IR Dump After {name} on {unit} ***\n" + MODULE.format(f, g)


ELSEWHERE = (
    after("VerifierPass", "[module]", "ret i32 1", "ret i32 1")
    + after("BPass", "f", "ret i32 2", "ret i32 1")
    + after("CPass", "f", "ret i32 2", "ret i32 3")  # g changed, which a pass on f does not touch
    + after("DPass", "g", "ret i32 2", "ret i32 3")
)


def test_what_a_pass_on_another_function_shows_is_not_its_work():
    recording = read_text(ELSEWHERE)
    assert recording.steps[2].verdict == "unchanged"
    found = recording.first("ret i32 3")
    assert (found.number, found.range, found.verdict) == (3, (2, 3), "unknown")
    answer = recording.bisect(lambda text: "ret i32 1" in text)
    assert "what ran between step 2 and 3" in str(answer)
    assert "not CPass" in str(answer)
    assert answer.command == ""
    assert recording.first("ret i32 2").name == "BPass"
    assert recording.first("ret i32 2") is recording.steps[1]


def test_the_last_step_with_a_text_says_from_when_on_it_may_be_gone():
    function = "; *** IR Dump After {} on {} ***\ndefine i32 @{}() {{\n  ret i32 {}\n}}\n"
    steps = (("VerifierPass", "f", 1), ("M", "g", 7), ("LoopPass", "g", 8), ("B", "f", 2))
    text = "".join(function.format(name, unit, unit, value) for name, unit, value in steps)
    text = text.replace("LoopPass on g", "LoopPass on [module]")
    found = read_text(text).last("ret i32 1")
    assert (found.number, found.verdict) == (3, "unknown")
    assert found.note == "one of the steps 3 to 4 took it out"


def exact_makers(recording):
    """The numbers of the steps that blame names without doubt, each with the unit."""
    return {(one.step, name) for name in recording.units for one in recording.blame(name).origins if one.is_exact}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["after", "module", "both", "before"])
@pytest.mark.parametrize("dump", [writer.llvm_dump, writer.mlir_dump])
def test_blame_names_only_passes_that_changed_the_function(dump, mode, seed):
    if mode == "before" and dump is writer.mlir_dump:
        return
    steps = writer.run(seed)
    for number, name in exact_makers(read(dump(steps, mode).encode())):
        function = name.rpartition("@")[2]
        if function in steps[0][2].functions and number:
            _, _, before, after, _ = steps[number - 1]
            assert before.functions[function] != after.functions[function]


@pytest.mark.parametrize("name", [name for name in corpus.STREAMS if name != "llvm22-dot-changed-diff"])
def test_blame_of_a_compiler_names_only_passes_that_changed_something(name):
    truth = [step["changed"] for step in corpus.expected(name)]
    assert all(truth[number - 1] is not False for number, _ in exact_makers(read(corpus.stream(name))) if number)


@pytest.mark.parametrize("name", corpus.STREAMS)
def test_the_input_counts_as_a_step_where_the_dump_has_it(name):
    recording = read(corpus.stream(name))
    line = max(recording.program(1).split("\n"), key=len)
    found = recording.first(re.escape(line.strip()))
    if recording.units_at(0):
        assert (found.number, found.after, found.before) == (0, recording.program(0), recording.program(0))
        assert found is recording[0]
        assert [found.diff().counts["added"], found.command, recording.children(found)] == [0, "", []]
        assert recording.no_command(found) == "it is the input, and no pass"
    else:
        assert (found.number, found.range, found.verdict) == (1, (0, 1), "unknown")
        assert found.note == "one of the steps 0 to 1 brought it in, or the input had it"


def test_what_the_first_pass_took_out_was_last_in_the_input():
    begin = after("BPass", "f", "ret i32 7", "ret i32 1").replace("After", "Before")
    recording = read_text(begin + after("BPass", "f", "ret i32 2", "ret i32 1"))
    assert recording.last("ret i32 7").number == recording.first("ret i32 7").number == 0
    assert recording.last("ret i32 8") is recording.first("ret i32 8") is None


def test_what_ran_between_two_pipelines_of_xla_is_no_work_of_the_second(tmp_path):
    recording = read(corpus.folder("xla-mlp-grad", tmp_path))
    step = recording.steps[-1]
    assert step.name == "pipeline-start"
    assert step.verdict == "changed"
    blame = recording.blame(next(iter(recording.units)))
    makers = {blame.maker(line) for line in range(len(blame))}
    assert "pipeline-start" not in makers
    assert f"between step {step.number - 1} and {step.number}" in makers


def test_units_of_a_live_recording_are_programs_of_their_own():
    recorder = HostRecorder("host", text=str, language="python")
    for unit, before, program in (("0/0", "def f(a):", "def f(a, b):"), ("1/0", "def g(b):", "def g(b):")):
        recorder.begin("p1", before, unit=unit)
        recorder.end(program)
    recorder.begin("p2", unit="0/0")
    recorder.end("def f(c):")
    recording = recorder.recording()
    assert [step.verdict for step in recording.steps] == ["changed", "unchanged", "changed"]
    assert recording.steps[2].before == "def f(a, b):"
    assert recording.program(2) == "def g(b):"
    assert recording.program(3) == "def f(c):"
    assert recording.blame("1/0", 2).maker(0) != "p1"
    assert recording.blame("0/0", 3).maker(0) == "p2"
    assert list(recording.units) == ["0/0", "1/0"]


@pytest.mark.parametrize(
    ("argument", "tool"), [("triton-combine", "triton-opt"), ("iree-x", "iree-opt"), ("cse", "mlir-opt")]
)
def test_the_command_of_a_pass_names_the_tool_that_has_the_others(argument, tool):
    dump = "// -----// IR Dump After X ({}) //----- //\nmodule {{\n}}\n\n"
    recording = read_text(dump.format("canonicalize") + dump.format(argument) + dump.format("fixed-point-iterator"))
    assert recording.steps[0].command.startswith(f"{tool} --pass-pipeline=")
    assert recording.steps[2].command == ""


KERNEL = Path(__file__).parents[2] / "notebooks/softmax-triton.txt.gz"


@pytest.mark.parametrize("name", [*corpus.STREAMS, *corpus.FOLDERS, "triton"])
def test_each_step_has_a_command_with_a_word_for_each_argument_or_a_reason_for_none(name, tmp_path):
    source = corpus.stream(name) if name in corpus.STREAMS else KERNEL
    recording = read(corpus.folder(name, tmp_path) if name in corpus.FOLDERS else source)
    for step in recording.steps:
        assert bool(step.command) != bool(recording.no_command(step)), step
        passes = re.findall(r"-passes='([^']*)'", step.command) + re.findall(r"-stop-after=(.*) -o", step.command)
        assert not any(re.search(r"[ A-Z]", word) for word in passes), step.command


def test_the_input_of_a_pass_on_a_loop_is_the_program_before_it_or_the_reason_says_what_is_missing(tmp_path):
    """LLVM 14 to 18 do not name the function of a loop."""
    f = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
    loop = "Loop at depth 1 containing: %2<header><latch><exiting>"
    start = f"*** IR Dump At Start ***\n; ModuleID = 'm'\nsource_filename = \"m.c\"\n\n{f}"
    sroa = f"*** IR Dump After SROAPass on f ***\n{f.replace('0', '1')}"
    licm = f"*** IR Dump After LICMPass on {loop} omitted because no change ***\n"
    rotate = (
        f"*** IR Dump After LoopRotatePass on {loop} ***\n\n; Preheader:\n  br label %2\n\n; Loop:\n2:\n  br label %2\n"
    )
    rec = read_text(start + sroa + licm + rotate + licm)
    for number in (2, 3):
        assert rec.save_before(number, tmp_path / "in.ll").startswith("opt -S -passes='loop")
        assert "%y = add i32 %x, 1" in (tmp_path / "in.ll").read_text()
    assert rec.save_before(4, tmp_path / "in.ll") == ""
    assert rec.no_command(4) == "the dump does not show its input, which step 3 may have changed"


def test_swapped_arguments_are_told():
    recording = read_text(ELSEWHERE)
    with pytest.raises(DumpError, match="given by its name, not by an int"):
        recording.unit_text("f", 3)


def test_a_text_without_passes_says_what_the_compiler_said():
    text = "IR print for module scope can't be setup on a pass-manager without disabling multi-threading first.\n"
    assert "disabling multi-threading first" in read_text(text).text()


def test_an_operation_is_counted_without_its_dialect():
    dump = "// -----// IR Dump After X (x) //----- //\nmodule {\n  func.func @f() {\n    %0 = arith.constant 1 : i32\n  }\n}\n\n"
    assert read_text(dump).operations("constant").rows[-1][-1] == 1
