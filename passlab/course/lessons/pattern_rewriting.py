"""The exercises of the lesson `06-pattern-rewriting`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import a_number, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.ir.walk import post_order
from passlab.pattern.language import DFPattern
from passlab.relay.dataflow_pattern import rewrite
from passlab.testing import count_ops


def body_of(text: Any) -> Any:
    return passlab.parse(f"def @main(%x: float32, %y: float32) {{ {text} }}")["main"].body


def written_out(rng: Any) -> Any:
    """A program, and whether it is a logistic function that was written out."""
    inner = str(rng.choice(["%x", "tanh(%y)", "%x * %y"]))
    right, wrong = forms(inner)
    good = rng.random() < 0.5
    return body_of(str(rng.choice(right if good else wrong))), good


def forms(inner: Any) -> Any:
    """Forms of the logistic function, and what only looks like one."""
    right = [f"1f / (1f + exp(negative({inner})))", f"1f / (exp(negative({inner})) + 1f)"]
    wrong = [
        f"1f / (%y + exp(negative({inner})))",
        f"%x / (1f + exp(negative({inner})))",
        f"1f / (1f + exp({inner}))",
        f"1f / (1f - exp(negative({inner})))",
        f"1f + exp(negative({inner}))",
    ]
    return right, wrong


EVERY = [(body_of(text), good) for texts, good in zip(forms("%x"), (True, False), strict=True) for text in texts]


def divisions(rng: Any) -> Any:
    """A random program of divisions, its numbers of `divide` and `sqrt` when it is done, and an input."""
    lines, left = ["%0 = exp(%x);"], 0
    for number in range(1, int(rng.integers(2, 5))):
        before = f"%{number - 1}"
        if rng.random() < 0.6:
            lines.append(f"%{number} = {before} / sqrt(exp(%y) + {rng.integers(1, 5)}f);")
        else:
            lines.append(f"%{number} = {before} / (exp(%y) + 1f);")
            left += 1
    text = " ".join(lines) + f" tanh(%{len(lines) - 1})"
    return (
        passlab.parse(f"def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {{ {text} }}"),
        left,
        rng.normal(size=(2, 3)).astype("float32"),
    )


def value_of(mod: Any, *arguments: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*arguments)


def cheaper(cls: Any, mod: Any, left: Any, inputs: Any) -> Any:
    func = rewrite(cls(), mod["main"])
    result = value_of(passlab.IRModule.from_expr(func), *inputs)
    return (
        count_ops(func)["divide"] == left
        and count_ops(func)["sqrt"] == 0
        and np.allclose(result, value_of(mod, *inputs), rtol=1e-5)
    )


def added(shape: Any, zeros: Any, value: Any = 0.0) -> Any:
    """A program that adds an array of zeros (or of a value) to %x."""
    x = relay.var("x", shape=shape, dtype="float32")
    func = relay.Function([x], relay.add(x, relay.const(np.full(zeros, value, "float32"))))
    return transform.InferType()(passlab.IRModule.from_expr(func))["main"]


def additions_left(cls: Any, func: Any) -> Any:
    return count_ops(rewrite(cls(), func))["add"]


def zeros_of_some_shape(rng: Any) -> Any:
    shapes = [(), (1,), (3,), (2, 3), (1, 3), (2, 1)]
    shape, zeros = shapes[rng.integers(1, 6)], shapes[rng.integers(6)]
    try:
        same = np.broadcast_shapes(shape, zeros) == shape
    except ValueError:
        return (3,), (3,), 1 - 1
    return shape, zeros, int(not same)


LAYERS = {
    "conv": "nn.conv2d({}, %k, padding=[1, 1, 1, 1])",
    "add": "({} + 1f)",
    "relu": "nn.relu({})",
    "tanh": "tanh({})",
}


def layered(rng: Any) -> Any:
    """A random network, and the operators of each layer that an accelerator takes."""
    names, groups = [], []
    for _ in range(int(rng.integers(1, 4))):
        layer = ["conv", *(["add"] if rng.random() < 0.5 else []), *(["relu"] if rng.random() < 0.5 else [])]
        names += [*layer, "tanh"]
        groups.append(len(layer))
    text = "%x"
    for name in names:
        text = LAYERS[name].format(text)
    image, kernel = "Tensor[(1, 2, 4, 4), float32]", "Tensor[(2, 2, 3, 3), float32]"
    return passlab.parse(f"def @main(%x: {image}, %k: {kernel}) {{ {text} }}")["main"], sorted(groups)


def group_sizes(pattern: Any, func: Any) -> Any:
    functions = [node for node in post_order(pattern.partition(func)) if isinstance(node, relay.Function)][:-1]
    return sorted(sum(count_ops(node.body).values()) for node in functions)


@exercise(
    6,
    1,
    starter="ef587cd293b89b6b",
    solution="""
