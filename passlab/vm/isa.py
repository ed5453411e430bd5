"""The instruction table: operands, semantics and control flow of every instruction, declared once.

How do three engines agree on an instruction? All of them (stepping, compiled, tracing) read this table, and so do the
verifier, the files, the listing and the debugger. A new instruction is a number in `Opcode` and an entry here. Elsewhere
stands what emits it; optimizations and a few checks name opcodes as well:

    declare(opcode, mnemonic, operands, listing, sentence, code, flow, effect)
                                 |         |                |
         encode decode verify <--+   disassemble    "{dst} = {from}"   each engine fills in its own texts:
         reads writes                               stepping  r[dst_] = r[from_]   a function for each form
                                                    compiled  r2 = r1              a line of a Python function

Registers belong to a call frame and hold arrays, scalars, tuples, ADT values, storages or closures. Operands are declared
in their serialized order; a listing has an order of its own, mostly with `dst` first. Lists are serialized behind their
lengths, which an `Instruction` does not store; jumps are relative to the instruction itself. `isa_notation` explains the
notation. The opcodes and their serialized forms come from Relay's virtual machine.

    >>> branch = Instruction(Opcode.IF, 0, 1, 1, 2)
    >>> str(branch), encode(branch), branch.reads(), branch.successors(10)
    ('if $0 $1 1 2', [10, 0, 1, 1, 2], (0, 1), (11, 12))
    >>> invoke = Instruction(Opcode.INVOKE, 0, 3, (1, 2))
    >>> str(invoke), encode(invoke)  # the second 2 counts the arguments
    ('invoke $3 VMFunc[0]($1,$2)', [2, 0, 2, 3, 1, 2])
    >>> decode(encode(invoke)) == invoke, Instruction(Opcode.MOVE, 1, 2).code
    (True, '{dst} = {from}')
    >>> decode([10, 0, 1])
    Traceback (most recent call last):
    passlab.errors.VerifyError: error: the instruction if is cut off

Why is the code text? A step of the debugger, a function compiled to Python and a recorded run need it in three forms.
One Python function for all three would cost a call for each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from passlab.errors import VerifyError
from passlab.ir.expr import Expr
from passlab.vm.isa_notation import Effect, Flow, InstructionSpec, declare


class Opcode(IntEnum):
    """The operation codes, with the numbers of Relay's virtual machine."""

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


