"""Every view at every width: no control is cut off, and what the view is for has room.

A notebook beside a file browser in half of a screen leaves some 220 pixels to a view; a box of widgets, as much as it likes.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab.notebook
from passlab import lab
from passlab.display import recording_view
from passlab.testing import resnet
from tests.browser.test_find_and_copy import PASSES, PROGRAM
from tests.browser.widget_page import widget_page
from tests.display.view_examples import EXAMPLES, LIVE

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=6)]
WIDTHS = (1400, 960, 560, 400, 220)  # pixels of the view
BODY = 100  # pixels of height that a pane with lines, boxes or rows has at least
# Controls that reach beyond the view, where no part of it can be scrolled to them.
_CUT = """() => {
  const root = document.querySelector(".passlab"), frame = root.getBoundingClientRect(), cut = [];
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== root; at = at.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  for (const one of root.querySelectorAll("button, select, input, textarea, [role=tab], .pl-title, .pl-step-name")) {
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height || getComputedStyle(one).visibility === "hidden") continue;
    if ((box.left < frame.left - 1 || box.right > frame.right + 1) && !scrolls(one))
      cut.push(`${one.className || one.tagName} ${Math.round(box.left - frame.left)}..${Math.round(box.right - frame.left)}`);
    const bar = one.closest(".pl-bar")?.getBoundingClientRect();
    if (bar && (box.top < bar.top - 1 || box.bottom > bar.bottom + 1)) cut.push(`${one.className} is not whole in its bar`);
    if (one.matches(".pl-title") && box.width < 90 && one.textContent.length > 20) cut.push(`title of ${Math.round(box.width)}`);
  }
  return cut;
}"""
# The height of the lines of a comparison that are shown at the narrowest.
LINES = """() => {
  const root = document.querySelector(".passlab").getBoundingClientRect();
  const box = document.querySelector(".pl-diff").closest(".pl-scroll").getBoundingClientRect();
  return Math.min(box.bottom, root.bottom) - box.top;
}"""
# The height of the part of the largest pane that is shown.
_ROOM = """() => {
  const root = document.querySelector(".passlab").getBoundingClientRect();
  const heights = [...document.querySelectorAll(".passlab :is(.pl-scroll, .pl-canvas, .pl-list, .pl-numbers, .pl-pane, .pl-heat-frame)")].map((one) => {
    const box = one.getBoundingClientRect();
    const shown = Math.min(box.bottom, root.bottom) - Math.max(box.top, root.top);
    return !box.width ? 0 : one.scrollHeight <= shown + 1 && !one.matches(".pl-canvas") ? 1e4 : shown; // of a short one, all
  });
  return heights.length ? Math.max(...heights) : null;
}"""


def problems(page: Page) -> dict[int, tuple[list[str], float | None]]:
    """By width, the controls that are cut off, and the height of the largest pane, where either is wrong."""
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width + 40, "height": 900})
        page.wait_for_timeout(80)  # for what is laid out anew
        cut, room = page.evaluate(_CUT), page.evaluate(_ROOM)
        if cut or (room is not None and room < BODY):
            found[width] = (cut, room)
    return found


@pytest.mark.parametrize("name", LIVE)
def test_no_control_of_a_view_is_cut_off_and_its_body_has_room(name: str, chrome: Browser) -> None:
    kind = "prospects" if name == "ProspectsView" else ""
    with widget_page(passlab.notebook.show(EXAMPLES[name]()), chrome, size=(1440, 900), kind=kind) as (page, _):
        assert problems(page) == {}


def test_sentences_as_long_as_paragraphs_leave_room_to_the_lines(chrome: Browser) -> None:
    first = passlab.record(passlab.parse(PROGRAM), PASSES, 4)
    second = passlab.record(resnet.get_workload(num_layers=18)[0], "SimplifyInference, FuseOps", 4)
    with widget_page(passlab.notebook.show(lab.compare(first, second)), chrome, size=(1440, 900)) as (page, _):
        assert len(page.locator(".pl-title").first.inner_text()) > 300
        assert problems(page) == {}
        assert page.evaluate(LINES) > BODY
        for look in (".pl-title", ".pl-step-head"):  # what has to be scrolled is reached by Tab
            expect(page.locator(look).first).to_have_attribute("tabindex", "0")
        page.set_viewport_size({"width": 1440, "height": 900})
        expect(page.locator(".pl-title").first).not_to_have_attribute("tabindex", "0")


# The rows of a list of rewrites that do not show all of their text.
_UNREAD = """() => [...document.querySelectorAll(".pl-rewrite-row .pl-pass-name")]
  .filter((name) => name.scrollWidth > name.clientWidth + 1 || name.scrollHeight > name.clientHeight + 1)
  .map((name) => name.textContent)"""
PAIRS = """def @main(%x: Tensor[(2, 3, 4), float32]) {
  let %a = reshape(reshape(reshape(%x, newshape=[6, 4]), newshape=[4, 6]), newshape=[3, 8]);
  let %b = cast(cast(cast(%a, dtype="float64"), dtype="float64"), dtype="float32");
  transpose(transpose(%b, axes=[1, 0]), axes=[1, 0])
}"""


def test_rewrites_are_read_whole_at_every_width(chrome: Browser) -> None:
    recording = passlab.record(passlab.parse(PAIRS), "InferType, SimplifyExpr", 4)
    with widget_page(passlab.notebook.show(recording_view(recording)), chrome, size=(1440, 900)) as (page, _):
        for key in ("g", "j", "j", "6"):
            page.keyboard.press(key)
        expect(page.locator(".pl-rewrite-row").nth(1)).to_be_visible()
        for width in WIDTHS:
            page.set_viewport_size({"width": width + 40, "height": 900})
            assert page.evaluate(_UNREAD) == [], width
