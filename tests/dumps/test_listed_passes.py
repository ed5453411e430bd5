"""Dumps of chosen passes (`-print-after=LIST`, `-filter-passes`) and of chosen functions (`-filter-print-funcs`).

What the compiler ran and did not print may have made any change: a verdict on a part of a dump is that of the whole
dump, or open.
"""

import gzip
import os
import random
import re
from functools import cache
from pathlib import Path

import pytest

from passlab.dumps import read, read_text
from tests.dumps import corpus
from tests.dumps.test_extents import MADE

STREAMS = ["llvm19-dot-modscope", "llvm22-list-after", "llvm22-list-both"]
MLIR = ["mlir22-small-after", "mlir22-small-modscope"]
IREE = "iree-small-after"
HEADING = re.compile(
    rb"(?m)^(?:[;#] )?\*\*\* IR Dump (?:After|Before) (?P<name>.+?)(?: on (?P<unit>.+?))? \*\*\*"
    rb"|^// -----// IR Dump (?:After|Before) (?P<pass>[\w:]*\w)[^\n]* //----- //$"
)


def iree():
    return gzip.decompress((Path(__file__).parent / "listed" / f"{IREE}.txt.gz").read_bytes())


@cache
def sections(name):
    """The parts of a dump, each with the name of its pass and its unit."""
    data = MADE[name]().encode() if name in MADE else corpus.stream(name) if name != IREE else iree()
    found = list(HEADING.finditer(data))
    ends = [match.start() for match in found[1:]] + [len(data)]
    return [
        ((match["name"] or match["pass"]).decode(), (match["unit"] or b"").decode(), data[match.start() : end])
        for match, end in zip(found, ends, strict=True)
    ]


@cache
def whole_steps(name):
    return read(b"".join(data for *_, data in sections(name))).steps


def check_part(name, keeps):
    """Hold the verdicts on the sections that `keeps` chooses to those on the whole dump."""
    parts = sections(name)
    whole = whole_steps(name)
    part = read(b"".join(data for one, unit, data in parts if keeps(one, unit))).steps
    kept = [step for step in whole if keeps(step.name, step.unit)]
    assert [step.name for step in part] == [step.name for step in kept]
    for step, truth in zip(part, kept, strict=True):
        if "unknown" not in (step.verdict, truth.verdict) and not step.assumed:
            assert step.verdict == truth.verdict, (name, step, truth)


@pytest.mark.parametrize("name", [*STREAMS, *MLIR, IREE])
def test_a_dump_of_chosen_passes_falsifies_no_verdict(name):
    """Lists of any length, up to three quarters of all passes."""
    rng = random.Random(name)
    names = sorted({one for one, *_ in sections(name)})
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, len(names) // 2, len(names) * 3 // 4):
        chosen = rng.sample(names, min(count, len(names) - 1))
        check_part(name, lambda one, unit, chosen=chosen: one in chosen)


@pytest.mark.nightly
def test_a_thousand_lists_of_passes_falsify_no_verdict():
    rng = random.Random(7)
    for _ in range(int(os.environ.get("LISTS", "1000"))):
        name = rng.choice([*STREAMS, *MLIR, IREE])
        names = sorted({one for one, *_ in sections(name)})
        chosen = rng.sample(names, rng.randint(1, len(names) * 3 // 4))
        check_part(name, lambda one, unit, chosen=chosen: one in chosen)


def test_a_whole_stream_is_decided_though_it_has_one_side_alone():
    for name in (*STREAMS, *MLIR, IREE):
        decided = sum(step.verdict != "unknown" for step in whole_steps(name))
        assert decided >= 0.8 * len(whole_steps(name)), name


LISTED = "// -----// IR Dump {} {} ({}) //----- //\nfunc.func @f() {{\n  {}\n}}\n\n"


def test_a_text_before_one_pass_is_not_that_before_another():
    """`--mlir-print-ir-before=cse --mlir-print-ir-after=symbol-dce`"""
    rows = [("Before", "CSE", "old.op"), ("After", "SymbolDCE", "new.op"), ("After", "SymbolDCE", "new.op")]
    rec = read_text("".join(LISTED.format(when, name, name.lower(), line) for when, name, line in rows))
    assert {step.verdict for step in rec if step.name == "SymbolDCE"} == {"unknown"}


@pytest.mark.parametrize("name", STREAMS)
def test_a_dump_of_chosen_functions_falsifies_no_verdict(name):
    units = sorted({unit for _, unit, _ in sections(name) if re.fullmatch(r"[\w.]+", unit)})
    for hidden in units[:2]:
        inside = re.compile(rf"\b{re.escape(hidden)}\b")
        check_part(name, lambda one, unit, inside=inside: not inside.search(unit))


F, G = ("define i32 @{}() {{\n  ret i32 {}\n}}\n".format(*one) for one in (("f", 1), ("g", 2)))
HEAD = "*** IR Dump "


def test_a_module_of_which_some_functions_are_printed_may_have_changed_elsewhere():
    both = f"{HEAD}Before GlobalOptPass on [module] ***\n{F}{HEAD}After GlobalOptPass on [module] ***\n{F}"
    whole = both.replace(" ***\n", " ***\n; ModuleID = 'x'\n")
    assert [read_text(text).steps[0].verdict for text in (both, whole)] == ["unknown", "unchanged"]
    assert read_text(both).steps[0].note == "the dump shows only some functions of the module"


NONE, HIDDEN = "omitted because no change", "filtered out"


def changed(sroa_f, sroa_g, gvn_g):
    ends = [("SROAPass on f", sroa_f), ("SROAPass on g", sroa_g), ("GVNPass on f", NONE), ("GVNPass on g", gvn_g)]
    wide = [("InlinerPass on (g)", NONE), ("GlobalDCEPass on [module]", NONE)]
    lines = [f"{HEAD}After {what} {end} ***\n" for what, end in [*ends, *wide]]
    lines.insert(1, "*** IR Pass PassManager<Function> on g ignored ***\n")
    return read_text("".join([f"{HEAD}At Start ***\n{F}{G}", *lines])).steps


def test_what_the_compiler_does_not_look_at_is_not_unchanged():
    by_function = changed(NONE, HIDDEN, HIDDEN)
    assert [step.verdict for step in by_function] == [
        "unchanged",
        "filtered",
        "unchanged",
        "filtered",
        "unknown",
        "unknown",
    ]
    by_pass = changed(HIDDEN, HIDDEN, NONE)
    assert [step.verdict for step in by_pass] == [
        "filtered",
        "filtered",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
    ]
    assert [step.after for step in by_pass[2:4]] == ["", ""]  # SROA ran, and nobody knows what it did
    assert by_function[2].after == F.strip()


def test_the_reader_may_say_that_a_short_stream_has_every_pass():
    rows = [("After", "CSE", "a.op"), ("After", "SymbolDCE", "b.op"), ("After", "Inline", "b.op")]
    text = "".join(LISTED.format(when, name, name.lower(), line) for when, name, line in rows)
    assert [step.verdict for step in read_text(text)] == ["unknown"] * 3
    assert [step.verdict for step in read_text(text, every_pass=True)] == ["unknown", "changed", "unchanged"]
    notes = [any("every_pass" in note for note in read_text(text, every_pass=said).notes) for said in (False, True)]
    assert notes == [True, False]


def test_a_dump_of_changes_alone_is_not_said_to_be_a_list():
    notes = read(corpus.stream("iree-small-change")).notes
    assert not any("chosen" in note for note in notes), notes
