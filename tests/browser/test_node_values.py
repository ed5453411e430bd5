"""Values on the program: beside each line what it computed, the first odd or different one found by a key, and the graph."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

import passlab
from passlab.display import node_values_view
from passlab.lab import watch
from passlab.notebook.widgets import show
from tests.browser.widget_page import widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = "def @main(%x: Tensor[(4), float32]) { %0 = subtract(%x, 1f); %1 = log(%0); %2 = exp(%0); add(%1, %2) }"
X = np.array([0.5, 1.0, 2.0, 3.0], "float32")


def test_each_line_tells_what_it_computed_and_a_key_goes_to_the_odd_ones(chrome):
    run = watch(passlab.parse(NET), X)
    with widget_page(show(node_values_view(run)), chrome) as (page, _):
        row = page.locator(".pl-row", has_text="log(")
        expect(row.locator(".pl-fact-nonfinite")).to_have_text("1 NaN, 1 inf")
        expect(row.locator(".pl-fact-range")).to_have_text("0 … 0.693")
        expect(row.locator(".pl-fact-shape")).to_have_text("(4) float32")
        expect(row.locator(".pl-fact-bytes")).to_have_text("16 B")
        page.keyboard.press("n")
        expect(page.locator(".pl-selected")).to_contain_text("log(")
        page.keyboard.press("2")
        expect(page.locator(".pl-box.pl-selected-box")).to_contain_text("1 NaN, 1 inf")
        page.get_by_label("colour").select_option("NaN and infinities")
        page.set_viewport_size({"width": 600, "height": 800})
        page.keyboard.press("1")
        expect(row.locator(".pl-fact-nonfinite")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_two_runs_are_held_against_one_another_and_the_first_difference_is_marked(chrome):
    net = passlab.parse(NET)
    moved = X.copy()
    moved[3] = np.nextafter(X[3], np.float32(4))
    run = watch(net, moved)
    with widget_page(show(node_values_view(run, watch(net, X))), chrome) as (page, _):
        first = page.locator(".pl-row", has=page.locator(".pl-fact-first"))
        expect(first).to_contain_text("subtract(")
        expect(page.locator(".pl-row", has_text="subtract(").locator(".pl-fact-nonfinite")).to_have_text("≠ 1 ulp")
        expect(page.locator(".pl-title")).to_contain_text("differ")
