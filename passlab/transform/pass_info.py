"""`PassInfo`: the name, level and requirements of a pass."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassTypeError


class PassInfo:
    """The name of a pass, the optimization level from which a pipeline runs it, and the passes it requires before it.

    Raises `PassTypeError` for a level that is not an integer, a name that is not text, or requirements that are not a
    list of names. `required=None` means none. `traceable` is stored and has no effect here.
    """

    __slots__ = ("opt_level", "name", "traceable", "_required")

    @checked
    def __init__(
        self, opt_level: int, name: str, required: Iterable[str] | None = None, traceable: bool = False
    ) -> None:
        if not isinstance(name, str):
            raise PassTypeError(Diagnostic("the name of a pass is text", expected="str", found=type(name).__name__))
        self.opt_level = as_level(opt_level, f"the opt_level of the pass `{name}`")
        self.name = name
        self.traceable = bool(traceable)
        self._required = as_names(required, f"the required passes of `{name}`")

    @property
    def required(self) -> list[str]:
        """The names of the passes that a pipeline runs before each run of this one."""
        return list(self._required)

    def __str__(self) -> str:
        tail = "\n" + "".join(f"{name}, " for name in self._required) if self._required else ""
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
            f"required passes: [{tail}]\n"
        )

    def __repr__(self) -> str:
        return f"PassInfo(opt_level={self.opt_level}, name={self.name!r}, required={self.required!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PassInfo):
            return NotImplemented
        return (self.opt_level, self.name, self._required) == (other.opt_level, other.name, other._required)

    def __hash__(self) -> int:
        return hash((self.opt_level, self.name, self._required))


def as_level(value: Any, what: str) -> int:
    """Return an optimization level as an int. Raises `PassTypeError`, for 2.0 too: a level is a count."""
    try:
        return operator.index(value)
    except TypeError:
        raise PassTypeError(Diagnostic(f"{what} must be an integer", expected="int", found=repr(value))) from None


def as_names(value: Iterable[str] | None, what: str) -> tuple[str, ...]:
    """Return a list, tuple or set of names as a tuple; None means none. Raises `PassTypeError`, for one string too."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple, set, frozenset)):
        hint = f"write [{value!r}]" if isinstance(value, str) else None
        raise PassTypeError(
            Diagnostic(
                f"{what} must be a list, tuple or set of names", expected="list[str]", found=repr(value), hint=hint
            )
        )
    names = tuple(sorted(value, key=str)) if isinstance(value, (set, frozenset)) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise PassTypeError(Diagnostic(f"{what} must be names", expected="str", found=repr(name)))
    return names
