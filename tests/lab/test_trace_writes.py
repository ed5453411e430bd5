"""The writes of a run, computed in one sweep, agree with `Trace.written` for each instruction."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.debugger.forks import writes
from passlab.debugger.instant import same_values
from passlab.debugger.trace import Trace
from passlab.vm import compile
from tests.vm.programs import PROGRAMS
from tests.vm.traced import LOGARITHM, TREE, reusing_memory

RUNS = {
    **PROGRAMS, "tree": (TREE, lambda r: [np.int32(3)]),
    "log": (LOGARITHM, lambda r: [np.ones((2, 3), "float32"), np.ones((4, 3), "float32")]),
}  # fmt: skip


@pytest.mark.parametrize("memory", [1, None])
@pytest.mark.parametrize("name", RUNS)
def test_all_writes_are_those_of_each_instruction(name, memory, rng):
    text, make = RUNS[name]
    trace = Trace.record(passlab.parse(text), make(rng), memory=memory)
    kept = [
        (event, register, value)
        for event in range(len(trace))
        for _, register, value in trace.written(event)
        if not trace.code_map.mnemonic(int(trace.point[event])).startswith(
            ("load_const", "alloc_st", "alloc_te", "kill")
        )
    ]
    results = list(writes(trace, 0, len(trace)))
    assert [pair[:2] for pair in results] == [pair[:2] for pair in kept]
    assert all(same_values(a[2], b[2]) for a, b in zip(results, kept, strict=True))
    middle = len(trace) // 2
    later = list(writes(trace, middle, len(trace)))
    assert [pair[:2] for pair in later] == [pair[:2] for pair in kept if pair[0] >= middle]


def test_memory_that_is_written_twice_is_looked_up_as_it_was(rng):
    double = compile(passlab.parse("def @main(%x: Tensor[(4), float32]) { %x + %x }"))
    exe = reusing_memory(double, 0)
    trace = Trace.record(exe, [np.ones(4, "float32")])
    kernels = [
        value.tolist() for event, _, value in writes(trace, 0, len(trace)) if trace.code_map.results(trace.point[event])
    ]
    expected = [
        trace.written(e)[0][2].tolist() for e in range(len(trace)) if trace.code_map.results(int(trace.point[e]))
    ]
    assert kernels == expected
