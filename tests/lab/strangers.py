"""Passes with a mistake each by someone who has not looked at the search, on programs of some size, added to `MISTAKES`.

They are about axes, broadcasts, attributes that are lost, effects, branches of a match, captures, sizes that are known
only at run time, types that are stated wrongly, and about passes that remember, guess or change what they were given.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from passlab import IRModule, relay
from passlab.ir.adt import Clause
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Match, RefRead, TupleGetItem, Var
from passlab.ir.walk import post_order, rewrite
from passlab.transform import FunctionPass, PassInfo, function_pass, module_pass
from passlab.transform.base import Pass
from tests.lab.mistakes import MISTAKES, is_call, whole

M = "Tensor[(3, 3), float32]"
NET = f"""def @block(%h: {M}, %w: {M}) -> {M} {{ nn.relu(add(nn.dense(%h, %w), %h)) }}
def @main(%x: {M}, %w: {M}, %b: Tensor[(3), float32]) -> {M} {{
  let %a = @block(tanh(%x), %w);
  BODY
}}"""


def inside(body: str) -> str:
    """A small network with an expression of `%a`, `%x`, `%w` and `%b` in it."""
    return NET.replace("BODY", f"let %c = {body}; @block(%c, %w)")


def on(
    program: str, kinds: Any = (Call,), shape: str = "function"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule as a pass over `program`, written as a function, a class or a pass over the module."""

    def register(change: Callable[..., Any]) -> Callable[..., Any]:
        name = change.__name__

        def transform_function(func: Any, mod: Any, ctx: Any) -> Any:
            return rewrite(func, lambda old, new: change(new), only=kinds)

        class Changes(FunctionPass):
            info = PassInfo(0, name, ["InferType"])

            def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
                return transform_function(func, mod, ctx)

        def transform_module(mod: Any, ctx: Any) -> Any:
            return mod.with_functions({var: transform_function(f, mod, ctx) for var, f in mod.functions.items()})

        def fresh() -> Pass:
            if shape == "class":
                return Changes()
            make = function_pass if shape == "function" else module_pass
            return make(transform_function if shape == "function" else transform_module, opt_level=0, name=name)

        MISTAKES[name] = fresh, program
        return change

    return register


# ---------------------------------------------------------------- axes, broadcasts, attributes
@on(inside("cumsum(%a, axis=1)"))
def axis_off_by_one(new: Call) -> Expr:
    return relay.cumsum(new.args[0], axis=0) if is_call(new, "cumsum") else new


@on(inside("nn.bias_add(%a, %b, axis=0)"), shape="class")
def bias_along_the_last_axis(new: Call) -> Expr:
    return relay.add(*new.args) if is_call(new, "nn.bias_add") else new


@on(inside("nn.leaky_relu(%a, alpha=0.3f)"), shape="module")
def slope_forgotten(new: Call) -> Expr:
    return relay.nn.leaky_relu(*new.args) if is_call(new, "nn.leaky_relu") else new


@on(
    'def @main(%x: Tensor[(2, 9), int8], %w: Tensor[(3, 9), int8]) { let %d = nn.dense(%x, %w, out_dtype="int32"); cast(%d, dtype="float32") }'
)
def out_dtype_forgotten(new: Call) -> Expr:
    return relay.cast(relay.nn.dense(*new.args), "int32") if is_call(new, "nn.dense") else new


@on(
    "def @main(%x: Tensor[(1, 1, 4, 4), float32]) { let %p = nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1]); nn.relu(%p) }"
)
def padding_not_counted(new: Call) -> Expr:
    if is_call(new, "nn.avg_pool2d") and not new.attrs.count_include_pad:
        return relay.nn.avg_pool2d(new.args[0], pool_size=(3, 3), padding=(1, 1, 1, 1), count_include_pad=True)
    return new


@on(
    "def @main(%x: Tensor[(2, 3, 3), float32], %y: Tensor[(2, 3, 3), float32]) { tanh(nn.batch_matmul(%x, %y, transpose_b=True)) }",
    shape="class",
)
def square_matrices_not_transposed(new: Call) -> Expr:
    return relay.nn.batch_matmul(*new.args, transpose_b=False) if is_call(new, "nn.batch_matmul") else new


@on(inside("reshape(repeat(%b, repeats=3, axis=0), newshape=[3, 3])"), shape="module")
def repeat_as_tile(new: Call) -> Expr:
    return relay.tile(new.args[0], (new.attrs.repeats,)) if is_call(new, "repeat") else new


