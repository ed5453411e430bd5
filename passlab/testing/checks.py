"""Helpers of tests: run a pass on an expression, count operators, check gradients by finite differences, run Python."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab import transform
from passlab.arguments import checked
from passlab.diffing.diff import count_operators
from passlab.evaluate import Evaluator
from passlab.executor import create_executor
from passlab.executor.aot import CompiledProgram, python_source
from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.op.dtypes import array_dtype
from passlab.rewriting.entry import with_entry

Array = np.ndarray[Any, Any]


@checked
def run_opt_pass(expr: Expr, opt_pass: Callable[[IRModule], IRModule], import_prelude: bool = False) -> Expr:
    """Return `expr` after type inference and the pass: a function for a function, otherwise an expression.

    >>> from passlab import testing
    >>> print(testing.run_opt_pass(passlab.parse_expr("1f + 2f"), transform.FoldConstant()))
    3f /* ty=float32 */
    """
    mod = IRModule.from_expr(expr)
    if import_prelude:
        mod.import_from_std("prelude.rly")
    entry: Function = opt_pass(infer_module(mod))["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Expr) -> Expr:
    """Return `expr` with its types inferred."""
    return run_opt_pass(expr, transform.InferType())


def count_ops(program: Expr | IRModule) -> Counter[str]:
    """Return how often each operator is called in an expression or a module, every node counted once.

    >>> from passlab import testing
    >>> testing.count_ops(passlab.parse("def @main(%x: float32) { exp(exp(%x)) }"))
    Counter({'exp': 2})
    """
    return count_operators(program)


@checked
def rand(dtype: str, *shape: int) -> Array:
    """Return an array of random numbers from 0 to 1."""
    return np.random.default_rng().random(shape).astype(array_dtype(dtype))


@checked
def check_grad(
    func: Function,
    inputs: Sequence[Array] | None = None,
    test_inputs: Sequence[Array] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Any = None,
    executor_kind: str = "debug",
) -> None:
    """Assert that the gradients of `func` are its finite differences at `inputs`, for each of `test_inputs`.

    Inputs are arrays of float32 or float64, by default random, around `mean` with deviation `scale` (ten times `eps`);
    `test_inputs` are the inputs whose gradients are checked, by default all. `mode` is "higher_order" or "first_order",
    the pass that computes them; `target_devices` is accepted as in Relay and ignored. Raises `AssertionError` with the
    differences, `PassValueError` for another mode.
    """
    forward = infer_module(IRModule.from_expr(func))
    params = forward["main"].params
    if inputs is None:
        rng = np.random.default_rng(0)
        inputs = [_normal(rng, p.checked_type, 10 * eps if scale is None else scale, mean) for p in params]
    values = [np.asarray(x) for x in inputs]
    compute = create_executor(executor_kind, forward).evaluate()
    backward = create_executor(executor_kind, _gradient(forward, mode, executor_kind)).evaluate()
    _, gradients = backward(*values)
    checked = range(len(values)) if test_inputs is None else [_position(values, x) for x in test_inputs]
    for i in checked:
        expected = _differences(compute, values, i, eps)
        np.testing.assert_allclose(
            np.asarray(gradients[i]).astype(np.float64), expected, atol=atol, rtol=rtol, err_msg=f"input {i}"
        )


def _gradient(forward: IRModule, mode: str, executor_kind: str) -> IRModule:
    """Return a module whose `main` is the gradient of the `main` of `forward`.

    Only the reference evaluator supports references; for the others PartialEvaluate removes the references of the
    gradient.
    """
    if mode == "first_order":
        return infer_module(transform.FirstOrderGradient()(forward))
    backward = forward.snapshot()
    backward["main"] = transform.gradient(forward["main"], backward, mode)
    if executor_kind != "debug":
        passes = [transform.ToANormalForm(), transform.PartialEvaluate(), transform.DeadCodeElimination(True, True)]
        backward = transform.Sequential(passes)(infer_module(backward))
    return infer_module(backward)


def _normal(rng: np.random.Generator, ty: Any, scale: float, mean: float) -> Array:
    assert isinstance(ty, TensorType)
    return (mean + scale * rng.standard_normal(ty.concrete_shape)).astype(array_dtype(ty.dtype))


def _position(values: Sequence[Array], target: Array) -> int:
    return next(i for i, x in enumerate(values) if x is target or np.array_equal(x, target))


def _differences(compute: Callable[..., Any], values: list[Array], index: int, eps: float) -> Array:
    """Return the two-sided differences of the sum of the result by each element of one input."""
    differences = np.zeros(values[index].shape)
    moved = list(values)
    for position in np.ndindex(*differences.shape):
        ends = []
        for step in (eps, -eps):
            moved[index] = values[index].copy()
            moved[index][position] += step
            ends.append(np.asarray(compute(*moved)).astype(np.float64))
        differences[position] = np.sum((ends[0] - ends[1]) / (2 * eps))
    return differences


# ---------------------------------------------------------------- programs as Python
# Programs as Python: `to_python` returns the syntax tree of a module that computes an expression, `run_as_python` its
# value. The module comes from the ahead-of-time compiler: it needs NumPy alone.
def _program(expr: Expr, mod: IRModule | None) -> IRModule:
    """Return a module whose `main` is an expression, or the function that it is."""
    if not isinstance(expr, Function):
        expr = Function(free_vars(expr), expr)
    return infer_module(with_entry(IRModule() if mod is None else mod, expr))


@checked
def to_python(expr: Expr, mod: IRModule | None = None, target: Any = None) -> ast.Module:
    """Return the syntax tree of a Python module that computes an expression. `target` is ignored."""
    return ast.parse(python_source(_program(expr, mod)).text)


@checked
def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = None) -> Any:
    """Compile an expression to Python and return its value; for a function with parameters, a callable."""
    program = _program(expr, mod)
    if isinstance(expr, Function) and expr.params:
        return CompiledProgram(python_source(program), program["main"], program)
    if isinstance(expr, Function):
        return Evaluator(program).run("main", [])
    return CompiledProgram(python_source(program), program["main"], program)()
