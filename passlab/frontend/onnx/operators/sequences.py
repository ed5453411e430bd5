"""Sequences of tensors: tuples where lengths and places are known, packed ones elsewhere."""

from __future__ import annotations

from typing import Any

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.frontend.onnx.operators.control_flow import Iteration, Loop
from passlab.frontend.onnx.sequences import (
    bounds,
    captured,
    fields_of,
    is_packed,
    item_at,
    item_sizes,
    item_type,
    joined,
    length_of,
    pack_of,
    packed,
    parts,
)
from passlab.frontend.onnx.tensors import dtype_of
from passlab.frontend.sizes import as_vector, size_of, sizes_of
from passlab.ir.expr import Expr
from passlab.ir.types import ANY, TensorType


def _place(n: OnnxNode, sequence: Expr, place: Expr | None, more: int) -> int | Expr:
    """Return a place in a sequence, counted from 0; `more` is 1 where it may be behind the last tensor."""
    length = n.value(length_of(n, sequence))
    value = None if place is None else n.value(place)
    if length is not None and (place is None or value is not None):
        count = int(length) + more
        at = count - 1 if value is None else int(value.reshape(-1)[0])
        # A negative place counts from the end of what is there: -1 inserts before the last tensor.
        if not -int(length) <= at < count:
            n.refuse("names a place outside its sequence", f"{-int(length)} to {count - 1}", str(at))
        return at % int(length) if at < 0 else at
    end = length_of(n, packed(n, sequence))
    if place is None:
        return end if more else n("subtract", end, 1)
    at_run = n.cast(n.scalar(place), "int64")
    return n("where", n("less", at_run, 0), n("add", at_run, end), at_run)


@onnx_operator("SequenceEmpty", 11)
def sequence_empty(n: OnnxNode) -> Expr:
    """A tuple without fields."""
    dtype_of(n.integer("dtype", 1))
    return n.builder.tuple([])


@onnx_operator("SequenceConstruct", 11)
def sequence_construct(n: OnnxNode, *inputs: Expr) -> Expr:
    """A tuple."""
    return n.builder.tuple(list(inputs))


@onnx_operator("SequenceLength", 11)
def sequence_length(n: OnnxNode, sequence: Expr) -> Expr:
    """A number, or a size of the packed sequence."""
    return length_of(n, sequence)


@onnx_operator("SequenceAt", 11)
def sequence_at(n: OnnxNode, sequence: Expr, place: Expr) -> Expr:
    """A field, or a slice of the packed sequence."""
    at = _place(n, sequence, place, 0)
    if isinstance(at, Expr):
        return item_at(n, packed(n, sequence), at)
    return n.fields(sequence, at + 1)[at]


@onnx_operator("SequenceInsert", 11)
def sequence_insert(n: OnnxNode, sequence: Expr, tensor: Expr, place: Expr | None = None) -> Expr:
    """A longer tuple, or concatenations."""
    new = n.builder.tuple([tensor])
    at = _place(n, sequence, place, 1)
    fields = fields_of(n, sequence)
    if not isinstance(at, Expr) and fields is not None:
        return n.builder.tuple([*fields[:at], tensor, *fields[at:]])
    ty = joined(n, item_type(n, sequence), item_type(n, new))
    assert ty is not None
    old, added = packed(n, sequence, ty), n.fields(packed(n, new, ty), 2)
    if place is None:
        return pack_of([n.concat(list(pair)) for pair in zip(n.fields(old, 2), added, strict=True)], ty)
    before, after = _split_at(n, old, at, skip=False)
    longer = pack_of([n.concat(list(each)) for each in zip(before, added, after, strict=True)], ty)
    return longer if fields is None else _unpacked(n, longer, len(fields) + 1)


@onnx_operator("SequenceErase", 11)
def sequence_erase(n: OnnxNode, sequence: Expr, place: Expr | None = None) -> Expr:
    """A shorter tuple, or a concatenation of slices."""
    at = _place(n, sequence, place, 0)
    fields = fields_of(n, sequence)
    if not isinstance(at, Expr) and fields is not None:
        return n.builder.tuple([*fields[:at], *fields[at + 1 :]])
    old = packed(n, sequence)
    before, after = _split_at(n, old, at, skip=True)
    shorter = pack_of([n.concat(list(pair)) for pair in zip(before, after, strict=True)], parts(n, old)[2])
    return shorter if fields is None else _unpacked(n, shorter, len(fields) - 1)


def _unpacked(n: OnnxNode, sequence: Expr, length: int) -> Expr:
    """Return a packed sequence of a known length as a tuple."""
    return n.builder.tuple([item_at(n, sequence, n.constant(at, "int64")) for at in range(length)])


def _split_at(n: OnnxNode, sequence: Expr, at: int | Expr, skip: bool) -> tuple[list[Expr], list[Expr]]:
    """Return what is before a place of a packed sequence, and what is from it on, or behind it with `skip`."""
    elements, shapes, ty = parts(n, sequence)
    place = n.constant(at, "int64") if isinstance(at, int) else at
    start, end = bounds(n, shapes, place)
    one = n("reshape", place, newshape=[1])
    cuts = [(start, end if skip else start), (one, n("add", one, 1) if skip else one)]
    halves: tuple[list[Expr], list[Expr]] = ([], [])
    for value, (first, second), widths in zip((elements, shapes), cuts, ([], [len(ty.shape)]), strict=True):
        zeros = [n.constant([0], "int64") for _ in widths]  # of the axes behind the first, which are taken whole
        begin, step = (n.constant([number] * (1 + len(widths)), "int64") for number in (0, 1))
        stop = n.concat([first, *(n.constant([width], "int64") for width in widths)])
        halves[0].append(n("strided_slice", value, begin, stop, step))
        halves[1].append(
            n("strided_slice", value, n.concat([second, *zeros]), n("shape_of", value, dtype="int64"), step)
        )
    return halves


