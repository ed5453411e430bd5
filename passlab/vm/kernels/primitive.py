"""Kernels: a primitive function compiled once to straight-line NumPy calls.

A kernel runs in one of two ways: `into(inputs, results)` writes into existing arrays, with tuples flattened, as for
`invoke_packed`; `value(*inputs)` allocates its results, which saves allocations and copies. The caller switches NumPy's
warnings off (`np.errstate`) once for a whole run, since that costs more than an addition.

The elementwise operators at the end of a kernel, its tail, are computed block by block. The file begins with
the memory that kernels reuse.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, type_in_words
from passlab.evaluate.operators import values_inside
from passlab.evaluate.shape_functions import NOTHING, shape_kernel
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.op import Op, OpPattern, Trait, is_op_call
from passlab.ir.types import TensorType, TupleType, fold_tuple, tensor_types
from passlab.ir.walk import children, post_order
from passlab.op.dtypes import array_dtype
from passlab.op.user_kernels import typed_kernel, wrong_shape
from passlab.threads import share
from passlab.vm.generated_code import function_of
from passlab.vm.kernels.kernel_text import KernelText, Names
from passlab.vm.kernels.scalars import scalar_function

# ---------------------------------------------------------------- memory that kernels reuse
# Memory of results that is used again as soon as it is free, because what was written last is still in a cache. Each
# piece begins with a line of cache, so that vectors do not lie across two lines.
FLOAT, BYTE = np.dtype(np.float32), np.dtype(np.uint8)
LINE = 64  # bytes of a line of cache
MOST = 16  # pieces that are kept
LARGER = 2  # times as large as needed, at most: small results leave large pieces to large ones


class Memory(np.ndarray[Any, Any]):
    """The bytes of one array, which are free again when the array and all views of it are gone."""

    __slots__ = ()

    def __del__(self) -> None:
        _free.append(self.base)


_free: deque[Any] = deque(maxlen=MOST)  # the piece that was freed last is at the end


def aligned(shape: tuple[int, ...]) -> Array:
    """Return a new array of float32, in the memory that was freed last where that fits."""
    held = _take(4 * math.prod(shape))
    return np.ndarray(shape, FLOAT, Memory(len(held), BYTE, held))


def _new(size: int) -> Any:
    """Return new memory of a number of bytes. It is not an array, for which NumPy would take it as the owner of all
    views.
    """
    array = np.empty(size + LINE, np.uint8)
    first = -array.__array_interface__["data"][0] % LINE
    return (ctypes.c_char * size).from_buffer(array.data, first)


def _take(size: int) -> Any:
    """Return memory of a number of bytes. Threads may do so at the same time: methods of a deque are atomic."""
    others: list[Any] = []
    result = None
    while result is None and _free:
        try:
            held = _free.pop()
        except IndexError:  # another thread was faster
            break
        if size <= len(held) <= LARGER * size:
            result = held
        else:
            others.append(held)
    if others:
        _free.extend(reversed(others))
    return _new(size) if result is None else result


# ---------------------------------------------------------------- elementwise tail
# The elementwise tail of a fused kernel, computed block by block in reused buffers. A fused group often ends in a chain
# of elementwise operators: a convolution, then a bias, a residual, an activation. Run one by one over a whole tensor,
# each would read and write main memory and allocate an array. Here the chain runs over one block of the result at a
# time, which stays in the second-level cache; buffers are reused as soon as their value is dead, and the anchor, the
# call before the chain, has written into the result. Threads share the blocks. This module depends on operators and
# arrays, not on registers, storages or machines.
REPORT_INDEX = frozenset(("divide", "power"))  # errors on integers name the index of the element in the whole
SMALLEST = 32 << 10  # bytes of a result: smaller ones stay in cache anyway, and Python's own time counts there
BLOCK = 256 << 10  # bytes of a block: with two operands it fits a second-level cache

Steps = Callable[[list[Any], Any], None]
Index = tuple[slice, ...]
_RESULT = 0  # the number of the result among the buffers


@dataclass(frozen=True)
class TailOperation:
    """One operator of the tail: its operands (is_slot, number), and the buffer it writes.

    A slot is an operand of the kernel, cut to the block; other operands are buffers.
    """

    kernel: Callable[..., Any]
    attrs: Any
    operands: tuple[tuple[bool, int], ...]
    target: int


@dataclass(frozen=True)
class Tail:
    """The elementwise tail of a kernel. `anchor` is the call before it, which writes into the result, or None."""

    nodes: frozenset[Expr]
    anchor: Call | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    operations: tuple[TailOperation, ...]
    temporaries: int  # the number of buffers besides the result

    def run(self, values: Sequence[Any], result: Any) -> None:
        """Compute the result from the slots of the kernel; it has the value of the anchor already."""
        used = {number for o in self.operations for is_slot, number in o.operands if is_slot}
        blocks = list(_blocks(self.shape, self.dtype.itemsize))
        if len(blocks) == 1:
            self._run_block({slot: values[slot] for slot in used}, result, self._buffers(self.shape))
            return
        cuts = {slot: _cut_axes(values[slot].shape, self.shape) for slot in used}

        def job(numbers: Iterator[int]) -> None:
            buffers = self._buffers(result[blocks[0]].shape)
            for number in numbers:
                index = blocks[number]
                block = result[index]
                # The last block along an axis may be shorter.
                if buffers and block.shape != buffers[0].shape:
                    buffers = self._buffers(block.shape)
                self._run_block({s: values[s][_within(index, axes)] for s, axes in cuts.items()}, block, buffers)

        share(job, len(blocks))

    def _buffers(self, shape: tuple[int, ...]) -> list[Any]:
        return [np.empty(shape, self.dtype) for _ in range(self.temporaries)]

    def _run_block(self, slots: dict[int, Any], block: Any, temporaries: list[Any]) -> None:
        buffers = [block, *temporaries]
        for o in self.operations:
            operands = [slots[number] if is_slot else buffers[number] for is_slot, number in o.operands]
            o.kernel(o.attrs, *operands, out=buffers[o.target])


# ---------------------------------------------------------------- blocks
def _blocks(shape: tuple[int, ...], itemsize: int) -> Iterator[Index]:
    """Yield the indices of blocks of about `BLOCK` bytes along the first axes, each contiguous."""
    axis, inner = 0, math.prod(shape[1:]) * itemsize
    # Go inwards until one index of the axis is no larger than a block.
    while inner > BLOCK and axis + 1 < len(shape):
        axis += 1
        inner = math.prod(shape[axis + 1 :]) * itemsize
    step = max(1, BLOCK // max(inner, 1))
    for outer in itertools.product(*map(range, shape[:axis])):
        # Slices, not numbers: a block keeps the rank of the result.
        head = tuple([slice(i, i + 1) for i in outer])
        for start in range(0, shape[axis], step):
            yield (*head, slice(start, min(start + step, shape[axis])))


def _cut_axes(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[tuple[int, bool], ...]:
    """Return for each axis of an operand the aligned axis of the result, and whether it has the same length."""
    first = len(whole) - len(shape)  # broadcasting aligns the last axes
    return tuple([(first + i, length == whole[first + i]) for i, length in enumerate(shape)])


def _within(index: Index, axes: tuple[tuple[int, bool], ...]) -> Index:
    """Return the index of the part of an operand that a block of the result needs."""
    # An axis of length 1 is broadcast, so it is never cut.
    return tuple([index[axis] if follows else slice(None) for axis, follows in axes if axis < len(index)])


# ---------------------------------------------------------------- planning
def find_tail(function: Function, order: Sequence[Expr], slots: dict[Expr, int]) -> Tail | None:
    """Return the elementwise tail of a primitive function; None if it has no such tail, or if blocks do not pay.

    `order` are the nodes of its body, operands first, and `slots` their numbers.
    """
    ty = function.body.checked_type_
    if not _is_large(ty):
        return None
    assert isinstance(ty, TensorType)
    nodes = _end_of(function.body, order, ty.shape)
    if not nodes:
        return None
    anchor = _anchor(order, nodes, ty)
    if len(nodes) == 1 and anchor is None:
        return None  # one operator is one loop of NumPy: blocks save nothing
    plan = _BufferPlan(nodes, anchor, slots)
    operations = tuple([plan.operation(nodes[node]) for node in order if node in nodes])
    shape: Any = ty.shape
    return Tail(frozenset(nodes), anchor, shape, array_dtype(ty.dtype), operations, plan.count - 1)


def _is_large(ty: Any) -> bool:
    """Whether a type is a large tensor of static shape, of a dtype that NumPy has itself."""
    if not isinstance(ty, TensorType) or ty.dynamic:
        return False
    dtype = array_dtype(ty.dtype)
    shape: Any = ty.shape
    return dtype.kind in "iuf" and math.prod(shape) * dtype.itemsize >= SMALLEST


def _end_of(body: Expr, order: Sequence[Expr], shape: Any) -> dict[Expr, Call]:
    """Return the elementwise calls of the body's shape that only other such calls use."""
    users: dict[Expr, list[Expr]] = {}
    for node in order:
        for child in children(node):
            users.setdefault(child, []).append(node)
    result: dict[Expr, Call] = {}
    # Backwards: the users of a node are decided before the node.
    for node in reversed(order):
        if isinstance(node, Call) and _in_place(node, shape):
            using = users.get(node, [])
            if all(user in result for user in using) and (node is body) == (not using):
                result[node] = node
    return result


