"""How operators take data in another layout than the one they were written for. Knows nothing of passes.

A rule gets a call as it was written and a view of its arguments as they are now. It answers with the call on them, and
with the layout of its result (of each result, for several); or None, where the operator needs things as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from passlab.ir.expr import Call, Expr, Tuple
from passlab.ir.types import TensorType, TupleType
from passlab.op import make
from passlab.op.nn.layouts import parse_layout


class Arranged(NamedTuple):
    """The layout that a tensor was written in and the one it is in now, by the same axis letters."""

    old: str
    new: str

    @property
    def whole(self) -> bool:
        """Whether the axes are only in another order, none split."""
        return len(self.old) == len(self.new) and sorted(self.old) == sorted(self.new)

    def places(self, axis: int) -> list[int]:
        """Return where an axis is now: several places for one that is split."""
        letter = self.old[axis]
        layout = parse_layout(self.new)
        return [i for i, part in enumerate(layout.parts) if part[0] == letter] if layout else []

    def named(self, old: str) -> Arranged | None:
        """Return the same with the letters of another name for the old layout; None if that has other axes."""
        if self.old == old:
            return self
        if len(self.old) != len(old) or not self.old.isalpha() or not old.isalpha():
            return None
        letters = str.maketrans(self.old + self.old.lower(), old + old.lower())
        return Arranged(old, self.new.translate(letters))


Arrangement = Arranged | None  # None: as it was written
Result = tuple[Expr, "Arrangement | list[Arrangement]"]


class Arguments(Protocol):
    """What a rule sees of the program: arguments are named by the expressions that they were written as."""

    def arrangement(self, expr: Expr) -> Arrangement:
        """Return the layout of a tensor now."""

    def now(self, expr: Expr) -> Expr:
        """Return the tensor as it is now."""

    def plain(self, expr: Expr) -> Expr:
        """Return the tensor as it was written."""

    def arranged(self, expr: Expr, wanted: Arranged) -> Expr | None:
        """Return the tensor in another layout, None where it cannot be brought there."""


Rule = Callable[[Call, Arguments], Result | None]


def _rank(expr: Expr) -> int:
    ty = expr.checked_type
    return len(ty.shape) if isinstance(ty, TensorType) else -1


def settled(arrangement: Arranged) -> Arrangement:
    """Return an arrangement, None for one in which nothing has moved."""
    return None if arrangement.old == arrangement.new else arrangement


def _with(call: Call, given: Arguments, attrs: Any = None, data: Expr | None = None) -> Call:
    """Return a call on its first argument as it is now, and the others as they were written."""
    first = given.now(call.args[0]) if data is None else data
    return _again(call, (first, *map(given.plain, call.args[1:])), call.attrs if attrs is None else attrs)


def _again(call: Call, args: tuple[Expr, ...], attrs: Any) -> Call:
    """Return a call with other arguments and attributes, the same object where they are the same."""
    args = call.args if args == call.args else args
    made: Call = call.with_fields(args=args, attrs=call.attrs if attrs == call.attrs else attrs)
    return made


# ---------------------------------------------------------------- one element at a time
def _elementwise(call: Call, given: Arguments) -> Result | None:
    return _with(call, given), given.arrangement(call.args[0])


def _broadcast(call: Call, given: Arguments) -> Result | None:
    """All arguments are brought into the layout of the first one that is in another and has all axes."""
    rank = _rank(call)
    found = (given.arrangement(a) for a in call.args if _rank(a) == rank)
    wanted = next((a for a in found if a is not None), None)
    if wanted is None:
        return None
    args = [_broadcastable(a, rank, wanted, given) for a in call.args]
    if any(a is None for a in args):
        return None
    return _again(call, tuple(a for a in args if a is not None), call.attrs), wanted


def _broadcastable(expr: Expr, rank: int, wanted: Arranged, given: Arguments) -> Expr | None:
    own = _rank(expr)
    if own == 0:
        return given.plain(expr)
    if own < 0 or given.arrangement(expr) is not None:
        return given.arranged(expr, wanted) if own == rank else None
    shape = (*[1] * (rank - own), *expr.checked_type.shape)  # type: ignore[attr-defined]
    target = _split_as(shape, wanted)
    if target is None:
        return None
    if own == rank:
        return given.arranged(expr, Arranged(wanted.old, target))
    wide = make("expand_dims", given.plain(expr), axis=0, num_newaxis=rank - own)
    return make("layout_transform", wide, src_layout=wanted.old, dst_layout=target)


def _split_as(shape: Sequence[Any], wanted: Arranged) -> str | None:
    """Return the layout for a tensor to broadcast with one in `wanted.new`: axes of size 1 are split into parts of 1.

    None where an axis cannot be split.
    """
    layout = parse_layout(wanted.new)
    if layout is None or not wanted.old.isalpha():
        return None
    out = []
    for letter, factor in layout.parts:
        size = shape[wanted.old.index(letter)]
        if factor and size != 1 and (not isinstance(size, int) or size % layout.factor(letter)):
            return None
        out.append(f"{1 if size == 1 else factor}{letter.lower()}" if factor else letter)
    return "".join(out)


def _rescaled(call: Call, given: Arguments) -> Result | None:
    """A function of each element that is given scales: one for all elements, or it needs things as they were."""
    return _elementwise(call, given) if all(_single(a) for a in call.args[1:]) else None


def _single(expr: Expr) -> bool:
    ty = expr.checked_type
    return isinstance(ty, TensorType) and all(d == 1 for d in ty.shape)


def _rescaled_pair(call: Call, given: Arguments) -> Result | None:
    """As `_broadcast` for the first two arguments; scales that vary along an axis vary along its new place."""
    ranks = {_rank(a) for a in call.args[:2]}
    wanted = next((a for a in map(given.arrangement, call.args[:2]) if a is not None), None)
    if wanted is None or len(ranks) != 1:
        return None
    moved = {}
    for name, scales in (("lhs_axis", call.args[2:4]), ("rhs_axis", call.args[4:6])):
        axis = getattr(call.attrs, name)
        moved[name] = axis if all(map(_single, scales)) else _one_place(wanted, axis, _rank(call))
    args = [given.arranged(a, wanted) for a in call.args[:2]]
    if None in moved.values() or any(a is None for a in args):
        return None
    whole = (*(a for a in args if a is not None), *map(given.plain, call.args[2:]))
    return _again(call, whole, call.attrs.with_fields(**moved)), wanted  # type: ignore[union-attr]


def _dropped(call: Call, given: Arguments) -> Result | None:
    arrangement = given.arrangement(call.args[0])
    return _with(call, given), [arrangement, arrangement]


# ---------------------------------------------------------------- operators that name axes
def _axis(names: Sequence[str] = ("axis",), results: int = 0) -> Rule:
    """A rule for operators that name single axes of their first argument; of several results the first is alike."""

    def rule(call: Call, given: Arguments) -> Result | None:
        arrangement = given.arrangement(call.args[0])
        if arrangement is None:
            return None
        moved = {}
        for name in names:
            axis = _one_place(arrangement, getattr(call.attrs, name), _rank(call.args[0]))
            if axis is None:
                return None
            moved[name] = axis
        made = _with(call, given, call.attrs.with_fields(**moved))  # type: ignore[union-attr]
        return made, [arrangement, *[None] * (results - 1)] if results else arrangement

    return rule


def _one_place(arrangement: Arranged, axis: Any, rank: int) -> int | None:
    """Return where an axis is now, None for one that is split or not told."""
    places = arrangement.places(axis % rank) if isinstance(axis, int) and -rank <= axis < rank else []
    return places[0] if len(places) == 1 else None


def _batch_first(call: Call, given: Arguments) -> Result | None:
    """Normalization over all axes but the first and the one that is named."""
    arrangement = given.arrangement(call.args[0])
    return _axis()(call, given) if arrangement is not None and arrangement.places(0) == [0] else None


def _normalized(call: Call, given: Arguments) -> Result | None:
    arrangement = given.arrangement(call.args[0])
    axes = call.attrs.axis  # type: ignore[union-attr]
    if arrangement is None or not isinstance(axes, tuple):
        return None
    places = [_one_place(arrangement, a, _rank(call.args[0])) for a in axes]
    if None in places:
        return None
    return _with(call, given, call.attrs.with_fields(axis=tuple(places))), arrangement  # type: ignore[union-attr]


def _reduced(call: Call, given: Arguments) -> Result | None:
    arrangement, attrs = given.arrangement(call.args[0]), call.attrs
    rank = _rank(call.args[0])
    axes = attrs.axis  # type: ignore[union-attr]
    axes = range(rank) if axes is None else (axes,) if isinstance(axes, int) else axes
    gone = {a % rank for a in axes}
    if attrs.exclude:  # type: ignore[union-attr]
        gone = set(range(rank)) - gone
    picks = call.op.name in ("argmax", "argmin")  # type: ignore[attr-defined]
    if arrangement is None or (picks and len(gone) != 1) or (attrs.keepdims and not arrangement.whole):  # type: ignore[union-attr]
        return None
    letters = {arrangement.old[a] for a in gone}
    places = sorted(p for a in gone for p in arrangement.places(a))
    left = arrangement if attrs.keepdims else _without(arrangement, letters)  # type: ignore[union-attr]
    made = _with(call, given, attrs.with_fields(axis=tuple(places), exclude=False))  # type: ignore[union-attr]
    return made, settled(left)


def _without(arrangement: Arranged, letters: set[str]) -> Arranged:
    layout = parse_layout(arrangement.new)
    assert layout is not None
    parts = [(f"{f}{p.lower()}" if f else p) for p, f in layout.parts if p not in letters]
    return Arranged("".join(p for p in arrangement.old if p not in letters), "".join(parts))


def _squeezed(call: Call, given: Arguments) -> Result | None:
    arrangement, ty = given.arrangement(call.args[0]), call.args[0].checked_type
    if arrangement is None or not arrangement.whole or not isinstance(ty, TensorType):
        return None
    axes = call.attrs.axis  # type: ignore[union-attr]
    gone = [i for i, d in enumerate(ty.shape) if d == 1] if axes is None else [a % len(ty.shape) for a in axes]
    places = sorted(p for a in gone for p in arrangement.places(a))
    left = _without(arrangement, {arrangement.old[a] for a in gone})
    return _with(call, given, call.attrs.with_fields(axis=tuple(places))), settled(left)  # type: ignore[union-attr]


def _transposed(call: Call, given: Arguments) -> Result | None:
    """The result is as it was written, in one step from the data as it is now."""
    arrangement, axes = given.arrangement(call.args[0]), call.attrs.axes  # type: ignore[union-attr]
    if arrangement is None or not arrangement.whole:
        return None
    rank = len(arrangement.old)
    order = [a % rank for a in axes] if axes is not None else list(reversed(range(rank)))
    now = tuple(arrangement.places(a)[0] for a in order)
    if now == tuple(range(rank)):
        return given.now(call.args[0]), None
    return _with(call, given, call.attrs.with_fields(axes=now)), None  # type: ignore[union-attr]


def _laid_out(call: Call, given: Arguments) -> Result | None:
    """The result of `layout_transform`, too, is made in one step from the data as it is now."""
    arrangement, attrs = given.arrangement(call.args[0]), call.attrs
    named = arrangement.named(attrs.src_layout) if arrangement is not None else None  # type: ignore[union-attr]
    if named is None:
        return None
    if named.new == attrs.dst_layout:  # type: ignore[union-attr]
        return given.now(call.args[0]), None
    return _with(call, given, attrs.with_fields(src_layout=named.new)), None  # type: ignore[union-attr]


def _joined(call: Call, given: Arguments) -> Result | None:
    whole = call.args[0]
    if not isinstance(whole, Tuple) or not whole.fields:
        return None
    wanted = next((a for a in map(given.arrangement, whole.fields) if a is not None), None)
    if wanted is None:
        return None
    axis = _one_place(wanted, call.attrs.axis, _rank(whole.fields[0]))  # type: ignore[union-attr]
    fields = [given.arranged(f, wanted) for f in whole.fields]
    if axis is None or any(f is None for f in fields):
        return None
    data = Tuple([f for f in fields if f is not None], span=whole.span)
    return _with(call, given, call.attrs.with_fields(axis=axis), data), wanted  # type: ignore[union-attr]


def _split(call: Call, given: Arguments) -> Result | None:
    made = _axis()(call, given)
    ty = call.checked_type
    if made is None or not isinstance(ty, TupleType):
        return None
    return made[0], [given.arrangement(call.args[0])] * len(ty.fields)


# ---------------------------------------------------------------- operators with a value for each axis
def _permuted(names: Sequence[str]) -> Rule:
    """A rule for operators with lists of one entry for each axis."""

    def rule(call: Call, given: Arguments) -> Result | None:
        arrangement = given.arrangement(call.args[0])
        if arrangement is None or not arrangement.whole or getattr(call.attrs, "axes", None) is not None:
            return None
        order = [arrangement.old.index(letter) for letter in arrangement.new]
        moved = {}
        for name in names:
            values = getattr(call.attrs, name)
            if len(values) != len(order):
                return None
            moved[name] = tuple(values[i] for i in order)
        return _with(call, given, call.attrs.with_fields(**moved)), arrangement  # type: ignore[union-attr]

    return rule


def _sliced(call: Call, given: Arguments) -> Result | None:
    attrs, rank = call.attrs, _rank(call.args[0])
    arrangement = given.arrangement(call.args[0])
    if arrangement is None or not arrangement.whole or len(call.args) != 1:
        return None
    axes = attrs.axes if attrs.axes is not None else range(len(attrs.begin))  # type: ignore[union-attr]
    places = tuple(arrangement.places(a % rank)[0] for a in axes)
    ends = list(attrs.end)  # type: ignore[union-attr]
    if len(ends) != len(places):
        return None
    return _with(call, given, attrs.with_fields(axes=places)), arrangement  # type: ignore[union-attr]


# ---------------------------------------------------------------- operators that name layouts
def _layout(call: Call, given: Arguments) -> Result | None:
    """The operator goes on in the layout that its data is in."""
    attrs: Any = call.attrs
    arrangement = given.arrangement(call.args[0])
    named = arrangement.named(attrs.layout) if arrangement is not None else None
    if named is None or not (named.whole or call.op.name in SPLITS):  # type: ignore[attr-defined]
        return None
    if call.op.name in CHANNELS and named.new not in ("NCHW", "NHWC", "NCW", "NWC", "NCDHW", "NDHWC"):  # type: ignore[attr-defined]
        return None
    return in_layout(call, given, named.new)


def in_layout(call: Call, given: Arguments, layout: str) -> Result | None:
    """Return a call of an operator that names one layout in another, with its data brought there."""
    attrs: Any = call.attrs
    data = given.arranged(call.args[0], Arranged(attrs.layout, layout))
    if data is None or getattr(attrs, "out_layout", "") not in ("", attrs.layout):
        return None
    more = {"out_layout": layout} if getattr(attrs, "out_layout", "") else {}
    made = _with(call, given, attrs.with_fields(layout=layout, **more), data)
    return made, settled(Arranged(attrs.layout, layout))


def in_layouts(call: Call, given: Arguments, new: Any) -> Result | None:
    """Return a convolution with attributes that name other layouts, with its data and weight brought there."""
    return in_place(call, given, call, new, dict(enumerate(call.args)))


def in_place(call: Call, given: Arguments, made: Call, new: Any, known: dict[int, Expr]) -> Result | None:
    """Return the call `made` with the attributes `new`, in the place of one that names layouts, too.

    `known` gives those of its arguments, by number, that are arguments of `call`: they are brought into the layouts
    that are named. The others stand as they are. None where a tensor cannot be brought there, or `made` names no
    layouts.
    """
    layouts = _named_layouts(call, new)
    if layouts is None:
        return None
    leading, result = layouts
    args: list[Expr] = []
    for i, arg in enumerate(made.args):
        wanted = leading[i] if i < len(leading) else None
        now: Expr | None = arg
        if i in known:
            now = given.plain(known[i]) if wanted is None else given.arranged(known[i], wanted)
        if now is None:
            return None
        args.append(now)
    return _again(made, tuple(args), new), settled(result)


def _named_layouts(call: Call, new: Any) -> tuple[list[Arranged], Arranged] | None:
    """Return how the arguments that come first, and the result, are laid out in `call` and with attributes `new`."""
    old: Any = call.attrs
    if hasattr(old, "kernel_layout") and hasattr(new, "kernel_layout"):
        data = Arranged(old.data_layout, new.data_layout)
        weights = 2 if call.op.name == "nn.deformable_conv2d" else 1  # type: ignore[attr-defined]
        leading = [*[data] * weights, Arranged(old.kernel_layout, new.kernel_layout)]
    elif hasattr(old, "layout") and hasattr(new, "layout"):
        data = Arranged(old.layout, new.layout)
        leading = [data]
    else:
        return None
    return leading, Arranged(getattr(old, "out_layout", "") or data.old, getattr(new, "out_layout", "") or data.new)


SPLITS = frozenset(
    f"nn.{kind}{rank}d" for kind in ("max_pool", "avg_pool", "global_max_pool", "global_avg_pool") for rank in (1, 2, 3)
)
CHANNELS = frozenset(
    {
        "nn.depth_to_space",
        "nn.space_to_depth",
        "image.resize1d",
        "image.resize2d",
        "image.resize3d",
        "vision.roi_align",
        "vision.roi_pool",
        "image.crop_and_resize",
    }
)
CONVOLUTIONS = frozenset((
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose",
    "nn.deformable_conv2d", "qnn.conv2d", "qnn.conv2d_transpose",
))  # fmt: skip
IN_LAYOUT = frozenset((
    *SPLITS, *CHANNELS, "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d",
    "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d", "nn.upsampling", "nn.upsampling3d",
    "qnn.avg_pool2d",
))  # fmt: skip
RULES: dict[str, Rule] = {
    **dict.fromkeys((
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "cast", "ceil", "clip", "copy", "cos",
        "cosh", "erf", "exp", "fast_erf", "fast_exp", "fast_tanh", "fixed_point_multiply", "floor", "isfinite", "isinf",
        "isnan", "log", "log10", "log2", "logical_not", "negative", "nn.leaky_relu", "nn.relu", "ones_like", "round",
        "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "zeros_like", "annotation.cast_hint",
        "annotation.checkpoint", "annotation.stop_fusion", "cast_like", "device_copy", "full_like", "on_device",
        "reinterpret",
    ), _elementwise),
    **dict.fromkeys((
        "qnn.abs", "qnn.erf", "qnn.exp", "qnn.hardswish", "qnn.leaky_relu", "qnn.log", "qnn.rsqrt", "qnn.sigmoid",
        "qnn.sqrt", "qnn.tanh",
    ), _rescaled),
    **dict.fromkeys(("qnn.add", "qnn.mul", "qnn.subtract"), _rescaled_pair),
    **dict.fromkeys(("nn.instance_norm", "nn.group_norm"), _batch_first),
    **dict.fromkeys((
        "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide", "floor_mod", "greater",
        "greater_equal", "left_shift", "less", "less_equal", "logical_and", "logical_or", "logical_xor", "maximum",
        "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract", "trunc_divide", "trunc_mod",
        "where",
    ), _broadcast),
    **dict.fromkeys((
        "nn.bias_add", "nn.fast_softmax", "nn.log_softmax", "nn.lrn", "nn.prelu", "nn.softmax", "qnn.dequantize",
        "qnn.quantize", "qnn.requantize", "qnn.softmax", "cumsum", "cumprod", "reverse", "argsort", "nn.layer_norm",
        "repeat", "sort",
    ), _axis()),
    **dict.fromkeys(("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"), _reduced),
    **dict.fromkeys(IN_LAYOUT, _layout),
    "concatenate": _joined, "nn.batch_norm": _axis(results=3), "nn.l2_normalize": _normalized,
    "nn.pad": _permuted(["pad_width"]), "nn.mirror_pad": _permuted(["pad_width"]), "nn.dilate": _permuted(["strides"]),
    "tile": _permuted(["reps"]), "broadcast_to": _permuted(["shape"]), "nn.dropout": _dropped,
    "layout_transform": _laid_out, "qnn.concatenate": _joined, "split": _split, "squeeze": _squeezed,
    "strided_slice": _sliced, "transpose": _transposed,
}  # fmt: skip
