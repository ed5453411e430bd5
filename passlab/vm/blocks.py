"""The running engine's code: stretches of instructions without control, each turned into few Python calls.

The instructions stay what they are; a `Block` does what they do, seen from where it ends. Constants are in the
registers before a frame starts; a kernel whose results get a fresh storage each makes them itself, and the storages,
offsets and empty tensors, which nobody else reads, do not come to be. Blocks start at any instruction, so a run can go
on from wherever stepping stopped, provided the frame has been given its constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.errors import RunError
from passlab.evaluate.operators import describe
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels import numpy_dtype
from passlab.vm.objects import Allocator
from passlab.vm.steps import STEPS, Step, allocating, made_at_once, with_arrays

CONTROL = (Opcode.RET, Opcode.INVOKE, Opcode.INVOKE_CLOSURE, Opcode.IF, Opcode.GOTO, Opcode.FATAL)
# What keeps objects for others to see, or hands them to NumPy: scalars become arrays before it.
KEEPING = (Opcode.ALLOC_ADT, Opcode.ALLOC_CLOSURE, Opcode.INVOKE_PACKED, Opcode.RESHAPE_TENSOR, Opcode.DEVICE_COPY)
Steps = tuple[tuple[int, Step], ...]


class Block:
    """Steps with the places of their instructions, the number of instructions they stand for, and where control is."""

    __slots__ = ("steps", "count", "end")

    def __init__(self, steps: Steps, count: int, end: int) -> None:
        self.steps = steps
        self.count = count
        self.end = end


class FunctionBlocks:
    """The blocks of one function, made when first reached.

    `presets` are the registers that hold constants. With an allocator, tensors live in the storages it gives.
    """

    def __init__(self, exe: Executable, function: VMFunction, allocator: Allocator | None = None) -> None:
        self.exe = exe
        self.code = function.instructions
        self.allocator = allocator
        self.reads = Counter(r for i in self.code for r in i.reads())
        self.writers: dict[int, list[int]] = {}
        self.targets: set[int] = set()
        for at, instruction in enumerate(self.code):
            if instruction.opcode is not Opcode.KILL_REGISTER:
                for register in instruction.writes():
                    self.writers.setdefault(register, []).append(at)
            if instruction.opcode is Opcode.IF:
                self.targets.update((at + instruction.true_offset, at + instruction.false_offset))
            elif instruction.opcode is Opcode.GOTO:
                self.targets.add(at + instruction.offset)
        self.params = len(function.params)
        self.presets = self._presets()
        self.blocks: dict[int, Block] = {}

    def _presets(self) -> dict[int, Any]:
        out: dict[int, Any] = {}
        for register, writers in self.writers.items():
            instruction = self.code[writers[0]]
            if len(writers) > 1 or register < self.params:
                continue
            if instruction.opcode is Opcode.LOAD_CONST:
                out[register] = self.exe.constants[instruction.operands[0]]
            elif instruction.opcode is Opcode.LOAD_CONSTI:
                out[register] = instruction.operands[0]
        return out

    def block(self, start: int) -> Block:
        """Return the block that starts at an instruction."""
        made = self.blocks.get(start)
        if made is None:
            made = self.blocks[start] = self._made(start)
        return made

    def _made(self, start: int) -> Block:
        end = start
        while self.code[end].opcode not in CONTROL:
            end += 1
            if end in self.targets:  # others come in here: a block of its own
                break
        dropped: set[int] = set()
        fused: dict[int, Step] = {}
        if self.allocator is None:
            for at in range(start, end):
                if self.code[at].opcode is Opcode.INVOKE_PACKED:
                    self._fuse(at, start, dropped, fused)
        unmade = {r for at in dropped for r in self.code[at].writes()}
        unmade -= {r for at in fused for r in self.code[at].args}
        steps: list[tuple[int, Step]] = []
        for at in range(start, end):
            instruction = self.code[at]
            written = instruction.writes()
            if at in dropped or (written and (written[0] in self.presets or written[0] in unmade)):
                continue
            steps.append((at, fused.get(at) or self._step(instruction)))
        return Block(tuple(steps), end - start, end)

    def _step(self, instruction: Instruction) -> Step:
        if self.allocator is not None and instruction.opcode is Opcode.ALLOC_STORAGE and self._is_native(instruction):
            return allocating(self.allocator, instruction)
        step = STEPS[instruction.opcode](self.exe, instruction)
        return with_arrays(instruction.reads(), step) if instruction.opcode in KEEPING else step

    def _is_native(self, allocation: Instruction) -> bool:
        """Whether a storage is this machine's memory."""
        return not self.exe.providers or self.exe.providers[allocation.device].native

    def _fuse(self, at: int, start: int, dropped: set[int], fused: dict[int, Step]) -> None:
        """Let a kernel make its results when the storages of all of them serve nothing else."""
        call = self.code[at]
        outs = call.args[len(call.args) - call.outputs :]
        places: list[int] = []
        kinds = []
        for out in outs:
            found = self._allocation(out, start, at)
            if found is None or len(set(outs)) < len(outs):
                return
            places += found
            tensor = self.code[found[1]]
            kinds.append((tensor.shape, numpy_dtype(tensor.dtype)))
        step = made_at_once(self.exe, call, kinds) if outs else None
        if step is not None:
            dropped.update(places)
            fused[at] = step

    def _allocation(self, out: int, start: int, at: int) -> tuple[int, int] | None:
        """Return where a tensor's storage and the tensor are made, if only for the call at `at` in the same block."""
        tensor = self._only_writer(out, Opcode.ALLOC_TENSOR, start, at)
        if tensor is None:
            return None
        storage, offset = tensor[1].operands[:2]
        made = self._only_writer(storage, Opcode.ALLOC_STORAGE, start, tensor[0])
        offset_value = self.presets.get(offset)
        if made is None or self.reads[storage] > 1 or offset_value is None or int(offset_value) != 0:
            return None
        size = self.presets.get(made[1].size)
        kind = numpy_dtype(tensor[1].dtype)
        if size is None or np.prod(tensor[1].shape, dtype=np.float64) * kind.itemsize > int(size):
            return None  # left to the instructions, which say what is wrong
        if any(out in self.code[i].reads() for i in range(tensor[0] + 1, at)):
            return None
        return made[0], tensor[0]

    def _only_writer(self, register: int, opcode: Opcode, start: int, end: int) -> tuple[int, Instruction] | None:
        writers = self.writers.get(register, [])
        if len(writers) != 1 or not start <= writers[0] < end or register < self.params:
            return None
        instruction = self.code[writers[0]]
        return (writers[0], instruction) if instruction.opcode is opcode else None


def chooser(instruction: Instruction, at: int, known: dict[int, Any]) -> Callable[[list[Any]], int]:
    """Return a function of the registers that answers where an `if` at `at` goes on; `known` are its constants."""
    test, target, yes, no = instruction.operands
    taken: int = at + yes
    other: int = at + no

    def choose(r: list[Any]) -> int:
        a, b = r[test], r[target]
        try:
            same = (a if type(a) is int else a.item()) == (b if type(b) is int else b.item())
        except (AttributeError, ValueError):
            raise RunError(f"a condition must be a scalar, not {describe(a)}") from None
        return taken if same else other

    if target not in known:
        return choose
    number = known[target]

    def choose_known(r: list[Any]) -> int:
        try:
            return taken if r[test].item() == number else other
        except (AttributeError, ValueError):
            return choose(r)

    return choose_known if type(number) is int else choose
