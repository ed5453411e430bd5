"""The evaluator with definitions of operators instead of kernels.

    relay.create_executor("definition", mod).evaluate()(x)

It is slow and simple, and shows whether a kernel is wrong. Operators without a definition (random draws by
probabilities, instructions of the virtual machine) use their kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from passlab.definitions import KEEPS_WIDTH, MEANING, InvalidInput
from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.evaluate.evaluator import STEPS, Activation, Evaluator, Waits
from passlab.evaluate.operators import apply_operator
from passlab.evaluate.values import Value
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Expr, Var
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op.dtypes import array_dtype, is_float

_CACHED = 4096  # types of calls


class NoDefinitionError(PasslabError):
    """An operator has no definition, or none for its arguments."""


class OtherTypeError(NoDefinitionError):
    """The value of a definition has another shape than the type relation says."""

    def __init__(self, diagnostic: Diagnostic, value: Value) -> None:
        super().__init__(diagnostic)
        self.value = value


def defined_value(op: Op, attrs: Any, args: Sequence[Value], span: Span | None = None) -> Value:
    """Return the value of an operator's definition on arrays or tuples of arrays.

    Raises `NoDefinitionError` without a definition, and `RunError` where the operator must reject its arguments.
    """
    meaning = MEANING.get(op.name)
    types = [_type_of(arg) for arg in args]
    ty = None if meaning is None or None in types else _result_type(op, attrs, tuple(types))
    if meaning is None or ty is None:
        raise NoDefinitionError(Diagnostic(f"`{op.name}` has no definition for these arguments", span))
    try:
        with np.errstate(all="ignore"):
            value = meaning(attrs, *(args if op.name in KEEPS_WIDTH else map(_widen, args)))
            if isinstance(ty, TupleType):
                return tuple(_tensor(part, field) for part, field in zip(value, ty.fields, strict=True))
            return _tensor(value, ty)
    except InvalidInput:
        raise RunError(Diagnostic(f"`{op.name}` does not accept these arguments", span)) from None
    except _ShapeError as error:
        what = f"the definition of `{op.name}` has another shape than its type: {error}"
        raise OtherTypeError(Diagnostic(what, span), error.value) from None
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, AssertionError) as error:
        what = f"the definition of `{op.name}` does not cover such arguments: {type(error).__name__}: {error}"
        raise NoDefinitionError(Diagnostic(what, span)) from error


class _ShapeError(Exception):
    """An array does not have the shape of a type."""

    def __init__(self, value: Any, ty: TensorType) -> None:
        super().__init__(f"{value.shape} for {ty}")
        self.value = value


def _type_of(value: Value) -> Type | None:
    """Return the type of an array or a tuple of arrays; None for other values."""
    arrays = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(array, np.ndarray) for array in arrays):
        return None
    types = [TensorType(array.shape, array.dtype.name) for array in arrays]
    return TupleType(types) if isinstance(value, tuple) else types[0]


@lru_cache(_CACHED)
def _result_type(op: Op, attrs: Any, types: tuple[Type, ...]) -> Type | None:
    """Return the result type of an operator on arguments of some types, None where they do not fit."""
    params: list[Expr] = [Var(f"x{n}", ty) for n, ty in enumerate(types)]
    try:
        return infer_expr(Call(op, params, attrs)).checked_type_
    except PasslabError:
        return None


def _widen(value: Value) -> Value:
    arrays = value if isinstance(value, tuple) else (value,)
    # Definitions compute in float64, so only the result is rounded.
    wide = tuple([array.astype(np.float64) if is_float(array.dtype) else array for array in arrays])
    return wide if isinstance(value, tuple) else wide[0]


def _tensor(value: Any, ty: Type) -> Value:
    """Return an array of a type. Raises `_ShapeError` where it has another shape."""
    assert isinstance(ty, TensorType)
    array = np.asarray(value).astype(array_dtype(ty.dtype))
    if len(array.shape) != len(ty.shape) or any(
        isinstance(d, int) and d != n for d, n in zip(ty.shape, array.shape, strict=True)
    ):
        raise _ShapeError(array, ty)
    return array


class DefinitionEvaluator(Evaluator):
    """The evaluator by definitions."""

    def __init__(self, mod: Any = None) -> None:
        super().__init__(mod)
        self._steps = {**STEPS, Call: _defined_call}


def _defined_call(ev: Evaluator, node: Call, act: Activation) -> Waits:
    if isinstance(node.op, Op) and node.op.name in MEANING:
        missing = [arg for arg in node.args if arg not in act.owner_of(arg).values]
        if missing:
            return [(arg, act.owner_of(arg)) for arg in missing]
        args = [act.owner_of(arg).values[arg] for arg in node.args]
        try:
            act.values[node] = defined_value(node.op, node.attrs, args, node.span)
        except NoDefinitionError:
            act.values[node] = apply_operator(node.op, node.attrs, args, node.span)
        return []
    return STEPS[Call](ev, node, act)
