"""A body is a program: what else stands in a dump, and where the dump ends, may leave verdicts open and no more.

Lines of tools, of other languages and of chance are put between the bodies of stored dumps, comments into them, and
the dumps are cut at any byte.
"""

import os
import random
import re
from functools import cache

import pytest

from passlab.dumps import read
from tests.dumps import corpus, writer
from tests.dumps.test_units import triton_like

NOISE = """\
Running pass: SROAPass on f (12 instructions)
Running analysis: DominatorTreeAnalysis on f
Clearing all analysis results for: f
BISECT: running pass (2) annotation2metadata on [module]
[licm] visiting loop 3
LICM hoisting to entry:   %x = load i32, ptr %p
x.c:3:9: warning: unused variable 'a' [-Wunused-variable]
remark: <unknown>:0:0: loop not vectorized
===-------------------------------------------------------------------------===
                          ... Statistics Collected ...
   0.0004 ( 31.2%)   0.0000 (  0.0%)   0.0004 ( 30.1%)   0.0004 ( 30.0%)  SROAPass
      7 instcombine - Number of insts combined
  Total Execution Time: 0.0012 seconds (0.0012 wall clock)
  0.0012 ( 12.5%)  Canonicalizer
// -----// SoftwarePipeliner internal IR Dump After: LowerLoops
// -----//
; *** IR
*** IR Dump
[1/42] Building CXX object foo.o
ninja: build stopped: subcommand failed.
make: *** [Makefile:3: all] Error 1
100%|##########| 10/10 [00:01<00:00,  9.8it/s]
INFO 2026-11-28 13:20:52,123 compiler.py:42] lowering
}
{
})
]
  %1 = add i32 %0, 1
  ret i32 %x
entry:
^bb0:
#
!
@
;
//
->
module
func.func
define
\t
Cr\u00e9ation de l'analyse\u2026
\x1b[32m[ok]\x1b[0m done
""".splitlines()
# Signs of a diff without a line behind them, and a whole block of a function that no pass printed here.
NOISE += ["-", "+", " ", "- ", "-\n+", "entry:\n  %1 = add i32 %0, 1\n  ret i32 %x", "entry:\n  ret i32 %x"]
COMMENTS = {"llvm": "; ", "mir": "; ", "mlir": "// ", "python": "# "}
HEADING = re.compile(rb"(?m)^(?:[;#] )?\*\*\* IR |^// -----// IR Dump |^IR after |^(?:Before|After) Running Pass: ")
MADE = {
    "made llvm both": lambda: writer.llvm_dump(writer.run(3, 24), "both"),
    "made llvm module": lambda: writer.llvm_dump(writer.run(4, 20), "module"),
    "made machine code both": lambda: writer.machine_dump(writer.run(8, 24), "both"),
    "made machine code after": lambda: writer.machine_dump(writer.run(9, 24), "after"),
    "made mlir both": lambda: writer.mlir_dump(writer.run(5, 24), "both"),
    "made mlir module": lambda: writer.mlir_dump(writer.run(6, 20), "module"),
    "made mlir before": lambda: triton_like(1)[0],
    "made mlir and llvm": lambda: triton_like(1)[0] + writer.llvm_dump(writer.run(7, 20), "both"),
}
NAMES = [*corpus.STREAMS, *MADE]


def as_rows(recording):
    return [(step.name, step.unit, step.verdict, step.since, step.after) for step in recording.steps]


@cache
def stored(name):
    """The bytes of a dump, its steps, where lines begin between its bodies, and where inside, with the language."""
    data = MADE[name]().encode() if name in MADE else corpus.stream(name)
    recording = read(data)
    inside = []
    for step in recording.steps:
        if step.after_body is not None and len(step.after_body.spans) == 2 and not step.after_body.form:
            start, end = step.after_body.spans
            rows = data[start:end].strip(b"\n").split(b"\n")
            at = start + data[start:end].index(rows[0])
            for row in rows[:-1]:
                at += len(row) + 1
                inside.append((at, step.language))
    ends = [match.start() for match in HEADING.finditer(data)]
    below = [data.index(b"\n", at) + 1 for at in ends]
    return data, as_rows(recording), [*ends, *below, len(data)], inside


