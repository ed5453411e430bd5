"""`relay.build_module`: what Relay keeps beside its compiler driver."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from passlab.errors import Diagnostic, PassTypeError
from passlab.executor import build, create_executor, optimize
from passlab.transform.context import PassContext
from passlab.transform.parameters import bind_params_by_name


def build_config(
    opt_level: int = 2,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    trace: Any = None,
) -> PassContext:
    """Return a `PassContext`, as programs older than it ask for one; warns that the name is deprecated.

    Raises `PassTypeError` for `trace`, a callback that instruments have replaced.
    """
    warnings.warn("relay.build_config is deprecated: use transform.PassContext", DeprecationWarning, stacklevel=2)
    if trace is not None:
        hint = "write an instrument and give it to `transform.PassContext(instruments=[...])`"
        raise PassTypeError(Diagnostic("passes are not traced by a callback any more", hint=hint))
    return PassContext(opt_level, required_pass, disabled_pass)


__all__ = ["bind_params_by_name", "build", "build_config", "create_executor", "optimize"]
