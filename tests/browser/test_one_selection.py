"""What is selected is the same in all views, also in those of what was made of a program: listings, solvers, graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
import passlab.notebook
from passlab import lab, relay
from passlab.display import blame_view, graph_view
from passlab.ir.expr import Call, Expr
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.lab.recordings.recording import Recording
from tests.browser.widget_page import tell, widget_page

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
NET = """
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 1, 1), float32], %g: Tensor[(4), float32],
          %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v);
  %2 = tanh(%1.0);
  nn.global_avg_pool2d(subtract(%2, sigmoid(%0)))
}
"""
KERNELS = ("fused_nn_conv2d", "fused_add_sqrt", "fused_nn_global")


@pytest.fixture(scope="module")
def rec() -> Recording:
    return passlab.record(passlab.parse(NET), "InferType, SimplifyInference, FoldConstant, FuseOps", opt_level=4)


def node(program: Any, name: str) -> Expr:
    """The call of an operator in a program."""
    calls = [n for n in post_order(program["main"]) if isinstance(n, Call)]
    return next(call for call in calls if isinstance(call.op, Op) and call.op.name == name)


def lit(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".pl-selected .pl-text:visible").all_inner_texts()]


def test_a_line_of_a_listing_is_lit_in_the_explorer_and_in_the_blame(rec: Recording, chrome: Browser) -> None:
    explorer, blame = passlab.notebook.show(rec), passlab.notebook.show(blame_view(rec))
    listing = passlab.notebook.show(relay.vm.compile(rec.output))
    with widget_page(listing, chrome, kind="module") as (page, _):
        line = page.locator(".pl-row", has_text="fused_nn_global_avg_pool2d").locator(".pl-text")
        line.click(position={"x": 4, "y": 8})
        expect(page.locator(".pl-row.pl-selected").first).to_be_visible()
    assert explorer.selection == listing.selection == blame.selection == [node(rec.input, "nn.global_avg_pool2d")]
    for widget, kind in ((explorer, ""), (blame, "module")):
        with widget_page(widget, chrome, kind=kind) as (page, _):
            page.keyboard.press("1")
            expect(page.locator(".pl-row.pl-selected:visible").first).to_be_visible()
            assert [line for line in lit(page) if line.startswith("nn.global_avg_pool2d(")]
            assert not [line for line in lit(page) if "conv2d(" in line or "sigmoid(" in line]


def test_the_lines_of_a_listing_are_selected_by_keys(rec: Recording, chrome: Browser) -> None:
    listing = passlab.notebook.show(relay.vm.compile(rec.output))
    with widget_page(listing, chrome, kind="module") as (page, _):
        seen = []
        for key in "sssSS":  # all lines of a kernel, its memory's too, select what it was compiled of
            page.keyboard.press(key)
            expect(page.locator(".pl-row.pl-selected").first).to_be_visible()
            page.evaluate("() => new Promise(requestAnimationFrame)")  # what the page has told is heard by then
            seen.append(listing.selection)
        assert seen[3:] == [seen[1], seen[0]]
        assert all(a != b for a, b in pairwise(seen))


def test_what_a_program_became_in_the_explorer_is_lit_in_the_listing(rec: Recording, chrome: Browser) -> None:
    explorer, listing = passlab.notebook.show(rec), passlab.notebook.show(relay.vm.compile(rec.output))
    with widget_page(listing, chrome, kind="module") as (page, kernel):
        for step, name, expected in ((0, "sigmoid", 0), (-1, "sqrt", 1), (0, "nn.global_avg_pool2d", 2)):
            explorer.selection = [node(rec.steps[step].after, name)]
            tell(page, kernel)
            expect(page.locator(".pl-selected", has_text=KERNELS[expected]).first).to_be_visible()
            calls = [line.split()[1] for line in lit(page) if line.split()[1].startswith("fused")]
            assert [call for call in calls if not call.startswith(KERNELS[expected])] == []
        explorer.selection = []
        tell(page, kernel)
        expect(page.locator(".pl-selected")).to_have_count(0)


@pytest.mark.parametrize("algorithm", ["types", "fusion", "memory"])
def test_a_line_of_a_watched_solver_selects_the_program_that_was_given(
    rec: Recording, chrome: Browser, algorithm: str
) -> None:
    explorer = passlab.notebook.show(rec)
    watched = passlab.notebook.show(lab.watch_solver(rec.input, algorithm))
    with widget_page(watched, chrome) as (page, kernel):
        page.locator(".pl-row", has_text="tanh(").locator(".pl-text").last.click(position={"x": 4, "y": 8})
        expect(page.locator(".pl-selected").first).to_be_visible()
        assert explorer.selection == [node(rec.input, "tanh")]
        explorer.selection = [node(rec.input, "sigmoid")]
        tell(page, kernel)
        expect(page.locator(".pl-selected", has_text="sigmoid(").first).to_be_visible()
        assert [line for line in lit(page) if "sigmoid(" not in line] == []


def test_a_graph_of_a_later_program_knows_what_became_of_a_node(rec: Recording, chrome: Browser) -> None:
    explorer, graph = passlab.notebook.show(rec), passlab.notebook.show(graph_view(rec.output))
    with widget_page(graph, chrome) as (page, kernel):
        explorer.selection = [node(rec.input, "nn.batch_norm")]
        tell(page, kernel)
        expect(page.locator(".pl-box.pl-selected-box", has_text="sqrt")).to_have_count(1)
        expect(page.locator(".pl-box.pl-selected-box", has_text="sigmoid")).to_have_count(0)
