"""Further kinds of dumps of MLIR, and the verdicts that each proves."""

import re

import pytest

from passlab.dumps import read, read_text
from passlab.dumps.listed_passes import MOST_TYPED
from passlab.dumps.mlir import aliases_of
from tests.dumps import corpus


def after(name, *bodies, argument=None):
    banner = f"// -----// IR Dump After {name} ({argument or name.lower()}) //----- //\n"
    return "".join([f"{banner}{body}\n\n" for body in bodies])


def rest(module):
    """The end of a pipeline, with so many passes that they are not a few chosen ones."""
    return "".join([after(f"Last{number}", module) for number in range(MOST_TYPED)])


CALLER = "func.func @g(%arg0: i32) -> i32 {\n  %0 = call @f(%arg0) : (i32) -> i32\n  return %0 : i32\n}"
INLINED = "func.func @g(%arg0: i32) -> i32 {\n  %0 = arith.muli %arg0, %arg0 : i32\n  return %0 : i32\n}"


def test_a_pass_inside_the_inliner_is_not_blamed_for_the_inlining():
    module = "module {\n" + "".join([f"  {row}\n" for row in INLINED.split("\n")]) + "}"
    text = after("CSE", CALLER) + after("Canonicalizer", INLINED, argument="canonicalize") + after("Inliner", module)
    text += rest(module)
    canonicalizer = read(text.encode())[2]
    assert canonicalizer.verdict == "unknown"
    assert "Inliner" in canonicalizer.note


def test_a_pass_inside_the_inliner_is_known_where_no_call_went_away():
    less = CALLER.replace("  return", "  %1 = arith.addi %0, %0 : i32\n  return")
    module = "module {\n" + "".join([f"  {row}\n" for row in CALLER.split("\n")]) + "}"
    text = after("CSE", less) + after("Canonicalizer", CALLER, argument="canonicalize") + after("Inliner", module)
    text += rest(module)
    assert read(text.encode())[2].verdict == "changed"


GENERIC = """"func.func"() <{function_type = (i32) -> i32, sym_name = "NAME"}> ({
^bb0(%argN: i32):
  %V = "arith.muli"(%argN, %argN) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
  "func.return"(%V) : (i32) -> ()
}) : () -> ()"""


def generic(name, argument, value):
    return GENERIC.replace("NAME", name).replace("argN", f"arg{argument}").replace("%V", f"%{value}")


def test_the_generic_form_is_read_by_the_names_of_its_operations():
    rows = "\n".join([generic("f", 0, 0), generic("g", 1, 1)]).split("\n")
    module = '"builtin.module"() ({\n' + "\n".join([f"  {row}" for row in rows]) + "\n}) : () -> ()"
    text = after("Inliner", module) + after("CSE", generic("f", 0, 0), generic("g", 0, 0)) + after("Canon", module)
    recording = read((text + rest(module)).encode())
    assert [step.unit for step in recording.steps][:4] == [
        "builtin.module",
        "func.func @f",
        "func.func @g",
        "builtin.module",
    ]
    assert [step.verdict for step in recording.steps][1:4] == ["unchanged"] * 3
    assert "builtin.module/func.func @g" in recording.units


OLD_GENERIC = """"func.func"() ({
^bb0(%arg0: i32):
  %0 = "arith.muli"(%arg0, %arg0) : (i32, i32) -> i32
  "func.return"(%0) : (i32) -> ()
}) {function_type = (i32) -> i32, sym_name = "NAME"} : () -> ()"""


def test_the_generic_form_of_older_versions_has_its_symbols_behind_the_regions():
    f, g = (OLD_GENERIC.replace("NAME", name) for name in "fg")
    inner = "\n".join([f"  {row}" for row in f"{f}\n{g}".split("\n")])
    module = f'"builtin.module"() ({{\n{inner}\n}}) {{sym_name = "top"}} : () -> ()'
    text = after("CSE", f, g.replace("muli", "addi")) + after("Canon", f"#map = affine_map<(d0) -> (d0)>\n{module}")
    recording = read((text + after("CSE", f) + rest(module)).encode())
    units = ["func.func @f", "func.func @g", "builtin.module @top", "func.func @f"]
    assert [step.unit for step in recording.steps][:4] == units
    assert [step.verdict for step in recording.steps][1:4] == ["unknown", "unknown", "unchanged"]
    assert {"builtin.module @top/func.func @f", "builtin.module @top/func.func @g"} <= set(recording.units)


