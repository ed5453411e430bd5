"""Operators as NumPy expressions.

`emit` returns the Python text of an operator call on named arguments, or None where the operator needs its kernel.
Each text computes the bits of the kernel, for the dtypes in its entry; a test checks this. 0-d results may be NumPy
scalars, which behave like arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import TensorType, tensor_types

NATIVE = frozenset(("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))) | {
    "float16",
    "float32",
    "float64",
}
FLOATS = frozenset(("float16", "float32", "float64"))
BLAS = frozenset(("float32", "float64"))
NUMBERS = NATIVE - {"bool"}
LARGE = 1 << 13  # elements
MANY = 9  # parts of a `split`: fewer are emitted as slices


class PyExpr(NamedTuple):
    """Python text; `atom` where it needs no parentheses; `fresh` where its array is new.

    `into(target)` is a statement that writes the result into an argument without other uses.
    """

    text: str
    atom: bool = True
    fresh: bool = True
    into: Callable[[str], str] | None = None


class EmitContext(NamedTuple):
    """A call to emit: its arguments as text, the types of arguments and results; `scalar` names a constant."""

    call: Call
    args: tuple[str, ...]
    types: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    scalar: Callable[[str, Any], str]

    @property
    def result(self) -> TensorType:
        """The type of the only result."""
        return self.results[0]

    @property
    def dtype(self) -> str:
        """The dtype of the first argument."""
        return self.types[0].dtype

    @property
    def attrs(self) -> Any:
        """The attributes of the call."""
        return self.call.attrs


Emitter = Callable[[EmitContext], PyExpr | None]


def wrap(text: str) -> str:
    """Return a text in parentheses, if it needs them before a method or operator."""
    if text.isidentifier() or text.replace("_", "").replace(".", "").isalnum() or _is_bracketed(text):
        return text
    return f"({text})"


def _is_bracketed(text: str) -> bool:
    """Whether a text is one call, subscript or parenthesis, judged by its brackets."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        # A space outside brackets stands between operands, and a leading minus binds weaker than a method.
        if char == " " and depth == 0:
            return False
        if depth == 0 and char == "-" and i == 0:
            return False
    return True


def _infix(symbol: str, dtypes: frozenset[str]) -> Emitter:
    def emitter(context: EmitContext) -> PyExpr | None:
        if context.dtype not in dtypes:
            return None
        left, right = map(wrap, context.args)
        # A comparison returns bool, which does not fit into the array of an argument.
        keeps = context.result.dtype == context.dtype
        return PyExpr(
            f"{left} {symbol} {right}", False, into=(lambda t: f"{t} {symbol}= {context.args[1]}") if keeps else None
        )

    return emitter


def _function(name: str, dtypes: frozenset[str]) -> Emitter:
    def emitter(context: EmitContext) -> PyExpr | None:
        if context.dtype not in dtypes:
            return None
        inner = ", ".join(context.args)
        keeps = context.result.dtype == context.dtype
        return PyExpr(f"np.{name}({inner})", into=(lambda t: f"np.{name}({inner}, out={t})") if keeps else None)

    return emitter


def _negative(context: EmitContext) -> PyExpr | None:
    return PyExpr(f"-{wrap(context.args[0])}", False) if context.dtype in NUMBERS else None


def _relu(context: EmitContext) -> PyExpr | None:
    sizes: Any = context.result.shape
    if context.dtype not in NUMBERS or context.result.dynamic or math.prod(sizes) > LARGE:
        return None  # the kernel of a large array is faster
    inner = f"{context.args[0]}, {context.scalar(context.dtype, 0)}"
    return PyExpr(f"np.maximum({inner})", into=lambda t: f"np.maximum({inner}, out={t})")


def _rsqrt(context: EmitContext) -> PyExpr | None:
    return PyExpr(f"np.reciprocal(np.sqrt({context.args[0]}))") if context.dtype in FLOATS else None


def _sigmoid(context: EmitContext) -> PyExpr | None:
    if context.dtype not in BLAS:
        return None
    return PyExpr(f"np.reciprocal(np.exp(-{wrap(context.args[0])}) + {context.scalar(context.dtype, 1)})")


def _dense(context: EmitContext) -> PyExpr | None:
    same = {t.dtype for t in (*context.types, context.result)}
    if len(same) > 1 or context.dtype not in BLAS or len(context.types[0].shape) != 2:
        return None
    return PyExpr(f"{wrap(context.args[0])} @ {wrap(context.args[1])}.T", False)


