"""A change without a text is a gap: no later step shows the program of before it as its own.

LLVM prints a part of a function after a pass on a loop, and nothing of passes that changed nothing.
"""

import re
from collections import Counter

import pytest

from passlab.dumps import read, read_text
from tests.dumps import corpus

F = "define i32 @f(i32 %x) {\n{}\n}\n"
LOOP = "; Preheader:\n{}\n; Loop:\nl:                                                ; preds = %l, %e\n  br label %l\n"


def function(line):
    return F.replace("{}", f"  %y = add i32 %x, {line}\n  ret i32 %y")


def changed(name, unit, body=""):
    return f"*** IR Dump After {name} on {unit} ***\n{body}"


def same(name, unit):
    return f"*** IR Dump After {name} on {unit} omitted because no change ***\n"


def lines(text):
    """The lines of the functions of a program in any order, without the numbers of attributes and metadata."""
    shown = [re.sub(r"[#!]\d+", "!", line) for line in text.split("\n")]
    return Counter(line for line in shown if line.startswith(("  ", "define ")))


def test_no_unchanged_step_shows_another_program_than_a_dump_of_all_passes():
    whole, quiet = (read(corpus.stream(name)) for name in ("llvm22-list-both", "llvm22-list-changed"))
    assert [step.name for step in whole] == [step.name for step in quiet]
    shown = 0
    for step, other in zip(quiet, whole, strict=True):
        if step.verdict == "unchanged" and step.kind in ("function", "module") and step.after:
            left = lines(other.after) - lines(step.after)
            more = lines(step.after) - lines(other.after)
            # LLVM removes a function that is no longer called and says so nowhere.
            assert not left, step
            assert not more or "define internal" in "\n".join(more), step
            shown += 1
    assert shown > 200


@pytest.mark.parametrize("unit", ["loop %l in function f", "Loop at depth 1 containing: %l<header><exiting>"])
def test_a_part_of_a_function_hides_what_it_was(unit):
    dump = [
        changed("SROAPass", "f", function(1)),
        same("LoopSimplifyPass", "f"),
        changed("LoopRotatePass", unit, LOOP.replace("{}", "  br label %l")),
        same("BDCEPass", "f"),
        same("SROAPass", "g"),
        changed("InstCombinePass", "f", function(3)),
        same("SROAPass", "f"),
    ]
    rec = read_text("".join(dump))
    assert [step.verdict for step in rec] == [
        "changed",
        "unchanged",
        "changed",
        "unchanged",
        "unchanged",
        "changed",
        "unchanged",
    ]
    assert [step.gap for step in rec] == [0, 0, 0, 3, 0, 3, 0]
    assert [rec[number].after for number in (2, 4, 7)] == [function(1).strip(), "", function(3).strip()]
    assert rec[4].note == "the dump does not show the program here: a step before may have changed it"
    assert rec[6].note == "the dump does not show the program before: another step may have changed it"
    assert "may have changed it (step 3)" in rec.text()
    origins = {origin.since for origin in rec.history("f").origins(1) if origin.step == 6}
    assert origins == {3}  # this line may be of LoopRotatePass


def test_a_body_that_is_cut_off_hides_what_it_was():
    cut = function(2).removesuffix("}\n")
    rec = read_text(
        changed("SROAPass", "f", function(1))
        + changed("GVNPass", "f", cut)
        + same("BDCEPass", "f")
        + same("BDCEPass", "g")
    )
    assert [step.verdict for step in rec] == ["changed", "unknown", "unchanged", "unchanged"]
    assert [(step.gap, step.after) for step in rec][2:] == [(2, ""), (0, "")]


def test_a_removed_function_hides_nothing():
    dump = [
        "*** IR Dump At Start ***\n; ModuleID = 'm'\n" + function(1) + function(1).replace("@f", "@g"),
        "*** IR Deleted After InlinerPass on g ***\n",
        same("GlobalDCEPass", "[module]"),
    ]
    rec = read_text("".join(dump))
    assert [step.verdict for step in rec] == ["changed", "unchanged"]
    assert re.findall("@.", rec[2].after) == ["@f"]
