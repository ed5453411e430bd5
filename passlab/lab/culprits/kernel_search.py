"""`wrong_kernel`: kernels compared with the definitions of their operators, on the values of a program.

    wrong = wrong_kernel(mod, trial, seconds=2.0)
    wrong.operator, wrong.module, wrong.finding

Each call of an operator is computed a second time, by the definition, on the same arguments. Then the operator runs
alone, on draws of its own types and on its declared edge cases, which the program may not reach. Definitions loop over
elements: tensors that are too large for them are compared on the small draws alone.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from passlab.definitions import MEANING
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Array, Disagreement, disagreement
from passlab.evaluate.by_definition import NoDefinitionError, OtherTypeError, defined_value
from passlab.evaluate.evaluator import STEPS, Activation, Waits
from passlab.evaluate.operators import describe
from passlab.evaluate.values import Value
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type, tensor_types
from passlab.op.dtypes import array_dtype, float_info, is_float
from passlab.oracle.deadline import Deadline
from passlab.oracle.tolerance import LEAST_NOISE, RUNS, beyond, holds_specials, special_disagreement
from passlab.oracle.trial import Trial
from passlab.testing.programs.registry import templates
from passlab.transform.numeric_contract import EXACT

LARGEST = 4096  # elements of a result, up to which a definition is computed
LARGEST_ARGUMENT = 65_536
OFTEN = 3  # comparisons of one operator with the same attributes and types on one draw
TOLERANCE = {2: 4e-2, 4: 2e-5, 8: 1e-9}  # relative error of results, by the bytes of their elements
# Results between pixels are computed in float32 there; steps of quantization may fall on either side; a recurrence adds
# up the rounding of its steps.
COARSE = (
    "contrib.recurrent",
    "image.",
    "vision.",
    "dyn.image",
    "nn.upsampling",
    "dyn.nn.upsampling",
    "qnn.",
    "nn.deformable",
    "nn.correlation",
)
# Defined on real numbers: for integers the results are truncated, so they may be off by one, and by more where large.
REAL = (
    *("nn.softmax", "nn.fast_softmax", "nn.log_softmax", "nn.batch_norm", "nn.layer_norm", "nn.group_norm", "stft"),
    *("nn.instance_norm", "nn.l2_norm", "nn.lrn", "nn.cross", "nn.nll", "nn.avg", "nn.adaptive_avg", "nn.global_avg"),
    "variance",
)
# Kernels that subtract or multiply by 0 where the definition does not: infinity becomes NaN, or a NaN infinity.
REORDERED = ("dft", "stft", "nn.batch_norm", "nn.max_pool2d_grad")
# Totals that kernels compute in the dtype of the data, in some order.
SUMS, PRODUCTS = ("sum", "cumsum"), ("prod", "cumprod")
MOST_WHOLE = 1000  # the largest integer on which such operators are compared
LEAST = 0.05  # of the largest element: smaller elements may have lost digits by cancellation


@dataclass(frozen=True)
class WrongKernel:
    """An operator with a wrong kernel: a program of this one call, its arguments, and how the values differ."""

    operator: str
    module: IRModule
    arguments: tuple[Any, ...]
    finding: Disagreement
    kind: str  # of the inputs of the program on which it showed


class _WrongKernelError(Exception):
    """Ends a run with the wrong call, its arguments, and the disagreement."""

    def __init__(self, wrong: tuple[Call, list[Any], Disagreement]) -> None:
        super().__init__()
        self.wrong = wrong


class _DefinitionChecker(Evaluator):
    """Runs programs and compares each operator with its definition; `unseen` are the calls that were too large."""

    def __init__(self, mod: IRModule, end: float) -> None:
        super().__init__(mod)
        self.end = end
        self.counts: Counter[Any] = Counter()
        self.unseen: dict[str, Call] = {}
        self.calls_seen: dict[Any, Call] = {}  # one call of each operator, attributes and types
        self._steps = {**STEPS, Call: _checked_call}

    def check(self, node: Call, args: list[Any], value: Any) -> None:
        """Compare the value of a call with the definition. Raises `_WrongKernelError` where they disagree."""
        assert isinstance(node.op, Op)
        name = node.op.name
        other = _type_disagreement(node.checked_type_, value)
        if other is not None:
            raise _WrongKernelError((node, args, other))
        if name not in MEANING:
            return
        arrays = _flat_arguments(args)
        results = [r for r in (value if isinstance(value, tuple) else (value,)) if isinstance(r, np.ndarray)]
        key = (name, node.attrs, *((a.shape, a.dtype.name) for a in arrays if isinstance(a, np.ndarray)))
        self.counts[key] += 1
        self.calls_seen.setdefault(key, node)
        if self.counts[key] > OFTEN:
            return
        large = sum(r.size for r in results) > LARGEST or sum(getattr(a, "size", 0) for a in arrays) > LARGEST_ARGUMENT
        if large or monotonic() > self.end:
            self.unseen.setdefault(name, node)
            return
        finding = kernel_disagreement(node.op, node.attrs, args, value)
        if finding is not None:
            raise _WrongKernelError((node, args, finding))


def _type_disagreement(ty: Type | None, value: Any) -> Disagreement | None:
    """Return how a value disagrees with the type that inference gave the call; None where it has that type."""
    arrays = value if isinstance(value, tuple) else (value,)
    for tensor, array in zip(tensor_types(ty), arrays, strict=False):
        if isinstance(array, np.ndarray) and not _has_type(tensor, array):
            return Disagreement("", f"{tensor}, as the type relation says,", describe(array))
    return None


def _has_type(ty: TensorType, array: Any) -> bool:
    """Whether an array has a type."""
    # An unknown dimension has any size.
    sizes = [d if isinstance(d, int) else n for d, n in zip(ty.shape, array.shape, strict=False)]
    return bool(len(ty.shape) == array.ndim and tuple(sizes) == array.shape and array_dtype(ty.dtype) == array.dtype)


def _checked_call(ev: Any, node: Call, act: Activation) -> Waits:
    waits = STEPS[Call](ev, node, act)
    # With waits the operands are not complete: the step is tried again later, and checked then.
    if not waits and isinstance(node.op, Op) and node in act.values:
        ev.check(node, [act.owner_of(arg).values[arg] for arg in node.args], act.values[node])
    return waits


def kernel_disagreement(op: Op, attrs: Any, args: Sequence[Any], value: Any) -> Disagreement | None:
    """Return how a kernel's value differs from the definition by more than rounding; None where it does not."""
    try:
        expected = defined_value(op, attrs, args)
    except OtherTypeError as error:
        return disagreement(error.value, value)
    except PasslabError:
        return None  # there is no definition for these arguments
    if op.name.startswith((*REAL, *COARSE)) and any(map(_is_far, _flat_arguments(args))):
        return None
    floats = [a for a in _flat_arguments(args) if is_float(a.dtype)]
    if op.name in (*SUMS, *PRODUCTS) and any(_may_leave_range(op.name, array) for array in floats):
        return None
    if holds_specials(tuple(args)):
        return special_disagreement(expected, value) if _specials_are_defined(op.name, floats) else None
    difference = _beyond_tolerance(op.name, expected, value)
    if difference is None:
        return None
    if not floats:
        return difference
    noisy = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        try:
            noisy.append(defined_value(op, attrs, [_with_noise(rng, arg) for arg in args]))
        except PasslabError:
            return None
    return beyond(difference, expected, value, noisy, EXACT, overall=True)


