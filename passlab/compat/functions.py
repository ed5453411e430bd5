"""TVM's registry of functions: `get_global_func(name)` and `register_func(name)`.

Names that programs of Relay look up (`relay._transform.FoldConstant`, `relay.op._make.add`) are found in passlab; all
others are registered by the program itself.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, OpNotFoundError, UnknownNameError, did_you_mean
from passlab.ir.op import find_op
from passlab.lazy import load
from passlab.op.registered import register
from passlab.passes.external.partition_graph import register_compiler_optimize

Function = Callable[..., Any]
_functions: dict[str, Function] = {}
# Prefixes of names, and the modules that define the rest.
PREFIXES = {
    "relay._transform.": "passlab.transform",
    "relay.op._make.": "passlab.relay.op._make",
    "relay.op.nn._make.": "passlab.relay.nn",
    "relay.analysis.": "passlab.relay.analysis",
    "relay._analysis.": "passlab.relay.analysis",
    "relay.ir.": "passlab.relay",
    "relay.build_module.": "passlab.relay.build_module",
    "transform.": "passlab.transform",
    "instrument.": "passlab.instrument",
    "ir.": "passlab.ir",
    "node.": "passlab.ir",
    "runtime.": "passlab.relay.runtime",
}

NAMED = {
    "relay.analysis._test_type_solver": "passlab.compat.solving:type_solver",
    "relay._transform.AnnotateUsedMemory": "passlab.compat.used_memory:annotate_used_memory",
    "relay.transform.RecoverVirtualDeviceMap": "passlab.compat.targets:virtual_devices",
}


def register_func(func_name: str | Function, f: Function | None = None, override: bool = False) -> Any:
    """Register a function under a name; without `f`, return a decorator. Raises `UnknownNameError` for a used name."""
    key = func_name if isinstance(func_name, str) else func_name.__name__

    def enter(function: Function) -> Function:
        if key in _functions and not override:
            hint = "give `override=True` to replace it"
            raise UnknownNameError(Diagnostic(f"a function `{key}` is registered already", hint=hint))
        _functions[key] = function
        if optimizes := re.fullmatch(r"relay\.ext\.(\w+)\.optimize", key):
            register_compiler_optimize(optimizes[1], function)
        return function

    function = f if isinstance(func_name, str) else func_name
    return enter if function is None else enter(function)


def get_global_func(name: str, allow_missing: bool = False) -> Function | None:
    """Return the function of a name; for an unknown one, None if `allow_missing`, else raise `UnknownNameError`."""
    function = _functions.get(name) or (load(NAMED[name]) if name in NAMED else _own_function(name))
    if function is None and not allow_missing:
        hint = did_you_mean(name, _functions) or "`register_func` registers one"
        raise UnknownNameError(Diagnostic(f"there is no function `{name}`", hint=hint))
    return function


def _own_function(name: str) -> Function | None:
    for prefix, module in PREFIXES.items():
        rest = name[len(prefix) :]
        if name.startswith(prefix) and rest.isidentifier():
            value = getattr(importlib.import_module(module), rest, None)
            return value if callable(value) else None
    return None


def list_global_func_names() -> list[str]:
    """Return the registered names."""
    return sorted(_functions)


def remove_global_func(name: str) -> None:
    """Remove a registered function."""
    _functions.pop(name, None)


def register_op(op_name: str, describe: str = "") -> Any:
    """Register a new operator and return it. Raises `OpNotFoundError` for a name in use, even by the program's own."""
    if find_op(op_name) is not None:
        raise OpNotFoundError(f"Operator {op_name} is registered before")
    return register(op_name, describe)


def ignore(*args: Any, **kwargs: Any) -> Any:
    """Accept a registration, which has no effect here, as a call or as a decorator."""
    return args[-1] if args and callable(args[-1]) else lambda value: value
