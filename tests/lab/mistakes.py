"""Thirty passes of users with a mistake each, and the program that shows it: `MISTAKES`, by name.

They are about what a rule forgets (ties, NaN, sizes, halves), and about passes that do something that is no rewrite:
they change their input or their mind, or swap functions. Whoever wrote them knew the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from passlab import relay
from passlab.ir.expr import Call, Constant, Expr, If, Let, Match, RefWrite, Tuple
from passlab.ir.walk import post_order, rewrite
from passlab.transform import function_pass, module_pass
from passlab.transform.base import Pass

MISTAKES: dict[str, tuple[Callable[[], Pass], str]] = {}


def is_call(node: Any, name: str) -> bool:
    return isinstance(node, Call) and getattr(node.op, "name", "") == name


def number(node: Any, value: float) -> bool:
    return isinstance(node, Constant) and not node.data.ndim and float(node.data) == value


def rule(params: str, body: str, kinds: Any = (Call,)) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule as a pass of its own; the rule gets the node with types and the node as it is now."""

    def register(change: Callable[..., Any]) -> Callable[..., Any]:
        def fresh() -> Pass:
            def transform_function(func: Any, mod: Any, ctx: Any) -> Any:
                return rewrite(func, change, only=kinds)

            return function_pass(transform_function, opt_level=0, name=change.__name__, required=["InferType"])

        MISTAKES[change.__name__] = fresh, f"def @main({params}) {{ {body} }}"
        return change

    return register


def whole(program: str) -> Callable[[Callable[[], Pass]], Callable[[], Pass]]:
    """Register a function that makes a pass."""

    def register(make: Callable[[], Pass]) -> Callable[[], Pass]:
        MISTAKES[make.__name__] = make, program
        return make

    return register


V = "%x: Tensor[(6), float32]"
VV = "%x: Tensor[(6), float32], %y: Tensor[(6), float32]"
M = "%x: Tensor[(4, 4), float32]"


# ---------------------------------------------------------------- sizes
@rule("%x: Tensor[(?, ?), float32]", 'shape_of(%x, dtype="int64")')
def sizes_backwards(old: Call, new: Call) -> Expr:
    return relay.reverse(new, axis=0) if is_call(old, "shape_of") else new


@rule("%x: Tensor[(?, ?), float32]", "transpose(sum(%x, axis=[0], keepdims=True))")
def sum_along_the_other_axis(old: Call, new: Call) -> Expr:
    if is_call(old, "transpose") and is_call(new.args[0], "sum"):
        return relay.sum(new.args[0].args[0], axis=[1], keepdims=True)
    return new


@rule("%x: Tensor[(?, ?, 2), float32]", "reshape(%x, newshape=[-1, 2])")
def reshape_that_transposes(old: Call, new: Call) -> Expr:
    if is_call(old, "reshape") and len(old.args[0].checked_type.shape) == 3:
        return new.with_fields(args=[relay.transpose(new.args[0], axes=[1, 0, 2])])
    return new


@rule("%x: Tensor[(?), float32]", "nn.relu(%x) + max(%x, keepdims=True)")
def drops_the_empty_case(old: Call, new: Call) -> Expr:
    return relay.take(relay.sort(new.args[0]), relay.const([-2]), mode="clip") if is_call(old, "max") else new


# ---------------------------------------------------------------- boundaries
@rule(V, "round(%x)")
def round_by_floor(old: Call, new: Call) -> Expr:
    return relay.floor(relay.add(new.args[0], relay.const(0.5))) if is_call(old, "round") else new


@rule(V, "nn.relu(%x)")
def relu_with_a_step_at_three(old: Call, new: Call) -> Expr:
    if not is_call(old, "nn.relu"):
        return new
    x = new.args[0]
    return relay.where(relay.equal(x, relay.const(37.0)), relay.const(0.0), relay.nn.relu(x))


@rule(V, "tanh(clip(%x, a_min=-41f, a_max=41f))")
def clip_cut_short(old: Call, new: Call) -> Expr:
    if is_call(old, "clip"):
        x = new.args[0]
        return relay.where(relay.greater_equal(x, relay.const(41.0)), relay.const(-41.0), new)
    return new


