"""How a gradient is held against differences of the operator's values, and the uses of operators that this is done on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import passlab
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, TensorType, TupleType, Type
from passlab.op.dtypes import array_dtype, is_float
from passlab.op.edges import Program, is_swept, program
from tests.op.cases_gradient import MORE
from tests.op_nn.running import types_of

STEP = 1e-6
# Where values must lie for the operator to have a slope; elsewhere between -1.7 and 1.7.
POSITIVE = (
    "log", "sqrt", "rsqrt", "power", "asin", "acos", "atanh", "nn.cross_entropy", "prod", "cumprod", "random.normal",
)  # fmt: skip
BEYOND_ONE = {"acosh"}


def cases(name: str) -> tuple[str, ...]:
    """The uses of an operator on which its gradient is checked, as edge cases."""
    return (*Op.get(name).spec.edges, *(text for text in MORE if text.startswith(f"{name}(")))


def typed_program(text: str) -> tuple[Program, Function] | None:
    """A use on the widest floats it takes, else on integers or truth; None where it takes no dtype."""
    for dtype in ("float64", "float32", "int32", "bool") if is_swept(text) else ("float64",):
        made = program(text, dtype)
        try:
            return made, passlab.parse(made.source)["main"]
        except PasslabError:
            continue
    return None


def inputs_of(name: str, made: Program) -> list[np.ndarray]:
    """Values of the variables, no two alike, none where the slope is about to change."""
    rng, values = np.random.default_rng(3), []
    for number, variable in enumerate(made.variables):
        dtype, shape = array_dtype(variable.dtype), variable.shape
        count = int(np.prod(shape))
        if variable.value is not None:
            value = np.array(variable.value)
        elif not is_float(dtype):
            value = rng.integers(0, 2, count)
        elif name.startswith(POSITIVE) or name in BEYOND_ONE:
            value = rng.permutation(np.linspace(0.2, 0.8, max(count, 1))[:count]) + (name in BEYOND_ONE)
        else:
            value = rng.permutation(np.linspace(-1.7, 1.7, max(count, 1))[:count])
        if variable.value is None and is_float(dtype):
            value = value + 0.0137 * (1 + number)
        values.append(value.astype(dtype).reshape(shape))
    return values


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a value."""
    return [part for v in value for part in flat(v)] if isinstance(value, tuple) else [value]


def leaves(ty: Type) -> list[TensorType]:
    """The tensors of a type."""
    if isinstance(ty, TupleType):
        return [leaf for field in ty.fields for leaf in leaves(field)]
    assert isinstance(ty, TensorType)
    return [ty]


def weights_like(result: Type) -> list[np.ndarray]:
    """A weight for each element of a result, by which it counts; none where it is rounded too far to differ."""
    rng = np.random.default_rng(5)
    made = []
    for leaf in leaves(result):
        dtype = array_dtype(leaf.dtype)
        weight = rng.standard_normal(leaf.concrete_shape)
        made.append(np.asarray(weight if dtype == np.float64 else 0 * weight).astype(dtype))
    return made


def backward(main: Function, result: Type) -> Function:
    """The gradients of a function's only call as a function of its parameters and the gradients of its results."""
    call = main.body
    assert isinstance(call, Call)
    assert isinstance(call.op, Op)
    assert call.op.spec.gradient is not None
    seeds = [Var(f"seed{i}", leaf) for i, leaf in enumerate(leaves(result))]
    seed = Tuple(seeds) if isinstance(result, TupleType) else seeds[0]
    parts = call.op.spec.gradient(call, seed)
    assert len(parts) == len(call.args), "a gradient for each input"
    made = infer_expr(Function([*main.params, *seeds], Tuple(parts)))
    assert isinstance(made, Function)
    for part, arg in zip(made.checked_type.ret_type.fields, call.args, strict=True):  # type: ignore[attr-defined]
        alike = part is arg.checked_type or "?" in str(part)
        assert alike, f"a gradient has the type of its input: {part} for {arg.checked_type}"
    return made


def by_variable(main: Function, call: Call, parts: list[Any], values: list[np.ndarray]) -> list[np.ndarray]:
    """Add up the gradients of a call's arguments by the parameter that stands there."""
    slopes = [np.zeros(value.shape, value.dtype if is_float(value.dtype) else "float64") for value in values]
    fields = [f for arg in call.args for f in (arg.fields if isinstance(arg, Tuple) else (arg,))]
    for field, part in zip(fields, (p for arg in parts for p in flat(arg)), strict=True):
        if field in main.params:
            at = main.params.index(field)
            assert part.shape == values[at].shape
            slopes[at] = slopes[at] + part
    return slopes


def check(name: str, text: str) -> None:
    """Assert that the gradients of a use of an operator are the slopes of its value."""
    found = typed_program(text)
    assert found is not None, "no dtype is legal"
    made, main = found
    assert isinstance(main.checked_type, FuncType)
    call, values, evaluator = main.body, inputs_of(name, made), Evaluator(IRModule.from_expr(main))
    assert isinstance(call, Call)
    result = types_of(evaluator.run("main", values))
    weights = weights_like(result)
    back = Evaluator(IRModule.from_expr(backward(main, result)))
    slopes = by_variable(main, call, list(back.run("main", [*values, *weights])), values)

    def loss(at: list[np.ndarray]) -> float:
        return sum(float((r * w).sum()) for r, w in zip(flat(evaluator.run("main", at)), weights, strict=True) if w.size)

    rng = np.random.default_rng(7)
    for at, (value, slope, variable) in enumerate(zip(values, slopes, made.variables, strict=True)):
        if value.dtype != np.float64:
            assert is_float(value.dtype) or not slope.any(), "what is no float has no slope"
        elif variable.value is None:
            for _ in range(2):
                way = rng.standard_normal(value.shape)
                ends = [[*values[:at], np.asarray(value + s * STEP * way), *values[at + 1 :]] for s in (1, -1)]
                difference = (loss(ends[0]) - loss(ends[1])) / (2 * STEP)
                message = f"%{variable.name}: {slope.ravel()[:6]}"
                np.testing.assert_allclose(float((slope * way).sum()), difference, 1e-5, 1e-6, err_msg=message)