def _in_place(node: Call, shape: Any) -> bool:
    """Whether a call computes a tensor of this shape elementwise and may write over an operand."""
    if not isinstance(node.op, Op) or Trait.IN_PLACE not in node.op.spec.traits:
        return False
    ty = node.checked_type_
    if not isinstance(ty, TensorType) or ty.shape != shape:
        return False
    return node.op.name not in REPORT_INDEX or array_dtype(ty.dtype).kind == "f"


def _anchor(order: Sequence[Expr], nodes: dict[Expr, Call], ty: TensorType) -> Call | None:
    """Return the call of the body's type that only the tail uses: a convolution, a product."""
    used = Counter(child for node in order for child in children(node))
    inside = Counter(child for node in nodes.values() for child in node.args)
    for node in order:
        if is_op_call(node) and node not in nodes and node.checked_type_ is ty:
            if node.op.spec.pattern is OpPattern.OUT_ELEMWISE_FUSABLE and 0 < inside[node] == used[node]:
                return node
    return None


class _BufferPlan:
    """Assigns a buffer to each operator of a tail: the result where possible, else a free one."""

    def __init__(self, nodes: dict[Expr, Call], anchor: Call | None, slots: dict[Expr, int]) -> None:
        self.slots = slots
        self.left = Counter(child for node in nodes.values() for child in node.args)  # uses left
        self.buffers: dict[Expr, int] = {} if anchor is None else {anchor: _RESULT}
        self.free = [] if self.buffers else [_RESULT]
        self.count = 1

    def operation(self, node: Call) -> TailOperation:
        """Return an operator of the tail with its buffers. The calls must come in the order of execution."""
        # An operand without a buffer comes from outside the tail and is read from its slot.
        operands = tuple([(a not in self.buffers, self.buffers.get(a, self.slots.get(a, 0))) for a in node.args])
        for argument in node.args:
            self.left[argument] -= 1
            if not self.left[argument] and argument in self.buffers:
                # Freed before the target is chosen: an elementwise operator may write over its operand.
                self.free.append(self.buffers.pop(argument))
        if not self.free:
            self.free.append(self.count)
            self.count += 1
        target = self.buffers[node] = min(self.free)  # the result, number 0, if its value is dead
        self.free.remove(target)
        assert isinstance(node.op, Op)
        kernel = node.op.spec.raw or node.op.spec.kernel
        assert kernel is not None
        return TailOperation(kernel, node.attrs, operands, target)


