"""ONNX's own definitions of operators by other operators.

The standard defines many operators as functions of simpler ones, some of them only once the types of their inputs are
known. An operator without an entry in passlab's table is expanded by this definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.contrib import DEFINITIONS, DOMAIN, OWN, contrib_function
from passlab.frontend.onnx.entries import schema_of
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.tensors import code_of
from passlab.ir.expr import Expr
from passlab.ir.types import TensorType, TupleType


def has_definition(op_type: str, domain: str, opset: int) -> bool:
    """Whether an operator is defined by other operators, by ONNX or, for onnxruntime's operators, here."""
    if _is_contrib(op_type, domain, opset):
        return op_type in DEFINITIONS
    schema = schema_of(op_type, domain, opset)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def _is_contrib(op_type: str, domain: str, opset: int) -> bool:
    """Whether an operator is onnxruntime's own, also where it stands in ONNX's domain, before ONNX has it."""
    return domain == DOMAIN or (domain == "" and op_type in OWN and schema_of(op_type, domain, opset) is None)


def definition(proto: Any, domain: str, opset: int, inputs: Sequence[Expr | None]) -> Any:
    """Return the FunctionProto that defines a node for these input types. Raises `ModelError` if ONNX defines none."""
    if _is_contrib(proto.op_type, domain, opset):
        ranks = [
            len(x.checked_type.shape) if x is not None and isinstance(x.checked_type, TensorType) else None
            for x in inputs
        ]
        return contrib_function(proto, ranks)
    schema = schema_of(proto.op_type, domain, opset)
    function = None
    if schema is not None and schema.has_context_dependent_function:
        types = [_type_proto(value).SerializeToString() for value in inputs]  # the C++ library takes messages as bytes
        try:
            body = schema.get_context_dependent_function(proto.SerializeToString(), types)
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                Diagnostic(f"ONNX has no definition of {proto.op_type} for these inputs", found=str(error))
            ) from error
        if body:
            function = onnx().FunctionProto()
            function.ParseFromString(body)
    if function is None and schema is not None and schema.has_function:
        function = onnx().FunctionProto()
        function.CopyFrom(schema.function_body)
    if function is None or not function.node:
        raise ModelError(Diagnostic(f"the ONNX operator `{proto.op_type}` is not supported as it is used here"))
    # Bind the schema's default attributes in the function body.
    declared = {attribute.name for attribute in function.attribute_proto}
    for attribute in schema.attributes.values():
        if attribute.default_value.name and attribute.name not in declared:
            function.attribute_proto.append(attribute.default_value)
    return function


def _type_proto(value: Expr | None) -> Any:
    """Return the type of a value as ONNX's TypeProto, the empty type for a missing one."""
    package = onnx()
    ty = None if value is None else value.checked_type
    is_list = isinstance(ty, TupleType)
    if isinstance(ty, TupleType):
        ty = ty.fields[0] if ty.fields else None  # all fields have one dtype
    proto = package.TypeProto()
    if isinstance(ty, TensorType):
        shape = [dim if isinstance(dim, int) else None for dim in ty.shape]
        proto = package.helper.make_tensor_type_proto(code_of(ty.dtype), None if is_list else shape)
    return package.helper.make_sequence_type_proto(proto) if is_list else proto
