"""What each instruction without control does to the registers of its frame: one Python function (a `Step`) for each.

A step is made once, when a machine is made; it knows its operands and touches nothing but the registers it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels import Kernel, fitted, flat_values, numpy_dtype
from passlab.vm.objects import Allocator, Storage, VMClosure
from passlab.vm.scalars import scalar_positions

Step = Callable[[list[Any]], None]
Array = np.ndarray


def _move(exe: Executable, i: Instruction) -> Step:
    source, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = r[source]

    return step


def _invoke_packed(exe: Executable, i: Instruction) -> Step:
    packed, outputs, args = i.operands
    kernel = exe.kernels[packed]
    ins, outs = args[: len(args) - outputs], args[len(args) - outputs :]

    def step(r: list[Any]) -> None:
        results = [r[a] for a in outs]
        if len(results) == 1 and results[0].size == 0:
            return  # nothing to compute
        inputs = [r[a] for a in ins]
        try:
            if tuple in map(type, inputs):
                kernel.into(flat_values(inputs), results)
            else:
                kernel.into(inputs, results)
        except Exception:
            if not kernel.shapes:
                kernel.explain(inputs)
            raise

    return step


def made_at_once(exe: Executable, i: Instruction, kinds: list[tuple[tuple[int, ...], np.dtype[Any]]]) -> Step | None:
    """Return the step of a kernel call that makes its results itself, instead of writing into tensors made for it.

    `kinds` are the shapes and dtypes of those tensors. None when the kernel needs them.
    """
    packed, outputs, args = i.operands
    kernel = exe.kernels[packed]
    compute = kernel.value
    ins, outs = args[: len(args) - outputs], args[len(args) - outputs :]
    if compute is None:
        return None
    if not kernel.native:
        return _elsewhere(compute, ins, outs, [shape for shape, _ in kinds])
    scalars = [ins[p] for p in scalar_positions(kernel.function)]
    making = _making(kernel, compute, ins, outs, kinds)
    making = with_arrays(scalars, making) if scalars else making
    if kernel.scalar is None or outputs != 1:
        return making
    return _on_scalars(kernel.scalar, ins, outs[0], kinds[0][1].type, making)


def _elsewhere(compute: Callable[..., Any], ins: tuple[int, ...], outs: tuple[int, ...], shapes: list[Any]) -> Step:
    """Return the step of a kernel whose arrays are not NumPy's."""

    def step(r: list[Any]) -> None:
        values = flat_values([compute(*[r[a] for a in ins])])
        for out, value, shape in zip(outs, values, shapes, strict=True):
            if tuple(value.shape) != shape:
                raise RunError(f"a kernel gave a result of shape {tuple(value.shape)} for {shape}")
            r[out] = value

    return step


def _on_scalars(compute: Callable[..., Any], ins: tuple[int, ...], out: int, kind: type, otherwise: Step) -> Step:
    """Return the step of arithmetic on numbers: they stay scalars in the registers of the running engine.

    A result of another type than `kind` says that the registers hold something else; `otherwise` deals with that.
    """
    if len(ins) == 1:
        (a,) = ins

        def one(r: list[Any]) -> None:
            value = compute(r[a])
            if type(value) is kind:
                r[out] = value
            else:
                otherwise(r)

        return one
    if len(ins) == 2:
        a, b = ins

        def two(r: list[Any]) -> None:
            value = compute(r[a], r[b])
            if type(value) is kind:
                r[out] = value
            else:
                otherwise(r)

        return two

    def many(r: list[Any]) -> None:
        value = compute(*[r[a] for a in ins])
        if type(value) is kind:
            r[out] = value
        else:
            otherwise(r)

    return many


def with_arrays(registers: Sequence[int], step: Step) -> Step:
    """Return a step before which the scalars in some registers become arrays."""

    def run(r: list[Any]) -> None:
        for a in registers:
            if isinstance(r[a], np.generic):
                r[a] = np.asarray(r[a])
        step(r)

    return run


def _making(
    kernel: Kernel,
    compute: Callable[..., Any],
    ins: tuple[int, ...],
    outs: tuple[int, ...],
    kinds: list[tuple[tuple[int, ...], np.dtype[Any]]],
) -> Step:
    outputs = len(outs)
    if outputs == 1 and 0 in kinds[0][0]:
        return lambda r: r.__setitem__(outs[0], np.empty(*kinds[0]))  # nothing to compute
    if outputs == 1:
        return _one_result(kernel, compute, ins, outs[0], *kinds[0])

    def several(r: list[Any]) -> None:
        inputs = [r[a] for a in ins]
        try:
            values = flat_values([compute(*inputs)])
        except Exception:
            kernel.explain(inputs)
            raise
        for out, value, (shape, dtype) in zip(outs, values, kinds, strict=True):
            r[out] = fitted(value, shape, dtype)

    return several


