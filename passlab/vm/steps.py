"""What each instruction without control does to the registers of its frame: one Python function (a `Step`) for each.

A step is made once, when a machine is made; it knows its operands and touches nothing but the registers it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.errors import RunError
from passlab.evaluate.operators import describe
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor
from passlab.ir.types import GlobalTypeVar
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.primitive import Kernel, fitted, flat_values
from passlab.vm.kernels.scalars import as_array
from passlab.vm.objects import Allocator, Storage, VMClosure

Step = Callable[[list[Any]], None]
Maker = Callable[..., Any]  # of the inputs of a kernel
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


def made_at_once(exe: Executable, i: Instruction, kinds: list[tuple[tuple[int, ...], np.dtype[Any]]]) -> Maker | None:
    """Return a function of a kernel's inputs that makes its results, instead of writing into tensors made for it.

    `kinds` are the shapes and dtypes of those tensors. One result is returned as it is, several as a list. None when
    the kernel needs the tensors.
    """
    kernel = exe.kernels[i.operands[0]]
    compute = kernel.value
    if compute is None:
        return None
    if not kernel.native:
        return _elsewhere(compute, [shape for shape, _ in kinds])
    if len(kinds) == 1 and 0 in kinds[0][0]:
        return lambda *inputs: np.empty(*kinds[0])  # nothing to compute
    if len(kinds) == 1:
        return _one_result(kernel, compute, *kinds[0])
    return _several_results(kernel, compute, kinds)


def _elsewhere(compute: Callable[..., Any], shapes: list[tuple[int, ...]]) -> Maker:
    """Return the maker of a kernel whose arrays are not NumPy's."""

    def make(*inputs: Any) -> Any:
        values = flat_values([compute(*inputs)])
        for value, shape in zip(values, shapes, strict=True):
            if tuple(value.shape) != shape:
                raise RunError(f"a kernel gave a result of shape {tuple(value.shape)} for {shape}")
        return values[0] if len(values) == 1 else values

    return make


def _several_results(
    kernel: Kernel, compute: Callable[..., Any], kinds: list[tuple[tuple[int, ...], np.dtype[Any]]]
) -> Maker:
    def several(*inputs: Any) -> list[Any]:
        try:
            values = compute(*inputs)
        except Exception:
            kernel.explain(inputs)
            raise
        if type(values) is not tuple or tuple in map(type, values):
            values = flat_values([values])
        return [fitted(value, shape, dtype) for value, (shape, dtype) in zip(values, kinds, strict=True)]

    return several


def _one_result(kernel: Kernel, compute: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Maker:
    def one(*inputs: Any) -> Any:
        try:
            value = compute(*inputs)
        except Exception:
            kernel.explain(inputs)
            raise
        if type(value) is tuple:
            (value,) = flat_values(value)
        if type(value) is not Array or value.dtype is not dtype or value.shape != shape:
            value = fitted(value, shape, dtype)
        return value

    return one


def _alloc_tensor(exe: Executable, i: Instruction) -> Step:
    storage, offset, dtype, dst, shape = i.operands
    kind = array_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), shape, kind)

    return step


def _alloc_tensor_reg(exe: Executable, i: Instruction) -> Step:
    storage, offset, row, dtype, dst = i.operands
    kind = array_dtype(dtype)

    def step(r: list[Any]) -> None:
        r[dst] = r[storage].tensor(int(r[offset]), tuple(r[row].reshape(-1).tolist()), kind)

    return step


def _alloc_adt(exe: Executable, i: Instruction) -> Step:
    tag, dst, fields = i.operands
    if tag == 0:

        def tuple_step(r: list[Any]) -> None:
            r[dst] = tuple([as_array(r[f]) for f in fields])

        return tuple_step
    # Relay's machine takes any tag: a value whose constructor the executable does not define is named by its tag
    constructor = exe.constructors.get(tag) or Constructor(f"constructor_{tag}", (), GlobalTypeVar("Unknown"), tag)

    def step(r: list[Any]) -> None:
        r[dst] = ADTValue(constructor, [as_array(r[f]) for f in fields])

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
            raise no_shape(r[tensor], wanted) from None

    return step


def no_shape(value: Any, wanted: tuple[int, ...]) -> RunError:
    """Return the error of a tensor that has not as many elements as a shape."""
    return RunError(f"{describe(value)} cannot be reshaped to {wanted}")


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
    Opcode.MOVE: _move,
    Opcode.INVOKE_PACKED: _invoke_packed,
    Opcode.ALLOC_TENSOR: _alloc_tensor,
    Opcode.ALLOC_TENSOR_REG: _alloc_tensor_reg,
    Opcode.ALLOC_ADT: _alloc_adt,
    Opcode.ALLOC_CLOSURE: _alloc_closure,
    Opcode.GET_FIELD: _get_field,
    Opcode.LOAD_CONST: _load_const,
    Opcode.GET_TAG: _get_tag,
    Opcode.LOAD_CONSTI: _load_consti,
    Opcode.ALLOC_STORAGE: _alloc_storage,
    Opcode.SHAPE_OF: _shape_of,
    Opcode.RESHAPE_TENSOR: _reshape_tensor,
    Opcode.DEVICE_COPY: _device_copy,
    Opcode.KILL_REGISTER: _kill_register,
}
