"""`lesson`: the exercises of one lesson, checked by their numbers, with the learner's tries kept for another day.

    check = lesson(2)          in the first cell of the lesson's notebook
    check(1)                   the verdict on `answer_1`

The exercises stand in `passlab/course/lessons`, one function each, registered with `@exercise`. `check` finds an answer
by its name in the namespace of the notebook. Where the notebook tells `CELLS` which cells ran, it knows whether the
cell of the answer failed or is still as it was given.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

from passlab.atomic_file import write_text
from passlab.course.tries import Tries
from passlab.course.verdicts import Exercise, Verdict
from passlab.errors import Diagnostic, PasslabError, PassTypeError

LESSONS = {  # the number of a lesson, and its module: the name of its notebook without the number
    2: "reading_relay",
    3: "types_by_hand",
    4: "your_first_pass",
    5: "constant_folding",
    6: "pattern_rewriting",
    7: "pass_manager",
    8: "instruments",
    9: "normal_forms",
    10: "operator_fusion",
    11: "functions_and_data",
    12: "gradients",
    13: "layouts_and_precision",
    14: "virtual_machine",
    15: "memory",
    16: "dynamic_shapes",
    17: "time_travel",
    18: "finding_faults",
    19: "a_real_network",
    20: "porting_from_tvm",
    21: "llvm",
    22: "todays_tvm",
    23: "fuzz_your_own_pass",
}
PROGRESS = "passlab-course.json"  # the file of tries and solved exercises, in the folder of the notebooks
_MISSING = object()
_BINDS = re.compile(r"\b(answer_\d+)\b")


class Names:
    """The names of a notebook as attributes. Raises `NameError` for one whose cell has not run."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise NameError(name) from None


@dataclass(frozen=True)
class Task:
    """An exercise of the course: where it stands, how it is made, the digest of the cell as given, and a solution."""

    lesson: int
    number: int
    make: Callable[[Names], Exercise]
    starter: str
    solution: str
    points: float

    @property
    def title(self) -> str:
        """The title, as the docstring of the function has it."""
        return str(self.make.__doc__).removesuffix(".")


TASKS: dict[tuple[int, int], Task] = {}  # by lesson and number


def exercise(
    lesson: int, number: int, *, starter: str, solution: str, points: float = 1
) -> Callable[[Callable[[Names], Exercise]], Callable[[Names], Exercise]]:
    """Register a function that makes exercise `number` of a lesson from the names of its notebook.

    `starter` is `cell_digest` of the answer's cell as it is given; `solution` binds `answer_NUMBER` when it is run in
    the notebook.
    """

    def register(make: Callable[[Names], Exercise]) -> Callable[[Names], Exercise]:
        TASKS[lesson, number] = Task(lesson, number, make, starter, solution.strip("\n"), points)
        return make

    return register


def cell_digest(source: str) -> str:
    """Return a digest of the source of a cell that spaces at ends of lines do not change."""
    text = "\n".join(line.rstrip() for line in source.strip().split("\n"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


# ------------------------------------------------------------------------------------------------------------- cells
@dataclass
class Cells:
    """The last run of each cell that binds an answer: its source, and the name of the error that ended it."""

    last: dict[str, tuple[str, str]] = field(default_factory=dict)

    def ran(self, source: str, error: BaseException | None) -> None:
        """Note a run of a cell. The notebook's extension calls it for every cell."""
        for name in _answers_bound(source):
            self.last[name] = (source, type(error).__name__ if error is not None else "")


CELLS = Cells()


def _answers_bound(source: str) -> set[str]:
    """Return the names of answers that a cell binds, or would bind were it not wrong."""
    first, _, _ = source.lstrip().partition("\n")
    if first.startswith("%%"):
        return set(_BINDS.findall(first))
    try:
        tree = ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in source.split("\n")))
    except (SyntaxError, ValueError):  # half a program: each answer that stands at the beginning of a line
        return set(re.findall(r"^(?:class\s+|def\s+)?(answer_\d+)\b", source, re.MULTILINE))
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {name for name in bound if _BINDS.fullmatch(name)}


