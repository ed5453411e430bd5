"""Lessons for nbgrader and Otter: answers, graded cells and tests are where these graders look for them, and no solution is."""

from __future__ import annotations

import ast
import json

import nbformat
import pytest

from passlab.cli import main
from passlab.course.adapters import adapt
from passlab.course.given import lesson_files
from passlab.course.registry import LESSONS, cell_digest, tasks_of
from passlab.errors import PasslabError


def notebook(files):
    path = next(path for path in files if path.suffix == ".ipynb")
    nbformat.validate(nbformat.read(path, 4))
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


@pytest.mark.parametrize("label", LESSONS)
def test_nbgrader_finds_answers_and_graded_cells(label, tmp_path):
    cells = notebook(adapt("nbgrader", tmp_path, [label]))
    marked = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in cells if "nbgrader" in cell["metadata"]}
    tasks = tasks_of(label)
    assert list(marked) == [f"{kind}_{task.number}" for task in tasks for kind in ("answer", "check")]
    for task in tasks:
        answer, check = marked[f"answer_{task.number}"], marked[f"check_{task.number}"]
        given, _, solution = source(answer).partition("### BEGIN SOLUTION")
        assert cell_digest(given) == task.starter, "nbgrader takes the solution out, and the lesson's cell is left"
        assert task.solution in solution or given.startswith("%%")
        assert answer["metadata"]["nbgrader"] == {
            "grade_id": f"answer_{task.number}", "schema_version": 3, "grade": False, "solution": True, "locked": False, "task": False,
        }  # fmt: skip
        marks = check["metadata"]["nbgrader"]
        assert (marks["grade"], marks["locked"], marks["points"]) == (True, True, task.points)
        assert source(check) == f"check({task.number}).score"
    assert "c.ClearSolutions.code_stub" in (tmp_path / "nbgrader_config.py").read_text()


@pytest.mark.parametrize("label", LESSONS)
def test_otter_finds_a_test_for_each_exercise(label, tmp_path):
    files = adapt("otter", tmp_path, [label])
    cells = notebook(files)
    tests = {path.stem: path for path in files if path.parent.name == "tests"}
    assert set(tests) == {f"q{task.number}" for task in tasks_of(label)}
    for task in tasks_of(label):
        space: dict[str, object] = {}
        exec(tests[f"q{task.number}"].read_text(), space)
        assert space["OK_FORMAT"] is True
        test = space["test"]
        assert (test["name"], test["points"]) == (f"q{task.number}", task.points)
        [case] = test["suites"][0]["cases"]
        ast.parse(case["code"].removeprefix(">>> "))
        assert f'grader.check("q{task.number}")' in [source(cell) for cell in cells]
    assert any('otter.Notebook(tests_dir="tests")' in source(cell) for cell in cells)
    assert not any("solution" in source(cell) for cell in cells if cell["cell_type"] == "code")


def test_a_configuration_of_the_teacher_stays(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("mine")
    adapt("nbgrader", tmp_path, [2])
    assert (tmp_path / "nbgrader_config.py").read_text() == "mine"


def test_what_cannot_be_adapted_is_said(tmp_path, capsys):
    with pytest.raises(PasslabError, match="no adapter for this grader"):
        adapt("gradescope", tmp_path, [2])
    assert main(["course", "adapt", "otter", str(tmp_path), "77"]) == 1
    assert "there is no such lesson" in capsys.readouterr().err
    assert main(["course", "adapt", "otter", str(tmp_path), "02"]) == 0
    assert lesson_files()["02"].name in capsys.readouterr().out
