"""The exercises of the lesson `02-reading-relay`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, vm
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops
from passlab.transform import PassContext


def value_of(mod: Any, *arguments: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*arguments)


def nodes_of(mod: Any, kind: Any) -> Any:
    return [node for node in passlab.ir.walk.post_order(mod["main"]) if isinstance(node, kind)]


def times_computed(name: str, mod: Any, *arguments: Any) -> int:
    """How often a run computes an operator, also in functions that are called."""
    with PassContext(opt_level=0):  # at higher levels, equal calls become one
        trace = vm.Debugger(mod, *arguments).trace
    return sum(list(trace[at].operators).count(name) for at in range(len(trace)))


def floats(*shape: Any) -> Any:
    """A random question: an array of this shape."""
    return lambda rng: (rng.normal(size=shape).astype("float32"),)


doubling = passlab.parse("def @main(%x: float32) { %0 = add(%x, %x); %1 = add(%0, %0); %2 = add(%1, %1); add(%2, %2) }")


written_out = {doubling["main"].params[0]: 0}


# recurses: depth, at most 5
def random_tree(rng: Any, depth: Any = 5) -> Any:
    """A tree as Relay text, and how many leaves it has."""
    if depth == 0 or rng.random() < 0.3:
        return f"Leaf({rng.normal():.3f}f)", 1
    (left, left_leaves), (right, right_leaves) = random_tree(rng, depth - 1), random_tree(rng, depth - 1)
    return f"Node({left}, {right})", left_leaves + right_leaves


def leaves_of(mod: Any, tree: Any) -> Any:
    """What the @leaves of an answer gives for a tree."""
    main = passlab.parse(f"type Tree[A] {{ Leaf(A), Node(Tree[A], Tree[A]) }}\ndef @main() {{ {tree} }}")
    value = relay.create_executor("debug", main).evaluate()()
    return int(relay.create_executor("debug", mod).evaluate(mod.get_global_var("leaves"))(value))


@exercise(
    2,
    1,
    starter="0b9d8707510eff9e",
    solution='''
answer_1 = passlab.parse("""
def @main(%x: Tensor[(2), float32]) {
  %0 = exp(%x);
  add(%0, multiply(%0, %0))
}
""")
''',
)
def share_the_work(lesson: Names) -> Exercise:
    """Share the work."""
    return (
        Exercise("Share the work", expects=passlab.IRModule)
        .asks(
            "it computes the same",
            lambda mod, x: np.allclose(value_of(mod, x), np.exp(x) + np.exp(2 * x), rtol=1e-4),
            floats(2),
        )
        .requires(
            "`exp` is computed once",
            lambda mod: times_computed("exp", mod, np.ones(2, "float32")) == 1,
            hint=["two uses can be one node", "give it a number: %0 = exp(%x);"],
        )
        .requires(
            "there is no let", lambda mod: not nodes_of(mod, relay.Let), hint="a number with %, not a variable with let"
        )
    )


@exercise(
    2,
    2,
    starter="138101dd542d78cd",
    solution="""
answer_2 = (4, 15)  # one for each node; written out: 1 + 2 + 4 + 8
""",
)
def how_large(lesson: Names) -> Exercise:
    """How large."""
    for node in nodes_of(doubling, relay.Call):
        written_out[node] = 1 + sum(written_out[argument] for argument in node.args)

    return Exercise(
        "How large", hint=["a node is computed once", "written out, each line contains the line above it twice"]
    ).equals((count_ops(doubling["main"])["add"], written_out[doubling["main"].body]))


@exercise(
    2,
    3,
    starter="58c9c3484166977f",
    solution="""
answer_3 = passlab.parse("def @main(%p: (Tensor[(2), float32], int32)) { (%p.1, %p.0) }")
""",
)
def the_other_way_round(lesson: Names) -> Exercise:
    """The other way round."""
    return (
        Exercise("The other way round", expects=passlab.IRModule)
        .requires(
            "its type is a pair the other way round",
            lambda mod: str(mod["main"].ret_type) == "(int32, Tensor[(2), float32])",
            hint=["a tuple is made by parentheses", "its fields are %p.1 and %p.0"],
        )
        .asks(
            "it keeps both values",
            lambda mod, x, n: (lambda result: int(result[0]) == n and np.array_equal(result[1], x))(
                value_of(mod, (x, n))
            ),
            lambda rng: (rng.normal(size=2).astype("float32"), int(rng.integers(-100, 100))),
        )
    )


@exercise(
    2,
    4,
    starter="c6b6fc769a6b1da8",
    solution='''
answer_4 = passlab.parse("""
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }
def @leaves(%t: Tree[float32]) -> int32 {
  match (%t) {
    Leaf(_) => 1,
    Node(%l, %r) => @leaves(%l) + @leaves(%r),
  }
}
def @main() -> int32 {
  @leaves(Node(Leaf(1f), Node(Leaf(2f), Leaf(4f))))
}
""")
''',
)
def count_the_leaves(lesson: Names) -> Exercise:
    """Count the leaves."""
    return (
        Exercise(
            "Count the leaves",
            expects=passlab.IRModule,
            hint=["a leaf is one", "a node has the leaves of both sides: @leaves(%l) + @leaves(%r)"],
        )
        .requires(
            "there is a function @leaves", lambda mod: "leaves" in [var.name_hint for var in mod.get_global_vars()]
        )
        .requires("the tree of @main has 3", lambda mod: value_of(mod) == 3)
        .asks(
            "it counts the leaves of random trees", lambda mod, tree, count: leaves_of(mod, tree) == count, random_tree
        )
    )


predicts(
    "02",
    one_of(
        "How many boxes named `exp` does each graph have, `shared` and `copied`?",
        "one and one",
        "one and two",
        "two and two",
        right="b",
    ),
    one_of(
        "Which value is `%1.0`?",
        "the normalised image",
        "the mean of the image",
        "the first channel of the image",
        right="a",
    ),
)
