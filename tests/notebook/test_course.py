"""The lessons as they are stored: exercises come with a check and a folded solution that passes it, and nothing local.

What the cells do is checked by running them (`make test`); this reads the files only.
"""

from __future__ import annotations

import json
import re
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


def test_lessons_are_numbered_in_their_order():
    numbers = [int(path.stem[:2]) for path in LESSONS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 12


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

    def test_solutions_are_folded_and_their_outputs_give_nothing_away(self, path):
        for cell in cells(path):
            if "solution" in tags(cell):
                assert cell["metadata"]["jupyter"] == {"outputs_hidden": True, "source_hidden": True}, cell["id"]
                assert [output["output_type"] for output in cell["outputs"]] == ["execute_result"], cell["id"]
                assert "(the solution): correct." in shown(cell), "only the verdict, by `Exercise.solution`"

    def test_each_exercise_has_a_variable_and_a_kind_of_its_own(self, path):
        sources = ["".join(cell["source"]) for cell in cells(path) if set(STAGES) & set(tags(cell))]
        for number, (exercise, check, solution) in enumerate(zip(*[iter(sources)] * 3, strict=True), 1):
            assert f"answer_{number}" in exercise
            assert check.rstrip().endswith(f".check(answer_{number})")
            assert ".solution(" in solution
            assert "expects=" in check or ".equals(" in check, "an answer of another kind must be told so"
            assert "hint=" in check

    def test_the_first_wrong_answer_gets_no_hint(self, path):
        assert not [cell["id"] for cell in cells(path) if "check" in tags(cell) and "  hint: " in shown(cell)]

    def test_pictures_carry_the_lesson(self, path):
        pictures = [
            cell["id"] for cell in cells(path) if any("text/html" in o.get("data", {}) for o in cell["outputs"])
        ]
        assert len(pictures) >= 2

    def test_its_length_is_stated_and_the_network_of_the_course_comes_in(self, path):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        prose = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        assert re.search(r"Plan\s+\w+\s+minutes\s+to\s+read", prose)
        assert re.search(r"[Pp]redict|\*\*Think\*\*", prose), "a learner commits to an answer first"
        assert "network" in prose or "digits" in "".join("".join(cell["source"]) for cell in notebook["cells"])

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
