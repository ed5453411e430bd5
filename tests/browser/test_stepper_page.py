"""The stepper as an exported page, opened from disk in a real browser: driven by keyboard and mouse, without a kernel.

`PASSLAB_SCREENSHOTS=folder` keeps pictures of every program, light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import passlab
from passlab import vm
from passlab.debugger.code_map import KERNEL
from passlab.display.pages.page import write
from passlab.display.views.stepper import stepper_view
from passlab.evaluate.samples import random_arguments
from passlab.rewriting.parameters import bind_params
from passlab.testing import lstm, resnet
from tests.browser.lab_page import WIDE
from tests.vm.programs import LOOP
from tests.vm.traced import LOGARITHM, TREE

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]
_PLACED = """selector => [...document.querySelectorAll(selector)].filter(row => {
    const box = row.getBoundingClientRect(), pane = row.closest(".pl-scroll").getBoundingClientRect();
    return box.top >= pane.top && box.bottom <= pane.bottom;
  }).map(row => {
    const box = row.getBoundingClientRect();
    return [row.innerText.replace(/\\s+/g, " ").trim(), Math.round(box.left), Math.round(box.top), Math.round(box.width)];
  })"""
# Waits for the frame after a key's work, so that what is timed is what a person waits for.
_PRESS = """async keys => {
  const root = document.querySelector(".pl-stepper"), took = [];
  for (const key of keys) {
    const start = performance.now();
    root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true }));
    took.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return took.sort((a, b) => a - b)[took.length >> 1];
}"""
# What has the focus: its name, and whether its looks differ from when it has not.
_FOCUSED = """() => {
  const it = document.activeElement, look = () => {
    const { borderColor, outlineStyle, outlineColor } = getComputedStyle(it);
    return [borderColor, outlineStyle, outlineColor].join();
  };
  const name = it.getAttribute("aria-label") || it.textContent.slice(0, 30), shown = look();
  it.blur();
  const plain = look();
  it.focus({ focusVisible: true });
  return [name, it === document.body || shown !== plain];
}"""


def resnet_18() -> vm.Debugger:
    mod, params = resnet.get_workload(1, 1000, num_layers=18, image_shape=(3, 64, 64))
    return vm.Debugger(bind_params(mod, params), np.random.default_rng(0).random((1, 3, 64, 64), "float32"))


def long_short_term() -> vm.Debugger:
    mod, params = lstm.get_workload(iterations=6, num_hidden=16)
    args = random_arguments(bind_params(mod, params)["main"], 0)
    return vm.Debugger(bind_params(mod, params), *args)


RUNS = {
    "nan": lambda: vm.Debugger(passlab.parse(LOGARITHM), np.full((2, 3), 0.3, "float32"), np.ones((4, 3), "float32")),
    "tree": lambda: vm.Debugger(passlab.parse(TREE), np.int32(4)),
    "lstm": long_short_term,
    "resnet": resnet_18,
    "loop": lambda: vm.Debugger(passlab.parse(LOOP), np.int32(4800)),
    "graph": lambda: vm.Debugger(
        passlab.parse(LOGARITHM), np.ones((2, 3), "float32"), np.ones((4, 3), "float32"), executor="graph"
    ),
    "debug": lambda: vm.Debugger(passlab.parse(TREE), np.int32(2), executor="debug"),
}


class Opened:
    """A page with a stepper, and the run it shows."""

    def __init__(self, name: str, folder: Path, chrome: Browser, scheme: str = "light") -> None:
        self.dbg = RUNS[name]()
        self.path = folder / f"{name}.html"
        write(stepper_view(self.dbg), self.path)
        self.page: Page = chrome.new_page(viewport=WIDE, color_scheme=scheme)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(error.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.path.as_uri())
        expect(self.page.locator(".pl-inst, .pl-frame").first).to_be_visible()
        self.root = self.page.locator(".pl-stepper")
        self.root.focus()

    @property
    def at(self) -> int:
        return int(self.page.locator(".pl-position").input_value().replace(",", ""))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def registers(self) -> dict[int, str]:
        rows = self.page.locator(".pl-register").all()
        texts = {int(r.get_attribute("data-register") or -1): r.locator(".pl-reg-value").inner_text() for r in rows}
        return {register: text for register, text in texts.items() if text not in ("–", "")}


@pytest.fixture
def opened(request, tmp_path, chrome) -> Iterator[Opened]:
    result = Opened(request.param, tmp_path, chrome)
    yield result
    assert result.errors == []
    assert [url for url in result.asked if not url.startswith(("file:", "blob:"))] == []
    result.page.close()


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("opened", names, indirect=True)


@on("tree")
def test_a_page_that_was_just_opened_listens_to_keys(opened: Opened) -> None:
    page = opened.page.context.browser.new_page()
    page.goto(opened.path.as_uri())
    position = page.locator(".pl-position")
    expect(page.locator(".pl-stepper")).to_be_focused()
    page.keyboard.press("s")
    page.keyboard.press("s")
    expect(position).to_have_value("2")
    assert page.locator(".pl-stepper").evaluate("e => !e.matches(':focus-visible')")  # nobody has moved the focus yet
    page.close()


# ---------------------------------------------------------------- stepping
@on("nan", "tree", "lstm", "resnet", "graph", "debug")
def test_the_page_shows_the_state_that_the_debugger_has(opened):
    dbg = opened.dbg
    length = len(dbg.trace)
    for at in sorted({0, 1, length // 3, length // 2, length - 1}):
        opened.page.keyboard.type(f"{at}g")
        assert opened.at == at
        now = dbg.goto(at)
        expect(opened.page.locator(".pl-current")).to_have_attribute("data-point", str(now.point))
        shown = opened.registers()
        assert set(shown) <= set(now.registers)
        if len(shown) <= 10:  # of more, only the rows in sight exist
            assert len(shown) == len(now.registers)
        frames = opened.page.locator(".pl-frame").all_inner_texts()
        assert len(frames) == len(now.stack)


@on("tree", "debug")
def test_every_movement_goes_where_the_debugger_goes(opened):
    dbg = opened.dbg
    opened.press("g")
    moves = {
        "s": dbg.step, "S": dbg.step_back, "n": dbg.next, "N": dbg.next_back, "f": dbg.finish, "F": dbg.finish_back,
    }  # fmt: skip
    for key in "sssnsssssnnfsssSSnNsFsssssnnnnfNNFfffG":
        opened.press(key)
        here = dbg.goto(-1) if key == "G" else moves[key]()
        assert opened.at == here.number, key
    opened.press("S", "S")
    assert opened.at == len(dbg.trace) - 2


@on("tree")
def test_counts_go_before_keys(opened):
    opened.press("1", "2", "s")
    assert opened.at == 12
    opened.press("5", "S")
    assert opened.at == 7
    opened.page.keyboard.type("40g")
    assert opened.at == 40
    opened.press("u")
    assert opened.at == 7


@on("tree")
def test_frames_above_are_looked_into(opened):
    opened.dbg.breakpoint("@total")
    for _ in range(4):
        opened.dbg.continue_()
    opened.page.keyboard.type(f"{opened.dbg.at}g")
    expect(opened.page.locator(".pl-code-pane .pl-pane-title")).to_contain_text("@total")
    names = [frame.function for frame in opened.dbg.stack]
    for name in names[1:]:
        opened.press("[")
        expect(opened.page.locator(".pl-code-pane .pl-pane-title")).to_contain_text(f"@{name}")
    opened.page.locator(".pl-frame").first.click()
    expect(opened.page.locator(".pl-frame.pl-active")).to_contain_text("@total")


# ---------------------------------------------------------------- breakpoints, watches, where values come from
@on("nan")
def test_breakpoints_are_set_by_mouse_key_and_name(opened):
    page = opened.page
    kernel = next(i for i in opened.dbg.query("nn.softmax"))
    pc = opened.dbg.trace[kernel].pc
    page.get_by_role("button", name=f"breakpoint at {pc}", exact=True).click()
    expect(page.locator(".pl-stop-chip")).to_contain_text(f"@main:{pc}")
    opened.root.focus()
    opened.press("c")
    assert opened.at == kernel
    opened.press("b")
    expect(page.locator(".pl-stop-chip")).to_have_count(0)
    opened.press("g", "/")
    page.keyboard.type("first nan")
    page.keyboard.press("Enter")
    opened.press("c")
    assert opened.at == opened.dbg.query("nan")[0]
    opened.press("c")
    assert opened.at == opened.dbg.query("nan")[1]
    opened.press("C")
    assert opened.at == opened.dbg.query("nan")[0]
    opened.press("/")
    page.keyboard.type("nn.dnse")
    page.keyboard.press("Enter")
    expect(page.locator(".pl-stepper-status")).to_contain_text("nothing in the program is called nn.dnse")


@on("nan")
def test_a_nan_is_found_by_asking_where_it_came_from(opened):
    page = opened.page
    opened.press("G", "S")
    expect(page.locator(".pl-value-head")).to_contain_text("NaN")
    expect(page.locator(".pl-stat.pl-nonfinite")).to_contain_text("NaN")
    opened.press("o")
    expect(page.locator(".pl-stepper-status")).to_contain_text("nn.softmax")
    opened.press("o")
    expect(page.locator(".pl-stepper-status")).to_contain_text("subtract + log")
    expect(page.locator(".pl-current-line")).to_have_count(2)
    opened.press("t")
    expect(page.locator(".pl-source-pane")).to_contain_text("Primitive=1")
    opened.press("t")
    expect(page.locator(".pl-histories")).to_contain_text("FuseOps")


@on("nan")
def test_a_watched_register_stops_where_it_changes(opened):
    dense = opened.dbg.query("nn.dense")[0]
    register = opened.dbg.trace.written(dense)[0][1]
    opened.page.keyboard.type(f"{dense + 1}g")
    opened.page.locator(f".pl-register[data-register='{register}']").click()
    opened.root.focus()
    opened.press("w", "g")
    expect(opened.page.locator(".pl-watch-chip")).to_contain_text(f"${register}")
    stops = [instant for instant, _ in opened.dbg.watch(register).history()]
    for stop in stops:
        opened.press("c")
        assert opened.at == stop


# ---------------------------------------------------------------- the timeline and the rest
@on("resnet")
def test_the_timeline_goes_where_it_is_clicked(opened):
    box = opened.page.locator(".pl-track").bounding_box()
    assert box is not None
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    assert abs(opened.at - len(opened.dbg.trace) / 2) <= 1
    opened.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    expect(opened.page.locator(".pl-tooltip")).to_be_visible()
    opened.page.get_by_role("button", name="peak").click()
    assert opened.at == opened.dbg.storage.peak[1]


@on("resnet")
def test_the_timeline_says_what_its_marks_mean(opened):
    legend = opened.page.locator(".pl-time-legend")
    for meaning in ("kernels", "live memory", "peak", "storages", "reused"):
        expect(legend).to_contain_text(meaning)
    expect(legend).not_to_contain_text("depth of calls")


@on("resnet")
def test_a_tensor_is_drawn(opened):
    opened.page.keyboard.type(f"{opened.dbg.query('nn.conv2d')[0] + 1}g")
    expect(opened.page.locator(".pl-tensor-cells")).to_be_visible()
    expect(opened.page.locator(".pl-histogram")).to_be_visible()
    expect(opened.page.locator(".pl-stats")).to_contain_text("mean")
    assert opened.path.stat().st_size < 5_000_000


@on("nan")
def test_help_lists_the_keys_and_what_needs_a_kernel_says_so(opened):
    opened.press("?")
    expect(opened.page.get_by_role("dialog", name="Keys")).to_contain_text("where the value of the register came from")
    opened.press("?", "?", "Escape")
    expect(opened.page.get_by_role("dialog", name="Keys")).to_be_hidden()
    opened.press("s", "e", "Escape")
    expect(opened.page.locator(".pl-branch")).to_be_hidden()
    opened.press("e")
    opened.page.keyboard.type("3")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator(".pl-stepper-status")).to_contain_text("a fork needs the running kernel")


@on("nan")
def test_the_tab_key_reaches_everything_and_shows_where_it_is(opened):
    seen = {}
    for _ in range(24):
        opened.press("Tab")
        name, ring = opened.page.evaluate(_FOCUSED)
        seen[name] = ring
    assert {"continue (c)", "Source", "instant", "export"} <= set(seen)
    assert [name for name, ring in seen.items() if not ring] == []
    opened.page.locator(".pl-track").focus()
    opened.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert opened.dbg.trace.role[opened.at] == KERNEL


@pytest.mark.nightly
@on("loop")
def test_a_run_of_100_000_instructions_is_there_at_once_and_follows_every_key(opened):
    assert len(opened.dbg.trace) > 100_000
    source = "document.querySelector('.pl-stepper')"
    shown = opened.page.evaluate(
        f"async () => {{ const widget = {source}, host = widget.parentElement; return [widget.offsetHeight, host.childElementCount]; }}"
    )
    assert shown[0] > 300
    opened.press("s")
    median = opened.page.evaluate(_PRESS, list("sssssSSSSSnnnnnNNNNN" * 3))
    print(f"a key takes {median:.1f} ms")
    assert opened.page.evaluate(_PRESS, ["G", "C", "g", "c"]) < 2000


# ---------------------------------------------------------------- looks
_CLIPPED = """selector => [...document.querySelectorAll(selector)]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""


