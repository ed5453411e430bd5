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


def dividing_kernel(on_integers: Callable[..., Any], on_floats: Callable[..., Any]) -> Kernel:
    """Return the kernel of a division or remainder, which rejects a division of an integer by zero."""

    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *, out: Array | None = None) -> Array:
        if is_float(lhs.dtype):
            return as_array(on_floats(lhs, rhs, out=out))
        refuse_zero(rhs, lhs.size)
        left, right = whole_bytes(lhs, rhs)
        result = as_array(on_integers(left, right)).astype(lhs.dtype, copy=False)
        return result if out is None else deliver(result, out)

    return kernel


def whole_bytes(*arrays: Array) -> tuple[Array, ...]:
    """Return integers as they are, those of half a byte as bytes: NumPy's rules hold for these."""
    return tuple(a.astype(np.int8) if a.dtype.kind == "V" else a for a in arrays)


def refuse_zero(divisor: Array, count: int) -> None:
    """Raise `RunError` if an integer divisor contains a zero and is used at all."""
    if count and not divisor.all():
        place = tuple(int(i) for i in np.argwhere(np.asarray(divisor) == 0)[0])
        where = f" at {list(place)}" if place else ""
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
    return as_array(np.add(result, inexact & ((lhs < 0) != (rhs < 0)), dtype=lhs.dtype, casting="unsafe"))


