"""The types of a model's inputs: those in the model, overridden by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.errors import Diagnostic, ModelError, PasslabError
from passlab.frontend.onnx.tensors import dtype_of
from passlab.ir.dtypes import dtype_name
from passlab.ir.types import ANY, Dim, SizeVar, TensorType


def input_type(
    value: Any, shape: Any, dtype: str | Mapping[str, str], symbols: dict[str, SizeVar] | None
) -> TensorType:
    """Return the type of a ValueInfoProto. `shape` is the caller's shape for it, or None.

    An unknown dimension becomes a symbol, the same for the same name; without `symbols` it becomes `?`.

    Raises `ModelError` if the input is not a tensor, for invalid shapes, and for an unknown rank.
    """
    name, ty = value.name, value.type
    if ty.WhichOneof("value") not in ("tensor_type", None):
        kind = ty.WhichOneof("value").removesuffix("_type").replace("_", " ")
        raise ModelError(
            Diagnostic(f"the input `{name}` is of the kind `{kind}`", hint="only tensors are supported as inputs")
        )
    names = _known_shape(ty.tensor_type, symbols) if ty.tensor_type.HasField("shape") else None
    if shape is None and names is None:
        hint = f'say them: from_onnx(model, shape={{"{name}": (1, 3, 224, 224)}})'
        raise ModelError(
            Diagnostic(f"the model does not state the number of dimensions of its input `{name}`", hint=hint)
        )
    dims = names if shape is None else _given_shape(name, shape)
    assert dims is not None
    if names is not None and len(dims) != len(names):
        expected = f"{len(names)} dimensions: ({', '.join(map(repr, names))})"
        raise ModelError(
            Diagnostic(f"the shape given for the input `{name}` has another rank", None, expected, str(shape))
        )
    if symbols is not None:
        # One symbol each: nothing says that two are equal.
        dims = tuple(SizeVar("size") if dim is ANY else dim for dim in dims)
    return TensorType(dims, _dtype(name, ty.tensor_type.elem_type, dtype))


def _known_shape(tensor: Any, symbols: dict[str, SizeVar] | None) -> tuple[Dim, ...]:
    """The shape in a model. Dimensions that are named, missing or negative are unknown."""
    dims = tensor.shape.dim
    shape: list[Dim] = []
    for dim in dims:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        elif dim.dim_param and symbols is not None:
            shape.append(symbols.setdefault(dim.dim_param, SizeVar(dim.dim_param)))
        else:
            shape.append(ANY)
    return tuple(shape)


def _given_shape(name: str, shape: Any) -> tuple[Dim, ...]:
    try:
        return TensorType(tuple(shape), "float32").shape
    except (PasslabError, TypeError) as error:
        hint = "a shape is a tuple of whole numbers from 0 on; `relay.Any()` stands for an unknown one"
        message = f"the value given for the input `{name}` is not a shape"
        raise ModelError(Diagnostic(message, found=repr(shape), hint=hint)) from error


def _dtype(name: str, code: int, dtypes: str | Mapping[str, str]) -> str:
    if isinstance(dtypes, Mapping):
        dtype = dtypes.get(name)
    else:
        dtype = dtypes if code == 0 else None
    if dtype is None:
        return dtype_of(code)
    try:
        return dtype_name(dtype)
    except (PasslabError, TypeError) as error:
        raise ModelError(Diagnostic(f"the dtype given for `{name}` is none", found=repr(dtype))) from error