@pytest.mark.parametrize("width", [900, 1600])
@on("lstm", "resnet")
def test_nothing_of_the_source_is_cut_off_and_values_stand_in_a_column(opened, width):
    page = opened.page
    page.set_viewport_size({"width": width, "height": 800})
    opened.page.keyboard.type(f"{opened.dbg.query('nn.dense')[0]}g")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator(".pl-current-line").first).to_be_visible()
    assert page.evaluate(_CLIPPED, ".pl-source-pane .pl-text") == []
    lefts = page.locator(".pl-reg-value").evaluate_all(
        "all => all.map(e => Math.round(e.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@on("resnet")
def test_the_chosen_register_stays_in_sight_when_the_window_changes_its_size(opened):
    page = opened.page
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.keyboard.type("20g")
    last = page.locator(".pl-register:not(.pl-none)").last
    last.click()
    expect(page.locator(".pl-register.pl-active")).to_be_in_viewport()
    for width, height in ((1000, 560), (1400, 700), (600, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        frame = page.locator(".pl-registers").bounding_box()
        row = page.locator(".pl-register.pl-active").bounding_box()
        assert frame is not None
        assert row is not None
        assert frame["y"] - 1 <= row["y"] <= frame["y"] + frame["height"] - row["height"] + 1


@on("tree", "lstm")
def test_lists_that_were_scrolled_show_another_function_from_its_start(opened):
    opened.page.set_viewport_size({"width": 1000, "height": 560})
    trace = opened.dbg.trace
    function, pc = trace.code_map.function[trace.point], trace.code_map.pc[trace.point]
    last = int((function == function.max()).argmax())  # of the functions there are
    deep = int((pc * (function != function.max())).argmax())
    opened.press("z")
    for keys in (f"{deep}g", f"{last}g", "tt", f"{deep}g", "t", f"{last}g"):
        opened.page.keyboard.type(keys)
    rows = opened.page.locator(".pl-inst")
    expect(rows.first).to_have_attribute("data-point", str(trace.code_map.offsets[function.max()]))
    assert opened.page.locator(".pl-bytecode").evaluate("box => box.scrollTop") == 0


@on("resnet")
def test_panes_stay_in_place_from_step_to_step(opened):
    places = set()
    opened.page.keyboard.type(f"{opened.dbg.query('nn.conv2d')[1] - 3}g")
    for _ in range(12):
        opened.press("s")
        card, source = (opened.page.locator(f".{name}").bounding_box() for name in ("pl-value", "pl-source-pane"))
        places.add((card["y"], card["height"], source["y"], source["width"]))
    assert len(places) == 1


@on("nan")
def test_the_end_says_that_no_frame_runs(opened):
    opened.press("G")
    expect(opened.page.get_by_text("No frame runs any more")).to_be_visible()
    expect(opened.page.locator(".pl-value-head")).to_contain_text("result")
    opened.press("S")
    expect(opened.page.get_by_text("No frame runs any more")).to_be_hidden()


@on("resnet")
def test_the_end_shows_what_was_executed_last(opened):
    opened.press("G")
    expect(opened.page.locator(".pl-previous")).to_contain_text("ret ")
    assert ["ret " in text for text, *_ in opened.page.evaluate(_PLACED, ".pl-inst")].count(True) == 1


# ---------------------------------------------------------------- grain, books, heap, zoom
@on("resnet")
def test_the_arrows_go_from_kernel_to_kernel_and_books_are_folded(opened):
    sites = opened.dbg.trace.code_map
    kernels = [at for at in range(len(opened.dbg.trace)) if opened.dbg.trace.role[at] == KERNEL]
    opened.press("g", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert opened.at == kernels[1]
    expect(opened.page.locator(".pl-bookkeeping").first).to_contain_text("alloc_storage")
    shown = [
        sites.mnemonic(int(site))
        for site in opened.page.locator(".pl-inst:not(.pl-current, .pl-previous)").evaluate_all(
            "rows => rows.map(row => row.dataset.point)"
        )
    ]
    assert "invoke_packed" in shown
    assert "alloc_storage" not in shown
    folded = opened.page.locator(".pl-bookkeeping").count()
    opened.page.locator(".pl-bookkeeping").first.click()
    assert opened.page.locator(".pl-bookkeeping").count() < folded or opened.page.locator(".pl-inst").count() > len(
        shown
    )
    opened.press("i", "i", "ArrowRight")
    assert opened.at == kernels[1] + 1
    expect(opened.page.locator(".pl-bookkeeping")).to_have_count(0)


@on("tree")
def test_a_data_value_is_drawn_as_boxes_and_arrows(opened):
    opened.press("G", "S")
    while not opened.page.locator(".pl-register", has_text="Node(").count():
        opened.press("S")
    opened.page.locator(".pl-register", has_text="Node(").first.click()
    heap = opened.page.locator(".pl-heap svg")
    expect(heap).to_be_visible()
    names = heap.locator(".pl-heap-name").all_text_contents()
    assert names.count("Node") >= 1
    assert heap.locator("path").count() == len(names) - 1


@on("resnet")
def test_a_range_of_the_timeline_is_looked_at_closer_and_follows_the_instant(opened):
    track = opened.page.locator(".pl-track")
    box, length = track.bounding_box(), len(opened.dbg.trace)
    opened.page.keyboard.down("Shift")
    opened.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 10)
    opened.page.mouse.up()
    opened.page.keyboard.up("Shift")
    whole = opened.page.get_by_role("button", name="show the whole run")
    expect(whole).to_contain_text(f"{length // 2}")
    opened.page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 10)
    assert abs(opened.at - 0.55 * length) < 0.02 * length
    opened.root.focus()
    opened.press("G")
    expect(opened.page.locator(".pl-cursor")).to_be_visible()
    whole.click()
    expect(whole).to_be_hidden()
    track.hover()
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, -300)
    opened.page.keyboard.up("Control")
    expect(whole).to_be_visible()


# ---------------------------------------------------------------- pictures
@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", RUNS)
def test_pictures_are_kept(name, scheme, tmp_path, chrome, screenshots):
    opened = Opened(name, tmp_path, chrome, scheme)
    opened.press("/")
    opened.page.keyboard.type("nan" if name == "nan" else "invoke" if name == "tree" else "nn.dense")
    opened.page.keyboard.press("Enter")
    opened.press("c", "s")
    opened.page.screenshot(path=screenshots / f"stepper-{name}-{scheme}.png")
    assert (screenshots / f"stepper-{name}-{scheme}.png").stat().st_size
    opened.page.close()