def _flat_arguments(args: Sequence[Any]) -> list[Any]:
    return [a for arg in args for a in (arg if isinstance(arg, tuple) else (arg,))]


def _specials_are_defined(name: str, floats: Sequence[Array]) -> bool:
    """Whether the definition decides where a result is NaN or infinite, in whatever order a kernel computes."""
    for array in floats:
        numbers = np.abs(array.astype(np.float64))
        if name in REORDERED and np.isinf(numbers).any():
            return False
        # A sum of products of these numbers does not overflow on the way.
        if np.max(numbers[np.isfinite(numbers)], initial=0.0) > float(float_info(array.dtype).max) ** 0.25:
            return False
    return True


def _may_leave_range(name: str, array: Array) -> bool:
    """Whether a part of a sum or product may overflow, or a part of a product vanish, where the whole does not."""
    info, numbers = float_info(array.dtype), np.abs(array.astype(np.float64))
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    with np.errstate(all="ignore"):
        if name in SUMS:
            return bool(np.sum(numbers) > float(info.max))
        above, below = np.prod(np.maximum(numbers, 1.0)), np.prod(np.minimum(numbers, 1.0))
        return bool(above > float(info.max) or below < float(info.smallest_normal))


def _is_far(array: Any) -> bool:
    """Whether integers are so large that an operator on real numbers rounds its results."""
    return array.dtype.kind in "iu" and bool((np.abs(array.astype(np.float64)) > MOST_WHOLE).any())


