"""A view shows its data: random walks through explorers and steppers; after each step the page is that of the recording.

The walk of the default suite is short; the slow ones take 500 steps. `test_walks_lab` walks in JupyterLab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab import vm
from passlab.display import graph_view
from passlab.display.listing import listing
from passlab.display.page import write
from passlab.display.recording import outcome, recording_view
from passlab.display.step_values import StepValues
from passlab.display.stepper import stepper_view
from passlab.lab.recording import Recording
from passlab.testing import squeezenet
from tests.browser.walk import Walk, explore, step
from tests.vm.programs import LOOP
from tests.vm.traced import TREE

pytestmark = pytest.mark.browser
PIPELINE = (
    'InferType, SimplifyInference, FoldConstant, ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]}), '
    "FoldConstant, EliminateCommonSubexpr, FuseOps, ToANormalForm, ToGraphNormalForm"
)
HELPERS = "InferType, FoldConstant, Inline, DeadCodeElimination, ToANormalForm, FuseOps"
SMALL = """
def @main(%x: Tensor[(4, 8), float32], %flag: bool) -> Tensor[(4, 8), float32] {
  let %scaled = multiply(%x, multiply(2f, 3f));
  if (%flag) { @helper(%scaled) } else { nn.relu(%scaled) }
}
def @helper(%y: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { tanh(add(%y, 1f)) }
"""


def network() -> Recording:
    return passlab.record(squeezenet.get_workload(image_shape=(3, 64, 64))[0], PIPELINE, opt_level=4)


def helpers() -> Recording:
    return passlab.record(passlab.parse(SMALL), HELPERS)


# ---------------------------------------------------------------- what the page should say
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
        assert shown == line or (end == len(rows) and line.startswith(shown)), f"line {rows[start][1]}"


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
        assert bool(seen["above"]) == (seen["tab"] == "Diff" and not event.changed) or "no types yet" in seen["above"]
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
        try:
            assert_explorer(rec, seen, listings)
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {walk.log[-12:]}\n{str(seen)[:1500]}") from error


# ---------------------------------------------------------------- explorers
def page_of(view: Any, chrome: Browser, folder: Path, look: str, fault: tuple[str, str] = ("", "")) -> Iterator[Page]:
    """A page of a view; `fault` is a text of its scripts, and what stands in its place."""
    write(view, folder / "view.html", getattr(view, "graphs", None))
    if fault[0]:
        text = (folder / "view.html").read_text(encoding="utf-8")
        assert text.count(fault[0]) == 1
        (folder / "view.html").write_text(text.replace(*fault), encoding="utf-8")
    page = chrome.new_page(viewport={"width": 1400, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto((folder / "view.html").as_uri())
    expect(page.locator(look)).to_be_visible()
    yield page
    page.close()
    assert errors == []


@pytest.mark.parametrize("make", [network, helpers])
@pytest.mark.parametrize(("seed", "steps"), [(1, 70), pytest.param(2, 500, marks=pytest.mark.slow)])
def test_an_explorer_shows_the_step_that_is_chosen(make, seed, steps, chrome, tmp_path):
    rec = make()
    for page in page_of(recording_view(rec), chrome, tmp_path, ".pl-pipeline"):
        walk_explorer(Walk(page, page.locator(".pl-pipeline"), seed), rec, steps)


STALE = (
    "if (!this.high) return this.forget(always);",
    "if (!this.high) return;",
)  # rows out of sight stay as they were


def test_a_walk_sees_a_page_that_keeps_rows_of_another_step(chrome, tmp_path):
    rec = network()
    for page in page_of(recording_view(rec), chrome, tmp_path, ".pl-pipeline", STALE):
        with pytest.raises(AssertionError, match=r"after \["):
            walk_explorer(Walk(page, page.locator(".pl-pipeline"), 1), rec, 200)


def test_a_walk_sees_a_page_of_another_recording(chrome, tmp_path):
    other = passlab.record(passlab.parse(SMALL.replace("2f", "5f")), "InferType, FoldConstant, FuseOps")
    rec = passlab.record(passlab.parse(SMALL), "InferType, FoldConstant, FuseOps")
    for page in page_of(recording_view(other), chrome, tmp_path, ".pl-pipeline"):
        with pytest.raises(AssertionError, match=r"after \["):
            walk_explorer(Walk(page, page.locator(".pl-pipeline"), 1), rec, 20)


@pytest.mark.parametrize("between", ["2", "3", "4"])
def test_a_program_that_was_hidden_while_another_pass_was_chosen_is_that_pass_s(between, chrome, tmp_path):
    rec = network()
    for page in page_of(recording_view(rec), chrome, tmp_path, ".pl-pipeline"):
        walk = Walk(page, page.locator(".pl-pipeline"), 0)
        page.get_by_role("option", name="SimplifyInference").click()
        for key in ["1", between]:
            walk.press(key)
            walk.settle()
        page.get_by_role("option", name="ConvertLayout").click()
        walk.settle()
        walk.press("1")
        walk.settle()
        assert_explorer(rec, walk.seen(), {})


def test_the_chosen_pass_stays_in_sight_when_the_window_becomes_narrow(chrome, tmp_path):
    rec = network()
    for page in page_of(recording_view(rec), chrome, tmp_path, ".pl-pipeline"):
        walk = Walk(page, page.locator(".pl-pipeline"), 0)
        walk.press("G")
        for width, height in ((600, 420), (1400, 800), (600, 800)):
            walk.resize(width, height)
            walk.settle()
            assert_explorer(rec, walk.seen(), {})


# ---------------------------------------------------------------- steppers
def loop() -> vm.Debugger:
    return vm.Debugger(passlab.parse(LOOP), np.int32(9))


def tree() -> vm.Debugger:
    return vm.Debugger(passlab.parse(TREE), np.int32(3))


def conditional() -> vm.Debugger:
    return vm.Debugger(passlab.parse(SMALL), np.ones((4, 8), "float32"), np.bool_(True))


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
    at = None
    for _ in range(steps):
        step(walk)
        seen = walk.stepped()
        if seen["at"] == at:  # only a step brings the instruction into sight: a person may have scrolled away from it
            seen["inSight"] = True
        at = seen["at"]
        try:
            assert_stepper(debugger, seen)
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {walk.log[-12:]}\n{str(seen)[:1500]}") from error


@pytest.mark.parametrize("make", [loop, tree, conditional])
@pytest.mark.parametrize(("seed", "steps"), [(1, 50), pytest.param(2, 500, marks=pytest.mark.slow)])
def test_a_stepper_shows_the_instant_it_stands_at(make, seed, steps, chrome, tmp_path):
    debugger = make()
    for page in page_of(stepper_view(debugger), chrome, tmp_path, ".pl-stepper"):
        walk_stepper(Walk(page, page.locator(".pl-stepper"), seed), debugger, steps)


def test_a_walk_sees_a_stepper_that_shows_another_run(chrome, tmp_path):
    for page in page_of(stepper_view(vm.Debugger(passlab.parse(LOOP), np.int32(8))), chrome, tmp_path, ".pl-stepper"):
        with pytest.raises(AssertionError, match=r"after \["):
            walk_stepper(Walk(page, page.locator(".pl-stepper"), 1), loop(), 50)
