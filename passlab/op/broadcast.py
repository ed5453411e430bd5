"""Arithmetic, bitwise and logical operators on two tensors that broadcast by NumPy's rule.

Integers wrap silently; dividing an integer by zero raises `RunError`. `divide`, `trunc_divide` and `trunc_mod`
truncate, `floor_divide` and `floor_mod` round down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Reporter, Trait
from passlab.ir.types import Type
from passlab.op import layout_rules
from passlab.op.autodiff import Gradient, zero_gradient
from passlab.op.declare import call, deliver, operator
from passlab.op.dtypes import Array, as_array, is_float
from passlab.op.edge_cases import on_two
from passlab.op.elementwise import constant_like
from passlab.op.relations import broadcast, refuse, tensor

Kernel = Callable[..., Any]


def binary_kernel(ufunc: Callable[..., Any], on_bool: Callable[..., Any] | None = None) -> Kernel:
    """Return the kernel of a ufunc; `on_bool` is used for bools, where the ufunc has no loop or another meaning."""

    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *, out: Array | None = None) -> Array:
        if on_bool is not None and lhs.dtype.kind == "b":
            return as_array(on_bool(lhs, rhs, out=out))
        return as_array(ufunc(lhs, rhs, out=out))

    return kernel


def division_kernel(on_integers: Callable[..., Any], on_floats: Callable[..., Any]) -> Kernel:
    """Return the kernel of a division or remainder, which rejects a division of an integer by zero."""

    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *, out: Array | None = None) -> Array:
        if is_float(lhs.dtype):
            return as_array(on_floats(lhs, rhs, out=out))
        check_divisor(rhs, lhs.size)
        left, right = widen_half_bytes(lhs, rhs)
        result = as_array(on_integers(left, right)).astype(lhs.dtype, copy=False)
        return result if out is None else deliver(result, out)

    return kernel


def widen_half_bytes(*arrays: Array) -> tuple[Array, ...]:
    """Return int4 and uint4 arrays as int8, which NumPy's integer rules cover; other arrays as they are."""
    return tuple(a.astype(np.int8) if a.dtype.kind == "V" else a for a in arrays)


def check_divisor(divisor: Array, count: int) -> None:
    """Raise `RunError` if an integer divisor contains a zero and is used at all."""
    if count and not divisor.all():
        index = tuple(int(i) for i in np.argwhere(np.asarray(divisor) == 0)[0])
        where = f" at {list(index)}" if index else ""
        raise RunError(
            Diagnostic(
                f"integer division by zero: the divisor is 0{where}", hint="guard the divisor, or cast to a float first"
            )
        )


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """Return the truncated quotient of integers; the smallest integer divided by -1 wraps to itself."""
    result = as_array(np.floor_divide(lhs, rhs))
    if lhs.dtype.kind != "i":
        return result
    inexact = np.multiply(result, rhs) != lhs
    # a quotient below zero that was rounded down is one less than the truncated one
    return as_array(np.add(result, inexact & ((lhs < 0) != (rhs < 0)), dtype=lhs.dtype, casting="unsafe"))