def _with_noise(rng: np.random.Generator, arg: Value) -> Value:
    """Return an argument with each number moved by a few units in the last place."""
    arrays = arg if isinstance(arg, tuple) else (arg,)
    moved = tuple([_noisy_array(rng, array) if is_float(array.dtype) else array for array in arrays])
    return moved if isinstance(arg, tuple) else moved[0]


def _noisy_array(rng: np.random.Generator, array: Array) -> Array:
    noise = 2 * LEAST_NOISE * float(float_info(array.dtype).eps) * rng.uniform(-1.0, 1.0, array.shape)
    return np.asarray(array.astype(np.float64) * (1.0 + noise), array.dtype)


def _beyond_tolerance(name: str, expected: Any, value: Any) -> Disagreement | None:
    """Return how two values, or tuples of them, differ by more than a kernel may round; None where they do not."""
    if not isinstance(expected, tuple) and not isinstance(value, tuple):
        return _array_beyond_tolerance(name, expected, value)
    if not isinstance(expected, tuple) or not isinstance(value, tuple) or len(expected) != len(value):
        return disagreement(expected, value)
    parts = zip(expected, value, strict=True)
    return next((difference for a, b in parts if (difference := _array_beyond_tolerance(name, a, b)) is not None), None)


def _array_beyond_tolerance(name: str, expected: Any, value: Any) -> Disagreement | None:
    if not isinstance(value, np.ndarray) or value.shape != expected.shape or value.dtype != expected.dtype:
        return disagreement(expected, value)
    coarse = name.startswith(COARSE)
    if not is_float(value.dtype):
        cut = coarse or name.startswith(REAL)
        if cut and value.dtype.kind == "b":
            return None
        close = np.abs(value.astype(np.float64) - expected.astype(np.float64)) <= (1.0 if cut else 0.0)
        return None if close.all() else disagreement(expected, np.where(close, expected, value))
    a, b = expected.astype(np.float64), value.astype(np.float64)
    tolerance = TOLERANCE.get(value.dtype.itemsize, 0.1)
    if coarse:  # places between pixels are computed in float32 for data of any width
        tolerance = 50.0 * max(tolerance, TOLERANCE[4])
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=0.0)
        size = largest if coarse else np.maximum(np.abs(a), LEAST * largest)
        # 1e-30 is for arrays of zeros. Where no finite number is expected, any value counts as close.
        close = (np.abs(a - b) <= tolerance * np.maximum(size, 1e-30)) | (a == b) | ~np.isfinite(a)
        close |= ~np.isfinite(b) & (np.abs(a) > float(float_info(value.dtype).max) / 8)  # a sum may overflow on the way
    return None if close.all() else disagreement(expected, np.where(close, expected, value))


def wrong_kernel(mod: IRModule, trial: Trial, seconds: float, notes: list[str] | None = None) -> WrongKernel | None:
    """Return the first wrong kernel of a program; None where every comparison agrees.

    Operators are compared on the draws of a trial. With `notes` each then runs alone, on draws of its own and on its
    declared edge cases, while there is time; operators that were too large are appended to `notes`.
    """
    evaluator = _DefinitionChecker(mod, monotonic() + seconds)
    wrong = _wrong_on_draws(evaluator, trial)
    for call in (evaluator.calls_seen if notes is not None else evaluator.unseen).values():
        wrong = wrong or _wrong_alone(call, evaluator.end)
    if wrong is None and evaluator.unseen and notes is not None:
        names = ", ".join(f"`{name}`" for name in evaluator.unseen)
        notes.append(f"the kernels of {names} on tensors this large: they were held to their definitions on small ones")
    return wrong