def random_line(rng):
    kind = rng.randrange(4)
    if kind:
        return rng.choice(NOISE).encode()
    return bytes(rng.choice(b" abcdefgh0123456789.,:;()[]<>-_=/'") for _ in range(rng.randint(0, 60))).replace(
        b"***", b""
    )


def agree(rows, others, message):
    """Whether each step of `others` has the verdict of the same step in `rows`, or none."""
    for number, (row, other) in enumerate(zip(rows, others, strict=False), start=1):
        if other[2] != "unknown":
            text = other[4] or row[4]  # empty after lines that end a program: a part of the dump may be missing there
            assert (*other[:4], text) == row, (message, number, other[:4], row[:4])


def insert(rng, name):
    _, _, outside, inside = stored(name)
    for _ in range(rng.choice((1, 1, 3, 40))):
        if inside and rng.random() < 0.4:
            at, language = rng.choice(inside)
            sign = COMMENTS.get(language, "").encode()
            line = sign + random_line(rng).strip().replace(b"\n", b"\n" + sign)
            lines = [(at, line)] if language in COMMENTS else []
        else:
            at = rng.choice(outside)
            lines = [(at, random_line(rng)) for _ in range(rng.choice((1, 1, 5)))]
        yield from lines


def check_insertion(rng, name):
    data, rows, _, _ = stored(name)
    pieces, at = [], 0
    lines = sorted(insert(rng, name), key=lambda one: one[0])
    for offset, line in lines:
        pieces += [data[at:offset], line + b"\n"]
        at = offset
    changed = as_rows(read(b"".join([*pieces, data[at:]])))
    message = f"{name}: {lines[:4]}"
    assert [row[:2] for row in changed] == [row[:2] for row in rows], message
    agree(rows, changed, message)
    return sum(row[2] == "unknown" for row in changed) - sum(row[2] == "unknown" for row in rows)


def check_cut(rng, name):
    data, rows, _, _ = stored(name)
    at = rng.randrange(len(data))
    cut = as_rows(read(data[:at]))
    if cut and len(cut) <= len(rows) and cut[-1][2] != "unknown" and rows[len(cut) - 1][4].startswith(cut[-1][4]):
        cut[-1] = (*cut[-1][:4], rows[len(cut) - 1][4])  # a change may be proved before its text ends
    agree(rows, cut, f"{name}, cut at {at}")


def draw(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        name = rng.choice(NAMES)
        rng.choice((check_insertion, check_cut))(rng, name)


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_other_output_and_cuts_falsify_no_verdict(name):
    rng = random.Random(f"{name} 1")
    for _ in range(4):
        check_insertion(rng, name)
        check_cut(rng, name)


@pytest.mark.parametrize(
    "name", ["llvm22-dot-changed-diff", "llvm22-list-both", "llvm22-list-changed", "made mlir both"]
)
@pytest.mark.parametrize("count", [30, 3000])
def test_a_program_is_found_below_any_number_of_lines(name, count):
    data, rows, _, _ = stored(name)
    heads = list(HEADING.finditer(data))[:: len(data) // 4000]
    noise = b"".join([b"[licm] visiting loop %d\n" % number for number in range(count)])
    lines = data.split(b"\n")
    numbers = {data.count(b"\n", 0, head.start()) for head in heads}
    dressed = b"\n".join([line + b"\n" + noise.rstrip() if at in numbers else line for at, line in enumerate(lines)])
    assert as_rows(read(dressed)) == rows


@pytest.mark.nightly
def test_a_hundred_thousand_insertions_and_cuts():
    draw(int(os.environ.get("INSERTIONS", "100000")), 1)


def test_an_instruction_above_a_loop_is_not_of_it():
    data = corpus.stream("llvm22-list-both")
    head = re.compile(rb"(?m)^; \*\*\* IR Dump After LoopRotatePass on loop [^\n]*\n")
    torn = head.sub(lambda match: match[0] + b"  %1 = add i32 %0, 1\n", data)
    assert [step.verdict for step in read(torn)] == [step.verdict for step in read(data)]
