"""Arguments for programs, from the names of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from passlab.errors import Diagnostic, RunError, did_you_mean


def from_names(names: str, namespace: Mapping[str, Any]) -> list[Any]:
    """Return the values of comma-separated names. Raises `RunError` for a name that is not there."""
    out = []
    for name in (n.strip() for n in names.split(",")):
        if name not in namespace:
            # A function, a module or a name of IPython is no argument.
            candidates = [
                n for n, v in namespace.items() if not (n.startswith("_") or callable(v) or isinstance(v, ModuleType))
            ]
            hint = did_you_mean(name, candidates) or "`--random 0` makes random arguments"
            raise RunError(Diagnostic(f"there is no variable `{name}` in this notebook", hint=hint))
        out.append(namespace[name])
    return out
