"""What a page must show on a random walk: `walk_explorer` and `walk_stepper` compare it with the recorded objects.

`test_walks` walks through exported pages, `test_walks_lab` through the same views in JupyterLab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import passlab
from passlab import vm
from passlab.display import graph_view
from passlab.display.text.listing import listing
from passlab.display.views.recording import outcome
from passlab.display.views.stepper import StepValues
from passlab.lab.recordings.recording import Recording
from tests.browser.walk import Walk, explore, step
from tests.vm.traced import TREE

HELPERS = "InferType, FoldConstant, Inline, DeadCodeElimination, ToANormalForm, FuseOps"
SMALL = """
def @main(%x: Tensor[(4, 8), float32], %flag: bool) -> Tensor[(4, 8), float32] {
  let %scaled = multiply(%x, multiply(2f, 3f));
  if (%flag) { @helper(%scaled) } else { nn.relu(%scaled) }
}
def @helper(%y: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { tanh(add(%y, 1f)) }
"""


def helpers() -> Recording:
    return passlab.record(passlab.parse(SMALL), HELPERS)


def tree() -> vm.Debugger:
    return vm.Debugger(passlab.parse(TREE), np.int32(3))


# ---------------------------------------------------------------- explorers
def squeezed(text: str) -> str:
    """A text without blanks, for a line that is broken loses some."""
    return re.sub(r"\s", "", text)


def assert_lines(rows: list[list[str]], lines: list[str]) -> None:
    """Each numbered row begins the line of that number, and the rows below it go on with it."""
    numbered = [place for place, (_, number, _) in enumerate(rows) if number]
    ends = [*numbered[1:], len(rows)]
    for start, end in zip(numbered, ends, strict=False):
        shown = squeezed("".join(text for _, _, text in rows[start:end]))
        line = squeezed(lines[int(rows[start][1]) - 1])
        whole = end < len(rows)  # the last line may go on out of sight
        assert (shown == line) if whole else line.startswith(shown), f"line {rows[start][1]}"


def assert_explorer(rec: Recording, seen: Any, listings: dict[int, list[str]]) -> None:
    """What is seen of a recording is one of its steps, and that step's."""
    event = rec.events[seen["at"]]
    lines = {
        side: listings.setdefault(id(mod), [line.text for line in listing(mod)])
        for side, mod in (("l", event.before), ("r", event.after))
    }
    assert seen["title"] == (event.text or event.name)
    assert seen["covered"], "a pane is empty where it has rows"
    assert seen["listed"], "the chosen pass is out of sight in the list"
    if seen["kind"] == "code":
        if "no types yet" not in seen["above"]:
            assert bool(seen["above"]) == (seen["tab"] == "Diff" and not event.changed)
        assert seen["rows"]
        assert_lines(seen["rows"], lines["r"])
    elif seen["kind"] == "diff":
        assert event.changed
        assert seen["tab"] == "Diff"
        last = ""
        sides: dict[str, list[list[str]]] = {"l": [], "r": []}
        for sign, number, text in seen["rows"]:
            last = {"l": "l", "r": "r", "−": "l", "<": "l", "": last}.get(sign, "r")
            sides[last or "r"].append([sign, number, text])
        for side in sides:
            for row in runs(sides[side]):
                assert_lines(row, lines[side])
    elif seen["kind"] == "table":
        facts = {number: text for _, number, text in seen["rows"]}
        assert facts["pass"] == (event.text or event.name)
        assert facts["outcome"] == outcome(event)
    elif seen["kind"] == "graph":
        value = None if not event.changed else event.diff()
        assert seen["rows"] == [["", "", f"dataflow graph: {graph_view(event.after, value).title}"]]
    else:
        assert seen["tab"] == "Graph", seen
        assert "No graph of this step" in seen["note"]


def runs(rows: list[list[str]]) -> Iterator[list[list[str]]]:
    """The rows of each numbered line; what stands above the first number belongs to a line out of sight."""
    run: list[list[str]] = []
    for row in rows:
        if row[1]:
            if run:
                yield run
            run = [row]
        elif run:
            run.append(row)
    if run:
        yield run


def walk_explorer(walk: Walk, rec: Recording, steps: int) -> None:
    listings: dict[int, list[str]] = {}
    names = [event.name for event in rec.steps]
    titles = [event.text or event.name for event in rec.events]
    for _ in range(steps):
        explore(walk, names)
        seen = walk.seen()
        for _ in range(40):  # a page loads, a kernel draws, within 20 seconds
            if not seen["note"].startswith(("Loading", "Drawing")):
                break
            walk.page.wait_for_timeout(500)
            seen = walk.seen()
        assert seen["title"] in titles
        with walk.explaining(seen):
            assert_explorer(rec, seen, listings)


# ---------------------------------------------------------------- steppers
def assert_stepper(debugger: vm.Debugger, seen: Any) -> None:
    """What is seen of a run is the state at that instant."""
    now = debugger.trace[seen["at"]]
    assert seen["uncovered"] == [], "a pane is empty where it has rows"
    assert seen["inSight"], "the current instruction is out of sight"
    assert seen["over"] == now.ended
    if now.ended:
        return
    frames = now.frames()
    up = seen["up"]
    names = [f"@{frame.function}" for frame in frames]
    for shown, name in zip(seen["frames"], names, strict=False):
        head, _, tail = shown.partition("…")
        assert name.startswith(head)
        assert name.endswith(tail)
    assert seen["title"].startswith(f"{names[up]}(")
    expected = now.registers_of(frames[up].number)
    shown = dict(seen["registers"])
    values = StepValues()
    texts = {r: values.data()["texts"][n] for r, n in [(r, values.add(value)) for r, value in expected.items()]}
    assert set(shown) <= set(texts)
    assert all(shown[r] == texts[r] for r in shown)
    if up == 0:
        assert seen["here"] == frames[0].pc
    code = debugger.trace.code_map.functions[
        [f.name for f in debugger.trace.code_map.functions].index(frames[up].function)
    ]
    base = debugger.trace.code_map.offsets[debugger.trace.code_map.functions.index(code)]
    for number, text in seen["instructions"]:
        assert text == debugger.trace.code_map.text(base + number)


def walk_stepper(walk: Walk, debugger: vm.Debugger, steps: int) -> None:
    at = walk.stepped()["at"]  # another walk may have left the stepper anywhere
    for _ in range(steps):
        step(walk)
        seen = walk.stepped()
        if seen["at"] == at:  # only a step brings the instruction into sight: a person may have scrolled away from it
            seen["inSight"] = True
        at = seen["at"]
        with walk.explaining(seen):
            assert_stepper(debugger, seen)