# ---------------------------------------------------------------------------------------------------------- progress
class Progress(Tries):
    """The tries of one lesson and the exercises solved, kept in a small JSON file beside the notebooks.

    A file that cannot be read or written costs a sentence in `trouble`, never the check; tries are then counted in
    memory. `reset` forgets the lesson.
    """

    def __init__(self, folder: Path, lesson: int) -> None:
        super().__init__()
        self.path = folder / PROGRESS
        self.lesson = f"{lesson:02d}"
        self.trouble = ""
        for title, record in self._read().items():
            for requirement, digests in record.get("wrong", {}).items():
                self.wrong[title, requirement] = [str(digest) for digest in digests]

    def added(self, exercise: str, requirement: str, digest: str) -> None:
        """Write a new wrong answer down."""
        self._change(exercise, lambda record: record.setdefault("wrong", {}).setdefault(requirement, []).append(digest))

    def solved(self, verdict: Verdict) -> None:
        """Write down that an exercise is solved, on its first day."""
        if "solved" not in self._read().get(verdict.title, {}):
            self._change(verdict.title, lambda record: record.update(solved=f"{datetime.now(timezone.utc):%Y-%m-%d}"))

    def reset(self) -> None:
        """Forget the tries and the solved exercises of this lesson."""
        self.wrong.clear()
        whole = read_progress(self.path)
        whole.pop(self.lesson, None)
        self._write(whole)

    def _read(self) -> dict[str, Any]:
        try:
            record = read_progress(self.path).get(self.lesson, {})
        except PasslabError as error:
            self.trouble = str(error)
            return {}
        return dict(record)

    def _change(self, title: str, change: Callable[[MutableMapping[str, Any]], object]) -> None:
        try:
            whole = read_progress(self.path)
        except PasslabError as error:
            self.trouble = str(error)
            return
        record = whole.setdefault(self.lesson, {}).setdefault(title, {})
        change(record)
        self._write(whole)

    def _write(self, whole: dict[str, Any]) -> None:
        try:
            write_progress(self.path, whole)
        except PasslabError as error:
            self.trouble = f"your progress is not kept: {error}"


def read_progress(path: Path) -> dict[str, Any]:
    """Return what a file of progress holds by lesson; a file that is not there holds nothing.

    Raises `PasslabError` for a file that is no such file.
    """
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        cure = f"Move {path.name} away to start anew"
        raise PasslabError(
            Diagnostic("the progress of the course cannot be read", found=str(error), hint=cure)
        ) from None
    return {
        number: lesson for number, lesson in _table(whole) if all(_is_record(record) for _, record in _table(lesson))
    }


def write_progress(path: Path, whole: Mapping[str, Any]) -> None:
    """Write a file of progress, by lesson. Raises `FileAccessError`."""
    write_text(path, json.dumps(whole, indent=1, sort_keys=True) + "\n")


