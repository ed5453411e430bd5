"""The exercises of the lesson `22-todays-tvm`."""

from __future__ import annotations

import re

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise

FUNCTIONS = ["main", "fused_conv2d_add_relu", "fused_matmul_add1", "conv2d", "max_pool2d", "softmax", "transpose"]


TEXTS = ["R.nn.conv2d", "Primitive", "def conv2d(", "R.matmul", "def matmul(", "def relu("]


@exercise(
    22,
    1,
    starter="9fe5e4692edc08ec",
    solution=r"""
answer_1 = lambda name: rec.first(rf"def {name}\(").number
""",
)
def where_from(lesson: Names) -> Exercise:
    """Where from?"""
    rec = lesson.rec

    return Exercise("Where from?", expects=callable).agrees(
        "it names the step",
        lambda name: rec.first(rf"def {name}\(").number,
        lambda rng: str(rng.choice(FUNCTIONS)),
        first=FUNCTIONS[:4],
        hint=[
            "`rec.first` searches the text of all steps",
            "a name also occurs where the function is called: search for `def name(`, where the bracket needs a backslash",
        ],
    )


@exercise(
    22,
    2,
    starter="cdff2e6527e6ca7d",
    solution="""
answer_2 = lambda verdict: [step.number for step in rec.steps if step.verdict == verdict]
""",
)
def what_is_left_open(lesson: Names) -> Exercise:
    """What is left open."""
    rec = lesson.rec

    return Exercise("What is left open", expects=callable).agrees(
        "it lists the steps",
        lambda verdict: [step.number for step in rec.steps if step.verdict == verdict],
        lambda rng: str(rng.choice(["changed", "unchanged", "unknown"])),
        first=["changed", "unchanged", "unknown"],
        hint=["each of `rec.steps` has a `verdict`", "collect the `number` of those if it is the right one"],
    )


@exercise(
    22,
    3,
    starter="9ea9c04a96470456",
    solution="""
answer_3 = lambda text: rec.last(re.escape(text)).number + 1
""",
)
def gone(lesson: Names) -> Exercise:
    """Gone."""
    rec = lesson.rec

    return Exercise("Gone", expects=callable).agrees(
        "it names the step",
        lambda text: rec.last(re.escape(text)).number + 1,
        lambda rng: str(rng.choice(TEXTS)),
        first=TEXTS[:3],
        hint=[
            "`rec.last` finds the last step that has it",
            "add one to the number of the last; `re.escape(text)` is the regular expression for a text",
        ],
    )


predicts(
    "22",
    a_number("How many kernels will TVM make?", 7),
    one_of(
        "Will the text become longer or shorter?",
        "shorter",
        "as long as before",
        "longer, by more than a hundred lines",
        right="c",
    ),
)
