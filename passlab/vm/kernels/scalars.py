"""Arithmetic on single numbers: NumPy's scalars with Python's operators, at a tenth of the cost of arrays.

A primitive function on tensors without dimensions is one expression on scalars, which computes bit for bit what the
array kernels do. The running engine keeps such values as scalars between kernels; what leaves it are arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.walk import post_order

Operation = Callable[..., Any]
INTEGERS = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
FLOATS = frozenset(("float16", "float32", "float64"))
NUMBERS = INTEGERS | FLOATS
BOOL = frozenset(("bool",))
NATIVE = NUMBERS | BOOL

# operator -> (Python's operation, the dtypes of the first argument it is right for)
OPERATIONS: dict[str, tuple[Operation, frozenset[str]]] = {
    "add": (operator.add, NUMBERS),
    "subtract": (operator.sub, NUMBERS),
    "multiply": (operator.mul, NUMBERS),
    "divide": (operator.truediv, FLOATS),
    "negative": (operator.neg, NUMBERS),
    "equal": (operator.eq, NATIVE),
    "not_equal": (operator.ne, NATIVE),
    "less": (operator.lt, NATIVE),
    "less_equal": (operator.le, NATIVE),
    "greater": (operator.gt, NATIVE),
    "greater_equal": (operator.ge, NATIVE),
    "logical_and": (operator.and_, BOOL),
    "logical_or": (operator.or_, BOOL),
    "logical_not": (operator.invert, BOOL),
}


# The operations in Python; those with one argument stand before it
SYMBOLS: dict[Operation, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.neg: "-",
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.and_: "&", operator.or_: "|", operator.invert: "~",
}  # fmt: skip
LONGEST = 4  # operations that are written as one expression


def is_scalar(ty: Type | None) -> bool:
    """Whether a type is a number of a dtype that NumPy has itself."""
    return isinstance(ty, TensorType) and not ty.shape and ty.dtype in NATIVE


def scalar_positions(function: Function) -> tuple[int, ...]:
    """Return the parameters of a kernel that may hold scalars where it expects arrays: numbers, and tuples of them."""
    positions = []
    for i, param in enumerate(function.params):
        ty = param.type_annotation
        if not isinstance(ty, (TensorType, TupleType)) or (isinstance(ty, TensorType) and not ty.shape):
            positions.append(i)
    return tuple(positions)


def scalar_function(function: Function) -> Operation | None:
    """Return a primitive function as a function of scalars, or None when it is more than arithmetic on numbers."""
    nodes = [n for n in post_order(function.body) if not isinstance(n, Op)]
    if not all(is_scalar(n.checked_type_) for n in (*function.params, *nodes)):
        return None
    slots: dict[Expr, int] = {p: i for i, p in enumerate(function.params)}
    held: list[Any] = []
    steps: list[tuple[Operation, tuple[int, ...]]] = []
    constants = [n for n in nodes if isinstance(n, Constant)]
    for constant in constants:
        slots[constant] = len(function.params) + len(held)
        held.append(constant.data[()])
    for node in nodes:
        if isinstance(node, Call):
            operation = _operation(node)
            if operation is None:
                return None
            slots[node] = len(function.params) + len(held) + len(steps)
            steps.append((operation, tuple([slots[a] for a in node.args])))
        elif not isinstance(node, (Constant, Var)):
            return None
    if not steps:
        return None
    return _single(*steps[0], len(function.params), held) if len(steps) == 1 else _line(steps, held)


def scalar_text(function: Function, args: Sequence[str], constant: Callable[[Any], str]) -> str | None:
    """Return a primitive function that `scalar_function` can make as a short Python expression over `args`.

    `constant` names a NumPy scalar. None when the expression would be long or compute something twice.
    """
    texts: dict[Expr, str] = dict(zip(function.params, args, strict=True))
    calls = 0
    used: set[Expr] = set()
    for node in post_order(function.body):
        if isinstance(node, Constant):
            texts[node] = constant(node.data[()])
        elif isinstance(node, Call):
            operation = _operation(node)
            inner = [a for a in node.args if isinstance(a, Call)]
            calls += 1
            if operation is None or calls > LONGEST or not used.isdisjoint(inner):
                return None
            used.update(inner)
            symbol = SYMBOLS[operation]
            parts = [texts[a] for a in node.args]
            texts[node] = f"({symbol}{parts[0]})" if len(parts) == 1 else f"({parts[0]} {symbol} {parts[1]})"
    return texts[function.body].removeprefix("(").removesuffix(")") if calls else None


def _operation(node: Call) -> Operation | None:
    name = node.op.name if isinstance(node.op, Op) else ""
    ty = node.args[0].checked_type_ if node.args else None
    if name not in OPERATIONS or not isinstance(ty, TensorType):
        return None
    operation, dtypes = OPERATIONS[name]
    return operation if ty.dtype in dtypes else None


def _single(operation: Operation, places: tuple[int, ...], count: int, held: list[Any]) -> Operation | None:
    """Return one operation on at most two values without any detour."""
    if places == tuple(range(count)) and count in (1, 2):
        return operation
    if count == 1 and places == (0, 1):
        number = held[0]
        return lambda a: operation(a, number)
    if count == 1 and places == (1, 0):
        number = held[0]
        return lambda a: operation(number, a)
    return _line([(operation, places)], held)


def _line(steps: list[tuple[Operation, tuple[int, ...]]], held: list[Any]) -> Operation:
    def run(*inputs: Any) -> Any:
        values = [*inputs, *held]
        for operation, places in steps:
            values.append(operation(*[values[p] for p in places]))
        return values[-1]

    return run


def as_array(value: Any) -> Any:
    """Return a scalar, or the number of a `load_consti`, as an array without dimensions; anything else as it is."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    return np.asarray(value, np.int64) if type(value) is int else value
