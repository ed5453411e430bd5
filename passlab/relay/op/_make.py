"""Raw constructors of calls: `_make.concatenate(data, axis)` takes the inputs, then all attributes by position or name.

Relay's own Python functions use them. Attributes have the order of the operator's record; these functions
lack the conveniences of the operator's builder (defaults that depend on other arguments, wrapped tuples).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.errors import AttrsError, Diagnostic
from passlab.ir.expr import Call, Expr
from passlab.ir.op import Op, find_op
from passlab.lazy import unknown_name
from passlab.op.declare import make_call


def constructor(op: Op) -> Callable[..., Call]:
    """Return the function that creates calls of an operator from its inputs and attributes."""
    count = len(op.spec.inputs)
    fields = [field.name for field in op.spec.attrs.schema] if op.spec.attrs is not None else []

    def make(*args: Any, **attrs: Any) -> Call:
        values = args[count:]
        if len(args) < count or len(values) > len(fields):
            parameters = ", ".join([*op.spec.inputs, *fields])
            raise AttrsError(Diagnostic(f"`{op.name}` is given {len(args)} arguments", hint=f"it takes {parameters}"))
        return make_call(op, args[:count], {**dict(zip(fields, values, strict=False)), **attrs})

    make.__name__ = make.__qualname__ = op.name.rpartition(".")[2]
    make.__doc__ = f"Return a call of `{op.name}` on {', '.join(op.spec.inputs)}; attributes: {', '.join(fields)}."
    return make


def __getattr__(name: str) -> Callable[..., Expr]:
    op = None if name.startswith("_") else find_op(name)
    if op is None:
        raise unknown_name(__name__, name, () if name.startswith("__") else __dir__())
    return constructor(op)


def __dir__() -> list[str]:
    return [name for name in Op.list_op_names() if "." not in name]
