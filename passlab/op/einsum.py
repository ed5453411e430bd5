"""Products summed along named dimensions, by Einstein's convention."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from string import ascii_letters

import numpy as np

from passlab import limits
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple
from passlab.ir.op import OpCall, OpPattern, Reporter
from passlab.ir.types import Dim, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, text
from passlab.op.declare import call, field_of, operator
from passlab.op.dtypes import Array, array_dtype, as_array, is_extended, is_float
from passlab.op.relations import broadcast_dim, check_one_dtype, refuse, tensor_fields

_DOTS = "..."


def _parse_equation(equation: str, count: int) -> tuple[list[str], str | None]:
    """Return the subscripts of each input and the subscripts of the result (None if they are omitted)."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != count:
        refuse(f"the equation has {len(terms)} terms and there are {count} tensors", 0, found=equation)
    for term in [*terms, output]:
        letters = term.replace(_DOTS, "", 1)
        if letters and not (letters.isascii() and letters.isalpha()):
            refuse("a term of the equation consists of letters and at most one `...`", 0, found=term)
    if arrow and len(set(output.replace(_DOTS, ""))) != len(output.replace(_DOTS, "")):
        refuse("the result names a dimension twice", 0, found=output)
    return terms, output if arrow else None


def einsum_shape(equation: str, shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """Return the shape of the result of an equation. Raises `RelationError` if it does not fit the shapes.

    The dimensions of `...` are named by their index from the end.
    """
    terms, output = _parse_equation(equation, len(shapes))
    sizes: dict[str, Dim] = {}
    ellipsis_rank = 0
    for term, shape in zip(terms, shapes, strict=True):
        head, dots, tail = term.partition(_DOTS)
        unnamed = len(shape) - len(head) - len(tail)
        if unnamed < 0 or (unnamed and not dots):
            refuse(f"the term {term} does not fit {len(shape)} dimensions", 0, found=list(shape))
        ellipsis_rank = max(ellipsis_rank, unnamed)
        names = [*head, *(str(unnamed - i) for i in range(unnamed)), *tail]
        for letter, dim in zip(names, shape, strict=True):
            joined = broadcast_dim(sizes.get(letter, dim), dim)
            if joined is None:
                refuse(f"the dimension {letter} is {sizes[letter]} in one tensor and {dim} in another", 0)
            sizes[letter] = joined
    if output is None:
        counts = Counter("".join(terms).replace(".", ""))
        output = (_DOTS if ellipsis_rank else "") + "".join(sorted(c for c, n in counts.items() if n == 1))
    head, dots, tail = output.partition(_DOTS)
    result_letters = [*head, *((str(ellipsis_rank - i) for i in range(ellipsis_rank)) if dots else ()), *tail]
    for letter in result_letters:
        if letter not in sizes:
            refuse(f"the dimension {letter} of the result is in no tensor", 0, found=equation)
    return tuple(sizes[letter] for letter in result_letters)


def _einsum_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    fields = tensor_fields(types)
    if fields is None:
        return None
    check_one_dtype(fields)
    return TensorType(einsum_shape(attrs.equation, [field.shape for field in fields]), fields[0].dtype)


def _without_ellipsis(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the subscripts of the inputs and of the result with a letter for each dimension of `...`."""
    terms, output = _parse_equation(equation, len(ranks))
    if output is None:
        counts = Counter("".join(terms).replace(".", ""))
        output = _DOTS * (_DOTS in equation) + "".join(sorted(c for c, n in counts.items() if n == 1))
    unnamed = [rank - len(term.replace(_DOTS, "")) for term, rank in zip(terms, ranks, strict=True)]
    unused = [c for c in ascii_letters if c not in equation][: max([0, *unnamed])]
    result = [
        term.replace(_DOTS, "".join(unused[len(unused) - count :]))
        for term, count in zip([*terms, output], [*unnamed, len(unused)], strict=True)
    ]
    return result[:-1], result[-1]


def _einsum_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a tensor is an einsum of the result's gradient and the other tensors.

    It is broadcast along dimensions that only this tensor has. A dimension that a tensor names twice is its diagonal,
    outside which the gradient is zero.
    """
    fields, attrs = orig.args[0], orig.attrs
    ty = fields.checked_type
    assert isinstance(ty, TupleType)
    types = [field for field in ty.fields if isinstance(field, TensorType)]
    terms, output = _without_ellipsis(attrs["equation"], [len(field.shape) for field in types])
    parts = [field_of(fields, i) for i in range(len(terms))]
    result: list[Expr] = []
    for i, subscripts in enumerate(terms):
        others = [(terms[k], parts[k]) for k in range(len(terms)) if k != i]
        term, diagonals = _distinct_letters(subscripts, types[i], "".join([*terms, output]))
        others += diagonals
        result_letters = [c for c in term if c in output or any(c in other for other, _ in others)]
        equation = ",".join([output, *(other for other, _ in others)]) + "->" + "".join(result_letters)
        gradient: Expr = call("einsum", Tuple([grad, *(part for _, part in others)]), equation=equation)
        for axis, letter in enumerate(term):
            gradient = gradient if letter in result_letters else call("expand_dims", gradient, axis=axis)
        result.append(_fit_shape(gradient, term, result_letters, types, terms, i, parts[i]))
    return [Tuple(result)]


def _distinct_letters(term: str, ty: TensorType, used: str) -> tuple[str, list[tuple[str, Expr]]]:
    """Return a term with a new letter for each repeated one, and identity matrices, indexed by the two letters."""
    result = ""
    diagonals: list[tuple[str, Expr]] = []
    new_letters = iter([c for c in ascii_letters if c not in used])
    for letter, dim in zip(term, ty.shape, strict=True):
        if letter in result:
            pair = letter + next(new_letters)
            if type(dim) is not int:
                refuse("the gradient of a diagonal needs a known size", 0, found=ty)
            diagonals.append((pair, Constant(np.eye(dim).astype(array_dtype(ty.dtype)))))
            letter = pair[1]
        result += letter
    return result, diagonals


def _fit_shape(
    gradient: Expr,
    term: str,
    result_letters: Sequence[str],
    types: Sequence[TensorType],
    terms: Sequence[str],
    index: int,
    like: Expr,
) -> Expr:
    """Sum a gradient over broadcast dimensions, and broadcast it over dimensions that only its tensor has."""
    sizes = [(c, d) for t, ty in zip(terms, types, strict=True) for c, d in zip(t, ty.shape, strict=True)]
    dims = list(zip(term, types[index].shape, strict=True))
    broadcast_axes = [axis for axis, (c, d) in enumerate(dims) if any(d != size for other, size in sizes if other == c)]
    reduced_axes = [axis for axis in broadcast_axes if dims[axis][1] == 1]
    if reduced_axes:
        gradient = call("sum", gradient, axis=reduced_axes, keepdims=True)
    grows = len(result_letters) < len(term) or len(reduced_axes) < len(broadcast_axes)
    return call("broadcast_to_like", gradient, like) if grows else gradient


@operator(
    "einsum",
    ("data",),
    attrs=attrs("EinsumAttrs", text("equation", doc='subscripts, such as "ij,jk->ik"')),
    relation=_einsum_type,
    pattern=OpPattern.INJECTIVE,
    level=11,
    silenced=True,
    gradient=_einsum_grad,
    shapes="tensors by the left of the equation -> its right",
    source="np.einsum",
    edge_cases=(
        'einsum((%x: (2, 3), %y: (3, 2)), equation="ij,jk->ik")',
        'einsum((%x: (2, 3),), equation="ij->ji")',
        'einsum((%x: (2, 2, 3), %y: (3, 1)), equation="...ij,jk->...ik")',
        'einsum((%x: (0, 3), %y: (3, 2)), equation="ij,jk->ik")',
        'einsum((%x: (3, 3),), equation="ii->i")',
    ),
)
def einsum(attrs: Attrs, data: tuple[Array, ...]) -> Array:
    """Sums of products of tensors along named dimensions."""
    dtype = data[0].dtype
    wide = np.float32 if is_float(dtype) else np.int32
    parts = [part.astype(wide) for part in data] if is_extended(dtype) else data  # NumPy's einsum does not take these
    terms, _ = _without_ellipsis(attrs.equation, [part.ndim for part in data])
    sizes = {c: size for term, part in zip(terms, data, strict=True) for c, size in zip(term, part.shape, strict=True)}
    work = math.prod(sizes.values())
    if len(data) > 2 and work > _LARGE_WORK:  # two tensors at a time: sums of sums take far fewer steps
        path, _ = np.einsum_path(attrs.equation, *parts, optimize="greedy")
        return as_array(np.einsum(attrs.equation, *parts, optimize=path)).astype(dtype, copy=False)
    limits.check("operations", work, "einsum")
    by_blas = len(data) == 2 and work > _SMALL_WORK and is_float(dtype)  # a product of matrices, if it is one
    return as_array(np.einsum(attrs.equation, *parts, optimize=by_blas)).astype(dtype, copy=False)


_SMALL_WORK = 1 << 15  # multiplications; below, looking for a matrix product costs more than it saves
_LARGE_WORK = 1 << 28  # products that NumPy's loop over all dimensions may take
