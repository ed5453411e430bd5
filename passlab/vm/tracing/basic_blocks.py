"""Basic blocks of scalar arithmetic and of data, run in one Python call each while a run is recorded.

What such a block writes costs little to compute again, so its recording is the number of the block. A `BasicBlock` is
a Python function that is made once from its instructions. Between blocks, registers hold what is needed to go on:
NumPy's scalars in place of arrays without dimensions, and a `DeferredStorage` in place of a storage that serves one of
them; `settled` makes of these what single instructions would have left. `debugger.replay` runs the instructions one by
one to get the objects in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.evaluate.values import ADTValue
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Storage, VMClosure

LONGEST = 1000  # instructions
NEXT, ENTER, APPLY, LEAVE = range(4)  # how a block ends: in its function, with a call, of a closure, with a return
_ENDS = {Opcode.IF: NEXT, Opcode.GOTO: NEXT, Opcode.INVOKE: ENTER, Opcode.INVOKE_CLOSURE: APPLY, Opcode.RET: LEAVE}
_CONTROL = (*_ENDS, Opcode.FATAL)


class UnsuitedError(Exception):
    """A block met a value of another kind than its types say; its instructions run one by one."""


@dataclass(frozen=True, eq=False, slots=True)
class BasicBlock:
    """Some instructions from `site` on as a function of the registers.

    It returns where its function goes on (`NEXT`), the arguments of a call (`ENTER`; with the closure's function
    before them, `APPLY`), or the result (`LEAVE`). `callee` is the function that is called, -1 for a closure's; the
    caller goes on at `after`.
    """

    number: int
    site: int
    count: int
    kind: int
    work: Callable[[list[Any]], Any]
    callee: int = -1
    result_register: int = -1
    after: int = -1
    tail: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class DeferredStorage:
    """A storage that was not made, because just one number would stand in it: the one in `register`, if any."""

    size: int
    device: int
    register: int
    dtype: np.dtype[Any]


def settled(registers: Sequence[Any]) -> list[Any]:
    """Return registers with arrays in place of scalars, and storages in place of deferred storages."""
    made = list(registers)
    for place, value in enumerate(registers):
        if type(value) is DeferredStorage:
            storage = Storage(value.size, value.device)
            made[place] = storage
            number = registers[value.register]
            if isinstance(number, np.generic) and number.dtype == value.dtype:
                tensor = storage.tensor(0, (), value.dtype)
                tensor[...] = number
                made[value.register] = tensor
    return [np.asarray(value) if isinstance(value, np.generic) else value for value in made]


class BasicBlockMaker:
    """Makes the blocks of an executable. One that reuses the memory of its tensors has none."""

    def __init__(self, exe: Executable) -> None:
        self.exe = exe
        self.made: list[BasicBlock] = []
        self._facts = [_Facts(f.instructions) for f in exe.functions]
        self.suited = all(facts.ordinary for facts in self._facts)

    def make(self, func_index: int, start: int, base: int, is_tail: Callable[[int], bool]) -> BasicBlock | None:
        """Return the block from an instruction on; None where there is more to it than arithmetic and data.

        `base` is the site of the function's first instruction; `is_tail` answers, for the place of a call, whether
        its result is returned at once.
        """
        if not self.suited:
            return None
        code, facts = self.exe.functions[func_index].instructions, self._facts[func_index]
        end = start
        while code[end].opcode not in _CONTROL and (end == start or end not in facts.targets) and end - start < LONGEST:
            end += 1
        ending = code[end]
        if ending.opcode is Opcode.FATAL:
            return None
        writer = _Writer(self.exe, code, facts, start)
        if not all(writer.write(at) for at in range(start, end)) or not writer.settled:
            return None
        falls = ending.opcode not in _CONTROL
        kind = NEXT if falls else _ENDS[ending.opcode]
        tail = kind in (ENTER, APPLY) and is_tail(end)
        work = writer.finished(end, falls, kept=kind in (NEXT, ENTER, APPLY) and not tail)
        callee = ending.func if kind == ENTER else -1
        into = ending.dst if kind in (ENTER, APPLY) else -1
        made = BasicBlock(
            len(self.made), base + start, end - start + (not falls), kind, work, callee, into, end + 1, tail
        )
        self.made.append(made)
        return made


class _Facts:
    """What is known of a function's registers: who writes them, where jumps lead, whether its memory is ordinary."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.targets: set[int] = set()
        self.writers: dict[int, list[Instruction]] = {}
        self.users: Counter[int] = Counter(r for i in code for r in i.reads())
        results: Counter[int] = Counter()
        for at, i in enumerate(code):
            if i.opcode is Opcode.IF:
                self.targets.update((at + i.true_offset, at + i.false_offset))
            elif i.opcode is Opcode.GOTO:
                self.targets.add(at + i.offset)
            elif i.opcode is Opcode.INVOKE_PACKED:
                results.update(i.args[len(i.args) - i.outputs :])
            if i.opcode is not Opcode.KILL_REGISTER:
                for register in i.writes():
                    self.writers.setdefault(register, []).append(i)
        allocating = (Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)
        self.ordinary = all(
            n == 1 and [w.opcode in allocating for w in self.writers.get(r, ())] == [True] for r, n in results.items()
        )


