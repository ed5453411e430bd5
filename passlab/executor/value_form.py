"""The inverse of `ManifestAlloc`: explicit allocations become plain calls, for executors that allocate by themselves.

before: `let %s = memory.alloc_storage(...); let %t = memory.alloc_tensor(%s, ...); let %u = vm.invoke_tvm_op(@f, (%x,),
(%t,)); ... %t ...`

after: `let %t = @f(%x); ... %t ...`
"""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, VerifyError
from passlab.infer import infer_module
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import op_name
from passlab.ir.types import FuncType, TupleType, Type
from passlab.ir.walk import post_order, rewrite, substitute
from passlab.op import make

ALLOCATIONS = ("memory.alloc_storage", "memory.alloc_tensor", "memory.kill")
MEMORY = (*ALLOCATIONS, "vm.invoke_tvm_op", "vm.reshape_tensor")


def value_form(mod: IRModule) -> IRModule:
    """Return a typed module without allocations and calls that write into tensors; the module itself if it has none.

    Shape functions are removed: a kernel returns its result with its shape.
    """
    changes = {name: _function_value_form(f, mod) for name, f in mod.items() if not f.is_primitive}
    changes = {name: f for name, f in changes.items() if f is not mod[name]}
    if not changes:
        return mod
    shapes: dict[str, None] = {name: None for name, f in mod.items() if "ShapeFunction" in f.attrs}
    return infer_module(mod.with_functions({**changes, **shapes}))


def _function_value_form(function: Function, mod: IRModule) -> Function:
    order = post_order(function)
    if all(op_name(n) not in MEMORY for n in order):
        return function
    bound = {n.var: n.value for n in order if isinstance(n, Let)}
    invokes: dict[Expr, _Invoke] = {}  # by the variable that each is bound to
    values: dict[Expr, Expr] = {}  # the replacements of the output tensors and of the variables bound to invokes
    for node in order:
        if isinstance(node, Let) and isinstance(node.value, Call) and op_name(node.value) == "vm.invoke_tvm_op":
            invokes[node.var] = invoke = _Invoke(node.value, bound, mod)
            values[node.var] = Tuple(())  # an invoke returns an empty tuple
            if not invoke.is_shape_function:
                values.update(zip(invoke.outs, _projections(invoke.result, invoke.type), strict=True))

    def rule(pre: Expr, post: Expr) -> Expr:
        if isinstance(post, Call):
            return _plain_reshape(post) if op_name(post) == "vm.reshape_tensor" else post
        assert isinstance(pre, Let)
        assert isinstance(post, Let)
        invoke = invokes.get(pre.var)
        if op_name(pre.value) in ALLOCATIONS or (invoke is not None and invoke.is_shape_function):
            return post.body
        if invoke is None:
            return post
        return Let(invoke.result, Call(invoke.kernel, invoke.ins, span=pre.value.span), post.body, post.span)

    return substitute(rewrite(function, rule, only=(Let, Call)), values)


class _Invoke:
    """The operands of a `vm.invoke_tvm_op`, and the variable that its result gets in value form."""

    def __init__(self, call: Call, bound: dict[Var, Expr], mod: IRModule) -> None:
        kernel, ins, outs = [bound.get(a, a) if isinstance(a, Var) else a for a in call.args]
        if not isinstance(kernel, GlobalVar) or not isinstance(ins, Tuple) or not isinstance(outs, Tuple):
            raise VerifyError(Diagnostic("a kernel is called by its name, on tuples of tensors", call.span))
        function = mod[kernel]
        ty = function.checked_type
        assert isinstance(ty, FuncType)
        self.kernel, self.ins, self.outs, self.type = kernel, ins.fields, outs.fields, ty.ret_type
        self.is_shape_function = "ShapeFunction" in function.attrs
        self.result = Var("result", None, call.span)


def _projections(whole: Expr, ty: Type) -> list[Expr]:
    """Return expressions for the tensors of a value that is a tensor or nested tuples."""
    tensors: list[Expr] = []
    stack: list[tuple[Expr, Type]] = [(whole, ty)]
    while stack:
        value, value_type = stack.pop()
        if isinstance(value_type, TupleType):
            stack.extend((TupleGetItem(value, i), t) for i, t in reversed(list(enumerate(value_type.fields))))
        else:
            tensors.append(value)
    return tensors


def _plain_reshape(call: Call) -> Expr:
    """Return a `vm.reshape_tensor` as `reshape`. Raises `VerifyError` if its shape is computed."""
    attrs: Any = call.attrs
    if not all(isinstance(d, int) for d in attrs.newshape):
        raise VerifyError(Diagnostic("only the virtual machine reshapes to a shape that is computed", call.span))
    return make("reshape", call.args[0], newshape=list(attrs.newshape))