def _wrong_on_draws(evaluator: _DefinitionChecker, trial: Trial, kind: str = "") -> WrongKernel | None:
    """Return the first wrong kernel of a program on the draws of a trial; `kind` names the inputs."""
    mod = evaluator.mod
    types = [ty for param in mod[trial.entry].params for ty in tensor_types(param.checked_type_)]
    whole = not any(is_float(array_dtype(ty.dtype)) for ty in types)
    for number, draw in enumerate(trial.draws(mod)):
        unusual = draw.extreme and not whole  # integers wrap in one way only
        if unusual or monotonic() > evaluator.end or trial.run(mod, number).error is not None:
            continue
        evaluator.counts.clear()  # `OFTEN` limits the comparisons on one draw
        deadline = Deadline(max(0.1, evaluator.end - monotonic()))
        try:
            with deadline:
                evaluator.run(trial.entry, draw.arguments)
        except deadline.error:
            deadline.close()
        except _WrongKernelError as found:
            return _program_of_call(*found.wrong, kind or draw.kind)
        except PasslabError:
            continue
    return None


def _wrong_alone(call: Call, end: float) -> WrongKernel | None:
    """Compare an operator with its definition on draws of its own, and on its declared edge cases."""
    assert isinstance(call.op, Op)
    ty = call.checked_type_
    dtype = ty.dtype if isinstance(ty, TensorType) else "float32"
    params: list[Var] = []

    def parameter(ty: TensorType) -> Expr:
        params.append(Var(f"x{len(params)}", ty))
        return params[-1]

    bodies: list[tuple[Callable[[], Expr], str]] = [
        (partial(template.fill, parameter), "the edge cases of the operator")
        for template in templates(call.op.name, dtype)
    ]
    if all(_is_small(arg) for arg in call.args):
        alone = (
            lambda: call.with_fields(args=[_as_parameters(arg, parameter) for arg in call.args]),
            "draws of its own",
        )
        bodies.insert(0, alone)
    for body, kind in bodies:
        params.clear()
        with contextlib.suppress(PasslabError):
            value = body()
            program = infer_module(IRModule.from_expr(Function(tuple(params), value)))
            wrong = _wrong_on_draws(_DefinitionChecker(program, end), Trial(), kind)
            if wrong is not None:
                return wrong
        if monotonic() > end:
            break
    return None


def _is_small(arg: Expr) -> bool:
    """Whether an operand consists of tensors with known shapes, small enough for a definition."""
    types = tensor_types(arg.checked_type_)
    return all(not ty.dynamic and math.prod(ty.concrete_shape) <= LARGEST for ty in types) and bool(types)


def _as_parameters(arg: Expr, parameter: Callable[[TensorType], Expr]) -> Expr:
    """Return parameters for the tensors of an operand; a constant stays."""
    if isinstance(arg, Constant):
        return arg
    ty = arg.checked_type
    parts = [parameter(tensor) for tensor in tensor_types(ty)]
    return Tuple(parts) if isinstance(ty, TupleType) else parts[0]


def _program_of_call(call: Call, args: list[Any], finding: Disagreement, kind: str) -> WrongKernel:
    """Return a program of one call, with its arguments as parameters."""
    assert isinstance(call.op, Op)
    params: list[Var] = []

    def parameter(value: Any) -> Expr:
        params.append(Var(f"p{len(params)}", TensorType(value.shape, value.dtype.name)))
        return params[-1]

    operands = [Tuple([parameter(v) for v in a]) if isinstance(a, tuple) else parameter(a) for a in args]
    arrays = tuple(v for a in args for v in (a if isinstance(a, tuple) else (a,)))
    mod = infer_module(IRModule.from_expr(Function(tuple(params), Call(call.op, operands, call.attrs))))
    return WrongKernel(call.op.name, mod, arrays, finding, kind)


__all__ = ["NoDefinitionError", "WrongKernel", "kernel_disagreement", "wrong_kernel"]