def test_two_functions_of_one_name_in_two_modules_are_not_taken_for_one():
    """Before any dump shows the program, nothing tells them apart; afterwards the first ones are no longer believed."""
    inner = CALLER.replace("call @f", "call @h")
    rows = ["module {", *[f"  {row}" for row in CALLER.split("\n")], "  module @inner {"]
    module = "\n".join([*rows, *[f"    {row}" for row in inner.split("\n")], "  }", "}"])
    text = after("CSE", CALLER, inner) + after("Canon", module) + after("CSE", CALLER)
    recording = read((text + rest(module)).encode())
    assert [step.verdict for step in recording.steps][:2] == ["unknown"] * 2
    assert "have this name" in recording[2].note
    assert not [origin for origin in recording.blame("builtin.module/func.func @g").origins if origin.step in (1, 2)]


def test_locations_are_no_part_of_what_a_program_is_compared_by():
    function = CALLER.replace(" : (i32) -> i32\n", ' : (i32) -> i32 loc("a.mlir":2:8)\n')
    aliased = CALLER.replace(" : (i32) -> i32\n", " : (i32) -> i32 loc(#loc1)\n")
    module = "module {\n" + "".join([f"  {row}\n" for row in aliased.split("\n")]) + '}\n#loc1 = loc("a.mlir":2:8)'
    text = after("First", module) + after("CSE", function) + after("StripDebugInfo", CALLER) + rest(module)
    recording = read(text.encode())
    assert [step.verdict for step in recording.steps][1:3] == ["unchanged", "unknown"]


def scoped_dump(name, unit, value):
    """A heading with module scope, and a program in which one function holds `value`."""
    program = f"""module {{
  hal.executable private @exe {{
    hal.executable.variant public @vmvx target(<"vmvx">) {{
      builtin.module {{
        func.func @g() -> i32 {{
          %c = arith.constant {value} : i32
          return %c : i32
        }}
      }}
    }}
  }}
}}"""
    return f"// -----// IR Dump After {name} ({name.lower()}) ('{unit}') //----- //\n".replace(
        "')", f"' operation{': @g' if unit == 'func.func' else ''})"
    ) + (program + "\n\n")


def test_what_a_pass_around_others_changed_is_not_guessed_where_its_text_is_that_of_the_last():
    text = "".join(
        [
            scoped_dump("First", "builtin.module", 1),
            scoped_dump("Tile", "func.func", 2),
            scoped_dump("Cleanup", "builtin.module", 3),
            scoped_dump("TranslateTargetExecutableVariantsPass", "hal.executable.variant", 3),
            scoped_dump("Last", "func.func", 3),
            scoped_dump("OpPipelineAdaptorPass", "builtin.module", 3),
            scoped_dump("PruneExecutablesPass", "builtin.module", 3),
            *(scoped_dump(f"Last{number}", "builtin.module", 3) for number in range(MOST_TYPED)),
        ]
    )
    recording = read(text.encode())
    assert [step.unit for step in recording.steps][3:5] == ["hal.executable.variant", "func.func @g"]
    verdicts = [step.verdict for step in recording.steps][:7]
    assert verdicts == ["changed"] * 3 + ["unknown"] + ["unchanged"] * 3
    assert recording[4].note.startswith("the text is as it was a step before")
    assert [step.number for step in recording.steps if step.assumed] == [1]


CRASHED = "tool: Passes.cpp:44: void run(): Assertion `module' failed.\nPLEASE submit a bug report to https://x\n"


