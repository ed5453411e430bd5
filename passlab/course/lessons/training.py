"""The exercises of the lesson `12b-training`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise, NoAnswerError
from passlab.testing import count_ops


def value(mod: Any, *arguments: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*arguments)


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


def scored(rng: np.random.Generator) -> tuple[Any, Any]:
    """Probabilities of some images, and the digits that they show as rows of labels."""
    count = int(rng.integers(1, 8))
    scores = np.exp(rng.normal(size=(count, 10)))
    return scores / scores.sum(axis=1, keepdims=True), np.eye(10)[rng.integers(0, 10, count)]


def close(answer: Any, reference: Any, *arguments: Any) -> bool:
    """Whether a function gives the arrays of another one, but for rounding, and leaves its arguments as they are."""
    before = [np.array(argument) for argument in arguments]
    given, expected = answer(*arguments), reference(*arguments)
    if given is ...:
        raise NoAnswerError("your function still returns `...`")
    if given is None:
        raise DisagreementError("it returns None: use `return`")
    if not all(np.array_equal(one, other) for one, other in zip(before, arguments, strict=True)):
        raise DisagreementError("an array that it was given has changed: compute a new one")
    whole = isinstance(expected, tuple)
    if whole and not (isinstance(given, (tuple, list)) and len(given) == len(expected)):
        raise DisagreementError(f"it returns {type(given).__name__}, expected {len(expected)} arrays")
    for one, other in zip(given if whole else [given], expected if whole else [expected], strict=True):
        if np.asarray(one).dtype.kind not in "fiu":
            raise DisagreementError(f"it gives {type(one).__name__}, expected numbers")
        one, other = np.asarray(one, "float64"), np.asarray(other, "float64")
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-5, atol=1e-6):
            raise DisagreementError(f"it gives {one.round(4).tolist()}, expected {other.round(4).tolist()}")
    return True


def entropy(probabilities: Any, labels: Any) -> Any:
    return np.mean([-np.log(row[label.argmax()]) for row, label in zip(probabilities, labels, strict=True)])


def moved(weight: Any, slope: Any, velocity: Any) -> Any:
    new = 0.9 * velocity - 0.3 * slope
    return weight + new, new


@exercise(
    "12b",
    1,
    starter="bb944145e4acc319",
    solution="""
def loss(probabilities, labels):
    return -np.mean(np.sum(labels * np.log(probabilities), axis=1))


answer_1 = loss
""",
)
def the_loss_by_hand(lesson: Names) -> Exercise:
    """The loss by hand."""
    return Exercise(
        "The loss by hand",
        expects=callable,
        hint=[
            "labels * np.log(probabilities) is 0 but for the digit that is shown",
            "the sum over each row, the mean over the rows, and a minus",
        ],
    ).asks("it is the cross entropy", lambda answer, p, labels: close(answer, entropy, p, labels), scored)


@exercise(
    "12b",
    2,
    starter="449cf1ee63d42a0b",
    solution="""
def step(weight, slope, velocity):
    velocity = 0.9 * velocity - 0.3 * slope
    return weight + velocity, velocity


answer_2 = step
""",
)
def momentum(lesson: Names) -> Exercise:
    """Momentum."""
    return Exercise(
        "Momentum",
        expects=callable,
        hint=["first the velocity, then the weight", "`velocity *= 0.9` changes the array that you were given"],
    ).asks(
        "the new weight and the new velocity are right",
        lambda answer, *arrays: close(answer, moved, *arrays),
        lambda rng: tuple(rng.normal(size=(3, int(rng.integers(1, 5))))),
    )


@exercise(
    "12b",
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
    "12b",
    a_number("How many of a hundred images does the untrained network get right?", 10),
    one_of(
        "What happens to the loss?",
        "it falls in every step",
        "it falls, but not in every step",
        "it stays, and the accuracy grows",
        right="b",
    ),
)
