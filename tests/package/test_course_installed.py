"""The first exercise of the course in JupyterLab, in an environment in which the wheel is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer, ServerProcess
from tests.browser.test_course_hints import RUN, TEXT

if TYPE_CHECKING:
    from tests.package.conftest import Installed

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
ANSWER = """%%relay answer_1
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[{}, float32]) {{
  nn.relu(nn.dense(%x, %w))
}}"""


def test_the_first_exercise_is_solved_wrongly_twice_and_then_rightly(
    installed: Installed, chromium: Path, tmp_path: Path
) -> None:
    process = ServerProcess(tmp_path / "home", installed.python)
    try:
        process.wait_until_ready()
        start = installed.run([installed.script("passlab"), "course", "start", str(process.folder)], tmp_path)
        assert start.returncode == 0, start.stderr
        with (
            LabServer(process=process) as server,
            browser(chromium) as chrome,
            LabPage.opened(server, chrome, "01-tour.ipynb") as page,
        ):

            def run(beginning: str, source: str | None = None) -> str:
                number = page.number_of(beginning)
                page.page.evaluate(RUN, [number, source])
                return str(page.page.evaluate(TEXT, number))

            run("%load_ext")
            run("%%relay answer_1")
            assert run("check(1)").startswith("\u25cb Mend the weight: no answer yet.")
            run("%%relay answer_1", ANSWER.format("(5, 8)"))
            assert run("check(1)").endswith("\u2717 the weight has four rows\n  (the next try comes with a hint)")
            run("%%relay answer_1", ANSWER.format("(8, 8)"))
            assert run("check(1)").endswith("hint: a row of the weight is multiplied with a row of `%x`")
            run("%%relay answer_1", ANSWER.format("(4, 8)"))
            assert run("check(1)").startswith("\u2713 Mend the weight: correct.")
            where = run("%run tiny", "passlab.__file__")
            assert Path(where.strip("'")).is_relative_to(installed.folder)
    finally:
        process.stop()