@onnx_operator("SplitToSequence", 11, 24)
def split_to_sequence(n: OnnxNode, x: Expr, split: Expr | None = None) -> Expr:
    """Slices, in a loop where their number is not known."""
    axis = n.axis(n.integer("axis", 0), n.rank(x))
    keeps = split is not None or n.flag("keepdims", True)
    size = size_of(n, x, axis)
    total = n.constant(size, "int64") if isinstance(size, int) else n.scalar(size)
    lengths = n.constant(1, "int64") if split is None else n.cast(split, "int64")
    if n.rank(lengths) == 0:
        rounded = n("subtract", n("add", total, lengths), 1)
        count: Any = n("floor_divide", rounded, lengths)
    else:
        length = size_of(n, lengths, 0)
        count = n.constant(length, "int64") if isinstance(length, int) else n.scalar(length)

    def piece(number: Expr, capture: Capture) -> Expr:
        own = capture(lengths)
        if n.rank(lengths) == 0:
            start = n("multiply", number, own)
            end = n("minimum", n("add", start, own), capture(total))
        else:
            end = n("take", n("cumsum", own, axis=0), number, axis=0)
            start = n("subtract", end, n("take", own, number, axis=0))
        if not keeps:
            return n("take", capture(x), start, axis=axis)
        if all(n.value(each) is not None for each in (start, end)):
            begin, stop = [int(n.constant_value(each, "the bounds")) for each in (start, end)]
            return n("strided_slice", capture(x), begin=[begin], end=[stop], strides=[1], axes=[axis])
        sizes = sizes_of(n, capture(x))
        one = n("reshape", start, newshape=[1])
        first = as_vector(n, [*[0] * axis, one, *[0] * (n.rank(x) - axis - 1)])
        last = as_vector(n, [*sizes[:axis], n("reshape", end, newshape=[1]), *sizes[axis + 1 :]])
        return n("strided_slice", capture(x), first, last, n.constant([1] * n.rank(x), "int64"))

    known = n.value(count)
    if known is not None:
        numbers = [n.constant(number, "int64") for number in range(int(known))]
        return n.builder.tuple([piece(number, lambda value: value) for number in numbers])
    dims = [dim if isinstance(dim, int) else ANY for dim in n.shape(x)]
    dims[axis : axis + 1] = [ANY if split is not None else 1] if keeps else []
    ty = TensorType(dims, n.dtype(x))

    def body(number: Expr, condition: Expr, states: list[Expr], capture: Capture) -> Iteration:
        added = n.fields(packed(n, n.builder.tuple([piece(number, capture)]), ty), 2)
        return Iteration(None, [n.concat(list(pair)) for pair in zip(states, added, strict=True)], [])

    empty = n.fields(packed(n, n.builder.tuple([]), ty), 2)
    return pack_of(Loop(n, body, count, None, empty).results(), ty)


@onnx_operator("ConcatFromSequence", 11)
def concat_from_sequence(n: OnnxNode, sequence: Expr) -> Expr:
    """`concatenate` or `stack`; of a packed sequence, a reshape, or a loop."""
    stacks = n.flag("new_axis")
    fields = fields_of(n, sequence)
    ty = item_type(n, sequence)
    if ty is None:
        n.refuse("needs a sequence that is not empty")
    axis = n.axis(n.integer("axis"), len(ty.shape) + stacks)
    if fields is not None:
        if stacks:
            return n("stack", n.builder.tuple(fields), axis=axis)
        return n.concat(fields, axis)
    elements, shapes, _ = parts(n, sequence)
    rest = item_sizes(n, shapes, n.constant(0, "int64"), ty)
    if stacks:
        static = all(isinstance(dim, int) and dim for dim in ty.shape)
        count = n("reshape", length_of(n, sequence), newshape=[1])
        shape: Any = [-1, *rest] if static else as_vector(n, [count, *rest])
        stacked = n("reshape", elements, newshape=shape) if static else n("reshape", elements, shape, allowzero=True)
        order = list(range(1, len(ty.shape) + 1))
        order.insert(axis, 0)
        return n("transpose", stacked, axes=order) if axis else stacked
    if axis == 0:
        total = n("sum", n("take", shapes, n.constant(0, "int64"), axis=1), axis=[0], keepdims=True)
        return n("reshape", elements, as_vector(n, [total, *rest[1:]]), allowzero=True)

    def body(number: Expr, condition: Expr, states: list[Expr], capture: Capture) -> Iteration:
        item = item_at(n, captured(sequence, capture), n("add", number, 1))
        return Iteration(None, [n.concat([states[0], item], axis)], [])

    assert is_packed(sequence)
    first = item_at(n, sequence, n.constant(0, "int64"))
    return Loop(n, body, n("subtract", length_of(n, sequence), 1), None, [first]).results()[0]


@onnx_operator("Optional", 15, 28)
def optional(n: OnnxNode, x: Expr | None = None) -> Expr:
    """The value itself: where it is there, it is always there."""
    if x is None:
        n.refuse("makes a value that is absent", hint="Relay has no values that may be absent")
    return x


@onnx_operator("OptionalHasElement", 15, 18, 28)
def optional_has_element(n: OnnxNode, x: Expr | None = None) -> Expr:
    """A constant."""
    return n.constant(x is not None, "bool")


@onnx_operator("OptionalGetElement", 15, 18, 28)
def optional_get_element(n: OnnxNode, x: Expr) -> Expr:
    """The value itself."""
    return x
