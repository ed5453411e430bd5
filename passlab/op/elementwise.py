"""Elementwise operators that keep shape and dtype.

Functions of calculus (exp, sin, ...) take floating-point data; bfloat16 is computed in float32. Relay's types also
allow integers: these are computed in float64 and truncated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Trait
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, number
from passlab.op.autodiff import Gradient, zero_gradient
from passlab.op.declare import Python, call, deliver, operator, quiet
from passlab.op.dtypes import Array, array_dtype, as_array, integer_info, is_float, round_half_away
from passlab.op.edge_cases import on_one
from passlab.op.relations import identity, on_tensors, refuse

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def constant_like(value: float, like: Expr) -> Constant:
    """Return `value`, truncated if necessary, as a scalar of the dtype of a typed expression.

    Before inference the dtype is float32.
    """
    ty = like.checked_type_
    return Constant(np.asarray(value).astype(array_dtype(ty.dtype if isinstance(ty, TensorType) else "float32")))


def calculus_kernel(function: Callable[..., Any], *, widen_half: bool = False) -> Callable[..., Any]:
    """Return the kernel of a function of calculus given as a ufunc or `function(data, out=None)` on float arrays."""

    def kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
        dtype = data.dtype
        if dtype.kind == "f" and dtype.itemsize > 1 and not (widen_half and dtype == F16):
            return as_array(function(data, out=out))
        result = as_array(function(data.astype(F32 if is_float(dtype) else F64))).astype(dtype)
        return result if out is None else deliver(result, out)

    return kernel


def _rounding_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel of a rounding function, which leaves integers as they are."""

    def kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
        if is_float(data.dtype):
            return as_array(function(data, out=out))
        return data if out is None else deliver(data, out)

    return kernel


def elementwise(name: str, kernel: Callable[..., Any], doc: str, *, level: int, **facts: Any) -> Op:
    """Declare an operator on one tensor that keeps its type."""
    kernel.__doc__ = doc
    facts.setdefault("layout", layout_rules.elementwise)
    return operator(name, ("data",), relation=identity, pattern=OpPattern.ELEMWISE, level=level, **facts)(kernel)


def calculus(
    name: str, function: Callable[..., Any], doc: str, *, level: int = 1, widen_half: bool = False, **facts: Any
) -> Op:
    """Declare a function of calculus."""
    return elementwise(name, calculus_kernel(function, widen_half=widen_half), doc, level=level, silenced=True, **facts)


# ---------------------------------------------------------------- functions that NumPy lacks
def _sigmoid(data: Array, out: Array | None = None) -> Array:
    result = np.negative(data, out=np.empty_like(data) if out is None else out)
    np.exp(result, out=result)
    np.add(result, result.dtype.type(1), out=result)
    return np.reciprocal(result, out=result)


def _rsqrt(data: Array, out: Array | None = None) -> Array:
    return np.reciprocal(np.sqrt(data, out=out), out=out)


# erf(x) is tanh(x * R(x * x)): NumPy's tanh is vectorised, while SciPy's erf takes one element at a time, which is
# seven times slower. R is fitted to atanh(erf(x)) / x on [0, 4] so that the error of the result is least; beyond,
# single precision only has 1. With all roundings the result is within 4 units in the last place, and never beyond 1.
_ERF_R = (
    5.4215845e-09, 2.7575835e-08, -4.7945960e-06, 8.4596512e-05, -6.1483804e-04, -1.9528846e-04, 0.10276987, 1.1283792,
)  # fmt: skip
_ERF_END = np.float32(4)
_ERF_BLOCK = 1 << 15  # elements: three blocks fit the second-level cache


def _erf(data: Array, out: Array | None = None) -> Array:
    if data.dtype == np.float32:
        return _single_erf(data, np.empty_like(data) if out is None else out)
    from scipy.special import erf  # imported here because it takes longer than all of passlab's other imports

    return erf(data, out=out)


def _single_erf(data: Array, out: Array) -> Array:
    """Write the error function of single-precision numbers into `out`, block by block if it is contiguous."""
    if data.size <= _ERF_BLOCK or not (data.flags.c_contiguous and out.flags.c_contiguous):
        return _erf_block(data, out, np.empty_like(out))
    flat, target = data.reshape(-1), out.reshape(-1)
    scratch = np.empty(_ERF_BLOCK, np.float32)
    for start in range(0, flat.size, _ERF_BLOCK):
        block = target[start : start + _ERF_BLOCK]
        _erf_block(flat[start : start + _ERF_BLOCK], block, scratch[: block.size])
    return out


