"""The instruction table: every operand and semantics, declared once.

Encoder, decoder, disassembler, bytecode verifier, both engines, the debugger's "about to write r7, reading r2 r5" and
the documentation are derived from `ISA`. Registers hold arrays, data values, storages or closures, and belong to a
frame. Operands stand in their serialized order, which is also the order of a listing.

An operand is declared as `name:kind`, where kind is one of

    reg     a register that is read           reg!    a register that is written
    int     a plain number                    index   a number into a table (its name says which)
    offset  a jump, relative to the instruction itself
    dtype   a dtype, serialized as code, bits, lanes
    reg*    registers that are read           int*    numbers;
            lists are counted by an operand of kind `count(name)` that stands earlier
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from passlab.errors import VerifyError
from passlab.ir.expr import Expr


class Opcode(IntEnum):
    """The operation codes, numbered as Relay's virtual machine numbers them."""

    MOVE = 0
    RET = 1
    INVOKE = 2
    INVOKE_CLOSURE = 3
    INVOKE_PACKED = 4
    ALLOC_TENSOR = 5
    ALLOC_TENSOR_REG = 6
    ALLOC_ADT = 7
    ALLOC_CLOSURE = 8
    GET_FIELD = 9
    IF = 10
    LOAD_CONST = 11
    GOTO = 12
    GET_TAG = 13
    LOAD_CONSTI = 14
    FATAL = 15
    ALLOC_STORAGE = 16
    SHAPE_OF = 17
    RESHAPE_TENSOR = 18
    DEVICE_COPY = 19
    KILL_REGISTER = 20


@dataclass(frozen=True)
class Operand:
    """One operand: `kind` as in the module's text; `many` for lists; `counts` names the list this number counts."""

    name: str
    kind: str
    many: bool = False
    writes: bool = False
    counts: str = ""


@dataclass(frozen=True)
class InstructionSpec:
    """One instruction: its mnemonic, operands, listing template and semantics."""

    opcode: Opcode
    mnemonic: str
    operands: tuple[Operand, ...]
    text: str
    semantics: str

    @cached_property
    def stored(self) -> tuple[Operand, ...]:
        """The operands an `Instruction` holds: all but the counts, which follow from the lists."""
        return tuple(o for o in self.operands if not o.counts)

    @cached_property
    def lists(self) -> tuple[int, ...]:
        """Where lists stand among the stored operands."""
        return tuple(at for at, o in enumerate(self.stored) if o.many)

    @cached_property
    def registers(self) -> tuple[tuple[tuple[int, bool], ...], tuple[tuple[int, bool], ...]]:
        """Where the registers that are read stand among the stored operands, and those written; and which are lists."""
        places = [(at, o.many, o.writes) for at, o in enumerate(self.stored) if o.kind == "reg"]
        return tuple((at, many) for at, many, w in places if not w), tuple((at, many) for at, many, w in places if w)

    @property
    def jumps(self) -> bool:
        """Whether control may go somewhere else than to the next instruction."""
        return self.opcode in (Opcode.RET, Opcode.FATAL, Opcode.GOTO, Opcode.IF)

    def position(self, name: str) -> int:
        """The index of a stored operand."""
        return [o.name for o in self.stored].index(name)


_OPERAND = re.compile(r"(\w+):(?:count\((\w+)\)|(\w+)([!*]?))\Z")


def _spec(opcode: Opcode, mnemonic: str, operands: str, text: str, semantics: str) -> InstructionSpec:
    parsed = []
    for part in operands.split():
        match = _OPERAND.match(part)
        if match is None:
            raise VerifyError(f"bad operand `{part}` in the declaration of {mnemonic}")
        name, counts, kind, mark = match.groups()
        parsed.append(Operand(name, kind or "count", mark == "*", mark == "!", counts or ""))
    return InstructionSpec(opcode, mnemonic, tuple(parsed), text, semantics)