def _table(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else [("", None)]


def _is_record(record: Any) -> bool:
    """Whether this is what one exercise has in a file of progress: lists of digests by requirement, and a day."""
    if not isinstance(record, dict) or not isinstance(record.get("wrong", {}), dict):
        return False
    lists = record.get("wrong", {}).values()
    return isinstance(record.get("solved", ""), str) and all(
        isinstance(digests, list) and all(isinstance(digest, str) for digest in digests) for digests in lists
    )


# ------------------------------------------------------------------------------------------------------------ lesson
@dataclass(frozen=True)
class Solution:
    """A solution of an exercise: its source, and the verdict on it."""

    source: str
    verdict: Verdict

    def __repr__(self) -> str:
        return f"{self.source}\n\n{self.verdict}"


class Lesson:
    """The exercises of a lesson; calling it with a number checks an answer.

    `names` is the namespace of the notebook, `folder` where the progress is kept.
    """

    def __init__(self, number: int, names: MutableMapping[str, Any], folder: Path | None = None) -> None:
        _load(number)
        self.number = number
        self._names = names
        self._progress = Progress(Path.cwd() if folder is None else folder, number)

    @property
    def tasks(self) -> list[Task]:
        """The exercises, in order."""
        return tasks_of(self.number)

    def __call__(self, number: int, answer: Any = _MISSING) -> Verdict:
        """Return the verdict on `answer_NUMBER`, or on the `answer` that is given. Raises `PasslabError` for a number
        that the lesson does not have.
        """
        task = self._task(number)
        name = f"answer_{number}"
        if answer is _MISSING:
            source, error = CELLS.last.get(name, ("", ""))
            if error:
                return self._unanswered(
                    task, f"your cell of `{name}` raised {error}: mend it, run it, then check again."
                )
            if name not in self._names:
                return self._unanswered(task, f"`{name}` does not exist yet: run the cell above, then check again.")
            answer = self._names[name]
            if source and cell_digest(source) == task.starter:
                todo = "no answer yet. Change the cell above, run it, then check again."
                return self._unanswered(task, Verdict.todo if answer is ... else todo)
        try:
            verdict = self.exercise(number).check(answer, tries=self._progress)
        except NameError as missing:
            return self._unanswered(task, f"the check needs `{missing}`: run the cells above first.")
        if verdict.passed:
            self._progress.solved(verdict)
        if self._progress.trouble:
            verdict = replace(verdict, hint=f"{verdict.hint}\n  ({self._progress.trouble})".strip())
        return verdict

    def exercise(self, number: int) -> Exercise:
        """Return an exercise as an object. Raises `NameError` where cells of the lesson that it needs have not run."""
        task = self._task(number)
        return replace(task.make(Names(self._names)), points=task.points)

    def solution(self, number: int) -> Solution:
        """Return a solution with its verdict; running it leaves the namespace of the notebook as it is."""
        task = self._task(number)
        space = dict(self._names)
        exec(compile(task.solution, f"<solution {number}>", "exec"), space)  # noqa: S102 - the course's own text
        return Solution(task.solution, self.exercise(number).solution(space[f"answer_{number}"]))

    def reset(self) -> None:
        """Forget the tries and the solved exercises of this lesson."""
        self._progress.reset()

    def _task(self, number: int) -> Task:
        task = TASKS.get((self.number, number))
        if task is None:
            numbers = ", ".join(str(task.number) for task in self.tasks)
            raise PassTypeError(
                Diagnostic("the lesson has no such exercise", expected=f"one of {numbers}", found=repr(number))
            )
        return task

    def _unanswered(self, task: Task, todo: str) -> Verdict:
        return Verdict(task.title, None, todo=todo, points=task.points)


def lesson(number: int, names: MutableMapping[str, Any] | None = None, folder: Path | None = None) -> Lesson:
    """Return the exercises of a lesson for the namespace `names`: that of the caller where none is given.

    `folder` is where the progress is kept: the working folder by default. Raises `PasslabError` for a lesson that does
    not exist.
    """
    return Lesson(number, sys._getframe(1).f_globals if names is None else names, folder)


def tasks_of(number: int) -> list[Task]:
    """Return the exercises of a lesson, in order. Raises `PasslabError` for a lesson that does not exist."""
    _load(number)
    return [TASKS[key] for key in sorted(TASKS) if key[0] == number]


def _load(number: Any) -> None:
    """Import the exercises of a lesson, which registers them."""
    module = LESSONS.get(number) if isinstance(number, int) else None
    if module is None:
        expected = f"a number from {min(LESSONS)} to {max(LESSONS)}"
        raise PassTypeError(Diagnostic("there is no such lesson with exercises", expected=expected, found=repr(number)))
    import_module(f"passlab.course.lessons.{module}")
