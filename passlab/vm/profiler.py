"""`VirtualMachineProfiler`: the machine one instruction at a time, with a clock."""

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
# Control is the machine's own work; each such instruction is an event, too.
_NAMES = {opcode: "VM::" + "".join(part.capitalize() for part in opcode.name.split("_")) for opcode in Opcode}
_NAMES[Opcode.ALLOC_ADT] = "VM::AllocADT"


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine that tells where the time goes: each kernel by name, each other instruction by kind."""

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """Run a function three times unmeasured and once measured; return the report.

        `collectors` is accepted and ignored: there are no hardware counters here. The measured run goes instruction by
        instruction, as the listing says, so allocations that the running engine avoids are seen.
        """
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        for _ in range(WARM_UPS):
            self.invoke(func_name)
        calls: list[dict[str, Any]] = []
        memory = _Memory()

        def observe(instruction: Instruction, registers: Sequence[Any], seconds: float) -> None:
            calls.append(self._event(instruction, registers, seconds))
            if instruction.opcode is Opcode.ALLOC_STORAGE:
                memory.add(registers[instruction.dst])
            memory.note(len(calls) - 1)

        started = perf_counter()
        self.machine.start(self.exe.global_map[func_name], self._inputs[func_name])
        self._result = self.machine.observed_run(observe)
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
        elif instruction.writes() and instruction.opcode in _MAKING:
            result = registers[instruction.writes()[0]]
            if isinstance(result, Storage):
                event["Bytes"] = int(result.size)
            elif isinstance(result, np.ndarray):
                shapes = describe(result)
        return {"Name": name, "Duration (us)": seconds * 1e6, "Device": DEVICE, "Argument Shapes": shapes, **event}


class _Memory:
    """The bytes of the storages that something still refers to, over time."""

    def __init__(self) -> None:
        self.live = 0
        self.allocated = 0
        self.over_time: list[tuple[int, int]] = []
        self._watched: dict[int, weakref.ref[Any]] = {}

    def add(self, storage: Storage) -> None:
        """Count a new storage until its buffer is gone: tensors keep it alive."""
        size, number = int(storage.size), len(self._watched)

        def gone(_: object) -> None:
            self.live -= size

        self._watched[number] = weakref.ref(storage.held, gone)
        self.live += size
        self.allocated += size

    def note(self, event: int) -> None:
        """Note what is alive after an event, if it changed."""
        if self.live != (self.over_time[-1][1] if self.over_time else 0):
            self.over_time.append((event, self.live))


_MAKING = (Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.RESHAPE_TENSOR)
