"""`Exercise`: a task that checks an answer and says in a sentence which requirement is not met.

    product = (
        Exercise("One multiplication", expects=IRModule)
        .requires("`multiply` is called once", lambda mod: count_ops(mod["main"])["multiply"] == 1, hint="use `let`")
        .asks("it is right", lambda mod, x: np.allclose(run(mod, x), x * x * 2), lambda rng: rng.normal(size=3))
    )
    product.check(answer)

An answer is any Python value: a number, a text, a program, a pass, an instrument. `...` stands for one not given yet.
An error that an answer raises becomes part of the verdict, and so does an answer that does not end: no answer ends the
lesson. The first wrong answer gets no hint. Each *different* answer that fails the same requirement then gets one hint
more, also where the exercise was made anew in between, as happens when its cell runs again (`Tries`).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passlab import limits
from passlab.arguments import checked
from passlab.course.tries import KERNEL, Tries
from passlab.errors import PasslabError, visible
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.types import Type
from passlab.oracle.deadline import Deadline

Hints = str | Sequence[str]
TIMES = 20  # how many random questions `asks` puts to an answer
SECONDS = 10.0  # how long one check may take
INSTRUCTIONS = 20_000_000  # how many instructions of the virtual machine one run of an answer may take


TEXTS: dict[str, str] = {}  # sentences of verdicts in the learner's language, by the English ones


def said(text: str, *values: Any) -> str:
    """Return a sentence in the learner's language, with values in the places of its `{}`."""
    text = TEXTS.get(text, text)
    return text.format(*values) if values else text


@dataclass(frozen=True)
class Requirement:
    """A condition on an answer: in words, as a function, and the hints for those who fail it.

    `question` makes the arguments of one random question, which `holds` gets after the answer; `first` are questions
    that are always asked, before the random ones.
    """

    what: str
    holds: Callable[..., Any]
    hints: tuple[str, ...] = ()
    question: Callable[[np.random.Generator], Any] | None = None
    first: tuple[Any, ...] = ()
    times: int = TIMES


