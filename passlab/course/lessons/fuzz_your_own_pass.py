"""The exercises of the lesson `23-fuzz-your-own-pass`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops


def shared_products(rng: Any) -> Any:
    a, b, c, d = (str(rng.choice(["%0", "%1", "%x"])) for _ in range(4))
    text = f"def @main(%x: Tensor[(4), float32]) {{ %0 = exp(%x); %1 = tanh(%x + %0); {a} * {b} + {c} * {d} }}"
    return passlab.parse(text), rng.normal(size=4).astype("float32"), a == c or b == d


SIMILAR = [  # products whose factors have the same operator, and are not the same
    (passlab.parse(f"def @main(%x: Tensor[(4), float32]) {{ {text} }}"), np.float32([1, -2, 0.5, 3]), False)
    for text in (
        "%0 = exp(%x); %1 = exp(%0); %0 * %x + %1 * tanh(%x)",
        "%0 = exp(%x); %1 = exp(%0); %x * %0 + tanh(%x) * %1",
        "%0 = exp(%x); %x * %0 + %0 * tanh(%x)",
    )
]


@exercise(
    23,
    1,
    starter="27394fb1ec823812",
    solution="""
answer_1 = "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %1 = tanh(%x); %x * %0 + %1 * %0 }"
""",
)
def your_own_counterexample(lesson: Names) -> Exercise:
    """Your own counterexample."""
    agrees, factor_out = lesson.agrees, lesson.factor_out

    def is_wrong_on(pass_: Any, text: Any) -> Any:
        mod = passlab.parse(text)
        inputs = [np.random.default_rng(n).normal(size=4).astype("float32") for n in range(3)]
        return any(not agrees(pass_, mod, x) for x in inputs)

    return (
        Exercise(
            "Your own counterexample",
            expects=str,
            hint=[
                "read the condition: when is it true, and for which of the two sides is the result right?",
                "it says `or`: let the second factors be the same, and the first ones differ",
            ],
        )
        .requires(
            "it is a program of one tensor",
            lambda text: (
                str(passlab.parse(text)["main"].params[0].checked_type) == "Tensor[(4), float32]"
                and len(passlab.parse(text)["main"].params) == 1
            ),
        )
        .requires("it has at most five operators", lambda text: count_ops(passlab.parse(text)["main"]).total() <= 5)
        .requires("the pass is wrong about it", lambda text: is_wrong_on(factor_out, text))
    )


@exercise(
    23,
    2,
    starter="a5b82e8de3c2a14f",
    solution="""
def solution(rng):
    a, b, c = rng.permutation(["%0", "%1", "%x"])
    return f"def @main(%x: Tensor[(4), float32]) {{ %0 = {rng.choice(UNARY[3:])}(%x); %1 = tanh(%x + %0); {a} * {b} + {c} * {b} }}"


answer_2 = solution
""",
)
def a_better_generator(lesson: Names) -> Exercise:
    """A better generator."""
    agrees, factor_out = lesson.agrees, lesson.factor_out

    def is_wrong_on(pass_: Any, text: Any) -> Any:
        mod = passlab.parse(text)
        inputs = [np.random.default_rng(n).normal(size=4).astype("float32") for n in range(3)]
        return any(not agrees(pass_, mod, x) for x in inputs)

    def share_of_wrong(generator: Any, programs: Any = 60) -> Any:
        rng = np.random.default_rng()
        return sum(is_wrong_on(factor_out, generator(rng)) for _ in range(programs)) / programs

    return (
        Exercise(
            "A better generator",
            expects=callable,
            hint=[
                "choose four factors at random, and add two products",
                "let some of the factors be the same node: %0, %1",
            ],
        )
        .requires(
            "it makes programs",
            lambda g: all(passlab.parse(g(np.random.default_rng(n))) is not None for n in range(10)),
        )
        .requires("they are not all the same", lambda g: len({g(np.random.default_rng(n)) for n in range(20)}) >= 5)
        .requires("the pass is wrong about every fifth", lambda g: share_of_wrong(g) >= 0.2)
    )


@exercise(
    23,
    3,
    starter="66fb74f78999c851",
    solution="""
@transform.function_pass(opt_level=1, name="factor_out")
def solution(func, mod, ctx):
    def rule(before, node):
        if calls(node, "add") and all(calls(argument, "multiply") for argument in node.args):
            (a, b), (c, d) = (argument.args for argument in node.args)
            if a is c:
                return relay.multiply(a, relay.add(b, d))
            if b is d:
                return relay.multiply(relay.add(a, c), b)
        return node

    return rewrite(func, rule, only=(relay.Call,))


answer_3 = solution
""",
)
def defend_it(lesson: Names) -> Exercise:
    """Defend it."""
    agrees, digits, factor_out = lesson.agrees, lesson.digits, lesson.factor_out

    def defended(pass_: Any, mod: Any, x: Any, shared: Any) -> Any:
        products_before, products_after = (count_ops(m["main"])["multiply"] for m in (mod, pass_(mod)))
        return agrees(pass_, mod, x) and (not shared or products_after < products_before)

    KNOWN = next(
        question
        for question in map(shared_products, map(np.random.default_rng, range(99)))
        if not agrees(factor_out, *question[:2])
    )

    return (
        Exercise(
            "Defend it",
            expects=transform.Pass,
            hint=[
                "there are two cases, and each has its own result",
                "a * b + a * d is a * (b + d); a * b + c * b is (a + c) * b",
            ],
        )
        .requires(
            "the first factor is factored out",
            lambda p: (
                count_ops(
                    p(passlab.parse("def @main(%x: float32, %y: float32) { %x * exp(%y) + %x * tanh(%y) }"))["main"]
                )["multiply"]
                == 1
            ),
        )
        .requires(
            "so is the second",
            lambda p: (
                count_ops(
                    p(passlab.parse("def @main(%x: float32, %y: float32) { exp(%y) * %x + tanh(%y) * %x }"))["main"]
                )["multiply"]
                == 1
            ),
        )
        .requires(
            "what has nothing in common stays",
            lambda p: (
                p(passlab.parse("def @main(%x: float32, %y: float32) { exp(%y) * %x + tanh(%x) * %y }")) is not None
            ),
        )
        .asks(
            "it is right about random programs, and does its work",
            defended,
            shared_products,
            first=[KNOWN, *SIMILAR],
            times=40,
        )
        .requires("digits comes back as it is", lambda p: p(digits) is digits)
    )


predicts(
    "23",
    one_of(
        "Which of the three rules are right for all `float32` numbers?",
        "all of them",
        "the first two",
        "only the first",
        right="b",
    ),
    one_of("Is the repaired pass right?", "yes", "no", right="b"),
)
