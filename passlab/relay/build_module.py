"""`relay.build_module`: the names that Relay's compiler driver exports."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from passlab.devices import device
from passlab.errors import Diagnostic, PassTypeError
from passlab.executor import build, create_executor, optimize
from passlab.rewriting.parameters import bind_params_by_name
from passlab.transform.context import PassContext


def build_config(
    opt_level: int = 2,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    trace: Any = None,
    fallback_device: Any = None,
) -> PassContext:
    """Return a `PassContext`, for programs that are older than it; warns that the name is deprecated.

    `fallback_device` is the device of expressions without an annotation. Raises `PassTypeError` for `trace`, a callback
    that instruments have replaced.
    """
    warnings.warn("relay.build_config is deprecated: use transform.PassContext", DeprecationWarning, stacklevel=2)
    if trace is not None:
        hint = "write an instrument and give it to `transform.PassContext(instruments=[...])`"
        raise PassTypeError(Diagnostic("passes are not traced by a callback any more", hint=hint))
    config = {} if fallback_device is None else {"relay.fallback_device_type": device(fallback_device).device_type}
    return PassContext(opt_level, required_pass, disabled_pass, config=config)


__all__ = ["bind_params_by_name", "build", "build_config", "create_executor", "optimize"]
