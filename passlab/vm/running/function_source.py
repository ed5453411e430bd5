"""A function of the machine as one Python function: the text that the running engine compiles.

Registers are Python's local variables, constants globals of the text. A branch becomes `if`; a place that several ways
lead to becomes a label, and the function a loop that chooses among its labels by halving; a call of the function by
itself in tail position goes round that loop. All other calls are left to a driver, which keeps the frames in a list:
a function that calls in mid-course is a generator, which yields the number of the function and its arguments and is
sent the result; a call in tail position is returned as a `Call`.

Fuel is paid for a basic block before it is entered; when it does not last, `OutOfFuel` takes the registers out, and
the stepping engine goes on from there. Each line knows its instruction, so an error needs no bookkeeping to be located.
The text is made of numbers and of names from this file alone: nothing of a program's own names enters it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.vm.control import callee, is_tail, no_arm
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import ISA, Instruction, Opcode
from passlab.vm.kernels.scalars import as_array, scalar_positions, scalar_text
from passlab.vm.objects import Allocator
from passlab.vm.run_state import LARGE, object_bytes
from passlab.vm.running.blocks import CALLS, FunctionBlocks, equal
from passlab.vm.steps import STEPS, Step, allocating, no_shape

DEEPEST = 12  # branches inside branches; what stands deeper becomes a label
TAIL = 12  # instructions: an end of a function that is no longer than this is written wherever it is reached
# What keeps objects for others to see, or hands them to NumPy: scalars become arrays before it.
KEEPING = (Opcode.ALLOC_ADT, Opcode.ALLOC_CLOSURE, Opcode.INVOKE_PACKED, Opcode.RESHAPE_TENSOR, Opcode.DEVICE_COPY)


class Call:
    """A call in tail position: its caller is gone, the driver makes it."""

    __slots__ = ("func", "args")

    def __init__(self, func: int, args: tuple[Any, ...]) -> None:
        self.func = func
        self.args = args


class OutOfFuel(Exception):  # noqa: N818 - no error: fuel for the next basic block is missing
    """Fuel does not last for the basic block that begins at `pc`; `registers` are the local variables."""

    def __init__(self, pc: int, left: int, registers: dict[str, Any]) -> None:
        super().__init__()
        self.pc = pc
        self.left = left
        self.registers = registers


class FunctionSource:
    """The text of one function, the globals it needs, and the instruction of each line (lines count from 1)."""

    def __init__(self, exe: Executable, index: int, allocator: Allocator | None = None, least: int = LARGE) -> None:
        self.exe = exe
        self.least = least  # bytes: tensors from this size on are held against the limits one by one
        self.index = index
        self.function: VMFunction = exe.functions[index]
        self.allocator = allocator
        self.blocks = FunctionBlocks(exe, self.function, allocator is not None)
        self.code = self.function.instructions
        self.names: dict[str, Any] = {
            "Call": Call,
            "OutOfFuel": OutOfFuel,
            "Array": np.ndarray,
            "ADTValue": ADTValue,
            "array": as_array,
            "equal": equal,
            "callee": callee,
            "no_field": _no_field,
            "no_tag": _no_tag,
            "no_arm": no_arm,
            "no_shape": no_shape,
            "limit": limits.check,
        }
        self.lines: list[str] = []
        self.places: list[int] = [0]
        self.tails = {at for at, i in enumerate(self.code) if i.opcode in CALLS and is_tail(self.function, at)}
        self.is_generator = any(i.opcode in CALLS and at not in self.tails for at, i in enumerate(self.code))
        self.scalars = self._scalars()
        self.labels: dict[int, int] = {}
        self.waiting: deque[int] = deque()  # labels whose bodies are to be written
        self.held = self._held()
        self.text = self._text()

    # ------------------------------------------------------------ facts
    def _scalars(self) -> set[int]:
        """The registers that may hold NumPy's scalars: parameters, results of calls and arithmetic, copies of these."""
        found = set(range(len(self.function.params)))
        copies: dict[int, list[int]] = {}
        for at, i in enumerate(self.code):
            if i.opcode in CALLS:
                found.add(i.dst)
            elif i.opcode is Opcode.MOVE:
                copies.setdefault(i.operands[0], []).append(i.operands[1])
            elif at in self.blocks.makers and self._is_arithmetic(i):
                found.add(i.args[-1])
        waiting = list(found)
        while waiting:
            for copy in copies.get(waiting.pop(), ()):
                if copy not in found:
                    found.add(copy)
                    waiting.append(copy)
        return found

    def _held(self) -> list[str]:
        """The registers besides the parameters that may hold memory when the function begins again."""
        small = {self.code[at].args[-1] for at in self.blocks.makers if self._is_arithmetic(self.code[at])}
        made = {a for at in self.blocks.makers for a in self.code[at].args}
        gone = {r for at in self.blocks.dropped for r in self.code[at].writes()} - made
        params = len(self.function.params)
        return [f"r{r}" for r in self.blocks.writers if r >= params and r not in small and r not in gone]

    def _ends_soon(self, start: int) -> bool:
        """Whether the function returns from here after a few moves and kills."""
        for at in range(start, min(start + TAIL, len(self.code))):
            opcode = self.code[at].opcode
            if opcode is Opcode.RET:
                return True
            if opcode not in (Opcode.MOVE, Opcode.KILL_REGISTER):
                return False
        return False

    # ------------------------------------------------------------ the whole
    def _text(self) -> str:
        params = "".join(f", r{i}" for i in range(len(self.function.params)))
        loops = any(at in self.tails and self._calls_itself(at) for at in range(len(self.code)))
        entries = self.blocks.entries
        self.labels = {0: 0}
        for head in self.blocks.ends:
            if entries[head] > 1 and head and not self._ends_soon(head):
                self.labels[head] = len(self.labels)
        bodies: list[list[tuple[int, str, int]]] = []
        self.waiting = deque(self.labels)
        while self.waiting:
            bodies.append(self._body(self.waiting.popleft()))
        self._line(0, f"def run(state{params}):", 0)
        self._line(1, "left = state.left", 0)
        if len(bodies) > 1:
            self._line(1, "pc = 0", 0)
        if len(bodies) > 1 or loops or entries[0] > 1:
            self._line(1, "while True:", 0)
            self._choose(bodies)
        else:
            for depth, line, place in bodies[0]:
                self._line(1 + depth, line, place)
        return "\n".join(self.lines) + "\n"

    def _line(self, depth: int, text: str, place: int) -> None:
        self.lines.append("    " * depth + text)
        self.places.append(place)

    def _choose(self, bodies: list[list[tuple[int, str, int]]]) -> None:
        """Write the bodies of the labels behind tests that halve their number."""
        stack: list[tuple[int, int, int, str]] = [(0, len(bodies), 2, "")]
        while stack:
            low, high, depth, text = stack.pop()
            if text:
                self._line(depth, text, 0)
            if high - low == 1:
                for inner, line, place in bodies[low]:
                    self._line(depth + inner + bool(text), line, place)
            elif high > low:
                depth += bool(text)
                middle = (low + high) // 2
                stack.append((middle, high, depth, "else:"))
                stack.append((low, middle, depth, f"if pc < {middle}:"))

    # ------------------------------------------------------------ bodies
    def _body(self, label: int) -> list[tuple[int, str, int]]:
        """Return the lines from a label to where control leaves it: depth, text, instruction."""
        out: list[tuple[int, str, int]] = []
        stack: list[tuple[int, int, str]] = [(0, label, "")]
        first = True
        while stack:
            depth, at, text = stack.pop()
            if text:
                out.append((depth, text, at))
                continue
            if not first and (at in self.labels or (depth > DEEPEST and not self._ends_soon(at))):
                if at not in self.labels:
                    self.labels[at] = len(self.labels)
                    self.waiting.append(at)
                out.append((depth, f"pc = {self.labels[at]}" if len(self.labels) > 1 else "continue", at))
                continue
            first = False
            end = self.blocks.ends[at]
            lines, control = self._basic_block(at, end)
            out += [(depth, line, place) for place, line in lines]
            if isinstance(control, int):
                stack += [(depth, control, "")] if control >= 0 else []
            else:
                test, yes, no = control
                out.append((depth, f"if {test}:", end))
                stack += [(depth + 1, no, ""), (depth, end, "else:"), (depth + 1, yes, "")]
        return out

    def _basic_block(self, start: int, end: int) -> tuple[list[tuple[int, str]], Any]:
        """Return the lines of a basic block with their instructions, and where control goes: to an instruction (-1 for
        out of here), or a test with two.
        """
        last = self.code[end]
        entered = end != start and end in self.blocks.ends and self.blocks.entries[end] > 0
        control = None if entered else last
        count = end - start + (control is not None)
        lines = []
        if count:
            lines += [
                (start, f"left -= {count}"),
                (start, f"if left < 0: raise OutOfFuel({start}, left + {count}, locals())"),
            ]
            lines += [(start, line) for line in self._room(self._small_bytes(start, end))]
        over = end  # from where on the frame is only left
        while control is not None and last.opcode is Opcode.RET and over > start:
            if self.code[over - 1].opcode not in (Opcode.KILL_REGISTER, Opcode.MOVE):
                break
            over -= 1
        for at in range(start, end):
            instruction = self.code[at]
            if at in self.blocks.storages:
                lines += [(at, line) for line in self._size_checks(self.blocks.storages[at][0])]
            if at not in self.blocks.dropped and (at < over or instruction.opcode is not Opcode.KILL_REGISTER):
                lines += [(at, line) for line in self._instruction(at, instruction)]
        if control is None:
            return lines, end
        more, target = self._control(end, last, start)
        return lines + [(end, line) for line in more], target

    # ------------------------------------------------------------ memory
    def _small_bytes(self, start: int, end: int) -> int:
        """Estimate the bytes of allocations in a basic block that are too small to be checked individually."""
        made = 0
        for at in range(start, end):
            size, kernel = self.blocks.storages.get(at, (self.least, 0))
            if size < self.least and not self._is_arithmetic(self.code[kernel]):
                made += size
            if self.code[at].opcode in (Opcode.ALLOC_ADT, Opcode.ALLOC_CLOSURE):
                made += object_bytes(self.code[at])
        return made

    def _room(self, size: int | str) -> list[str]:
        """Emit the memory-budget check for an allocation of `size` bytes."""
        if not size:
            return []
        return [f"state.room -= {size}", f"if state.room < 0: state.sweep({size}, locals())"]

    def _size_checks(self, size: int) -> list[str]:
        return [f'limit("tensor_bytes", {size}, "a storage")', *self._room(size)] if size >= self.least else []

    # ------------------------------------------------------------ control
    def _control(self, at: int, i: Instruction, start: int) -> tuple[list[str], Any]:
        if i.opcode is Opcode.GOTO:
            return [], at + i.offset
        if i.opcode is Opcode.IF:
            return [], (self._test(at, i, start), at + i.true_offset, at + i.false_offset)
        if i.opcode is Opcode.RET:
            return ["state.left = left", f"return {self._read(i.result)}"], -1
        if i.opcode is Opcode.FATAL:
            return [f"raise no_arm({self._name(i.node, f'node{at}')})"], -1
        args = self._all(i.args)
        if i.opcode is Opcode.INVOKE:
            if at in self.tails and self._calls_itself(at):
                return self._around(i), -1
            call = f"{i.func}, ({args})"
        else:
            call = f"callee(functions, {self._read(i.closure)}, ({args}))"
            self.names["functions"] = self.exe.functions
        if at in self.tails:
            spread = "*" * (i.opcode is Opcode.INVOKE_CLOSURE)
            return [f"call = Call({spread}{call})", "state.left = left", "return call"], -1
        return ["state.left = left", f"r{i.dst} = yield {call}", "left = state.left"], at + 1

    def _calls_itself(self, at: int) -> bool:
        i = self.code[at]
        return i.opcode is Opcode.INVOKE and i.func == self.index

    def _around(self, i: Instruction) -> list[str]:
        """Begin again with other arguments, all other registers empty."""
        pairs = [(f"r{n}", self._read(a)) for n, a in enumerate(i.args) if f"r{n}" != self._read(a)]
        lines = [f"{', '.join(p for p, _ in pairs)} = {', '.join(a for _, a in pairs)}"] if pairs else []
        for first in range(0, len(self.held), 20):
            lines.append(f"{' = '.join(self.held[first : first + 20])} = None")
        return [*lines, "pc = 0" if len(self.labels) > 1 else "continue"]

    def _test(self, at: int, i: Instruction, start: int) -> str:
        """Return the condition of an `if`: cheap where its register was written just before by what we know."""
        number = self.blocks.presets.get(i.target)
        writers = [w for w in self.blocks.writers.get(i.test, ()) if start <= w < at]
        if type(number) is int and len(writers) >= 1:
            writer = self.code[writers[-1]]
            if writer.opcode is Opcode.GET_TAG:
                return f"r{i.test} == {number}"
        if number == 1 and type(number) is int:
            makers = [m for m in self.blocks.makers if start <= m < at and i.test in self.code[m].args[-1:]]
            if makers and self.blocks.makers[makers[-1]][1] == [((), np.dtype(bool))]:
                return f"r{i.test}"
        return f"equal({self._read(i.test)}, {self._read(i.target)})"

    # ------------------------------------------------------------ instructions
    def _read(self, register: int) -> str:
        """A register as text; constants are globals."""
        if register not in self.blocks.presets:
            return f"r{register}"
        value = self.blocks.presets[register]
        return str(value) if type(value) is int else self._name(value, f"c{register}")

    def _kept(self, register: int) -> str:
        """A register as an array if it holds a scalar."""
        preset = self.blocks.presets.get(register)
        if type(preset) is int:
            return self._name(np.asarray(preset, np.int64), f"n{register}")
        return f"array(r{register})" if register in self.scalars else self._read(register)

    def _all(self, registers: tuple[int, ...]) -> str:
        return "".join(f"{self._read(r)}, " for r in registers).rstrip(" ")

    def _name(self, value: Any, name: str) -> str:
        self.names[name] = value
        return name

    def _instruction(self, at: int, i: Instruction) -> list[str]:
        """Return the lines of an instruction without control."""
        write = WRITTEN.get(i.opcode)
        if write is not None:
            return write(self, at, i)
        if at in self.blocks.makers:
            return self._make(at, i)
        return self._by_step(at, i)

    def _by_step(self, at: int, i: Instruction) -> list[str]:
        """Carry out an instruction as the stepping engine does, on a list of just the registers it names."""
        reads = list(dict.fromkeys(i.reads()))
        writes = [r for r in i.writes() if r not in reads]
        number = {r: n for n, r in enumerate(reads + writes)}
        operands = []
        for operand, value in zip(i.spec.stored, i.operands, strict=True):
            if operand.kind == "reg":
                value = tuple(number[r] for r in value) if operand.many else number[value]
            operands.append(value)
        small = Instruction(i.opcode, *operands, node=i.node)
        step: Step
        if self.allocator is not None and i.opcode is Opcode.ALLOC_STORAGE and self.exe.is_native(i.device):
            step = allocating(self.allocator, small)
        else:
            step = STEPS[i.opcode](self.exe, small)
        name = self._name(step, f"{ISA[i.opcode].mnemonic}{at}")
        values = ", ".join(
            [*(self._kept(r) if i.opcode in KEEPING else self._read(r) for r in reads), *["None"] * len(writes)]
        )
        if not i.writes():
            return [f"{name}([{values}])"]
        (dst,) = i.writes()
        before = []
        if i.opcode is Opcode.ALLOC_STORAGE:
            before = [f"size = max(0, int({self._read(i.size)}))", 'limit("tensor_bytes", size, "a storage")']
            before += self._room("size")
        return [*before, f"held = [{values}]", f"{name}(held)", f"r{dst} = held[{number[dst]}]", "held = None"]

    def _is_arithmetic(self, i: Instruction) -> bool:
        kernel = self.exe.kernels[i.operands[0]]
        return kernel.native and kernel.scalar is not None and i.outputs == 1

    def _make(self, at: int, i: Instruction) -> list[str]:
        """Write a kernel's call whose results are its own."""
        maker, kinds = self.blocks.makers[at]
        kernel = self.exe.kernels[i.operands[0]]
        count = len(i.args) - i.outputs
        ins, outs = i.args[:count], i.args[count:]
        positions = scalar_positions(kernel.function)
        args = ", ".join([self._kept(r) if p in positions else self._read(r) for p, r in enumerate(ins)])
        name = self._name(maker, f"kernel{at}")
        results = ", ".join(f"r{r}" for r in outs)
        if not self._is_arithmetic(i):
            return [f"{results} = {name}({args})"]
        numbers: list[str] = []

        def constant(value: Any) -> str:
            numbers.append(self._name(value, f"number{at}_{len(numbers)}"))
            return numbers[-1]

        text = scalar_text(kernel.function, [self._read(r) for r in ins], constant)
        if text is None:
            text = f"{self._name(kernel.scalar, f'scalar{at}')}({', '.join(self._read(r) for r in ins)})"
        kind = self._name(kinds[0][1].type, f"np_{kinds[0][1].type.__name__.rstrip('_')}")
        return [f"{results} = {text}", f"if type({results}) is not {kind}: {results} = {name}({args})"]

    def _move(self, at: int, i: Instruction) -> list[str]:
        return [f"r{i.operands[1]} = {self._read(i.operands[0])}"]

    def _kill(self, at: int, i: Instruction) -> list[str]:
        return [f"r{i.dst} = None"]

    def _number(self, at: int, i: Instruction) -> list[str]:
        return [f"r{i.dst} = {i.value}"]

    def _reshape(self, at: int, i: Instruction) -> list[str]:
        wanted = self.blocks.presets.get(i.shape)
        if type(wanted) is not np.ndarray:
            return self._by_step(at, i)
        shape = tuple(map(int, wanted.reshape(-1)))
        return [
            f"try: r{i.dst} = {self._kept(i.tensor)}.reshape({shape})",
            f"except (ValueError, RuntimeError): raise no_shape({self._read(i.tensor)}, {shape}) from None",
        ]

    def _data(self, at: int, i: Instruction) -> list[str]:
        fields = "".join(f"{self._kept(r)}, " for r in i.fields)
        if i.tag == 0:
            return [f"r{i.dst} = ({fields})"]
        constructor = self.exe.constructors.get(i.tag)
        if constructor is None:
            return self._by_step(at, i)
        return [f"r{i.dst} = ADTValue({self._name(constructor, f'constructor{at}')}, ({fields}))"]

    def _field(self, at: int, i: Instruction) -> list[str]:
        source = self._read(i.object)
        return [
            f"try: r{i.dst} = {source}[{i.field}] if type({source}) is tuple else {source}.fields[{i.field}]",
            f"except (IndexError, AttributeError): raise no_field({source}, {i.field}) from None",
        ]

    def _tag(self, at: int, i: Instruction) -> list[str]:
        source = self._read(i.object)
        return [f"r{i.dst} = {source}.constructor.tag if type({source}) is ADTValue else no_tag({source})"]


WRITTEN: dict[Opcode, Callable[[FunctionSource, int, Instruction], list[str]]] = {
    Opcode.MOVE: FunctionSource._move,
    Opcode.KILL_REGISTER: FunctionSource._kill,
    Opcode.LOAD_CONSTI: FunctionSource._number,
    Opcode.ALLOC_ADT: FunctionSource._data,
    Opcode.GET_FIELD: FunctionSource._field,
    Opcode.GET_TAG: FunctionSource._tag,
    Opcode.RESHAPE_TENSOR: FunctionSource._reshape,
}


# ---------------------------------------------------------------- what the text calls
def _no_field(value: Any, field: int) -> RunError:
    return RunError(f"there is no field {field} in {describe(value)}")


def _no_tag(value: Any) -> int:
    if isinstance(value, ADTValue):
        return value.tag
    raise RunError(f"{describe(value)} has no tag")
