"""Definitions of random operators: Threefry-4x64 (Salmon et al., SC 2011) in Python integers; see `elements`.

A key is ten words of 64 bits. The hash key has four of them, the path two (a bit for each split: right or left), and
the counter two. Two more hold the bit of the next split.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, as_float64, definition_of

_WORD = (1 << 64) - 1
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_MANTISSA_BITS = {"float16": 10, "float32": 23, "float64": 52}
_FIRST = 1 << 127  # the bit of the first split in the two words of a path


def _rotate_left(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _WORD


def _hash(key: Any, block: Any) -> list[int]:
    """Return the hash of four words under a key of four. As in TVM, a mixed word uses the sum that was just written."""
    words = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDAA9FC1A22]
    a, b, c, d = block
    for step in range(20):
        if step % 4 == 0:
            a, b, c, d = ((v + words[(step // 4 + i) % 5]) & _WORD for i, v in enumerate((a, b, c, d)))
            d = (d + step // 4) & _WORD
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b = ((a + b) & _WORD) ^ _rotate_left(b, _ROTATIONS[step % 8][0])
        d = ((c + d) & _WORD) ^ _rotate_left(d, _ROTATIONS[step % 8][1])
        b, d = d, b
    return [a, b, c, d]


def _unpack(state: Any) -> tuple[list[int], int, list[int], int]:
    """Return the hash key, the path, the counter and the bit of the next split."""
    w = [int(word) for word in state]
    return w[:4], w[4] << 64 | w[5], w[6:8], w[8] << 64 | w[9]


def _pack(key: list[int], path: int, counter: list[int], split: int) -> Any:
    return np.array([*key, path >> 64, path & _WORD, *counter, split >> 64, split & _WORD], np.uint64)


def _random_words(state: Any, count: int) -> tuple[Any, list[int]]:
    """Return the next key, and random words."""
    key, path, counter, split = _unpack(state)
    blocks = -(-count // 4)
    if counter[1] >= _WORD - 4 * blocks:  # the counter would overflow: take a split, or a new key without one left
        if split:
            path, counter, split = path | split, [0, 0], split >> 1
        else:
            key, path, counter, split = _hash(key, [_WORD] * 4), 0, [0, 0], _FIRST
    start = (path >> 64, path & _WORD, *counter)
    words = [word for n in range(blocks) for word in _hash(key, [(v + n) & _WORD for v in start])]
    return _pack(key, path, [0, (counter[1] + 4 * blocks) & _WORD], split), words[:count]


@definition_of("random.threefry_generate")
def threefry_generate(attrs: Any, key: Any) -> Any:
    """Define `random.threefry_generate`."""
    next_key, words = _random_words(key, math.prod(attrs.out_shape))
    return next_key, np.array(words, np.uint64).reshape(attrs.out_shape)


@definition_of("random.threefry_split")
def threefry_split(attrs: Any, state: Any) -> Any:
    """Define `random.threefry_split`: the keys of the left and the right end of the longer path."""
    key, path, counter, split = _unpack(state)
    if split:
        return _pack(key, path, counter, split >> 1), _pack(key, path | split, counter, split >> 1)
    new_key = _hash(key, [path >> 64, path & _WORD, *counter])
    return _pack(new_key, 0, [0, 0], _FIRST >> 1), _pack(new_key, _FIRST, [0, 0], _FIRST >> 1)


def _fractions(key: Any, shape: Any, dtype: str) -> tuple[Any, Any]:
    """Return the next key, and numbers in [0, 1) from the upper bits of random words."""
    bits = _MANTISSA_BITS.get(dtype, 7)  # 7: bfloat16
    next_key, words = _random_words(key, math.prod(shape))
    return next_key, np.array([(word >> (64 - bits)) / (1 << bits) for word in words]).reshape(shape)


def _uniform(attrs: Any, key: Any, low: Any, high: Any) -> Any:
    next_key, numbers = _fractions(key, attrs.out_shape, attrs.out_dtype or "float32")
    return next_key, numbers * (as_float64(high) - as_float64(low)) + as_float64(low)


def _normal(attrs: Any, key: Any, mean: Any, scale: Any) -> Any:
    # The Box-Muller transform.
    next_key, (u, v) = _fractions(key, (2, *attrs.out_shape), attrs.out_dtype or "float32")
    return next_key, np.sqrt(-2 * np.log(1 - u)) * np.sin(2 * math.pi * v) * as_float64(scale) + as_float64(mean)


MEANING["random.uniform"], MEANING["random.normal"] = _uniform, _normal
