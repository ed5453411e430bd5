"""Declaration of a standard pass: one class, one decorator, its options as documented fields.

    @standard_pass(opt_level=2, required=("InferType",), contract=EXACT)
    class FoldConstant(FunctionPass):
        '''Compute operators whose arguments are all constant.'''

        fold_qnn: bool = False

        def transform_function(self, func, mod, ctx): ...

Options are passed by keyword or position, checked against their annotation, and never change afterwards.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from passlab.errors import Diagnostic, PasslabError, PassTypeError, PassValueError, did_you_mean
from passlab.transform.base import Part, Pass, with_attr
from passlab.transform.numeric_contract import EXACT, FINITE, NumericContract, Rounds
from passlab.transform.pass_info import PassInfo

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        return lambda decorator: decorator


P = TypeVar("P", bound=type[Pass])
# The first program of a module's docstring, before and after its pass: `help` of the pass shows it, and tests run it.
_PROGRAM = r":.*\n(?:[ ]{4}.*\n|\n(?=[ ]{4}))+"
_EXAMPLE = re.compile(rf"^before{_PROGRAM}after{_PROGRAM}|^keep{_PROGRAM}", re.MULTILINE)


@dataclass_transform(frozen_default=True, eq_default=False)
def standard_pass(
    *,
    opt_level: int,
    required: Sequence[str] = (),
    contract: NumericContract | None = EXACT,
    name: str | None = None,
    acts_on: Sequence[Part] | None = None,
) -> Callable[[P], P]:
    """Declare a pass class: its level, required passes, numeric contract and name (by default the name of the class).

    `acts_on` lists the operators and kinds of nodes without which a function stays as it is; None means that any
    function may change. A pass whose options decide has a method of this name instead.

    Raises `PassTypeError` if the decorated object is not a pass class. The class raises `PassTypeError` and
    `PassValueError` for wrong options.

    >>> @transform.standard_pass(opt_level=1, contract=transform.EXACT)
    ... class Nothing(transform.FunctionPass):
    ...     def transform_function(self, func, mod, ctx):
    ...         return func
    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) }")
    >>> Nothing()(mod) is mod, Nothing().contract
    (True, EXACT)
    """

    def declare(cls: P) -> P:
        if not issubclass(cls, Pass):
            raise PassTypeError(
                Diagnostic("a standard pass derives from ModulePass, FunctionPass or Sequential", found=repr(cls))
            )
        result: Any = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
        result.info = PassInfo(opt_level, name or cls.__name__, list(required))
        result.contract = contract
        result.trusted = True
        result.options = _changed_options
        result.factory_name = cls.__name__
        if acts_on is not None:
            result.acts_on = lambda self: acts_on
        if example := _EXAMPLE.search(getattr(sys.modules.get(cls.__module__), "__doc__", None) or ""):
            result.__doc__ = f"{inspect.getdoc(cls)}\n\n{example[0].strip()}"
        result.__init__ = _init_with_checks(result)
        return typing.cast(P, result)

    return declare


def _changed_options(self: Any) -> dict[str, Any]:
    """Return the options that differ from their default."""
    options = {}
    for field in dataclasses.fields(self):
        value = getattr(self, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if value is not default and not (type(value) is type(default) and _equal_literals(value, default)):
            options[field.name] = value
    return options


def _equal_literals(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, (bool, int, float, str, list, tuple, dict)) else False


def _init_with_checks(cls: Any) -> Callable[..., None]:
    """Return an `__init__` that rejects unknown, missing and ill-typed options with an error that names them."""
    plain = cls.__init__
    title = cls.__name__
    names = [field.name for field in dataclasses.fields(cls)]

    @functools.wraps(plain)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for key in kwargs:
            if key not in names:
                options = f"it takes {', '.join(names)}" if names else "it takes no options"
                raise PassTypeError(
                    Diagnostic(f"{title} has no option `{key}`", hint=did_you_mean(key, names) or options)
                )
        if len(args) > len(names):
            raise PassTypeError(Diagnostic(f"{title} takes {len(names)} options, not {len(args)}"))
        values = _convert_all(cls, {**dict(zip(names, args, strict=False)), **kwargs})
        try:
            plain(self, **values)
        except PasslabError:
            raise
        except TypeError as error:
            raise PassTypeError(Diagnostic(f"{title}: {_missing_option(cls, values) or error}")) from None
        except ValueError as error:
            raise PassValueError(Diagnostic(f"{title}: {error}")) from None

    return init


def _missing_option(cls: Any, values: dict[str, Any]) -> str | None:
    for f in dataclasses.fields(cls):
        if f.name not in values and f.default is f.default_factory is dataclasses.MISSING:
            return f"the option `{f.name}` is missing; it has no default"
    return None


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _convert_all(cls: Any, values: dict[str, Any]) -> dict[str, Any]:
    hints = _hints(cls) if values else {}
    return {name: _convert(cls.__name__, name, hints.get(name, Any), value) for name, value in values.items()}


_SIMPLE = (bool, int, float, str)
# Kinds of values with others in them: what they are called, and whether a value is one.
_KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    Sequence: ("a list", lambda value: isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))),
    Mapping: ("a dict", lambda value: isinstance(value, Mapping)),
    Callable: ("a function", callable),
}


def _convert(title: str, name: str, hint: Any, value: Any) -> Any:
    """Check a value against an annotation of bool, int, float, str, None, lists, dicts and functions.

    Any value is accepted for other annotations. What is in a list or a dict is left to the pass.
    """
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    choices = typing.get_args(hint) if union else (hint,)
    kinds = [typing.get_origin(choice) for choice in choices]
    known = (*_SIMPLE, type(None))
    if not all(choice in known or kind in _KINDS for choice, kind in zip(choices, kinds, strict=True)):
        return value
    if value is None and type(None) in choices:
        return None
    for choice, kind in zip(choices, kinds, strict=True):
        if type(value) is choice or (kind in _KINDS and _KINDS[kind][1](value)):
            return value
    if bool in choices and type(value) is int and value in (0, 1):
        return bool(value)
    if int in choices and type(value) is bool:
        return int(value)
    if float in choices and type(value) is int:
        return float(value)
    names = [_KINDS[kind][0] if kind in _KINDS else c.__name__ for c, kind in zip(choices, kinds, strict=True)]
    expected = " or ".join("None" if name == "NoneType" else name for name in names)
    raise PassTypeError(
        Diagnostic(f"{title}: bad value for the option `{name}`", expected=expected, found=reprlib.repr(value))
    )


__all__ = ["EXACT", "FINITE", "NumericContract", "Part", "Rounds", "standard_pass", "with_attr"]
