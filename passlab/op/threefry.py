"""Random numbers from keys: Threefry, a splittable generator without hidden state.

A key is ten 64-bit words: 4 of key, 2 of path (the splits that led here), 2 of counter, 2 that mark the next bit of the
path. Random words are the Threefry-4x64 hash, in 20 rounds, of path and counter under the key. They agree with TVM's
bit for bit, and so differ from the paper's in three ways. A mixed word uses the sum just written, no key is added at
the end, and the number of a block is added to path and counter alike.

Sources: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (2011); Claessen, Palka, "Splittable
Pseudorandom Number Generators using Cryptographic Hashing" (2013); "The Skein Hash Function Family" (2010), for the
constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import Op, OpCall, Relation, Reporter
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, dims, dtype, integer
from passlab.op.autodiff import attrs_of, zero_gradient
from passlab.op.create import scalar
from passlab.op.declare import Python, call, constant, field_of, operator
from passlab.op.dtypes import Array, array_dtype, guard_size, is_float_name
from passlab.op.relations import join_dim, refuse, tensor

KEY = TensorType((10,), "uint64")
_WORD = (1 << 64) - 1
_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_FRACTION = {"float16": 10, "float32": 23, "float64": 52}  # bits of the mantissa; 7 for all smaller floats
_PATH_START = 1 << 63


def threefry_hash(key: Sequence[int], block: Array) -> Array:
    """Return the hash of `block` (n, 4) uint64 under a key of four words."""
    words = [np.uint64(word) for word in key]
    words.append(words[0] ^ words[1] ^ words[2] ^ words[3] ^ _PARITY)
    state = [block[:, i].copy() for i in range(4)]
    with np.errstate(over="ignore"):
        for round_number in range(20):
            if round_number % 4 == 0:
                injection = round_number // 4
                for i in range(4):
                    state[i] += words[(injection + i) % 5]
                state[3] += np.uint64(injection)
            first, second = _ROTATIONS[round_number % 8]
            state[0], state[1] = _mix(state[0], state[1], first)
            state[2], state[3] = _mix(state[2], state[3], second)
            state[1], state[3] = state[3], state[1]
    return np.stack(state, axis=1)


def _mix(a: Array, b: Array, rotation: int) -> tuple[Array, Array]:
    left, right = np.uint64(rotation), np.uint64(64 - rotation)
    total = a + b
    return total, (total + b) ^ ((b << left) | (b >> right))


def _hash_words(key: Sequence[int], block: Sequence[int]) -> list[int]:
    return [int(word) for word in threefry_hash(key, np.array([block], np.uint64))[0]]


def _next_path_bit(high: int, low: int) -> tuple[int, int]:
    """Shift the mark of the next bit of the path, a 128-bit number in two words, to the right."""
    mark = ((high << 64) | low) >> 1
    return mark >> 64, mark & _WORD


def next_words(key: Array, count: int) -> tuple[Array, Array]:
    """Return the next key and `count` random words (a multiple of 4 is hashed)."""
    state = [int(word) for word in key]
    length = -(-count // 4) * 4
    if state[7] >= _WORD - length:  # the counter is exhausted: advance along the path, or hash a new key
        if state[8] == 0 and state[9] == 0:
            state = [*_hash_words(state[:4], [_WORD] * 4), 0, 0, 0, 0, _PATH_START, 0]
        else:
            state = [*state[:4], state[4] | state[8], state[5] | state[9], 0, 0, *_next_path_bit(state[8], state[9])]
    block = np.array(state[4:8], np.uint64) + np.arange(length // 4, dtype=np.uint64)[:, None]
    words = threefry_hash(state[:4], block).reshape(-1)[:count]
    state[6], state[7] = 0, state[7] + length
    return np.array(state, np.uint64), words


def split_key(key: Array) -> tuple[Array, Array]:
    """Return two keys whose random numbers are independent."""
    state = [int(word) for word in key]
    if state[8] == 0 and state[9] == 0:
        new_key = _hash_words(state[:4], state[4:8])
        left = [*new_key, 0, 0, 0, 0, 1 << 62, 0]
        right = [*new_key, _PATH_START, 0, 0, 0, 1 << 62, 0]
    else:
        next_bit = _next_path_bit(state[8], state[9])
        left = [*state[:8], *next_bit]
        right = [*state[:4], state[4] | state[8], state[5] | state[9], *state[6:8], *next_bit]
    return np.array(left, np.uint64), np.array(right, np.uint64)


def threefry_key(seed: int) -> Constant:
    """Return a key derived from a seed, as a constant."""
    words = [(seed >> (64 * i)) & _WORD for i in range(4)]
    return Constant(np.array([*words, 0, 0, 0, 0, _PATH_START, 0], np.uint64))


# ---------------------------------------------------------------- declarations
def _is_key_known(types: Sequence[Type]) -> bool:
    """Return whether the type of the first input is known. Raises `RelationError` if it is not a key."""
    ty = tensor(types, 0, "key")
    if ty is not None and (ty.dtype != "uint64" or len(ty.shape) != 1 or join_dim(ty.shape[0], 10) is None):
        refuse("a key is ten 64-bit words", 0, expected=KEY, found=ty)
    return ty is not None


def _generate_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    return TupleType([KEY, TensorType(attrs.out_shape, "uint64")]) if _is_key_known(types) else None


def _known_shape(attrs: Attrs, dtype: str, what: str) -> tuple[int, ...]:
    shape: tuple[int, ...] = attrs.out_shape
    if any(type(dim) is not int for dim in shape):
        raise RunError(Diagnostic(f"{what} needs a known shape", found=str(list(shape))))
    guard_size(shape, array_dtype(dtype), what)
    return shape


@operator(
    "random.threefry_generate",
    ("key",),
    attrs=attrs("ThreefryGenerateAttrs", dims("out_shape", doc="the shape of the numbers")),
    relation=_generate_type,
    python=Python("key, shape", names={"shape": "out_shape"}),
    results=2,
    gradient=zero_gradient,
    shapes="key (10) -> key (10), out_shape",
    source="Threefry-4x64-20: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011)",
    edge_cases=(
        "random.threefry_generate(%key: (10) uint64, out_shape=[2, 3])",
        "random.threefry_generate(%key: (10) uint64, out_shape=[0])",
    ),
)
def threefry_generate(attrs: Attrs, key: Array) -> tuple[Array, Array]:
    """The next key, and random 64-bit words."""
    shape = _known_shape(attrs, "uint64", "threefry_generate")
    next_key, words = next_words(key, math.prod(shape))
    return next_key, words.reshape(shape)


def _split_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    return TupleType([KEY, KEY]) if _is_key_known(types) else None


@operator(
    "random.threefry_split",
    ("key",),
    relation=_split_type,
    results=2,
    gradient=zero_gradient,
    shapes="key (10) -> two keys (10)",
    source="Claessen and Palka, Splittable pseudorandom number generators (2013)",
    edge_cases=("random.threefry_split(%key: (10) uint64)",),
)
def threefry_split(attrs: Attrs, key: Array) -> tuple[Array, Array]:
    """Two keys whose random numbers are independent."""
    return split_key(key)


def _distribution_type(names: tuple[str, str]) -> Relation:
    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        bounds = [scalar(types, index, name) for index, name in enumerate(names, start=1)]
        if not _is_key_known(types) or None in bounds:
            return None
        result_dtype = attrs.out_dtype or "float32"
        if not is_float_name(result_dtype):
            refuse("random numbers are floats", expected="float32 or float64", found=result_dtype)
        return TupleType([KEY, TensorType(attrs.out_shape, result_dtype)])

    return relation


def _unit_numbers(key: Array, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    """Return the next key and numbers in [0, 1): the top bits of random words as a fraction."""
    fraction = _FRACTION.get(dtype, 7)
    next_key, words = next_words(key, math.prod(shape))
    result_dtype = array_dtype(dtype)
    numbers = (words >> np.uint64(64 - fraction)).astype(np.float64) / (1 << fraction)
    return next_key, numbers.reshape(shape).astype(result_dtype)


def _distribution_signature(signature: str, *parameters: str) -> Python:
    """Return the signature of a distribution; its parameters become constants of the dtype of the result."""

    def prepare(values: dict[str, Any]) -> None:
        for name in parameters:
            values[name] = constant(array_dtype(values["dtype"]))(values[name])

    return Python(signature, {"shape": "out_shape", "dtype": "out_dtype"}, prepare=prepare)


def _distribution_gradient(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradients of the parameters, which scale and shift numbers drawn from the standard distribution.

    The key is used again, so that the numbers are the same (Kingma and Welling, Auto-encoding variational Bayes, 2014).
    """
    key, first, second = orig.args
    attrs, name = attrs_of(orig), str(orig.op)
    number_grad, is_uniform = field_of(grad, 1), name == "random.uniform"
    result_dtype = attrs.out_dtype or "float32"
    standard_parameters = [Constant(np.array(value, array_dtype(result_dtype))) for value in (0, 1)]
    standard = field_of(call(name, key, *standard_parameters, **dict(attrs.items())), 1)
    scale_grad, total = call("sum", number_grad * standard), call("sum", number_grad)
    shift_grad = total - scale_grad if is_uniform else total
    return [call("zeros_like", key), call("cast_like", shift_grad, first), call("cast_like", scale_grad, second)]


