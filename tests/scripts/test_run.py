"""The stepper's `Run`, which has only the data of a trace, finds what the debugger finds: at every instant of a run."""

from __future__ import annotations

import json

import numpy as np
import pytest

import passlab
from passlab import vm
from passlab.display import stepper_view
from passlab.evaluate.samples import random_arguments
from tests.display.programs import network
from tests.scripts.node import run
from tests.vm.programs import LOOP
from tests.vm.traced import TREE


def debuggers():
    yield "network", vm.Debugger(network(), *random_arguments(network()["main"], 0))
    yield "recursion", vm.Debugger(passlab.parse(TREE), np.int32(3))
    yield "loop", vm.Debugger(passlab.parse(LOOP), np.int32(12))


DEBUGGERS = dict(debuggers())


def moves(dbg: vm.Debugger, at: int) -> list[int]:
    """Where one step, one step over calls and the end of the frame lead from an instant, forwards and back."""
    results = []
    for move in (dbg.step, dbg.step_back, dbg.next, dbg.next_back, dbg.finish, dbg.finish_back):
        dbg.goto(at)
        results.append(move().number)
    return results


@pytest.mark.parametrize("name", DEBUGGERS)
def test_a_run_in_the_browser_is_the_run_of_the_debugger(name):
    dbg = DEBUGGERS[name]
    data = json.loads(json.dumps(stepper_view(dbg).data()))
    operators = {name for names in data["code"]["operators"] for name in names}
    words = ["@main", *sorted(operators), *sorted(set(data["code"]["kinds"]))]
    instants = run("read_run.mjs", {"data": data, "words": words})
    stops = [set(dbg.query(word)) for word in words]
    assert len(instants) == len(dbg.trace) + 1
    for at, state in enumerate(instants):
        now = dbg.trace[at]
        assert state["point"] == now.point, at
        assert state["stack"] == [[frame.number, frame.pc, frame.depth] for frame in now.stack], at
        assert state["registers"] == sorted(now.registers), at
        assert sorted(state["written"]) == sorted(now.just_written if not now.ended else []), at
        assert state["moves"] == moves(dbg, at), at
        assert state["stops"] == [at in stop for stop in stops], at
