"""The folder of a learner: lessons copied from the package, progress, a fresh copy of one lesson, what is handed in.

    passlab course start FOLDER     copy the lessons
    passlab course status           what is solved
    passlab course next             the first lesson with something to do
    passlab course reset 05         a fresh copy of lesson 5; yours is kept under another name
    passlab course submit           one file to hand in
    passlab course template DIR     a lesson of one's own to begin with

A file of the learner is never overwritten; `lessons.json`, a list for JupyterLab's sidebar, is written anew by `start`.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passlab.atomic_file import atomic_file, make_folder, write_bytes, write_text, writing_error
from passlab.course.given import learners_copy, lesson_files, lessons_folder, stated_minutes, title_of
from passlab.course.own import FOLDER
from passlab.course.progress import PROGRESS, by_title, forget, read_progress
from passlab.course.registry import LESSONS, label_of, tasks_of
from passlab.errors import Diagnostic, PasslabError, PassValueError

INDEX = "lessons.json"


def start(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the lessons and their data into a folder; return the files copied, and those that were there already.

    Raises `PasslabError` where the folder cannot be written.
    """
    copied, kept = [], []
    make_folder(folder)
    for source in sorted(path for path in lessons_folder().iterdir() if path.is_file() and path.name != PROGRESS):
        target = folder / source.name
        if target.exists():
            kept.append(target)
        else:
            write_bytes(target, _copy_of(source))
            copied.append(target)
    write_text(
        folder / INDEX, json.dumps({"lessons": [_listed(*one) for one in lesson_files().items()]}, indent=1) + "\n"
    )
    return copied, kept


def _listed(label: str, given: Path) -> dict[str, Any]:
    """Return what the list of lessons says about one: JupyterLab's sidebar shows it without a kernel."""
    minutes = stated_minutes(json.loads(given.read_text(encoding="utf-8")))
    exercises = [{"title": task.title, "points": task.points} for task in tasks_of(label)]
    whole = {"label": label, "title": title_of(given), "notebook": given.name, "exercises": exercises}
    return whole | {"minutes": minutes.lesson, "project": minutes.project}


@dataclass(frozen=True)
class LessonStatus:
    """A lesson in a learner's folder: its notebook, title, and which of its exercises are solved."""

    number: str
    notebook: Path
    title: str
    solved: tuple[str, ...]
    open: tuple[str, ...]
    points: float
    most_points: float

    @property
    def is_done(self) -> bool:
        """Whether no exercise is left."""
        return not self.open


def status(folder: Path) -> list[LessonStatus]:
    """Return how far a learner is in each lesson that has exercises.

    Raises `PasslabError` for a folder without lessons, and for a file of progress that cannot be read.
    """
    whole = read_progress(folder / PROGRESS)
    rows = []
    for number, given in lesson_files().items():
        notebook = folder / given.name
        if number not in LESSONS or not notebook.is_file():
            continue
        tasks, progress = tasks_of(number), by_title(whole, number)
        solved = [task for task in tasks if "solved" in progress.get(task.title, {})]
        left = tuple(task.title for task in tasks if task not in solved)
        points, most = (sum(task.points for task in some) for some in (solved, tasks))
        titles = tuple(task.title for task in solved)
        rows.append(LessonStatus(number, notebook, title_of(given), titles, left, points, most))
    if not rows:
        fix = f"`passlab course start {folder}` copies them"
        raise PasslabError(Diagnostic("there are no lessons in this folder", found=str(folder), hint=fix))
    return rows