def _one_result(
    kernel: Kernel, compute: Callable[..., Any], ins: tuple[int, ...], out: int, shape: tuple[int, ...], dtype: Any
) -> Step:
    def explained(r: list[Any]) -> None:
        kernel.explain([r[a] for a in ins])

    if len(ins) == 1:
        (a,) = ins

        def one(r: list[Any]) -> None:
            try:
                value = compute(r[a])
            except Exception:
                explained(r)
                raise
            if type(value) is not Array or value.dtype is not dtype or value.shape != shape:
                value = fitted(value, shape, dtype)
            r[out] = value

        return one
    if len(ins) == 2:
        a, b = ins

        def two(r: list[Any]) -> None:
            try:
                value = compute(r[a], r[b])
            except Exception:
                explained(r)
                raise
            if type(value) is not Array or value.dtype is not dtype or value.shape != shape:
                value = fitted(value, shape, dtype)
            r[out] = value

        return two

    def many(r: list[Any]) -> None:
        try:
            value = compute(*[r[a] for a in ins])
        except Exception:
            explained(r)
            raise
        r[out] = fitted(value, shape, dtype)

    return many


def _alloc_tensor(exe: Executable, i: Instruction) -> Step:
    storage, offset, dtype, dst, shape = i.operands
    kind = numpy_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), shape, kind)

    return step


def _alloc_tensor_reg(exe: Executable, i: Instruction) -> Step:
    storage, offset, row, dtype, dst = i.operands
    kind = numpy_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), tuple(r[row].reshape(-1).tolist()), kind)

    return step


def _alloc_adt(exe: Executable, i: Instruction) -> Step:
    tag, dst, fields = i.operands
    if tag == 0:

        def tuple_step(r: list[Any]) -> None:
            r[dst] = tuple([r[f] for f in fields])

        return tuple_step
    constructor = exe.constructors.get(tag)
    if constructor is None:
        raise RunError(f"the executable has no constructor with the tag {tag}")

    def step(r: list[Any]) -> None:
        r[dst] = ADTValue(constructor, [r[f] for f in fields])

    return step


def _alloc_closure(exe: Executable, i: Instruction) -> Step:
    func, dst, captured = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = VMClosure(func, tuple([r[c] for c in captured]))

    return step


def _get_field(exe: Executable, i: Instruction) -> Step:
    source, field, dst = i.operands

    def step(r: list[Any]) -> None:
        value = r[source]
        try:
            r[dst] = value[field] if type(value) is tuple else value.fields[field]
        except (IndexError, AttributeError):
            raise RunError(f"there is no field {field} in {describe(value)}") from None

    return step


def _load_const(exe: Executable, i: Instruction) -> Step:
    const, _, dst = i.operands
    value = exe.constants[const]

    def step(r: list[Any]) -> None:
        r[dst] = value

    return step


def _get_tag(exe: Executable, i: Instruction) -> Step:
    source, dst = i.operands

    def step(r: list[Any]) -> None:
        value = r[source]
        if not isinstance(value, ADTValue):
            raise RunError(f"{describe(value)} has no tag")
        r[dst] = value.constructor.tag

    return step


def _load_consti(exe: Executable, i: Instruction) -> Step:
    value, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = value

    return step


def _alloc_storage(exe: Executable, i: Instruction) -> Step:
    size, _, _, device, dst, _ = i.operands
    make = exe.providers[device].storage if exe.providers else Storage

    def step(r: list[Any]) -> None:
        r[dst] = make(int(r[size]), device)

    return step


def allocating(allocator: Allocator, i: Instruction) -> Step:
    """Return the step of an `alloc_storage` whose memory comes from an allocator."""
    size, _, _, device, dst, _ = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = allocator.storage(int(r[size]), device)

    return step


def _shape_of(exe: Executable, i: Instruction) -> Step:
    tensor, dst = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = np.array(r[tensor].shape, np.int64)

    return step


def _reshape_tensor(exe: Executable, i: Instruction) -> Step:
    tensor, shape, dst = i.operands

    def step(r: list[Any]) -> None:
        wanted = tuple(r[shape].reshape(-1).tolist())
        try:
            r[dst] = r[tensor].reshape(wanted)
        except (ValueError, RuntimeError):
            raise RunError(f"{describe(r[tensor])} cannot be reshaped to {wanted}") from None

    return step


def _device_copy(exe: Executable, i: Instruction) -> Step:
    source, here, there, dst = i.operands
    copy = exe.copier(here, there)

    def step(r: list[Any]) -> None:
        r[dst] = copy(r[source])

    return step


def _kill_register(exe: Executable, i: Instruction) -> Step:
    (dst,) = i.operands

    def step(r: list[Any]) -> None:
        r[dst] = None

    return step


STEPS: dict[Opcode, Callable[[Executable, Instruction], Step]] = {
    Opcode.MOVE: _move, Opcode.INVOKE_PACKED: _invoke_packed, Opcode.ALLOC_TENSOR: _alloc_tensor,
    Opcode.ALLOC_TENSOR_REG: _alloc_tensor_reg, Opcode.ALLOC_ADT: _alloc_adt, Opcode.ALLOC_CLOSURE: _alloc_closure,
    Opcode.GET_FIELD: _get_field, Opcode.LOAD_CONST: _load_const, Opcode.GET_TAG: _get_tag,
    Opcode.LOAD_CONSTI: _load_consti, Opcode.ALLOC_STORAGE: _alloc_storage, Opcode.SHAPE_OF: _shape_of,
    Opcode.RESHAPE_TENSOR: _reshape_tensor, Opcode.DEVICE_COPY: _device_copy, Opcode.KILL_REGISTER: _kill_register,
}  # fmt: skip
