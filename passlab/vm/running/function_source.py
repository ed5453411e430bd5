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
from typing import Any

import numpy as np

from passlab import limits
from passlab.vm.control import is_tail
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.instruction_spec import Effect, Flow
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.scalars import scalar_positions, scalar_text
from passlab.vm.objects import Allocator
from passlab.vm.run_state import LARGE, object_bytes
from passlab.vm.running.blocks import FunctionBlocks
from passlab.vm.semantics import Emitter, Environment

DEEPEST = 12  # branches inside branches; what stands deeper becomes a label
TAIL = 12  # instructions: an end of a function that is no longer than this is written wherever it is reached


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


class FunctionSource(Emitter):
    """The text of one function, the globals it needs, and the instruction of each line (lines count from 1)."""

    def __init__(self, exe: Executable, index: int, allocator: Allocator | None = None, least: int = LARGE) -> None:
        super().__init__(Environment(exe, allocator))
        self.exe = exe
        self.least = least  # bytes: tensors from this size on are held against the limits one by one
        self.index = index
        self.function: VMFunction = exe.functions[index]
        self.blocks = FunctionBlocks(exe, self.function, allocator is not None)
        self.instructions = self.function.instructions
        self.names |= {"Call": Call, "OutOfFuel": OutOfFuel, "limit": limits.check}
        self.at = 0  # the instruction that is being written
        self.lines: list[str] = []
        self.places: list[int] = [0]
        calls = {at for at, i in enumerate(self.instructions) if i.spec.flow is Flow.CALL}
        self.tails = {at for at in calls if is_tail(self.function, at)}
        self.is_generator = calls != self.tails
        self.scalars = self._scalars()
        self.labels: dict[int, int] = {}
        self.waiting: deque[int] = deque()  # labels whose bodies are to be written
        self.held = self._held()
        self.text = self._text()

    # ------------------------------------------------------------ facts
    def _scalars(self) -> set[int]:
        """The registers that may hold a number: parameters, results of calls and arithmetic, copies of these."""
        scalars = set(range(len(self.function.params)))
        copies: dict[int, list[int]] = {}
        for at, i in enumerate(self.instructions):
            if i.spec.flow is Flow.CALL or i.spec.effect is Effect.NUMBER:
                scalars.add(i.dst)
            elif at in self.blocks.makers and self._is_arithmetic(i):
                scalars.add(i.args[-1])
            for name in i.spec.sources:
                if i.spec.kind(name) == "reg":
                    copies.setdefault(getattr(i, name), []).append(i.dst)
        waiting = list(scalars)
        while waiting:
            for copy in copies.get(waiting.pop(), ()):
                if copy not in scalars:
                    scalars.add(copy)
                    waiting.append(copy)
        return scalars

    def _held(self) -> list[str]:
        """The registers besides the parameters that may hold memory when the function begins again."""
        small = {
            self.instructions[at].args[-1] for at in self.blocks.makers if self._is_arithmetic(self.instructions[at])
        }
        result = {a for at in self.blocks.makers for a in self.instructions[at].args}
        gone = {r for at in self.blocks.dropped for r in self.instructions[at].writes()} - result
        params = len(self.function.params)
        return [f"r{r}" for r in self.blocks.writers if r >= params and r not in small and r not in gone]

    def _ends_soon(self, start: int) -> bool:
        """Whether the function returns from here after a few moves and kills."""
        for at in range(start, min(start + TAIL, len(self.instructions))):
            opcode = self.instructions[at].opcode
            if self.instructions[at].spec.flow is Flow.RETURN:
                return True
            if opcode not in (Opcode.MOVE, Opcode.KILL_REGISTER):
                return False
        return False

    # ------------------------------------------------------------ the whole
    def _text(self) -> str:
        params = "".join(f", r{i}" for i in range(len(self.function.params)))
        loops = any(at in self.tails and self._calls_itself(at) for at in range(len(self.instructions)))
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
        last = self.instructions[end]
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
        while control is not None and last.spec.flow is Flow.RETURN and over > start:
            if self.instructions[over - 1].opcode not in (Opcode.KILL_REGISTER, Opcode.MOVE):
                break
            over -= 1
        for at in range(start, end):
            instruction = self.instructions[at]
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
        total = 0
        for at in range(start, end):
            size, kernel = self.blocks.storages.get(at, (self.least, 0))
            if size < self.least and not self._is_arithmetic(self.instructions[kernel]):
                total += size
            if self.instructions[at].spec.effect is Effect.OBJECT:
                total += object_bytes(self.instructions[at])
        return total

    def _room(self, size: int | str) -> list[str]:
        """Emit the memory-budget check for an allocation of `size` bytes."""
        if not size:
            return []
        return [f"state.room -= {size}", f"if state.room < 0: state.sweep({size}, locals())"]

    def _size_checks(self, size: int) -> list[str]:
        return [f'limit("tensor_bytes", {size}, "a storage")', *self._room(size)] if size >= self.least else []

    # ------------------------------------------------------------ control
    def _control(self, at: int, i: Instruction, start: int) -> tuple[list[str], Any]:
        flow, self.at = i.spec.flow, at
        if flow is Flow.JUMP:
            return [], i.successors(at)[0]
        if flow is Flow.TEST:
            return [], (self._test(at, i, start), *i.successors(at))
        if flow is Flow.RETURN:
            return ["state.left = left", f"return {self.code(i)}"], -1
        if flow is Flow.STOP:
            return self.code(i).split("\n"), -1
        if at in self.tails:
            if self._calls_itself(at):
                return self._around(i), -1
            pair = self.code(i)
            spread = "" if i.spec.is_pair else "*"
            return [f"call = Call({spread}{pair})", "state.left = left", "return call"], -1
        return ["state.left = left", f"{self.target(i.dst)} = yield {self.code(i)}", "left = state.left"], at + 1

    def _calls_itself(self, at: int) -> bool:
        i = self.instructions[at]
        return i.opcode is Opcode.INVOKE and i.func == self.index

    def _around(self, i: Instruction) -> list[str]:
        """Begin again with other arguments, all other registers empty."""
        pairs = [(f"r{n}", self.read(a)) for n, a in enumerate(i.args) if f"r{n}" != self.read(a)]
        lines = [f"{', '.join(p for p, _ in pairs)} = {', '.join(a for _, a in pairs)}"] if pairs else []
        for first in range(0, len(self.held), 20):
            lines.append(f"{' = '.join(self.held[first : first + 20])} = None")
        return [*lines, "pc = 0" if len(self.labels) > 1 else "continue"]

    def _test(self, at: int, i: Instruction, start: int) -> str:
        """Return the condition of an `if`: cheap where its register was written just before by what we know."""
        if i.opcode is not Opcode.IF:
            return self.code(i)
        number = self.blocks.presets.get(i.target)
        writers = [w for w in self.blocks.writers.get(i.test, ()) if start <= w < at]
        if type(number) is int and len(writers) >= 1:
            writer = self.instructions[writers[-1]]
            if writer.opcode is Opcode.GET_TAG:
                return f"r{i.test} == {number}"
        if number == 1 and type(number) is int:
            makers = [m for m in self.blocks.makers if start <= m < at and i.test in self.instructions[m].args[-1:]]
            if makers and self.blocks.makers[makers[-1]][1] == [((), np.dtype(bool))]:
                return f"r{i.test}"
        return self.code(i)

    # ------------------------------------------------------------ instructions
    def read(self, register: int) -> str:
        """Return a register as text: a local variable; constants are globals."""
        if register not in self.blocks.presets:
            return f"r{register}"
        return self._name(self.blocks.presets[register], f"c{register}")

    def array(self, register: int) -> str:
        """Return a register as an array if it may hold a scalar."""
        preset = self.blocks.presets.get(register)
        if type(preset) is int:
            return self._name(np.asarray(preset, np.int64), f"n{register}")
        return f"array(r{register})" if register in self.scalars else self.read(register)

    def shape(self, register: int) -> str:
        """Return the numbers in a register's tensor; at once if they are known."""
        preset = self.blocks.presets.get(register)
        return str(tuple(preset.reshape(-1).tolist())) if type(preset) is np.ndarray else super().shape(register)

    def target(self, register: int) -> str:
        """Return the variable of a register."""
        return f"r{register}"

    def constant(self, value: Any, name: str) -> str:
        """Return a global for an object that the instruction needs."""
        return self._name(value, f"{name}{self.at}")

    def _name(self, value: Any, name: str) -> str:
        self.names[name] = value
        return name

    def _instruction(self, at: int, i: Instruction) -> list[str]:
        """Return the lines of an instruction without control."""
        self.at = at
        if at in self.blocks.makers:
            return self._make(at, i)
        lines = self.code(i).split("\n")
        if i.spec.effect is not Effect.STORAGE:
            return lines
        checks = [f"size = max(0, int({self.read(i.size)}))", 'limit("tensor_bytes", size, "a storage")']
        return [*checks, *self._room("size"), *lines]

    def _is_arithmetic(self, i: Instruction) -> bool:
        kernel = self.exe.kernels[i.operands[0]]
        return kernel.native and kernel.scalar is not None and i.outputs == 1

    def _make(self, at: int, i: Instruction) -> list[str]:
        """Write a kernel's call whose results are its own."""
        maker, kinds = self.blocks.makers[at]
        kernel = self.exe.kernels[i.operands[0]]
        ins, outs = i.inputs, i.results
        positions = scalar_positions(kernel.function)
        args = ", ".join([self.array(r) if p in positions else self.read(r) for p, r in enumerate(ins)])
        name = self._name(maker, f"kernel{at}")
        results = ", ".join(f"r{r}" for r in outs)
        if not self._is_arithmetic(i):
            return [f"{results} = {name}({args})"]
        numbers: list[str] = []

        def constant(value: Any) -> str:
            numbers.append(self._name(value, f"number{at}_{len(numbers)}"))
            return numbers[-1]

        text = scalar_text(kernel.function, [self.read(r) for r in ins], constant)
        if text is None:
            text = f"{self._name(kernel.scalar, f'scalar{at}')}({', '.join(self.read(r) for r in ins)})"
        kind = self._name(kinds[0][1].type, f"np_{kinds[0][1].type.__name__.rstrip('_')}")
        return [f"{results} = {text}", f"if type({results}) is not {kind}: {results} = {name}({args})"]
