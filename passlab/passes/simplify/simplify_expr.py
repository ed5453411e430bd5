"""Rewrite arithmetic, casts, shapes and layouts to simpler forms.

before:
    def @main(%x: Tensor[(2), float32]) { multiply(multiply(add(%x, %x), 3f), 4f) }
after:
    def @main(%x: Tensor[(2), float32]) { multiply(%x, 24f) }

before:
    def @main(%x: Tensor[(2), float32]) { add(cast(cast(%x, dtype="float64"), dtype="float32"), 0f) }
after:
    def @main(%x: Tensor[(2), float32]) { %x }

before:
    def @main(%x: Tensor[(1, 2, 3, 4), float32]) {
      layout_transform(transpose(%x, axes=[0, 2, 3, 1]), src_layout="NHWC", dst_layout="NCHW")
    }
after:
    def @main(%x: Tensor[(1, 2, 3, 4), float32]) { %x }

before:
    def @main(%x: Tensor[(4), float32]) {
      cast(cast(clip(round(%x), a_min=-128f, a_max=127f), dtype="int8"), dtype="float32")
    }
after:
    def @main(%x: Tensor[(4), float32]) { clip(round(%x), a_min=-128f, a_max=127f) }

keep:
    def @main(%x: Tensor[(4), float32]) {
      cast(cast(clip(%x, a_min=-128f, a_max=127f), dtype="int8"), dtype="float32")
    }

keep:
    def @main(%x: Tensor[(2), int8]) { cast(cast(%x, dtype="uint8"), dtype="int16") }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, Trait, has_trait, is_op_call, op_name
from passlab.op import make
from passlab.op.dtypes import array_dtype, integer_info, is_float_name
from passlab.op.layout_names import parse_layout
from passlab.rewriting.rules import Rule, RuleMatch, RuleSet, compute
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, Part, Rounds, standard_pass

# ---------------------------------------------------------------- sums, products and quotients
_BROADCASTING = "add|subtract|multiply|divide|maximum|minimum"
_FULL = frozenset({"full", "ones", "zeros", "full_like", "ones_like", "zeros_like"})
_UNIFORM = _FULL | {Constant}
_RESULT: dict[str, Any] = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}


def uniform_value(expr: Expr) -> Any:
    """Return the value that all elements of a tensor share, if that is known, else None.

    Known are scalar constants, and `zeros`, `ones`, `full` of a scalar constant and their `_like` forms.
    """
    if type(expr) is Constant:
        return expr.data[()] if expr.data.ndim == 0 else None
    name = op_name(expr)
    if name in _RESULT:
        return _RESULT[name]
    if name not in _FULL:
        return None
    assert isinstance(expr, Call)
    value = expr.args[0 if name == "full" else 1]
    return value.data[()] if type(value) is Constant and value.data.ndim == 0 else None


def _neutral(value: int) -> Callable[[RuleMatch], bool]:
    """Return a condition: all elements of operand `n` are that number, and the result has the type of the other
    operand.
    """

    def holds(match: RuleMatch) -> bool:
        return uniform_value(match["n"]) == value and match.type("x") is match.type("root") and match.pure("n")

    return holds


def _scalar(value: Any, dtype: str) -> Constant:
    return Constant(np.asarray(value, dtype=array_dtype(dtype)))


def _uniform_operand(match: RuleMatch) -> Expr | None:
    """Replace an operand with equal elements by a scalar, if the other operand determines the result type."""
    root = match["root"]
    for i, other in ((1, "x"), (0, "y")):
        operand, ty = root.args[i], match.tensor("root")
        name = op_name(operand)
        if ty is None or name not in _FULL or match.type(other) is not match.type("root"):
            continue
        value = uniform_value(operand)
        if value is not None and match.purity.of(operand):
            scalar = _scalar(value, ty.dtype)
            return make(root.op.name, *((root.args[0], scalar) if i else (scalar, root.args[1])))
    return None


def _variable(match: RuleMatch) -> bool:
    return type(match["x"]) is not Constant


def _double(match: RuleMatch) -> Expr | None:
    ty = match.tensor("x")
    return (
        None
        if ty is None or ty.dtype == "bool" or not _variable(match)
        else make("multiply", match["x"], _scalar(2, ty.dtype))
    )


def _join(op: str, match: RuleMatch) -> Expr | None:
    """Return the sum or product of the constants; None if it leaves the range in which rounding is small."""
    c1, c2 = match["c1"], match["c2"]
    result = compute(make(op, c1, c2))
    if type(result) is not Constant or not is_float_name(result.tensor_type.dtype):
        return result
    data = np.abs(result.data.astype("float64"))
    info: Any = ml_dtypes.finfo(result.data.dtype)  # type: ignore[no-untyped-call]
    normal = (data >= float(info.tiny)) & np.isfinite(data)
    exact = (c1.data == 0) | (c2.data == 0) if op == "multiply" else data == 0
    return result if np.all(normal | exact) else None


_CANCELS = 2048.0  # a sum smaller than its parts by this factor has lost digits that the rule must keep


def _cancel(c1: Any, c2: Any) -> bool:
    """Return True if two float constants nearly cancel in some element: the first sum rounds more than the second."""
    if not is_float_name(c1.tensor_type.dtype):
        return False
    one, other = c1.data.astype("float64"), c2.data.astype("float64")
    with np.errstate(all="ignore"):  # infinities that cancel
        return bool(np.any(np.maximum(np.abs(one), np.abs(other)) > _CANCELS * np.abs(one + other)))


def _regroup(match: RuleMatch) -> Expr | None:
    """Join the constants of two sums or two products, if the result keeps its type.

    Float constants that cancel are not joined: in `(x + 1e8) - 1e8` the first sum rounds x away.
    """
    if not _variable(match) or (match["root"].op.name == "add" and _cancel(match["c1"], match["c2"])):
        return None
    joined = _join(match["root"].op.name, match)
    if joined is None:
        return None
    result = make(match["root"].op.name, match["x"], joined)
    return result if match.types.of(result) is match.type("root") else None


def _distribute(match: RuleMatch) -> Expr | None:
    joined = _join("multiply", match) if _variable(match) else None
    if joined is None:
        return None
    result = make("add", make("multiply", match["x"], match["c2"]), joined)
    return result if match.types.of(result) is match.type("root") else None


ARITHMETIC = (
    Rule("sum with itself", "add(x, x)", _double),
    Rule("quotient by a root", "divide(x, sqrt(y))", "multiply(x, rsqrt(y))", contract=Rounds(4)),
    Rule("adding zero", "add(x, n)", "x", _neutral(0), contract=FINITE, needs=_UNIFORM),
    Rule("subtracting zero", "subtract(x, n)", "x", _neutral(0), needs=_UNIFORM),
    Rule("multiplying by one", "multiply(x, n)", "x", _neutral(1), needs=_UNIFORM),
    Rule("dividing by one", "divide(x, n)", "x", _neutral(1), needs=_UNIFORM),
    Rule("one value throughout", f"{_BROADCASTING}(x, y)", _uniform_operand, needs=_FULL),
    Rule("sum times a constant", "multiply(add(x, c1), c2)", _distribute, contract=Rounds(4096) + FINITE),
    Rule("product of products", "multiply(multiply(x, c1), c2)", _regroup, contract=Rounds(4) + FINITE),
    Rule("sum of sums", "add(add(x, c1), c2)", _regroup, contract=Rounds(4096) + FINITE),
)


# ---------------------------------------------------------------- "like" operators whose shape is known
def _static(match: RuleMatch) -> bool:
    """Return whether the shape is known and the tensor that provided it may be dropped."""
    ty = match.tensor("root")
    return ty is not None and not ty.dynamic and match.pure("other")


def _call_with_shape(op: str, **names: str) -> Callable[[RuleMatch], Expr]:
    """Return a function that calls `op` on the nodes matched as `data`, with the shape (and dtype) of the whole."""

    def result(match: RuleMatch) -> Expr:
        ty = match.tensor("root")
        assert ty is not None
        args = [match[n] for n in ("value", "data") if n in match.nodes and n in names.get("args", "")]
        attrs: dict[str, Any] = {names.get("shape", "shape"): list(ty.shape)}
        if "dtype" in names:
            attrs["dtype"] = ty.dtype
        return make(op, *args, **attrs)

    return result


def _nonzero(match: RuleMatch) -> bool:
    """Return whether the shape is known and has no 0, which reshape reads as "copy this dimension"."""
    ty = match.tensor("root")
    return ty is not None and 0 not in ty.shape and _static(match)


def _collapse(match: RuleMatch) -> Expr:
    """Sum to a shape, which `collapse_sum_to` takes as an operand and as an attribute."""
    ty = match.tensor("root")
    assert ty is not None
    sizes = Constant(np.asarray(ty.concrete_shape, dtype="int32"))
    return make("collapse_sum_to", match["data"], sizes, shape=ty.concrete_shape)


def _cast(match: RuleMatch) -> Expr | None:
    ty = match.tensor("root")
    return None if ty is None or not match.pure("other") else make("cast", match["data"], dtype=ty.dtype)


CONCRETE = (
    Rule("zeros of a known shape", "zeros_like(other)", _call_with_shape("zeros", dtype=""), _static),
    Rule("ones of a known shape", "ones_like(other)", _call_with_shape("ones", dtype=""), _static),
    Rule("full of a known shape", "full_like(other, value)", _call_with_shape("full", args="value", dtype=""), _static),
    Rule(
        "reshape to a known shape",
        "reshape_like(data, other)",
        _call_with_shape("reshape", args="data", shape="newshape"),
        _nonzero,
    ),
    Rule("sum to a known shape", "collapse_sum_like(data, other)", _collapse, _static),
    Rule(
        "broadcast to a known shape",
        "broadcast_to_like(data, other)",
        _call_with_shape("broadcast_to", args="data"),
        _static,
    ),
    Rule("cast to a known dtype", "cast_like(data, other)", _cast),
)


# ---------------------------------------------------------------- casts, and clips, which bound the range of a value
def widens(source: str, target: str) -> bool:
    """Return True if each value of dtype `source` is one of `target`, of the same kind or floating; never for bfloat.

    Relay also counts signed to unsigned and int32 to float32 as widening, which lose values. Neither counts unsigned to
    signed.
    """
    if source == target or "bfloat" in source + target or "float8" in source + target or "bool" in (source, target):
        return False
    a, b = array_dtype(source), array_dtype(target)
    if b.kind == "f":
        digits = np.finfo(b).nmant + 1
        return b.itemsize > a.itemsize if a.kind == "f" else a.itemsize * 8 - (a.kind == "i") <= digits
    return a.kind == b.kind and b.itemsize > a.itemsize


def _own_type(match: RuleMatch) -> bool:
    ty = match.tensor("x")
    return ty is not None and ty.dtype == match.attrs("root").dtype


def _through_wider(match: RuleMatch) -> Expr | None:
    ty = match.tensor("x")
    if ty is None or not widens(ty.dtype, match.attrs("inner").dtype):
        return None
    return make("cast", match["x"], dtype=match.attrs("root").dtype)


def _holds(dtype: str, low: float, high: float) -> bool:
    """Return whether an integer dtype holds all whole numbers from low to high."""
    if dtype == "bool" or is_float_name(dtype):
        return False
    info = integer_info(array_dtype(dtype))
    return bool(info.min <= low and high <= info.max)


def is_whole(expr: Expr, match: RuleMatch) -> bool:
    """Return whether all elements are whole numbers (or not finite), as far as the last few operators show."""
    stack, steps = [expr], 0
    while stack:
        node = stack.pop()
        steps += 1
        if steps > 32:
            return False
        ty = match.types.tensor(node)
        if ty is not None and not is_float_name(ty.dtype):
            continue
        if type(node) is Constant:
            if not np.array_equal(np.trunc(node.data), node.data):
                return False
            continue
        if has_trait(node, Trait.MAKES_WHOLE):
            continue
        if type(node) is not Call or not has_trait(node, Trait.KEEPS_WHOLE | Trait.MOVES):
            return False
        if node.op is Op.get("clip") and not _whole_bounds(node.attrs):
            return False
        stack += node.args
    return True


def _clip_keeps(match: RuleMatch) -> Expr | None:
    """Drop the cast of a clipped value to an integer type that holds the range, when a second cast follows.

    If the second cast is to integers, the value need not be whole: both forms truncate the fraction.
    """
    attrs, back = match.attrs("clip"), match.attrs("root").dtype
    ty = match.tensor("clip")
    if ty is None or not _holds(match.attrs("inner").dtype, attrs.a_min, attrs.a_max):
        return None
    whole = not is_float_name(ty.dtype) or (_whole_bounds(attrs) and is_whole(match["x"], match))
    if not whole and not _holds(back, attrs.a_min, attrs.a_max):
        return None
    return match["clip"] if back == ty.dtype else make("cast", match["clip"], dtype=back)


def _whole_bounds(attrs: Any) -> bool:
    return float(attrs.a_min).is_integer() and float(attrs.a_max).is_integer()


def _clip_covers(match: RuleMatch) -> bool:
    """Return True if a clip covers the whole range of its type. Quantized operators saturate by such a clip, and keep
    it.
    """
    ty, x = match.tensor("x"), match["x"]
    if ty is None or is_float_name(ty.dtype) or ty.dtype == "bool":
        return False
    if is_op_call(x) and x.op.name in ("qnn.requantize", "qnn.add"):
        return False
    info = integer_info(array_dtype(ty.dtype))
    attrs = match.attrs("root")
    return bool(attrs.a_min <= info.min and info.max <= attrs.a_max)


CASTS = (
    Rule("cast to its own type", "cast(x)", "x", _own_type),
    Rule("cast through a wider type", "cast(inner:cast(x))", _through_wider),
    Rule("cast of a clipped value", "cast(inner:cast(clip:clip(x)))", _clip_keeps, contract=FINITE),
    Rule("clip to the whole range", "clip(x)", "x", _clip_covers),
)


# ---------------------------------------------------------------- moved elements: reshape, transpose, layout_transform
_RESHAPES = "reshape|contrib_reverse_reshape"
_MOVES = "transpose|layout_transform"
Letters = list[str]


def _reshape_again(match: RuleMatch) -> Expr | None:
    ty = match.tensor("root")
    if ty is None or ty.dynamic or 0 in ty.shape:  # reshape would read a 0 as "copy this dimension"
        return None
    return make("reshape", match["x"], newshape=list(ty.shape))


def _letters(layout: str) -> Letters | None:
    """Return the axes of a layout in order, as texts."""
    parsed = parse_layout(layout)
    return None if parsed is None else [f"{f}{letter.lower()}" if f else letter for letter, f in parsed.parts]


def _permutation(call: OpCall, rank: int) -> list[int] | None:
    """Return the axes of a transpose, or of a layout_transform that only permutes; None for other calls."""
    attrs: Any = call.attrs
    if call.op.name == "transpose":
        return [a % rank for a in attrs.axes] if attrs.axes else list(range(rank))[::-1]
    source, target = _letters(attrs.src_layout), _letters(attrs.dst_layout)
    if source is None or target is None or sorted(source) != sorted(target) or len(source) != rank:
        return None
    return [source.index(part) for part in target]


def _moves_composed(match: RuleMatch) -> Expr | None:
    """Merge two moves; where one splits or joins axes, the other is expressed in the name of its layout."""
    x, inner, outer = match["x"], match["inner"], match["root"]
    first, middle = match.tensor("x"), match.tensor("inner")
    if first is None or middle is None:
        return None
    one, two = _permutation(inner, len(first.shape)), _permutation(outer, len(middle.shape))
    if one is not None and two is not None:
        axes = [one[a] for a in two]
        return x if list(axes) == list(range(len(axes))) else make("transpose", x, axes=list(axes))
    if two is None and one is not None:
        source = _letters(outer.attrs.src_layout)
        if source is None or len(source) != len(one):
            return None
        before = [""] * len(one)
        for place, part in zip(one, source, strict=True):
            before[place] = part
        return _layout(x, "".join(before), outer.attrs.dst_layout)
    if one is None and two is not None:
        target = _letters(inner.attrs.dst_layout)
        if target is None or len(target) != len(two):
            return None
        return _layout(x, inner.attrs.src_layout, "".join(target[a] for a in two))
    if inner.attrs.dst_layout != outer.attrs.src_layout:
        return None
    return _layout(x, inner.attrs.src_layout, outer.attrs.dst_layout)


def _layout(x: Expr, source: str, target: str) -> Expr | None:
    if source == target:
        return x
    if parse_layout(source) is None or parse_layout(target) is None:
        return None
    return make("layout_transform", x, src_layout=source, dst_layout=target)


def _moves_nothing(match: RuleMatch) -> bool:
    ty = match.tensor("x")
    axes = None if ty is None else _permutation(match["root"], len(ty.shape))
    return axes is not None and axes == list(range(len(axes)))


MOVEMENT = (
    Rule("reshape of a reshape", f"{_RESHAPES}({_RESHAPES}(x))", _reshape_again),
    Rule("two moves in one", f"{_MOVES}(inner:{_MOVES}(x))", _moves_composed),
    Rule("a move that moves nothing", f"{_MOVES}(x)", "x", _moves_nothing),
)


# ---------------------------------------------------------------- argmax, argmin, argsort
# Scaling by a positive number does not change the order of elements.
def _positive_scale(match: RuleMatch) -> bool:
    """Return True if all elements have one positive scale and one zero point: the quantized data has the same order and
    ties.

    Requires that neighbours stay distinct: 8 bits fit any float, 16 fit float32, and no product over- or underflows.
    """
    scale, zero, data = match["scale"], match["zero"], match.tensor("x")
    constant = type(scale) is Constant and type(zero) is Constant and scale.data.size == 1 and zero.data.size == 1
    if not constant or scale.data.ndim or data is None or data.dtype not in ("int8", "uint8", "int16", "uint16"):
        return False
    short = match.attrs("dequantized").out_dtype == "float16"
    limits, bits = np.finfo("float16" if short else "float32"), 8 if data.dtype in ("int8", "uint8") else 16
    furthest = 2.0**bits + abs(float(zero.data))
    if furthest > 2.0**limits.nmant:
        return False
    return bool(float(limits.tiny) <= float(scale.data) and float(scale.data) * furthest < float(limits.max))


def _of_data(match: RuleMatch) -> Expr:
    return match["root"].with_fields(args=(match["x"],))  # type: ignore[no-any-return]


ORDERING = (
    Rule(
        "order of quantized data",
        "argmax|argmin|argsort(dequantized:qnn.dequantize(x, scale, zero))",
        _of_data,
        _positive_scale,
    ),
)


# ---------------------------------------------------------------- all of them, in the order they are tried
RULES = (*CONCRETE, *ARITHMETIC, *MOVEMENT, *CASTS, *ORDERING)


@cache
def rule_set() -> RuleSet:
    """Return the rules of this pass."""
    return RuleSet(RULES)


@standard_pass(opt_level=0, required=("InferType",), contract=Rounds(8192) + FINITE)
class SimplifyExpr(FunctionPass):
    """Apply the rules of `RULES` until none matches, in one walk from the leaves up.

    Each rule declares its numeric contract. Unlike in Relay, casts are dropped only if no value is lost: not from
    signed through unsigned types, and after a clip only for whole numbers. Sums of products are not factored ((x + y) *
    (x + y) for x * x + 2 * x * y + y * y loses digits).
    """

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, for tools that inspect a run of this pass."""
        return rule_set().rules

    def acts_on(self) -> Iterable[Part]:
        return rule_set().operators

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rule_set().simplify(func)
