"""Integer forms of operators. An integer tensor represents the numbers `scale * (integer - zero_point)`.

`rule_of` returns for an operator the function of (call on integers, region) that returns the integer expression and its
quantization parameters. It raises `NoIntegerFormError` for a use of the operator without an integer form. Knows nothing
of passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Constant, Expr, Tuple
from passlab.ir.op import OpCall, Trait, has_trait
from passlab.op import make
from passlab.op.layout_names import parse_layout
from passlab.rewriting.constant_folding import fold
from passlab.rewriting.node_types import NodeTypes


class NoIntegerFormError(PasslabError):
    """A call has no integer form."""


@dataclass(frozen=True)
class QuantParams:
    """An integer tensor of `dtype` that represents scale * (integer - zero_point), along `axis` if they are vectors."""

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1


@dataclass(frozen=True)
class QuantParamsTuple:
    """A tuple of integer tensors."""

    fields: tuple[QuantParams, ...]


class QuantizedRegion:
    """The state of the rewrite of one region: the quantization of each expression, and the one required of the
    result.
    """

    def __init__(self, result: QuantParams | None) -> None:
        self.result = result
        self.quantization: dict[Expr, QuantParams | QuantParamsTuple] = {}
        self.types = NodeTypes()

    def of(self, expr: Expr) -> QuantParams:
        """Return the quantization parameters of an integer tensor."""
        result = self.quantization.get(expr)
        if not isinstance(result, QuantParams):
            raise NoIntegerFormError("an argument is not quantized")
        return result

    def target(self) -> QuantParams:
        """Return the quantization parameters that the result of the region must have."""
        if self.result is None:
            raise NoIntegerFormError("the scale of the result is not known")
        return self.result

    def rank(self, expr: Expr) -> int:
        """Return the rank of a tensor."""
        ty = self.types.tensor(expr)
        if ty is None:
            raise NoIntegerFormError("the rank of a tensor is not known")
        return len(ty.shape)


Done = tuple[Expr, QuantParams | QuantParamsTuple]
Rule = Callable[[OpCall, QuantizedRegion], Done]


def nearly_equal(a: Expr, b: Expr) -> bool:
    """Whether two scales or zero points are equal, up to rounding if they are constant.

    A vector whose elements are all equal counts as equal to that number.
    """
    a, b = fold(a), fold(b)
    if type(a) is Constant and type(b) is Constant:
        one, other = _without_repeats(a.data), _without_repeats(b.data)
        return one.shape == other.shape and bool(np.allclose(one, other))
    return structural_equal(a, b, exact=True)


def _without_repeats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the value that all elements of an array share, or the array itself if they differ."""
    flat = values.reshape(-1)
    return flat[:1].reshape(()) if flat.size and bool(np.all(flat == flat[0])) else values


def _is_uniform(quantization: QuantParams) -> bool:
    """Whether scale and zero point are constants, one for the whole tensor, so that the axis does not matter."""
    parts = [fold(part) for part in (quantization.scale, quantization.zero_point)]
    return all(type(part) is Constant and not _without_repeats(part.data).ndim for part in parts)


def _same(a: QuantParams, b: QuantParams) -> bool:
    return a.dtype == b.dtype and nearly_equal(a.scale, b.scale) and nearly_equal(a.zero_point, b.zero_point)


def _identical(a: QuantParams, b: QuantParams) -> bool:
    same = structural_equal((a.scale, a.zero_point), (b.scale, b.zero_point), exact=True)
    return same and (a.dtype, a.axis) == (b.dtype, b.axis)


def requantize(expr: Expr, source: QuantParams, want: QuantParams) -> Expr:
    """Return integers that represent the same numbers under another scale and zero point."""
    return make(
        "qnn.requantize",
        expr,
        fold(source.scale),
        fold(source.zero_point),
        want.scale,
        want.zero_point,
        axis=source.axis,
        out_dtype=want.dtype,
    )


# ---------------------------------------------------------------- rules
def _quantize(call: OpCall, region: QuantizedRegion) -> Done:
    source = region.of(call.args[0])
    attrs: Any = call.attrs
    want = QuantParams(call.args[1], call.args[2], attrs.out_dtype, attrs.axis)
    return (call.args[0] if _same(source, want) else requantize(call.args[0], source, want)), want


def _keep(call: OpCall, region: QuantizedRegion) -> Done:
    return call, region.of(call.args[0])


def _topk(call: OpCall, region: QuantizedRegion) -> Done:
    if call.attrs.ret_type != "values":
        raise NoIntegerFormError("topk with indices")
    return _keep(call, region)


def _average(call: OpCall, region: QuantizedRegion) -> Done:
    """Compute averages in int32, in the scale of the argument."""
    source = region.of(call.args[0])
    wide = call.with_fields(args=(make("cast", call.args[0], dtype="int32"),))
    return make("cast", wide, dtype=source.dtype), source