@on(
    'def @main(%d: Tensor[(4), float32], %i: Tensor[(3), int64], %u: Tensor[(3), float32]) { exp(scatter_elements(%d, %i, %u, axis=0, reduction="add")) }'
)
def later_updates_win(new: Call) -> Expr:
    return relay.scatter_elements(*new.args, axis=0, reduction="update") if is_call(new, "scatter_elements") else new


# ---------------------------------------------------------------- numbers
@on("def @main(%x: Tensor[(5), int32]) { add(floor_mod(%x, 4), 1) }")
def remainder_with_a_sign(new: Call) -> Expr:
    return relay.mod(*new.args) if is_call(new, "floor_mod") else new


@on('def @main(%x: Tensor[(5), int8], %y: Tensor[(5), int8]) { cast(add(%x, %y), dtype="int32") }', shape="class")
def cast_before_the_sum(new: Call) -> Expr:
    if is_call(new, "cast") and is_call(new.args[0], "add"):
        return relay.add(*(relay.cast(operand, "int32") for operand in new.args[0].args))
    return new


@on('def @main(%x: Tensor[(5), float32]) { cast(%x, dtype="int32") }')
def cast_rounds(new: Call) -> Expr:
    return relay.cast(relay.round(new.args[0]), "int32") if is_call(new, "cast") else new


@on("def @main(%x: Tensor[(5), int64]) { divide(%x, 3i64) }", shape="module")
def indices_in_32_bits(new: Call) -> Expr:
    if is_call(new, "divide"):
        return relay.cast(relay.divide(*(relay.cast(operand, "int32") for operand in new.args)), "int64")
    return new


@on("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { where(less(%x, %y), exp(%x), %y) }")
def less_by_its_opposite(new: Call) -> Expr:
    return relay.logical_not(relay.greater_equal(*new.args)) if is_call(new, "less") else new


@on("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { log(multiply(%x, %y)) }", shape="class")
def logarithm_of_factors(new: Call) -> Expr:
    if is_call(new, "log") and is_call(new.args[0], "multiply"):
        return relay.add(*(relay.log(operand) for operand in new.args[0].args))
    return new


@on("def @main(%x: Tensor[(4), float32]) { where(equal(%x, 0f), 1f, divide(sin(%x), %x)) }")
def guard_dropped(new: Call) -> Expr:
    return new.args[2] if is_call(new, "where") else new


@on("def @main(%x: Tensor[(4), float32]) { where(greater(%x, 0f), log(%x), negative(%x)) }", shape="class")
def guard_of_another_number(new: Call) -> Expr:
    if is_call(new, "where"):
        return relay.where(relay.greater(new.args[0].args[0], relay.const(-1.0)), *new.args[1:])
    return new


@on("def @main(%x: Tensor[(4), float64]) { multiply(%x, 0.1f64) }")
def constants_in_single_precision(new: Call) -> Expr:
    return new.with_fields(
        args=[
            relay.const(a.data.astype("float32").astype("float64"))
            if isinstance(a, Constant) and a.data.dtype == "float64"
            else a
            for a in new.args
        ]
    )


# ---------------------------------------------------------------- sizes
@on("def @main(%x: Tensor[(?, 3), float32]) { let %s = nn.softmax(%x, axis=0); exp(%s) }")
def wrong_for_one_row(new: Call) -> Expr:
    if not is_call(new, "nn.softmax"):
        return new
    rows = relay.take(relay.shape_of(new.args[0], "int32"), relay.const(0))
    return relay.multiply(new, relay.cast(relay.not_equal(rows, relay.const(1)), "float32"))


@on("def @main(%x: Tensor[(?), bool], %y: float32) { where(all(%x), %y, tanh(%y)) }", shape="class")
def wrong_for_no_elements(new: Call) -> Expr:
    return relay.logical_and(new, relay.any(new.args[0])) if is_call(new, "all") else new


@on("def @main(%x: Tensor[(?, ?), float32]) { reshape(%x, newshape=[-1]) }", shape="module")
def unknown_sizes_are_equal(new: Call) -> Expr:
    return relay.reshape(relay.transpose(relay.reverse(new.args[0], axis=1)), [-1]) if is_call(new, "reshape") else new


