"""A view shows its data: random walks through explorers and steppers; after each step the page is that of the recording.

The walk of the default suite is short; the nightly ones take 500 steps. `test_walks_lab` walks in JupyterLab.
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
from passlab.display.pages.page import write
from passlab.display.pages.page_answers import page_answers
from passlab.display.views.recording import RecordingView, recording_view
from passlab.display.views.stepper import stepper_view
from passlab.lab.recordings.recording import Recording
from passlab.testing import squeezenet
from tests.browser.walk import Walk
from tests.browser.walk_checks import SMALL, assert_explorer, helpers, tree, walk_explorer, walk_stepper
from tests.vm.programs import LOOP

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
PIPELINE = (
    'InferType, SimplifyInference, FoldConstant, ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]}), '
    "FoldConstant, EliminateCommonSubexpr, FuseOps, ToANormalForm, ToGraphNormalForm"
)


def network() -> Recording:
    return passlab.record(squeezenet.get_workload(image_shape=(3, 64, 64))[0], PIPELINE, opt_level=4)


# ---------------------------------------------------------------- explorers
def page_of(view: Any, chrome: Browser, folder: Path, look: str, fault: tuple[str, str] = ("", "")) -> Iterator[Page]:
    """A page of a view; `fault` is an expression for a text of its bundled script, and what stands in its place."""
    write(view, folder / "view.html", page_answers(view) if isinstance(view, RecordingView) else None)
    if fault[0]:
        text = (folder / "view.html").read_text(encoding="utf-8")
        text, count = re.subn(*fault, text)
        assert count == 1
        (folder / "view.html").write_text(text, encoding="utf-8")
    page = chrome.new_page(viewport={"width": 1400, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto((folder / "view.html").as_uri())
    expect(page.locator(look)).to_be_visible()
    yield page
    page.close()
    assert errors == []


@pytest.mark.parametrize("make", [network, helpers])
@pytest.mark.parametrize(("seed", "steps"), [(1, 70), pytest.param(2, 500, marks=pytest.mark.nightly)])
def test_an_explorer_shows_the_step_that_is_chosen(make, seed, steps, chrome, tmp_path):
    rec = make()
    for page in page_of(recording_view(rec), chrome, tmp_path, ".pl-pipeline"):
        walk_explorer(Walk(page, page.locator(".pl-pipeline"), seed), rec, steps)


STALE = (
    r"if\(!this\.height\)return this\.clearStale\(\w+\);",
    "if(!this.height)return;",
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


def conditional() -> vm.Debugger:
    return vm.Debugger(passlab.parse(SMALL), np.ones((4, 8), "float32"), np.bool_(True))


@pytest.mark.parametrize("make", [loop, tree, conditional])
@pytest.mark.parametrize(("seed", "steps"), [(1, 50), pytest.param(2, 500, marks=pytest.mark.nightly)])
def test_a_stepper_shows_the_instant_it_stands_at(make, seed, steps, chrome, tmp_path):
    debugger = make()
    for page in page_of(stepper_view(debugger), chrome, tmp_path, ".pl-stepper"):
        walk_stepper(Walk(page, page.locator(".pl-stepper"), seed), debugger, steps)


def test_a_walk_sees_a_stepper_that_shows_another_run(chrome, tmp_path):
    for page in page_of(stepper_view(vm.Debugger(passlab.parse(LOOP), np.int32(8))), chrome, tmp_path, ".pl-stepper"):
        with pytest.raises(AssertionError, match=r"after \["):
            walk_stepper(Walk(page, page.locator(".pl-stepper"), 1), loop(), 50)
