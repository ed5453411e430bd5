"""Calls of operators that passes match: rules that make one more tensor from the tensors in scope.

Each rule takes the writer of a program and returns an expression, or None where nothing in scope fits. Small changes of
the operands change the results of smooth rules by little, so that a bound on rounding errors can be checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from passlab.ir import Constant, Expr, TensorType, Tuple, TupleGetItem
from passlab.op import make
from passlab.op.dtypes import array_dtype

FLOATS = ("float32", "float16", "float64", "bfloat16")
INTEGERS = ("int32", "int8", "int64", "uint8", "int4", "uint4", "int16", "uint16", "uint32", "uint64")


class OperandSource(Protocol):
    """Gives operands to the rules: tensors in scope, constants, random choices."""

    random: random.Random

    def tensor(self, fits: Callable[[TensorType], bool] = ...) -> Expr | None: ...
    def like(self, ty: TensorType) -> Expr: ...
    def infer_type(self, expr: Expr) -> Expr: ...
    def array(self, shape: Sequence[Any], dtype: str, positive: bool = False) -> Constant: ...


OperatorRule = Callable[[OperandSource], "Expr | None"]


def floating(ty: TensorType) -> bool:
    """Whether a type is of floats."""
    return ty.dtype in FLOATS


def integral(ty: TensorType) -> bool:
    """Whether a type is of integers."""
    return ty.dtype in INTEGERS


def static(ty: TensorType) -> bool:
    """Whether the shape of a type is known."""
    return not ty.dynamic


def type_of(expr: Expr) -> TensorType:
    """Return the type of a tensor."""
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty


def scalar(value: float, dtype: str) -> Constant:
    """Return a scalar constant."""
    return Constant(np.asarray(value, array_dtype(dtype)))


def unary(pool: OperandSource) -> Expr | None:
    """A smooth function of each element."""
    x = pool.tensor(floating)
    names = ("exp", "tanh", "sigmoid", "nn.relu", "negative", "abs", "erf", "copy", "nn.leaky_relu", "cos", "atan")
    if x is None:
        return None
    name = pool.random.choice(names)
    return make(name, make("tanh", x)) if name == "exp" else make(name, x)


def rough(pool: OperandSource) -> Expr | None:
    """A function of each element that jumps or has poles."""
    x = pool.tensor(floating)
    return x and make(pool.random.choice(("floor", "ceil", "round", "sign", "sqrt", "log", "rsqrt", "exp")), x)


def binary(pool: OperandSource) -> Expr | None:
    """Arithmetic on two tensors of one type."""
    x = pool.tensor(floating)
    if x is None:
        return None
    y = pool.like(type_of(x))
    pair = (x, y) if pool.random.random() < 0.5 else (y, x)
    return make(pool.random.choice(("add", "multiply", "subtract", "maximum", "minimum")), *pair)


def with_constant(pool: OperandSource) -> Expr | None:
    """Arithmetic with zeros, ones and other numbers: scalar, whole tensors, or one for each channel."""
    x = pool.tensor()
    if x is None or type_of(x).dtype == "bool":
        return None
    ty, dtype = type_of(x), type_of(x).dtype
    value = pool.random.choice((0, 1, 2, 3, 5)) if integral(ty) else pool.random.choice((0.0, 1.0, 2.0, -0.5, 3.25))
    other: Expr = scalar(value, dtype)
    pick = pool.random.randrange(5)
    if pick == 0 and static(ty):
        other = make(pool.random.choice(("zeros", "ones")), shape=list(ty.shape), dtype=dtype)
    elif pick == 1:
        other = make(pool.random.choice(("zeros_like", "ones_like")), x)
    elif pick == 2 and ty.shape and type(ty.shape[-1]) is int:
        other = pool.array((ty.shape[-1],), dtype)
    name = pool.random.choice(("add", "multiply", "subtract", "maximum"))
    return make(name, x, other) if pool.random.random() < 0.7 else make(name, other, x)


def quotient(pool: OperandSource) -> Expr | None:
    """A division by a constant or by something positive."""
    x = pool.tensor(floating)
    if x is None:
        return None
    dtype = type_of(x).dtype
    if pool.random.random() < 0.5:
        return make("divide", x, scalar(pool.random.choice((1.0, 2.0, 3.0, -7.0)), dtype))
    bottom = make("add", make("abs", pool.like(type_of(x))), scalar(0.5, dtype))
    return make("divide", x, make("sqrt", bottom) if pool.random.random() < 0.5 else bottom)


def sum_with_itself(pool: OperandSource) -> Expr | None:
    """`x + x`."""
    x = pool.tensor(lambda t: t.dtype != "bool")
    return x and make("add", x, x)


def constants_twice(pool: OperandSource) -> Expr | None:
    """Sums of sums, products of products, products of sums."""
    x = pool.tensor(lambda t: floating(t) or integral(t))
    if x is None:
        return None
    dtype, choice = type_of(x).dtype, pool.random.choice
    pairs = (("add", "add"), ("multiply", "multiply"), ("add", "multiply"))
    first, second = choice(pairs)
    return make(second, make(first, x, scalar(choice((2, 3)), dtype)), scalar(choice((2, 5)), dtype))


def integers(pool: OperandSource) -> Expr | None:
    """Integer arithmetic."""
    x = pool.tensor(integral)
    if x is None:
        return None
    name = pool.random.choice(("add", "multiply", "subtract", "maximum", "bitwise_and", "divide", "floor_mod"))
    ty = type_of(x)
    return make(name, x, scalar(3, ty.dtype) if name in ("divide", "floor_mod") else pool.like(ty))


def whole_cast(pool: OperandSource) -> Expr | None:
    """Casts between integers, and to floats and back: one, two or three of them, with a clip between."""
    x = pool.tensor(integral)
    if x is None:
        return None
    for _ in range(pool.random.randrange(1, 4)):
        x = make("cast", x, dtype=pool.random.choice((*INTEGERS, "int32", "int8", type_of(x).dtype)))
        x = pool.infer_type(x)
        if pool.random.random() < 0.3:
            x = pool.infer_type(
                make("clip", x, a_min=pool.random.choice((-128.0, 0.0)), a_max=pool.random.choice((127.0, 255.0)))
            )
    return make("cast", x, dtype="float32") if pool.random.random() < 0.4 else x


def float_cast(pool: OperandSource) -> Expr | None:
    """Casts to float64 and back."""
    x = pool.tensor(floating)
    if x is None:
        return None
    wide = pool.infer_type(make("cast", x, dtype="float64"))
    return pool.random.choice((wide, make("cast", wide, dtype=type_of(x).dtype), make("cast_like", x, wide)))


def narrow_cast(pool: OperandSource) -> Expr | None:
    """A cast between floats that may round."""
    x = pool.tensor(floating)
    return x and make("cast", x, dtype=pool.random.choice(FLOATS))


def comparison(pool: OperandSource) -> Expr | None:
    """A comparison, or a `where` on one."""
    x = pool.tensor(lambda t: t.dtype != "bool")
    if x is None:
        return None
    y = pool.like(type_of(x))
    less = make(pool.random.choice(("less", "equal", "greater_equal")), x, y)
    return less if pool.random.random() < 0.5 else make("where", less, x, y)


def reduction(pool: OperandSource) -> Expr | None:
    """A sum, mean, maximum or minimum."""
    x = pool.tensor(lambda t: floating(t) and len(t.shape) > 0)
    if x is None:
        return None
    axis = pool.random.choice((None, [-1], [0]))
    return make(pool.random.choice(("sum", "mean", "max", "min")), x, axis=axis, keepdims=pool.random.random() < 0.5)


def order(pool: OperandSource) -> Expr | None:
    """Indices by the order of the elements."""
    x = pool.tensor(lambda t: len(t.shape) > 0 and t.dtype != "bool")
    return x and make(pool.random.choice(("argmax", "argmin", "argsort")), x, axis=-1)


def normalization(pool: OperandSource) -> Expr | None:
    """A normalisation, bias or dropout."""
    x = pool.tensor(lambda t: floating(t) and len(t.shape) > 0 and type(t.shape[-1]) is int)
    if x is None:
        return None
    ty = type_of(x)
    channels, dtype = (ty.shape[-1],), ty.dtype
    gamma, beta = pool.array(channels, dtype), pool.array(channels, dtype)
    pick = pool.random.randrange(5)
    if pick == 0:
        return make("nn.softmax", x, axis=-1)
    if pick == 1:
        return make("nn.layer_norm", x, gamma, beta)
    if pick == 2:
        variance = pool.array(channels, dtype, positive=True)
        result = make("nn.batch_norm", x, gamma, beta, pool.array(channels, dtype), variance, axis=len(ty.shape) - 1)
        return TupleGetItem(result, 0)
    if pick == 3:
        return TupleGetItem(make("nn.dropout", x, rate=0.4), 0)
    return make("nn.bias_add", x, beta, axis=-1)


def movement(pool: OperandSource) -> Expr | None:
    """Reshapes and transposes, often one after the other."""
    x = pool.tensor(lambda t: static(t) and len(t.shape) > 0)
    if x is None:
        return None
    for _ in range(pool.random.randrange(1, 4)):
        ty = type_of(x)
        axes = list(range(len(ty.shape)))
        pool.random.shuffle(axes)
        pick = pool.random.randrange(5)
        moves: tuple[tuple[str, dict[str, Any]], ...] = (
            ("reshape", {"newshape": [-1]}),
            ("transpose", {"axes": axes}),
            ("expand_dims", {"axis": 0}),
            ("squeeze", {}),
            ("reshape", {"newshape": list(ty.shape[::-1])}),
        )
        name, attrs = moves[pick]
        x = pool.infer_type(make(name, x, **attrs))
        if not type_of(x).shape:
            break
    return x


def concatenation(pool: OperandSource) -> Expr | None:
    """A concatenation, and a part of it."""
    x = pool.tensor(lambda t: static(t) and len(t.shape) > 0 and all(d > 0 for d in t.concrete_shape))
    if x is None:
        return None
    y = pool.like(type_of(x))
    both = pool.infer_type(make("concatenate", Tuple([x, y, x]), axis=0))
    pick = pool.random.randrange(4)
    if pick == 0:
        return both
    if pick == 1:
        return TupleGetItem(make("split", both, indices_or_sections=3, axis=0), pool.random.randrange(3))
    if pick == 2:
        return make("strided_slice", both, begin=[1], end=[3], strides=[1], axes=[0])
    return make("take", both, pool.array((2,), "int32"), axis=0)


def dense(pool: OperandSource) -> Expr | None:
    """One dense layer, or three side by side, scaled before and after."""
    x = pool.tensor(lambda t: t.dtype == "float32" and len(t.shape) == 2 and type(t.shape[1]) is int and t.shape[1] > 0)
    if x is None:
        return None
    width, choice = type_of(x).shape[1], pool.random.choice
    data = make("multiply", x, pool.array((width,), "float32", positive=True)) if choice((True, False)) else x
    branches: list[Expr] = []
    for _ in range(choice((1, 1, 2, 3))):
        y = make("nn.dense", data, pool.array((3, width), "float32"), units=3)
        y = make("nn.bias_add", y, pool.array((3,), "float32"), axis=-1) if choice((True, False)) else y
        y = make("nn.relu", y) if choice((True, False)) else y
        branches.append(make("multiply", y, pool.array((3,), "float32", positive=True)) if choice((True, False)) else y)
    return branches[0] if len(branches) == 1 else make("concatenate", Tuple(branches), axis=1)


def convolution(pool: OperandSource) -> Expr | None:
    """One convolution, or several side by side: padded, scaled, normalized, with a bias, dilated."""
    x = pool.tensor(lambda t: t.dtype == "float32" and static(t) and len(t.shape) == 4 and t.concrete_shape[2] > 3)
    if x is None:
        return None
    channels, choice = type_of(x).concrete_shape[1], pool.random.choice
    data = (
        make("nn.pad", x, scalar(0.0, "float32"), pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]) if choice((0, 1)) else x
    )
    data = make("multiply", data, pool.array((channels, 1, 1), "float32", positive=True)) if choice((0, 1)) else data
    branches: list[Expr] = []
    groups = choice((1, 1, channels))
    for _ in range(choice((1, 1, 2, 3))):
        weight = pool.array((channels, channels // groups, 3, 3), "float32")
        y = make("nn.conv2d", data, weight, channels=channels, kernel_size=[3, 3], padding=[1, 1], groups=groups)
        branches.append(after_convolution(pool, y, channels))
    return branches[0] if len(branches) == 1 else make("concatenate", Tuple(branches), axis=1)


def after_convolution(pool: OperandSource, y: Expr, channels: int) -> Expr:
    """Bias, normalisation, activation and scale after a convolution."""
    choice = pool.random.choice
    if choice((True, False)):
        y = make("nn.bias_add", y, pool.array((channels,), "float32"))
    if choice((True, False)):
        rows = [pool.array((channels,), "float32") for _ in range(3)]
        y = TupleGetItem(make("nn.batch_norm", y, *rows, pool.array((channels,), "float32", positive=True)), 0)
    if choice((True, False)):
        y = make("nn.relu", y)
    if choice((True, False)):
        y = make("multiply", y, pool.array((channels, 1, 1), "float32", positive=True))
    return y


def pooling(pool: OperandSource) -> Expr | None:
    """A pooling layer."""
    x = pool.tensor(lambda t: floating(t) and static(t) and len(t.shape) == 4 and t.concrete_shape[2] > 1)
    name = pool.random.choice(("nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d"))
    if x is None:
        return None
    return make(name, x) if "global" in name else make(name, x, pool_size=[2, 2], strides=[1, 1])


def batched_product(pool: OperandSource) -> Expr | None:
    """One batched product, or three side by side."""
    x = pool.tensor(lambda t: t.dtype == "float32" and static(t) and len(t.shape) == 3)
    if x is None:
        return None
    batch, _, width = type_of(x).concrete_shape
    weights = [pool.array((batch, 2, width), "float32") for _ in range(pool.random.choice((1, 3)))]
    branches = [make("nn.batch_matmul", x, weight, transpose_b=True) for weight in weights]
    return branches[0] if len(branches) == 1 else make("concatenate", Tuple(branches), axis=2)


def quantization(pool: OperandSource) -> Expr | None:
    """Quantize, compute on integers, dequantize."""
    x = pool.tensor(lambda t: t.dtype == "float32" and static(t) and len(t.shape) == 2 and t.concrete_shape[1] > 0)
    if x is None:
        return None
    width = type_of(x).concrete_shape[1]
    scale, zero, one = scalar(0.05, "float32"), scalar(3, "int32"), scalar(1.0, "float32")
    q = make("qnn.quantize", x, scale, zero, out_dtype="int8")
    pick = pool.random.randrange(4)
    if pick == 0:
        q = make("qnn.add", q, q, scale, zero, scale, zero, scalar(0.1, "float32"), zero)
    elif pick == 1:
        weight = pool.array((3, width), "int8")
        total = make("qnn.dense", q, weight, zero, scalar(0, "int32"), scale, one, units=3, out_dtype="int32")
        q = make("qnn.requantize", total, scale, scalar(0, "int32"), scalar(0.5, "float32"), zero, out_dtype="int8")
    elif pick == 2:
        real = make("nn.relu", make("qnn.dequantize", q, scale, zero, out_dtype="float32"))
        q = make("qnn.quantize", make("reshape", real, newshape=[-1]), scale, zero, out_dtype="int8")
    return make("qnn.dequantize", q, scale, zero, out_dtype="float32")


def dynamic(pool: OperandSource) -> Expr | None:
    """Operators whose shapes are operands, constant or not."""
    x = pool.tensor(lambda t: floating(t) and len(t.shape) == 2)
    if x is None:
        return None
    dtype = type_of(x).dtype
    shape: Expr = make("shape_of", x, dtype="int64")
    if static(type_of(x)) and pool.random.random() < 0.5:
        shape = Constant(np.asarray(type_of(x).concrete_shape, "int64"))
    pick = pool.random.randrange(5)
    if pick == 0:
        return make("dyn.reshape", x, shape, newshape=[])
    if pick == 1:
        return make("dyn.broadcast_to", scalar(2.0, dtype), shape, shape=[])
    if pick == 2:
        return make("dyn.zeros", shape, shape=[], dtype=dtype)
    if pick == 3:
        return make("reshape", x, newshape=[-1])
    return make("add", x, make("dyn.full", scalar(1.5, dtype), shape, shape=[], dtype=dtype))


def like_another(pool: OperandSource) -> Expr | None:
    """Operators that take their shape from another tensor."""
    x = pool.tensor(lambda t: floating(t) and static(t))
    if x is None:
        return None
    other = pool.like(type_of(x))
    flat = make("reshape", other, newshape=[-1])
    ty = type_of(x)
    rules: tuple[Callable[[], Expr], ...] = (
        lambda: make("reshape_like", flat, x),
        lambda: make("broadcast_to_like", scalar(1.5, ty.dtype), x),
        lambda: make("full_like", x, scalar(2.5, ty.dtype)),
        lambda: make("collapse_sum_like", make("expand_dims", other, axis=0), x),
    )
    return pool.random.choice(rules)()


SMOOTH_RULES: tuple[OperatorRule, ...] = (
    *(unary, unary, binary, binary, with_constant, with_constant, quotient, sum_with_itself, constants_twice, integers),
    *(
        whole_cast,
        float_cast,
        reduction,
        normalization,
        normalization,
        movement,
        movement,
        concatenation,
        dense,
        convolution,
    ),
    *(convolution, pooling, batched_product, dynamic, like_another),
)
ANY_RULE: tuple[OperatorRule, ...] = (*SMOOTH_RULES, rough, narrow_cast, comparison, comparison, order, quantization)
