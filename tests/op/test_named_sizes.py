"""The law of named sizes: where a result is said to have a size `n`, or one computed of `n`, it has that size.

A relation may answer `?` for what it does not know. It may not say `n` for a dimension that strides, borders or blocks
make larger or smaller; it may say `n * 2 + 1` where that is so. Each dimension of each edge case is named in turn; the case with its numbers says what is so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError, RelationError
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import Dim, SizeVar, TensorType, TupleType, Type
from passlab.op.edge_cases import program
from passlab.relay.testing import run_infer_type
from tests.each import each
from tests.op_nn.running import Refusal

DTYPES = ("float32", "int32", "int8", "bool")


def leaves(ty: Type | None) -> list[TensorType]:
    if isinstance(ty, TupleType):
        return [leaf for field in ty.fields for leaf in leaves(field)]
    return [ty] if isinstance(ty, TensorType) else []


def named(ty: Type, leaf: int, axis: int, name: SizeVar) -> Type:
    """The type with one dimension of one of its tensors named."""
    if isinstance(ty, TupleType):
        fields = list(ty.fields)
        for i, field in enumerate(fields):
            count = len(leaves(field))
            if 0 <= leaf < count:
                fields[i] = named(field, leaf, axis, name)
            leaf -= count
        return TupleType(fields)
    assert isinstance(ty, TensorType)
    shape: list[Dim] = list(ty.shape)
    shape[axis] = name
    return TensorType(shape, ty.dtype)


def edge_calls(name: str) -> Iterator[Call]:
    for edge in Op.get(name).spec.edge_cases:
        for dtype in DTYPES:
            try:
                body = passlab.parse(program(edge, dtype).source)["main"].body
            except PasslabError:
                continue
            if isinstance(body, Call):
                yield body
            break


def renamed(types: list[Type]) -> Iterator[tuple[list[Type], SizeVar, int]]:
    """The types with each dimension named in turn, the name, and its size."""
    for at, ty in enumerate(types):
        for leaf, tensor in enumerate(leaves(ty)):
            for axis, size in enumerate(tensor.shape):
                n = SizeVar("n")
                assert isinstance(size, int)
                yield [*types[:at], named(ty, leaf, axis, n), *types[at + 1 :]], n, size


@each("name", [n for n in Op.list_op_names() if Op.get(n).spec.edge_cases])
def test_a_name_stays_only_where_the_size_does(name: str) -> None:
    relation = Op.get(name).spec.relation
    for call in edge_calls(name):
        types = [arg.checked_type for arg in call.args]
        want = leaves(relation(types, call.attrs, Refusal()))
        if any(not isinstance(d, int) for ty in [*types, *want] for leaf in leaves(ty) for d in leaf.shape):
            continue
        for inputs, n, size in renamed(types):
            try:
                got = leaves(relation(inputs, call.attrs, Refusal()))
            except RelationError:  # it needs the number
                continue
            for result, exact in zip(got, want, strict=False):
                sizes = zip(result.shape, exact.shape, strict=True)
                results = [(a.at({n: size}) if isinstance(a, SizeVar) else a, b) for a, b in sizes]
                wrong = [(a, b) for a, b in results if isinstance(a, int) and a != b]
                assert not wrong, f"{call.attrs}: {inputs} gives {result}, and {types} gives {exact}"


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_over_a_named_size_are_counted_by_its_name(stride: int, ceil: bool) -> None:
    n = SizeVar("n")
    x = relay.var("x", shape=(1, 2, n, 16))
    pool = relay.nn.max_pool2d(x, (3, 2), (stride, stride), padding=(1, 0), ceil_mode=ceil)
    rows = run_infer_type(pool).checked_type.shape[2]
    for size in range(1, 12):
        starts = range(-1, size + 1 - 3 + 1 + (stride - 1 if ceil else 0), stride)
        assert rows.at({n: size}) == len(starts)
