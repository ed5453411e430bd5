"""`Report`: the events of a profiled run as plain data, and tables of them. Durations are microseconds of wall time.

`VirtualMachineProfiler` runs a program and makes one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, MissingPackageError, VerifyError
from passlab.lazy import late, notebook_forms

if TYPE_CHECKING:
    import pandas as pd


import weakref
from collections.abc import Sequence
from time import perf_counter

from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.primitive import flat_values
from passlab.vm.objects import Storage
from passlab.vm.relay_api import VirtualMachine

COLUMNS = ("Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes")
# The columns of data frames, by the names that Relay's reports have.
FRAME_COLUMNS = {
    "Name": "kernel", "Duration (us)": "seconds", "Percent": "percent", "Device": "device", "Count": "calls",
    "Argument Shapes": "shapes", "Bytes": "bytes", "Node": "node", "Hash": "hash",
}  # fmt: skip
Row = dict[str, Any]


@checked
@dataclass(frozen=True)
class Report:
    """The events of a run in order (`calls`), totals by device, and the configuration.

    `memory` are pairs of an event and the live bytes of storages from it on; `allocated_bytes` is the sum over all
    storages, which would be the peak if none were released.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> report = vm.VirtualMachineProfiler(exe).profile(np.float32(1))
    >>> "kernel" in report.frame().columns
    True
    """

    _repr_mimebundle_ = notebook_forms

    calls: tuple[Row, ...]
    device_metrics: Mapping[str, Row] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    memory: tuple[tuple[int, int], ...] = ()
    allocated_bytes: int = 0

    @property
    def peak_bytes(self) -> int:
        """The largest number of live bytes."""
        return max((live for _, live in self.memory), default=0)

    def memory_frame(self) -> pd.DataFrame:
        """Return memory over time as a pandas data frame: event, kernel, live bytes.

        Live bytes count after the event. Raises `MissingPackageError` without pandas.
        """
        rows = [(at, self.calls[at]["Name"], live) for at, live in self.memory]
        table: pd.DataFrame = _pandas().DataFrame(rows, columns=["event", "kernel", "live_bytes"])
        return table

    def rows(self, sort: bool = True, aggregate: bool = True) -> list[Row]:
        """Return one row per name, shapes and device, or with `aggregate=False` per event, the longest first."""
        # 1.0 avoids a division by zero where nothing was timed.
        total = sum(c["Duration (us)"] for c in self.calls) or 1.0
        rows = _aggregate(self.calls) if aggregate else [{**c, "Count": 1} for c in self.calls]
        for row in rows:
            row["Percent"] = 100 * row["Duration (us)"] / total
        return sorted(rows, key=lambda r: -float(r["Duration (us)"])) if sort else rows

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the rows as text, followed by sums and the configuration."""
        rows = self.rows(sort, aggregate)
        columns = _columns(rows)
        lines = [list(columns), *([_cell_text(row.get(c)) for c in columns] for row in rows)]
        if col_sums:
            lines.append(["----------", *[""] * (len(columns) - 1)])
            lines.append([_cell_text(v) for v in _sums(rows, columns)])
            for device, metrics in self.device_metrics.items():
                total = {"Name": "Total", "Device": device, **metrics}
                lines.append([_cell_text(total.get(c)) for c in columns])
        widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
        out = ["  ".join(_align(cell, i, widths[i]) for i, cell in enumerate(line)).rstrip() for line in lines]
        config = [f"{name}: {value}" for name, value in self.configuration.items()]
        if self.memory:
            config.append(f"Memory: at most {self.peak_bytes:,} bytes live, {self.allocated_bytes:,} allocated")
        return "\n".join([*out, "", "Configuration", "-------------", *config])

    def csv(self) -> str:
        """Return the rows as comma-separated values."""
        rows = self.rows()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = _columns(rows)
        writer.writerow(columns)
        writer.writerows([row.get(c, "") for c in columns] for row in rows)
        return text.getvalue()

    def json(self) -> str:
        """Return the report as JSON; `from_json` reads it."""
        data = {
            "calls": list(self.calls),
            "device_metrics": dict(self.device_metrics),
            "configuration": dict(self.configuration),
            "memory": [list(m) for m in self.memory],
            "allocated_bytes": self.allocated_bytes,
        }
        return json.dumps(data)

    @staticmethod
    def from_json(text: str) -> Report:
        """Return the report of a JSON text. Raises `VerifyError` for any other text."""
        try:
            data = json.loads(text)
            calls = tuple([{str(k): v for k, v in c.items()} for c in data["calls"]])
            for call in calls:
                # Reading the fields raises `KeyError` where one is missing.
                call["Name"], call["Device"], call["Argument Shapes"], float(call["Duration (us)"])
            memory = tuple([(int(event), int(live)) for event, live in data.get("memory", ())])
            if not all(0 <= event < len(calls) for event, _ in memory):
                raise ValueError("`memory` refers to unknown events")
            devices, configuration = dict(data["device_metrics"]), dict(data["configuration"])
            return Report(calls, devices, configuration, memory, int(data.get("allocated_bytes", 0)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise VerifyError(Diagnostic(f"this is not a report: {type(error).__name__}: {error}")) from None

    def frame(self, aggregate: bool = True) -> pd.DataFrame:
        """Return the rows as a pandas data frame: kernel, seconds, percent, device, calls, shapes, and more if known.

        Raises `MissingPackageError` without pandas.
        """
        rows = self.rows(aggregate=aggregate)
        table: pd.DataFrame = _pandas().DataFrame(rows, columns=_columns(rows)).rename(columns=FRAME_COLUMNS)
        table["seconds"] *= 1e-6
        return table

    def plot(self, what: str = "seconds") -> Any:
        """Return a chart of the "seconds" or "bytes" of each kernel: an Altair chart, or a Matplotlib figure."""
        return late("passlab.display.charts", "plot")(self, what)

    def __str__(self) -> str:
        return self.table()


def describe(value: Any) -> str:
    """Return the dtype and the shape of an array or of a tensor of a provider, "object" for another value."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return "object"
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"


def marks(attrs: Iterable[tuple[str, Any]]) -> Row:
    """Return the report columns of a kernel's attributes: its hash and layouts."""
    return {"Hash" if k == "hash" else k: v for k, v in attrs if k == "hash" or "layout" in k}


def _pandas() -> ModuleType:
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackageError("a frame needs pandas: pip install pandas") from None
    return pd


def _aggregate(calls: Iterable[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], Row] = {}
    for call in calls:
        # Kernels of equal hash compute the same, whatever their names.
        key = (call.get("Hash") or call["Name"], call["Argument Shapes"], call["Device"])
        row = groups.get(key)
        if row is None:
            groups[key] = {**call, "Count": 1}
            continue
        row["Count"] += 1
        row["Duration (us)"] += call["Duration (us)"]
        if "Bytes" in call:
            row["Bytes"] = row.get("Bytes", 0) + call["Bytes"]
        if row.get("Node") != call.get("Node"):
            row["Node"] = ""  # of several nodes: `calls` has each
    return list(groups.values())


def _columns(rows: list[Row]) -> tuple[str, ...]:
    others = sorted({c for row in rows for c in row} - set(COLUMNS))
    return (*COLUMNS, *others)


def _sums(rows: list[Row], columns: tuple[str, ...]) -> list[Any]:
    summed = ("Duration (us)", "Percent", "Count", "Bytes")
    return ["Sum" if c == "Name" else sum(r.get(c, 0) for r in rows) if c in summed else "" for c in columns]


def _cell_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value if value is not None else "")


def _align(cell: str, column: int, width: int) -> str:
    """Align numbers to the right and text to the left."""
    # The columns of numbers: duration, percent and count.
    return cell.rjust(width) if column in (1, 2, 4) else cell.ljust(width)


# ---------------------------------------------------------------- a virtual machine that times each instruction
WARM_UPS = 3
DEVICE = "cpu0"
# All instructions are events, not only kernels: control is work of the machine.
_NAMES = {opcode: "VM::" + "".join(part.capitalize() for part in opcode.name.split("_")) for opcode in Opcode}
_NAMES[Opcode.ALLOC_ADT] = "VM::AllocADT"


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine that reports times: of each kernel by name, of other instructions by opcode.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> report = vm.VirtualMachineProfiler(exe).profile(np.float32(1))
    >>> [name for name in report.frame()["kernel"] if "fused" in name]
    ['fused_add']
    """

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """Run a function three times untimed, then once instruction by instruction; return the report.

        So the report has allocations that the compiled engine avoids. `collectors` is accepted and ignored: there are
        no hardware counters here.
        """
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        for _ in range(WARM_UPS):
            self.invoke(func_name)
        calls: list[dict[str, Any]] = []
        memory = _LiveBytes()

        def observe(instruction: Instruction, registers: Sequence[Any], seconds: float) -> None:
            calls.append(self._event(instruction, registers, seconds))
            if instruction.opcode is Opcode.ALLOC_STORAGE:
                memory.add(registers[instruction.dst])
            memory.note(len(calls) - 1)

        started = perf_counter()
        index = self.exe.global_map[func_name]
        self.machine.start(index, self._to_devices(index, self._inputs[func_name]))
        self._result = self._to_host(self.machine.run_observed(observe))
        total = (perf_counter() - started) * 1e6
        return Report(
            tuple(calls),
            {DEVICE: {"Duration (us)": total, "Percent": 100.0, "Count": 1}},
            {"Executor": "VM", "Number of threads": 1, "NumPy": np.__version__},
            tuple(memory.over_time),
            memory.allocated,
        )

    def _event(self, instruction: Instruction, registers: Sequence[Any], seconds: float) -> dict[str, Any]:
        name, shapes = _NAMES[instruction.opcode], ""
        event: dict[str, Any] = {}
        if instruction.opcode is Opcode.INVOKE_PACKED:
            name = self.exe.kernel_names[instruction.packed]
            arrays = flat_values([registers[r] for r in instruction.args])
            shapes = ", ".join(map(describe, arrays))
            event["Bytes"] = sum(getattr(a, "nbytes", 0) for a in arrays)
            attrs = self.exe.kernel_functions[instruction.packed].attrs
            event.update(marks(attrs.items()))
            if self.machine.exe.providers:
                event["Runs on"], event["Why"] = self.machine.exe.placed(instruction.packed)
        elif instruction.writes() and instruction.opcode in _ALLOCATING:
            result = registers[instruction.writes()[0]]
            if isinstance(result, Storage):
                event["Bytes"] = int(result.size)
            elif hasattr(result, "shape"):
                shapes = describe(result)
        return {"Name": name, "Duration (us)": seconds * 1e6, "Device": DEVICE, "Argument Shapes": shapes, **event}


class _LiveBytes:
    """The bytes of referenced storages over time."""

    def __init__(self) -> None:
        self.live = 0
        self.allocated = 0
        self.over_time: list[tuple[int, int]] = []
        self._watched: dict[int, weakref.ref[Any]] = {}

    def add(self, storage: Storage) -> None:
        """Count a new storage until its buffer is released: its tensors keep it alive."""
        size, number = int(storage.size), len(self._watched)

        def subtract(_: object) -> None:
            self.live -= size

        # Python calls `subtract` when the last view of the buffer is gone.
        self._watched[number] = weakref.ref(storage.held, subtract)
        self.live += size
        self.allocated += size

    def note(self, event: int) -> None:
        """Record the live bytes after an event, if they changed."""
        if self.live != (self.over_time[-1][1] if self.over_time else 0):
            self.over_time.append((event, self.live))


_ALLOCATING = (Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.RESHAPE_TENSOR)
