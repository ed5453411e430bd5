"""The stepper's Python half: what it answers to messages of the browser, good and bad."""

from __future__ import annotations

import asyncio
import base64

import numpy as np
import pytest

import passlab
from passlab import limits, vm
from passlab.display.views.stepper import NOTHING, SLICE, VARIES, stepper_view
from passlab.notebook.stepper_widget import StepperWidget
from tests.vm.programs import LOOP
from tests.vm.traced import LOGARITHM, TREE


@pytest.fixture
def widget():
    dbg = vm.Debugger(passlab.parse(LOGARITHM), np.full((2, 3), 0.3, "float32"), np.ones((4, 3), "float32"))
    dbg.breakpoint("nn.softmax")
    dbg.continue_()
    return StepperWidget(stepper_view(dbg))


def heard(widget, **content):
    widget._on_message(None, content, [])


def test_it_opens_where_the_debugger_stands_and_moves_it(widget):
    assert widget.now.operators == ["nn.softmax"]
    widget.at = 3
    assert widget.view.debugger.at == 3
    assert widget.now.number == 3


def test_a_fork_is_a_branch_with_data_of_its_own(widget):
    register = widget.now.reads[0]
    heard(widget, fork={"instant": widget.at, "register": register, "value": "2"})
    assert "another result" in widget.branch["text"]
    assert widget.branch["data"]["fork"] == widget.branch["instant"]
    assert np.allclose(widget.fork.result, 0.25)
    assert widget.branch["rows"][0][1] == "$13"
    widget.at = 0
    assert widget.now.trace is widget.fork.trace


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("[[1, 2, 3, 4], [0, 0, 0, 9]]", [[1, 2, 3, 4], [0, 0, 0, 9]]), ("[[5], [6]]", [[5] * 4, [6] * 4]),
        ("arange", [[0, 1, 2, 3], [4, 5, 6, 7]]), ("full 2.5", [[2.5] * 4] * 2), ("ones", [[1] * 4] * 2),
    ],
)  # fmt: skip
def test_a_fork_takes_whole_tensors(widget, text, held):
    register = widget.now.reads[0]
    heard(widget, fork={"instant": widget.at, "register": register, "value": text})
    assert widget.fork.trace[0].registers[register].tolist() == held
    assert widget.branch["head"][:4] == ["instant", "register", "original", "branch"]
    assert widget.branch["parted"] == -1


@pytest.mark.parametrize(
    "word",
    [
        {"instant": 10**6, "register": 0, "value": "1"}, {"instant": 0, "register": 99, "value": "1"}, {},
        {"instant": 0, "register": 0, "value": "one"}, {"instant": None, "register": 0, "value": "1"}, {"instant": 0, "register": 0, "value": "[[1, 2, 3], [1]]"},
        {"instant": 0, "register": 0, "value": "__import__('os')"}, {"instant": 0, "register": 0, "value": "arange[0]"},
    ],
)  # fmt: skip
def test_a_bad_fork_is_told_and_changes_nothing(widget, word):
    heard(widget, fork=word)
    assert widget.branch["error"]
    assert widget.fork is None


def test_odd_messages_are_ignored(widget):
    before = dict(widget.data)
    for content in (None, [], "x", {"draw": "1"}, {"draw": 10**9}, {"export": 1}, {"fork": 3}):
        widget._on_message(None, content, [])
    assert widget.data == before
    assert widget.page == ""


def test_it_is_exported_as_a_page(widget):
    heard(widget, export=True)
    assert widget.page.startswith("<!doctype html>")
    assert "pl-stepper" in widget.page


def test_tensors_without_a_picture_are_drawn_when_asked():
    view = stepper_view(vm.Debugger(passlab.parse(LOGARITHM), np.ones((2, 3), "float32"), np.ones((4, 3), "float32")))
    view.values.room = 0
    number = view.values.add(np.arange(12.0).reshape(3, 4))
    assert number in view.values.tensors
    widget = StepperWidget(view)
    widget.view.values.tensors[number] = np.arange(12.0).reshape(3, 4)
    heard(widget, draw=number)
    assert widget.pictures[str(number)]["max"] == 11


def test_long_runs_are_cut_and_say_so():
    dbg = vm.Debugger(passlab.parse(TREE), np.int32(2))
    with limits.override(shown_instants=100):
        data = stepper_view(dbg).data()
    assert (data["length"], data["left_out"]) == (100, len(dbg.trace) - 100)
    assert data["end"]["what"] == "more"


def unpacked(text):
    return np.frombuffer(base64.b64decode(text[1:]), f"<u{text[0]}").astype(np.int64) - 1


def texts_by_instruction(data):
    """What each instruction wrote, as the browser reads it: None for nothing."""
    runs = zip(unpacked(data["runPoints"]), unpacked(data["runs"]), strict=True)
    points = np.concatenate([np.arange(start, start + count) for start, count in runs])
    other = iter(unpacked(data["value"]).tolist())
    numbers = [next(other) if n == VARIES else n for n in np.array(data["always"])[points].tolist()]
    return [None if n == NOTHING else data["values"]["texts"][n] for n in numbers], points


@pytest.mark.rotating
@pytest.mark.parametrize("part", [0, 0.5, 1])
@pytest.mark.parametrize(("program", "arg"), [(TREE, 9), (LOOP, 600)])
def test_long_runs_send_what_is_near_at_once_and_the_rest_when_asked(program, arg, part):
    dbg = vm.Debugger(passlab.parse(program), np.int32(arg))
    dbg.goto(int(part * len(dbg.trace)))
    widget = StepperWidget(stepper_view(dbg))
    first, points = texts_by_instruction(widget.data)
    assert widget.data["partial"]
    assert "..." in first
    heard(widget, rest=True)
    names, all_points = texts_by_instruction(widget.data)
    assert not widget.data["partial"]
    assert "..." not in names
    assert points.tolist() == all_points.tolist() == dbg.trace.point.tolist()
    near = slice(max(0, dbg.at - 100), dbg.at + 1000)
    assert first[near] == names[near]
    assert all(a in (b, "...") for a, b in zip(first, names, strict=True))


def test_the_kernel_answers_others_while_it_gathers_the_rest():
    widget = StepperWidget(stepper_view(vm.Debugger(passlab.parse(LOOP), np.int32(1500))))
    assert len(widget.view.trace) > 3 * SLICE
    answered = []

    async def kernel():
        heard(widget, rest=True)
        heard(widget, rest=True)  # of another view of it: the work is under way
        while widget.data["partial"]:
            answered.append(widget.data["partial"])
            await asyncio.sleep(0)

    asyncio.run(kernel())
    assert len(answered) >= 3
    assert "..." not in texts_by_instruction(widget.data)[0]


def test_an_export_leaves_the_numbers_of_values_alone(widget):
    values = widget.view.values
    heard(widget, export=True)
    assert widget.view.values is values


def test_short_runs_are_sent_whole(widget):
    before = widget.data
    heard(widget, rest=True)
    assert not before["partial"]
    assert widget.data is before


def test_text_and_html_are_stable_and_safe(widget):
    view = widget.view
    assert view.text() == stepper_view(view.debugger).text()
    assert "<script" not in str(view.html())
    assert len(view.frame()) == len(view.trace)
