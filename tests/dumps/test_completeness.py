"""Every byte of a dump belongs to a banner, a body or other output, and no damage raises an unknown error."""

import html
import json
import os
import random
import re

import pytest

from passlab.dumps import read
from passlab.errors import PasslabError
from tests.dumps import corpus, writer
from tests.dumps.test_units import triton_like
from tests.each import each

CRASH = """PLEASE submit a bug report to https://example.org and include the crash backtrace.
Stack dump:
0.\tProgram arguments: opt -O2 x.ll
 #0 0x00007f3 llvm::sys::PrintStackTrace
Segmentation fault
"""


def covered_bytes(recording, size):
    """Which bytes of a stream are in a body, in other output or in a heading."""
    seen = bytearray(size)
    pieces = [*recording.other]
    for step in recording.steps:
        pieces += [piece for piece in (step.before_body, step.after_body) if piece is not None]
    for piece in pieces:
        for start, end in zip(piece.spans[::2], piece.spans[1::2], strict=True):
            seen[start:end] = b"\1" * (end - start)
    return seen


@pytest.mark.parametrize("name", corpus.STREAMS)
def test_every_line_but_headings_is_kept(name):
    data = corpus.stream(name)
    recording = read(data)
    seen = covered_bytes(recording, len(data))
    at = 0
    while (at := seen.find(0, at)) >= 0:
        end = seen.find(1, at)
        end = len(data) if end < 0 else end
        for line in data[at:end].split(b"\n"):
            is_heading = any(mark in line for mark in (b"*** IR ", b"IR Dump", b"Running Pass: ", b"IR after ", b"[__"))
            is_input = recording.input is not None and line.decode("utf-8", "replace") in recording.input
            assert not line.strip() or is_heading or is_input, line[:120]
        at = end


def test_warnings_between_and_inside_bodies_are_other_output():
    steps = writer.run(5, 12)
    clean = writer.llvm_dump(steps, "both")
    lines = clean.split("\n")
    warning = "x.c:3:9: warning: unused variable 'a' [-Wunused-variable]\n    3 |   int a;\n      |       ^\n1 warning generated."
    at = next(number for number, line in enumerate(lines) if "IR Dump After Pass3" in line)
    dirty = "\n".join([warning, *lines[:at], "remark: loop vectorized", *lines[at:]])
    recording = read(dirty.encode())
    assert [step.verdict for step in recording.steps] == [step.verdict for step in read(clean.encode()).steps]
    assert "unused variable" in recording.other_output
    assert "loop vectorized" in recording.other_output
    assert all("warning" not in step.after and "remark" not in step.after for step in recording.steps)


def test_a_crash_keeps_what_came_before_and_is_told():
    text = writer.llvm_dump(writer.run(6, 10), "both")
    cut = text[: text.rindex("; *** IR Dump After")]
    recording = read((cut + CRASH).encode())
    assert len(recording.steps) == 10
    assert recording.steps[-1].verdict == "failed"
    assert "bug report" in recording.crash
    assert "PrintStackTrace" in recording.other_output


def test_pass_numbers_are_no_part_of_programs():
    text = writer.llvm_dump(writer.run(7, 10), "both")
    numbered = text.replace(
        "; *** IR Dump Before", " Running pass 2 Annotation2MetadataPass on [module]\n; *** IR Dump Before"
    )
    assert [s.after for s in read(numbered.encode()).steps] == [s.after for s in read(text.encode()).steps]


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"hello\n", b"*** IR Dump After", b"\x00\xff" * 300, b"// -----// IR Dump After X //----- //"]
)
def test_what_is_no_dump_has_no_steps_or_empty_ones(data):
    recording = read(data)
    assert len(recording.steps) <= 1
    assert recording.summary()
    assert isinstance(recording.text(), str)


def test_names_that_are_not_utf8_survive():
    data = '; *** IR Dump After A on caf\u00e9 ***\ndefine void @"caf\u00e9"() {\n}\n'.encode("latin-1") * 2
    recording = read(data + b"; *** IR Dump After VerifierPass on [module] ***\n")
    assert len(recording.steps) == 3
    assert recording.steps[1].verdict == "unchanged"
    recording.text()
    recording.frame()


