"""Sequences of tensors, as tuples.

    x, y, z                   a sequence whose length is known: a tuple of its tensors
    elements, shapes          a packed one: all elements in one vector, and the shape of each tensor, (length, rank)

A sequence is packed where its length depends on values: in loops, in branches of two lengths, and for places that are
computed. All its tensors have one dtype and one rank, as ONNX demands of the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from passlab.frontend.building import tensor_type
from passlab.frontend.modules import erase_symbols
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import Size, as_vector, reshape_to, sizes_of
from passlab.infer import infer_expr
from passlab.ir.expr import Expr, Tuple
from passlab.ir.types import ANY, TensorType, TupleType

_PACKED: WeakKeyDictionary[Expr, TensorType] = WeakKeyDictionary()  # the type of the tensors of each packed sequence


def is_sequence(value: Expr | None) -> bool:
    """Whether a value of a model is a sequence."""
    return value is not None and isinstance(value.checked_type, TupleType)


def fields_of(n: OnnxNode, value: Expr) -> list[Expr] | None:
    """Return the tensors of a sequence, None for a packed one. Raises `ModelError` for a tensor."""
    ty = value.checked_type
    if not isinstance(ty, TupleType):
        n.refuse("needs a sequence", found=str(ty))
    return None if value in _PACKED else n.fields(value, len(ty.fields))


def item_type(n: OnnxNode, value: Expr) -> TensorType | None:
    """Return a type that all tensors of a sequence have, None for an empty one."""
    if value in _PACKED:
        return _PACKED[value]
    types = [erase_symbols(tensor_type(field)) for field in fields_of(n, value) or []]
    result = types[0] if types else None
    for ty in types[1:]:
        result = joined(n, result, ty)
    return result


def joined(n: OnnxNode, a: TensorType | None, b: TensorType | None) -> TensorType | None:
    """Return the type of the tensors of either sequence, with `?` where sizes differ; None stands for an empty one."""
    if a is None or b is None:
        return a or b
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        n.refuse("has a sequence with tensors of different dtypes or ranks", str(a), str(b))
    dims = [p if isinstance(p, int) and p == q else ANY for p, q in zip(a.shape, b.shape, strict=True)]
    return TensorType(dims, a.dtype)


def packed(n: OnnxNode, value: Expr, ty: TensorType | None = None) -> Expr:
    """Return a sequence, packed, whose tensors have the type `ty` (None: the type that they have)."""
    ty = ty or item_type(n, value)
    if ty is None:
        n.refuse("needs the type of the tensors of an empty sequence")
    if value in _PACKED:
        return pack_of(value.fields, ty)  # type: ignore[attr-defined]
    fields = fields_of(n, value) or []
    rows = [n("reshape", as_vector(n, sizes_of(n, x)), newshape=[1, len(ty.shape)], allowzero=True) for x in fields]
    elements = [n("reshape", x, newshape=[-1]) for x in fields]
    return pack_of(
        [
            n.concat(elements) if elements else n.builder.constant([], ty.dtype),
            n.concat(rows) if rows else n("zeros", shape=[0, len(ty.shape)], dtype="int64"),
        ],
        ty,
    )


def pack_of(fields: Sequence[Expr], ty: TensorType) -> Expr:
    """Return the packed sequence of a vector of elements and the shapes of the tensors, which have the type `ty`."""
    result = infer_expr(Tuple(list(fields)))
    _PACKED[result] = ty
    return result


def captured(value: Expr, capture: Callable[[Expr], Expr]) -> Expr:
    """Return a value of an enclosing graph, captured; a sequence field by field."""
    if not isinstance(value, Tuple):
        return capture(value)
    result = infer_expr(Tuple([capture(field) for field in value.fields]))
    if value in _PACKED:
        _PACKED[result] = _PACKED[value]
    return result


# What a value is: a tensor (None), a sequence of so many tensors, or a packed one whose tensors have a type.
Kind = TensorType | int | None


def flattened(n: OnnxNode, values: Sequence[Expr], kinds: Sequence[Kind]) -> list[Expr]:
    """Return the tensors that values of some kinds are made of."""
    result: list[Expr] = []
    for value, kind in zip(values, kinds, strict=True):
        if kind is None:
            result.append(value)
        elif isinstance(kind, int):
            result += fields_of(n, value) or []
        else:
            result += n.fields(packed(n, value, kind), 2)
    return result


def regrouped(n: OnnxNode, tensors: Sequence[Expr], kinds: Sequence[Kind]) -> list[Expr]:
    """Return values of some kinds made of these tensors."""
    rest, result = iter(tensors), list[Expr]()
    for kind in kinds:
        if kind is None:
            result.append(next(rest))
        elif isinstance(kind, int):
            result.append(n.builder.tuple([next(rest) for _ in range(kind)]))
        else:
            result.append(pack_of([next(rest), next(rest)], kind))
    return result


def is_packed(value: Expr) -> bool:
    """Whether a sequence is packed."""
    return value in _PACKED


def parts(n: OnnxNode, value: Expr) -> tuple[Expr, Expr, TensorType]:
    """Return the elements of a sequence, the shapes of its tensors, and their type."""
    pack = packed(n, value)
    elements, shapes = n.fields(pack, 2)
    return elements, shapes, _PACKED[pack]


def length_of(n: OnnxNode, value: Expr) -> Expr:
    """Return the number of tensors of a sequence, an int64 scalar."""
    fields = fields_of(n, value)
    if fields is not None:
        return n.constant(len(fields), "int64")
    return n("take", n("shape_of", parts(n, value)[1], dtype="int64"), n.constant(0, "int64"), axis=0)


def bounds(n: OnnxNode, shapes: Expr, place: Expr) -> tuple[Expr, Expr]:
    """Return where the elements of the tensor at a place begin, and where they end; vectors of one element.

    A place may be the length: both bounds are then the end.
    """
    counts = n("concatenate", n.builder.tuple([n.constant([0], "int64"), n("prod", shapes, axis=[1])]), axis=0)
    ends = n("cumsum", counts, axis=0)
    place = n("reshape", place, newshape=[1])
    last = n("subtract", n("shape_of", ends, dtype="int64"), 1)
    return n("take", ends, place, axis=0), n("take", ends, n("minimum", n("add", place, 1), last), axis=0)


def item_at(n: OnnxNode, value: Expr, place: Expr) -> Expr:
    """Return the tensor of a packed sequence at a place, an int64 scalar from 0 on."""
    elements, shapes, ty = parts(n, value)
    if all(isinstance(dim, int) and dim for dim in ty.shape):
        return n("take", n("reshape", elements, newshape=[-1, *ty.shape]), place, axis=0)
    start, end = bounds(n, shapes, place)
    own = n("strided_slice", elements, start, end, n.constant([1], "int64"))
    return reshape_to(n, own, item_sizes(n, shapes, place, ty))


def item_sizes(n: OnnxNode, shapes: Expr, place: Expr, ty: TensorType) -> list[Size]:
    """Return the sizes of the tensor of a packed sequence at a place: known ones from `ty`, the rest computed."""
    row = n("take", shapes, place, axis=0)
    return [
        dim if isinstance(dim, int) else n("take", row, n.constant([axis], "int64"), axis=0)
        for axis, dim in enumerate(ty.shape)
    ]
