"""The analysis of a function of bytecode before it is compiled to Python: basic blocks, constants, and allocations.

A tensor of the virtual machine is made in three steps: a storage, the tensor in it, and the kernel that writes into it.
Where the storage has no other use, the first two are dropped, and the kernel allocates its result as NumPy does:

    >>> import passlab
    >>> exe = passlab.vm.compile(passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(tanh(%x)) }"))
    >>> blocks = FunctionBlocks(exe, exe.functions[0])
    >>> for pc, instruction in enumerate(blocks.code):
    ...     fate = "is dropped" if pc in blocks.dropped else "allocates" if pc in blocks.makers else "stays"
    ...     print(instruction, fate)
    load_const $1 Const[0] 0 is dropped
    alloc_storage $2 $1 64 float32 0 is dropped
    load_const $3 Const[1] 0 is dropped
    alloc_tensor $4 $2 $3 [3] float32 is dropped
    kill_register $2 is dropped
    invoke_packed PackedFunc[0] (in: $0, out: $4) allocates
    kill_register $0 stays
    ret $4 stays

Constants are dropped because they become globals of the generated text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from passlab.errors import RunError
from passlab.op.dtypes import array_dtype
from passlab.op.user_kernels import wrong_shape
from passlab.vm.engines.templates import Environment
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.isa_notation import Effect
from passlab.vm.kernels.primitive import Kernel, fit, flat_values

# A kernel that allocates its results (`result_maker` below): a function from its inputs to them, and their kinds.
Maker = Callable[..., Any]
Kinds = list[tuple[tuple[int, ...], np.dtype[Any]]]  # shapes and dtypes


class _Storage(NamedTuple):
    """A storage that is not allocated: its bytes, and the pc of the kernel that allocates the tensor in it."""

    size: int
    kernel: int


class FunctionBlocks:
    """The analysis of one function. With `own_memory`, tensors live in the storages of an allocator.

    `presets` are the registers that hold constants. `ends` maps the first instruction of each basic block to its last.
    A block may also end because a jump leads to the next instruction: then to that one. `entries` counts the
    predecessors of a block. `dropped` are the instructions that get no line of their own, `makers` the kernels that
    allocate their results by pc, and `storages` the dropped allocations for them by pc.
    """

    def __init__(self, exe: Executable, function: VMFunction, own_memory: bool = False) -> None:
        self.exe = exe
        self.code = function.instructions
        self.reads = Counter(r for i in self.code for r in i.reads())
        self.writers: dict[int, list[int]] = {}
        for pc, instruction in enumerate(self.code):
            if instruction.opcode is not Opcode.KILL_REGISTER:
                for register in instruction.writes():
                    self.writers.setdefault(register, []).append(pc)
        self.param_count = len(function.params)
        self.presets = self._presets()
        self.entries: Counter[int] = Counter()
        self.ends = self._basic_blocks()
        self.dropped: set[int] = set()
        self.makers: dict[int, tuple[Maker, Kinds]] = {}
        self.storages: dict[int, _Storage] = {}
        if not own_memory:
            for start, end in self.ends.items():
                for pc in range(start, end):
                    if self.code[pc].spec.effect is Effect.KERNEL:
                        self._allocate_in_kernel(pc, start)
        self._drop_dead_code()

    def _presets(self) -> dict[int, Any]:
        presets: dict[int, Any] = {}
        for register, writers in self.writers.items():
            instruction = self.code[writers[0]]
            name = instruction.spec.copied_name
            # With one writer a register holds the constant at each read: the verifier found no read before a write.
            if len(writers) > 1 or register < self.param_count or not name:
                continue
            if name in instruction.spec.constants:
                presets[register] = instruction.spec.constants[name](Environment(self.exe), instruction)
            elif type(value := getattr(instruction, name)) is int and instruction.spec.kind(name) == "int":
                presets[register] = value
        return presets

    def _basic_blocks(self) -> dict[int, int]:
        """Find the basic blocks, count the predecessors of each, and return their ends by head."""
        heads = {0}
        self.entries[0] = 1  # the call of the function
        for pc, instruction in enumerate(self.code):
            if instruction.spec.transfers_control:
                successors = instruction.successors(pc)
                heads.update(successors)
                self.entries.update(successors)
        ends = {}
        for head in sorted(heads):
            end = head
            while not self.code[end].spec.transfers_control:
                end += 1
                if end in heads:  # a jump leads here: another basic block
                    self.entries[end] += 1
                    break
            ends[head] = end
        return ends

    # ------------------------------------------------------------ kernels that allocate their results
    def _allocate_in_kernel(self, pc: int, start: int) -> None:
        """Let a kernel allocate its results where their storages have no other use."""
        call = self.code[pc]
        outs, ins = call.results, call.inputs
        # A kernel that reads or writes one of its results twice needs the tensors.
        if not outs or len(set(outs)) < len(outs) or not set(outs).isdisjoint(ins):
            return
        allocations: list[int] = []
        kinds: Kinds = []
        for out in outs:
            allocation = self._allocation(out, start, pc)
            if allocation is None:
                return
            allocations += allocation
            tensor = self.code[allocation[1]]
            kinds.append((tensor.shape, array_dtype(tensor.dtype)))
        try:
            maker = result_maker(self.exe.kernels[call.packed], kinds)
        except RunError:  # the instruction raises the error when it is reached
            return
        if maker is not None:
            self.dropped.update(allocations)
            self.makers[pc] = maker, kinds
            for storage in allocations[::2]:  # pairs of storage and tensor
                self.storages[storage] = _Storage(int(self.presets[self.code[storage].size]), pc)

    def _allocation(self, out: int, start: int, pc: int) -> tuple[int, int] | None:
        """Return the pcs that allocate a tensor's storage and the tensor, if only for the call at `pc` of the block."""
        tensor = self._only_writer(out, Opcode.ALLOC_TENSOR, start, pc)
        if tensor is None:
            return None
        storage, offset = tensor[1].operands[:2]
        result = self._only_writer(storage, Opcode.ALLOC_STORAGE, start, tensor[0])
        offset_value = self.presets.get(offset)
        if result is None or self.reads[storage] > 1 or offset_value is None or int(offset_value) != 0:
            return None
        size = self.presets.get(result[1].size)
        kind = array_dtype(tensor[1].dtype)
        # A product of floats does not overflow, however large the numbers in a file are.
        if size is None or np.prod(tensor[1].shape, dtype=np.float64) * kind.itemsize > int(size):
            return None  # the instructions raise the error
        # The tensor is used before the kernel has written it, so it must exist.
        if any(out in self.code[i].reads() for i in range(tensor[0] + 1, pc)):
            return None
        return result[0], tensor[0]

    def _only_writer(self, register: int, opcode: Opcode, start: int, end: int) -> tuple[int, Instruction] | None:
        writers = self.writers.get(register, [])
        if len(writers) != 1 or not start <= writers[0] < end or register < self.param_count:
            return None
        instruction = self.code[writers[0]]
        return (writers[0], instruction) if instruction.opcode is opcode else None

    def _drop_dead_code(self) -> None:
        """Drop instructions that write or kill constants, and kills of dropped storages."""
        dead = {r for pc in self.dropped for r in self.code[pc].writes()}
        # The results of these kernels are still written, by the kernels themselves.
        dead -= {r for pc in self.makers for r in self.code[pc].args}
        for pc, instruction in enumerate(self.code):
            written = instruction.writes()
            if written and (written[0] in self.presets or written[0] in dead):
                self.dropped.add(pc)


