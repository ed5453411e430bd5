"""The bytecode verifier: registers exist and are written before use on all paths, jumps stay inside, numbers are valid.

Most code is accepted at once by `quick_checks`. Where that fails, a forward dataflow analysis with a worklist finds the
fault: without loops it visits each basic block once; with loops, again whenever the set of written registers at its
start shrinks.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush

from passlab.errors import VerifyError
from passlab.vm.executable import Executable, VMFunction, device_of
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.quick_checks import (
    checked_operands,
    flow_is_valid,
    is_dtype,
    numbers_are_valid,
    operand_columns,
    reference_fault,
    references_are_valid,
)

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

    Basic blocks are visited in the order of the code or, where a jump goes back, in reverse postorder: so those of a
    function without loops once. A set of written registers is a list of bit masks, which equal sets share; it is
    dropped after the last visit of its block.
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
    """Return the set of written registers after a block that writes or kills those of `here`."""
    after = before.copy()
    for register, is_written in here.items():
        bit = 1 << register % CHUNK
        mask = after[register // CHUNK]
        if bool(mask & bit) != is_written:
            after[register // CHUNK] = mask ^ bit
    return after
