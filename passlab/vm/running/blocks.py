"""The analysis of a function before it is compiled: basic blocks, constants, kernels that allocate their results.

Where each result of a kernel gets a new storage of its own, the kernel allocates the results itself: the storages,
offsets and uninitialised tensors are dead and dropped.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from passlab.errors import RunError
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.instruction_spec import Effect
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.result_makers import Kinds, Maker, result_maker
from passlab.vm.semantics import Environment


class FunctionBlocks:
    """The analysis of one function. With `own_memory`, tensors live in the storages of an allocator.

    `presets` are the registers that hold constants. By first instruction of a basic block, `ends` has its last one, or
    the head of the block that follows, and `entries` the number of its predecessors. `dropped` are the instructions
    without effect, `makers` the kernels that allocate their results by pc, and `storages` the dropped allocations for
    them: the bytes, and the pc of the kernel.
    """

    def __init__(self, exe: Executable, function: VMFunction, own_memory: bool = False) -> None:
        self.exe = exe
        self.code = function.instructions
        self.reads = Counter(r for i in self.code for r in i.reads())
        self.writers: dict[int, list[int]] = {}
        for pc, instruction in enumerate(self.code):
            if instruction.opcode is not Opcode.KILL_REGISTER:
                for register in instruction.writes():
                    self.writers.setdefault(register, []).append(pc)
        self.params = len(function.params)
        self.presets = self._presets()
        self.entries: Counter[int] = Counter()
        self.ends = self._basic_blocks()
        self.dropped: set[int] = set()
        self.makers: dict[int, tuple[Maker, Kinds]] = {}
        self.storages: dict[int, tuple[int, int]] = {}
        if not own_memory:
            for start, end in self.ends.items():
                for pc in range(start, end):
                    if self.code[pc].spec.effect is Effect.KERNEL:
                        self._allocate_in_kernel(pc, start)
        self._drop_dead_code()

    def _presets(self) -> dict[int, Any]:
        presets: dict[int, Any] = {}
        for register, writers in self.writers.items():
            instruction = self.code[writers[0]]
            name = instruction.spec.copied_name
            # With one writer a register holds the constant at each read: the verifier found no read before a write.
            if len(writers) > 1 or register < self.params or not name:
                continue
            if name in instruction.spec.constants:
                presets[register] = instruction.spec.constants[name](Environment(self.exe), instruction)
            elif type(value := getattr(instruction, name)) is int and instruction.spec.kind(name) == "int":
                presets[register] = value
        return presets

    def _basic_blocks(self) -> dict[int, int]:
        """Find the basic blocks, count the predecessors of each, and return their ends by head."""
        heads = {0}
        self.entries[0] = 1  # the call of the function
        for pc, instruction in enumerate(self.code):
            if instruction.spec.transfers_control:
                successors = instruction.successors(pc)
                heads.update(successors)
                self.entries.update(successors)
        ends = {}
        for head in sorted(heads):
            end = head
            while not self.code[end].spec.transfers_control:
                end += 1
                if end in heads:  # a jump leads here: another basic block
                    self.entries[end] += 1
                    break
            ends[head] = end
        return ends

    # ------------------------------------------------------------ kernels that allocate their results
    def _allocate_in_kernel(self, pc: int, start: int) -> None:
        """Let a kernel allocate its results where their storages have no other use."""
        call = self.code[pc]
        outs, ins = call.results, call.inputs
        # A kernel that reads or writes one of its results twice needs the tensors.
        if not outs or len(set(outs)) < len(outs) or not set(outs).isdisjoint(ins):
            return
        allocations: list[int] = []
        kinds: Kinds = []
        for out in outs:
            allocation = self._allocation(out, start, pc)
            if allocation is None:
                return
            allocations += allocation
            tensor = self.code[allocation[1]]
            kinds.append((tensor.shape, array_dtype(tensor.dtype)))
        try:
            maker = result_maker(self.exe.kernels[call.packed], kinds)
        except RunError:  # the instruction raises the error when it is reached
            return
        if maker is not None:
            self.dropped.update(allocations)
            self.makers[pc] = maker, kinds
            for storage in allocations[::2]:  # pairs of storage and tensor
                self.storages[storage] = int(self.presets[self.code[storage].size]), pc

    def _allocation(self, out: int, start: int, pc: int) -> tuple[int, int] | None:
        """Return the pcs that allocate a tensor's storage and the tensor, if only for the call at `pc` of the block."""
        tensor = self._only_writer(out, Opcode.ALLOC_TENSOR, start, pc)
        if tensor is None:
            return None
        storage, offset = tensor[1].operands[:2]
        result = self._only_writer(storage, Opcode.ALLOC_STORAGE, start, tensor[0])
        offset_value = self.presets.get(offset)
        if result is None or self.reads[storage] > 1 or offset_value is None or int(offset_value) != 0:
            return None
        size = self.presets.get(result[1].size)
        kind = array_dtype(tensor[1].dtype)
        # A product of floats does not overflow, however large the numbers in a file are.
        if size is None or np.prod(tensor[1].shape, dtype=np.float64) * kind.itemsize > int(size):
            return None  # the instructions raise the error
        # The tensor is used before the kernel has written it, so it must exist.
        if any(out in self.code[i].reads() for i in range(tensor[0] + 1, pc)):
            return None
        return result[0], tensor[0]

    def _only_writer(self, register: int, opcode: Opcode, start: int, end: int) -> tuple[int, Instruction] | None:
        writers = self.writers.get(register, [])
        if len(writers) != 1 or not start <= writers[0] < end or register < self.params:
            return None
        instruction = self.code[writers[0]]
        return (writers[0], instruction) if instruction.opcode is opcode else None

    def _drop_dead_code(self) -> None:
        """Drop instructions that write or kill constants, and kills of dropped storages."""
        dead = {r for pc in self.dropped for r in self.code[pc].writes()}
        # The results of these kernels are still written, by the kernels themselves.
        dead -= {r for pc in self.makers for r in self.code[pc].args}
        for pc, instruction in enumerate(self.code):
            written = instruction.writes()
            if written and (written[0] in self.presets or written[0] in dead):
                self.dropped.add(pc)
