"""`CoverageEvaluator`: the reference evaluator, which also records which branches ran and whether floats were finite.

With `noise` each result of an operator is moved by about that many units in the last place, as rounding might do. The
spread of several noisy runs is how far two programs with different rounding may differ (stochastic arithmetic, as in
CADNA: Jezequel and Chesneaux, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.evaluator import STEPS, Activation, Schedules, Waits
from passlab.evaluate.operators import apply_operator
from passlab.evaluate.values import Value
from passlab.ir.expr import Call, Constant, Expr, GlobalVar, If, Match
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern, Trait, has_trait
from passlab.ir.walk import post_order
from passlab.op.dtypes import float_info, is_float
from passlab.oracle.known_results import Key, KnownResult, KnownResults

Array = np.ndarray[Any, Any]
SAMPLE = 64  # elements that are tested first
SUMS = (OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE)  # of operators that add up many numbers
OF_MANY_STEPS = (*SUMS, OpPattern.OPAQUE)
EXACT_RESULTS = Trait.MAKES_WHOLE | Trait.MOVES  # a short result is exact whatever the operands are
LARGE = 1 << 16  # elements of a tensor whose many terms even out
SHORTENING = 1000.0  # units of noise from which on noise models shorter floats
FRACTION = 64.0  # multiples of its inverse count as exact
WHOLE = 0.6  # share of the digits of a dtype that exact numbers may have: their products and sums need the others
WITH_SIDES = Trait.COMPARES | Trait.CLAMPS
# An `if` or `match` with the number of a branch; a comparison or clip with one of its sides.
Branch = tuple[Expr, int]


class CoverageEvaluator(Evaluator):
    """Runs programs like the evaluator. `finite` says whether every float so far was finite, `branches` which ran.

    Results of earlier runs in `results` are not computed again. Where not all numbers of a run are `exact`, sums of
    exact ones are moved as well: a pass may scale their terms.
    """

    def __init__(
        self,
        mod: IRModule,
        noise: float = 0.0,
        seed: int = 0,
        exact: bool = True,
        results: KnownResults | None = None,
        schedules: Schedules | None = None,
    ) -> None:
        super().__init__(mod, schedules)
        self.results = results  # of earlier runs; None under noise
        self.finite = True
        self.branches: set[Branch] = set()
        self.noise = noise
        self.exact = exact
        self._rng = np.random.default_rng(seed)
        self._steps = {**STEPS, Call: _watched_call, If: _watched_if, Match: _watched_match}
        if noise > SHORTENING:
            self._steps[Constant] = _moved_constant

    def noisy(self, value: Value) -> Value:
        """Move an argument as rounding before the program might do."""
        if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
            return value
        with np.errstate(all="ignore"):
            return self._perturb_array(value)

    def observe(self, value: Value, sums: bool = False, operands: Sequence[Value] = ()) -> Value:
        """Return the result of an operator, moved if there is noise. `sums` says that it adds up many numbers.

        A number that looks exact is so only if its `operands` are: thirty times 0.1 is three by luck.
        """
        if isinstance(value, tuple):
            return tuple([self._observe_array(v, sums, operands) if isinstance(v, np.ndarray) else v for v in value])
        return self._observe_array(value, sums, operands) if isinstance(value, np.ndarray) else value

    def _observe_array(self, value: Array, sums: bool, operands: Sequence[Value]) -> Array:
        if not is_float(value.dtype) or not value.size:
            return value
        with np.errstate(all="ignore"):
            if self.finite and not _all_finite(value):
                self.finite = False
            return self._perturb_array(value, sums, operands) if self.noise else value

    def _perturb_array(self, value: Array, sums: bool = False, operands: Sequence[Value] = ()) -> Array:
        """Move numbers as rounding might have; whole numbers and short binary fractions are exact, and stay.

        A sum that cancels rounds in units of its terms, whose size the other sums of its tensor show.
        """
        eps = float(float_info(value.dtype).eps)
        if _is_exact_array(value, eps) and all(_is_exact_value(operand) for operand in operands):
            return value
        return self._move_array(value, sums and not _are_of_one_sign(operands))

    def _move_array(self, value: Array, sums: bool = False) -> Array:
        eps = float(float_info(value.dtype).eps)
        if value.dtype in (np.float32, np.float64):  # a factor near one keeps infinities and NaN
            factor = self._rng.random(value.shape, value.dtype)  # a float32 factor is too coarse for float64
            factor *= 2.0 * eps * self.noise
            factor += 1.0 - eps * self.noise
            moved = value * factor
            if sums:
                moved = moved + eps * self.noise * _root_mean_square(value) * self._rng.uniform(-1.0, 1.0, value.shape)
            return np.asarray(moved, value.dtype)
        wide = value.astype(np.float64)
        amount = wide + _root_mean_square(wide) if sums else wide
        moved = wide + amount * (eps * self.noise * self._rng.uniform(-1.0, 1.0, value.shape))
        return np.where(np.isfinite(wide), moved, wide).astype(value.dtype)

    def with_inner_rounding(self, call: Call, args: Sequence[Value], value: Value) -> Value:
        """Return the result of an operator of many steps on moved operands, which shows its intermediate rounding.

        Cancellation inside of it (sums of terms, differences from a mean) does not show in its result. Nothing is moved
        where all numbers are exact, nor in large tensors, where many terms even out.
        """
        results = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(r, np.ndarray) and is_float(r.dtype) and r.size <= LARGE for r in results):
            return value
        floats = [n for n, a in enumerate(args) if isinstance(a, np.ndarray) and is_float(a.dtype) and a.size]
        if not floats or max(args[n].size for n in floats) > LARGE:
            return value
        if self.exact and _is_exact_value(value) and all(_is_exact_value(args[n]) for n in floats):
            return value
        with np.errstate(all="ignore"):
            moved = [self._move_array(arg) if n in floats else arg for n, arg in enumerate(args)]
        try:
            return apply_operator(call.op, call.attrs, moved)  # type: ignore[arg-type]
        except PasslabError:
            return value


def _is_exact_array(value: Array, eps: float) -> bool:
    return _are_short(value.reshape(-1)[:SAMPLE], eps) and _are_short(value, eps)


def _is_exact_value(value: Value) -> bool:
    """Whether all floats in a tensor, or a tuple of them, are whole numbers or short binary fractions."""
    arrays = value if isinstance(value, tuple) else (value,)
    floats = [a for a in arrays if isinstance(a, np.ndarray) and is_float(a.dtype) and a.size]
    return all(_is_exact_array(array, float(float_info(array.dtype).eps)) for array in floats)


def _are_short(value: Array, eps: float) -> bool:
    """Whether all numbers are whole or short binary fractions, and so small that arithmetic on them is exact."""
    wide = value.astype(np.float64)
    if (np.abs(wide[np.isfinite(wide)]) > eps**-WHOLE).any():
        return False
    wide = wide * FRACTION
    return bool(np.array_equal(wide, np.rint(wide), equal_nan=True))


def _are_of_one_sign(operands: Sequence[Value]) -> bool:
    """Whether no sum of products of these numbers cancels, so that rounding leaves its sign: as of squares."""
    floats = [a for a in operands if isinstance(a, np.ndarray) and is_float(a.dtype)]
    return bool(floats) and all((a >= 0).all() or (a <= 0).all() for a in floats)


def _root_mean_square(value: Array) -> float:
    """Return the root of the mean square of the finite numbers in a tensor."""
    wide = value[np.isfinite(value)].astype(np.float64)
    return float(np.sqrt(np.mean(wide * wide))) if wide.size else 0.0


def _all_finite(value: Array) -> bool:
    """Whether no number is infinite or NaN. One that is makes the sum so as well, which is found faster."""
    return bool(np.isfinite(value.sum()) or np.isfinite(value).all())


def _watched_call(ev: Any, node: Call, act: Activation) -> Waits:
    key = None if ev.results is None else _cache_key(ev.results, node, act)
    if key is not None and (earlier := ev.results.find(key)) is not None:
        ev.branches.update((node, side) for side in earlier.sides)
        act.values[node] = earlier.value
        return []
    waits = STEPS[Call](ev, node, act)
    if not waits and isinstance(node.op, Op) and node in act.values:
        spec, value, sides = node.op.spec, act.values[node], tuple[int, ...]()
        operands = [] if spec.traits & EXACT_RESULTS else [act.owner_of(arg).values.get(arg) for arg in node.args]
        if ev.noise and operands and spec.pattern in OF_MANY_STEPS:
            value = ev.with_inner_rounding(node, operands, value)
        if not ev.noise and has_sides(node):
            sides = _sides_taken(node, act.owner_of(node.args[0]).values, value)
            ev.branches.update((node, side) for side in sides)
        act.values[node] = ev.observe(value, spec.pattern in SUMS, operands)
        if key is not None and ev.finite:
            ev.results.keep(key, KnownResult(value, sides), node.attrs)
    return waits


def _cache_key(results: KnownResults, node: Call, act: Activation) -> Key | None:
    """Return the key of a call in the cache of results; None while an operand has no value."""
    operands = [act.owner_of(arg).values.get(arg) for arg in node.args]
    return None if any(operand is None for operand in operands) else results.key(node, operands)


def _moved_constant(ev: Any, node: Constant, act: Activation) -> Waits:
    """Evaluate a constant and move it: shorter floats change constants as well."""
    waits = STEPS[Constant](ev, node, act)
    act.values[node] = ev.noisy(act.values[node])
    return waits


def has_sides(node: Expr) -> bool:
    """Whether a node is a comparison or a clamp, which numbers may fall on two sides of."""
    return has_trait(node, WITH_SIDES)


def _sides_taken(node: Call, values: Any, result: Any) -> tuple[int, ...]:
    """Return the sides on which some number fell: false and true; below and above the bounds of a clamp."""
    if result.dtype == bool:
        return tuple([int(side) for side in np.unique(result)])
    data = values[node.args[0]]
    low, high = (0.0, 0.0) if node.attrs is None or "a_min" not in node.attrs else (node.attrs.a_min, node.attrs.a_max)
    with np.errstate(all="ignore"):
        return tuple([side for side, taken in enumerate((data < low, data > high)) if np.any(taken)])


def _watched_if(ev: Any, node: If, act: Activation) -> Waits:
    waits = STEPS[If](ev, node, act)
    condition = act.owner_of(node.cond).values.get(node.cond)
    if condition is not None:
        ev.branches.add((node, 0 if bool(condition) else 1))
    return waits


def _watched_match(ev: Any, node: Match, act: Activation) -> Waits:
    waits = STEPS[Match](ev, node, act)
    for number, clause in enumerate(node.clauses):
        if clause.rhs in act.owner_of(clause.rhs).values or any(part is clause.rhs for part, _ in waits or ()):
            ev.branches.add((node, number))
            break
    return waits


def branches_of(mod: IRModule, entry: str) -> set[Branch]:
    """Return all branches of `if` and `match` that a function can reach, and all sides of comparisons and clips."""
    branches: set[Branch] = set()
    worklist, seen = [entry], {entry}
    while worklist:
        for node in post_order(mod[worklist.pop()]):
            if isinstance(node, If) or has_sides(node):
                branches |= {(node, 0), (node, 1)}
            elif isinstance(node, Match):
                branches |= {(node, number) for number in range(len(node.clauses))}
            elif isinstance(node, GlobalVar) and node.name_hint not in seen and node.name_hint in mod:
                seen.add(node.name_hint)
                worklist.append(node.name_hint)
    return branches


class _InexactError(Exception):
    """A number of a run is not exact."""


class _ExactEvaluator(Evaluator):
    """Runs a program. Raises `_InexactError` at the first number that is not exact."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._steps = {**STEPS, Call: _exact_call}