# ---------------------------------------------------------------- effects
STATE = """def @count(%r: ref(float32)) -> float32 {
  let %old = ref_read(%r);
  let %u = ref_write(%r, add(%old, 1f));
  %old
}
def @main(%x: float32) {
  let %r = ref(%x);
  let %a = @count(%r);
  let %b = @count(%r);
  let %c = ref_read(%r);
  subtract(multiply(%a, %b), %c)
}"""


@on(STATE, (Let,))
def unused_calls_dropped(new: Let) -> Expr:
    used = any(node is new.var for node in post_order(new.body))
    return new if used else new.body


@on(STATE, (Let,), shape="class")
def reads_are_late(new: Let) -> Expr:
    write = new.body
    if isinstance(new.value, RefRead) and isinstance(write, Let) and write.body is new.var:
        return new.with_fields(body=write.with_fields(body=RefRead(new.value.ref)))
    return new


@on(STATE, (Let,))
def uses_a_variable_too_early(new: Let) -> Expr:
    after = new.body
    if isinstance(after, Let) and isinstance(new.value, Call) and isinstance(after.value, Call):
        return new.with_fields(value=after.var)
    return new


@whole(STATE)
def calls_alike_are_one() -> Pass:
    @function_pass(opt_level=0, name="calls_alike_are_one")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        lets = [node for node in post_order(func) if isinstance(node, Let) and isinstance(node.value, Call)]
        calls = {str(let.value): let for let in lets}  # the outermost comes last
        firsts = {let: calls[str(let.value)].var for let in lets if calls[str(let.value)] is not let}
        return rewrite(func, lambda old, new: new.with_fields(value=firsts[old]) if old in firsts else new, only=(Let,))

    return go


@on(
    "def @main(%x: float32, %c: bool) { let %r = ref(%x); let %v = if (%c) { let %u = ref_write(%r, exp(%x)); 1f } "
    "else { 2f }; add(multiply(%v, 2f), ref_read(%r)) }",
    (If,),
    shape="module",
)
def writes_hoisted(new: If) -> Expr:
    branch = new.true_branch
    if isinstance(branch, Let):
        return Let(branch.var, branch.value, If(new.cond, branch.body, new.false_branch))
    return new


# ---------------------------------------------------------------- data, closures, functions
TREE = """type Tree[A] { Leaf(A), Node(Tree[A], A, Tree[A]) }
def @walk(%t: Tree[float32]) -> float32 {
  match (%t) { Leaf(%a) => %a, Node(%l, %a, %r) => subtract(@walk(%l), multiply(%a, @walk(%r))) }
}
def @main(%x: float32, %y: float32) {
  @walk(Node(Node(Leaf(%x), %y, Leaf(1f)), tanh(%x), Leaf(%y)))
}"""


@on(TREE, (Match,))
def left_is_right(new: Match) -> Expr:
    clause = new.clauses[-1]
    left, right = clause.lhs.patterns[0].var, clause.lhs.patterns[2].var
    turned = {left: right, right: left}
    body = rewrite(clause.rhs, lambda old, changed: turned.get(old, changed), only=(Var,))
    return Match(new.data, [*new.clauses[:-1], Clause(clause.lhs, body)], new.complete)


@on(TREE, (Call,), shape="module")
def leaves_are_counted_twice(new: Call) -> Expr:
    if getattr(new.op, "name_hint", "") == "Leaf" and is_call(new.args[0], "tanh"):
        return new
    if getattr(new.op, "name_hint", "") == "Leaf" and isinstance(new.args[0], Constant):
        return new.with_fields(args=[relay.add(*new.args, *new.args)])
    return new


@whole(
    "def @main(%x: float32) { let %f = fn (%a: float32) -> fn (float32) -> float32 { fn (%b: float32) -> float32 "
    "{ subtract(multiply(%a, 2f), %b) } }; let %g = %f(%x); add(%g(tanh(%x)), %g(2f)) }"
)
def captures_by_position() -> Pass:
    @function_pass(opt_level=0, name="captures_by_position")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        def change(old: Function, new: Function) -> Expr:
            if isinstance(new.body, Function) and len(new.params) == 1:
                (outer,), (inner,) = new.params, new.body.params
                body = rewrite(new.body.body, lambda o, n: inner if o is outer else n, only=(Var,))
                return new.with_fields(body=new.body.with_fields(body=body))
            return new

        return rewrite(func, change, only=(Function,))

    return go


