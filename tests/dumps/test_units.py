"""One identity for each unit: after a dump of a whole program, the recording has this program and nothing else."""

import random
from textwrap import indent

import pytest

from passlab.dumps import read, read_text
from passlab.dumps.listed_passes import MOST_TYPED
from tests.dumps import corpus, writer

NESTED = """\
// -----// IR Dump Before P (p) //----- //
#a = #x.one
module @o {{
  module @i {{
    func.func @f() {{
      old.op {{a = #a}}
      return
    }}
  }}
  func.func private @g()
}}

// -----// IR Dump After P (p) //----- //
#a = #x.one
module @o {{
  module @i {{
    func.func @f() {{
      old.op {{a = #a}}
      return
    }}
  }}
  func.func private @g()
}}

// -----// IR Dump {when} Q (q) //----- //
{before}#a = #x.two
func.func @f() {{
  mid.op {{a = #a}}
  return
}}

// -----// IR Dump After R (r) //----- //
module @o {{
  module @i {{
    func.func @f() {{
      new.op
      return
    }}
  }}
  func.func private @g()
}}
"""
BEFORE = """#a = #x.one
func.func @f() {
  old.op {a = #a}
  return
}

// -----// IR Dump After Q (q) //----- //
"""


@pytest.mark.parametrize("when", ["Before", "After"])
def test_a_function_in_a_nested_module_is_one_unit(when):
    recording = read_text(NESTED.format(when=when, before=BEFORE if when == "Before" else ""))
    q, r = recording["Q"], recording["R"]
    assert q.names[0] == "builtin.module @o/builtin.module @i/func.func @f"
    assert recording.program(r) == r.after
    assert "old.op" not in recording.program(q)
    assert recording.program(q).split("\n") == [
        "#a_1 = #x.two",
        "#a = #x.one",
        "module @o {",
        "  module @i {",
        "    func.func @f() {",
        "      mid.op {a = #a_1}",
        "      return",
        "    }",
        "  }",
        "  func.func private @g()",
        "}",
    ]
    assert recording.bisect(lambda text: "old.op" in text).step is q
    assert recording.last("mid").number == q.number


def whole_programs(recording):
    """The steps whose text is that of the whole program, and before each of them the text before it."""
    for step in recording.steps:
        if step.scope == "module" or (
            step.names and step.names[0].startswith("builtin.module") and "/" not in step.names[0]
        ):
            if step.after_body is not None and step.verdict != "unknown":
                yield step


@pytest.mark.parametrize("name", [one for one in corpus.STREAMS if one.startswith(("mlir", "iree", "xdsl", "tvm"))])
def test_after_a_dump_of_a_whole_program_the_recording_has_this_program(name):
    recording = read(corpus.stream(name))
    steps = list(whole_programs(recording))
    assert steps
    for step in steps:
        assert recording.program(step) == step.after


@pytest.mark.parametrize("seed", range(6))
def test_a_program_is_the_last_whole_one_with_the_functions_printed_since(seed):
    steps = writer.run(seed, 40)
    recording = read_text(writer.mlir_dump(steps, "both"))
    whole = False
    for step, (_, unit, _, after, _) in zip(recording.steps, steps, strict=True):
        whole = whole or unit is None
        if whole:
            alone = read_text(writer.mlir_dump([("P", None, after, after, False)], "both"))
            assert recording.program(step) == alone.program(1)


@pytest.mark.parametrize("name", ["fast", "slow"])
def test_what_stands_above_an_operation_is_searched(name):
    text = "".join(
        f'// -----// IR Dump After {one} (p) //----- //\n#b = #foo.{value}\nmodule {{\n  "x.y"() {{a = #b}} : () -> ()\n}}\n\n'
        for one, value in (("A", "none"), ("B", "slow"), ("C", "fast"))
    )
    recording = read_text(text)
    assert recording.first(rf"foo\.{name}").name == {"slow": "B", "fast": "C"}[name]


def triton_like(seed, kernels=2, passes=12):
    """A stream of whole programs before each pass, of several kernels, and whether each pass changed its program."""
    rng = random.Random(seed)
    out, truth = [], []
    for kernel in range(kernels):
        lines = [f"    %{n} = tt.splat %arg0 : i32" for n in range(5)]
        for number in range(passes):
            program = "\n".join(
                ["module {", f"  tt.func public @kernel{kernel}(%arg0: i32) {{", *lines, "    tt.return", "  }", "}"]
            )
            head = f"// -----// IR Dump Before Pass{number} (pass{number}) ('builtin.module' operation) //----- //"
            out.append(f"{head}\n{program}\n\n")
            changes = rng.random() < 0.4
            truth.append(None if number + 1 == passes else changes)
            if changes:
                lines.append(f"    %x{number} = tt.addi %0, %1 : i32")
    return "".join(out), truth


@pytest.mark.parametrize("seed", range(5))
def test_the_program_after_a_pass_is_the_next_dump_of_a_whole_program(seed):
    text, truth = triton_like(seed)
    recording = read_text(text)
    verdicts = [{"changed": True, "unchanged": False, "unknown": None}[step.verdict] for step in recording.steps]
    assert verdicts == truth
    assert list(dict.fromkeys(step.phase for step in recording.steps)) == ["kernel0", "kernel1"]
    changed = next(step for step in recording.steps if step.verdict == "changed")
    assert recording.blame(changed.names[-1], changed).maker(-3) == changed.name


