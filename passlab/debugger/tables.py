"""The tables of a trace: one row per instruction, and the report of a profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.debugger.code_map import KERNEL
from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import kind_text, short_text
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


def profile(trace: TraceData) -> Report:
    """Return the report of a profiler: kernels by name and shapes, other instructions by mnemonic."""
    code, rows = trace.code_map, []
    shown: dict[int, str] = {}
    for event, (point, seconds) in enumerate(zip(trace.point.tolist(), trace.seconds.tolist(), strict=True)):
        kernel = code.role[point] == KERNEL
        name = code.name(point) if kernel else f"VM::{code.mnemonic(point)}"
        if kernel and point not in shown:
            frame = int(trace.frame_of[event])
            held = trace.registers(frame, event)
            registers = (*code.reads(point), *code.results(point))
            shown[point] = ", ".join(kind_text(held[r]) for r in registers)
        row: dict[str, Any] = {
            "Name": name,
            "Duration (us)": seconds * 1e6,
            "Device": DEVICE,
            "Argument Shapes": shown.get(point, ""),
        }
        rows.append(row)
    total = float(trace.seconds.sum()) * 1e6
    return Report(
        tuple(rows),
        {DEVICE: {"Duration (us)": total, "Percent": 100.0, "Count": 1}},
        {"Executor": trace.kind, "NumPy": np.__version__},
    )
