"""`Exercise`: a task that checks its own answer, and says in a sentence what is still missing.

    Exercise("One multiplication").requires(
        "`multiply` is called once", lambda f: count_ops(f)["multiply"] == 1, hint="bind it with `let` or `%0 = ...`"
    ).check(answer)

An answer is any Python value: a number, a text, a program, a pass, an instrument. `...` stands for one not given yet.
Nothing an answer does ends the lesson: what a question about it raises becomes part of the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab.errors import PasslabError, visible
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.types import Type


@dataclass(frozen=True)
class Requirement:
    """One thing that must hold of an answer: in words, as a question, and what to try when it does not hold."""

    what: str
    holds: Callable[[Any], Any]
    hint: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of an answer: `passed`, or None for one not given yet; `met` and `missing` are requirements."""

    title: str
    passed: bool | None
    met: tuple[str, ...] = ()
    missing: str = ""
    why: str = ""
    hint: str = ""

    def __bool__(self) -> bool:
        return bool(self.passed)

    def __str__(self) -> str:
        if self.passed is None:
            return visible(f"○ {self.title}: no answer yet. Put one in the place of `...`, then run this check again.")
        if self.passed:
            return visible("\n".join([f"✓ {self.title}: correct.", *(f"    ✓ {what}" for what in self.met)]))
        lines = [f"✗ {self.title}: not yet.", *(f"    ✓ {what}" for what in self.met), f"    ✗ {self.missing}"]
        lines += [f"      {line}" for line in self.why.splitlines()]
        return visible("\n".join([*lines, f"  hint: {self.hint}"] if self.hint else lines))

    __repr__ = __str__


@dataclass(frozen=True)
class Exercise:
    """A task with the requirements its answer must meet, asked in order; each `requires` returns a longer exercise.

    `hint` is shown with a wrong answer where the requirement that failed has none of its own.
    """

    title: str
    requirements: tuple[Requirement, ...] = ()
    hint: str = ""

    def requires(self, what: str, holds: Callable[[Any], Any], hint: str = "") -> Exercise:
        """Return the exercise with one more requirement: `holds(answer)` must be true."""
        return replace(self, requirements=(*self.requirements, Requirement(what, holds, hint)))

    def equals(self, expected: Any, hint: str = "") -> Exercise:
        """Return the exercise with the requirement that the answer is `same` as a value, which is not given away."""
        return self.requires("it is the expected answer", lambda answer: same(answer, expected), hint)

    def check(self, answer: Any = ...) -> Verdict:
        """Return the verdict on an answer: the requirements it meets, up to the first one that it does not."""
        if answer is ...:
            return Verdict(self.title, None)
        met: list[str] = []
        for requirement in self.requirements:
            why = _objection(requirement, answer)
            if why is not None:
                hint = requirement.hint or self.hint
                return Verdict(self.title, False, tuple(met), requirement.what, why, hint)
            met.append(requirement.what)
        return Verdict(self.title, True, tuple(met))


def _objection(requirement: Requirement, answer: Any) -> str | None:
    """Return None when a requirement holds, else why it does not, as far as that is known."""
    try:
        return None if requirement.holds(answer) else ""
    except PasslabError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - answers are code of students: they may raise anything
        return f"{type(error).__name__}: {error}"


# recurses: sequences and tables that a person wrote as an answer
def same(answer: Any, expected: Any) -> bool:
    """Whether two values are the same to a teacher.

    Programs are compared by structure, types by identity, arrays by dtype, shape and every element (NaN is NaN), lists
    and tuples alike element by element, anything else with `==`.
    """
    if isinstance(expected, (IRModule, Expr)):
        return isinstance(answer, (IRModule, Expr)) and structural_equal(answer, expected)
    if isinstance(expected, Type):
        return answer is expected
    if isinstance(expected, np.ndarray):
        return _same_array(answer, expected)
    if isinstance(expected, Mapping):
        alike = isinstance(answer, Mapping) and answer.keys() == expected.keys()
        return alike and all(same(answer[key], expected[key]) for key in expected)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        alike = isinstance(answer, Sequence) and not isinstance(answer, str) and len(answer) == len(expected)
        return alike and all(same(a, e) for a, e in zip(answer, expected, strict=True))
    return bool(answer == expected)


def _same_array(answer: Any, expected: np.ndarray[Any, Any]) -> bool:
    if not isinstance(answer, np.ndarray) or answer.dtype != expected.dtype or answer.shape != expected.shape:
        return False
    numbers = expected.dtype.kind in "fc"
    return bool(np.array_equal(answer, expected, equal_nan=numbers))