def _erf_block(data: Array, out: Array, square: Array) -> Array:
    """Write the error function into `out`, which may be `data` itself; `square` is a buffer for the squares."""
    first, second, *rest = map(np.float32, _ERF_R)
    x = np.clip(data, -_ERF_END, _ERF_END)
    np.multiply(x, x, out=square)
    np.multiply(square, first, out=out)
    np.add(out, second, out=out)
    for factor in rest:
        np.multiply(out, square, out=out)
        np.add(out, factor, out=out)
    np.multiply(out, x, out=out)
    return np.tanh(out, out=out)


# ---------------------------------------------------------------- gradients
def _unary_gradient(formula: Callable[[Expr, Expr, Expr], Expr]) -> Gradient:
    """Return the gradient of an operator on one input from `formula(x, y, grad)`, where y is the call itself."""

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        return [formula(orig.args[0], orig, grad)]

    return gradient


def _ones(like: Expr) -> Expr:
    return call("ones_like", like)


def _zeros(like: Expr) -> Expr:
    return call("zeros_like", like)


def _one_minus_square(x: Expr) -> Expr:
    return _ones(x) - x * x


def _erf_grad(x: Expr, y: Expr, grad: Expr) -> Expr:
    factor = constant_like(2 / np.sqrt(np.pi), x)
    return factor * call("exp", -(x * x)) * grad


def _sqrt_grad(x: Expr, y: Expr, grad: Expr) -> Expr:
    return grad * constant_like(0.5, x) * call("power", x, constant_like(-0.5, x))


def _rsqrt_grad(x: Expr, y: Expr, grad: Expr) -> Expr:
    return grad * constant_like(-0.5, x) * call("power", x, constant_like(-1.5, x))


def _log_gradient_to(base: float) -> Gradient:
    return _unary_gradient(lambda x, y, grad: grad * _ones(x) / (constant_like(np.log(base), x) * x))


def _abs_grad(x: Expr, y: Expr, grad: Expr) -> Expr:
    ones = _ones(x)
    return call("where", call("less", x, _zeros(x)), -ones * grad, ones * grad)


# ---------------------------------------------------------------- declarations
exp = calculus(
    "exp",
    np.exp,
    "The exponential of each element.",
    precision=Precision.NEVER,
    gradient=_unary_gradient(lambda x, y, grad: grad * call("exp", x)),
    traits=Trait.IN_PLACE,
)
log = calculus(
    "log",
    np.log,
    "The natural logarithm of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad * _ones(x) / x),
    traits=Trait.IN_PLACE,
)
log2 = calculus("log2", np.log2, "The logarithm to base 2 of each element.", gradient=_log_gradient_to(2))
log10 = calculus("log10", np.log10, "The logarithm to base 10 of each element.", gradient=_log_gradient_to(10))
sqrt = calculus(
    "sqrt",
    np.sqrt,
    "The square root of each element.",
    gradient=_unary_gradient(_sqrt_grad),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE,
)
rsqrt = calculus(
    "rsqrt",
    _rsqrt,
    "One over the square root of each element.",
    gradient=_unary_gradient(_rsqrt_grad),
    traits=Trait.IN_PLACE,
)
sin = calculus(
    "sin",
    np.sin,
    "The sine of each element (radians).",
    gradient=_unary_gradient(lambda x, y, grad: grad * call("cos", x)),
    traits=Trait.IN_PLACE,
)
cos = calculus(
    "cos",
    np.cos,
    "The cosine of each element (radians).",
    gradient=_unary_gradient(lambda x, y, grad: grad * (-_ones(x) * call("sin", x))),
    traits=Trait.IN_PLACE,
)
tan = calculus(
    "tan",
    np.tan,
    "The tangent of each element (radians).",
    gradient=_unary_gradient(lambda x, y, grad: grad / (call("cos", x) * call("cos", x))),
)
asin = calculus(
    "asin",
    np.arcsin,
    "The inverse sine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad / call("sqrt", _one_minus_square(x))),
)
acos = calculus(
    "acos",
    np.arccos,
    "The inverse cosine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: -grad / call("sqrt", _one_minus_square(x))),
)
atan = calculus(
    "atan",
    np.arctan,
    "The inverse tangent of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad / (_ones(x) + x * x)),
)
sinh = calculus(
    "sinh",
    np.sinh,
    "The hyperbolic sine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad * call("cosh", x)),
)
cosh = calculus(
    "cosh",
    np.cosh,
    "The hyperbolic cosine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad * call("sinh", x)),
)
tanh = calculus(
    "tanh",
    np.tanh,
    "The hyperbolic tangent of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad * _one_minus_square(y)),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE,
)
asinh = calculus(
    "asinh",
    np.arcsinh,
    "The inverse hyperbolic sine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad / call("sqrt", x * x + _ones(x))),
)
acosh = calculus(
    "acosh",
    np.arccosh,
    "The inverse hyperbolic cosine of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad / call("sqrt", x * x - _ones(x))),
)
atanh = calculus(
    "atanh",
    np.arctanh,
    "The inverse hyperbolic tangent of each element.",
    gradient=_unary_gradient(lambda x, y, grad: grad / _one_minus_square(x)),
)
sigmoid = calculus(
    "sigmoid",
    _sigmoid,
    "The logistic function 1 / (1 + exp(-x)) of each element.",
    widen_half=True,
    gradient=_unary_gradient(lambda x, y, grad: grad * y * (_ones(y) - y)),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE,
)
erf = calculus(
    "erf",
    _erf,
    "The error function of each element.",
    widen_half=True,
    precision=Precision.NEVER,
    gradient=_unary_gradient(_erf_grad),
    traits=Trait.IN_PLACE,
)


