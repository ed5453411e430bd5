"""The exercises of the lesson `13-layouts`."""

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


def steps_of(layout: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    order = ["NCHW".index(letter) for letter in layout]
    memory = np.zeros([shape[axis] for axis in order], "int8")
    steps = dict(zip(order, memory.strides, strict=True))
    return tuple(steps[axis] for axis in range(4))


def some_layout(rng: np.random.Generator) -> tuple[str, tuple[int, ...]]:
    return "".join(rng.permutation(list("NCHW"))), tuple(int(size) for size in rng.integers(2, 6, 4))


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
    starter="43149eeeb49ab040",
    solution="""
def strides(layout, shape):
    sizes = dict(zip("NCHW", shape))
    steps, step = {}, 1
    for letter in reversed(layout):
        steps[letter] = step
        step *= sizes[letter]
    return tuple(steps[letter] for letter in "NCHW")


answer_2 = strides
""",
)
def strides(lesson: Names) -> Exercise:
    """Strides."""
    return Exercise(
        "Strides",
        expects=callable,
        hint=[
            "the last letter of the layout has the stride 1",
            "go through the layout from its end: each stride is the one before times the size of the letter before",
        ],
    ).agrees(
        "they are right for random layouts",
        steps_of,
        some_layout,
        first=[("NCHW", (2, 3, 4, 5)), ("NHWC", (2, 3, 4, 5))],
    )


@exercise(
    13,
    3,
    starter="60338142bf16a87c",
    solution="""
program = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(ready)
program = transform.FoldConstant()(program)
answer_3 = sum(isinstance(node, relay.Call) and node.op.name == "layout_transform" for node in post_order(program["main"]))
""",
)
def convert_less(lesson: Names) -> Exercise:
    """Convert less."""
    ready = lesson.ready
    converted = transform.FoldConstant()(transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(ready))
    calls = [node for node in post_order(converted["main"]) if isinstance(node, relay.Call)]
    return Exercise(
        "Convert less",
        hint=[
            "transform.ConvertLayout({'nn.conv2d': ['NHWC', 'default']}), then transform.FoldConstant()",
            "the image must be converted before the convolution, and back before the pooling: what else is left?",
        ],
    ).equals(sum(call.op == relay.op.get("layout_transform") for call in calls))


predicts(
    "13",
    a_number("How many `layout_transform` does `digits` need?", 5),
    one_of(
        "What happens if an image is read in the wrong layout?",
        "the type checker reports an error",
        "the run reports an error",
        "there is no error, and the numbers are wrong",
        right="c",
    ),
)
