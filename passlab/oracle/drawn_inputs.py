"""Draws: the random arguments on which programs are compared, reproducible by a seed.

One draw of typical numbers hides most faults: it has no ties, no overflow, no zero and no NaN. So each `Draw` has a
kind, and `DRAWS` lists the kinds, the most productive first. Each dynamic dimension gets a size of its own; where the
program refuses these sizes, some dimensions get equal ones (`SIZINGS`). Values of data types have a few constructors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.samples import random_arguments
from passlab.evaluate.values import ADTValue, Value
from passlab.ir.expr import Call, Constant, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar, IncompleteType, TensorType, TupleType, Type, TypeCall, map_type
from passlab.ir.walk import post_order
from passlab.op.dtypes import array_dtype, float_info, integer_info, is_float

Array = np.ndarray[Any, Any]
Maker = Callable[[np.random.Generator, Any, tuple[int, ...], "Sizes"], Array]
Sizing = Callable[[int, int, int], int]
# All differ; then all last ones are equal, as in products, or all first ones, as in lists of samples; then those on
# the same axis, as in sums; then all.
SIZINGS: tuple[Sizing, ...] = (
    lambda number, axis, last: number,
    lambda number, axis, last: 0 if last == -1 else number + 1,
    lambda number, axis, last: 0 if axis == 0 else number + 1,
    lambda number, axis, last: axis,
    lambda number, axis, last: 0,
)
CONSTANTS = 64  # numbers of a program that are used as inputs, at most
SPECIAL = 0.25  # share of the elements that are NaN, infinite or -0 in draws of such values


class Draw:
    """Arguments of one function. `kind` describes them; `special` says whether they contain NaN and infinities.

    `extreme` draws contain the largest and smallest numbers of their dtypes, on which only exact programs agree;
    `typical` ones are drawn so that values keep their size through a network. Arguments are drawn on first use.
    `others` draw the arguments with other sizes of dynamic dimensions, for a program that refuses the first ones;
    `numbers` are the program's, of which they are made.
    """

    def __init__(
        self,
        kind: str,
        arguments: tuple[Any, ...] | Callable[[], tuple[Any, ...]],
        special: bool = False,
        extreme: bool = False,
        typical: bool = False,
        others: Sequence[Callable[[], tuple[Any, ...]]] = (),
        numbers: tuple[float, ...] = (),
    ) -> None:
        self.kind = kind
        self.special = special
        self.extreme = extreme
        self.typical = typical
        self._arguments = arguments
        self._others = list(others)
        self.numbers = numbers

    def use_other_sizes(self) -> bool:
        """Draw the arguments with other sizes of dynamic dimensions; return whether there are any left."""
        if not self._others:
            return False
        self._arguments = self._others.pop(0)
        return True

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments. Raises `RunError` where a parameter has no values."""
        if callable(self._arguments):
            self._arguments = self._arguments()
        return self._arguments

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Sizes:
    """Parameters of one draw: the size of dynamic dimensions, and the numbers that the program contains.

    `more` returns how much larger than `size` the next dynamic dimension is, which lies on an axis counted from the
    first and, negatively, from the last. Draws of one `part` take other numbers than the parts before it.
    """

    size: int
    numbers: tuple[float, ...] = ()
    more: Callable[[int, int], int] = lambda axis, last: 0
    part: int = 0
    seed: int = 0


# ---------------------------------------------------------------- values by kind
def _choose(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], values: Sequence[float]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(rng.choice(np.asarray(values).astype(dtype), shape), dtype)


def _integer_range(dtype: Any) -> tuple[int, int]:
    info = integer_info(dtype)
    return int(info.min), int(info.max)


