"""How a gradient is held against differences of the operator's values, and the uses of operators that this is done on."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, TensorType, TupleType, Type
from passlab.op import make
from passlab.op.dtypes import array_dtype, is_float
from passlab.op.edge_cases import EdgeProgram, program, varies_dtype
from passlab.passes.gradient.derivatives import gradient
from tests.op.cases_gradient import MORE, REFUSED
from tests.op_nn.running import types_of

STEP = 1e-6
# Where values must lie for the operator to have a slope; elsewhere between -1.7 and 1.7.
POSITIVE = (
    "log", "sqrt", "rsqrt", "power", "asin", "acos", "atanh", "nn.cross_entropy", "prod", "cumprod", "random.normal",
)  # fmt: skip
BEYOND_ONE = {"acosh"}
# Operators that compute in float32 whatever they are given, and are straight lines in pieces: longer steps do.
ROUGH = {"qnn.dequantize", "image.crop_and_resize", "vision.roi_align", "contrib.roi_align"}


def cases(name: str) -> tuple[str, ...]:
    """The uses of an operator on which its gradient is checked, as edge cases."""
    pair = (*Op.get(name).spec.edge_cases, *(text for text in MORE if text.startswith(f"{name}(")))
    return tuple(text for text in pair if text not in REFUSED)


def typed_program(text: str) -> tuple[EdgeProgram, Function] | None:
    """A use on the widest floats it takes, else on integers or truth; None where it takes no dtype."""
    for dtype in ("float64", "float32", "int32", "bool") if varies_dtype(text) else ("float64",):
        mod = program(text, dtype)
        try:
            return mod, passlab.parse(mod.source)["main"]
        except PasslabError:
            continue
    return None


def inputs_of(name: str, result: EdgeProgram) -> list[np.ndarray]:
    """Values of the variables, no two alike, none where the slope is about to change."""
    rng, values = np.random.default_rng(3), []
    for number, variable in enumerate(result.variables):
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


def weights_like(result: Type, rough: bool) -> list[np.ndarray]:
    """A weight for each element of a result, by which it counts; none where it is rounded too far to differ."""
    rng = np.random.default_rng(5)
    results = []
    for leaf in leaves(result):
        dtype = array_dtype(leaf.dtype)
        weight = rng.standard_normal(leaf.concrete_shape)
        results.append(np.asarray(weight if dtype == np.float64 or rough else 0 * weight).astype(dtype))
    return results


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
    expr = infer_expr(Function([*main.params, *seeds], Tuple(parts)))
    assert isinstance(expr, Function)
    for part, arg in zip(expr.checked_type.ret_type.fields, call.args, strict=True):  # type: ignore[attr-defined]
        alike = part is arg.checked_type or "?" in str(part)
        assert alike, f"a gradient has the type of its input: {part} for {arg.checked_type}"
    return expr


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
    mod = typed_program(text)
    assert mod is not None, "no dtype is legal"
    output, main = mod
    assert isinstance(main.checked_type, FuncType)
    call, values, evaluator = main.body, inputs_of(name, output), Evaluator(IRModule.from_expr(main))
    assert isinstance(call, Call)
    result = types_of(evaluator.run("main", values))
    weights = weights_like(result, name in ROUGH)
    back = Evaluator(IRModule.from_expr(backward(main, result)))
    slopes = by_variable(main, call, list(back.run("main", [*values, *weights])), values)

    def loss(at: list[np.ndarray]) -> float:
        return sum(
            float((r * w).sum()) for r, w in zip(flat(evaluator.run("main", at)), weights, strict=True) if w.size
        )

    rng = np.random.default_rng(7)
    for at, (value, slope, variable) in enumerate(zip(values, slopes, output.variables, strict=True)):
        if not is_float(value.dtype):
            assert not slope.any(), "what is no float has no slope"
            continue
        wide = value.dtype == np.float64
        if (variable.value is not None and text not in MORE) or not (wide or name in ROUGH):
            continue  # values that edge cases say lie where the slope changes
        step, tolerance = (STEP, 1e-5) if wide else (2.0**-9, 1e-3)
        for _ in range(2):
            way = rng.standard_normal(value.shape)
            ends = [[*values[:at], np.asarray(value + s * step * way, value.dtype), *values[at + 1 :]] for s in (1, -1)]
            difference = (loss(ends[0]) - loss(ends[1])) / (2 * step)
            message = f"%{variable.name}: {slope.ravel()[:6]}"
            found_slope = float((slope * way).sum())
            np.testing.assert_allclose(found_slope, difference, tolerance, tolerance / 10, err_msg=message)


def check_second(name: str, text: str) -> None:
    """Assert that the gradient of the gradient is the slope of the gradient."""
    mod = typed_program(text)
    assert mod is not None
    output, main = mod
    values = inputs_of(name, output)
    result = types_of(Evaluator(IRModule.from_expr(main)).run("main", values))
    first = backward(main, result)
    weights = weights_like(result, name in ROUGH)
    outcome = Evaluator(IRModule.from_expr(first)).run("main", [*values, *weights])
    rng = np.random.default_rng(11)
    terms: list[Expr] = []
    for part, value in zip(fields_of(first.body), flat(outcome), strict=True):
        if is_float(value.dtype) and value.dtype == np.float64 and value.size:
            scale = Constant(rng.standard_normal(value.shape))
            terms.append(make("sum", make("multiply", part, scale)))
    if not terms:
        return
    total = terms[0]
    for term in terms[1:]:
        total = make("add", total, term)
    whole = infer_expr(Function(first.params, total))
    slopes = Evaluator(IRModule.from_expr(infer_expr(gradient(whole)))).run("main", [*values, *weights])[1]
    run = Evaluator(IRModule.from_expr(whole))
    inputs = [*values, *weights]
    for at, (value, slope) in enumerate(zip(inputs, slopes, strict=True)):
        arguments = at < len(values) and output.variables[at].value is not None and text not in MORE
        if value.dtype != np.float64 or arguments:
            continue
        way = rng.standard_normal(value.shape)
        up, down = ([*inputs[:at], np.asarray(value + s * STEP * way), *inputs[at + 1 :]] for s in (1, -1))
        difference = float(run.run("main", up) - run.run("main", down)) / (2 * STEP)
        np.testing.assert_allclose(float((slope * way).sum()), difference, 1e-4, 1e-5, err_msg=f"input {at}")


def fields_of(expr: Expr) -> list[Expr]:
    """The tensors that a typed expression has as (fields of) its fields."""
    ty = expr.checked_type
    if not isinstance(ty, TupleType):
        return [expr]
    parts = expr.fields if isinstance(expr, Tuple) else [TupleGetItem(expr, i) for i in range(len(ty.fields))]
    return [leaf for part in parts for leaf in fields_of(part)]
