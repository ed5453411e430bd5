"""What a compiled module carries with it: the driver of calls, data values, checks of arguments.

The source of these definitions is copied into the modules, so they may use nothing but NumPy and the standard library,
and nothing of passlab. A module takes along only what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from types import GeneratorType
from typing import Any

import numpy as np


class RunError(Exception):
    """The program cannot go on with what it was given."""


def diagnostic(message: str, *_: Any, **__: Any) -> str:
    """Return what is wrong; the places in Relay text that passlab would show too are not known here."""
    return message


class limits:  # noqa: N801 - stands for the module of that name
    """Caps on sizes: outside passlab there are none but the machine's."""

    @staticmethod
    def check(name: str, value: float, what: str) -> None:
        """Accept any size."""


def share(job: Callable[[Iterator[int]], None], pieces: int) -> None:
    """Run a job on all its pieces: outside passlab no thread helps."""
    job(iter(range(pieces)))


def share_range(work: Callable[[int, int], None], length: int, size: int) -> None:
    """Do the work on a whole range."""
    work(0, length)


def thread_count() -> int:
    """Return 1: no thread helps."""
    return 1


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


class TensorType:
    """The shape and dtype of an array."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype


class Call:
    """A call in tail position: the caller is done, so the driver makes the call in its place."""

    __slots__ = ("function", "args")

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function = function
        self.args = args


def run(value: Any) -> Any:
    """Drive a program to its result.

    A function that calls functions is a generator: it yields a call and is sent the result. The calls that wait stand
    in a list, so that depth costs memory and never Python's stack. A `Call` replaces its caller.
    """
    waiting: list[Any] = []
    while True:
        if type(value) is Call:
            value = value.function(*value.args)
            continue
        if type(value) is GeneratorType:
            waiting.append(value)
            value = None
        elif not waiting:
            return value
        try:
            value = waiting[-1].send(value)
        except StopIteration as done:
            waiting.pop()
            value = done.value


class Data:
    """A value of a data type: one class for each constructor, its fields in order."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    tag = 0

    def __repr__(self) -> str:
        return type(self).__name__ if not self.__match_args__ else f"{type(self).__name__}(...)"


class Ref:
    """A cell whose content can be replaced."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def write(self, value: Any) -> tuple[()]:
        """Replace the content."""
        self.value = value
        return ()


class Tensor:
    """The dtype and shape an argument must have; None is a dimension of any size."""

    def __init__(self, dtype: str, *shape: int | None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape

    def fit(self, name: str, value: Any) -> Any:
        """Return an argument as an array. Raises `RunError` when it does not fit."""
        array = np.asarray(value, None if isinstance(value, np.ndarray) else self.dtype)
        same = len(array.shape) == len(self.shape) and all(
            want is None or want == length for want, length in zip(self.shape, array.shape, strict=True)
        )
        if array.dtype != self.dtype or not same:
            raise RunError(f"{name} is {array.dtype}{array.shape} and must be {self.dtype}{self.shape}")
        return array


# recurses: the type of an argument, as deep as its author nested tuples
def fitted(name: str, kind: Any, value: Any) -> Any:
    """Return an argument as its kind asks: a `Tensor`, a tuple of kinds, or None for anything."""
    if isinstance(kind, Tensor):
        return kind.fit(name, value)
    if kind is None:
        return value
    if not isinstance(value, (tuple, list)) or len(value) != len(kind):
        raise RunError(f"{name} must be a tuple of {len(kind)}")
    return tuple(fitted(f"{name}.{i}", k, v) for i, (k, v) in enumerate(zip(kind, value, strict=True)))


def arrays(value: Any) -> Any:
    """Return a result, a tuple at any depth, with NumPy's scalars as arrays."""
    result: list[Any] = []
    waiting: list[tuple[Any, int]] = [(value, -1)]  # values, and tuples with the number of fields that are made
    while waiting:
        at, count = waiting.pop()
        if count >= 0:
            result[len(result) - count :] = [tuple(result[len(result) - count :])]
        elif isinstance(at, tuple):
            waiting.append((at, len(at)))
            waiting.extend((field, -1) for field in reversed(at))
        else:
            result.append(np.asarray(at) if isinstance(at, np.generic) else at)
    return result[0]


def entry(function: Callable[..., Any], **kinds: Any) -> Callable[..., Any]:
    """Make a function of the program callable from outside: it checks its arguments and is driven to its result."""

    @wraps(function)
    def checked(*args: Any) -> Any:
        if len(args) != len(kinds):
            raise RunError(f"{function.__name__} takes {len(kinds)} arguments ({', '.join(kinds)}), not {len(args)}")
        arguments = [fitted(n, k, v) for (n, k), v in zip(kinds.items(), args, strict=True)]
        with np.errstate(all="ignore"):  # NaN and infinity are values here, not accidents
            return arrays(run(function(*arguments)))

    return checked
