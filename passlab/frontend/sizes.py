"""Shapes of known and computed sizes: integers, and Relay expressions.

The type of a dynamic reshape has only the rank of its result. So a static one is preferred: it may copy dimensions (0)
and infer one (-1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from passlab.frontend.model_node import ModelNode
from passlab.ir.expr import Expr

Size = int | Expr  # an integer, or an int64 vector of one element


def size_of(n: ModelNode, x: Expr, axis: int) -> Size:
    """Return one dimension of a tensor."""
    return n.builder.size(x, axis)


def sizes_of(n: ModelNode, x: Expr) -> list[Size]:
    """Return the dimensions of a tensor."""
    return [size_of(n, x, axis) for axis in range(n.rank(x))]


def as_vector(n: ModelNode, sizes: Sequence[Size]) -> Expr:
    """Return sizes as one int64 vector."""
    if not sizes:
        return n.constant([], "int64")
    return n.concat([n.constant([size], "int64") if isinstance(size, int) else size for size in sizes])


def reshape_to(n: ModelNode, x: Expr, sizes: Sequence[Size]) -> Expr:
    """Return `x` reshaped; the reshape is static if at most one size is neither known nor copied from `x`."""
    if all(isinstance(size, int) for size in sizes):
        # A 0 is then a size, and not the code for a copied dimension.
        return n("reshape", x, newshape=list(sizes), allowzero=0 in sizes)
    own = sizes_of(n, x)
    codes = [
        size if isinstance(size, int) else 0 if at < len(own) and own[at] is size else -1
        for at, size in enumerate(sizes)
    ]
    if codes.count(-1) <= 1 and 0 not in sizes:
        return n("reshape", x, newshape=codes)
    return n("reshape", x, newshape=as_vector(n, sizes), allowzero=True)


def same_sizes(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether sizes are equal; unknown ones must be the same expressions."""
    return len(a) == len(b) and all(p is q or (isinstance(p, int) and p == q) for p, q in zip(a, b, strict=True))


def aligned_sizes(a: Sequence[Size], b: Sequence[Size]) -> Iterator[tuple[Size, Size]]:
    """Return the pairs of sizes that broadcasting compares, aligned at the last axis; missing sizes are 1."""
    rank = max(len(a), len(b))
    return zip([*[1] * (rank - len(a)), *a], [*[1] * (rank - len(b)), *b], strict=True)


def broadcast_to(n: ModelNode, x: Expr, sizes: Sequence[Size]) -> Expr:
    """Return `x` repeated to some sizes, or `x` itself where it has them."""
    if same_sizes(sizes_of(n, x), sizes):
        return x
    static = all(isinstance(size, int) for size in sizes)
    return n("broadcast_to", x, shape=list(sizes) if static else as_vector(n, sizes))


def product(n: ModelNode, sizes: Sequence[Size]) -> Size:
    """Return the product of sizes."""
    factor = 1
    result: Expr | None = None
    for size in sizes:
        if isinstance(size, int):
            factor *= size
        else:
            result = size if result is None else n("multiply", result, size)
    if result is None:
        return factor
    return result if factor == 1 else n("multiply", result, factor)


def calculated(n: ModelNode, operator: str, a: Size, b: Size) -> Size:
    """Return what an operator of integers makes of two sizes: an integer where both are known."""
    result = n(operator, as_vector(n, [a]), as_vector(n, [b]))
    value = n.value(result)
    return result if value is None else int(value[0])


def counted(n: ModelNode, count: Size, step: int = 1) -> Expr:
    """Return the int64 vector 0, `step`, 2 * `step`, ... of `count` elements."""
    if isinstance(count, int):
        n.check_size(count)
        return n.array(np.arange(count, dtype=np.int64) * step)
    bounds = n.constant(0, "int64"), n.scalar(count), n.constant(1, "int64")
    numbers = n("arange", *bounds, dtype="int64")
    return numbers if step == 1 else n("multiply", numbers, step)


def two_dimensions(n: ModelNode, x: Expr, axis: int) -> list[int] | Expr:
    """Return the shape of `x` with the axes before `axis`, and the others, each merged into one dimension."""
    sizes = sizes_of(n, x)
    sides = [product(n, sizes[:axis]), product(n, sizes[axis:])]
    lengths = [side for side in sides if isinstance(side, int)]
    # Next to a size of 0, nothing can be inferred for -1.
    if len(lengths) == 2 or (len(lengths) == 1 and lengths[0] > 0):
        return [side if isinstance(side, int) else -1 for side in sides]
    return as_vector(n, sides)
