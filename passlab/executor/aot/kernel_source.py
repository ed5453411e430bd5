"""The Python source of primitive functions: an expression for a single operator, a function for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, VerifyError
from passlab.executor.aot.constants import Constants
from passlab.executor.aot.vendor import VendoredDefinitions
from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.vm.kernels.kernel_text import KernelText, operator_text
from passlab.vm.kernels.numpy_emitter import PyExpr
from passlab.vm.kernels.python_text import Names


class Kernels:
    """Writes the primitive functions of one module; `blocks` are the functions among them.

    It is the `Binder` of their text: it puts constants into the module and copies kernels into it.
    """

    def __init__(self, names: Names, constants: Constants, library: VendoredDefinitions) -> None:
        self.names = names
        self.constants = constants
        self.library = library
        self.blocks: list[str] = []
        self.function_names: dict[str, str] = {}  # by the name of the primitive function
        self.spans: dict[str, Span | None] = {}  # by line of text: the source location of its operator

    def call(self, name: str, function: Function, args: Sequence[str]) -> PyExpr:
        """Return the call of a primitive function on arguments that are names."""
        body = function.body
        if is_op_call(body):
            names: dict[Expr, str] = dict(zip(function.params, args, strict=True))
            if all(a in names or isinstance(a, Constant) for a in body.args):
                names |= {node: self.array(node.data) for node in body.args if isinstance(node, Constant)}
                return operator_text(body, tuple([names[a] for a in body.args]), self)
        if name not in self.function_names:
            self.function_names[name] = self.names.make(name)
            writer = KernelText(function, self.names, self)
            self.blocks.append(writer.text(self.function_names[name]))
            self.spans = writer.spans | self.spans
        return PyExpr(f"{self.function_names[name]}({', '.join(args)})")

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self.constants.scalar(dtype, value)

    def array(self, value: Any) -> str:
        """Return the name of a constant array."""
        return self.constants.array(value)

    def replaces(self, call: Call) -> bool:
        """Return False: a module computes with NumPy alone."""
        return False

    def kernel(self, call: Call, args: Sequence[str]) -> str:
        """Return the call of an operator's kernel, copied into the module."""
        assert isinstance(call.op, Op)
        spec = call.op.spec
        kernel = spec.raw or spec.kernel
        if kernel is None or (spec.stateful and spec.non_computational):  # an instruction of the virtual machine
            raise VerifyError(Diagnostic(f"`{call.op.name}` cannot be written in Python", call.span))
        hint = call.op.name.replace(".", "_")
        name = self.library.kernel(kernel, hint)
        return f"{name}({', '.join([self.constants.record(call.attrs, hint), *args])})"
