"""Verdicts agree with an independent run of the compiler, and stay open where a dump proves nothing."""

import pytest

from passlab.dumps import read
from passlab.dumps.assembly import Assembly
from tests.dumps import corpus, writer
from tests.each import each


def judge(name, recording):
    truth = corpus.expected(name)
    assert [step.name for step in recording.steps] == [step["pass"] for step in truth]
    for step, want in zip(recording.steps, truth, strict=True):
        if want.get("scope") and step.unit:
            assert step.unit == want["scope"]
        if want["changed"] is None:
            continue
        if step.verdict == "unknown":
            assert name in corpus.AFTER_ONLY, step
        else:
            assert (step.verdict == "changed") == want["changed"], step


@pytest.mark.parametrize("name", [name for name in corpus.STREAMS if name != "llvm22-dot-changed-diff"])
def test_streams_are_read_as_the_compiler_meant_them(name):
    judge(name, read(corpus.stream(name)))


@pytest.mark.parametrize("name", corpus.FOLDERS)
def test_folders_are_read_as_the_compiler_meant_them(name, tmp_path):
    judge(name, read(corpus.folder(name, tmp_path)))


@each("seed", range(8))
@each("mode", ["both", "changed", "module"])
def test_a_dump_that_holds_the_truth_is_decided_in_full(seed, mode):
    steps = writer.run(seed)
    recording = read(writer.llvm_dump(steps, mode).encode())
    verdicts = [step.verdict for step in recording.steps]
    truth = ["changed" if changed else "unchanged" for *_, changed in steps]
    if mode == "module":  # what was before the first pass is not in such a dump
        assert recording.steps[0].assumed == (steps[0][1] is None)  # on one function, nothing is assumed
        assert steps[0][1] is None or verdicts[0] == "unknown"
        verdicts, truth = verdicts[1:], truth[1:]
    assert verdicts == truth


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("printer", [writer.llvm_dump, writer.mlir_dump])
def test_a_dump_of_afters_never_blames_a_pass_wrongly(seed, printer):
    steps = writer.run(seed)
    recording = read(printer(steps, "after").encode())
    for step, (_, _, _, _, changed) in zip(recording.steps, steps, strict=True):
        if step.verdict != "unknown":
            assert (step.verdict == "changed") == changed
    assert sum(step.verdict != "unknown" for step in recording.steps) >= len(steps) // 2


@pytest.mark.parametrize("seed", range(4))
def test_a_range_holds_every_change_that_may_be_the_one(seed):
    steps = writer.run(seed)
    recording = read(writer.llvm_dump(steps, "after").encode())
    for name, unit in recording.units.items():
        if name not in steps[0][2].functions:
            continue
        for since, number in list(zip(unit.since, unit.steps, strict=True))[1:]:
            results = [
                at
                for at, (_, _, before, after, _) in enumerate(steps, 1)
                if since <= at <= number and before.functions[name] != after.functions[name]
            ]
            assert results, f"no step of {since} to {number} changed {name}"


@pytest.mark.parametrize("seed", range(4))
def test_a_dump_of_befores_has_the_text_after_each_pass_where_another_follows(seed):
    steps = writer.run(seed)
    recording = read(writer.llvm_dump(steps, "before").encode())
    assert len(recording.steps) == len(steps)
    for step, (_, unit, before, _, changed) in zip(recording.steps, steps, strict=True):
        assert step.verdict in (("unknown",) if changed else ("unknown", "unchanged"))
        if unit is not None:
            assert step.before == writer.llvm_function(unit, before.functions[unit])


@pytest.mark.parametrize("mode", ["both", "module", "change"])
def test_mlir_dumps_of_each_kind(mode):
    steps = writer.run(11, 60)
    recording = read(writer.mlir_dump(steps, mode).encode())
    truth = [changed for *_, changed in steps if mode != "change" or changed]
    got = [step.verdict == "changed" for step in recording.steps]
    assert got[1:] == truth[1:]


def test_programs_are_put_together_from_the_latest_text_of_each_function():
    steps = writer.run(3)
    recording = read(writer.llvm_dump(steps, "both").encode())
    for number, (_, _, _, after, _) in enumerate(steps, 1):
        for name, body in after.functions.items():
            if recording.units[name].at(number) is not None:  # a function is not known before its first dump
                assert recording.unit_text(number, name) == writer.llvm_function(name, body)


def test_passes_inside_others_are_known_where_begins_are_printed():
    text = """// -----// IR Dump Before Outer (outer) //----- //
module {
}

// -----// IR Dump Before Inner (inner) //----- //
module {
}

// -----// IR Dump After Inner (inner) //----- //
module {
  func.func private @f()
}

// -----// IR Dump After Outer (outer) //----- //
module {
  func.func private @f()
}
"""
    inner, outer = read(text.encode()).steps
    assert (inner.name, outer.name, inner.parent) == ("Inner", "Outer", 2)
    assert (inner.verdict, outer.verdict) == ("changed", "changed")


def test_loop_bodies_are_never_taken_for_the_program():
    recording = read(corpus.stream("llvm22-list-after"))
    loops = [step for step in recording.steps if step.kind == "loop"]
    assert loops
    assert all(step.verdict == "unknown" and not step.names for step in loops)
    assert all("; Loop" in step.after or "; Preheader" in step.after for step in loops)


def test_an_open_verdict_comes_with_the_command_for_a_better_dump():
    assert "-print-changed" in read(corpus.stream("llvm22-list-after")).advice
    assert read(corpus.stream("llvm22-list-both")).advice == ""


class Counted(list):
    """A list that counts the items in its slices."""

    copied = 0

    def __getitem__(self, at):
        found = super().__getitem__(at)
        Counted.copied += len(found) if isinstance(at, slice) else 0
        return found


@pytest.mark.parametrize("mode", ["after", "both", "module"])
def test_no_step_copies_the_steps_before_it(mode, monkeypatch):
    """The time for a dump would grow with the square of its steps."""
    begin = Assembly.__init__

    def counted(self, *args):
        begin(self, *args)
        self.steps = Counted(self.steps)

    monkeypatch.setattr(Assembly, "__init__", counted)
    monkeypatch.setattr(Counted, "copied", 0)
    recording = read(writer.llvm_dump(writer.run(3, passes=200), mode).encode())
    assert Counted.copied <= 8 * len(recording)
