"""The checks of the lessons, put to answers: wrong ones are refused, right ones accepted, and nothing escapes as an error.

Each lesson runs cell by cell, as in a notebook. At each check the answers of `course_answers.py` are evaluated in the
namespace of the lesson, and so are things that are no answer at all.
"""

from __future__ import annotations

import ast
import functools
import json
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab.course import Exercise
from passlab.course.registry import LESSONS as LESSONS_BY_NUMBER
from passlab.course.registry import lesson, tasks_of
from tests.notebook.course_answers import ANSWERS

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
# What is no answer to any exercise, but may be of the right Python type.
NO_ANSWERS = (
    "None",
    "''",
    "'42'",
    "-1",
    "[]",
    "()",
    "{}",
    "object()",
    "lambda *arguments: None",
    "type('Empty', (), {})",
)


def evaluated(source: str, space: dict[str, Any]) -> Any:
    """Run the statements of an answer in a copy of a namespace; return the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "an answer ends in an expression"
    space = dict(space)
    exec(compile(tree, "answer", "exec"), space)
    return eval(compile(ast.Expression(last.value), "answer", "eval"), space)


def ran(shell: Any, cell: dict[str, Any]) -> None:
    result = shell.run_cell("".join(cell["source"]), store_history=False)
    assert result.success or "raises-exception" in cell["metadata"].get("tags", []), "".join(cell["source"])


@pytest.fixture
def lesson_shell(
    running_shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Any:
    """The shell with an empty namespace, in a folder with the data of the lessons; what cells show is dropped."""
    for data in NOTEBOOKS.iterdir():
        if data.is_file() and data.suffix not in (".ipynb", ".json"):
            shutil.copy(data, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running_shell.display_pub, "publish", lambda *args, **kwargs: None)
    monkeypatch.setattr(running_shell, "showtraceback", lambda *args, **kwargs: None)
    running_shell.reset(new_session=False)
    yield running_shell
    running_shell.extension_manager.unload_extension("passlab.compat")  # a kernel has the `tvm` of its own lesson only
    running_shell.reset(new_session=False)
    capsys.readouterr()


@pytest.mark.nightly  # each lesson is run from its first cell to its last
@pytest.mark.filterwarnings("default")  # as in a kernel
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_checks_tell_right_answers_from_wrong_ones(path: Path, lesson_shell: Any) -> None:
    answers = iter(ANSWERS[path.stem])
    label = path.stem.partition("-")[0]
    tasks_of(label)
    helpers = vars(sys.modules[f"passlab.course.lessons.{LESSONS_BY_NUMBER[label]}"])
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        ran(lesson_shell, cell)
        if "check" in cell["metadata"].get("tags", []):
            number = int("".join(cell["source"]).removeprefix("check(").removesuffix(")"))
            right, wrong = next(answers)
            exercise = lesson_shell.user_ns["check"].exercise(number)
            for name, value in helpers.items():  # answers may use what the exercise is made of
                lesson_shell.user_ns.setdefault(name, value)
            given = (
                (f"answer_{number}",) if f"answer_{number}" in lesson_shell.user_ns else ()
            )  # a cell may fail as it is given
            judge(exercise, (right, (*wrong, *given)), lesson_shell.user_ns)
            dressed(exercise, right, lesson_shell.user_ns)
            run_as_cells(lesson_shell, number, wrong, right)
    assert next(answers, None) is None


def run_as_cells(shell: Any, number: int, wrong: tuple[str, ...], right: tuple[str, ...]) -> None:
    """Do what a learner does: change the answer's cell, run it, run the check; wrong answers first, the right one last.

    Each different wrong answer to one requirement brings one hint more, also when the kernel has been started anew.
    """
    check = shell.user_ns["check"]
    check.reset()
    failed: dict[str, list[str]] = {}
    for source in (*wrong, *wrong[:2], right[0]):
        lines = source.split("\n")
        start = ast.parse(source).body[-1].lineno - 1
        lines[start] = f"answer_{number} = {lines[start]}"
        assert shell.run_cell("\n".join(lines), store_history=False).success, source
        shell.user_ns["check"] = check = lesson(check.number, shell.user_ns)
        verdict = shell.run_cell(f"check({number})", store_history=False).result
        if source == right[0]:
            assert verdict, f"{verdict}\n{source}"
        elif verdict.passed is False and verdict.hint:
            seen = failed.setdefault(verdict.missing, [])
            hints = verdict.hint.removeprefix("hint: ").split("; ") if verdict.hint.startswith("hint: ") else []
            assert seen == hints[: len(seen)], "no hint goes away"
            failed[verdict.missing] = hints
    assert shell.user_ns["check"].solution(number).verdict
    check.reset()


def judge(exercise: Exercise, answers: tuple[tuple[str, ...], tuple[str, ...]], space: dict[str, Any]) -> None:
    right, wrong = answers
    for source in (*wrong, *NO_ANSWERS):
        verdict = exercise.check(evaluated(source, space))
        assert not verdict, f"{exercise.title} accepts:\n{source}"
        assert "Traceback" not in str(verdict)
    for source in right:
        verdict = exercise.check(evaluated(source, space))
        assert verdict, f"{exercise.title} refuses:\n{source}\n{verdict}"


class Called:
    """A function in a class, as some people write it."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


