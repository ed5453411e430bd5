"""The views at three widths, light and dark: nothing sticks out, and the manual's gallery shows every one of them.

With `--bless` the pictures of the gallery are made anew, and the one that moves through the whole gesture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab import lab, relay, vm
from passlab.display import (
    bisection_view,
    comparison_view,
    executable_view,
    graph_view,
    heat_map_view,
    instrument_view,
    node_values_view,
    prospects_view,
    recording_view,
    solving_view,
    stepper_view,
)
from passlab.display.nodes import number_of
from passlab.evaluate.samples import random_arguments
from passlab.instrument import PrintIRAfter
from passlab.ir.expr import Call
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings.recording import Recording
from passlab.notebook.live import LiveOptions, LiveWidget
from passlab.notebook.widgets import show
from passlab.testing import resnet
from tests.browser.pictures import animated, frames_of, webp
from tests.browser.widget_page import Kernel, widget_page
from tests.display.large_program import LOOP
from tests.display.test_frames import typed

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
FOLDER = Path(__file__).resolve().parents[2] / "docs/images/gallery"
WIDTHS = (1400, 1000, 600)
HEIGHT = 640
FILM_HEIGHT = 740  # a stepper needs it
HIGHEST = 900
NET = """def @main(%image: Tensor[(1, 3, 16, 16), float32], %w: Tensor[(8, 3, 3, 3), float32], %g: Tensor[(8), float32],
          %b: Tensor[(8), float32], %m: Tensor[(8), float32], %v: Tensor[(8), float32]) {
  %0 = nn.conv2d(%image, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v);
  %2 = nn.relu(%1.0);
  %3 = multiply(%2, add(sigmoid(%0), zeros(shape=[1], dtype="float32")));
  nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(%3)))
}"""
LATE = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  let %gate = fn (%a) { multiply(%a, sigmoid(%a)) };
  let %h = nn.dense(%x, %w, units=4);
  let %pair = (%gate(%h), exp(%h));
  nn.softmax(add(%pair.0, %pair.1))
}"""
PASSES = "InferType, SimplifyExpr, SimplifyInference, FoldConstant, EliminateCommonSubexpr, FuseOps"


def recorded() -> Recording:
    return passlab.record(passlab.parse(NET), PASSES, opt_level=4, name="net")


def arguments() -> list[Any]:
    return [abs(a) for a in random_arguments(passlab.transform.InferType()(passlab.parse(NET))["main"], 0)]


def printed() -> PrintIRAfter:
    printer = PrintIRAfter(diff=True, file=io.StringIO())
    passlab.record(passlab.parse(NET), PASSES, opt_level=4, instruments=[printer])
    return printer


def stepper() -> Any:
    debugger = vm.Debugger(recorded(), *arguments())
    debugger.goto(len(debugger.trace) // 2)
    return show(stepper_view(debugger))


def broken() -> list[Any]:
    """The passes with one among them that takes a sigmoid for a tanh."""

    @passlab.transform.function_pass(opt_level=0, name="Mistakes")
    def mistakes(func: Any, mod: Any, ctx: Any) -> Any:
        def rule(before: Any, node: Any) -> Any:
            wrong = isinstance(node, Call) and node.op == relay.op.get("sigmoid")
            return relay.tanh(*node.args) if wrong else node

        return rewrite(func, rule, only=(Call,))

    first, *rest = [passlab.transform.get_pass(name) for name in PASSES.split(", ")]
    return [first, mistakes, *rest]


# Each view, with the script of its widget and the keys that are pressed in it.
VIEWS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "explorer": (lambda: show(recording_view(recorded())), "", "s s s s s s s s s"),
    "rewrites": (lambda: show(recording_view(recorded())), "", "g j j j 6"),
    "what-if": (lambda: show(recording_view(recorded())), "", "w j j Space"),
    "comparison": (
        lambda: show(comparison_view(lab.compare(recorded(), recorded().what_if.without("SimplifyExpr").recording))), "", "",
    ),
    "live": (lambda: LiveWidget(NET, PASSES, LiveOptions("net"), {}), "live", ""),
    "bisection": (lambda: show(bisection_view(lab.bisect(passlab.parse(NET), broken(), inputs=arguments(), opt_level=4))), "pipeline", "e"),
    "prospects": (lambda: show(prospects_view(passlab.parse(NET), "net")), "prospects", "j j j Enter"),
    "heat-map": (lambda: show(heat_map_view(lab.what_if(passlab.parse(NET), PASSES))), "", "j j h Enter"),
    "printed": (lambda: show(instrument_view(printed())), "", "c g Enter"),
    "values": (
        lambda: show(node_values_view(lab.watch(recorded(), *arguments()), lab.watch(passlab.parse(NET), *arguments()))), "", "",
    ),
    "graph": (lambda: show(graph_view(resnet.get_workload(num_layers=50)[0])), "", ""),
    "program": (lambda: show(graph_view(typed(LOOP))), "", ""),
    "types": (lambda: show(solving_view(lab.watch_solver(passlab.parse(LATE), "types"))), "", "j j j j j j j j j"),
    "executable": (lambda: show(executable_view(relay.vm.compile(recorded().output))), "module", "s s"),
    "stepper": (stepper, "", "ArrowRight"),
}  # fmt: skip