def reset(folder: Path, lesson: int | str) -> tuple[Path, Path | None]:
    """Put a fresh copy of a lesson into a folder; return it, and where the learner's own copy is kept now.

    The tries and solved exercises of the lesson are forgotten. Raises `PasslabError` for a lesson that does not exist,
    and where the folder cannot be written.
    """
    label = label_of(lesson)
    given = lesson_files()[label]
    target, kept = folder / given.name, None
    progress = folder / PROGRESS
    read_progress(progress)  # a file that cannot be read stops this before anything has changed
    if target.exists():
        kept = next(path for path in _spare_names(target) if not path.exists())
        try:
            target.rename(kept)
        except OSError as error:
            raise writing_error(kept, error) from error
    try:
        write_bytes(target, _copy_of(given))
    except PasslabError:
        if kept is not None:
            kept.rename(target)  # the learner's own is where it was
        raise
    if progress.exists():
        forget(progress, label, [task.title for task in tasks_of(label)])
    return target, kept


def _copy_of(given: Path) -> bytes:
    """Return the copy of a file of the course that a learner gets."""
    return learners_copy(given.read_bytes()) if given.suffix == ".ipynb" else given.read_bytes()


def submit(folder: Path, out: Path | None = None) -> Path:
    """Write the lessons, progress and compiler of a learner as `submission.zip` in the folder; return its path.

    Raises `PasslabError` for a folder without lessons, and where the file cannot be written.
    """
    out = folder / "submission.zip" if out is None else out
    names = [row.notebook for row in status(folder)]
    names += [path for path in (folder / PROGRESS, *sorted((folder / FOLDER).glob("*.py"))) if path.is_file()]
    with atomic_file(out) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in names:
            archive.write(path, path.relative_to(folder).as_posix())
    return out


def _spare_names(path: Path) -> list[Path]:
    return [path.with_name(f"{path.stem}-kept-{number}{path.suffix}") for number in range(1, 10_000)]


# ------------------------------------------------------------------------------------------------------------ template
_MODULE = '''"""The exercises of my lesson."""

from passlab.course import Exercise

total = Exercise("Sum", expects=callable, hint=["what is the sum for 1, 2 and 3?", "n * (n + 1) // 2"]).agrees(
    "it sums the numbers up to n", lambda n: sum(range(n + 1)), lambda rng: int(rng.integers(0, 100)), first=[0, 3]
)
'''
_TEST = '''"""Answers to the exercises of my lesson. Run `pytest` in this folder."""

from my_lesson import total

from passlab.course.harness import tried


def test_sum():
    right = [lambda n: n * (n + 1) // 2, lambda n: sum(range(1, n + 1))]
    wrong = [lambda n: n, lambda n: n * n // 2, lambda n: sum(range(n)), lambda n: 6, 6]
    report = tried(total, right, wrong)
    assert report, report
'''


def write_template(folder: Path) -> list[Path]:
    """Write a lesson to begin with into a folder; return the files: a notebook, its exercises, and their test.

    Raises `PasslabError` where one of them is there already, or the folder cannot be written.
    """
    texts = {"my-lesson.ipynb": _notebook(), "my_lesson.py": _MODULE, "test_my_lesson.py": _TEST}
    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise PassValueError(Diagnostic("a file of the template is there already", found=str(folder / there[0])))
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def _notebook() -> str:
    folded = {"tags": ["solution"], "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    cells = [
        _cell("# My lesson\n\nSay what one learns here, and how many minutes it takes."),
        _cell("from my_lesson import total", {}),
        _cell("## Sums\n\nExplain one idea, show it on an example, and let the reader predict what happens."),
        _cell("sum(range(4))", {}),
        _cell("## Exercises\n\n### 1. Sum\n\nWrite `total(n)`: the sum of the numbers from 0 to `n`."),
        _cell("def sum_to(n):\n    return ...\n\n\nanswer_1 = sum_to", {"tags": ["exercise"]}),
        _cell("total.check(answer_1)", {"tags": ["check"]}),
        _cell("# A solution\ntotal.solution(lambda n: n * (n + 1) // 2)", folded),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    numbered = [cell | {"id": f"cell-{number}"} for number, cell in enumerate(cells)]
    whole = {"cells": numbered, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def _cell(source: str, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a cell: with metadata one of code, else one of prose."""
    if metadata is None:
        return {"cell_type": "markdown", "metadata": {}, "source": source}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}
