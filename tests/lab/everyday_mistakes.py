"""Thirty passes of users with an everyday mistake each, written in every style: `MISTAKES`, by name.

They are what somebody gets wrong who writes a pass on a working day: an axis after a change of layout, a variable that
is captured, a field of a tuple, the order of two effects, the dtype of a literal. They were written before the search
had been tried on any of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab import IRModule, relay
from passlab.ir.expr import Call, Constant, If, Let, Match, RefRead, RefWrite, Tuple, TupleGetItem, Var
from passlab.ir.walk import post_order, rewrite
from passlab.relay.dataflow_pattern import DFPatternCallback, is_constant, is_op, wildcard
from passlab.relay.dataflow_pattern import rewrite as rewrite_patterns
from passlab.transform import function_pass, module_pass
from passlab.transform.base import Pass

MISTAKES: dict[str, tuple[Callable[[], Pass], str]] = {}
Make = Callable[[], Any]


def mistake(program: str, level: str = "function") -> Callable[[Make], Make]:
    """Register what makes the function of a pass, and the program that shows its mistake."""

    def register(make: Make) -> Make:
        decorator: Any = function_pass if level == "function" else module_pass
        MISTAKES[make.__name__] = lambda: decorator(make(), opt_level=0, name=make.__name__), program
        return make

    return register


def calls(node: Any, name: str) -> bool:
    return isinstance(node, Call) and getattr(node.op, "name", "") == name


def by_rule(rule: Callable[[Any, Any], Any], *kinds: Any) -> Any:
    return lambda func, mod, ctx: rewrite(func, rule, only=kinds or (Call,))


def by_class(mutator: Callable[[], Any]) -> Any:
    return lambda func, mod, ctx: mutator().visit(func)


def by_pattern(callback: Callable[[], DFPatternCallback]) -> Any:
    return lambda func, mod, ctx: rewrite_patterns(callback(), func)


NET = """def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32]) {
  let %c = nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  let %r = nn.relu(nn.bias_add(%c, %b));
  let %p = nn.max_pool2d(%r, pool_size=[2, 2], strides=[2, 2]);
  nn.softmax(nn.batch_flatten(%p))
}"""
PAIR = "def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32])"


# ---------------------------------------------------------------- rules: `rewrite`
@mistake(NET)
def softmax_over_the_old_axis() -> Any:
    def rule(old: Any, new: Any) -> Any:
        return relay.nn.softmax(new.args[0], axis=0) if calls(old, "nn.softmax") else new

    return by_rule(rule)


@mistake(NET)
def padding_off_by_one() -> Any:
    def rule(old: Any, new: Any) -> Any:
        if not calls(old, "nn.max_pool2d"):
            return new
        padded = relay.nn.pad(new.args[0], pad_width=((0, 0), (0, 0), (1, 0), (1, 0)))
        return relay.nn.max_pool2d(padded, pool_size=(2, 2), strides=(2, 2))

    return by_rule(rule)


@mistake(f"{PAIR} {{ subtract(exp(%x), tanh(%y)) }}")
def commutes_everything() -> Any:
    return by_rule(
        lambda old, new: new.with_fields(args=new.args[::-1]) if isinstance(old, Call) and len(old.args) == 2 else new
    )


@mistake(f"{PAIR} {{ divide(%x, 3f) + %y }}")
def literal_of_another_dtype() -> Any:
    def rule(old: Any, new: Any) -> Any:
        if not calls(old, "divide"):
            return new
        inverse = relay.const(np.float32(1) / np.float16(3))
        return relay.multiply(new.args[0], relay.cast(relay.cast(inverse, "float16"), "float32"))

    return by_rule(rule)


@mistake("def @main(%x: Tensor[(5), int32]) { floor_divide(%x, 4) }")
def rounds_to_zero() -> Any:
    return by_rule(lambda old, new: relay.divide(*new.args) if calls(old, "floor_divide") else new)


@mistake('def @main(%x: Tensor[(5), float32]) { cast(%x, dtype="int32") }')
def cast_that_rounds() -> Any:
    def rule(old: Any, new: Any) -> Any:
        return relay.cast(relay.round(new.args[0]), "int32") if calls(old, "cast") else new

    return by_rule(rule)


@mistake("def @main(%x: Tensor[(4, 1), float32], %y: Tensor[(4), float32]) { add(%x, expand_dims(%y, axis=1)) }")
def wrong_broadcasting() -> Any:
    def rule(old: Any, new: Any) -> Any:
        if calls(old, "add") and calls(new.args[1], "expand_dims"):
            sums = relay.add(new.args[0], new.args[1].args[0])
            return relay.strided_slice(sums, begin=[0, 0], end=[4, 1])
        return new

    return by_rule(rule)


@mistake("def @main(%x: Tensor[(?), float32]) { sum(%x * %x) }")
def forgets_the_empty_tensor() -> Any:
    def rule(old: Any, new: Any) -> Any:
        if not calls(old, "sum"):
            return new
        padded = relay.concatenate([new.args[0], relay.const(np.float32([0]))], axis=0)
        first = relay.take(padded, relay.const(np.int32(0)))
        return relay.where(relay.equal(relay.ndarray_size(padded), relay.const(1)), relay.const(np.float32(1)),
                           relay.sum(new.args[0]) + first - first)  # fmt: skip

    return by_rule(rule)


@mistake("def @main(%x: Tensor[(4), float32]) { multiply(%x, 0f) }")
def times_zero_is_zero() -> Any:
    def rule(old: Any, new: Any) -> Any:
        return relay.zeros_like(new.args[0]) if calls(old, "multiply") else new

    return by_rule(rule)


@mistake("def @main(%x: Tensor[(4), float32]) { add(%x, 0f) }")
def plus_zero_is_nothing_but_the_sign() -> Any:
    def rule(old: Any, new: Any) -> Any:
        return relay.negative(relay.negative(relay.abs(new.args[0]))) if calls(old, "add") else new

    return by_rule(rule)


# ---------------------------------------------------------------- ExprMutator
@mistake("def @main(%x: float32) { let %y = exp(%x); let %z = %x * 2f; (%z + %y, %z - %y) }")
def loses_a_field() -> Any:
    class Fields(relay.ExprMutator):
        def visit_tuple(self, node: Tuple) -> Any:
            fields = [self.visit(field) for field in node.fields]
            return Tuple([fields[0], *fields[:-1]])

    return by_class(Fields)


@mistake("def @main(%x: float32) { let %y = exp(%x); let %y2 = tanh(%x); let %z = %y2 - %y; %z * 2f }")
def shadowed_variable() -> Any:
    class Names(relay.ExprMutator):
        """Looks variables up by the first letter of their name."""

        def __init__(self) -> None:
            super().__init__()
            self.known: dict[str, Any] = {}

        def visit_let(self, let: Let) -> Any:
            value = self.visit(let.value)
            self.known[let.var.name_hint[0]] = let.var
            return Let(let.var, value, self.visit(let.body))

        def visit_var(self, var: Var) -> Any:
            return self.known.get(var.name_hint[0], var)

    return by_class(Names)


@mistake("def @main(%x: float32, %c: bool) { if (%c) { exp(%x) } else { tanh(%x) } }")
def swapped_branches() -> Any:
    class Branches(relay.ExprMutator):
        def visit_if(self, node: If) -> Any:
            cond = relay.logical_not(relay.logical_not(self.visit(node.cond)))
            return If(cond, self.visit(node.false_branch), self.visit(node.true_branch))

    return by_class(Branches)


@mistake("def @main(%x: float32) { let %r = ref(%x); ref_write(%r, exp(%x)); ref_read(%r) * 2f }")
def drops_an_effect() -> Any:
    class Dead(relay.ExprMutator):
        """Removes bindings that nobody reads."""

        def visit_let(self, let: Let) -> Any:
            body = self.visit(let.body)
            used = any(node is let.var for node in post_order(body))
            return Let(let.var, self.visit(let.value), body) if used else body

    return by_class(Dead)


@mistake(
    "def @main(%x: float32) { let %r = ref(%x); let %a = ref_read(%r); ref_write(%r, exp(%x)); %a + ref_read(%r) }"
)
def reads_moved_to_their_use() -> Any:
    class Inline(relay.ExprMutator):
        def __init__(self) -> None:
            super().__init__()
            self.values: dict[Any, Any] = {}

        def visit_let(self, let: Let) -> Any:
            if isinstance(let.value, RefRead):
                self.values[let.var] = let.value
                return self.visit(let.body)
            return super().visit_let(let)

        def visit_var(self, var: Var) -> Any:
            return self.values.get(var, var)

    return by_class(Inline)


# ---------------------------------------------------------------- MixedModeMutator
@mistake(f"{PAIR} {{ concatenate((tanh(%x), exp(%y)), axis=1) }}")
def attributes_of_another_call() -> Any:
    class Shared(relay.MixedModeMutator):
        def rewrite_call(self, pre: Any, post: Any) -> Any:
            if not calls(pre, "concatenate"):
                return post
            fields = post.args[0].fields
            return relay.concatenate([*fields[::-1]], axis=pre.attrs.axis)

    return by_class(Shared)


@mistake(f"{PAIR} {{ clip(%x, a_min=-1f, a_max=2f) * %y }}")
def bounds_exchanged_by_sign() -> Any:
    class Bounds(relay.MixedModeMutator):
        def rewrite_call(self, pre: Any, post: Any) -> Any:
            return relay.clip(post.args[0], -2.0, 1.0) if calls(pre, "clip") else post

    return by_class(Bounds)


@mistake(f"{PAIR} {{ mean(%x, axis=[0]) + sum(%y, axis=[0]) }}")
def mean_as_a_sum() -> Any:
    class Means(relay.MixedModeMutator):
        def rewrite_call(self, pre: Any, post: Any) -> Any:
            if not calls(pre, "mean"):
                return post
            return relay.sum(post.args[0], axis=[0]) * relay.const(np.float32(1 / 4))

    return by_class(Means)


@mistake(f"{PAIR} {{ greater(%x, %y) }}")
def negated_comparison() -> Any:
    class Comparisons(relay.MixedModeMutator):
        def rewrite_call(self, pre: Any, post: Any) -> Any:
            return relay.logical_not(relay.less_equal(*post.args)) if calls(pre, "greater") else post

    return by_class(Comparisons)


# ---------------------------------------------------------------- patterns
@mistake(f"{PAIR} {{ add(multiply(%x, 2f), multiply(%y, 5f)) }}")
def factors_out_the_first_factor() -> Any:
    class Factors(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = wildcard(), wildcard(), is_constant()
            self.pattern = is_op("add")(is_op("multiply")(self.a, self.c), is_op("multiply")(self.b, is_constant()))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            a, b, c = (node_map[part][0] for part in (self.a, self.b, self.c))
            return relay.multiply(relay.add(a, b), c)

    return by_pattern(Factors)


@mistake("def @main(%x: Tensor[(2, 3, 4), float32]) { transpose(reshape(%x, newshape=[6, 4]), axes=[1, 0]) }")
def transposes_before_it_reshapes() -> Any:
    class Moves(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("transpose")(is_op("reshape")(self.x))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return relay.reshape(relay.transpose(node_map[self.x][0], axes=[2, 1, 0]), newshape=[4, 6])

    return by_pattern(Moves)


@mistake("def @main(%x: Tensor[(4), float32]) { sqrt(multiply(%x, %x)) }")
def root_of_a_square() -> Any:
    class Roots(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("sqrt")(is_op("multiply")(self.x, self.x))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return node_map[self.x][0]

    return by_pattern(Roots)


@mistake("def @main(%x: Tensor[(2, 6), float32]) { let %s = split(%x, indices_or_sections=3, axis=1); %s.0 - %s.2 }")
def projection_counted_from_one() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        def rule(old: Any, new: Any) -> Any:
            return TupleGetItem(new.tuple_value, max(0, new.index - 1)) if isinstance(old, TupleGetItem) else new

        return rewrite(func, rule, only=(TupleGetItem,))

    return changes


# ---------------------------------------------------------------- plain construction, modules, state
@mistake("def @main(%x: float32, %y: float32) { (%x - %y) * 2f }")
def parameters_in_the_wrong_order() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        fresh = [Var(p.name_hint, p.type_annotation) for p in func.params]
        body = rewrite(func.body, replace=dict(zip(func.params, fresh[::-1], strict=True)))
        return relay.Function(fresh, body, func.ret_type, func.type_params, func.attrs)

    return changes


@mistake(
    """def @f(%a: float32) -> float32 { exp(%a) }
