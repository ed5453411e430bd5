"""Elementwise operators: arithmetic, comparisons, logic, functions of one variable, casts."""

from __future__ import annotations

import math

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.table import exports
from passlab.ir.op import OpCall
from passlab.op.dtypes import array_dtype, integer_info

UNARY = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "copy": "Identity",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "fast_erf": "Erf",
    "fast_exp": "Exp",
    "fast_tanh": "Tanh",
    "floor": "Floor",
    "isnan": "IsNaN",
    "log": "Log",
    "negative": "Neg",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
    "annotation.stop_fusion": "Identity",
    "annotation.checkpoint": "Identity",
    "annotation.compiler_begin": "Identity",
    "annotation.compiler_end": "Identity",
    "on_device": "Identity",
    "device_copy": "Identity",
}
BINARY = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "equal": "Equal",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "maximum": "Max",
    "minimum": "Min",
    "power": "Pow",
}
BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "bitwise_not": "Not"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}


@exports(*UNARY)
def unary(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The ONNX operator of the same meaning."""
    return e.node(UNARY[op_name(call)], [data])


@exports(*BINARY)
def binary(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """The ONNX operator of the same meaning; both broadcast as NumPy does."""
    return e.node(BINARY[op_name(call)], [lhs, rhs])


@exports(*BITWISE)
def bitwise(e: GraphEmitter, call: OpCall, *operands: str) -> str:
    """The bitwise operator of ONNX, which takes no bools; for those the logical one."""
    logical = BITWISE[op_name(call)]
    return e.node(logical if e.type(call.args[0]).dtype == "bool" else f"Bitwise{logical}", list(operands))


@exports(*LOGICAL)
def logical(e: GraphEmitter, call: OpCall, *operands: str) -> str:
    """The ONNX operator of the same meaning, on bools (not zero)."""
    return e.node(LOGICAL[op_name(call)], [e.cast(name, "bool") for name in operands])


@exports("trunc_divide")
def trunc_divide(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """Div, which truncates integers; a float quotient is truncated by magnitude, and its sign restored."""
    quotient = e.node("Div", [lhs, rhs])
    if not is_float(e, call):
        return quotient
    return e.node("Mul", [e.node("Floor", [e.node("Abs", [quotient])]), e.node("Sign", [quotient])])


@exports("not_equal")
def not_equal(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """The negation of Equal."""
    return e.node("Not", [e.node("Equal", [lhs, rhs])])


def is_float(e: GraphEmitter, call: OpCall) -> bool:
    """Whether the first operand has floating-point elements."""
    return "float" in e.type(call.args[0]).dtype


@exports("mod", "trunc_mod")
def mod(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """The remainder with the sign of the dividend."""
    return e.node("Mod", [lhs, rhs], fmod=1)


@exports("floor_mod")
def floor_mod(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """The remainder with the sign of the divisor; for floats C's remainder, plus one divisor if the signs differ."""
    if not is_float(e, call):
        return e.node("Mod", [lhs, rhs])
    zero = e.constant(0, e.type(call).dtype)
    rest = e.node("Mod", [lhs, rhs], fmod=1)
    differs = e.node("Xor", [e.node("Less", [rest, zero]), e.node("Less", [rhs, zero])])
    corrected = e.node("And", [differs, e.node("Not", [e.node("Equal", [rest, zero])])])
    return e.node("Where", [corrected, e.node("Add", [rest, rhs]), rest])


@exports("floor_divide")
def floor_divide(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """The quotient rounded down; for integers, the dividend minus the remainder, divided exactly."""
    if is_float(e, call):
        return e.node("Floor", [e.node("Div", [lhs, rhs])])
    return e.node("Div", [e.node("Sub", [lhs, e.node("Mod", [lhs, rhs])]), rhs])


@exports("left_shift", "right_shift")
def shift(e: GraphEmitter, call: OpCall, lhs: str, rhs: str) -> str:
    """BitShift, which is defined for unsigned integers; signed ones are reinterpreted as unsigned.

    For a right shift, the bits of a negative number are inverted before and after, so that ones are shifted in.
    """
    dtype, direction = e.type(call.args[0]).dtype, "LEFT" if op_name(call) == "left_shift" else "RIGHT"
    if not dtype.startswith("int"):
        return e.node("BitShift", [lhs, rhs], direction=direction)
    unsigned, count = f"u{dtype}", e.cast(rhs, f"u{dtype}")
    if direction == "LEFT":
        return e.cast(e.node("BitShift", [e.cast(lhs, unsigned), count], direction=direction), dtype)
    negative = e.node("Less", [lhs, e.constant(0, dtype)])
    bits = e.node("Where", [negative, e.node("BitwiseNot", [lhs]), lhs])
    shifted = e.cast(e.node("BitShift", [e.cast(bits, unsigned), count], direction=direction), dtype)
    return e.node("Where", [negative, e.node("BitwiseNot", [shifted]), shifted])


@exports("isfinite")
def isfinite(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Neither NaN nor infinite."""
    return e.node("Not", [e.node("Or", [e.node("IsNaN", [data]), e.node("IsInf", [data])])])


@exports("isinf")
def isinf(e: GraphEmitter, call: OpCall, data: str) -> str:
    """IsInf."""
    return e.node("IsInf", [data])


@exports("rsqrt")
def rsqrt(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The reciprocal of the root."""
    return e.node("Reciprocal", [e.node("Sqrt", [data])])


@exports("log2", "log10")
def log_of_base(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The natural logarithm divided by the logarithm of the base."""
    base = 2 if op_name(call) == "log2" else 10
    return e.node("Div", [e.node("Log", [data]), e.constant(math.log(base), e.type(call.args[0]).dtype)])


@exports("trunc")
def trunc(e: GraphEmitter, call: OpCall, data: str) -> str:
    """The integral part, with its sign."""
    if not is_float(e, call):
        return e.node("Identity", [data])
    return e.node("Mul", [e.node("Sign", [data]), e.node("Floor", [e.node("Abs", [data])])])


@exports("round")
def round_half_away(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Round halves away from zero, by comparing the fraction with one half."""
    if not is_float(e, call):
        return e.node("Identity", [data])
    dtype = e.type(call.args[0]).dtype
    magnitude = e.node("Abs", [data])
    floor = e.node("Floor", [magnitude])
    rounds_up = e.node("GreaterOrEqual", [e.node("Sub", [magnitude, floor]), e.constant(0.5, dtype)])
    return e.node("Mul", [e.node("Sign", [data]), e.node("Add", [floor, e.cast(rounds_up, dtype)])])


@exports("cast")
def cast(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Cast."""
    return e.cast(data, call.attrs.dtype)


@exports("cast_like")
def cast_like(e: GraphEmitter, call: OpCall, data: str, like: str) -> str:
    """CastLike."""
    return e.node("CastLike", [data, like])


@exports("clip")
def clip(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Clip, with bounds inside the range of the dtype."""
    dtype = e.type(call.args[0]).dtype
    low, high = call.attrs.a_min, call.attrs.a_max
    if dtype == "bool":
        e.refuse("ONNX's Clip takes no elements of bool")
    if not is_float(e, call):
        bounds = integer_info(array_dtype(dtype))
        low, high = max(math.ceil(max(low, bounds.min)), bounds.min), min(math.floor(min(high, bounds.max)), bounds.max)
    return e.node("Clip", [data, e.constant(low, dtype), e.constant(high, dtype)])


@exports("where")
def where(e: GraphEmitter, call: OpCall, condition: str, x: str, y: str) -> str:
    """Where, with its condition cast to bool."""
    if e.type(call.args[0]).dtype != "bool":
        condition = e.cast(condition, "bool")
    return e.node("Where", [condition, x, y])
