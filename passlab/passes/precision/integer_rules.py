"""Integer forms of operators. An integer tensor represents the numbers `scale * (integer - zero_point)`.

`rule_of(call)` returns the rule of an operator. A rule takes a call on integers and its region, and returns an integer
expression with its quantization parameters. It raises `NoIntegerFormError` for a call without an integer form.

The numbers of a region are rounded and saturated once, as in the original. So an operator returns its result in the
scale of the region's result only if all later operators commute with quantizing; all other integers are exact.
Independent of the pass manager.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem
from passlab.ir.op import OpCall, Trait, has_trait, is_op_call, op_name
from passlab.op import make
from passlab.op.layout_names import parse_layout
from passlab.op.qnn.products import output_channel
from passlab.passes.precision.quantized_region import (
    NoIntegerFormError,
    QuantizedRegion,
    QuantParams,
    QuantParamsTuple,
    converted,
    identical,
    is_uniform,
    is_whole,
    is_zero,
    nearly_equal,
    nearly_same,
    quantized,
    represents,
    requantize,
    steps_of,
)
from passlab.rewriting.constant_folding import fold

IntegerForm = tuple[Expr, QuantParams | QuantParamsTuple]
Rule = Callable[[OpCall, QuantizedRegion], IntegerForm]


# ---------------------------------------------------------------- rules
def _quantize(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    source = region.of(call.args[0])
    attrs: Any = call.attrs
    target = QuantParams(call.args[1], call.args[2], attrs.out_dtype, attrs.axis)
    return converted(call.args[0], source, target), target


def _keep(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    """Move elements, or select some of them."""
    return call, region.scalar(call.args[0])


def _topk(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    if call.attrs.ret_type != "values":
        raise NoIntegerFormError("topk with indices")
    return _keep(call, region)


def _average(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    """Compute averages in int32 in the scale of the result, so that only the result is rounded."""
    source, target = region.scalar(call.args[0]), region.wide()
    attrs: Any = call.attrs
    if getattr(attrs, "count_include_pad", False) and any(attrs.padding) and not is_zero(target.zero_point):
        raise NoIntegerFormError("zeros are averaged that are not the zero point")
    same = nearly_same(source, region.target())
    data = make("cast", call.args[0], dtype="int32") if same else requantize(call.args[0], source, target)
    return call.with_fields(args=(data, *call.args[1:])), target


def _narrow_average(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    """Like `_average`, but in the dtype of the result if the argument has its scale."""
    out, wide = _average(call, region)
    same = nearly_same(region.of(call.args[0]), region.target())
    return (make("cast", out, dtype=region.target().dtype), region.target()) if same else (out, wide)


def _pool(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    """Like `_average`, but in the dtype of the result."""
    out, wide = _average(call, region)
    target = region.target()
    if target.dtype == "int32":
        return out, wide
    ends = np.iinfo(target.dtype)
    return make("cast", make("clip", out, a_min=float(ends.min), a_max=float(ends.max)), dtype=target.dtype), target


def _resize(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    if call.attrs.method == "nearest_neighbor" or nearly_same(region.of(call.args[0]), region.target()):
        return _keep(call, region)
    return _average(call, region)


def _bias_add(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    """Add in int32. A bias that no integers represent in the scale of the data is rounded there."""
    data, bias = call.args
    data, source = _center(data, region.of(data), region)
    if type(bias) is Constant and bias not in region.quantization:
        if not represents(source, bias):
            _check_is_finer(source, region.target())
        bias = quantized(bias, source, axis=0)
    else:
        bias, bias_params = _center(bias, replace(region.of(bias), axis=0), region)
        if not nearly_same(replace(source, axis=0), bias_params):
            _check_is_finer(source, region.target())
            bias = requantize(bias, bias_params, source)
    return call.with_fields(args=(data, bias)), source


def _check_is_finer(source: QuantParams, result: QuantParams) -> None:
    """Raise `NoIntegerFormError` unless the scale of `source` is at most the scale of the result."""
    one, other = fold(source.scale), fold(result.scale)
    if type(one) is not Constant or type(other) is not Constant or one.data.max() > other.data.min():
        raise NoIntegerFormError("a bias is rounded in a coarser scale than the result")


def _center(expr: Expr, source: QuantParams, region: QuantizedRegion) -> tuple[Expr, QuantParams]:
    """Return integers of the same scale in int32, with the zero point 0."""
    if is_zero(source.zero_point) and source.dtype == "int32":
        return expr, source
    wide = QuantParams(source.scale, Constant(np.int32(0)), "int32", source.axis)
    shift = _spread(source.zero_point, source, region, expr)
    return make("subtract", make("cast", expr, dtype="int32"), make("cast", shift, dtype="int32")), wide


def _product(call: OpCall, region: QuantizedRegion, op: str, axis: int, weight_axis: int, **attrs: Any) -> IntegerForm:
    """Return a convolution or matrix product in int32; its scale is the product of the scales, its zero point 0.

    The weight may have a scale for each slice along `weight_axis`, the one that becomes `axis` of the result.
    """
    (x, w), (a, b) = call.args, (region.scalar(call.args[0]), region.of(call.args[1]))
    if b.axis % region.rank(w) != weight_axis:
        b = region.check_scalar(b)
    if "int32" in (a.dtype, b.dtype):
        raise NoIntegerFormError("a product of sums may overflow int32")
    out = make(op, x, w, a.zero_point, b.zero_point, a.scale, b.scale, **{**attrs, "out_dtype": "int32"})
    scale = fold(make("multiply", a.scale, b.scale))
    zero = fold(make("cast", make("zeros_like", scale), dtype="int32"))
    return out, QuantParams(scale, zero, "int32", axis)


def _conv(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    attrs = dict(call.attrs.items())
    layout = parse_layout(attrs["out_layout"] or attrs["data_layout"])
    axes = layout.axes if layout is not None else ""
    if "C" not in axes or len(axes) != len(layout.parts):  # type: ignore[union-attr]
        raise NoIntegerFormError("a packed layout")
    name = f"qnn.{call.op.name.removeprefix('nn.')}"
    return _product(call, region, name, axes.index("C"), output_channel(call.attrs), **attrs)


def _dense(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    return _product(call, region, "qnn.dense", 1, 0, **dict(call.attrs.items()))


def _batch_matmul(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    region.scalar(call.args[1])
    return _product(call, region, "qnn.batch_matmul", 0, 0, **dict(call.attrs.items()))


def _concatenate(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    whole = region.quantization.get(call.args[0])
    if not isinstance(whole, QuantParamsTuple):
        raise NoIntegerFormError("an argument is not quantized")
    attrs: Any = call.attrs
    fields = [region.check_scalar(field) for field in whole.fields]
    if not region.is_last and all(nearly_same(fields[0], field) for field in fields):
        return call, fields[0]
    target = region.target()
    if any(field.dtype != target.dtype for field in fields):
        raise NoIntegerFormError("tensors of several dtypes are joined")
    scales, zeros = Tuple([field.scale for field in fields]), Tuple([field.zero_point for field in fields])
    return make(
        "qnn.concatenate", call.args[0], scales, zeros, target.scale, target.zero_point, axis=attrs.axis
    ), target


def _split(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    source, sections = region.scalar(call.args[0]), call.attrs.indices_or_sections
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


def _clamp(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    arg, source = call.args[0], region.of(call.args[0])
    attrs: Any = call.attrs
    if attrs is None:  # relu
        lowest = make("cast", _spread(source.zero_point, source, region, arg), dtype=source.dtype)
        return make("maximum", arg, fold(lowest)), source
    if math.isnan(attrs.a_min) or math.isnan(attrs.a_max):
        raise NoIntegerFormError("a bound of a clip is not a number")
    if not _bounds_are_exact(attrs, source):
        arg, source = converted(arg, source, region.target()), region.target()
    steps = steps_of([attrs.a_min, attrs.a_max], source)
    if steps is not None:
        # The bounds are rounded to the nearest step, as quantizing does (Relay truncates). They may be infinite.
        ends = np.iinfo("int32")
        low, high = (math.floor(step + 0.5) for step in np.clip(steps, ends.min, ends.max))
        return make("clip", arg, a_min=low, a_max=high), source
    bounds = []
    for bound in (attrs.a_min, attrs.a_max):
        value = _spread(Constant(np.float32(bound)), source, region, arg)
        integer = make("qnn.quantize", value, source.scale, source.zero_point, axis=source.axis, out_dtype=source.dtype)
        bounds.append(fold(integer, fold_qnn=True))
    return make("minimum", make("maximum", arg, bounds[0]), bounds[1]), source


def _bounds_are_exact(attrs: Any, source: QuantParams) -> bool:
    """Return whether integers represent the bounds of a clip, or all that they represent lies within."""
    steps = steps_of([attrs.a_min, attrs.a_max], source)
    if steps is None:
        return False
    ends = np.iinfo(source.dtype)
    low, high = max(steps[0], ends.min), min(steps[1], ends.max)
    return bool(low <= ends.max and high >= ends.min) and is_whole(np.array([low, high]))


def _pad(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    (arg, value), source = call.args, region.of(call.args[0])
    if value in region.quantization:
        params = region.of(value)
        target = source if nearly_same(params, source) else region.target()
        value = converted(value, params, target)
    elif type(value) is Constant:
        target = source if represents(source, value) else region.target()
        value = quantized(value, target)
    else:
        raise NoIntegerFormError("the padding value is not known")
    return call.with_fields(args=(converted(arg, source, target), value)), target


Side = tuple[Expr, QuantParams]


def _sides(call: OpCall, region: QuantizedRegion) -> tuple[Side, Side]:
    """Return both operands of a binary call with their quantization.

    A floating constant is quantized with the parameters of the other operand if these represent it; any other number
    has a scale of its own.
    """
    quantizations = [p for p in map(region.quantization.get, call.args) if isinstance(p, QuantParams)]
    if not quantizations:
        raise NoIntegerFormError("an argument is not quantized")

    def side(arg: Expr) -> Side:
        if arg in region.quantization or type(arg) is not Constant:
            return arg, region.of(arg)
        params = quantizations[0] if represents(quantizations[0], arg) else _own_scale(arg, quantizations[0].dtype)
        return quantized(arg, params), params

    return side(call.args[0]), side(call.args[1])


def _own_scale(value: Constant, dtype: str) -> QuantParams:
    """Return parameters whose integers represent a number: 100 steps above or below the zero point."""
    if value.data.size != 1 or not np.all(np.isfinite(value.data)):
        raise NoIntegerFormError("a constant is rounded in the scale of the other operand")
    number = float(value.data.reshape(()))
    zero = 100 if number < 0 and np.iinfo(dtype).min == 0 else 0
    return QuantParams(Constant(np.float32(abs(number) / 100)), Constant(np.int32(zero)), dtype)


def _binary(op: str) -> Rule:
    def rule(call: OpCall, region: QuantizedRegion) -> IntegerForm:
        (left, a), (right, b) = _sides(call, region)
        dtypes = {a.dtype, b.dtype}
        if op == "qnn.add" and dtypes == {"int32"} and nearly_same(a, b) and is_zero(a.zero_point):
            return make("add", left, right), a  # a sum after a convolution, whose scale may be a vector
        if op == "qnn.mul" and "int32" in dtypes:
            raise NoIntegerFormError("a product of sums may overflow int32")
        target = region.target() if region.is_last else _exact_result(op, a, b)
        if dtypes != {target.dtype}:
            left, right = (make("cast", side, dtype="int32") for side in (left, right))
            target = replace(target, dtype="int32")
        result = make(
            op,
            left,
            right,
            a.scale,
            a.zero_point,
            b.scale,
            b.zero_point,
            target.scale,
            target.zero_point,
            lhs_axis=a.axis,
            rhs_axis=b.axis,
        )
        return result, target

    return rule


def _exact_result(op: str, a: QuantParams, b: QuantParams) -> QuantParams:
    """Return parameters of int32 that represent every sum or product exactly."""
    scale = fold(make("multiply", a.scale, b.scale)) if op == "qnn.mul" else a.scale
    if not is_uniform(scale) or not (op == "qnn.mul" or nearly_equal(a.scale, b.scale)):
        raise NoIntegerFormError("a result would be rounded before it is used")
    return QuantParams(scale, Constant(np.int32(0)), "int32")


def _in_one_scale(call: OpCall, region: QuantizedRegion) -> IntegerForm:
    (left, a), (right, b) = _sides(call, region)
    target = region.target() if region.is_last or not nearly_same(a, b) else a
    left = left if identical(a, target) else requantize(left, a, target)
    right = right if identical(b, target) else requantize(right, b, target)
    return call.with_fields(args=(left, right)), target


def _unary(op: str) -> Rule:
    def rule(call: OpCall, region: QuantizedRegion) -> IntegerForm:
        source, target = region.scalar(call.args[0]), region.target()
        if source.dtype != target.dtype:
            raise NoIntegerFormError(f"`{op}` changes no dtype")
        attrs = dict(call.attrs.items()) if call.attrs is not None else {}
        return make(op, call.args[0], source.scale, source.zero_point, target.scale, target.zero_point, **attrs), target

    return rule


# The integer form of each operator. With `use_qat` a single call of an operator in ALONE is rewritten if all its
# arguments are dequantized; the others only between `qnn.dequantize` and `qnn.quantize`.
ALONE: dict[str, Rule] = {
    **dict.fromkeys(("nn.conv2d", "nn.conv2d_transpose"), _conv), "nn.dense": _dense, "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add, "nn.avg_pool2d": _pool, "nn.global_avg_pool2d": _average, "split": _split,
    "nn.pad": _pad, **dict.fromkeys(("minimum", "maximum"), _in_one_scale),
    **dict.fromkeys((
        "reshape", "squeeze", "strided_slice", "transpose", "expand_dims", "broadcast_to", "nn.max_pool2d",
        "nn.batch_flatten", "nn.depth_to_space", "max", "min",
    ), _keep),
}  # fmt: skip
RULES: dict[str, Rule] = {
    **ALONE, "qnn.quantize": _quantize, "topk": _topk, "mean": _narrow_average, "nn.adaptive_avg_pool1d": _average,
    "concatenate": _concatenate, "add": _binary("qnn.add"), "subtract": _binary("qnn.subtract"),
    "multiply": _binary("qnn.mul"), "image.resize2d": _resize, "take": _keep,
    **{name: _unary(f"qnn.{name}") for name in ("sqrt", "rsqrt", "exp", "erf", "sigmoid", "tanh", "log", "abs")},
    "nn.leaky_relu": _unary("qnn.leaky_relu"),
}  # fmt: skip
# Operators that commute with rounding and saturating each element: they move, select or limit elements.
COMMUTES = {
    name for name, rule in RULES.items() if rule in (_quantize, _keep, _topk, _split, _pad, _concatenate, _in_one_scale)
}
OPTIONAL: dict[str, Rule] = {"nn.softmax": _unary("qnn.softmax")}


def rule_of(call: OpCall, alone: bool = False) -> Rule | None:
    """Return the rule of an operator, None if it has none; with `alone`, only a rule of ALONE."""
    if has_trait(call, Trait.CLAMPS):
        return _clamp
    return (ALONE if alone else RULES).get(call.op.name)


def commutes(node: Expr) -> bool:
    """Return True if quantizing the operands of a node, or of a region, has the effect of quantizing its result."""
    if not is_op_call(node):
        return type(node) in (Tuple, TupleGetItem)
    nearest = op_name(node) == "image.resize2d" and node.attrs.method == "nearest_neighbor"
    return nearest or node.op.name in COMMUTES or has_trait(node, Trait.CLAMPS)
