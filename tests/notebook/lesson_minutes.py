"""How long a lesson takes: an estimate from its words, its cells and its solutions. Nobody was timed.

    reading     150 words of prose a minute (a technical text, read with care), 12 lines of code a minute,
                and 12 seconds for each cell that is run and looked at
    exercise    3 minutes to read, think and check, and one for each line of the solution that was not given

Each sum is rounded to five minutes. An exercise that would take a lesson beyond 40 minutes is a project, with minutes
of its own, and says so in its heading.
"""

from __future__ import annotations

import re
from typing import Any

from passlab.course.given import Minutes, stated_minutes

WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_A_CELL = 150, 12, 0.2
MINUTES_AN_EXERCISE = 3
FOLDED = "# A solution"  # the first line of a folded cell is what JupyterLab shows of it


def stated(notebook: dict[str, Any]) -> Minutes:
    """What the first cell of a lesson says."""
    minutes = stated_minutes(notebook)
    assert minutes.reading, "the first cell says: Plan ... minutes to read, and ... for the ... exercises"
    return minutes


def estimated(notebook: dict[str, Any]) -> Minutes:
    """What the rule gives for a lesson."""
    exercises = {True: 0, False: 0}
    for is_project, lines in _exercises(notebook):
        exercises[is_project] += MINUTES_AN_EXERCISE + lines
    return Minutes(_rounded(_reading(notebook)), _rounded(exercises[False]), _rounded(exercises[True]))


def _reading(notebook: dict[str, Any]) -> float:
    minutes = 0.0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            minutes += len(re.findall(r"\w[\w'.-]*", _source(cell))) / WORDS_A_MINUTE
        elif not {"exercise", "check", "solution"} & set(cell["metadata"].get("tags", [])):
            minutes += MINUTES_A_CELL + len(_lines(cell)) / LINES_A_MINUTE
    return minutes


def _exercises(notebook: dict[str, Any]) -> list[tuple[bool, int]]:
    """For each exercise, whether it is a project, and how many lines of its solution were not given."""
    exercises, heading, names = [], "", set()
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            heading = next((line for line in _lines(cell) if line.startswith("### ")), heading)
        elif "exercise" in tags:
            names = set(_lines(cell))
        elif "solution" in tags:
            exercises.append((heading.endswith("(a project)"), sum(line not in names for line in _solution(cell))))
    return exercises


def _solution(cell: dict[str, Any]) -> list[str]:
    """The lines of a solution, which its cell shows above the verdict."""
    shown = "".join(cell["outputs"][0]["data"]["text/plain"]).partition("\n\n\u2713 ")[0]
    return [line.strip() for line in shown.splitlines() if line.strip()]


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _lines(cell: dict[str, Any]) -> list[str]:
    return [line.strip() for line in _source(cell).splitlines() if line.strip() and line.strip() != FOLDED]


def _rounded(minutes: float) -> int:
    return 5 * round(minutes / 5)
