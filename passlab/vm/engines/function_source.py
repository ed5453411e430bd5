"""A function of an executable as the text of one Python function, which the compiled engine runs.

How is bytecode run as fast as Python can? An interpreter in Python pays for each instruction what a small kernel costs:
fetch, decode, dispatch, registers in a list. Translated to Python once, an instruction is a line, and a register a
local variable. Five things must survive the translation: jumps, for Python has none; calls of any depth; the limit on
instructions (the *fuel*); the place of an error; and the limit on memory. Here is a program that counts down, as
bytecode and as Python:

    >>> import passlab
    >>> mod = passlab.parse("def @main(%n: int32) -> int32 { if (%n == 0) { 0 } else { @main(%n - 1) } }")
    >>> exe = passlab.vm.compile(mod)
    >>> for pc, instruction in enumerate(exe.functions[0].instructions):
    ...     print(pc, instruction)
    0 load_const $1 Const[0] 0
    1 alloc_storage $2 $1 64 bool 0
    2 load_const $3 Const[1] 0
    3 alloc_tensor $4 $2 $3 [] uint1
    4 kill_register $2
    5 invoke_packed PackedFunc[0] (in: $0, out: $4)
    6 load_consti $5 1
    7 if $4 $5 1 4
    8 load_const $7 Const[2] 0
    9 move $6 $7
    10 goto 11
    11 load_const $8 Const[3] 0
    12 alloc_storage $9 $8 64 int32 0
    13 load_const $10 Const[1] 0
    14 alloc_tensor $11 $9 $10 [] int32
    15 kill_register $9
    16 invoke_packed PackedFunc[1] (in: $0, out: $11)
    17 kill_register $0
    18 invoke $12 VMFunc[0]($11)
    19 kill_register $11
    20 move $6 $12
    21 kill_register $4
    22 ret $6
    >>> print(FunctionSource(exe, 0, None).text)
    def run(state, r0):
        left = state.left
        while True:
            left -= 8
            if left < 0: raise OutOfFuel(0, left + 8, locals())
            r4 = r0 == number5_0
            if type(r4) is not np_bool: r4 = kernel5(array(r0))
            if r4:
                left -= 3
                if left < 0: raise OutOfFuel(8, left + 3, locals())
                r6 = c7
                left -= 2
                if left < 0: raise OutOfFuel(21, left + 2, locals())
                state.left = left
                return r6
            else:
                left -= 8
                if left < 0: raise OutOfFuel(11, left + 8, locals())
                r11 = r0 - number16_0
                if type(r11) is not np_int32: r11 = kernel16(array(r0))
                r0 = None
                r0 = r11
                r6 = r12 = None
                continue
    <BLANKLINE>

*Jumps.* A branch becomes `if`. A basic block with several predecessors becomes a label, and the function a loop that
finds the label of `pc` by binary search. Where only a few moves and a return follow, as after the branches of `if (%n
== 0) { 7 } else { 9 }`, the block is written twice instead. A tail call of the function itself is an iteration of that
loop, as above. *Calls.* A driver executes all other calls and keeps the frames in a list. A function with calls that
are not in tail position is a generator, which yields the callee's number and the arguments and is sent the result. A
tail call is returned as a `NextCall`. *Fuel.* Each basic block pays before it runs. Where fuel does not last,
`OutOfFuel` carries the registers to the stepping engine, which goes on from there. *Errors.* `pcs` has the instruction
of each line, so locating an error costs nothing at run time. *Memory.* Where a block makes objects, it takes their
bytes from `state.room` in the same way; when the room is used up, `state.sweep` counts what is still alive. `r0 = None`
above is a kill of the bytecode: it frees the argument.

Registers are local variables, constants globals: r4 is register 4, c7 the constant of register 7, and kernel5 and
number5_0 belong to the instruction at 5. The text consists of numbers and of names that passlab chose
(`Emitter.names`): no name of a program enters it. Calls of kernels whose planned storages have no other use allocate
their results instead (`result_maker`), and scalars that one NumPy operation computes need no kernel (`number5_0` is a
scalar of the program).

What is known of a function before it is compiled is found by `FunctionBlocks` (`function_blocks`): its basic blocks,
its constants, and the kernels that allocate their results.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from passlab import limits
from passlab.vm.engines.frames import is_tail
from passlab.vm.engines.function_blocks import FunctionBlocks
from passlab.vm.engines.run_state import LARGE, object_bytes
from passlab.vm.engines.templates import Emitter, Environment
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.isa_notation import Effect, Flow
from passlab.vm.kernels.scalars import scalar_positions, scalar_text
from passlab.vm.objects import Allocator

DEEPEST = 12  # nested branches; deeper blocks become labels
LONGEST_END = 12  # instructions: the longest end of a function that is duplicated instead of becoming a label


class NextCall:
    """The call that the driver executes next: the first one, or a tail call that its caller has returned."""

    __slots__ = ("func", "args")

    def __init__(self, func: int, args: tuple[Any, ...]) -> None:
        self.func = func
        self.args = args


class OutOfFuel(Exception):  # noqa: N818 - no error: the stepping engine goes on
    """The fuel `left` does not last for the basic block at `pc`; `registers` are the local variables."""

    def __init__(self, pc: int, left: int, registers: dict[str, Any]) -> None:
        super().__init__()
        self.pc = pc
        self.left = left
        self.registers = registers


class _Line(NamedTuple):
    """A line of the text: its depth of indentation, and the instruction to which it belongs."""

    depth: int
    text: str
    pc: int


class _Branch(NamedTuple):
    """The end of a basic block with two successors: the condition, and the pcs to go on at."""

    test: str
    yes: int
    no: int


# The control flow after a basic block: the pc of its successor, a branch, or None where control leaves the function.
_Control = int | _Branch | None


class FunctionSource(Emitter):
    """The text of one function, its globals `names`, and `pcs`, the instruction of each line (lines count from 1)."""

    def __init__(
        self, exe: Executable, index: int, allocator: Allocator | None = None, least_checked: int = LARGE
    ) -> None:
        super().__init__(Environment(exe, allocator))
        self.exe = exe
        self.least_checked = least_checked  # bytes: the size of each tensor from this on is checked
        self.index = index
        self.function: VMFunction = exe.functions[index]
        self.blocks = FunctionBlocks(exe, self.function, allocator is not None)
        self.instructions = self.function.instructions
        self.names |= {"NextCall": NextCall, "OutOfFuel": OutOfFuel, "limit": limits.check}
        self.pc = 0  # of the instruction that is being emitted
        self.lines: list[str] = []
        self.pcs: list[int] = [0]  # there is no line 0
        calls = {pc for pc, i in enumerate(self.instructions) if i.spec.flow is Flow.CALL}
        self.tails = {pc for pc in calls if is_tail(self.function, pc)}
        self.is_generator = calls != self.tails
        self.scalars = self._scalar_registers()
        self.labels: dict[int, int] = {}
        self.waiting: deque[int] = deque()  # labels whose bodies are to be emitted
        self.cleared = self._registers_to_clear()
        self.text = self._text()

    # ------------------------------------------------------------ facts
    def _scalar_registers(self) -> set[int]:
        """Return the registers that may hold a scalar: parameters, results of calls and arithmetic, their copies."""
        scalars = set(range(len(self.function.params)))
        copies: dict[int, list[int]] = {}
        for pc, i in enumerate(self.instructions):
            if i.spec.flow is Flow.CALL or i.spec.effect is Effect.NUMBER:
                scalars.add(i.dst)
            elif pc in self.blocks.makers and self._is_arithmetic(i):
                scalars.add(i.args[-1])
            for name in i.spec.sources:
                if i.spec.kind(name) == "reg":
                    copies.setdefault(getattr(i, name), []).append(i.dst)
        worklist = list(scalars)
        while worklist:
            for copy in copies.get(worklist.pop(), ()):
                if copy not in scalars:
                    scalars.add(copy)
                    worklist.append(copy)
        return scalars

    def _registers_to_clear(self) -> list[str]:
        """Return the registers besides parameters that may hold memory when a tail call begins the function again."""
        small = {
            self.instructions[pc].args[-1] for pc in self.blocks.makers if self._is_arithmetic(self.instructions[pc])
        }
        used = {a for pc in self.blocks.makers for a in self.instructions[pc].args}
        unused = {r for pc in self.blocks.dropped for r in self.instructions[pc].writes()} - used
        params = len(self.function.params)
        return [f"r{r}" for r in self.blocks.writers if r >= params and r not in small and r not in unused]

    def _ends_soon(self, start: int) -> bool:
        """Whether the function returns from here after a few moves and kills: such an end is duplicated."""
        for pc in range(start, min(start + LONGEST_END, len(self.instructions))):
            opcode = self.instructions[pc].opcode
            if self.instructions[pc].spec.flow is Flow.RETURN:
                return True
            if opcode not in (Opcode.MOVE, Opcode.KILL_REGISTER):
                return False
        return False

    # ------------------------------------------------------------ the text
    def _text(self) -> str:
        params = "".join(f", r{i}" for i in range(len(self.function.params)))
        loops = any(pc in self.tails and self._calls_itself(pc) for pc in range(len(self.instructions)))
        entries = self.blocks.entries
        self.labels = {0: 0}
        for head in self.blocks.ends:
            if entries[head] > 1 and head and not self._ends_soon(head):
                self.labels[head] = len(self.labels)
        bodies: list[list[_Line]] = []
        self.waiting = deque(self.labels)
        while self.waiting:
            bodies.append(self._body(self.waiting.popleft()))
        self._add(0, f"def run(state{params}):", 0)
        self._add(1, "left = state.left", 0)
        if len(bodies) > 1:
            self._add(1, "pc = 0", 0)
        if len(bodies) > 1 or loops or entries[0] > 1:
            self._add(1, "while True:", 0)
            self._dispatch(bodies)
        else:
            for line in bodies[0]:
                self._add(1 + line.depth, line.text, line.pc)
        return "\n".join(self.lines) + "\n"

    def _add(self, depth: int, text: str, pc: int) -> None:
        self.lines.append("    " * depth + text)
        self.pcs.append(pc)

    def _dispatch(self, bodies: list[list[_Line]]) -> None:
        """Emit the bodies of the labels below a binary search of `pc`."""
        stack: list[tuple[int, int, int, str]] = [(0, len(bodies), 2, "")]
        while stack:
            low, high, depth, text = stack.pop()
            if text:
                self._add(depth, text, 0)
            if high - low == 1:
                for line in bodies[low]:
                    self._add(depth + line.depth + bool(text), line.text, line.pc)
            elif high > low:
                depth += bool(text)
                middle = (low + high) // 2
                # Pushed first and popped last: the lower half comes first in the text.
                stack.append((middle, high, depth, "else:"))
                stack.append((low, middle, depth, f"if pc < {middle}:"))

    # ------------------------------------------------------------ bodies
    def _body(self, label: int) -> list[_Line]:
        """Return the lines from a label to the jumps that leave it."""
        lines: list[_Line] = []
        stack: list[_Line | tuple[int, int]] = [(0, label)]  # what is to come: lines, and blocks (depth, pc)
        first = True
        while stack:
            item = stack.pop()
            if isinstance(item, _Line):
                lines.append(item)
                continue
            depth, pc = item
            if not first and (pc in self.labels or (depth > DEEPEST and not self._ends_soon(pc))):
                if pc not in self.labels:
                    self.labels[pc] = len(self.labels)
                    self.waiting.append(pc)
                # Both are the end of the loop's body, so the next iteration begins at the label.
                lines.append(_Line(depth, f"pc = {self.labels[pc]}" if len(self.labels) > 1 else "continue", pc))
                continue
            first = False
            end = self.blocks.ends[pc]
            block, control = self._basic_block(pc, end, depth)
            lines += block
            if isinstance(control, _Branch):
                lines.append(_Line(depth, f"if {control.test}:", end))
                # In reverse, so that the true branch is emitted first.
                stack += [(depth + 1, control.no), _Line(depth, "else:", end), (depth + 1, control.yes)]
            elif control is not None:
                stack.append((depth, control))
        return lines

    def _basic_block(self, start: int, end: int, depth: int) -> tuple[list[_Line], _Control]:
        """Return the lines of a basic block, and the control flow after it."""
        last = self.instructions[end]
        # True where the block ends because a jump leads to `end`, whose instruction begins another block.
        entered = end != start and end in self.blocks.ends
        count = end - start + (not entered)
        lines: list[_Line] = []

        def add(pc: int, texts: list[str]) -> None:
            lines.extend(_Line(depth, text, pc) for text in texts)

        if count:  # the block pays before it runs: what does not last is left to the stepping engine, at its start
            add(start, [f"left -= {count}", f"if left < 0: raise OutOfFuel({start}, left + {count}, locals())"])
            add(start, self._pay_memory(self._small_bytes(start, end)))
        over = end  # from here on the function only returns: kills are useless
        while not entered and last.spec.flow is Flow.RETURN and over > start:
            if self.instructions[over - 1].opcode not in (Opcode.KILL_REGISTER, Opcode.MOVE):
                break
            over -= 1
        for pc in range(start, end):
            instruction = self.instructions[pc]
            if pc in self.blocks.storages:
                add(pc, self._size_checks(self.blocks.storages[pc].size))
            if pc not in self.blocks.dropped and (pc < over or instruction.opcode is not Opcode.KILL_REGISTER):
                add(pc, self._instruction(pc, instruction))
        if entered:
            return lines, end
        texts, control = self._control(end, last, start)
        add(end, texts)
        return lines, control

    # ------------------------------------------------------------ memory
    def _small_bytes(self, start: int, end: int) -> int:
        """Estimate the bytes of allocations in a basic block that are too small to be checked individually."""
        total = 0
        for pc in range(start, end):
            if pc in self.blocks.storages:
                storage = self.blocks.storages[pc]
                if storage.size < self.least_checked and not self._is_arithmetic(self.instructions[storage.kernel]):
                    total += storage.size
            if self.instructions[pc].spec.effect is Effect.OBJECT:
                total += object_bytes(self.instructions[pc])
        return total

    def _pay_memory(self, size: int | str) -> list[str]:
        """Return the lines that take `size` bytes from the memory budget."""
        if not size:
            return []
        return [f"state.room -= {size}", f"if state.room < 0: state.sweep({size}, locals())"]

    def _size_checks(self, size: int) -> list[str]:
        return (
            [f'limit("tensor_bytes", {size}, "a storage")', *self._pay_memory(size)]
            if size >= self.least_checked
            else []
        )

    # ------------------------------------------------------------ control
    def _control(self, pc: int, i: Instruction, start: int) -> tuple[list[str], _Control]:
        """Return the lines of the instruction that ends a basic block, and the control flow after it."""
        flow, self.pc = i.spec.flow, pc
        if flow is Flow.JUMP:
            return [], i.successors(pc)[0]
        if flow is Flow.TEST:
            return [], _Branch(self._test(pc, i, start), *i.successors(pc))
        if flow is Flow.RETURN:
            return ["state.left = left", f"return {self.code(i)}"], None
        if flow is Flow.STOP:
            return self.code(i).split("\n"), None
        if pc in self.tails:
            if self._calls_itself(pc):
                return self._begin_again(i), None
            pair = self.code(i)
            star = "" if i.spec.is_pair else "*"
            return [f"call = NextCall({star}{pair})", "state.left = left", "return call"], None
        # The local variable is a fast copy of the fuel, which the callee takes from the shared state.
        return ["state.left = left", f"{self.target(i.dst)} = yield {self.code(i)}", "left = state.left"], pc + 1

    def _calls_itself(self, pc: int) -> bool:
        i = self.instructions[pc]
        return i.opcode is Opcode.INVOKE and i.func == self.index

    def _begin_again(self, i: Instruction) -> list[str]:
        """Return the lines that begin the function again with new arguments, all other registers cleared."""
        pairs = [(f"r{n}", self.read(a)) for n, a in enumerate(i.args) if f"r{n}" != self.read(a)]
        # One assignment for all, since an argument may be a parameter that is overwritten.
        lines = [f"{', '.join(p for p, _ in pairs)} = {', '.join(a for _, a in pairs)}"] if pairs else []
        for first in range(0, len(self.cleared), 20):
            lines.append(f"{' = '.join(self.cleared[first : first + 20])} = None")
        return [*lines, "pc = 0" if len(self.labels) > 1 else "continue"]

    def _test(self, pc: int, i: Instruction, start: int) -> str:
        """Return the condition of an `if`, without a check of types where the same block wrote its register."""
        if i.opcode is not Opcode.IF:
            return self.code(i)
        # `equal` compares what two registers hold, whatever it is. Two cases are the tests of most programs, and there
        # the block itself shows that the number is a tag, or that it is the result of a kernel that returns a bool.
        number = self.blocks.presets.get(i.target)
        writers = [w for w in self.blocks.writers.get(i.test, ()) if start <= w < pc]
        if type(number) is int and len(writers) >= 1:
            writer = self.instructions[writers[-1]]
            if writer.opcode is Opcode.GET_TAG:
                return f"r{i.test} == {number}"
        if number == 1 and type(number) is int:
            makers = [m for m in self.blocks.makers if start <= m < pc and i.test in self.instructions[m].args[-1:]]
            if makers and self.blocks.makers[makers[-1]][1] == [((), np.dtype(bool))]:
                return f"r{i.test}"
        return self.code(i)

    # ------------------------------------------------------------ instructions
    def read(self, register: int) -> str:
        """Return the text of a register: a local variable, or the global of its constant."""
        if register not in self.blocks.presets:
            return f"r{register}"
        return self._global(self.blocks.presets[register], f"c{register}")

    def array(self, register: int) -> str:
        """Return the text of a register, turned into an array if it may hold a scalar."""
        preset = self.blocks.presets.get(register)
        if type(preset) is int:
            return self._global(np.asarray(preset, np.int64), f"n{register}")
        return f"array(r{register})" if register in self.scalars else self.read(register)

    def shape(self, register: int) -> str:
        """Return the text of the numbers in a register's tensor, a literal if they are constant."""
        preset = self.blocks.presets.get(register)
        return str(tuple(preset.reshape(-1).tolist())) if type(preset) is np.ndarray else super().shape(register)

    def target(self, register: int) -> str:
        """Return the variable of a register."""
        return f"r{register}"

    def constant(self, value: Any, name: str) -> str:
        """Return a global for an object that the instruction needs."""
        return self._global(value, f"{name}{self.pc}")

    def _global(self, value: Any, name: str) -> str:
        self.names[name] = value
        return name

    def _instruction(self, pc: int, i: Instruction) -> list[str]:
        """Return the lines of an instruction that goes on to the next."""
        self.pc = pc
        if pc in self.blocks.makers:
            return self._allocating_kernel(pc, i)
        lines = self.code(i).split("\n")
        if i.spec.effect is not Effect.STORAGE:
            return lines
        checks = [f"size = max(0, int({self.read(i.size)}))", 'limit("tensor_bytes", size, "a storage")']
        return [*checks, *self._pay_memory("size"), *lines]

    def _is_arithmetic(self, i: Instruction) -> bool:
        kernel = self.exe.kernels[i.packed]
        return kernel.native and kernel.scalar is not None and i.outputs == 1

    def _allocating_kernel(self, pc: int, i: Instruction) -> list[str]:
        """Return the lines of a kernel call that allocates its results."""
        maker, kinds = self.blocks.makers[pc]
        kernel = self.exe.kernels[i.packed]
        ins, outs = i.inputs, i.results
        positions = scalar_positions(kernel.function)
        args = ", ".join([self.array(r) if p in positions else self.read(r) for p, r in enumerate(ins)])
        name = self._global(maker, f"kernel{pc}")
        results = ", ".join(f"r{r}" for r in outs)
        if not self._is_arithmetic(i):
            return [f"{results} = {name}({args})"]
        numbers: list[str] = []

        def constant(value: Any) -> str:
            numbers.append(self._global(value, f"number{pc}_{len(numbers)}"))
            return numbers[-1]

        text = scalar_text(kernel.function, [self.read(r) for r in ins], constant)
        if text is None:
            text = f"{self._global(kernel.scalar, f'scalar{pc}')}({', '.join(self.read(r) for r in ins)})"
        kind = self._global(kinds[0][1].type, f"np_{kinds[0][1].type.__name__.rstrip('_')}")
        # Operands of another type give a result of another type: then the kernel on arrays computes it.
        return [f"{results} = {text}", f"if type({results}) is not {kind}: {results} = {name}({args})"]
