"""`Watched`: the reference evaluator, which also notes the branches that ran and whether every number was finite.

With `noise` each result of an operator is moved by about that many units in the last place, as rounding might have
done. How far the results of several noisy runs lie apart says how far two programs may differ that round differently
(stochastic arithmetic, as in CADNA: Jezequel and Chesneaux, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.evaluator import STEPS
from passlab.evaluate.operators import apply_operator
from passlab.evaluate.values import Value
from passlab.instrument.known_results import Key, KnownResult, KnownResults
from passlab.ir.expr import Call, Constant, Expr, GlobalVar, If, Match
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern, Trait, has_trait
from passlab.ir.walk import post_order
from passlab.op.dtypes import float_info, is_float

Array = np.ndarray[Any, Any]
SAMPLE = 64  # elements that are looked at first
SUMS = (OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE)  # of operators that add many numbers up
OF_MANY_STEPS = (*SUMS, OpPattern.OPAQUE)
EXACT_RESULTS = Trait.MAKES_WHOLE | Trait.MOVES  # what is short is so whatever it was made of
LARGE = 1 << 16  # elements
SHORTENING = 1000.0  # units of noise from which on it stands for shorter floats
FRACTION = 64.0  # multiples of one over it count as exact
WHOLE = 0.6  # of the digits of a dtype, that exact numbers may have: products and sums of them need the others
WITH_SIDES = Trait.COMPARES | Trait.CLAMPS
Branch = tuple[
    Expr, int
]  # an `if` or `match`, and the number of the branch; a comparison or clip, and one of its sides


class Watched(Evaluator):
    """Runs programs like the evaluator. `finite` tells whether every float so far was, `branches` which arms ran.

    What `results` know from earlier runs is not computed again.

    Where not all numbers of a run are `exact`, sums of exact ones round, too: a pass may scale what they are made of.
    """

    def __init__(
        self,
        mod: IRModule,
        noise: float = 0.0,
        seed: int = 0,
        exact: bool = True,
        results: KnownResults | None = None,
    ) -> None:
        super().__init__(mod)
        self.results = results  # of earlier runs: without noise only
        self.finite = True
        self.branches: set[Branch] = set()
        self.noise = noise
        self.exact = exact
        self._rng = np.random.default_rng(seed)
        self._steps = {**STEPS, Call: _watched_call, If: _watched_if, Match: _watched_match}
        if noise > SHORTENING:
            self._steps[Constant] = _moved_constant

    def noisy(self, value: Any) -> Any:
        """Move an argument as rounding might have before the program began."""
        if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
            return value
        with np.errstate(all="ignore"):
            return self._perturbed_array(value)

    def observe(self, value: Value, sums: bool = False, operands: Sequence[Value] = ()) -> Value:
        """Note what an operator gave, and move it where there is noise. `sums` says that it adds many numbers up.

        A number that looks exact is so only if it was made of `operands` that are: thirty times 0.1 is three by luck.
        """
        if isinstance(value, tuple):
            return tuple([self._array(v, sums, operands) if isinstance(v, np.ndarray) else v for v in value])
        return self._array(value, sums, operands) if isinstance(value, np.ndarray) else value

    def _array(self, value: Array, sums: bool, operands: Sequence[Value]) -> Array:
        if not is_float(value.dtype) or not value.size:
            return value
        with np.errstate(all="ignore"):
            if self.finite and not np.isfinite(value).all():
                self.finite = False
            return self._perturbed_array(value, sums, operands) if self.noise else value

    def _perturbed_array(self, value: Array, sums: bool = False, operands: Sequence[Value] = ()) -> Array:
        """Move numbers as rounding might have; whole numbers and short binary fractions are exact, and stay.

        A sum rounds in units of what it adds up, as the other sums of its tensor tell: it may have cancelled.
        """
        eps = float(float_info(value.dtype).eps)
        if _all_short(value, eps) and all(_made_of_short(operand) for operand in operands):
            return value
        return self._moved(value, sums)

    def _moved(self, value: Array, sums: bool = False) -> Array:
        eps = float(float_info(value.dtype).eps)
        if value.dtype in (np.float32, np.float64):  # infinities and NaN stay what they are under a factor near one
            factor = self._rng.random(value.shape, value.dtype)  # float32 holds no factor that moves float64
            factor *= 2.0 * eps * self.noise
            factor += 1.0 - eps * self.noise
            moved = value * factor
            if sums:
                moved = moved + eps * self.noise * _size(value) * self._rng.uniform(-1.0, 1.0, value.shape)
            return np.asarray(moved, value.dtype)
        wide = value.astype(np.float64)
        amount = wide + _size(wide) if sums else wide
        moved = wide + amount * (eps * self.noise * self._rng.uniform(-1.0, 1.0, value.shape))
        return np.where(np.isfinite(wide), moved, wide).astype(value.dtype)

    def rounded_inside(self, call: Call, args: Sequence[Value], value: Value) -> Value:
        """Return what an operator of many steps gives where it rounds otherwise on the way, as moved operands show.

        What cancels inside of it, element by element, does not show in its result: a sum of terms, a difference from a
        mean. Where all numbers are exact nothing is moved, nor in large tensors, where many terms even out.
        """
        results = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(r, np.ndarray) and is_float(r.dtype) and r.size <= LARGE for r in results):
            return value
        floats = [n for n, a in enumerate(args) if isinstance(a, np.ndarray) and is_float(a.dtype) and a.size]
        if not floats or max(args[n].size for n in floats) > LARGE:
            return value
        if self.exact and _made_of_short(value) and all(_made_of_short(args[n]) for n in floats):
            return value
        with np.errstate(all="ignore"):
            moved = [self._moved(arg) if n in floats else arg for n, arg in enumerate(args)]
        try:
            return apply_operator(call.op, call.attrs, moved)  # type: ignore[arg-type]
        except PasslabError:
            return value


def _all_short(value: Array, eps: float) -> bool:
    return _is_short(value.reshape(-1)[:SAMPLE], eps) and _is_short(value, eps)


def _made_of_short(value: Value) -> bool:
    """Whether all floats in a tensor, or a tuple of them, are whole numbers or short binary fractions."""
    arrays = value if isinstance(value, tuple) else (value,)
    floats = [a for a in arrays if isinstance(a, np.ndarray) and is_float(a.dtype) and a.size]
    return all(_all_short(array, float(float_info(array.dtype).eps)) for array in floats)


def _is_short(value: Array, eps: float) -> bool:
    """Whether all numbers are whole ones or short binary fractions, so small that arithmetic keeps them exact."""
    wide = value.astype(np.float64)
    if (np.abs(wide[np.isfinite(wide)]) > eps**-WHOLE).any():
        return False
    wide = wide * FRACTION
    return bool(np.array_equal(wide, np.rint(wide), equal_nan=True))


def _size(value: Array) -> float:
    """Return the root of the mean square of the finite numbers in a tensor."""
    wide = value[np.isfinite(value)].astype(np.float64)
    return float(np.sqrt(np.mean(wide * wide))) if wide.size else 0.0


def _watched_call(ev: Any, node: Call, act: Any) -> Any:
    key = None if ev.results is None else _key(ev.results, node, act)
    if key is not None and (earlier := ev.results.find(key)) is not None:
        ev.branches.update((node, side) for side in earlier.sides)
        act.values[node] = earlier.value
        return []
    waits = STEPS[Call](ev, node, act)
    if not waits and isinstance(node.op, Op) and node in act.values:
        spec, value, sides = node.op.spec, act.values[node], tuple[int, ...]()
        operands = [] if spec.traits & EXACT_RESULTS else [act.home(arg).values.get(arg) for arg in node.args]
        if ev.noise and operands and spec.pattern in OF_MANY_STEPS:
            value = ev.rounded_inside(node, operands, value)
        if not ev.noise and has_sides(node):
            sides = _sides_taken(node, act.home(node.args[0]).values, value)
            ev.branches.update((node, side) for side in sides)
        act.values[node] = ev.observe(value, spec.pattern in SUMS, operands)
        if key is not None and ev.finite:
            ev.results.keep(key, KnownResult(value, sides), node.attrs)
    return waits


def _key(results: KnownResults, node: Call, act: Any) -> Key | None:
    """Return what the result of a call is found by; None while an operand is not known yet."""
    operands = [act.home(arg).values.get(arg) for arg in node.args]
    return None if any(operand is None for operand in operands) else results.key(node, operands)


def _moved_constant(ev: Any, node: Constant, act: Any) -> Any:
    """A constant in shorter floats is another number, too."""
    waits = STEPS[Constant](ev, node, act)
    act.values[node] = ev.noisy(act.values[node])
    return waits


def has_sides(node: Expr) -> bool:
    """Whether a call is one that numbers fall on two sides of."""
    return has_trait(node, WITH_SIDES)


def _sides_taken(node: Call, values: Any, result: Any) -> tuple[int, ...]:
    """Return the sides on which some number fell: false and true; below and above the bounds of a clamp."""
    if result.dtype == bool:
        return tuple([int(side) for side in np.unique(result)])
    data = values[node.args[0]]
    low, high = (0.0, 0.0) if node.attrs is None or "a_min" not in node.attrs else (node.attrs.a_min, node.attrs.a_max)
    with np.errstate(all="ignore"):
        return tuple([side for side, taken in enumerate((data < low, data > high)) if np.any(taken)])


def _watched_if(ev: Any, node: If, act: Any) -> Any:
    waits = STEPS[If](ev, node, act)
    condition = act.home(node.cond).values.get(node.cond)
    if condition is not None:
        ev.branches.add((node, 0 if bool(condition) else 1))
    return waits


def _watched_match(ev: Any, node: Match, act: Any) -> Any:
    waits = STEPS[Match](ev, node, act)
    for number, clause in enumerate(node.clauses):
        if clause.rhs in act.home(clause.rhs).values or any(part is clause.rhs for part, _ in waits or ()):
            ev.branches.add((node, number))
            break
    return waits


def branches_of(mod: IRModule, entry: str) -> set[Branch]:
    """Return all arms of the `if`s and `match`es that a function can reach, and all sides of comparisons and clips."""
    branches: set[Branch] = set()
    waiting, seen = [entry], {entry}
    while waiting:
        for node in post_order(mod[waiting.pop()]):
            if isinstance(node, If) or has_sides(node):
                branches |= {(node, 0), (node, 1)}
            elif isinstance(node, Match):
                branches |= {(node, number) for number in range(len(node.clauses))}
            elif isinstance(node, GlobalVar) and node.name_hint not in seen and node.name_hint in mod:
                seen.add(node.name_hint)
                waiting.append(node.name_hint)
    return branches


class _InexactError(Exception):
    """A number of a run is not exact."""


class _Exact(Evaluator):
    """Runs a program until a number is not exact."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._steps = {**STEPS, Call: _exact_call}


