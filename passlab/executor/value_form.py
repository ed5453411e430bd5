"""From a program whose memory was planned back to one of values, for executors that allocate by themselves.

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
    """Return a module without storages, tensors made in them and calls that write; the module itself if it has none.

    A result of unknown shape is what its kernel returns, so shape functions are not called. The result is typed.
    """
    changes = {name: _of_values(f, mod) for name, f in mod.items() if not f.is_primitive}
    changes = {name: f for name, f in changes.items() if f is not mod[name]}
    if not changes:
        return mod
    shapes: dict[str, None] = {name: None for name, f in mod.items() if "ShapeFunction" in f.attrs}
    return infer_module(mod.with_functions({**changes, **shapes}))


def _of_values(function: Function, mod: IRModule) -> Function:
    order = post_order(function)
    if all(op_name(n) not in MEMORY for n in order):
        return function
    named = {n.var: n.value for n in order if isinstance(n, Let)}
    invokes: dict[Expr, _Invoke] = {}  # by the variable that each is bound to
    values: dict[Expr, Expr] = {}  # what stands for tensors that kernels write, and for the results of the writing
    for node in order:
        if isinstance(node, Let) and isinstance(node.value, Call) and op_name(node.value) == "vm.invoke_tvm_op":
            invokes[node.var] = invoke = _Invoke(node.value, named, mod)
            values[node.var] = Tuple(())
            if not invoke.of_shapes:
                values.update(zip(invoke.outs, _projections(invoke.result, invoke.type), strict=True))

    def rule(pre: Expr, post: Expr) -> Expr:
        if isinstance(post, Call):
            return _reshape_to(post) if op_name(post) == "vm.reshape_tensor" else post
        assert isinstance(pre, Let)
        assert isinstance(post, Let)
        invoke = invokes.get(pre.var)
        if op_name(pre.value) in ALLOCATIONS or (invoke is not None and invoke.of_shapes):
            return post.body
        if invoke is None:
            return post
        return Let(invoke.result, Call(invoke.kernel, invoke.ins, span=pre.value.span), post.body, post.span)

    return substitute(rewrite(function, rule, only=(Let, Call)), values)


class _Invoke:
    """A call of a kernel that writes into tensors: what it is called on, and the variable its result gets."""

    def __init__(self, call: Call, named: dict[Var, Expr], mod: IRModule) -> None:
        kernel, ins, outs = [named.get(a, a) if isinstance(a, Var) else a for a in call.args]
        if not isinstance(kernel, GlobalVar) or not isinstance(ins, Tuple) or not isinstance(outs, Tuple):
            raise VerifyError(Diagnostic("a kernel is called by its name, on tuples of tensors", call.span))
        function = mod[kernel]
        ty = function.checked_type
        assert isinstance(ty, FuncType)
        self.kernel, self.ins, self.outs, self.type = kernel, ins.fields, outs.fields, ty.ret_type
        self.of_shapes = "ShapeFunction" in function.attrs
        self.result = Var("result", None, call.span)


def _projections(whole: Expr, ty: Type) -> list[Expr]:
    """Return the tensors of a value, a tuple at any depth, as expressions."""
    tensors: list[Expr] = []
    stack: list[tuple[Expr, Type]] = [(whole, ty)]
    while stack:
        value, part = stack.pop()
        if isinstance(part, TupleType):
            stack.extend((TupleGetItem(value, i), t) for i, t in reversed(list(enumerate(part.fields))))
        else:
            tensors.append(value)
    return tensors


def _reshape_to(call: Call) -> Expr:
    """Return a reshape that the machine does in place as the operator, where its shape is known."""
    attrs: Any = call.attrs
    if not all(isinstance(d, int) for d in attrs.newshape):
        raise VerifyError(Diagnostic("only the virtual machine reshapes to a shape that is computed", call.span))
    return make("reshape", call.args[0], newshape=list(attrs.newshape))
