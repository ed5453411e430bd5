"""The one place where the virtual machine runs Python that it has written.

Its texts are made of the entries of the instruction table and the NumPy texts of operators, of numbers, and of names
that passlab gives: no name and no string of a program enters them, and the bytecode they are made from has been
verified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def function_of(text: str, name: str, names: dict[str, Any], file: str) -> Callable[..., Any]:
    """Return the function called `name` that a text defines, with `names` as its globals; tracebacks call it `file`."""
    exec(compile(text, file, "exec"), names)  # noqa: S102 - see above
    function: Callable[..., Any] = names[name]
    return function
