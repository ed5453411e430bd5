"""Use an operator as inference and an executor do: ask its relation, then run its kernel, with and without `out`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from passlab.errors import RelationError
from passlab.ir.expr import Call
from passlab.ir.op import Op, OpSpec
from passlab.ir.types import IncompleteType, TensorType, TupleType, Type
from passlab.op.dtypes import array_dtype


class Refusal:
    """A reporter that records what a relation states about its inputs."""

    def __init__(self) -> None:
        self.assigned: dict[int, Type] = {}

    def assign(self, index: int, ty: Type) -> None:
        self.assigned[index] = ty


def T(*shape: Any, dtype: str = "float32") -> TensorType:  # reads as a type in the tests
    return TensorType(shape, dtype)


def unknown() -> IncompleteType:
    return IncompleteType()


def relate(name: str, *types: Type, **attrs: Any) -> Type | None:
    """Return the result type of an operator on inputs of `types`."""
    return relate_reporting(name, *types, **attrs)[0]


def relate_reporting(name: str, *types: Type, **attrs: Any) -> tuple[Type | None, dict[int, Type]]:
    """Return the result type and what the relation said about the inputs."""
    spec = Op.get(name).spec
    reporter = Refusal()
    record = spec.attrs(**attrs) if spec.attrs else None
    return spec.relation(types, record, reporter), reporter.assigned


def refused(name: str, *types: Type, **attrs: Any) -> RelationError:
    """Return the error with which an operator's relation refuses `types`."""
    with pytest.raises(RelationError) as caught:
        relate(name, *types, **attrs)
    return caught.value


def types_of(value: Any) -> Type:
    """Return the type of an array, or of a tuple of them."""
    if isinstance(value, (tuple, list)):
        return TupleType([types_of(v) for v in value])
    return TensorType(value.shape, value.dtype.name)


def check_type(value: Any, ty: Any, name: str) -> None:
    """Assert that a kernel's result has the type that the relation gave."""
    if isinstance(ty, TupleType):
        assert isinstance(value, tuple), name
        for part, field in zip(value, ty.fields, strict=True):
            check_type(part, field, name)
        return
    assert isinstance(value, np.ndarray), name
    assert value.dtype.name == ty.dtype, (name, value.dtype, ty)
    assert len(value.shape) == len(ty.shape), (name, value.shape, ty)
    assert all(n == d for n, d in zip(value.shape, ty.shape, strict=True) if isinstance(d, int)), (
        name,
        value.shape,
        ty,
    )


def empty_like_type(ty: Any) -> Any:
    if isinstance(ty, TupleType):
        return tuple(empty_like_type(t) for t in ty.fields)
    array = np.empty(ty.shape, array_dtype(ty.dtype))
    array.view(np.uint8).fill(0x5A) if array.size and array.ndim else array.fill(9)
    return array


def same(got: Any, want: Any, message: str = "") -> None:
    """Assert that two arrays are equal, NaN included, which NumPy cannot tell of bfloat16."""
    if got.dtype.kind == "V" and got.dtype == want.dtype:
        got, want = got.astype("float32"), want.astype("float32")
    np.testing.assert_array_equal(got, want, err_msg=message)


def run(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Run an operator on arrays: its type, its value and its `out` must agree; return the value."""
    spec = Op.get(name).spec
    return _run(spec, spec.attrs(**attrs) if spec.attrs else None, inputs)


def run_call(call: Call, inputs: Sequence[Any]) -> Any:
    """Run the operator of a call on arrays, as `run` does."""
    assert isinstance(call.op, Op)
    return _run(call.op.spec, call.attrs, inputs)


def _run(spec: OpSpec, record: Any, inputs: Sequence[Any]) -> Any:
    name = spec.name
    assert spec.kernel is not None
    ty = spec.relation([types_of(x) for x in inputs], record, Refusal())
    assert ty is not None
    before = [x.copy() for x in inputs if isinstance(x, np.ndarray)]
    value = spec.kernel(record, *inputs)
    check_type(value, ty, name)
    out = empty_like_type(types_of(value))
    returned = spec.kernel(record, *inputs, out=out)
    for result, arguments, back in zip(
        *(v if isinstance(v, tuple) else (v,) for v in (value, out, returned)), strict=True
    ):
        assert back is arguments, name
        same(result, arguments, name)
    for array, copy in zip([x for x in inputs if isinstance(x, np.ndarray)], before, strict=True):
        same(array, copy, f"{name} changed an input")
    return value


def close(got: Any, want: Any, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
