"""A module remembers the recording that made it, and so do its runs; the past of a run never changes."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import lab, relay, vm
from passlab.evaluate.values import ADTValue
from passlab.testing import mlp

NET = "def @main(%x: Tensor[(3, 4), float32]) { nn.relu(exp(log(%x)) + 1f) }"


def lives(trace):
    """The histories of the operators that the instructions of a run carry out."""
    return {str(life) for n in range(len(trace) + 1) for life in trace[n].history}


@pytest.mark.parametrize("of", [lambda rec: rec, lambda rec: rec.output, lambda rec: rec.output.snapshot()])
@pytest.mark.parametrize("executor", ["vm", "graph"])
def test_a_run_of_what_a_recording_left_goes_back_to_its_passes(of, executor):
    rec = passlab.record(passlab.parse(NET), "InferType, FoldConstant, SimplifyExpr, ToANormalForm, ToGraphNormalForm")
    dbg = vm.Debugger(of(rec), np.ones((3, 4), "float32"), executor=executor)
    recording = dbg.trace.code_map.recording
    assert recording.input is rec.input
    assert [event.name for event in recording.steps][:6] == [event.name for event in rec.steps]
    assert any("input" in life for life in lives(dbg.trace))


def test_what_a_pass_made_is_still_the_work_of_that_pass_after_compiling():
    net = relay.transform.InferType()(mlp.get_workload(2)[0])
    rec = passlab.record(net, "InferType, ToMixedPrecision")
    trace = vm.Debugger(rec, *_arguments(rec.output)).trace
    assert any("ToMixedPrecision" in life for life in lives(trace))


def test_recordings_of_parts_of_a_pipeline_make_one_history():
    first = passlab.record(passlab.parse(NET), "InferType, FoldConstant")
    second = passlab.record(first.output, "SimplifyExpr")
    third = passlab.record(second.output, "FuseOps")
    assert [e.name for e in third.whole().steps] == ["input", "InferType", "FoldConstant", "SimplifyExpr", "FuseOps"]
    assert [e.id for e in third.steps] == ["0", "1"], "the parts keep their numbers"


def test_a_module_that_was_changed_has_no_history():
    rec = passlab.record(passlab.parse(NET), "InferType, ToANormalForm")
    mod = rec.output
    mod["other"] = mod["main"]
    assert vm.Debugger(mod, np.ones((3, 4), "float32")).trace.code_map.recording.input is not rec.input


def test_a_recording_is_compiled_as_its_last_program():
    rec = passlab.record(passlab.parse(NET), "InferType, FuseOps")
    exe = relay.vm.compile(rec)
    x = np.full((3, 4), 2, "float32")
    np.testing.assert_allclose(vm.VirtualMachine(exe).run(x), x + 1, rtol=1e-6)


def _arguments(mod):
    rng = np.random.default_rng(0)
    return [rng.random(p.checked_type.concrete_shape).astype(p.checked_type.dtype) for p in mod["main"].params]


# ---------------------------------------------------------------- the past stays
@pytest.mark.parametrize("executor", ["vm", "graph", "debug"])
def test_what_the_caller_writes_into_arguments_afterwards_changes_no_instant(executor):
    x = np.ones((3, 4), "float32")
    dbg = vm.Debugger(passlab.parse(NET), x, executor=executor)
    before = [{r: np.array(v) for r, v in dbg.goto(n).registers.items()} for n in range(len(dbg.trace) + 1)]
    x[...] = 100
    for number, registers in enumerate(before):
        for register, value in dbg.goto(number).registers.items():
            np.testing.assert_array_equal(value, registers[register])


def test_arrays_inside_of_tuples_and_data_are_kept_too():
    text = (
        "type Box { Full(Tensor[(2), float32]) }"
        "def @main(%p: (Tensor[(2), float32], Box[])) { match (%p.1) { Full(%v) => %v + %p.0 } }"
    )
    mod = passlab.parse(text)
    a, b = np.zeros(2, "float32"), np.zeros(2, "float32")
    box = ADTValue(mod.get_type("Box")[1], [b])
    dbg = vm.Debugger(mod, (a, box), executor="debug")
    a[...], b[...] = 7, 8
    assert "7" not in dbg.goto(0).text()
    assert "8" not in dbg.goto(0).text()
    again = dbg.fork({0: dbg.goto(0).registers[0]}).result
    np.testing.assert_array_equal(again, np.zeros(2, "float32"))
    assert isinstance(lab.Trace, type)
