"""Every option of every magic changes what its cell shows or binds, and refuses what it cannot take."""

from __future__ import annotations

import re

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import passlab
from passlab import lab, relay, transform
from passlab.errors import PasslabError
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.notebook.naming import words_of
from tests.help_texts import unsaid

pytestmark = pytest.mark.rotating

NET = """
def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(nn.relu(%x), multiply(%w, add(2f, 3f))) }
def @twice(%x: Tensor[(2), float32]) { add(%x, %x) }
"""
LOOP = "def @main(%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { @main(subtract(%n, 1)) } }"
TEXT = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(nn.relu(%x), multiply(%w, add(2f, 3f))) }"
DUMP = "".join(
    f"// -----// IR Dump After P{i} (p{i}) //----- //\nmodule {{\n  func.func @f() -> i32 {{\n"
    f"    %c = arith.constant {i} : i32\n    return %c : i32\n  }}\n}}\n"
    for i in range(3)
)
AGAIN = DUMP.replace("P1", "CSE")
C = "int twice(int x) { int y = x; return y + y; }"
# For each option a line without it and what is added; what is shown, returned and bound differs. `%%` needs a cell.
CHANGES = {
    "relay --no-infer": ("%%relay fresh", "--no-infer"),
    "relay --show": ("%%relay fresh", "--show text"),
    "relay --const": ("%%relay fresh", "--const w"),
    "relay --live": ("%%relay fresh", "--live FoldConstant"),
    "relay --opt-level": ("%%relay fresh --live FoldConstant", "-O 0"),
    "passes --out": ("%passes net FoldConstant", "-o fresh"),
    "passes --recording": ("%passes net FoldConstant", "-r fresh"),
    "passes --quiet": ("%passes net FoldConstant", "-q"),
    "passes --opt-level": ("%passes net FoldConstant", "-O 0"),
    "passes --disable": ("%passes net FoldConstant", "--disable FoldConstant"),
    "passes --require": ("%passes net FoldConstant -O 0", "--require FoldConstant"),
    "passes --config": ("%passes net InferType, FuseOps -q -o fresh", "--config relay.FuseOps.max_depth=1"),
    "compare --out": ("%compare rec other", "-o fresh"),
    "graph --changed-from": ("%graph folded", "--changed-from net"),
    "blame --step": ("%blame rec", "--step 0"),
    "run_program --args": ("%run_program net --random 0", "--args x_array,w_array"),
    "run_program --random": ("%run_program net", "--random 5"),
    "run_program --entry": ("%run_program net", "--entry twice"),
    "run_program --executor": ("%run_program loop", "--executor graph"),
    "run_program --watch": ("%run_program net", "--watch"),
    "run_program --against": ("%run_program net --random 5", "--against watched"),
    "run_program --out": ("%run_program net", "-o fresh"),
    "vm --args": ("%vm net", "--args x_array,w_array"),
    "vm --random": ("%vm net", "--random 5"),
    "vm --entry": ("%vm net", "--entry twice"),
    "vm --break": ("%vm net", "--break multiply"),
    "vm --executor": ("%vm net", "--executor debug"),
    "vm --out": ("%vm net", "-o fresh"),
    "simplify --shape": ("%simplify open_model --save SAVED", "--shape x=1,4"),
    "simplify --disable": ("%simplify doubled", "--disable EliminateCommonSubexpr"),
    "simplify --save": ("%simplify open_model", "--save SAVED"),
    "simplify --out": ("%simplify net", "-o fresh"),
    "bisect --good": ("%bisect net InferType, loses", "--good always"),
    "bisect --every": ("%bisect net InferType, FoldConstant, ToANormalForm, loses, FuseOps --good has_relu", "--every"),
    "bisect --args": ("%bisect net loses", "--args x_array,w_array"),
    "bisect --random": ("%bisect net loses", "--random 5"),
    "bisect --entry": ("%bisect net loses", "--entry twice"),
    "bisect --reduce": ("%bisect net loses", "--reduce"),
    "bisect --out": ("%bisect net loses", "-o fresh"),
    "bisect --opt-level": ("%bisect net late", "-O 0"),
    "bisect --disable": ("%bisect net loses", "--disable loses"),
    "bisect --require": ("%bisect net late -O 0", "--require late"),
    "bisect --config": ("%bisect net loses", "--config relay.FuseOps.max_depth=x"),
    "culprit --args": ("%culprit net loses", "--args x_array,w_array"),
    "culprit --random": ("%culprit net loses", "--random 5"),
    "culprit --entry": ("%culprit net loses", "--entry twice"),
    "culprit --executors": ("%culprit net FoldConstant", "--executors debug,vm"),
    "culprit --seconds": ("%culprit net loses", "--seconds -1"),
    "culprit --out": ("%culprit net loses", "-o fresh"),
    "culprit --opt-level": ("%culprit net late", "-O 0"),
    "culprit --disable": ("%culprit net loses", "--disable loses"),
    "culprit --require": ("%culprit net late -O 0", "--require late"),
    "culprit --config": ("%culprit net loses", "--config relay.FuseOps.max_depth=x"),
    "fuzz --seconds": ("%fuzz loses --programs 5", "--seconds -1"),
    "fuzz --programs": ("%fuzz FoldConstant --programs 5", "--programs 2"),
    "fuzz --seed": ("%fuzz FoldConstant --programs 5", "--seed -1"),
    "fuzz --most": ("%fuzz negates loses --programs 40", "--most 1"),
    "fuzz --out": ("%fuzz FoldConstant --programs 2", "-o fresh"),
    "dump --format": ("%dump DUMP", "--format llvm"),
    "dump --out": ("%dump DUMP", "-o fresh"),
    "dump --every-pass": ("%dump DUMP", "--every-pass"),
    "llvm --out": ("%%llvm --tool FAKE", "--out fresh"),
    "llvm --tool": ("%%llvm", "--tool no-such-clang"),
    "mlir --passes": ("%%mlir --tool FAKE", "--passes cse"),
    "mlir --out": ("%%mlir --tool FAKE", "--out fresh"),
    "mlir --tool": ("%%mlir", "--tool no-such-mlir-opt"),
}
CELLS = {"relay": TEXT, "llvm": C, "mlir": "func.func @f() -> i32 { %c = arith.constant 1 : i32 return %c : i32 }"}


