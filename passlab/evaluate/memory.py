"""The meaning of programs with planned memory: storages, tensors in them, kernels that write into tensors.

The passes of the virtual machine make such programs. Here a storage is an array of bytes filled with 0xFF: reading
before the first write gives NaN, or -1. So a plan that lets two live values share memory, or frees it too early,
changes results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.shape_functions import shape_kernel
from passlab.evaluate.values import Closure, Value
from passlab.ir.expr import Call, Expr, Tuple
from passlab.op.dtypes import array_dtype

UNWRITTEN = 0xFF


class Caller(Protocol):
    """The part of the evaluator that calls kernels."""

    def apply(self, callee: Value, args: Sequence[Value]) -> Value:
        """Call a function value."""


class CallFrame(Protocol):
    """The part of an activation that these operators use."""

    killed: set[Expr]


def _alloc_storage(ev: Caller, call: Call, act: CallFrame, args: Sequence[Value]) -> Value:
    size = int(args[0])
    if size < 0:
        raise RunError(Diagnostic(f"a storage cannot have {size} bytes", call.span))
    limits.check("tensor_bytes", size, "a storage")
    return np.full(size, UNWRITTEN, np.uint8)


def _alloc_tensor(ev: Caller, call: Call, act: CallFrame, args: Sequence[Value]) -> Value:
    storage, offset, shape = args
    attrs: Any = call.attrs
    sizes = tuple(map(int, shape.reshape(-1)))
    dtype = array_dtype(attrs.dtype)
    first, last = int(offset), int(offset) + prod(sizes) * dtype.itemsize
    if min(sizes, default=0) < 0 or first < 0 or last > storage.size:
        message = f"a tensor of shape {sizes} at byte {first} does not fit into a storage of {storage.size} bytes"
        raise RunError(Diagnostic(message, call.span))
    return np.ndarray(sizes, dtype, storage, first)


def _invoke(ev: Caller, call: Call, act: CallFrame, args: Sequence[Value]) -> Value:
    """Run a kernel and write its results, flattened, into the tensors allocated for them."""
    kernel, inputs, results = args
    for tensors in call.args[1:]:
        if isinstance(tensors, Tuple) and not act.killed.isdisjoint(tensors.fields):
            raise RunError(Diagnostic("a value is used after `memory.kill` released its memory", call.span))
    if not isinstance(kernel, Closure):
        raise RunError(Diagnostic(f"{describe(kernel)} is not a kernel", call.span))
    function = kernel.function
    if "ShapeFunction" in function.attrs:
        shape_kernel(function, function.attrs["ShapeFunction"] == "data")(list(_tensors(inputs)), list(results))
        return ()
    values = list(_tensors(ev.apply(kernel, inputs)))
    for value, result in zip(values, results, strict=True):
        if value.shape != result.shape or value.dtype != result.dtype:
            what, expected = "the result of a kernel does not fit its tensor", describe(result)
            raise RunError(Diagnostic(what, call.span, expected=expected, found=describe(value)))
    # Copies, since a value may be a view of a tensor that is about to be overwritten.
    for value, result in zip([v.copy() for v in values], results, strict=True):
        result[...] = value
    return ()


def _kill(ev: Caller, call: Call, act: CallFrame, args: Sequence[Value]) -> Value:
    act.killed.update(call.args)
    return ()


def _tensors(value: Value) -> Iterator[Any]:
    """Yield the arrays of a value, which may be a tuple of any depth, in order."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(reversed(part))
        else:
            yield part


MEMORY_OPERATORS: dict[str, Callable[[Caller, Call, CallFrame, Sequence[Value]], Value]] = {
    "memory.alloc_storage": _alloc_storage,
    "memory.alloc_tensor": _alloc_tensor,
    "memory.kill": _kill,
    "vm.invoke_tvm_op": _invoke,
}
