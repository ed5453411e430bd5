"""Arguments for programs, from the names of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.errors import Diagnostic, RunError, did_you_mean


def from_names(names: str, namespace: Mapping[str, Any]) -> list[Any]:
    """Return the values of comma-separated names. Raises `RunError` for a name that is not there."""
    out = []
    for name in (n.strip() for n in names.split(",")):
        if name not in namespace:
            raise RunError(
                Diagnostic(f"there is no variable `{name}` in this notebook", hint=did_you_mean(name, namespace))
            )
        out.append(namespace[name])
    return out
