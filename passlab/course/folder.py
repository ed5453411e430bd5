"""The folder of a learner: lessons copied from the package, progress, a fresh copy of one lesson, what is handed in.

    passlab course start FOLDER     copy the lessons
    passlab course status           what is solved
    passlab course next             the first lesson with something to do
    passlab course reset 05         a fresh copy of lesson 5; yours is kept under another name
    passlab course submit           one file to hand in

A file of the learner is never overwritten.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import passlab
from passlab.atomic_file import atomic_file, make_folder, write_bytes, writing_error
from passlab.course.registry import LESSONS, PROGRESS, read_progress, tasks_of, write_progress
from passlab.errors import Diagnostic, PasslabError

_NUMBERED = re.compile(r"(\d\d)-[\w-]+?(-kept-\d+)?\.ipynb")


def lessons_folder() -> Path:
    """Return the folder of the lessons as they are given: in the package, or beside it in a checkout.

    Raises `PasslabError` where neither is there.
    """
    package = Path(passlab.__file__).parent
    for folder in (package / "course" / "notebooks", package.parent / "notebooks"):
        if (folder / "01-tour.ipynb").is_file():
            return folder
    raise PasslabError(Diagnostic("this installation has no lessons", hint="install passlab from its wheel"))


def lesson_files() -> dict[int, Path]:
    """Return the notebooks of the lessons as they are given, by number."""
    return notebooks_by_lesson(lessons_folder().iterdir())


def notebooks_by_lesson(paths: Iterable[Path]) -> dict[int, Path]:
    """Return the notebooks of lessons among some files, by number; copies that `reset` kept are left out."""
    found = ((_NUMBERED.fullmatch(path.name), path) for path in sorted(paths))
    return {int(match[1]): path for match, path in found if match and not match[2]}


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
            write_bytes(target, source.read_bytes())
            copied.append(target)
    return copied, kept


@dataclass(frozen=True)
class LessonStatus:
    """A lesson in a learner's folder: its notebook, title, and which of its exercises are solved."""

    number: int
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
    progress = read_progress(folder / PROGRESS)
    rows = []
    for number, given in lesson_files().items():
        notebook = folder / given.name
        if number not in LESSONS or not notebook.is_file():
            continue
        tasks = tasks_of(number)
        record = progress.get(f"{number:02d}", {})
        solved = [task for task in tasks if "solved" in record.get(task.title, {})]
        left = tuple(task.title for task in tasks if task not in solved)
        points, most = (sum(task.points for task in some) for some in (solved, tasks))
        titles = tuple(task.title for task in solved)
        rows.append(LessonStatus(number, notebook, title_of(given), titles, left, points, most))
    if not rows:
        cure = f"`passlab course start {folder}` copies them"
        raise PasslabError(Diagnostic("there are no lessons in this folder", found=str(folder), hint=cure))
    return rows


def title_of(notebook: Path) -> str:
    """Return the heading of a notebook."""
    first = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).partition("\n")[0].removeprefix("# ").strip()


def reset(folder: Path, number: int) -> tuple[Path, Path | None]:
    """Put a fresh copy of a lesson into a folder; return it, and where the learner's own copy is kept now.

    The tries and solved exercises of the lesson are forgotten. Raises `PasslabError` for a lesson that does not exist,
    and where the folder cannot be written.
    """
    given = lesson_files().get(number)
    if given is None:
        numbers = f"one of {', '.join(str(one) for one in lesson_files())}"
        raise PasslabError(Diagnostic("there is no such lesson", expected=numbers, found=repr(number)))
    target, kept = folder / given.name, None
    progress = read_progress(folder / PROGRESS)
    if target.exists():
        kept = next(path for path in _spare_names(target) if not path.exists())
        try:
            target.rename(kept)
        except OSError as error:
            raise writing_error(kept, error) from error
    write_bytes(target, given.read_bytes())
    if progress.pop(f"{number:02d}", None) is not None:
        write_progress(folder / PROGRESS, progress)
    return target, kept


def submit(folder: Path, out: Path | None = None) -> Path:
    """Write the learner's lessons and progress as one zip file, `submission.zip` in the folder; return its path.

    Raises `PasslabError` for a folder without lessons, and where the file cannot be written.
    """
    out = folder / "submission.zip" if out is None else out
    names = [row.notebook for row in status(folder)]
    names += [path for path in (folder / PROGRESS,) if path.is_file()]
    with atomic_file(out) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in names:
            archive.write(path, path.name)
    return out


def _spare_names(path: Path) -> list[Path]:
    return [path.with_name(f"{path.stem}-kept-{number}{path.suffix}") for number in range(1, 10_000)]
