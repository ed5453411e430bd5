"""Lessons for other graders: `passlab course adapt nbgrader FOLDER 02` and `passlab course adapt otter FOLDER 02`.

Both get the learner's copy of a lesson without its solutions. nbgrader's has cells that are graded by the points of
`check(1).score`; Otter's has one test file for each exercise. Both ask the exercises of the package.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passlab.atomic_file import make_folder, write_bytes, write_text
from passlab.course.given import learners_copy, lesson_files, lessons_folder
from passlab.course.registry import Task, label_of, tasks_of
from passlab.errors import Diagnostic, PassValueError

GRADERS = ("nbgrader", "otter")
_CONFIGURATION = """# An answer cell stays as the lesson gives it: nothing is put where the solution was.
c = get_config()
c.CourseDirectory.course_id = "passlab"
c.ClearSolutions.code_stub = {"python": ""}
"""
_TEST = """OK_FORMAT = True

test = {{
    "name": "q{number}",
    "points": {points!r},
    "suites": [
        {{
            "cases": [{{"code": ">>> _ = check({number}).required()", "hidden": False, "locked": False}}],
            "scored": True,
            "setup": "",
            "teardown": "",
            "type": "doctest",
        }}
    ],
}}
"""


def adapt(grader: str, folder: Path, lessons: Sequence[int | str]) -> list[Path]:
    """Write lessons for a grader into a folder; return the files.

    For nbgrader the folder belongs to the course, and each lesson is an assignment in `source`; for Otter each lesson
    is a folder of its own with its tests. A file that is there is written anew, but for `nbgrader_config.py`. Raises
    `PasslabError` for another grader, a lesson that does not exist, and where the folder cannot be written.
    """
    if grader not in GRADERS:
        raise PassValueError(
            Diagnostic("there is no adapter for this grader", expected=" or ".join(GRADERS), found=grader)
        )
    written: list[Path] = []
    for label in [label_of(lesson) for lesson in lessons]:
        given = lesson_files()[label]
        place = folder / "source" / f"lesson-{label}" if grader == "nbgrader" else folder / f"lesson-{label}"
        make_folder(place)
        whole = json.loads(learners_copy(given.read_bytes()))
        tasks = {task.number: task for task in tasks_of(label)}
        change = _for_nbgrader if grader == "nbgrader" else _for_otter
        whole["cells"] = [new for cell in whole["cells"] for new in change(cell, tasks)]
        written.append(place / given.name)
        write_text(written[-1], json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        for data in lessons_folder().iterdir():  # what cells read: the network of the course, stored dumps
            if data.is_file() and data.suffix not in (".ipynb", ".json"):
                written.append(place / data.name)
                write_bytes(written[-1], data.read_bytes())
        if grader == "otter":
            written += _otter_tests(place / "tests", list(tasks.values()))
    configuration = folder / "nbgrader_config.py"
    if grader == "nbgrader" and not configuration.exists():
        write_text(configuration, _CONFIGURATION)
        written.append(configuration)
    return written


def _otter_tests(folder: Path, tasks: Sequence[Task]) -> list[Path]:
    make_folder(folder)
    for task in tasks:
        write_text(folder / f"q{task.number}.py", _TEST.format(number=task.number, points=task.points))
    return [folder / f"q{task.number}.py" for task in tasks]


def _for_nbgrader(cell: dict[str, Any], tasks: dict[int, Task]) -> list[dict[str, Any]]:
    """Return what stands for a cell in nbgrader's source: a solution is left out, a check gets a graded cell."""
    tags, source = cell["metadata"].get("tags", []), "".join(cell["source"])
    if "solution" in tags:
        return []
    if "exercise" in tags:
        number = next(number for number in tasks if f"answer_{number}" in source)
        cell["metadata"]["nbgrader"] = _marks(f"answer_{number}", solution=True)
        solution = "" if source.startswith("%%") else f"{tasks[number].solution}\n"  # a cell of Relay holds no Python
        cell["source"] = [f"{source}\n### BEGIN SOLUTION\n{solution}### END SOLUTION"]
    if "check" in tags:
        number = _number(source)
        marks = _marks(f"check_{number}", grade=True, locked=True) | {"points": tasks[number].points}
        graded: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": f"graded-{number}", "outputs": []}
        return [cell, graded | {"metadata": {"nbgrader": marks}, "source": [f"check({number}).score"]}]
    return [cell]


def _for_otter(cell: dict[str, Any], tasks: dict[int, Task]) -> list[dict[str, Any]]:
    """Return what stands for a cell in Otter's notebook: a solution is left out, a check also runs its test."""
    tags, source = cell["metadata"].get("tags", []), "".join(cell["source"])
    if "solution" in tags:
        return []
    if source.startswith("%load_ext passlab"):
        cell["source"] = [source + '\n\nimport otter\n\ngrader = otter.Notebook(tests_dir="tests")']
    if "check" in tags:
        graded: dict[str, Any] = {
            "cell_type": "code",
            "execution_count": None,
            "id": f"graded-{_number(source)}",
            "outputs": [],
        }
        return [cell, graded | {"metadata": {}, "source": [f'grader.check("q{_number(source)}")']}]
    return [cell]


def _number(check: str) -> int:
    return int(check.removeprefix("check(").removesuffix(")"))


def _marks(name: str, *, grade: bool = False, solution: bool = False, locked: bool = False) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell."""
    flags = {"grade": grade, "solution": solution, "locked": locked, "task": False}
    return {"grade_id": name, "schema_version": 3, **flags}
