"""Extracting parts of programs: fused kernels, the program that computes one value, weights of dense layers."""

from __future__ import annotations

from collections.abc import Hashable

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.equal import structural_hash
from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.kernel_key import outline
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.ir.walk import post_order
from passlab.text.printer import render


@checked
def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """Return the primitive functions of a fused module by structural hash, each kernel once, in evaluation order.

    >>> mod = transform.FuseOps()(passlab.parse("def @main(%x: float32) { tanh(exp(%x)) }"))
    >>> len(relay.analysis.extract_fused_functions(mod))
    1
    """
    kernels = (n for _, f in mod.items() for n in post_order(f) if isinstance(n, Function) and n.is_primitive)
    result: dict[int, Function] = {}
    seen: set[Hashable] = set()
    for kernel in kernels:
        key = outline(kernel)
        if key is None or key not in seen:
            seen.add(key)
            result.setdefault(structural_hash(kernel, exact=True), kernel)
    return result


@checked
def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """Return the module that computes value number `expr_id` of `main`, printed as `%expr_id = ...`.

    The result of `main`, if it is a call, a tuple or a projection, has the number after the last. Types are not
    inferred. Raises `DiagnosticError` if no value has that number.
    """
    main = mod["main"]
    printed = render(main)
    names = ((printed.text[m.start + 1 : m.end], m.node) for m in printed.marks if m.kind == "temporary")
    values = {int(name): node for name, node in names if name.isdecimal()}
    if type(main.body) in (Call, Tuple, TupleGetItem) and main.body not in values.values():
        values[max(values, default=-1) + 1] = main.body
    if expr_id not in values:
        hint = f"numbers go from 0 to {max(values)}" if values else "main has no numbered values"
        raise DiagnosticError(Diagnostic(f"there is no value %{expr_id} in @main", hint=hint))
    others = {n: f for n, f in mod.items() if n != "main"}
    return IRModule.from_expr(values[expr_id], others, mod.type_definitions)


extract_intermdeiate_expr = extract_intermediate_expr  # the misspelt name that Relay published


def search_fc_transpose(expr: Expr) -> list[str]:
    """Return the names of variables used as `nn.dense(x, transpose(w, axes=[1, 0]))`, in evaluation order."""
    names: dict[str, None] = {}
    for node in post_order(expr):
        if is_call_of(node, "nn.dense"):
            weight = node.args[1]
            if is_call_of(weight, "transpose") and isinstance(weight.args[0], Var):
                axes = weight.attrs.get("axes") if weight.attrs is not None else None
                if axes in (None, (1, 0)):
                    names[weight.args[0].name_hint] = None
    return list(names)
