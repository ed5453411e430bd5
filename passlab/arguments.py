"""Arguments that a user gives: numbers of commands and magics, and arguments of functions, held to their
annotations.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import types
import typing
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar, overload

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
_SPECIAL = ("__init__", "__call__", "__getitem__", "__setitem__", "__delitem__", "__contains__")


@overload
def checked(what: type[R]) -> type[R]: ...
@overload
def checked(what: Callable[P, R]) -> Callable[P, R]: ...
def checked(what: Any) -> Any:
    """Return a function that explains a failure by the arguments that do not have the types of its annotations.

    Where it raises an error that is not passlab's own, such an argument, or a parameter that does not exist, ends in a
    `PassTypeError`, which names the parameter, what it takes, and what was found. Types that say nothing at run time,
    such as protocols, are not checked; of a list or mapping only the outermost elements are. Of a class, the public
    methods that it defines become such functions. A call that succeeds takes 0.2 microseconds more.
    """
    if not isinstance(what, type):
        return _checked_function(what)
    for name, member in list(vars(what).items()):
        function = getattr(member, "__func__", member)  # of a class method or static method
        bound = 0 if isinstance(member, staticmethod) else 1
        if (name in _SPECIAL or not name.startswith("_")) and _parameter_count(function) > bound:
            held = _checked_function(function)
            setattr(what, name, held if function is member else type(member)(held))
    return what


def checked_own(cls: type) -> None:
    """Check the arguments of a class of passlab; of a user's class of passes or views the annotations are his own."""
    if getattr(cls, "__module__", "").startswith("passlab."):
        checked(cls)


def _parameter_count(function: Any) -> int:
    """Return how many parameters a function has; 0 for what fails elsewhere: generators and abstract methods."""
    if not isinstance(function, types.FunctionType) or inspect.isgeneratorfunction(function):
        return 0
    if getattr(function, "__isabstractmethod__", False) or hasattr(function, "is_checked"):
        return 0
    code = function.__code__
    stars = sum(bool(code.co_flags & flag) for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS))
    return code.co_argcount + code.co_kwonlyargcount + stars


def _checked_function(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PasslabError:
            raise
        except Exception as error:
            problem = _misfit(function, args, kwargs, error)
            if problem is None:
                raise
        raise PassTypeError(problem)

    vars(call)["is_checked"] = True
    return call


def _misfit(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> Diagnostic | None:
    """Return which argument does not fit its parameter, so that a call raised an error; None where all do."""
    signature = inspect.signature(function)
    title = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as mismatch:
        return _misspelled(title, signature, kwargs, str(mismatch))
    hints = _hints(function)
    for name, value in given.items():
        kind, hint = signature.parameters[name].kind, hints.get(name, Any)
        values = value if kind is inspect.Parameter.VAR_POSITIONAL else (value,) if kind in _PLAIN else ()
        for one in values:
            if not _fits(one, hint):
                text = repr(one)
                return Diagnostic(
                    f"`{name}` of `{title}` is {_in_words(hint)}",
                    found=text if len(text) <= 60 else f"a value of type {type(one).__name__}",
                )
            if isinstance(error, UnicodeEncodeError) and isinstance(one, str) and not one.isascii():
                return Diagnostic(f"`{name}` of `{title}` holds half a character", found=ascii(one)[:60])
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
    """The names of a module, with those that it imports for type checkers only; a name that is unknown is `Any`."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        module = sys.modules.get(self.get("__name__", ""))
        target = _type_imports(module).get(name) if module else None
        try:
            if target is None:
                return Any
            loaded = importlib.import_module(target[0])
            return getattr(loaded, target[1]) if target[1] else loaded
        except (ImportError, AttributeError):
            return Any


@cache
def _type_imports(module: types.ModuleType) -> dict[str, tuple[str, str]]:
    """Return the names that a module imports under `if TYPE_CHECKING`, with the module and name of each."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return {}
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    found = {}
    for node in (node for block in blocks for node in block.body):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            module_name = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            found[alias.asname or alias.name] = (module_name, alias.name if isinstance(node, ast.ImportFrom) else "")
    return found


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, localns=_Names(getattr(inspect.unwrap(function), "__globals__", {})))
    except (NameError, TypeError, AttributeError, SyntaxError):  # an annotation that only a type checker can read
        return {}


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
    if typing.is_typeddict(origin):
        return isinstance(value, dict)
    if origin is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True
    if origin in _LISTS and (isinstance(value, (str, bytes)) or not isinstance(value, origin)):
        return False
    if origin in _LISTS and type(value).__name__ == "ndarray":  # without an import of NumPy, which takes time
        return not inner or inner[0] is Any or _fits(value.item(0) if value.size else 0, inner[0])
    if origin in _LISTS and isinstance(value, (list, tuple, set, frozenset)) and len(inner) in (1, 2):
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
