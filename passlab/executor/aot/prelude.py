"""The run-time support of compiled modules: the driver of calls, ADT values, checks of arguments.

The source of these definitions is copied into a module that needs them, so they may import only NumPy and the standard
library, not passlab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import GeneratorType
from typing import Any

import numpy as np


class ProgramError(Exception):
    """The program failed on its arguments."""


@dataclass(frozen=True)
class Finding:
    """What is wrong, as passlab says it: outside passlab there are no locations in Relay text."""

    message: str
    place: Any = None
    expected: str | None = None
    found: str | None = None
    notes: tuple[tuple[str, Any], ...] = ()
    hint: str | None = None

    def __str__(self) -> str:
        lines = [("", self.message), ("\n  expected: ", self.expected), ("\n  found:    ", self.found)]
        lines += [("\n  note: ", note) for note, _ in self.notes]
        return "".join(label + text for label, text in [*lines, ("\n  help: ", self.hint)] if text is not None)


class limits:  # noqa: N801 - stands for the module of that name
    """Limits of sizes: outside passlab there are no limits."""

    @staticmethod
    def check(name: str, value: float, what: str) -> None:
        """Accept any size."""


def share(job: Callable[[Iterator[int]], None], pieces: int) -> None:
    """Run a job on all its pieces in this thread."""
    job(iter(range(pieces)))


def share_range(work: Callable[[int, int], None], length: int, size: int) -> None:
    """Do the work on a whole range in this thread."""
    work(0, length)


def thread_count() -> int:
    """Return 1: work is not shared between threads."""
    return 1


def free_threads() -> int:
    """Return 1: work is not shared between threads."""
    return 1


def note_product(multiplications: int) -> None:
    """Ignore it: no other threads wait for the threads of BLAS."""


class Attributes:
    """The attributes of one call of an operator."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def with_fields(self, **changes: Any) -> Attributes:
        """Return a copy with some changed."""
        return Attributes(**{**self.__dict__, **changes})


class ArrayType:
    """The shape and dtype of an array."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype


class TailCall:
    """A call in tail position, which the driver executes after its caller has returned."""

    __slots__ = ("function", "args")

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function = function
        self.args = args


def run(value: Any) -> Any:
    """Drive a program to its result.

    A function that calls functions is a generator: it yields a call and is sent the result. The active calls are in a
    list, so deep recursion needs memory, not Python's stack. A `TailCall` replaces its caller.
    """
    frames: list[Any] = []
    while True:
        if type(value) is TailCall:
            value = value.function(*value.args)
            continue
        if type(value) is GeneratorType:
            frames.append(value)
            value = None
        elif not frames:
            return value
        try:
            value = frames[-1].send(value)
        except StopIteration as stop:
            frames.pop()
            value = stop.value


class Data:
    """The base class of ADT values: one subclass for each constructor, with its fields in order."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    tag = 0

    def __repr__(self) -> str:
        return type(self).__name__ if not self.__match_args__ else f"{type(self).__name__}(...)"


class Ref:
    """A mutable reference."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def write(self, value: Any) -> tuple[()]:
        """Replace the content."""
        self.value = value
        return ()


class Tensor:
    """The required dtype and shape of an argument; None is a dimension of any size."""

    def __init__(self, dtype: str, *shape: int | None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape

    def fit(self, name: str, value: Any) -> Any:
        """Return an argument as an array. Raises `ProgramError` if it does not fit."""
        array = np.asarray(value, None if isinstance(value, np.ndarray) else self.dtype)
        same = len(array.shape) == len(self.shape) and all(
            expected is None or expected == length for expected, length in zip(self.shape, array.shape, strict=True)
        )
        if array.dtype != self.dtype or not same:
            raise ProgramError(f"{name} is {array.dtype}{array.shape} and must be {self.dtype}{self.shape}")
        return array


# recurses: as deep as the type of the argument nests tuples
def fit_argument(name: str, check: Any, value: Any) -> Any:
    """Return a checked argument. `check` is a `Tensor`, a tuple of checks, or None for any value."""
    if isinstance(check, Tensor):
        return check.fit(name, value)
    if check is None:
        return value
    if not isinstance(value, (tuple, list)) or len(value) != len(check):
        raise ProgramError(f"{name} must be a tuple of {len(check)}")
    return tuple(fit_argument(f"{name}.{i}", c, v) for i, (c, v) in enumerate(zip(check, value, strict=True)))


def arrays(value: Any) -> Any:
    """Return nested tuples with NumPy's scalars in them as arrays."""
    result: list[Any] = []
    stack: list[tuple[Any, int]] = [(value, -1)]  # a value and -1, or a tuple whose fields are done and their number
    while stack:
        at, count = stack.pop()
        if count >= 0:
            result[len(result) - count :] = [tuple(result[len(result) - count :])]
        elif isinstance(at, tuple):
            stack.append((at, len(at)))
            stack.extend((field, -1) for field in reversed(at))
        else:
            result.append(np.asarray(at) if isinstance(at, np.generic) else at)
    return result[0]


def entry(function: Callable[..., Any], **checks: Any) -> Callable[..., Any]:
    """Return a function that checks its arguments, calls `function` and drives it to its result."""

    @wraps(function)
    def call_entry(*args: Any) -> Any:
        if len(args) != len(checks):
            names = ", ".join(checks)
            raise ProgramError(f"{function.__name__} takes {len(checks)} arguments ({names}), not {len(args)}")
        arguments = [fit_argument(n, c, v) for (n, c), v in zip(checks.items(), args, strict=True)]
        with np.errstate(all="ignore"):  # NaN and infinity are valid results of a program
            return arrays(run(function(*arguments)))

    return call_entry
