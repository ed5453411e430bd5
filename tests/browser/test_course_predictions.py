"""A learner in JupyterLab: a prediction asks by a form, and its answer comes after the guess, also after a restart."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from passlab.course.folder import start
from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer
from tests.browser.test_course_hints import _RESTART, RUN

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


def test_a_guess_by_a_button_unfolds_the_answer(chromium: Path) -> None:
    with LabServer() as server, browser(chromium) as chrome:
        start(Path(server.folder))
        with LabPage.opened(server, chrome, "02-reading-relay.ipynb") as page:

            def run(beginning: str) -> int:
                number = page.number_of(beginning)
                page.page.evaluate(RUN, [number, None])
                return number

            run("%load_ext")
            answer = page.cell(run("predict.look(1)"))
            expect(answer).to_contain_text("Guess first")
            expect(answer).not_to_contain_text("the very same object")
            question = page.cell(run("predict(1)"))
            question.get_by_role("button", name="one and two").click()
            expect(question).to_contain_text("Your guess: b: one and two. Now run the cells below.")
            if folder := os.environ.get("PASSLAB_SCREENSHOTS"):
                page.picture(page.number_of("predict(1)"), Path(folder) / "prediction.png")
            expect(page.cell(run("predict.look(1)"))).to_contain_text("the very same object")
            page.page.evaluate(_RESTART)
            run("%load_ext")
            again = page.cell(run("predict.look(1)"))
            expect(again).to_contain_text("You guessed b: one and two. That is right.")
            assert page.page_errors == []
