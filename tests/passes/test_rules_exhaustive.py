"""Every rule of SimplifyExpr is tried on all there is: all float16 values, all int8 pairs, all shapes with dims 0 to 3.

A rule is applied to programs it fits; both sides are computed and held to what the rule contracts. Each rule must have
programs here, and each program must be one that its rule rewrites.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from passlab.errors import TypeInferenceError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Constant, Expr, Function, IRModule, TensorType, Var
from passlab.ir.walk import post_order, rewrite
from passlab.op import make
from passlab.passes.simplify.simplify_expr import RULES
from passlab.rewriting.rules import RuleSet
from passlab.transform.numeric_contract import EXACT, NumericContract
from tests.each import each

HALVES = np.arange(65536, dtype="uint16").view("float16")  # every float16 there is
BYTES = np.arange(-128, 128).astype("int8")
NUMBERS = np.array([0, -0.0, 1, -1, 2, 0.5, 3, -7, 1e-3, 6e-8, 1000, 65504, -65504, np.inf, -np.inf, np.nan], "float16")
ORDINARY = np.array([0.5, 1, -1, 2, 3, -7, 0.01, 100], "float16")
SHAPES = [shape for rank in range(4) for shape in itertools.product(range(4), repeat=rank)]
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")
BY_NAME = {rule.name: rule for rule in RULES}


class Case(NamedTuple):
    """A program for a rule: its result as an expression over variables, and a value for each variable."""

    result: Expr
    values: dict[Var, Any]


def var(value: Any) -> Var:
    return Var("x", TensorType(value.shape, str(value.dtype)))


def case(build: Any, *values: Any) -> Case:
    variables = [var(v) for v in values]
    return Case(build(*variables), dict(zip(variables, values, strict=True)))


def const(value: Any, dtype: str = "") -> Constant:
    return Constant(np.asarray(value, dtype or None))


def every_value(dtype: str) -> Any:
    """Return all values of a dtype of up to 16 bits; of a longer one, those around its corners."""
    kind = np.dtype(dtype)
    if kind == np.float16:
        return HALVES
    if kind.kind == "f":
        with np.errstate(invalid="ignore"):
            halves = HALVES.astype(dtype)
        return np.concatenate([halves, np.asarray([1e-40, 1e38, 16777217.0, 0.1], dtype)])
    info = np.iinfo(kind)
    if kind.itemsize <= 2:
        return np.arange(info.min, info.max + 1).astype(dtype)
    near = [
        p + d for p in (0, 127, 255, 32767, 65535, 2**24, info.max // 2, info.max, info.min) for d in (-2, -1, 0, 1, 2)
    ]
    return np.asarray([n for n in near if info.min <= n <= info.max], dtype)


# ------------------------------------------------------------ programs, by rule
def arithmetic(name: str) -> Iterator[Case]:
    def both(x: Any, zero: Constant, one: Constant) -> dict[str, list[Case]]:
        return {
            "sum with itself": [case(lambda a: make("add", a, a), x)],
            "adding zero": [case(lambda a: make("add", a, zero), x), case(lambda a: make("add", zero, a), x)],
            "subtracting zero": [case(lambda a: make("subtract", a, zero), x)],
            "multiplying by one": [case(lambda a: make("multiply", one, a), x)],
            "dividing by one": [case(lambda a: make("divide", a, one), x)],
        }

    for x in (HALVES, BYTES):
        yield from both(x, const(np.zeros((), x.dtype)), const(np.ones((), x.dtype)))[name]


def quotient_by_a_root(name: str) -> Iterator[Case]:
    for x in NUMBERS:
        yield case(lambda a, b: make("divide", a, make("sqrt", b)), np.full(HALVES.shape, x), HALVES)
    for y in ORDINARY:
        yield case(lambda a, b: make("divide", a, make("sqrt", b)), HALVES, np.full(HALVES.shape, y))


def one_value_throughout(name: str) -> Iterator[Case]:
    for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        for x, values in ((HALVES, NUMBERS), (BYTES, BYTES)):
            for value in values:
                if op == "divide" and x is BYTES and value == 0:
                    continue
                full = make("full", const(value), shape=x.shape, dtype=str(x.dtype))
                yield case(lambda a, op=op, full=full: make(op, a, full), x)
                if not (op == "divide" and x is BYTES):
                    yield case(lambda a, op=op, full=full: make(op, full, a), x)


def two_constants(name: str) -> Iterator[Case]:
    """Both constants and the operand run through all bytes; constants through the ordinary halves, or one odd one."""
    outer, inner = {"sum times a constant": ("multiply", "add"), "product of products": ("multiply", "multiply"),
                    "sum of sums": ("add", "add")}[name]  # fmt: skip
    blocks = [(BYTES, BYTES[i : i + 16], BYTES) for i in range(0, 256, 16)]
    blocks += [(HALVES, ORDINARY[i : i + 1], ORDINARY) for i in range(len(ORDINARY))]
    blocks += [(HALVES, NUMBERS[i : i + 1], NUMBERS[j : j + 1]) for i in range(16) for j in range(16)]
    for x, first, second in blocks:
        c1, c2 = const(first.reshape(-1, 1, 1)), const(second.reshape(-1, 1))
        whole = np.broadcast_to(x, (len(first), len(second), len(x)))
        yield case(lambda a, c1=c1, c2=c2: make(outer, make(inner, a, c1), c2), whole)


def casts(name: str) -> Iterator[Case]:
    for source in DTYPES:
        if name == "cast to its own type":
            yield case(lambda a, source=source: make("cast", a, dtype=source), every_value(source))
            continue
        for middle, target in itertools.product(DTYPES, DTYPES):
            x = every_value(source)
            if "int" in target + middle and source.startswith("float"):
                x = x[np.isfinite(x) & (x > -120) & (x < 120)]  # what an integer can hold
            yield case(lambda a, m=middle, t=target: make("cast", make("cast", a, dtype=m), dtype=t), x)


def clips(name: str) -> Iterator[Case]:
    for source, (low, high) in itertools.product(DTYPES, ((-128, 127), (0, 255), (-3, 3), (0, 1.5), (-32768, 65535))):
        clip = lambda a, low=low, high=high: make("clip", a, a_min=float(low), a_max=float(high))  # noqa: E731
        x = every_value(source)
        if name == "clip to the whole range":
            yield case(clip, x)
            continue
        for middle, target in itertools.product(DTYPES, DTYPES):
            cast = lambda a, m=middle, t=target, clip=clip: make("cast", make("cast", clip(a), dtype=m), dtype=t)  # noqa: E731
            yield case(cast, x)
            if "float" in source:
                yield case(lambda a, cast=cast: cast(make("round", a)), x)


def numbers_of(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype) + 1


def broadcasts(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(small, large) == large
    except ValueError:
        return False


def like_another(name: str) -> Iterator[Case]:
    op = BY_NAME[name].terms[0].ops[0]
    for shape in SHAPES:
        other = numbers_of(shape, "int16")
        if op in ("zeros_like", "ones_like"):
            yield case(lambda o: make(op, o), other)
        elif op == "full_like":
            yield case(lambda o, v: make(op, o, v), other, numbers_of((), "int16"))
        elif op == "cast_like":
            yield case(lambda d, o: make(op, d, o), numbers_of(shape), other)
        else:
            for data in SHAPES:
                if op == "reshape_like" and np.prod(data) == np.prod(shape):
                    yield case(lambda d, o: make(op, d, o), numbers_of(data), other)
                if op == "broadcast_to_like" and broadcasts(data, shape):
                    yield case(lambda d, o: make(op, d, o), numbers_of(data), numbers_of(shape))
                if op == "collapse_sum_like" and broadcasts(shape, data):
                    yield case(lambda d, o: make(op, d, o), numbers_of(data), numbers_of(shape))


def reshapes(name: str) -> Iterator[Case]:
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for shape in SHAPES:
        by_size.setdefault(int(np.prod(shape)), []).append(shape)
    for same in by_size.values():
        for one, two, three in itertools.product(same[::3], same, same[::2]):
            yield case(
                lambda x, a=two, b=three: make("reshape", make("reshape", x, newshape=a), newshape=b), numbers_of(one)
            )


def moves(name: str) -> Iterator[Case]:
    for shape in SHAPES:
        orders = list(itertools.permutations(range(len(shape))))
        for one in orders:
            if name == "a move that moves nothing":
                yield case(lambda x, one=one: make("transpose", x, axes=list(one)), numbers_of(shape))
                continue
            for two in orders:
                both = lambda x, a=one, b=two: make("transpose", make("transpose", x, axes=list(a)), axes=list(b))  # noqa: E731
                yield case(both, numbers_of(shape))
    yield from layouts(name)


def layouts(name: str) -> Iterator[Case]:
    """Layouts of images and their blocked forms, and transposes between."""
    names = ("NCHW", "NHWC", "CHWN", "NCHW2c", "NHWC2c", "NCHW4c", "NC2cHW", "NCH2hW")

    def move(x: Expr, source: str, target: str) -> Expr:
        return make("layout_transform", x, src_layout=source, dst_layout=target)

    for channels, height in itertools.product((0, 4), (2, 0)):
        sizes = {"N": 1, "C": channels, "H": height, "W": 3}
        for one, two, three in itertools.product(names[:3], names, names):
            x = numbers_of(tuple(sizes[letter] for letter in one))
            if name == "a move that moves nothing":
                yield case(lambda x, one=one, two=two: move(x, one, two), x)
                continue
            yield case(lambda x, a=one, b=two, c=three: move(move(x, a, b), b, c), x)
            for axes in ((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0)):
                if three in names[:3]:
                    turned = "".join(three[a] for a in axes)
                    yield case(lambda x, a=axes, b=turned, c=two: move(make("transpose", x, axes=list(a)), b, c),
                               numbers_of(tuple(sizes[letter] for letter in three)))  # fmt: skip


def orders(name: str) -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for op, dtype in itertools.product(("argmax", "argmin", "argsort"), ("int8", "uint8", "int32")):
        x = np.tile(every_value(dtype), 2)
        rng.shuffle(x)
        for scale, zero in itertools.product((1e-45, 1e-3, 0.37, 5.0, 3e38), (-5, 0, 128)):
            for out in ("float32", "float16"):
                yield case(lambda q, op=op, s=scale, z=zero, out=out: make(
                    op, make("qnn.dequantize", q, const(s, "float32"), const(z, "int32"), out_dtype=out), axis=0), x
                )  # fmt: skip


PROGRAMS: dict[str, Any] = {
    "sum with itself": arithmetic, "adding zero": arithmetic, "subtracting zero": arithmetic,
    "multiplying by one": arithmetic, "dividing by one": arithmetic, "quotient by a root": quotient_by_a_root,
    "one value throughout": one_value_throughout, "sum times a constant": two_constants,
    "product of products": two_constants, "sum of sums": two_constants, "cast to its own type": casts,
    "cast through a wider type": casts, "cast of a clipped value": clips, "clip to the whole range": clips,
    "zeros of a known shape": like_another, "ones of a known shape": like_another, "full of a known shape": like_another,
    "reshape to a known shape": like_another, "sum to a known shape": like_another,
    "broadcast to a known shape": like_another, "cast to a known dtype": like_another, "reshape of a reshape": reshapes,
    "two moves in one": moves, "a move that moves nothing": moves, "order of quantized data": orders,
}  # fmt: skip
MOST_ROUNDINGS = 4.0  # that any rule makes, in units of the largest number on the way
LEAST = float(np.finfo("float16").smallest_subnormal)
QUICK = 20  # programs of a rule that are tried each time


# ------------------------------------------------------------ holding
def value_of(result: Expr, values: dict[Var, Any], of: Any = lambda x: x) -> Any:
    mod = IRModule.from_expr(Function(list(values), result))
    return Evaluator(infer_module(mod)).run("main", [of(np.asarray(v)) for v in values.values()])


def magnitude(tried: Case) -> Any:
    """Return the size of the largest number on the way: what the program gives where nothing cancels."""

    def positive(pre: Expr, post: Expr) -> Expr:
        return Constant(np.abs(post.data)) if type(post) is Constant else post

    return value_of(rewrite(tried.result, positive), tried.values, np.abs)


def amplified(tried: Case) -> float:
    """Return by how much the constants of a program enlarge what is lost where a number is too small for its dtype."""
    sizes = [float(np.abs(n.data).max()) for n in post_order(tried.result) if type(n) is Constant and n.data.size]
    return max([1.0, *(size for size in sizes if np.isfinite(size))])


def wrong(tried: Case, before: Any, after: Any, contract: NumericContract) -> Any:
    """Return where two results differ by more than the contract allows."""
    if before.dtype.kind != "f":
        finite = [np.isfinite(v) for v in tried.values.values() if np.shape(v) == before.shape and contract.finite_only]
        return (before != after) & np.all(finite, axis=0) if finite else before != after
    with np.errstate(all="ignore"):
        same = (before == after) & (np.signbit(before) == np.signbit(after)) | (np.isnan(before) & np.isnan(after))
        if contract.finite_only:
            same |= ~np.isfinite(before) | ~np.isfinite(after) | (before == after)
        if contract.ulps:
            largest = np.finfo(before.dtype).max
            size = np.clip(np.maximum(np.abs(before), magnitude(tried)), 0, largest)
            unit = np.spacing(size.astype(before.dtype)) + LEAST * amplified(tried)
            same |= np.abs(before - after) <= min(contract.ulps, MOST_ROUNDINGS) * unit
    return ~same


def held(name: str, tried: Case) -> bool:
    """Hold a rule to its contract on a program; whether it rewrites it."""
    rule = BY_NAME[name]
    try:
        mod = infer_module(IRModule.from_expr(Function(list(tried.values), tried.result)))
    except TypeInferenceError:
        return False  # the program makes no sense: an empty tensor under another shape
    result = RuleSet([rule]).simplify(mod["main"].body)
    if result is mod["main"].body:
        return False
    now = infer_module(IRModule.from_expr(Function(mod["main"].params, result)))
    assert now["main"].checked_type is mod["main"].checked_type
    args = [np.asarray(v) for v in tried.values.values()]
    before, after = (Evaluator(m).run("main", args) for m in (mod, now))
    assert (before.shape, before.dtype) == (after.shape, after.dtype)
    bad = np.atleast_1d(wrong(Case(mod["main"].body, dict(zip(mod["main"].params, args, strict=True))), before, after,
                              rule.contract))  # fmt: skip
    value = [(np.atleast_1d(v)[bad][:3].tolist()) for v in (before, after)] if bad.any() else None
    where = [np.atleast_1d(a)[bad][:3].tolist() for a in args if np.shape(np.atleast_1d(a)) == bad.shape]
    assert not bad.any(), f"{rule}: wrong {bad.sum()} times, at {where}: {value}\n{mod.astext(show_meta_data=False)}"
    return True


def test_every_rule_has_programs():
    assert set(PROGRAMS) == set(BY_NAME)


@pytest.mark.rotating
@each("name", PROGRAMS)
def test_a_rule_keeps_its_contract(name: str):
    tried = list(PROGRAMS[name](name))
    assert sum(held(name, c) for c in tried[:: -(-len(tried) // QUICK)]) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_rule_keeps_its_contract_everywhere(name: str):
    assert sum(held(name, c) for c in PROGRAMS[name](name)) > 0


def test_a_wrong_rule_is_caught():
    x = var(HALVES)
    difference = Case(make("subtract", x, x), {x: HALVES})
    before = value_of(difference.result, difference.values)
    assert wrong(difference, before, np.zeros_like(HALVES), EXACT).sum() == 2048  # what is not finite