# Besides its operands and texts an entry says how control goes on (`Flow`) and what the instruction makes (`Effect`, by
# which engines count memory). Further keywords are the names in its code that are no operands: what they stand for is
# computed once, when the code is filled in, and not each time that it runs.
ISA: dict[int, InstructionSpec] = {
    spec.opcode: spec
    for spec in (
        declare(Opcode.MOVE, "move", "from:reg dst:reg!", "{dst} {from}",
                "Let dst be the object in from.",
                "{dst} = {from}"),
        declare(Opcode.RET, "ret", "result:reg", "{result}",
                "Leave the frame; its caller's register becomes the object in result.",
                "{result}", Flow.RETURN),
        declare(Opcode.INVOKE, "invoke", "func:index n:count(args) dst:reg! args:reg*", "{dst} VMFunc[{func}]({args})",
                "Call a function of the executable; args become its first registers.",
                "{func}, ({args})", Flow.CALL),
        declare(Opcode.INVOKE_CLOSURE, "invoke_closure", "closure:reg n:count(args) dst:reg! args:reg*", "{dst} {closure}({args})",
                "Call a closure on its captured objects followed by args.",
                "callee({functions}, {closure}, ({args}))", Flow.CALL,
                functions=lambda env, i: env.exe.functions),
        declare(Opcode.INVOKE_PACKED, "invoke_packed", "packed:index arity:count(args) outputs:int args:reg*",
                "PackedFunc[{packed}] (in: {inputs}, out: {results})",
                "Run a kernel that reads its inputs and writes into its last `outputs` registers' tensors; tuples count by their fields.",
                "{kernel}([{inputs:tensor}], [{results}])", effect=Effect.KERNEL,
                kernel=lambda env, i: env.exe.kernels[i.packed].runner(i.outputs)),
        declare(Opcode.ALLOC_TENSOR, "alloc_tensor", "storage:reg offset:reg dtype:dtype ndim:count(shape) dst:reg! shape:int*",
                "{dst} {storage} {offset} [{shape}] {dtype}",
                "Let dst be a tensor of constant shape inside a storage, from a byte offset held in a register.",
                "{dst} = {storage}.tensor(int({offset}), {shape}, {dtype})", effect=Effect.TENSOR),
        declare(Opcode.ALLOC_TENSOR_REG, "alloc_tensor_reg", "storage:reg offset:reg shape_register:reg dtype:dtype dst:reg!",
                "{dst} {storage} {offset} {shape_register} {dtype}",
                "Let dst be a tensor inside a storage, of the shape held in a register.",
                "{dst} = {storage}.tensor(int({offset}), {shape_register:shape}, {dtype})", effect=Effect.TENSOR),
        declare(Opcode.ALLOC_ADT, "alloc_data", "tag:int n:count(fields) dst:reg! fields:reg*", "{dst} tag({tag}) [{fields}]",
                "Let dst be a data value of the given tag; tuples have tag 0.",
                # The tag 0 means a tuple, which is Python's; no constructor has it (see `constructor_tag`).
                lambda i: "{dst} = ADTValue({constructor}, ({fields:array}))" if i.tag else "{dst} = ({fields:array})",
                effect=Effect.OBJECT, constructor=lambda env, i: env.constructor(i.tag)),
        declare(Opcode.ALLOC_CLOSURE, "alloc_closure", "func:index n:count(captured) dst:reg! captured:reg*", "{dst} VMFunc[{func}]({captured})",
                "Let dst be a closure of a function over the captured objects.",
                "{dst} = VMClosure({func}, ({captured:array}))", effect=Effect.OBJECT),
        declare(Opcode.GET_FIELD, "get_field", "object:reg field:int dst:reg!", "{dst} {object}[{field}]",
                "Let dst be a field of a tuple or data value.",
                "try: {dst} = {object}[{field}] if type({object}) is tuple else {object}.fields[{field}]\n"
                "except (IndexError, AttributeError): raise no_field({object}, {field}) from None"),
        declare(Opcode.IF, "if", "test:reg target:reg true_offset:offset false_offset:offset", "{test} {target} {true_offset} {false_offset}",
                "Jump by true_offset when the numbers in test and target are equal, else by false_offset.",
                "equal({test}, {target})", Flow.TEST),
        declare(Opcode.LOAD_CONST, "load_const", "const:index device:index dst:reg!", "{dst} Const[{const}] {device}",
                "Let dst be a constant of the pool, on its device.",
                "{dst} = {constant}", constant=lambda env, i: env.exe.constants[i.const]),
        declare(Opcode.GOTO, "goto", "offset:offset", "{offset}",
                "Jump by offset.",
                flow=Flow.JUMP),
        declare(Opcode.GET_TAG, "get_tag", "object:reg dst:reg!", "{dst} {object}",
                "Let dst be the tag of a data value.",
                "{dst} = {object}.constructor.tag if type({object}) is ADTValue else no_tag({object})", effect=Effect.NUMBER),
        declare(Opcode.LOAD_CONSTI, "load_consti", "value:int dst:reg!", "{dst} {value}",
                "Let dst be a number.",
                "{dst} = {value}", effect=Effect.NUMBER),
        declare(Opcode.FATAL, "fatal", "", "",
                "Stop: no arm of a match fits.",
                "raise no_arm({node})", Flow.STOP, node=lambda env, i: i.node),
        declare(Opcode.ALLOC_STORAGE, "alloc_storage", "size:reg alignment:int dtype:dtype device:index ndim:count(shape) dst:reg! shape:int*",
                "{dst} {size} {alignment} {dtype} {device}",
                "Let dst be a new storage of the number of bytes held in size.",
                "{dst} = {new}(int({size}), {device})", effect=Effect.STORAGE,
                new=lambda env, i: env.storage(i.device)),
        declare(Opcode.SHAPE_OF, "shape_of", "tensor:reg dst:reg!", "{dst} {tensor}",
                "Let dst be the shape of a tensor, as int64.",
                "{dst} = shape_of({tensor})", effect=Effect.TENSOR),
        declare(Opcode.RESHAPE_TENSOR, "reshape_tensor", "tensor:reg shape:reg dst:reg!", "{dst} {tensor} {shape}",
                "Let dst be the same elements under another shape, without copying.",
                "try: {dst} = {tensor:tensor}.reshape({shape:shape})\n"
                "except RunError: raise\n"
                "except (ValueError, RuntimeError): raise no_shape({tensor}, {shape:shape}) from None", effect=Effect.TENSOR),
        declare(Opcode.DEVICE_COPY, "device_copy", "src:reg src_device:index dst_device:index dst:reg!", "{dst} {src} {dst_device} {src_device}",
                "Let dst be a copy on another device.",
                "{dst} = {copy}({src:tensor})", effect=Effect.TENSOR,
                copy=lambda env, i: env.exe.copier(i.src_device, i.dst_device)),
        declare(Opcode.KILL_REGISTER, "kill_register", "dst:reg!", "{dst}",
                "Forget the object in dst.",
                "{dst} = None"),
    )
}  # fmt: skip