ISA: dict[Opcode, InstructionSpec] = {
    form.opcode: form
    for form in (
        _spec(Opcode.MOVE, "move", "from:reg dst:reg!", "{dst} {from}",
              "Let dst be the object in from."),
        _spec(Opcode.RET, "ret", "result:reg", "{result}",
              "Leave the frame; its caller's register becomes the object in result."),
        _spec(Opcode.INVOKE, "invoke", "func:index n:count(args) dst:reg! args:reg*", "{dst} VMFunc[{func}]({args})",
              "Call a function of the executable; args become its first registers."),
        _spec(Opcode.INVOKE_CLOSURE, "invoke_closure", "closure:reg n:count(args) dst:reg! args:reg*", "{dst} {closure}({args})",
              "Call a closure on its captured objects followed by args."),
        _spec(Opcode.INVOKE_PACKED, "invoke_packed", "packed:index arity:count(args) outputs:int args:reg*",
              "PackedFunc[{packed}] (in: {inputs}, out: {results})",
              "Run a kernel that reads its inputs and writes into its last `outputs` registers' tensors; tuples count by their fields."),
        _spec(Opcode.ALLOC_TENSOR, "alloc_tensor", "storage:reg offset:reg dtype:dtype ndim:count(shape) dst:reg! shape:int*",
              "{dst} {storage} {offset} [{shape}] {dtype}",
              "Let dst be a tensor of constant shape inside a storage, from a byte offset held in a register."),
        _spec(Opcode.ALLOC_TENSOR_REG, "alloc_tensor_reg", "storage:reg offset:reg shape_register:reg dtype:dtype dst:reg!",
              "{dst} {storage} {offset} {shape_register} {dtype}",
              "Let dst be a tensor inside a storage, of the shape held in a register."),
        _spec(Opcode.ALLOC_ADT, "alloc_data", "tag:int n:count(fields) dst:reg! fields:reg*", "{dst} tag({tag}) [{fields}]",
              "Let dst be a data value of the given tag; tuples have tag 0."),
        _spec(Opcode.ALLOC_CLOSURE, "alloc_closure", "func:index n:count(captured) dst:reg! captured:reg*", "{dst} VMFunc[{func}]({captured})",
              "Let dst be a closure of a function over the captured objects."),
        _spec(Opcode.GET_FIELD, "get_field", "object:reg field:int dst:reg!", "{dst} {object}[{field}]",
              "Let dst be a field of a tuple or data value."),
        _spec(Opcode.IF, "if", "test:reg target:reg true_offset:offset false_offset:offset", "{test} {target} {true_offset} {false_offset}",
              "Jump by true_offset when the numbers in test and target are equal, else by false_offset."),
        _spec(Opcode.LOAD_CONST, "load_const", "const:index device:index dst:reg!", "{dst} Const[{const}] {device}",
              "Let dst be a constant of the pool, on its device."),
        _spec(Opcode.GOTO, "goto", "offset:offset", "{offset}",
              "Jump by offset."),
        _spec(Opcode.GET_TAG, "get_tag", "object:reg dst:reg!", "{dst} {object}",
              "Let dst be the tag of a data value."),
        _spec(Opcode.LOAD_CONSTI, "load_consti", "value:int dst:reg!", "{dst} {value}",
              "Let dst be a number."),
        _spec(Opcode.FATAL, "fatal", "", "",
              "Stop: no arm of a match fits."),
        _spec(Opcode.ALLOC_STORAGE, "alloc_storage", "size:reg alignment:int dtype:dtype device:index ndim:count(shape) dst:reg! shape:int*",
              "{dst} {size} {alignment} {dtype} {device}",
              "Let dst be a new storage of the number of bytes held in size."),
        _spec(Opcode.SHAPE_OF, "shape_of", "tensor:reg dst:reg!", "{dst} {tensor}",
              "Let dst be the shape of a tensor, as int64."),
        _spec(Opcode.RESHAPE_TENSOR, "reshape_tensor", "tensor:reg shape:reg dst:reg!", "{dst} {tensor} {shape}",
              "Let dst be the same elements under another shape, without copying."),
        _spec(Opcode.DEVICE_COPY, "device_copy", "src:reg src_device:index dst_device:index dst:reg!", "{dst} {src} {dst_device} {src_device}",
              "Let dst be a copy on another device."),
        _spec(Opcode.KILL_REGISTER, "kill_register", "dst:reg!", "{dst}",
              "Forget the object in dst."),
    )
}  # fmt: skip


class Instruction:
    """One instruction: an opcode, its stored operands (registers as numbers, lists as tuples, dtypes by name), and the
    IR node it came from.
    """

    __slots__ = ("node", "opcode", "operands")

    def __init__(self, opcode: Opcode, *operands: Any, node: Expr | None = None) -> None:
        form = ISA[opcode]
        if len(operands) != len(form.stored):
            raise VerifyError(f"{form.mnemonic} takes {len(form.stored)} operands, not {len(operands)}")
        self.opcode = opcode
        self.operands: tuple[Any, ...] = operands
        for at in form.lists:
            if type(operands[at]) is not tuple:
                self.operands = (*self.operands[:at], tuple(operands[at]), *operands[at + 1 :])
        self.node = node

    @property
    def spec(self) -> InstructionSpec:
        """The declaration of the instruction."""
        return ISA[self.opcode]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for operand, value in zip(ISA[self.opcode].stored, self.operands, strict=True):
            if operand.name == name:
                return value
        raise AttributeError(f"{self.spec.mnemonic} has no operand `{name}`")

    def reads(self) -> tuple[int, ...]:
        """The registers it reads, in operand order."""
        return self._registers(self.spec.registers[0])

    def writes(self) -> tuple[int, ...]:
        """The registers it writes. (A kernel changes the tensors in its output registers, not the registers.)"""
        return self._registers(self.spec.registers[1])

    def _registers(self, places: tuple[tuple[int, bool], ...]) -> tuple[int, ...]:
        if len(places) == 1 and not places[0][1]:
            return (self.operands[places[0][0]],)
        found: list[int] = []
        for at, many in places:
            found += self.operands[at] if many else (self.operands[at],)
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instruction):
            return NotImplemented
        return self.opcode is other.opcode and self.operands == other.operands

    def __hash__(self) -> int:
        return hash((self.opcode, self.operands))

    def __str__(self) -> str:
        return disassemble(self)

    __repr__ = __str__