@on(
    "def @f(%n: int32, %a: float32) -> float32 { if (less(%n, 1)) { %a } else { @f(subtract(%n, 1), multiply(%a, 2f)) } }"
    " def @main(%x: float32, %n: int32) { @f(minimum(%n, 4), tanh(%x)) }",
)
def one_turn_too_many(new: Call) -> Expr:
    return relay.less_equal(*new.args) if is_call(new, "less") else new


@whole(TREE)
def tuple_of_the_wrong_call() -> Pass:
    @module_pass(opt_level=0, name="tuple_of_the_wrong_call")
    def go(mod: Any, ctx: Any) -> Any:
        calls = [n for n in post_order(mod["walk"]) if isinstance(n, Call) and getattr(n.op, "name_hint", "") == "walk"]
        first, last = calls[0], calls[-1]
        walk = rewrite(mod["walk"], lambda old, new: first if old is last else new, only=(Call,))
        return mod.with_functions({"walk": walk})

    return go


@on(
    "def @main(%x: Tensor[(2, 6), float32]) { let %s = split(%x, indices_or_sections=3, axis=1); "
    "let %t = (%s.0, (%s.1, %s.2)); subtract(multiply(%t.0, %t.1.0), %t.1.1) }",
    (TupleGetItem,),
    shape="class",
)
def fields_after_flattening(new: TupleGetItem) -> Expr:
    if isinstance(new.tuple_value, TupleGetItem):
        return new.with_fields(index=1 - new.index)
    return new


# ---------------------------------------------------------------- types
@whole(inside("exp(%a)"))
def states_a_wrong_type() -> Pass:
    @function_pass(opt_level=0, name="states_a_wrong_type")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        return func.with_fields(ret_type=relay.TensorType((3, 3), "float64"))

    return go


@on("def @main(%x: Tensor[(3), float32]) { let %a = exp(%x); (%a, sum(%a)) }")
def a_wider_result(new: Call) -> Expr:
    return relay.cast(new, "float64") if is_call(new, "sum") else new


# ---------------------------------------------------------------- what is no rule
@whole(inside("subtract(exp(%a), %x)"))
def throws_a_coin() -> Pass:
    coin = random.Random()

    @function_pass(opt_level=0, name="throws_a_coin")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        def change(old: Call, new: Call) -> Expr:
            return relay.subtract(*reversed(new.args)) if is_call(new, "subtract") and coin.random() < 0.5 else new

        return rewrite(func, change, only=(Call,))

    return go


@whole(inside("cumsum(%a, axis=1)"))
def changes_attributes_in_place() -> Pass:
    @function_pass(opt_level=0, name="changes_attributes_in_place")
    def go(func: Any, mod: Any, ctx: Any) -> Any:
        for node in post_order(func):
            if is_call(node, "cumsum"):
                object.__setattr__(node, "attrs", relay.cumsum(node.args[0], axis=0).attrs)
        return func

    return go


@whole(inside("nn.leaky_relu(%a, alpha=0.3f)"))
def right_the_first_time() -> Pass:
    seen: list[str] = []

    @module_pass(opt_level=0, name="right_the_first_time")
    def go(mod: Any, ctx: Any) -> IRModule:
        seen.append(mod.astext())

        def change(old: Call, new: Call) -> Expr:
            return slope_forgotten(new) if len(seen) > 1 else new

        return mod.with_functions({var: rewrite(f, change, only=(Call,)) for var, f in mod.functions.items()})

    return go


@whole(
    "def @f(%x: Tensor[(3), float32]) { exp(%x) } def @g(%x: Tensor[(3), float32]) { tanh(%x) } "
    "def @main(%x: Tensor[(3), float32]) { subtract(@f(%x), @g(@g(%x))) }"
)
def functions_by_their_type() -> Pass:
    known: dict[str, Any] = {}

    @module_pass(opt_level=0, name="functions_by_their_type")
    def go(mod: Any, ctx: Any) -> Any:
        known.clear()
        for var, func in mod.functions.items():
            known.setdefault(str(func.checked_type), var)

        def change(old: Call, new: Call) -> Expr:
            func = mod.functions.get(new.op)
            return new.with_fields(op=known[str(func.checked_type)]) if func is not None else new

        return mod.with_functions({var: rewrite(f, change, only=(Call,)) for var, f in mod.functions.items()})

    return go
