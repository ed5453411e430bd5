"""`AnnotateUsedMemory`: how many bytes of tensors are in use while each primitive function runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from passlab.compat.compiling import tensor_bytes
from passlab.errors import Diagnostic, PassError
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, is_dynamic
from passlab.ir.variables import free_vars
from passlab.ir.walk import let_chain, make_lets
from passlab.transform.base import Pass
from passlab.transform.context import PassContext
from passlab.transform.decorators import module_pass


def annotate_used_memory() -> Pass:
    """Return a pass over `main`, in A-normal form and typed.

    A primitive function bound by a `let` gets the attribute `used_memory`: for each of its calls, in order, the bytes
    of the tensors that are alive before or after it. `main` gets `io_used_memory`, the bytes of its parameters and its
    result. Raises `PassError` for a shape that is not static.
    """
    result: Pass = module_pass(
        _annotate, opt_level=0, name="AnnotateUsedMemory", required=["ToANormalForm", "InferType"]
    )
    return result


def _annotate(mod: IRModule, ctx: PassContext) -> IRModule:
    main = mod["main"]
    ports = _size([*main.params, main.body])
    lets, result = let_chain(main.body)
    sizes: defaultdict[Expr, list[int]] = defaultdict(list)
    primitives = {let.var for let in lets if isinstance(let.value, Function)}
    alive = set(free_vars(result))
    for let in reversed(lets):
        before = (alive - {let.var}) | set(free_vars(let.value))
        if isinstance(let.value, Call) and let.value.op in primitives:
            sizes[let.value.op].insert(0, _size(var for var in before | alive if var not in primitives))
        alive = before
    bindings: list[tuple[Var, Expr]] = [
        (let.var, let.value.with_attr("used_memory", tuple(sizes[let.var])))
        if isinstance(let.value, Function)
        else (let.var, let.value)
        for let in lets
    ]
    annotated = main.with_fields(body=make_lets(bindings, result)).with_attr("io_used_memory", ports)
    return mod.with_functions({"main": annotated})


def _size(values: Iterable[Expr]) -> int:
    total = 0
    for value in values:
        ty = value.checked_type
        if is_dynamic(ty):
            what = "AnnotateUsedMemory does not support dynamic shapes"
            raise PassError(Diagnostic(what, value.span, found=str(ty)))
        total += 0 if isinstance(ty, FuncType) else tensor_bytes(ty)
    return total
