"""The tables of a trace: one row per instruction, and the report of a profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from passlab.debugger.code_map import KERNEL, CodeMap
from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import kind_text, short_text
from passlab.ir.types import is_dynamic
from passlab.vm.report import Report

if TYPE_CHECKING:
    import pandas as pd


DEVICE = "cpu0"


def instructions(trace: TraceData) -> pd.DataFrame:
    """Return one row per instruction executed; its index is the instant before it."""
    import pandas as pd

    code, point = trace.code_map, trace.point
    names = np.array([f.name for f in code.functions], object)
    every = range(len(code))
    columns = {
        "function": names[code.function][point],
        "pc": code.pc[point],
        "opcode": np.array([code.mnemonic(s) for s in every], object)[point],
        "text": np.array([code.text(s) for s in every], object)[point],
        "operators": np.array([" + ".join(code.operators(s)) for s in every], object)[point],
        "line": np.array([", ".join(f"{n}:{line}" for n, line in lines) for lines in code.lines], object)[point],
        "depth": trace.depth,
        "frame": trace.frame_of,
        "microseconds": trace.seconds * 1e6,
        "wrote": [_wrote(trace, event) for event in range(len(trace))],
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(trace), name="instant"))


def _wrote(trace: TraceData, event: int) -> str:
    writes = ((register, value) for _, register, value in trace.written(event) if value is not None)
    return ", ".join(f"${register} = {short_text(value)}" for register, value in writes)


def _argument_shapes(trace: TraceData, event: int) -> str:
    """Return dtype and shape of the arguments and results of a kernel call."""
    code, point = trace.code_map, int(trace.point[event])
    held = trace.registers(int(trace.frame_of[event]), event)
    return ", ".join(kind_text(held[register]) for register in (*code.reads(point), *code.results(point)))


def _has_dynamic_shapes(code: CodeMap, point: int) -> bool:
    """Whether calls of a kernel may differ in the shapes of their arguments and results."""
    kernel = code.kernel(point)
    ty = None if kernel is None else kernel.checked_type_
    return ty is None or is_dynamic(ty)


def profile(trace: TraceData) -> Report:
    """Return the report of a profiler: kernels by name and shapes, other instructions by mnemonic."""
    code, rows = trace.code_map, []
    static: dict[int, str] = {}  # by program point: the shapes of a kernel that always has the same ones
    for event, (point, seconds) in enumerate(zip(trace.point.tolist(), trace.seconds.tolist(), strict=True)):
        kernel = code.role[point] == KERNEL
        name = code.name(point) if kernel else f"VM::{code.mnemonic(point)}"
        shapes = static.get(point, "")
        if kernel and not shapes:
            shapes = _argument_shapes(trace, event)
            if not _has_dynamic_shapes(code, point):
                static[point] = shapes
        rows.append({"Name": name, "Duration (us)": seconds * 1e6, "Device": DEVICE, "Argument Shapes": shapes})
    total = float(trace.seconds.sum()) * 1e6
    return Report(
        tuple(rows),
        {DEVICE: {"Duration (us)": total, "Percent": 100.0, "Count": 1}},
        {"Executor": trace.kind, "NumPy": np.__version__},
    )
