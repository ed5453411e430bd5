"""A graph of 5,000 operators in a browser: nothing is left out, details come where one looks, the page answers meanwhile."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

import passlab
from passlab.display import graph_view, recording_view
from passlab.notebook.widgets import show
from passlab.testing import resnet
from tests.browser.lab_page import browser
from tests.browser.widget_page import tell, widget_page
from tests.display.test_layered import knot

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
COUNT = 5003  # with the input, the tuple and the output
# How many boxes have been drawn when the data has just come, and the most that were drawn between two frames.
_SLICES = """async answers => {
  const drawn = () => document.querySelectorAll(".pl-box").length, counts = [];
  window.told(answers);
  do {
    counts.push(drawn());
    await new Promise(requestAnimationFrame);
  } while (counts[counts.length - 1] < COUNT || counts.length < 2);
  return counts;
}""".replace("COUNT", str(COUNT))
_SEEN = """() => {
  const frame = document.querySelector(".pl-canvas").getBoundingClientRect();
  const boxes = [...document.querySelectorAll(".pl-box")].map(box => [box, box.getBoundingClientRect()]);
  const seen = boxes.filter(([, at]) => at.left > frame.left && at.right < frame.right && at.top > frame.top && at.bottom < frame.bottom);
  return [seen.length, seen.filter(([box]) => box.querySelector(".pl-short")).length];
}"""


def test_a_large_graph_is_drawn_in_slices_and_in_detail_where_one_looks(chromium: Path) -> None:
    view = graph_view(knot(5000))
    widget = show(graph_view(knot(3)))
    with browser(chromium) as chrome, widget_page(widget, chrome) as (page, kernel):
        page.wait_for_selector(".pl-box")
        widget.view, widget.data = view, view.data()
        counts = page.evaluate(_SLICES, kernel.take())
        assert counts[0] < COUNT / 2  # the first slice
        assert max(b - a for a, b in pairwise(counts)) < COUNT / 2
        assert page.locator(".pl-box .pl-short").count() == 0  # from afar there is nothing to read
        for _ in range(9):
            page.keyboard.press("+")
        page.wait_for_function(f"() => {{ const [seen, told] = ({_SEEN})(); return seen > 5 && seen === told; }}")
        assert page.locator(".pl-box .pl-short").count() < COUNT
        page.locator(".pl-find").fill("maximum")
        expect(page.locator(".pl-found")).to_have_text(
            f"{sum(box.name == 'maximum' for box in view.graph.boxes):,} boxes"
        )
        page.locator(".pl-find").press("Enter")
        expect(page.locator(".pl-box.pl-selected-box")).to_contain_text("maximum")


def test_what_a_pass_changed_is_seen_from_afar(chromium: Path) -> None:
    rec = passlab.record(resnet.get_workload(num_layers=50)[0], "SimplifyInference", 4)
    with browser(chromium) as chrome, widget_page(show(recording_view(rec)), chrome, (960, 800)) as (page, _):
        page.keyboard.press("3")
        page.wait_for_selector(".pl-far .pl-box.pl-added")
        fill = "box => getComputedStyle(box.firstElementChild).fill"
        legend = page.locator(".pl-colour-legend:visible span")
        expect(legend.filter(has_text="added")).to_have_count(1)
        expect(legend.filter(has_text="changed")).to_have_count(1)
        added = {page.locator(".pl-box.pl-added").nth(at).evaluate(fill) for at in range(0, 40, 8)}
        assert len(added) == 1  # of whatever family
        kept = page.locator(".pl-box.pl-family-1:not(.pl-added, .pl-changed)").first.evaluate(fill)
        assert added != {kept}
        red, green, blue = (float(number) for number in re.findall(r"[\d.]+", added.pop())[-3:])
        assert green > 1.3 * max(red, blue)


def test_a_drawing_that_is_saved_has_every_detail(chromium: Path) -> None:
    view = graph_view(knot(1500))
    with browser(chromium) as chrome, widget_page(show(view), chrome) as (page, kernel):
        page.wait_for_selector(".pl-box")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="save as SVG").click()
        text = waiting.value.path().read_text(encoding="utf-8")
        assert text.count("tanh") + text.count(">add<") + text.count("multiply<") + text.count("maximum<") >= 1500
        tell(page, kernel)
