"""Compilers that run at the same time write into one log: what is mixed has no verdict, and the recording says so."""

import random
import re

import pytest

from passlab.dumps import read_text
from tests.dumps import writer
from tests.each import each


def mixed(seed, mode, pieces):
    """The output of two runs in turns, each of some lines or of whole dumps."""
    rng = random.Random(seed)
    runs = [writer.run(seed + shift, 80) for shift in (0, 1000)]
    texts = [writer.llvm_dump(steps, mode, f"m{number}.ll") for number, steps in enumerate(runs)]
    rows = [text.splitlines(keepends=True) if pieces else re.split(r"(?m)^(?=; \*\*\*)", text) for text in texts]
    out = []
    while any(rows):
        one = rng.choice([row for row in rows if row])
        count = rng.choice(pieces) if pieces else 1
        out += one[:count]
        del one[:count]
    return "".join(out)


@each("mode", ["both", "after", "module"])
@each("pieces", [(), (1, 5, 40), (60, 150)])
@each("seed", range(4))
def test_no_verdict_comes_from_mixed_texts(seed, pieces, mode):
    recording = read_text(mixed(seed, mode, pieces))
    assert len(recording.steps) >= 140
    assert {step.verdict for step in recording.steps} == {"unknown"}
    assert any("several compilers" in note for note in recording.notes)


@pytest.mark.parametrize("mode", ["both", "after", "module", "changed"])
def test_compilers_that_run_one_after_the_other_are_not_mixed(mode):
    text = "".join(writer.llvm_dump(writer.run(seed, 30), mode, f"m{seed}.ll") for seed in range(4))
    recording = read_text(text)
    assert not any("several compilers" in note for note in recording.notes)
    assert sum(step.verdict != "unknown" for step in recording.steps) > 60


def interrupted(rng, data, count):
    """Put the program of some passes, before they ran, below the next program: another thread printed in between."""
    parts = re.split(r"(?m)^(?=// -----// IR Dump)", data)
    befores = [at for at, part in enumerate(parts[:-1]) if part.startswith("// -----// IR Dump Before")]
    for at in rng.sample(befores, count):
        head, _, program = parts[at].partition("\n")
        parts[at] = head + "\n"
        parts[at + 1] += program
    return "".join(parts)


@each("seed", range(6))
def test_a_program_that_another_thread_parted_from_its_heading_leaves_the_verdict_open(seed):
    data = writer.mlir_dump(writer.run(seed, 24), "both")
    rows = [(step.name, step.verdict) for step in read_text(data)]
    for count in (1, 1, 1, 3):
        others = [(step.name, step.verdict) for step in read_text(interrupted(random.Random(seed), data, count))]
        assert [name for name, _ in others] == [name for name, _ in rows]
        assert all(other in (row, (row[0], "unknown")) for row, other in zip(rows, others, strict=True))
        assert 1 <= sum(other != row for row, other in zip(rows, others, strict=True)) <= 2 * count
