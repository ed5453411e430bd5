"""Matrix products by NumPy's rules, as Relay's `nn.dense` and `nn.batch_matmul`."""

from __future__ import annotations

from passlab.frontend.model_node import ModelNode
from passlab.frontend.sizes import Size, aligned_sizes, broadcast_to, product, reshape_to, sizes_of
from passlab.ir.expr import Expr


def matrix_product(n: ModelNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """Return a matrix product by NumPy's rules: vectors are rows or columns, leading axes broadcast."""
    if not n.rank(a) or not n.rank(b):
        n.refuse("multiplies a scalar")
    row, column = n.rank(a) == 1, n.rank(b) == 1
    a = n("expand_dims", a, axis=0) if row else a
    b = n("expand_dims", b, axis=1) if column else b
    result = _dense(n, a, b, out_dtype) if n.rank(b) == 2 else _batch_product(n, a, b, out_dtype)
    removed = [axis for axis, is_vector in ((-2, row), (-1, column)) if is_vector]
    return n("squeeze", result, axis=[n.rank(result) + axis for axis in removed]) if removed else result


def _dense(n: ModelNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """Return the product with one matrix, transposed as `nn.dense` expects unless the configuration forbids it."""
    if not n.builder.config.get("use_nt_batch_matmul", True):
        return n("nn.matmul", a, b, out_dtype=out_dtype)
    return n("nn.dense", a, n("transpose", b, axes=[1, 0]), out_dtype=out_dtype)


def _batch_product(n: ModelNode, a: Expr, b: Expr, out_dtype: str) -> Expr:
    """Return the products of two batches, each reshaped to one axis of matrices."""
    sizes_a, sizes_b = sizes_of(n, a), sizes_of(n, b)
    batch = _broadcast(n, sizes_a[:-2], sizes_b[:-2])
    a, b = (_repeat_batches(n, x, sizes, batch) for x, sizes in ((a, sizes_a), (b, sizes_b)))
    # The operand with all batch axes, which `reshape_like` copies.
    full_batch = a if n.rank(a) == len(batch) + 2 and not _has_one_matrix(sizes_a) else b
    a, b = (_merge(n, x, len(batch)) for x in (a, b))
    transposed = bool(n.builder.config.get("use_nt_batch_matmul", True))
    b = n("transpose", b, axes=[0, 2, 1]) if transposed else b
    output = n("nn.batch_matmul", a, b, out_dtype=out_dtype, transpose_a=False, transpose_b=transposed)
    if len(batch) == 1:
        return output
    result = [*batch, sizes_a[-2], sizes_b[-1]]
    if all(isinstance(size, int) for size in result):
        return reshape_to(n, output, result)
    return n("reshape_like", output, full_batch, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=len(batch))


def _has_one_matrix(sizes: list[Size]) -> bool:
    return all(size == 1 for size in sizes[:-2] if isinstance(size, int)) and all(
        isinstance(s, int) for s in sizes[:-2]
    )


def _broadcast(n: ModelNode, a: list[Size], b: list[Size]) -> list[Size]:
    """Return the broadcast sizes of two batches; two different unknown sizes give their maximum."""
    result: list[Size] = []
    for left, right in aligned_sizes(a, b):
        # An integer other than 1 wins over an unknown size, which must be equal to it or 1.
        if left is right or left == 1 or (isinstance(right, int) and right != 1):
            result.append(right)
        elif isinstance(left, int) or isinstance(right, int):
            result.append(left)
        else:
            result.append(n("maximum", left, right))
    return result


def _repeat_batches(n: ModelNode, x: Expr, sizes: list[Size], batch: list[Size]) -> Expr:
    """Return matrices repeated to the sizes of the batch; `nn.batch_matmul` itself broadcasts a single one."""
    if _has_one_matrix(sizes):
        return reshape_to(n, x, [1, *sizes[-2:]])
    return broadcast_to(n, x, [*batch, *sizes[-2:]])


def _merge(n: ModelNode, x: Expr, count: int) -> Expr:
    """Return matrices with their batch axes merged; with unknown sizes, two at a time by the code -3 of `reshape`."""
    if n.rank(x) == 3:
        return x
    sizes = sizes_of(n, x)
    if all(isinstance(size, int) for size in sizes):
        return reshape_to(n, x, [product(n, sizes[:-2]), *sizes[-2:]])
    for _ in range(count - 1):
        x = n("reshape", x, newshape=[-3, *[0] * (n.rank(x) - 2)])
    return x
