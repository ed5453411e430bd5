"""A test for exercises: right answers in the forms in which people write them, wrong ones, and slips.

    report = tried(total, right=[lambda n: n * (n + 1) // 2], wrong=[lambda n: n, lambda n: 42])
    assert report, report

`write_template` makes a lesson to begin with: a notebook, a module with its exercise, and such a test.
"""

from __future__ import annotations

import functools
import json
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passlab.atomic_file import make_folder, write_text
from passlab.course.tries import Tries
from passlab.course.verdicts import Exercise
from passlab.errors import Diagnostic, PassValueError

Form = tuple[str, Any]  # how an answer is written, and the answer
NO_ANSWERS: tuple[Any, ...] = (None, "", "42", -1, [], (), {}, object(), lambda *arguments: None, type("Empty", (), {}))


# recurses: answers that a teacher wrote, a few levels deep
def _in_numpy(value: Any) -> Any:
    """Return the same value with NumPy's numbers, and with lists and tuples changed about."""
    if type(value) is tuple:
        return [_in_numpy(part) for part in value]
    if type(value) is list:
        return tuple(_in_numpy(part) for part in value)
    return np.asarray(value)[()] if type(value) in (int, float) else value


def forms(answer: Any) -> list[Form]:
    """Return a right answer in other forms: a function as an object, one that prints on the way, NumPy's numbers."""
    if not isinstance(answer, types.FunctionType):
        plain = type(answer) in (int, float, tuple, list)
        return [("with NumPy's numbers, a list for a tuple", _in_numpy(answer))] if plain else []

    def printing(*arguments: Any) -> Any:
        print("now I am called", arguments)  # noqa: T201 - what a learner does
        return answer(*arguments)

    class Called:
        def __call__(self, *arguments: Any) -> Any:
            return answer(*arguments)

    return [
        ("as a partial function", functools.partial(answer)),
        ("as an object that can be called", Called()),
        ("with words on the way", printing),
        ("with NumPy's numbers, a list for a tuple", lambda *arguments: _in_numpy(answer(*arguments))),
    ]


def slips(answer: Any) -> list[Form]:
    """Return a right answer with slips that everybody makes: printed and not returned, a text for a number."""
    if not isinstance(answer, types.FunctionType):
        plain = type(answer) in (int, float, tuple, list)
        return (
            [("as a text", repr(answer)), ("in a list", [answer]), ("as a function", lambda: answer)] if plain else []
        )

    def raising(*arguments: Any) -> Any:
        answer(*arguments)
        raise RuntimeError("at the end")

    return [
        ("printed, not returned", lambda *arguments: print(answer(*arguments))),  # noqa: T201 - what a learner does
        ("returned as a text", lambda *arguments: repr(answer(*arguments))),
        ("raising at the end", raising),
        ("as its name", answer.__name__),
        ("with a parameter too many", lambda *arguments, more: answer(*arguments)),  # noqa: PLW0108
    ]


@dataclass(frozen=True)
class Tried:
    """What a test of an exercise found; true where every verdict is as it should be."""

    answers: int
    faults: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.faults

    def __repr__(self) -> str:
        found = (
            "every verdict is as it should be" if self else f"{len(self.faults)} verdicts are not as they should be:"
        )
        return "\n".join([f"{self.answers} answers: {found}", *self.faults])


def tried(exercise: Exercise, right: Sequence[Any], wrong: Sequence[Any] = (), *, times: int = 1) -> Tried:
    """Put answers to an exercise: right ones, also in other forms and with slips, wrong ones, and no answers at all.

    Each is asked `times` times, because random questions may miss a mistake. No try is counted.
    """
    cases: list[tuple[str, Any, bool]] = []
    for number, answer in enumerate(right, 1):
        cases.append((f"right answer {number}", answer, True))
        cases += [(f"right answer {number} {words}", other, True) for words, other in forms(answer)]
        cases += [(f"right answer {number} {words}", other, False) for words, other in slips(answer)]
    cases += [(f"wrong answer {number}", answer, False) for number, answer in enumerate(wrong, 1)]
    cases += [(f"no answer: {answer!r}", answer, False) for answer in NO_ANSWERS]
    faults = []
    for words, answer, expected in cases:
        for _ in range(times):
            verdict = exercise.check(answer, tries=Tries())
            if bool(verdict) != expected:
                faults.append(
                    f"{'refused' if expected else 'accepted'}: {words}" + (f"\n{verdict}" if expected else "")
                )
                break
    return Tried(len(cases), tuple(faults))


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
