"""Every option of every command changes what the command says or writes, and refuses what it cannot take."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.cli import _parser, main
from tests.help_texts import unsaid
from tests.hosts import fakes

pytestmark = pytest.mark.rotating

PLAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { add(%x, multiply(2f, 3f)) }
def @twice(%x: Tensor[(2), float32]) { add(%x, %x) }
"""
PASSES = """
from passlab import relay, transform
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite

def to_maximum(old, new):
    return relay.maximum(*new.args) if new.op.name == "add" else new

@transform.function_pass(opt_level=1, name="Wrong")
def wrong(func, mod, ctx):
    return rewrite(func, to_maximum, only=(Call,))

@transform.function_pass(opt_level=0, name="Wronger")
def wronger(func, mod, ctx):
    return rewrite(func, lambda old, new: relay.negative(new), only=(Call,))
"""
MOODY = """
from itertools import count
from passlab import relay, transform

numbers = count()

@transform.function_pass(opt_level=0, name="Moody")
def moody(func, mod, ctx):
    return relay.Function(func.params, relay.add(func.body, relay.const(float(next(numbers)))), func.ret_type)
"""
DUMP = """// -----// IR Dump Before First (first) //----- //
module {
  func.func @one() -> i32 {
    %c = arith.constant 1 : i32 loc("a.c":1:1)
    return %c : i32
  }
}
// -----// IR Dump After First (first) //----- //
module {
  func.func @one() -> i32 {
    %c = arith.constant 1 : i32 loc("a.c":2:1)
    return %c : i32
  }
}
// -----// IR Dump After Second (second) //----- //
module {
  func.func @one() -> i32 {
    %c = arith.constant 2 : i32 loc("a.c":2:1)
    return %c : i32
  }
}
"""
WRONG = "wrong --passes passes.py"
# For each option a line without it and what is added; the answers of the two differ.
CHANGES = {
    "opt --out": ("opt net.relay FoldConstant", "-o out.relay"),
    "opt --shape": ("opt open.onnx simplify -o out.onnx", "--shape x=1,4"),
    "opt --steps": ("opt net.relay FoldConstant", "--steps"),
    "opt --time": ("opt net.relay FoldConstant", "--time"),
    "opt --verify": ("opt plain.relay moody --passes moody.py", "--verify"),
    "opt --limit": ("opt plain.relay FoldConstant,ToANormalForm", "--limit 1"),
    "opt --print-after": ("opt plain.relay FoldConstant,ToANormalForm", "--print-after FoldConstant"),
    "opt --dump": ("opt plain.relay FoldConstant", "--dump steps"),
    "opt --no-meta-data": ("opt net.relay FoldConstant", "--no-meta-data"),
    "opt --passes": ("opt plain.relay wrong", "--passes passes.py"),
    "opt --opt-level": ("opt plain.relay FoldConstant", "-O 0"),
    "opt --disable": ("opt plain.relay FoldConstant", "--disable FoldConstant"),
    "opt --require": ("opt plain.relay FoldConstant -O 0", "--require FoldConstant"),
    "opt --config": ("opt plain.relay InferType,FuseOps", "--config relay.FuseOps.max_depth=1"),
    "run --entry": ("run plain.relay", "--entry twice"),
    "run --args": ("run plain.relay", "--args x.npz"),
    "run --random": ("run plain.relay", "--random 5"),
    "run --shape": ("run open.onnx", "--shape x=2,4"),
    "run --executor": ("run recursive.relay", "--executor graph"),
    "report --static": ("report plain.relay FoldConstant out.html", "--static"),
    "report --passes": ("report plain.relay wrong out", "--passes passes.py"),
    "report --opt-level": ("report plain.relay FoldConstant out", "-O 0"),
    "report --disable": ("report plain.relay FoldConstant out", "--disable FoldConstant"),
    "report --require": ("report plain.relay FoldConstant out -O 0", "--require FoldConstant"),
    "report --config": ("report plain.relay InferType,FuseOps out", "--config relay.FuseOps.max_depth=1"),
    "culprit --random": (f"culprit plain.relay {WRONG}", "--random 5"),
    "culprit --entry": (f"culprit plain.relay {WRONG}", "--entry twice"),
    "culprit --seconds": (f"culprit plain.relay {WRONG}", "--seconds -1"),
    "culprit --executors": ("culprit plain.relay FoldConstant --seconds 1", "--executors debug,vm"),
    "culprit --script": (f"culprit plain.relay {WRONG}", "--script out.py"),
    "culprit --notebook": (f"culprit plain.relay {WRONG}", "--notebook out.ipynb"),
    "culprit --passes": ("culprit plain.relay wrong", "--passes passes.py"),
    "culprit --opt-level": (f"culprit plain.relay {WRONG}", "-O 0"),
    "culprit --disable": (f"culprit plain.relay {WRONG}", "--disable wrong"),
    "culprit --require": (f"culprit plain.relay {WRONG} -O 0", "--require wrong"),
    "culprit --config": (f"culprit plain.relay {WRONG}", "--config relay.FuseOps.max_depth=x"),
    "fuzz --passes": ("fuzz wrong --programs 5", "--passes passes.py"),
    "fuzz --seconds": (f"fuzz {WRONG} --programs 5", "--seconds -1"),
    "fuzz --hours": (f"fuzz {WRONG} --programs 5", "--hours -1"),
    "fuzz --programs": ("fuzz FoldConstant --programs 5", "--programs 2"),
    "fuzz --seed": (f"fuzz {WRONG} --programs 5 --most 1", "--seed 3"),
    "fuzz --most": ("fuzz wrong,wronger --passes passes.py --programs 30", "--most 1"),
    "fuzz --out": (f"fuzz {WRONG} --programs 5 --most 1", "-o out"),
    "bisect --random": (f"bisect plain.relay {WRONG}", "--random -1"),
    "bisect --reduce": (f"bisect plain.relay {WRONG}", "--reduce"),
    "bisect --passes": ("bisect plain.relay wrong", "--passes passes.py"),
    "bisect --opt-level": (f"bisect plain.relay {WRONG}", "-O 0"),
    "bisect --disable": (f"bisect plain.relay {WRONG}", "--disable wrong"),
    "bisect --require": (f"bisect plain.relay {WRONG} -O 0", "--require wrong"),
    "bisect --config": (f"bisect plain.relay {WRONG}", "--config relay.FuseOps.max_depth=x"),
    "simplify --out": ("simplify twice.onnx", "--out out.onnx"),
    "simplify --shape": ("simplify open.onnx out.onnx", "--shape n=2"),
    "simplify --value": ("simplify open.onnx out.onnx", "--value x=1"),
    "simplify --disable": ("simplify twice.onnx out.onnx", "--disable EliminateCommonSubexpr"),
    "simplify --fold-limit": ("simplify fill.onnx out.onnx", "--fold-limit 100000000"),
    "simplify --random": ("simplify twice.onnx out.onnx", "--random -1"),
    "simplify --unchecked": ("simplify foreign.onnx out.onnx", "--unchecked"),
    "dump --out": ("dump dump.txt", "-o out.html"),
    "dump --static": ("dump dump.txt -o out.html", "--static"),
    "dump --format": ("dump dump.txt", "--format llvm"),
    "dump --every-pass": ("dump dump.txt", "--every-pass"),
    "dump --table": ("dump dump.txt", "--table steps"),
    "dump --step": ("dump dump.txt", "--step 1"),
    "dump --unit": ("dump dump.txt", "--unit one"),
    "dump --compare": ("dump dump.txt", "--compare other.txt"),
    "dump --find": ("dump dump.txt", "--find constant"),
    "dump --hide": ("dump dump.txt --step 1", "--hide locations"),
    "dump --bisect": ("dump dump.txt", "--bisect grep -q arith.constant.1 {}"),
    "dump --with": ("dump dump.txt", "--with x.yaml"),
    "dump --open": ("dump dump.txt", "--open"),
    "host record --seconds": ("host record -- ./opt in.ll", "--seconds -1"),
    "host record --out": ("host record -- ./opt in.ll", "-o out.html"),
    "host record --whole": ("host record -- ./opt in.ll", "--whole"),
    "host record --save": ("host record -- ./opt in.ll", "--save dump"),
    "host record --open": ("host record -- ./opt in.ll", "--open"),
    "host record --reports": ("host record -- ./opt in.ll", "--reports"),
    "host bisect --seconds": ("host bisect --match good -- ./opt in.ll", "--seconds -1"),
    "host bisect --match": ("host bisect -- ./opt in.ll", "--match good"),
    "host bisect --check": ("host bisect -- ./opt in.ll", "--check ./check"),
    "host bisect --by": ("host bisect -- ./opt in.ll", "--by rewrite"),
    "host reduce --seconds": ("host reduce --match good -- ./opt in.ll", "--seconds -1"),
    "host reduce --out": ("host reduce --match good -- ./opt in.ll", "-o small.ll"),
    "host reduce --match": ("host reduce -- ./opt in.ll", "--match good"),
    "host reduce --check": ("host reduce -- ./opt in.ll", "--check ./check"),
    "host compare --seconds": ("host compare --against ./other/opt -- ./opt in.ll", "--seconds -1"),
    "host compare --out": ("host compare --against ./other/opt -- ./opt in.ll", "-o out.html"),
    "host compare --whole": ("host compare --against ./other/opt -- ./opt in.ll", "--whole"),
    "host compare --against": ("host compare --against ./other/opt -- ./opt in.ll", "--against ./opt"),
    "course grade --out": ("course grade class", "-o grades"),
    "course grade --lesson": ("course grade class", "--lesson 4"),
    "course grade --jobs": ("course grade class", "--jobs -1"),
    "course grade --seconds": ("course grade class", "--seconds -1"),
    "course grade --memory": ("course grade class", "--memory -1"),
}
NO_NUMBERS = ("-1", "many", "nan")  # what no option of numbers takes