@rule("%x: Tensor[(6), int32]", "less(%x, 1000000)")
def less_or_equal(old: Call, new: Call) -> Expr:
    return relay.less_equal(*new.args) if is_call(old, "less") else new


@rule("%x: Tensor[(6), int32]", "divide(%x, 4)")
def division_by_shift(old: Call, new: Call) -> Expr:
    if is_call(old, "divide") and number(old.args[1], 4):
        return relay.right_shift(new.args[0], relay.const(np.int32(2)))
    return new


@rule("%x: Tensor[(6), int32]", "divide(multiply(%x, 2), 2)")
def doubling_undone(old: Call, new: Call) -> Expr:
    return new.args[0].args[0] if is_call(old, "divide") and is_call(new.args[0], "multiply") else new


@rule("%x: Tensor[(6), int32]", 'cast(cast(%x, dtype="int8"), dtype="int32")')
def narrow_casts_dropped(old: Call, new: Call) -> Expr:
    return new.args[0].args[0] if is_call(old, "cast") and is_call(new.args[0], "cast") else new


# ---------------------------------------------------------------- NaN, infinities, overflow
@rule(VV, "maximum(%x, %y)")
def maximum_by_where(old: Call, new: Call) -> Expr:
    return relay.where(relay.greater(*new.args), *new.args) if is_call(old, "maximum") else new


@rule(V, "sigmoid(%x)")
def sigmoid_by_two_exps(old: Call, new: Call) -> Expr:
    if not is_call(old, "sigmoid"):
        return new
    e = relay.exp(new.args[0])
    return relay.divide(e, relay.add(e, relay.const(1.0)))


@rule(M, "nn.softmax(%x)")
def softmax_without_maximum(old: Call, new: Call) -> Expr:
    if not is_call(old, "nn.softmax"):
        return new
    e = relay.exp(new.args[0])
    return relay.divide(e, relay.sum(e, axis=[-1], keepdims=True))


@rule(V, "isnan(%x)")
def nothing_is_nan(old: Call, new: Call) -> Expr:
    return (
        relay.not_equal(new.args[0], new.args[0] + relay.const(0.0))
        if is_call(old, "abs")
        else (relay.zeros(old.args[0].checked_type.shape, "bool") if is_call(old, "isnan") else new)
    )


@rule(V, "power(%x, 0.5f)")
def power_by_sqrt(old: Call, new: Call) -> Expr:
    return relay.sqrt(relay.abs(new.args[0])) if is_call(old, "power") else new


# ---------------------------------------------------------------- ties and operands
@rule(M, "argmax(%x, axis=[1])")
def last_of_equals(old: Call, new: Call) -> Expr:
    return relay.argmax(new.args[0], axis=[1], select_last_index=True) if is_call(old, "argmax") else new


@rule("%x: Tensor[(3, 3, 3), float32]", "transpose(transpose(%x, axes=[1, 2, 0]), axes=[1, 0, 2])")
def transposes_in_the_wrong_order(old: Call, new: Call) -> Expr:
    if is_call(old, "transpose") and is_call(new.args[0], "transpose"):
        outer, inner = new.attrs.axes, new.args[0].attrs.axes
        return relay.transpose(new.args[0].args[0], axes=[outer[i] for i in inner])
    return new


@rule("%x: Tensor[(1, 1, 5, 5), float32]", "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)")
def pool_without_the_rest(old: Call, new: Call) -> Expr:
    if is_call(old, "nn.max_pool2d") and old.attrs.ceil_mode:
        return relay.nn.pad(
            relay.nn.max_pool2d(new.args[0], pool_size=(2, 2), strides=(2, 2)),
            pad_width=((0, 0), (0, 0), (0, 1), (0, 1)),
        )
    return new


@rule("%x: Tensor[(2, 3), float32], %i: Tensor[(2), int32]", 'take(%x, %i, axis=1, mode="clip")')
def take_wraps(old: Call, new: Call) -> Expr:
    return relay.take(*new.args, axis=1, mode="wrap") if is_call(old, "take") else new


