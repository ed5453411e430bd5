"""Grading: each submission of a class runs in a process of its own, with limits of time and memory.

    passlab course grade FOLDER

A submission is a folder, a zip file or a notebook in `FOLDER`; its name is the student's. A check in a notebook is not
believed: the grader runs the learner's cells and asks the exercises of the package itself. Submissions are code of
others: grade them where they can do no harm (a container, or an account of its own).
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

from passlab.atomic_file import checked_path, make_folder, write_bytes, write_text
from passlab.course.given import notebooks_by_lesson
from passlab.course.registry import LESSONS, label_of, tasks_of
from passlab.display.html import escape
from passlab.errors import Diagnostic, PasslabError

SECONDS = 120.0  # how long one notebook may run
MEGABYTES = 4096  # the memory that one notebook may use, in MiB
LARGEST = 64 * 2**20  # bytes of one notebook in a zip file
RUNNER = "passlab.notebook.grader"  # the module that runs one notebook


@dataclass(frozen=True)
class Grade:
    """One exercise of one student: `outcome` is right, wrong, empty, crashed, timeout or missing.

    *Empty* is a cell that is still as it was given or was never run. *Crashed* is a cell that raised an error,
    *timeout* one that did not end, and *missing* an exercise that its notebook no longer has.
    """

    student: str
    lesson: str
    exercise: int
    title: str
    outcome: str
    points: float
    most_points: float
    words: str


def grade(
    folder: Path,
    lessons: Sequence[int | str] = (),
    *,
    jobs: int = 0,
    seconds: float = SECONDS,
    megabytes: int = MEGABYTES,
) -> list[Grade]:
    """Grade all submissions in a folder, `jobs` at once (0: one for each processor).

    `lessons` selects some, so that one not handed in is *missing*; so is each lesson of a student who handed in none.
    Raises `PasslabError` for a folder without submissions.
    """
    with tempfile.TemporaryDirectory(prefix="passlab-grade-") as scratch:
        submissions = _submissions(folder, Path(scratch))
        handed_in = sorted({number for notebooks in submissions.values() for number in notebooks})
        work = [
            (student, number, notebooks.get(number))
            for student, notebooks in submissions.items()
            for number in [label_of(lesson) for lesson in lessons] or sorted(notebooks) or handed_in
        ]
        if not handed_in:
            hint = "a submission is a folder, a zip file or a notebook, named by the student"
            raise PasslabError(Diagnostic("no submission was found", found=str(folder), hint=hint))
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            graded = pool.map(lambda item: _graded(item[0], item[1], item[2], seconds, megabytes), work)
            return [one for notebook in graded for one in notebook]


def _submissions(folder: Path, scratch: Path) -> dict[str, dict[str, Path]]:
    """Return the notebooks of each student by lesson; notebooks in zip files are unpacked by name into `scratch`."""
    found: dict[str, dict[str, Path]] = {}
    try:
        entries = sorted(checked_path(folder).iterdir())
    except OSError as error:
        raise PasslabError(Diagnostic(f"the folder {folder} cannot be read", found=error.strerror)) from None
    for number, path in enumerate(entries):
        if path.is_dir() and not path.name.startswith("."):
            found[path.name] = _notebooks(path.iterdir())
        elif path.suffix == ".zip":
            found[path.stem] = _notebooks(_unpacked(path, scratch / str(number)))
        elif path.suffix == ".ipynb":
            student, _, lesson = path.stem.partition("_")
            if match := re.match(r"(\d\d[a-z]?)-", lesson):
                found.setdefault(student, {})[match[1]] = path
            else:
                found.setdefault(path.stem, {}).update(_notebooks([path]))
    return found


def _notebooks(paths: Iterable[Path]) -> dict[str, Path]:
    """Return the notebooks of lessons that have exercises, by their names, or by the lesson in the code of others."""
    files = sorted(path for path in paths if path.suffix == ".ipynb")
    named = notebooks_by_lesson(files)
    renamed = {number: path for path in files if path not in named.values() if (number := _lesson_in(path))}
    return {number: path for number, path in (renamed | named).items() if number in LESSONS}


def _lesson_in(notebook: Path) -> str:
    """Return the label of the lesson that a notebook asks for in its code, "" if it asks for none."""
    try:
        if notebook.stat().st_size > LARGEST:
            return ""
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""  # no notebook
    asked = re.search(r"""^\w+ = lesson\(["']?(\d{1,2}[a-z]?)["']?\)""", code, re.MULTILINE)
    return f"{int(asked[1].rstrip(ascii_lowercase)):02d}{asked[1].lstrip(digits)}" if asked else ""


def _unpacked(path: Path, folder: Path) -> list[Path]:
    """Write the notebooks of a zip file into a folder by their last names, so that no path leads out of it."""
    make_folder(folder)
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.replace("\\", "/").rpartition("/")[2]
                if name.endswith(".ipynb") and info.file_size <= LARGEST:
                    write_bytes(folder / name, archive.read(info))
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return []
    return sorted(folder.iterdir())


def _graded(student: str, number: str, notebook: Path | None, seconds: float, megabytes: int) -> list[Grade]:
    """Run one notebook in a process of its own and return its grades."""
    outcomes: dict[str, Any] = {}
    trouble = "missing", "the lesson was not handed in"
    if notebook is not None:
        with tempfile.TemporaryDirectory(prefix="passlab-run-") as folder:
            answer = Path(folder) / "grades.json"
            command = [sys.executable, "-m", RUNNER, number, str(notebook.resolve()), str(answer), str(megabytes)]
            trouble = "missing", "the notebook has no check of this exercise any more"
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env={**os.environ, "HOME": folder, "IPYTHONDIR": f"{folder}/.ipython"},  # a home may be read-only
                    timeout=seconds,
                    capture_output=True,
                    check=False,
                    stdin=subprocess.DEVNULL,
                )
                if done.returncode:
                    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
                    trouble = "crashed", f"the process ended with status {done.returncode}: {last}"
            except subprocess.TimeoutExpired:
                trouble = "timeout", f"the notebook did not end within {seconds:g} s"
            if answer.is_file():
                outcomes = json.loads(answer.read_text(encoding="utf-8"))
    grades = []
    for task in tasks_of(number):
        outcome, points, words = outcomes.get(str(task.number), (trouble[0], 0.0, trouble[1]))
        grades.append(Grade(student, number, task.number, task.title, outcome, points, task.points, words))
    return grades


def write_grades(grades: Sequence[Grade], folder: Path) -> list[Path]:
    """Write `grades.csv` and one page for each student into a folder; return the files.

    Raises `PasslabError` where the folder cannot be written.
    """
    make_folder(folder)
    table = io.StringIO()
    rows = csv.DictWriter(
        table, [name for name in Grade.__dataclass_fields__ if name != "words"], extrasaction="ignore"
    )
    rows.writeheader()
    rows.writerows(asdict(one) | {"student": _as_text(one.student)} for one in grades)
    files = [folder / "grades.csv"]
    write_text(files[0], table.getvalue())
    for number, student in enumerate(dict.fromkeys(one.student for one in grades), 1):
        safe = re.sub(r"[^\w.-]", "_", student).lstrip(".") or f"student-{number}"
        files.append(folder / f"{safe}.html")
        write_text(files[-1], _page(student, [one for one in grades if one.student == student]))
    return files


def _as_text(name: str) -> str:
    """Return a name as a spreadsheet shows it: one that begins like a formula gets an apostrophe."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@", "\t") else name


def _page(student: str, grades: Sequence[Grade]) -> str:
    """Return a student's page."""
    points, most = sum(one.points for one in grades), sum(one.most_points for one in grades)
    rows = "".join(_row(one) for one in grades)
    name = escape(student)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title><style>'
        ":root{color-scheme:light dark}body{font:15px/1.5 system-ui;max-width:70rem;margin:2rem auto;padding:0 1rem}"
        "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .8rem;"
        "border-bottom:1px solid #8884}pre{margin:0;white-space:pre-wrap}.right td:nth-child(3){color:#2a7}"
        "</style></head><body>"
        f"<h1>{name}</h1><p>{points:g} of {most:g} points</p>"
        f"<table><tr><th>exercise<th>title<th>outcome<th>points<th>verdict</tr>{rows}</table></body></html>\n"
    )


def _row(one: Grade) -> str:
    cells = (
        f"{one.lesson}.{one.exercise}",
        escape(one.title),
        one.outcome,
        f"{one.points:g} of {one.most_points:g}",
        f"<pre>{escape(one.words)}</pre>",
    )
    return f"<tr class={one.outcome}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
