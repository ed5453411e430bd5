"""Passes by name: the standard ones, loaded on first use, and those that users register.

The standard passes are above the manager in the layers, so their table is reached through `lazy.late` and never
imported.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PassTypeError, did_you_mean
from passlab.lazy import PASSES, late
from passlab.table import Table
from passlab.transform.base import Pass
from passlab.transform.pass_info import PassInfo

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_registered: dict[str, Any] = {}  # passes, or factories of passes


def standard_passes() -> dict[str, str]:
    """Return the table of standard passes: name to "module:Class" below `passlab.passes`."""
    table: dict[str, str] = late(PASSES, "PASSES")
    return table


def aliases() -> dict[str, str]:
    """Return the other names of standard passes, each with the name it stands for."""
    table: dict[str, str] = late(PASSES, "ALIASES")
    return table


F = TypeVar("F", bound=Callable[..., Any])


@checked
def register_pass(factory: F, name: str | None = None) -> F:
    """Register a pass, or a factory of passes, under a name for `get_pass`, `required` and pipelines in text.

    The default name is the name of the pass. Registering a name again replaces the pass, so that a notebook cell may
    run twice; names of standard passes are rejected with `PassError`, objects that make no pass with `PassTypeError`.
    Returns `factory`, so it works as a decorator.

    >>> @transform.function_pass(opt_level=1)
    ... def nothing(func, mod, ctx):
    ...     return func
    >>> _ = transform.register_pass(nothing)
    >>> transform.parse_pipeline("FoldConstant, nothing").as_text()
    'Sequential(FoldConstant, nothing)'
    >>> transform.unregister_pass("nothing")
    """
    if not isinstance(factory, Pass) and not callable(factory):
        raise PassTypeError(
            Diagnostic("only a pass, or a function that returns one, can be registered", found=repr(factory))
        )
    title = name or (factory.info.name if isinstance(factory, Pass) else factory.__name__)
    if title in standard_passes() or title in aliases():
        raise PassError(Diagnostic(f"`{title}` is a standard pass", hint="register yours under another name"))
    _registered[title] = factory
    return factory


@checked
def unregister_pass(name: str) -> None:
    """Remove a registered name."""
    _registered.pop(name, None)


def pass_names() -> list[str]:
    """Return the names of all available passes, sorted.

    >>> "FoldConstant" in transform.pass_names()
    True
    """
    return sorted({*standard_passes(), *_registered})


def find_factory(name: str) -> Callable[..., Any] | None:
    """Return the factory of the pass called `name`, by either of its names, or None.

    Relay's registry names (`relay._transform.FoldConstant`) are accepted.
    """
    if "transform." in name:
        name = name.rpartition("transform.")[2]
    if name in _registered:
        pass_ = _registered[name]
        return (lambda: pass_) if isinstance(pass_, Pass) else pass_
    target = standard_passes().get(aliases().get(name, name))
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    factory: Callable[..., Any] = late(f"{PASSES}.{module}", attribute)
    return factory


def misspelled_pass(name: str) -> str | None:
    """Return the pass that was probably meant by the name of no registered pass, or None.

    Users' passes need not be registered, so only a name that differs by a slip of the hand counts.
    """
    if find_factory(name) is not None:
        return None
    return next(iter(difflib.get_close_matches(name, [*pass_names(), *aliases()], n=1, cutoff=0.85)), None)


def get_factory(name: str) -> Callable[..., Any]:
    """Return the factory of the pass called `name`. Raises `PassError`, which suggests similar names."""
    factory = find_factory(name)
    if factory is None:
        raise unknown_pass(name)
    return factory


def unknown_pass(name: str, candidates: Any = None, place: Any = None) -> PassError:
    """Return the error for an unknown name."""
    names = [*pass_names(), *aliases(), *(candidates or ())]
    hint = did_you_mean(name, names) or "`transform.list_passes()` shows all passes"
    return PassError(Diagnostic(f"there is no pass `{name}`", place, hint=hint))


def get_pass(name: str, /, *args: Any, **options: Any) -> Pass:
    """Return a new pass by name. Raises `PassError` for an unknown name, `PassTypeError` for wrong options.

    >>> transform.get_pass("FuseOps", fuse_opt_level=1).info.opt_level
    0
    """
    if not isinstance(name, str):
        raise PassTypeError(Diagnostic("a pass is found by its name", expected="text", found=type(name).__name__))
    pass_ = get_factory(name)(*args, **options)
    if not isinstance(pass_, Pass):
        raise PassTypeError(
            Diagnostic(
                f"the factory registered as `{name}` did not return a pass", expected="Pass", found=type(pass_).__name__
            )
        )
    return pass_


_COLUMNS = ("pass", "other_name", "kind", "opt_level", "required", "options", "contract", "what_it_does")


def list_passes() -> Table:
    """Return a table of all available passes: the standard ones and those that users registered.

    >>> transform.list_passes().search("constant").column("pass")[:3]
    ['DivToMul', 'FoldConstant', 'FoldScaleAxis']
    """
    return Table(_COLUMNS, (_row(name, _registered.get(name) or get_factory(name)) for name in pass_names()))


def _row(name: str, pass_: Any) -> tuple[Any, ...]:
    """Return the row of a pass, a class of passes, or a factory (of which only the docstring is known)."""
    cls = pass_ if isinstance(pass_, type) else type(pass_)
    info = getattr(pass_, "info", None)
    info = info if isinstance(info, PassInfo) else None
    options = [f"{f.name}={f.default!r}" if f.default is not dataclasses.MISSING else f.name for f in _fields(cls)]
    return (
        name,
        info.name if info and info.name != name else "",
        getattr(cls, "kind", ""),
        info.opt_level if info else None,
        ", ".join(info.required) if info else "",
        ", ".join(options),
        str(getattr(pass_, "contract", None) or "") if info else "",
        (inspect.getdoc(pass_) or "").partition("\n")[0],
    )


def _fields(cls: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()


def how_to_make_a_pass(value: Any) -> str | None:
    """Return how a value that is not a pass becomes one, None for what no pass is made of."""
    cls = value if isinstance(value, type) else type(value)
    if isinstance(value, str):
        return f"write `transform.get_pass({value!r})`"
    if isinstance(value, type) and issubclass(value, Pass):
        return f"write `{value.__name__}()`"
    for kind in ("module", "function"):
        if hasattr(cls, f"transform_{kind}"):
            return f"decorate the class with `@transform.{kind}_pass(opt_level=1)`, and write `{cls.__name__}(...)`"
    if hasattr(cls, "visit"):
        visit = f"{cls.__name__}().visit(func)" if isinstance(value, type) else "visitor.visit(func)"
        return f"call `{visit}` in a function with `@transform.function_pass(opt_level=1)`"
    if isinstance(value, type):
        return "give the class a method `transform_module(mod, ctx)`, and decorate it with `@transform.module_pass`"
    if not isinstance(value, FunctionType):
        return "make it a pass with `transform.module_pass` or `transform.function_pass`" if callable(value) else None
    needed = [
        one for one in inspect.signature(value).parameters.values() if one.default is one.empty and one.kind in _PLAIN
    ]
    decorator = {2: "module_pass", 3: "function_pass"}.get(len(needed))
    if decorator:
        return f"decorate it with `@transform.{decorator}(opt_level=1)`; if it returns a pass, call it"
    a_pass = "a pass is `def f(mod, ctx)` with `@transform.module_pass(opt_level=1)`"
    if not value.__name__.isidentifier():
        return a_pass
    return f"call it if it returns a pass: `{value.__name__}({', '.join(one.name for one in needed)})`; {a_pass}"
