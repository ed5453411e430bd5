"""Operators on values: the evaluator and constant folding call kernels only here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, LimitError, PasslabError, RunError, type_in_words
from passlab.evaluate.values import Value
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.op.dtypes import HALF_BYTES, array_dtype, convert, map_parts
from passlab.op.relations import KNOWN_INPUTS
from passlab.op.user_kernels import wrong_shape


@checked
def apply_operator(op: Op, attrs: Any, args: Sequence[Value], span: Span | None = None) -> Value:
    """Return the value of an operator on `args` (arrays, or tuples of arrays). Raises `RunError`, located at `span`."""
    kernel = op.spec.raw or op.spec.kernel
    if kernel is None:
        raise RunError(Diagnostic(f"`{op.name}` cannot be run: only the compiler uses it", span))
    if attrs is None and op.spec.attrs is not None:  # of an operator that a variable was bound to
        attrs = op.spec.attrs()
    try:
        with np.errstate(all="ignore"):
            result = map_parts(_as_array, kernel(attrs, *args))
            return _as_typed(result, op, attrs, args) if op.spec.registered or any(map(_is_half_byte, args)) else result
    except PasslabError as error:
        if span is None or any(d.place for d in error.diagnostics):
            raise
        # The kernel does not know where it was called, so the location is added here.
        raise type(error)(
            *(Diagnostic(d.message, span, d.expected, d.found, d.notes, d.hint) for d in error.diagnostics)
        ) from error
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as error:
        notes = ((f"its arguments: {', '.join(describe(a) for a in args)}", None),)
        refused = _refusal(op, attrs, args) if isinstance(error, ValueError) else None
        if refused is not None:
            raise RunError(Diagnostic(refused.message, span, notes=notes, hint=refused.hint)) from error
        raise failure(error, f"`{op.name}` failed", span, notes) from error


def _refusal(op: Op, attrs: Any, args: Sequence[Any]) -> Diagnostic | None:
    """Return what the type relation says against the arguments' own shapes; a program with `?` is typed without."""
    if not all(isinstance(a, np.ndarray) for a in args):
        return None
    try:
        op.spec.relation([TensorType(a.shape, a.dtype.name) for a in args], attrs, KNOWN_INPUTS)
    except PasslabError as error:
        return error.diagnostics[0]
    return None


def _is_half_byte(value: Value) -> bool:
    return type(value) is np.ndarray and value.dtype.kind == "V" and value.dtype.name in HALF_BYTES


def _as_typed(value: Value, op: Op, attrs: Any, args: Sequence[Any]) -> Value:
    """Return the result of a kernel in the dtype of the operator's type relation.

    Kernels on 4-bit integers compute with wider ones, and a user's kernel may return a list, or another dtype.
    """
    if isinstance(value, tuple) or not all(type(a) is np.ndarray for a in args):
        return value
    types = [TensorType(a.shape, a.dtype.name) for a in args]
    result = op.spec.relation(types, attrs, KNOWN_INPUTS)
    if not isinstance(result, TensorType):
        return value
    array = convert(np.asarray(value), array_dtype(result.dtype))
    if not result.dynamic and array.shape != result.shape:
        raise wrong_shape(array.shape, result.shape)
    return array


# Parts of the messages of NumPy and Python for arrays that are too large for any memory.
_TOO_LARGE = ("array is too big", "Maximum allowed dimension exceeded", "too large to convert")


def failure(
    error: Exception, what: str, span: Span | None = None, notes: tuple[tuple[str, Any], ...] = ()
) -> RunError | LimitError:
    """Return the error of a kernel that failed: a `LimitError` where memory does not suffice."""
    if isinstance(error, MemoryError) or (
        isinstance(error, (ValueError, OverflowError)) and any(text in str(error) for text in _TOO_LARGE)
    ):
        hint = "there is not enough memory for its result"
        return LimitError(Diagnostic(f"{what}: {type(error).__name__}: {error}", span, notes=notes, hint=hint))
    return RunError(Diagnostic(f"{what}: {type(error).__name__}: {error}", span, notes=notes))


def values_inside(function: Function, inputs: Sequence[Value]) -> Iterator[tuple[Call, Value]]:
    """Run a primitive function operator by operator; yield each call with its value.

    Raises `RunError`, located at the operator that fails.
    """
    values: dict[Expr, Any] = dict(zip(function.params, inputs, strict=True))
    for node in post_order(function.body):
        if isinstance(node, Constant):
            values[node] = node.data
        elif isinstance(node, Tuple):
            values[node] = tuple(values[field] for field in node.fields)
        elif isinstance(node, TupleGetItem):
            values[node] = values[node.tuple_value][node.index]
        elif is_op_call(node):
            values[node] = apply_operator(node.op, node.attrs, [values[a] for a in node.args], node.span)
            yield node, values[node]


def _as_array(value: Any) -> Value:
    """Return a scalar of a kernel's result as a 0-d array; other values, which annotations return, unchanged."""
    return np.asarray(value) if isinstance(value, (np.generic, bool, int, float)) else value


def describe(value: Value) -> str:
    """Return the type of a value as text, for messages."""
    if isinstance(value, np.ndarray):
        return f"Tensor[({', '.join(map(str, value.shape))}), {value.dtype.name}]" if value.ndim else value.dtype.name
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, Expr):
        return f"the function {value}"
    return type_in_words(value)