def _pooled_wide(call: OpCall, region: QuantizedRegion) -> Done:
    """Compute averages in int32 in the scale of the result, so that only the result is rounded."""
    source, want = region.of(call.args[0]), region.target()
    wide = QuantParams(want.scale, want.zero_point, "int32", want.axis)
    same = _same(source, want)
    data = make("cast", call.args[0], dtype="int32") if same else requantize(call.args[0], source, wide)
    return call.with_fields(args=(data,)), wide


def _pool(call: OpCall, region: QuantizedRegion) -> Done:
    """Like `_pooled_wide`, but in the dtype of the result, which later operators such as convolutions need."""
    out, wide = _pooled_wide(call, region)
    want = region.target()
    if want.dtype == "int32":
        return out, wide
    ends = np.iinfo(want.dtype)
    return make("cast", make("clip", out, a_min=float(ends.min), a_max=float(ends.max)), dtype=want.dtype), want


def _bias_add(call: OpCall, region: QuantizedRegion) -> Done:
    data, bias = call.args
    source = region.of(data)
    if type(bias) is Constant and bias not in region.quantization:
        bias = make("qnn.quantize", bias, source.scale, source.zero_point, axis=0, out_dtype=source.dtype)
    elif not _same(source, own := region.of(bias)):
        bias = requantize(bias, QuantParams(own.scale, own.zero_point, own.dtype, 0), source)
    return call.with_fields(args=(data, bias)), source


def _product(call: OpCall, region: QuantizedRegion, op: str, axis: int, **attrs: Any) -> Done:
    """A convolution or matrix product in int32; its scale is the product of the scales, its zero point 0."""
    (x, w), (a, b) = call.args, (region.of(call.args[0]), region.of(call.args[1]))
    out = make(op, x, w, a.zero_point, b.zero_point, a.scale, b.scale, **{**attrs, "out_dtype": "int32"})
    scale = fold(make("multiply", a.scale, b.scale))
    zero = fold(make("cast", make("zeros_like", scale), dtype="int32"))
    return out, QuantParams(scale, zero, "int32", axis)


def _conv(call: OpCall, region: QuantizedRegion) -> Done:
    attrs = dict(call.attrs.items())
    layout = parse_layout(attrs["out_layout"] or attrs["data_layout"])
    axes = layout.axes if layout is not None else ""
    if "C" not in axes or len(axes) != len(layout.parts):  # type: ignore[union-attr]
        raise NoIntegerFormError("a packed layout")
    return _product(call, region, f"qnn.{call.op.name.removeprefix('nn.')}", axes.index("C"), **attrs)


def _dense(call: OpCall, region: QuantizedRegion) -> Done:
    return _product(call, region, "qnn.dense", 1, **dict(call.attrs.items()))


def _batch_matmul(call: OpCall, region: QuantizedRegion) -> Done:
    return _product(call, region, "qnn.batch_matmul", region.of(call.args[0]).axis, **dict(call.attrs.items()))


def _concatenate(call: OpCall, region: QuantizedRegion) -> Done:
    whole, want = region.quantization.get(call.args[0]), region.target()
    if not isinstance(whole, QuantParamsTuple):
        raise NoIntegerFormError("an argument is not quantized")
    scales, zeros = Tuple([t.scale for t in whole.fields]), Tuple([t.zero_point for t in whole.fields])
    attrs: Any = call.attrs
    return make("qnn.concatenate", call.args[0], scales, zeros, want.scale, want.zero_point, axis=attrs.axis), want


def _split(call: OpCall, region: QuantizedRegion) -> Done:
    source, sections = region.of(call.args[0]), call.attrs.indices_or_sections
    count = sections if isinstance(sections, int) else len(sections) + 1
    return call, QuantParamsTuple((source,) * count)


def _spread(value: Expr, like: QuantParams, region: QuantizedRegion, arg: Expr) -> Expr:
    """Return a scalar, or a vector along the axis of `like`, in a shape that broadcasts against `arg`."""
    scale = region.types.tensor(like.scale)
    if scale is None:
        raise NoIntegerFormError("the shape of a scale is not known")
    if not scale.shape or scale.shape == (1,):
        return value
    shape = [1] * region.rank(arg)
    shape[like.axis] = -1
    return make("reshape", make("broadcast_to", value, shape=list(scale.shape)), newshape=shape)


def _clamp(call: OpCall, region: QuantizedRegion) -> Done:
    arg, source = call.args[0], region.of(call.args[0])
    attrs: Any = call.attrs
    if attrs is None:  # from zero on
        nothing = make("cast", _spread(source.zero_point, source, region, arg), dtype=source.dtype)
        return make("maximum", arg, fold(nothing)), source
    scale, zero = fold(source.scale), fold(source.zero_point)
    if type(scale) is Constant and type(zero) is Constant and scale.data.size == zero.data.size == 1:
        low, high = (_nearest(b / float(scale.data) + int(zero.data)) for b in (attrs.a_min, attrs.a_max))
        return make("clip", arg, a_min=low, a_max=high), source
    bounds = []
    for bound in (attrs.a_min, attrs.a_max):
        value = _spread(Constant(np.float32(bound)), source, region, arg)
        integer = make("qnn.quantize", value, source.scale, source.zero_point, axis=source.axis, out_dtype=source.dtype)
        bounds.append(fold(integer, fold_qnn=True))
    return make("minimum", make("maximum", arg, bounds[0]), bounds[1]), source


