"""The only module in which the virtual machine compiles generated Python.

Generated texts consist of templates from the instruction table, NumPy texts of operators, numbers, and names chosen by
passlab. No name and no string of a program enters them, and the bytecode was verified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def function_of(text: str, name: str, names: dict[str, Any], file: str) -> Callable[..., Any]:
    """Return the function `name` that a text defines, with the globals `names`; tracebacks call the text `file`."""
    exec(compile(text, file, "exec"), names)  # noqa: S102 - see above
    function: Callable[..., Any] = names[name]
    return function