def _rounding(name: str, function: Callable[..., Any], doc: str) -> Op:
    traits = Trait.IN_PLACE | Trait.MAKES_WHOLE
    return elementwise(name, _rounding_kernel(function), doc, level=3, gradient=zero_gradient, traits=traits)


floor = _rounding("floor", np.floor, "The largest integer not above each element.")
ceil = _rounding("ceil", np.ceil, "The smallest integer not below each element.")
trunc = _rounding("trunc", np.trunc, "Each element truncated to an integer.")
round_ = _rounding("round", round_half_away, "The integer nearest to each element; halves are rounded away from zero.")


def _negative_kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    if data.dtype.kind == "b":  # in arithmetic modulo 2, -1 is 1
        return data if out is None else deliver(data, out)
    return as_array(np.negative(data, out=out))


def _abs_kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    return as_array(np.absolute(data, out=out))


def _sign_kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    if data.dtype.kind == "b":
        return data if out is None else deliver(data, out)
    return as_array(np.sign(data, out=out))


def _copy_kernel(attrs: Attrs, data: Array) -> Array:
    return data.copy()


negative = elementwise(
    "negative",
    _negative_kernel,
    "Each element negated; the smallest integer wraps to itself.",
    level=3,
    gradient=_unary_gradient(lambda x, y, grad: -grad),
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE | Trait.HOMOGENEOUS,
)
abs_ = elementwise(
    "abs",
    _abs_kernel,
    "The absolute value of each element; the smallest integer wraps to itself.",
    level=3,
    gradient=_unary_gradient(_abs_grad),
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE | Trait.HOMOGENEOUS,
)
sign = elementwise(
    "sign",
    quiet(_sign_kernel),
    "-1, 0 or 1 by the sign of each element; NaN stays NaN.",
    level=3,
    gradient=zero_gradient,
    traits=Trait.MAKES_WHOLE,
)
copy = elementwise(
    "copy",
    _copy_kernel,
    "A copy of the tensor.",
    level=3,
    gradient=_unary_gradient(lambda x, y, grad: grad),
    precision=Precision.FOLLOW,
    traits=Trait.MOVES | Trait.HOMOGENEOUS,
)


def _clip_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    x = orig.args[0]
    assert isinstance(x.checked_type, TensorType)
    dtype = array_dtype(x.checked_type.dtype)
    bounds = (Constant(np.asarray(_bound_in_dtype(orig.attrs[k], dtype), dtype)) for k in ("a_min", "a_max"))
    low, high = (call("broadcast_to_like", bound, x) for bound in bounds)
    zeros, ones = _zeros(x), _ones(x)
    inside = call("where", call("less", high, x), zeros, ones * grad)
    return [call("where", call("less", x, low), zeros, inside)]


def _bound_in_dtype(value: float, dtype: np.dtype[Any]) -> Any:
    """Return a bound of `clip` in the dtype of the data: truncated and saturated if that is an integer dtype."""
    if is_float(dtype):
        return dtype.type(value)
    info = integer_info(dtype) if dtype.kind != "b" else None
    low, high = (0, 1) if info is None else (int(info.min), int(info.max))
    if value != value:
        return dtype.type(0)
    return dtype.type(high if value >= high else low if value <= low else int(value))


