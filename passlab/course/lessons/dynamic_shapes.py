"""The exercises of the lesson `16-dynamic-shapes`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops

FOUR = ("%x + %y", "concatenate((%x, %y))", "transpose(%x)", "sum(%x, axis=[0])")


def type_of(text: Any) -> Any:
    return passlab.parse(f"def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(4, 3), float32]) {{ {text} }}")[
        "main"
    ].ret_type


def as_type(text: Any) -> Any:
    return passlab.parse(f"def @main(%x: {text}) {{ %x }}")["main"].params[0].type_annotation


def real_shape(shapes: Any, axis: Any) -> Any:
    return np.concatenate([np.zeros(s) for s in shapes], axis).shape


def some_shapes(rng: Any) -> Any:
    rank = int(rng.integers(1, 4))
    axis = int(rng.integers(-rank, rank))
    base = [int(d) for d in rng.integers(1, 5, rank)]
    shapes = [
        tuple(int(rng.integers(1, 5)) if i == axis % rank else d for i, d in enumerate(base))
        for _ in range(int(rng.integers(1, 4)))
    ]
    return shapes, axis


def refuses(answer: Any, shapes: Any, axis: Any) -> Any:
    try:
        answer(shapes, axis)
    except ValueError:
        return True
    return False


def is_static(pass_: Any, mod: Any) -> Any:
    main = transform.InferType()(pass_(mod))["main"]
    return not relay.ty.is_dynamic(main.checked_type)


def same_operators(pass_: Any, mod: Any) -> Any:
    return count_ops(pass_(mod)["main"]) == count_ops(mod["main"])


OTHERS = [
    passlab.parse(text)
    for text in (
        "def @main(%x: Tensor[(3, ?), float32]) { tanh(transpose(%x)) }",
        "def @main(%x: Tensor[(?), float32], %y: Tensor[(2, ?), float32], %z: Tensor[(8), float32]) { (%x - %z, exp(%y)) }",
        "def @main(%n: Tensor[(?, 2), int32], %b: Tensor[(?), bool]) { (%n * %n, logical_not(%b)) }",
    )
]


def same_values(pass_: Any, mod: Any) -> Any:
    """Whether the program for batches of eight computes what the program for any size does."""
    static, rng = pass_(mod), np.random.default_rng(0)
    inputs = [
        rng.normal(size=[8 if isinstance(d, relay.Any) else int(d) for d in p.checked_type.shape]).astype(
            p.checked_type.dtype
        )
        for p in mod["main"].params
    ]
    results = [relay.create_executor("vm", program).evaluate()(*inputs) for program in (mod, static)]
    fields = [result if isinstance(result, tuple) else (result,) for result in results]
    return all(np.allclose(a, b, rtol=1e-4) for a, b in zip(*fields, strict=True))


def some_network(rng: Any) -> Any:
    lines = ["%0 = nn.dense(%x, %w);"]
    for n in range(1, int(rng.integers(2, 6))):
        lines.append(
            f"%{n} = {rng.choice(['nn.relu', 'tanh', 'exp'])}(%{n - 1});"
            if rng.random() < 0.6
            else f"%{n} = %{n - 1} + %0;"
        )
    return passlab.parse(
        f"def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(4, 4), float32]) {{ {' '.join(lines)} sum(%{len(lines) - 1}, axis=[0]) }}"
    )


@exercise(
    16,
    1,
    starter="3d9fed39e7eff643",
    solution="""
answer_1 = ["Tensor[(4, 3), float32]", "Tensor[(?, 3), float32]", "Tensor[(3, ?), float32]", "Tensor[(3), float32]"]
""",
)
def follow_the_unknown(lesson: Names) -> Exercise:
    """Follow the unknown."""
    follow = Exercise(
        "Follow the unknown",
        expects=(str, str, str, str),
        hint=[
            "which dimension does each operator keep?",
            "broadcasting against 4 gives 4, or an error; an unknown length and 4 more is unknown",
        ],
    )
    for n, text in enumerate(FOUR):
        follow = follow.requires(
            f"{n + 1} is right", lambda answer, n=n, text=text: as_type(answer[n]) is type_of(text)
        )
    return follow


@exercise(
    16,
    2,
    starter="4130e251308b0d98",
    solution="""
def solution(shapes, axis):
    axis %= len(shapes[0])
    rest = {(*s[:axis], *s[axis + 1 :]) for s in shapes}
    if len(rest) != 1:
        raise ValueError("the shapes do not fit together")
    return (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])


answer_2 = solution
""",
)
def a_shape_function(lesson: Names) -> Exercise:
    """A shape function."""
    return (
        Exercise(
            "A shape function",
            expects=callable,
            hint=["all other dimensions must be equal", "axis % len(shapes[0]) is the axis counted from the front"],
        )
        .agrees(
            "it is the shape that NumPy gives",
            real_shape,
            some_shapes,
            first=[([(2, 3), (4, 3)], 0), ([(2, 3), (2, 5)], -1)],
        )
        .requires(
            "shapes that do not fit are refused",
            lambda f: refuses(f, [(2, 3), (2, 4)], 0) and refuses(f, [(2, 3), (1, 3), (2, 4)], 0),
        )
        .requires(
            "so are shapes of another rank",
            lambda f: refuses(f, [(2, 3), (2,)], 0) and refuses(f, [(2,), (3,), (2, 3)], 0),
        )
    )


@exercise(
    16,
    3,
    starter="760a6fb24609df11",
    solution="""
@transform.function_pass(opt_level=0, name="batch_of_eight")
def solution(func, mod, ctx):
    new = {}
    for param in func.params:
        shape = [8 if isinstance(d, relay.Any) else d for d in param.checked_type.shape]
        new[param] = relay.var(param.name_hint, relay.TensorType(shape, param.checked_type.dtype))
    return relay.Function(list(new.values()), relay.bind(func.body, new))


answer_3 = solution
""",
)
def make_it_static(lesson: Names) -> Exercise:
    """Make it static."""
    sentence = lesson.sentence

    return (
        Exercise(
            "Make it static",
            expects=transform.Pass,
            hint=[
                "relay.var(name, type) makes a parameter; relay.bind(body, {old: new}) replaces a variable",
                "TensorType([8 if isinstance(d, relay.Any) else d for d in type.shape], type.dtype)",
            ],
        )
        .requires("nothing is unknown any more", lambda p: is_static(p, sentence))
        .requires("the operators are the same", lambda p: same_operators(p, sentence))
        .requires(
            "the batch is 8",
            lambda p: "Tensor[(8, 16), float32]" in str(transform.InferType()(p(sentence))["main"].checked_type),
        )
        .asks(
            "it is right about random programs",
            lambda p, mod: is_static(p, mod) and same_operators(p, mod) and same_values(p, mod),
            lambda rng: (some_network(rng),),
            first=OTHERS,
            times=5,
        )
    )


predicts(
    "16",
    one_of("The types of the three results?", "(?, 4), (?), (?)", "(?, 4), (4), (8)", "(?, ?), (?), (?)", right="a"),
    one_of(
        "What is the type of the result?",
        "Tensor[(1, 10), float32]",
        "Tensor[(?, 10), float32]",
        "Tensor[(?, ?), float32]",
        right="b",
    ),
)
