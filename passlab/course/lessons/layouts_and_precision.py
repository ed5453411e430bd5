"""The exercises of the lesson `13-layouts-and-precision`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.ir.walk import post_order


def offset_of(layout: Any, shape: Any, n: Any, c: Any, h: Any, w: Any) -> Any:
    order = ["NCHW".index(letter) for letter in layout]
    marked = np.zeros(shape)
    marked[n, c, h, w] = 1
    return int(np.flatnonzero(marked.transpose(order).ravel())[0])


def some_pixel(rng: Any) -> Any:
    shape = tuple(int(d) for d in rng.integers(1, 6, 4))
    return str(rng.choice(["NCHW", "NHWC"])), shape, *(int(rng.integers(size)) for size in shape)


def is_good(answer: Any, low: Any, high: Any) -> Any:
    scale, zero_point = answer(low, high)
    if not isinstance(zero_point, (int, np.integer)) or not -128 <= zero_point <= 127:
        return False
    ends = scale * (-128 - zero_point), scale * (127 - zero_point)
    return all(
        abs(end - end_of_range) <= 0.51 * scale for end, end_of_range in zip(ends, (low, high), strict=True)
    ) and np.isclose(scale, (high - low) / 255, rtol=1e-6)


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


@exercise(
    13,
    1,
    starter="56dcb9f730b4e01d",
    solution="""
def solution(layout, shape, n, c, h, w):
    N, C, H, W = shape
    return ((n * C + c) * H + h) * W + w if layout == "NCHW" else ((n * H + h) * W + w) * C + c


answer_1 = solution
""",
)
def where_does_it_go(lesson: Names) -> Exercise:
    """Where does it go?"""
    return Exercise(
        "Where does it go?",
        expects=callable,
        hint=["how many elements are between a pixel and the one below it?", "NCHW: ((n * C + c) * H + h) * W + w"],
    ).agrees(
        "it is the position of the pixel",
        offset_of,
        some_pixel,
        first=[("NCHW", (2, 3, 4, 5), 1, 2, 3, 4), ("NHWC", (2, 3, 4, 5), 1, 2, 3, 4)],
    )


@exercise(
    13,
    2,
    starter="7d90654a22bebe63",
    solution="""
def solution(low, high):
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)


answer_2 = solution
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
    13,
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
    "13",
    a_number("How many `layout_transform` does `digits` need?", 5),
    one_of(
        "By how much do the results change?",
        "not at all",
        "by less than a hundredth, and as many digits are right",
        "by more than a tenth, and fewer digits are right",
        right="b",
    ),
    a_number("With how few bits does it still get nine of ten images right?", 3),
    one_of("Do both programs give the same integers?", "yes", "no", right="a"),
)