@pytest.mark.parametrize(("log", "crash"), [(CRASHED, "Assertion `module' failed"), ("x.mlir:7:8: error: no\n", "")])
def test_a_log_in_the_folder_says_how_the_compiler_ended(log, crash, tmp_path):
    (tmp_path / "stderr.log").write_text(log)
    folder = tmp_path / "builtin_module_no-symbol-name"
    folder.mkdir()
    for name, when in (("0_cse", "After CSE (cse)"), ("1_verify", "After Verify Failed (verify)")):
        (folder / f"{name}.mlir").write_text(f"// -----// IR Dump {when} //----- //\nmodule {{\n}}\n")
    recording = read(tmp_path)
    assert recording.format == "mlir-tree"
    assert recording.failed.name == "Verify"
    assert crash in recording.crash
    assert bool(recording.crash) == bool(crash)
    assert recording.failed.other_output == ("" if crash else log.strip())


@pytest.mark.parametrize("inside", ["Tile", "OpPipelineAdaptorPass"])
def test_what_only_runs_others_did_not_lower_the_module_that_it_shows(inside):
    """`Convert` lowers the module, and then runs a pipeline, which ends first."""
    stream = [("First", 1), (inside, 1), ("OpPipelineAdaptorPass", 2), ("Convert", 2)]
    stream += [(f"Last{number}", 2) for number in range(MOST_TYPED)]
    text = scoped_dump("Begin", "func.func", 1)
    recording = read((text + "".join(scoped_dump(name, "builtin.module", value) for name, value in stream)).encode())
    assert [step.verdict for step in recording.steps[3:5]] == ["unknown", "unchanged"]
    assert recording[4].range == (3, 4)
    assert "a pass around it" in recording[4].note


def test_an_operation_without_a_symbol_is_paired_with_its_own_text_where_threads_mix_them():
    def dump(when, value):
        head = f"// -----// IR Dump {when} CSE (cse) //----- //\n"
        return f"{head}util.initializer {{\n  %c = arith.constant {value} : i32\n  util.return\n}}\n\n"

    text = dump("Before", 1) + dump("Before", 2) + dump("After", 1) + dump("After", 3)
    assert [step.verdict for step in read(text.encode()).steps] == ["unchanged", "changed"]


def test_passes_in_threads_are_paired_each_with_its_own_begin_and_none_is_inside_another():
    def dump(when, name, value):
        head = f"// -----// IR Dump {when} CSE (cse) //----- //\n"
        return f"{head}func.func @{name}() {{\n  %c = arith.constant {value} : i32\n  return\n}}\n\n"

    text = dump("Before", "f", 1) + dump("Before", "g", 2) + dump("After", "f", 3) + dump("After", "g", 2)
    recording = read(text.encode())
    assert [(step.unit, step.verdict) for step in recording.steps] == [
        ("func.func @f", "changed"),
        ("func.func @g", "unchanged"),
    ]
    assert [step.parent for step in recording.steps] == [0, 0]


LOCATED = """\
#loc1 = loc("x.mlir":2:3)
module {
  func.func @f() {
    return loc(#loc2)
  } loc(#loc1)
} loc(#loc)
#loc = loc("x.mlir":1:1)
#loc2 = loc("x.mlir":3:5)
"""


@pytest.mark.parametrize("above", ["", "#map = affine_map<(d0) -> (d0)>\n", "#loc3 = loc(unknown)\n"])
def test_the_output_of_the_tool_is_no_part_of_the_last_program(above):
    heads = [f"// -----// IR Dump {when} CSE (cse) //----- //\n" for when in ("Before", "After")]
    step = read_text("".join(f"{head}{LOCATED}\n\n" for head in heads) + above + LOCATED).steps[0]
    assert (step.verdict, step.after) == ("unchanged", LOCATED.strip())
    assert above.strip() in step.recording.other_output


def function(name, first, place):
    return f"func.func @{name}() {{\n  %{first} = arith.constant 1 : i32{place}\n  return{place}\n}}\n"


