"""Nodes as instructions: what the graph executor and the reference evaluator run, in the form that `CodeMap` reads.

A node writes the register of its own; a function lists its nodes in the order of the program.
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
    given: tuple[int, ...] = ()  # of a call: the registers that become its parameters, -1 for a constant
    opcode: None = None

    def reads(self) -> tuple[int, ...]:
        """The registers it reads."""
        return self.args

    def writes(self) -> tuple[int, ...]:
        """The register it writes."""
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
