"""A test for exercises: right answers in the forms in which people write them, wrong ones, and slips.

report = tried(total, right=[lambda n: n * (n + 1) // 2], wrong=[lambda n: n, lambda n: 42])
assert report, report
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.course.tries import Tries
from passlab.course.verdicts import Exercise

Form = tuple[str, Any]  # how an answer is written, and the answer
NO_ANSWERS: tuple[Any, ...] = (None, "", "42", -1, [], (), {}, object(), lambda *arguments: None, type("Empty", (), {}))


def _in_numpy(value: Any) -> Any:
    """Return the same value with NumPy's numbers, and with a list for a tuple and a tuple for a list."""
    if type(value) in (tuple, list):
        parts = [np.asarray(part)[()] if type(part) in (int, float) else part for part in value]
        return parts if type(value) is tuple else tuple(parts)
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