def test_a_pass_inside_the_inliner_is_not_given_its_work():
    dump = "// -----// IR Dump Before {} ({}) ('{}' operation{}) //----- //\nmodule {{\n{}}}\n\n"
    call = "  tt.func @f() {\n    tt.call @g() : () -> ()\n    tt.return\n  }\n  tt.func private @g() {\n    tt.return\n  }\n"
    inlined = "  tt.func @f() {\n    tt.return\n  }\n  tt.func private @g() {\n    tt.return\n  }\n"
    text = dump.format("Inliner", "inline", "builtin.module", "", call)
    text += dump.format("Canonicalizer", "canonicalize", "tt.func", ": @f", call)
    text += dump.format("CSE", "cse", "builtin.module", "", inlined) + dump.format(
        "DCE", "dce", "builtin.module", "", inlined
    )
    recording = read_text(text)
    assert [step.verdict for step in recording.steps] == ["changed", "unknown", "unchanged", "unknown"]
    assert recording.steps[1].range == (1, 2)
    assert recording.steps[1].parent == 1


FUNC = "func.func @f(%arg0: i32) -> i32 {{\n{}  return %arg0 : i32\n}}\n"
OLD, NEW = "  %0 = old.op %arg0 : i32\n", "  %0 = new.op %arg0 : i32\n"


def printed(when, name, text):
    return f"// -----// IR Dump {when} {name} ({name.lower()}) //----- //\n{text}\n"


@pytest.mark.parametrize("runner", ["OpPipelineAdaptorPass", "LowerExecutableTargetPass", "CompositeFixedPointPass"])
def test_what_is_printed_before_the_first_pass_inside_another_decides_nothing_about_the_outer_one(runner):
    old, new = FUNC.format(OLD), FUNC.format(NEW)
    stream = [(runner, old), ("Inner", old), ("Other", new), ("Last", new)]
    recording = read_text("".join([printed("Before", name, text) for name, text in stream]))
    assert [step.verdict for step in recording.steps] == ["unknown", "unknown", "unchanged", "unknown"]


def test_what_runs_other_passes_changes_nothing_by_itself():
    """The outer pass lowers the module, then runs a pipeline of its own, which changes nothing."""
    old, new = (f"module {{\n{indent(FUNC.format(one), '  ')}}}\n" for one in (OLD, NEW))
    stream = [
        ("First", old),
        ("OpPipelineAdaptorPass", new),
        ("ConvertPass", new),
        *((f"Last{n}", new) for n in range(MOST_TYPED)),
    ]
    recording = read_text("".join([printed("After", name, text) for name, text in stream]))
    assert [step.verdict for step in recording.steps[1:4]] == ["unknown", "unchanged", "unchanged"]
    assert recording.steps[1].range == (1, 2)
    found = recording.bisect(lambda text: "old.op" in text)
    assert "one of 1 to 2" in str(found)
    assert "a pass around it" in str(found)


def test_functions_without_a_body_are_lines_of_the_program_around_them():
    one, two = "func.func private @one(f32) -> f32", "func.func private @two(i32)"
    program = f"module {{\n  {one}\n  {two}\n{indent(FUNC.format(OLD), '  ')}}}\n"
    stream = [("A", program), ("B", one), ("B", two), ("C", one + " attributes {seen}"), ("C", two), ("D", program)]
    stream += [(f"Last{number}", program) for number in range(MOST_TYPED)]
    recording = read_text("".join([printed("After", name, text) for name, text in stream]))
    assert [step.verdict for step in recording.steps[1:5]] == ["unchanged", "unchanged", "changed", "unchanged"]
    assert recording.program(6).strip() == program.strip()


def test_what_the_pass_around_others_changes_stays_out_of_the_program_of_those_before():
    """The outer pass changes the function between two passes that it runs; each of these leaves what it got."""
    texts = [FUNC.format(f"  %0 = {name}.op %arg0 : i32\n") for name in ("old", "mid", "new")]
    stream = [
        ("Before", "Outer", texts[0]), ("Before", "P", texts[0]), ("After", "P", texts[0]),
        ("Before", "Q", texts[1]), ("After", "Q", texts[1]), ("After", "Outer", texts[2]),
    ]  # fmt: skip
    recording = read_text("".join([printed(*one) for one in stream]))
    assert [(step.name, step.verdict) for step in recording.steps] == [
        ("P", "unchanged"), ("Q", "unchanged"), ("Outer", "changed"),
    ]  # fmt: skip
    assert [recording.program(at).split("%0 = ")[1][:3] for at in range(4)] == ["old", "old", "mid", "new"]
    assert recording.last("old.op").number == 1


def befores(*passes):
    """A dump of whole programs before passes, each a name, a unit and the place of the only operation."""
    text = "// -----// IR Dump Before {} ({}) ('{}' operation) //----- //\nmodule {{\n  tt.func @f() {{\n    tt.return loc({})\n  }}\n}}\n\n"
    return "".join([text.format(name, name.lower(), unit, place) for name, unit, place in passes])


def test_a_pass_that_sets_locations_changed_a_program_whose_locations_differ():
    for name, verdict in (("LLVMDIScope", "changed"), ("CSE", "unchanged")):
        passes = [("A", "builtin.module", "#loc1"), (name, "builtin.module", "#loc1"), ("B", "builtin.module", "#loc2")]
        assert [step.verdict for step in read_text(befores(*passes))][1] == verdict


def test_a_pass_inside_one_that_began_before_the_dump_is_not_given_its_work():
    text = befores(
        ("Canonicalizer", "tt.func", "#loc1"), ("CSE", "builtin.module", "#loc1"), ("X", "builtin.module", "#loc1")
    )
    text = text.replace("  tt.func @f", "  tt.call @g\n  tt.func @f", 1)
    assert [step.verdict for step in read_text(text)] == ["unknown", "unchanged", "unknown"]
