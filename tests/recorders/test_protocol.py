"""The protocol of recorders: the recording agrees with the reports of the host."""

import random

import pytest

from passlab.errors import DumpError
from passlab.recorders import GraphNode, HostRecorder


class ToyCompiler:
    """A compiler of lists of words with nested passes, for which a recorder is written in a few lines."""

    def __init__(self, recorder):
        self.recorder = recorder

    def run(self, name, program, *passes):
        self.recorder.begin(name, program)
        try:
            for one in passes:
                program = one(program)
        except ValueError as error:
            self.recorder.fail(error)
            raise
        self.recorder.end(program)
        return program


def toy_recorder(**options):
    return HostRecorder("toy", text=lambda words: "\n".join(words), language="text", **options)


def test_steps_verdicts_nesting_and_texts():
    recorder = toy_recorder()
    toy = ToyCompiler(recorder)
    recorder.start(["a", "b"])
    toy.run("outer", ["a", "b"], lambda p: toy.run("inner", p, lambda q: [*q, "c"]), lambda p: toy.run("idle", p))
    recorder.skip("vectorize", "level 2")
    recording = recorder.recording()
    assert [(s.name, s.verdict, s.parent) for s in recording.steps] == [
        ("inner", "changed", 3),
        ("idle", "unchanged", 3),
        ("outer", "changed", 0),
        ("vectorize", "filtered", 0),
    ]
    assert recording.input == "a\nb"
    assert recording[1].diff().counts["added"] == 1
    assert (recording[3].before, recording[3].after) == ("a\nb", "a\nb\nc")
    assert recording[1].live == ["a", "b", "c"]
    assert recording[1].seconds >= 0
    assert recording.advice == ""
    assert "level 2" in recording.text()


def test_a_pass_that_raises_is_the_last_step_with_its_input():
    recorder = toy_recorder()
    toy = ToyCompiler(recorder)

    def fail(program):
        raise ValueError("no such word\nmore")

    with pytest.raises(ValueError, match="no such word"):
        toy.run("outer", ["a"], lambda p: toy.run("inner", p, fail))
    inner, outer = recorder.recording().steps
    assert (inner.verdict, inner.note, inner.before) == ("failed", "ValueError: no such word", "a")
    assert (outer.verdict, inner.parent) == ("failed", 2)


def test_passes_without_an_end_are_failed_when_the_recording_is_made():
    recorder = toy_recorder()
    recorder.begin("first", ["a"])
    recorder.begin("second")
    assert [step.verdict for step in recorder.recording().steps] == ["failed", "failed"]


def test_an_end_without_a_begin_is_refused():
    with pytest.raises(DumpError, match="never began"):
        toy_recorder().end(["a"])
    with pytest.raises(DumpError, match="never began"):
        toy_recorder().fail("x")
    with pytest.raises(DumpError, match="no language"):
        HostRecorder("toy", language="cobol")


def test_programs_that_change_in_place_are_copied():
    recorder = toy_recorder(copy=list)
    program = ["a"]
    recorder.begin("grow", program)
    program.append("b")
    recorder.end(program)
    program.clear()
    recording = recorder.recording()
    assert (recording[1].before, recording[1].after, recording[1].verdict) == ("a", "a\nb", "changed")


def test_equality_of_the_host_wins_over_text():
    recorder = toy_recorder(equal=lambda left, right: False)
    recorder.begin("constants", ["a"])
    recorder.end(["a"])
    assert recorder.recording()[1].verdict == "changed"


def test_a_printer_that_raises_spoils_its_own_text_alone():
    def text(program):
        if program == ["bad"]:
            raise RuntimeError("cannot print")
        return " ".join(program)

    recorder = HostRecorder("toy", text=text)
    for words in (["a"], ["bad"], ["c"]):
        recorder.begin(words[0])
        recorder.end(words)
    assert [step.after for step in recorder.recording().steps] == [
        "a",
        "(the program cannot be printed: RuntimeError: cannot print)",
        "c",
    ]


@pytest.mark.parametrize("seed", range(10))
def test_any_run_of_events_is_recorded_as_it_was(seed):
    rng = random.Random(seed)
    recorder = toy_recorder()
    recorder.start(["w"])
    program, begun, truth = ["w"], [], []
    for number in range(60):
        kind = rng.random()
        if kind < 0.5 or not begun:
            recorder.begin(f"p{number}", program)
            begun.append((f"p{number}", program))
        else:
            name, before = begun.pop()
            if rng.random() < 0.5:
                program = [*program, f"n{number}"]
            recorder.end(program)
            truth.append((name, before != program, "\n".join(before), "\n".join(program)))
    steps = recorder.recording().steps[: len(truth)]
    assert [(s.name, s.verdict == "changed", s.before, s.after) for s in steps] == truth


def test_a_host_with_graphs_has_them_drawn_from_its_nodes():
    def nodes(words):
        for place, word in enumerate(words):
            yield GraphNode(str(place), "word", word, (str(place - 1),) if place else ())

    recorder = toy_recorder(nodes=nodes)
    recorder.start(["a", "b"])
    recorder.begin("longer", ["a", "b"])
    recorder.end(["a", "x", "c"])
    recorder.begin("idle", ["a", "x", "c"])
    recorder.end(["a", "x", "c"])
    recording = recorder.recording()
    graph = recording.graph(step="longer")
    assert graph.text() == "3 nodes, 2 arrows.\n  0: a\n± 1: x  <- 0\n+ 2: c  <- 1"
    assert "data:image/svg+xml" in str(graph.html())
    assert [caption.change for caption in recording.graph(step="idle").captions] == ["", "", ""]
    assert recording.graph(step=0).text() == "2 nodes, 1 arrow.\n  0: a\n  1: b  <- 0"


def test_a_graph_with_keys_that_lead_nowhere_is_drawn_without_those_arrows():
    recorder = toy_recorder(nodes=lambda words: [GraphNode("a", "loop", "a", ("a", "nobody"))])
    recorder.begin("one", ["a"])
    recorder.end(["b"])
    assert recorder.recording().graph(step=1).text() == "1 node, 0 arrows.\n  0: a"
