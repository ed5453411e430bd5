"""Arguments that a user gives: numbers of commands and magics, and arguments of functions, held to their
annotations.
"""

from __future__ import annotations

import builtins
import inspect
import types
import typing
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from passlab.errors import Diagnostic, PasslabError, PassTypeError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

# ---------------------------------------------------------------- options of commands and magics
SEED_IS = "a seed is a whole number from 0 on"


def _from(kind: type[int] | type[float], least: float, what: str) -> Callable[[str], Any]:
    """Return the type of an option that takes numbers from a least one on."""

    def read(text: str) -> int | float:
        try:
            number = kind(text)
        except ValueError:
            number = kind(-1)
        if not number >= least:  # NaN is not either
            raise ArgumentTypeError(f"{what}; found {text!r}")
        return number

    return read


seed = _from(int, 0, SEED_IS)
count = _from(int, 1, "expected a whole number from 1 on")
count_from_zero = _from(int, 0, "expected a whole number from 0 on")
seconds = _from(float, 0, "expected a time from 0 on")


def check_seed(value: Any) -> None:
    """Raise `PassTypeError` for a seed that is not a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise PassTypeError(Diagnostic(SEED_IS, found=repr(value)))


# ---------------------------------------------------------------- arguments of public functions
def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that explains a failure by the arguments that do not have the types of its annotations.

    Where it raises an error that is not passlab's own, such an argument, or a parameter that does not exist, ends in a
    `PassTypeError`, which names the parameter, what it takes, and what was found. Types that say nothing at run time,
    such as protocols, are not checked; of a list or mapping only the outermost elements are.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PasslabError:
            raise
        except Exception:
            problem = _misfit(function, args, kwargs)
            if problem is None:
                raise
        raise PassTypeError(problem)

    return call


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Diagnostic | None:
    """Return which argument does not fit its parameter; None where all do."""
    signature, title = inspect.signature(function), function.__qualname__.removesuffix(".__init__")
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return _misspelled(title, signature, kwargs, str(error))
    hints = _hints(function)
    for name, value in given.items():
        hint = hints.get(name, Any)
        if signature.parameters[name].kind in _PLAIN and not _fits(value, hint):
            text = repr(value)
            return Diagnostic(
                f"`{name}` of `{title}` is {_in_words(hint)}",
                found=text if len(text) <= 60 else f"a value of type {type(value).__name__}",
            )
    return None


_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NUMBERS: dict[Any, type] = {int: Integral, float: Real}  # those of NumPy as well
_LISTS = (list, tuple, set, frozenset, Sequence, Iterable)
_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "True or False",
    type(None): "None",
    Mapping: "a mapping",
    dict: "a mapping",
    Callable: "a function",
    PathLike: "a path",
    **dict.fromkeys(_LISTS, "a list"),
}


def _misspelled(title: str, signature: inspect.Signature, kwargs: Mapping[str, Any], problem: str) -> Diagnostic:
    """Return what is wrong with arguments that do not fit the parameters."""
    names = [name for name, p in signature.parameters.items() if p.kind in _PLAIN and name != "self"]
    wrong = next((name for name in kwargs if name not in names), None)
    if wrong is None:
        return Diagnostic(f"`{title}`: {problem}", expected=f"{title}({', '.join(names)})")
    hint = did_you_mean(wrong, names) or f"its parameters are {', '.join(names)}"
    return Diagnostic(f"`{title}` has no parameter `{wrong}`", hint=hint)


class _Names(dict[str, Any]):
    """The names of a module; those that only type checkers import are `Any`."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function, localns=_Names(getattr(function, "__globals__", {})))


# recurses: types inside a type
def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has a type, as far as that can be seen at run time."""
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in inner)
    if origin is Callable:
        return callable(value)
    if origin in _NUMBERS:
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    if origin is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True
    if origin in _LISTS and (isinstance(value, (str, bytes)) or not isinstance(value, origin)):
        return False
    if origin in _LISTS and isinstance(value, (list, tuple)) and len(inner) in (1, 2):
        return all(_fits(element, inner[0]) for element in value) if inner[-1] in (inner[0], ...) else True
    if isinstance(value, dict) and len(inner) == 2 and issubclass(dict, origin):
        return all(_fits(key, inner[0]) and _fits(part, inner[1]) for key, part in value.items())
    return isinstance(value, origin)


# recurses: types inside a type
def _in_words(hint: Any) -> str:
    """Return what a parameter takes, in words."""
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        *first, last = dict.fromkeys(_in_words(part) for part in inner)
        return f"{', '.join(first)} or {last}" if first else last
    if origin in _LISTS and inner and inner[0] is str:
        return "a list of names"
    name = getattr(origin, "__name__", str(origin))
    return _WORDS.get(origin, f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}")
