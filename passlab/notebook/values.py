"""Arguments for programs, from the names of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from passlab.errors import Diagnostic, RunError, did_you_mean


def from_names(
    names: str, namespace: Mapping[str, Any], cure: str = "`--random 0` makes random arguments"
) -> list[Any]:
    """Return the values of comma-separated names. Raises `RunError`, with `cure`, for a name that is not there."""
    out = []
    for name in (n.strip() for n in names.removesuffix(",").split(",")):
        if name not in namespace and not name.isidentifier():  # commas inside an expression cut it
            message = f"`{names}` is not a list of names of variables"
            raise RunError(Diagnostic(message, hint="give each value a name first: `a = np.ones((2, 3), 'float32')`"))
        if name not in namespace:
            # A function, a module or a name of IPython is no argument.
            candidates = [
                n for n, v in namespace.items() if not (n.startswith("_") or callable(v) or isinstance(v, ModuleType))
            ]
            hint = did_you_mean(name, candidates) or cure
            raise RunError(Diagnostic(f"there is no variable `{name}` in this notebook", hint=hint))
        out.append(namespace[name])
    return out
