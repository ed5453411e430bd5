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

pytestmark = pytest.mark.browser
NET = """
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }
def @sum(%t: Tree[float32]) -> float32 {
  match (%t) { Leaf(%v) => sqrt(%v - 1f), Node(%l, %r) => @sum(%l) + @sum(%r) }
}
def @main(%t: Tree[float32], %x: float32) {
  sqrt(match (%t) { Leaf(%v) => %v, Node(%l, %r) => @sum(%l) } + %x) - %x
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
