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
