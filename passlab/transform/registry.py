"""The table of passes by name: the standard ones, loaded when first asked for, and those that users register."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, PassError, PassTypeError, did_you_mean
from passlab.transform.base import Pass
from passlab.transform.passes import ALIASES, PASSES

_registered: dict[str, Callable[..., Any]] = {}


def register_pass(factory: Any, name: str | None = None) -> Any:
    """Give a pass, or a class or function that makes one, a name for `get_pass`, `required` and pipelines written as text.

    The name is that of the pass, if none is given. A name registered again is replaced, so that a notebook cell may run
    twice; names of standard passes are refused with `PassError`. Returns `factory`, so it works as a decorator.
    """
    if isinstance(factory, Pass):
        pass_ = factory
        title, make = name or pass_.info.name, lambda: pass_
    elif callable(factory):
        title, make = name or factory.__name__, factory
    else:
        raise PassTypeError(Diagnostic("a pass, or what makes one, can be registered", found=repr(factory)))
    if title in PASSES or title in ALIASES:
        raise PassError(Diagnostic(f"`{title}` is a standard pass", hint="register yours under another name"))
    _registered[title] = make
    return factory


def unregister_pass(name: str) -> None:
    """Take a registered name out again."""
    _registered.pop(name, None)


def pass_names() -> list[str]:
    """Return the names of all passes that can be made, sorted."""
    return sorted({*PASSES, *_registered})


def find_factory(name: str) -> Callable[..., Any] | None:
    """Return what makes the pass called `name`, by either of its names, or None.

    Relay's registry names (`relay._transform.FoldConstant`) are understood.
    """
    if "transform." in name:
        name = name.rpartition("transform.")[2]
    if name in _registered:
        return _registered[name]
    target = PASSES.get(ALIASES.get(name, name))
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(f"passlab.transform.passes.{module}"), attribute)  # type: ignore[no-any-return]


def get_factory(name: str) -> Callable[..., Any]:
    """Return what makes the pass called `name`. Raises `PassError` with the nearest names."""
    factory = find_factory(name)
    if factory is None:
        raise unknown_pass(name)
    return factory


def unknown_pass(name: str, candidates: Any = None, place: Any = None) -> PassError:
    """Return the error for a name that no pass has."""
    known = [*pass_names(), *ALIASES, *(candidates or ())]
    hint = did_you_mean(name, known) or "`transform.list_passes()` shows all passes"
    return PassError(Diagnostic(f"there is no pass `{name}`", place, hint=hint))


def get_pass(name: str, /, *args: Any, **options: Any) -> Pass:
    """Return a new pass by name, made with the options given. Raises `PassError` for an unknown name."""
    made = get_factory(name)(*args, **options)
    if not isinstance(made, Pass):
        raise PassTypeError(Diagnostic(f"what is registered as `{name}` made no pass", expected="Pass", found=type(made).__name__))
    return made
