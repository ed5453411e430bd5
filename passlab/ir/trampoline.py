"""Running generators that call each other, without Python's stack: depth costs memory only."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, TypeVar

from passlab.errors import LimitError

T = TypeVar("T")


def run_trampoline(work: Generator[Any, Any, T], most: int = sys.maxsize) -> T:
    """Run a generator and those it yields, and send back their results; return the result of the first.

    Raises `LimitError` where more than `most` of them wait for each other.
    """
    stack: list[Generator[Any, Any, Any]] = [work]
    result: Any = None
    while stack:
        try:
            part = stack[-1].send(result)
        except StopIteration as done:
            stack.pop()
            result = done.value
        else:
            stack.append(part)
            result = None
            if len(stack) > most:
                raise LimitError(f"this text nests more than {most:,} constructs (the limit `nesting`)")
    return result  # type: ignore[no-any-return]
