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
from importlib import import_module
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.course import own
from passlab.course.own import FOLDER, PARTS, OwnCompiler, Part
from passlab.course.predictions import Predict
from passlab.course.progress import Progress
from passlab.course.tries import Tries
from passlab.course.verdicts import TEXTS, Exercise, Verdict, said
from passlab.errors import Diagnostic, FileAccessError, PassTypeError

LESSONS = {  # the label of a lesson, and its module: the name of its notebook without the label
    "01": "tour",
    "02": "reading_relay",
    "03": "types_by_hand",
    "04": "your_first_pass",
    "04b": "tracing_python",
    "05": "constant_folding",
    "06": "pattern_rewriting",
    "07": "pass_manager",
    "08": "instruments",
    "09": "normal_forms",
    "09b": "dataflow_analysis",
    "10": "operator_fusion",
    "11": "functions_and_data",
    "11b": "partial_evaluation",
    "12": "gradients",
    "12b": "training",
    "13": "layouts",
    "13b": "precision",
    "13c": "quantisation",
    "14": "virtual_machine",
    "15": "memory",
    "15b": "loops",
    "16": "dynamic_shapes",
    "17": "time_travel",
    "18": "finding_faults",
    "19": "a_real_network",
    "19b": "search_and_e_graphs",
    "19c": "a_model_from_outside",
    "20": "porting_from_tvm",
    "21": "llvm",
    "22": "todays_tvm",
    "22b": "a_triton_kernel",
    "23": "fuzz_your_own_pass",
    "24": "your_own_compiler",
}
_MISSING = object()
_LABEL = re.compile(r"(\d{1,2})([a-z]?)")
_BINDS = re.compile(r"\b(answer_\d+)\b")


class Names:
    """The names of a notebook as attributes. Raises `NameError` for one whose cell has not run.

    >>> from passlab.course import Names
    >>> names = Names({"answer_1": 4})
    >>> names.answer_1
    4
    """

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

    lesson: str
    number: int
    make: Callable[[Names], Exercise]
    starter: str
    solution: str
    points: float
    part: str = ""  # of the learner's own compiler, where the answer is one

    @property
    def title(self) -> str:
        """The title, as the docstring of the function has it."""
        return str(self.make.__doc__).removesuffix(".")


TASKS: dict[tuple[str, int], Task] = {}  # by lesson and number


def exercise(
    lesson: int | str, number: int, *, starter: str, solution: str, points: float = 1, part: str = ""
) -> Callable[[Callable[[Names], Exercise]], Callable[[Names], Exercise]]:
    """Register a function that makes exercise `number` of a lesson from the names of its notebook.

    `starter` is `cell_digest` of the answer's cell as it is given; `solution` binds `answer_NUMBER` when it is run in
    the notebook. An answer that is a `part` of the learner's compiler is kept for the lessons behind.
    """

    def register(make: Callable[[Names], Exercise]) -> Callable[[Names], Exercise]:
        label = _label(lesson)
        TASKS[label, number] = Task(label, number, make, starter, solution.strip("\n"), points, part)
        return make

    return register


def label_of(lesson: Any) -> str:
    """Return the label of a lesson of the course, with which the name of its notebook begins: "02" for 2, "11b".

    Raises `PasslabError` for a lesson that does not exist.
    """
    label = _label(lesson)
    if label not in LESSONS:
        expected = f"one of {', '.join(LESSONS)}"
        raise PassTypeError(Diagnostic("there is no such lesson", expected=expected, found=repr(lesson)))
    return label


def _label(lesson: Any) -> str:
    """Return the label of any lesson, also of a teacher's own, "" for what can be none."""
    number = isinstance(lesson, int) and not isinstance(lesson, bool)
    match = _LABEL.fullmatch(str(lesson)) if number or isinstance(lesson, str) else None
    return f"{int(match[1]):02d}{match[2]}" if match else ""


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


# ------------------------------------------------------------------------------------------------------------ lesson
@dataclass(frozen=True)
class Solution:
    """A solution of an exercise: its source, and the verdict on it."""

    source: str
    verdict: Verdict

    def __repr__(self) -> str:
        return f"{self.source}\n\n{self.verdict}"


