"""Running generators that call each other, without Python's stack: depth costs memory only."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")


def drive(work: Generator[Any, Any, T]) -> T:
    """Run a generator and those it yields, and send back their results; return the result of the first."""
    stack: list[Generator[Any, Any, Any]] = [work]
    result: Any = None
    while True:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as done:
            stack.pop()
            result = done.value
            if not stack:
                return result  # type: ignore[no-any-return]