@pytest.mark.rotating(parts=10)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fits_at_every_width_in_light_and_dark(name, chrome, bless):
    make, kind, keys = VIEWS[name]
    with widget_page(make(), chrome, (WIDTHS[0], HEIGHT), kind=kind) as (page, _):
        page.locator(".passlab").last.focus()
        for key in keys.split():
            page.keyboard.press(key)
        page.wait_for_timeout(150)
        for close in page.get_by_role("button", name="close the hints").all():
            close.click()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 320})
            height = page.evaluate("document.documentElement.scrollHeight")  # the whole view, and nothing below it
            page.set_viewport_size({"width": width, "height": min(HIGHEST, height)})
            page.evaluate("scrollTo(0, 0)")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)
                path = FOLDER / f"{name}-{width}-{scheme}.webp"
                if bless:
                    page.wait_for_timeout(200)
                    FOLDER.mkdir(exist_ok=True)
                    path.write_bytes(webp(page))
                assert path.is_file(), "run this test with --bless"


@pytest.mark.parametrize("size", [(width, height) for width in WIDTHS for height in (420, HEIGHT, HIGHEST)])
def test_no_box_of_a_whole_graph_is_covered_by_the_tools(size, chrome):
    with widget_page(VIEWS["graph"][0](), chrome, (WIDTHS[0], 320)) as (page, _):
        page.locator(".pl-box").first.wait_for()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")
        assert (
            page.evaluate("""() => {
          const tools = document.querySelector(".pl-tools").getBoundingClientRect();
          return [...document.querySelectorAll(".pl-box")].filter(box => {
            const at = box.getBoundingClientRect();
            return at.right > tools.left && at.bottom > tools.top;
          }).map(box => box.textContent);
        }""")
            == []
        )
        names = page.locator(".pl-short:visible").all_text_contents()
        assert {name for name in names if name.startswith("conv")} <= {"conv2d"}, "names are whole where there is room"


def test_the_gallery_shows_every_view():
    text = (FOLDER.parents[1] / "develop/gallery.md").read_text(encoding="utf-8")
    assert [name for name in VIEWS if f"images/gallery/{name}-1400-light.webp" not in text] == []


def test_each_complaint_has_the_test_that_answers_it():
    """No row of the table names a test that is not there."""
    root = FOLDER.parents[2]
    rows = (root / "docs/develop/gallery.md").read_text(encoding="utf-8").partition("| complaint |")[2].split("\n")[2:]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row) for row in rows if row]
    assert len(named) == 18
    assert [row for row in named if len(row) != 1] == []
    for ((path, name),) in named:
        assert f"def {name}(" in (root / path).read_text(encoding="utf-8"), name


class Film:
    """Pictures that are taken on the way, to be shown one after the other."""

    def __init__(self) -> None:
        self.frames: list[tuple[bytes, int]] = []

    def shoot(self, page: Page, milliseconds: int = 1400) -> None:
        """Take a picture of what is shown now."""
        page.wait_for_timeout(120)
        self.frames.append((webp(page, 0.75), milliseconds))


@contextmanager
def scene(widget: Any, chrome: Browser, kind: str = "") -> Iterator[tuple[Page, Kernel]]:
    with widget_page(widget, chrome, (1100, FILM_HEIGHT), kind=kind) as (page, kernel):
        page.locator(".passlab").last.focus()
        yield page, kernel


@pytest.mark.nightly
def test_the_whole_gesture_from_a_line_to_its_kernel(chrome, bless, tmp_path):
    """Select the normalisation; see its pass, its rewrite, its place in the graph, what if not, its values, its kernel."""
    film, rec = Film(), recorded()
    explorer = show(recording_view(rec))
    with scene(explorer, chrome) as (page, kernel):
        for key in "g1":
            page.keyboard.press(key)
        film.shoot(page)
        page.locator(".pl-row:visible", has_text="nn.batch_norm(").click(position={"x": 190, "y": 8})
        page.mouse.move(1, 1)  # what hovering tells would cover the program
        expect(page.locator(".pl-biography-strip")).to_be_visible()
        film.shoot(page, 1800)
        for key, title in (("J", "SimplifyInference"), ("2", "SimplifyInference")):
            page.keyboard.press(key)
            expect(page.locator(".pl-step-name:visible").first).to_have_text(title)
            film.shoot(page)
        page.keyboard.press("6")
        expect(page.locator(".pl-rewrite .pl-row-removed").first).to_contain_text("nn.batch_norm")
        film.shoot(page, 2200)
        page.keyboard.press("3")
        expect(page.locator(".pl-box.pl-selected-box").first).to_be_visible()
        film.shoot(page, 1800)
        for key in "2J":
            page.keyboard.press(key)
        expect(page.locator(".pl-selected:visible").first).to_be_visible()
        film.shoot(page)
        for key in ("w", "j", "j", "Space"):
            page.keyboard.press(key)
        expect(page.locator(".pl-edit-row.pl-differs").first).to_be_visible()
        film.shoot(page, 2200)
        assert [step.name for step in kernel.widget.variant][2:4] == ["SimplifyExpr", "FoldConstant"]
    fused = next(
        n for n in post_order(rec.last["main"]) if isinstance(n, Call) and getattr(n.op, "name", "") == "nn.conv2d"
    )
    values = show(node_values_view(lab.watch(rec, *arguments())))
    values.nodes = [number_of(fused)]
    with scene(values, chrome) as (page, _):
        expect(page.locator(".pl-fact-range").first).to_be_visible()
        film.shoot(page, 1800)
    widget = show(stepper_view(vm.Debugger(rec, *arguments())))
    widget.nodes = [number_of(fused)]
    with scene(widget, chrome) as (page, _):
        film.shoot(page)
        for _ in range(2):
            page.keyboard.press("ArrowRight")
            film.shoot(page)
        page.keyboard.press("s")
        expect(page.locator(".pl-current")).to_be_visible()
        film.shoot(page, 2400)
    picture = animated(film.frames)
    assert frames_of(picture) == len(film.frames) == 13
    assert len(picture) < 1_500_000
    (FOLDER.parent / "gesture.webp" if bless else tmp_path / "gesture.webp").write_bytes(picture)