class WrongAnswerError(AssertionError):
    """A verdict that did not pass, raised by `Verdict.required`; the message is the verdict.

    >>> from passlab import course
    >>> try:
    ...     course.Exercise("Two plus three").equals(5).check(6).required()
    ... except course.WrongAnswerError as error:
    ...     print(str(error).splitlines()[0])
    ✗ Two plus three: not yet.
    """


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check: `passed`, or None if there is no answer yet; `met` and `missing` are requirements.

    `todo` is what to do if there is no answer, `requirements` how many there are, and `points` what the exercise is
    worth. A verdict is true where it passed, so that it can be asserted; `required` says in the error what is missing.

    >>> from passlab import course
    >>> verdict = course.Exercise("Two plus three").equals(5).check(6)
    >>> bool(verdict)
    False
    """

    title: str
    passed: bool | None
    met: tuple[str, ...] = ()
    missing: str = ""
    why: str = ""
    hint: str = ""
    todo: str = "no answer yet. Replace the `...`, then run this check again."
    requirements: int = 0
    points: float = 1

    def __bool__(self) -> bool:
        return bool(self.passed)

    @property
    def score(self) -> float:
        """The points for this answer: all of them, or a part by the requirements met before the one that is missing."""
        if self.passed or not self.requirements:
            return self.points if self.passed else 0.0
        return self.points * len(self.met) / self.requirements

    def required(self) -> Verdict:
        """Return the verdict. Raises `WrongAnswerError` where it did not pass, for graders that look for errors."""
        if not self.passed:
            raise WrongAnswerError(str(self))
        return self

    def __str__(self) -> str:
        right, wrong, none = _marks()
        if self.passed is None:
            return visible(f"{none} {said(self.title)}: {said(self.todo)}")
        met = [f"    {right} {said(what)}" for what in self.met]
        if self.passed:
            return visible(
                "\n".join(
                    [
                        f"{right} {said('{}: correct.', said(self.title))}",
                        *met,
                        *([f"  {self.hint}"] if self.hint else []),
                    ]
                )
            )
        lines = [f"{wrong} {said('{}: not yet.', said(self.title))}", *met, f"    {wrong} {said(self.missing)}"]
        lines += [f"      {line}" for line in self.why.splitlines()]
        return visible("\n".join([*lines, f"  {self.hint}"] if self.hint else lines))

    __repr__ = __str__


def _marks() -> tuple[str, str, str]:
    """Return the marks of right, wrong and no answer, in letters where standard output cannot print others."""
    marks = ("\u2713", "\u2717", "\u25cb")
    try:
        "".join(marks).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "ok", "no", "--"
    return marks


@checked
@dataclass(frozen=True)
class Exercise:
    """A task with the requirements its answer must meet, asked in order; each `requires` returns a longer exercise.

    `expects` is the kind of an answer: a Python type, a tuple of kinds (a pair, a triple), a list of one kind, or a
    predicate, with `expected_kind` in words. For an answer of another kind the verdict says so, and no requirement is
    checked. `hint` is for a wrong answer where the requirement that failed has no hint of its own; of a sequence of
    hints, each different wrong answer shows one more. A check ends after `seconds`, and a run of the virtual machine in
    it after `instructions` instructions.

    >>> from passlab.course import Exercise
    >>> print(Exercise("Two plus three").equals(5).check(5))
    ✓ Two plus three: correct.
        ✓ it is the expected answer
    """

    title: str
    requirements: tuple[Requirement, ...] = ()
    hint: Hints = ""
    expects: Any = None
    expected_kind: str = ""
    points: float = 1
    seconds: float = SECONDS
    instructions: int = INSTRUCTIONS

    def requires(self, what: str, holds: Callable[[Any], Any], hint: Hints = "") -> Exercise:
        """Return the exercise with one more requirement: `holds(answer)` must be true."""
        return self._with_requirement(Requirement(what, holds, _as_hints(hint)))

    def asks(
        self,
        what: str,
        holds: Callable[..., Any],
        question: Callable[[np.random.Generator], Any],
        hint: Hints = "",
        *,
        first: Sequence[Any] = (),
        times: int = TIMES,
    ) -> Exercise:
        """Return the exercise with a requirement that random questions test.

        `question(rng)` makes the arguments of one question: a tuple of several, anything else is one.
        `holds(answer, *arguments)` must be true for the arguments in `first` and for `times` random ones.
        Each check asks other questions.
        """
        return self._with_requirement(Requirement(what, holds, _as_hints(hint), question, tuple(first), times))

    def agrees(
        self,
        what: str,
        reference: Callable[..., Any],
        question: Callable[[np.random.Generator], Any],
        hint: Hints = "",
        *,
        first: Sequence[Any] = (),
        times: int = TIMES,
    ) -> Exercise:
        """Return the exercise with a requirement: a function returns what `reference` returns, for random arguments."""

        def holds(answer: Callable[..., Any], *arguments: Any) -> bool:
            printed = io.StringIO()
            with redirect_stdout(printed):
                result = answer(*arguments)
            if result is ...:
                raise NoAnswerError(said("your function still returns `...`"))
            expected = reference(*arguments)
            if result is None and expected is not None and printed.getvalue().strip():
                raise DisagreementError(
                    said("it prints {} and returns None: use `return`", _in_words(printed.getvalue().strip()))
                )
            if not same(result, expected):
                whole = isinstance(result, float) and result == expected and not isinstance(expected, float)
                text = "it gives {}, expected the whole number {}" if whole else "it gives {}, expected {}"
                raise DisagreementError(said(text, _in_words(result), _in_words(expected)))
            return True

        return self.asks(what, holds, question, hint, first=first, times=times)

    def equals(self, expected: Any, hint: Hints = "") -> Exercise:
        """Return the exercise with the requirement that the answer is `same` as a value, which no verdict reveals.

        An exercise without a kind of answer takes the kind of the value.
        """
        exercise = self if self.expects is not None else replace(self, expects=_kind_of(expected))
        return exercise.requires("it is the expected answer", lambda answer: same(answer, expected), hint)

    def check(self, answer: Any = ..., seed: int | None = None, *, tries: Tries | None = None) -> Verdict:
        """Return the verdict on an answer: the requirements it meets, up to the first one that it does not.

        `seed` makes the random questions the same each time. `tries` counts the different wrong answers, on which the
        number of hints depends; without it, they are counted for as long as this process runs.
        """
        # No answer yet: `...`, or a pair, list or table in which one place still is
        parts = answer.values() if type(answer) is dict else answer if type(answer) in (list, tuple) else ()
        if answer is ... or any(part is ... for part in parts):
            return self._verdict(None)
        wrong = _kind_mismatch(answer, self.expects, self.expected_kind)
        if wrong is not None:
            return self._verdict(False, (), said("the answer is {}", said(wrong[0])), wrong[1])
        rng, met = np.random.default_rng(seed), list[str]()
        deadline = Deadline(self.seconds)
        try:
            with deadline, limits.override(instructions=self.instructions):
                for requirement in self.requirements:
                    why = _reason_not_met(requirement, answer, rng)
                    if why is not None:
                        break
                    met.append(requirement.what)
                else:
                    return self._verdict(True, tuple(met))
        except deadline.error as error:
            deadline.close()
            requirement = self.requirements[len(met)]
            why = said("{}: does each loop, and each call of itself, come closer to an end?", error)
        except NoAnswerError as error:
            return self._verdict(None, todo=said("no answer yet: {}.", error))
        hints = requirement.hints or _as_hints(self.hint)
        wrong_answers = (KERNEL if tries is None else tries).count(self.title, requirement.what, answer)
        return self._verdict(False, tuple(met), requirement.what, why, _shown_hints(hints, wrong_answers))

    def solution(self, answer: Any) -> Verdict:
        """Return the verdict on the teacher's own answer, under a title that says so; it does not count as a try."""
        return replace(self, title=f"{self.title} (the solution)").check(answer, tries=Tries())

    def _verdict(
        self,
        passed: bool | None,
        met: tuple[str, ...] = (),
        missing: str = "",
        why: str = "",
        hint: str = "",
        todo: str = Verdict.todo,
    ) -> Verdict:
        return Verdict(self.title, passed, met, missing, why, hint, todo, len(self.requirements), self.points)

    def _with_requirement(self, requirement: Requirement) -> Exercise:
        return replace(self, requirements=(*self.requirements, requirement))


