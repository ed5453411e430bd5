"""A learner in JupyterLab: an answer that is wrong twice and then right, with hints that go on after a restart of the kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from passlab.course.folder import start
from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
RUN = """async ([number, source]) => {
  const panel = window.jupyterapp.shell.currentWidget, notebook = panel.content;
  if (source !== null) notebook.widgets[number].model.sharedModel.setSource(source);
  notebook.activeCellIndex = number;
  notebook.deselectAll();
  await window.jupyterapp.commands.execute("notebook:run-cell");
}"""
_RESTART = """async () => {
  await window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart();
}"""
TEXT = """(number) => window.jupyterapp.shell.currentWidget.content.widgets[number].model.sharedModel.toJSON()
  .outputs.map((output) => String(output.data?.["text/plain"] ?? output.evalue ?? "")).join("\\n")"""


def test_hints_grow_by_answers_and_go_on_after_a_restart(chromium: Path) -> None:
    with LabServer() as server, browser(chromium) as chrome:
        start(Path(server.folder))
        with LabPage.opened(server, chrome, "02-reading-relay.ipynb") as page:

            def run(beginning: str, source: str | None = None) -> str:
                number = page.number_of(beginning)
                page.page.evaluate(RUN, [number, source])
                return str(page.page.evaluate(TEXT, number))

            run("%load_ext")
            run("answer_2")
            assert run("check(2)") == "\u25cb How large: no answer yet. Replace the `...`, then run this check again."
            run("answer_2", "answer_2 = (4, 4)")
            assert run("check(2)").endswith("(the next try comes with a hint)")
            assert run("check(2)").endswith("(the next try comes with a hint)"), "the same answer is no other try"
            run("answer_2", "answer_2 = (4, 8)")
            assert run("check(2)").endswith("hint: a node is computed once")
            page.page.evaluate(_RESTART)
            run("%load_ext")
            run("answer_2", "answer_2 = (4,")
            assert "your cell of `answer_2` raised SyntaxError" in run("check(2)")
            run("answer_2", "answer_2 = (8, 8)")
            assert "written out, each line contains the line above it twice" in run("check(2)")
            if folder := os.environ.get("PASSLAB_SCREENSHOTS"):
                page.picture(page.number_of("check(2)"), Path(folder) / "hints.png")
                page.page.screenshot(path=Path(folder) / "lesson.png")
            run("answer_2", "answer_2 = (4, 15)")
            assert run("check(2)").startswith("\u2713 How large: correct.")