def _float_floor_divide(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Return the quotients rounded down, as `np.floor_divide` does, which computes remainders and is four times slower.

    Dividing in float64 is exact enough for float32: a quotient below 2**20 that is not a whole number differs from
    one by more than the rounding error of float64. The others are left to NumPy.
    """
    if not lhs.dtype == rhs.dtype == np.float32:
        return as_array(np.floor_divide(lhs, rhs, out=out))
    quotient = np.asarray(np.divide(lhs, rhs, dtype=np.float64))
    inexact = ~(np.abs(quotient) < 2.0**20) | (quotient == 0)
    result = np.asarray(np.floor(quotient), np.float32)
    if inexact.any():
        a, b = np.broadcast_arrays(lhs, rhs)
        result[inexact] = np.floor_divide(a[inexact], b[inexact])
    return result if out is None else deliver(result, out)


def _float_trunc_divide(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return np.trunc(np.divide(lhs, rhs, out=out), out=out)


def _power(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    if lhs.dtype.kind == "V" and not is_float(lhs.dtype):
        result = as_array(_integer_power(*widen_half_bytes(lhs, rhs))).astype(lhs.dtype)
    elif lhs.dtype.kind == "i" and np.any(rhs < 0):
        result = _integer_power(lhs, rhs)
    elif lhs.dtype.kind == "b":
        result = lhs | ~rhs  # 0 to the power 1 is the only power of bits that is 0
    else:
        return np.power(lhs, rhs, out=out)
    return result if out is None else deliver(result, out)


def _integer_power(lhs: Array, rhs: Array) -> Array:
    """Return powers of integers. Negative exponents give truncated fractions: 0 unless the base is 1 or -1."""
    negative = rhs < 0
    if not np.any(negative):
        return np.power(lhs, rhs)
    check_divisor(np.where(negative, lhs, 1), 1)
    sign = np.where(rhs % 2 == 0, lhs * lhs, lhs)
    truncated = np.where(np.absolute(lhs) == 1, sign, 0)
    return np.where(negative, truncated, np.power(lhs, np.maximum(rhs, 0))).astype(lhs.dtype)


# ---------------------------------------------------------------- gradients
def broadcast_gradient(formula: Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]) -> Gradient:
    """Return the gradient of a broadcasting operator from `formula(x, y, z, grad)`, where z is the call itself.

    The gradients are summed over the broadcast dimensions.
    """

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        x, y = orig.args
        dx, dy = formula(x, y, orig, grad)
        return [call("collapse_sum_like", dx, x), call("collapse_sum_like", dy, y)]

    return gradient


def _selection_gradient(condition: str) -> Gradient:
    """The gradient of maximum or minimum goes to the selected input, and to the first one if both are equal."""

    def formula(x: Expr, y: Expr, z: Expr, grad: Expr) -> tuple[Expr, Expr]:
        first, none = call(condition, x, y), call("zeros_like", grad)
        return call("where", first, grad, none), call("where", first, none, grad)

    return broadcast_gradient(formula)


def _remainder_gradient(quotient: str) -> Gradient:
    """The gradient of a remainder: the quotient is a step function, and multiplies the gradient of the divisor."""
    return broadcast_gradient(lambda x, y, z, grad: (grad, -(grad * call(quotient, x, y))))


def _power_grad(x: Expr, y: Expr, z: Expr, grad: Expr) -> tuple[Expr, Expr]:
    return grad * y * call("power", x, y - constant_like(1, y)), grad * z * call("log", x)


# ---------------------------------------------------------------- declarations
def binary(name: str, kernel: Kernel, doc: str, *, level: int, silenced: bool = True, **facts: Any) -> Op:
    """Declare an operator on two tensors of one dtype that broadcast, with a result of that dtype."""
    facts.setdefault("relation", broadcast)
    facts.setdefault("layout", layout_rules.broadcast)
    return operator(
        name, ("lhs", "rhs"), pattern=OpPattern.BROADCAST, level=level, silenced=silenced, doc=doc, **facts
    )(kernel)


add = binary(
    "add",
    binary_kernel(np.add),
    "The sums of elements; integers wrap.",
    level=1,
    gradient=broadcast_gradient(lambda x, y, z, grad: (grad, grad)),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
subtract = binary(
    "subtract",
    binary_kernel(np.subtract, np.not_equal),
    "The differences of elements; integers wrap.",
    level=1,
    gradient=broadcast_gradient(lambda x, y, z, grad: (grad, -grad)),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
multiply = binary(
    "multiply",
    binary_kernel(np.multiply),
    "The products of elements; integers wrap.",
    level=1,
    gradient=broadcast_gradient(lambda x, y, z, grad: (grad * y, grad * x)),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
divide = binary(
    "divide",
    division_kernel(truncated_quotient, np.divide),
    "The quotients of elements; for integers they are truncated.",
    level=1,
    gradient=broadcast_gradient(lambda x, y, z, grad: (grad / y, -(grad * z / y))),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE,
)
floor_divide = binary(
    "floor_divide",
    division_kernel(np.floor_divide, _float_floor_divide),
    "The quotients of elements, rounded down.",
    level=1,
    gradient=zero_gradient,
)
trunc_divide = binary(
    "trunc_divide",
    division_kernel(truncated_quotient, _float_trunc_divide),
    "The quotients of elements, truncated.",
    level=1,
    gradient=zero_gradient,
)
mod = binary(
    "mod",
    division_kernel(np.fmod, np.fmod),
    "The remainders of elements, with the sign of the dividend.",
    level=1,
    gradient=_remainder_gradient("trunc_divide"),
)
floor_mod = binary(
    "floor_mod",
    division_kernel(np.mod, np.mod),
    "The remainders of elements, with the sign of the divisor.",
    level=1,
    gradient=_remainder_gradient("floor_divide"),
)
trunc_mod = binary(
    "trunc_mod",
    division_kernel(np.fmod, np.fmod),
    "The remainders of elements, with the sign of the dividend.",
    level=1,
    gradient=_remainder_gradient("trunc_divide"),
)
power = binary(
    "power",
    binary_kernel(_power),
    "`lhs` raised to the power `rhs`; integers wrap, and 1 / n is truncated to an integer.",
    level=4,
    precision=Precision.NEVER,
    gradient=broadcast_gradient(_power_grad),
    traits=Trait.IN_PLACE,
)
maximum = binary(
    "maximum",
    binary_kernel(np.maximum),
    "The larger element of each pair; NaN if either is NaN.",
    level=4,
    gradient=_selection_gradient("greater_equal"),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
minimum = binary(
    "minimum",
    binary_kernel(np.minimum),
    "The smaller element of each pair; NaN if either is NaN.",
    level=4,
    gradient=_selection_gradient("less_equal"),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)


# ---------------------------------------------------------------- bits
def bitwise_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """Two tensors of one integer or bool dtype, broadcast."""
    for index in (0, 1):
        data = tensor(types, index)
        if data is not None and "float" in data.dtype:
            refuse(
                "bitwise operators take integers or bools", index, expected="an integer or bool dtype", found=data.dtype
            )
    return broadcast(types, attrs, reporter)


_BROADCAST_SHAPES = "two tensors, which broadcast to S -> S"


def _bitwise(
    name: str, ufunc: Callable[..., Any], doc: str, on_bool: Callable[..., Any] | None = None, **facts: Any
) -> Op:
    return binary(
        name,
        binary_kernel(ufunc, on_bool),
        doc,
        level=4,
        relation=bitwise_type,
        silenced=False,
        gradient=zero_gradient,
        shapes=_BROADCAST_SHAPES,
        edge_cases=on_two(name),
        **facts,
    )


def _shift_bool_left(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Return bools shifted by 0 or 1 bits: a shift by 1 removes the only bit."""
    return np.logical_and(lhs, np.logical_not(rhs), out=out)


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, "The bitwise AND of two integers.", traits=Trait.COMMUTATIVE)
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, "The bitwise OR of two integers.", traits=Trait.COMMUTATIVE)
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, "The bitwise XOR of two integers.", traits=Trait.COMMUTATIVE)
left_shift = _bitwise(
    "left_shift", np.left_shift, "`lhs` shifted left by `rhs` bits; bits shifted out are lost.", _shift_bool_left
)
right_shift = _bitwise(
    "right_shift", np.right_shift, "`lhs` shifted right by `rhs` bits, keeping the sign.", _shift_bool_left
)


# ---------------------------------------------------------------- logic
def _logical(name: str, ufunc: Callable[..., Any], doc: str, traits: Trait) -> Op:
    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *, out: Array | None = None) -> Array:
        if lhs.dtype.kind == "b":
            return as_array(ufunc(lhs, rhs, out=out))
        result = as_array(ufunc(lhs, rhs)).astype(lhs.dtype)
        return result if out is None else deliver(result, out)

    return binary(name, kernel, doc, level=4, silenced=False, gradient=zero_gradient, traits=traits)


logical_and = _logical(
    "logical_and", np.logical_and, "Whether both elements are true, in their dtype.", traits=Trait.COMMUTATIVE
)
logical_or = _logical(
    "logical_or",
    np.logical_or,
    "Whether at least one of two elements is true, in their dtype.",
    traits=Trait.COMMUTATIVE,
)
logical_xor = _logical(
    "logical_xor",
    np.logical_xor,
    "Whether exactly one of two elements is true, in their dtype.",
    traits=Trait.COMMUTATIVE,
)
