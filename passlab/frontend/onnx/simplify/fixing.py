"""A model with some of its open sizes and inputs fixed, and with the weights of other files inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from passlab.frontend.onnx.importing import given_value, graph_inputs, input_type, refuse_input, sizes_and_shapes
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.tensors import External, array_of


def fixed(model: Any, shape: Mapping[str, Any], values: Mapping[str, Any], external: External | None) -> Any:
    """Return a copy of a model in which inputs have the shapes and values given, as for `from_onnx`.

    An input with a value becomes a weight. Raises `ModelError` for names and values that do not fit.
    """
    result = onnx().ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    for tensor in graph.initializer:
        if tensor.data_location == onnx().TensorProto.EXTERNAL:
            array = array_of(tensor, external)
            tensor.CopyFrom(
                onnx().numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), tensor.name)
            )
    inputs = graph_inputs(graph)
    sizes, shapes = sizes_and_shapes(inputs, shape)
    names = sorted(value.name for value in inputs)
    for name in values:
        if name not in names:
            refuse_input(name, names)
    for value in inputs:
        if value.name not in values and value.name not in shapes:
            continue
        ty = input_type(value, shapes.get(value.name), "float32", None, sizes)
        if value.name in values:
            array = given_value(value, values[value.name], ty)
            graph.initializer.append(onnx().numpy_helper.from_array(array, value.name))
            graph.input.remove(value)
        else:
            tensor = value.type.tensor_type
            old = list(tensor.shape.dim)
            tensor.shape.ClearField("dim")
            for axis, dim in enumerate(ty.shape):
                new = tensor.shape.dim.add()
                if isinstance(dim, int):
                    new.dim_value = dim
                elif axis < len(old):
                    new.dim_param = old[axis].dim_param
    _fix_sizes([*graph.input, *graph.output, *graph.value_info], sizes)
    if shapes:
        del graph.value_info[:]  # sizes without a name may be others now
    return result


def _fix_sizes(values: Iterable[Any], sizes: Mapping[str, int]) -> None:
    for value in values:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
