"""Programs, differences and graphs as pages: they fill the window, at any width, and nothing sticks out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import passlab
from passlab.display import blame_view, diff_view, graph_view, module_view, recording_view
from passlab.display.pages.page import write
from passlab.testing import resnet

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
HEIGHT = 800


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind of view, of the same pipeline."""
    mod, _ = resnet.get_workload(num_layers=18)
    rec = passlab.record(mod, "InferType, SimplifyInference, FuseOps", opt_level=3)
    views = {
        "module": module_view(rec.output), "blame": blame_view(rec), "diff": diff_view(rec[2].diff()), "graph": graph_view(rec.output),
        "pipeline": recording_view(rec),
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("pages")
    for name, view in views.items():
        write(view, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in views}


@pytest.mark.rotating(parts=10)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [900, 1600])
@pytest.mark.parametrize("name", ["module", "blame", "diff", "graph", "pipeline"])
def test_a_view_fills_the_window(name, width, scheme, pages, chrome):
    page = chrome.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto(pages[name].as_uri())
    root = page.locator(".passlab")
    expect(root).to_be_visible()
    box = root.bounding_box()
    assert box is not None
    assert 0.8 * HEIGHT < box["y"] + box["height"] <= HEIGHT
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()


def test_where_there_is_no_room_for_two_programs_they_stand_one_below_the_other(pages, chrome):
    page = chrome.new_page(viewport={"width": 560, "height": HEIGHT})
    page.goto(pages["diff"].as_uri())
    unified = page.get_by_role("button", name="unified")
    expect(unified).to_have_attribute("aria-pressed", "true")
    page.set_viewport_size({"width": 1400, "height": HEIGHT})
    expect(unified).to_have_attribute("aria-pressed", "false")
    unified.click()
    expect(unified).to_have_attribute("aria-pressed", "true")
    page.set_viewport_size({"width": 1300, "height": HEIGHT})
    expect(unified).to_have_attribute("aria-pressed", "true")
    page.close()


def test_the_passes_stand_above_the_step_where_it_is_narrow(pages, chrome):
    page = chrome.new_page(viewport={"width": 560, "height": HEIGHT})
    page.goto(pages["pipeline"].as_uri())
    expect(page.locator(".pl-first")).to_have_count(0)
    passes, step = (page.locator(look).bounding_box() for look in (".pl-passes:not(.pl-find-panel)", ".pl-step"))
    assert passes["y"] + passes["height"] <= step["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_the_map_of_changes_is_there_where_something_scrolls(pages, chrome):
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["diff"].as_uri())
    expect(page.locator(".pl-map")).to_be_visible()
    page.set_viewport_size({"width": 1400, "height": 12_000})
    expect(page.locator(".pl-map")).to_be_hidden()
    page.close()


@pytest.fixture
def explorer(pages, chrome) -> Iterator[Page]:
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["pipeline"].as_uri())
    expect(page.locator(".pl-pipeline")).to_be_visible()
    yield page
    page.close()


def test_a_line_says_which_pass_made_it_and_a_click_goes_there(explorer):
    explorer.keyboard.press("G")
    explorer.keyboard.press("1")
    expect(explorer.locator(".pl-step-name")).to_have_text("FuseOps")
    expect(explorer.locator(".pl-blame-current").first).to_have_text("3 FuseOps")
    explorer.locator(".pl-blame", has_text="2 SimplifyInference").first.click()
    expect(explorer.locator(".pl-step-name")).to_have_text("SimplifyInference")
    explorer.keyboard.press("b")
    expect(explorer.locator(".pl-blame")).to_have_count(0)


@pytest.mark.parametrize(("width", "named"), [(1400, True), (600, False)])
def test_the_gutter_of_a_program_names_passes_where_there_is_room(width, named, pages, chrome):
    page = chrome.new_page(viewport={"width": width, "height": HEIGHT})
    page.goto(pages["blame"].as_uri())
    gutter = page.locator(".pl-blame:not(:empty)").first
    expect(gutter).to_have_text("3 FuseOps")
    expect(gutter.locator(".pl-blame-name")).to_be_visible(visible=named)
    gutter.hover()
    expect(page.locator(".pl-card")).to_contain_text("in place of")
    rows = page.locator(".pl-row")
    lefts = {box["x"] for box in (row.locator(".pl-text").bounding_box() for row in rows.all()[:12]) if box}
    assert len(lefts) == 1, "the lines of the program begin at one place"
    page.close()