class Instruction:
    """One instruction: its opcode, operands without counts (dtypes by name), declaration `spec`, and IR node.

    Raises `VerifyError` for a wrong number of operands.
    """

    __slots__ = ("node", "opcode", "operands", "spec")
    node: Expr | None

    def __init__(self, opcode: Opcode, *operands: Any, node: Expr | None = None) -> None:
        spec: InstructionSpec = ISA[opcode]
        if len(operands) != spec.count:
            raise VerifyError(f"{spec.mnemonic} takes {spec.count} operands, not {len(operands)}")
        self.spec = spec
        self.opcode = spec.opcode  # `opcode` may be its number
        for index in spec.lists:
            if type(operands[index]) is not tuple:
                operands = (*operands[:index], tuple(operands[index]), *operands[index + 1 :])
        self.operands: tuple[Any, ...] = operands
        self.node = node

    def __getattr__(self, name: str) -> Any:
        """Return an operand that `_operand_property` does not read: it belongs to an entry added to the table."""
        # `copy` and `pickle` read such names before `spec` is set, which would recurse without end.
        if name.startswith("__"):
            raise AttributeError(name)
        index = self.spec.operand_index.get(name)
        if index is not None:
            return self.operands[index]
        raise AttributeError(f"{self.spec.mnemonic} has no operand `{name}`")

    @property
    def code(self) -> str:
        """The Python template of its semantics, with operands in braces."""
        code = self.spec.code
        return code if isinstance(code, str) else code(self)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The registers that a kernel call reads."""
        args: tuple[int, ...] = self.args
        return args[: len(args) - self.outputs]

    @property
    def results(self) -> tuple[int, ...]:
        """The registers whose tensors a kernel call writes into."""
        args: tuple[int, ...] = self.args
        return args[len(args) - self.outputs :]

    def successors(self, index: int) -> tuple[int, ...]:
        """Return the instructions of the same function that may run after this one, which is at `index`."""
        spec = self.spec
        if spec.flow in (Flow.RETURN, Flow.STOP):
            return ()
        return tuple(index + self.operands[offset] for offset in spec.offsets) or (index + 1,)

    def reads(self) -> tuple[int, ...]:
        """Return the registers that it reads, in the order of the operands."""
        return self.spec.reads(self.operands)

    def writes(self) -> tuple[int, ...]:
        """Return the registers that it writes. A kernel changes the tensors in its result registers, not the
        registers.
        """
        return self.spec.writes(self.operands)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instruction):
            return NotImplemented
        return self.opcode is other.opcode and self.operands == other.operands

    def __hash__(self) -> int:
        return hash((self.opcode, self.operands))

    def __str__(self) -> str:
        return disassemble(self)

    __repr__ = __str__


_new = object.__new__


def new_instruction(spec: InstructionSpec, operands: tuple[Any, ...], node: Expr | None) -> Instruction:
    """Return an instruction of as many operands as it stores, lists as tuples: the compiler creates a million of them.

    It checks nothing, and takes half the time of the class.
    """
    instruction = _new(Instruction)
    instruction.spec = spec
    instruction.opcode = spec.opcode
    instruction.operands = operands
    instruction.node = node
    return instruction


def _operand_property(name: str) -> property:
    """Return the attribute that reads an operand of any instruction: in a third of the time of `__getattr__`."""

    def operand(self: Instruction) -> Any:
        try:
            return self.operands[self.spec.operand_index[name]]
        except KeyError:
            raise AttributeError(name) from None  # `__getattr__` is called, and names the instruction

    return property(operand)


for _name in dict.fromkeys(operand.name for spec in ISA.values() for operand in spec.stored):
    setattr(Instruction, _name, _operand_property(_name))


# ---------------------------------------------------------------- dtypes as three numbers
_KINDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}  # the type codes of DLPack
_NAMES = {code: name for name, code in _KINDS.items()}
_DTYPE = re.compile(r"(bfloat|float|uint|int)(\d+)(?:x(\d+))?\Z")


def dtype_numbers(dtype: str) -> tuple[int, int, int]:
    """Return (code, bits, lanes) of a dtype; bool is an unsigned integer of one bit. Raises `VerifyError`."""
    match = _DTYPE.match("uint1" if dtype == "bool" else dtype)
    if match is None:
        raise VerifyError(f"the dtype {dtype} has no encoding in bytecode")
    return _KINDS[match[1]], int(match[2]), int(match[3] or 1)


def dtype_of_numbers(code: int, bits: int, lanes: int) -> str:
    """Return the dtype of (code, bits, lanes). Raises `VerifyError` for numbers that encode none."""
    # DLPack has 16 bits for the lanes.
    if code not in _NAMES or not 0 < bits <= 64 or not 0 < lanes <= 0xFFFF:
        raise VerifyError(f"({code}, {bits}, {lanes}) is not a dtype")
    name = "bool" if (code, bits) == (1, 1) else f"{_NAMES[code]}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"


# ---------------------------------------------------------------- encoding
def encode(instruction: Instruction) -> list[int]:
    """Return an instruction as numbers: the opcode, then the operands in serialized order."""
    spec = instruction.spec
    values: dict[str, Any] = dict(zip((o.name for o in spec.stored), instruction.operands, strict=True))
    numbers = [int(instruction.opcode)]
    for operand in spec.operands:
        if operand.counts:
            numbers.append(len(values[operand.counts]))
        elif operand.many:
            numbers.extend(values[operand.name])
        elif operand.kind == "dtype":
            numbers.extend(dtype_numbers(values[operand.name]))
        else:
            numbers.append(values[operand.name])
    return numbers


def decode(numbers: Sequence[int]) -> Instruction:
    """Return the instruction that numbers encode. Raises `VerifyError` for malformed ones."""
    try:
        spec = ISA[numbers[0]]
    except (KeyError, IndexError):
        raise VerifyError(
            f"no instruction has the opcode {numbers[0]}" if numbers else "an opcode is missing"
        ) from None
    fields = iter(numbers[1:])
    counts: dict[str, int] = {}
    values: list[Any] = []
    try:
        for operand in spec.operands:
            if operand.counts:
                value = next(fields)
                if not 0 <= value <= len(numbers):  # a file may say that a list has billions of items
                    raise VerifyError(f"the instruction {spec.mnemonic} counts {value} operands and has fewer")
                counts[operand.counts] = value
            elif operand.many:
                values.append(tuple(next(fields) for _ in range(counts[operand.name])))
            elif operand.kind == "dtype":
                values.append(dtype_of_numbers(next(fields), next(fields), next(fields)))
            else:
                values.append(next(fields))
    except VerifyError:
        raise  # it is a RuntimeError, too
    except (StopIteration, RuntimeError):  # a generator turns the first into the second
        raise VerifyError(f"the instruction {spec.mnemonic} is cut off") from None
    if next(fields, None) is not None:
        raise VerifyError(f"the instruction {spec.mnemonic} has fields left over")
    return Instruction(spec.opcode, *values)


# ---------------------------------------------------------------- listing
def disassemble(instruction: Instruction) -> str:
    """Return an instruction as text, such as `invoke $3 VMFunc[0]($1,$2)`."""
    spec = instruction.spec
    texts: dict[str, str] = {}
    for operand, value in zip(spec.stored, instruction.operands, strict=True):
        if operand.kind == "reg":
            texts[operand.name] = ",".join(f"${r}" for r in value) or "$" if operand.many else f"${value}"
        elif operand.many:
            texts[operand.name] = ", ".join(map(str, value))
        # Relay's listings write bool as `uint1`, except in `alloc_storage`.
        elif operand.kind == "dtype" and instruction.opcode is not Opcode.ALLOC_STORAGE:
            texts[operand.name] = "uint1" if value == "bool" else str(value)
        else:
            texts[operand.name] = str(value)
    text = spec.listing
    if instruction.opcode is Opcode.INVOKE_PACKED:
        texts["inputs"] = ", ".join(f"${r}" for r in instruction.inputs) or "$"
        texts["results"] = ", ".join(f"${r}" for r in instruction.results) or "$"
    if instruction.opcode is Opcode.ALLOC_STORAGE and instruction.shape:
        text = "{dst} [{shape}] {dtype} {device}"
    return f"{spec.mnemonic} {text.format(**texts)}".rstrip()
