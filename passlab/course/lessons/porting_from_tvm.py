"""The exercises of the lesson `20-porting-from-tvm`."""

from __future__ import annotations

import importlib
import sys
from typing import Any
from unittest import mock

import numpy as np

import passlab
from passlab import relay
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise


def without_tvm(text: Any) -> Any:
    """The names that a program leaves behind if there is no tvm."""
    hidden = {name: None for name in [*sys.modules, "tvm"] if name.partition(".")[0] == "tvm"}
    space: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, hidden):
        exec(compile(text, "answer", "exec"), space)
    return space


def result_of(mod: Any) -> Any:
    run = relay.create_executor("vm", mod).evaluate()
    return run(np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32"))


def is_expected(result: Any) -> Any:
    return isinstance(result, np.ndarray) and np.array_equal(result, np.maximum(np.arange(6).reshape(2, 3) - 1, 0))


EIGHT = (
    "tvm.relay.transform.FoldConstant",
    "tvm.te.placeholder",
    "tvm.relay.analysis.free_vars",
    "tvm.autotvm.measure_option",
    "tvm.relay.dataflow_pattern.wildcard",
    "tvm.meta_schedule.tune_tir",
    "tvm.contrib.graph_executor.GraphModule",
    "tvm.auto_scheduler.auto_schedule",
)


def is_missing(name: Any) -> Any:
    module, _, last = name.rpartition(".")
    try:
        getattr(importlib.import_module(module), last)()
    except passlab.errors.UnknownNameError:
        return True
    except Exception:  # it is there, and wants arguments
        return False
    return False


def names_of(cls: Any, text: Any, *passes: Any) -> Any:
    tool = cls()
    tvm = importlib.import_module("tvm")  # the module that `%load_ext passlab.compat` makes
    with tvm.transform.PassContext(opt_level=3, instruments=[tool]):
        for name in passes:
            tvm.transform.Sequential([getattr(tvm.relay.transform, name)()])(passlab.parse(text))
    return list(tool.names)


WITH, WITHOUT = (
    "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) + (1f + 2f) }",
    "def @main(%x: Tensor[(2), float32]) { tanh(%x) }",
)


@exercise(
    20,
    1,
    starter="21f6d2270a5973c7",
    solution='''
answer_1 = """
import numpy as np
import passlab
from passlab import relay
from passlab import relay

x = relay.var("x", shape=(2, 3), dtype="float32")
y = relay.var("y", shape=(3,), dtype="float32")
mod = passlab.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(x - y)))
with passlab.transform.PassContext(opt_level=2):
    run = relay.create_executor("vm", mod, device=passlab.cpu(0), target="llvm").evaluate()
result = run(np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32"))
"""
''',
)
def change_the_imports(lesson: Names) -> Exercise:
    """Change the imports."""
    return (
        Exercise(
            "Change the imports",
            expects=str,
            hint=[
                "six lines mention tvm: what does the table above say about each?",
                "arrays are NumPy's: no nd.array, no .numpy(); the rest is under passlab",
            ],
        )
        .requires("it does not mention tvm", lambda text: "tvm" not in text)
        .requires("it runs if there is no tvm", without_tvm)
        .requires("`mod` is the same program", lambda text: is_expected(result_of(without_tvm(text)["mod"])))
        .requires(
            "`result` is the same array",
            lambda text: "create_executor" in text and is_expected(without_tvm(text)["result"]),
        )
    )


@exercise(
    20,
    2,
    starter="16668db2909a0378",
    solution="""
answer_2 = ["tvm.te.placeholder", "tvm.autotvm.measure_option", "tvm.meta_schedule.tune_tir", "tvm.auto_scheduler.auto_schedule"]
""",
)
def what_is_missing(lesson: Names) -> Exercise:
    """What is missing?"""
    return (
        Exercise(
            "What is missing?",
            expects=[str],
            hint=[
                "which are about machine code, tuning or remote devices?",
                "try to call them: a message about missing arguments means that they are there",
            ],
        )
        .requires("these are names of the eight", lambda names: set(names) <= set(EIGHT))
        .requires(
            "these are exactly the missing ones",
            lambda names: sorted(names) == sorted(name for name in EIGHT if is_missing(name)),
        )
    )


@exercise(
    20,
    3,
    starter="349f36727ec43132",
    solution="""
@tvm.instrument.pass_instrument
class Solution:
    def __init__(self):
        self.names = []

    def run_before_pass(self, mod, info):
        if "nn.relu" in mod.astext():
            self.names.append(info.name)


answer_3 = Solution
""",
)
def an_old_instrument(lesson: Names) -> Exercise:
    """An old instrument."""
    return (
        Exercise(
            "An old instrument",
            expects=type,
            hint=[
                "which hook sees the program before a pass?",
                "run_before_pass(self, mod, info): 'nn.relu' in mod.astext()",
            ],
        )
        .requires(
            "a pass over a program with nn.relu is named",
            lambda cls: "FoldConstant" in names_of(cls, WITH, "FoldConstant"),
        )
        .requires("one over another program is not", lambda cls: names_of(cls, WITHOUT, "FoldConstant") == [])
        .asks(
            "it is right about random passes",
            lambda cls, name: name in names_of(cls, WITH, name) and names_of(cls, WITHOUT, name) == [],
            lambda rng: str(rng.choice(["FuseOps", "ToANormalForm", "EliminateCommonSubexpr", "SimplifyExpr"])),
            times=5,
        )
    )


predicts(
    "20",
    one_of("What is the class of `mod`?", "a class of TVM", "`passlab.IRModule`", "a wrapper of both", right="b"),
    one_of(
        "Which pass changes the most operators?", "`SimplifyInference`", "`CanonicalizeOps`", "`FuseOps`", right="a"
    ),
)
