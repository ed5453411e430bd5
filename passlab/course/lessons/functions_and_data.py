"""The exercises of the lesson `11-functions-and-data`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import limits, relay, transform, vm
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.evaluate.values import ADTValue
from passlab.ir.walk import post_order
from passlab.testing import count_ops

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


def multiplications(n: Any) -> Any:
    text = f"""
    def @power(%x: float32, %n: int32) -> float32 {{
      if (%n == 0) {{ 1f }} else {{
        let %root = @power(%x, floor_divide(%n, 2));
        if (floor_mod(%n, 2) == 0) {{ %root * %root }} else {{ %root * %root * %x }}
      }}
    }}
    def @main(%x: float32) {{ @power(%x, {n}) }}
    """
    cleanup = transform.Sequential([transform.PartialEvaluate(), transform.DeadCodeElimination()])
    return count_ops(cleanup(passlab.parse(text))["main"])["multiply"]


def nested_literals(rng: Any) -> Any:
    """A program of calls of function literals, and an input."""
    text = "%x"
    for number in range(int(rng.integers(1, 5))):
        name = f"%a{number}"
        body = str(rng.choice([f"{name} * {name}", f"tanh({name})", f"{name} - %x"]))
        text = f"fn ({name}: float32) {{ {body} }}({text})" if rng.random() < 0.8 else f"exp({text})"
    return passlab.parse(f"def @main(%x: float32) {{ {text} }}"), float(rng.normal())


def literal_calls(func: Any) -> Any:
    return sum(isinstance(node, relay.Call) and isinstance(node.op, relay.Function) for node in post_order(func))


def inlined(pass_: Any, mod: Any, x: Any) -> Any:
    result = pass_(mod)
    values = [float(relay.create_executor("debug", program).evaluate()(x)) for program in (mod, result)]
    return literal_calls(result["main"]) == 0 and values[0] == values[1]


kept = passlab.parse("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }")


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
    starter="3741ff25e1930331",
    solution="""
answer_3 = (4, 4)
""",
)
def what_is_left(lesson: Names) -> Exercise:
    """What is left?"""
    return Exercise(
        "What is left?", hint=["unfold the recursion on paper: 5, 2, 1, 0", "1 * 1 is computed at compile time"]
    ).equals((multiplications(5), multiplications(6)))


@exercise(
    11,
    4,
    starter="c16dc4eb7c3892d2",
    solution="""
class Inliner(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if not isinstance(call.op, relay.Function):
            return call
        body = call.op.body
        for param, argument in reversed(list(zip(call.op.params, call.args, strict=True))):
            body = relay.Let(param, argument, body)
        return body


@transform.function_pass(opt_level=0, name="inline_literals")
def solution(func, mod, ctx):
    return Inliner().visit(func)


answer_4 = solution
""",
)
def inline_by_hand(lesson: Names) -> Exercise:
    """Inline by hand."""
    return (
        Exercise(
            "Inline by hand",
            expects=transform.Pass,
            hint=[
                "a mutator with visit_call: is call.op a relay.Function?",
                "relay.Let(param, argument, body) for each parameter, the last one innermost",
            ],
        )
        .requires(
            "the call of a literal goes",
            lambda p: (
                literal_calls(p(passlab.parse("def @main(%x: float32) { fn (%a: float32) { %a + %a }(%x) }"))["main"])
                == 0
            ),
        )
        .requires(
            "the argument is computed once",
            lambda p: (
                count_ops(p(passlab.parse("def @main(%x: float32) { fn (%a: float32) { %a + %a }(exp(%x)) }"))["main"])[
                    "exp"
                ]
                == 1
            ),
        )
        .requires("the call of a variable stays", lambda p: p(kept) is kept)
        .requires(
            "two parameters are not mixed up",
            lambda p: inlined(
                p,
                passlab.parse(
                    "def @main(%x: float32) { fn (%a: float32, %b: float32) { %a - tanh(%b) }(exp(%x), %x) }"
                ),
                0.5,
            ),
        )
        .asks("random programs compute the same", inlined, nested_literals, times=10)
    )


predicts(
    "11",
    a_number("What is the result for 1?", 13),
    one_of(
        "Which operators remain?",
        "none: the result is a number",
        "one multiplication and two additions",
        "two multiplications and two additions",
        right="b",
    ),
    one_of(
        "What is the type of the result?",
        "Tensor[(3, 10), float32]",
        "List[Tensor[(1, 10), float32]]",
        "a tuple of three tensors",
        right="b",
    ),
)