def commands(parser, name=""):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from commands(inner, f"{name} {word}".strip())
            return
    yield name, parser


def options():
    """All options of all commands, as (`opt --limit`, its action)."""
    for name, parser in commands(_parser()):
        for action in parser._actions:
            long = [text for text in action.option_strings if text.startswith("--")]
            if long and long[0] != "--help":
                yield f"{name} {long[0]}", action


def test_every_argument_says_what_it_is_and_which_value_it_has_by_default():
    wrong = [f"{name} {line}" for name, parser in commands(_parser()) for line in unsaid(parser)]
    assert not wrong


@pytest.fixture
def folder(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    weight = relay.const(np.array([1, 2], "float32"))
    x = relay.var("x", shape=(2,))
    (tmp_path / "net.relay").write_text(passlab.IRModule.from_expr(relay.Function([x], x + weight)).astext())
    (tmp_path / "plain.relay").write_text(PLAIN)
    (tmp_path / "recursive.relay").write_text(
        "def @f(%n: int32) -> int32 { if (less(%n, 1)) { %n } else { @f(subtract(%n, 1)) } }"
        "def @main() -> int32 { @f(3) }"
    )
    (tmp_path / "passes.py").write_text(PASSES)
    (tmp_path / "moody.py").write_text(MOODY)
    (tmp_path / "dump.txt").write_text(DUMP)
    (tmp_path / "other.txt").write_text(DUMP.replace("constant 2", "constant 5"))
    np.savez(tmp_path / "x.npz", x=np.array([7, 8], "float32"))
    node = helper.make_node
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.own", 1)]
    sizes = helper.make_tensor("sizes", 7, [1], [2000000])
    for name, nodes in {
        "open": [node("Relu", ["x"], ["y"])],
        "twice": [node("Relu", ["x"], ["a"]), node("Relu", ["x"], ["b"]), node("Add", ["a", "b"], ["y"])],
        "fill": [node("ConstantOfShape", ["sizes"], ["a"]), node("Exp", ["a"], ["b"]), node("Add", ["x", "b"], ["y"])],
        "foreign": [node("Thing", ["x"], ["y"], domain="my.own")],
    }.items():
        shape = [2000000] if name == "fill" else ["n", 4]
        x, y = (helper.make_tensor_value_info(each, 1, shape) for each in "xy")
        graph = helper.make_graph(nodes, "g", [x], [y], [sizes] if name == "fill" else [])
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada_03-attributes.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    (tmp_path / "x.yaml").write_text("--- !Passed\nPass: first\nName: Done\nFunction: one\n...\n")
    (tmp_path / "other").mkdir()
    fakes.make(tmp_path / "other", "fail")
    fakes.make(tmp_path, "wrong")
    for name, line in (("check", 'grep -q good "$1"'), ("llvm-reduce", "true")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_option(line, added):
    """The line with an option more; what stands behind ` -- ` is a command of another program."""
    own, sign, other = line.partition(" -- ")
    return f"{own} {added}{sign}{other}"


def answer(line, folder):
    """The status, what was printed without times, and the files that were written, of a command."""
    there, before = set(folder.iterdir()), {path for path in folder.rglob("*") if path.is_file()}
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(line.split())
        except SystemExit as stop:
            status = stop.code
    new = sorted({path for path in folder.rglob("*") if path.is_file()} - before)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in new}
    for path in set(folder.iterdir()) - there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    text = re.sub(r"\d+(\.\d+)? ?(s|ms|us|seconds?)\b", "TIME", out.getvalue())
    return status, text, err.getvalue(), files


def test_every_option_of_every_command_has_an_example():
    assert set(CHANGES) == {name for name, _ in options()} - {" --version"}


@pytest.mark.parametrize("name", CHANGES)
def test_an_option_changes_the_answer_of_its_command(name, folder):
    line, added = CHANGES[name]
    plain, changed = answer(line, folder), answer(with_option(line, added), folder)
    assert plain != changed
    assert answer(line, folder)[0] == plain[0]


@pytest.mark.parametrize("name", [name for name, action in options() if action.type not in (None, Path)])
def test_an_option_of_numbers_names_itself_where_it_refuses_one(name, folder):
    action = dict(options())[name]
    line, _ = CHANGES[name]
    option = action.option_strings[-1]
    for value in NO_NUMBERS:
        status, out, err, files = answer(with_option(line, f"{option}={value}"), folder)
        assert (status, out, files) == (2, "", {})
        assert f"{option}: " in err
        assert f"found '{value}'" in err


def test_a_misspelled_option_is_refused_with_the_right_one(folder):
    for name, action in options():
        if action.option_strings[-1] == "--version":
            continue
        option = action.option_strings[-1]
        line = CHANGES[name][0].split(" --bisect")[0]
        status, out, err, files = answer(with_option(line, f"{option[:-1]}x"), folder)
        assert (status, files) == (2, {}), (name, out, err)
        assert re.search(f"did you mean (`-[^ ]*` or )*`{option}`", err), (name, err)
