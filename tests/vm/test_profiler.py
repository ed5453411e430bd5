"""The profiler: every instruction is counted, kernels by name and shapes, and reports survive their formats."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import passlab
from passlab.errors import VerifyError
from passlab.vm import Report, VirtualMachineProfiler, compile
from tests.vm.programs import PROGRAMS, same


def profiled(name, rng):
    text, make = PROGRAMS[name]
    vm = VirtualMachineProfiler(compile(passlab.parse(text)), passlab.relay.cpu())
    return vm, vm.profile(*make(rng))


def test_kernels_are_told_by_name_shapes_and_bytes(rng):
    _, report = profiled("dense", rng)
    (kernel,) = [r for r in report.rows() if r["Name"] == "fused_nn_dense_nn_relu"]
    assert kernel["Argument Shapes"] == "float32[2, 8], float32[4, 8], float32[2, 4]"
    assert kernel["Bytes"] == 4 * (16 + 32 + 8)
    assert kernel["Count"] == 1
    assert {"VM::AllocStorage", "VM::AllocTensor", "VM::LoadConst"} <= {r["Name"] for r in report.rows()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_profiled_run_gives_the_result_of_a_free_one(name, rng):
    vm, report = profiled(name, rng)
    profiled_result = vm.get_outputs()
    vm.invoke("main")
    assert same(tuple(vm.get_outputs()), tuple(profiled_result))
    assert sum(r["Percent"] for r in report.rows()) == pytest.approx(100)


def test_a_loop_is_one_row_for_each_kernel(rng):
    _, report = profiled("loop", rng)
    counts = {r["Name"]: r["Count"] for r in report.rows()}
    assert counts["fused_subtract"] == counts["fused_add"] == 100
    assert counts["fused_equal"] == counts["VM::If"] == 101


def test_a_table_has_the_documented_columns_and_sums(rng):
    _, report = profiled("dense", rng)
    lines = report.table().splitlines()
    assert lines[0].split() == ["Name", "Duration", "(us)", "Percent", "Device", "Count", "Argument", "Shapes", "Bytes"]
    rule = next(i for i, line in enumerate(lines) if line.startswith("----------"))
    assert lines[rule + 1].startswith("Sum")
    assert lines[rule + 2].startswith("Total")
    assert "Executor: VM" in lines
    durations = [r["Duration (us)"] for r in report.rows()]
    assert durations == sorted(durations, reverse=True)


def test_reports_go_through_their_formats(rng):
    _, report = profiled("dense", rng)
    again = Report.from_json(report.json())
    assert again.table() == report.table()
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [r["Name"] for r in rows] == [r["Name"] for r in report.rows()]
    frame = report.frame()
    assert np.isclose(frame["percent"].sum(), 100)
    for bad in ("", "{}", "[]", '{"calls": [{}], "device_metrics": {}, "configuration": {}}'):
        with pytest.raises(VerifyError, match="not a report"):
            Report.from_json(bad)


def test_memory_is_told_over_time(rng):
    text = "def @main(%x: Tensor[(1000), float32]) {" + "%0 = sort(%x);" + "".join(
        f"%{i} = sort(%{i - 1});" for i in range(1, 6)
    ) + " sort(%5) }"  # fmt: skip
    vm = VirtualMachineProfiler(compile(passlab.parse(text)), passlab.relay.cpu())
    report = vm.profile(rng.random(1000, "float32"))
    assert report.allocated_bytes == 7 * 4000
    assert report.peak_bytes == 2 * 4000  # what is read, and what is written
    assert report.memory[-1][1] == 4000  # the result
    assert [report.calls[i]["Name"] for i, _ in report.memory[:2]] == ["VM::AllocStorage", "VM::AllocStorage"]
    assert "Memory: at most 8,000 bytes live, 28,000 allocated" in str(report)
    again = Report.from_json(report.json())
    assert (again.memory, again.peak_bytes, again.allocated_bytes) == (report.memory, 8000, 28000)
    assert report.memory_frame()["live_bytes"].max() == 8000
