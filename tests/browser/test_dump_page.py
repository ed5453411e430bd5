"""The page of a dump: its passes, what each changed, who made each line, and search, by keyboard and pointer."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile

import pytest
from playwright.sync_api import expect

from passlab.dumps import read, read_text
from passlab.recorders import GraphNode, HostRecorder
from tests.dumps import corpus, writer

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]


def test_remarks_and_times_stand_at_their_passes_and_lines(chrome, tmp_path):
    program = (
        "; ModuleID = 'x'\ndefine i32 @f() {\n  %x = add i32 1, {}, !dbg !4\n  ret i32 %x, !dbg !4\n}\n"
        '!1 = !DIFile(filename: "x.c", directory: "/a")\n!3 = distinct !DISubprogram(name: "f", file: !1)\n'
        "!4 = !DILocation(line: 2, column: 3, scope: !3)\n"
    )
    recording = read_text(
        "*** IR Dump At Start ***\n" + program.replace("{}", "1")
        + "*** IR Dump After SROAPass on [module] ***\n" + program.replace("{}", "2")
        + "x.c:2:3: remark: <b>two</b> [-Rpass=sroa]\nx.c:7:1: remark: one [-Rpass-missed=sroa]\n"
        + "===---===\n  ... Statistics Collected ...\n===---===\n\n 7 sroa - Number of allocas\n"
    )  # fmt: skip
    recording[1].seconds = 0.0125
    recording.add_source("x.c", "int f(void) {\n  return 1;\n}\n\n\n\nint g;\n")
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    row = page.locator(".pl-pass")
    expect(row).to_contain_text("¶2")
    expect(row).to_contain_text("12.50 ms")
    assert "7 Number of allocas" in row.get_attribute("title")
    expect(page.locator(".pl-dump-said-here")).to_have_text(["passed sroa: <b>two</b>"])
    expect(page.locator(".pl-source-said").filter(has_text="✓")).to_have_count(1)
    page.locator(".pl-source-row", has_text="int g").click()
    expect(page.locator(".pl-source-remark")).to_contain_text("missed sroa: one")
    page.close()


def test_noise_is_hidden_as_the_filters_of_python_leave_it_out(chrome, tmp_path):
    recording = read(corpus.stream("llvm22-list-both"))
    step = recording["InferFunctionAttrsPass"]
    assert step.diff()
    assert not step.diff(filters=["attributes", "comments"])
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".pl-step-name")).to_have_text(step.name)
    assert page.locator(".pl-row-added").count() > 0
    hide = page.get_by_role("group", name="noise to hide")
    hide.get_by_text("attributes").click()
    hide.get_by_text("comments").click()
    expect(page.locator(".pl-row-added, .pl-row-removed")).to_have_count(0)
    page.keyboard.press("h")
    page.keyboard.press("h")
    expect(page.locator(".pl-row-added")).not_to_have_count(0)
    page.close()


@pytest.mark.parametrize("name", ["llvm22-list-both", "iree-small-change", "tvm-zero-after", "xla-mlp-grad"])
def test_a_dump_shows_what_the_recording_says(name, chrome, tmp_path):
    source = corpus.folder(name, tmp_path) if name in corpus.FOLDERS else corpus.stream(name)
    recording = read(source)
    path = tmp_path / "page.html"
    recording.to_html(path)
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto(path.as_uri())
    first = recording.changed[0]
    expect(page.locator(".pl-step-name")).to_have_text(first.name)
    expect(page.locator(".pl-title")).to_contain_text(f"{len(recording.changed)} changed")
    page.keyboard.press("c")
    page.keyboard.press("c")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("2")
    assert page.locator(".pl-dump-blame").count() > 0
    page.keyboard.press("1")
    page.keyboard.press("G")
    page.keyboard.press("g")
    page.locator("input[placeholder='search all steps']").fill("return|ret|ROOT")
    page.keyboard.press("Enter")
    expect(page.locator(".pl-dump-results")).to_contain_text("hit")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()


def test_a_live_program_that_its_host_has_as_a_graph_is_drawn_from_its_nodes(chrome, tmp_path):
    def nodes(words):
        for place, word in enumerate(words):
            yield GraphNode(str(place), "word", word, (str(place - 1),) if place else ())

    recorder = HostRecorder("toy", text="\n".join, nodes=nodes)
    recorder.start(["a", "b"])
    for name, words in (("longer", ["a", "x", "c"]), ("idle", ["a", "x", "c"]), ("shorter", ["a", "y"])):
        recorder.begin(name)
        recorder.end(words)
    recorder.skip("not wanted")
    recording = recorder.recording()
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    boxes = page.locator(".pl-dump-graph .pl-box")
    for name in ("longer", "idle", "shorter"):
        page.locator(".pl-pass", has_text=name).click()
        page.get_by_role("tab", name="graph").click()
        graph = recording.graph(step=name)
        expect(page.locator(".pl-dump-graph .pl-above")).to_have_text(graph.title)
        expect(boxes).to_have_count(len(graph.nodes))
        assert [page.locator(f".pl-dump-graph .pl-{fate}").count() for fate in ("added", "changed")] == [
            [caption.change for caption in graph.captions].count(fate) for fate in ("added", "changed")
        ]
    page.close()


def test_the_tab_of_a_graph_has_the_boxes_and_arrows_of_python(chrome, tmp_path):
    recording = read(corpus.stream("llvm22-list-both"))
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    for name in ("SROAPass", "LoopRotatePass", "SimplifyCFGPass"):
        page.locator("input[placeholder='a pass, or what it ran on']").fill(name)
        page.locator(".pl-pass").first.click()
        page.locator(".pl-dump").focus()
        page.keyboard.press("3")
        chosen = int(page.locator(".pl-pass.pl-active .pl-pass-id").inner_text())
        if recording.steps[chosen - 1].kind == "loop":  # a fragment, no state of the program
            expect(page.locator(".pl-dump-graph .pl-is-op")).not_to_have_count(0)
            continue
        unit = page.locator(".pl-dump-units option:checked").inner_text().removeprefix("● ")
        graph = recording.graph(unit, chosen)
        expect(page.locator(".pl-dump-graph .pl-above")).to_have_text(graph.title)
        expect(page.locator(".pl-dump-graph .pl-box")).to_have_count(len(graph.graph.boxes))
        expect(page.locator(".pl-dump-graph .pl-arrow")).to_have_count(len(graph.graph.arrows))
        fates = [caption.change for caption in graph.captions]
        expect(page.locator(".pl-dump-graph .pl-box.pl-added")).to_have_count(fates.count("added"))
        expect(page.locator(".pl-dump-graph .pl-box.pl-changed")).to_have_count(fates.count("changed"))
    page.locator(".pl-dump-graph .pl-is-op").first.click()
    expect(page.get_by_role("tab", name="text")).to_have_attribute("aria-selected", "true")
    page.close()


def test_a_live_recording_has_a_tab_of_times_and_a_dump_has_none(chrome, tmp_path):
    recorder = HostRecorder("toy", text=str)
    recorder.start("a = 1")
    recorder.begin("outer", "a = 1")
    recorder.begin("inner", "a = 1")
    recorder.end("a = 2")
    recorder.end("a = 2")
    recorder.recording().to_html(tmp_path / "live.html")
    read(writer.llvm_dump(writer.run(3), "both").encode()).to_html(tmp_path / "dump.html")
    page = chrome.new_page(viewport={"width": 1000, "height": 700})
    page.goto((tmp_path / "live.html").as_uri())
    page.locator(".pl-dump").focus()
    page.keyboard.press("4")
    expect(page.locator(".pl-flame-bar")).to_have_text(["outer", "inner"])
    page.locator(".pl-flame-bar", has_text="inner").click()
    expect(page.get_by_role("button", name="all passes")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="all passes")).to_be_hidden()
    page.keyboard.press("1")
    expect(page.get_by_role("tab", name="changes")).to_have_attribute("aria-selected", "true")
    page.goto((tmp_path / "dump.html").as_uri())
    expect(page.get_by_role("tab", name="graph")).to_be_visible()
    expect(page.get_by_role("tab", name="times")).to_be_hidden()
    expect(page.get_by_role("tab", name="compared")).to_be_hidden()
    page.close()


def test_the_page_of_two_recordings_shows_where_they_part(chrome, tmp_path):
    steps = writer.run(4)
    at = next(number for number, step in enumerate(steps) if step[1] is not None and step[4] and number > 3)
    name, unit, before, after, _ = steps[at]
    other = after.copy()
    other.functions[unit] = [("sub", 0, 0, 7), *other.functions[unit]]
    changed = [*steps[: at - 1], (name, unit, before, other, True), *steps[at + 1 :]]  # one pass is not there at all
    left, right = (read(writer.llvm_dump(one, "both").encode()) for one in (steps, changed))
    compared = left.compare(right)
    compared.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.get_by_role("tab", name="compared")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".pl-title")).to_contain_text(compared.summary())
    expect(page.locator(".pl-pass.pl-active .pl-pass-id")).to_have_text(str(at + 1))
    expect(page.locator(".pl-dump-scroll .pl-row-added")).to_have_count(compared.diff(compared.first).counts["added"])
    page.keyboard.press("p")
    expect(page.locator(".pl-dump-scroll")).to_contain_text("did not run in")
    page.keyboard.press("n")
    expect(page.locator(".pl-dump-scroll .pl-row-added")).not_to_have_count(0)
    assert errors == []
    page.close()


def test_a_verdict_that_the_dump_does_not_hold_is_marked_as_assumed(chrome, tmp_path):
    recording = read(corpus.stream("mlir22-small-modscope"))
    assumed = [step for step in recording.steps if step.assumed]
    assert assumed
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".pl-pass-assumed")).to_have_count(len(assumed))
    page.locator(".pl-pass-assumed").first.click()
    expect(page.locator(".pl-facts")).to_contain_text("(assumed)")
    page.close()


def test_a_line_of_the_source_selects_what_comes_from_it_in_every_step(chrome, tmp_path):
    recording = read(_unpacked(tmp_path))
    code = [f"line {number} of the kernel" for number in range(1, 25)]
    recording.add_source("/src/k.py", "\n".join(code))
    recording.to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1500, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".pl-source-row", has_text="line 20 of").click()
    page.keyboard.press("2")
    hits = page.locator(".pl-dump-row.pl-from-source")
    expect(hits.first).to_be_visible()
    for number in (1, 2):  # TTIR and TTGIR have the path of the file, LLVM another one
        page.locator(".pl-dump .pl-pass").nth(number - 1).click()
        unit = next(unit for unit in recording.units_at(number) if unit.endswith("tt.func @matmul"))
        expected = [row["text"] for row in recording.lines_of("/src/k.py:20", step=number) if row["unit"] == unit]
        expect(hits).to_have_count(len(expected))
        assert [text.strip() for text in hits.locator(".pl-dump-text").all_inner_texts()] == expected
    facts = page.locator(".pl-source-facts")
    steps = [step.number for step in recording.steps_of("/src/k.py:20")]
    expect(facts.get_by_role("button")).to_have_text([str(number) for number in steps])
    # Back: a click on a line of the program selects its line of the source, and a second one gives it up.
    page.locator(".pl-dump .pl-pass").first.click()
    line = page.locator(".pl-dump-row[data-places]", has_text="tt.dot").locator(".pl-dump-text")
    line.click(position={"x": 4, "y": 6})
    expect(page.locator(".pl-source-row.pl-from-source")).to_have_count(0)
    line.click(position={"x": 4, "y": 6})
    expect(page.locator(".pl-source-row.pl-from-source .pl-number")).to_have_text("20")
    page.keyboard.press("s")
    expect(page.locator(".pl-source")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(hits).to_have_count(0)
    assert errors == []
    page.close()


def test_a_dump_without_locations_has_no_pane_for_the_source(chrome, tmp_path):
    read(corpus.stream("llvm22-list-both")).to_html(tmp_path / "page.html")
    page = chrome.new_page(viewport={"width": 1400, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".pl-step-name")).to_be_visible()
    expect(page.locator(".pl-source")).to_be_hidden()
    page.close()


def _unpacked(tmp_path):
    """The stages of two kernels of Triton."""
    with tarfile.open(corpus.DATA.parent / "located" / "triton-stages.tar.gz") as archive:
        archive.extractall(tmp_path / "stages", filter="data")
    return tmp_path / "stages"


def test_the_page_of_a_pipe_can_be_loaded_again_after_the_pipe_has_ended(chrome):
    """While the compiler runs it has the steps so far; then the browser has kept it, and no server is needed."""
    step = "*** IR Dump After NAME on f ***\ndefine i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
    words = [sys.executable, "-m", "passlab", "dump", "-", "--open"]
    environment = {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(words, env=environment, stdin=-1, stdout=-1, stderr=-1) as command:
        address = command.stderr.readline().decode().split()[-1]
        command.stdin.write("".join(step.replace("NAME", name) for name in ("sroa", "gvn", "dce")).encode())
        command.stdin.flush()
        page = chrome.new_page(viewport={"width": 1400, "height": 850})
        page.goto(address)
        page.reload()
        expect(page.locator(".pl-pass-name")).to_have_text(["sroa", "gvn", "dce"])
        command.stdin.write(step.replace("NAME", "licm").encode())
        command.stdin.close()
        expect(page.locator(".pl-pass-name")).to_have_text(["sroa", "gvn", "dce", "licm"])
        assert command.wait(30) == 0
    for _ in range(2):
        page.reload()
        expect(page.locator(".pl-pass-name")).to_have_text(["sroa", "gvn", "dce", "licm"])
    page.close()
