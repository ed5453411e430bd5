"""The exercises of the lesson `03-types-by-hand`."""

from __future__ import annotations

import re
from typing import Any

import passlab
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.ir.types import ANY


def as_type(text: Any) -> Any:
    """A type that was written as text, however it is spaced."""
    return passlab.parse(f"def @main(%x: {text}) {{ %x }}")["main"].params[0].type_annotation


def annotations_in(text: Any) -> Any:
    """How many types a text writes down."""
    return len(re.findall(r"Tensor\s*\[|\b(?:float|int|uint)\d+\b(?![^\[]*\])", text))


def without_types(text: str) -> str:
    """A program without annotations, comments and spaces."""
    text = re.sub(r"(?s)/\*.*?\*/|//[^\n]*", "", text)
    return "".join(re.sub(r"(:|->)\s*Tensor\s*\[[^]]*\]", "", text).split())


def composed(text: Any, types: Any, calls: Any) -> Any:
    """The types of calls of @compose with functions of the caller's choice."""
    definition = text.partition("def @main")[0]
    main = f"def @main(%x: Tensor[(5), float32], %n: int32) {{ ({', '.join(calls)}) }}"
    result = passlab.parse(definition + main)["main"].ret_type
    return [str(field) for field in result.fields] == types


def numbers(text: Any) -> Any:
    return [int(number) for number in re.findall(r"(?<![\w%])\d+", text)]


def without_numbers(text: Any) -> Any:
    return "".join(re.sub(r"(?<![\w%])\d+", "N", text).split())


@exercise(
    3,
    1,
    starter="f5ff94f6e526d403",
    solution="""
answer_1 = ["Tensor[(32, 10), float32]", "Tensor[(5, 3, 2), int32]", "Tensor[(4, 6), float32]", "Tensor[(?, 2), bool]"]
""",
)
def by_pencil(lesson: Names) -> Exercise:
    """By pencil."""
    result_of, tensor = lesson.result_of, lesson.tensor

    def is_type(number: Any, *question: Any) -> Any:
        name, *types = question
        return lambda answer: as_type(answer[number - 1]) is result_of(name, *types)

    return (
        Exercise("By pencil", expects=(str, str, str, str))
        .requires(
            "1 is right",
            is_type(1, "nn.dense", tensor(32, 100), tensor(10, 100)),
            hint=["what does one row of the result belong to?", "rows of the data, rows of the weight"],
        )
        .requires(
            "2 is right", is_type(2, "transpose", tensor(2, 3, 5, dtype="int32")), hint="without axes they are reversed"
        )
        .requires(
            "3 is right",
            is_type(3, "add", tensor(4, 1), tensor(1, 6)),
            hint="a dimension of size 1 is stretched to the other size",
        )
        .requires(
            "4 is right",
            is_type(4, "equal", tensor(ANY, 2), tensor()),
            hint=["what kind of value is the result of a comparison?", "comparisons give bool"],
        )
    )


@exercise(
    3,
    2,
    starter="d028a3902ca1a741",
    solution='''
answer_2 = """
def @main(%x: Tensor[(2, 3), float32], %b) {
  let %y = nn.bias_add(%x, %b);
  nn.relu(%y)
}
"""
''',
)
def say_just_enough(lesson: Names) -> Exercise:
    """Say just enough."""
    TYPELESS, tensor = lesson.TYPELESS, lesson.tensor

    return (
        Exercise(
            "Say just enough",
            expects=str,
            hint=[
                "which relation runs backwards?",
                "bias_add finds the bias from the data, not the data from the bias",
            ],
        )
        .requires("it has a type", passlab.parse)
        .requires("the result is right", lambda text: passlab.parse(text)["main"].ret_type is tensor(2, 3))
        .requires("there is one annotation", lambda text: annotations_in(text) == 1)
        .requires(
            "the program is the same",
            lambda text: without_types(text) == without_types(TYPELESS),
        )
    )


@exercise(
    3,
    3,
    starter="dc42667f9cb3fd53",
    solution='''
answer_3 = """
def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B, %x: A) -> C {
  %f(%g(%x))
}
def @main(%x: Tensor[(5), float32]) {
  (@compose(fn (%i) { %i + 1 }, fn (%v) { argmax(%v) }, %x),
   @compose(fn (%v) { tanh(%v) }, fn (%v) { exp(%v) }, %x))
}
"""
''',
)
def compose(lesson: Names) -> Exercise:
    """Compose."""
    tensor = lesson.tensor

    return (
        Exercise(
            "Compose",
            expects=str,
            hint=["how many different types occur?", "three: what %g takes, what it gives to %f, what %f gives"],
        )
        .requires("it has a type", passlab.parse)
        .requires(
            "the first call gives an index",
            lambda text: passlab.parse(text)["main"].ret_type.fields[0] is tensor(dtype="int32"),
        )
        .requires(
            "it works for other functions",
            lambda text: composed(
                text,
                ["(int32, int32)", "Tensor[(5), bool]"],
                [
                    "@compose(fn (%k: int32) { (%k, %k) }, fn (%k: int32) { %k * 2 }, %n)",
                    "@compose(fn (%v) { %v > 1f }, fn (%v) { sqrt(%v) }, %x)",
                ],
            ),
        )
        .requires(
            "@compose has three type parameters", lambda text: len(passlab.parse(text)["compose"].type_params) == 3
        )
    )


@exercise(
    3,
    4,
    starter="62a628f36af5b455",
    solution="""
answer_4 = broken.replace("(10, 64)", "(10, 144)")
""",
)
def repair_it(lesson: Names) -> Exercise:
    """Repair it."""
    broken = lesson.broken

    def changed(text: Any) -> Any:
        """How many numbers differ, where nothing else does."""
        if without_numbers(text) != without_numbers(broken):
            raise passlab.PasslabError("more than a number was changed")
        return sum(a != b for a, b in zip(numbers(text), numbers(broken), strict=True))

    return (
        Exercise(
            "Repair it",
            expects=str,
            hint=[
                "how large is the image after the convolution?",
                "a 3x3 kernel takes one pixel from each side: 4 channels of 6 x 6",
            ],
        )
        .requires("it has a type", passlab.parse)
        .requires("one number differs", lambda text: changed(text) == 1)
    )


predicts(
    "03",
    one_of(
        "The types of `%w` and of the result?", "(8, 4) and (1, 4)", "(4, 8) and (1, 4)", "(4, 8) and (4, 1)", right="b"
    ),
    one_of("Which shape goes into `nn.dense`?", "(1, 4, 4, 4)", "(1, 64)", "(64, 1)", right="b"),
)