def _exact_call(ev: Any, node: Call, act: Any) -> Any:
    waits = STEPS[Call](ev, node, act)
    if not waits and isinstance(node.op, Op) and not _made_of_short(act.values.get(node)):
        raise _InexactError
    return waits


def is_exact(mod: IRModule, entry: str, arguments: Sequence[Any]) -> bool:
    """Whether all floats of a run are whole numbers or short binary fractions, those of the program among them."""
    constants = [n.data for f in mod.functions.values() for n in post_order(f) if isinstance(n, Constant)]
    if not all(map(_made_of_short, [*arguments, *constants])):
        return False
    try:
        _Exact(mod).run(entry, arguments)
    except (_InexactError, PasslabError):
        return False
    return True


def noisy_runs(
    mod: IRModule, entry: str, arguments: Sequence[Any], noise: float, count: int = 8, first: int = 0
) -> list[Value]:
    """Return the results of a function under several noises, those from `first` on."""
    results, exact = [], is_exact(mod, entry, arguments)
    for seed in range(first, count):
        evaluator = Watched(mod, noise, seed, exact)
        results.append(evaluator.run(entry, [evaluator.noisy(value) for value in arguments]))
    return results


def noisy_values(
    mod: IRModule, entry: str, arguments: Sequence[Any], noise: float, count: int = 8, first: int = 0
) -> list[dict[Expr, Value]]:
    """Return the values of the nodes of a function under several noises, those from `first` on."""
    values, exact = [], is_exact(mod, entry, arguments)
    for seed in range(first, count):
        evaluator = Watched(mod, noise, seed, exact)
        values.append(evaluator.values(entry, [evaluator.noisy(value) for value in arguments]))
    return values
