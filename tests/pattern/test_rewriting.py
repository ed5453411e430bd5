"""Rewriting and partitioning: Relay text in, Relay text out."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PassError, PassTypeError
from passlab.ir import Call, Constant, Expr, Function, Let, TensorType, Tuple, TupleGetItem, Var, structural_equal
from passlab.ir.walk import make_lets, post_order
from passlab.pattern import (
    DFPattern,
    DFPatternCallback,
    FunctionPattern,
    dominates,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    partition,
    rewrite,
    wildcard,
)  # fmt: skip

Map = dict[DFPattern, list[Expr]]
F32 = TensorType((10, 10))
x, y, z, w = (Var(n, F32) for n in "xyzw")
one = relay.const(1.0)


def main(text: str) -> Function:
    return passlab.parse(f'#[version = "0.0.5"]\n{text}')["main"]


class AddToSub(DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = wildcard(), wildcard()
        self.pattern = self.a + self.b

    def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
        return node_map[self.a][0] - node_map[self.b][0]


class DropExp(DFPatternCallback):
    """exp(log(a)) -> a"""

    def __init__(self) -> None:
        self.a = wildcard()
        self.pattern = is_op("exp")(is_op("log")(self.a))
        self.seen: list[tuple[Expr, Expr]] = []

    def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
        self.seen.append((pre, post))
        return node_map[self.a][0]


# ---------------------------------------------------------------- rewrite
def test_every_match_is_rewritten() -> None:
    assert structural_equal(AddToSub().rewrite((x + y) + (y + z)), (x - y) - (y - z))
    assert structural_equal(rewrite([AddToSub()], Function((x, y), x + y)), Function((x, y), x - y))


def test_nothing_matched_means_the_same_object() -> None:
    f = Function((x, y), x * y)
    assert rewrite(AddToSub(), f) is f


def test_a_callback_that_leaves_matches_alone_changes_nothing() -> None:
    class Nothing(AddToSub):
        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return post

    class Copy(AddToSub):
        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return node_map[self.a][0] + node_map[self.b][0]

    f = Function((x, y), (x + y) + y)
    assert rewrite(Nothing(), f) is f
    assert structural_equal(rewrite(Copy(), f), f)


def test_shared_nodes_stay_shared() -> None:
    shared = x + y
    rewritten_expr = rewrite(AddToSub(), shared * shared)
    assert rewritten_expr.args[0] is rewritten_expr.args[1]


def test_callbacks_see_the_match_before_and_after() -> None:
    inner = relay.exp(relay.log(x))
    outer = relay.exp(relay.log(inner))
    callback = DropExp()
    assert rewrite(callback, outer + y).args[0] is x
    assert callback.seen[0][0] is inner
    assert callback.seen[1][0] is outer
    assert structural_equal(callback.seen[1][1], relay.exp(relay.log(x)))


def test_rewrites_go_on_until_nothing_changes() -> None:
    class Shrink(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.a = wildcard()
            self.pattern = is_op("tanh")(is_op("tanh")(self.a))

        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return relay.tanh(node_map[self.a][0])

    tower: Expr = x
    for _ in range(40):
        tower = relay.tanh(tower)
    assert structural_equal(rewrite(Shrink(), tower), relay.tanh(x))


def test_rewrite_once() -> None:
    class Wrap(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(rewrite_once=True)
            self.a = wildcard()
            self.pattern = is_op("exp")(self.a)

        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return relay.exp(relay.exp(node_map[self.a][0]))

    assert structural_equal(rewrite(Wrap(), relay.exp(x)), relay.exp(relay.exp(x)))


def test_conflicting_rewrites_end() -> None:
    class SubToAdd(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = wildcard(), wildcard()
            self.pattern = self.a - self.b

        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return relay.add(node_map[self.a][0], node_map[self.b][0])

    class Grow(SubToAdd):
        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return relay.negative(post)

    with pytest.raises(PassError, match="Observed 100 rewrite passes, possible conflicting passes"):
        rewrite([Grow()], x - y)
    assert rewrite([AddToSub(), SubToAdd()], x + y) is not None


def test_types_are_inferred_on_request() -> None:
    class OnlyFloats(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(require_type=True)
            self.a = wildcard()
            self.pattern = is_op("cast")(self.a)

        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return node_map[self.a][0] if pre.checked_type is self.a_type(pre) else post

        def a_type(self, pre: Expr) -> object:
            return pre.args[0].checked_type

    f = Function((x,), relay.cast(relay.cast(x, "float32"), "float16"))
    assert structural_equal(rewrite(OnlyFloats(), f).body, relay.cast(x, "float16"), map_free_vars=True)


def test_a_node_used_outside_is_not_swallowed() -> None:
    class Fuse(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.a = wildcard()
            self.pattern = is_op("exp")(is_op("log")(self.a))

        callback = DropExp.callback
        seen: list[tuple[Expr, Expr]] = []

    inner = relay.log(x)
    program = Tuple((relay.exp(inner), inner))
    assert rewrite(Fuse(), program) is program


def test_misuse_is_explained() -> None:
    with pytest.raises(PassTypeError, match="DFPatternCallback has no pattern"):
        rewrite(DFPatternCallback(), x)

    class Wrong(AddToSub):
        def callback(self, pre: Expr, post: Expr, node_map: Map) -> Expr:
            return None  # type: ignore[return-value]

    with pytest.raises(PassTypeError, match=r"Wrong.callback must return an expression"):
        rewrite(Wrong(), x + y)


def test_deep_and_wide_programs() -> None:
    bound, at = [], x
    for _ in range(10_000):
        var = Var("v")
        bound.append((var, relay.exp(relay.log(at + x))))
        at = var
    rewritten_expr = rewrite([DropExp(), AddToSub()], Function((x,), make_lets(bound, at)))
    calls = [e for e in post_order(rewritten_expr) if isinstance(e, Call)]
    assert len(calls) == 10_000
    assert {str(c.op) for c in calls} == {"subtract"}


# ---------------------------------------------------------------- partition
def called(result: Expr) -> Function:
    assert isinstance(result, Call)
    assert isinstance(result.op, Function)
    return result.op


def test_partition_names_its_parts() -> None:
    a, b, c = wildcard(), wildcard(), is_constant()
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.dense")(a, b), c))
    result = pattern.partition(relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), one)), {"Composite": "biased"})
    f = called(result)
    assert result.args == (x, w)
    assert [p.name_hint for p in f.params] == ["FunctionVar_0_0", "FunctionVar_0_1"]
    assert f.attrs["PartitionedFromPattern"] == "nn.dense_nn.bias_add_nn.relu_"
    assert f.attrs["Composite"] == "biased"
    p, q = f.params
    assert structural_equal(f.body, relay.nn.relu(relay.nn.bias_add(relay.nn.dense(p, q), one)))


def test_partition_twice_and_check() -> None:
    pattern = is_op("exp")(is_op("log")(wildcard()))
    program = relay.exp(relay.log(relay.tanh(relay.exp(relay.log(x)))))
    result = pattern.partition(program)
    assert [p.name_hint for p in called(result).params] == ["FunctionVar_0_0"]
    assert [p.name_hint for p in called(result.args[0].args[0]).params] == ["FunctionVar_1_0"]
    outer_only = pattern.partition(program, check=lambda pre: pre is program)
    assert isinstance(outer_only.args[0].args[0].op, relay.op.Op)
    assert pattern.partition(program, check=lambda pre: False) is program
    assert pattern.partition(result) is result  # what was moved stays


def test_partition_of_every_kind() -> None:
    v = Var("v", F32)
    for pattern, program, name, inputs in [
        (is_tuple_get_item(is_tuple(None), 0), TupleGetItem(Tuple((x, y)), 0), "Tuple_TupleGetItem0_", (x, y)),
        (is_if(is_var(), is_var(), is_op("exp")(is_var())), relay.If(x, y, relay.exp(z)), "exp_If_", (x, y, z)),
        (is_let(is_var(), is_op("exp")(is_var("x")), wildcard()), Let(v, relay.exp(x), y), "exp_Let_", (x, y)),
        (
            FunctionPattern(None, wildcard())(wildcard()),
            Call(Function((v,), relay.exp(v)), (x,)),
            "exp_FunctionCall_",
            (x,),
        ),
        (is_op("concatenate")(None), relay.concatenate([x, y], 0), "concatenate_", (Tuple,)),
    ]:
        result = pattern.partition(program)
        assert called(result).attrs["PartitionedFromPattern"] == name
        if inputs != (Tuple,):
            assert result.args == inputs


def test_partition_of_dominators() -> None:
    elemwise = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = dominates(is_op("nn.dense")(wildcard(), wildcard()), elemwise, is_op("add")(wildcard(), wildcard()))
    dense = relay.nn.dense(x, w)
    result = pattern.partition(relay.tanh(relay.nn.relu(dense) + relay.exp(dense)))
    assert called(result.args[0]).attrs["PartitionedFromPattern"] == "nn.dense_nn.relu_exp_add_"
    assert result.args[0].args == (x, w)


def test_partition_computes_the_same() -> None:
    f = main("""
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
      %0 = nn.dense(%x, %w);
      %1 = nn.relu(%0);
      add(exp(%1), %1)
    }
    """)
    pattern = is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard()))
    result = partition(pattern, f)
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype("float32") for s in ((2, 3), (4, 3))]
    results = [relay.create_executor("debug", passlab.IRModule.from_expr(e)).evaluate()(*args) for e in (f, result)]
    assert np.array_equal(np.asarray(results[0]), np.asarray(results[1]))
    assert result is not f


def test_functions_that_are_not_called_are_left() -> None:
    f = Function((x,), x)
    with pytest.warns(UserWarning, match="match its call"):
        assert FunctionPattern(None, wildcard()).partition(f) is f


def test_inner_nodes_used_outside_block_a_partition() -> None:
    dense = relay.nn.dense(x, w)
    program = Tuple((relay.nn.relu(dense), dense))
    assert is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())).partition(program) is program


def test_constants_asked_for_as_values_stay_inputs() -> None:
    result = (is_var("x") + wildcard()).partition(x + one)
    assert result.args == (x, one)
    result = (is_var("x") + is_expr(one)).partition(x + one)
    assert result.args == (x,)
    assert any(isinstance(e, Constant) for e in post_order(called(result)))
