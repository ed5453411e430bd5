"""The exercises of the lesson `09-normal-forms`."""

from __future__ import annotations

from typing import Any

import passlab
from passlab import relay, transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.ir.walk import post_order
from passlab.testing import count_ops


# recurses: the branches that a learner wrote
def is_named(expr: Any) -> Any:
    """Whether each let binds an operator of variables and constants, and each scope ends in a variable."""
    while isinstance(expr, relay.Let):
        value, expr = expr.value, expr.body
        if isinstance(value, relay.Call):
            ok = all(isinstance(argument, (relay.Var, relay.Constant)) for argument in value.args)
        elif isinstance(value, relay.If):
            ok = isinstance(value.cond, relay.Var) and is_named(value.true_branch) and is_named(value.false_branch)
        else:
            ok = isinstance(value, (relay.Constant, relay.Var))
        if not ok:
            return False
    return isinstance(expr, relay.Var)


def in_branches(mod: Any) -> Any:
    return [
        count_ops(relay.Function([], branch))
        for node in post_order(mod["main"])
        if isinstance(node, relay.If)
        for branch in (node.true_branch, node.false_branch)
    ]


def ask(is_anf: Any, text: Any) -> Any:
    return bool(is_anf(passlab.parse(f"def @main(%x: float32) {{ {text} }}")["main"].body))


def steps_with_a_mistake(rng: Any) -> Any:
    """A list of steps, and the same list with something without a name in one of them."""
    count = int(rng.integers(2, 6))
    wrong, names = int(rng.integers(count)), ["%x", *(f"%s{n}" for n in range(count))]
    good, bad = [], []
    for n in range(count):
        used, name = rng.choice(names[: n + 1]), names[n + 1]
        good.append(f"let {name} = {rng.choice(['exp', 'tanh'])}({used});")
        mistake = rng.choice(
            [f"exp(tanh({used}))", f"{used} + 1f", f"(exp({used}), {used}).0", f"{{ let %t = exp({used}); %t }}"]
        )
        bad.append(f"let {name} = {mistake};" if n == wrong else good[-1])
    return tuple(" ".join([*steps, names[-1]]) for steps in (good, bad))


def random_graph(rng: Any) -> Any:
    """A random expression without branches."""
    values = ["%x"]
    lines = []
    for number in range(int(rng.integers(1, 6))):
        name, value = str(rng.choice(["exp", "tanh", "sqrt"])), str(rng.choice(values))
        lines.append(
            f"%{number} = {name}({value});" if rng.random() < 0.5 else f"%{number} = {value} + {rng.choice(values)};"
        )
        values.append(f"%{number}")
    return passlab.parse(f"def @main(%x: float32) {{ {' '.join(lines)} ({values[-1]}, %x) }}")["main"].body


@exercise(
    9,
    1,
    starter="dc09df0669ea2315",
    solution='''
answer_1 = """
def @main(%x: float32, %c: bool) {
  let %a = sqrt(%x);
  let %y = if (%c) {
    let %b = exp(%a);
    let %d = %b * %b;
    %d
  } else { %a };
  %y
}
"""
''',
)
def by_hand(lesson: Names) -> Exercise:
    """By hand."""
    as_graph, net2 = lesson.as_graph, lesson.net2

    return (
        Exercise(
            "By hand", expects=str, hint=["which value has no name yet?", "let %y = if (%c) { ... } else { ... }; %y"]
        )
        .requires("it is a program", passlab.parse)
        .requires(
            "every step has a name",
            lambda text: is_named(passlab.parse(text)["main"].body),
            hint="the `if` too: let %y = if (%c) { ... } else { ... }; %y",
        )
        .requires(
            "each operator is there once",
            lambda text: count_ops(passlab.parse(text)["main"]) == count_ops(net2["main"]),
        )
        .requires(
            "only what is used in one branch stands in it",
            lambda text: in_branches(passlab.parse(text)) == [{"exp": 1, "multiply": 1}, {}],
            hint="sqrt is used in both branches, exp in one",
        )
        .requires("it is the same program", lambda text: passlab.structural_equal(as_graph(passlab.parse(text)), net2))
    )


@exercise(
    9,
    2,
    starter="d5bb109cf40042aa",
    solution="""
answer_2 = (6, 2)
""",
)
def how_many(lesson: Names) -> Exercise:
    """How many?"""
    net3 = lesson.net3

    def lets_after(name: Any) -> Any:
        return sum(isinstance(node, relay.Let) for node in post_order(transform.get_pass(name)(net3)["main"]))

    return Exercise(
        "How many?", hint=["draw the scopes first", "%0 is used by %1 as well. And where does %1 belong?"]
    ).equals((lets_after("ToANormalForm"), lets_after("ToBasicBlockNormalForm")))


@exercise(
    9,
    3,
    starter="d2d218ba82f360d9",
    solution="""
def solution(expr):
    for node in post_order(expr):
        if isinstance(node, relay.Call) and not all(isinstance(argument, relay.Var) for argument in node.args):
            return False
        if isinstance(node, relay.Tuple) and not all(isinstance(field, relay.Var) for field in node.fields):
            return False
        if isinstance(node, relay.Let) and isinstance(node.value, relay.Let):
            return False
    return True


answer_3 = solution
""",
)
def is_it_named(lesson: Names) -> Exercise:
    """Is it named?"""
    with_names = lesson.with_names

    return (
        Exercise("Is it named?", expects=callable)
        .requires("a list of steps is accepted", lambda f: ask(f, "let %a = exp(%x); let %b = %a + %a; %b"))
        .requires(
            "a call of a call is refused",
            lambda f: not ask(f, "let %a = exp(sqrt(%x)); %a"),
            hint=["which nodes have arguments?", "isinstance(node, relay.Call): look at node.args"],
        )
        .requires("a tuple of a call is refused", lambda f: not ask(f, "let %a = (exp(%x), %x); %a"))
        .requires("a constant needs a name as well", lambda f: not ask(f, "let %a = %x + 1f; %a"))
        .requires("a constant with a name is accepted", lambda f: ask(f, "let %one = 1f; let %a = %x + %one; %a"))
        .requires("a let in a let is refused", lambda f: not ask(f, "let %a = { let %b = exp(%x); %b }; %a"))
        .asks(
            "it is right about random programs",
            lambda f, expr: f(with_names(expr)) and not f(relay.exp(relay.exp(expr))),
            random_graph,
        )
        .asks(
            "it finds one mistake anywhere", lambda f, good, bad: ask(f, good) and not ask(f, bad), steps_with_a_mistake
        )
    )


@exercise(
    9,
    4,
    starter="95c8da8b17b4afe9",
    solution="""
def named_size(steps):
    return count_ops(transform.ToANormalForm()(program(steps))["main"]).total()


answer_4 = [named_size(10), named_size(20), named_size(30)]
""",
)
def what_does_it_cost(lesson: Names) -> Exercise:
    """What does it cost?"""
    program = lesson.program

    return Exercise(
        "What does it cost?", expects=[int], hint="count_ops(transform.ToANormalForm()(program(steps))['main']).total()"
    ).equals([count_ops(program(steps)["main"]).total() for steps in (10, 20, 30)])


predicts(
    "09",
    one_of(
        "What does the program do with 0?",
        "it returns 0, as before",
        "it divides by zero",
        "it does not end",
        right="b",
    ),
    one_of("Which lets are left?", "none of them", "only the write", "all that read or write the reference", right="c"),
    a_number("How many lets does `ToGraphNormalForm` leave?", 0),
)
