"""The exercises and predictions of the lesson `24-your-own-compiler`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.course.own import ELEMENTWISE, OwnCompiler, Part, Program, Step, evaluate
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise


@exercise(
    24,
    1,
    starter="7cd23a2130ac492c",
    solution="""
alone = mine.replaced("fuse", lambda program, shapes: [[step.name] for step in program.steps])
unfused = alone.build(TEXT, weights, IMAGE, "unfused")
answer_1 = (len(unfused.groups), unfused.bytes_of_buffers)
""",
)
def without_fusion(lesson: Names) -> Exercise:
    """Without fusion."""
    alone = lesson.mine.replaced("fuse", lambda program, shapes: [[step.name] for step in program.steps])
    unfused = alone.build(lesson.TEXT, lesson.weights, lesson.IMAGE, "unfused")

    return Exercise(
        "Without fusion",
        hint=(
            '`mine.replaced("fuse", function)` is your compiler with another part; `build` it under another name',
            "each step is a group of its own: `[[step.name] for step in program.steps]`",
        ),
        expects=(int, int),
    ).equals((len(unfused.groups), unfused.bytes_of_buffers))


@exercise(
    24,
    2,
    starter="ab0a8a7ef8c58506",
    solution="""
answer_2 = ("multiply", "add", "nn.relu")
""",
)
def what_joined(lesson: Names) -> Exercise:
    """What joined the convolution."""
    group = next(group for group in lesson.compiled.groups if group[0].op == "nn.conv2d")

    return Exercise(
        "What joined the convolution", expects=[str], hint="`compiled.groups[0]` has the steps of the first kernel"
    ).equals([step.op for step in group[1:]])


def goes_wrong(mine: OwnCompiler, program: Program, values: dict[str, Any]) -> bool:
    """Whether a compiler fails on a program, or gives another result than passlab's evaluator."""
    try:
        shapes = {name: np.shape(array) for name, array in values.items()}
        result = mine.lower(program, shapes, "counterexample").run(*values.values())
    except Exception:
        return True
    return not np.allclose(result, evaluate(program, values), rtol=1e-3, atol=1e-4)


def greedy(program: Program, shapes: Any) -> list[list[str]]:
    """The fusion with the fault of the lesson: it does not ask how often the first argument is used."""
    groups: list[list[str]] = []
    group_of: dict[str, list[str]] = {}
    place = {step.name: number for number, step in enumerate(program.steps)}
    for step in program.steps:
        first = step.args[0]
        joins = step.op in ELEMENTWISE and first in group_of and shapes[first] == shapes[step.name]
        group = group_of[str(first)] if joins else []
        if not joins:
            groups.append(group)
        group.append(step.name)
        group_of[step.name] = group
    return sorted(groups, key=lambda group: place[group[-1]])


@exercise(
    24,
    3,
    starter="1fcadaff3af062d9",
    solution="""
answer_3 = [
    Step("a", "exp", ("data",), {}),
    Step("b", "tanh", ("a",), {}),
    Step("c", "nn.softmax", ("a",), {}),
    Step("d", "add", ("b", "c"), {}),
]
""",
)
def a_counterexample(lesson: Names) -> Exercise:
    """A counterexample."""
    mine: OwnCompiler = lesson.mine
    values = {"data": np.float32([[1, -2, 3], [0, 1, 2]])}
    solution = OwnCompiler([Part(name, part.function, False) for name, part in mine.parts.items()], mine.folder)

    def program_of(steps: Any) -> Program:
        return Program(("data",), [Step(*step) for step in steps], {})

    def runs(steps: Any) -> bool:
        for step in steps:
            if not isinstance(step, (list, tuple)) or len(step) != 4:
                raise DisagreementError(f"{step!r} is not a Step")
        evaluate(program_of(steps), values)
        return True

    return (
        Exercise(
            "A counterexample",
            expects=lambda steps: isinstance(steps, (list, tuple)),
            expected_kind="a list of steps",
        )
        .requires(
            "it is a program: a list of steps on `data` that passlab can run",
            runs,
            hint='`Step("a", "exp", ("data",), {})` is a step; the last one is the result',
        )
        .requires(
            "your compiler is right about it",
            lambda steps: not goes_wrong(solution, program_of(steps), values),
            hint="use operators of your language: exp, tanh, add, nn.softmax, ...",
        )
        .requires(
            "the compiler with the greedy fusion is wrong about it",
            lambda steps: goes_wrong(solution.replaced("fuse", greedy), program_of(steps), values),
            hint=(
                "which question does the greedy fusion not ask?",
                "let a step be used twice: by an element-wise step, and by one that begins a group of its own",
            ),
        )
    )


predicts(
    "24",
    one_of(
        "What is the largest difference from passlab's results?",
        "not at all",
        "by less than 0.00001",
        "by more than 0.01",
        right="b",
    ),
    one_of("Who finds the fault of the careless plan first?", "`digits`", "the random programs", right="b"),
)
