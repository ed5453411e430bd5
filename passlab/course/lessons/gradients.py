"""The exercises of the lesson `12-gradients`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops


def some_point(rng: Any) -> Any:
    return float(rng.uniform(0.5, 2.0))


STEEP = transform.FirstOrderGradient()(
    passlab.parse("def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { sum(%x * %x * %y) }")
)


OTHERS = [
    transform.FirstOrderGradient()(passlab.parse(text))
    for text in (
        "def @main(%x: Tensor[(3), float32]) { sum(%x * %x) }",
        "def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %z: Tensor[(2, 3), float32]) { sum(%x * %z - %y * %z) }",
    )
]


def some_arguments(rng: Any) -> Any:
    mod = OTHERS[rng.integers(len(OTHERS))]
    return mod, *(
        rng.normal(size=param.checked_type.concrete_shape).astype("float32") * 3 for param in mod["main"].params
    )


@exercise(
    12,
    1,
    starter="d64a9ae37029e7d6",
    solution="""
answer_1 = {
    "subtract": lambda call, d: [d, relay.negative(d)],
    "negative": lambda call, d: [relay.negative(d)],
    "sqrt": lambda call, d: [d / (call + call)],
    "sigmoid": lambda call, d: [d * call * (relay.const(1.0) - call)],
}
""",
)
def one_more_operator(lesson: Names) -> Exercise:
    """One more operator."""
    LOCAL, derivative, value = lesson.LOCAL, lesson.derivative, lesson.value

    def numeric_slope(mod: Any, x: Any, step: Any = 1e-2) -> Any:
        return (float(value(mod, x + step)) - float(value(mod, x - step))) / (2 * step)

    def agrees_at(rules: Any, text: Any, x: Any) -> Any:
        """Whether the derivative of a program by the rules is that of two points."""
        mod = passlab.parse(f"def @main(%x: float32) {{ {text} }}")
        before = dict(LOCAL)
        LOCAL.update(rules)
        try:
            slope = derivative(transform.InferType()(mod)["main"])
        finally:
            LOCAL.clear()
            LOCAL.update(before)
        result = transform.InferType()(passlab.IRModule.from_expr(slope))
        return np.isclose(float(value(result, x)[0]), numeric_slope(mod, x), rtol=2e-2, atol=1e-2)

    rules = Exercise(
        "One more operator",
        expects=dict,
        hint=[
            "the derivative of a sum of two is one each; of a difference?",
            "sqrt: d / (2 * sqrt(x)); sigmoid: d * s * (1 - s), where s is the call itself",
        ],
    ).requires(
        "there are four rules",
        lambda answer: (
            set(answer) == {"subtract", "negative", "sqrt", "sigmoid"} and all(map(callable, answer.values()))
        ),
    )
    for name, text in {
        "subtract": "exp(%x) - %x * %x",
        "negative": "negative(%x * %x)",
        "sqrt": "sqrt(%x * %x + %x)",
        "sigmoid": "sigmoid(%x * %x)",
    }.items():
        rules = rules.asks(
            f"{name} is right",
            lambda answer, x, text=text: agrees_at(answer, text, x),
            some_point,
            times=3,
            first=[1.0],
        )
    return rules


@exercise(
    12,
    2,
    starter="00513c0e500a5e6e",
    solution="""
answer_2 = lambda n: 4 * n
""",
)
def what_does_it_cost(lesson: Names) -> Exercise:
    """What does it cost?"""
    derivative = lesson.derivative

    def operators_of(n: Any) -> Any:
        x = relay.var("x", shape=(), dtype="float32")
        body = x
        for _ in range(n):
            body = relay.tanh(body)
        return count_ops(derivative(relay.Function([x], body))).total()

    return Exercise(
        "What does it cost?",
        expects=callable,
        hint=[
            "count for n = 1 and n = 2 by hand",
            "four operators a step: the tanh itself, its square, the difference, the product",
        ],
    ).agrees("it is right for random lengths", operators_of, lambda rng: int(rng.integers(1, 60)), first=[1, 2])


@exercise(
    12,
    3,
    starter="9f33411935b14b69",
    solution="""
@transform.module_pass(opt_level=0, name="clip_gradients")
def solution(mod, ctx):
    main = mod["main"]
    pair = relay.var("pair", main.ret_type)
    derivatives = relay.TupleGetItem(pair, 1)
    fields = [relay.clip(relay.TupleGetItem(derivatives, i), -1.0, 1.0) for i in range(len(main.params))]
    body = relay.Let(pair, main.body, relay.Tuple([relay.TupleGetItem(pair, 0), relay.Tuple(fields)]))
    return mod.with_functions({"main": relay.Function(main.params, body)})


answer_3 = solution
""",
)
def a_pass_that_clips(lesson: Names) -> Exercise:
    """A pass that clips."""
    value = lesson.value

    def clipped(pass_: Any, x: Any, y: Any) -> Any:
        return clips(pass_, STEEP, x, y)

    def clips(pass_: Any, mod: Any, *arguments: Any) -> Any:
        before, after = value(mod, *arguments), value(pass_(mod), *arguments)
        return np.array_equal(before[0], after[0]) and all(
            np.array_equal(np.clip(d, -1, 1), c) for d, c in zip(before[1], after[1], strict=True)
        )

    return (
        Exercise(
            "A pass that clips",
            expects=transform.Pass,
            hint=[
                "bind the pair to a variable and take its parts",
                "relay.Let(pair, main.body, relay.Tuple([pair.0, the clipped fields of pair.1])), with relay.TupleGetItem",
            ],
        )
        .asks(
            "each derivative is clipped, and the value is not",
            clipped,
            lambda rng: tuple(rng.normal(size=3).astype("float32") * 3 for _ in range(2)),
            first=[(np.float32([2, -2, 3]), np.float32([1, 1, 1]))],
        )
        .asks("whatever the number of parameters", clips, some_arguments, times=6)
        .requires(
            "the gradient is computed once",
            lambda p: count_ops(p(STEEP)["main"])["collapse_sum_like"] <= count_ops(STEEP["main"])["collapse_sum_like"],
        )
    )


predicts(
    "12",
    a_number("How many contributions does `%0` receive?", 2),
    one_of("How many operators does the gradient of these four have?", "four", "eight", "about thirty", right="c"),
    a_number("How many of a hundred images does the untrained network get right?", 10),
)
