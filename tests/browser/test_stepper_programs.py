"""The stepper in JupyterLab on three programs: a recurrent network, a recursion over trees, and ResNet-18.

On each one everything a person does is done by keyboard and by mouse: stepping, going back, breakpoints, watches, forks,
the timeline and the export. What must come of it is asked of the debugger in the kernel. `PASSLAB_SCREENSHOTS=folder`
keeps pictures in both themes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import Locator, expect

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer
from tests.vm.programs import LOOP
from tests.vm.traced import TREE

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
CELLS = [
    (
        "%load_ext passlab\nimport numpy as np\nfrom passlab.testing import lstm, resnet\n"
        "from passlab.rewriting.parameters import bind_params"
    ),
    "lstm_net = bind_params(*lstm.get_workload(iterations=3, num_hidden=8))\n%vm lstm_net --random 0 -o lstm_dbg",
    f"%%relay tree_net --show none\n{TREE}",
    "n = np.int32(3)\n%vm tree_net --args n -o tree_dbg",
    (
        "resnet_net = bind_params(*resnet.get_workload(1, 10, num_layers=18, image_shape=(3, 32, 32)))\n"
        "%vm resnet_net --random 0 -o resnet_dbg"
    ),
    f"%%relay loop_net --show none\n{LOOP}",
    "n = np.int32(4800)\n%vm loop_net --args n -o loop_dbg",
]
# The cell of each program's stepper; a word to stop at, and the first instruction that computes with tensors.
PROGRAMS = {"lstm": (1, "nn.dense"), "tree": (3, "multiply"), "resnet": (4, "nn.conv2d")}
LOOP_CELL = 6
_ASKED = """async text => {
  const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code: "", user_expressions: { it: text }, store_history: false });
  const reply = await future.done, { it } = reply.content.user_expressions;
  return it.data ? it.data["text/plain"] : `${it.ename}: ${it.evalue}`;
}"""


@pytest.fixture(scope="module")
def page(chromium: Path) -> Iterator[LabPage]:
    """A notebook with a stepper for each program, run."""
    with LabServer() as server, browser(chromium) as chrome:
        server.write_notebook("programs.ipynb", map(new_code_cell, CELLS))
        with LabPage.opened(server, chrome, "programs.ipynb") as opened:
            opened.run_all()
            yield opened
            assert opened.page_errors == []
            assert opened.asked_elsewhere == []


class Driven:
    """The stepper of one program, focused at the start, without breakpoints and watches, and its debugger by name."""

    def __init__(self, page: LabPage, name: str) -> None:
        self.lab = page
        self.page = page.page
        self.name = name
        cell, self.word = PROGRAMS[name]
        self.root: Locator = page.cell(cell).locator(".pl-stepper")
        self.root.locator(".pl-pane-title").first.click()
        while self.root.locator(".pl-stop-chip").count():
            self.root.locator(".pl-stop-chip").first.click()
        self.root.get_by_label("size of a step").select_option("instruction")
        self.root.focus()
        self.type("g")

    def type(self, keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, label: str) -> None:
        self.root.get_by_role("button", name=label, exact=True).click()
        self.root.focus()

    def enter(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def asked(self, expression: str) -> Any:
        """What Python says of the debugger, `d` in the expression."""
        return ast.literal_eval(self.page.evaluate(_ASKED, f"(lambda d: {expression})({self.name}_dbg)"))

    @property
    def at(self) -> int:
        return int(self.root.locator(".pl-position").input_value().replace(",", ""))


@pytest.fixture(params=PROGRAMS)
def driven(request: pytest.FixtureRequest, page: LabPage) -> Driven:
    return Driven(page, request.param)


def test_step_by_key_and_button(driven: Driven) -> None:
    driven.type("sss")
    assert driven.at == 3
    driven.click("one step forwards (→)")
    assert driven.at == 4
    driven.type("12s")
    assert driven.at == 16
    driven.click("next: over calls (n)")
    assert driven.at == driven.asked("(d.goto(16), d.next().number)[1]")
    driven.type("G")
    assert driven.at == driven.asked("len(d.trace)")


def test_back_by_key_and_button(driven: Driven) -> None:
    driven.type("20gSS")
    assert driven.at == 18
    driven.click("one step back (←)")
    assert driven.at == 17
    driven.type("5S")
    assert driven.at == 12
    driven.type("GN")
    assert driven.at == driven.asked("(d.goto(-1), d.next_back().number)[1]")
    driven.click("to the start (g)")
    assert driven.at == 0


def test_breakpoints_by_name_key_and_gutter(driven: Driven) -> None:
    stops = driven.asked(f"d.query({driven.word!r})")
    driven.type("/")
    driven.enter(driven.word)
    expect(driven.root.locator(".pl-stop-chip")).to_contain_text(driven.word)
    for stop in stops[:3]:
        driven.type("c")
        assert driven.at == stop
    driven.click("continue back (C)")
    assert driven.at == stops[1]
    driven.root.locator(".pl-stop-chip").click()
    driven.root.locator(".pl-current .pl-gutter").click()
    driven.root.focus()
    expect(driven.root.locator(".pl-stop-chip")).to_contain_text("@")
    driven.type("gc")
    site = driven.asked(f"d.trace[{stops[1]}].point")
    assert driven.at == driven.asked(f"[i for i in range(len(d.trace)) if d.trace.point[i] == {site}][0]")


def test_a_watched_register_stops_where_it_changes(driven: Driven) -> None:
    kernel = driven.asked(f"d.query({driven.word!r})[0]")
    register = driven.asked(f"d.trace.written({kernel})[0][1]")
    driven.type(f"{kernel + 1}g")
    driven.root.locator(f".pl-register[data-register='{register}']").click()
    driven.root.focus()
    driven.type("wg")
    expect(driven.root.locator(".pl-watch-chip")).to_contain_text(f"${register}")
    history = driven.asked(f"(d.goto({kernel + 1}), [i for i, _ in d.watch({register}).history()])[1]")
    for stop in history:
        driven.type("c")
        assert driven.at == stop


def test_a_fork_runs_on_with_a_whole_tensor_beside_the_original(driven: Driven) -> None:
    kernel = driven.asked(f"d.query({driven.word!r})[0]")
    register = driven.asked(f"d.trace[{kernel}].reads[0]")
    driven.type(f"{kernel}g")
    driven.root.locator(f".pl-register[data-register='{register}']").click()
    driven.root.focus()
    driven.type("e")
    driven.enter("random 7")
    expect(driven.root.locator(".pl-branch")).to_contain_text(
        f"fork at instant {kernel}, changed: ${register}", timeout=60_000
    )
    lines = driven.asked(f'str(d.fork({{{register}: "random 7"}}, {kernel})).splitlines()')
    expect(driven.root.locator(".pl-branch-line")).to_contain_text(lines[0])
    first = driven.asked(f'[str(c) for c in d.fork({{{register}: "random 7"}}, {kernel}).compare().rows[0]]')
    expect(driven.root.locator(".pl-branch-first")).to_contain_text(f"They first differ at instant {int(first[0]):,}: ")
    expect(driven.root.locator(".pl-branch-first")).to_contain_text(first[3])
    driven.root.locator(".pl-branch-table tbody tr").first.click()
    assert driven.at == int(first[0]) + 1  # instants go on in a branch
    expect(driven.root.locator(".pl-inst.pl-current")).to_be_in_viewport()
    driven.type(f"{kernel}g")
    assert driven.at == kernel
    driven.root.locator(".pl-branch-table tbody tr").first.click()
    driven.root.locator(f".pl-register[data-register='{first[1][1:]}']").click()
    expect(driven.root.locator(".pl-original")).to_contain_text(first[2])
    driven.click("back to the original")
    expect(driven.root.locator(".pl-branch")).to_be_hidden()
    assert driven.at == kernel


def test_the_timeline_is_clicked_dragged_and_hovered(driven: Driven) -> None:
    length = driven.asked("len(d.trace)")
    track = driven.root.locator(".pl-track")
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    assert box is not None
    mouse, y = driven.page.mouse, box["y"] + 20
    mouse.click(box["x"] + box["width"] / 2, y)
    assert abs(driven.at - length / 2) <= 1 + length / box["width"]
    mouse.move(box["x"] + box["width"] / 4, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 3 / 4, y, steps=4)
    mouse.up()
    assert abs(driven.at - length * 3 / 4) <= 1 + length / box["width"]
    expect(driven.root.locator(".pl-tooltip")).to_be_visible()


def test_it_is_exported_as_a_page_that_steps_by_itself(driven: Driven, tmp_path: Path) -> None:
    with driven.page.expect_download(timeout=60_000) as download:
        driven.type("x")
    path = tmp_path / f"{driven.name}.html"
    download.value.save_as(path)
    assert path.stat().st_size < 5_000_000
    tab = driven.page.context.browser.new_page()  # type: ignore[union-attr]
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(path.as_uri())
    tab.locator(".pl-stepper").focus()
    tab.keyboard.press("g")
    for _ in range(5):
        tab.keyboard.press("s")
    assert tab.locator(".pl-position").input_value() == "5"
    assert all(url.startswith(("file:", "blob:")) for url in requests)
    tab.close()


def test_a_long_run_is_there_at_once_and_complete_a_moment_later(page: LabPage) -> None:
    root = page.cell(LOOP_CELL).locator(".pl-stepper")
    root.locator(".pl-pane-title").first.click()
    root.focus()
    page.page.keyboard.type("60000g")
    expect(root.locator(".pl-memory-facts")).to_contain_text("storages", timeout=60_000)
    expect(root.locator(".pl-position")).to_have_value("60,000")
    names = page.page.evaluate(_ASKED, "(lambda d: sorted(d.trace[60000].registers))(loop_dbg)")
    shown = root.locator(".pl-register:not(.pl-none)").evaluate_all("rows => rows.map(r => Number(r.dataset.register))")
    assert shown == ast.literal_eval(names)
    expect(root.locator(".pl-registers")).not_to_contain_text("...")


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_pictures_are_kept(driven: Driven, theme: str, screenshots: Path) -> None:
    driven.lab.theme(f"JupyterLab {theme}")
    driven.type("/")
    driven.enter(driven.word)
    driven.type("ccs")
    path = driven.lab.picture(PROGRAMS[driven.name][0], screenshots / f"lab-{driven.name}-{theme.lower()}.png")
    assert path.stat().st_size > 0
