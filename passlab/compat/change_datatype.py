"""`tvm.relay.frontend.change_datatype`: a pass that replaces one dtype by another."""

from __future__ import annotations

from typing import Any

from passlab import relay
from passlab.ir.expr import Constant, Expr, Function, Var
from passlab.ir.functor import ExprMutator
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.transform import PassContext, function_pass


@function_pass(opt_level=0)
class ChangeDatatype(ExprMutator):
    """Replace the dtype `src` of parameters by `dst`, and cast constants of dtype `src`; other casts stay."""

    def __init__(self, src: str, dst: str) -> None:
        super().__init__()
        self.src = src
        self.dst = dst

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        """Return the function with the other dtype."""
        return self.visit(func)

    def visit_constant(self, constant: Constant) -> Expr:
        """Return a constant, cast if it has the replaced dtype."""
        result: Expr = relay.cast(constant, self.dst) if constant.tensor_type.dtype == self.src else constant
        return result

    def visit_function(self, function: Function) -> Function:
        """Return a function with parameters of the other dtype; its result has no declared type."""
        params = [self._with_dtype(param) for param in function.params]
        body = relay.bind(self.visit(function.body), dict(zip(function.params, params, strict=True)))
        return Function(params, body, None, function.type_params, function.attrs, function.span)

    def _with_dtype(self, param: Var) -> Var:
        ty = param.type_annotation
        if isinstance(ty, TensorType) and ty.dtype == self.src:
            ty = TensorType(ty.shape, self.dst)
        return Var(param.name_hint, ty, param.span)
