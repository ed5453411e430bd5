"""The law of copies: each object that users hold is copied and pickled rightly, or refused in words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import instrument, lab, relay, transform
from passlab.errors import PasslabError

NET = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(exp(%x)) * (1f + 1f) }")
X = np.float32([1, 2])


@transform.function_pass(opt_level=0)
def forgets(func: Any, mod: Any, ctx: Any) -> Any:
    return relay.Function(func.params, relay.negative(func.body))


def recording() -> Any:
    return lab.record(NET, ["InferType", "FoldConstant", forgets])


def value(text: str, *args: Any) -> Any:
    return relay.create_executor("debug", passlab.parse(text)).evaluate()(*args)


OBJECTS: dict[str, Callable[[], Any]] = {
    "module": lambda: NET,
    "function": lambda: NET["main"],
    "type": lambda: NET["main"].checked_type,
    "operator": lambda: relay.op.get("add"),
    "recording": recording,
    "step": lambda: recording()[2],
    "diff": lambda: recording()[2].diff(),
    "table": lambda: recording().blame(),
    "provenance": lambda: recording().provenance,
    "biography": lambda: recording().biography(recording().output["main"]),
    "rewrites": lambda: recording()[2].rewrites,
    "bisection": lambda: lab.bisect(NET, ["InferType", forgets]),
    "culprit": lambda: lab.culprit(NET, ["InferType", forgets]),
    "what if": lambda: recording().what_if,
    "executable": lambda: relay.vm.compile(NET, "llvm"),
    "machine": lambda: relay.vm.VirtualMachine(relay.vm.compile(NET, "llvm")),
    "library": lambda: relay.build(NET, "llvm"),
    **{
        f"executor {kind}": lambda kind=kind: relay.create_executor(kind, NET)
        for kind in ("debug", "vm", "graph", "aot")
    },
    "pass": transform.FuseOps,
    "pipeline": lambda: transform.Sequential([transform.InferType(), transform.FuseOps()]),
    "context": lambda: transform.PassContext(opt_level=3),
    "timing": instrument.PassTimingInstrument,
    "recorder": instrument.Recorder,
    "validation": instrument.Validate,
    "device": passlab.cpu,
    "data": lambda: value("type L[A] { Cons(A, L[A]), Nil } def @main() { Cons(1, Nil) }"),
    "closure": lambda: value("def @main(%x: int32) { fn (%y: int32) { %x + %y } }", np.int32(1)),
    "reference": lambda: value("def @main(%x: int32) { ref(%x) }", np.int32(1)),
    "debugger": lambda: passlab.Debugger(NET, X),
    "pattern": lambda: relay.dataflow_pattern.is_op("exp")(relay.dataflow_pattern.wildcard()),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda held: pickle.loads(pickle.dumps(held)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


# What belongs to one process, and the ways that do not work for it.
REFUSED = {
    **dict.fromkeys(
        ("machine", "executor vm", "executor graph", "executor aot", "recorder"), ("pickled", "copied deeply")
    ),
    **dict.fromkeys(("executor debug", "validation", "closure", "debugger"), ("pickled",)),
    **dict.fromkeys(("step", "provenance", "bisection", "culprit", "what if"), ("pickled",)),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_right_or_refused(name: str, way: str) -> None:
    held = OBJECTS[name]()
    if way in REFUSED.get(name, ()):
        with pytest.raises(PasslabError) as refusal:
            WAYS[way](held)
        assert refusal.value.diagnostics[0].hint
        return
    again = WAYS[way](held)
    assert type(again) is type(held)
    if " at 0x" not in repr(held):
        assert repr(again) == repr(held)


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_the_copy_of_an_executor_runs(kind: str) -> None:
    executor = relay.create_executor(kind, NET)
    np.testing.assert_array_equal(copy.copy(executor).evaluate()(X), executor.evaluate()(X))


def test_a_copied_culprit_says_the_same() -> None:
    found = lab.culprit(NET, ["InferType", forgets])
    again = copy.deepcopy(found)
    assert again.sentences == found.sentences
    assert again.bisection.event is found.bisection.event
    assert again.bisection.table().rows == found.bisection.table().rows
