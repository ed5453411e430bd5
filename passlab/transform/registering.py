"""Functions that users register for an operator, under the attributes that passes look up.

    @relay.op.register_legalize("nn.dense")
    def dense(attrs, args, types): ...

Registering again replaces the previous function, so that a notebook cell may run twice; a function of lower `level`
does not replace one of higher level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.ir.op import Op, register_op_attr


@dataclass(frozen=True)
class InferCorrectLayoutOutput:
    """The result of a function of `register_infer_correct_layout`: layouts of a call, and its new attributes."""

    input_layouts: Sequence[str]
    output_layouts: Sequence[str]
    new_attrs: Any


def unregister_op_attr(op_name: str, attr_key: str) -> None:
    """Remove an attribute of an operator, whatever its level."""
    Op.get(op_name).reset_attr(attr_key)


def _register_function(attr_key: str, name: str, doc: str) -> Callable[..., Any]:
    def register(op_name: str, func: Any = None, level: int = 10) -> Any:
        return register_op_attr(op_name, attr_key, func, level)

    register.__name__ = register.__qualname__ = name
    register.__doc__ = f"{doc}\n\nWithout `func`, return a decorator. Raises `OpNotFoundError` for an unknown operator."
    return register


register_legalize = _register_function(
    "FTVMLegalize",
    "register_legalize",
    "Register how Legalize replaces calls: func(attrs, args, types) -> expression or None.",
)
register_qnn_legalize = _register_function(
    "FTVMQnnLegalize",
    "register_qnn_legalize",
    "Register how qnn Legalize replaces calls: func(attrs, args, types) -> expression or None.",
)
register_qnn_canonicalize = _register_function(
    "FTVMQnnCanonicalize",
    "register_qnn_canonicalize",
    "Register how qnn CanonicalizeOps replaces calls: func(attrs, args, types) -> expression or None.",
)
register_alter_op_layout = _register_function(
    "FTVMAlterOpLayout",
    "register_alter_op_layout",
    "Register how AlterOpLayout replaces calls: func(attrs, args, types, out_type) -> call or None.",
)
register_convert_op_layout = _register_function(
    "FTVMConvertOpLayout",
    "register_convert_op_layout",
    "Register how ConvertLayout converts calls: func(attrs, args, types, desired_layouts) -> call or None.",
)
register_mixed_precision_conversion = _register_function(
    "FTVMMixedPrecisionConversionType",
    "register_mixed_precision_conversion",
    "Register the precision of calls: func(call, dtype) -> [category, accumulation, output dtype].",
)
register_fake_quantization_to_integer = _register_function(
    "FTVMFakeQuantizationToInteger",
    "register_fake_quantization_to_integer",
    "Register a rule of FakeQuantizationToInteger: func(call, region) -> [expression, its quantization parameters].",
)

register_gradient = _register_function(
    "FPrimalGradient",
    "register_gradient",
    "Register the gradient of an operator: func(call, gradient of its result) -> a gradient for each argument.",
)
register_infer_correct_layout = _register_function(
    "FInferCorrectLayout",
    "register_infer_correct_layout",
    "Register the layouts of calls: func(attrs, new_in_layouts, old_in_layouts, old_in_types) -> layouts or None.",
)

REGISTERS = (
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_fake_quantization_to_integer",
    "register_gradient",
    "register_infer_correct_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr",
    "register_qnn_canonicalize",
    "register_qnn_legalize",
    "unregister_op_attr",
)