# ---------------------------------------------------------------- kernels
# A primitive function compiled to Python: the text of `kernel_text` with its names bound to objects.

Implement = Callable[[Call], Callable[..., Any]]


def compiled_kernel(function: Function, implement: Implement | None = None) -> Callable[..., Any]:
    """Return a primitive function as a Python function of its parameters; tuples are passed as tuples.

    `implement` returns the function on arrays of an operator that has no NumPy text, by default its kernel.
    """
    bound = _Objects(implement or numpy_function)
    name = bound.names.make("kernel")
    return function_of(KernelText(function, bound.names, bound).text(name), name, bound.objects, "<kernel>")


def numpy_function(node: Call) -> Callable[..., Any]:
    """Return the NumPy kernel of an operator without its guard against warnings. Raises `RunError` without one."""
    op = node.op
    assert isinstance(op, Op)
    kernel = typed_kernel(node) or op.spec.raw or op.spec.kernel
    if kernel is None:
        raise RunError(Diagnostic(f"`{op.name}` cannot be run: only the compiler uses it", node.span))
    return kernel


class _Objects:
    """The `Binder` of the virtual machine: names of a kernel's text stand for objects in `objects`."""

    def __init__(self, implement: Implement) -> None:
        self.implement = implement
        self.names = Names()
        self.objects: dict[str, Any] = {"np": np}

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self._bind(np.dtype(dtype).type(value), dtype)

    def array(self, value: Any) -> str:
        """Return the name of a constant array."""
        return self._bind(value, "constant")

    def replaces(self, call: Call) -> bool:
        """Whether the function that computes an operator is not NumPy's."""
        return self.implement is not numpy_function and self.implement(call) is not numpy_function(call)

    def kernel(self, call: Call, args: Sequence[str]) -> str:
        """Return the call of an operator's NumPy function."""
        assert isinstance(call.op, Op)
        hint = call.op.name.replace(".", "_")
        return f"{self._bind(self.implement(call), hint)}({', '.join([self._bind(call.attrs, 'attrs'), *args])})"

    def _bind(self, value: Any, hint: str) -> str:
        name = self.names.make(hint)
        self.objects[name] = value
        return name