def _exact_call(ev: Any, node: Call, act: Activation) -> Waits:
    waits = STEPS[Call](ev, node, act)
    if not waits and isinstance(node.op, Op) and not _is_exact_value(act.values.get(node)):
        raise _InexactError
    return waits


def is_exact(mod: IRModule, entry: str, arguments: Sequence[Any]) -> bool:
    """Whether all floats of a run, and all constants, are whole numbers or short binary fractions."""
    constants = [n.data for f in mod.functions.values() for n in post_order(f) if isinstance(n, Constant)]
    if not all(map(_is_exact_value, [*arguments, *constants])):
        return False
    try:
        _ExactEvaluator(mod).run(entry, arguments)
    except (_InexactError, PasslabError):
        return False
    return True


def noisy_runs(
    mod: IRModule, entry: str, arguments: Sequence[Any], noise: float, count: int = 8, first: int = 0
) -> list[Value]:
    """Return the results of a function under noise, with the seeds from `first` to `count`."""
    results, exact = [], is_exact(mod, entry, arguments)
    schedules: Schedules = WeakKeyDictionary()
    for seed in range(first, count):
        evaluator = CoverageEvaluator(mod, noise, seed, exact, schedules=schedules)
        results.append(evaluator.run(entry, [evaluator.noisy(value) for value in arguments]))
    return results


def noisy_values(
    mod: IRModule, entry: str, arguments: Sequence[Any], noise: float, count: int = 8, first: int = 0
) -> list[dict[Expr, Value]]:
    """Return the values of the nodes of a function under noise, with the seeds from `first` to `count`."""
    values, exact = [], is_exact(mod, entry, arguments)
    schedules: Schedules = WeakKeyDictionary()
    for seed in range(first, count):
        evaluator = CoverageEvaluator(mod, noise, seed, exact, schedules=schedules)
        values.append(evaluator.values(entry, [evaluator.noisy(value) for value in arguments]))
    return values
