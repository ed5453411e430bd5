"""Two recordings compared, values as graphs, times of live recordings, noise of lines."""

import pytest

from passlab.diffing.text_lines import LineReader
from passlab.display import text_graph_view
from passlab.dumps import read
from passlab.dumps.filters import FILTERS, noise_of
from passlab.dumps.language import ONNX
from passlab.errors import DumpError
from passlab.recorders import HostRecorder
from tests.dumps import corpus, writer


def test_a_recording_compared_with_itself_parts_nowhere():
    recording = read(corpus.stream("llvm22-list-both"))
    compared = recording.compare(read(corpus.stream("llvm22-list-both")))
    assert compared.first is None
    assert {pair.same for pair in compared.pairs} == {True}
    assert len(compared) == len(recording)


def test_the_first_pass_that_left_another_program_is_found():
    steps = writer.run(4)
    at = next(number for number, step in enumerate(steps) if step[1] is not None and step[4] and number > 3)
    name, unit, before, after, _ = steps[at]
    other = after.copy()
    other.functions[unit] = [("sub", 0, 0, 7), *other.functions[unit]]
    changed = [*steps[:at], (name, unit, before, other, True), *steps[at + 1 :]]
    left, right = (read(writer.llvm_dump(one, "both").encode()) for one in (steps, changed))
    compared = left.compare(right)
    assert (compared.first.left.number, compared.first.right.number) == (at + 1, at + 1)
    assert compared.diff(compared.first).counts["added"] == 1
    assert f"diverge at {name} on {unit} (step {at + 1} and {at + 1})" in compared.summary()


def test_passes_that_ran_in_one_recording_alone():
    steps = writer.run(4)
    left, right = (read(writer.llvm_dump(one, "both").encode()) for one in (steps, steps[:-1]))
    compared = left.compare(right)
    assert compared.pairs[-1].right is None
    assert "1 only in the first" in compared.summary()
    with pytest.raises(DumpError, match="in the first recording alone"):
        compared.diff(len(compared) - 1)
    assert compared.frame().shape == (len(steps), 7)
    assert "<table" in compared._repr_mimebundle_()[0]["text/html"]


FUNCTION = """define i32 @f(i32 %x, i32 %y) {
entry:
  %a = add i32 %x, %y
  %b = mul i32 %a, %a
  ret i32 %b
}"""


def test_the_graph_of_a_function_has_an_arrow_for_each_use():
    text = "".join(
        [
            f"*** IR Dump {when} InstCombinePass on f ***\n{body}\n"
            for when, body in (("Before", FUNCTION), ("After", FUNCTION.replace("mul i32 %a", "shl i32 %x")))
        ]
    )
    view = read(text.encode()).graph("f", 1)
    names = [caption.lines[0] for caption in view.captions]
    assert names == ["define", "add", "shl", "ret"]
    assert {(names[a.source], names[a.target]) for a in view.graph.arrows} == {
        ("define", "add"),
        ("define", "shl"),
        ("add", "shl"),
        ("shl", "ret"),
    }
    assert [caption.change for caption in view.captions] == ["", "", "changed", ""]
    assert view.html().count("data:image/svg+xml") == 1
    assert view.text().split("\n")[3].startswith("± 2:")


@pytest.mark.parametrize("name", ["llvm22-list-both", "mlir22-small-after", "iree-small-change"])
def test_arrows_of_graphs_join_lines_that_share_the_name(name):
    recording = read(corpus.stream(name))
    for unit in [unit for unit in recording.units if unit][:6]:
        view = recording.graph(unit, recording.units[unit].steps[0])
        for arrow in view.graph.arrows:
            source, target = (view.lines[view._line_of[at]] for at in (arrow.source, arrow.target))
            assert set(source.names) & set(target.names)


