"""Basic blocks of scalar arithmetic and ADT values, each run by one Python call while a run is recorded.

The values in such a block are cheap to compute again, so its record in the log is the number of the block. A
`BasicBlock` is a Python function compiled once from its instructions. Between blocks, registers hold NumPy scalars
instead of 0-d arrays, and a `DeferredStorage` instead of the storage of one; `materialize` turns these into the
objects that single instructions would have left. `debugger.replay` runs the instructions one by one for the objects
in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.op.dtypes import array_dtype
from passlab.vm.engines.templates import Emitter, Environment
from passlab.vm.executable import Executable
from passlab.vm.generated_code import function_of
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.isa_notation import Effect, Flow
from passlab.vm.objects import Storage

LONGEST = 1000  # instructions
NEXT, ENTER, APPLY, LEAVE = range(4)  # the end of a block: a jump, a call, a call of a closure, a return
_SIMPLE = (Effect.NONE, Effect.NUMBER, Effect.OBJECT)  # allowed in any block; `_RULES` are for tensors


class UnsuitedError(Exception):
    """A value in a block has another kind than its types; its instructions run one by one."""


@dataclass(frozen=True, eq=False, slots=True)
class BasicBlock:
    """The `count` instructions from the program point `point` on as a function of the registers.

    It returns the next pc (`NEXT`), the arguments of a call (`ENTER`; `APPLY`: a pair of the function's number and
    these), or the result (`LEAVE`). `callee` is the called function, -1 where only the run knows it; the caller goes on
    at the pc `after`.
    """

    number: int
    point: int
    count: int
    kind: int
    work: Callable[[list[Any]], Any]
    callee: int = -1
    result_register: int = -1
    after: int = -1
    tail: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class DeferredStorage:
    """A storage that is not allocated yet, since it would hold one number: the number of `register`, if it is
    written.
    """

    size: int
    device: int
    register: int
    dtype: np.dtype[Any]


def materialize(registers: Sequence[Any]) -> list[Any]:
    """Return registers with arrays instead of scalars, and storages instead of deferred ones."""
    result = list(registers)
    for index, value in enumerate(registers):
        if type(value) is DeferredStorage:
            storage = Storage(value.size, value.device)
            result[index] = storage
            number = registers[value.register]
            # Its kernel has run: single instructions would have left a tensor in the storage.
            if isinstance(number, np.generic) and number.dtype == value.dtype:
                tensor = storage.tensor(0, (), value.dtype)
                tensor[...] = number
                result[value.register] = tensor
    return [np.asarray(value) if isinstance(value, np.generic) else value for value in result]


class BasicBlockMaker:
    """Makes the blocks of an executable. An executable that reuses the memory of tensors has none."""

    def __init__(self, exe: Executable) -> None:
        self.exe = exe
        self.blocks: list[BasicBlock] = []
        self._facts = [_RegisterFacts(f.instructions) for f in exe.functions]
        self._writes_once = all(facts.writes_once for facts in self._facts)

    def make(self, func_index: int, start: int, base: int, is_tail: Callable[[int], bool]) -> BasicBlock | None:
        """Return the block from an instruction on; None where it has more than arithmetic and ADT values.

        `base` is the program point of the function's first instruction; `is_tail` says whether the call at a pc is a
        tail call.
        """
        if not self._writes_once:
            return None
        code, facts = self.exe.functions[func_index].instructions, self._facts[func_index]
        end = start
        while (
            not code[end].spec.transfers_control
            and (end == start or end not in facts.targets)  # a jump leads into the code only at a block's start
            and end - start < LONGEST
        ):
            end += 1
        ending = code[end]
        if ending.spec.flow is Flow.STOP:  # it raises an error, which single instructions locate
            return None
        writer = _Writer(self.exe, code, facts, start)
        if not all(writer.write(pc) for pc in range(start, end)) or not writer.all_tensors_written:
            return None
        falls_through, calls = not ending.spec.transfers_control, ending.spec.flow is Flow.CALL
        kind = LEAVE if ending.spec.flow is Flow.RETURN else NEXT
        if calls:
            kind = ENTER if ending.spec.is_pair and ending.spec.kind("func") else APPLY
        tail = calls and is_tail(end)
        work = writer.finish(end, kept=kind != LEAVE and not tail)
        callee, dst = ending.func if kind == ENTER else -1, ending.dst if calls else -1
        count = end - start + (not falls_through)
        block = BasicBlock(len(self.blocks), base + start, count, kind, work, callee, dst, end + 1, tail)
        self.blocks.append(block)
        return block


class _RegisterFacts:
    """The writers and readers of a function's registers, its jump targets, and whether tensors are written once."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.targets: set[int] = set()
        self.writers: dict[int, list[Instruction]] = {}
        self.users: Counter[int] = Counter(r for i in code for r in i.reads())
        results: Counter[int] = Counter()
        for pc, i in enumerate(code):
            if i.spec.flow in (Flow.TEST, Flow.JUMP):
                self.targets.update(i.successors(pc))
            elif i.spec.effect is Effect.KERNEL:
                results.update(i.results)
            if i.opcode is not Opcode.KILL_REGISTER:
                for register in i.writes():
                    self.writers.setdefault(register, []).append(i)
        allocating = (Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)
        self.writes_once = all(
            n == 1 and [w.opcode in allocating for w in self.writers.get(r, ())] == [True] for r, n in results.items()
        )


