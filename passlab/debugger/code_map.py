"""`CodeMap`: the static side of a trace: what each instruction reads and writes, its kernel, operators and source.

A program point is the number of an instruction, counted through all functions of a program. A program is any object
with `functions` whose instructions have `reads` and `writes`. It can be an executable of the virtual machine, or the
nodes of a graph or of a Relay function (`node_code`), so one debugger steps them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.diffing.diff import node_name
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.walk import post_order
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.tracing.log import code_offsets

if TYPE_CHECKING:
    from passlab.lab.recordings.recording import Recording

PLAIN, CALL, RETURN, KERNEL, STORAGE = range(5)
_ROLES = {
    Opcode.INVOKE: CALL,
    Opcode.INVOKE_CLOSURE: CALL,
    Opcode.RET: RETURN,
    Opcode.INVOKE_PACKED: KERNEL,
    Opcode.ALLOC_STORAGE: STORAGE,
}
_CONTROL = (Opcode.IF, Opcode.GOTO, Opcode.FATAL)
_MEMORY = (Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)


def _operator_calls(function: Function | None) -> list[Call]:
    """The calls of operators in a function, operands first; none without a function."""
    return [] if function is None else [n for n in post_order(function.body) if isinstance(n, Call) and is_op_call(n)]


class CodeMap:
    """The instructions of a program by program point. `recording` is the recording of its compilation, if there is
    one.
    """

    def __init__(self, program: Any, recording: Recording | None = None) -> None:
        self.program = program
        self.functions: Sequence[Any] = program.functions
        self.recording = recording
        self.offsets = code_offsets(self.functions)
        self.instructions = [i for f in self.functions for i in f.instructions]
        self._of_kernels: dict[int, list[Expr]] = {}

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def function(self) -> np.ndarray[Any, Any]:
        """The number of the function of each program point."""
        out: np.ndarray[Any, Any] = np.repeat(np.arange(len(self.functions)), np.diff(self.offsets))
        return out

    @cached_property
    def pc(self) -> np.ndarray[Any, Any]:
        """The index of each program point in its function."""
        out: np.ndarray[Any, Any] = np.arange(len(self)) - np.array(self.offsets)[self.function]
        return out

    @cached_property
    def role(self) -> np.ndarray[Any, Any]:
        """The role of each program point: `PLAIN`, `CALL`, `RETURN`, `KERNEL` or `STORAGE`."""
        return np.array([self._role(i) for i in self.instructions], np.int8)

    @staticmethod
    def _role(instruction: Any) -> int:
        return _ROLES.get(instruction.opcode, PLAIN) if isinstance(instruction, Instruction) else int(instruction.role)

    @cached_property
    def written(self) -> np.ndarray[Any, Any]:
        """The register that each program point writes in its own frame, -1 for none: calls write when they return."""
        return np.array([self._written(i) for i in self.instructions], np.int32)

    def _written(self, instruction: Any) -> int:
        role = self._role(instruction)
        # A kernel of the machine writes into tensors; a node of a graph writes its register.
        if role in (CALL, RETURN) or (role == KERNEL and isinstance(instruction, Instruction)):
            return -1
        registers = instruction.writes()
        return registers[0] if registers else -1

    def reads(self, point: int) -> tuple[int, ...]:
        """Return the registers that an instruction reads; of a kernel its inputs."""
        instruction = self.instructions[point]
        registers = instruction.reads()
        results = len(self.results(point))
        return tuple(registers[: len(registers) - results] if results else registers)

    def results(self, point: int) -> tuple[int, ...]:
        """Return the registers whose tensors a kernel writes; none for other instructions."""
        instruction = self.instructions[point]
        if not isinstance(instruction, Instruction) or instruction.opcode is not Opcode.INVOKE_PACKED:
            return ()
        return tuple(instruction.args[len(instruction.args) - instruction.outputs :])

    def changes(self, point: int) -> tuple[int, ...]:
        """Return the registers whose value or content an instruction changes."""
        results = self.results(point)
        return results or tuple(self.instructions[point].writes())

    def mnemonic(self, point: int) -> str:
        """Return the mnemonic of an instruction, such as `invoke_packed`."""
        instruction = self.instructions[point]
        return instruction.spec.mnemonic if isinstance(instruction, Instruction) else str(instruction.mnemonic)

    def text(self, point: int) -> str:
        """Return an instruction as in listings, with the names of kernels and functions instead of numbers."""
        instruction = self.instructions[point]
        text = str(instruction)
        if not isinstance(instruction, Instruction):
            return text
        if instruction.opcode is Opcode.INVOKE_PACKED:
            name = self.program.kernel_names[instruction.packed]
            return text.replace(f"invoke_packed PackedFunc[{instruction.packed}]", name, 1)
        if instruction.opcode in (Opcode.INVOKE, Opcode.ALLOC_CLOSURE):
            return text.replace(f"VMFunc[{instruction.func}]", f"@{self.functions[instruction.func].name}", 1)
        if instruction.opcode is Opcode.ALLOC_ADT and instruction.tag in self.program.constructors:
            return text.replace(f"tag({instruction.tag})", self.program.constructors[instruction.tag].name_hint, 1)
        return text

    # ------------------------------------------------------------ provenance
    def kernel(self, point: int) -> Function | None:
        """Return the primitive function of a kernel call, None for other instructions."""
        instruction = self.instructions[point]
        if not isinstance(instruction, Instruction):
            kernel: Function | None = instruction.kernel
            return kernel
        is_kernel = instruction.opcode is Opcode.INVOKE_PACKED
        return self.program.kernel_functions[instruction.packed] if is_kernel else None

    def nodes(self, point: int) -> list[Expr]:
        """Return the IR nodes that an instruction computes: the calls of its kernel in order, else its own node."""
        kernel, node = self.kernel(point), self.instructions[point].node
        if kernel is None:
            return [] if node is None else [node]
        if point not in self._of_kernels:
            nodes, called = (_operator_calls(f) for f in (kernel, self._called(node)))
            # Equal functions share a kernel; the nodes of this call are those of the function that it called itself.
            same = [n.op for n in nodes] == [n.op for n in called]
            self._of_kernels[point] = list(called if same else nodes)
        return list(self._of_kernels[point])

    def _called(self, node: Expr | None) -> Function | None:
        """Return the function that a call of a kernel called before equal ones became one kernel, None if unknown."""
        seen = set[Expr]()
        while node is not None and node not in seen and self.recording is not None:
            seen.add(node)
            earlier = [row.node for row in reversed(self.recording.biography(node))]
            for one in earlier:
                if isinstance(one, Call) and isinstance(one.op, Function):
                    return one.op
            node = next((one.value for one in earlier if isinstance(one, Let)), None)
        return None

    def operators(self, point: int) -> list[str]:
        """Return the names of the operators that an instruction executes, in order."""
        calls = [n for n in self.nodes(point) if isinstance(n, Call)]
        names = [n.op.name for n in calls if isinstance(n.op, Op)]
        return names if self.role[point] == KERNEL else [n for n in names if not n.startswith(("memory.", "vm."))]

    def name(self, point: int) -> str:
        """Return a short name of an instruction: its operators, the function it calls, or its mnemonic."""
        if self.role[point] == KERNEL:
            return " + ".join(self.operators(point)) or self.mnemonic(point)
        instruction = self.instructions[point]
        if isinstance(instruction, Instruction) and instruction.opcode is Opcode.INVOKE:
            return f"@{self.functions[instruction.func].name}"
        if isinstance(instruction, Instruction) or instruction.node is None:
            return self.mnemonic(point)
        return node_name(instruction.node)

    @cached_property
    def _owners(self) -> list[int]:
        """The program point whose source each shares: a constant or storage shares with its use, a kill with the last
        use.
        """
        owners = list(range(len(self)))
        for base, end in zip(self.offsets, self.offsets[1:], strict=False):
            self._assign_auxiliaries(owners, range(base, end))
            last: dict[int, int] = {}
            for point in range(base, end):
                instruction = self.instructions[point]
                registers = (*instruction.reads(), *instruction.writes())
                if self.mnemonic(point) in ("kill_register", "ret"):
                    owners[point] = last.get(registers[0], point)
                last.update(dict.fromkeys(registers, owners[point]))
        return owners

    def _assign_auxiliaries(self, owners: list[int], points: range) -> None:
        """Let auxiliary instructions of one function share the source of the next use of the register they write."""
        ahead, uses = -1, dict[int, int]()
        # Backwards, so that the next use of a register is known where the register is written.
        for point in reversed(points):
            instruction = self.instructions[point]
            if self.role[point] in (KERNEL, CALL, RETURN):
                ahead = point
            elif self.mnemonic(point) == "kill_register":
                continue
            elif ahead >= 0 and self._is_auxiliary(instruction):
                owners[point] = uses.get(self.written[point], ahead)
            uses.update(dict.fromkeys(instruction.reads(), owners[point]))

    @staticmethod
    def _is_auxiliary(instruction: Any) -> bool:
        """Whether an instruction has no source of its own: it allocates memory, or loads a constant for another."""
        if not isinstance(instruction, Instruction) or instruction.opcode in _CONTROL:
            return False
        node = instruction.node
        return instruction.opcode in _MEMORY or node is None or node.span is None or isinstance(node, Constant)

    def sources(self, point: int) -> list[Expr]:
        """Return the nodes of the source program that an instruction comes from.

        A recording knows them by provenance; without one they are the instruction's own nodes.
        """
        nodes = self.nodes(self._owners[point])
        if self.recording is None:
            return nodes
        sources: dict[Expr, None] = {}
        for node in nodes:
            first = self.recording.biography(node)[0]
            sources[first.node if first.event is None else node] = None
        return list(sources)

    def spans(self, point: int) -> list[Span]:
        """Return the source locations that an instruction comes from, in order, each once."""
        spans: dict[tuple[str | None, int, int], Span] = {}
        for node in self.sources(point):
            if node.span is not None and not isinstance(node, GlobalVar):
                spans[node.span.source_name, node.span.line, node.span.column] = node.span
        return list(spans.values())

    @cached_property
    def lines(self) -> list[tuple[tuple[str, int], ...]]:
        """The source lines of each program point, as (source name, line)."""
        return [tuple({(s.source_name or "", s.line): None for s in self.spans(point)}) for point in range(len(self))]
