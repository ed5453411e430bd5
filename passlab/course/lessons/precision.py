"""The exercises of the lesson `13b-precision`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise, NoAnswerError
from passlab.ir.walk import post_order


def dtype_of(mod: Any, name: Any) -> Any:
    mod = transform.InferType()(mod)
    return {
        node.checked_type.dtype
        for node in post_order(mod["main"])
        if isinstance(node, relay.Call) and node.op == relay.op.get(name)
    }


def operand_dtypes(mod: Any, name: Any) -> Any:
    mod = transform.InferType()(mod)
    return {
        argument.checked_type.dtype
        for node in post_order(mod["main"])
        if isinstance(node, relay.Call) and node.op == relay.op.get(name)
        for argument in node.args
    }


def exact_total(total: Any, numbers: Any) -> bool:
    result = total(numbers.copy())
    if result is ...:
        raise NoAnswerError("your function still returns `...`")
    expected = np.float16(numbers.sum(dtype="float64"))
    if not isinstance(result, (np.float16, np.ndarray)) or result.dtype != np.float16 or np.ndim(result):
        raise DisagreementError(f"it gives {type(result).__name__} {result!s:.40}, expected a float16")
    if abs(float(result) - float(expected)) > float(np.spacing(expected)) * 0.75:
        raise DisagreementError(f"it gives {float(result):g}, expected {float(expected):g}")
    return True


def some_numbers(rng: np.random.Generator) -> tuple[Any]:
    return (rng.uniform(0, 1, int(rng.integers(3000, 6000))).astype("float16"),)


@exercise(
    "13b",
    1,
    starter="a5d2d2d4e0cfc352",
    solution="""
def spacing(x):
    return float(np.spacing(np.float16(x)))


answer_1 = spacing
""",
)
def the_next_number(lesson: Names) -> Exercise:
    """The next number."""

    def right(spacing: Any, x: float) -> bool:
        result = spacing(x)
        if result is ...:
            raise NoAnswerError("your function still returns `...`")
        expected = float(np.nextafter(np.float16(x), np.float16(np.inf))) - float(np.float16(x))
        if not isinstance(result, (int, float, np.number)) or float(result) != expected:
            raise DisagreementError(f"it gives {result!r:.40}, expected {expected:g}")
        return True

    return Exercise(
        "The next number",
        expects=callable,
        hint=[
            "between 1024 and 2048 the distance is 1, between 512 and 1024 it is one half",
            "np.spacing(np.float16(x)), or 2.0 ** (floor(log2(x)) - 10)",
        ],
    ).asks(
        "it is the distance to the next number",
        right,
        lambda rng: (float(np.float16(2.0 ** rng.uniform(0, 15.8))),),
        first=[1.0, 1.5, 1024.0, 2049.5],
    )


@exercise(
    "13b",
    2,
    starter="f64d1105e4956139",
    solution="""
def total(numbers):
    return np.float16(numbers.sum(dtype="float32"))


answer_2 = total
""",
)
def add_up(lesson: Names) -> Exercise:
    """Add up."""
    ones = np.ones(5000, "float16")
    return Exercise(
        "Add up",
        expects=callable,
        hint=["in which type do you add? 2048 + 1 is 2048 in 16 bits", "add in `float32`, and convert the sum"],
    ).asks(
        "it is the nearest `float16`, or a neighbour of it",
        exact_total,
        some_numbers,
        first=[(ones,), (ones[:3],)],
        times=6,
    )


@exercise(
    "13b",
    3,
    starter="d5dfcc925cf5d0a1",
    solution="""
class DenseInFull(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op != relay.op.get("nn.dense"):
            return call
        data, weight = (relay.cast(argument, "float32") for argument in call.args)
        return relay.cast(relay.nn.dense(data, weight), "float16")


@transform.function_pass(opt_level=0)
def dense_in_full(func, mod, ctx):
    return DenseInFull().visit(func)


answer_3 = transform.Sequential([transform.ToMixedPrecision("float16"), dense_in_full])
""",
)
def keep_it_wide(lesson: Names) -> Exercise:
    """Keep it wide."""
    ready, value = lesson.ready, lesson.value

    return (
        Exercise(
            "Keep it wide",
            expects=transform.Pass,
            hint=[
                "casts in front of nn.dense: which operands does it have after ToMixedPrecision?",
                "a mutator: for nn.dense, call relay.nn.dense on relay.cast(argument, 'float32')",
            ],
        )
        .requires("the convolution has 16 bits", lambda p: dtype_of(p(ready), "nn.conv2d") == {"float16"})
        .requires("nn.dense has 32 bits", lambda p: dtype_of(p(ready), "nn.dense") == {"float32"})
        .requires("nn.dense reads 32 bits", lambda p: operand_dtypes(p(ready), "nn.dense") == {"float32"})
        .asks(
            "the result is the same, but for rounding",
            lambda p, x: np.allclose(value(p(ready), x), value(ready, x), atol=2e-2),
            lambda rng: (rng.normal(size=(1, 1, 8, 8)).astype("float32"),),
            times=3,
        )
    )


predicts(
    "13b",
    a_number("What is 2048 + 1 in 16 bits?", 2048),
    one_of(
        "By how much do the results change?",
        "not at all",
        "by less than a hundredth, and as many digits are right",
        "by more than a tenth, and fewer digits are right",
        right="b",
    ),
)
