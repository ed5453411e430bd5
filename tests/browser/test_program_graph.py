"""The graph of a program in a browser: one size of text, folding by clicks and keys, calls that lead somewhere, one camera."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab.display import graph_view, recording_view
from passlab.display.pages.page import write
from passlab.display.pages.page_answers import page_answers
from passlab.notebook.widgets import show
from passlab.testing import resnet
from tests.browser.widget_page import widget_page
from tests.display.large_program import LOOP, PROGRAM
from tests.display.test_frames import typed

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
LEAST = 10  # pixels of text on the screen
_TEXT = """() => [...document.querySelectorAll(".pl-canvas > g text")].filter(text => text.getClientRects().length && text.textContent).map(text => {
  const scale = text.getCTM().a / document.querySelector(".pl-canvas").getCTM().a;
  return [text.textContent, parseFloat(getComputedStyle(text).fontSize) * scale];
})"""
_CAMERAS = """() => [...document.querySelectorAll(".pl-canvas > g")].map(scene => scene.getAttribute("transform"))"""


_UNSEEN = """() => [...document.querySelectorAll(".pl-box *:not(.pl-hidden), .pl-arrow *")].filter(one => getComputedStyle(one).display === "none").length"""


def texts(page: Page) -> list[tuple[str, float]]:
    return page.evaluate(_TEXT)  # type: ignore[no-any-return]


def program_page(chrome: Browser, size: tuple[int, int] = (1400, 900)):
    return widget_page(show(graph_view(typed(PROGRAM))), chrome, size)


@pytest.mark.parametrize("width", [600, 1000, 1400])
def test_all_text_is_equally_large_at_every_zoom(chrome: Browser, width: int) -> None:
    with program_page(chrome, (width, 900)) as (page, _):
        expect(page.locator(".pl-card-of")).to_have_count(19)
        assert {size for _, size in texts(page)} == {11}
        for key in "0--":
            page.keyboard.press(key)
            sizes = {round(size, 2) for _, size in texts(page)}
            assert len(sizes) == 1
            assert sizes.pop() >= LEAST


def test_a_map_is_shown_to_a_reader_who_moves_where_there_is_room_for_it(chrome: Browser) -> None:
    for width, is_shown in ((600, False), (1400, True)):
        with program_page(chrome, (width, 900)) as (page, _):
            expect(page.locator(".pl-card-of")).to_have_count(19)
            expect(page.locator(".pl-minimap")).to_be_hidden()  # it covers no card of the first picture
            page.keyboard.press("+")
            expect(page.locator(".pl-minimap")).to_be_visible(visible=is_shown)
            page.keyboard.press("0")
            expect(page.locator(".pl-minimap")).to_be_hidden()


def test_the_result_of_a_folded_function_is_whole_and_no_name_of_a_type_is_cut(chrome: Browser) -> None:
    with program_page(chrome, (953, 900)) as (page, _):
        signatures = page.locator(".pl-card-folded .pl-card-facts").all_text_contents()[::2]
    assert len(signatures) > 3
    for signature in signatures:
        assert " → " in signature
        assert not signature.endswith("…")
        params = signature.partition(" → ")[0].removeprefix("(").removesuffix(")")
        assert params.endswith("…") <= (params == "…" or params.endswith(", …")), signature


@pytest.mark.parametrize("layers", [18, 50])
def test_the_names_of_a_network_are_never_too_small(chrome: Browser, layers: int) -> None:
    mod, _ = resnet.get_workload(num_layers=layers)
    with widget_page(show(graph_view(mod)), chrome, (953, 800)) as (page, _):
        page.wait_for_selector(".pl-box")
        for key in "0-+++":
            page.keyboard.press(key)
            assert min(size for _, size in texts(page)) >= LEAST


@pytest.mark.parametrize("size", [(400, 500), (1400, 900), (3000, 2400)])
def test_nothing_is_drawn_that_cannot_be_read_at_the_scale(chrome: Browser, size: tuple[int, int]) -> None:
    rec = passlab.record(resnet.get_workload(num_layers=18)[0], "InferType, SimplifyInference, SimplifyExpr")
    with widget_page(show(recording_view(rec)), chrome, size) as (page, _):
        for key in "3kk":
            page.keyboard.press(key)
            page.wait_for_selector(".pl-box")
            assert page.evaluate(_UNSEEN) == 0


def test_a_step_leaves_the_graph_where_the_reader_has_moved_it(chrome: Browser) -> None:
    rec = passlab.record(resnet.get_workload(num_layers=18)[0], "InferType, SimplifyInference, SimplifyExpr")
    with widget_page(show(recording_view(rec)), chrome) as (page, _):
        page.keyboard.press("3")
        page.wait_for_selector(".pl-box")
        whole = page.evaluate(_CAMERAS)[1:]
        page.keyboard.press("k")
        assert page.evaluate(_CAMERAS)[1:] != whole  # the other graph is shown whole as well
        page.keyboard.press("+")
        moved = page.evaluate(_CAMERAS)[1:]
        for key in "kkjjj":
            page.keyboard.press(key)
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.evaluate(_CAMERAS)[1:] == moved
        page.keyboard.press("0")
        seen = page.evaluate(_CAMERAS)[1:]
        page.keyboard.press("k")
        assert page.evaluate(_CAMERAS)[1:] not in (moved, seen)


@pytest.mark.nightly
@pytest.mark.parametrize("width", [524, 640, 940])
def test_the_names_of_a_network_are_whole_while_there_is_room(chrome: Browser, width: int) -> None:
    mod, _ = resnet.get_workload(num_layers=50)
    with widget_page(show(graph_view(mod)), chrome, (width, 700)) as (page, _):
        expect(page.locator(".pl-short:not(.pl-hidden)", has_text="global_avg_pool2d")).to_have_count(1)
        expect(page.locator(".pl-short:not(.pl-hidden)", has_text="…")).to_have_count(0)


def test_a_title_folds_its_frame_and_opens_it_again(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        title = page.locator(".pl-group-name", has_text="%add = fn (%y)")
        boxes = page.locator(".pl-box", has_text="write %sum").count()
        place = title.bounding_box()
        title.click()
        expect(page.locator(".pl-folded-frame")).to_have_count(1)
        expect(page.locator(".pl-folded-frame")).to_contain_text("3 boxes")
        assert page.locator(".pl-box", has_text="write %sum").count() == boxes - 1
        after = title.bounding_box()
        assert place is not None
        assert after is not None
        assert abs(place["y"] - after["y"]) < 2
        title.click()
        expect(page.locator(".pl-folded-frame")).to_have_count(0)


def test_f_folds_all_functions_into_a_graph_of_calls_and_a_click_opens_one(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        page.keyboard.press("f")
        expect(page.locator(".pl-card-folded")).to_have_count(19)
        assert page.locator(".pl-call-line").count() > 10
        page.locator(".pl-card-folded", has_text="@sort").click()
        expect(page.locator(".pl-card-folded")).to_have_count(18)
        expect(page.locator(".pl-box", has_text="@flatten").first).to_be_visible()


def test_a_call_leads_to_its_function_by_key_and_by_double_click(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        page.keyboard.press("f")
        page.locator(".pl-card-folded", has_text="@main").click()
        page.locator(".pl-box", has_text="%sorted = @sort").click()
        page.keyboard.press("Enter")
        expect(page.locator(".pl-card-of:not(.pl-card-folded)")).to_have_count(2)
        page.locator(".pl-box", has_text="@flatten").dblclick()
        expect(page.locator(".pl-card-of:not(.pl-card-folded)")).to_have_count(3)


def test_who_takes_a_value_by_name_is_highlighted(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        page.locator(".pl-box", has_text="%c = mean").click()
        takers = page.locator(".pl-taker")
        expect(takers).to_have_count(2)
        expect(takers.first).to_contain_text("Cons")
        expect(takers.last).to_contain_text("%t, %c")  # inside a closure, where no arrow leads
        expect(page.locator(".pl-giver")).to_contain_text("%x")
        page.locator(".pl-box", has_text="%sorted = @sort").hover()
        expect(page.locator(".pl-card-called")).to_contain_text("@sort")
        page.locator(".pl-card-title").first.hover()
        expect(page.locator(".pl-card-called")).to_have_count(0)
        expect(takers).to_have_count(2)


def test_t_folds_the_frame_of_the_selected_box_and_opens_it_again(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        box = page.locator(".pl-box", has_text="write %sum").first
        box.click()
        page.keyboard.press("t")
        expect(page.locator(".pl-folded-frame.pl-has-selected")).to_contain_text("%add = fn (%y)")
        page.keyboard.press("t")
        expect(page.locator(".pl-folded-frame")).to_have_count(0)
        expect(box).to_be_visible()


def test_what_is_found_is_opened(chrome: Browser) -> None:
    with program_page(chrome) as (page, _):
        page.keyboard.press("f")
        find = page.locator(".pl-find")
        find.fill("maximum")
        find.press("Enter")
        expect(page.locator(".pl-box.pl-selected-box")).to_contain_text("maximum")


def test_a_saved_picture_is_legible_on_paper_in_a_dark_theme(chrome: Browser) -> None:
    view = show(graph_view(typed(PROGRAM)))
    with widget_page(view, chrome, scheme="dark") as (page, _):
        page.wait_for_selector(".pl-box")
        page.keyboard.press("0")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="save as SVG").click()
        text = waiting.value.path().read_text(encoding="utf-8")
        assert "background:rgb(255, 255, 255)" in text
        assert "%sorted = @sort" in text
        shown = [part for part in re.findall(r"<text [^>]*>", text) if 'display="none"' not in part]
        assert {re.findall(r'font-size="([^"]*)"', part)[0] for part in shown} == {"11px"}
        assert page.evaluate("getComputedStyle(document.querySelector('.passlab')).colorScheme") == "light dark"


@pytest.mark.parametrize("width", [1000, 1400])
@pytest.mark.parametrize("name", ["program", "loop", "network"])
def test_the_graphs_before_and_after_a_pass_have_one_camera(
    chrome: Browser, tmp_path: Path, name: str, width: int
) -> None:
    mod = {"program": lambda: typed(PROGRAM), "loop": lambda: typed(LOOP)}.get(
        name, lambda: resnet.get_workload(num_layers=18)[0]
    )()
    rec = passlab.record(mod, "InferType, SimplifyInference, FuseOps", opt_level=3)
    view = recording_view(rec)
    write(view, tmp_path / "view.html", page_answers(view))
    page = chrome.new_page(viewport={"width": width, "height": 900})
    page.goto((tmp_path / "view.html").as_uri())
    page.locator(".passlab").focus()
    for key in ["j", "j", "j", "3", "v"]:
        page.keyboard.press(key)
    expect(page.locator(".pl-graph-caption", has_text="before")).to_be_visible()
    for keys in ["", "0", "+++", "-", "0"]:
        for key in keys:
            page.keyboard.press(key)
        before, after = page.evaluate(_CAMERAS)
        assert before == after
        assert before
    page.close()
