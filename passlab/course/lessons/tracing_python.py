"""The exercises and predictions of the lesson `04b-tracing-python`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from passlab import IRModule, relay
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise
from passlab.testing import count_ops


def traced_by(cls: Any, function: Any) -> Any:
    """The program of a function of one tensor, traced with the learner's class."""
    x = relay.var("x", relay.TensorType((4,), "float32"))
    result = function(cls(x))
    body = getattr(result, "expr", result)
    if not isinstance(body, relay.Expr):
        raise DisagreementError(f"the result is of class {type(result).__name__}, expected one of your class")
    return relay.Function([x], body)


def value(function: Any, x: Any) -> Any:
    return relay.create_executor("debug", IRModule.from_expr(function)).evaluate()(x)


def computes(cls: Any, function: Any, x: Any) -> bool:
    expected = np.float32(function(x))
    given = value(traced_by(cls, function), x)
    if not np.allclose(given, expected, rtol=1e-4, atol=1e-5):
        raise DisagreementError(f"it computes {given}, expected {expected}")
    return True


def formula(rng: np.random.Generator) -> tuple[Any, Any]:
    """A random function of arithmetic with numbers on both sides, and an input."""
    steps = []
    for _ in range(int(rng.integers(1, 5))):
        name = str(rng.choice(["add", "sub", "mul", "truediv", "neg"]))
        number = float(rng.integers(1, 5)) / 2
        steps.append((name, number, int(rng.integers(0, 3))))

    def function(x: Any) -> Any:
        y = x
        for name, number, side in steps:
            if name == "neg":
                y = -y
            elif name == "truediv":
                y = y / (number, x * x + number)[side % 2]
            else:
                y = getattr(operator, name)(*[(y, number), (number, y), (y, x)][side])
        return y

    return function, rng.normal(size=4).astype("float32")


CLASS = """
class Number:
    def __init__(self, expr):
        self.expr = expr

    def combined(self, op, left, right):
        parts = [part.expr if isinstance(part, Number) else relay.const(float(part)) for part in (left, right)]
        return Number(op(*parts))

    def __add__(self, other):
        return self.combined(relay.add, self, other)

    def __sub__(self, other):
        return self.combined(relay.subtract, self, other)

    def __rsub__(self, other):
        return self.combined(relay.subtract, other, self)

    def __mul__(self, other):
        return self.combined(relay.multiply, self, other)

    def __truediv__(self, other):
        return self.combined(relay.divide, self, other)

    def __neg__(self):
        return Number(relay.negative(self.expr))

    __radd__, __rmul__ = __add__, __mul__


answer_2 = Number
"""


@exercise(
    "04b",
    1,
    starter="eb9f013a26e5fc6a",
    solution="""
answer_1 = 6
""",
)
def how_long(names: Names) -> Exercise:
    """How long."""

    def power(x: Any) -> Any:
        y = x
        for _ in range(3):
            y = y * y + x
        return y

    total = sum(count_ops(names.trace(power, 4)["main"]).values())
    return Exercise(
        "How long", hint=("the loop runs while the function is traced", "two operators in each round")
    ).equals(int(total))


@exercise("04b", 2, starter="93ca7e25b63000be", solution=CLASS)
def numbers_on_both_sides(names: Names) -> Exercise:
    """Numbers on both sides."""
    return (
        Exercise("Numbers on both sides", expects=type)
        .requires(
            "`x + x` and `x * 2` are traced",
            lambda cls: (
                [dict(count_ops(traced_by(cls, f))) for f in (lambda x: x + x, lambda x: x * 2.0)]
                == [{"add": 1}, {"multiply": 1}]
            ),
            hint="a number on the right is not a `Traced`: make a `relay.const` of it",
        )
        .asks(
            "a number may be on the left",
            computes,
            formula,
            first=[
                (lambda x: 2.0 - x, np.float32([1, 2, 3, 4])),
                (lambda x: 3.0 * x, np.float32([1, 2, 3, 4])),
                (lambda x: x / (x + 1.0), np.float32([1, 2, 3, 4])),
            ],
            times=30,
            hint=(
                "for `2 - x`, Python asks `x.__rsub__(2)`",
                "`__rsub__(self, other)` is `other - self`, not `self - other`",
            ),
        )
        .requires(
            "a value that is used twice is one node",
            lambda cls: (
                dict(count_ops(traced_by(cls, lambda x: (lambda y: y * y)(x + 1.0)))) == {"add": 1, "multiply": 1}
            ),
        )
    )


@exercise(
    "04b",
    3,
    starter="986f5c93eb9da1d2",
    solution="""
def leaky(x):
    return where(x > 0.0, x, x * 0.1)


answer_3 = leaky
""",
)
def without_a_branch(names: Names) -> Exercise:
    """Without a branch."""

    def agrees(function: Any, x: Any) -> bool:
        traced = names.trace(function, 4)
        given, expected = value(traced["main"], x), np.where(x > 0, x, np.float32(0.1) * x)
        if not np.allclose(given, expected, rtol=1e-4, atol=1e-6):
            raise DisagreementError(f"it computes {given}, expected {expected}")
        return True

    return Exercise("Without a branch", expects=callable).asks(
        "the traced program is right for numbers of both signs",
        agrees,
        lambda rng: (rng.normal(size=4).astype("float32"),),
        first=[(np.float32([-1, 2, -3, 0]),)],
        hint=(
            "an `if` is decided once, while the function is traced; the program has to decide for each number",
            "`where(condition, a, b)` of the lesson chooses for each element",
        ),
    )


predicts(
    "04b",
    a_number("How many times is `exp` in the program?", 1),
    one_of(
        "What happens to the `if`?",
        "it becomes an `if` of Relay",
        "it raises an error",
        "both branches are computed",
        right="b",
    ),
)
