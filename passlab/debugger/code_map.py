"""`CodeMap`: the static side of a trace: what each instruction reads and writes, its kernel, operators and source.

A site is an instruction, numbered through all functions of a program. A program is anything with `functions` whose
instructions can say what they read and write: an executable of the virtual machine, or the nodes of a graph or of a
Relay function (`node_trace`), so that one debugger serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.diffing.diff import node_name
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import post_order
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.tracing.log import site_bases

if TYPE_CHECKING:
    from passlab.lab.recording import Recording

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


class CodeMap:
    """The instructions of a program by number. `recording` is how the compiler made it, if that was recorded."""

    def __init__(self, program: Any, recording: Recording | None = None) -> None:
        self.program = program
        self.functions: Sequence[Any] = program.functions
        self.recording = recording
        self.bases = site_bases(self.functions)
        self.instructions = [i for f in self.functions for i in f.instructions]

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def function(self) -> np.ndarray[Any, Any]:
        """For each site the number of its function."""
        out: np.ndarray[Any, Any] = np.repeat(np.arange(len(self.functions)), np.diff(self.bases))
        return out

    @cached_property
    def pc(self) -> np.ndarray[Any, Any]:
        """For each site its place in its function."""
        out: np.ndarray[Any, Any] = np.arange(len(self)) - np.array(self.bases)[self.function]
        return out

    @cached_property
    def role(self) -> np.ndarray[Any, Any]:
        """For each site whether it is a call, a return, a kernel, an allocation or plain."""
        return np.array([self._role(i) for i in self.instructions], np.int8)

    @staticmethod
    def _role(instruction: Any) -> int:
        return _ROLES.get(instruction.opcode, PLAIN) if isinstance(instruction, Instruction) else int(instruction.role)

    @cached_property
    def written(self) -> np.ndarray[Any, Any]:
        """For each site the register that it writes in its own frame, -1 for none; calls write when they return."""
        return np.array([self._written(i) for i in self.instructions], np.int32)

    def _written(self, instruction: Any) -> int:
        role = self._role(instruction)
        if role in (CALL, RETURN) or (role == KERNEL and isinstance(instruction, Instruction)):
            return -1
        registers = instruction.writes()
        return registers[0] if registers else -1

    def reads(self, site: int) -> tuple[int, ...]:
        """The registers an instruction reads; for a kernel its inputs."""
        instruction = self.instructions[site]
        registers = instruction.reads()
        results = len(self.results(site))
        return tuple(registers[: len(registers) - results] if results else registers)

    def results(self, site: int) -> tuple[int, ...]:
        """The registers whose tensors a kernel writes; none for other instructions."""
        instruction = self.instructions[site]
        if not isinstance(instruction, Instruction) or instruction.opcode is not Opcode.INVOKE_PACKED:
            return ()
        return tuple(instruction.args[len(instruction.args) - instruction.outputs :])

    def changes(self, site: int) -> tuple[int, ...]:
        """The registers whose value is another one, or has another content, after an instruction."""
        results = self.results(site)
        return results or tuple(self.instructions[site].writes())

    def mnemonic(self, site: int) -> str:
        """The name of an instruction's kind, such as `invoke_packed`."""
        instruction = self.instructions[site]
        return instruction.spec.mnemonic if isinstance(instruction, Instruction) else str(instruction.mnemonic)

    def text(self, site: int) -> str:
        """An instruction as the listing has it, with the names of kernels and functions in place of numbers."""
        instruction = self.instructions[site]
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

    # ------------------------------------------------------------ where an instruction comes from
    def kernel(self, site: int) -> Function | None:
        """The primitive function of a kernel call, None for other instructions."""
        instruction = self.instructions[site]
        if not isinstance(instruction, Instruction):
            kernel: Function | None = instruction.kernel
            return kernel
        is_kernel = instruction.opcode is Opcode.INVOKE_PACKED
        return self.program.kernel_functions[instruction.packed] if is_kernel else None

    def nodes(self, site: int) -> list[Expr]:
        """The IR nodes an instruction stands for: the calls of its kernel in order, else the node it was made of."""
        kernel = self.kernel(site)
        if kernel is not None:
            return [n for n in post_order(kernel.body) if is_op_call(n)]
        node = self.instructions[site].node
        return [] if node is None else [node]

    def operators(self, site: int) -> list[str]:
        """The names of the operators an instruction carries out, in order."""
        calls = [n for n in self.nodes(site) if isinstance(n, Call)]
        names = [n.op.name for n in calls if isinstance(n.op, Op)]
        return names if self.role[site] == KERNEL else [n for n in names if not n.startswith(("memory.", "vm."))]

    def name(self, site: int) -> str:
        """What an instruction is, in a word or two: its operators, the function it calls, or its mnemonic."""
        if self.role[site] == KERNEL:
            return " + ".join(self.operators(site)) or self.mnemonic(site)
        instruction = self.instructions[site]
        if isinstance(instruction, Instruction) and instruction.opcode is Opcode.INVOKE:
            return f"@{self.functions[instruction.func].name}"
        if isinstance(instruction, Instruction) or instruction.node is None:
            return self.mnemonic(site)
        return node_name(instruction.node)

    @cached_property
    def _homes(self) -> list[int]:
        """The site whose source each shares: constants and memory that of their user, a kill that of the last use."""
        homes = list(range(len(self)))
        for base, end in zip(self.bases, self.bases[1:], strict=False):
            self._settle_servants(homes, range(base, end))
            last: dict[int, int] = {}
            for site in range(base, end):
                instruction = self.instructions[site]
                registers = (*instruction.reads(), *instruction.writes())
                if self.mnemonic(site) in ("kill_register", "ret"):
                    homes[site] = last.get(registers[0], site)
                last.update(dict.fromkeys(registers, homes[site]))
        return homes

    def _settle_servants(self, homes: list[int], sites: range) -> None:
        """Let what serves a kernel or a call in one function belong to the next use of the register it writes."""
        ahead, uses = -1, dict[int, int]()
        for site in reversed(sites):
            instruction = self.instructions[site]
            if self.role[site] in (KERNEL, CALL, RETURN):
                ahead = site
            elif self.mnemonic(site) == "kill_register":
                continue
            elif ahead >= 0 and self._serves(instruction):
                homes[site] = uses.get(self.written[site], ahead)
            uses.update(dict.fromkeys(instruction.reads(), homes[site]))

    @staticmethod
    def _serves(instruction: Any) -> bool:
        """Whether an instruction stands for nothing that was written: memory, or a constant that something takes."""
        if not isinstance(instruction, Instruction) or instruction.opcode in _CONTROL:
            return False
        node = instruction.node
        return instruction.opcode in _MEMORY or node is None or node.span is None or isinstance(node, Constant)

    def sources(self, site: int) -> list[Expr]:
        """The nodes of the program as it was written that an instruction comes from, as far as that is known.

        With a recording they are found through provenance; without, they are the instruction's own nodes.
        """
        nodes = self.nodes(self._homes[site])
        if self.recording is None:
            return nodes
        sources: dict[Expr, None] = {}
        for node in nodes:
            first = self.recording.biography(node)[0]
            sources[first.node if first.event is None else node] = None
        return list(sources)

    def spans(self, site: int) -> list[Any]:
        """The places in the source that an instruction comes from, in order, each once."""
        spans: dict[tuple[Any, ...], Any] = {}
        for node in self.sources(site):
            if node.span is not None and not isinstance(node, GlobalVar):
                spans[node.span.source_name, node.span.line, node.span.column] = node.span
        return list(spans.values())

    @cached_property
    def lines(self) -> list[tuple[tuple[str, int], ...]]:
        """For each site the lines of the source it comes from, as (source name, line)."""
        return [tuple({(s.source_name, s.line): None for s in self.spans(site)}) for site in range(len(self))]
