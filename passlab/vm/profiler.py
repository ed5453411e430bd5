"""`VirtualMachineProfiler`: a virtual machine that times each instruction."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.primitive import flat_values
from passlab.vm.objects import Storage
from passlab.vm.relay_api import VirtualMachine
from passlab.vm.report import Report, describe, marks

WARM_UPS = 3
DEVICE = "cpu0"
# All instructions are events, not only kernels: control is work of the machine.
_NAMES = {opcode: "VM::" + "".join(part.capitalize() for part in opcode.name.split("_")) for opcode in Opcode}
_NAMES[Opcode.ALLOC_ADT] = "VM::AllocADT"


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine that reports times: of each kernel by name, of other instructions by opcode."""

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
        self.machine.start(self.exe.global_map[func_name], self._inputs[func_name])
        self._result = self.machine.run_observed(observe)
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
            event["Bytes"] = sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
            attrs = self.exe.kernel_functions[instruction.packed].attrs
            event.update(marks(attrs.items()))
        elif instruction.writes() and instruction.opcode in _ALLOCATING:
            result = registers[instruction.writes()[0]]
            if isinstance(result, Storage):
                event["Bytes"] = int(result.size)
            elif isinstance(result, np.ndarray):
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