def _whole_numbers(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Small whole numbers, also negative ones and zero, so that there are ties."""
    if is_float(dtype):
        return _choose(rng, dtype, shape, (-2, -1, 0, 1, 2, 3))
    low = _integer_range(dtype)[0]
    return _choose(rng, dtype, shape, (0, 1, 2, 3) if low == 0 else (-3, -2, -1, 0, 1, 2, 3))


def _all_magnitudes(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Floats from a thousandth to a thousand of both signs; integers over the whole range of their dtype."""
    if is_float(dtype):
        signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
        return np.asarray(signs * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
    low, high = _integer_range(dtype)
    # Powers of two and their neighbours are where integers wrap and shifts overflow.
    powers = [2**k for k in range(high.bit_length())]
    edges = {low, high, 0, 1, -1, *(sign * p + d for p in powers for sign in (1, -1) for d in (-1, 0, 1))}
    inside = np.array([v for v in sorted(edges) if low <= v <= high], object)
    return np.asarray(rng.choice(inside, shape), object).astype(dtype)


LARGE = 100.0  # numbers of a program whose doubles are drawn as well
TINY = 1e-9  # and those whose reciprocals are


def _program_numbers(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """The numbers in the program, their neighbours and the middles between two: they reach all sides of comparisons.

    Of large ones also the doubles: a step behind 10,000 is less than what rounding may be. Of tiny ones also the
    reciprocals: the products with other numbers are lost in what they are added to.
    """
    ordered = sorted(sizes.numbers)
    values = [v + d for v in sizes.numbers for d in (0, -1, 1, -0.5, 0.5)] or [0.0]
    values += [2 * v for v in sizes.numbers if abs(v) >= LARGE]
    values += [(a + b) / 2 for a, b in itertools.pairwise(ordered)]
    values += [1 / v for v in sizes.numbers if 0 < abs(v) < TINY] if is_float(dtype) else []
    if not is_float(dtype):
        low, high = _integer_range(dtype)
        values = [v for v in map(int, values) if low <= v <= high] or [0]
    return _each_once(rng, dtype, shape, values, sizes)


def _each_once(
    rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], values: Sequence[float], sizes: Sizes
) -> Array:
    """Return an array with as many of the values as it has room for; further parts go on where the last one ended."""
    values = list(dict.fromkeys(values))
    size = math.prod(shape)
    order = np.random.default_rng(sizes.seed).permutation(len(values))  # the same in each part
    chosen = np.asarray(
        [values[order[(sizes.part * size + k) % len(values)]] for k in range(min(size, len(values)))], object
    )
    with np.errstate(all="ignore"):
        return rng.permutation(np.resize(chosen, size)).astype(dtype).reshape(shape)


_HALVES = (0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.0, 0.25, -0.75, 1.0)


def _halves(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Numbers halfway between two whole ones, and those next to them; integers next to powers of two."""
    if is_float(dtype):
        return _each_once(rng, dtype, shape, _HALVES, sizes)
    low, high = _integer_range(dtype)
    edges = (low, low + 1, high, high // 2 + 1, -1, 1, high - 1, low // 2, 0, 2, high // 2)
    return _each_once(rng, dtype, shape, [v for v in edges if low <= v <= high], sizes)


def _positive(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    if is_float(dtype):
        return np.asarray(rng.uniform(0.1, 2.0, shape)).astype(dtype)
    return np.asarray(rng.integers(1, 5, shape)).astype(dtype)


def _negative(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Numbers below zero, by which exponentials and their sums become small; zeros if none exist."""
    values = _positive(rng, dtype, shape, sizes)
    return np.asarray(-2 * values if is_float(dtype) or _integer_range(dtype)[0] < 0 else 0 * values, dtype)


def _indices(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Integers 0 and 1, which are valid indices of most tensors, and typical floats."""
    if is_float(dtype):
        return np.asarray(rng.uniform(-1.7, 1.7, shape)).astype(dtype)
    return np.asarray(rng.integers(0, 2, shape)).astype(dtype)


def _first_indices(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Integers 0, valid indices of whatever has an element, as of a batch of one, and typical floats."""
    values = _indices(rng, dtype, shape, sizes)
    return values if is_float(dtype) else np.zeros_like(values)


def _overflowing(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Numbers so large that their products overflow, and small ones."""
    if not is_float(dtype):
        high = _integer_range(dtype)[1]
        return _choose(rng, dtype, shape, (0, 1, 2, high // 2, high // 2 + 1, high))
    # Half of the digits of the largest number: the product of two such numbers overflows.
    digits = float(np.log10(float(float_info(dtype).max)))
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    large = 10.0 ** rng.uniform(0.5 * digits, 0.8 * digits, shape)
    return np.asarray(signs * np.where(rng.random(shape) < 0.5, large, 1.0)).astype(dtype)


def _ones(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    return np.ones(shape, dtype)


def _zeros(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    return np.zeros(shape, dtype)


def _special(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """NaN, infinities and -0 among whole numbers."""
    values = _whole_numbers(rng, dtype, shape, sizes)
    if not is_float(dtype):
        return values
    flat = values.ravel()
    count = max(1, round(flat.size * SPECIAL)) if flat.size else 0
    where = rng.permutation(flat.size)[:count]  # without repetition, so that exactly `count` elements are special
    flat[where] = np.resize(np.array([np.nan, np.inf, -0.0, -np.inf]), count).astype(dtype)
    return flat.reshape(shape)


def _extreme(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """The largest, smallest and least normal numbers of a dtype."""
    if not is_float(dtype):
        low, high = _integer_range(dtype)
        return _choose(rng, dtype, shape, (low, high, low // 2, high // 2, 0, 1))
    info = float_info(dtype)
    edges = [float(v) for v in (info.max, info.smallest_subnormal, info.smallest_normal, info.eps)]
    return _choose(rng, dtype, shape, [*edges, *(-v for v in edges), 1.0, -1.0])


def _is_dynamic(function: Function) -> bool:
    """Whether a parameter has no typical value: a dynamic shape, or a data type."""
    parts = _parameter_types(function)
    return any((isinstance(ty, TensorType) and ty.dynamic) or isinstance(ty, TypeCall) for ty in parts)


def _takes_integers(function: Function) -> bool:
    return any(isinstance(ty, TensorType) and "int" in ty.dtype for ty in _parameter_types(function))


def _parameter_types(function: Function) -> list[Type | None]:
    """Return the types of parameters, and of the fields of tuples among them."""
    worklist: list[Type | None] = [p.checked_type_ or p.type_annotation for p in function.params]
    parts: list[Type | None] = []
    while worklist:
        ty = worklist.pop()
        parts.append(ty)
        if isinstance(ty, TupleType):
            worklist.extend(ty.fields)
    return parts


_SHORT = ("int8", "uint8", "int16", "uint16")  # casts to these may overflow


@dataclass(frozen=True)
class _DrawKind:
    name: str
    make: Maker | None  # None: typical numbers
    size: int  # of dynamic dimensions
    special: bool = False
    extreme: bool = False
    typical: bool = False
    only: Callable[[Function], bool] | None = None  # restricts the kind to some programs
    part: int = 0  # of the values of a kind that are taken one after the other
    alike: bool = False  # all dynamic dimensions have the same size


DRAWS = (
    _DrawKind("typical numbers", None, 3, typical=True),
    _DrawKind("small whole numbers with ties", _whole_numbers, 2),
    _DrawKind("positive numbers", _positive, 3),
    _DrawKind("numbers of all magnitudes", _all_magnitudes, 4),
    _DrawKind("the numbers of the program and their neighbours", _program_numbers, 3),
    _DrawKind("more typical numbers", None, 1, typical=True),
    _DrawKind("ones", _ones, 2),
    _DrawKind("zeros", _zeros, 5),
    _DrawKind("NaN, infinities and negative zeros", _special, 3, special=True),
    _DrawKind("the extremes of each dtype", _extreme, 2, extreme=True),
    _DrawKind("more small whole numbers with ties", _whole_numbers, 3),
    _DrawKind("more of the numbers of the program", _program_numbers, 2, part=1),
    _DrawKind("more numbers of all magnitudes", _all_magnitudes, 1),
    _DrawKind("more NaN, infinities and negative zeros", _special, 2, special=True),
    _DrawKind("typical numbers and integers of 0 and 1", _indices, 3, typical=True, only=_takes_integers),
    _DrawKind("typical numbers and integers of 0", _first_indices, 2, typical=True, only=_takes_integers),
    _DrawKind("magnitudes whose products overflow", _overflowing, 2, extreme=True),
    _DrawKind("tensors without elements", _positive, 0, only=_is_dynamic, alike=True),
    _DrawKind("tensors of one element", _positive, 1, only=_is_dynamic, alike=True),
    _DrawKind("halves", _halves, 4),
    _DrawKind("negative numbers", _negative, 3),
)
INTRODUCED = "the numbers that the pass introduced"
MOST_PARTS = 8  # draws of such numbers


# ---------------------------------------------------------------- arguments
def draws(mod: IRModule, entry: str = "main", seed: int = 0) -> Iterator[Draw]:
    """Yield a draw of every kind for a function. Raises `RunError` for parameters without random values (functions)."""
    function = mod[entry]
    numbers = tuple(numbers_of(function))
    for position, kind in enumerate(DRAWS):
        if kind.only is not None and not kind.only(function):
            continue
        draw = _draw(mod, function, kind, (seed, position), numbers)
        if not position:
            _ = draw.arguments  # a parameter without values is reported at once
        yield draw


def introduced_numbers(before: IRModule, after: IRModule, entry: str = "main", seed: int = 0) -> Iterator[Draw]:
    """Yield draws of the numbers that a function has after a pass and had not before: boundaries of its rules."""
    if entry not in after:
        return
    known = set(numbers_of(before[entry]))
    numbers = tuple([v for v in numbers_of(after[entry]) if v not in known])
    if not numbers:
        return
    types = [ty for ty in _parameter_types(before[entry]) if isinstance(ty, TensorType)]
    room = min((math.prod(d if isinstance(d, int) else 3 for d in ty.shape) for ty in types), default=1)
    for part in range(min(MOST_PARTS, -(-8 * len(numbers) // max(1, room)))):  # about 8 values for each number
        kind = _DrawKind(INTRODUCED if not part else f"more of {INTRODUCED}", _program_numbers, 3, part=part)
        yield _draw(before, before[entry], kind, (seed, len(DRAWS) + part), numbers)


def _draw(
    mod: IRModule, function: Function, kind: _DrawKind, seed: tuple[int, int], numbers: tuple[float, ...]
) -> Draw:
    plain = not _is_dynamic(function)

    def arguments(sizing: Sizing) -> tuple[Any, ...]:
        if kind.make is None and plain:
            return tuple(random_arguments(function, sum(seed), "give it: inputs=[...]"))
        counter = itertools.count()
        sizes = Sizes(kind.size, numbers, lambda axis, last: sizing(next(counter), axis, last), kind.part, seed[0])
        # One generator for each parameter, so that none depends on the types of those before it.
        generators = [np.random.default_rng((*seed, number)) for number in range(len(function.params))]
        pairs = zip(function.params, generators, strict=True)
        return tuple([_random_value(param, mod, rng, kind, sizes) for param, rng in pairs])

    sizings = SIZINGS[-1:] if plain or kind.alike else SIZINGS
    first, *others = [partial(arguments, sizing) for sizing in sizings]
    return Draw(kind.name, first, kind.special, kind.extreme, kind.typical, others, numbers)


def numbers_of(function: Function) -> list[float]:
    """Return the numbers in a function: small constants, numeric attributes, and bounds of short integer dtypes.

    They reach both sides of the guards of rewrites: clips that cut or not, casts that wrap or not.
    """
    numbers: dict[float, None] = {}
    for node in post_order(function):
        if len(numbers) >= CONSTANTS:
            break
        if isinstance(node, Constant) and node.data.size <= 4 and node.data.dtype != object:
            numbers.update((float(v), None) for v in node.data.astype(np.float64).ravel() if np.isfinite(v))
        elif isinstance(node, Call) and node.attrs is not None:
            values = [value for _, value in node.attrs.items()]
            numbers.update((float(v), None) for v in values if isinstance(v, (int, float)) and np.isfinite(v))
            numbers.update((float(end), None) for v in values if v in _SHORT for end in _integer_range(array_dtype(v)))
    return [value for value in numbers if abs(value) < 2.0**31]


def _random_value(param: Var, mod: IRModule, rng: np.random.Generator, kind: _DrawKind, sizes: Sizes) -> Value:
    """Return a value of a parameter's type, built from the inside out."""
    positive = param.name_hint.endswith(("var", "gamma"))  # variances are not negative
    ty = param.checked_type_ or param.type_annotation or IncompleteType()
    build: list[tuple[str, Any, int]] = [("type", ty, 0)]
    values: list[Any] = []
    while build:
        action, what, depth = build.pop()
        if action == "tuple":
            values[len(values) - depth :] = [tuple(values[len(values) - depth :])]  # one tuple in place of its fields
        elif action == "data":
            count = len(what.inputs)
            fields = values[len(values) - count :]
            del values[len(values) - count :]
            values.append(ADTValue(what, fields))
        elif isinstance(what, TensorType):
            tensor = _random_tensor(what, rng, kind, sizes)
            values.append(np.abs(tensor) if positive and is_float(tensor.dtype) else tensor)
        elif isinstance(what, TupleType):
            build.append(("tuple", None, len(what.fields)))
            build.extend(("type", field, depth) for field in reversed(what.fields))
        elif isinstance(what, TypeCall):
            constructor, fields = _choose_constructor(mod, what, rng, depth)
            build.append(("data", constructor, depth))
            build.extend(("type", field, depth + 1) for field in reversed(fields))
        else:
            message, hint = f"%{param.name_hint} has no random value", "give it: inputs=[...]"
            raise RunError(Diagnostic(message, expected="tensors or data", found=str(what), hint=hint))
    return values[0]


def _choose_constructor(mod: IRModule, ty: TypeCall, rng: np.random.Generator, depth: int) -> tuple[Any, list[Type]]:
    """Choose a constructor of a data type and return it with the types of its fields.

    From depth 3 on it is one with the fewest fields of the same data type, so that the value is finite.
    """
    assert isinstance(ty.func, GlobalTypeVar)
    data = mod.type_definitions[ty.func]
    if not data.constructors:
        raise RunError(Diagnostic(f"the data type {ty.func} has no constructors", hint="give a value: inputs=[...]"))
    own = [sum(isinstance(field, TypeCall) and field.func is ty.func for field in c.inputs) for c in data.constructors]
    possible = [c for c, count in zip(data.constructors, own, strict=True) if depth < 3 or count == min(own)]
    if depth >= 8:
        raise RunError(Diagnostic(f"the data type {ty.func} has no small value", hint="give it: inputs=[...]"))
    constructor = possible[int(rng.integers(len(possible)))]
    mapping: dict[Type, Type] = dict(zip(data.type_vars, ty.args, strict=True))
    return constructor, [map_type(field, mapping.get) for field in constructor.inputs]


def _random_tensor(ty: TensorType, rng: np.random.Generator, kind: _DrawKind, sizes: Sizes) -> Array:
    rank = len(ty.shape)
    shape = tuple(
        [
            dim if isinstance(dim, int) else sizes.size + sizes.more(axis, axis - rank)
            for axis, dim in enumerate(ty.shape)
        ]
    )
    dtype = array_dtype(ty.dtype)
    if ty.dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if kind.make is not None:
        return kind.make(rng, dtype, shape, sizes)
    if not is_float(dtype):
        return np.asarray(rng.integers(0, 10, shape)).astype(dtype)
    return np.asarray(rng.uniform(-1.7, 1.7, shape)).astype(dtype)
