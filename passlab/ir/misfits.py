"""What is told when a node is made of something that is no part of a program: a number, a string, an array, a list.

It goes by the value alone, and knows no nodes, so that these can be refused while they are made.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, NodeTypeError


def misfit(value: Any, wanted: str = "an expression", hint: str | None = None) -> NodeTypeError:
    """Return the error for `value` standing where `wanted` is needed, with what would be one (`hint`, if given)."""
    kind = type(value).__name__
    message = f"{wanted} is needed, not {kind}"
    return NodeTypeError(Diagnostic(message, found=_shown(value), hint=hint or _cure(value, kind)))


def _shown(value: Any) -> str | None:
    """A value in a few words: an array by its type. None where the class of the value says it all."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    plain = isinstance(value, (bool, int, float, str, list, tuple, np.generic))
    return reprlib.repr(value) if plain else None


def _cure(value: Any, kind: str) -> str | None:
    if value is None:
        return "does a function end without `return`?"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"a number in a program is `relay.const({value!r})`"
    if isinstance(value, np.ndarray):
        return "an array in a program is `relay.const(array)`"
    if isinstance(value, str):
        return f'a variable is `relay.var("{value}")`, an operator `relay.op.get("{value}")`'
    if isinstance(value, (list, tuple)):
        return "several expressions as one are `relay.Tuple([...])`"
    if kind == "IRModule":
        return 'a function of a module is `mod["main"]`'
    if callable(value) and hasattr(value, "__name__"):
        return f"call it, `{value.__name__}(...)`; the operator itself is `relay.op.get(...)`"
    return None
