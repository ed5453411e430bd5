"""The exercises of the lesson `21-llvm`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise

QUESTIONS = [
    ("@dense(", "classify"),
    ("@positive(", "relu"),
    ("alloca", "relu"),
    ("alloca", "dense"),
    ("alloca", "largest"),
    ("store", "largest"),
    ("@largest(", "classify"),
]


UNITS = ["dense", "classify", "(dense)", "[module]", "relu", "(classify)"]


@exercise(
    21,
    1,
    starter="2cb6c7c25a3961f2",
    solution="""
answer_1 = lambda text, unit: rec.bisect(lambda program: text in program, unit=unit).step.number
""",
)
def gone(lesson: Names) -> Exercise:
    """Gone."""
    rec = lesson.rec

    def last_step_with(text: Any, unit: Any) -> Any:
        return rec.bisect(lambda program: text in program, unit=unit).step.number

    return Exercise("Gone", expects=callable).agrees(
        "it names the step",
        last_step_with,
        lambda rng: QUESTIONS[rng.integers(len(QUESTIONS))],
        first=QUESTIONS[:3],
        hint=[
            "one method of the recording finds the first step after which something no longer holds",
            "rec.bisect(lambda program: text in program, unit=unit).step.number",
        ],
    )


@exercise(
    21,
    2,
    starter="a3e870e27762aefd",
    solution="""
answer_2 = lambda name: [step.name for step in rec.changed].count(name)
""",
)
def busy_or_not(lesson: Names) -> Exercise:
    """Busy or not."""
    rec = lesson.rec

    NAMES = sorted({step.name for step in rec.steps})

    return Exercise("Busy or not", expects=callable).agrees(
        "it counts the changes",
        lambda name: sum(step.name == name for step in rec.changed),
        lambda rng: str(rng.choice(NAMES)),
        first=["SROAPass", "SimplifyCFGPass", NAMES[0]],
        hint=["`rec.changed` lists the steps that changed something", "each has a `name`: count those that are equal"],
    )


@exercise(
    21,
    3,
    starter="5fc2cfca46975a70",
    solution="""
from collections import Counter

answer_3 = lambda unit: Counter(step.name for step in rec.changed if step.unit == unit).most_common(1)[0][0]
""",
)
def the_busiest_pass(lesson: Names) -> Exercise:
    """The busiest pass."""
    rec = lesson.rec

    def is_busiest(answer: Any, unit: Any) -> Any:
        counts = Counter(step.name for step in rec.changed if step.unit == unit)
        return counts[answer(unit)] == max(counts.values())

    return Exercise("The busiest pass", expects=callable).asks(
        "it names a pass that changed the program most often",
        is_busiest,
        lambda rng: str(rng.choice(UNITS)),
        first=UNITS,
        hint=[
            "count the names of those steps of `rec.changed` that have this `unit`",
            "`Counter(...).most_common(1)[0][0]`",
        ],
    )


predicts(
    "21",
    a_number("On how many of a hundred images do both recognise the same digit?", 100),
    a_number("How many lines does such a diff show?", 16),
    one_of("Which loop will use `<4 x float>`?", "the loop of `relu`", "the loop of `dense`", "both", right="a"),
)
