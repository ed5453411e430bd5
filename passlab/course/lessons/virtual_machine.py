"""The exercises of the lesson `14-virtual-machine`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import passlab
from passlab import limits
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.vm import Executable, Machine, VirtualMachine, VMFunction, compile
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.verifier import verify


def factorial(text: Any, n: Any) -> Any:
    """The factorial of n by the answer, in two frames, and how deep its calls ever were."""
    with limits.override(frames=2):
        return int(VirtualMachine(compile(passlab.parse(text))).run(np.int32(n)))


def wrapped(number: Any) -> Any:
    return int(np.array(number % 2**32, "uint32").astype("int32"))


def operand(value: Any) -> Any:
    """An operand of an instruction: a number of NumPy is one of Python, a list of registers a tuple."""
    if isinstance(value, (list, tuple)):
        return tuple(int(part) for part in value)
    return int(value) if isinstance(value, np.integer) else value


def swapped(code: Any, pair: Any = ("left", "right")) -> Any:
    instructions = [i if isinstance(i, Instruction) else Instruction(*map(operand, i)) for i in code]
    exe = Executable((VMFunction("main", ("pair",), tuple(instructions), 8),), (), (), ())
    verify(exe)
    return Machine(exe).invoke(0, [pair])


@exercise(
    14,
    1,
    starter="03831456f3c8742b",
    solution="""
answer_1 = {5, 6}
""",
)
def who_reads_what(lesson: Names) -> Exercise:
    """Who reads what."""
    loop = lesson.loop

    tested = next(i for i in loop.function("sum").instructions if i.opcode is Opcode.IF)

    return Exercise(
        "Who reads what",
        expects=lambda answer: isinstance(answer, (set, frozenset)),
        expected_kind="a set of register numbers",
        hint=["which instruction branches?", "its two register operands: the test, and what it is compared with"],
    ).requires("these registers are read by it", lambda answer: set(answer) == set(tested.reads()))


@exercise(
    14,
    2,
    starter="02db3b6afd737fa2",
    solution='''
answer_2 = """
def @go(%n: int32, %product: int32) -> int32 { if (%n == 0) { %product } else { @go(%n - 1, %product * %n) } }
def @main(%n: int32) -> int32 { @go(%n, 1) }
"""
''',
)
def constant_memory(lesson: Names) -> Exercise:
    """Constant memory."""
    return (
        Exercise(
            "Constant memory",
            expects=str,
            hint=["what is left to do after the call?", "carry the product along as a second parameter"],
        )
        .requires(
            "`@main` is there", lambda text: "main" in [var.name_hint for var in passlab.parse(text).get_global_vars()]
        )
        .requires(
            "`@main` takes and returns an int32",
            lambda text: str(passlab.parse(text)["main"].checked_type) == "fn (int32) -> int32",
        )
        .asks(
            "it is the factorial, in two frames",
            lambda text, n: factorial(text, n) == wrapped(math.factorial(n)),
            lambda rng: int(rng.integers(0, 40)),
            first=[0, 1, 5, 10],
        )
    )


@exercise(
    14,
    3,
    starter="aa705c1bff1df102",
    solution="""
answer_3 = [
        Instruction(Opcode.GET_FIELD, 0, 0, 1),
        Instruction(Opcode.GET_FIELD, 0, 1, 2),
        Instruction(Opcode.ALLOC_ADT, 0, 3, (2, 1)),
        Instruction(Opcode.RET, 3),
    ]
""",
)
def by_hand(lesson: Names) -> Exercise:
    """By hand."""
    return (
        Exercise(
            "By hand",
            expects=[(lambda i: isinstance(i, (Instruction, tuple, list)))],
            expected_kind="a list of instructions",
            hint=[
                "four instructions are enough",
                "two fields into $1 and $2, a tuple (tag 0) of ($2, $1) into $3, and return $3",
            ],
        )
        .requires("the verifier accepts it", swapped)
        .asks(
            "it swaps any pair",
            lambda code, a, b: swapped(code, (a, b)) == (b, a),
            lambda rng: (float(rng.normal()), int(rng.integers(9))),
        )
    )


predicts(
    "14",
    a_number("What is `%n` in the innermost frame three calls later?", 0),
    one_of("Which list does `depths` return for it?", "[1, 2, 3, 4, 5, 4, 3, 2, 1]", "[1, 2, 1]", "[1]", right="c"),
    a_number("How many kernels are left?", 4),
)
