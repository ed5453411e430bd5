"""Type relations that many operators share. A relation gives the result type from the input types.

`types[i]` is an `IncompleteType` while an input is unknown; a relation then answers None ("not yet"), or refines the
input through `reporter.assign`. Illegal uses raise `RelationError`, which inference turns into a located diagnostic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, RelationError
from passlab.ir.op import Reporter
from passlab.ir.types import ANY, Dim, IncompleteType, Shape, TensorType, Type


def tensor(types: Sequence[Type], index: int, name: str = "") -> TensorType | None:
    """Return input `index` as a tensor type, None when unknown. Raises `RelationError` when it is something else."""
    ty = types[index]
    if type(ty) is TensorType:
        return ty
    if isinstance(ty, IncompleteType):
        return None
    raise RelationError(
        Diagnostic(f"input {name or index} must be a tensor", expected="a tensor", found=str(ty)), index
    )


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return `axis` counted from 0. Raises `RelationError` when it is outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise RelationError(
            Diagnostic(
                f"{what} {axis} is outside the rank {rank}",
                hint=f"allowed: {-rank}..{rank - 1}" if rank else "a scalar has no axis",
            )
        )
    return axis % rank


def same_dtype(a: TensorType, b: TensorType, index: int = 1) -> None:
    """Raise `RelationError` unless both tensors have one dtype."""
    if a.dtype != b.dtype:
        raise RelationError(
            Diagnostic(
                f"data types {a.dtype} and {b.dtype} do not match",
                expected=a.dtype,
                found=b.dtype,
                hint="cast one of them with `cast`",
            ),
            index,
        )


def broadcast_dim(a: Dim, b: Dim) -> Dim | None:
    """Return the broadcast of two dimensions, None when they cannot be: 1 gives way, a known size wins over `?`."""
    if a is b or a == b:
        return a
    if a == 1:
        return b
    if b == 1:
        return a
    if a is ANY:
        return b
    if b is ANY:
        return a
    return None


def broadcast_shape(a: TensorType, b: TensorType) -> Shape:
    """Return the shape two tensors broadcast to (NumPy's rule). Raises `RelationError` naming the dimension."""
    x, y = a.shape, b.shape
    if x == y:
        return x
    long, short = (x, y) if len(x) >= len(y) else (y, x)
    out: list[Any] = list(long)
    offset = len(long) - len(short)
    for i, dim in enumerate(short):
        joined = broadcast_dim(long[offset + i], dim)
        if joined is None:
            raise RelationError(
                Diagnostic(
                    f"Incompatible broadcast type {a} and {b}",
                    notes=((f"dimension {offset + i} is {long[offset + i]} against {dim}", None),),
                ),
                1,
            )
        out[offset + i] = joined
    return tuple(out)


def identity(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    """The result has the type of the first input."""
    return tensor(types, 0)


def broadcast(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    """Two tensors of one dtype, broadcast."""
    a, b = tensor(types, 0), tensor(types, 1)
    if a is None or b is None:
        return None
    if a is b:
        return a
    same_dtype(a, b)
    return TensorType(broadcast_shape(a, b), a.dtype)


def broadcast_compare(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    """Two tensors of one dtype, broadcast to a tensor of bool."""
    a, b = tensor(types, 0), tensor(types, 1)
    if a is None or b is None:
        return None
    same_dtype(a, b)
    return TensorType(broadcast_shape(a, b), "bool")