def test_names_that_are_defined_again_belong_to_the_definition_above():
    lines = LineReader(ONNX.syntax).lines("input %x: float[2]\n%a = Relu(%x)\n%b = Neg(%a)\n%a = Abs(%b)\n%c = Exp(%a)")
    view = text_graph_view(lines, ONNX.syntax)
    assert [(arrow.source, arrow.target) for arrow in view.graph.arrows] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_live_recording_has_a_flame_chart():
    recorder = HostRecorder("toy")
    recorder.start("a")
    recorder.begin("outer", "a")
    recorder.begin("inner", "a")
    recorder.end("b")
    recorder.begin("second", "b")
    recorder.end("b")
    recorder.end("b")
    recording = recorder.recording()
    assert [(depth, step.name) for depth, step in recording.nested_steps()] == [
        (0, "outer"),
        (1, "inner"),
        (1, "second"),
    ]
    view = recording.timing()
    assert view.text().split("\n") == ["outer", "  inner", "  second"]
    frame = view.frame()
    assert frame["seconds"][0] >= frame["seconds"][1:].sum()
    assert frame["own_seconds"][0] == pytest.approx(frame["seconds"][0] - frame["seconds"][1:].sum())


@pytest.mark.parametrize("name", corpus.STREAMS)
def test_the_spans_of_noise_are_what_the_filters_leave_out(name):
    lines = dict.fromkeys(corpus.stream(name).decode("utf-8", "surrogateescape").split("\n"))
    for line in [line for line in lines if len(line) < 400][:4000]:
        noise = noise_of(line)
        for kind in FILTERS:
            spans = [(start, end) for one, start, end in noise if one == kind]
            kept = FILTERS[kind](line)
            if kind == "blobs":
                assert (kept != line) == bool(spans)
            elif spans == [(0, len(line))]:
                assert not (kept or "").strip()
            else:
                left = "".join([char for at, char in enumerate(line) if not any(a <= at < b for a, b in spans)])
                assert kept == left, (kind, line)


def test_noise_has_no_empty_spans():
    assert noise_of("") == []
    assert all(start < end for _, start, end in noise_of("  %1 = load i32, ptr %p, !tbaa !9, !dbg !12 ; c"))


OLD = """*** IR Dump After SROAPass on f ***
define dso_local i32 @f(i32* nocapture noundef readonly %p, i8 %c) #0 {
  %a = alloca i32, align 4
  call void @llvm.lifetime.start.p0i8(i64 4, i8* %b) #3
  %g = getelementptr inbounds i32, i32* %p, i64 1
  %z = zext i8 %c to i32
  %v = add <4 x i32> %w, <i32 1, i32 1, i32 1, i32 1>
  ret i32 %z
}
"""
NEW = """*** IR Dump After SROAPass on f ***
define i32 @f(ptr noundef readonly captures(none) %q, i8 %c) local_unnamed_addr #7 {
  %a = alloca i32, align 4
  call void @llvm.lifetime.start.p0(ptr %b) #5
  %g = getelementptr inbounds nuw i32, ptr %q, i64 1
  %z = zext nneg i8 %c to i32
  %v = add <4 x i32> %w, splat (i32 1)
  ret i32 %z
}
"""


def test_what_versions_of_llvm_spell_in_two_ways_is_no_divergence():
    compared = read(OLD.encode()).compare(read(NEW.encode()))
    assert compared.kind(0) == "spelling"
    assert compared.first is None
    assert "spelled in another way" in compared.text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i64 1", "i64 2"),
        ("add <4", "sub <4"),
        ("splat (i32 1)", "splat (i32 2)"),
        ("ret i32 %z", "ret i32 0"),
        ("inbounds nuw i32", "i32"),
        ("alloca i32, align 4", "alloca i64, align 4"),
        ("lifetime.start", "lifetime.end"),
    ],
)
def test_what_is_another_instruction_is_a_divergence(old, new):
    assert old in NEW
    compared = read(OLD.encode()).compare(read(NEW.replace(old, new).encode()))
    assert compared.kind(0) == "different"
    assert compared.first is compared.pairs[0]
