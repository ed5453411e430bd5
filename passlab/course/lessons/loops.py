"""The exercises and predictions of the lesson `15b-loops`."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise


@exercise(
    "15b",
    1,
    starter="9420ff2bce64508c",
    solution="""
answer_1 = "jki"
""",
)
def the_worst_order(lesson: Names) -> Exercise:
    """The worst order."""
    misses, nest = lesson.misses, lesson.nest
    counted = {"".join(order): misses(nest("".join(order), 24)) for order in permutations("ijk")}
    most = max(counted.values())

    return (
        Exercise("The worst order", expects=str)
        .requires(
            "it is one of the six orders",
            lambda order: order in counted,
            hint="three letters, each once: `ijk`, `ikj`, ...",
        )
        .requires(
            "no order has more misses for 24 x 24 matrices",
            lambda order: counted[order] == most,
            hint=(
                "the innermost loop runs most often: which of the three arrays does it read down a column?",
                "with `i` innermost, `C[i, j]` and `A[i, k]` both go down a column; try both orders that end in `i`",
            ),
        )
    )


def visits(walk: Any, n: Any, tile: Any) -> bool:
    """Whether the walk meets each element of a matrix once."""
    seen = [tuple(int(part) for part in point) for point in walk(n, tile)]
    if len(seen) != len(set(seen)):
        raise DisagreementError("an element is visited twice")
    missed = {(i, j) for i in range(n) for j in range(n)} - set(seen)
    if missed or len(seen) != n * n:
        raise DisagreementError(f"it visits {len(seen)} elements, expected {n * n}; {len(missed)} are missing")
    return True


def stays_in_tiles(walk: Any, n: Any, tile: Any) -> bool:
    """Whether all elements of one tile come before the next tile begins."""
    tiles: list[tuple[int, ...]] = []
    for point in walk(n, tile):
        one = tuple(int(part) // tile for part in point)
        if not tiles or tiles[-1] != one:
            tiles.append(one)
    if len(tiles) != len(set(tiles)):
        raise DisagreementError("the walk leaves a tile, and comes back to it later")
    return True


def misses_of_transposing(walk: Any, lines: int = 16, numbers: int = 8) -> int:
    """How many lines a small cache fetches for B[j, i] = A[i, j]."""
    cache: dict[Any, None] = {}
    count = 0
    for i, j in walk:
        for place in (("A", i, j // numbers), ("B", j, i // numbers)):
            count += place not in cache
            cache.pop(place, None)
            cache[place] = None
            if len(cache) > lines:
                del cache[next(iter(cache))]
    return count


@exercise(
    "15b",
    2,
    starter="9a85a764fb60368e",
    solution="""
def transposed(n, tile):
    for i0 in range(0, n, tile):
        for j0 in range(0, n, tile):
            for i in range(i0, min(i0 + tile, n)):
                for j in range(j0, min(j0 + tile, n)):
                    yield i, j


answer_2 = transposed
""",
)
def a_walk_in_tiles(lesson: Names) -> Exercise:
    """A walk in tiles."""

    def sizes(rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(1, 20)), int(rng.integers(1, 7))

    return (
        Exercise("A walk in tiles", expects=callable)
        .asks(
            "each element is visited once",
            visits,
            sizes,
            first=[(4, 2), (5, 2)],
            hint=(
                "the outer loops walk in steps of `tile`, the inner loops within one tile",
                "the last tile may be smaller: `min(i0 + tile, n)`",
            ),
        )
        .asks(
            "the elements of a tile come together",
            stays_in_tiles,
            sizes,
            first=[(6, 2)],
            hint="two outer loops, then two inner loops",
        )
        .requires(
            "tiles of 8 have a third of the misses of the plain loops, for a 48 x 48 matrix",
            lambda walk: (
                3 * misses_of_transposing(walk(48, 8))
                < misses_of_transposing((i, j) for i in range(48) for j in range(48))
            ),
        )
    )


@exercise(
    "15b",
    3,
    starter="04cbb35e7e4cdb1e",
    solution="""
def attainable(operations, bytes, peak, bandwidth):
    return min(peak, operations / bytes * bandwidth)


answer_3 = attainable
""",
)
def under_the_roof(lesson: Names) -> Exercise:
    """Under the roof."""

    def agrees(answer: Any, operations: float, size: float, peak: float, bandwidth: float) -> bool:
        expected = bandwidth * operations / size if bandwidth * operations < peak * size else peak
        given = answer(operations, size, peak, bandwidth)
        if isinstance(given, str) or not np.isclose(float(given), expected):
            raise DisagreementError(f"it gives {given!r}, expected {expected:g}")
        return True

    return Exercise("Under the roof", expects=callable).asks(
        "it is the smaller of the two limits",
        agrees,
        lambda rng: tuple(float(number) for number in rng.integers(1, 100, 4)),
        first=[(100.0, 10.0, 50.0, 2.0), (100.0, 1.0, 50.0, 2.0)],
        hint=(
            "the arithmetic intensity is operations / bytes",
            "a kernel cannot be faster than the processor, nor than memory brings the numbers",
        ),
    )


predicts(
    "15b",
    one_of("Which order has the fewest misses?", "`ijk`", "`ikj`", "`jki`", right="b"),
    one_of("Which tile has the fewest misses?", "2 x 2", "8 x 8", "24 x 24", right="b"),
    a_number("How many of the five kernels of `digits` are limited by memory?", 4),
)
