"""The profile of a graph: each node that runs is told once, with what it read and wrote, and memory as it was planned."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.devices import cuda
from passlab.errors import RunError, RunTypeError
from passlab.vm import Report
from tests.vm.test_devices import two_devices

NET = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.relu(nn.dense(%x, %w)); (sort(sort(%0)), reshape(%0, newshape=[8]))
}
"""


def debugged(text: str = NET):
    return relay.build(passlab.parse(text)).module(debug=True)


def test_each_node_is_told_with_shapes_and_bytes(rng):
    module = debugged()
    report = module.profile(x=rng.random((2, 8), "float32"), w=rng.random((4, 8), "float32"))
    table = {c["Name"]: (c["Argument Shapes"], c["Bytes"]) for c in report.calls}
    assert table == {
        "tvmgen_default_fused_nn_dense_nn_relu": ("float32[2, 8], float32[4, 8], float32[2, 4]", 4 * (16 + 32 + 8)),
        "tvmgen_default_fused_sort": ("float32[2, 4], float32[2, 4]", 64),
        "reshape_nop": ("float32[2, 4], float32[8]", 64),
    }
    assert len(report.calls) == 4
    assert {r["Name"]: r["Count"] for r in report.rows()}["tvmgen_default_fused_sort"] == 2
    assert sum(r["Percent"] for r in report.rows()) == pytest.approx(100)
    assert "Executor: Graph" in str(report)
    assert Report.from_json(report.json()).table() == report.table()
    assert list(report.frame()["calls"]) == [r["Count"] for r in report.rows()]


def test_a_profiled_run_gives_the_result_of_a_free_one(rng):
    x, w = rng.random((2, 8), "float32") - 0.5, rng.random((4, 8), "float32")
    module = debugged()
    module.profile(x=x, w=w)
    np.testing.assert_allclose(module.get_output(1), np.maximum(x @ w.T, 0).reshape(8), rtol=1e-5)


def test_memory_is_that_of_the_plan():
    chain = "def @main(%x: Tensor[(1000), float32]) {" + "%0 = sort(%x);" + "".join(
        f"%{i} = sort(%{i - 1});" for i in range(1, 6)
    ) + " sort(%5) }"  # fmt: skip
    report = debugged(chain).profile(x=np.zeros(1000, "float32"))
    assert (report.peak_bytes, report.allocated_bytes) == (8000, 28_000)
    assert report.memory[0] == (0, 4000)


def test_devices_have_their_own_sums(rng):
    module = relay.build(two_devices(cuda(0))[0]).module(debug=True)
    report = module.profile(x=rng.random(2, "float32"), y=rng.random(2, "float32"))
    assert {c["Name"]: c["Device"] for c in report.calls}["device_copy"] == "cpu0"
    assert set(report.device_metrics) == {"cpu0", "cuda0"}
    assert sum(m["Percent"] for m in report.device_metrics.values()) == pytest.approx(100)


def test_relays_door_to_the_profiler(rng):
    lib = relay.build(passlab.parse(NET))
    module = relay.debug_executor.GraphModuleDebug(
        lib["debug_create"]("default", passlab.cpu()), passlab.cpu(), lib.get_graph_json(), None
    )
    x, w = rng.random((2, 8), "float32"), rng.random((4, 8), "float32")
    assert len(module["profile"](x=x, w=w).calls) == 4
    again = relay.debug_executor.create(lib.get_graph_json(), lib.get_lib(), passlab.cpu(), dump_root="/nowhere")
    assert len(again.profile(collectors=[], x=x, w=w).calls) == 4
    with pytest.raises(RunError, match="not set: x"):
        relay.debug_executor.create(lib.get_graph_json(), lib.get_lib()).profile(w=w)
    for other in (lib["default"](passlab.cpu()), None):
        with pytest.raises(RunTypeError, match="debug_create"):
            relay.debug_executor.GraphModuleDebug(other)


def test_a_program_without_kernels_has_an_empty_report():
    report = debugged("def @main(%x: float32) { %x }").profile(x=np.float32(1))
    assert report.calls == ()
    assert "Executor: Graph" in str(report)
