"""Draws: the arguments that programs are compared on. The same for the same seed.

One draw of typical numbers hides most faults: nothing ties, nothing overflows, nothing is negative, zero or NaN. A
`Draw` has a kind, which says what its values are good for; `DRAWS` lists the kinds in the order in which they are
worth trying. Dynamic dimensions get a size of the draw's own, data types values of a few constructors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.samples import random_arguments
from passlab.evaluate.values import ADTValue
from passlab.ir.expr import Call, Constant, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar, IncompleteType, TensorType, TupleType, Type, TypeCall, map_type
from passlab.ir.walk import post_order
from passlab.op.dtypes import array_dtype, float_info, integer_info, is_float

Array = np.ndarray[Any, Any]
Maker = Callable[[np.random.Generator, Any, tuple[int, ...], "Sizes"], Array]
CONSTANTS = 64  # numbers of a program that are tried as inputs
SPECIAL = 0.25  # of the elements of a tensor are NaN, infinite or -0 where such values are tried


class Draw:
    """Arguments of one function. `kind` says what they are, `special` whether NaN and infinities are among them.

    `extreme` draws hold the largest and smallest numbers of their dtypes, on which only exact programs agree; `typical`
    ones are drawn so that values keep their size through a network. Arguments are drawn when they are first asked for.
    """

    def __init__(
        self,
        kind: str,
        arguments: tuple[Any, ...] | Callable[[], tuple[Any, ...]],
        special: bool = False,
        extreme: bool = False,
        typical: bool = False,
    ) -> None:
        self.kind = kind
        self.special = special
        self.extreme = extreme
        self.typical = typical
        self._arguments = arguments

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
    """What the values of one draw depend on: the size of dynamic dimensions, and the numbers that the program holds."""

    size: int
    numbers: tuple[float, ...] = ()


# ---------------------------------------------------------------- values by kind
def _chosen(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], values: Sequence[float]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(rng.choice(np.asarray(values).astype(dtype), shape), dtype)


def _integer_range(dtype: Any) -> tuple[int, int]:
    info = integer_info(dtype)
    return int(info.min), int(info.max)


def _whole(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Small whole numbers, negative ones and zero among them, so that many are equal."""
    if is_float(dtype):
        return _chosen(rng, dtype, shape, (-2, -1, 0, 1, 2, 3))
    low = _integer_range(dtype)[0]
    return _chosen(rng, dtype, shape, (0, 1, 2, 3) if low == 0 else (-3, -2, -1, 0, 1, 2, 3))


