"""Splits a quantized network into three functions: floats to integers, integers only, integers to floats."""

from __future__ import annotations

from collections.abc import Collection

from passlab.analysis import all_dtypes
from passlab.errors import Diagnostic, RunError
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, op_name
from passlab.ir.types import TensorType, TupleType
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, make_lets, post_order, rewrite, substitute

CONVERSIONS = frozenset(("add", "multiply", "right_shift", "clip", "round", "cast"))


class NotIntegralError(RunError, AssertionError):
    """A network that should compute on integers only contains floats between its inputs and outputs."""


def _is_conversion(node: Expr) -> bool:
    return op_name(node) in CONVERSIONS


def partition_conversions(mod: IRModule, quantized_dtypes: Collection[str], ensure_fully_integral: bool) -> IRModule:
    """Return a module whose `main` calls `quantize_inputs`, `quantized_main` and `dequantize_outputs` in turn.

    With `ensure_fully_integral`, `NotIntegralError` is raised if `quantized_main` has dtypes other than those named, or
    if the other two do more than convert.
    """
    body = mod["main"].body
    body, inputs = _cut_inputs(body)
    parts = {
        "quantize_inputs": Function(mod["main"].params, Tuple(list(inputs.values()))),
        **_cut_outputs(list(inputs), body, quantized_dtypes),
    }
    for name in ("quantize_inputs", "dequantize_outputs"):
        converts = all(_is_conversion(node) for node in post_order(parts[name]) if isinstance(node, Call))
        if ensure_fully_integral and not converts:
            raise NotIntegralError(Diagnostic(f"{name} computes more than conversions"))
    result = infer_module(_compose(mod["main"], parts))
    floats = all_dtypes(result["quantized_main"]) - set(quantized_dtypes)
    if ensure_fully_integral and floats:
        hint = 'partition_conversions="enabled" permits them'
        raise NotIntegralError(Diagnostic(f"quantized_main computes in {', '.join(sorted(floats))}", hint=hint))
    return result


def _cut_inputs(body: Expr) -> tuple[Expr, dict[Var, Expr]]:
    """Return the body from its first operators on, and the expression computed for each parameter before."""
    converted: set[Expr] = set()  # expressions that consist of conversions of one parameter
    for node in post_order(body):
        operands = [child for child in children(node) if not isinstance(child, (Op, Constant))]
        if (isinstance(node, Var)) or (
            _is_conversion(node) and len(set(operands)) == 1 and converted.issuperset(operands)
        ):
            converted.add(node)
    inputs: dict[Var, Expr] = {}
    cuts: dict[Expr, Expr] = {}
    users = [node for node in post_order(body) if node not in converted]
    for node in (body, *(arg for user in users for arg in children(user))):
        if node in converted and node not in cuts:
            (source,) = free_vars(node)
            var = Var(source.name_hint, node.checked_type)
            cuts[node], inputs[var] = var, node
    return substitute(body, cuts), inputs


def _cut_outputs(params: list[Var], body: Expr, quantized_dtypes: Collection[str]) -> dict[str, Function]:
    """Return the part of a body up to the last integers, and the part after them."""
    typed = infer_module(IRModule.from_expr(Function(params, body)))["main"]
    last: dict[Expr, Var] = {}

    def enter(node: Expr) -> bool:
        ty = node.checked_type if not isinstance(node, (Op, Function)) else None
        if isinstance(ty, TensorType) and ty.dtype in quantized_dtypes and not isinstance(node, Constant):
            last.setdefault(node, Var("input", ty))
        return node not in last

    above = post_order(typed.body, enter=enter)
    if not last:
        result = Var("input", typed.body.checked_type)
        return {"quantized_main": typed, "dequantize_outputs": Function([result], result)}
    for param in typed.params:
        if param in above:  # used above the integers: it is handed on as it is
            last.setdefault(param, Var("input", param.checked_type))
    after = rewrite(typed.body, replace=dict(last))
    if len(last) == 1:
        return {
            "quantized_main": Function(typed.params, next(iter(last))),
            "dequantize_outputs": Function(list(last.values()), after),
        }
    outputs = Var("input", TupleType([node.checked_type for node in last]))
    fields: dict[Expr, Expr] = {var: TupleGetItem(outputs, i) for i, var in enumerate(last.values())}
    return {
        "quantized_main": Function(typed.params, Tuple(list(last))),
        "dequantize_outputs": Function([outputs], substitute(after, fields)),
    }


def _compose(main: Function, parts: dict[str, Function]) -> IRModule:
    """Return a module of the parts and a `main` that calls them in order."""
    names = {name: GlobalVar(name) for name in parts}
    params = [Var(param.name_hint, param.type_annotation) for param in main.params]
    first, second, third = (Var(name) for name in ("quantized_inputs", "quantized_outputs", "dequantized_outputs"))
    count = len(parts["quantized_main"].params)
    steps: list[tuple[Var, Expr]] = [
        (first, Call(names["quantize_inputs"], params)),
        (second, Call(names["quantized_main"], [TupleGetItem(first, i) for i in range(count)])),
        (third, Call(names["dequantize_outputs"], [second])),
    ]
    functions = {names[name]: part for name, part in parts.items()}
    return IRModule({**functions, GlobalVar("main"): Function(params, make_lets(steps, third))})
