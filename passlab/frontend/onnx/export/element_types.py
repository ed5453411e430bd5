"""The element types of ONNX's nodes: the dtypes they accept and return, according to ONNX's schemas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from passlab.frontend.onnx.export.names import NoCounterpartError, element_type
from passlab.frontend.onnx.package import onnx

_SINGLE = {"tensor(bool)": "bool", "tensor(int64)": "int64", "tensor(uint8)": "uint8"}  # fixed result types


def result_dtypes(op_type: str, opset: int, dtypes: Sequence[str | None], results: int) -> list[str | None]:
    """Return the dtypes of the results of a node, None for one that the dtypes of its inputs do not determine.

    A dtype of None is unknown. Raises `NoCounterpartError` if ONNX's operator does not accept the dtypes.
    """
    schema = _schema(op_type, opset)
    bound: dict[str, str] = {}
    for index, dtype in enumerate(dtypes):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)] if schema.inputs else None
        if dtype is None or formal is None or not formal.is_homogeneous:
            continue
        if _type_string(dtype) not in formal.types:
            raise NoCounterpartError(f"ONNX's {op_type} takes no elements of {dtype}")
        first = bound.setdefault(formal.type_str, dtype)
        if first != dtype and formal.type_str.isalnum():  # a type variable: one type for all that share it
            raise NoCounterpartError(f"ONNX's {op_type} takes elements of one dtype, not {first} and {dtype}")
    formals = [schema.outputs[min(index, len(schema.outputs) - 1)] for index in range(results)]
    return [
        (bound.get(formal.type_str) or _SINGLE.get("".join(formal.types))) if formal.is_homogeneous else None
        for formal in formals
    ]


@lru_cache(maxsize=512)
def _schema(op_type: str, opset: int) -> Any:
    return onnx().defs.get_schema(op_type, opset, "")


@lru_cache(maxsize=64)
def _type_string(dtype: str) -> str:
    """Return a dtype as schemas write it: `tensor(float)` for float32."""
    return f"tensor({onnx().TensorProto.DataType.Name(element_type(dtype)).lower()})"
