"""Bytecode is verified before it runs: registers exist and were written on every path, jumps land, numbers fit.

The check is iterative. Without loops every instruction is looked at once; with loops, the few times that a set of
registers shrinks where paths meet.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from heapq import heappop, heappush
from itertools import chain
from typing import Any

from passlab.errors import PasslabError, VerifyError
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable, VMFunction, device_of
from passlab.vm.instruction_spec import Operand
from passlab.vm.isa import ISA, Instruction, Opcode

PIECE = 1 << 13  # registers in one piece of a set


def verify(exe: Executable) -> None:
    """Raise `VerifyError`, naming function and instruction, unless every instruction can run."""
    if len(exe.kernel_names) != len(exe.kernel_functions):
        raise VerifyError("the executable names other kernels than it has")
    _check_devices(exe)
    devices = len(exe.virtual_devices)
    sizes = {  # of the tables that operands are numbers of
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
        reads = [i.spec.reads(i.operands) for i in function.instructions]
        writes = [i.spec.writes(i.operands) for i in function.instructions]
        if not _all_fit(function, sizes, (reads, writes)):
            for i, instruction in enumerate(function.instructions):
                _check_numbers(sizes, function, i, instruction)
        for i, instruction in enumerate(function.instructions):
            check = _FURTHER.get(instruction.opcode)
            if check is not None:
                check(exe, function, i, instruction)
        _check_flow(function, reads, writes)


def _check_devices(exe: Executable) -> None:
    devices = range(len(exe.virtual_devices))
    if len(exe.const_device_indexes) != len(exe.constants) or not all(i in devices for i in exe.const_device_indexes):
        raise VerifyError("a constant is on a device that does not exist")
    for name, kernel in zip(exe.kernel_names, exe.kernel_functions, strict=True):
        if device_of(kernel.virtual_device) not in exe.virtual_devices:
            raise VerifyError(f"the kernel {name} is on a device that the executable does not have")
    for function in exe.functions:
        if not all(i in devices for i in function.param_device_indexes):
            raise VerifyError(f"a parameter of {function.name} is on a device that does not exist")


def _fail(function: VMFunction, index: int, what: str) -> VerifyError:
    return VerifyError(f"{function.name}, instruction {index} ({function.instructions[index]}): {what}")


def _all_fit(function: VMFunction, sizes: dict[str, int], registers: tuple[list[tuple[int, ...]], ...]) -> bool:
    """Whether all numbers fit, told by the least and the largest of each operand: most functions need no more."""
    registers_used = [*chain.from_iterable(registers[0]), *chain.from_iterable(registers[1])]
    if registers_used and not (0 <= min(registers_used) and max(registers_used) < function.register_file_size):
        return False
    rows: dict[Opcode, list[tuple[Any, ...]]] = {}
    for instruction in function.instructions:
        rows.setdefault(instruction.opcode, []).append(instruction.operands)
    for opcode, operands in rows.items():
        for at, operand in _checked(opcode):
            column = [row[at] for row in operands]
            if operand.kind == "dtype":
                if not all(map(_is_dtype, set(column))):
                    return False
                continue
            values = list(chain.from_iterable(column)) if operand.many else column
            if values and min(values) < 0:
                return False
            if operand.kind == "index" and max(values) >= sizes[operand.name]:
                return False
    return True


def _check_numbers(sizes: dict[str, int], function: VMFunction, i: int, instruction: Instruction) -> None:
    for register in (*instruction.reads(), *instruction.writes()):
        if not 0 <= register < function.register_file_size:
            raise _fail(function, i, f"there is no register ${register}")
    operands = instruction.operands
    for at, operand in _checked(instruction.opcode):
        value = operands[at]
        if operand.kind == "dtype":
            if not _is_dtype(value):
                raise _fail(function, i, f"there are no arrays of {value}")
        elif operand.kind == "index":
            if not 0 <= value < sizes[operand.name]:
                raise _fail(function, i, f"there is no {operand.name} {value}")
        elif any(n < 0 for n in value) if operand.many else value < 0:
            raise _fail(function, i, f"{operand.name} is negative")


@cache
def _checked(opcode: Opcode) -> tuple[tuple[int, Operand], ...]:
    """Return the operands of an instruction whose values are checked, with where they stand."""
    return tuple(
        (at, operand)
        for at, operand in enumerate(ISA[opcode].stored)
        if operand.kind in ("index", "dtype")
        or (operand.kind == "int" and operand.name in ("shape", "outputs", "field", "alignment"))
    )


def _check_constant(exe: Executable, function: VMFunction, i: int, instruction: Instruction) -> None:
    if instruction.device != exe.const_device_indexes[instruction.const]:
        raise _fail(function, i, f"constant {instruction.const} is on another device")


def _check_call(exe: Executable, function: VMFunction, i: int, instruction: Instruction) -> None:
    callee = exe.functions[instruction.func]
    if len(instruction.args) != len(callee.params):
        raise _fail(function, i, f"{callee.name} takes {len(callee.params)} arguments")


def _check_closure(exe: Executable, function: VMFunction, i: int, instruction: Instruction) -> None:
    if len(instruction.captured) > len(exe.functions[instruction.func].params):
        raise _fail(function, i, "it captures more than the function takes")


def _is_dtype(dtype: str) -> bool:
    try:
        array_dtype(dtype)
    except PasslabError:
        return False
    return True


def _check_kernel(exe: Executable, function: VMFunction, i: int, instruction: Instruction) -> None:
    """Check the numbers of inputs and results. A shape function takes one input for each array."""
    kernel = exe.kernel_functions[instruction.packed]
    inputs = len(instruction.args) - instruction.outputs
    if inputs < 0:
        raise _fail(function, i, "it has more outputs than arguments")
    if not kernel.attrs.get("ShapeFunction") and inputs != len(kernel.params):
        raise _fail(function, i, f"the kernel takes {len(kernel.params)} inputs, not {inputs}")


_FURTHER = {
    Opcode.LOAD_CONST: _check_constant,
    Opcode.INVOKE: _check_call,
    Opcode.INVOKE_PACKED: _check_kernel,
    Opcode.ALLOC_CLOSURE: _check_closure,
}


def _check_flow(function: VMFunction, reads: list[tuple[int, ...]], writes: list[tuple[int, ...]]) -> None:
    """Check that every register was written, on all paths, before it is read, and that no path runs off the end.

    Blocks are visited in the order of their places, or, where some jump goes back, in reverse postorder: so those of a
    function without loops once. The registers written before a
    block are a set in pieces, which neighbours share; it is forgotten once the block was visited for the last time.
    """
    code, blocks = function.instructions, _blocks(function)
    back = any(target <= start for start, (_, following) in blocks.items() for target in following)
    order = _order(blocks) if back else {start: start for start in blocks}
    loops = back and any(order[target] <= order[start] for start in order for target in blocks[start][1])
    written = [0] * (function.register_file_size // PIECE + 1)
    for register in range(len(function.params)):
        written[register // PIECE] |= 1 << register % PIECE
    starts: dict[int, list[int]] = {0: written}
    waiting = [(0, 0)]
    while waiting:
        _, start = heappop(waiting)
        if waiting and waiting[0][1] == start:
            continue
        before, here = starts[start] if loops else starts.pop(start), dict[int, bool]()
        end, following = blocks[start]
        for i in range(start, end + 1):
            for register in reads[i]:
                if not (here[register] if register in here else before[register // PIECE] >> register % PIECE & 1):
                    raise _fail(function, i, f"register ${register} is read before it is written on some path")
            for register in writes[i]:
                here[register] = code[i].opcode is not Opcode.KILL_REGISTER
        after = _join(before, here) if following else []
        for target in following:
            met = starts.get(target)
            if met is None:
                starts[target] = after
                heappush(waiting, (order[target], target))
            else:
                both = [a if a is b else a & b for a, b in zip(met, after, strict=True)]
                starts[target] = both
                if loops and both != met:
                    heappush(waiting, (order[target], target))


def _blocks(function: VMFunction) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Return the basic blocks, by head: the last instruction and what follows."""
    code = function.instructions
    ways = {i: at.successors(i) for i, at in enumerate(code) if at.spec.parts_ways}
    heads = {target for targets in ways.values() for target in targets}
    ends = sorted({*ways, *(head - 1 for head in heads), len(code) - 1})
    blocks: dict[int, tuple[int, tuple[int, ...]]] = {}
    waiting = [0]
    while waiting:
        start = waiting.pop()
        if start in blocks:
            continue
        end = ends[bisect_left(ends, start)]
        following = ways.get(end, (end + 1,))
        for target in following:
            if not 0 <= target < len(code):
                raise _fail(function, end, f"control leaves the function (to {target})")
        blocks[start] = end, tuple(dict.fromkeys(following))
        waiting += following
    return blocks


def _order(blocks: dict[int, tuple[int, tuple[int, ...]]]) -> dict[int, int]:
    """Number blocks in reverse postorder: without loops, each after all that lead to it."""
    done: dict[int, None] = {}
    seen = {0}
    stack = [(0, iter(blocks[0][1]))]
    while stack:
        start, following = stack[-1]
        target = next((t for t in following if t not in seen), None)
        if target is None:
            done[start] = None
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(blocks[target][1])))
    return {start: number for number, start in enumerate(reversed(done))}


def _join(before: list[int], here: dict[int, bool]) -> list[int]:
    """Return the set of written registers after a block."""
    after = before.copy()
    for register, is_written in here.items():
        bit = 1 << register % PIECE
        piece = after[register // PIECE]
        if bool(piece & bit) != is_written:
            after[register // PIECE] = piece ^ bit
    return after
