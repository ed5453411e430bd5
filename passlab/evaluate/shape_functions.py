"""Shape functions: kernels that return the shapes and the sizes in bytes of a primitive function's results.

They run the operators' type relations on concrete shapes, so they cannot disagree with the static types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, type_in_words
from passlab.ir.expr import Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, is_op_call
from passlab.ir.types import IncompleteType, TensorType, TupleType, Type, fold_tuple, tensor_types
from passlab.ir.walk import post_order
from passlab.op.dtypes import array_dtype
from passlab.op.relations import KNOWN_INPUTS

Array = np.ndarray[Any, Any]
NOTHING = IncompleteType()  # a parameter without annotation: one array


def shape_kernel(function: Function, by_data: bool) -> Callable[[Sequence[Array], Sequence[Array]], None]:
    """Return the kernel of a shape function, which reads the values of the inputs (`by_data`) or their shapes."""
    order = [n for n in post_order(function.body) if not isinstance(n, Op)]
    params = function.params

    def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
        # Tuples come flattened: a parameter takes as many arrays as its type has tensors.
        flat = iter(inputs)
        arrays: dict[Expr, Any] = {}
        types: dict[Expr, Type] = {}
        for param in params:
            types[param], arrays[param] = _typed_input(param.type_annotation, flat, by_data)
        for node in order:
            if node not in types:
                types[node] = _type_of(node, types, arrays)
        tensors = tensor_types(types[function.body])
        for i, tensor in enumerate(tensors):
            results[i][...] = tensor.concrete_shape
            results[len(tensors) + i][...] = prod(tensor.concrete_shape) * array_dtype(tensor.dtype).itemsize

    return run


def _typed_input(ty: Type | None, flat: Iterator[Array], by_data: bool) -> tuple[Type, Any]:
    """Return the concrete type of a parameter and, with `by_data`, its value, from flat inputs."""

    def leaf(part: Type) -> tuple[Type, Any]:
        value = next(flat)
        dtype = part.dtype if isinstance(part, TensorType) else value.dtype
        return (TensorType(value.shape, dtype), value) if by_data else (TensorType(tuple(value.tolist()), dtype), None)

    def gather(parts: list[tuple[Type, Any]]) -> tuple[Type, Any]:
        return TupleType([t for t, _ in parts]), tuple(v for _, v in parts)

    folded: tuple[Type, Any] = fold_tuple(ty or NOTHING, leaf, gather)
    return folded


def _type_of(node: Expr, types: dict[Expr, Type], arrays: dict[Expr, Any]) -> Type:
    if isinstance(node, Constant):
        arrays[node] = node.data
        return node.tensor_type
    if isinstance(node, Tuple):
        arrays[node] = tuple(arrays.get(f) for f in node.fields)
        return TupleType([types[f] for f in node.fields])
    if isinstance(node, TupleGetItem):
        whole = types[node.tuple_value]
        assert isinstance(whole, TupleType)
        return whole.fields[node.index]
    if not is_op_call(node):
        raise RunError(Diagnostic(f"a shape function cannot hold {type_in_words(node)}", node.span))
    spec = node.op.spec
    if spec.shape_function is not None:
        return spec.shape_function(node.attrs, *(arrays[a] for a in node.args))
    result = spec.relation([types[a] for a in node.args], node.attrs, KNOWN_INPUTS)
    if result is None:
        raise RunError(
            Diagnostic(f"the result shape of `{spec.name}` does not follow from the shapes of its inputs", node.span)
        )
    return result
