"""Text of programs in generated Python: only as identifiers and literals that this module makes.

Generated modules, kernels and functions are templates of passlab. Names, strings and attribute values of a program pass
through `identifier` or `literal`, so they can neither end a string or a comment nor begin a statement: the syntax tree
of generated source never depends on the names in a program.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

from passlab.errors import Diagnostic, VerifyError

# A name that hid a builtin would change the meaning of generated calls.
RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "constants"}
LONGEST = 60  # characters of one name
NAME_WIDTH = 6  # characters that `width` counts per name
_WORD = re.compile(r"[A-Za-z_]\w*")


class Names:
    """The identifiers of one scope; inner scopes may not hide those of outer ones."""

    def __init__(self, outer: Names | None = None) -> None:
        self.outer = outer
        self.taken: set[str] = set()
        self.inside: set[str] = set()  # names of inner scopes, which would hide later names of this one
        self.counts: dict[str, int] = {}

    def free(self, name: str) -> bool:
        """Whether a name is unused in this scope and those around and inside it."""
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
        """Reserve names."""
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
    texts: list[str] = []
    stack: list[tuple[bool, Any]] = [(True, value)]  # values (True) and finished text (False)
    while stack:
        is_value, item = stack.pop()
        if not is_value:
            texts.append(item)
        elif isinstance(item, (tuple, list)):
            begin, end = "()" if isinstance(item, tuple) else "[]"
            end = ",)" if isinstance(item, tuple) and len(item) == 1 else end
            # Each field has a comma before it; `[1:]` drops the first comma.
            inner = [part for field in item for part in ((False, ", "), (True, field))][1:]
            stack += reversed([(False, begin), *inner, (False, end)])
        elif isinstance(item, dict):
            pairs = [p for k, v in item.items() for p in ((False, ", "), (True, k), (False, ": "), (True, v))][1:]
            stack += reversed([(False, "{"), *pairs, (False, "}")])
        else:
            texts.append(_scalar_literal(item))
    return "".join(texts)


def _scalar_literal(value: Any) -> str:
    if isinstance(value, str):
        # `str`, and `int` and `float` below, since a subclass may have another `repr`.
        text = repr(str(value))  # escapes quotes, line ends, control, bidirectional and surrogate characters
        return text if '"' in text or "'" in text[1:-1] else f'"{text[1:-1]}"'
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        number = float(value)
        return repr(number) if isfinite(number) else f'float("{number}")'
    raise VerifyError(Diagnostic(f"an attribute of type {type(value).__name__} cannot be written in Python"))


def docstring(text: str) -> str:
    """Return the literal of a docstring. Lone surrogates are escaped, since Python rejects them there."""
    return literal(text.encode("utf-8", "backslashreplace").decode())


def keyword_argument(name: str, text: str) -> str:
    """Return the keyword argument `name=text`. Raises `VerifyError` for a name that is no identifier."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise VerifyError(Diagnostic(f"an attribute called {name!r} cannot be written in Python"))
    return f"{name}={text}"


def width(text: str) -> int:
    """Return the length of a text with `NAME_WIDTH` for each name: layout must not depend on a program's names."""
    words = _WORD.findall(text)
    return len(text) - sum(map(len, words)) + NAME_WIDTH * len(words)
