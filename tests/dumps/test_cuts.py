"""A dump from whose middle lines are gone: a verdict across the cut is open, and all others are as they were.

Tools that keep logs take out the middle, and most of them say so in a line; disks lose bytes, and say nothing.
"""

import os
import random
import re
from functools import cache

import pytest

from passlab.dumps import read, read_text
from tests.dumps import corpus
from tests.dumps.test_extents import MADE, NAMES

MARKERS = """\
[truncated]
... 1234 lines omitted ...
<output truncated>
Output truncated
[...]
... [12345 characters truncated] ...
This step has been truncated due to its large size. View the full logs from the menu
...Full output truncated (1234 lines hidden), use '-vv' to show
Skipping 1,234 KB..
Job's log exceeded limit of 4194304 bytes.
[output clipped, log limit 1MiB reached]
Streaming output truncated to the last 5000 lines.
< truncated lines 360-763 >
--- snip ---
"""
MARKERS = [line.encode() for line in MARKERS.splitlines()]


def as_rows(recording):
    return [(step.name, step.unit, step.verdict, step.since, step.number) for step in recording.steps]


@cache
def stored(name):
    data = MADE[name]().encode() if name in MADE else corpus.stream(name)
    return data, as_rows(read(data))


def cut_bytes(rng, data):
    """Where lines are gone: a few, a part, or nearly all of them."""
    size = min(rng.choice((100, 2_000, 20_000, len(data) // 2, len(data))), len(data) - 1)
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.randint(1, size))


def wrong_verdicts(data, rows, start, end, marker):
    """The steps of a dump without some bytes whose verdict is decided, and is not that of the whole dump."""
    cut = as_rows(read(data[:start] + marker + data[end:]))
    first = 0
    while first < min(len(cut), len(rows)) and cut[first][:2] == rows[first][:2]:
        first += 1
    last = 0
    while last < min(len(cut), len(rows)) and cut[-1 - last][:2] == rows[-1 - last][:2]:
        last += 1
    found = []
    for at, row in enumerate(cut):
        alike = [rows[at]] if at < first else []
        alike += [rows[at - len(cut)]] if len(cut) - at <= last else []
        if row[2] != "unknown" and alike and row[2] not in {one[2] for one in alike}:
            found.append((row, alike))
    return found


def whole_lines(data, start, end):
    return data.rfind(b"\n", 0, start) + 1, data.find(b"\n", end) + 1 or len(data)


def check_marked_cut(rng, name):
    data, rows = stored(name)
    start, end = cut_bytes(rng, data)
    marker = rng.choice(MARKERS) + b"\n"
    if rng.random() < 0.5:
        start, end = whole_lines(data, start, end)
    else:
        marker = b"\n" + marker
    found = wrong_verdicts(data, rows, start, end, marker)
    assert not found, (name, start, end, marker, found[:2])


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_across_a_cut_that_a_line_marks_is_open(name):
    rng = random.Random(f"{name} cut")
    for _ in range(3):
        check_marked_cut(rng, name)


MACHINE_CODE = [name for name in MADE if "machine code" in name]


def wrong_line_cuts(name, pairs):
    """What a marked cut from one line to another, in the middle of both or between whole lines, falsifies."""
    data, rows = stored(name)
    starts = [0, *(match.end() for match in re.finditer(b"\n", data))]
    for number, (first, last, marker) in enumerate(pairs):
        inside = 5 * (number % 2)
        start, end = starts[first] + inside, starts[last] + inside
        mark = (b"\n" if inside else b"") + marker + b"\n"
        if end <= len(data) and (found := wrong_verdicts(data, rows, start, end, mark)):
            yield start, end, mark, found[:2]


@pytest.mark.rotating
@pytest.mark.parametrize("name", MACHINE_CODE)
def test_a_marked_cut_of_machine_code_at_any_line_leaves_the_verdict_open(name):
    rng = random.Random(f"{name} lines")
    count = stored(name)[0].count(b"\n")
    firsts = [rng.randrange(count) for _ in range(60)]
    sizes = [rng.choice((0, 1, 2, 5, 20, count)) for _ in firsts]
    pairs = [(at, min(count, at + size), rng.choice(MARKERS)) for at, size in zip(firsts, sizes, strict=True)]
    assert not [*wrong_line_cuts(name, pairs)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", MACHINE_CODE)
def test_a_marked_cut_of_machine_code_between_any_two_lines(name):
    rng = random.Random(f"{name} all lines")
    count = stored(name)[0].count(b"\n")
    pairs = [(at, to, rng.choice(MARKERS)) for at in range(count) for to in range(at + at % 5, min(count, at + 40), 5)]
    assert not [*wrong_line_cuts(name, pairs)]


def test_changes_alone_do_not_repeat_a_text():
    """The end of a run that printed all, and the begin of one that printed changes alone, are cut out between both."""
    f = HEAD + "  ret i32 {}\n}\n"
    every = [
        f"*** IR Dump After P{at} on f ***\n{f.replace('{}', value)}" for at, value in enumerate(["%0", "1", "1", "2"])
    ]
    rest = "*** IR Dump After {} on f omitted because no change ***\n"
    rec = read_text("".join([*every, "--- snip ---\n", rest.replace("{}", "Q"), rest.replace("{}", "R")]), "llvm")
    assert [step.verdict for step in rec.steps][:3] == ["unknown"] * 3
    assert [step.verdict for step in rec.steps][4:] == ["unchanged"] * 2
    only = "".join([*every[:2], rest.replace("{}", "P2"), every[3]])
    assert [step.verdict for step in read_text(only, "llvm").steps] == ["changed", "changed", "unchanged", "changed"]


@pytest.mark.nightly
def test_ten_thousand_cuts():
    rng = random.Random(3)
    for _ in range(int(os.environ.get("CUTS", "10000"))):
        check_marked_cut(rng, rng.choice(NAMES))


@pytest.mark.nightly
def test_bytes_that_are_gone_without_a_word_falsify_few_dumps():
    """Two halves of programs may make one program that no reader can tell from another."""
    rng = random.Random(4)
    wrong = 0
    for _ in range(400):
        data, rows = stored(rng.choice(NAMES))
        wrong += bool(wrong_verdicts(data, rows, *cut_bytes(rng, data), b""))
    assert wrong <= 40


HEAD = "define i32 @f(i32 %0) {\n"
END = "*** IR Dump After VerifierPass on [module] ***\n"  # every pass was printed, since nobody lists this one
LOST = {
    "numbers jump": HEAD + "  %2 = add i32 %0, 1\n  %4 = add i32 %2, 1\n  ret i32 %4\n}",
    "a value is not defined": HEAD + "  ret i32 %x\n}",
    "a block is not defined": HEAD + "  br label %done\n}",
    "a value is defined twice": HEAD + "  %x = add i32 %0, 1\n  %x = add i32 %0, 1\n  ret i32 %x\n}",
    "a bracket does not close": HEAD + "  %2 = call i32 @g(i32 %0\n  ret i32 %2\n}",
    "a heading is half": HEAD + "  ret i32 %0\n}\nDump After SROAPass on f ***",
    "a program has no begin": HEAD + "  ret i32 %0\n}\n  ret i32 7\n}",
}


@pytest.mark.parametrize("what", LOST)
def test_what_is_gone_without_a_word_is_noticed_where(what):
    f = HEAD + "  ret i32 {}\n}"
    bodies = [f.replace("{}", value) for value in ("%0", "1")] + [
        LOST[what],
        f.replace("{}", "3"),
        f.replace("{}", "3"),
    ]
    dump = "".join(f"*** IR Dump After P{at} on f ***\n{body}\n" for at, body in enumerate(bodies))
    steps = read_text(dump + "*** IR Dump After Q on f omitted because no change ***\n", "llvm").steps
    assert [step.verdict for step in steps][-3:-1] != ["unchanged", "unchanged"]
    afters = read_text(dump + END).steps
    assert [step.verdict for step in afters][3:5] == ["unknown", "unchanged"]


def test_a_range_of_blame_goes_back_to_the_last_text_before_the_cut():
    parts = [f"*** IR Dump After P{at} on f ***\n{HEAD}  ret i32 {value}\n}}\n" for at, value in enumerate("0123444")]
    rec = read_text("".join([*parts[:3], "[... 40 lines omitted ...]\n", *parts[3:], END]))
    verdicts = ["unknown", "changed", "changed", "unknown", "changed", "unchanged", "unchanged"]
    assert [step.verdict for step in rec.steps][:-1] == verdicts
    assert rec[4].note == "lines of the dump are missing between this text and the one before"
    assert {(one.since, one.step) for one in rec.history("f").origins(3) if one.step == 4} == {(3, 4)}


def test_lines_that_speak_of_what_they_skip_are_no_cut():
    """Compilers print these while nothing of a dump is missing."""
    clean = [
        "note: (skipping 12 expansions in backtrace; use -fmacro-backtrace-limit=0 to see all)",
        "Suppressed 1234 warnings (1234 in non-user code).",
        "remark: loop not vectorized: more than one exit",
        "VPlan 'Initial VPlan' {",
        "  vector.ph:",
        "}",
    ]
    f = HEAD + "  ret i32 {}\n}\n"
    parts = [f"*** IR Dump After P{at} on f ***\n" + f.replace("{}", str(at)) for at in range(6)]
    parts.append(END)
    verdicts = [step.verdict for step in read_text("".join(parts)).steps]
    assert verdicts[1:6] == ["changed"] * 5
    assert [step.verdict for step in read_text(("\n".join(clean) + "\n").join(parts)).steps] == verdicts