def _shown_hints(hints: tuple[str, ...], wrong_answers: int) -> str:
    """Return the line of hints after a number of different wrong answers to one requirement."""
    shown = "; ".join(map(said, hints[: wrong_answers - 1]))  # none after the first
    if not shown:
        return said("(the next try comes with a hint)") if hints else ""
    return said("hint: {}", shown)


class NoAnswerError(Exception):
    """An answer that is not one yet, such as a function that returns `...`. Only ever part of a verdict."""


class DisagreementError(Exception):
    """Two results that should be the same: the message shows both. Only ever part of a verdict."""


def _as_hints(hint: Hints) -> tuple[str, ...]:
    """Return one hint, several or none as a tuple."""
    if isinstance(hint, str):
        return (hint,) if hint else ()
    return tuple(hint)


def _reason_not_met(requirement: Requirement, answer: Any, rng: np.random.Generator) -> str | None:
    """Return None when a requirement holds, else the reason, "" where none is known."""
    if requirement.question is None:
        return _failure(requirement.holds, (answer,))
    questions = [_as_arguments(question) for question in requirement.first]
    while len(questions) < len(requirement.first) + requirement.times:
        questions.append(_as_arguments(requirement.question(rng)))
    for arguments in questions:
        why = _failure(requirement.holds, (answer, *arguments))
        if why is not None:
            asked = ", ".join(_in_words(argument) for argument in arguments)
            return said("for {}: {}", asked, why) if why else said("for {}", asked)
    return None


def _as_arguments(question: Any) -> tuple[Any, ...]:
    return question if isinstance(question, tuple) else (question,)


def _failure(holds: Callable[..., Any], arguments: tuple[Any, ...]) -> str | None:
    """Return None where `holds(*arguments)`, else the reason, "" where none is known."""
    try:
        return None if holds(*arguments) else ""
    except PasslabError as error:
        return str(error)
    except DisagreementError as error:
        return str(error)
    except NoAnswerError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - answers are code of students: they may raise anything
        return said("asking this raised {}: {}", type(error).__name__, error)


# ---------------------------------------------------------------------------------------------- kinds of answers
_KIND_NAMES: dict[Any, tuple[str, str]] = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a text", "texts"),
    bool: ("True or False", "truth values"),
    list: ("a list", "lists"),
    tuple: ("a tuple", "tuples"),
    dict: ("a dictionary", "dictionaries"),
    type: ("a class", "classes"),
    callable: ("a function", "functions"),
    IRModule: ("a program (a module)", "programs"),
    np.ndarray: ("an array", "arrays"),
}
_COUNTS = {2: "a pair", 3: "a triple"}


def _kind_mismatch(answer: Any, expects: Any, words: str) -> tuple[str, str] | None:
    """Return what kind of answer is expected and what it is instead; None where the kind is right."""
    try:
        if expects is None or _is_kind(answer, expects):
            return None
    except Exception:  # noqa: BLE001 - an answer is code of a learner: even its `__class__` may raise
        return words or _kind_words(expects), said("asking yours for its class raises an error")
    return words or _kind_words(expects), said("yours is {}", _in_words(answer))


# recurses: kinds are written by a teacher, a few levels deep
def _is_kind(answer: Any, expects: Any) -> bool:
    if isinstance(expects, tuple):
        alike = isinstance(answer, (tuple, list)) and len(answer) == len(expects)
        return alike and all(_is_kind(part, kind) for part, kind in zip(answer, expects, strict=True))
    if isinstance(expects, list):
        return isinstance(answer, (tuple, list)) and all(_is_kind(part, expects[0]) for part in answer)
    if expects is int:
        return isinstance(answer, (int, np.integer)) and not isinstance(answer, bool)  # a bool is an int in Python
    if expects is float:
        return isinstance(answer, (int, float, np.integer, np.floating)) and not isinstance(answer, bool)
    if isinstance(expects, type):
        return isinstance(answer, expects)
    try:
        return bool(expects(answer))
    except Exception:  # noqa: BLE001 - a test of a kind that raises about a value says that it is another kind
        return False


