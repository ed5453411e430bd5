"""Random operators: the generator word by word, and what its numbers are made of."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.op.threefry import threefry_key
from tests.op_nn.running import run

WORD = (1 << 64) - 1
ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))


def left(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & WORD


def hashed(key: list[int], block: list[int]) -> list[int]:
    """Threefry-4x64 as Relay has it, in Python's integers: a mixed word takes the sum just written, no last key."""
    words = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDAA9FC1A22]
    a, b, c, d = block
    for step in range(20):
        if step % 4 == 0:
            turn = step // 4
            a, b, c, d = ((v + words[(turn + i) % 5]) & WORD for i, v in enumerate((a, b, c, d)))
            d = (d + turn) & WORD
        one, two = ROTATIONS[step % 8]
        a = (a + b) & WORD
        b = ((a + b) & WORD) ^ left(b, one)
        c = (c + d) & WORD
        d = ((c + d) & WORD) ^ left(d, two)
        b, d = d, b
    return [a, b, c, d]


def key(seed: int) -> np.ndarray:
    return np.asarray(threefry_key(seed).data)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 2**200 + 17])
@pytest.mark.parametrize("count", [1, 4, 9])
def test_words_are_hashes_of_path_and_counter(seed: int, count: int) -> None:
    after, words = run("random.threefry_generate", key(seed), out_shape=(count,))
    start = [int(word) for word in key(seed)]
    want = [w for n in range(-(-count // 4)) for w in hashed(start[:4], [(v + n) & WORD for v in start[4:8]])]
    np.testing.assert_array_equal(words, np.array(want[:count], np.uint64))
    assert int(after[7]) == start[7] + -(-count // 4) * 4
    again = run("random.threefry_generate", key(seed), out_shape=(count,))[1]
    np.testing.assert_array_equal(words, again)


def test_keys_that_were_split_give_other_numbers() -> None:
    one, two = run("random.threefry_split", key(5))
    words = [run("random.threefry_generate", k, out_shape=(8,))[1] for k in (one, two)]  # the parent is used up
    assert not np.array_equal(*words)
    three, _ = run("random.threefry_split", one)
    assert not np.array_equal(three, one)


@pytest.mark.parametrize(("dtype", "bits", "size"), [("float16", 10, 16), ("float32", 23, 32), ("float64", 52, 64)])
def test_uniform_numbers_are_the_upper_bits(dtype: str, bits: int, size: int) -> None:
    low, high = np.zeros((), dtype), np.ones((), dtype)
    after, numbers = run("random.uniform", key(9), low, high, out_shape=(64,), out_dtype=dtype)
    assert numbers.dtype == dtype
    assert ((numbers >= 0) & (numbers < 1)).all()
    steps = numbers.astype("float64") * 2**bits
    np.testing.assert_array_equal(steps, np.floor(steps))
    assert after.shape == (10,)
    moved = run("random.uniform", key(9), low + 2, high + 3, out_shape=(64,), out_dtype=dtype)[1]
    np.testing.assert_allclose(moved.astype("float64"), 2 + 2 * numbers.astype("float64"), rtol=2e-3)


def test_normal_numbers_have_their_mean_and_width() -> None:
    numbers = run(
        "random.normal",
        key(3),
        np.float32(2).reshape(()),
        np.float32(3).reshape(()),
        out_shape=(20000,),
        out_dtype="float32",
    )[1]
    assert abs(float(numbers.mean()) - 2) < 0.1
    assert abs(float(numbers.std()) - 3) < 0.1


def test_draws_follow_their_probabilities() -> None:
    p = np.array([[0, 1, 0], [0.25, 0, 0.75]], "float32")
    drawn = run("random.multinomial", key(4), p, num_samples=4000)[1]
    assert (drawn[0] == 1).all()
    assert set(np.unique(drawn[1])) == {0, 2}
    assert abs(float((drawn[1] == 2).mean()) - 0.75) < 0.03