# ---------------------------------------------------------------- dtypes as three numbers
_KINDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}
_NAMES = {code: name for name, code in _KINDS.items()}
_DTYPE = re.compile(r"(bfloat|float|uint|int)(\d+)(?:x(\d+))?\Z")


def dtype_numbers(dtype: str) -> tuple[int, int, int]:
    """Return (code, bits, lanes) of a dtype; bool is an unsigned integer of one bit."""
    match = _DTYPE.match("uint1" if dtype == "bool" else dtype)
    if match is None:
        raise VerifyError(f"{dtype} has no encoding")
    return _KINDS[match[1]], int(match[2]), int(match[3] or 1)


def dtype_of_numbers(code: int, bits: int, lanes: int) -> str:
    """Return the dtype of (code, bits, lanes). Raises `VerifyError` for numbers that mean none."""
    if code not in _NAMES or not 0 < bits <= 64 or not 0 < lanes <= 0xFFFF:
        raise VerifyError(f"({code}, {bits}, {lanes}) is no dtype")
    name = "bool" if (code, bits) == (1, 1) else f"{_NAMES[code]}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"


# ---------------------------------------------------------------- encoding
def encode(instruction: Instruction) -> list[int]:
    """Return an instruction as numbers: the opcode, then the fields in serialized order."""
    form = ISA[instruction.opcode]
    values: dict[str, Any] = dict(zip((o.name for o in form.stored), instruction.operands, strict=True))
    out = [int(instruction.opcode)]
    for operand in form.operands:
        if operand.counts:
            out.append(len(values[operand.counts]))
        elif operand.many:
            out.extend(values[operand.name])
        elif operand.kind == "dtype":
            out.extend(dtype_numbers(values[operand.name]))
        else:
            out.append(values[operand.name])
    return out


def decode(numbers: Sequence[int]) -> Instruction:
    """Return the instruction of a list of numbers. Raises `VerifyError` when it is none."""
    try:
        form = ISA[Opcode(numbers[0])]
    except (ValueError, IndexError):
        raise VerifyError(f"no instruction has the opcode {numbers[0] if numbers else '(nothing)'}") from None
    fields = iter(numbers[1:])
    counts: dict[str, int] = {}
    values: list[Any] = []
    try:
        for operand in form.operands:
            if operand.counts:
                counts[operand.counts] = _count(next(fields), len(numbers), form)
            elif operand.many:
                values.append(tuple(next(fields) for _ in range(counts[operand.name])))
            elif operand.kind == "dtype":
                values.append(dtype_of_numbers(next(fields), next(fields), next(fields)))
            else:
                values.append(next(fields))
    except (StopIteration, RuntimeError):
        raise VerifyError(f"the instruction {form.mnemonic} is cut off") from None
    if next(fields, None) is not None:
        raise VerifyError(f"the instruction {form.mnemonic} has fields left over")
    return Instruction(form.opcode, *values)


def _count(value: int, most: int, form: InstructionSpec) -> int:
    if not 0 <= value <= most:
        raise VerifyError(f"the instruction {form.mnemonic} counts {value} operands and has fewer")
    return value


# ---------------------------------------------------------------- listing
def disassemble(instruction: Instruction) -> str:
    """Return an instruction as text, such as `invoke $3 VMFunc[0]($1,$2)`."""
    form = ISA[instruction.opcode]
    shown: dict[str, str] = {}
    for operand, value in zip(form.stored, instruction.operands, strict=True):
        if operand.kind == "reg":
            shown[operand.name] = _registers(value) if operand.many else f"${value}"
        elif operand.many:
            shown[operand.name] = ", ".join(map(str, value))
        elif operand.kind == "dtype" and instruction.opcode is not Opcode.ALLOC_STORAGE:
            shown[operand.name] = "uint1" if value == "bool" else str(value)
        else:
            shown[operand.name] = str(value)
    text = form.text
    if instruction.opcode is Opcode.INVOKE_PACKED:
        split = len(instruction.args) - instruction.outputs
        shown["inputs"], shown["results"] = (
            _listed(part) for part in (instruction.args[:split], instruction.args[split:])
        )
    if instruction.opcode is Opcode.ALLOC_STORAGE and instruction.shape:
        text = "{dst} [{shape}] {dtype} {device}"
    return f"{form.mnemonic} {text.format(**shown)}".rstrip()


def _registers(registers: Sequence[int]) -> str:
    """Registers as Relay lists them: an empty list still shows its mark."""
    return ",".join(f"${r}" for r in registers) or "$"


def _listed(registers: Sequence[int]) -> str:
    return ", ".join(f"${r}" for r in registers) or "$"
