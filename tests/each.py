"""`@each("name", NAMES)`: a law over many subjects as one test, for pytest's work on a test takes longer than a short law."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


class Failures:
    """Subtests of which only those that fail are reported, with the subjects of every `each` around them."""

    def __init__(self, subtests: pytest.Subtests, subjects: dict[str, str] | None = None) -> None:
        self.reported = subtests
        self.subjects = subjects or {}

    @contextmanager
    def test(self, **subjects: str) -> Iterator[Failures]:
        try:
            yield Failures(self.reported, {**self.subjects, **subjects})
        except pytest.skip.Exception as skipped:
            raise AssertionError(f"leave {subjects} out of the subjects: a skip would end the test") from skipped
        except Exception:
            with self.reported.test(**self.subjects, **subjects):
                raise


def each(
    names: str | Sequence[str],
    subjects: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, as one test that goes on where a subject fails, and reports each that does.

    The subjects share the fixtures of the test.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    subjects = list(subjects)
    values = subjects if len(names) > 1 else [(subject,) for subject in subjects]
    labels = [*map(ids, subjects)] if callable(ids) else list(subjects if ids is None else ids)
    assert subjects

    def one_test(law: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(law)

        @functools.wraps(law)
        def test(*itself: Any, subtests: pytest.Subtests | Failures, **others: Any) -> None:
            failures = subtests if isinstance(subtests, Failures) else Failures(subtests)
            for label, value in zip(labels, values, strict=True):
                with failures.test(**{", ".join(names): str(label)}) as inner:
                    nested = {"subtests": inner} if "subtests" in signature.parameters else {}
                    law(*itself, **dict(zip(names, value, strict=True)), **nested, **others)

        others = [p for name, p in signature.parameters.items() if name not in (*names, "subtests")]
        given = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = signature.replace(parameters=[*others, given])  # type: ignore[attr-defined]
        return test

    return one_test
