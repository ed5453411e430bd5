"""The exercises of the lesson `10-operator-fusion`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay
from passlab.course.predictions import a_number, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise

FOUR = (
    "nn.relu(exp(%x) * 2f)",
    "sum(exp(nn.dense(%x, %w)))",
    "%0 = nn.dense(%x, %w); nn.relu(%0) + tanh(%0)",
    "%0 = exp(%x); (sum(%0), %0)",
)


def value_of(text: Any, x: Any, w: Any) -> Any:
    mod = passlab.parse(f"def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {{ {text} }}")
    return relay.create_executor("debug", mod).evaluate()(x, w)


@exercise(
    10,
    1,
    starter="cef16520c4c6810b",
    solution="""
answer_1 = [1, 2, 1, 2]
""",
)
def how_many_kernels(lesson: Names) -> Exercise:
    """How many kernels?"""
    of = lesson.of

    return Exercise(
        "How many kernels?",
        expects=(int, int, int, int),
        hint=[
            "which rule decides each?",
            "an epilogue is element-wise, a diamond goes as a whole, and what leaves the program is written to memory",
        ],
    ).equals([len(of(text)) for text in FOUR])


@exercise(
    10,
    2,
    starter="22c3623523826baa",
    solution="""
answer_2 = "nn.relu(nn.dense(exp(%x), %w))"
""",
)
def one_kernel_less(lesson: Names) -> Exercise:
    """One kernel less."""
    of, wasteful = lesson.of, lesson.wasteful

    def few(text: Any) -> bool:
        if len(of(text)) > 2:
            raise DisagreementError(f"it becomes {len(of(text))} kernels")
        return True

    return (
        Exercise(
            "One kernel less",
            expects=str,
            hint=["which operator does not care where its elements stand?", "two transposes in a row are nothing"],
        )
        .asks(
            "it computes the same",
            lambda text, x, w: np.array_equal(value_of(text, x, w), value_of(wasteful, x, w)),
            lambda rng: tuple(rng.normal(size=shape).astype("float32") for shape in ((4, 8), (8, 8))),
            times=3,
        )
        .requires("in at most two kernels", few)
    )


@exercise(
    10,
    3,
    starter="d795bc6adcf2f2e7",
    solution="""
def solution(names):
    groups = []
    for name in names:
        kind = pattern_of(name)
        largest = max(map(pattern_of, groups[-1])) if groups else 8
        if (kind <= 1 and largest in (0, 1, 2, 4)) or (kind == 2 and largest <= 2) or (kind == 3 and largest <= 1):
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


answer_3 = solution
""",
)
def fuse_a_chain(lesson: Names) -> Exercise:
    """Fuse a chain."""
    KNOWN, kernels = lesson.KNOWN, lesson.kernels

    def fused_chain(names: Any) -> Any:
        expr = "%x"
        for name in names:
            expr = KNOWN[name].format(expr)
        square = "Tensor[(8, 8), float32]"
        mod = passlab.parse(f"def @main(%x: {square}, %w: {square}) {{ {expr} }}")
        return sorted(kernels(mod))

    def agrees(groups: Any, *names: Any) -> Any:
        given, expected = [list(group) for group in groups(list(names))], fused_chain(names)
        if [name for group in given for name in group] != list(names):
            raise DisagreementError(f"it gives {given}: the operators of the chain are not there in their order")
        return sorted(given) == expected

    def random_chain(rng: Any) -> Any:
        missing = rng.choice(["transpose", "sum"])  # nn.dense has no type after both of them
        return ([str(name) for name in rng.choice([name for name in KNOWN if name != missing], rng.integers(1, 7))],)

    return (
        Exercise("Fuse a chain", expects=callable)
        .requires(
            "element-wise operators share a kernel",
            lambda f: agrees(f, "exp", "exp", "exp"),
            hint=["what does the kernel before it end with?", "start a new list, or append to the last one"],
        )
        .requires("a reduction joins the operators before it", lambda f: agrees(f, "exp", "sum"))
        .requires("a reduction ends its kernel", lambda f: agrees(f, "exp", "sum", "exp"))
        .requires("a product begins a kernel", lambda f: agrees(f, "exp", "nn.dense", "exp"))
        .requires("a product takes its elementwise successors", lambda f: agrees(f, "nn.dense", "exp", "exp"))
        .requires(
            "the kernel of a product takes no reduction",
            lambda f: agrees(f, "nn.dense", "exp", "sum"),
            hint="a kernel with a product in it takes only what is element-wise",
        )
        .requires(
            "a transpose joins what is element-wise, not a product",
            lambda f: agrees(f, "exp", "transpose", "exp") and agrees(f, "nn.dense", "transpose"),
        )
        .asks("it agrees with FuseOps on random chains", lambda f, names: agrees(f, *names), random_chain, times=80)
    )


@exercise(
    10,
    4,
    starter="85b7982e13abfc4f",
    solution="""
saved = round(1 - traffic(together) / traffic(apart), 2)


answer_4 = saved
""",
)
def what_is_it_worth(lesson: Names) -> Exercise:
    """What is it worth?"""
    apart, together, traffic = lesson.apart, lesson.together, lesson.traffic

    return Exercise("What is it worth?", expects=float, hint="1 - with / without").requires(
        "it is the saved fraction", lambda part: abs(float(part) - (1 - traffic(together) / traffic(apart))) < 0.01
    )


predicts(
    "10",
    a_number("How many kernels does it become?", 1),
    a_number("How many kernels does `digits` become?", 6),
)
