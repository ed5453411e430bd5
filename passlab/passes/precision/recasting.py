"""`recast` computes some operators of a program in another dtype, with casts around each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.errors import Diagnostic, PassError, PassTypeError
from passlab.infer import infer_expr
from passlab.ir.attrs import Attrs
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type, tensor_types
from passlab.ir.walk import outside_kernels, post_order, rewrite
from passlab.op import make
from passlab.rewriting.node_types import NodeTypes
from passlab.rewriting.tuple_values import fieldwise


def recast(
    expr: Any, dtype: str, out_dtype: str, ops: Sequence[str] | None = None, skip_layers: Iterable[int] | None = None
) -> Any:
    """Return a program in which the calls of `ops` (default: nn.conv2d) take their arguments in `dtype`.

    Calls with an `out_dtype` attribute return that dtype; each result is cast back to its original type. `skip_layers`
    lists calls to leave as they are, counted from 0 in program order, negative ones from the end. The numerical results
    change with the dtype: this is for measuring, not for use (ToMixedPrecision is). Of a module, `main` is recast and
    the rest kept (Relay drops it). Raises `PassTypeError` if `expr` is not a program, `PassError` for layers that do
    not exist.
    """
    main = expr["main"] if isinstance(expr, IRModule) else expr
    if not isinstance(main, Expr):
        type_name = type(expr).__name__
        raise PassTypeError(
            Diagnostic("only programs can be recast", expected="an expression or a module", found=type_name)
        )
    operators = {Op.get(name) for name in (["nn.conv2d"] if ops is None else ops)}
    calls: list[Expr] = [n for n in post_order(main, enter=outside_kernels) if type(n) is Call and n.op in operators]
    skipped = {calls[i] for i in _numbers(skip_layers or (), len(calls))}
    result: Any = _recast(main, {c for c in calls if c not in skipped}, dtype_name(dtype), dtype_name(out_dtype))
    if isinstance(main, Function) and main.ret_type is None:
        result = result.with_fields(ret_type=None)
    return expr.with_functions({"main": result}) if isinstance(expr, IRModule) else result


def _numbers(layers: Iterable[int], count: int) -> list[int]:
    layers = list(layers)
    for layer in layers:
        if not -count <= layer < count:
            what = f"there is no layer {layer} to skip"
            raise PassError(Diagnostic(what, hint=f"the program has {count}, counted from 0"))
    return layers


def _recast(expr: Expr, calls: set[Expr], dtype: str, out_dtype: str) -> Expr:
    types = NodeTypes()
    if any(c.checked_type_ is None for c in calls):
        typed = infer_expr(expr)  # the same nodes, unless inference had to add annotations
        if typed is not expr:
            order = post_order(expr, enter=outside_kernels)
            typed_nodes = dict(zip(order, post_order(typed, enter=outside_kernels), strict=True))
            expr, calls = typed, {typed_nodes[c] for c in calls}

    def cast(pre: Call, post: Call) -> Expr:
        if pre not in calls:
            return post
        old = pre.checked_type
        args = tuple(_in_dtype(new, arg.checked_type, dtype) for new, arg in zip(post.args, pre.args, strict=True))
        result: Expr = post.with_fields(args=args, attrs=_attrs(post.attrs, out_dtype))
        ty = types.of(result)
        return result if ty is old else _cast_back(result, old, ty)

    return rewrite(expr, cast, only=(Call,), enter=outside_kernels)


def _attrs(attrs: Any, out_dtype: str) -> Attrs | None:
    return attrs.with_fields(out_dtype=out_dtype) if attrs is not None and "out_dtype" in attrs else attrs


def _in_dtype(value: Expr, ty: Type, dtype: str) -> Expr:
    """Return a tensor, or a tuple of tensors, cast where it has another dtype."""
    if type(ty) is not TensorType and type(ty) is not TupleType:
        return value
    same = all(t.dtype == dtype for t in tensor_types(ty))
    return value if same else fieldwise([value], [ty], lambda v, t: _cast(v[0], t[0], dtype))


def _cast(value: Expr, ty: Type, dtype: str) -> Expr:
    return make("cast", value, dtype=dtype) if type(ty) is TensorType and ty.dtype != dtype else value


def _cast_back(expr: Expr, old: Type, ty: Type | None) -> Expr:
    """Return the result of a call cast to its original type."""

    def leaf(values: tuple[Expr, ...], kinds: tuple[Type, ...]) -> Expr:
        target, source = kinds
        if type(target) is not TensorType or (ty is not None and target is source):
            return values[0]
        return make("cast", values[0], dtype=target.dtype)

    return fieldwise([expr], [old, ty or old], leaf)
