"""The exercises of the lesson `04-your-first-pass`."""

from __future__ import annotations

from typing import Any

import passlab
from passlab import transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops

UNARY = ("exp", "tanh", "sqrt", "negative", "sigmoid", "abs")


def chain_of(rng: Any) -> Any:
    """A random program, and the operators it calls."""
    names = list(rng.choice(UNARY, rng.integers(1, 6)))
    text = "%x"
    for name in names:
        text = f"if (%c) {{ {name}({text}) }} else {{ ({text}, %x).1 }}" if rng.random() < 0.3 else f"{name}({text})"
    return passlab.parse(f"def @main(%x: float32, %c: bool) {{ {text} }}")["main"], set(names)


calls_a_variable = passlab.parse("""
def @main(%f: fn (float32) -> float32, %x: float32) { tanh(%f(exp(%x))) }
""")


def body_of(text: Any) -> Any:
    return passlab.parse(f"def @main(%x: float32, %c: bool) {{ {text} }}")["main"].body


def collapses(cls: Any, text: Any, expected: Any) -> Any:
    return passlab.structural_equal(cls().visit(body_of(text)), body_of(expected), map_free_vars=True)


def nested_ifs(rng: Any) -> Any:
    """A random program of ifs, and what is left of it when the known ones are gone."""
    text = expected = "%x"
    for name in rng.choice(["exp", "tanh", "sqrt"], rng.integers(1, 5)):
        cond = str(rng.choice(["True", "False", "%c"]))
        text = f"if ({cond}) {{ {name}({text}) }} else {{ {text} }}"
        expected = {
            "True": f"{name}({expected})",
            "False": expected,
            "%c": f"if (%c) {{ {name}({expected}) }} else {{ {expected} }}",
        }[cond]
    return text, expected


def asked(cls: Any, *exprs: Any) -> Any:
    one = cls()
    return [bool(one.check(expr)) for expr in exprs]


def some_questions(rng: Any) -> Any:
    """Random programs, with and without a call, and some of them twice."""
    texts = ["%x", "exp(%x)", "(%x, %c)", "if (%c) { %x } else { tanh(%x) }", "let %y = %x; %y", "(%x, negative(%x)).0"]
    bodies = [
        (
            passlab.parse(f"def @main(%x: float32, %c: bool) {{ {text} }}")["main"].body,
            "(%x" in text.replace("(%x, ", ""),
        )
        for text in texts
    ]
    return ([bodies[i] for i in rng.integers(0, len(bodies), 6)],)


def as_program(text: Any) -> Any:
    return passlab.parse(f"def @main(%x: float32) {{ {text} }}")


NESTED, NESTED_LEFT = (
    passlab.parse(f"""def @main(%x: float32, %c: bool) {{
      let %y = {text.format("exp(%x)")};
      if (%c) {{ tanh({text.format("%y")}) }} else {{ let %z = {text.format("%x")}; %z + negative(%y) }}
    }}""")
    for text in ("negative(negative({}))", "{}")
)


def negations(text: Any, pass_: Any) -> Any:
    return count_ops(pass_(as_program(text))["main"])["negative"]


def chain_of_negations(rng: Any) -> Any:
    """Runs of negations between other operators, and what must be left: one of each odd run, and all the others."""
    text = left = "%x"
    for run in map(int, rng.integers(0, 5, 4)):
        text, left = ("exp(" + "negative(" * n + inner + ")" * n + ")" for n, inner in ((run, text), (run % 2, left)))
    return text, left


@exercise(
    4,
    1,
    starter="689d3a5cc0656cc4",
    solution="""
class Names(ExprVisitor):
    def visit_call(self, call):
        super().visit_call(call)
        if isinstance(call.op, relay.op.Op):
            self.found.add(call.op.name)

    def names(self, expr):
        self.found = set()
        self.visit(expr)
        return self.found


answer_1 = Names
""",
)
def which_operators(lesson: Names) -> Exercise:
    """Which operators?"""
    net = lesson.net

    return (
        Exercise("Which operators?", expects=type)
        .requires(
            "exp, negative and add are found",
            lambda cls: {"exp", "negative", "add"} <= set(cls().names(net["main"])),
            hint=["which method sees the calls?", "override visit_call, and go on below with super().visit_call(call)"],
        )
        .requires("nothing else is", lambda cls: set(cls().names(net["main"])) == {"exp", "negative", "add"})
        .requires(
            "a variable that is called is not an operator",
            lambda cls: set(cls().names(calls_a_variable["main"])) == {"tanh", "exp"},
            hint="isinstance(call.op, relay.op.Op)",
        )
        .asks(
            "it is right about random programs",
            lambda cls, expr, expected: set(cls().names(expr)) == expected,
            chain_of,
        )
    )


