"""The templates of instructions filled in: the code that the three engines share to turn `ISA` into Python.

How does one table serve engines that hold registers in different ways? An entry of the table has a Python template with
operands in braces. An `Emitter` replaces these by text, and its subclasses decide what a register is. It is an element
of a list for single steps (`single_steps`), a local variable where a whole function is compiled (`function_source`),
and a variable assigned once where a basic block is traced (`tracing.basic_blocks`):

    {dst} = ({fields:array})     alloc_data $3 tag(0) [$1,$2]

    single steps                 r[dst_] = (array(r[fields_0]), array(r[fields_1]), )
    a compiled function          r3 = (array(r1), array(r2), )

    >>> import passlab
    >>> class Local(Emitter):
    ...     def read(self, register):
    ...         return f"r{register}"
    ...     target = read
    >>> exe = passlab.vm.compile(passlab.parse("def @main(%t: (float32, int32)) { (%t.1, %t.0) }"))
    >>> instructions = exe.functions[0].instructions
    >>> for instruction in instructions[3:]:
    ...     print(instruction, "-->", Local(Environment(exe)).code(instruction))
    alloc_data $3 tag(0) [$1,$2] --> r3 = (array(r1), array(r2), )
    kill_register $1 --> r1 = None
    kill_register $2 --> r2 = None
    ret $3 --> r3

The text consists of numbers and of names from here: no name of a program enters it. What an instruction needs besides
its operands, such as a constant or a kernel, is computed once and gets a name of its own (`constant`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, counted
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor
from passlab.ir.expr import Expr
from passlab.ir.types import GlobalTypeVar
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import parts_of
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator, Storage, VMClosure


@dataclass(frozen=True, slots=True)
class Environment:
    """The context of instructions besides their operands: the executable, and the allocator (None: new memory)."""

    exe: Executable
    allocator: Allocator | None = None

    def storage(self, device: int) -> Callable[[int, int], Storage]:
        """Return the function that allocates storages on a device, of a number of bytes and the device's number."""
        if self.allocator is not None and self.exe.is_native(device):
            return self.allocator.storage
        return self.exe.providers[device].storage if self.exe.providers else Storage

    def constructor(self, tag: int) -> Constructor:
        """Return the constructor of a tag. Relay accepts any tag: one unknown to the executable is named after it."""
        return self.exe.constructors.get(tag) or Constructor(f"constructor_{tag}", (), GlobalTypeVar("Unknown"), tag)


class Emitter:
    """Fills in the templates of instructions. `names` are the globals of the text."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.names: dict[str, Any] = dict(NAMES)

    # ------------------------------------------------------------ the texts of registers, by subclasses
    def read(self, register: int) -> str:
        """Return the text of the object in a register."""
        raise NotImplementedError

    def array(self, register: int) -> str:
        """Return the text of the object in a register, with numbers turned into arrays."""
        return f"array({self.read(register)})"

    def tensor(self, register: int) -> str:
        """Return the text of the object in a register, with NumPy scalars turned into arrays."""
        return self.array(register)

    def shape(self, register: int) -> str:
        """Return the text of the numbers in a register's tensor, as a tuple."""
        return f"shape({self.read(register)})"

    def target(self, register: int) -> str:
        """Return the text of a register as the target of an assignment."""
        raise NotImplementedError

    def constant(self, value: Any, name: str) -> str:
        """Return the text of an object that is known at compile time; `name` is its name in the template."""
        raise NotImplementedError

    def items(self, registers: Sequence[int], read: Callable[[int], str]) -> str:
        """Return the texts of registers, a comma behind each."""
        return "".join([f"{read(register)}, " for register in registers])

    # ------------------------------------------------------------ filling in
    def code(self, instruction: Instruction) -> str:
        """Return the template of an instruction with its operands filled in."""
        spec, operands, parts = instruction.spec, instruction.spec.by_name, []
        for text, name, mode in parts_of(instruction.code):
            parts.append(text)
            operand = operands.get(name)
            if operand is None and name in spec.constants:
                parts.append(self.constant(spec.constants[name](self.environment, instruction), name))
            # `inputs` and `results` of a kernel call are not operands, but lists of registers as well.
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
        """Return the text of an operand that is not a register."""
        return self.constant(array_dtype(value), name) if kind == "dtype" else repr(value)

    def _reader(self, mode: str) -> Callable[[int], str]:
        reader: Callable[[int], str] = getattr(self, mode or "read")
        return reader


# ---------------------------------------------------------------- functions that the templates call
def shape_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the shape of a tensor as an int64 tensor."""
    return np.array(tensor.shape, np.int64)


def as_shape(tensor: Any) -> tuple[int, ...]:
    """Return the numbers in a tensor as a tuple."""
    return tuple(tensor.reshape(-1).tolist())


def equal(a: Any, b: Any) -> bool:
    """Whether two scalars are equal, for `if`. Raises `RunError` for anything but scalars."""
    try:
        # `item` raises `ValueError` for an array of several elements.
        return bool((a if type(a) is int else a.item()) == (b if type(b) is int else b.item()))
    except (AttributeError, ValueError):
        raise RunError(f"a condition must be a scalar, not {describe(a)}") from None


def callee(functions: Sequence[VMFunction], closure: Any, args: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Return the function of a closure and all its arguments. Raises `RunError` for any other object."""
    if not isinstance(closure, VMClosure):
        raise RunError(f"{describe(closure)} cannot be called")
    all_args = (*closure.captured, *args)
    check_count(functions[closure.func_index], all_args)
    return closure.func_index, all_args


def check_count(function: VMFunction, args: Sequence[Any]) -> None:
    """Raise `RunError` for a wrong number of arguments."""
    if len(args) != len(function.params):
        raise RunError(f"{function.name} takes {counted(len(function.params), 'argument')}, not {len(args)}")


def no_arm(node: Expr | None) -> RunError:
    """Return the error of a `match` whose arms do not cover a value."""
    hint = "add the missing case, or a last arm `_ => ...`"
    return RunError(Diagnostic("no arm of the match fits", node.span if node else None, hint=hint))


def no_field(value: Any, field: int) -> RunError:
    """Return the error for a field that an object does not have."""
    return RunError(f"{describe(value)} has no field {field}")


def no_shape(value: Any, shape: tuple[int, ...]) -> RunError:
    """Return the error for a shape with another number of elements than a tensor."""
    return RunError(f"{describe(value)} cannot be reshaped to {shape}")


def no_tag(value: Any) -> int:
    """Return the tag of an ADT value of a subclass. Raises `RunError` for any other object."""
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
