"""Replace dynamic operators by static ones where their shapes are known.

before:
    def @main(%x: Tensor[(4, 7), float32], %y: Tensor[(2, 7, 2), float32]) {
      dyn.reshape(%x, shape_of(%y, dtype="int32"), newshape=[])
    }
after:
    def @main(%x: Tensor[(4, 7), float32], %y: Tensor[(2, 7, 2), float32]) { reshape(%x, newshape=[2, 7, 2]) }

before:
    def @main(%x: Tensor[(2, 2), float32]) {
      if (less(1, 2)) { reshape(%x, newshape=[1, 4]) } else { reshape(%x, newshape=[1, 4]) }
    }
after:
    def @main(%x: Tensor[(2, 2), float32]) { reshape(%x, newshape=[1, 4]) }

keep:
    def @main(%x: Tensor[(4, 7), float32], %s: Tensor[(2), int32]) { dyn.reshape(%x, %s, newshape=[]) }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from passlab.analysis.state import Movability
from passlab.errors import PasslabError
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, is_op_call, op_name
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.op.dtypes import Array
from passlab.rewriting.constant_folding import SHAPES, STARTS, fold, shape_constant
from passlab.rewriting.constant_values import folded_call
from passlab.rewriting.node_types import NodeTypes
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, Part, standard_pass


@standard_pass(opt_level=2, contract=EXACT)
class DynamicToStatic(FunctionPass):
    """Replace `dyn.*` operators by their static forms where the arguments that give shapes are known at compile time.

    Such arguments are constants, shapes of tensors of static type, and values computed from these. Constant expressions
    are folded at the end, as in Relay. The return type of a changed function is inferred again. A call whose arguments
    give no legal shape stays, and fails if it is run.
    """

    def acts_on(self) -> Iterable[Part]:
        return *_RULES, *STARTS

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        constants, types = _KnownValues(Movability(mod)), NodeTypes()

        def static(pre: Expr, post: Expr) -> Expr:
            rule = _RULES.get(op_name(post))
            if rule is None or not is_op_call(post):
                return post
            values = [constants.of(arg) for arg in post.args]
            try:
                result = rule(post, values)
            except PasslabError:  # such as a negative size: the call fails if it is run
                return post
            return post if result is None or _is_illegal(result, types) else result

        result = fold(rewrite(func, static, only=(Call,), name="dynamic as static"))
        return result if result is func else result.with_fields(ret_type=None)


def _is_illegal(call: Expr, types: NodeTypes) -> bool:
    """Return whether a call has no type though its arguments have."""
    assert isinstance(call, Call)
    return types.of(call) is None and all(types.of(arg) is not None for arg in call.args)


class _KnownValues:
    """The values of expressions computed from constants and from shapes of tensors of static type."""

    def __init__(self, is_movable: Movability) -> None:
        self._types = NodeTypes()
        self._is_movable = is_movable
        self._constants: dict[Expr, Expr | None] = {}

    def of(self, expr: Expr) -> Array | None:
        """Return the value of an expression as an array, or None if it is unknown. Each node is evaluated once."""
        stack = [expr]
        while stack:
            node = stack[-1]
            pending = [p for p in self._operands(node) if p not in self._constants]
            if pending and node not in self._constants:
                stack += pending
                continue
            if node not in self._constants:
                self._constants[node] = self._evaluate(node)
            stack.pop()
        value = self._constants[expr]
        return value.data if type(value) is Constant else None

    def _operands(self, node: Expr) -> tuple[Expr, ...]:
        if is_op_call(node) and node.op.name not in SHAPES:
            return node.args
        return node.fields if type(node) is Tuple else ()

    def _evaluate(self, node: Expr) -> Expr | None:
        if type(node) is Constant:
            return node
        values = [self._constants[p] for p in self._operands(node)]
        operands = [value for value in values if value is not None]
        if len(operands) < len(values):
            return None
        if type(node) is Tuple:
            return Tuple(operands)
        if not is_op_call(node):
            return None
        if node.op.name not in SHAPES:
            return folded_call(node.with_fields(args=tuple(operands)))
        ty = self._types.tensor(node.args[0])
        if ty is None or ty.dynamic or not self._is_movable(node.args[0]):
            return None
        return shape_constant(node, ty)


_Static = Callable[[OpCall, list[Any]], Expr | None]


def _ints(value: Any) -> list[int] | None:
    return None if value is None else [int(v) for v in np.asarray(value).reshape(-1)]


def _scalar(value: Any) -> Any:
    return None if value is None or np.size(value) != 1 else np.asarray(value).reshape(-1)[0].item()


def _as_list(op: str, index: int, attr: str, *other_attrs: str) -> _Static:
    """Return a rule: argument `index` becomes the list attribute `attr`; the attributes `other_attrs` stay."""

    def rule(call: OpCall, values: list[Any]) -> Expr | None:
        ints = _ints(values[index])
        if ints is None:
            return None
        args = [a for i, a in enumerate(call.args) if i != index]
        return make(op, *args, **{attr: ints}, **{k: getattr(call.attrs, k) for k in other_attrs})

    return rule


def _topk(call: OpCall, values: list[Any]) -> Expr | None:
    k = _scalar(values[1])
    return None if k is None else Call(Op.get("topk"), call.args[:1], call.attrs.with_fields(k=int(k)))


def _one_hot(call: OpCall, values: list[Any]) -> Expr | None:
    depth = _scalar(values[3])
    if depth is None:
        return None
    attrs: Any = call.attrs
    return make("one_hot", *call.args[:3], depth=int(depth), axis=attrs.axis, dtype=attrs.dtype)


def _resize2d(call: OpCall, values: list[Any]) -> Expr | None:
    size, roi = _ints(values[1]), values[2]
    if size is None or roi is None:
        return None
    attrs = call.attrs.with_fields(size=size, roi=[float(v) for v in np.asarray(roi).reshape(-1)])
    return Call(Op.get("image.resize2d"), call.args[:1], attrs)


def _upsampling(op: str, *names: str) -> _Static:
    def rule(call: OpCall, values: list[Any]) -> Expr | None:
        scales = [_scalar(v) for v in values[1:]]
        if any(s is None for s in scales):
            return None
        changes = {n: float(s) for n, s in zip(names, scales, strict=True)}
        attrs = {k: v for k, v in call.attrs.items() if k not in names}
        return make(op, call.args[0], **changes, **attrs)

    return rule


def _pad(call: OpCall, values: list[Any]) -> Expr | None:
    if values[1] is None:
        return None
    widths = [[int(v) for v in row] for row in np.asarray(values[1]).reshape(-1, 2)]
    return make("nn.pad", call.args[0], call.args[2], pad_width=widths, pad_mode=call.attrs.pad_mode)


def _strided_slice(call: OpCall, values: list[Any]) -> Expr | None:
    begin, end, strides = (_ints(v) for v in values[1:4])
    if begin is None or end is None or strides is None:
        return None
    attrs: Any = call.attrs
    slices = {"begin": begin, "end": end, "strides": strides}
    return make("strided_slice", call.args[0], **slices, slice_mode=attrs.slice_mode, axes=attrs.axes)


_RULES: dict[str, _Static] = {
    "dyn.reshape": _as_list("reshape", 1, "newshape", "allowzero"),
    "dyn.squeeze": _as_list("squeeze", 1, "axis"),
    "dyn.tile": _as_list("tile", 1, "reps"),
    "dyn.broadcast_to": _as_list("broadcast_to", 1, "shape"),
    "dyn.zeros": _as_list("zeros", 0, "shape", "dtype"),
    "dyn.ones": _as_list("ones", 0, "shape", "dtype"),
    "dyn.full": _as_list("full", 1, "shape", "dtype"),
    "dyn.sparse_to_dense": _as_list("sparse_to_dense", 3, "output_shape"),
    "dyn.topk": _topk,
    "dyn.one_hot": _one_hot,
    "dyn.image.resize2d": _resize2d,
    "dyn.nn.upsampling": _upsampling("nn.upsampling", "scale_h", "scale_w"),
    "dyn.nn.upsampling3d": _upsampling("nn.upsampling3d", "scale_d", "scale_h", "scale_w"),
    "dyn.nn.pad": _pad,
    "dyn.strided_slice": _strided_slice,
}