# ---------------------------------------------------------------- constructs
@rule("%x: Tensor[(3), float32]", "let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r)", (Let,))
def writes_dropped(old: Let, new: Let) -> Expr:
    return new.body if isinstance(new.value, RefWrite) else new


@rule("%x: float32, %c: bool", "if (%c) { exp(%x) } else { tanh(%x) }", (If,))
def branches_exchanged(old: If, new: If) -> Expr:
    return If(new.cond, new.false_branch, new.true_branch)


@whole(
    "type Opt[A] { Some(A), Non } def @main(%x: float32, %o: Opt[float32]) -> float32 "
    "{ match (%o) { Some(%a) => exp(%a), Non => %x } }"
)
def first_clause_for_all() -> Pass:
    def change(old: Match, new: Match) -> Expr:
        last = new.clauses[-1]
        return Match(new.data, [*new.clauses[:-1], last.with_fields(rhs=relay.const(0.0))], new.complete)

    @function_pass(opt_level=0, name="first_clause_for_all")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        return rewrite(func, change, only=(Match,))

    return go


@whole(
    "def @main(%x: Tensor[(3), float32]) { @g(@f(%x)) } def @f(%a: Tensor[(3), float32]) { exp(%a) } "
    "def @g(%a: Tensor[(3), float32]) { tanh(%a) }"
)
def functions_exchanged() -> Pass:
    @module_pass(opt_level=0, name="functions_exchanged")
    def go(mod: Any, ctx: Any) -> Any:
        return mod.with_functions({"f": mod["g"], "g": mod["f"]})

    return go


# ---------------------------------------------------------------- no rewrites at all
@whole("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { exp(subtract(%x, %y)) }")
def changes_its_input() -> Pass:
    @function_pass(opt_level=0, name="changes_its_input")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        for node in post_order(func):
            if is_call(node, "subtract"):
                object.__setattr__(node, "args", tuple(reversed(node.args)))
        return func

    return go


@whole("def @main(%x: Tensor[(4), float32]) { multiply(%x, meta[relay.Constant][0]) }")
def changes_a_constant() -> Pass:
    @function_pass(opt_level=0, name="changes_a_constant")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        for node in post_order(func):
            if isinstance(node, Constant):
                node.data.setflags(write=True)
                node.data[...] *= 2
        return func

    return go


@whole("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { exp(subtract(%x, %y)) }")
def changes_its_mind() -> Pass:
    turns: Iterator[int] = iter(range(10**9))

    def change(old: Call, new: Call) -> Expr:
        return relay.subtract(*reversed(new.args)) if is_call(old, "subtract") else new

    @function_pass(opt_level=0, name="changes_its_mind")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        return rewrite(func, change, only=(Call,)) if next(turns) % 2 else func

    return go


@whole("def @main(%x: Tensor[(4, 4), float32]) { (nn.softmax(%x, axis=0), nn.softmax(%x, axis=1)) }")
def remembers_too_much() -> Pass:
    @function_pass(opt_level=0, name="remembers_too_much")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        seen: dict[str, Expr] = {}

        def change(old: Call, new: Call) -> Expr:
            return seen.setdefault(f"{new.op} {new.args}", new)

        return rewrite(func, change, only=(Call,))

    return go


@whole("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { (exp(%x), exp(%y)) }")
def wrong_in_the_second_field() -> Pass:
    def change(old: Tuple, new: Tuple) -> Expr:
        return Tuple([new.fields[0], *new.fields[:-1]])

    @function_pass(opt_level=0, name="wrong_in_the_second_field")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        return rewrite(func, change, only=(Tuple,))

    return go


@whole("def @main(%x: Tensor[(4), float32]) { log(exp(tanh(%x))) }")
def never_ends() -> Pass:
    @function_pass(opt_level=0, name="never_ends")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        while any(is_call(node, "log") for node in post_order(func)):
            pass
        return func

    return go
