"""The exercises of the lesson `12-gradients`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise, NoAnswerError
from passlab.testing import count_ops


def some_point(rng: Any) -> Any:
    return float(rng.uniform(0.5, 2.0))


@exercise(
    12,
    1,
    starter="d64a9ae37029e7d6",
    solution="""
answer_1 = {
    "subtract": lambda call, d: [d, relay.negative(d)],
    "negative": lambda call, d: [relay.negative(d)],
    "sqrt": lambda call, d: [d / (call + call)],
    "sigmoid": lambda call, d: [d * call * (relay.const(1.0) - call)],
}
""",
)
def one_more_operator(lesson: Names) -> Exercise:
    """One more operator."""
    LOCAL, derivative, value = lesson.LOCAL, lesson.derivative, lesson.value

    def numeric_slope(mod: Any, x: Any, step: Any = 1e-2) -> Any:
        return (float(value(mod, x + step)) - float(value(mod, x - step))) / (2 * step)

    def agrees_at(rules: Any, text: Any, x: Any) -> Any:
        """Whether the derivative of a program by the rules agrees with the difference of two points."""
        mod = passlab.parse(f"def @main(%x: float32) {{ {text} }}")
        before = dict(LOCAL)
        LOCAL.update(rules)
        try:
            slope = derivative(transform.InferType()(mod)["main"])
        finally:
            LOCAL.clear()
            LOCAL.update(before)
        result = transform.InferType()(passlab.IRModule.from_expr(slope))
        return np.isclose(float(value(result, x)[0]), numeric_slope(mod, x), rtol=2e-2, atol=1e-2)

    rules = Exercise(
        "One more operator",
        expects=dict,
        hint=[
            "the derivative of a sum of two is one each; of a difference?",
            "sqrt: d / (2 * sqrt(x)); sigmoid: d * s * (1 - s), where s is the call itself",
        ],
    ).requires(
        "there are four rules",
        lambda answer: (
            set(answer) == {"subtract", "negative", "sqrt", "sigmoid"} and all(map(callable, answer.values()))
        ),
    )
    for name, text in {
        "subtract": "exp(%x) - %x * %x",
        "negative": "negative(%x * %x)",
        "sqrt": "sqrt(%x * %x + %x)",
        "sigmoid": "sigmoid(%x * %x)",
    }.items():
        rules = rules.asks(
            f"{name} is right",
            lambda answer, x, text=text: agrees_at(answer, text, x),
            some_point,
            times=3,
            first=[1.0],
        )
    return rules


@exercise(
    12,
    2,
    starter="00513c0e500a5e6e",
    solution="""
answer_2 = lambda n: 4 * n
""",
)
def what_does_it_cost(lesson: Names) -> Exercise:
    """What does it cost?"""
    derivative = lesson.derivative

    def operators_of(n: Any) -> Any:
        x = relay.var("x", shape=(), dtype="float32")
        body = x
        for _ in range(n):
            body = relay.tanh(body)
        return count_ops(derivative(relay.Function([x], body))).total()

    return Exercise(
        "What does it cost?",
        expects=callable,
        hint=[
            "count for n = 1 and n = 2 by hand",
            "four operators a step: the tanh itself, its square, the difference, the product",
        ],
    ).agrees("it is right for random lengths", operators_of, lambda rng: int(rng.integers(1, 60)), first=[1, 2])


def some_function(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """A smooth function of an array, a place, and the derivatives there by its formula."""
    count = int(rng.integers(1, 6))
    a, b = rng.uniform(0.5, 1.5, (2, count))
    x = rng.normal(size=count)

    def function(at: Any) -> float:
        at = np.asarray(at, "float64")
        if at.shape != (count,):
            raise DisagreementError(f"`f` was called with shape {at.shape}, expected {(count,)}")
        return float(np.sum(np.sin(a * at)) + np.prod(b * np.cos(at)))

    product = np.prod(b * np.cos(x))
    return function, x, a * np.cos(a * x) - product * np.tan(x)


def near(slopes: Any, function: Any, x: Any, expected: Any) -> bool:
    """Whether derivatives by two points are right, and the place is as it was."""
    before = x.copy()
    given = slopes(function, x)
    if given is ...:
        raise NoAnswerError("your function still returns `...`")
    if given is None:
        raise DisagreementError("it returns None: use `return`")
    if np.asarray(given).dtype.kind not in "fiu":
        raise DisagreementError(f"it gives {type(given).__name__}, expected numbers")
    given = np.asarray(given, "float64")
    if not np.array_equal(x, before):
        raise DisagreementError("the array `x` has changed: take a copy before you change a number")
    if given.shape != expected.shape or not np.allclose(given, expected, rtol=1e-3, atol=1e-3):
        raise DisagreementError(f"it gives {given.round(4).tolist()}, expected {expected.round(4).tolist()}")
    return True


@exercise(
    12,
    3,
    starter="d4660685a30018b3",
    solution="""
def slopes(f, x):
    step = 1e-4
    result = np.zeros(len(x))
    for i in range(len(x)):
        up, down = x.astype("float64"), x.astype("float64")
        up[i] += step
        down[i] -= step
        result[i] = (f(up) - f(down)) / (2 * step)
    return result


answer_3 = slopes
""",
)
def two_points(lesson: Names) -> Exercise:
    """Two points."""
    return Exercise(
        "Two points",
        expects=callable,
        hint=[
            "change one number at a time, up and down by a step such as 0.0001",
            "(f(up) - f(down)) / (2 * step); `up` and `down` are copies of `x`",
        ],
    ).asks(
        "each derivative is right",
        near,
        some_function,
        first=[(lambda at: float(at[0] ** 2), np.array([3.0]), np.array([6.0]))],
    )


predicts(
    "12",
    a_number("How many contributions does `%0` receive?", 2),
    one_of("How many operators does the gradient of these four have?", "four", "eight", "about thirty", right="c"),
)
