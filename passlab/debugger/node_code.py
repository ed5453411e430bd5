"""Nodes as instructions of a `CodeMap`, for runs of the graph executor and the reference evaluator.

Each node writes a register of its own; a function lists its nodes in the order of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from passlab.ir.expr import Expr, Function


@dataclass(eq=False)
class NodeInstruction:
    """One node as an instruction: the register it writes (-1 for none), those it reads, its text and its kernel."""

    text: str
    mnemonic: str
    role: int
    writes_to: int
    args: tuple[int, ...]
    node: Expr | None = None
    kernel: Function | None = None
    params_from: tuple[int, ...] = ()  # of a call: the register of each argument, -1 for a constant
    opcode: None = None

    def reads(self) -> tuple[int, ...]:
        """Return the registers that the node reads."""
        return self.args

    def writes(self) -> tuple[int, ...]:
        """Return the register that the node writes."""
        return (self.writes_to,) if self.writes_to >= 0 else ()

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class NodeFunction:
    """The nodes of one function that ran, in the order of the program."""

    name: str
    params: tuple[str, ...]
    instructions: list[NodeInstruction] = field(default_factory=list)
    register_file_size: int = 0


@dataclass(eq=False)
class NodeProgram:
    """All functions that ran."""

    functions: list[NodeFunction]