def _float_floor_divide(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Return the quotients rounded down, as NumPy does, whose loop goes by remainders and takes four times as long.

    A quotient of float32 below 2**20 that is no whole number is further from one than float64 rounds.
    """
    if not lhs.dtype == rhs.dtype == np.float32:
        return as_array(np.floor_divide(lhs, rhs, out=out))
    quotient = np.asarray(np.divide(lhs, rhs, dtype=np.float64))
    rare = ~(np.abs(quotient) < 2.0**20) | (quotient == 0)
    result = np.asarray(np.floor(quotient), np.float32)
    if rare.any():
        a, b = np.broadcast_arrays(lhs, rhs)
        result[rare] = np.floor_divide(a[rare], b[rare])
    return result if out is None else deliver(result, out)


def _float_trunc_divide(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return np.trunc(np.divide(lhs, rhs, out=out), out=out)


def _power(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    if lhs.dtype.kind == "V" and not is_float(lhs.dtype):
        result = as_array(_integer_power(*whole_bytes(lhs, rhs))).astype(lhs.dtype)
    elif lhs.dtype.kind == "i" and np.any(rhs < 0):
        result = _integer_power(lhs, rhs)
    elif lhs.dtype.kind == "b":
        result = lhs | ~rhs
    else:
        return np.power(lhs, rhs, out=out)
    return result if out is None else deliver(result, out)


def _integer_power(lhs: Array, rhs: Array) -> Array:
    """Return powers of integers. Those with negative exponents are truncated: only those of 1 and -1 are not 0."""
    negative = rhs < 0
    if not np.any(negative):
        return np.power(lhs, rhs)
    refuse_zero(np.where(negative, lhs, 1), 1)
    sign = np.where(rhs % 2 == 0, lhs * lhs, lhs)
    cut = np.where(np.absolute(lhs) == 1, sign, 0)
    return np.where(negative, cut, np.power(lhs, np.maximum(rhs, 0))).astype(lhs.dtype)


# ---------------------------------------------------------------- gradients
def both(formula: Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]) -> Callable[[OpCall, Expr], list[Expr]]:
    """Return the gradient of a broadcasting operator from `formula(x, y, z, grad)`, where z is the call itself.

    The gradients are summed over the broadcast dimensions.
    """

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        x, y = orig.args
        dx, dy = formula(x, y, orig, grad)
        return [call("collapse_sum_like", dx, x), call("collapse_sum_like", dy, y)]

    return gradient


def flat_in_both(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a step function: zero for both inputs."""
    return [call("zeros_like", arg) for arg in orig.args]


def _choose(condition: str) -> Callable[[OpCall, Expr], list[Expr]]:
    """The gradient of maximum or minimum goes to the selected input, and to the first one if both are equal."""

    def formula(x: Expr, y: Expr, z: Expr, grad: Expr) -> tuple[Expr, Expr]:
        first, none = call(condition, x, y), call("zeros_like", grad)
        return call("where", first, grad, none), call("where", first, none, grad)

    return both(formula)


def _remainder(quotient: str) -> Callable[[OpCall, Expr], list[Expr]]:
    """The gradient of a remainder: the quotient is a step function, and multiplies the gradient of the divisor."""
    return both(lambda x, y, z, grad: (grad, -(grad * call(quotient, x, y))))


def _power_grad(x: Expr, y: Expr, z: Expr, grad: Expr) -> tuple[Expr, Expr]:
    return grad * y * call("power", x, y - constant_like(1, y)), grad * z * call("log", x)


# ---------------------------------------------------------------- declarations
def binary(name: str, kernel: Kernel, doc: str, *, level: int, warns: bool = True, **facts: Any) -> Op:
    """Declare an operator on two tensors of one dtype that broadcast, with a result of that dtype."""
    facts.setdefault("relation", broadcast)
    facts.setdefault("layout", layout_rules.broadcast)
    example = f"{name}(%x, %y)"
    return operator(
        name, ("lhs", "rhs"), pattern=OpPattern.BROADCAST, level=level, warns=warns, doc=doc, example=example, **facts
    )(kernel)


add = binary(
    "add",
    binary_kernel(np.add),
    "The sums of elements; integers wrap.",
    level=1,
    gradient=both(lambda x, y, z, grad: (grad, grad)),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
subtract = binary(
    "subtract",
    binary_kernel(np.subtract, np.not_equal),
    "The differences of elements; integers wrap.",
    level=1,
    gradient=both(lambda x, y, z, grad: (grad, -grad)),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
multiply = binary(
    "multiply",
    binary_kernel(np.multiply),
    "The products of elements; integers wrap.",
    level=1,
    gradient=both(lambda x, y, z, grad: (grad * y, grad * x)),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
divide = binary(
    "divide",
    dividing_kernel(truncated_quotient, np.divide),
    "The quotients of elements; those of integers are truncated.",
    level=1,
    gradient=both(lambda x, y, z, grad: (grad / y, -(grad * z / y))),
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE,
)
floor_divide = binary(
    "floor_divide",
    dividing_kernel(np.floor_divide, _float_floor_divide),
    "The quotients of elements, rounded down.",
    level=1,
    gradient=flat_in_both,
)
trunc_divide = binary(
    "trunc_divide",
    dividing_kernel(truncated_quotient, _float_trunc_divide),
    "The quotients of elements, truncated.",
    level=1,
    gradient=flat_in_both,
)
mod = binary(
    "mod",
    dividing_kernel(np.fmod, np.fmod),
    "The remainders of elements, with the sign of the dividend.",
    level=1,
    gradient=_remainder("trunc_divide"),
)
floor_mod = binary(
    "floor_mod",
    dividing_kernel(np.mod, np.mod),
    "The remainders of elements, with the sign of the divisor.",
    level=1,
    gradient=_remainder("floor_divide"),
)
trunc_mod = binary(
    "trunc_mod",
    dividing_kernel(np.fmod, np.fmod),
    "The remainders of elements, with the sign of the dividend.",
    level=1,
    gradient=_remainder("trunc_divide"),
)
power = binary(
    "power",
    binary_kernel(_power),
    "`lhs` raised to the power `rhs`; integers wrap, and 1 / n is truncated to an integer.",
    level=4,
    precision=Precision.NEVER,
    gradient=both(_power_grad),
    traits=Trait.IN_PLACE,
)
maximum = binary(
    "maximum",
    binary_kernel(np.maximum),
    "The larger element of each pair; NaN if either is NaN.",
    level=4,
    gradient=_choose("greater_equal"),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)
minimum = binary(
    "minimum",
    binary_kernel(np.minimum),
    "The smaller element of each pair; NaN if either is NaN.",
    level=4,
    gradient=_choose("less_equal"),
    precision=Precision.FOLLOW,
    traits=Trait.COMMUTATIVE | Trait.IN_PLACE | Trait.KEEPS_WHOLE,
)


# ---------------------------------------------------------------- bits
def broadcast_bits(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """Two tensors of one integer or bool dtype, broadcast."""
    for index in (0, 1):
        data = tensor(types, index)
        if data is not None and "float" in data.dtype:
            refuse(
                "bitwise operators take integers or bools", index, expected="an integer or bool dtype", found=data.dtype
            )
    return broadcast(types, attrs, reporter)


_TWO = "two tensors, which broadcast to S -> S"


def _bits(
    name: str, ufunc: Callable[..., Any], doc: str, on_bool: Callable[..., Any] | None = None, **facts: Any
) -> Op:
    return binary(
        name,
        binary_kernel(ufunc, on_bool),
        doc,
        level=4,
        relation=broadcast_bits,
        warns=False,
        gradient=flat_in_both,
        shapes=_TWO,
        edge_cases=on_two(name),
        **facts,
    )


def _shift_bool_left(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return np.logical_and(lhs, np.logical_not(rhs), out=out)


bitwise_and = _bits("bitwise_and", np.bitwise_and, "The bitwise AND of two integers.", traits=Trait.COMMUTATIVE)
bitwise_or = _bits("bitwise_or", np.bitwise_or, "The bitwise OR of two integers.", traits=Trait.COMMUTATIVE)
bitwise_xor = _bits("bitwise_xor", np.bitwise_xor, "The bitwise XOR of two integers.", traits=Trait.COMMUTATIVE)
left_shift = _bits(
    "left_shift", np.left_shift, "`lhs` shifted left by `rhs` bits; bits shifted out are lost.", _shift_bool_left
)
right_shift = _bits(
    "right_shift", np.right_shift, "`lhs` shifted right by `rhs` bits, keeping the sign.", _shift_bool_left
)


# ---------------------------------------------------------------- logic
def _logical(name: str, ufunc: Callable[..., Any], doc: str, traits: Trait) -> Op:
    def kernel(attrs: Attrs, lhs: Array, rhs: Array, *, out: Array | None = None) -> Array:
        if lhs.dtype.kind == "b":
            return as_array(ufunc(lhs, rhs, out=out))
        result = as_array(ufunc(lhs, rhs)).astype(lhs.dtype)
        return result if out is None else deliver(result, out)

    return binary(name, kernel, doc, level=4, warns=False, gradient=flat_in_both, traits=traits)


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