def test_the_lines_of_one_pass_are_marked_all_along_and_named_once(pages, chrome):
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["blame"].as_uri())
    again = page.locator(".pl-blame.pl-repeated").first
    expect(again).to_have_css("color", "rgba(0, 0, 0, 0)")
    expect(again).not_to_have_css("border-right-color", "rgba(0, 0, 0, 0)")
    page.close()


def test_passes_are_found_by_an_operator_they_touched(explorer):
    explorer.keyboard.press("/")
    explorer.keyboard.type("batch_norm")
    expect(explorer.locator(".pl-pass-name")).to_have_text(["SimplifyInference"])


def test_where_nothing_changed_the_program_is_shown(explorer):
    explorer.keyboard.press("g")
    expect(explorer.locator(".pl-above")).to_contain_text("starts with")
    expect(explorer.locator(".pl-body .pl-row").first).to_contain_text("def @main")


def test_what_is_looked_for_is_marked_and_counted_while_it_is_typed(pages, chrome):
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["module"].as_uri())
    page.wait_for_function("() => document.activeElement !== document.body")  # the page listens to keys
    page.keyboard.press("/")
    page.keyboard.type("softmax")
    expect(page.locator(".pl-found")).to_have_text("1 of 1")
    expect(page.locator(".pl-word")).to_have_text(["softmax"])
    page.keyboard.type("x")
    expect(page.locator(".pl-found")).to_have_text("not there")
    page.keyboard.press("Escape")
    expect(page.locator(".pl-found")).to_be_empty()
    page.keyboard.press("/")
    page.keyboard.type("relu")
    page.keyboard.press("Enter")
    expect(page.locator(".pl-found")).to_contain_text("2 of ")
    expect(page.locator(".pl-row-found")).to_contain_text("relu")
    page.close()


@pytest.mark.parametrize("name", ["module", "blame", "diff", "graph", "pipeline"])
def test_on_paper_a_view_is_whole_and_nothing_is_clipped(name, pages, chrome):
    page = chrome.new_page(viewport={"width": 794, "height": HEIGHT}, color_scheme="dark")
    page.goto(pages[name].as_uri())
    expect(page.locator(".pl-first")).to_have_count(0)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    paper = page.locator(".pl-paper")
    expect(paper).to_be_visible()
    expect(page.locator("#host")).to_be_hidden()
    clipped = """paper => [...paper.querySelectorAll(":not(svg *)")].filter((one) => one.clientHeight
      && one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== "visible")
      .map((one) => one.outerHTML.slice(0, 90))"""
    assert paper.evaluate(clipped) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert paper.locator("details:not([open])").count() == 0
    if name == "pipeline":
        assert page.title() == "Recording: InferType, SimplifyInference, FuseOps"
        for text in ("1 InferType", "2 SimplifyInference", "3 FuseOps"):
            expect(paper.get_by_text(text, exact=True).first).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(paper).to_have_count(0)
    page.close()


def test_the_colours_of_a_graph_are_named(pages, chrome):
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["graph"].as_uri())
    legend = page.locator(".pl-colour-legend")
    expect(legend.get_by_text("heavy")).to_be_visible()
    page.get_by_label("Legend: what the colours mean").select_option("kind")
    expect(legend).to_have_text("fused function")
    page.get_by_label("Legend: what the colours mean").select_option("output bytes")
    expect(legend).to_be_hidden()
    page.close()


def test_keys_reach_a_view_after_one_has_hidden_what_was_clicked(pages, chrome):
    page = chrome.new_page(viewport={"width": 1400, "height": HEIGHT})
    page.goto(pages["pipeline"].as_uri())
    expect(page.locator(".pl-first")).to_have_count(0)
    tab = page.locator(".pl-tabs [aria-selected=true]")
    page.keyboard.press("1")
    page.locator(".pl-row:visible", has_text="nn.conv2d(").first.click(position={"x": 190, "y": 8})
    for key, name in (("2", "Diff"), ("4", "Table"), ("1", "IR")):
        page.keyboard.press(key)
        expect(tab).to_have_text(name)
        page.wait_for_timeout(100)  # a browser takes the focus from a hidden element when it draws
    page.close()
