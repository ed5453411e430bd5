"""Changing the form of weights: the parameters that are weights of calls are replaced by new ones.

The arrays of the parameters are rewritten separately, by `relay.data_dep_optimization`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import rewrite

WeightRule = Callable[[Call, Call], tuple[Expr, Sequence[Var]] | None]


def with_weights(func: Function, rule: WeightRule, name: str) -> Function:
    """Return the function with the calls replaced for which the rule returns a replacement; itself if there are none.

    `rule(pre, post)` returns the replacement of a call and its new variables, or None. As in Relay, the parameters of
    the result are the old ones that are still used, in order of use, and then the new ones.
    """
    added: dict[Var, None] = {}

    def replace(pre: Call, post: Call) -> Expr:
        replacement = rule(pre, post)
        if replacement is None:
            return post
        added.update(dict.fromkeys(replacement[1]))
        return replacement[0]

    body = rewrite(func.body, replace, only=(Call,), name=name)
    used = free_vars(body)
    new = [var for var in used if var in added]
    if not new:
        return func
    old = [var for var in used if var not in added]
    return Function([*old, *new], body, func.ret_type, func.type_params, func.attrs, func.span)


def keeps_dtype(call: Call, weight: Var) -> bool:
    """Return True if the dtype of the result of a call is that of its weight."""
    dtype = call.attrs.get("out_dtype") if call.attrs is not None else None
    ty = weight.type_annotation
    return isinstance(ty, TensorType) and dtype in (None, "", ty.dtype)


def block_sparse_parts(weight: Var, shape: Sequence[int]) -> tuple[Var, ...]:
    """Return variables for the BSR form of a weight: data, indices and row pointers (indptr).

    `shape` is the shape of the data, followed by the lengths of the indices and of the row pointers.
    """
    ty = weight.type_annotation
    assert isinstance(ty, TensorType)
    *data, indices, pointers = (int(length) for length in shape)
    return (
        Var(f"{weight.name_hint}.data", TensorType(tuple(data), ty.dtype), weight.span),
        Var(f"{weight.name_hint}.indices", TensorType((indices,), "int32"), weight.span),
        Var(f"{weight.name_hint}.indptr", TensorType((pointers,), "int32"), weight.span),
    )


def has_sparse_form(call: Call, layout: str, kernel_size: int) -> bool:
    """Return True if `nn.sparse_conv2d` can compute a convolution: stride 1, one group, and "same" padding."""
    attrs = call.attrs
    assert attrs is not None
    kernel_layout = "HWIO" if layout == "NHWC" else "OIHW"
    return (
        (attrs.data_layout, attrs.kernel_layout, attrs.groups) == (layout, kernel_layout, 1)
        and attrs.out_layout in ("", layout)
        and set(attrs.strides) | set(attrs.dilation) == {1}
        and set(attrs.padding) == {kernel_size // 2}
    )
