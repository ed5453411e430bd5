"""The commands of views: what the table lists is what the keys do, the help and the palette show it, hints go away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import passlab
from passlab.display import graph_view, recording_view
from passlab.display.pages.page import write
from passlab.display.pages.scripts import WEB
from passlab.notebook.widgets import show
from tests.browser.widget_page import widget_page
from tests.display.view_examples import EXAMPLES, LIVE

pytestmark = pytest.mark.browser
TABLE = json.loads((WEB / "commands.json").read_text(encoding="utf-8"))
# Keys that fields and lists need, without a command of their own.
PLAIN = {"Enter", "Escape", *"0123456789"}
OF_THE_KERNEL = {"pipeline": ["x", "w"]}  # besides "copy the node"; of one recording, a page compares nothing
_CHECK = """() => {
  const { commands } = document.querySelector(".passlab"), [view, actions] = commands.current();
  return [view, Object.keys(actions), commands.list.map(({ keys }) => keys)];
}"""
PROGRAM = "def @main(%x: Tensor[(4), float32]) { add(tanh(%x), exp(0f)) }"
PASSES = "InferType, FoldConstant, FastMath"


def rows(view: str) -> list[list[str]]:
    named = ("bind ", "copy ", "keep ")
    return [
        [row[0]]
        if row[0].startswith(named)
        else row[0].replace("Space", " ").split(" ")
        if row[0] != "Space"
        else [" "]
        for row in TABLE[view]["commands"]
    ]


def check(found: tuple[str, list[str], list[list[str]]], kernel: bool = True) -> None:
    """Every listed command has an action, and every action is listed."""
    view, actions, shown = found
    listed = [*rows(view), *rows("every")]
    absent = [] if kernel else ["copy the node", *OF_THE_KERNEL.get(view, [])]
    assert [keys for keys in listed if keys not in shown and keys[0] not in absent] == []
    assert set(actions) - PLAIN <= {key for keys in listed for key in keys}


@pytest.mark.parametrize("name", [LIVE[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in LIVE[1:])])
def test_the_table_lists_what_the_keys_of_a_view_do(name: str, chrome: Browser, tmp_path: Path):
    write(EXAMPLES[name](), tmp_path / "view.html")
    page = chrome.new_page()
    page.goto((tmp_path / "view.html").as_uri())
    expect(page.locator(".passlab").first).to_be_visible()
    check(page.evaluate(_CHECK), kernel=False)
    page.close()


def test_commands_are_found_by_name_in_every_mode_and_hints_go_away(chrome: Browser):
    rec = passlab.record(passlab.parse(PROGRAM), PASSES, 4)
    with widget_page(show(recording_view(rec)), chrome, size=(1400, 900)) as (page, _):
        expect(page.locator(".pl-hints")).to_be_visible()
        page.get_by_role("button", name="close the hints").click()
        expect(page.locator(".pl-hints")).to_have_count(0)
        page.locator(".passlab").focus()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("next pass that changed the selected node")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.keyboard.type("unif")
        expect(page.get_by_role("option", name="side by side, or unified")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="unified")).to_have_attribute("aria-pressed", "true")
        for key in "xw":
            page.keyboard.press(key)
            expect(page.locator(".pl-compare")).to_be_visible()
            check(page.evaluate(_CHECK))


@pytest.mark.parametrize("width", [600, 1000, 1400])
def test_hints_cover_nothing(width: int, chrome: Browser):
    with widget_page(show(graph_view(passlab.parse(PROGRAM))), chrome, size=(width, 900)) as (page, _):
        hints, view = page.locator(".pl-hints").bounding_box(), page.locator(".passlab").bounding_box()
        assert hints is not None
        assert view is not None
        assert hints["width"] > view["width"] - 4
        for look in (".pl-tools", ".pl-canvas"):
            box = page.locator(look).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= hints["y"] + 1


def test_a_view_goes_over_the_whole_window_and_back(chrome: Browser):
    rec = passlab.record(passlab.parse(PROGRAM), PASSES, 4)
    with widget_page(show(recording_view(rec)), chrome, size=(1000, 700)) as (page, _):
        view = page.locator(".passlab")
        before = view.bounding_box()
        page.keyboard.press("O")  # there is no dock here
        assert view.bounding_box() == {"x": 0, "y": 0, "width": 1000, "height": 700}
        page.keyboard.press("j")  # the keys are still its own
        expect(page.locator(".pl-step-name")).to_have_text("FastMath")
        page.keyboard.press("O")
        assert view.bounding_box() == before