class _Writer(Emitter):
    """Emits one block in Python: values are variables, and each register is written once, at the end.

    Of the instructions on memory it supports those that compute a number: see `_RULES`.
    """

    def __init__(self, exe: Executable, code: Sequence[Instruction], facts: _RegisterFacts, start: int) -> None:
        super().__init__(Environment(exe))
        self.exe, self.instructions, self.facts, self.start = exe, code, facts, start
        self.lines: list[str] = []
        self.held: dict[int, str] = {}  # by register: the variable or literal of its value
        self.changed: dict[int, str] = {}
        self.names["UnsuitedError"] = UnsuitedError
        self.integers: dict[str, int] = {}  # by text: the value of a constant
        self.bools: set[str] = set()
        self.storages: dict[str, Instruction] = {}
        self.tensors: dict[int, tuple[str, Instruction]] = {}  # by register: tensors that no kernel has written yet
        self.count = 0
        self.written = ""  # the variable of the instruction's result

    @property
    def all_tensors_written(self) -> bool:
        """Whether each tensor that the block allocates has a value."""
        return not self.tensors and all(name + "size" not in self.names for name in self.storages)

    # ------------------------------------------------------------ values
    def target(self, register: int) -> str:
        """Return a new variable for the value of the register."""
        self.written = self._variable()
        return self.written

    def _variable(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, value: Any, name: str) -> str:
        """Return a global for an object."""
        self.count += 1
        name = f"c{self.count}"
        self.names[name] = value
        if type(value) is int or (isinstance(value, np.ndarray) and not value.shape and value.dtype.kind in "iu"):
            self.integers[name] = int(value)
        return name

    def number(self, name: str, value: Any, kind: str) -> str:
        """Return a global for an operand."""
        return self.constant(value, name) if kind == "int" else super().number(name, value, kind)

    def read(self, register: int) -> str:
        """Return the variable or global of the object in a register."""
        if register not in self.held:
            self.held[register] = name = self._variable()
            self.lines.append(f"{name} = r[{register}]")
        return self.held[register]

    def _write(self, register: int, text: str) -> bool:
        self.held[register] = self.changed[register] = text
        self.tensors.pop(register, None)
        return True

    # ------------------------------------------------------------ instructions
    def write(self, pc: int) -> bool:
        """Emit an instruction; return False for one that blocks do not support."""
        i = self.instructions[pc]
        if any(r in self.tensors for r in i.reads()) and i.spec.effect is not Effect.KERNEL:
            return False  # it would read a tensor without a value
        if any(self.held.get(r) in self.storages for r in i.reads()) and i.opcode is not Opcode.ALLOC_TENSOR:
            return False
        rule = _RULES.get(i.opcode)
        if rule is not None:
            return rule(self, i)
        return i.spec.effect in _SIMPLE and self._simple(i)

    def _simple(self, i: Instruction) -> bool:
        """Emit the code of an instruction; a copy needs no line."""
        *before, text = self.code(i).split("\n")
        value = text.partition(" = ")[2]
        if not before and (i.spec.copied_name or value == "None"):
            return self._write(i.dst, value)
        self.lines += [*before, text]
        return self._write(i.dst, self.written)

    def _alloc_storage(self, i: Instruction) -> bool:
        size = self.integers.get(self.read(i.size), -1)
        if size < 0 or self.facts.users[i.dst] != 1 or len(self.facts.writers[i.dst]) != 1:
            return False
        name = self.constant(None, "storage")  # becomes a deferred storage when its tensor is known
        self.names[name + "size"] = size  # `_alloc_tensor` removes it; what stays has no tensor
        self.storages[name] = i
        return self._write(i.dst, name)

    def _alloc_tensor(self, i: Instruction) -> bool:
        storage, offset = self.held.get(i.storage, ""), self.read(i.offset)
        kind = array_dtype(i.dtype)
        if storage not in self.storages or i.shape or self.integers.get(offset) != 0 or kind.kind not in "iufb":
            return False
        size = self.names.pop(storage + "size")
        if kind.itemsize > size:
            return False
        self.names[storage] = DeferredStorage(size, self.storages[storage].device, i.dst, kind)
        # The kernel that computes the tensor replaces this; `write` refuses instructions that read it before.
        self._write(i.dst, "None")
        self.tensors[i.dst] = storage, i
        return True

    def _invoke_packed(self, i: Instruction) -> bool:
        *ins, out = i.args
        compute = self.exe.kernels[i.packed].scalar
        if compute is None or i.outputs != 1 or out not in self.tensors or any(r in self.tensors for r in ins):
            return False
        kind = array_dtype(self.tensors[out][1].dtype)
        function, expected = self.constant(compute, "kernel"), self.constant(kind.type, "dtype")
        text, name = f"{function}({', '.join(self.read(r) for r in ins)})", self.target(out)
        self.lines.append(f"{name} = {text}")
        self.lines.append(f"if type({name}) is not {expected}: raise UnsuitedError")
        if kind.kind == "b":
            self.bools.add(name)
        return self._write(out, name)

    # ------------------------------------------------------------ the end
    def finish(self, end: int, kept: bool) -> Callable[[list[Any]], Any]:
        """Return the function of the block; `kept` says whether the registers are used afterwards."""
        last = self._return_line(end)
        writes = [f"r[{register}] = {text}" for register, text in self.changed.items()] if kept else []
        body = "".join(f"    {line}\n" for line in (*self.lines, *writes, last))
        return function_of(f"def block(r):\n{body}", "block", self.names, f"<block at {self.start}>")

    def _return_line(self, end: int) -> str:
        i = self.instructions[end]
        flow = i.spec.flow
        if flow is Flow.NEXT:
            return f"return {end}"
        if flow is Flow.JUMP:
            return f"return {i.successors(end)[0]}"
        if flow is Flow.TEST:
            yes, no = i.successors(end)
            return f"return {yes} if {self._test(i)} else {no}"
        code = self.code(i)
        if flow is Flow.CALL and i.spec.is_pair and i.spec.kind("func"):
            code = code.partition(", ")[2]  # `BasicBlock.callee` has the function
        return f"return {code}"

    def _test(self, i: Instruction) -> str:
        """Return the condition of a branch; a bool that is compared with a constant needs no call."""
        if i.opcode is Opcode.IF and (test := self.read(i.test)) in self.bools:
            truth = self.integers.get(self.read(i.target))
            if truth in (0, 1):
                return test if truth else f"not {test}"
        return self.code(i)


_RULES: dict[Opcode, Callable[[_Writer, Instruction], bool]] = {
    Opcode.ALLOC_STORAGE: _Writer._alloc_storage,
    Opcode.ALLOC_TENSOR: _Writer._alloc_tensor,
    Opcode.INVOKE_PACKED: _Writer._invoke_packed,
}
