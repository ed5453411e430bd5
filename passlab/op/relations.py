"""Type relations that many operators share. A relation computes the result type from the input types.

`types[i]` is an `IncompleteType` while an input is unknown; a relation then returns None ("not yet"), or refines the
input through `reporter.assign`. Illegal uses raise `RelationError`, which inference turns into a located diagnostic.
Most operators take tensors and refine none: `on_tensors` makes their relation from a function of the tensor types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, cast

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import Relation, Reporter
from passlab.ir.types import ANY, Dim, IncompleteType, Shape, TensorType, TupleType, Type, is_computed


class _KnownInputs:
    """A reporter that discards the types that a relation derives for its inputs."""

    def assign(self, index: int, ty: Type) -> None:
        """Do nothing: every input already has its type."""


KNOWN_INPUTS: Reporter = _KnownInputs()  # the reporter for relations whose inputs all have types


def refuse(
    message: str, argument: int | None = None, *, expected: object = None, found: object = None, hint: str | None = None
) -> NoReturn:
    """Raise the `RelationError` that explains an illegal use; `argument` is the index of the wrong input."""
    texts = [None if side is None else str(side) for side in (expected, found)]
    raise RelationError(Diagnostic(message, expected=texts[0], found=texts[1], hint=hint), argument)


def tensor(types: Sequence[Type], index: int, name: str = "") -> TensorType | None:
    """Return input `index` as a tensor type, None while unknown. Raises `RelationError` if it has another type."""
    ty = types[index]
    if type(ty) is TensorType:
        return ty
    if isinstance(ty, IncompleteType):
        return None
    hint = "take one of its fields: `.0`" if isinstance(ty, TupleType) else None
    refuse(f"input {name or index} must be a tensor", index, expected="a tensor", found=ty, hint=hint)


def on_tensors(rule: Callable[..., Type | None]) -> Relation:
    """Return the relation of an operator whose inputs are tensors: it waits until all of them are known.

    The parameters of `rule(attrs, ...)` after the first one are the inputs, by the names that the messages use.
    """
    code = rule.__code__
    names = code.co_varnames[1 : code.co_argcount]

    def wait(types: Sequence[Type]) -> Type | None:  # raises unless the other inputs are unknown
        for index, name in enumerate(names):
            tensor(types, index, name)
        return None

    def relation_of_one(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
        return rule(attrs, types[0]) if type(types[0]) is TensorType else wait(types)

    def relation(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
        for ty in types:
            if type(ty) is not TensorType:
                return wait(types)
        return rule(attrs, *types)

    return relation_of_one if len(names) == 1 else relation  # most operators have one input, and inference is hot


def tensor_fields(types: Sequence[Type], name: str = "data", index: int = 0) -> list[TensorType] | None:
    """Return an input, a tuple of tensors, as a list; None while any field is unknown.

    Raises `RelationError` if the input is not a tuple or a field is not a tensor.
    """
    ty = types[index]
    if isinstance(ty, IncompleteType):
        return None
    if not isinstance(ty, TupleType):
        refuse(f"input {name} must be a tuple of tensors", index, expected="a tuple of tensors", found=ty)
    fields: list[TensorType] = []
    for i, field in enumerate(ty.fields):
        if isinstance(field, IncompleteType):
            return None
        if not isinstance(field, TensorType):
            refuse(f"field {i} of input {name} must be a tensor", index, expected="a tuple of tensors", found=ty)
        fields.append(field)
    return fields


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return `axis` counted from 0. Raises `RelationError` if it is outside [-rank, rank)."""
    if not -rank <= axis < rank:
        refuse(
            f"{what} {axis} is outside the rank {rank}",
            0,
            hint=f"allowed: {-rank}..{rank - 1}" if rank else "a scalar has no axis",
        )
    return axis % rank


def normal_axes(axes: Iterable[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """Return `axes` counted from 0, in their order. Raises `RelationError` for one outside the rank or repeated."""
    result = tuple([normal_axis(axis, rank, what) for axis in axes])
    if len(set(result)) != len(result):
        refuse(f"{what} names a dimension twice", 0, found=list(axes))
    return result


def concrete(shape: Shape) -> tuple[int, ...]:
    """Return a shape computed at run time, where every dimension is a number."""
    return cast("tuple[int, ...]", shape)


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of dimensions, `?` if one is unknown (unless another is 0)."""
    result: Any = 1
    for dim in sorted(dims, key=lambda d: type(d) is not int):  # numbers first: 0 * ? is 0
        result = 0 if result == 0 else dim * result
    return cast("Dim", result)


def times(dim: Dim, factor: int) -> Dim:
    """Return a dimension times a number."""
    result: Any = dim
    return cast("Dim", result if factor == 1 else result * factor)


def plus(dim: Dim, addend: int) -> Dim:
    """Return a dimension plus a number, which may be negative."""
    return total([dim, addend])


def divide_dim(dim: Dim, parts: int) -> Dim:
    """Return the size of each of equal parts of a dimension."""
    result: Any = dim
    return cast("Dim", result // parts)


def total(dims: Iterable[Dim]) -> Dim:
    """Return the sum of dimensions, `?` if one is unknown."""
    result: Any = 0
    for dim in dims:
        result = dim + result
    return cast("Dim", result)


def join_dim(a: Dim, b: Dim) -> Dim | None:
    """Return the dimension that equals both `a` and `b`, None if they differ. A known size replaces `?`."""
    if a is b or a == b or b is ANY or is_computed(b):
        return a
    return b if a is ANY or is_computed(a) else None


def may_agree(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes have one rank, and lengths that are equal as far as they are known."""
    return len(a) == len(b) and all(join_dim(x, y) is not None for x, y in zip(a, b, strict=True))


def same_dtype(a: TensorType, b: TensorType, index: int = 1) -> None:
    """Raise `RelationError` unless both tensors have one dtype."""
    if a.dtype != b.dtype:
        refuse(
            f"data types {a.dtype} and {b.dtype} do not match",
            index,
            expected=a.dtype,
            found=b.dtype,
            hint="cast one of them with `cast`",
        )


def check_one_dtype(fields: Sequence[TensorType]) -> None:
    """Raise `RelationError` unless all fields of a tuple, the first input, have one dtype."""
    for i, field in enumerate(fields):
        if field.dtype != fields[0].dtype:
            refuse(f"field {i} has another dtype than field 0", 0, expected=fields[0].dtype, found=field.dtype)


def broadcast_dim(a: Dim, b: Dim) -> Dim | None:
    """Return the dimension that two dimensions broadcast to, None if they do not. A known size replaces `?`."""
    if a is b or a == b:
        return a
    if a == 1:
        return b
    if b == 1:
        return a
    if a is ANY or is_computed(a):
        return b
    if b is ANY or is_computed(b):
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


def identity(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The result has the type of the first input."""
    return tensor(types, 0)


@on_tensors
def identity_along_axis(attrs: Attrs, data: TensorType) -> Type:
    """The result has the type of the input, which has the dimension `axis`."""
    normal_axis(attrs.axis, len(data.shape))
    return data


def broadcast(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """Two tensors of one dtype, broadcast."""
    a, b = tensor(types, 0), tensor(types, 1)
    if a is None or b is None:
        return None
    if a is b:
        return a
    same_dtype(a, b)
    return TensorType(broadcast_shape(a, b), a.dtype)


def broadcast_compare(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """Two tensors of one dtype, broadcast to a tensor of bool."""
    a, b = tensor(types, 0), tensor(types, 1)
    if a is None or b is None:
        return None
    same_dtype(a, b)
    return TensorType(broadcast_shape(a, b), "bool")