Array = np.ndarray[Any, Any]
Step = Callable[[list[Any]], None]
FindTail = Callable[[Function, Sequence[Expr], dict[Expr, int]], Tail | None]
SMALL = 4096  # elements: a result of at most so many is cheaper to copy than to compute in place
LONGEST = 1_000  # operators: compiling the text of more takes longer than many runs step by step


class Kernel:
    """One primitive function, ready to run. Raises `RunError` for nodes that a kernel cannot have."""

    native = True  # whether its arrays are NumPy's
    implement: Implement = staticmethod(numpy_function)  # an operator's function on arrays
    find_tail: FindTail = staticmethod(find_tail)  # its elementwise end
    reason = ""  # why it runs here, where its provider would rather run it elsewhere

    def __init__(self, function: Function) -> None:
        self.function = function
        self.shapes = function.attrs.get("ShapeFunction")

    @property
    def placement(self) -> tuple[str, str]:
        """Where it runs ("numpy", "torch", "onnxruntime", or several), and why not elsewhere."""
        return "numpy", self.reason

    @cached_property
    def _program(self) -> _Program:
        return _Program(self.function, self.implement, self.find_tail)

    @cached_property
    def into(self) -> Callable[[Sequence[Array], Sequence[Array]], None]:
        """Run on flat inputs, writing into flat results."""
        return shape_kernel(self.function, self.shapes == "data") if self.shapes else self._program.writer()

    @cached_property
    def value(self) -> Callable[..., Any] | None:
        """Run on one value for each parameter and return the result; None where only `into` is possible."""
        return None if self.shapes else self._program.maker()

    @cached_property
    def scalar(self) -> Callable[..., Any] | None:
        """Run on NumPy scalars and return one; None for kernels that are not scalar arithmetic."""
        return None if self.shapes else scalar_function(self.function)

    def runner(self, outputs: int) -> Callable[[list[Any], list[Any]], None]:
        """Return the function for calls with `outputs` results, which writes into existing arrays."""
        return self._write_one if outputs == 1 and self.native else self._write

    def _write(self, inputs: list[Any], results: list[Any]) -> None:
        if len(results) == 1 and results[0].size == 0:
            return  # nothing to compute
        try:
            self.into(flat_values(inputs) if tuple in map(type, inputs) else inputs, results)
        except Exception:
            if not self.shapes:
                self.explain(inputs)
            raise

    def _write_one(self, inputs: list[Any], results: list[Any]) -> None:
        """Write one result; a small one is computed and copied, which is faster than computing in place."""
        (result,) = results
        compute = self.value if 0 < result.size <= SMALL else None
        if compute is None:
            self._write(inputs, results)
            return
        try:
            value = compute(*inputs)
        except Exception:
            self.explain(inputs)
            raise
        # For a tuple or a wrong shape `_write` flattens the tuple or raises the error.
        if np.shape(value) == result.shape:
            result[...] = value
        else:
            self._write(inputs, results)

    def explain(self, inputs: Sequence[Any]) -> None:
        """Run again operator by operator after an error, to raise the located error of the operator.

        `inputs` has one value for each parameter, or for each tensor in a parameter.
        """
        flat = iter(flat_values(inputs))
        values = [fold_tuple(p.checked_type, lambda _: next(flat), tuple) for p in self.function.params]
        # A deque of length 0 exhausts the iterator and keeps nothing.
        deque(values_inside(self.function, values), maxlen=0)


def make_kernel(function: Function) -> Kernel:
    """Return the kernel of a primitive function, or of its shape function where it has the attribute."""
    return Kernel(function)