@operator(
    "clip",
    ("data",),
    attrs=attrs("ClipAttrs", number("a_min", doc="the lower bound"), number("a_max", doc="the upper bound")),
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    level=3,
    python=Python("a, a_min, a_max", names={"a": "data"}),
    gradient=_clip_grad,
    silenced=True,
    source="np.clip",
    edge_cases=(
        "clip(%x: (2, 3), a_min=-1f, a_max=2f)",
        "clip(%x: (), a_min=0f, a_max=6f)",
        "clip(%x: (0, 3), a_min=0f, a_max=6f)",
        "clip(%x: (3), a_min=3f, a_max=1f)",
    ),
    layout=layout_rules.elementwise,
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE | Trait.CLAMPS,
)
def clip(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Clip each element to [a_min, a_max]; NaN stays NaN, and if the bounds cross, a_max wins."""
    low, high = _bound_in_dtype(attrs.a_min, data.dtype), _bound_in_dtype(attrs.a_max, data.dtype)
    return as_array(np.minimum(np.maximum(data, low, out=out), high, out=out))


def _hardswish(data: Array, out: Array | None = None) -> Array:
    result = np.minimum(np.maximum(data + data.dtype.type(3), data.dtype.type(0)), data.dtype.type(6))
    result = as_array(np.multiply(np.divide(result, data.dtype.type(6)), data))
    return result if out is None else deliver(result, out)


def _hardswish_grad(x: Expr, y: Expr, grad: Expr) -> Expr:
    """The derivative of x * r(x) / 6, where r rises with slope 1 from r(-3) = 0 to r(3) = 6: (r(x) + x * r'(x)) / 6."""
    shifted = x + constant_like(3, x)
    ramp = call("clip", shifted, a_min=0.0, a_max=6.0)
    slope_term = call("where", call("equal", ramp, shifted), x, _zeros(x))
    return grad * (ramp + slope_term) * constant_like(1 / 6, x)


hardswish = calculus(
    "hardswish",
    _hardswish,
    "x * min(max(x + 3, 0), 6) / 6 for each element.",
    level=10,
    source="Howard et al., Searching for MobileNetV3 (2019)",
    gradient=_unary_gradient(_hardswish_grad),
)


# ---------------------------------------------------------------- functions that may be approximated
fast_exp = calculus(
    "fast_exp",
    np.exp,
    "The exponential, where accuracy may be traded for speed (here it is exact).",
    gradient=_unary_gradient(lambda x, y, grad: grad * call("fast_exp", x)),
    precision=Precision.FOLLOW,
)
fast_tanh = calculus(
    "fast_tanh",
    np.tanh,
    "The hyperbolic tangent, where accuracy may be traded for speed (here it is exact).",
    gradient=_unary_gradient(lambda x, y, grad: grad * _one_minus_square(y)),
    precision=Precision.FOLLOW,
)
fast_erf = calculus(
    "fast_erf",
    _erf,
    "The error function, where accuracy may be traded for speed (here it is exact).",
    widen_half=True,
    gradient=_unary_gradient(_erf_grad),
    precision=Precision.FOLLOW,
)


# ---------------------------------------------------------------- predicates, negation of bools and bits
@on_tensors
def _bool_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(data.shape, "bool")


def _predicate_kernel(function: Callable[..., Any], on_integers: bool) -> Callable[..., Any]:
    def kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
        if is_float(data.dtype):
            return as_array(function(data, out=out))
        result = np.full(data.shape, on_integers)
        return result if out is None else deliver(result, out)

    return kernel


def _predicate(name: str, function: Callable[..., Any], on_integers: bool, doc: str) -> Op:
    kernel = _predicate_kernel(function, on_integers)
    return operator(
        name,
        ("data",),
        relation=_bool_type,
        pattern=OpPattern.ELEMWISE,
        layout=layout_rules.elementwise,
        level=3,
        shapes="S -> S of bool",
        source=f"np.{name}",
        edge_cases=on_one(name),
        doc=doc,
        gradient=zero_gradient,
    )(kernel)


isnan = _predicate("isnan", np.isnan, False, "Whether each element is NaN.")
isinf = _predicate("isinf", np.isinf, False, "Whether each element is an infinity.")
isfinite = _predicate("isfinite", np.isfinite, True, "Whether each element is neither infinite nor NaN.")


def _logical_not_kernel(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    if data.dtype.kind == "b":
        return as_array(np.logical_not(data, out=out))
    result = as_array(np.logical_not(data)).astype(data.dtype)
    return result if out is None else deliver(result, out)


@on_tensors
def _bitwise_type(attrs: Attrs, data: TensorType) -> Type:
    if "float" in data.dtype:
        refuse("bitwise operators take integers or bools", 0, expected="an integer or bool dtype", found=data.dtype)
    return data


logical_not = elementwise(
    "logical_not",
    _logical_not_kernel,
    "Whether each element is zero (false), in its own dtype.",
    level=4,
    gradient=zero_gradient,
)


@operator(
    "bitwise_not",
    ("data",),
    relation=_bitwise_type,
    pattern=OpPattern.ELEMWISE,
    level=4,
    shapes="S -> S",
    source="np.invert",
    edge_cases=on_one("bitwise_not"),
    gradient=zero_gradient,
    layout=layout_rules.elementwise,
)
def bitwise_not(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The bitwise complement of each integer."""
    return as_array(np.invert(data, out=out))