@pytest.mark.parametrize(("number", "place"), [(4, ""), (0, " #loc8"), (0, " x.mlir:9:10"), (4, " #loc8")])
def test_what_is_spelled_otherwise_in_a_larger_program_is_no_change(number, place):
    """Numbers that are unique in a module (`--mlir-print-unique-ssa-ids`), and places without brackets."""
    lines = [
        f"  {line}" if line else "" for line in (function("g", 0, place) + function("f", number, place)).split("\n")
    ]
    module = "module {\n" + "\n".join(lines).rstrip() + "\n}\n"
    dump = "".join(
        f"// -----// IR Dump After {name} ({name.lower()}) //----- //\n{text}\n"
        for name, text in [("A", module), ("B", module), ("C", function("f", 0, " x.mlir:3:4" if place else ""))]
    )
    dump += rest(module)
    assert [step.verdict for step in read_text(dump).steps][1:3] == ["unchanged", "unknown"]
    changed = dump.replace("arith.constant 1", "arith.constant 2").replace("arith.constant 2", "arith.constant 1", 4)
    assert read_text(changed).steps[2].verdict == "changed"


def test_a_dump_without_regions_proves_no_pass_unchanged():
    text = "".join(
        f"// -----// IR Dump {when} {name} (func.func) //----- //\nfunc.func @f({argument}) {{...}}\n\n"
        for name, *arguments in (("A", "", ""), ("B", "", "%arg0: i32"))
        for when, argument in zip(("Before", "After"), arguments, strict=True)
    )
    rec = read_text(text)
    assert [step.verdict for step in rec.steps] == ["unknown", "changed"]
    assert any("left out the regions" in note for note in rec.notes)


def test_files_of_whole_programs_prove_nothing_about_passes_on_other_operations(tmp_path):
    """The files are numbered for each operation: which function was worked on first is not in their names."""
    for name, number, texts in (("f", 0, (1, 1)), ("g", 1, (2, 2))):
        for at, value in enumerate(texts):
            path = tmp_path / "builtin_module_no-symbol-name" / f"func_func_{name}" / f"{number}_{at}_p{at}.mlir"
            path.parent.mkdir(parents=True, exist_ok=True)
            head = f"// -----// IR Dump After P{at} (p{at}) ('func.func' operation: @{name}) //----- //\n"
            body = "".join(
                f"  func.func @{one}() -> i32 {{\n    %0 = arith.constant {value} : i32\n    return %0 : i32\n  }}\n"
                for one in "fg"
            )
            path.write_text(f"{head}module {{\n{body}}}\n")
    steps = read(tmp_path, "mlir-tree").steps
    assert [(step.unit[-1], step.verdict) for step in steps][1:] == [
        ("f", "unchanged"),
        ("g", "unknown"),
        ("g", "unchanged"),
    ]


@pytest.mark.parametrize("above", ["", "// written by hand\n", "\n"])
def test_aliases_are_known_below_what_stands_above_them(above):
    body = f"{above}#map = affine_map<(d0) -> (d0)>\nfunc.func @f() {{\n}}"
    assert aliases_of(body.encode()) == {b"#map": b"affine_map<(d0) -> (d0)>"}
    assert aliases_of(b"module {\n  a = b\n}") == {}


@pytest.mark.parametrize("name", [name for name in corpus.STREAMS if name.startswith(("mlir", "iree"))])
def test_users_in_comments_are_no_names_that_a_program_lacks(name):
    """As `--mlir-print-value-users` prints them, which numbers also operations without a value."""
    data = corpus.stream(name)
    comments = re.sub(
        rb"(?m)^( +[^\n/}]*[^\n/{},])$",
        lambda row: b"%s // %s: %%%d" % (row[1], (b"id", b"user")[b" = " in row[1]], 999),
        data,
    )
    rows, others = ([(one.name, one.unit, one.verdict) for one in read(text)] for text in (data, comments))
    assert comments.count(b" // ") > data.count(b" // ") + 100
    assert others == rows