@exercise(
    4,
    2,
    starter="57ea3617a28eb259",
    solution="""
class Known(ExprMutator):
    def visit_if(self, node):
        cond = self.visit(node.cond)
        if not isinstance(cond, relay.Constant):
            return super().visit_if(node)
        return self.visit(node.true_branch if cond.data else node.false_branch)


answer_2 = Known
""",
)
def only_where_it_is_known(lesson: Names) -> Exercise:
    """Only if it is known."""
    return (
        Exercise("Only if it is known", expects=type)
        .requires(
            "True selects the first branch",
            lambda cls: collapses(cls, "if (True) { exp(%x) } else { %x }", "exp(%x)"),
            hint=["when is a condition known?", "isinstance(node.cond, relay.Constant); its value is node.cond.data"],
        )
        .requires(
            "False selects the second", lambda cls: collapses(cls, "if (False) { %x } else { exp(%x) }", "exp(%x)")
        )
        .requires(
            "a condition that is not constant stays",
            lambda cls: collapses(cls, "if (%c) { exp(%x) } else { %x }", "if (%c) { exp(%x) } else { %x }"),
        )
        .requires(
            "an `if` inside a branch collapses as well",
            lambda cls: collapses(cls, "if (True) { if (False) { %x } else { tanh(%x) } } else { %x }", "tanh(%x)"),
            hint="visit the branch before you return it",
        )
        .asks("it is right about random programs", collapses, nested_ifs)
    )


@exercise(
    4,
    3,
    starter="7814018fbe49da93",
    solution="""
class Patient(CallChecker):
    def check(self, expr):
        self.result = False
        self.memo_map.clear()  # or make a new visitor for each question, as most do
        self.visit(expr)
        return self.result


answer_3 = Patient
""",
)
def ask_again(lesson: Names) -> Exercise:
    """Ask again."""
    choice, net = lesson.choice, lesson.net

    return (
        Exercise(
            "Ask again",
            expects=type,
            hint="a visitor visits each node once, and remembers that in self.memo_map, a dict",
        )
        .requires("the first answer is right", lambda cls: asked(cls, net["main"]) == [True])
        .requires(
            "the second answer is right as well", lambda cls: asked(cls, net["main"], net["main"]) == [True, True]
        )
        .requires(
            "a later False is not hidden by an earlier True",
            lambda cls: asked(cls, net["main"], choice.cond) == [True, False],
        )
        .asks(
            "it is right for any expressions, asked any number of times",
            lambda cls, pairs: asked(cls, *(body for body, _ in pairs)) == [has for _, has in pairs],
            some_questions,
        )
    )


@exercise(
    4,
    4,
    starter="c48dfbc18da51919",
    solution="""
def is_negation(expr):
    return isinstance(expr, relay.Call) and expr.op == relay.op.get("negative")


class DropDouble(ExprMutator):
    def visit_call(self, call):
        done = super().visit_call(call)
        if is_negation(done) and is_negation(done.args[0]):
            return done.args[0].args[0]
        return done


@transform.function_pass(opt_level=1, name="drop_double")
def solution(func, mod, ctx):
    return DropDouble().visit(func)


answer_4 = solution
""",
)
def a_pass_of_your_own(lesson: Names) -> Exercise:
    """A pass of your own."""
    net = lesson.net

    return (
        Exercise(
            "A pass of your own",
            expects=transform.Pass,
            hint=[
                "which node stands where, when you see the outer one?",
                "in visit_call: node = super().visit_call(call), then look at node and at node.args[0]",
            ],
        )
        .requires("it is a pass of level 1", lambda pass_: pass_.info.opt_level == 1)
        .requires("a pair disappears", lambda pass_: negations("exp(negative(negative(%x)))", pass_) == 0)
        .requires("one of three is left", lambda pass_: negations("negative(negative(negative(%x)))", pass_) == 1)
        .requires(
            "four disappear as two pairs",
            lambda pass_: negations("negative(negative(negative(negative(%x))))", pass_) == 0,
        )
        .requires("a single one stays", lambda pass_: negations("negative(exp(negative(%x)))", pass_) == 2)
        .asks(
            "one is left of each odd run, and all other operators",
            lambda pass_, text, left: passlab.structural_equal(pass_(as_program(text)), as_program(left)),
            chain_of_negations,
        )
        .requires(
            "pairs in branches and in lets go as well",
            lambda pass_: passlab.structural_equal(pass_(NESTED), NESTED_LEFT),
            hint="a method of a mutator that you override has to visit the parts of its node",
        )
        .requires("a program without pairs comes back unchanged", lambda pass_: pass_(net) is net)
    )


predicts(
    "04",
    one_of(
        "For which inputs does the collapsed program compute something else?",
        "for all",
        "where `%flag` is false",
        "where `%x` is negative",
        right="b",
    ),
    one_of("Which operator has the most weights?", "`nn.conv2d`", "`nn.batch_norm`", "`nn.dense`", right="c"),
)
