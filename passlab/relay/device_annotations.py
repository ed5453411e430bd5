"""Devices of the parameters and the result of a function, like `on_device` for one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.walk import substitute
from passlab.op.annotation import as_virtual_device


def function_on_device(function: Function, param_devices: Sequence[Any], result_device: Any) -> Function:
    """Return the function with a device for each parameter, and one for its result, as PlanDevices reads them.

    Devices are given as for `on_device`. Raises `NodeValueError` unless there is one for each parameter.
    """
    if len(param_devices) != len(function.params):
        expected, actual = str(len(function.params)), str(len(param_devices))
        raise NodeValueError(Diagnostic("a function has a device for each parameter", expected=expected, found=actual))
    params = {
        p: Var(p.name_hint, p.type_annotation, p.span, as_virtual_device(device))
        for p, device in zip(function.params, param_devices, strict=True)
    }
    mapping: dict[Expr, Expr] = dict(params.items())
    body = substitute(function.body, mapping)
    result: Function = function.with_fields(
        params=tuple(params.values()), body=body, virtual_device=as_virtual_device(result_device)
    )
    return result
