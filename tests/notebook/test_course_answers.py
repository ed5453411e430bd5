"""The checks of the lessons, put to answers: wrong ones are refused, right ones accepted, and nothing escapes as an error.

Each lesson runs cell by cell, as in a notebook. At each check the answers of `course_answers.py` are evaluated in the
namespace of the lesson, and so are things that are no answer at all.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from passlab.course import Exercise
from passlab.course.harness import NO_ANSWERS, forms, slips
from passlab.course.registry import LESSONS as LESSONS_BY_NUMBER
from passlab.course.registry import lesson, tasks_of
from tests.notebook.course_answers import ANSWERS
from tests.notebook.sly_answers import HOSTILE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))


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
    """The shell with an empty namespace, in an empty folder, as a lesson copied alone; what cells show is dropped."""
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
    for source, answer in [(source, evaluated(source, space)) for source in wrong] + [
        (f"no answer {number}", answer) for number, answer in enumerate((*NO_ANSWERS, *HOSTILE))
    ]:
        verdict = exercise.check(answer)
        assert not verdict, f"{exercise.title} accepts:\n{source}"
        assert "Traceback" not in str(verdict)
    for source in right:
        verdict = exercise.check(evaluated(source, space))
        assert verdict, f"{exercise.title} refuses:\n{source}\n{verdict}"


def dressed(exercise: Exercise, right: tuple[str, ...], space: dict[str, Any]) -> None:
    """Put the right answers in other forms to the check, and with slips."""
    for source in right[:2]:
        answer = evaluated(source, space)
        for words, other in forms(answer):
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
