"""A stream with passes of MLIR and of LLVM has the steps that each of the two alone has, and loses nothing."""

import random

import pytest

from passlab.dumps import read_text
from tests.dumps import writer
from tests.dumps.test_extents import as_rows
from tests.dumps.test_units import triton_like


def verdicts(recording, language):
    of_llvm = language == "llvm"
    steps = [step for step in recording.steps if (step.language in ("llvm", "mir")) is of_llvm]
    return [
        (row[:3], step.status, row[4])
        for row, step in zip(as_rows(recording), recording.steps, strict=True)
        if step in steps
    ]


def kernels(seed):
    """For each kernel of a stream its passes in MLIR and those in LLVM."""
    upper, _ = triton_like(seed)
    second = upper.index("\n\n// -----// IR Dump Before Pass0 ", 10) + 2
    mode = ("after", "both", "changed", "module")[seed % 4]
    lower = [writer.llvm_dump(writer.run(seed + at, 12), mode, f"m{at}") for at in (0, 50)]
    return list(zip((upper[:second], upper[second:]), lower, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_the_steps_are_those_of_each_language_alone(seed):
    programs = kernels(seed)
    mixed = read_text("[1/2] building\n" + "".join([upper + lower for upper, lower in programs]) + "done\n")
    uppers = read_text("".join([upper for upper, _ in programs]))
    assert verdicts(mixed, "mlir") == verdicts(uppers, "mlir")
    alone = [row for _, lower in programs for row in verdicts(read_text(lower), "llvm")]
    assert verdicts(mixed, "llvm") == alone
    assert [step.phase for step in mixed.steps] == sorted(step.phase for step in mixed.steps)  # kernel0, then kernel1
    assert "[1/2] building" in mixed.other_output
    assert "done" in mixed.other_output
    last_of_first = max(step.number for step in mixed.steps if step.phase == "kernel0")
    assert "define" in mixed.program(last_of_first)
    assert "tt.func" not in mixed.program(last_of_first)  # LLVM has replaced it


def test_the_first_pass_of_llvm_has_no_input_of_mlir(tmp_path):
    (upper, lower), _ = kernels(0)
    mixed = read_text(upper + lower)
    first = next(step for step in mixed.steps if step.language == "llvm")
    assert mixed.before(first) == ""
    assert mixed.save_before(first, tmp_path / "in.ll") == ""
    assert not (tmp_path / "in.ll").read_text().strip()


@pytest.mark.parametrize("seed", range(6))
def test_passes_of_llvm_on_parts_of_a_program_leave_the_rest_of_it(seed):
    rng = random.Random(seed)
    steps = writer.run(seed, 20)
    upper = writer.mlir_dump(steps, "both").split("\n\n\n")
    at = rng.randrange(4, len(upper) - 4)
    first, second = ("\n\n\n".join(part) + "\n\n\n" for part in (upper[:at], upper[at:]))
    lower = [writer.llvm_dump(writer.run(seed + number, 8), "both", f"part{number}") for number in (1, 2)]
    mixed = read_text(first + lower[0] + second + lower[1])
    assert verdicts(mixed, "mlir") == verdicts(read_text(first + second), "mlir")
    assert verdicts(mixed, "llvm") == [row for text in lower for row in verdicts(read_text(text), "llvm")]
    last = max(step.number for step in mixed.steps if step.language == "mlir")
    assert mixed.program(last) == read_text(first + second).program()
