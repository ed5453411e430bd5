"""The exercises of the lesson `07-pass-manager`."""

from __future__ import annotations

from typing import Any

import passlab
from passlab import relay, transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops
from passlab.transform import PassContext

FIVE = "FuseOps, DeadCodeElimination, FoldConstant, CanonicalizeOps, FastMath"


PROGRAMS = [
    passlab.parse(f"def @main(%x: float32) {{ {text} }}")
    for text in ("%x * %x * %x", "tanh(%x)", "%x - 3f", "let %y = exp(%x); %y + %x")
]


@exercise(
    7,
    1,
    starter="cef16520c4c6810b",
    solution="""
answer_1 = ["FuseOps", "DeadCodeElimination", "FastMath"]
""",
)
def who_runs(lesson: Names) -> Exercise:
    """Who runs."""
    net = lesson.net

    def what_ran(passes: Any, **context: Any) -> Any:
        return [step.name for step in passlab.record(net, passes, **context).steps if step.status == "ran"]

    return Exercise(
        "Who runs",
        expects=[str],
        hint=["which rule is asked first?", "disabled wins over required, required over the level"],
    ).equals(what_ran(FIVE, opt_level=1, required_pass=["FastMath", "FoldConstant"], disabled_pass=["FoldConstant"]))


@exercise(
    7,
    2,
    starter="9b3b0dd8f6d123ed",
    solution="""
answer_2 = "DeadCodeElimination, FoldConstant, FuseOps"
""",
)
def order_matters(lesson: Names) -> Exercise:
    """Order matters."""
    net, number_of_kernels = lesson.net, lesson.number_of_kernels

    def result_after(text: Any) -> Any:
        return passlab.record(net, text).output

    return (
        Exercise(
            "Order matters",
            expects=str,
            hint=["what can be folded inside a kernel?", "fuse last: what is dead or constant by then is not fused"],
        )
        .requires("these are passes", transform.parse_pipeline)
        .requires(
            "each pass is there once",
            lambda text: (
                sorted(pass_.info.name for pass_ in transform.parse_pipeline(text).passes)
                == ["DeadCodeElimination", "FoldConstant", "FuseOps"]
            ),
        )
        .requires("one kernel is left", lambda text: number_of_kernels(result_after(text)) == 1)
        .requires("four operators are left", lambda text: sum(count_ops(result_after(text)["main"]).values()) == 4)
    )


@exercise(
    7,
    3,
    starter="8497a8adb90f4784",
    solution="""
answer_3 = PassContext(opt_level=3, disabled_pass=["FuseOps"])
""",
)
def a_context(lesson: Names) -> Exercise:
    """A context."""
    net, number_of_kernels, pipeline = lesson.net, lesson.number_of_kernels, lesson.pipeline

    def under(context: Any) -> Any:
        with context:
            return pipeline(net)

    return (
        Exercise("A context", expects=PassContext)
        .requires(
            "there is no nn.bias_add",
            lambda context: not count_ops(under(context)["main"])["nn.bias_add"],
            hint=["which pass replaces it?", "CanonicalizeOps has level 3"],
        )
        .requires(
            "there are no kernels",
            lambda context: number_of_kernels(under(context)) == 0,
            hint=["which pass makes them?", "there is a list of passes that must not run"],
        )
    )


@exercise(
    7,
    4,
    starter="c335eaddebd982e5",
    solution="""
@transform.function_pass(opt_level=1, name="negated")
def solution(func, mod, ctx):
    return relay.Function(func.params, relay.negative(func.body))


answer_4 = solution
""",
)
def a_pass_of_your_own(lesson: Names) -> Exercise:
    """A pass of your own."""
    net = lesson.net

    def what_ran(passes: Any, **context: Any) -> Any:
        return [step.name for step in passlab.record(net, passes, **context).steps if step.status == "ran"]

    return (
        Exercise("A pass of your own", expects=transform.Pass)
        .requires("it is called `negated`", lambda pass_: pass_.info.name == "negated")
        .asks(
            "the result is the negative of what it was",
            lambda pass_, mod, x: (
                float(relay.create_executor("debug", pass_(mod)).evaluate()(x))
                == -float(relay.create_executor("debug", mod).evaluate()(x))
            ),
            lambda rng: (PROGRAMS[rng.integers(len(PROGRAMS))], float(rng.normal())),
            hint=[
                "make a function with the same parameters and another body",
                "relay.Function(func.params, relay.negative(...))",
            ],
        )
        .requires(
            "it is skipped at level 0",
            lambda pass_: what_ran([pass_], opt_level=0) == [],
            hint="the decorator says the level",
        )
        .requires("it runs at level 1", lambda pass_: what_ran([pass_], opt_level=1) == ["negated"])
    )


predicts(
    "07",
    one_of(
        "Why did `CanonicalizeOps` not run?",
        "its level is above the level of the context",
        "a pass before it failed",
        "nothing was left to do",
        right="a",
    ),
    one_of(
        "Which of the six change nothing?",
        "`InferType` and `EliminateCommonSubexpr`",
        "only `InferType`",
        "`FoldConstant` and `CanonicalizeOps`",
        right="a",
    ),
)
