"""The exercises of the lesson `17-time-travel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import lab
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise


def question(rng: Any) -> Any:
    """An array, and whether it has an element above 1000 or below -1000."""
    array = rng.normal(size=rng.integers(1, 5, 2)) * 10.0 ** rng.integers(0, 6)
    return array.astype("float32"), bool((np.abs(array) > 1000).any())


@exercise(
    17,
    1,
    starter="cef16520c4c6810b",
    solution="""
answer_1 = dbg.query("nn.dense")[0]
""",
)
def find_the_instruction(lesson: Names) -> Exercise:
    """Find the instruction."""
    dbg = lesson.dbg

    return Exercise(
        "Find the instruction",
        expects=int,
        hint=["dbg.query knows operators", "an instant is a number: take the first of the list"],
    ).requires("nn.dense is what comes next", lambda at: "nn.dense" in dbg.trace[at].operators)


@exercise(
    17,
    2,
    starter="16668db2909a0378",
    solution="""
answer_2 = lambda value: value.size > 0 and abs(value).max() > 1000
""",
)
def ask_about_values(lesson: Names) -> Exercise:
    """Ask about values."""
    run = lesson.run

    return (
        Exercise("Ask about values", expects=callable, hint=["the sign does not matter", "abs(value).max()"])
        .requires(
            "it holds for an array with large values", lambda ask: ask(np.full(3, 5000.0)) and ask(np.full(3, -5000.0))
        )
        .requires("it does not hold for small values", lambda ask: not ask(np.full((2, 2), 999.0)))
        .requires(
            "it does not fail for an empty array",
            lambda ask: not ask(np.zeros((0, 3))),
            hint="the largest element of nothing does not exist: ask value.size first",
        )
        .asks(
            "it is right about random arrays",
            lambda ask, array, expected: bool(ask(array)) == expected,
            question,
            first=[
                (np.float32([[1, -5000], [2, 3]]), True),
                (np.float32([5000, -1]), True),
                (np.float32([1000, -1000]), False),
                (np.float32([1000.5]), True),
                (np.float32([-1000.5, 0]), True),
                (np.full(20, 900, "float32"), False),
            ],
        )
        .requires("it finds something", lambda ask: len(run.query(ask)) > 0)
    )


@exercise(
    17,
    3,
    starter="4dd67b66844ecd49",
    solution="""
steps.goto(0)
steps.breakpoint("@sum")
while len(steps.stack) < 4:
    steps.continue_()


answer_3 = steps.at
""",
)
def four_frames_deep(lesson: Names) -> Exercise:
    """Four frames deep."""
    steps = lesson.steps

    return (
        Exercise(
            "Four frames deep",
            expects=int,
            hint=[
                "a breakpoint may be a function",
                'steps.breakpoint("@sum"), then continue_ until len(steps.stack) is 4',
            ],
        )
        .requires("four frames are there", lambda at: len(steps.trace[at].stack) == 4)
        .requires("and not before", lambda at: all(len(steps.trace[earlier].stack) < 4 for earlier in range(at)))
    )


@exercise(
    17,
    4,
    starter="85b7982e13abfc4f",
    solution="""
at = dbg.query("nn.softmax")[0]


answer_4 = dbg.fork({dbg.trace[at].reads[0]: np.zeros((2, 4), "float32")}, instant=at)
""",
)
def change_the_past(lesson: Names) -> Exercise:
    """Change the past."""
    dbg = lesson.dbg

    return (
        Exercise(
            "Change the past",
            expects=lab.Fork,
            expected_kind="a fork: what dbg.fork returns",
            hint=["softmax of equal numbers is uniform", "put a constant tensor into the register that softmax reads"],
        )
        .requires("it is a fork of dbg", lambda fork: fork.original is dbg.trace)
        .requires("softmax comes next", lambda fork: "nn.softmax" in fork.trace[0].operators)
        .requires("the result is uniform", lambda fork: np.allclose(fork.result, 0.25))
    )


predicts(
    "17",
    one_of("What is to blame?", "a layer", "one of the weights", right="b"),
    one_of(
        "Which bar belongs to the convolution?",
        "the bar of 1,024 bytes",
        "a bar of 256 bytes",
        "the bar of 40 bytes",
        right="a",
    ),
)
