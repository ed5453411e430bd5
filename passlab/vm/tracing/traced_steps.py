"""Steps for the tracing engine: what `steps` does, in fewer Python calls where scalars make those the whole cost.

A kernel still writes into the tensor that was allocated for it, so a trace shows storages, tensors and kernels as the
listing does; only small results are computed first and then put there.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from passlab import limits
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import Storage
from passlab.vm.steps import Step

SMALL = 4096  # elements of a result that is cheaper to copy than to compute in place


def traced_step(exe: Executable, instruction: Instruction, step: Step) -> Step:
    """Return a step that does what `step` does, faster where there is a way."""
    if instruction.opcode is Opcode.INVOKE_PACKED and instruction.outputs == 1:
        return _kernel(exe, instruction, step)
    if instruction.opcode is Opcode.ALLOC_TENSOR:
        return _tensor(instruction, step)
    return _storage(instruction, step) if instruction.opcode is Opcode.ALLOC_STORAGE else step


def _kernel(exe: Executable, instruction: Instruction, step: Step) -> Step:
    compute = exe.kernels[instruction.packed].value
    if compute is None:
        return step
    *ins, out = instruction.args

    def small(r: list[Any]) -> None:
        result = r[out]
        if not 0 < result.size <= SMALL:
            step(r)
            return
        try:
            value = compute(*[r[i] for i in ins])
        except Exception:
            step(r)  # raises the error that says where in the kernel it was
            raise
        if np.shape(value) == result.shape:
            result[...] = value
        else:
            step(r)

    return small


def _tensor(instruction: Instruction, step: Step) -> Step:
    storage, offset, dtype, dst, shape = instruction.operands
    kind = array_dtype(dtype)
    size = prod(shape) * kind.itemsize

    def tensor(r: list[Any]) -> None:
        buffer, start = r[storage].buffer, r[offset]
        if int(start) == 0 and size <= buffer.size and min(shape, default=0) >= 0:
            r[dst] = np.ndarray(shape, kind, buffer)
        else:
            step(r)

    return tensor


def _storage(instruction: Instruction, step: Step) -> Step:
    size, dst, device = instruction.size, instruction.dst, instruction.device
    most = limits.current().tensor_bytes

    def storage(r: list[Any]) -> None:
        wanted = int(r[size])
        if 0 <= wanted <= most:
            r[dst] = Storage(wanted, device, np.empty(wanted, np.uint8))
        else:
            step(r)

    return storage