def removing(name, level):
    @transform.function_pass(opt_level=level, name=name)
    def lose(func, mod, ctx):
        """Loses activations."""
        return rewrite(func, lambda old, new: new.args[0] if new.op.name == "nn.relu" else new, only=(Call,))

    return lose


@transform.function_pass(opt_level=0)
def negates(func, mod, ctx):
    """Negates sums."""
    return rewrite(func, lambda old, new: relay.negative(new) if new.op.name == "add" else new, only=(Call,))


def magics(shell):
    """The parsers of passlab's magics by name."""
    found = {}
    for kind in ("line", "cell"):
        for name, magic in shell.magics_manager.magics[kind].items():
            parser = getattr(magic, "parser", None)
            owner = getattr(magic, "__self__", None)
            if parser is not None and type(owner).__module__.startswith("passlab."):
                found[name] = parser
    return found


def options(shell):
    """All options of all magics, as (`passes --out`, its action)."""
    for name, parser in magics(shell).items():
        for action in parser._actions:
            long = [text for text in action.option_strings if text.startswith("--")]
            if long and long[0] != "--help":
                yield f"{name} {long[0]}", action


def test_every_argument_of_a_magic_says_what_it_is_and_which_value_it_has_by_default(shell):
    wrong = [f"{name} {line}" for name, parser in magics(shell).items() for line in unsaid(parser)]
    assert not wrong


