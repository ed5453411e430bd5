"""Layout rules: how operators take data in another layout than the original one. Declarations name the rules.

A rule gets the original call and an interface to the current arguments. It returns the call on the current arguments,
with the change of layout of its result (or of each result); or None, if the operator needs the original layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Tuple
from passlab.ir.op import OpCall
from passlab.ir.types import TensorType, TupleType, tensor_types
from passlab.op.declare import call as make
from passlab.op.layout_change import LayoutArguments, LayoutChange, Result, Rule, drop_identity
from passlab.op.layout_names import parse_layout


def _shape(expr: Expr) -> tuple[Any, ...]:
    ty = expr.checked_type
    return ty.shape if isinstance(ty, TensorType) else ()


def _rank(expr: Expr) -> int:
    return len(_shape(expr)) if isinstance(expr.checked_type, TensorType) else -1


def _with_data(call: OpCall, layouts: LayoutArguments, attrs: Any = None, data: Expr | None = None) -> OpCall:
    """Return a call on `data`, by default the current first argument, and the original others."""
    first = layouts.current(call.args[0]) if data is None else data
    return _replace_call(call, (first, *map(layouts.original, call.args[1:])), call.attrs if attrs is None else attrs)


def _replace_call(call: OpCall, args: tuple[Expr, ...], attrs: Attrs) -> OpCall:
    """Return a call with other arguments and attributes, the same object if they are the same."""
    args = call.args if args == call.args else args
    result: OpCall = call.with_fields(args=args, attrs=call.attrs if attrs == call.attrs else attrs)
    return result


# ---------------------------------------------------------------- one element at a time
def elementwise(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """An elementwise operator keeps any layout."""
    return _with_data(call, layouts), layouts.change_of(call.args[0])


def broadcast(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Convert all arguments to the layout of the first one that has changed and has all axes."""
    rank = _rank(call)
    changes = (layouts.change_of(a) for a in call.args if _rank(a) == rank)
    change = next((a for a in changes if a is not None), None)
    if change is None:
        return None
    shape = _shape(call)
    args = [_broadcastable(a, shape, change, layouts) for a in call.args]
    if any(a is None for a in args):
        return None
    return _replace_call(call, tuple(a for a in args if a is not None), call.attrs), change


def _broadcastable(expr: Expr, result: Sequence[Any], change: LayoutChange, layouts: LayoutArguments) -> Expr | None:
    own_rank, rank = _rank(expr), len(result)
    # one element broadcasts in every layout
    if own_rank == 0 or (own_rank < rank and _has_one_element(expr) and layouts.change_of(expr) is None):
        return layouts.original(expr)
    if own_rank == rank and layouts.change_of(expr) is None and _same_blocked_size(expr, result, change):
        return layouts.in_layout(expr, change)
    if own_rank < 0 or layouts.change_of(expr) is not None:
        return layouts.in_layout(expr, change) if own_rank == rank else None
    shape = (*[1] * (rank - own_rank), *_shape(expr))
    if (target := _split_as(shape, change)) is None:
        return None
    if own_rank == rank:
        return layouts.in_layout(expr, LayoutChange(change.old, target))
    expanded = make("expand_dims", layouts.original(expr), axis=0, num_newaxis=rank - own_rank)
    return make("layout_transform", expanded, src_layout=change.old, dst_layout=target)


def _same_blocked_size(expr: Expr, result: Sequence[Any], target: LayoutChange) -> bool:
    """Whether an operand has the size of the result along all axes whose block size changes."""
    old, new = parse_layout(target.old), parse_layout(target.new)
    if old is None or new is None or target.old.isalpha():
        return False
    shape = _shape(expr)
    letters = {letter for letter, factor in {*old.parts} ^ {*new.parts}}
    return all(a == b for (letter, _), a, b in zip(old.parts, shape, result, strict=True) if letter in letters)


def _split_as(shape: Sequence[Any], target: LayoutChange) -> str | None:
    """Return the layout in which a tensor broadcasts with `target`: axes of size 1 are split into parts of 1.

    None if an axis cannot be split.
    """
    layout = parse_layout(target.new)
    if layout is None or not target.old.isalpha():
        return None
    out = []
    for letter, factor in layout.parts:
        size = shape[target.old.index(letter)]
        if factor and size != 1 and (not isinstance(size, int) or size % layout.factor(letter)):
            return None
        out.append(f"{1 if size == 1 else factor}{letter.lower()}" if factor else letter)
    return "".join(out)