class _Writer:
    """Writes one block in Python: values in variables, registers written at its end, and only what they end with."""

    def __init__(self, exe: Executable, code: Sequence[Instruction], facts: _Facts, start: int) -> None:
        self.exe, self.code, self.facts, self.start = exe, code, facts, start
        self.lines: list[str] = []
        self.held: dict[int, str] = {}  # by register: the variable or literal that stands for its value
        self.changed: dict[int, str] = {}
        self.names: dict[str, Any] = {"ADTValue": ADTValue, "VMClosure": VMClosure, "as_array": as_array}
        self.names |= {"UnsuitedError": UnsuitedError, "same": _same, "tuple": tuple, "type": type}
        self.integers: dict[str, int] = {}  # variables known to be plain numbers
        self.bools: set[str] = set()
        self.storages: dict[str, Instruction] = {}
        self.tensors: dict[int, tuple[str, Instruction]] = {}  # registers of tensors that nothing was written into
        self.count = 0

    @property
    def settled(self) -> bool:
        """Whether each tensor that was allocated has its value."""
        return not self.tensors and all(name + "size" not in self.names for name in self.storages)

    # ------------------------------------------------------------ values
    def _variable(self, text: str) -> str:
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def _constant(self, value: Any) -> str:
        name = f"c{self.count}"
        self.count += 1
        self.names[name] = value
        return name

    def _read(self, register: int) -> str:
        if register not in self.held:
            self.held[register] = self._variable(f"r[{register}]")
        return self.held[register]

    def _write(self, register: int, text: str) -> bool:
        self.held[register] = self.changed[register] = text
        self.tensors.pop(register, None)
        return True

    def _array(self, register: int) -> str:
        return f"as_array({self._read(register)})"

    # ------------------------------------------------------------ instructions
    def write(self, at: int) -> bool:
        """Write what an instruction does; return whether that could be."""
        i = self.code[at]
        if any(r in self.tensors for r in i.reads()) and i.opcode is not Opcode.INVOKE_PACKED:
            return False  # a tensor that has no value yet is seen
        if any(self.held.get(r) in self.storages for r in i.reads()) and i.opcode is not Opcode.ALLOC_TENSOR:
            return False
        rule = _RULES.get(i.opcode)
        return rule is not None and bool(rule(self, i))

    def _move(self, i: Instruction) -> bool:
        return self._write(i.operands[1], self._read(i.operands[0]))

    def _kill(self, i: Instruction) -> bool:
        return self._write(i.operands[0], "None")

    def _load_const(self, i: Instruction) -> bool:
        value = self.exe.constants[i.const]
        name = self._constant(value)
        if isinstance(value, np.ndarray) and not value.shape and value.dtype.kind in "iu":
            self.integers[name] = int(value)
        return self._write(i.dst, name)

    def _load_consti(self, i: Instruction) -> bool:
        name = self._constant(i.value)
        self.integers[name] = i.value
        return self._write(i.dst, name)

    def _alloc_storage(self, i: Instruction) -> bool:
        size = self.integers.get(self._read(i.size), -1)
        if size < 0 or self.facts.users[i.dst] != 1 or len(self.facts.writers[i.dst]) != 1:
            return False
        name = self._constant(None)  # the deferred storage is made when its tensor is known
        self.names[name + "size"] = size
        self.storages[name] = i
        return self._write(i.dst, name)

    def _alloc_tensor(self, i: Instruction) -> bool:
        storage, offset = self.held.get(i.storage, ""), self._read(i.offset)
        kind = array_dtype(i.dtype)
        if storage not in self.storages or i.shape or self.integers.get(offset) != 0 or kind.kind not in "iufb":
            return False
        size = self.names.pop(storage + "size")
        if kind.itemsize > size:
            return False
        self.names[storage] = DeferredStorage(size, self.storages[storage].device, i.dst, kind)
        self._write(i.dst, "None")
        self.tensors[i.dst] = storage, i
        return True

    def _invoke_packed(self, i: Instruction) -> bool:
        *ins, out = i.args
        compute = self.exe.kernels[i.packed].scalar
        if compute is None or i.outputs != 1 or out not in self.tensors or any(r in self.tensors for r in ins):
            return False
        kind = array_dtype(self.tensors[out][1].dtype)
        function, expected = self._constant(compute), self._constant(kind.type)
        name = self._variable(f"{function}({', '.join(self._read(r) for r in ins)})")
        self.lines.append(f"if type({name}) is not {expected}: raise UnsuitedError")
        if kind.kind == "b":
            self.bools.add(name)
        return self._write(out, name)

    def _alloc_adt(self, i: Instruction) -> bool:
        fields = ", ".join(self._array(f) for f in i.fields)
        if i.tag == 0:
            return self._write(i.dst, self._variable(f"({fields},)" if fields else "()"))
        if i.tag not in self.exe.constructors:
            return False
        return self._write(
            i.dst, self._variable(f"ADTValue({self._constant(self.exe.constructors[i.tag])}, [{fields}])")
        )

    def _alloc_closure(self, i: Instruction) -> bool:
        captured = "".join(f"{self._array(c)}, " for c in i.captured)
        return self._write(i.dst, self._variable(f"VMClosure({i.func}, ({captured}))"))

    def _get_field(self, i: Instruction) -> bool:
        source, field, dst = i.operands
        whole = self._read(source)
        return self._write(
            dst, self._variable(f"{whole}[{field}] if type({whole}) is tuple else {whole}.fields[{field}]")
        )

    def _get_tag(self, i: Instruction) -> bool:
        name = self._variable(f"{self._read(i.operands[0])}.constructor.tag")
        return self._write(i.operands[1], name)

    # ------------------------------------------------------------ the end
    def finished(self, end: int, falls: bool, kept: bool) -> Callable[[list[Any]], Any]:
        """Return the function; `kept` says whether anything looks at the registers afterwards."""
        last = self._last(end, falls)
        writes = [f"r[{register}] = {text}" for register, text in self.changed.items()] if kept else []
        body = "".join(f"    {line}\n" for line in (*self.lines, *writes, last))
        # what is run is made of numbers of registers and of names given here, never of text from a program
        exec(compile(f"def block(r):\n{body}", f"<block at {self.start}>", "exec"), self.names)  # noqa: S102
        made: Callable[[list[Any]], Any] = self.names["block"]
        return made

    def _last(self, end: int, falls: bool) -> str:
        i = self.code[end]
        if falls:
            return f"return {end}"
        if i.opcode is Opcode.GOTO:
            return f"return {end + i.offset}"
        if i.opcode is Opcode.IF:
            yes, no = end + i.true_offset, end + i.false_offset
            test, target = self._read(i.test), self._read(i.target)
            number = self.integers.get(target)
            plain = number if test in self.bools else None
            asked = {1: test, 0: f"not {test}"}.get(-1 if plain is None else plain, f"same({test}, {target})")
            return f"return {yes} if {asked} else {no}"
        if i.opcode is Opcode.RET:
            return f"return {self._read(i.result)}"
        given = "".join(f"{self._read(r)}, " for r in i.args)
        if i.opcode is Opcode.INVOKE:
            return f"return ({given})"
        closure = self._read(i.closure)
        return f"return {closure}.func_index, (*{closure}.captured, {given})"


_RULES: dict[Opcode, Callable[[_Writer, Instruction], bool]] = {
    Opcode.MOVE: _Writer._move,
    Opcode.KILL_REGISTER: _Writer._kill,
    Opcode.LOAD_CONST: _Writer._load_const,
    Opcode.LOAD_CONSTI: _Writer._load_consti,
    Opcode.ALLOC_STORAGE: _Writer._alloc_storage,
    Opcode.ALLOC_TENSOR: _Writer._alloc_tensor,
    Opcode.INVOKE_PACKED: _Writer._invoke_packed,
    Opcode.ALLOC_ADT: _Writer._alloc_adt,
    Opcode.ALLOC_CLOSURE: _Writer._alloc_closure,
    Opcode.GET_FIELD: _Writer._get_field,
    Opcode.GET_TAG: _Writer._get_tag,
}


def _same(a: Any, b: Any) -> bool:
    """Whether two scalars are the same number, as `if` asks."""
    return bool((a if type(a) is int else a.item()) == (b if type(b) is int else b.item()))
