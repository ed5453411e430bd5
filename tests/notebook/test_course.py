"""The lessons as they are stored: exercises come with a check and a folded solution that passes it, and nothing local.

What the cells do is checked by running them (`make test`); this reads the files only.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(path for path in NOTEBOOKS.glob("*.ipynb") if not path.name.startswith("01-"))  # all but the tour
STAGES = ("exercise", "check", "solution")


def cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def tags(cell):
    return cell["metadata"].get("tags", [])


def shown(cell):
    """The plain text of what a cell gave."""
    outputs = [output.get("data", {}).get("text/plain", output.get("text", "")) for output in cell["outputs"]]
    return "".join("".join(output) for output in outputs)


def test_there_is_a_lesson_on_each_subject():
    assert {path.stem[:2] for path in LESSONS} >= {f"{number:02}" for number in range(2, 14)}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
class TestLesson:
    def test_three_to_five_exercises_each_with_a_check_and_a_solution(self, path):
        stages = [tag for cell in cells(path) for tag in tags(cell) if tag in STAGES]
        assert len(stages) % 3 == 0
        assert stages == list(STAGES) * (len(stages) // 3)
        assert 3 <= len(stages) // 3 <= 5

    def test_what_is_given_does_not_pass_and_the_solution_does(self, path):
        for cell in cells(path):
            if "check" in tags(cell):
                assert shown(cell).startswith(("○ ", "✗ ")), cell["id"]
            if "solution" in tags(cell):
                assert "✓ " in shown(cell), cell["id"]
                assert "✗ " not in shown(cell), cell["id"]

    def test_solutions_are_folded(self, path):
        assert all(cell["metadata"]["jupyter"]["source_hidden"] for cell in cells(path) if "solution" in tags(cell))

    def test_only_announced_cells_fail_and_they_fail_with_a_diagnostic(self, path):
        for cell in cells(path):
            errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
            assert bool(errors) == ("raises-exception" in tags(cell)), cell["id"]
            assert all("error: " in error["evalue"] or "error: " in "\n".join(error["traceback"]) for error in errors)
            assert all("Traceback" not in "\n".join(error["traceback"]) for error in errors)

    def test_it_was_run_in_order_and_holds_nothing_of_the_machine_it_ran_on(self, path):
        assert [cell["execution_count"] for cell in cells(path)] == list(range(1, len(cells(path)) + 1))
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
        assert all("execution" not in cell["metadata"] for cell in notebook["cells"])
        assert path.stat().st_size < 250_000
