"""Which instruction of the virtual machine is wrong: bytecode compared with the semantics of each instruction.

The stepping engine runs a program. After each instruction the registers are compared with its semantics and with the
evaluator's value of the node that the instruction implements. Where all agree and the result of the compiled engine is
still wrong, the fault is in the Python text that this engine generates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import disagreement
from passlab.evaluate.values import ADTValue, Value
from passlab.ir.expr import Expr, If, Match
from passlab.ir.module import IRModule
from passlab.vm.compiling.compiler import generate
from passlab.vm.executable import Executable
from passlab.vm.interpreter import Machine
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import VMClosure

MOST = 20_000  # instructions that are checked
CLOSE = 64  # units in the last place: kernels round otherwise than the evaluator
# Nearly all programs have these: they are named only where a program has no other instruction.
_COMMON = frozenset((
    Opcode.RET, Opcode.LOAD_CONST, Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.INVOKE_PACKED,
    Opcode.KILL_REGISTER, Opcode.MOVE, Opcode.LOAD_CONSTI, Opcode.GOTO,
))  # fmt: skip


def wrong_instruction(manifest: IRModule, arguments: Sequence[Any], compiled: bool = True) -> str:
    """Return the wrong instruction of a program with explicit allocations, in words; "" where none is known.

    With `compiled` the compiled engine is compared, too, where the stepping engine is right.
    """
    try:
        exe = generate(manifest)
        values = Evaluator(manifest).values("main", arguments)
    except PasslabError as error:
        return f"the code is refused: {error.diagnostics[0].message}"
    expected = values.get(manifest["main"].body)
    stepped = _step_through(exe, arguments, values, one_kernel=not compiled)
    if stepped or not compiled:
        return stepped
    inputs = [a if isinstance(a, (tuple, ADTValue)) else np.asarray(a) for a in arguments]
    try:
        result = Machine(exe).invoke(exe.global_map["main"], inputs)
    except PasslabError as error:
        rare = _unusual_instructions(exe)
        return f"{rare}, in the Python text of the compiled engine ({error.diagnostics[0].message})" if rare else ""
    rare = "" if expected is None or _same_machine_value(expected, result) else _unusual_instructions(exe)
    return f"{rare}, in the Python text of the compiled engine" if rare else ""


def _unusual_instructions(exe: Executable) -> str:
    """Name the unusual instructions of a small program; "" where it only calls kernels."""
    opcodes = dict.fromkeys(i.opcode for f in exe.functions for i in f.instructions)
    special = [o for o in opcodes if o not in _COMMON] or ([] if Opcode.INVOKE_PACKED in opcodes else [*opcodes])
    return ", ".join(
        f"`{next(i for f in exe.functions for i in f.instructions if i.opcode is o).spec.mnemonic}`" for o in special
    )


def _step_through(exe: Executable, arguments: Sequence[Any], values: dict[Expr, Any], one_kernel: bool) -> str:
    """Run step by step and return the first instruction that violates its semantics; "" where none does.

    With `one_kernel`, an instruction that only packs wrong results of a kernel is not blamed.
    """
    main = exe.global_map["main"]
    machine = Machine(exe)
    machine.start(main, list(arguments))
    tensors: dict[int, Expr] = {}  # by register of `main`, the nodes whose memory they hold
    for _ in range(MOST):
        if not machine.frames:
            return ""
        frame, depth = machine.frames[-1], len(machine.frames)
        instruction = exe.functions[frame.func_index].instructions[frame.pc]
        at, before = frame.pc, list(frame.registers)  # copies, since `step` overwrites both
        outer = frame.func_index == main and depth == 1
        name = f"`{instruction.spec.mnemonic}`"
        try:
            is_running = machine.step()
        except PasslabError as error:
            return f"{name} (it fails: {error.diagnostics[0].message})"
        if not is_running:
            return ""
        now = machine.frames[-1]
        # A call or a return changes the frame; registers are compared only within one frame.
        if not _follows_semantics(
            exe, instruction, at, before, now, frame.registers if len(machine.frames) == depth else None
        ):
            return name
        if outer and instruction.opcode in _MEMORY and instruction.node is not None:
            tensors[instruction.writes()[0]] = instruction.node
        if (
            outer
            and instruction.opcode is Opcode.INVOKE_PACKED
            and _permutes_results(instruction, before, tensors, values)
        ):
            return name
        if one_kernel and instruction.opcode is Opcode.ALLOC_ADT and _packs_other_fields(instruction, before, values):
            return ""
        if outer and len(machine.frames) == depth and _wrote_other_value(instruction, frame.registers, values):
            return f"`{type(instruction.node).__name__.lower()}`" if isinstance(instruction.node, (If, Match)) else name
    return ""


def _follows_semantics(
    exe: Executable, i: Instruction, at: int, before: list[Any], now: Any, after: list[Any] | None
) -> bool:
    """Whether an instruction did what its semantics say."""
    if i.opcode is Opcode.GOTO:
        return bool(now.pc == at + i.offset)
    if i.opcode is Opcode.IF:
        same = int(np.asarray(before[i.test])) == int(np.asarray(before[i.target]))
        return bool(now.pc == at + (i.true_offset if same else i.false_offset))
    if i.opcode in (Opcode.INVOKE, Opcode.INVOKE_CLOSURE):
        args = [before[a] for a in i.args]
        if i.opcode is Opcode.INVOKE_CLOSURE:
            args = [*before[i.closure].captured, *args]
        return all(a is b for a, b in zip(args, now.registers, strict=False))
    if after is None:
        return True
    semantics = _SEMANTICS.get(i.opcode)
    return semantics is None or _same_machine_value(semantics(exe, i, before), after[i.writes()[0]])


def _field_value(exe: Executable, i: Instruction, r: list[Any]) -> Value:
    whole = r[i.object]
    return whole[i.field] if isinstance(whole, tuple) else whole.fields[i.field]


def _packed_value(exe: Executable, i: Instruction, r: list[Any]) -> Value:
    fields = tuple(np.asarray(v) if isinstance(v := r[f], (int, np.generic)) else v for f in i.fields)
    return fields if i.tag == 0 else ADTValue(exe.constructors[i.tag], fields) if i.tag in exe.constructors else None


_MEMORY = (Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)
_SEMANTICS: dict[Opcode, Any] = {
    Opcode.MOVE: lambda exe, i, r: r[i.operands[0]],
    Opcode.GET_FIELD: _field_value,
    Opcode.LOAD_CONST: lambda exe, i, r: exe.constants[i.operands[0]],
    Opcode.LOAD_CONSTI: lambda exe, i, r: i.operands[0],
    Opcode.GET_TAG: lambda exe, i, r: r[i.object].constructor.tag,
    Opcode.ALLOC_ADT: _packed_value,
    Opcode.SHAPE_OF: lambda exe, i, r: np.array(r[i.tensor].shape, np.int64),
    Opcode.RESHAPE_TENSOR: lambda exe, i, r: np.array(list(r[i.tensor].flat), r[i.tensor].dtype).reshape(
        tuple(int(n) for n in r[i.shape].reshape(-1))
    ),
}


def _wrote_other_value(i: Instruction, registers: list[Any], values: dict[Expr, Any]) -> bool:
    """Whether an instruction wrote another value than the evaluator computes for its node."""
    if i.node is None or i.node not in values or i.opcode in (Opcode.LOAD_CONSTI, Opcode.GET_TAG, Opcode.KILL_REGISTER):
        return False
    if i.opcode in (Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.ALLOC_CLOSURE):
        return False
    # Of the instructions of a branch, only the last `Move` writes its value.
    if isinstance(i.node, (If, Match)) and i.opcode is not Opcode.MOVE:
        return False
    written = i.writes()
    if not written or isinstance(i.node, Match):
        return False
    return not _same_machine_value(values[i.node], registers[written[0]])


def _permutes_results(i: Instruction, registers: list[Any], tensors: dict[int, Expr], values: dict[Expr, Any]) -> bool:
    """Whether a kernel wrote the right results to the wrong registers."""
    outs = [at for at in i.args if at in tensors and tensors[at] in values]
    right = [_same_machine_value(values[tensors[at]], registers[at]) for at in outs]
    if len(outs) < 2 or all(right):
        return False
    left = [values[tensors[at]] for at in outs]
    for at in outs:  # the results are a permutation of the right ones
        index = next((n for n, value in enumerate(left) if _same_machine_value(value, registers[at])), None)
        if index is None:
            return False
        del left[index]
    return True


def _packs_other_fields(i: Instruction, registers: list[Any], values: dict[Expr, Any]) -> bool:
    """Whether the fields that an instruction packs are not a permutation of the right ones."""
    whole = None if i.node is None else values.get(i.node)
    fields = list(whole if isinstance(whole, tuple) else whole.fields if isinstance(whole, ADTValue) else ())
    for at in i.fields:
        index = next((n for n, field in enumerate(fields) if _same_machine_value(field, registers[at])), None)
        if index is None:
            return True
        del fields[index]
    return False


def _same_machine_value(expected: Any, value: Any) -> bool:
    """Whether two values of the machine agree up to rounding; functions and storages always count as equal."""
    if value is expected:
        return True
    if isinstance(value, VMClosure) or isinstance(expected, VMClosure) or callable(expected):
        return True
    if isinstance(value, (int, float, np.generic)) or isinstance(expected, (int, float, np.generic)):
        return bool(np.array_equal(np.asarray(value), np.asarray(expected), equal_nan=True))
    if not isinstance(expected, (np.ndarray, tuple, ADTValue)) or not isinstance(value, (np.ndarray, tuple, ADTValue)):
        return True
    return disagreement(expected, value, CLOSE) is None
