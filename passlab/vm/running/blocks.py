"""What the running engine knows of a function before it is written in Python: its basic blocks, and which kernels make
their own results.

The instructions stay what they are. A basic block is a run of instructions that control enters only at its head and
leaves only at its end. Constants are known beforehand. Where a kernel's results get a fresh storage each, the kernel
makes them itself: dead storages, offsets and uninitialised tensors are eliminated.
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
    """One function, analysed. With `own_memory`, tensors live in storages that an allocator gives.

    `presets` are the registers that hold constants; `ends` says of each basic block where its last instruction is, or
    the control that follows it; `entries` how many ways lead to its head; `dropped` the instructions without effect;
    `makers` the kernels that make their results, by place, and `storages` what would else be made for them: their
    bytes, and the place of the kernel.
    """

    def __init__(self, exe: Executable, function: VMFunction, own_memory: bool = False) -> None:
        self.exe = exe
        self.code = function.instructions
        self.reads = Counter(r for i in self.code for r in i.reads())
        self.writers: dict[int, list[int]] = {}
        for at, instruction in enumerate(self.code):
            if instruction.opcode is not Opcode.KILL_REGISTER:
                for register in instruction.writes():
                    self.writers.setdefault(register, []).append(at)
        self.params = len(function.params)
        self.presets = self._presets()
        self.entries: Counter[int] = Counter()
        self.ends = self._basic_blocks()
        self.dropped: set[int] = set()
        self.makers: dict[int, tuple[Maker, Kinds]] = {}
        self.storages: dict[int, tuple[int, int]] = {}
        if not own_memory:
            for start, end in self.ends.items():
                for at in range(start, end):
                    if self.code[at].spec.effect is Effect.KERNEL:
                        self._fuse(at, start)
        self._drop()

    def _presets(self) -> dict[int, Any]:
        out: dict[int, Any] = {}
        for register, writers in self.writers.items():
            instruction = self.code[writers[0]]
            name = instruction.spec.copied
            if len(writers) > 1 or register < self.params or not name:
                continue
            if name in instruction.spec.constants:
                out[register] = instruction.spec.constants[name](Environment(self.exe), instruction)
            elif type(value := getattr(instruction, name)) is int and instruction.spec.kind(name) == "int":
                out[register] = value
        return out

    def _basic_blocks(self) -> dict[int, int]:
        """Find the heads of basic blocks, count the ways to each, and say where each ends."""
        heads = {0}
        self.entries[0] = 1
        for at, instruction in enumerate(self.code):
            if instruction.spec.leaves:
                following = instruction.successors(at)
                heads.update(following)
                self.entries.update(following)
        ends = {}
        for head in sorted(heads):
            end = head
            while not self.code[end].spec.leaves:
                end += 1
                if end in heads:  # others come in here: a basic block of its own
                    self.entries[end] += 1
                    break
            ends[head] = end
        return ends

    # ------------------------------------------------------------ kernels that make their results
    def _fuse(self, at: int, start: int) -> None:
        """Let a kernel make its results when the storages of all of them serve nothing else."""
        call = self.code[at]
        outs, ins = call.results, call.inputs
        if not outs or len(set(outs)) < len(outs) or not set(outs).isdisjoint(ins):
            return
        places: list[int] = []
        kinds: Kinds = []
        for out in outs:
            allocation = self._allocation(out, start, at)
            if allocation is None:
                return
            places += allocation
            tensor = self.code[allocation[1]]
            kinds.append((tensor.shape, array_dtype(tensor.dtype)))
        try:
            maker = result_maker(self.exe.kernels[call.packed], kinds)
        except RunError:  # no kernel can be made of it; the instruction says so when it is reached
            return
        if maker is not None:
            self.dropped.update(places)
            self.makers[at] = maker, kinds
            for place in places[::2]:
                self.storages[place] = int(self.presets[self.code[place].size]), at

    def _allocation(self, out: int, start: int, at: int) -> tuple[int, int] | None:
        """Return where a tensor's storage and the tensor are made, if only for the call at `at` in the same block."""
        tensor = self._only_writer(out, Opcode.ALLOC_TENSOR, start, at)
        if tensor is None:
            return None
        storage, offset = tensor[1].operands[:2]
        result = self._only_writer(storage, Opcode.ALLOC_STORAGE, start, tensor[0])
        offset_value = self.presets.get(offset)
        if result is None or self.reads[storage] > 1 or offset_value is None or int(offset_value) != 0:
            return None
        size = self.presets.get(result[1].size)
        kind = array_dtype(tensor[1].dtype)
        if size is None or np.prod(tensor[1].shape, dtype=np.float64) * kind.itemsize > int(size):
            return None  # left to the instructions, which say what is wrong
        if any(out in self.code[i].reads() for i in range(tensor[0] + 1, at)):
            return None
        return result[0], tensor[0]

    def _only_writer(self, register: int, opcode: Opcode, start: int, end: int) -> tuple[int, Instruction] | None:
        writers = self.writers.get(register, [])
        if len(writers) != 1 or not start <= writers[0] < end or register < self.params:
            return None
        instruction = self.code[writers[0]]
        return (writers[0], instruction) if instruction.opcode is opcode else None

    def _drop(self) -> None:
        """Drop what writes or kills constants, and kills of storages that are not made."""
        unmade = {r for at in self.dropped for r in self.code[at].writes()}
        unmade -= {r for at in self.makers for r in self.code[at].args}
        for at, instruction in enumerate(self.code):
            written = instruction.writes()
            if written and (written[0] in self.presets or written[0] in unmade):
                self.dropped.add(at)
