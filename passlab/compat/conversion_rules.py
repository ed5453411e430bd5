"""Helpers for users' rules of ToMixedPrecision and FakeQuantizationToInteger, under TVM's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab import relay
from passlab.infer.inference import infer_module
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.module import IRModule
from passlab.ir.op import Op, Precision
from passlab.passes.precision.integer_rules import OPTIONAL
from passlab.passes.precision.quantized_region import identical, quantized, requantize
from passlab.transform import FoldConstantExpr
from passlab.transform.registering import register_fake_quantization_to_integer, register_mixed_precision_conversion


def _operators(precision: Precision) -> list[str]:
    """Return the names of the operators that ToMixedPrecision treats so, sorted."""
    return [name for name in Op.list_op_names() if Op.get(name).spec.precision is precision]


DEFAULT_ALWAYS_LIST = _operators(Precision.ALWAYS)
DEFAULT_FOLLOW_LIST = _operators(Precision.FOLLOW)
DEFAULT_NEVER_LIST = _operators(Precision.NEVER)


def get_generic_out_dtypes(call_node: Call, mixed_precision_type: str) -> list[str]:
    """Return the dtype in which a call accumulates and the dtype of its result: the short dtype for both."""
    return [mixed_precision_type, mixed_precision_type]


def register_func_to_op_list(list_ops: Sequence[str]) -> Callable[[Callable[..., Any]], None]:
    """Return a decorator that registers a function as the rule of ToMixedPrecision for each operator in `list_ops`."""

    def register(func: Callable[..., Any]) -> None:
        for name in list_ops:
            register_mixed_precision_conversion(name, func)

    return register


def fold_constant(expr: Expr) -> Expr:
    """Return an expression without free variables as a constant."""
    folded: Expr = FoldConstantExpr(expr, IRModule())
    return folded


def get_zeros(scale: Expr) -> Expr:
    """Return zero points for scales: int32 zeros of the same shape."""
    return fold_constant(relay.cast(relay.zeros_like(scale), "int32"))


def infer_shape(expr: Expr) -> Any:
    """Return the inferred shape of a tensor."""
    result: Any = infer_module(IRModule.from_expr(expr))["main"].body.checked_type
    return result.shape


def register_unary_identity(op_name: str) -> None:
    """Register a rule of FakeQuantizationToInteger for an operator that keeps scale and zero point of its input."""

    def identity(expr: Call, type_map: Any) -> list[Any]:
        return [expr, type_map[expr.args[0]]]

    register_fake_quantization_to_integer(op_name, identity)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register a rule that the pass uses only for operators named in its `optional_qnn_ops`; or return a decorator."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        OPTIONAL[op_name] = rule
        return rule

    return enter if func is None else enter(func)


def get_binary_types(expr: Call, type_map: Any) -> tuple[Any, ...]:
    """Return both operands of a binary call, the quantization of each, and the quantization of the result.

    A floating constant is quantized like the other operand. Raises `TypeError` if neither operand is quantized.
    """
    operands = list(expr.args)
    parameters = [type_map.quantization.get(operand) for operand in operands]
    if parameters == [None, None]:
        raise TypeError("neither input is quantized!")
    for i, other in ((0, parameters[1]), (1, parameters[0])):
        operand = operands[i]
        if parameters[i] is None:
            assert isinstance(operand, Constant)
            operands[i] = quantized(operand, other)
            parameters[i] = other
    result = type_map[expr]
    return (*operands, *parameters, result if parameters[0].dtype == result.dtype else parameters[0])


def register_binary_qnn(op_name: str, op: Callable[..., Expr]) -> None:
    """Register a rule by which a binary operator becomes `op`, a constructor of qnn's calls like `relay.qnn.add`."""

    def binary(expr: Call, type_map: Any) -> list[Any]:
        left, right, a, b, result = get_binary_types(expr, type_map)
        scales = (a.scale, a.zero_point, b.scale, b.zero_point, result.scale, result.zero_point)
        return [op(left, right, *scales, a.axis, b.axis), result]

    register_fake_quantization_to_integer(op_name, binary)


def register_binary_identity(op_name: str, op: Callable[..., Expr]) -> None:
    """Register a rule by which a binary operator is computed on integers in the scale of the result."""

    def binary(expr: Call, type_map: Any) -> list[Any]:
        left, right, a, b, result = get_binary_types(expr, type_map)
        left, right = (
            side if identical(params, result) else requantize(side, params, result)
            for side, params in ((left, a), (right, b))
        )
        return [op(left, right), result]

    register_fake_quantization_to_integer(op_name, binary)


def register_unary_qnn(op_name: str, op: Callable[..., Expr]) -> None:
    """Register a rule by which a unary operator becomes `op`, a constructor of qnn's calls like `relay.qnn.tanh`."""

    def unary(expr: Call, type_map: Any) -> list[Any]:
        source, result = type_map[expr.args[0]], type_map[expr]
        return [op(expr.args[0], source.scale, source.zero_point, result.scale, result.zero_point), result]

    register_fake_quantization_to_integer(op_name, unary)