# recurses: results of exercises, a few levels deep
def in_numpy(value: Any) -> Any:
    """The same value with NumPy's numbers, and with lists and tuples changed about."""
    if type(value) is tuple:
        return [in_numpy(part) for part in value]
    if type(value) is list:
        return tuple(in_numpy(part) for part in value)
    if type(value) in (int, float):
        return np.asarray(value)[()]
    return value


def costumes(answer: Any) -> list[tuple[str, Any]]:
    """A right answer in the ways in which others would write it."""
    if not isinstance(answer, types.FunctionType):
        plain = type(answer) in (int, float, tuple, list)
        return [("with NumPy's numbers, a list for a tuple", in_numpy(answer))] if plain else []

    def printing(*arguments: Any) -> Any:
        print("now I am called", arguments)
        result = answer(*arguments)
        print("and it gives", result)
        return result

    return [
        ("as a partial function", functools.partial(answer)),
        ("as an object that can be called", Called(answer)),
        ("with words on the way", printing),
        ("with NumPy's numbers, a list for a tuple", lambda *arguments: in_numpy(answer(*arguments))),
    ]


def slips(answer: Any) -> list[tuple[str, Any]]:
    """A right answer with a slip that everybody makes."""
    if not isinstance(answer, types.FunctionType):
        plain = type(answer) in (int, float, tuple, list)
        return (
            [("as a text", repr(answer)), ("in a list", [answer]), ("as a function", lambda: answer)] if plain else []
        )

    def raising(*arguments: Any) -> Any:
        answer(*arguments)
        raise RuntimeError("at the end")

    return [
        ("printed, not returned", lambda *arguments: print(answer(*arguments))),
        ("returned as a text", lambda *arguments: repr(answer(*arguments))),
        ("raising at the end", raising),
        ("called too early", answer.__name__),
        ("with too many parameters", lambda *arguments, more: answer(*arguments)),
    ]


def dressed(exercise: Exercise, right: tuple[str, ...], space: dict[str, Any]) -> None:
    """Put the right answers in other forms to the check, and with slips."""
    for source in right[:2]:
        answer = evaluated(source, space)
        for words, other in costumes(answer):
            verdict = exercise.check(other)
            assert verdict, f"{exercise.title} refuses a right answer {words}:\n{source}\n{verdict}"
        for words, other in slips(answer):
            verdict = exercise.check(other)
            assert not verdict, f"{exercise.title} accepts an answer {words}:\n{source}"
            assert verdict.passed is False, f"{words}: {verdict}"


def test_every_check_has_answers() -> None:
    checks = {path.stem: len(tasks_of(path.stem.partition("-")[0])) for path in LESSONS}
    assert {name: len(answers) for name, answers in ANSWERS.items()} == checks
    few = [
        (name, number)
        for name, answers in ANSWERS.items()
        for number, (right, wrong) in enumerate(answers, 1)
        if len(set(right)) < 3 or len({*wrong, "what the lesson gives"}) < 6
    ]
    assert not few
