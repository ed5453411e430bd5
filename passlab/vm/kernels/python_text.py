"""How text of a program enters Python source: as an identifier made for it, or as a literal. There is no other way.

Generated modules, kernels and functions of the virtual machine are written from templates of passlab. Whatever comes
from a program (names, strings, attribute values) goes through `identifier` or `literal` first, so it can neither end a
string or a comment nor begin a statement: the syntax tree of generated source never depends on what things are called.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

from passlab.errors import Diagnostic, VerifyError

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "constants"}
LONGEST = 60  # characters of one name
NAME_WIDTH = 6  # characters that a name counts in `width`
_WORD = re.compile(r"[A-Za-z_]\w*")


class Names:
    """The identifiers of one scope; an inner scope may not hide those of its outer ones."""

    def __init__(self, outer: Names | None = None) -> None:
        self.outer = outer
        self.taken: set[str] = set()
        self.inside: set[str] = set()  # the names of inner scopes, which later names of this one must not be hidden by
        self.counts: dict[str, int] = {}

    def free(self, name: str) -> bool:
        """Whether nothing is called so yet."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.taken or name in self.inside:
                return False
            scope = scope.outer
        return name not in RESERVED

    def make(self, hint: str) -> str:
        """Return an identifier like `hint` that is new in this scope and those around it."""
        stem = identifier(hint)
        name = stem
        while not self.free(name):
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f"{stem.rstrip('_')}_{self.counts[stem]}"
        self.taken.add(name)
        scope = self.outer
        while scope is not None:
            scope.inside.add(name)
            scope = scope.outer
        return name

    def take(self, names: Iterable[str]) -> None:
        """Note names that are in use."""
        self.taken.update(names)


def identifier(hint: str) -> str:
    """Return `hint` as an ASCII identifier that is neither private nor special to Python (`__file__`)."""
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", hint)[:LONGEST].rstrip("_") or "x"
    return f"v{stem}" if stem[0].isdigit() or stem.startswith("__") else stem


def literal(value: Any) -> str:
    """Return None, a bool, number or string, or a list, tuple or dict of such, as a Python expression.

    The text is printable, on one line, and evaluates to an equal value; infinities and NaN are `float("inf")` and so
    on. Raises `VerifyError` for other objects.
    """
    out: list[str] = []
    stack: list[tuple[bool, Any]] = [(True, value)]  # values to be written, and text to be written as it is
    while stack:
        is_value, at = stack.pop()
        if not is_value:
            out.append(at)
        elif isinstance(at, (tuple, list)):
            begin, end = "()" if isinstance(at, tuple) else "[]"
            end = ",)" if isinstance(at, tuple) and len(at) == 1 else end
            inner = [part for item in at for part in ((False, ", "), (True, item))][1:]
            stack += reversed([(False, begin), *inner, (False, end)])
        elif isinstance(at, dict):
            pairs = [p for k, v in at.items() for p in ((False, ", "), (True, k), (False, ": "), (True, v))][1:]
            stack += reversed([(False, "{"), *pairs, (False, "}")])
        else:
            out.append(_scalar(at))
    return "".join(out)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        text = repr(str(value))  # escapes quotes, line ends, control, bidirectional and surrogate characters
        return text if '"' in text or "'" in text[1:-1] else f'"{text[1:-1]}"'
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        number = float(value)
        return repr(number) if isfinite(number) else f'float("{number}")'
    raise VerifyError(Diagnostic(f"an attribute that is a {type(value).__name__} cannot be written in Python"))


def docstring(text: str) -> str:
    """Return a text as the documentation of a definition: Python refuses lone surrogates there, so they are spelled."""
    return literal(text.encode("utf-8", "backslashreplace").decode())


def keyword_argument(name: str, text: str) -> str:
    """Return an argument by name, `text` its expression. Raises `VerifyError` for what is no parameter's name."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise VerifyError(Diagnostic(f"an attribute called {name!r} cannot be written in Python"))
    return f"{name}={text}"


def width(text: str) -> int:
    """Return about how long a text is, each name counted alike: the shape of a module never depends on its names."""
    words = _WORD.findall(text)
    return len(text) - sum(map(len, words)) + NAME_WIDTH * len(words)
