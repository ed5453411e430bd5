"""The tables of a trace: one row per instruction, and where the time went."""

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

    sites, site = trace.code_map, trace.site
    names = np.array([f.name for f in sites.functions], object)
    every = range(len(sites))
    columns = {
        "function": names[sites.function][site],
        "pc": sites.pc[site],
        "opcode": np.array([sites.mnemonic(s) for s in every], object)[site],
        "text": np.array([sites.text(s) for s in every], object)[site],
        "operators": np.array([" + ".join(sites.operators(s)) for s in every], object)[site],
        "line": np.array([", ".join(f"{n}:{line}" for n, line in places) for places in sites.lines], object)[site],
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
    """Return the report of a trace, as the profiler gives it: kernels by name and shapes, the rest by kind."""
    sites, rows = trace.code_map, []
    shown: dict[int, str] = {}
    for event, (site, seconds) in enumerate(zip(trace.site.tolist(), trace.seconds.tolist(), strict=True)):
        kernel = sites.role[site] == KERNEL
        name = sites.name(site) if kernel else f"VM::{sites.mnemonic(site)}"
        if kernel and site not in shown:
            frame = int(trace.frame_of[event])
            held = trace.registers(frame, event)
            registers = (*sites.reads(site), *sites.results(site))
            shown[site] = ", ".join(kind_text(held[r]) for r in registers)
        row: dict[str, Any] = {
            "Name": name,
            "Duration (us)": seconds * 1e6,
            "Device": DEVICE,
            "Argument Shapes": shown.get(site, ""),
        }
        rows.append(row)
    total = float(trace.seconds.sum()) * 1e6
    return Report(
        tuple(rows),
        {DEVICE: {"Duration (us)": total, "Percent": 100.0, "Count": 1}},
        {"Executor": trace.kind, "NumPy": np.__version__},
    )
