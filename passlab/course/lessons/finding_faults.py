"""The exercises of the lesson `18-finding-faults`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import lab, relay
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise, same

widths = "InferType, SimplifyInference, FoldConstant, ToMixedPrecision, FastMath, FuseOps"


def of_dtype(rng: Any) -> Any:
    """A random program, and whether it is free of float16."""
    dtype = str(rng.choice(["float16", "float32", "float64", "int16", "int8"]))
    return passlab.parse(f"def @main(%half: {dtype}, %x: float32) {{ (%half, exp(%x)) }}"), dtype != "float16"


def parts(mod: Any) -> Any:
    return sum(isinstance(node, relay.Call) for node in passlab.ir.walk.post_order(mod["main"].body))


def operators(mod: Any) -> Any:
    return {node.op.name for node in passlab.ir.walk.post_order(mod["main"].body) if isinstance(node, relay.Call)}


@exercise(
    18,
    1,
    starter="cef16520c4c6810b",
    solution="""
answer_1 = lab.bisect(net, theirs).event.name
""",
)
def who_was_it(lesson: Names) -> Exercise:
    """Who was it?"""
    net, theirs = lesson.net, lesson.theirs

    return (
        Exercise(
            "Who was it?",
            expects=str,
            hint=[
                "which function of the lab names a pass?",
                "lab.bisect takes a program and a list of passes; the event of its answer has a name",
            ],
        )
        .requires("it is one of the four", lambda name: name in [pass_.info.name for pass_ in theirs[1:]])
        .requires("it is the pass that broke the program", lambda name: same(name, lab.bisect(net, theirs).event.name))
    )


@exercise(
    18,
    2,
    starter="cd59690a47625621",
    solution="""
answer_2 = lambda mod: "float16" not in mod.astext()
""",
)
def a_question_of_types(lesson: Names) -> Exercise:
    """A question of types."""
    net = lesson.net

    return (
        Exercise(
            "A question of types",
            expects=callable,
            hint=["a module has a text", "the text of a module has the dtype of every tensor: mod.astext()"],
        )
        .requires("the program is good at first", lambda good: good(net))
        .requires(
            "a program of half floats is bad", lambda good: not good(passlab.parse("def @main(%x: float16) { %x }"))
        )
        .asks("it is right about random programs", lambda good, mod, expected: bool(good(mod)) == expected, of_dtype)
        .requires(
            "it names ToMixedPrecision",
            lambda good: lab.bisect(net, widths, good, opt_level=4).event.name == "ToMixedPrecision",
        )
    )


@exercise(
    18,
    3,
    starter="017e87763179555f",
    solution="""
answer_3 = [event.name for event in lab.bisect(net, crowd).needed]
""",
)
def what_does_it_take(lesson: Names) -> Exercise:
    """What does it take?"""
    crowd, net = lesson.crowd, lesson.net

    return (
        Exercise(
            "What does it take?",
            expects=[str],
            hint=["a bisection knows which passes are needed", "it has a list of events, the guilty one last"],
        )
        .requires("these are passes of the pipeline", lambda names: set(names) <= {pass_.info.name for pass_ in crowd})
        .requires(
            "together they break the program, and none can be left out",
            lambda names: sorted(names) == sorted(event.name for event in lab.bisect(net, crowd).needed),
        )
    )


@exercise(
    18,
    4,
    starter="b5d8c7956e341138",
    solution="""
answer_4 = lab.reduce(deep, lambda mod: np.isinf(with_zeros(mod)).any()).module
""",
)
def as_small_as_it_gets(lesson: Names) -> Exercise:
    """As small as it gets."""
    deep, with_zeros = lesson.deep, lesson.with_zeros

    return (
        Exercise(
            "As small as it gets",
            expects=passlab.IRModule,
            hint=[
                "lab.reduce takes a program and a predicate that stays true",
                "the answer of lab.reduce has the program as .module; the predicate looks for infinity in with_zeros(mod)",
            ],
        )
        .requires("it still gives infinity", lambda mod: np.isinf(with_zeros(mod)).any())
        .requires("it is a part of the network", lambda mod: operators(mod) <= operators(deep))
        .requires("one operator is enough", lambda mod: parts(mod) == 1)
    )


predicts(
    "18",
    one_of("Which pass will it name?", "`ToGraphNormalForm`", "`add_up`", "`FastMath`", right="b"),
    one_of("Which rule is wrong?", "`square`", "`rectify`", right="b"),
    one_of("Does it still recognise more than 96 of 100 digits?", "yes", "no", right="b"),
)
