"""While `tvm` is importable, arrays that leave passlab have the methods of TVM's.

`install` wraps the methods by which results leave executors, and the arrays of constants; what they return is the same
memory as an `NDArray`. The table below is all that is changed. `uninstall` puts the methods back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from passlab.compat.arrays import as_ndarray
from passlab.evaluate.values import ADTValue, RefValue
from passlab.executor import AotModule, GraphModule
from passlab.executor.create import Executor, FunctionValue, callable_parts
from passlab.executor.outputs import RunsByInputs
from passlab.ir.expr import Constant
from passlab.vm import VirtualMachine

# Methods whose results are wrapped; a method that returns a function has the results of that function wrapped.
METHODS: tuple[tuple[type, str], ...] = (
    (Executor, "evaluate"),
    (FunctionValue, "__call__"),
    (VirtualMachine, "invoke"),
    (VirtualMachine, "get_outputs"),
    (RunsByInputs, "get_output"),
    (RunsByInputs, "get_input"),
    (GraphModule, "get_output"),
    (GraphModule, "get_input"),
    (AotModule, "get_output"),
    (AotModule, "get_input"),
)
ARRAYS: tuple[tuple[type, str], ...] = ((Constant, "data"), (RefValue, "value"))
_before: list[tuple[type, str, Any]] = []


def wrap_result(value: Any) -> Any:
    """Return a result whose arrays are `NDArray`s, in tuples, lists and values of data types too."""
    if type(value) is list:
        return [callable_parts(field, _leaf) for field in value]
    return callable_parts(value, _leaf)


def _leaf(value: Any) -> Any:
    return _wrap_data(value) if isinstance(value, ADTValue) else as_ndarray(value)


def _wrap_data(root: ADTValue) -> ADTValue:
    """Return a value of a data type with `NDArray`s in it; iterative, for lists are long."""
    done: dict[int, ADTValue] = {}
    stack: list[tuple[ADTValue, bool]] = [(root, False)]
    while stack:
        value, ready = stack.pop()
        if ready:
            fields = [done[id(f)] if isinstance(f, ADTValue) else wrap_result(f) for f in value.fields]
            done[id(value)] = ADTValue(value.constructor, fields)
        elif id(value) not in done:
            stack.append((value, True))
            stack.extend((f, False) for f in value.fields if isinstance(f, ADTValue))
    return done[id(root)]


def _wrapping(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        if callable(result) and not isinstance(result, (np.ndarray, FunctionValue)):
            return _wrapping(result)
        return wrap_result(result)

    return call


def _array_property(member: Any) -> property:
    """Return a property over a slot: what is read is an `NDArray`."""
    return property(lambda self: wrap_result(member.__get__(self)), member.__set__)


def install() -> None:
    """Wrap the methods of the table; a second time changes nothing."""
    if _before:
        return
    for owner, name in METHODS:
        if name in vars(owner):
            _before.append((owner, name, vars(owner)[name]))
            setattr(owner, name, _wrapping(vars(owner)[name]))
    for owner, name in ARRAYS:
        member = vars(owner)[name]
        _before.append((owner, name, member))
        setattr(owner, name, _array_property(member))


def uninstall() -> None:
    """Put the methods back."""
    while _before:
        owner, name, value = _before.pop()
        setattr(owner, name, value)
