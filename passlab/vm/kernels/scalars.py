"""Scalar arithmetic: NumPy scalars with Python operators, at a tenth of the cost of arrays.

A primitive function on 0-d tensors becomes one expression on scalars, with the same bits as the array kernels. The
compiled engine keeps such values as scalars between kernels and returns arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.evaluate.values import Value
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

# by operator: Python's operation, and the dtypes of the first argument for which its bits are those of the kernel
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


# The symbols of the operations; those of unary ones are prefixes
SYMBOLS: dict[Operation, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.neg: "-",
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.and_: "&", operator.or_: "|", operator.invert: "~",
}  # fmt: skip
LONGEST = 4  # operations in one expression


def is_scalar(ty: Type | None) -> bool:
    """Whether a type is a 0-d tensor of a dtype that NumPy has itself."""
    return isinstance(ty, TensorType) and not ty.shape and ty.dtype in NATIVE


def scalar_positions(function: Function) -> tuple[int, ...]:
    """Return the parameters of a kernel whose arguments may be scalars instead of arrays: 0-d tensors and tuples."""
    positions = []
    for i, param in enumerate(function.params):
        ty = param.type_annotation
        if not isinstance(ty, (TensorType, TupleType)) or (isinstance(ty, TensorType) and not ty.shape):
            positions.append(i)
    return tuple(positions)


def scalar_function(function: Function) -> Operation | None:
    """Return a primitive function as a function of scalars, None if it is not scalar arithmetic."""
    nodes = [n for n in post_order(function.body) if not isinstance(n, Op)]
    if not all(is_scalar(n.checked_type_) for n in (*function.params, *nodes)):
        return None
    slots: dict[Expr, int] = {p: i for i, p in enumerate(function.params)}
    values: list[Any] = []
    steps: list[tuple[Operation, tuple[int, ...]]] = []
    constants = [n for n in nodes if isinstance(n, Constant)]
    for constant in constants:
        slots[constant] = len(function.params) + len(values)
        values.append(constant.data[()])  # `[()]` turns a 0-d array into a NumPy scalar
    for node in nodes:
        if isinstance(node, Call):
            operation = _operation(node)
            if operation is None:
                return None
            slots[node] = len(function.params) + len(values) + len(steps)
            steps.append((operation, tuple([slots[a] for a in node.args])))
        elif not isinstance(node, (Constant, Var)):
            return None
    if not steps:
        return None
    return _one_operation(*steps[0], len(function.params), values) if len(steps) == 1 else _sequence(steps, values)


def scalar_text(function: Function, args: Sequence[str], constant: Callable[[Any], str]) -> str | None:
    """Return a primitive function of scalar arithmetic as a short Python expression of `args`.

    `constant` returns a name for a NumPy scalar. None where the expression would be long or compute a node twice.
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
    # The outermost parentheses are not needed.
    return texts[function.body].removeprefix("(").removesuffix(")") if calls else None


def _operation(node: Call) -> Operation | None:
    name = node.op.name if isinstance(node.op, Op) else ""
    ty = node.args[0].checked_type_ if node.args else None
    if name not in OPERATIONS or not isinstance(ty, TensorType):
        return None
    operation, dtypes = OPERATIONS[name]
    return operation if ty.dtype in dtypes else None


def _one_operation(operation: Operation, slots: tuple[int, ...], count: int, constants: list[Any]) -> Operation:
    """Return the function of one operation on `count` inputs, without a list of values where possible."""
    if slots == tuple(range(count)) and count in (1, 2):
        return operation
    if count == 1 and slots == (0, 1):
        number = constants[0]
        return lambda a: operation(a, number)
    if count == 1 and slots == (1, 0):
        number = constants[0]
        return lambda a: operation(number, a)
    return _sequence([(operation, slots)], constants)


def _sequence(steps: list[tuple[Operation, tuple[int, ...]]], constants: list[Any]) -> Operation:
    def run(*inputs: Any) -> Any:
        values = [*inputs, *constants]
        for operation, slots in steps:
            values.append(operation(*[values[slot] for slot in slots]))
        return values[-1]

    return run


def as_array(value: Value) -> Value:
    """Return a NumPy scalar, or the number of a `load_consti`, as a 0-d array; other values unchanged."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    return np.asarray(value, np.int64) if type(value) is int else value
