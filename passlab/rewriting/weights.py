"""Changing the form of weights: the parameters that are weights of calls are replaced by new ones.

The arrays of the parameters are rewritten separately, by `relay.data_dep_optimization`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from passlab.analysis.call_graph import named_functions
from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import rewrite


def with_weights(
    func: Function,
    mod: IRModule,
    names: Iterable[object],
    weight_of: Callable[[Call], Expr | None],
    new_weights: Callable[[Var], tuple[Var, ...]],
    replace: Callable[[Call, tuple[Var, ...]], Expr],
    rule: str,
) -> Function:
    """Return the function with new parameters instead of its parameters with these names; itself if none is used.

    `weight_of(call)` is the weight of a call, None where the call stays; `new_weights(weight)` are the new parameters,
    and `replace(call, new)` is the call on them, recorded under the name `rule`. As in Relay, the parameters of the
    result are the old ones that are still used, in order of use, and then the new ones. Functions that others call stay
    as they are.
    """
    hints = set(map(str, names))
    params = {p for p in func.params if p.name_hint in hints and isinstance(p.type_annotation, TensorType)}
    if not params or func in named_functions(mod):
        return func
    new: dict[Var, tuple[Var, ...]] = {}

    def replace_call(pre: Call, post: Call) -> Expr:
        weight = weight_of(pre)
        if not isinstance(weight, Var) or weight not in params:
            return post
        if weight not in new:
            new[weight] = new_weights(weight)
        return replace(post, new[weight])

    body = rewrite(func.body, replace_call, only=(Call,), name=rule)
    added = {var for group in new.values() for var in group}
    used = sorted(free_vars(body), key=added.__contains__)  # stable: in order of use
    if added.isdisjoint(used):
        return func
    return Function(used, body, func.ret_type, func.type_params, func.attrs, func.span)


def weight_of_same_dtype(call: Call) -> Expr | None:
    """Return the weight of a call, None unless it is a variable that has the dtype of the result."""
    weight, dtype = call.args[1], call.attrs.get("out_dtype") if call.attrs is not None else None
    ty = weight.type_annotation if isinstance(weight, Var) else None
    return weight if isinstance(ty, TensorType) and dtype in (None, "", ty.dtype) else None


def check_block_shapes(title: str, names: Sequence[str], shapes: Sequence[Sequence[int]]) -> None:
    """Raise `PassValueError` for the pass `title` unless there are five lengths for each name."""
    lengths = [len(shape) for shape in shapes]
    if len(lengths) != len(names) or set(lengths) - {5}:
        actual = f"{len(names)} names, shapes of {lengths or 'no'} lengths"
        raise PassValueError(Diagnostic(f"{title}: bad shapes", expected="five lengths a name", found=actual))


def block_sparse_parts(shapes: Mapping[str, Sequence[int]], weight: Var) -> tuple[Var, ...]:
    """Return variables for the BSR form of a weight: data, indices and row pointers (indptr).

    `shapes` has by name the shape of the data, followed by the lengths of the indices and of the row pointers.
    """
    ty = weight.type_annotation
    assert isinstance(ty, TensorType)
    *data, indices, pointers = map(int, shapes[weight.name_hint])
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
