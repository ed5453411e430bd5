"""`Predict`: questions that a learner answers before he looks. The answer, and the text about it, come after the guess.

predict = check.predict
predict(1)          asks: a choice, a number, or words; in a notebook a form takes the guess
predict(1, "b")     takes the guess in code
predict.look(1)     the answer and the lesson's text about it, once there is a guess
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from passlab.course.given import prose_of
from passlab.course.progress import Progress
from passlab.errors import Diagnostic, PassTypeError, visible

_MISSING = object()
LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Question:
    """A question before a cell is run: with `choices` a choice, else a number, or words where `right` is a text.

    `right` is the letter of a choice, a number, or the answer in words, which is not compared with the guess.
    """

    text: str
    choices: tuple[str, ...]
    right: str | float

    def kept(self, guess: Any) -> str | None:
        """Return a guess as it is kept and shown, None for one of another kind."""
        if self.choices:
            word = guess.strip().removesuffix(".") if isinstance(guess, str) else ""
            by_text = {choice.lower(): letter for letter, choice in zip(LETTERS, self.choices, strict=False)}
            letter = by_text.get(word.lower(), word.lower())
            return letter if letter and letter in LETTERS[: len(self.choices)] else None
        if isinstance(self.right, str):
            return visible(guess.strip()) if isinstance(guess, str) and guess.strip() else None
        try:
            return f"{float(guess):g}" if not isinstance(guess, bool) else None
        except (TypeError, ValueError, OverflowError):
            return None

    @property
    def answer(self) -> str:
        """The answer as it is shown."""
        return self.said(self.right if isinstance(self.right, str) else f"{self.right:g}")

    def said(self, kept: str) -> str:
        """Return a guess as it is shown."""
        return f"{kept}: {self.choices[LETTERS.index(kept)]}" if self.choices else kept

    def is_right(self, kept: str) -> bool | None:
        """Whether a guess is right, None where only the learner can say."""
        if self.choices:
            return kept == self.right
        return None if isinstance(self.right, str) else kept == f"{self.right:g}"


QUESTIONS: dict[str, list[Question]] = {}  # of each lesson, in order


def one_of(text: str, *choices: str, right: str) -> Question:
    """Return a question with choices; `right` is a letter."""
    assert right in LETTERS[: len(choices)]
    return Question(text, choices, right)


def a_number(text: str, right: float) -> Question:
    """Return a question whose answer is a number."""
    return Question(text, (), float(right))


def in_words(text: str, right: str) -> Question:
    """Return a question that is answered in words."""
    return Question(text, (), right)


def predicts(lesson: str, *questions: Question) -> None:
    """Register the questions of a lesson, given by its label, in order."""
    QUESTIONS[lesson] = list(questions)


@dataclass(frozen=True)
class Asked:
    """A prediction as a cell shows it: the question, the choices, and the guess if there is one."""

    question: Question
    number: int
    guess: str
    take: Callable[[Any], Asked]
    refused: str = ""
    trouble: str = ""

    def __repr__(self) -> str:
        lines = [f"? {self.question.text}"]
        lines += [f"    {letter}  {text}" for letter, text in zip(LETTERS, self.question.choices, strict=False)]
        if self.refused:
            lines.append(f"  {self.refused}")
        elif self.guess:
            lines.append(f"  Your guess: {self.question.said(self.guess)}. Now run the cells below.")
        lines += [f"  ({self.trouble})"] if self.trouble else []
        lines += [] if self.guess else [f"  Guess: predict({self.number}, {self.example})"]
        return "\n".join(lines)

    @property
    def example(self) -> str:
        """How a guess is written in code."""
        if self.question.choices:
            return '"a"'
        return '"..."' if isinstance(self.question.right, str) else "0"


@dataclass(frozen=True)
class Looked:
    """What became of a prediction: the guess next to the answer, and the lesson's text about it."""

    verdict: str
    prose: str = ""

    def __repr__(self) -> str:
        return "\n\n".join(part for part in (self.verdict, self.prose) if part)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(part for part in (f"*{self.verdict}*" if self.prose else self.verdict, self.prose) if part)


class Predict:
    """The predictions of a lesson; calling it with a number asks, and takes a guess."""

    def __init__(self, lesson: str, progress: Progress) -> None:
        self._lesson = lesson
        self._progress = progress
        self._guesses: dict[int, str] = {}

    def __call__(self, number: int, guess: Any = _MISSING) -> Asked:
        """Return the question; with a guess, keep it. Raises `PasslabError` for a number that the lesson lacks."""
        question = self._question(number)

        def take(given: Any) -> Asked:
            return self(number, given)

        if guess is _MISSING or guess is ...:
            return Asked(question, number, self._guess(number), take)
        kept = question.kept(guess)
        if kept is None:
            return Asked(question, number, "", take, f"That is not {_kind(question)}.")
        self._guesses[number] = kept
        self._progress.guessed(self._title(number), kept)
        return Asked(question, number, kept, take, trouble=self._progress.trouble)

    def look(self, number: int) -> Looked:
        """Return the answer and the text about it, or a sentence if there is no guess yet."""
        question = self._question(number)
        guess = self._guess(number)
        if not guess:
            return Looked(f"\u25cb Guess first: answer `predict({number})` above, then run this cell.")
        verdict = f"You guessed {question.said(guess)}. "
        right = question.is_right(guess)
        verdict += "That is right." if right else f"The answer: {question.answer}."
        return Looked(verdict, prose_of(self._lesson, number))

    def _question(self, number: Any) -> Question:
        questions = QUESTIONS.get(self._lesson, [])
        if not isinstance(number, int) or not 1 <= number <= len(questions):
            expected = f"a number from 1 to {len(questions)}"
            raise PassTypeError(Diagnostic("the lesson has no such prediction", expected=expected, found=repr(number)))
        return questions[number - 1]

    def _guess(self, number: int) -> str:
        guess = self._guesses.get(number) or self._progress.guess(self._title(number))
        kept = self._question(number).kept(guess) if guess else None
        return kept or ""

    def _title(self, number: int) -> str:
        return f"prediction {self._lesson}.{number}"


def _kind(question: Question) -> str:
    """Return what a guess is, in words."""
    if question.choices:
        return f"one of {', '.join(LETTERS[: len(question.choices)])}"
    return "a text" if isinstance(question.right, str) else "a number"
