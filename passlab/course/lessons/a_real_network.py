"""The exercises of the lesson `19-a-real-network`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay, transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise, same
from passlab.testing import count_ops


def scaled(rng: Any) -> Any:
    """A program of convolutions, some of them scaled; and an image."""
    x = relay.var("x", shape=(1, 2, 6, 6), dtype="float32")
    value = x
    for _ in range(int(rng.integers(1, 4))):
        kernel = relay.const(rng.normal(size=(2, 2, 3, 3)).astype("float32"))
        value = relay.nn.conv2d(value, kernel, padding=(1, 1), channels=2, kernel_size=(3, 3))
        if rng.random() < 0.7:
            number = relay.const(np.float32(rng.integers(1, 5)))
            value = relay.multiply(value, number) if rng.random() < 0.5 else relay.multiply(number, value)
        value = relay.nn.relu(value)
    mod = transform.InferType()(passlab.IRModule.from_expr(relay.Function([x], value)))
    return mod, rng.normal(size=(1, 2, 6, 6)).astype("float32")


def pays(pass_: Any, mod: Any, x: Any) -> Any:
    after = pass_(mod)
    values = [relay.create_executor("debug", program).evaluate()(x) for program in (mod, after)]
    return count_ops(after["main"])["multiply"] == 0 and np.allclose(*values, rtol=1e-4, atol=1e-4)


plain = passlab.parse(
    "def @main(%x: Tensor[(1, 2, 6, 6), float32], %w: Tensor[(2, 2, 3, 3), float32]) { nn.conv2d(%x, %w) * 2f }"
)


image_of = relay.var("x", shape=(1, 2, 6, 6), dtype="float32")


kernel_of, channels = relay.const(np.ones((2, 2, 3, 3), "float32")), relay.const(np.float32([[[1]], [[2]]]))


by_channel, no_conv = (
    transform.InferType()(passlab.IRModule.from_expr(relay.Function([image_of], body)))
    for body in (
        relay.multiply(relay.nn.conv2d(image_of, kernel_of, channels=2, kernel_size=(3, 3)), channels),
        relay.multiply(relay.nn.relu(image_of), relay.const(2.0)),
    )
)


@exercise(
    19,
    1,
    starter="9eb066a65c21f882",
    solution="""
answer_1 = ("SimplifyInference", "FoldConstant", "FuseOps")
""",
)
def what_paid_off(lesson: Names) -> Exercise:
    """What paid off?"""
    rows, table = lesson.rows, lesson.table

    def removed(column: Any) -> Any:
        """The pass after which a column falls most."""
        return rows[int(np.argmin(np.diff(table[column].to_numpy()))) + 1]["after"]

    bought = Exercise(
        "What paid off?",
        expects=(str, str, str),
        hint=["read each column from top to bottom", "the differences between two rows are what a pass did"],
    )
    for n, (what, name) in enumerate(
        [
            ("has the most operators after it", rows[int(table["operators"].to_numpy().argmax())]["after"]),
            ("removes the most operators", removed("operators")),
            ("removes the most bytes", removed("KB")),
        ]
    ):
        bought = bought.requires(f"{what}", lambda answer, n=n, name=name: same(answer[n], name))
    return bought


@exercise(
    19,
    2,
    starter="4946441e97ea0ebc",
    solution="""
answer_2 = "SimplifyInference, FoldConstant, FoldScaleAxis, FoldConstant, FuseOps"
""",
)
def the_wrong_order(lesson: Names) -> Exercise:
    """The wrong order."""
    kernels, network, rows = lesson.kernels, lesson.network, lesson.rows

    BEST = rows[-1]

    def left_by(text: Any) -> Any:
        mod = transform.InferType()(passlab.record(network, text, opt_level=4).output)
        return count_ops(mod["main"]).total(), len(kernels(mod))

    return (
        Exercise(
            "The wrong order",
            expects=str,
            hint=[
                "which passes are needed to fold the normalisations?",
                "leave one pass out at a time, and look at the two numbers",
            ],
        )
        .requires("these are passes", transform.parse_pipeline)
        .requires(
            "no normalisation is left",
            lambda text: not count_ops(passlab.record(network, text, opt_level=4).output["main"])["nn.batch_norm"],
        )
        .requires("no more operators are left", lambda text: left_by(text)[0] <= BEST["operators"])
        .requires("there are kernels, and no more than above", lambda text: 0 < left_by(text)[1] <= BEST["kernels"])
        .requires("there are at most five passes", lambda text: len(transform.parse_pipeline(text).passes) <= 5)
    )


@exercise(
    19,
    3,
    starter="62918eb336e8a7d7",
    solution="""
from passlab.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard


class Factor(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x, self.kernel, self.factor = wildcard(), is_constant(), is_constant()
        self.conv = is_op("nn.conv2d")(self.x, self.kernel)
        self.pattern = is_op("multiply")(self.conv, self.factor)

    def callback(self, pre, post, node_map):
        (x,), (kernel,), (factor,), (conv,) = (node_map[part] for part in (self.x, self.kernel, self.factor, self.conv))
        if np.ndim(factor.data) != 0:
            return post
        return relay.Call(conv.op, [x, relay.Constant(kernel.data * factor.data)], conv.attrs)


@transform.function_pass(opt_level=1, name="fold_factor")
def solution(func, mod, ctx):
    return rewrite(Factor(), func)


answer_3 = solution
""",
)
def a_pass_that_pays(lesson: Names) -> Exercise:
    """A pass that pays."""
    return (
        Exercise(
            "A pass that pays",
            expects=transform.Pass,
            hint=[
                "a pattern: a multiplication of a convolution with a constant kernel by a constant",
                "relay.Constant(kernel.data * factor.data); keep the attributes: relay.Call(conv.op, [x, kernel], conv.attrs)",
            ],
        )
        .requires("a kernel that is not a constant is left alone", lambda p: p(plain) is plain)
        .requires("so is a factor that is not one number", lambda p: p(by_channel) is by_channel)
        .requires("and a product without a convolution", lambda p: p(no_conv) is no_conv)
        .asks(
            "random networks compute the same without multiplications",
            pays,
            scaled,
            first=[scaled(np.random.default_rng(5))],
            times=8,
        )
    )


predicts(
    "19",
    one_of("Which pass removes the most operators?", "`FoldConstant`", "`FoldScaleAxis`", "`FuseOps`", right="a"),
    one_of("How many operators and kernels are left?", "8 and 5", "9 and 6", "5 and 5", right="a"),
)
