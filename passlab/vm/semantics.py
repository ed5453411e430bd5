"""The code of instructions, filled in: what the three engines share when they turn `ISA` into Python.

An entry of the table says in Python what its instruction does, with operands in braces. An `Emitter` replaces these by
text. What a register is in that text, its subclasses say: an element of a list for single steps (`steps`), a local
variable where a whole function is compiled (`running.function_source`), a variable assigned once where a basic block is
traced (`tracing.basic_blocks`). The text consists of numbers and of names from here: no name of a program enters it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor
from passlab.ir.expr import Expr
from passlab.ir.types import GlobalTypeVar
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.instruction_spec import parts_of
from passlab.vm.isa import Instruction
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator, Storage, VMClosure


@dataclass(frozen=True, slots=True)
class Environment:
    """What instructions know besides their operands: the executable, and the memory provider (None: the default)."""

    exe: Executable
    allocator: Allocator | None = None

    def storage(self, device: int) -> Callable[[int, int], Storage]:
        """Return what makes storages on a device, given their bytes and its number."""
        if self.allocator is not None and self.exe.is_native(device):
            return self.allocator.storage
        return self.exe.providers[device].storage if self.exe.providers else Storage

    def constructor(self, tag: int) -> Constructor:
        """Return the constructor of a tag. Relay's machine takes any: one that the executable lacks is named by it."""
        cached = self.exe.constructors.get(tag)
        return cached or Constructor(f"constructor_{tag}", (), GlobalTypeVar("Unknown"), tag)


class Emitter:
    """Fills in the code of instructions. `names` are the globals that the text needs."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.names: dict[str, Any] = dict(NAMES)

    # ------------------------------------------------------------ what subclasses say
    def read(self, register: int) -> str:
        """Return the text of the object in a register."""
        raise NotImplementedError

    def array(self, register: int) -> str:
        """Return the text of the object in a register, numbers made arrays."""
        return f"array({self.read(register)})"

    def tensor(self, register: int) -> str:
        """Return the text of the object in a register, scalars of NumPy made arrays."""
        return self.array(register)

    def shape(self, register: int) -> str:
        """Return the text of the numbers in a register's tensor, as a tuple."""
        return f"shape({self.read(register)})"

    def target(self, register: int) -> str:
        """Return the text that is assigned to where a register is written."""
        raise NotImplementedError

    def constant(self, value: Any, name: str) -> str:
        """Return the text of an object that is known beforehand; `name` tells what it is."""
        raise NotImplementedError

    def items(self, registers: Sequence[int], read: Callable[[int], str]) -> str:
        """Return the texts of some registers, a comma behind each."""
        return "".join([f"{read(register)}, " for register in registers])

    # ------------------------------------------------------------ filling in
    def code(self, instruction: Instruction) -> str:
        """Return the code of an instruction with its operands filled in."""
        spec, operands, parts = instruction.spec, instruction.spec.by_name, []
        for text, name, mode in parts_of(instruction.code):
            parts.append(text)
            operand = operands.get(name)
            if operand is None and name in spec.constants:
                parts.append(self.constant(spec.constants[name](self.environment, instruction), name))
            elif operand is None or (operand.many and operand.kind == "reg"):
                parts.append(self.items(getattr(instruction, name), self._reader(mode)) if name else "")
            elif operand.kind != "reg":
                parts.append(self.number(name, getattr(instruction, name), operand.kind))
            elif operand.writes:
                parts.append(self.target(getattr(instruction, name)))
            else:
                parts.append(self._reader(mode)(getattr(instruction, name)))
        return "".join(parts)

    def number(self, name: str, value: Any, kind: str) -> str:
        """Return the text of an operand that is no register."""
        return self.constant(array_dtype(value), name) if kind == "dtype" else repr(value)

    def _reader(self, mode: str) -> Callable[[int], str]:
        reader: Callable[[int], str] = getattr(self, mode or "read")
        return reader


# ---------------------------------------------------------------- what the code of instructions calls
def shape_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the shape of a tensor as a tensor."""
    return np.array(tensor.shape, np.int64)


def as_shape(tensor: Any) -> tuple[int, ...]:
    """Return the numbers in a tensor as a tuple."""
    return tuple(tensor.reshape(-1).tolist())


def equal(a: Any, b: Any) -> bool:
    """Whether two scalars are the same number, as `if` asks. Raises `RunError` when `a` or `b` is no scalar."""
    try:
        return bool((a if type(a) is int else a.item()) == (b if type(b) is int else b.item()))
    except (AttributeError, ValueError):
        raise RunError(f"a condition must be a scalar, not {describe(a)}") from None


def callee(functions: Sequence[VMFunction], closure: Any, args: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Return the function that a closure is of, and all its arguments. Raises `RunError` for what cannot be called."""
    if not isinstance(closure, VMClosure):
        raise RunError(f"{describe(closure)} cannot be called")
    every = (*closure.captured, *args)
    check_count(functions[closure.func_index], every)
    return closure.func_index, every


def check_count(function: VMFunction, args: Sequence[Any]) -> None:
    """Raise `RunError` unless a function takes so many arguments."""
    if len(args) != len(function.params):
        raise RunError(f"{function.name} takes {len(function.params)} arguments and was given {len(args)}")


def no_arm(node: Expr | None) -> RunError:
    """Return the error of a `match` without a fitting arm."""
    hint = "add the missing case, or a last arm `_ => ...`"
    return RunError(Diagnostic("no arm of the match fits", node.span if node else None, hint=hint))


def no_field(value: Any, field: int) -> RunError:
    """Return the error of an object without a field."""
    return RunError(f"there is no field {field} in {describe(value)}")


def no_shape(value: Any, shape: tuple[int, ...]) -> RunError:
    """Return the error of a tensor that has not as many elements as a shape."""
    return RunError(f"{describe(value)} cannot be reshaped to {shape}")


def no_tag(value: Any) -> int:
    """Return the tag of a data value of another class. Raises `RunError` for any other object."""
    if isinstance(value, ADTValue):
        return value.tag
    raise RunError(f"{describe(value)} has no tag")


NAMES: dict[str, Any] = {
    "ADTValue": ADTValue,
    "RunError": RunError,
    "VMClosure": VMClosure,
    "array": as_array,
    "callee": callee,
    "equal": equal,
    "no_arm": no_arm,
    "no_field": no_field,
    "no_shape": no_shape,
    "no_tag": no_tag,
    "shape": as_shape,
    "shape_of": shape_of,
}