def _wide(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Floats from a thousandth to a thousand of both signs; integers over the whole range of their dtype."""
    if is_float(dtype):
        signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
        return np.asarray(signs * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
    low, high = _integer_range(dtype)
    powers = [2**k for k in range(high.bit_length())]
    edges = {low, high, 0, 1, -1, *(sign * p + d for p in powers for sign in (1, -1) for d in (-1, 0, 1))}
    inside = np.array([v for v in sorted(edges) if low <= v <= high], object)
    return np.asarray(rng.choice(inside, shape), object).astype(dtype)


def _numbers(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """The numbers that stand in the program, their neighbours, and what lies between two: all sides of comparisons."""
    ordered = sorted(sizes.numbers)
    values = [v + d for v in sizes.numbers for d in (-1, -0.5, 0, 0.5, 1)] or [0.0]
    values += [(a + b) / 2 for a, b in itertools.pairwise(ordered)]
    if not is_float(dtype):
        low, high = _integer_range(dtype)
        values = [v for v in map(int, values) if low <= v <= high] or [0]
    return _chosen(rng, dtype, shape, values)


def _positive(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    if is_float(dtype):
        return np.asarray(rng.uniform(0.1, 2.0, shape)).astype(dtype)
    return np.asarray(rng.integers(1, 5, shape)).astype(dtype)


def _indices(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Integers of 0 and 1, which index most tensors, beside typical floats."""
    if is_float(dtype):
        return np.asarray(rng.uniform(-1.7, 1.7, shape)).astype(dtype)
    return np.asarray(rng.integers(0, 2, shape)).astype(dtype)


def _overflowing(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """Numbers so large that their products are beyond their dtype, and small ones."""
    if not is_float(dtype):
        high = _integer_range(dtype)[1]
        return _chosen(rng, dtype, shape, (0, 1, 2, high // 2, high // 2 + 1, high))
    digits = float(np.log10(float(float_info(dtype).max)))
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    large = 10.0 ** rng.uniform(0.5 * digits, 0.8 * digits, shape)
    return np.asarray(signs * np.where(rng.random(shape) < 0.5, large, 1.0)).astype(dtype)


def _equal(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    return np.ones(shape, dtype)


def _zero(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    return np.zeros(shape, dtype)


def _special(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """NaN, infinities and -0 among whole numbers."""
    values = _whole(rng, dtype, shape, sizes)
    if not is_float(dtype):
        return values
    flat = values.ravel()
    count = max(1, round(flat.size * SPECIAL)) if flat.size else 0
    where = rng.permutation(flat.size)[:count]
    flat[where] = np.resize(np.array([np.nan, np.inf, -0.0, -np.inf]), count).astype(dtype)
    return flat.reshape(shape)


def _extreme(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], sizes: Sizes) -> Array:
    """The largest, smallest and least normal numbers of a dtype."""
    if not is_float(dtype):
        low, high = _integer_range(dtype)
        return _chosen(rng, dtype, shape, (low, high, low // 2, high // 2, 0, 1))
    info = float_info(dtype)
    edges = [float(v) for v in (info.max, info.smallest_subnormal, info.smallest_normal, info.eps)]
    return _chosen(rng, dtype, shape, [*edges, *(-v for v in edges), 1.0, -1.0])


def _is_dynamic(function: Function) -> bool:
    """Whether a parameter has no typical value: a dynamic shape, or a data type."""
    parts = _parts(function)
    return any((isinstance(ty, TensorType) and ty.dynamic) or isinstance(ty, TypeCall) for ty in parts)


def _takes_integers(function: Function) -> bool:
    return any(isinstance(ty, TensorType) and "int" in ty.dtype for ty in _parts(function))


def _parts(function: Function) -> list[Type | None]:
    """The types of parameters, and of the fields of those that are tuples."""
    waiting: list[Type | None] = [p.checked_type_ or p.type_annotation for p in function.params]
    parts: list[Type | None] = []
    while waiting:
        ty = waiting.pop()
        parts.append(ty)
        if isinstance(ty, TupleType):
            waiting.extend(ty.fields)
    return parts


_SHORT = ("int8", "uint8", "int16", "uint16")  # what a program makes of wider numbers, which may lie beyond


@dataclass(frozen=True)
class _Kind:
    name: str
    make: Maker | None  # None: typical numbers
    size: int  # of dynamic dimensions
    special: bool = False
    extreme: bool = False
    typical: bool = False
    only: Callable[[Function], bool] | None = None  # programs that it is worth trying on


DRAWS = (
    _Kind("typical numbers", None, 3, typical=True),
    _Kind("small whole numbers with ties", _whole, 2),
    _Kind("positive numbers", _positive, 3),
    _Kind("numbers of all magnitudes", _wide, 4),
    _Kind("the numbers of the program and their neighbours", _numbers, 3),
    _Kind("more typical numbers", None, 1, typical=True),
    _Kind("ones", _equal, 2),
    _Kind("zeros", _zero, 5),
    _Kind("NaN, infinities and negative zeros", _special, 3, special=True),
    _Kind("the extremes of each dtype", _extreme, 2, extreme=True),
    _Kind("more small whole numbers with ties", _whole, 3),
    _Kind("more of the numbers of the program", _numbers, 2),
    _Kind("more numbers of all magnitudes", _wide, 1),
    _Kind("more NaN, infinities and negative zeros", _special, 2, special=True),
    _Kind("typical numbers and integers of 0 and 1", _indices, 3, typical=True, only=_takes_integers),
    _Kind("magnitudes whose products overflow", _overflowing, 2, extreme=True),
    _Kind("tensors without elements", _positive, 0, only=_is_dynamic),
)


# ---------------------------------------------------------------- arguments
def draws(mod: IRModule, entry: str = "main", seed: int = 0) -> Iterator[Draw]:
    """Yield arguments for a function, of every kind. Raises `RunError` for parameters without values (functions)."""
    function = mod[entry]
    numbers = tuple(numbers_of(function))
    plain = not _is_dynamic(function)
    for position, kind in enumerate(DRAWS):
        if kind.only is not None and not kind.only(function):
            continue

        def arguments(position: int = position, kind: _Kind = kind) -> tuple[Any, ...]:
            if kind.make is None and plain:
                return tuple(random_arguments(function, seed + position, "give it: inputs=[...]"))
            sizes = Sizes(kind.size, numbers)
            sources = [np.random.default_rng((seed, position, number)) for number, _ in enumerate(function.params)]
            return tuple([_value(p, mod, rng, kind, sizes) for p, rng in zip(function.params, sources, strict=True)])

        draw = Draw(kind.name, arguments, kind.special, kind.extreme, kind.typical)
        if not position:
            _ = draw.arguments  # a parameter without values is reported at once
        yield draw


def numbers_of(function: Function) -> list[float]:
    """Return the numbers that stand in a function: small constants, bounds in attributes, and ends of short integers.

    Both sides of the guards of rewrites are met so: clips that cut and do not, casts that wrap and do not.
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


def _value(param: Var, mod: IRModule, rng: np.random.Generator, kind: _Kind, sizes: Sizes) -> Any:
    """Return a value of a parameter's type, built from the inside out."""
    positive = param.name_hint.endswith(("var", "gamma"))
    ty = param.checked_type_ or param.type_annotation or IncompleteType()
    build: list[tuple[str, Any, int]] = [("type", ty, 0)]
    values: list[Any] = []
    while build:
        action, what, depth = build.pop()
        if action == "tuple":
            values[len(values) - depth :] = [tuple(values[len(values) - depth :])]
        elif action == "data":
            count = len(what.inputs)
            fields = values[len(values) - count :]
            del values[len(values) - count :]
            values.append(ADTValue(what, fields))
        elif isinstance(what, TensorType):
            tensor = _tensor(what, rng, kind, sizes)
            values.append(np.abs(tensor) if positive and is_float(tensor.dtype) else tensor)
        elif isinstance(what, TupleType):
            build.append(("tuple", None, len(what.fields)))
            build.extend(("type", field, depth) for field in reversed(what.fields))
        elif isinstance(what, TypeCall):
            constructor, fields = _constructor(mod, what, rng, depth)
            build.append(("data", constructor, depth))
            build.extend(("type", field, depth + 1) for field in reversed(fields))
        else:
            message, hint = f"%{param.name_hint} has no random value", "give it: inputs=[...]"
            raise RunError(Diagnostic(message, expected="tensors or data", found=str(what), hint=hint))
    return values[0]


def _constructor(mod: IRModule, ty: TypeCall, rng: np.random.Generator, depth: int) -> tuple[Any, list[Type]]:
    """Choose a constructor of a data type and return it with the types of its fields; deep down one that ends."""
    assert isinstance(ty.func, GlobalTypeVar)
    data = mod.type_definitions[ty.func]
    own = [sum(_mentions(field, ty.func) for field in c.inputs) for c in data.constructors]
    possible = [c for c, count in zip(data.constructors, own, strict=True) if depth < 3 or count == min(own)]
    if depth >= 8:
        raise RunError(Diagnostic(f"the data type {ty.func} has no small value", hint="give it: inputs=[...]"))
    constructor = possible[int(rng.integers(len(possible)))]
    mapping: dict[Type, Type] = dict(zip(data.type_vars, ty.args, strict=True))
    return constructor, [map_type(field, mapping.get) for field in constructor.inputs]


def _mentions(ty: Type, name: Any) -> bool:
    return isinstance(ty, TypeCall) and ty.func is name


def _tensor(ty: TensorType, rng: np.random.Generator, kind: _Kind, sizes: Sizes) -> Array:
    shape = tuple(dim if isinstance(dim, int) else sizes.size for dim in ty.shape)
    dtype = array_dtype(ty.dtype)
    if ty.dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if kind.make is not None:
        return kind.make(rng, dtype, shape, sizes)
    if not is_float(dtype):
        return np.asarray(rng.integers(0, 10, shape)).astype(dtype)
    return np.asarray(rng.uniform(-1.7, 1.7, shape)).astype(dtype)
