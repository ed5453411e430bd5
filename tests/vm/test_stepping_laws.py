"""The laws of stepping, over generated programs: the end is that of a free run, back is where one came from, looking is free."""

from __future__ import annotations

from random import Random

import pytest

import passlab
from passlab import vm
from passlab.debugger.instant import same_values
from passlab.debugger.trace import Trace
from passlab.vm import Machine, compile
from tests.each import each
from tests.vm.generated import Program


def assert_laws(seed: int) -> None:
    program, random = Program(seed), Random(seed)
    exe = compile(passlab.parse(program.text))
    trace = Trace.record(exe, program.args)
    assert same_values(trace.result, vm.VirtualMachine(exe).run(*program.args)), program.text
    machine = Machine(exe)
    machine.start(exe.global_map["main"], trace.args)
    for instant in range(len(trace)):
        assert (len(machine.frames) - 1, machine.frames[-1].pc) == (trace[instant].depth, trace[instant].pc)
        machine.step()
    assert same_values(machine.result, trace.result)
    bounded = Trace.record(exe, program.args, memory=1)
    dbg = vm.Debugger(trace)
    for expected in ("nan", "ret", "@main"):
        dbg.breakpoint(expected)
    for _ in range(3):
        start = dbg.goto(random.randrange(len(trace) + 1))
        assert start.same_state(bounded[start.number]), program.text
        end = dbg.step(random.randrange(40))
        dbg.continue_(), dbg.continue_back(), dbg.goto(end)
        assert dbg.step_back(end.number - start.number).same_state(start), program.text
    fork = dbg.fork(instant=random.randrange(len(trace)))
    assert same_values(fork.result, trace.result), program.text
    assert fork.parted is None
    by_node = vm.Debugger(passlab.parse(program.text), *program.args, executor="debug")
    assert same_values(by_node.trace.result, trace.result), program.text


@each("seed", range(25))
def test_stepping_keeps_its_laws(seed):
    assert_laws(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_stepping_keeps_its_laws_on_2_000_programs(start):
    for seed in range(start, start + 100):
        assert_laws(seed)
