"""The elementwise tail of a fused kernel, computed block by block in reused buffers.

A fused group often ends in a chain of elementwise operators: a convolution, then a bias, a residual, an activation.
Run one by one over a whole tensor, each would read and write main memory and allocate an array. Here the chain runs
over one block of the result at a time, which stays in the second-level cache; buffers are reused as soon as their
value is dead, and the anchor, the call before the chain, has written into the result. Threads share the blocks.

This module depends on operators and arrays, not on registers, storages or machines.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.op import Op, OpPattern, Trait, is_op_call
from passlab.ir.types import TensorType
from passlab.ir.walk import children
from passlab.op.dtypes import array_dtype
from passlab.threads import share

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
    """Return the elementwise tail of a primitive function; None where there is none, or blocks do not pay.

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