def @g(%a: float32) -> float32 { tanh(%a) }
def @main(%x: float32) { @f(%x) - @g(%x) }""",
    level="module",
)
def first_function_of_a_type() -> Any:
    def changes(mod: IRModule, ctx: Any) -> IRModule:
        """Replaces functions that look alike by the first of them."""
        first: dict[Any, Any] = {}
        same: dict[Any, Any] = {}
        for name, function in mod.items():
            var = mod.get_global_var(name)
            if name != "main":
                same[var] = first.setdefault(str(function.checked_type), var)
        main = rewrite(mod["main"], replace={a: b for a, b in same.items() if a is not b})
        return mod.with_functions({"main": main})

    return changes


@mistake(
    """def @down(%n: int32, %x: float32) -> float32 { if (less(%n, 1)) { %x } else { @down(%n - 1, sin(%x) + 1f) } }
def @main(%x: float32) { @down(4, %x) }""",
    level="module",
)
def unrolls_once_too_often() -> Any:
    def changes(mod: IRModule, ctx: Any) -> IRModule:
        def rule(old: Any, new: Any) -> Any:
            if calls(old, "less"):
                return relay.less(new.args[0], relay.const(np.int32(0)))
            return new

        return mod.with_functions({"down": rewrite(mod["down"], rule, only=(Call,))})

    return changes


@mistake(
    """type L[A] { Cons(A, L[A]), Nil }