@checked
class Lesson:
    """The exercises of a lesson; calling it with a number checks an answer.

    `names` is the namespace of the notebook, `folder` where the progress is kept.
    """

    def __init__(self, number: int | str, names: MutableMapping[str, Any], folder: Path | None = None) -> None:
        self.number = label_of(number)
        tasks_of(self.number)
        self._names = names
        folder = Path.cwd() if folder is None else folder
        self._progress = Progress(folder, self.number)
        TEXTS.clear()
        TEXTS.update(texts_in(folder))
        self.predict = Predict(self.number, self._progress)

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
            if source and cell_digest(source) == task.starter:
                todo = "no answer yet. Change the cell above, run it, then check again."
                return self._unanswered(task, Verdict.todo if self._names.get(name) is ... else todo)
            if error:
                return self._unanswered(
                    task, said("your cell of `{}` raised {}: mend it, run it, then check again.", name, error)
                )
            if name not in self._names:
                return self._unanswered(
                    task, said("`{}` does not exist yet: run the cell above, then check again.", name)
                )
            answer = self._names[name]
        try:
            verdict = self.exercise(number).check(answer, tries=self._progress)
        except NameError as missing:
            return self._unanswered(task, said("the check needs `{}`: run the cells above first.", missing))
        if verdict.passed and task.part:
            verdict = self._kept(task, verdict)
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
        self._progress.reset(task.title for task in self.tasks)

    def _kept(self, task: Task, verdict: Verdict) -> Verdict:
        """Keep a right answer as a part of the learner's compiler; it is not right if it needs other cells."""
        source, _ = CELLS.last.get(f"answer_{task.number}", ("", ""))
        if not source:
            return verdict

        def why_not(answer: Any) -> str:
            alone = self.exercise(task.number).check(answer, tries=Tries())
            return "" if alone else alone.why or alone.missing

        try:
            why = own.keep(self._progress.path.parent, task.part, source, why_not)
        except FileAccessError as error:
            return replace(verdict, hint=f"({PARTS[task.part]} of your compiler is not kept: {error})")
        if not why:
            return replace(verdict, hint=f"({PARTS[task.part]} of your compiler: kept in {FOLDER}/{task.part}.py)")
        hint = "hint: the lessons behind run this cell alone: import and define in it what it uses"
        what = "the cell works without the other cells"
        return replace(verdict, passed=False, missing=what, why=why, hint=hint)

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


def texts_in(folder: Path) -> dict[str, str]:
    """Return the sentences of `texts.json` in a folder, by the English ones; {} if the file does not exist.

    Raises `PasslabError` for a file that is not a table of texts.
    """
    path = folder / "texts.json"
    if not path.is_file():
        return {}
    try:
        texts = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PassTypeError(Diagnostic(f"{path} cannot be read", found=str(error))) from None
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        expected = 'a table of texts, such as {"{}: correct.": "{}: richtig."}'
        raise PassTypeError(Diagnostic(f"{path} is not a table of texts", expected=expected))
    for english, text in texts.items():
        if english.count("{}") != text.count("{}"):
            what = f"a text in {path} has another number of places than the English one"
            raise PassTypeError(Diagnostic(what, expected=english, found=text))
    return texts


def lesson(number: int | str, names: MutableMapping[str, Any] | None = None, folder: Path | None = None) -> Lesson:
    """Return the exercises of a lesson for the namespace `names`: by default the caller's.

    A lesson is its number, or a text such as "11b". `folder` is where the progress is kept: the working folder by
    default. Raises `PasslabError` for a lesson that does not exist.

    >>> import tempfile, pathlib
    >>> from passlab import course
    >>> check = course.lesson(2, {"answer_2": (4, 15)}, pathlib.Path(tempfile.mkdtemp()))
    >>> print(str(check(2)).splitlines()[0])  # in a notebook: `check = course.lesson(2)`, `check(2)`
    ✓ How large: correct.
    """
    return Lesson(number, sys._getframe(1).f_globals if names is None else names, folder)


def tasks_of(lesson: int | str) -> list[Task]:
    """Return the exercises of a lesson, in order. Raises `PasslabError` for a lesson that does not exist."""
    label = label_of(lesson)
    for module in (LESSONS[label], "own_parts", "own_back_parts"):  # which register them
        import_module(f"passlab.course.lessons.{module}")
    return [TASKS[key] for key in sorted(TASKS) if key[0] == label]


@checked
def compiler(folder: Path | None = None) -> OwnCompiler:
    """Return the learner's own compiler: each part from `my_compiler` in the folder, or else from the solution."""
    folder = Path.cwd() if folder is None else folder
    return OwnCompiler([_part(name, folder) for name in PARTS], folder)


def _part(name: str, folder: Path) -> Part:
    """Return one part; a file of the learner that cannot be used says why."""
    function, trouble = own.kept(folder, name)
    if function is not None:
        return Part(name, function, True)
    for label in LESSONS:
        tasks_of(label)
    task = next(task for task in TASKS.values() if task.part == name)
    space: dict[str, Any] = {"__name__": f"solution_{name}"}
    exec(compile(task.solution, f"<solution of {name}>", "exec"), space)  # noqa: S102 - the course's own text
    return Part(name, space[f"answer_{task.number}"], False, trouble)