# ---------------------------------------------------------------- result makers
# Kernels that allocate their results, for calls whose planned storages have no other use.
Array = np.ndarray


def result_maker(kernel: Kernel, kinds: Kinds) -> Maker | None:
    """Return a function of a kernel's inputs that allocates its results instead of writing into tensors.

    `kinds` are the shapes and dtypes of the results. It returns one result, or a list of several. None where the kernel
    can only write into tensors.
    """
    compute = kernel.value
    if compute is None:
        return None
    if not kernel.native:
        return _foreign_results(compute, [shape for shape, _ in kinds])
    if len(kinds) == 1 and 0 in kinds[0][0]:
        return lambda *inputs: np.empty(*kinds[0])  # nothing to compute
    if len(kinds) == 1:
        return _one_result(kernel, compute, *kinds[0])
    return _several_results(kernel, compute, kinds)


def _foreign_results(compute: Callable[..., Any], shapes: list[tuple[int, ...]]) -> Maker:
    """Return the maker of a kernel whose arrays are not NumPy's."""

    def make(*inputs: Any) -> Any:
        values = flat_values([compute(*inputs)])
        for value, shape in zip(values, shapes, strict=True):
            if tuple(value.shape) != shape:
                raise wrong_shape(tuple(value.shape), shape)
        return values[0] if len(values) == 1 else values

    return make


def _several_results(kernel: Kernel, compute: Callable[..., Any], kinds: Kinds) -> Maker:
    def several(*inputs: Any) -> list[Any]:
        try:
            values = compute(*inputs)
        except Exception:
            kernel.explain(inputs)
            raise
        if type(values) is not tuple or tuple in map(type, values):
            values = flat_values([values])
        return [fit(value, shape, dtype) for value, (shape, dtype) in zip(values, kinds, strict=True)]

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
            value = fit(value, shape, dtype)
        return value

    return one