def _kind_words(expects: Any) -> str:
    if isinstance(expects, tuple):
        count = _COUNTS.get(len(expects), f"a list of {len(expects)}")
        plural = {
            _KIND_NAMES[kind][1] for kind in expects if not isinstance(kind, (tuple, list)) and kind in _KIND_NAMES
        }
        return f"{count} of {plural.pop()}" if len(plural) == 1 else f"{count}: {', '.join(map(_kind_words, expects))}"
    if isinstance(expects, list):
        kind = expects[0]
        plural_words = "lists" if isinstance(kind, (tuple, list)) else _KIND_NAMES.get(kind, ("", "values"))[1]
        return f"a list of {plural_words}"
    name = getattr(expects, "__name__", "value")
    return _KIND_NAMES[expects][0] if expects in _KIND_NAMES else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


# recurses: values are written by a teacher, a few levels deep
def _kind_of(expected: Any) -> Any:
    """Return the kind of a value, for `expects`."""
    if isinstance(expected, bool):  # before int: a bool is one
        return bool
    if isinstance(expected, (int, np.integer)):
        return int
    if isinstance(expected, (float, np.floating)):
        return float
    if isinstance(expected, (tuple, list)) and expected:
        kinds = [_kind_of(part) for part in expected]
        alike = isinstance(expected, list) and all(kind == kinds[0] for kind in kinds)
        return [kinds[0]] if alike else tuple(kinds)
    if isinstance(expected, Type):
        return Type
    for kind in (str, dict, IRModule, Expr, np.ndarray):
        if isinstance(expected, kind):
            return kind
    return None


def _in_words(value: Any, most: int = 100) -> str:
    """Return a value as a short text: its class and its contents, if it can be written."""
    try:
        return _described(value, most)
    except Exception:  # noqa: BLE001 - an answer is code of a learner: its `repr` may raise, and numbers may be too long
        return f"an object of class {type(value).__name__}"


def _described(value: Any, most: int) -> str:
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (bool, int, float, list, tuple, dict, set, np.generic)):
        text = f"{type(value).__name__} {value!r}" if isinstance(value, (bool, set)) else repr(value)
    elif isinstance(value, str):
        text = f"the text {value!r}"
    elif isinstance(value, np.ndarray):
        text = f"an array of {value.dtype}{list(value.shape)}: {np.array2string(value, threshold=8)}"
    else:
        text = f"an object of class {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


# recurses: sequences and tables that a person wrote as an answer
def same(answer: Any, expected: Any) -> bool:
    """Whether two values count as the same answer.

    Programs are compared by structure, types by identity, arrays by dtype, shape and every element (NaN is NaN), lists
    and tuples alike element by element, anything else with `==`.

    >>> passlab.course.same((1, 2), [1, 2.0]), passlab.course.same(1, 2)
    (True, False)
    """
    if isinstance(expected, (IRModule, Expr)):
        return isinstance(answer, (IRModule, Expr)) and structural_equal(answer, expected)
    if isinstance(expected, Type):
        return answer is expected
    if isinstance(expected, np.ndarray):
        if not isinstance(answer, np.ndarray) or answer.dtype != expected.dtype or answer.shape != expected.shape:
            return False
        numbers = expected.dtype.kind in "fc"  # only these have NaN; `equal_nan` fails for strings and objects
        return bool(np.array_equal(answer, expected, equal_nan=numbers))
    if isinstance(expected, Mapping):
        alike = isinstance(answer, Mapping) and answer.keys() == expected.keys()
        return alike and all(same(answer[key], expected[key]) for key in expected)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        alike = isinstance(answer, Sequence) and not isinstance(answer, str) and len(answer) == len(expected)
        return alike and all(same(a, e) for a, e in zip(answer, expected, strict=True))
    # Plain values are compared: an answer with an `__eq__` of its own is not asked whether it is right.
    value, wanted = _plain(answer), _plain(expected)
    if type(wanted) is float and type(value) is int:
        value = float(value)
    return type(value) is type(wanted) and bool(wanted == value)


def _plain(value: Any) -> Any:
    """Return the number or text of an object of Python's or NumPy's classes, or of one derived from these."""
    if isinstance(value, np.generic):
        return np.generic.item(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return str.__str__(value) if isinstance(value, str) else value
