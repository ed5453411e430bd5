"""Node traces of the graph executor and the evaluator: the debugger works as on the virtual machine."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import passlab
from passlab import limits, vm
from passlab.debugger.instant import same_values
from passlab.debugger.node_runs import record_nodes
from passlab.debugger.trace import Trace
from passlab.errors import RunError, VerifyError
from passlab.evaluate.samples import random_arguments
from passlab.rewriting.parameters import bind_params
from passlab.testing import lstm
from tests.vm.traced import LOGARITHM, TREE

KINDS = ("graph", "debug")
X, W = np.full((2, 3), 0.3, "float32"), np.ones((4, 3), "float32")
COUNT = """
def @count(%i: int32, %to: int32) -> int32 { if (%i == %to) { %i } else { @count(%i + 1, %to) } }
def @main(%to: int32) -> int32 { @count(0, %to) }
"""
CELLS = """
type Option { None, Some(float32) }
def @main(%x: float32) -> float32 {
  let %half = fn (%o: Option[]) -> float32 { match (%o) { Some(%v) => %v / 2f, None => 0f } };
  let %cell = ref(%x);
  let %_ = ref_write(%cell, %half(Some(ref_read(%cell))));
  if (%x > 1f) { ref_read(%cell) } else { %x }
}
"""


def logarithm(kind):
    return vm.Debugger(passlab.parse(LOGARITHM), X, W, executor=kind)


def network(kind):
    mod, params = lstm.get_workload(iterations=3, num_hidden=4)
    mod = bind_params(mod, params)
    return vm.Debugger(mod, *random_arguments(mod["main"], 0), executor=kind)


@pytest.fixture(params=KINDS)
def dbg(request):
    return logarithm(request.param)


def listing(trace, name):
    function = next(f for f in trace.code_map.functions if f.name == name)
    return [str(instruction) for instruction in function.instructions]


# ---------------------------------------------------------------- the code
def test_code_is_grouped_by_function_in_the_order_of_the_program():
    trace = vm.Debugger(passlab.parse(TREE), np.int32(2), executor="debug").trace
    assert [f.name for f in trace.code_map.functions] == ["main", "build", "total"]
    assert listing(trace, "build") == [
        "equal ($0, 0) -> $2", "Leaf ($1) -> $6", "subtract ($0, 1) -> $3", "multiply ($1, 2.) -> $4",
        "@build ($3, $4) -> $5", "subtract ($0, 1) -> $8", "add ($1, 1.) -> $9", "@build ($8, $9) -> $10",
        "Node ($5, $10) -> $11", "if ($2) -> $7", "return $7",
    ]  # fmt: skip
    assert listing(trace, "total")[:2] == ["bind %l ($0) -> $1", "bind %r ($0) -> $2"]


def test_functions_without_a_global_name_have_that_of_their_let():
    trace = vm.Debugger(passlab.parse(CELLS), np.float32(4), executor="debug").trace
    assert [f.name for f in trace.code_map.functions] == ["main", "half"]
    assert float(trace.result) == 2
    assert len([f for f in network("debug").trace.code_map.functions if f.name.startswith("fn")]) == 3


def test_parameters_of_one_name_each_get_their_argument():
    results = [network(kind).trace.result for kind in (*KINDS, "vm")]
    assert all(np.allclose(result, results[-1], rtol=1e-5) for result in results)


# ---------------------------------------------------------------- the same debugger
@pytest.mark.parametrize("make", [logarithm, network])
@pytest.mark.parametrize("kind", KINDS)
def test_it_stops_where_the_virtual_machine_does(make, kind):
    machine, nodes = make("vm"), make(kind)
    for target in ("nn.dense", "nan", lambda value: value.ndim == 2 and abs(value).max() > 1e30):
        result, expected = nodes.query(target), machine.query(target)
        assert bool(result) == bool(expected)
    assert sum("nn.dense" in nodes.trace[i].operators for i in nodes.query("nn.dense")) == len(nodes.query("nn.dense"))
    nodes.breakpoint("nn.dense")
    stops = []
    while not nodes.continue_().ended:
        stops.append(nodes.at)
    assert stops == [instant for instant in nodes.query("nn.dense") if instant]
    while nodes.continue_back().number:
        assert nodes.at == stops.pop()


def test_a_nan_is_followed_to_where_it_was_born(dbg):
    born = dbg.query("nan")[0]
    dbg.goto(born)
    (register,) = dbg.now.just_written
    dbg.goto(len(dbg.trace) - 1)
    birth = dbg.trail(register, "nan")[-1]
    assert birth.instant == born - 1
    assert "log" in birth.operators


def test_a_watch_knows_every_change(dbg):
    register = dbg.trace.written(dbg.query("nn.dense")[0])[0][1]
    dbg.watch(register)
    assert dbg.continue_().number == dbg.query("nn.dense")[0] + 1
    ((instant, value),) = dbg.watches[0].history()
    assert instant == dbg.at
    assert same_values(value, dbg.registers[register])


def test_looking_changes_nothing(dbg):
    before = [dbg.trace[i].registers for i in range(len(dbg.trace))]
    dbg.breakpoint("nan"), dbg.continue_(), dbg.continue_back(), dbg.query("inf"), dbg.table(), str(dbg)
    dbg.trace.frame(), dbg.trace.profile()
    for instant, held in enumerate(before):
        assert same_values(list(held.items()), list(dbg.trace[instant].registers.items()))


# ---------------------------------------------------------------- forks
def test_a_fork_runs_on_with_another_value_and_leaves_the_past_alone(dbg):
    here = dbg.query("nn.softmax")[0]
    (register,) = dbg.trace.code_map.reads(int(dbg.trace.point[here]))
    fork = dbg.fork({register: np.full((2, 4), 3, "float32")}, instant=here)
    assert np.allclose(fork.result, 0.25)
    assert np.isnan(dbg.trace.result).any()
    assert fork.parted is None
    assert fork.differences()
    again = fork.debugger()
    again.goto(again.query("nn.softmax")[0])
    read = again.now.reads[0]
    second = again.fork({read: np.array([[0, 0, 0, np.inf]] * 2, "float32")})
    assert np.isnan(second.result).any()
    assert np.allclose(fork.result, 0.25)


@pytest.mark.parametrize(("text", "args"), [(TREE, [np.int32(2)]), (COUNT, [np.int32(5)]), (CELLS, [np.float32(4)])])
def test_a_fork_of_the_evaluator_that_changes_nothing_is_the_same_run(text, args):
    dbg = vm.Debugger(passlab.parse(text), *args, executor="debug")
    for instant in range(len(dbg.trace)):
        fork = dbg.fork(instant=instant)
        assert same_values(fork.result, dbg.trace.result)
        assert fork.parted is None
        assert not fork.differences()
        for later in (0, len(fork.trace) // 2, len(fork.trace) - 1):
            assert fork.trace[later].same_state(dbg.trace[instant + later])


@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_of_a_network_that_changes_nothing_is_the_same_run(kind):
    dbg = network(kind)
    for instant in range(0, len(dbg.trace), 7):
        fork = dbg.fork(instant=instant)
        assert same_values(fork.result, dbg.trace.result)
        assert not fork.differences()


def test_a_fork_of_the_evaluator_may_take_another_way():
    dbg = vm.Debugger(passlab.parse(COUNT), np.int32(3), executor="debug")
    dbg.breakpoint("@count")
    dbg.continue_(), dbg.continue_()
    fork = dbg.fork({"to": np.int32(9)})
    assert int(fork.result) == 9
    assert fork.parted is not None
    assert "they diverge at instant" in str(fork)
    assert int(dbg.trace.result) == 3


def test_a_fork_takes_only_what_fits(dbg):
    for changes, instant, message in (
        ({0: np.zeros((9, 9))}, 0, "shape|type|Tensor"), ({99: 1}, 0, "no register"), ({"x": X}, -1, "register|ended"),
        ({len(dbg.trace.code_map.functions[0].params) + 1: X}, 0, "holds nothing"),
    ):  # fmt: skip
        with pytest.raises(RunError, match=message):
            dbg.fork(changes, instant=instant)


# ---------------------------------------------------------------- files, and ends
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [logarithm, network])
def test_a_saved_trace_is_read_back(make, kind, tmp_path):
    dbg = make(kind)
    dbg.trace.save(tmp_path / "run.trace")
    back = Trace.load(tmp_path / "run.trace")
    assert (back.kind, len(back)) == (kind, len(dbg.trace))
    assert same_values(back.result, dbg.trace.result)
    assert np.array_equal(back.seconds, dbg.trace.seconds)
    assert back.code_map.lines == dbg.trace.code_map.lines
    for instant in range(0, len(back), 5):
        assert back[instant].same_state(dbg.trace[instant])
    here = dbg.query("nn.dense")[0]
    assert same_values(vm.Debugger(back).fork(instant=here).result, dbg.trace.result)


def test_data_among_the_arguments_is_saved(tmp_path):
    text = TREE.replace("def @main(%n: int32) -> float32 { @total(@build(%n, 1f)) }", "") + (
        "def @main(%t: Tree[float32]) -> float32 { @total(%t) }"
    )
    mod = passlab.parse(text)
    built = vm.Debugger(
        passlab.parse(TREE.replace("float32 { @total(@build(%n, 1f)) }", "Tree[float32] { @build(%n, 1f) }")),
        np.int32(2), executor="debug",
    ).trace.result  # fmt: skip
    trace = vm.Debugger(mod, built, executor="debug").trace
    trace.save(tmp_path / "run.trace")
    assert same_values(Trace.load(tmp_path / "run.trace").result, trace.result)


def test_a_log_of_another_run_is_found_out(tmp_path):
    dbg = logarithm("debug")
    dbg.trace.save(tmp_path / "run.trace")
    with zipfile.ZipFile(tmp_path / "run.trace") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts["kernels.rly"] = (
        passlab.parse(LOGARITHM.replace("log(", "log(nn.relu(").replace("1f)", "1f))")).astext().encode()
    )
    with zipfile.ZipFile(tmp_path / "other.trace", "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    with pytest.raises(VerifyError, match="differs from its log"):
        Trace.load(tmp_path / "other.trace")


def test_recording_stops_at_the_cap():
    with limits.override(trace_instants=20):
        trace = vm.Debugger(passlab.parse(COUNT), np.int32(50), executor="debug").trace
    assert len(trace) == 20
    assert trace.stopped
    assert trace.result is None
    assert not trace.finished
    assert len(trace[20].stack) > 1


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_what_is_about_to_be_returned_can_be_changed(kind):
    dbg = vm.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(1), executor=kind)
    dbg.goto(len(dbg.trace) - 1)
    assert float(dbg.fork({dbg.now.reads[0]: np.float32(9)}).result) == 9


def test_a_trace_of_the_evaluator_runs_the_function_that_is_asked_for() -> None:
    mod = passlab.parse("def @main(%x: int32) { negative(%x) } def @twice(%x: int32) { add(%x, %x) }")
    for entry, expected in (("main", -3), ("twice", 6)):
        trace = record_nodes(Trace, mod, [np.int32(3)], entry, "debug")
        assert trace.result == expected
        assert [i.text.split()[0] for i in trace.code_map.functions[0].instructions]
