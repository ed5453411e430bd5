"""The bar beneath a cell: what it says of pipelines and searches, that it goes at the end, and that nobody sees it unwatched."""

from __future__ import annotations

import re
import time
from threading import Timer
from typing import Any

import pytest

from passlab import transform
from passlab.notebook import progress
from passlab.notebook.progress import Progress, ProgressLine

NET = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, exp(0f))) }"
PASSES = "InferType, SimplifyExpr, FoldConstant, FuseOps"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What stands in the place of the bar, one after the other, as if everything took long and somebody watched."""
    values: list[Any] = []

    class Handle:
        update = values.append

    monkeypatch.setattr(progress, "display", lambda value, display_id: (values.append(value), Handle)[1])
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "PAUSE", 0)
    return values


@pytest.fixture
def shell(running_shell):
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    running_shell.run_cell_magic("relay", "net --show none", NET)
    yield running_shell
    running_shell.run_line_magic("unload_ext", "passlab")


def test_a_pipeline_tells_its_passes_in_order_and_leaves_nothing(shell, shown):
    shell.run_line_magic("passes", f"net {PASSES} -O 4 -q")
    names = PASSES.split(", ")
    expected = [f"pass {number} of {len(names)}: {name}" for number, name in enumerate(names, 1)]
    assert list(map(repr, shown)) == [*expected, ""]
    values = [re.search(r'aria-valuenow="(\d+)"', line._repr_html_()) for line in shown]
    assert [value and int(value[1]) for value in values] == [0, 25, 50, 75, None]
    assert shown[-1]._repr_html_() == '<div style="display:none"></div>'


@pytest.mark.parametrize("magic", ["bisect", "culprit"])
def test_a_search_tells_what_it_looks_at(shell, shown, magic):
    shell.run_line_magic(magic, f"net {PASSES} -O 4")
    assert any("FoldConstant" in repr(line) for line in shown)
    assert repr(shown[-1]) == ""


def test_the_time_that_is_left_is_a_part_of_the_bar(shown):
    with Progress() as bar:
        bar._started -= 30
        bar.show("fuzz", "program <b>", left=10.0)
    assert repr(shown[0]) == "fuzz: program <b>, at most 10 s more"
    assert 'aria-valuenow="75"' in shown[0]._repr_html_()
    assert "<b>" not in shown[0]._repr_html_()


def test_a_first_pass_that_takes_long_is_told_while_it_runs(shell, shown, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    seen: list[str] = []

    @transform.module_pass(opt_level=0, name="Slow")
    def slow(mod, ctx):
        until = time.monotonic() + 20
        while not shown and time.monotonic() < until:
            time.sleep(0.005)
        seen.extend(map(repr, shown))
        return mod

    shell.user_ns["slow"] = slow
    shell.run_line_magic("passes", "net slow -q")
    assert seen[:1] == ["pass 1 of 1: Slow"]


@pytest.mark.parametrize("line", ["run net --random 0", "run net --random 0 --watch", "vm net --random 0"])
def test_a_run_that_takes_long_is_told_while_it_lasts(shell, shown, monkeypatch, line):
    class AtOnce(Timer):
        def start(self):
            self.function()

    monkeypatch.setattr(progress, "Timer", AtOnce)
    shell.run_line_magic(*line.split(maxsplit=1))
    assert re.match("run: net on debug|vm: net runs", repr(shown[0]))
    assert repr(shown[-1]) == ""


def test_a_run_that_has_ended_is_not_told(shell, shown, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with Progress() as bar:
        bar.wait_for("run", "net")
    time.sleep(0.1)
    assert shown == []


def test_an_interrupt_takes_the_bar_away_and_leaves_the_recording(shell, shown):
    @transform.module_pass(opt_level=0, name="Stops")
    def stops(mod, ctx):
        raise KeyboardInterrupt

    shell.user_ns["stops"] = stops
    with pytest.raises(KeyboardInterrupt):
        shell.run_line_magic("passes", "net InferType, stops, FoldConstant -q -r rec")
    assert [step.name for step in shell.user_ns["rec"].steps] == ["input", "InferType", "Stops"]
    assert repr(shown[-1]) == ""


def test_where_nobody_watches_nothing_is_shown(shell, shown, monkeypatch):
    monkeypatch.setattr(progress, "is_watched", lambda: False)
    shell.run_line_magic("passes", f"net {PASSES} -q")
    assert shown == []


@pytest.mark.parametrize("part", [None, -1.0, 0.5, 2.0])
def test_a_bar_is_never_fuller_than_full(part):
    html = ProgressLine("working", part=part)._repr_html_()
    expected = {None: [], -1.0: ["0"], 0.5: ["50"], 2.0: ["100"]}
    assert re.findall(r";width:(\d+)%", html) == expected[part]
