"""A primitive function compiled to Python: the text of `kernel_text` with its names bound to objects.

The text consists of NumPy operators, numbers, dtypes and identifiers chosen here; no name and no constant of a program
enters it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.expr import Call, Function
from passlab.ir.op import Op
from passlab.vm.generated_code import function_of
from passlab.vm.kernels.kernel_text import KernelText
from passlab.vm.kernels.python_text import Names

Implement = Callable[[Call], Callable[..., Any]]


def compiled_kernel(function: Function, implement: Implement | None = None) -> Callable[..., Any]:
    """Return a primitive function as a Python function of its parameters; tuples are passed as tuples.

    `implement` returns the function on arrays of an operator that has no NumPy text, by default its kernel.
    """
    bound = _Objects(implement or numpy_function)
    name = bound.names.make("kernel")
    return function_of(KernelText(function, bound.names, bound).text(name), name, bound.objects, "<kernel>")


def numpy_function(node: Call) -> Callable[..., Any]:
    """Return the NumPy kernel of an operator without its guard against warnings. Raises `RunError` without one."""
    op = node.op
    assert isinstance(op, Op)
    kernel = op.spec.raw or op.spec.kernel
    if kernel is None:
        raise RunError(Diagnostic(f"`{op.name}` cannot be run: only the compiler uses it", node.span))
    return kernel


class _Objects:
    """The `Binder` of the virtual machine: names of a kernel's text stand for objects in `objects`."""

    def __init__(self, implement: Implement) -> None:
        self.implement = implement
        self.names = Names()
        self.objects: dict[str, Any] = {"np": np}

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self._bind(np.dtype(dtype).type(value), dtype)

    def array(self, value: Any) -> str:
        """Return the name of a constant array."""
        return self._bind(value, "constant")

    def replaces(self, call: Call) -> bool:
        """Whether the function that computes an operator is not NumPy's."""
        return self.implement is not numpy_function and self.implement(call) is not numpy_function(call)

    def kernel(self, call: Call, args: Sequence[str]) -> str:
        """Return the call of an operator's NumPy function."""
        assert isinstance(call.op, Op)
        hint = call.op.name.replace(".", "_")
        return f"{self._bind(self.implement(call), hint)}({', '.join([self._bind(call.attrs, 'attrs'), *args])})"

    def _bind(self, value: Any, hint: str) -> str:
        name = self.names.make(hint)
        self.objects[name] = value
        return name
