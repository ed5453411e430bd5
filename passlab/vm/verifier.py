"""The bytecode verifier: registers exist and are written before use on all paths, jumps stay inside, numbers are valid.

The file begins with checks on whole functions at once: they accept nearly all valid bytecode, and name no fault. Where
they fail, a forward dataflow analysis with a worklist finds the fault: without loops it visits each basic block once;
with loops, again whenever the set of written registers at its start shrinks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING, Any

from passlab.errors import PasslabError, VerifyError
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable, VMFunction, device_of
from passlab.vm.isa import ISA, Instruction, Opcode
from passlab.vm.isa_notation import Operand

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
    """Whether all operands are in range; `sizes` are the sizes of the tables that operands index."""
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
    """Return the operands of an instruction that are not registers and need a check, with their indices."""
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


CHUNK = 1 << 13  # registers in one bit mask: sets of neighbours share the masks that are equal


def verify(exe: Executable) -> None:
    """Raise `VerifyError`, naming function and instruction, unless every instruction can run."""
    if len(exe.kernel_names) != len(exe.kernel_functions):
        raise VerifyError(
            f"the executable has {len(exe.kernel_functions)} kernels and {len(exe.kernel_names)} names of kernels"
        )
    _check_devices(exe)
    devices = len(exe.virtual_devices)
    sizes = {  # of the tables that operands index
        "func": len(exe.functions),
        "packed": len(exe.kernel_names),
        "const": len(exe.constants),
        "device": devices,
        "src_device": devices,
        "dst_device": devices,
    }
    for function in exe.functions:
        if len(function.params) > function.register_file_size:
            raise VerifyError(
                f"{function.name}: {len(function.params)} parameters do not fit {function.register_file_size} registers"
            )
        if not function.instructions:
            raise VerifyError(f"{function.name} has no instructions")
        columns, jumps = operand_columns(function)
        # Only where something is wrong, the instructions are checked one by one, to name the one.
        if not numbers_are_valid(columns, function.register_file_size, sizes):
            for i, instruction in enumerate(function.instructions):
                _check_numbers(sizes, function, i, instruction)
        if not references_are_valid(exe, columns):
            for i, instruction in enumerate(function.instructions):
                if fault := reference_fault(exe, instruction):
                    raise _invalid(function, i, fault)
        if not flow_is_valid(function, jumps):
            _check_flow(function)


def _check_devices(exe: Executable) -> None:
    devices = range(len(exe.virtual_devices))
    indexes = exe.const_device_indexes
    if len(indexes) != len(exe.constants) or not all(i in devices for i in set(indexes)):
        raise VerifyError("a constant is on a device that does not exist")
    kernel_devices = {kernel.virtual_device for kernel in exe.kernel_functions}
    missing = {device for device in kernel_devices if device_of(device) not in exe.virtual_devices}
    for name, kernel in zip(exe.kernel_names, exe.kernel_functions, strict=True):
        if kernel.virtual_device in missing:
            raise VerifyError(f"the kernel {name} is on a device that the executable does not have")
    for function in exe.functions:
        if not all(i in devices for i in function.param_device_indexes):
            raise VerifyError(f"a parameter of {function.name} is on a device that does not exist")


def _invalid(function: VMFunction, index: int, what: str) -> VerifyError:
    return VerifyError(f"{function.name}, instruction {index} ({function.instructions[index]}): {what}")


def _check_numbers(sizes: dict[str, int], function: VMFunction, i: int, instruction: Instruction) -> None:
    for register in (*instruction.reads(), *instruction.writes()):
        if not 0 <= register < function.register_file_size:
            raise _invalid(function, i, f"there is no register ${register}")
    operands = instruction.operands
    for index, operand in checked_operands(instruction.opcode):
        value = operands[index]
        if operand.kind == "dtype":
            if not is_dtype(value):
                raise _invalid(function, i, f"{value} is not a dtype of arrays")
        elif operand.kind == "index":
            if not 0 <= value < sizes[operand.name]:
                raise _invalid(function, i, f"there is no {operand.name} {value}")
        elif any(n < 0 for n in value) if operand.many else value < 0:
            raise _invalid(function, i, f"{operand.name} is negative")


def _check_flow(function: VMFunction) -> None:
    """Check that each register is written before it is read on all paths, and that control stays in the function.

    Basic blocks are visited in the order of the code or, where a jump goes back, in reverse postorder: so the blocks of
    a function without loops are visited once. A set of written registers is a list of bit masks, which equal sets
    share; it is dropped after the last visit of its block.
    """
    code, blocks = function.instructions, _basic_blocks(function)
    goes_back = any(target <= start for start, (_, successors) in blocks.items() for target in successors)
    order = _reverse_postorder(blocks) if goes_back else {start: start for start in blocks}
    loops = goes_back and any(order[target] <= order[start] for start in order for target in blocks[start][1])
    written = [0] * (function.register_file_size // CHUNK + 1)
    for register in range(len(function.params)):
        written[register // CHUNK] |= 1 << register % CHUNK
    written_at: dict[int, list[int]] = {0: written}  # by block: the registers written on all paths to its start
    worklist = [(0, 0)]
    kill = Opcode.KILL_REGISTER
    while worklist:
        _, start = heappop(worklist)
        # The block was pushed twice; the second visit sees the same set.
        if worklist and worklist[0][1] == start:
            continue
        before, here = written_at[start] if loops else written_at.pop(start), dict[int, bool]()
        end, successors = blocks[start]
        for i in range(start, end + 1):
            for register in code[i].reads():
                if not (here[register] if register in here else before[register // CHUNK] >> register % CHUNK & 1):
                    raise _invalid(function, i, f"register ${register} is read before it is written on some path")
            for register in code[i].writes():
                here[register] = code[i].opcode is not kill
        after = _after_block(before, here) if successors else []
        for target in successors:
            old = written_at.get(target)
            if old is None:
                written_at[target] = after
                heappush(worklist, (order[target], target))
            else:
                # Masks that both sets share need no operation.
                meet = [a if a is b else a & b for a, b in zip(old, after, strict=True)]
                written_at[target] = meet
                if loops and meet != old:
                    heappush(worklist, (order[target], target))


def _basic_blocks(function: VMFunction) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Return the reachable basic blocks by first instruction: the last instruction and the successors."""
    code = function.instructions
    jumps = {i: instruction.successors(i) for i, instruction in enumerate(code) if instruction.spec.ends_block}
    heads = {target for targets in jumps.values() for target in targets}
    # A block also ends before an instruction that a jump leads to.
    ends = sorted({*jumps, *(head - 1 for head in heads), len(code) - 1})
    blocks: dict[int, tuple[int, tuple[int, ...]]] = {}
    worklist = [0]
    while worklist:
        start = worklist.pop()
        if start in blocks:
            continue
        end = ends[bisect_left(ends, start)]  # the first end that does not come before the start
        successors = jumps.get(end, (end + 1,))
        for target in successors:
            if not 0 <= target < len(code):
                raise _invalid(function, end, f"control leaves the function (to {target})")
        # Both targets of an `if` may be the same.
        blocks[start] = end, tuple(dict.fromkeys(successors))
        worklist += successors
    return blocks


def _reverse_postorder(blocks: dict[int, tuple[int, tuple[int, ...]]]) -> dict[int, int]:
    """Number blocks in reverse postorder: without loops, each after its predecessors."""
    done: dict[int, None] = {}
    seen = {0}
    stack = [(0, iter(blocks[0][1]))]
    while stack:
        start, successors = stack[-1]
        target = next((t for t in successors if t not in seen), None)
        if target is None:
            done[start] = None
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(blocks[target][1])))
    return {start: number for number, start in enumerate(reversed(done))}


def _after_block(before: list[int], here: dict[int, bool]) -> list[int]:
    """Return the set of written registers after a block that writes or kills the registers in `here`."""
    after = before.copy()
    for register, is_written in here.items():
        bit = 1 << register % CHUNK
        mask = after[register // CHUNK]
        if bool(mask & bit) != is_written:
            after[register // CHUNK] = mask ^ bit
    return after
