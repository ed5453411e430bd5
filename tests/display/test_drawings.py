"""Drawings for lessons: frames and registers as boxes, storages over time, trees."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import display, vm
from passlab.display.lanes import Bar, Lanes
from passlab.errors import PasslabError

SUM = """
def @sum(%n: int32) -> int32 { if (%n == 0) { 0 } else { %n + @sum(%n - 1) } }
def @main(%n: int32) -> int32 { @sum(%n) }
"""


@pytest.fixture(scope="module")
def debugger():
    return vm.Debugger(passlab.parse(SUM), np.int32(9))


def test_every_instant_shows_its_frames_and_registers(debugger):
    for number in range(len(debugger.trace) + 1):
        instant = debugger.trace[number]
        view = display.frames_view(instant)
        boxes = view.boxes()
        assert len(boxes) == min(len(instant.stack), 6)
        if instant.ended:
            assert "has ended" in view.text()
            continue
        title, rows = boxes[-1]
        assert title == f"@{instant.function}  at {instant.pc}"
        shown = {int(name.split()[0][1:]) for name, _, _ in rows if name != "..."}
        assert shown == set(instant.registers) | set(instant.writes)
        marked = {int(name.split()[0][1:]) for name, _, mark in rows if mark == "writes"}
        assert marked == set(instant.writes)
        assert instant.instruction in view.text()
        assert instant.instruction.replace("<", "&lt;").replace(">", "&gt;") in view.html()


def test_deep_stacks_say_how_many_frames_are_left_out(debugger):
    deepest = max(range(len(debugger.trace)), key=lambda number: debugger.trace[number].depth)
    view = display.frames_view(debugger.trace[deepest])
    hidden = debugger.trace[deepest].depth + 1 - 6
    assert hidden > 0
    assert f"({hidden} outer frames)" in view.text()
    assert f"{hidden} outer frames" in view.html()


def test_boxes_of_text_are_closed(debugger):
    lines = display.frames_view(debugger.trace[12]).text().splitlines()[1:]
    tops = [number for number, line in enumerate(lines) if line.startswith("┌")]
    for start, end in zip(tops, [*tops[1:], len(lines)], strict=True):
        assert len({len(line) for line in lines[start:end]}) == 1, "all lines of a box are equally wide"


def test_storages_are_bars_between_their_instants():
    net = passlab.parse("def @main(%x: Tensor[(64, 64), float32]) { nn.softmax(nn.softmax(nn.softmax(%x))) }")
    trace = vm.Debugger(net, np.ones((64, 64), "float32")).trace
    view = display.storages_view(trace.storage)
    frame = view.frame()
    assert frame["bytes"].tolist() == [64 * 64 * 4] * 3
    assert (frame["born"] < frame["died"]).all()
    assert f"{trace.storage.peak[0]:,} bytes" in view.title
    lanes = view.text().splitlines()[2:]
    assert len(lanes) == frame["lane"].nunique()
    assert view.html().count("position:absolute") == len(frame)
    (drawn,) = (part for part in view.parts() if isinstance(part, Lanes))
    length = trace.storage.length
    rows = frame.sort_values(["lane", "storage"])
    assert [bar.left for bar in drawn.bars] == [100 * born / length for born in rows["born"]]
    lives = [100 * (died - born) / length for born, died in zip(rows["born"], rows["died"], strict=True)]
    assert [bar.width for bar in drawn.bars] == pytest.approx(lives)


def test_a_bar_in_text_begins_and_ends_where_it_says() -> None:
    bars = [Bar(0, 25, 50, "a", "", ""), Bar(2, 0, 1, "b", "", ""), Bar(2, 75, 25, "c", "", "")]
    half, quarter = 30, 15
    assert Lanes(bars).lines() == [
        f"  0 |{' ' * quarter}{'█' * half}{' ' * quarter}| a",
        f"  2 |█{' ' * (half + quarter - 1)}{'█' * quarter}| b, c",
    ]


def test_a_run_without_storages_is_an_empty_picture():
    trace = vm.Debugger(passlab.parse("def @main(%x: float32) { %x }"), np.float32(1)).trace
    assert "0 storages" in display.storages_view(trace.storage).text()
    assert display.storages_view(trace.storage).frame().empty


def test_a_tree_is_drawn_from_its_parents():
    view = display.tree_view({"a": None, "b": "a", "d": "b", "c": "a", "e": None}, "title", marked=["d"])
    assert view.text() == "title\na\n├─ b\n│  └─ d  *\n└─ c\ne"
    assert view.data()["rows"] == [[0, "a", False], [1, "b", False], [2, "d", True], [1, "c", False], [0, "e", False]]


def test_deep_trees_are_drawn_without_recursion():
    count = 5_000
    view = display.tree_view({number: number - 1 if number else None for number in range(count)})
    assert len(view.rows) == count
    assert len(view.html()) > count


@pytest.mark.parametrize(
    ("parents", "words"),
    [({"a": "b"}, "not a node"), ({"a": "b", "b": "a"}, "no tree"), ({"add": None, "x": "ad"}, "did you mean")],
)
def test_what_is_no_tree_is_refused(parents, words):
    with pytest.raises(PasslabError, match=words):
        display.tree_view(parents)


def test_hostile_names_are_text():
    view = display.tree_view({"<script>alert(1)</script>": None}, "<b>")
    assert "<script>" not in view.html()
    assert "<b>" not in view.html()