def rescale(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """An elementwise function with scales keeps any layout if each scale is one number for all elements."""
    return elementwise(call, layouts) if all(_has_one_element(a) for a in call.args[1:]) else None


def _has_one_element(expr: Expr) -> bool:
    ty = expr.checked_type
    return isinstance(ty, TensorType) and all(d == 1 for d in ty.shape)


def rescale_pair(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """As `broadcast` for the first two arguments; a scale that varies along an axis varies along its new index."""
    ranks = {_rank(a) for a in call.args[:2]}
    if (change := next(filter(None, map(layouts.change_of, call.args[:2])), None)) is None or len(ranks) != 1:
        return None
    axes = {}
    for name, scales in (("lhs_axis", call.args[2:4]), ("rhs_axis", call.args[4:6])):
        axis = getattr(call.attrs, name)
        axes[name] = axis if all(map(_has_one_element, scales)) else _axis_index(change, axis, _rank(call))
    args = [layouts.in_layout(a, change) for a in call.args[:2]]
    if None in axes.values() or any(a is None for a in args):
        return None
    new_args = (*(a for a in args if a is not None), *map(layouts.original, call.args[2:]))
    return _replace_call(call, new_args, call.attrs.with_fields(**axes)), change


def drop_axes(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Both results have the layout of the data."""
    return _with_data(call, layouts), [layouts.change_of(call.args[0])] * 2


# ---------------------------------------------------------------- operators that name axes
def along(results: int = 0) -> Rule:
    """Return a rule for operators with an axis attribute; of several results the first has the layout of the data."""

    def rule(call: OpCall, layouts: LayoutArguments) -> Result | None:
        change = layouts.change_of(call.args[0])
        if change is None:
            return None
        if (axis := _axis_index(change, call.attrs.axis, _rank(call.args[0]))) is None:
            return None
        result = _with_data(call, layouts, call.attrs.with_fields(axis=axis))
        return result, [change, *[None] * (results - 1)] if results else change

    return rule


def _axis_index(change: LayoutChange, axis: Any, rank: int) -> int | None:
    """Return the current index of an axis, or None if it is split or unknown."""
    positions = change.positions(axis % rank) if isinstance(axis, int) and -rank <= axis < rank else []
    return positions[0] if len(positions) == 1 else None


def _block_index(change: LayoutChange, axis: int, rank: int) -> tuple[int, int] | None:
    """Return the current index of an axis or of its blocks, and the block size; None if it is split twice."""
    positions, layout = change.positions(axis % rank) if -rank <= axis < rank else [], parse_layout(change.new)
    if layout is None or not 1 <= len(positions) <= 2 or layout.parts[positions[0]][1]:
        return None
    return positions[0], layout.factor(change.old[axis % rank])


def batch_first(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Normalization over all axes but the first, the batch, and the one that is named: the batch must stay first."""
    change = layouts.change_of(call.args[0])
    return along()(call, layouts) if change is not None and change.positions(0) == [0] else None


def normalize_after_axis(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Normalization over the axes after the one that is named: they may be permuted among themselves."""
    change = layouts.change_of(call.args[0])
    if change is None:
        return None
    front = call.attrs.axis % len(change.old) + 1
    stays = change.whole and change.new[:front] == change.old[:front]
    return elementwise(call, layouts) if stays else None


def normalize(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Normalization along the axes that a list names."""
    change = layouts.change_of(call.args[0])
    axes = call.attrs.axis
    if change is None or not isinstance(axes, tuple):
        return None
    positions = [_axis_index(change, a, _rank(call.args[0])) for a in axes]
    if None in positions:
        return None
    return _with_data(call, layouts, call.attrs.with_fields(axis=tuple(positions))), change


def reduce_axes(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Reductions remove the axes they name; `variance` takes its mean in the layout of its data."""
    change, attrs = layouts.change_of(call.args[0]), call.attrs
    rank = _rank(call.args[0])
    axes = attrs.axis
    axes = range(rank) if axes is None else (axes,) if isinstance(axes, int) else axes
    removed = {a % rank for a in axes}
    if attrs.exclude:
        removed = set(range(rank)) - removed
    gives_indices = call.op.name in ("argmax", "argmin")
    order = [p for a in sorted(removed) for p in change.positions(a)] if change is not None else []
    if change is None or (gives_indices and (len(order) != len(removed) or order != sorted(order))):
        return None  # the results are indices, which depend on the order of the axes
    letters = {change.old[a] for a in removed}
    listed = set(range(rank)) - removed if attrs.exclude else removed
    positions = sorted(p for a in listed for p in change.positions(a))
    result_change = (_with_unit_axes if attrs.keepdims else _without_axes)(change, letters)
    shape = _shape(call.args[0])
    means = [_mean_in_layout(mean, shape, change, layouts) for mean in call.args[1:]]
    if any(mean is None for mean in means):
        return None
    args = (layouts.current(call.args[0]), *(mean for mean in means if mean is not None))
    return _replace_call(call, args, attrs.with_fields(axis=tuple(positions))), drop_identity(result_change)


def _mean_in_layout(mean: Expr, shape: Sequence[Any], data: LayoutChange, layouts: LayoutArguments) -> Expr | None:
    """Return the mean in the layout of the data: the current one if it was computed from the current data."""
    mean_change = layouts.change_of(mean)
    if mean_change is not None and mean_change.old == data.old and _rank(mean) == len(shape):
        letters = {letter for letter, size in zip(data.old, _shape(mean), strict=True) if size == 1}
        if mean_change.new in (data.new, _with_unit_axes(data, letters).new):
            return layouts.current(mean)
    return _broadcastable(mean, shape, data, layouts)


def _with_unit_axes(change: LayoutChange, letters: set[str]) -> LayoutChange:
    layout = parse_layout(change.new)
    assert layout is not None
    parts = [(f"{1 if p in letters else f}{p.lower()}" if f else p) for p, f in layout.parts]
    return LayoutChange(change.old, "".join(parts))


def _without_axes(change: LayoutChange, letters: set[str]) -> LayoutChange:
    layout = parse_layout(change.new)
    assert layout is not None
    parts = [(f"{f}{p.lower()}" if f else p) for p, f in layout.parts if p not in letters]
    return LayoutChange("".join(p for p in change.old if p not in letters), "".join(parts))


def squeeze_axes(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Squeezing removes the axes with the same letters."""
    change, ty = layouts.change_of(call.args[0]), call.args[0].checked_type
    if change is None or not change.whole or not isinstance(ty, TensorType):
        return None
    axes = call.attrs.axis
    removed = [i for i, d in enumerate(ty.shape) if d == 1] if axes is None else [a % len(ty.shape) for a in axes]
    positions = sorted(p for a in removed for p in change.positions(a))
    result_change = _without_axes(change, {change.old[a] for a in removed})
    return _with_data(call, layouts, call.attrs.with_fields(axis=tuple(positions))), drop_identity(result_change)


def transpose_to(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Transpose the current data so that the result has its original layout."""
    change, axes = layouts.change_of(call.args[0]), call.attrs.axes
    if change is None or not change.whole:
        return None
    rank = len(change.old)
    order = [a % rank for a in axes] if axes is not None else list(reversed(range(rank)))
    current = tuple(change.positions(a)[0] for a in order)
    return _with_data(call, layouts, call.attrs.with_fields(axes=current)), None


def join(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Convert all fields to the layout of the first one that has changed."""
    fields_arg = call.args[0]
    if not isinstance(fields_arg, Tuple) or not fields_arg.fields:
        return None
    if (change := next((a for a in map(layouts.change_of, fields_arg.fields) if a is not None), None)) is None:
        return None
    block = _block_index(change, call.attrs.axis, _rank(fields_arg.fields[0]))
    fields = [layouts.in_layout(f, change) for f in fields_arg.fields]
    if block is None or any(f is None for f in fields):
        return None
    data = Tuple([f for f in fields if f is not None], span=fields_arg.span)
    return _with_data(call, layouts, call.attrs.with_fields(axis=block[0]), data), change


def split(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """All results have the layout of the data. An axis in blocks can be split only between blocks."""
    change, ty, attrs = layouts.change_of(call.args[0]), call.checked_type, call.attrs
    rank = _rank(call.args[0])
    block = None if change is None else _block_index(change, attrs.axis, rank)
    if block is None or not isinstance(ty, TupleType):
        return None
    axis, size = block
    lengths = [part.shape[attrs.axis % rank] for part in tensor_types(ty)]
    if size > 1 and any(not isinstance(n, int) or n % size for n in lengths):
        return None
    sections = attrs.indices_or_sections
    sections = sections if isinstance(sections, int) else tuple(i // size for i in sections)
    new_attrs = attrs.with_fields(axis=axis, indices_or_sections=sections)
    return _with_data(call, layouts, new_attrs), [change] * len(ty.fields)


# ---------------------------------------------------------------- operators with a value for each axis
def permute(name: str) -> Rule:
    """Return a rule for operators whose attribute `name` is a list with one entry for each axis."""

    def rule(call: OpCall, layouts: LayoutArguments) -> Result | None:
        change = layouts.change_of(call.args[0])
        layout = None if change is None else parse_layout(change.new)
        values = getattr(call.attrs, name)
        if change is None or layout is None or len(values) != len(change.old):
            return None
        entry = dict(zip(change.old, values, strict=True))
        if not change.whole and any(entry[letter] != (0, 0) for letter, factor in layout.parts if factor):
            return None
        values_by_axis = {name: tuple(entry[letter] for letter, _ in layout.parts)}
        return _with_data(call, layouts, call.attrs.with_fields(**values_by_axis)), change

    return rule


def slice_axes(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """The bounds move to the current index of each axis; an axis in blocks can be cut only between blocks."""
    change, ty = layouts.change_of(call.args[0]), call.args[0].checked_type
    attrs: Any = call.attrs
    if change is None or len(call.args) != 1 or not isinstance(ty, TensorType) or ty.dynamic:
        return None
    rank = len(ty.shape)
    axes = range(rank) if attrs.axes is None else [a % rank for a in attrs.axes]
    bounds: dict[int, tuple[int, int, int]] = {}
    for i, axis in enumerate(axes):
        index, size = _block_index(change, axis, rank) or (-1, 1)
        begin, end, step = (v[i] if v and i < len(v) else d for v, d in _bounds(attrs, ty.shape[axis]))
        end = end if size == 1 else min(end, ty.shape[axis])
        if index < 0 or (size > 1 and (step != 1 or begin % size or end % size)):
            return None
        bounds[index] = (begin // size, end // size, step)
    order = list(bounds) if attrs.axes is not None else sorted(bounds)
    begins, ends, steps = (tuple(bounds[index][i] for index in order) for i in range(3))
    new_axes = {"axes": tuple(order)} if attrs.axes is not None else {}
    return _with_data(call, layouts, attrs.with_fields(begin=begins, end=ends, strides=steps, **new_axes)), change


def _bounds(attrs: Attrs, dim: Any) -> list[tuple[Any, int]]:
    """Return begin, end and strides, each with its default."""
    return [(attrs.begin, 0), (attrs.end, -1 if attrs.slice_mode == "size" else dim), (attrs.strides, 1)]


def slice_like(call: OpCall, layouts: LayoutArguments) -> Result | None:
    """Two tensors with the same change of layout; the axes are named by their current index."""
    data, like = (layouts.change_of(a) for a in call.args)
    if data is None or data != like or not data.whole:
        return None
    rank, axes = _rank(call.args[0]), call.attrs.axes
    positions = tuple(data.positions(a % rank)[0] for a in axes) if axes else axes
    new_attrs = call.attrs.with_fields(axes=positions)
    return _replace_call(call, tuple(map(layouts.current, call.args)), new_attrs), data


# ---------------------------------------------------------------- operators that name layouts
@dataclass(frozen=True)
class OneLayout:
    """The rule of operators with an attribute for the layout of their data: they adopt its current layout.

    `split` allows split axes, `ends` requires the channels to be next to the batch or last, and `still` names axes that
    must not move. An operator with `follows=False` changes its layout only on request, never for its data.
    """

    split: bool = False
    ends: bool = False
    still: str = ""
    follows: bool = True

    def __call__(self, call: OpCall, layouts: LayoutArguments) -> Result | None:
        """Return the call in the current layout of its data, or None if the operator does not support it."""
        attrs: Any = call.attrs
        change = layouts.change_of(call.args[0])
        named = change.with_letters(attrs.layout) if change is not None else None
        if named is None or not self.follows or not (named.whole or self.split):
            return None
        if any(named.new.find(axis) != named.old.find(axis) for axis in self.still):
            return None
        if self.ends and named.new not in ("NCHW", "NHWC", "NCW", "NWC", "NCDHW", "NDHWC"):
            return None
        return in_layout(call, layouts, named.new)


@dataclass(frozen=True)
class TwoLayouts:
    """The rule of convolutions, whose attributes name layouts of data and weight: both are converted to those.

    `weights` maps a layout of the data to the usual layout of the weight; `images` is the number of arguments in the
    layout of the data, which precede the weight.
    """

    weights: Mapping[str, str]
    images: int = 1

    def __call__(self, call: OpCall, layouts: LayoutArguments) -> Result | None:
        """Return the call with its arguments converted to the layouts that its attributes name."""
        return with_layouts(call, layouts, call.attrs)


def in_layout(call: OpCall, layouts: LayoutArguments, layout: str, names_result: bool = False) -> Result | None:
    """Return a call of an operator with one layout attribute in another layout, with its data converted."""
    attrs: Any = call.attrs
    data = layouts.in_layout(call.args[0], LayoutChange(attrs.layout, layout))
    if data is None or getattr(attrs, "out_layout", "") not in ("", attrs.layout):
        return None
    more = {"out_layout": layout} if getattr(attrs, "out_layout", "") or names_result else {}
    result = _with_data(call, layouts, attrs.with_fields(layout=layout, **more), data)
    return result, drop_identity(LayoutChange(attrs.layout, layout))


def with_layouts(call: OpCall, layouts: LayoutArguments, new: Any) -> Result | None:
    """Return a convolution with other layout attributes, with its data and weight converted."""
    return replacement_in_layouts(call, layouts, call, new, dict(enumerate(call.args)))


def replacement_in_layouts(
    call: OpCall, changes: LayoutArguments, new_call: OpCall, new: Any, origins: dict[int, Expr]
) -> Result | None:
    """Return `new_call` with the attributes `new`, as replacement of a call that names layouts as well.

    `origins` maps indices of its arguments to arguments of `call`: these are converted to the layouts that the
    attributes name. The others stay as they are. None if a tensor cannot be converted, or `new_call` has no layouts.
    """
    layouts = _named_layouts(call, new)
    if layouts is None:
        return None
    leading, result = layouts
    args: list[Expr] = []
    for i, arg in enumerate(new_call.args):
        change = leading[i] if i < len(leading) else None
        current: Expr | None = arg
        if i in origins:
            current = changes.in_layout(origins[i], change) if change is not None else changes.original(origins[i])
        if current is None:
            return None
        args.append(current)
    return _replace_call(new_call, tuple(args), new), drop_identity(result)


def _named_layouts(call: OpCall, new: Any) -> tuple[list[LayoutChange], LayoutChange] | None:
    """Return the layouts of the leading arguments and of the result, in `call` and with the attributes `new`."""
    old: Any = call.attrs
    if hasattr(old, "kernel_layout") and hasattr(new, "kernel_layout"):
        data = LayoutChange(old.data_layout, new.data_layout)
        rule = call.op.spec.layout
        images = rule.images if isinstance(rule, TwoLayouts) else 1
        leading = [*[data] * images, LayoutChange(old.kernel_layout, new.kernel_layout)]
    elif hasattr(old, "layout") and hasattr(new, "layout"):
        data = LayoutChange(old.layout, new.layout)
        leading = [data]
    else:
        return None
    return leading, LayoutChange(getattr(old, "out_layout", "") or data.old, getattr(new, "out_layout", "") or data.new)