@pytest.fixture
def shell(running_shell, tmp_path):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    net = passlab.parse(NET)
    x = helper.make_tensor_value_info("x", 1, ["n", 4])
    y = helper.make_tensor_value_info("y", 1, ["n", 4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    space = {
        "net": net,
        "loop": passlab.parse(LOOP),
        "folded": passlab.record(net, "FoldConstant").output,
        "rec": passlab.record(net, "FoldConstant"),
        "other": passlab.record(net, "InferType, FuseOps"),
        "loses": removing("loses", 0),
        "late": removing("late", 2),
        "negates": negates,
        "always": lambda mod: True,
        "has_relu": lambda mod: "relu" in str(mod),
        "x_array": np.array([-1.0, 2.0], "float32"),
        "w": np.array([5.0, 6.0], "float32"),
        "doubled": passlab.parse("def @main(%x: Tensor[(2), float32]) { add(nn.relu(%x), nn.relu(%x)) }"),
        "w_array": np.array([3.0, 4.0], "float32"),
        "watched": lab.watch(net, np.array([1.0, 2.0], "float32"), np.array([3.0, 4.0], "float32")),
        "open_model": helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
    }
    (tmp_path / "dump.txt").write_text(DUMP)
    fake = tmp_path / "fake-opt"
    fake.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{DUMP}END\ncase \"$*\" in *cse*) echo '{AGAIN}' >&2;; esac\n")
    fake.chmod(0o755)
    running_shell.user_ns.update(space)
    yield running_shell
    for name in (*space, "fresh"):
        running_shell.user_ns.pop(name, None)
    running_shell.run_line_magic("unload_ext", "passlab")


def answer(shell, line, folder):
    """What a line shows, returns, raises, binds and writes, as text without times."""
    files = {"DUMP": folder / "dump.txt", "SAVED": folder / "saved.onnx", "FAKE": folder / "fake-opt"}
    for word, path in files.items():
        line = line.replace(word, str(path))
    shell.user_ns.pop("fresh", None)
    mark, name, rest = re.match(r"(%%?)(\w+) ?(.*)", line, re.DOTALL).groups()
    with capture_output() as shown:
        try:
            run = shell.run_line_magic if mark == "%" else shell.run_cell_magic
            result = run(name, rest) if mark == "%" else run(name, rest, CELLS[name])
            text = f"{type(result).__name__} {result!r} {getattr(result, 'data', '')}"
        except (UsageError, PasslabError) as error:
            text = f"{type(error).__name__} {error}"
    text += shown.stdout + shown.stderr + "".join(str(output.data.get("text/plain")) for output in shown.outputs)
    written = files["SAVED"].read_bytes() if files["SAVED"].exists() else b""
    files["SAVED"].unlink(missing_ok=True)
    text = re.sub(r"\d+(\.\d+)? ?(s|ms|us|seconds?)\b|0x[0-9a-f]+|[0-9a-f]{32}", "...", text)
    return text, repr(shell.user_ns.get("fresh")), written


def test_every_option_of_every_magic_has_an_example(shell):
    assert set(CHANGES) == {name for name, _ in options(shell)}


@pytest.mark.parametrize("name", CHANGES)
def test_an_option_changes_what_its_magic_does(name, shell, tmp_path):
    line, added = CHANGES[name]
    plain, changed = answer(shell, line, tmp_path), answer(shell, f"{line} {added}", tmp_path)
    assert plain != changed


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quoted_word_is_the_word(quote, shell):
    parsers = magics(shell)
    for line, added in CHANGES.values():
        name, _, rest = f"{line} {added}".lstrip("%").partition(" ")
        if name in ("llvm", "mlir") or "-1" in added:  # words of a compiler, or none that the parser takes
            continue
        plain = parsers[name].parse_intermixed_args(words_of(rest))
        quoted = " ".join(word if word.startswith("-") else f"{quote}{word}{quote}" for word in rest.split())
        assert parsers[name].parse_intermixed_args(words_of(quoted)) == plain, quoted
        joined = re.sub(r"(--\w+) ([^-\s]\S*)", rf"\1={quote}\2{quote}", rest)
        assert parsers[name].parse_intermixed_args(words_of(joined)) == plain, joined


def test_quotes_hold_words_together_and_brackets_keep_theirs(shell, tmp_path):
    (tmp_path / "two words.txt").write_text(DUMP)
    shell.run_line_magic("dump", f"'{tmp_path}/two words.txt' -o fresh")
    assert len(shell.user_ns["fresh"].steps) == 3
    shell.run_line_magic("vm", 'net --random 0 --break "line 2" -o fresh')
    assert shell.user_ns["fresh"].breakpoints[0].text == "line 2"
    shell.run_line_magic("passes", "net FoldConstant, FuseOps, FoldConstant --disable 'FuseOps, FoldConstant' -r fresh")
    assert [event.status for event in shell.user_ns["fresh"].steps] == ["input", *["skipped"] * 3]
    shell.run_line_magic("passes", "net 'FoldConstant, FuseOps(fuse_opt_level= 0)' -r fresh")
    assert shell.user_ns["fresh"].steps[2].text == "FuseOps(fuse_opt_level=0)"
    assert words_of("""net Rename(prefix="a  b", at=['it"s']) x[1 -o 'y z'""") == [
        *("net", """Rename(prefix="a  b", at=['it"s'])""", "x[1", "-o", "y z")
    ]


def test_a_name_that_no_result_can_have_is_refused_before_anything_runs(shell, tmp_path):
    for name, action in options(shell):
        if action.metavar == "NAME" and action.dest in ("out", "recording"):
            line = re.sub("DUMP|FAKE", "absent", CHANGES[name][0])
            for wrong in ("1a", "class", "a.b"):
                text, bound, _ = answer(shell, f"{line} {action.option_strings[-1]} {wrong}", tmp_path)
                assert text.startswith(f"UsageError `{wrong}` is "), (name, text)
                assert bound == "None"


def test_two_results_have_two_names(shell, tmp_path):
    text, bound, _ = answer(shell, "%passes net FoldConstant -o fresh -r fresh", tmp_path)
    assert text == "UsageError two results cannot have one name, `fresh`: give each its own"
    assert bound == "None"


def test_an_option_of_numbers_refuses_what_is_none(shell, tmp_path):
    for name, action in options(shell):
        if action.type is None:
            continue
        for value in ("-1", "many", "nan"):
            text, bound, written = answer(shell, f"{CHANGES[name][0]} {action.option_strings[-1]}={value}", tmp_path)
            assert (bound, written) == ("None", b""), (name, text)
            assert text.startswith("UsageError"), (name, text)
            assert f"argument {'/'.join(action.option_strings)}: " in text, (name, text)
            assert f"found '{value}'" in text, (name, text)


def test_a_line_with_too_few_or_too_many_words_is_refused_with_an_example(shell, tmp_path):
    for magic in {name.split()[0] for name, _ in options(shell)} - {"llvm", "mlir"}:  # words are flags of the compiler
        shown = "run" if magic == "run_program" else magic
        for words in ("", "a b c d e f"):
            text, _, _ = answer(shell, f"%{'%' if magic == 'relay' else ''}{magic} {words}", tmp_path)
            if "required" in text or "unrecognized" in text:
                assert re.search(rf"; for example: %%?{shown} \w", text), (magic, words, text)


def test_a_misspelled_option_is_refused_with_the_right_one(shell, tmp_path):
    for name, action in options(shell):
        if name.startswith(("llvm ", "mlir ")):  # other options are flags of the compiler
            continue
        option = action.option_strings[-1]
        wrong = f"{option[:-1]}{'x' if option[-1] != 'x' else 'y'}"
        text, _, _ = answer(shell, f"{CHANGES[name][0]} {wrong}", tmp_path)
        assert text.startswith("UsageError"), (name, text)
        assert re.search(f"did you mean (`[^`]*`( or )?)*`{option}`", text), (name, text)
