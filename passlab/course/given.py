"""The lessons as they are given: where they are, and the copy that a learner gets.

A lesson is stored as it was last run, which the manual shows. A learner gets it unanswered: a cell behind a prediction
shows nothing yet, and the text that tells the answer is a cell that shows it after the guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import passlab
from passlab.arguments import checked
from passlab.errors import Diagnostic, PasslabError, did_you_mean

_STAGES = {"check", "solution"}
NUMBERS = {
    "five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30, "thirty-five": 35, "forty": 40,
    "forty-five": 45, "fifty": 50, "fifty-five": 55, "sixty": 60,
}  # fmt: skip
_PLAN = re.compile(
    r"Plan ([\w-]+) minutes(?: to read, and ([\w-]+) for (?:the|\w+ of the) \w+ exercises?\."
    r"(?: The ([\w ]+?) (?:is a project|are projects): plan ([\w-]+) minutes more\.)?)?"
)
_LOOK = re.compile(r"look-(\d+)")
_PREDICT = re.compile(r"predict\((\d+)\)")
_NUMBERED = re.compile(r"(\d\d[a-z]?)-[\w-]+?(-kept-\d+)?\.ipynb")


def lessons_folder() -> Path:
    """Return the folder of the lessons as they are given: in the package, or next to it in a checkout.

    Raises `PasslabError` where neither is there.
    """
    package = Path(passlab.__file__).parent
    for folder in (package / "course" / "notebooks", package.parent / "notebooks"):
        if (folder / "01-tour.ipynb").is_file():
            return folder
    raise PasslabError(Diagnostic("this installation has no lessons", hint="install passlab from its wheel"))


@checked
def lesson_file(name: str) -> Path:
    """Return a file that lessons read, such as `digits.relay`: the one in this folder, else the one that is given.

    So a notebook that was copied alone still finds what it reads. Raises `PasslabError` where no file has this name.
    """
    here, given = Path(name), lessons_folder() / name
    if here.is_file():
        return here
    if Path(name).name != name or not given.is_file():
        files = sorted(path.name for path in lessons_folder().iterdir() if path.is_file() and path.suffix != ".ipynb")
        raise PasslabError(
            Diagnostic(
                f"no lesson reads a file called {name!r}", expected=" | ".join(files), hint=did_you_mean(name, files)
            )
        )
    return given


def lesson_files() -> dict[str, Path]:
    """Return the notebooks of the lessons as they are given, by label."""
    return notebooks_by_lesson(lessons_folder().iterdir())


def notebooks_by_lesson(paths: Iterable[Path]) -> dict[str, Path]:
    """Return the notebooks of lessons among some files, by label; copies that `reset` kept are left out."""
    found = ((_NUMBERED.fullmatch(path.name), path) for path in sorted(paths))
    return {match[1]: path for match, path in found if match and not match[2]}


def title_of(notebook: Path) -> str:
    """Return the heading of a notebook."""
    first = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).partition("\n")[0].removeprefix("# ").strip()


@dataclass(frozen=True)
class Minutes:
    """The minutes of a lesson: to read it, for its exercises, and for its project (0: it has no project)."""

    reading: int
    exercises: int
    project: int = 0

    @property
    def lesson(self) -> int:
        """The minutes without the project."""
        return self.reading + self.exercises


def stated_minutes(notebook: dict[str, Any]) -> Minutes:
    """Return the minutes that the first cell of a lesson states, zeros where it states none."""
    found = _PLAN.search(" ".join("".join(notebook["cells"][0]["source"]).split()))
    return Minutes(*(NUMBERS.get(found[group] or "", 0) if found else 0 for group in (1, 2, 4)))


def look_number(cell: dict[str, Any]) -> int:
    """Return the number of the prediction that a cell of prose tells the answer of, 0 for other cells."""
    found = (_LOOK.fullmatch(tag) for tag in cell["metadata"].get("tags", []))
    return next((int(match[1]) for match in found if match), 0)


def prose_of(lesson: str, prediction: int) -> str:
    """Return the text that tells what happened after a prediction, as Markdown; "" where the lesson has none."""
    notebook = lesson_files().get(lesson)
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"] if notebook else []
    return next(("".join(cell["source"]) for cell in cells if look_number(cell) == prediction), "")


def learners_copy(notebook: bytes) -> bytes:
    """Return the copy of a lesson that a learner gets: nothing answers a prediction before it is asked.

    The outputs of predictions, checks and solutions are left out, and those between a prediction and its answer. The
    prose of the answer becomes a cell that shows it.
    """
    whole = json.loads(notebook)
    open_predictions: set[int] = set()
    for cell in whole["cells"]:
        asked = _PREDICT.match("".join(cell["source"])) if cell["cell_type"] == "code" else None
        if asked:
            open_predictions.add(int(asked[1]))
        if number := look_number(cell):
            open_predictions.discard(number)
            cell.update(cell_type="code", source=[f"predict.look({number})"], execution_count=None, outputs=[])
        elif cell["cell_type"] == "code" and (open_predictions or _STAGES & set(cell["metadata"].get("tags", []))):
            cell.update(execution_count=None, outputs=[])
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
