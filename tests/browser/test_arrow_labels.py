"""Labels of arrows: where several arrows end in one box, each label can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import passlab
from passlab.display import graph_view
from passlab.infer import infer_module
from passlab.notebook.widgets import show
from tests.browser.lab_page import browser
from tests.browser.widget_page import widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """
def @main(%x: Tensor[(6), float32]) {
  %0 = split(%x, indices_or_sections=6, axis=0);
  %1 = add(%0.0, %0.1);
  %2 = multiply(%0.2, %0.3);
  subtract(maximum(%1, %0.4), minimum(%2, %0.5))
}
"""
_OVERLAPPING = """() => {
  const over = (one, other) => one.left < other.right && other.left < one.right && one.top + 2 < other.bottom && other.top + 2 < one.bottom;
  const labels = [...document.querySelectorAll(".pl-arrow text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  const pairs = labels.flatMap(([a, one], i) => labels.slice(i + 1).filter(([, other]) =>
    over(one, other)).map(([b]) => [a, b]));
  const boxes = [...document.querySelectorAll(".pl-box > rect")].map(box => box.getBoundingClientRect());
  return [labels.length, pairs, labels.filter(([, at]) => boxes.some(box => over(at, box))).map(([text]) => text)];
}"""


def test_no_label_is_printed_over_another(chromium: Path) -> None:
    view = show(graph_view(infer_module(passlab.parse(NET))))
    with browser(chromium) as chrome, widget_page(view, chrome) as (page, _):
        page.wait_for_selector(".pl-arrow text")
        count, pairs, hidden = page.evaluate(_OVERLAPPING)
        assert count == 6
        assert pairs == []
        assert hidden == []