def _distribution(
    name: str, record: str, first: str, second: str, source: str
) -> Callable[[Callable[..., tuple[Array, Array]]], Op]:
    """Return the decorator that declares a distribution with two parameters, by default 0 and 1."""
    fields = (dims("out_shape", doc="the shape of the numbers"), dtype("out_dtype", "", doc="their dtype"))
    edges = (
        f'{name}(%key: (10) uint64, %{first[0]}: () = 0, %{second[0]}: () = 1, out_shape={shape}, out_dtype="T")'
        for shape in ("[2, 3]", "[0]")
    )
    return operator(
        name,
        ("key", first, second),
        attrs=attrs(record, *fields),
        relation=_distribution_type((first, second)),
        silenced=True,
        results=2,
        python=_distribution_signature(f'key, shape, dtype="float32", {first}=0.0, {second}=1.0', first, second),
        gradient=_distribution_gradient,
        shapes=f"key (10), {first}, {second} broadcastable to out_shape -> key (10), out_shape",
        source=source,
        edge_cases=tuple(edges),
    )


@_distribution("random.uniform", "UniformAttrs", "low", "high", "the upper bits of threefry words as a mantissa")
def uniform(attrs: Attrs, key: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The next key, and numbers drawn uniformly from [low, high)."""
    result_dtype = attrs.out_dtype or "float32"
    next_key, numbers = _unit_numbers(key, _known_shape(attrs, result_dtype, "uniform"), result_dtype)
    return next_key, np.asarray(numbers * (high - low) + low).astype(numbers.dtype, copy=False)


@_distribution("random.normal", "NormalAttrs", "mean", "scale", "Box and Muller (1958)")
def normal(attrs: Attrs, key: Array, mean: Array, scale: Array) -> tuple[Array, Array]:
    """The next key, and numbers from a normal distribution, by the method of Box and Muller (1958)."""
    result_dtype = attrs.out_dtype or "float32"
    shape = _known_shape(attrs, result_dtype, "normal")
    next_key, pair = _unit_numbers(key, (2, *shape), result_dtype)
    two_pi = pair.dtype.type(2 * math.pi)
    radius = np.sqrt(pair.dtype.type(-2) * np.log(pair.dtype.type(1) - pair[0]))
    return next_key, np.asarray(radius * np.sin(two_pi * pair[1]) * scale + mean).astype(pair.dtype, copy=False)


def _multinomial_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    probs = tensor(types, 1, "probs")
    if probs is None or not _is_key_known(types):
        return None
    if not probs.shape:
        refuse("probs must have at least one dimension", 1, found=probs)
    if attrs.num_samples < 1:
        refuse("at least one sample must be drawn", found=attrs.num_samples)
    return TupleType([KEY, TensorType((*probs.shape[:-1], attrs.num_samples), "int32")])


@operator(
    "random.multinomial",
    ("key", "probs"),
    attrs=attrs("MultinomialAttrs", integer("num_samples", 1, doc="number of samples from each row")),
    relation=_multinomial_type,
    silenced=True,
    results=2,
    gradient=zero_gradient,
    shapes="key (10), probs (..., n) -> key (10), (..., num_samples)",
    source="inversion of the cumulative sums",
    edge_cases=(
        "random.multinomial(%key: (10) uint64, %p: (2, 3) float32 = [[0, 1, 0], [0.5, 0.5, 0]], num_samples=4)",
        "random.multinomial(%key: (10) uint64, %p: (3) float32 = [1, 2, -1])",
    ),
)
def multinomial(attrs: Attrs, key: Array, probs: Array) -> tuple[Array, Array]:
    """The next key, and indices drawn with the given probabilities (negative ones count as 0)."""
    guard_size((*probs.shape, attrs.num_samples), np.dtype(np.float32), "multinomial")
    if probs.shape[-1] == 0:
        raise RunError(Diagnostic("`probs` is empty: there is nothing to draw from"))
    weights = np.maximum(probs.astype(np.float32), np.float32(0))
    cumulative = np.cumsum(weights / weights.sum(axis=-1, keepdims=True), axis=-1)
    next_key, numbers = _unit_numbers(key, (*probs.shape[:-1], attrs.num_samples), "float32")
    above = cumulative[..., None] - numbers[..., None, :]  # the least positive difference is the first sum above
    return next_key, np.argmin(np.where(above > 0, above, np.float32(1)), axis=-2).astype(np.int32)
