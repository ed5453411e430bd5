"""No pass, compiler or tool does work that grows faster than the program: Python's calls are counted at two sizes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.growth import STEPS
from benchmarks.shapes import SHAPES
from passlab import relay
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.passes.fuse.fuse_ops import FusionGraph, FusionGroups
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.text.parser import parse
from tests.call_counts import calls_of

SMALL, TIMES = 24, 4
MOST = 1.25 * TIMES  # n log n, and tables that are looked through a few times more


def growth(shape: str, step: str) -> float:
    """Return how much more work a step has on a program `TIMES` as large; 0 for what it refuses."""
    counts = []
    for n in (SMALL, SMALL, SMALL * TIMES):  # the first one fills caches
        text = SHAPES[shape](n)
        mod = infer_module(parse(text))
        try:
            counts.append(calls_of(lambda mod=mod, text=text: STEPS[step](mod, text)))
        except PasslabError:
            return 0.0
    return counts[2] / counts[1]


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize(
    "shape", ["calls", "lets", "ifs", "fan", "split", "closures", "globals", "convolutions", "bound_regions"]
)
def test_work_grows_as_the_program_does(shape: str):
    grown = {step: times for step in STEPS if (times := growth(shape, step)) > MOST}
    assert not grown


def test_copies_of_a_function_with_effects_take_time_in_their_number():
    def work(calls: int) -> int:
        cell, written = relay.Var("r"), relay.Var("u")
        start, value = relay.var("p", shape=()), relay.var("a", shape=())
        body = relay.Let(written, relay.RefWrite(cell, value), relay.RefRead(cell))
        function, total = relay.Function([value], body), start
        for _ in range(calls):
            total = relay.add(relay.Call(function, [total]), start)
        main = relay.Function([start], relay.Let(cell, relay.RefCreate(start), total))
        mod = infer_module(IRModule.from_expr(main))
        return calls_of(lambda: beta_reduced(mod["main"], mod))

    assert work(SMALL * TIMES) <= MOST * work(SMALL)


class _Users(list[tuple[int, int]]):
    """The users of a node, which count how often they are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for user in super().__iter__():
            _Users.looks += 1
            yield user


def test_fusion_looks_at_few_of_many_users():
    """From each of many inputs to where all its paths meet, one path goes through a node with many users."""

    def looks(size: int) -> int:
        x = relay.var("x", shape=(1,))
        inputs = [relay.exp(x) for _ in range(size)]
        hub = relay.concatenate(inputs, axis=0)
        users = [relay.tanh(hub) for _ in range(size)]
        total = relay.concatenate([*inputs, *users], axis=0)
        graph = FusionGraph(infer_module(IRModule.from_expr(relay.Function([x], total)))["main"])
        graph.outputs = [_Users(users) for users in graph.outputs]
        _Users.looks = 0
        FusionGroups(graph, 256)
        return _Users.looks

    assert looks(800) <= 2.5 * looks(400)