class _Program:
    """The body of a primitive function as steps over slots: one slot per node, the parameters first."""

    def __init__(self, function: Function, implement: Implement, find_tail: FindTail) -> None:
        self.function = function
        self.implement = implement
        self.slots: dict[Expr, int] = {}
        self.preset: list[Any] = []
        self.nodes: list[tuple[Call | Tuple | TupleGetItem, int]] = []
        for param in function.params:
            self._slot(param)
        for node in post_order(function.body):
            if not isinstance(node, (Op, Function)) and node not in self.slots:
                self._node(node)
        order = [*function.params, *(n for n, _ in self.nodes)]
        self.tail = find_tail(function, order, self.slots)

    def _slot(self, node: Expr, value: Any = None) -> int:
        self.slots[node] = len(self.preset)
        self.preset.append(value)
        return self.slots[node]

    def _node(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self._slot(node, node.data)
        elif (is_op_call(node)) or isinstance(node, (Tuple, TupleGetItem)):
            self.nodes.append((node, self._slot(node)))
        else:
            raise RunError(Diagnostic(f"a kernel cannot hold {type_in_words(node)}", node.span))

    # ------------------------------------------------------------ writing into results
    def writer(self) -> Callable[[Sequence[Array], Sequence[Array]], None]:
        """Return the steps as one function that writes into its results."""
        if self.tail is not None:
            return self._tail_writer(self.tail)
        body = self.function.body
        if self._is_small():
            return self._copying_writer()
        last = self.slots[body]
        outputs = [self.slots[f] for f in body.fields] if isinstance(body, Tuple) else [last]
        direct = self._direct(outputs)
        steps = [self._step(node, slot, direct.get(slot)) for node, slot in self.nodes]
        fill, single = self._slot_filler(), len(direct) == len(outputs) == 1

        def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
            values = fill(inputs)
            # The results are the last value: `_writing_step` reads `values[-1]`.
            values.append(results)
            for step in steps:
                step(values)
            if not single or values[last] is not results[0]:
                outputs_flat = flat_values([values[s] for s in outputs])
                for value, result in zip(outputs_flat, results, strict=True):
                    _copy_result(value, result)

        return run

    def _is_small(self) -> bool:
        """Whether copying the results is faster than writing them in place by steps."""
        tensors = tensor_types(self.function.body.checked_type_)
        if len(self.nodes) > LONGEST or not tensors or any(t.dynamic for t in tensors):
            return False
        return sum(math.prod(t.concrete_shape) * array_dtype(t.dtype).itemsize for t in tensors) < SMALLEST

    def _copying_writer(self) -> Callable[[Sequence[Array], Sequence[Array]], None]:
        make, gather = self.maker(), _gatherer(self.function.params)

        def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
            output = make(*gather(inputs))
            values = flat_values(output) if type(output) is tuple else [output]
            for value, result in zip(values, results, strict=True):
                _copy_result(value, result)

        return run

    def _slot_filler(self) -> Callable[[Sequence[Array]], list[Any]]:
        """Return a function from flat inputs to the initial values of all slots."""
        gather, rest = _gatherer(self.function.params), self.preset[len(self.function.params) :]
        return lambda inputs: [*gather(inputs), *rest]

    def _direct(self, outputs: list[int]) -> dict[int, int]:
        """Return the output of each slot whose operator can write into that output directly."""
        calls = {slot for node, slot in self.nodes if isinstance(node, Call)}
        spread = [s for s in outputs if s in calls]
        # All outputs are calls, and no call is two outputs.
        single = len(outputs) == len(spread) == len(set(spread))
        # A call that returns a tuple has no single array to write into.
        tensors = isinstance(self.function.body, Tuple) or not isinstance(self.function.body.checked_type_, TupleType)
        return {slot: i for i, slot in enumerate(outputs)} if single and tensors else {}

    # ------------------------------------------------------------ allocating results
    def maker(self) -> Callable[..., Any]:
        """Return the steps as one function of the parameters that returns its result."""
        if self.tail is not None:
            return self._tail_maker(self.tail)
        if len(self.nodes) <= LONGEST:
            return compiled_kernel(self.function, self.implement)
        steps = [self._step(node, slot, None) for node, slot in self.nodes]
        last, preset = self.slots[self.function.body], self.preset[len(self.function.params) :]

        def run(*inputs: Any) -> Any:
            values = [*inputs, *preset]
            for step in steps:
                step(values)
            return values[last]

        return run

    # ------------------------------------------------------------ with an elementwise tail
    def _head(self, tail: Tail) -> list[Step]:
        """Return the steps before the tail; the anchor's step writes into the result."""
        head = [(node, slot) for node, slot in self.nodes if node not in tail.nodes]
        return [self._step(node, slot, 0 if node is tail.anchor else None) for node, slot in head]

    def _tail_maker(self, tail: Tail) -> Callable[..., Any]:
        steps, preset = self._head(tail), self.preset[len(self.function.params) :]

        def run(*inputs: Any) -> Any:
            result = np.empty(tail.shape, tail.dtype)
            values = [*inputs, *preset, (result,)]
            for step in steps:
                step(values)
            tail.run(values, result)
            return result

        return run

    def _tail_writer(self, tail: Tail) -> Callable[[Sequence[Array], Sequence[Array]], None]:
        steps, fill = self._head(tail), self._slot_filler()

        def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
            values = fill(inputs)
            (result,) = results
            values.append(results)
            for step in steps:
                step(values)
            tail.run(values, result)

        return run

    # ------------------------------------------------------------ steps
    def _step(self, node: Call | Tuple | TupleGetItem, slot: int, output: int | None) -> Step:
        if isinstance(node, TupleGetItem):
            source, index = self.slots[node.tuple_value], node.index

            def project(values: list[Any]) -> None:
                values[slot] = values[source][index]

            return project
        parts = [self.slots[a] for a in (node.args if isinstance(node, Call) else node.fields)]
        if isinstance(node, Tuple):

            def gather(values: list[Any]) -> None:
                values[slot] = tuple([values[p] for p in parts])

            return gather
        kernel = self.implement(node)
        if output is None:
            return _value_step(kernel, node, parts, slot)
        return _writing_step(kernel, node, parts, slot, output)


def _value_step(kernel: Callable[..., Any], node: Call, parts: list[int], slot: int) -> Step:
    attrs = node.attrs
    # One and two operands, the usual counts, need no list and no unpacking.
    if len(parts) == 1:
        (one,) = parts

        def on_one(values: list[Any]) -> None:
            values[slot] = kernel(attrs, values[one])

        return on_one
    if len(parts) == 2:
        left, right = parts

        def on_two(values: list[Any]) -> None:
            values[slot] = kernel(attrs, values[left], values[right])

        return on_two

    def compute(values: list[Any]) -> None:
        values[slot] = kernel(attrs, *[values[p] for p in parts])

    return compute


def _writing_step(kernel: Callable[..., Any], node: Call, parts: list[int], slot: int, output: int) -> Step:
    attrs = node.attrs

    def compute(values: list[Any]) -> None:
        values[slot] = kernel(attrs, *[values[p] for p in parts], out=values[-1][output])

    return compute


def _gatherer(params: Sequence[Var]) -> Callable[[Sequence[Array]], Sequence[Any]]:
    """Return a function from flat inputs to one value per parameter, tuples for parameters of tuple type."""
    kinds = [p.type_annotation or NOTHING for p in params]
    if not any(isinstance(ty, TupleType) for ty in kinds):
        return lambda inputs: inputs
    if any(isinstance(f, TupleType) for ty in kinds if isinstance(ty, TupleType) for f in ty.fields):

        def gather(inputs: Sequence[Array]) -> list[Any]:
            flat = iter(inputs)
            return [fold_tuple(ty, lambda _: next(flat), tuple) for ty in kinds]

        return gather
    ends = [*accumulate([len(ty.fields) if isinstance(ty, TupleType) else 1 for ty in kinds], initial=0)]
    spans = [(start, end, isinstance(ty, TupleType)) for (start, end), ty in zip(pairwise(ends), kinds, strict=True)]
    return lambda inputs: [tuple(inputs[start:end]) if many else inputs[start] for start, end, many in spans]


def flat_values(values: Sequence[Any]) -> list[Any]:
    """Return values with tuples of any depth flattened."""
    flat: list[Any] = []
    stack = [*reversed(values)]
    while stack:
        value = stack.pop()
        if type(value) is tuple:
            stack.extend(reversed(value))
        else:
            flat.append(value)
    return flat


def _copy_result(value: Any, result: Array) -> None:
    """Copy a value into a result, unless it was computed there."""
    if value is not result:
        if type(value) is not np.ndarray:
            value = np.asarray(value)
        if value.shape != result.shape:
            raise wrong_shape(value.shape, result.shape)
        np.copyto(result, value, casting="unsafe")


def fit(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a value as an array of the expected dtype. Raises `RunError` for another shape."""
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    # Dtypes are mostly the same object, which `is` finds at once.
    if value.dtype is not dtype and value.dtype != dtype:
        value = value.astype(dtype)
    if value.shape != shape:
        raise wrong_shape(value.shape, shape)
    array: Array = value
    return array
