"""The exercises of the lesson `11b-partial-evaluation`."""

from __future__ import annotations

import re
from typing import Any

import passlab
from passlab import limits, relay, transform, vm
from passlab.course.lessons.functions_and_data import as_list
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise
from passlab.ir.walk import post_order
from passlab.testing import count_ops


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


effectful = passlab.parse("""
def @main(%x: float32) { let %r = ref(%x); fn (%unused: ()) { ref_read(%r) }(ref_write(%r, 2f)) }
""")


kept = passlab.parse("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }")


POWER = "def @power(%x: float32, %n: int32) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }"
CALLS = {
    "a": "def @main(%x: float32) { @power(%x, 4) }",
    "b": "def @main(%x: float32, %n: int32) { @power(%x, %n) }",
    "c": "def @main(%x: float32) { @power(2f, 3) * %x }",
    "d": "def @main(%x: float32) { @power(%x, if (%x > 0f) { 2 } else { 3 }) }",
    "e": "def @main(%x: float32) { let %n = 1 + 2; @power(%x, %n) }",
}


def keeps_a_call(text: str) -> bool:
    """Whether `PartialEvaluate` leaves a call of a global function in a program."""
    cleanup = transform.Sequential([transform.PartialEvaluate(), transform.DeadCodeElimination()])
    nodes = post_order(cleanup(passlab.parse(f"{POWER} {text}"))["main"])
    return any(isinstance(node, relay.Call) and isinstance(node.op, relay.GlobalVar) for node in nodes)


def summed(text: str, numbers: list[int]) -> bool:
    """Whether a program adds the numbers of a list in one frame."""
    mod = passlab.parse(text)
    with limits.override(frames=1):
        result = int(relay.create_executor("vm", mod).evaluate()(as_list(mod, numbers)))
    if result != sum(numbers):
        raise DisagreementError(f"it gives {result}, expected {sum(numbers)}")
    return True


def has_continuations(text: str) -> bool:
    """Whether a run makes a closure for each number of a list, and adds nothing before it has made the last one."""
    mod = passlab.parse(text)
    trace = vm.Debugger(mod, as_list(mod, [3, 1, 2, 5])).trace
    made = [at for at in range(len(trace)) if trace[at].instruction.startswith("alloc_closure")]
    added = [at for at in range(len(trace)) if "add" in trace[at].operators]
    if len(made) < 4:
        raise DisagreementError(f"for a list of four numbers it makes {len(made)} functions")
    if added and added[0] < made[-1]:
        raise DisagreementError("it adds on the way down")
    return True


@exercise(
    "11b",
    1,
    starter="e4483f1a3afec378",
    solution="""
answer_1 = (4, 4)
""",
)
def what_is_left(lesson: Names) -> Exercise:
    """What is left?"""
    return Exercise(
        "What is left?", hint=["unfold the recursion on paper: 5, 2, 1, 0", "1 * 1 is computed at compile time"]
    ).equals((multiplications(5), multiplications(6)))


def letters_of(answer: Any) -> set[str]:
    """The letters that an answer names: "bd", "b and d", ["b", "d"]."""
    text = answer.lower() if isinstance(answer, str) else " ".join(map(str, answer)).lower()
    text = re.sub(r"\band\b|[\s,]", "", text)
    return set(text) if re.fullmatch("[a-e]*", text) else set()


@exercise(
    "11b",
    2,
    starter="c6fb9c49ed2bcc94",
    solution="""
answer_2 = "bd"
""",
)
def what_stays_a_call(lesson: Names) -> Exercise:
    """What stays a call?"""
    expected = {letter for letter, text in CALLS.items() if keeps_a_call(text)}
    return Exercise(
        "What stays a call?",
        expects=lambda answer: isinstance(answer, (str, list, tuple, set, frozenset)),
        expected_kind="letters, as a text such as 'ac'",
    ).requires(
        "these are the programs in which a call is left",
        lambda answer: letters_of(answer) == expected,
        hint=(
            "the recursion of `@power` ends where `%n` is 0: is `%n` known at compile time?",
            "whether `%x` is known does not matter; a number that depends on `%x` is not known",
        ),
    )


@exercise(
    "11b",
    3,
    starter="19c6694088a822ed",
    solution='''
answer_3 = """
type List[A] { Nil, Cons(A, List[A]) }
def @sum(%xs: List[int32], %k: fn (int32) -> int32) -> int32 {
  match (%xs) {
    Nil => %k(0),
    Cons(%head, %tail) => @sum(%tail, fn (%s: int32) { %k(%head + %s) })
  }
}
def @main(%xs: List[int32]) -> int32 { @sum(%xs, fn (%s: int32) { %s }) }
"""
''',
)
def without_a_stack(lesson: Names) -> Exercise:
    """Without a stack."""
    return (
        Exercise(
            "Without a stack",
            expects=str,
            hint=[
                "what is left to do with the sum of the tail? Add the head, and give the result to `%k`",
                "@sum(%tail, fn (%s: int32) { %k(%head + %s) })",
            ],
        )
        .requires("it is a program", passlab.parse)
        .requires("an empty list has the sum 0", lambda text: summed(text, []))
        .asks(
            "it adds, in one frame",
            summed,
            lambda rng: ([int(n) for n in rng.integers(0, 100, rng.integers(1, 30))],),
            first=[([5],), ([1, 2, 3],)],
        )
        .requires("what is left to do after each number is in a continuation", has_continuations)
    )


@exercise(
    "11b",
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
        .requires(
            "an argument with an effect is computed, though the parameter is not used",
            lambda p: inlined(p, effectful, 0.5),
            hint="a `let` computes its value; `relay.bind` drops it if nothing uses the parameter",
        )
        .asks("random programs compute the same", inlined, nested_literals, times=10)
    )


predicts(
    "11b",
    one_of(
        "Which operators remain?",
        "none: the result is a number",
        "one multiplication and two additions",
        "two multiplications and two additions",
        right="b",
    ),
    a_number("How many convolutions are left?", 3),
)
