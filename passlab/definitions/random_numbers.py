"""What operators on random numbers mean: Threefry-4x64 in Python's integers, a word at a time; see `elements`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, means, wide

_WORD = (1 << 64) - 1
_TURNS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_DIGITS = {"float16": 10, "float32": 23, "float64": 52}
_FIRST = 1 << 127  # the mark of the first place of a path, in two words


def _rotate_left(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _WORD


def _hash(key: Any, block: Any) -> list[int]:
    """Return the hash of four words under a key of four; Relay's: a mixed word takes the sum just written."""
    words = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDAA9FC1A22]
    a, b, c, d = block
    for step in range(20):
        if step % 4 == 0:
            a, b, c, d = ((v + words[(step // 4 + i) % 5]) & _WORD for i, v in enumerate((a, b, c, d)))
            d = (d + step // 4) & _WORD
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b = ((a + b) & _WORD) ^ _rotate_left(b, _TURNS[step % 8][0])
        d = ((c + d) & _WORD) ^ _rotate_left(d, _TURNS[step % 8][1])
        b, d = d, b
    return [a, b, c, d]


def _parts(state: Any) -> tuple[list[int], int, list[int], int]:
    """Return what a key holds: four words, the path that led to it, its counter, the mark of the next place."""
    w = [int(word) for word in state]
    return w[:4], w[4] << 64 | w[5], w[6:8], w[8] << 64 | w[9]


def _state(key: list[int], path: int, counter: list[int], mark: int) -> Any:
    return np.array([*key, path >> 64, path & _WORD, *counter, mark >> 64, mark & _WORD], np.uint64)


def _words(state: Any, count: int) -> tuple[Any, list[int]]:
    """Return the key for what comes next, and random words."""
    key, path, counter, mark = _parts(state)
    blocks = -(-count // 4)
    if counter[1] >= _WORD - 4 * blocks:  # it is used up
        if mark:
            path, counter, mark = path | mark, [0, 0], mark >> 1
        else:
            key, path, counter, mark = _hash(key, [_WORD] * 4), 0, [0, 0], _FIRST
    start = (path >> 64, path & _WORD, *counter)
    words = [word for n in range(blocks) for word in _hash(key, [(v + n) & _WORD for v in start])]
    return _state(key, path, [0, (counter[1] + 4 * blocks) & _WORD], mark), words[:count]


@means("random.threefry_generate")
def threefry_generate(attrs: Any, key: Any) -> Any:
    """Return what `random.threefry_generate` gives."""
    after, words = _words(key, math.prod(attrs.out_shape))
    return after, np.array(words, np.uint64).reshape(attrs.out_shape)


@means("random.threefry_split")
def threefry_split(attrs: Any, state: Any) -> Any:
    """Return what `random.threefry_split` gives: the path goes on to the left and to the right."""
    key, path, counter, mark = _parts(state)
    if mark:
        return _state(key, path, counter, mark >> 1), _state(key, path | mark, counter, mark >> 1)
    fresh = _hash(key, [path >> 64, path & _WORD, *counter])
    return _state(fresh, 0, [0, 0], _FIRST >> 1), _state(fresh, _FIRST, [0, 0], _FIRST >> 1)


def _fractions(key: Any, shape: Any, dtype: str) -> tuple[Any, Any]:
    """Return the next key, and numbers from 0 up to 1 made of the upper digits of words."""
    digits = _DIGITS.get(dtype, 7)
    after, words = _words(key, math.prod(shape))
    return after, np.array([(word >> (64 - digits)) / (1 << digits) for word in words]).reshape(shape)


def _uniform(attrs: Any, key: Any, low: Any, high: Any) -> Any:
    after, numbers = _fractions(key, attrs.out_shape, attrs.out_dtype or "float32")
    return after, numbers * (wide(high) - wide(low)) + wide(low)


def _normal(attrs: Any, key: Any, mean: Any, scale: Any) -> Any:
    after, (one, two) = _fractions(key, (2, *attrs.out_shape), attrs.out_dtype or "float32")
    return after, np.sqrt(-2 * np.log(1 - one)) * np.sin(2 * math.pi * two) * wide(scale) + wide(mean)


MEANING["random.uniform"], MEANING["random.normal"] = _uniform, _normal
