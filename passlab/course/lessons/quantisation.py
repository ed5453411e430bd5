"""The exercises of the lesson `13c-quantisation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise, NoAnswerError


def is_good(answer: Any, low: Any, high: Any) -> Any:
    scale, zero_point = answer(low, high)
    if not isinstance(zero_point, (int, np.integer)) or not -128 <= zero_point <= 127:
        return False
    ends = scale * (-128 - zero_point), scale * (127 - zero_point)
    return all(
        abs(end - end_of_range) <= 0.51 * scale for end, end_of_range in zip(ends, (low, high), strict=True)
    ) and np.isclose(scale, (high - low) / 255, rtol=1e-6)


def is_rounded(given: Any, exact: Any) -> bool:
    """Whether an array of `int8` holds exact numbers rounded and clipped; a number in the middle may go either way."""
    if given is ...:
        raise NoAnswerError("your function still returns `...`")
    if not isinstance(given, np.ndarray) or given.dtype != np.int8:
        found = f"an array of {given.dtype}" if isinstance(given, np.ndarray) else type(given).__name__
        raise DisagreementError(f"it gives {found}, expected an array of int8")
    if given.shape != exact.shape:
        raise DisagreementError(f"it gives the shape {given.shape}, expected {exact.shape}")
    wanted = np.clip(exact, -128, 127)
    wrong = np.abs(given - wanted) > 0.5 + 1e-3
    if wrong.any():
        place = tuple(int(at) for at in np.argwhere(wrong)[0])
        raise DisagreementError(f"at {place} it gives {given[place]}, expected {wanted[place]:.2f} rounded")
    return True


def some_array(rng: np.random.Generator) -> tuple[Any, float, int]:
    x = rng.normal(size=(2, int(rng.integers(1, 6)))).astype("float32") * 5
    return x, float(rng.uniform(0.02, 0.2)), int(rng.integers(-100, 100))


def some_layer(rng: np.random.Generator) -> tuple[Any, Any, float, float, float]:
    rows, units, k = (int(size) for size in rng.integers(1, 6, 3))
    x, w = (rng.integers(-128, 128, size).astype("int8") for size in ((rows, 8 * k), (units, 8 * k)))
    return x, w, 0.05, 0.02, float(rng.uniform(0.2, 0.8))


def exact_product(x: Any, w: Any, sx: float, sw: float, s: float) -> Any:
    return (x.astype("int64") @ w.astype("int64").T) * (sx * sw / s)


@exercise(
    "13c",
    1,
    starter="ceac8c99f214ce53",
    solution="""
def solution(low, high):
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)


answer_1 = solution
""",
)
def scale_and_zero_point(lesson: Names) -> Exercise:
    """Scale and zero point."""
    return Exercise(
        "Scale and zero point",
        expects=callable,
        hint=[
            "how many steps are between -128 and 127?",
            "scale = (high - low) / 255; the zero point is what zero becomes: round(-128 - low / scale)",
        ],
    ).asks(
        "both ends are hit within half a step",
        is_good,
        lambda rng: (float(-rng.uniform(0.1, 10)), float(rng.uniform(0.1, 10))),
        first=[(-1.0, 1.0), (-1.0, 3.0)],
    )


@exercise(
    "13c",
    2,
    starter="6846945b56fdd7f3",
    solution="""
def quantise(x, scale, zero_point):
    return np.clip(np.round(x / scale) + zero_point, -128, 127).astype("int8")


answer_2 = quantise
""",
)
def quantise(lesson: Names) -> Exercise:
    """Quantise."""
    return Exercise(
        "Quantise",
        expects=callable,
        hint=[
            "solve x = scale * (q - zero_point) for q, and round",
            "np.clip(..., -128, 127) before `astype`, which would wrap around",
        ],
    ).asks(
        "each number is rounded and clipped",
        lambda answer, x, scale, zero: is_rounded(answer(x, scale, zero), x.astype("float64") / scale + zero),
        some_array,
        first=[(np.float32([0.04, 0.06, -1.23, 12.7, 99, -99]), 0.1, 0)],
    )


@exercise(
    "13c",
    3,
    starter="3604e9b680fe6ddb",
    solution="""
def dense(x, w, sx, sw, s):
    product = x.astype("int32") @ w.astype("int32").T
    return np.clip(np.round(product * (sx * sw / s)), -128, 127).astype("int8")


answer_3 = dense
""",
)
def a_layer_of_integers(lesson: Names) -> Exercise:
    """A layer of integers."""
    return Exercise(
        "A layer of integers",
        expects=callable,
        hint=[
            "x.astype('int32') before the product: a sum of products does not fit into 8 bits",
            "an integer of the product stands for sx * sw of it; divide by s, round, clip",
        ],
    ).asks(
        "each number is the product, rounded and clipped",
        lambda answer, *layer: is_rounded(answer(*layer), exact_product(*layer)),
        some_layer,
    )


predicts(
    "13c",
    a_number("Which integer stands for 99?", 127),
    a_number("With how few bits does it still get nine of ten images right?", 3),
    one_of("Do both programs give the same integers?", "yes", "no", right="a"),
)