def @main(%x: float32) { match (Cons(exp(%x), Cons(tanh(%x), Nil))) { Cons(%a, Cons(%b, _)) => %a - %b, _ => %x } }"""
)
def heads_and_rests_mixed_up() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        def rule(old: Any, new: Any) -> Any:
            if not isinstance(old, Match):
                return new
            clause = new.clauses[0]
            names = [n for n in post_order(clause.rhs) if isinstance(n, Var)]
            body = rewrite(clause.rhs, replace=dict(zip(names, names[::-1], strict=True)))
            return relay.Match(new.data, [relay.Clause(clause.lhs, body), *new.clauses[1:]], new.complete)

        return rewrite(func, rule, only=(Match,))

    return changes


@mistake("def @main(%x: Tensor[(40), float32]) { let %a = exp(%x); let %b = tanh(%x); %a - %b }")
def order_of_a_set() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        """Builds the difference of "both operands", in an order that is luck."""

        def rule(old: Any, new: Any) -> Any:
            if not calls(old, "subtract"):
                return new
            return relay.subtract(*random.sample(list(new.args), 2))

        return rewrite(func, rule, only=(Call,))

    return changes


@mistake("def @main(%x: Tensor[(4), float32]) { let %y = multiply(%x, meta[relay.Constant][0]); exp(%y) }")
def scales_a_constant_in_place() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        for node in post_order(func):
            if isinstance(node, Constant) and node.data.ndim:
                node.data.flags.writeable = True
                np.multiply(node.data, 2, out=node.data)
                node.data.flags.writeable = False
        return func

    return changes


@mistake(
    "def @main(%x: float32) { let %r = ref(%x); ref_write(%r, ref_read(%r) + 1f);"
    " ref_write(%r, ref_read(%r) * 2f); ref_read(%r) }"
)
def order_of_effects() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        def rule(old: Any, new: Any) -> Any:
            two = isinstance(old, Let) and isinstance(old.value, RefWrite) and isinstance(old.body, Let)
            if two and isinstance(old.body.value, RefWrite):
                return Let(new.body.var, new.body.value, Let(new.var, new.value, new.body.body))
            return new

        return rewrite(func, rule, only=(Let,))

    return changes


@mistake("def @main(%x: float32) { let %f = fn (%a: float32) { %a * %x }; let %x1 = %x + 1f; %f(%x1) }")
def captured_variable() -> Any:
    def changes(func: Any, mod: Any, ctx: Any) -> Any:
        """Replaces the parameter of a local function by the argument, and all variables of that name."""

        def rule(old: Any, new: Any) -> Any:
            if isinstance(old, relay.Function) and old is not func and len(new.params) == 1:
                names = [n for n in post_order(new.body) if isinstance(n, Var)]
                return relay.Function(new.params, rewrite(new.body, replace=dict.fromkeys(names, new.params[0])))
            return new

        return rewrite(func, rule, only=(relay.Function,))

    return changes
