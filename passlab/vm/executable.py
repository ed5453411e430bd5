"""A compiled program: functions of instructions, constants, kernels; and how it lists itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.ir.adt import Constructor
from passlab.ir.expr import Function
from passlab.vm.isa import Instruction, encode
from passlab.vm.kernels import Kernel, make_kernel

COLUMN = 40  # where the text of an instruction begins in a listing


@dataclass(frozen=True)
class VMFunction:
    """One function: its name, parameter names, instructions and number of registers."""

    name: str
    params: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    register_file_size: int
    param_device_indexes: tuple[int, ...] = ()

    def listing(self) -> str:
        """Return the function's instructions as Relay lists them: numbers, then text."""
        lines = [f"# reg file size = {self.register_file_size}", f"# instruction count = {len(self.instructions)}",
                 "opcode, fields # inst(text):"]  # fmt: skip
        for i, instruction in enumerate(self.instructions):
            numbers = "".join(f"{n} " for n in encode(instruction))
            lines.append(f"{f'{i:2}: {numbers}':<{COLUMN}}  # {instruction}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Executable:
    """Everything a machine needs. Functions and kernels are numbered in the order of their tuples.

    `kernel_functions` are the primitive functions the kernels are made of; `constructors` the data types' constructors
    by tag, for values that leave the machine.
    """

    functions: tuple[VMFunction, ...]
    constants: tuple[np.ndarray[Any, Any], ...]
    kernel_names: tuple[str, ...]
    kernel_functions: tuple[Function, ...]
    constructors: dict[int, Constructor] = field(default_factory=dict)
    entry_types: dict[str, Function] = field(default_factory=dict)

    @cached_property
    def global_map(self) -> dict[str, int]:
        """Function name -> number."""
        return {f.name: i for i, f in enumerate(self.functions)}

    @property
    def globals(self) -> list[str]:
        """The names of the functions, by number."""
        return [f.name for f in self.functions]

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels, by number."""
        return list(self.kernel_names)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, made when first needed."""
        return tuple(make_kernel(f) for f in self.kernel_functions)

    def function(self, name: str) -> VMFunction:
        """Return a function by name. Raises `RunError` with the nearest names."""
        if name not in self.global_map:
            cure = did_you_mean(name, self.globals) or f"it has {', '.join(self.globals)}"
            raise RunError(Diagnostic(f"the executable has no function `{name}`", hint=cure))
        return self.functions[self.global_map[name]]

    def get_function_params(self, name: str) -> list[str]:
        """Return the parameter names of a function."""
        return list(self.function(name).params)

    @property
    def bytecode(self) -> str:
        """All functions, listed."""
        parts = [
            f"VM Function[{i}]: {f.name}({', '.join(f.params)})\n{f.listing()}\n" for i, f in enumerate(self.functions)
        ]
        return "\n".join(parts)

    @property
    def stats(self) -> str:
        """A summary: constants, globals, kernels."""
        shapes = ", ".join("scalar" if not c.shape else f"[{', '.join(map(str, c.shape))}]" for c in self.constants)
        names = ", ".join(f'("{n}", {i})' for i, n in enumerate(self.globals))
        return "\n".join(
            ("Relay VM executable statistics:", f"  Constant shapes (# {len(self.constants)}): [{shapes}]",
             f"  Globals (#{len(self.functions)}): [{names}]",
             f"  Primitive ops (#{len(self.kernel_names)}): [{', '.join(self.kernel_names)}]")
        )  # fmt: skip

    def __repr__(self) -> str:
        count = sum(len(f.instructions) for f in self.functions)
        return f"Executable({len(self.functions)} functions, {count} instructions, {len(self.kernel_names)} kernels)"