def _nearest(value: float) -> int:
    """Round to the nearest whole number, as quantizing does (Relay truncates)."""
    return math.floor(value + 0.5)


def _pad(call: OpCall, region: QuantizedRegion) -> Done:
    (arg, value), source = call.args, region.of(call.args[0])
    if value in region.quantization:
        own = region.of(value)
        if not _same(own, source):
            value = requantize(value, own, source)
    elif type(value) is Constant:
        value = make("qnn.quantize", value, source.scale, source.zero_point, axis=source.axis, out_dtype=source.dtype)
    else:
        raise NoIntegerFormError("the padding value is not known")
    return call.with_fields(args=(arg, value)), source


def _sides(call: OpCall, region: QuantizedRegion) -> tuple[Expr, Expr, QuantParams, QuantParams, QuantParams]:
    """Return both operands of a binary call, their quantization, and the quantization required of the result.

    A floating constant is quantized like the other operand.
    """
    left, right = call.args
    a, b = (region.quantization.get(x) for x in call.args)
    want = region.target()
    if not isinstance(a, QuantParams) and isinstance(b, QuantParams) and type(left) is Constant:
        left = make("qnn.quantize", left, b.scale, b.zero_point, axis=b.axis, out_dtype=b.dtype)
        a = b
    if not isinstance(b, QuantParams) and isinstance(a, QuantParams) and type(right) is Constant:
        right = make("qnn.quantize", right, a.scale, a.zero_point, axis=a.axis, out_dtype=a.dtype)
        b = a
    if not isinstance(a, QuantParams) or not isinstance(b, QuantParams):
        raise NoIntegerFormError("an argument is not quantized")
    return left, right, a, b, want if a.dtype == want.dtype else a


def _binary(op: str) -> Rule:
    def rule(call: OpCall, region: QuantizedRegion) -> Done:
        left, right, a, b, want = _sides(call, region)
        if op == "qnn.add" and a.dtype == "int32" and _same(a, b) and (a.axis == b.axis or _is_uniform(a)):
            return make("add", left, right), a  # a sum after a convolution, whose scale may be a vector
        result = make(
            op,
            left,
            right,
            a.scale,
            a.zero_point,
            b.scale,
            b.zero_point,
            want.scale,
            want.zero_point,
            lhs_axis=a.axis,
            rhs_axis=b.axis,
        )
        return result, want

    return rule


def _in_one_scale(call: OpCall, region: QuantizedRegion) -> Done:
    left, right, a, b, want = _sides(call, region)
    left = left if _identical(a, want) else requantize(left, a, want)
    right = right if _identical(b, want) else requantize(right, b, want)
    return call.with_fields(args=(left, right)), want


def _unary(op: str) -> Rule:
    def rule(call: OpCall, region: QuantizedRegion) -> Done:
        source, want = region.of(call.args[0]), region.target()
        attrs = dict(call.attrs.items()) if call.attrs is not None else {}
        return make(op, call.args[0], source.scale, source.zero_point, want.scale, want.zero_point, **attrs), want

    return rule


# The integer form of each operator. With `use_qat` a single call of an operator in ALONE is rewritten if all its
# arguments are dequantized; the others only between `qnn.dequantize` and `qnn.quantize`.
ALONE: dict[str, Rule] = {
    **dict.fromkeys(("nn.conv2d", "nn.conv2d_transpose"), _conv), "nn.dense": _dense, "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add, "nn.avg_pool2d": _pool, "nn.global_avg_pool2d": _pooled_wide, "split": _split,
    "nn.pad": _pad, **dict.fromkeys(("minimum", "maximum"), _in_one_scale),
    **dict.fromkeys((
        "reshape", "squeeze", "strided_slice", "transpose", "expand_dims", "broadcast_to", "nn.max_pool2d",
        "nn.batch_flatten", "nn.depth_to_space", "max", "min",
    ), _keep),
}  # fmt: skip
RULES: dict[str, Rule] = {
    **ALONE, "qnn.quantize": _quantize, "topk": _topk, "mean": _average, "nn.adaptive_avg_pool1d": _pooled_wide,
    "concatenate": _concatenate, "add": _binary("qnn.add"), "subtract": _binary("qnn.subtract"),
    "multiply": _binary("qnn.mul"), "image.resize2d": _keep, "take": _keep,
    **{name: _unary(f"qnn.{name}") for name in ("sqrt", "rsqrt", "exp", "erf", "sigmoid", "tanh", "log", "abs")},
    "nn.leaky_relu": _unary("qnn.leaky_relu"),
}  # fmt: skip
OPTIONAL: dict[str, Rule] = {"nn.softmax": _unary("qnn.softmax")}


def rule_of(call: OpCall, alone: bool = False) -> Rule | None:
    """Return the integer form of an operator, None for one that has none; with `alone` of those of ALONE."""
    if has_trait(call, Trait.CLAMPS):
        return _clamp
    return (ALONE if alone else RULES).get(call.op.name)