answer_1 = is_op("divide")(is_constant(), is_op("add")(is_constant(), is_op("exp")(is_op("negative")(wildcard()))))
""",
)
def find_the_logistic_function(lesson: Names) -> Exercise:
    """Find the logistic function."""
    return (
        Exercise(
            "Find the logistic function",
            expects=DFPattern,
            expected_kind="a pattern",
            hint=[
                "write the formula from the outside in",
                "is_op('divide')(is_constant(), is_op('add')(is_constant(), ...))",
            ],
        )
        .requires("it matches 1 / (1 + exp(-x))", lambda p: p.match(body_of("1f / (1f + exp(negative(%x)))")))
        .requires("it does not match exp(-x)", lambda p: not p.match(body_of("exp(negative(%x))")))
        .asks(
            "it is right about random programs", lambda p, expr, good: p.match(expr) == good, written_out, first=EVERY
        )
    )


@exercise(
    6,
    2,
    starter="0353b1d0e90a830b",
    solution="""
class RootDivision(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.a, self.b = wildcard(), wildcard()
        self.pattern = is_op("divide")(self.a, is_op("sqrt")(self.b))

    def callback(self, pre, post, node_map):
        (a,), (b,) = node_map[self.a], node_map[self.b]
        return relay.multiply(a, relay.rsqrt(b))


answer_2 = RootDivision
""",
)
def a_cheaper_division(lesson: Names) -> Exercise:
    """A cheaper division."""
    return (
        Exercise(
            "A cheaper division",
            expects=type,
            hint=["two holes: what is divided, and what is below the root", "relay.multiply(a, relay.rsqrt(b))"],
        )
        .requires(
            "a division by a root is rewritten",
            lambda cls: count_ops(rewrite(cls(), body_of("%x / sqrt(%y)")))["divide"] == 0,
        )
        .requires(
            "any other division stays", lambda cls: count_ops(rewrite(cls(), body_of("%x / exp(%y)")))["divide"] == 1
        )
        .requires(
            "a root that is used elsewhere is kept",
            lambda cls: count_ops(rewrite(cls(), body_of("%0 = sqrt(%y); (%x / %0, %0)")))["sqrt"] == 1,
        )
        .asks("random programs compute the same without divisions by roots", cheaper, divisions, times=10)
    )


@exercise(
    6,
    3,
    starter="23d28be22c33acd7",
    solution="""
class PlusZeroOfItsType(PlusZero):
    def callback(self, pre, post, node_map):
        (x,), (zero,) = node_map[self.x], node_map[self.zero]
        same_type = any(argument.checked_type is pre.checked_type for argument in pre.args if not isinstance(argument, relay.Constant))
        return x if same_type and not zero.data.any() else post


answer_3 = PlusZeroOfItsType
""",
)
def not_so_fast(lesson: Names) -> Exercise:
    """Not so fast."""
    return (
        Exercise(
            "Not so fast",
            expects=type,
            hint=[
                "what is the type of (3,) + (2, 3)?",
                "pre.checked_type is the type before; compare it with the type of the operand, pre.args[0]",
            ],
        )
        .requires("adding zeros of the same shape goes", lambda cls: additions_left(cls, added((3,), (3,))) == 0)
        .requires("adding the number zero goes", lambda cls: additions_left(cls, added((3,), ())) == 0)
        .requires("adding something else stays", lambda cls: additions_left(cls, added((3,), (3,), 2.0)) == 1)
        .asks(
            "so does an array of which one number is not zero",
            lambda cls, at: additions_left(cls, added((3,), (3,), np.eye(3)[at])) == 1,
            lambda rng: int(rng.integers(3)),
            hint="each of them must be zero",
        )
        .requires(
            "adding numbers whose sum is zero stays",
            lambda cls: additions_left(cls, added((3,), (3,), [1, -3, 2])) == 1,
        )
        .requires(
            "a result that is larger than the operand stays", lambda cls: additions_left(cls, added((3,), (2, 3))) == 1
        )
        .asks(
            "it is right about random shapes",
            lambda cls, shape, zeros, left: additions_left(cls, added(shape, zeros)) == left,
            zeros_of_some_shape,
        )
    )


@exercise(
    6,
    4,
    starter="3eff6f16b574df84",
    solution="""
answer_4 = (
    is_op("nn.conv2d")(wildcard(), wildcard())
    .optional(lambda inner: is_op("add")(inner, wildcard()))
    .optional(lambda inner: is_op("nn.relu")(inner))
)
""",
)
def what_an_accelerator_takes(lesson: Names) -> Exercise:
    """What an accelerator takes."""
    return (
        Exercise(
            "What an accelerator takes",
            expects=DFPattern,
            expected_kind="a pattern",
            hint=["which parts may be missing?", "pattern.optional(lambda inner: is_op('add')(inner, wildcard()))"],
        )
        .requires("a lone convolution is a group", lambda p: group_sizes(p, layered(np.random.default_rng(3))[0]))
        .asks("each layer is one group", lambda p, func, groups: group_sizes(p, func) == groups, layered)
    )


predicts(
    "06",
    a_number("How many of the nodes match?", 2),
)