def _bias_add(context: EmitContext) -> PyExpr | None:
    rank = len(context.result.shape)
    axis = context.attrs.axis % rank
    if context.dtype not in NUMBERS or context.types[1].dtype != context.dtype:
        return None
    after = rank - axis - 1
    # New axes of length 1 stand for those after the axis of the bias.
    bias = wrap(context.args[1]) + (f"[:, {', '.join(['None'] * after)}]" if after else "")
    return PyExpr(f"{wrap(context.args[0])} + {bias}", False, into=lambda t: f"{t} += {bias}")


def _reshape(context: EmitContext) -> PyExpr | None:
    if context.result.dynamic or context.types[0].dynamic:
        return None
    shape = ", ".join(map(str, context.result.shape)) or "()"
    return PyExpr(f"{wrap(context.args[0])}.reshape({shape})", fresh=False)


def _transpose(context: EmitContext) -> PyExpr | None:
    rank = len(context.result.shape)
    axes = context.attrs.axes
    order = tuple(a % rank for a in axes) if axes else tuple(reversed(range(rank)))
    if order == tuple(reversed(range(rank))):
        return PyExpr(f"{wrap(context.args[0])}.T", fresh=False)
    return PyExpr(f"{wrap(context.args[0])}.transpose({', '.join(map(str, order))})", fresh=False)


def _cast(context: EmitContext) -> PyExpr | None:
    if context.dtype not in NATIVE or context.result.dtype not in NATIVE or context.dtype == context.result.dtype:
        return None
    if "float" in context.dtype and "int" in context.result.dtype:
        return None  # `op.dtypes.convert` defines the result for floats outside of the range
    return PyExpr(f"{wrap(context.args[0])}.astype(np.{np.dtype(context.result.dtype).type.__name__})")


def _where(context: EmitContext) -> PyExpr | None:
    # `context.dtype` is that of the condition.
    return PyExpr(f"np.where({', '.join(context.args)})") if context.dtype == "bool" else None


def _split(context: EmitContext) -> PyExpr | None:
    """Return the parts as slices, if they are few and of static size."""
    data = context.types[0]
    if data.dynamic or len(context.results) >= MANY:
        return None
    axis, start, cuts = context.attrs.axis % len(data.shape), 0, []
    for part in context.results:
        size: Any = part.shape[axis]
        cuts.append(f"{wrap(context.args[0])}[{':, ' * axis}{start}:{start + size}]")
        start += size
    return PyExpr(f"({', '.join(cuts)},)", fresh=False)


_CALCULUS = {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "fast_exp": "exp", "fast_tanh": "tanh",
}  # fmt: skip
EMITTERS: dict[str, Emitter] = {
    "add": _infix("+", NUMBERS), "subtract": _infix("-", NUMBERS), "multiply": _infix("*", NUMBERS),
    "divide": _infix("/", FLOATS), "equal": _infix("==", NATIVE), "not_equal": _infix("!=", NATIVE),
    "less": _infix("<", NATIVE), "less_equal": _infix("<=", NATIVE), "greater": _infix(">", NATIVE),
    "greater_equal": _infix(">=", NATIVE), "maximum": _function("maximum", NATIVE),
    "minimum": _function("minimum", NATIVE), "power": _function("power", FLOATS), "abs": _function("absolute", NUMBERS),
    "logical_and": _function("logical_and", frozenset({"bool"})), "where": _where,
    "logical_or": _function("logical_or", frozenset({"bool"})), "cast": _cast,
    "logical_not": _function("logical_not", frozenset({"bool"})), "negative": _negative, "rsqrt": _rsqrt,
    "sigmoid": _sigmoid, "nn.relu": _relu, "nn.dense": _dense, "nn.bias_add": _bias_add, "reshape": _reshape,
    "nn.batch_flatten": _reshape, "squeeze": _reshape, "expand_dims": _reshape, "transpose": _transpose,
    "split": _split,
    **{name: _function(ufunc, FLOATS) for name, ufunc in _CALCULUS.items()},
}  # fmt: skip
VIEWS = (_reshape, _transpose)  # they return views of their argument, and may stand inside an expression


def emit(call: Call, args: tuple[str, ...], scalar: Callable[[str, Any], str]) -> PyExpr | None:
    """Return the text of a typed operator call on `args`, None where the operator needs its kernel.

    `scalar(dtype, value)` returns the name of a constant.
    """
    op, results = call.op, tuple(tensor_types(call.checked_type_))
    if not isinstance(op, Op) or op.name not in EMITTERS or not results:
        return None
    tensors = tuple([t for a in call.args if isinstance(t := a.checked_type_, TensorType)])
    if len(tensors) < len(call.args):
        return None
    return EMITTERS[op.name](EmitContext(call, args, tensors, results, scalar))