def test_threads_that_mix_functions_are_told_apart():
    steps = [step for step in writer.run(8, 60) if step[1] is not None]
    program = steps[0][2]
    functions = {name: [] for name in program.functions}
    bodies = {name: list(body) for name, body in program.functions.items()}
    rng = random.Random(8)
    for number in range(20):
        for name in functions:
            old = writer.Program(dict(bodies))
            changed = rng.random() < 0.5
            if changed:
                bodies[name] = writer.change(rng, bodies[name])
            functions[name].append((f"P{number}", name, old, writer.Program(dict(bodies)), changed))
    mixed = []
    queues = [list(steps) for steps in functions.values()]
    while any(queues):
        mixed.append(rng.choice([queue for queue in queues if queue]).pop(0))
    recording = read(writer.mlir_dump(mixed, "after").encode())
    for step, (*_, changed) in zip(recording.steps, mixed, strict=True):
        if step.verdict != "unknown":
            assert (step.verdict == "changed") == changed


def damage(rng, data):
    """A dump with bytes cut out, repeated, swapped or overwritten."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(6)
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 7, 60, 900))
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = data[at : at + size]
        elif kind == 2:
            data[at : at + size] = rng.randbytes(min(size, max(0, len(data) - at)))
        elif kind == 3:
            data = data[: max(1, at)]
        elif kind == 4:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other : other + size]
        else:
            data[at:at] = rng.choice(
                (
                    b"\n; *** IR Dump After X on f ***\n",
                    b"*** IR Pass Y ignored ***\n",
                    b"{\n",
                    b"}\n",
                    b"\r\n",
                    b"\x00",
                    b"// -----// IR Dump Before Z (z) //----- //\n",
                    b"After Running Pass: transform.PassInfo(\n",
                    b"IR after q:\n",
                    b"# Machine code for function f: IsSSA\n",
                    b"; ModuleID = 'other'\n",
                    b"*** IR Dump At Start ***\n",
                    b"\x1b[31m-  ret void\x1b[0m\n",
                    b'"func.func"() <{sym_name = "f"}> ({\n',
                    b"V1122 02:59:17.5 1 t.py:1] [0/0] [__graph_code] TRACED GRAPH\n",
                )
            )
        if not data:
            break
    return bytes(data)


def survives(data):
    try:
        recording = read(data)
        recording.summary()
        for number in sorted({1, len(recording.steps) // 2, len(recording.steps)} - {0}):
            if recording.steps:
                step = recording.step(number)
                step.diff()
                assert step.command is not None
                recording.program(number)
        for name in list(recording.units)[:2]:
            recording.blame(name)
    except PasslabError:
        pass


def samples():
    whole = [
        writer.llvm_dump(writer.run(seed, 9), mode).encode()
        for seed in range(2)
        for mode in ("both", "after", "changed", "before")
    ]
    whole += [
        writer.mlir_dump(writer.run(seed, 9), mode).encode()
        for seed in range(2)
        for mode in ("both", "after", "change", "module")
    ]
    whole += [corpus.stream("xdsl-a")]
    for name in corpus.STREAMS:
        stream = corpus.stream(name)
        whole += [stream[start : start + 5000] for start in range(0, len(stream), max(1, len(stream) // 4))]
    return whole


def fuzz(count, seed):
    rng = random.Random(seed)
    whole = samples()
    for _ in range(count):
        pieces = rng.choice(whole), rng.choice(whole)
        survives(damage(rng, pieces[0] if rng.random() < 0.8 else b"".join(pieces)))


def test_damaged_dumps_raise_nothing_but_errors_of_passlab():
    fuzz(400, 1)


@pytest.mark.nightly
def test_a_hundred_thousand_damaged_dumps():
    fuzz(int(os.environ.get("DAMAGED_DUMPS", "100000")), 2)


@pytest.mark.parametrize("name", corpus.FOLDERS)
def test_damaged_folders_raise_nothing_but_errors_of_passlab(name, tmp_path):
    root = corpus.folder(name, tmp_path)
    rng = random.Random(3)
    for path in sorted(root.rglob("*")):
        if path.is_file() and rng.random() < 0.5:
            path.write_bytes(damage(rng, path.read_bytes() or b"x"))
    recording = read(root)
    for step in recording.steps[:40]:
        step.diff()


@each(
    "prefix",
    [
        "# | ",
        "2026-11-28T13:20:52.123Z ",
        "[ 12.5s] ",
        "(gdb)\t",
        "build\\",
        "a+b*c(\v",
        "step [3/7] \u00e9 >",
        "{x}?|\f ",
        "    ",
        "\t",
    ],
)
@each("ending", ["\n", "\r\n"])
def test_what_stands_in_front_of_each_line_is_no_part_of_the_dump(prefix, ending):
    clean = writer.llvm_dump(writer.run(9, 12), "both")
    rows = [f"{prefix}{line}" if line else prefix.rstrip() for line in clean.split("\n")]
    found, wanted = read(ending.join(rows).encode()), read(clean.encode())
    assert [(one.name, one.verdict, one.after) for one in found.steps] == [
        (one.name, one.verdict, one.after) for one in wanted.steps
    ]


DRESSES = {
    "numbers": lambda rows: [f"{number:5}\t{row}" for number, row in enumerate(rows, start=99_900)],
    "times": lambda rows: [f"[{number / 7:9.3f}] {row}" for number, row in enumerate(rows)],
    "Docker": lambda rows: [json.dumps({"log": row + "\n", "stream": "stderr"}) for row in rows],
    "a logger": lambda rows: [json.dumps({"level": "info", "message": row}) for row in rows],
    "a page": lambda rows: ["<!DOCTYPE html><html><body><pre>", *map(html.escape, rows), "</pre></body></html>"],
    "a terminal": lambda rows: [f"\x1b[0m{row}\x1b[K" for row in rows],
    "Azure": lambda rows: [f"2026-11-28T23:00:01.1Z {'##[error]' * (len(row) % 3 == 1)}{row}" for row in rows],
}


@pytest.mark.parametrize("make", [lambda: writer.llvm_dump(writer.run(9, 60), "both"), lambda: triton_like(3)[0]])
@pytest.mark.parametrize("dress", DRESSES)
def test_a_dump_in_the_dress_of_another_program_is_that_dump(dress, make):
    clean = make()
    found, wanted = read("\n".join(DRESSES[dress](clean.split("\n"))).encode()), read(clean.encode())
    assert [(one.name, one.verdict, one.after) for one in found.steps] == [
        (one.name, one.verdict, one.after) for one in wanted.steps
    ]


ENDINGS = {
    "one": lambda lines: "\r".join(lines),
    "two": lambda lines: "\r\n".join(lines),
    "one in a half": lambda lines: "\n".join([*lines[: len(lines) // 2], "\r".join(lines[len(lines) // 2 :])]),
    "two in the rest": lambda lines: "cc x.c\n" * 2**18 + "\n".join(lines[:9]) + "\r\n" + "\r\n".join(lines[9:]),
    "any": lambda lines: re.sub(r"(?<=[^\n])\n(?=([^\n]))", lambda at: "\r\n"[ord(at[1]) % 2 :], "\n".join(lines)),
    "a bar in between": lambda lines: "\n".join(lines).replace("; *** IR", " 1%\r 50%\r100%\r; *** IR"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("passes", [1, 12, 60])
def test_lines_end_in_any_way(ending, passes):
    clean = writer.llvm_dump(writer.run(9, passes), "both")
    found = read(ENDINGS[ending](clean.split("\n")).encode())
    assert [(one.name, one.verdict, one.after) for one in found] == [
        (one.name, one.verdict, one.after) for one in read(clean.encode())
    ]


def test_an_open_file_is_read_without_a_copy(tmp_path, monkeypatch):
    """A compiler's output may fill half of a disk."""
    (tmp_path / "dump.txt").write_text(writer.llvm_dump(writer.run(9, 12), "both"))
    monkeypatch.setattr("passlab.dumps.source.spool_chunks", None)
    with (tmp_path / "dump.txt").open("rb") as file:
        recording = read(file)
    (tmp_path / "dump.txt").unlink()
    assert "define" in recording[12].after
    assert recording.name == "dump.txt"
