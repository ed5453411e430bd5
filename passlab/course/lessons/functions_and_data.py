"""The exercises of the lesson `11-functions-and-data`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import limits, relay, vm
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.evaluate.values import ADTValue

COUNTED = """
def @twice(%f: fn (float32) -> float32) -> fn (float32) -> float32 { fn (%x: float32) { %f(%f(%x)) } }
def @main(%x: float32) -> float32 { let %inc = fn (%y: float32) { %y + 1f }; let %g = @twice(%inc); %g(%x) + %g(%x) }
"""


def executed(text: Any, mnemonic: Any, *arguments: Any) -> Any:
    """How often a run executes an instruction."""
    trace = vm.Debugger(passlab.parse(text), *arguments).trace
    return sum(trace[n].instruction.startswith(mnemonic) for n in range(len(trace)))


def as_list(mod: Any, numbers: Any) -> Any:
    """A list of Relay from Python numbers."""
    nil, cons = mod.get_constructor("List", "Nil"), mod.get_constructor("List", "Cons")
    value = ADTValue(nil, ())
    for number in reversed(numbers):
        value = ADTValue(cons, (np.array(number, "int32"), value))
    return value


def as_numbers(value: Any) -> Any:
    numbers = []
    while value.fields:
        numbers.append(int(value.fields[0]))
        value = value.fields[1]
    return numbers


def reversed_by(text: Any, numbers: Any) -> Any:
    mod = passlab.parse(text)
    with limits.override(frames=3):
        result = relay.create_executor("vm", mod).evaluate()(as_list(mod, numbers))
    return as_numbers(result) == numbers[::-1]


DEEP = """
type List[A] { Nil, Cons(A, List[A]) }
def @map(%xs: List[int32]) -> List[int32] { match (%xs) { Nil => Nil, Cons(%h, %t) => Cons(%h + %h, @map(%t)) } }
def @sum(%xs: List[int32], %s: int32) -> int32 { match (%xs) { Nil => %s, Cons(%h, %t) => @sum(%t, %s + %h) } }
def @main(%xs: List[int32]) -> int32 { @sum(@map(%xs), 0) }
"""


def frames_of(text: str, count: int) -> int:
    """The largest number of frames while a program runs on a list of `count` numbers."""
    mod = passlab.parse(text)
    trace = vm.Debugger(mod, as_list(mod, list(range(count)))).trace
    return max(len(trace[n].stack) for n in range(len(trace)))


@exercise(
    11,
    1,
    starter="b0a598fd032918b3",
    solution="""
answer_1 = (2, 6)
""",
)
def count_the_closures(lesson: Names) -> Exercise:
    """Count the closures."""
    return Exercise(
        "Count the closures",
        hint=[
            "a function without a name is created where its `fn` is evaluated",
            "%g is called twice, and calls %f twice each time",
        ],
    ).equals((executed(COUNTED, "alloc_closure", np.float32(1)), executed(COUNTED, "invoke_closure", np.float32(1))))


@exercise(
    11,
    2,
    starter="57c9f58ac944ff16",
    solution='''
answer_2 = """
type List[A] { Nil, Cons(A, List[A]) }
def @go(%xs: List[int32], %done: List[int32]) -> List[int32] {
  match (%xs) { Nil => %done, Cons(%head, %tail) => @go(%tail, Cons(%head, %done)) }
}
def @reverse(%xs: List[int32]) -> List[int32] { @go(%xs, Nil) }
def @main(%xs: List[int32]) -> List[int32] { @reverse(%xs) }
"""
''',
)
def reverse(lesson: Names) -> Exercise:
    """Reverse."""
    return (
        Exercise(
            "Reverse",
            expects=str,
            hint=[
                "take from one list, put onto another",
                "a helper with a second list: @go(%tail, Cons(%head, %done))",
            ],
        )
        .requires("it is a program", passlab.parse)
        .requires("an empty list stays empty", lambda text: reversed_by(text, []))
        .asks(
            "it reverses, in three frames",
            reversed_by,
            lambda rng: ([int(n) for n in rng.integers(0, 100, rng.integers(1, 30))],),
            first=[([1, 2, 3],)],
        )
    )


@exercise(
    11,
    3,
    starter="08d76c7e2c63f53d",
    solution="""
def depth(n):
    return n + 2


answer_3 = depth
""",
)
def how_deep(lesson: Names) -> Exercise:
    """How deep?"""
    return Exercise(
        "How deep?",
        expects=callable,
        hint=[
            "which of the two functions has something left to do after it has called itself?",
            "`@map` is called once for each element and once for the empty list, and `@main` waits for all of them",
        ],
    ).agrees(
        "it is the number of frames, for random lengths",
        lambda count: frames_of(DEEP, count),
        lambda rng: int(rng.integers(0, 20)),
        first=[1, 2, 0],
        times=5,
    )


predicts(
    "11",
    a_number("What is the result for 1?", 13),
    one_of(
        "What is the type of the result?",
        "Tensor[(3, 10), float32]",
        "List[Tensor[(1, 10), float32]]",
        "a tuple of three tensors",
        right="b",
    ),
)
