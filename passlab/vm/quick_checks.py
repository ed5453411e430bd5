"""The checks of the verifier on whole functions at once: they accept nearly all valid bytecode, and name no fault.

Operands are checked by columns: all values of one operand of one opcode together. That registers are written before
they are read follows from one walk backwards over code whose jumps all go ahead. Where a check fails, or gives up, the
verifier looks at each instruction and finds out what is wrong, if anything is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from passlab.errors import PasslabError
from passlab.op.dtypes import array_dtype
from passlab.vm.instruction_spec import Operand
from passlab.vm.isa import ISA, Instruction, Opcode

if TYPE_CHECKING:
    from passlab.vm.executable import Executable, VMFunction

Columns = dict[Opcode, list[tuple[Any, ...]]]  # by opcode, for each stored operand its values in the order of the code
COPIES = 16  # registers for each instruction: so many the walk backwards copies before it gives up


def operand_columns(function: VMFunction) -> tuple[Columns, list[int]]:
    """Return the operands of all instructions by opcode and operand, and the indices of the jumps."""
    rows: defaultdict[Opcode, list[tuple[Any, ...]]] = defaultdict(list)
    jumping = {opcode for opcode, spec in ISA.items() if spec.offsets}
    jumps: list[int] = []
    for index, instruction in enumerate(function.instructions):
        opcode = instruction.opcode
        rows[opcode].append(instruction.operands)
        if opcode in jumping:
            jumps.append(index)
    return {opcode: list(zip(*operands, strict=True)) for opcode, operands in rows.items()}, jumps


# ---------------------------------------------------------------- numbers
def numbers_are_valid(columns: Columns, registers: int, sizes: dict[str, int]) -> bool:
    """Whether all operands are in range; `sizes` are those of the tables that operands index."""
    for opcode, values_of in columns.items():
        # An instruction without operands has no columns.
        for operand, column in zip(ISA[opcode].stored, values_of, strict=False):
            values = list(chain.from_iterable(column)) if operand.many else column
            if operand.kind == "reg" and values and not 0 <= min(values) <= max(values) < registers:
                return False
        for index, operand in checked_operands(opcode):
            column = values_of[index]
            if operand.kind == "dtype":
                if not all(map(is_dtype, set(column))):
                    return False
                continue
            values = list(chain.from_iterable(column)) if operand.many else column
            if values and min(values) < 0:
                return False
            if operand.kind == "index" and max(values) >= sizes[operand.name]:
                return False
    return True


@cache
def checked_operands(opcode: Opcode) -> tuple[tuple[int, Operand], ...]:
    """Return the operands of an instruction that are no registers and need a check, with their indices."""
    return tuple(
        (index, operand)
        for index, operand in enumerate(ISA[opcode].stored)
        if operand.kind in ("index", "dtype")
        or (operand.kind == "int" and operand.name in ("shape", "outputs", "field", "alignment"))
    )


def is_dtype(dtype: str) -> bool:
    """Whether arrays have this dtype."""
    try:
        array_dtype(dtype)
    except PasslabError:
        return False
    return True


# ---------------------------------------------------------------- what operands refer to
def _constant_fault(exe: Executable, const: int, device: int) -> str:
    actual = exe.const_device_indexes[const]
    return "" if device == actual else f"constant {const} is on device {actual}"


def _call_fault(exe: Executable, func: int, count: int) -> str:
    callee = exe.functions[func]
    same = count == len(callee.params)
    return "" if same else f"{callee.name} takes {len(callee.params)} arguments, not {count}"


def _closure_fault(exe: Executable, func: int, count: int) -> str:
    fits = count <= len(exe.functions[func].params)
    return "" if fits else "the closure captures more values than its function has parameters"


def _kernel_fault(exe: Executable, packed: int, outputs: int, count: int) -> str:
    """Check the number of inputs and results. A shape function has one input for each array, not each parameter."""
    kernel, inputs = exe.kernel_functions[packed], count - outputs
    if inputs < 0:
        return "the call has more outputs than arguments"
    if inputs != len(kernel.params) and not kernel.attrs.get("ShapeFunction"):
        return f"the kernel takes {len(kernel.params)} inputs, not {inputs}"
    return ""


# By opcode: operands, of lists their lengths, and the function of these that returns what is wrong, "" for nothing.
_REFERENCES: dict[Opcode, tuple[tuple[str, ...], Callable[..., str]]] = {
    Opcode.LOAD_CONST: (("const", "device"), _constant_fault),
    Opcode.INVOKE: (("func", "args"), _call_fault),
    Opcode.INVOKE_PACKED: (("packed", "outputs", "args"), _kernel_fault),
    Opcode.ALLOC_CLOSURE: (("func", "captured"), _closure_fault),
}


def references_are_valid(exe: Executable, columns: Columns) -> bool:
    """Whether constants, functions and kernels are what their users take them for. Equal uses are checked once."""
    for opcode, (names, fault) in _REFERENCES.items():
        if opcode not in columns:
            continue
        spec, values = ISA[opcode], []
        for name in names:
            column = columns[opcode][spec.operand_index[name]]
            values.append(map(len, column) if spec.by_name[name].many else column)
        if any(fault(exe, *use) for use in set(zip(*values, strict=True))):
            return False
    return True


def reference_fault(exe: Executable, instruction: Instruction) -> str:
    """Return what is wrong with the constant, function or kernel that an instruction uses, "" for nothing."""
    if instruction.opcode not in _REFERENCES:
        return ""
    names, fault = _REFERENCES[instruction.opcode]
    lists = instruction.spec.by_name
    operands = [getattr(instruction, name) for name in names]
    return fault(exe, *[len(o) if lists[name].many else o for name, o in zip(names, operands, strict=True)])


# ---------------------------------------------------------------- flow
def flow_is_valid(function: VMFunction, jumps: list[int]) -> bool:
    """Whether control stays in the function, and each register is written before it is read on all paths.

    `jumps` are the indices of the jumps. A walk backwards has the registers that are read before they are written on
    some path from here: at the start these must be parameters, and none may be killed. It gives up, which says nothing,
    where a jump goes back, where code that control never reaches would be invalid, and where many registers are read
    behind many jumps.
    """
    code = function.instructions
    targets = _jump_targets(function, jumps)
    if targets is None:
        return False
    kill, copies = Opcode.KILL_REGISTER, COPIES * len(code)
    at: dict[int, frozenset[int]] = {}  # the needed registers at each target of a jump
    needed = set[int]()
    for index in range(len(code) - 1, -1, -1):
        instruction = code[index]
        spec, operands = instruction.spec, instruction.operands
        if spec.ends_block:
            needed = set[int]()
            for offset in spec.offsets:
                needed |= at[index + operands[offset]]
        for register in spec.writes(operands):
            if register in needed:
                if instruction.opcode is kill:
                    return False
                needed.remove(register)
        needed.update(spec.reads(operands))
        if index in targets:
            copies -= len(needed)
            if copies < 0:
                return False
            at[index] = frozenset(needed)
    return max(needed, default=-1) < len(function.params)


def _jump_targets(function: VMFunction, jumps: list[int]) -> set[int] | None:
    """Return the instructions that jumps lead to, None unless all of them lie ahead and the last one ends the code."""
    code, targets = function.instructions, set[int]()
    if not code[-1].spec.ends_block:
        return None
    for index in jumps:
        instruction = code[index]
        for offset in instruction.spec.offsets:
            ahead = instruction.operands[offset]
            if not 0 < ahead < len(code) - index:
                return None
            targets.add(index + ahead)
    return targets
