"""Checks of passes that have no contract for values, because they change values on purpose.

After differentiation a program computes (value, derivatives): the value must stay, and the derivatives must agree with
finite differences. After shortening floats a program may round as the shorter dtype does. Any other pass is checked
like a user's pass that declares no contract.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import Value
from passlab.infer import infer_module
from passlab.ir.expr import Call, Function, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_op_call
from passlab.ir.types import FuncType, TensorType, TupleType, Type, tensor_types
from passlab.ir.walk import post_order
from passlab.op.dtypes import array_dtype, float_info, is_float
from passlab.passes.functions.continuations import is_cps

Array = np.ndarray[Any, Any]
DIRECTIONS = 4  # in which the derivative by each parameter is compared
STEP = 2.0**-5  # of finite differences; where half of it gives another slope, nothing is compared
CLOSE = 0.03  # tolerance, relative to the slope
MILD = ("typical", "small whole", "positive", "more typical", "ones")  # kinds of draws that shorter floats can hold


@dataclass(frozen=True)
class IntendedChange:
    """What a pass changes on purpose: to a `derivative`, or to shorter floats, rounded by `noise`."""

    derivative: bool = False
    noise: float = 0.0


def intended_change(before: IRModule, after: IRModule, entry: str) -> IntendedChange:
    """Return what a pass changes on purpose, as far as the types of a function and its calls show it."""
    try:
        before, after = infer_module(before.snapshot()), infer_module(after.snapshot())
    except PasslabError:
        return IntendedChange()
    old, new = _result_type(before, entry), _result_type(after, entry)
    if old is None or new is None:
        return IntendedChange()
    if isinstance(new, TupleType) and len(new.fields) == 2 and new.fields[0] is old:
        params = TupleType([p.checked_type_ for p in before[entry].params if p.checked_type_ is not None])
        return IntendedChange(derivative=new.fields[1] is params)
    was, now = _float_dtypes(before), _float_dtypes(after)
    shorter = {
        d for d in now if now[d] > was[d] and any(array_dtype(d).itemsize < array_dtype(w).itemsize for w in now | was)
    }
    if not shorter:
        return IntendedChange()
    least = min(float(float_info(array_dtype(d)).eps) for d in now | was)  # in units of the longer dtype
    return IntendedChange(noise=4 * max(float(float_info(array_dtype(d)).eps) for d in shorter) / least)


def takes_other_arguments(before: IRModule, after: IRModule, entry: str) -> bool:
    """Whether the types of the parameters of a function differ, so that it takes other arguments."""
    if entry not in before or entry not in after:
        return True
    old, new = ([p.type_annotation or p.checked_type_ for p in mod[entry].params] for mod in (before, after))
    return len(old) != len(new) or any(a is not b for a, b in zip(old, new, strict=True) if a and b)


def without_continuation(mod: IRModule, entry: str) -> IRModule:
    """Return a program whose function takes no continuation: a function in CPS is called with the identity."""
    if entry not in mod or not is_cps(mod[entry]):
        return mod
    function = mod[entry]
    *own, _answer = function.type_params  # the type of the answer comes last
    ty = function.params[-1].type_annotation
    if own or not isinstance(ty, FuncType):
        return mod
    result = ty.arg_types[0]  # the continuation takes what the function returns
    name = next(name for name in (f"{entry}_{n}" for n in range(len(mod) + 1)) if name not in mod)
    params = [Var(p.name_hint, p.type_annotation) for p in function.params[:-1]]
    value = Var("value", result)
    call = Call(GlobalVar(name), [*params, Function([value], value, result)], None, [result])
    return mod.with_functions({entry: Function(params, call, result), GlobalVar(name): function})


def _result_type(mod: IRModule, entry: str) -> Type | None:
    ty = mod[entry].checked_type_ if entry in mod else None
    return ty.ret_type if isinstance(ty, FuncType) else None


def _float_dtypes(mod: IRModule) -> Counter[str]:
    """Return the number of calls of operators by the float dtype of their results."""
    types = [n.checked_type_ for f in mod.functions.values() for n in post_order(f) if is_op_call(n)]
    return Counter(t.dtype for t in types if isinstance(t, TensorType) and t.dtype.startswith(("float", "bfloat")))


def has_floats(*mods: IRModule) -> bool:
    """Whether a node of one of these programs computes floats, so that contracts about rounding matter."""
    nodes = (node for mod in mods for function in mod.functions.values() for node in post_order(function))
    types = (ty for node in nodes for ty in tensor_types(node.checked_type_))
    return any(is_float(array_dtype(ty.dtype)) for ty in types)


def lengthen(value: Value, like: Value) -> Value:
    """Return a value with each float array in the dtype of the corresponding array of another value."""
    results: list[Value] = []
    # pairs (-1), and tuples with the number of their fields, which are done
    worklist: list[tuple[Any, Any, int]] = [(value, like, -1)]
    while worklist:
        part, other, count = worklist.pop()
        if count >= 0:
            fields = tuple(results[len(results) - count :])
            results[len(results) - count :] = [fields]
        elif isinstance(part, tuple) and isinstance(other, tuple) and len(part) == len(other):
            worklist.append((part, other, len(part)))
            worklist += [(a, b, -1) for a, b in zip(part[::-1], other[::-1], strict=True)]
        else:
            results.append(_with_dtype_of(part, other))
    return results[0]


def _with_dtype_of(part: Value, like: Value) -> Value:
    if not isinstance(part, np.ndarray) or not isinstance(like, np.ndarray) or part.dtype == like.dtype:
        return part
    return part.astype(like.dtype) if is_float(part.dtype) and is_float(like.dtype) else part


def derivative_disagreement(
    compute: Callable[[Sequence[Any]], Value], arguments: Sequence[Any], derivatives: Value
) -> Disagreement | None:
    """Return how derivatives of the sum of a result differ from finite differences; None where they do not.

    They are compared along a few directions for each parameter. A direction with a kink, where the differences of two
    steps do not agree, is skipped. `compute` may raise `PasslabError`.
    """
    rng = np.random.default_rng(0)
    middle = _total(compute(arguments))
    for index, argument in enumerate(arguments):
        slope = derivatives[index] if isinstance(derivatives, tuple) and index < len(derivatives) else None
        if not isinstance(argument, np.ndarray) or not is_float(argument.dtype) or not isinstance(slope, np.ndarray):
            continue
        for attempt in range(DIRECTIONS):
            direction: Array = np.asarray(rng.standard_normal(argument.shape))
            if attempt < DIRECTIONS - 1 and direction.size:  # one element; all of them at last
                only = int(rng.integers(direction.size))
                direction = (np.arange(direction.size) == only).astype(np.float64).reshape(argument.shape)
            slope_there = float(np.sum(slope.astype(np.float64) * direction))
            whole, half = (_central_difference(compute, arguments, index, direction, step) for step in (STEP, STEP / 2))
            # Where the slopes on both sides differ, finite differences say nothing about the derivative.
            kink = abs(_kink(compute, arguments, index, direction, STEP / 2, middle))
            size = max(abs(whole), abs(half), abs(slope_there), 0.05)
            if kink > size / 4 or abs(whole - half) > CLOSE * size / 2 or abs(slope_there - half) <= 2 * CLOSE * size:
                continue
            difference = disagreement(np.asarray(half), np.asarray(slope_there))
            if difference is not None:
                return difference
    return None


def _kink(
    compute: Callable[[Sequence[Any]], Value],
    arguments: Sequence[Any],
    index: int,
    direction: Array,
    step: float,
    middle: float,
) -> float:
    """Return the difference of the slopes on both sides."""
    before, after = _totals_at_ends(compute, arguments, index, direction, step)
    return (after - 2 * middle + before) / step


def _central_difference(
    compute: Callable[[Sequence[Any]], Value], arguments: Sequence[Any], index: int, direction: Array, step: float
) -> float:
    before, after = _totals_at_ends(compute, arguments, index, direction, step)
    return (after - before) / (2 * step)


def _totals_at_ends(
    compute: Callable[[Sequence[Any]], Value], arguments: Sequence[Any], index: int, direction: Array, step: float
) -> tuple[float, float]:
    """Return the totals of the results one step back and one step forward."""
    ends = []
    for sign in (-step, step):
        moved = list(arguments)
        moved[index] = (arguments[index].astype(np.float64) + sign * direction).astype(arguments[index].dtype)
        ends.append(_total(compute(moved)))
    return ends[0], ends[1]


def _total(value: Value) -> float:
    total, worklist = 0.0, [value]
    while worklist:
        part = worklist.pop()
        if isinstance(part, tuple):
            worklist.extend(part)
        elif isinstance(part, np.ndarray) and is_float(part.dtype):
            total += float(np.sum(part.astype(np.float64)))
    return total
