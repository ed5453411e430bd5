"""Structural equality and hashing: the rules one by one, then the laws on random programs."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import PasslabError
from passlab.ir import (
    ANY,
    Call,
    Constant,
    Constructor,
    DictAttrs,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    IRModule,
    Op,
    SizeVar,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
    Var,
)  # fmt: skip
from passlab.ir.adt import Clause, PatternVar
from passlab.ir.equal import (
    assert_structural_equal,
    find_mismatch,
    get_first_structural_mismatch,
    node_digest,
    structural_equal,
    structural_hash,
)  # fmt: skip
from passlab.ir.walk import make_lets
from passlab.op import make
from passlab.text.parser import parse
from tests.ir.random_programs import Generator, mutated, renamed
from tests.ir.reference_equal import reference_equal

F32 = TensorType((3,), "float32")


def add(a: Expr, b: Expr) -> Call:
    return make("add", a, b)


def equal(a: object, b: object, **how: bool) -> bool:
    """Both orders agree, equal things have one hash, and the mismatch agrees with the answer."""
    answer = structural_equal(a, b, **how)
    assert structural_equal(b, a, **how) == answer
    assert (find_mismatch(a, b, **how) is None) == answer
    if answer:
        assert structural_hash(a, **how) == structural_hash(b, **how)
    return answer


# ---------------------------------------------------------------- variables
def test_names_of_bound_variables_do_not_count() -> None:
    x, y = Var("x", F32), Var("completely_different", F32)
    assert equal(Function((x,), add(x, x)), Function((y,), add(y, y)))


def test_annotations_of_variables_count() -> None:
    x, y = Var("x", F32), Var("x", TensorType((3,), "int32"))
    assert not equal(Function((x,), x), Function((y,), y))


def test_positions_of_bound_variables_count() -> None:
    x, y = Var("x"), Var("y")
    assert not equal(Function((x, y), add(x, y)), Function((x, y), add(y, x)))
    assert structural_hash(Function((x, y), add(x, y))) != structural_hash(Function((x, y), add(y, x)))


def test_free_variables_are_themselves_unless_mapped() -> None:
    x, y = Var("x"), Var("y")
    assert equal(add(x, x), add(x, x))
    assert not equal(add(x, x), add(y, y))
    assert equal(add(x, x), add(y, y), map_free_vars=True)
    assert not equal(add(x, x), add(x, y), map_free_vars=True)


def test_a_bound_variable_is_not_the_free_one_of_the_other_side() -> None:
    x, y = Var("x"), Var("y")
    assert not equal(Function((x,), x), Function((y,), x))
    assert not equal(Tuple((add(x, x), Function((x,), x))), Tuple((add(x, x), Function((y,), y))))


# ---------------------------------------------------------------- sharing
def test_a_shared_node_is_not_two_equal_ones() -> None:
    x = Var("x")
    one = add(x, x)
    assert not equal(make("multiply", one, one), make("multiply", add(x, x), add(x, x)))


def test_projections_constants_and_empty_tuples_may_be_repeated() -> None:
    x = Var("x")
    for leaf in (
        lambda: TupleGetItem(x, 0),
        lambda: TupleGetItem(TupleGetItem(x, 0), 1),
        lambda: Constant(1.0),
        lambda: Tuple(()),
    ):
        one = leaf()
        assert equal(Tuple((one, one)), Tuple((leaf(), leaf())))


def test_a_projection_of_another_tuple_is_another() -> None:
    x, y = Var("x"), Var("y")
    assert not equal(Tuple((TupleGetItem(x, 0), TupleGetItem(x, 0))), Tuple((TupleGetItem(x, 0), TupleGetItem(y, 0))))


# ---------------------------------------------------------------- leaves
@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (np.float32("nan"), np.float32("nan"), True),
        (np.float32(0.0), np.float32(-0.0), False),
        (np.float32(1.0), np.float64(1.0), False),
        (np.zeros((2, 3), "int8"), np.zeros((3, 2), "int8"), False),
        (np.arange(100), np.arange(100), True),
        (np.arange(100), np.arange(1, 101), False),
    ],
)
def test_constants_compare_bit_for_bit(left: object, right: object, same: bool) -> None:
    assert equal(Constant(left), Constant(right)) == same


def test_attributes_compare_by_value_and_type() -> None:
    x, w, dense = Var("x"), Var("w"), Op.get("nn.dense")
    five, six = (Call(dense, (x, w), dense.spec.attrs(units=n)) for n in (5, 6))
    assert equal(five, Call(dense, (x, w), dense.spec.attrs(units=5)))
    assert not equal(five, six)
    assert find_mismatch(five, six).path == ".attrs.units"  # type: ignore[union-attr]
    assert not equal(Call(dense, (x, w)), Call(dense, (x, w), DictAttrs()))
    assert not equal(DictAttrs(a=1), DictAttrs(a=1.0))
    assert equal(DictAttrs(a=1, b={"p": 1, "q": 2}), DictAttrs(b={"q": 2, "p": 1}, a=1))


def test_expressions_in_attributes_are_part_of_the_program() -> None:
    x, y = Var("x"), Var("y")
    one, two = (Function((v,), v, attrs={"inner": Tuple((v, Constant(1)))}) for v in (x, y))
    assert equal(one, two)
    assert not equal(one, Function((y,), y, attrs={"inner": Tuple((y, Constant(2)))}))


def test_type_arguments_count_unless_the_callee_is_an_operator() -> None:
    f, x = Var("f"), Var("x")
    assert not equal(Call(f, (x,), None, (F32,)), Call(f, (x,)))
    assert equal(Call(Op.get("exp"), (x,), None, (F32,)), Call(Op.get("exp"), (x,)))


# ---------------------------------------------------------------- types
def test_generic_types_are_equal_up_to_their_parameters() -> None:
    a, b, c = TypeVar("A"), TypeVar("B"), TypeVar("C")
    assert equal(FuncType((a,), a, (a,)), FuncType((b,), b, (b,)))
    assert not equal(FuncType((a, a), a, (a,)), FuncType((b, c), b, (b, c)))
    assert not equal(FuncType((a,), b, (a, b)), FuncType((a,), a, (a, b)))
    assert equal(TupleType((FuncType((a,), c, (a,)), c)), TupleType((FuncType((b,), c, (b,)), c)))
    assert not equal(a, b)
    assert equal(TupleType((a, F32)), TupleType((b, F32)), map_free_vars=True)


def test_a_generic_type_used_twice_is_equal_to_two_of_its_kind() -> None:
    a, b, c = TypeVar("A"), TypeVar("B"), TypeVar("C")
    one, two, three = (FuncType((v,), v, (v,)) for v in (a, b, c))
    assert equal(TupleType((one, one)), TupleType((two, three)))
    assert equal(TupleType((one, one)), TupleType((two, two)))
    assert structural_hash(TupleType((one, one))) == structural_hash(TupleType((two, three)))
    assert equal(FuncType((one, one), a, (a,)), FuncType((two, three), c, (c,)))
    other = FuncType((b, b), b, (b,))
    assert not equal(TupleType((one, one)), TupleType((two, other)))
    open_one, open_two = (FuncType((v, a), v, (v,)) for v in (b, c))
    assert equal(TupleType((open_one, a)), TupleType((open_two, a)))
    assert not equal(TupleType((open_one, a)), TupleType((open_two, b)))


def test_type_parameters_of_functions_are_paired() -> None:
    a, b = TypeVar("A"), TypeVar("B")
    one, two = (Function((v := Var("x", t),), v, t, (t,)) for t in (a, b))
    assert equal(one, two)
    x = Var("x", b)
    assert not equal(one, Function((x,), x, a, (b,)))


def test_dimensions() -> None:
    n, m = SizeVar("n"), SizeVar("m")
    assert equal(TensorType((ANY, 2)), TensorType((ANY, 2)))
    assert not equal(TensorType((n,)), TensorType((m,)))
    one, two = (Function((v := Var("x", TensorType((d, d))),), v) for d in (n, m))
    assert equal(one, two)


def test_data_types_compare_up_to_their_parameters() -> None:
    def define(param: str, last: str = "Nil") -> TypeData:
        a, box = TypeVar(param), GlobalTypeVar("Box")
        return TypeData(box, (a,), (Constructor("Cons", (a, TypeCall(box, (a,))), box), Constructor(last, (), box)))

    assert equal(define("A"), define("Z"))
    assert not equal(define("A"), define("A", "None"))
    assert equal(define("A").constructors[0], define("Z").constructors[0])


# ---------------------------------------------------------------- modules
def module(name: str = "f", value: float = 1.0) -> IRModule:
    x, y = Var("x", F32), Var("y", F32)
    mod = IRModule()
    var = mod.global_var(name)
    mod[name] = Function((x,), add(x, Constant(value)))
    mod["main"] = Function((y,), Call(var, (y,)))
    return mod


def test_modules_compare_by_name() -> None:
    assert equal(module(), module())
    assert not equal(module(), module("g"))
    assert find_mismatch(module(), module(value=2.0)).path == ".functions['f'].body.args[1].data"  # type: ignore[union-attr]
    assert not equal(GlobalVar("f"), GlobalVar("f"))
    assert equal(GlobalVar("f"), GlobalVar("f"), map_free_vars=True)


def test_order_of_functions_does_not_count() -> None:
    one = module()
    two = IRModule({"main": one["main"], "f": one["f"]})
    assert equal(one, two)


def test_a_missing_function_is_named() -> None:
    less = module()
    less.remove("f")
    assert "functions['f']" in find_mismatch(module(), less).path  # type: ignore[union-attr]


# ---------------------------------------------------------------- reports
def test_the_error_leads_to_the_first_difference() -> None:
    x = Var("x", F32)
    one, two = (Function((x,), add(make("exp", add(x, Constant(v))), x)) for v in (1.0, 2.0))
    assert get_first_structural_mismatch(one, one) is None
    path = "<root>.body.args[0].args[0].args[1].data"
    assert get_first_structural_mismatch(one, two) == (path, path)
    with pytest.raises(ValueError, match=r"differ at <root>\.body\.args\[0\]\.args\[0\]\.args\[1\]\.data") as caught:
        assert_structural_equal(one, two)
    assert isinstance(caught.value, PasslabError)
    assert "1.0" in str(caught.value)
    assert "2.0" in str(caught.value)
    assert_structural_equal(one, one.with_fields(body=one.body.with_fields(args=one.body.args[::1])))


def test_the_hash_is_the_same_in_every_process() -> None:
    code = (
        "from passlab.ir import *; from passlab.ir.equal import *; from passlab.op import make;"
        "x = Var('x', TensorType((3,))); print(structural_hash(Function((x,), make('nn.dense', x, Constant(1.5), units=4))))"
    )
    seen = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(seen) == 1


# ---------------------------------------------------------------- laws
@pytest.mark.parametrize("block", range(10))
def test_random_programs_agree_with_the_reference(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        draw = Generator(seed)
        free = (draw.var(), draw.var())
        one = draw.program(random.Random(seed).randrange(2, 14), free)
        other = mutated(one, seed)
        for left in (one, Tuple((one, one)), Tuple((one, renamed(one, free)))):
            for right in (one, renamed(one), renamed(one, free), other, renamed(other, free), Tuple((one, other))):
                for mapped in (False, True):
                    assert equal(left, right, map_free_vars=mapped) == reference_equal(left, right, mapped), (
                        seed,
                        left,
                    )
                if structural_equal(left, right):
                    assert node_digest(left) == node_digest(right)


def tower(depth: int) -> Function:
    x = Var("x")
    top: Expr = x
    for _ in range(depth):
        top = add(top, top)
    return Function((x,), top)


def test_a_graph_of_many_paths_is_linear() -> None:
    assert equal(tower(2000), tower(2000))
    assert not equal(tower(2000), tower(2001))


def lets(depth: int) -> Function:
    x = Var("x")
    bound, at = [], x
    for _ in range(depth):
        var = Var("v")
        bound.append((var, add(at, x)))
        at = var
    return Function((x,), make_lets(bound, make("exp", at)))


def projections(of: Var, index: int) -> Expr:
    chain: Expr = TupleGetItem(of, index)
    for _ in range(5_000):
        chain = TupleGetItem(chain, 0)
    return chain


def test_deep_programs(depth: int) -> None:
    assert structural_equal(lets(depth), lets(depth))
    assert equal(lets(3_000), lets(3_000))
    x = Var("x")
    shared = projections(x, 0)
    assert equal(Tuple((shared, shared)), Tuple((projections(x, 0), projections(x, 0))))
    assert not equal(Tuple((shared, shared)), Tuple((projections(x, 0), projections(x, 1))))


def test_deep_types() -> None:
    def nested(leaf: TypeVar) -> FuncType:
        ty: Type = leaf
        for _ in range(20_000):
            ty = TupleType((ty, ty))
        return FuncType((ty,), ty, (leaf,))

    assert equal(nested(TypeVar("A")), nested(TypeVar("B")))


# ---------------------------------------------------------------- Relay's rules
def norm(epsilon: float) -> Call:
    x = Var("x", F32)
    return make("nn.batch_norm", x, x, x, x, x, epsilon=epsilon)


def test_floats_in_attributes_are_equal_within_a_billionth() -> None:
    assert equal(Function([], norm(1e-5)), Function([], norm(float(np.float32(1e-5)))), map_free_vars=True)
    assert not equal(norm(1e-5), norm(2e-5), map_free_vars=True)
    assert not structural_equal(norm(1e-5), norm(float(np.float32(1e-5))), map_free_vars=True, exact=True)
    assert structural_hash(norm(1e-12), True, exact=True) != structural_hash(norm(1e-3), True, exact=True)
    nan, endless = float("nan"), float("inf")
    assert equal(
        DictAttrs({"a": nan, "b": [endless, {"c": 1.0}]}), DictAttrs({"a": nan, "b": [endless, {"c": 1 + 1e-10}]})
    )
    assert not equal(DictAttrs({"a": endless}), DictAttrs({"a": -endless}))
    assert not equal(DictAttrs({"a": 1.0}), DictAttrs({"a": 1}))


def test_the_hash_of_a_free_variable_is_its_own_unless_mapped() -> None:
    x, y = Var("x"), Var("y")
    assert structural_hash(x) != structural_hash(y)
    assert structural_hash(add(x, x)) != structural_hash(add(y, y))
    assert structural_hash(add(x, x)) == structural_hash(add(x, x))
    assert structural_hash(x, map_free_vars=True) == structural_hash(y, map_free_vars=True)


def test_function_types_with_other_names_of_parameters_are_equal_and_print_their_own() -> None:
    a, b = TypeVar("A"), TypeVar("B")
    one, two = FuncType([a], a, [a]), FuncType([b], b, [b])
    assert one == two
    assert hash(one) == hash(two)
    assert one is not two
    assert (str(one), str(two)) == ("fn [A](A) -> A", "fn [B](B) -> B")
    assert TupleType([one]) == TupleType([two])
    assert str(TupleType([two])) == "(fn [B](B) -> B,)"
    assert FuncType([one], a) == FuncType([two], a) != FuncType([two], b)
    assert FuncType([a, b], a, [a, b]) == FuncType([b, a], b, [b, a]) != FuncType([a, b], b, [a, b])
    assert len({one, two, TupleType([one]), TupleType([two])}) == 2
    assert FuncType([F32], F32) is FuncType([F32], F32)


def test_deep_generic_types_are_compared_without_recursion(depth: int) -> None:
    def nest(name: str) -> Type:
        var = TypeVar(name)
        ty: Type = FuncType([var], var, [var])
        for _ in range(depth // 10):
            ty = TupleType([ty, ty])
        return ty

    assert nest("A") == nest("B")


def test_a_mapping_from_variables_is_part_of_a_program() -> None:
    def function(order: int) -> Function:
        x, y = Var("x", F32), Var("y", F32)
        params = {(x, y)[order]: Constant(np.ones(3, "float32")), "plain": 1}
        return Function([x, y], x).with_attr("params", params)

    assert equal(function(0), function(0))
    assert not equal(function(0), function(1))
    assert next(iter(function(0).attrs["params"])).name_hint == "x"


def test_free_variables_of_types_are_hashed_by_identity_unless_they_are_mapped() -> None:
    a, b = TypeVar("a"), TypeVar("a")
    assert structural_hash(TupleType([a])) == structural_hash(TupleType([a])) != structural_hash(TupleType([b]))
    assert structural_hash(TupleType([a]), True) == structural_hash(TupleType([b]), True)
    assert structural_hash(FuncType([a], a, [a])) == structural_hash(FuncType([b], b, [b]))


def test_the_variables_of_a_pattern_are_bound_in_its_clause_and_others_are_free() -> None:
    a, b, x, y = (Var(name, TensorType(())) for name in "abxy")

    def clause(bound: Var, free: Var) -> Clause:
        return Clause(PatternVar(bound), add(bound, free))

    assert equal(clause(a, x), clause(b, x))
    assert not equal(clause(a, x), clause(a, y))
    assert structural_hash(clause(a, x)) != structural_hash(clause(a, y))
    assert structural_hash(clause(a, x), map_free_vars=True) == structural_hash(clause(b, y), map_free_vars=True)


def test_the_place_of_a_difference_is_named_through_all_parts() -> None:
    texts = {
        "let %a = exp(%x); OP(%a)": ".body.body.op",
        "let %a = OP(%x); %a": ".body.value.op",
        "if (True) { OP(%x) } else { %x }": ".body.true_branch.op",
        "if (True) { %x } else { OP(%x) }": ".body.false_branch.op",
        "(%x, OP(%x))": ".body.fields[1].op",
        "add(%x, OP(%x))": ".body.args[1].op",
        "ref(OP(%x))": ".body.value.op",
    }
    for text, place in texts.items():
        one, other = (
            passlab.parse(f"def @main(%x: float32) {{ {text.replace('OP', op)} }}") for op in ("tanh", "sqrt")
        )
        with pytest.raises(PasslabError) as caught:
            assert_structural_equal(one, other)
        assert f"<root>.functions['main']{place}: different operators" in str(caught.value)


# Programs of two functions with the same body: each part of one differs from that of another, somewhere.
BODIES = (
    "tanh(%x)", "%y", "1f", "2f", "@main(%x, %y)", "@other(%x, %y)", "(%x, %y)", "(%x, %y).0", "(%x, %y).1", "(%x,)",
    "if (True) { %x } else { %y }", "if (True) { %x } else { %x }", "let %a = tanh(%x); %a", "let %a = tanh(%y); %a",
    "fn (%z: float32) { %z }", "fn (%z: float32, %u: float32) { %z }", "fn (%z: float64) { %z }", "ref(%x)", "ref(%y)",
    "add(%x, %y)", "add(%y, %x)", "cast(%x, dtype=\"int8\")", "cast(%x, dtype=\"int16\")", "concatenate((%x, %y))",
)  # fmt: skip


_STEP = re.compile(r"\.(?P<field>\w+)|\[(?P<index>\d+)\]|\['(?P<name>[^']*)'\]")


def part_at(root: Any, path: str) -> Any:
    """The part of a module at a path such as `.functions['main'].body.args[0]`."""
    assert "".join(step[0] for step in _STEP.finditer(path)) == path
    for step in _STEP.finditer(path):
        if step["field"]:
            root = getattr(root, step["field"])
        elif step["index"]:
            root = root[int(step["index"])]
        else:
            root = {var.name_hint: function for var, function in root.items()}[step["name"]]
    return root


def test_a_difference_is_of_the_parts_at_its_path() -> None:
    whole = "def @main(%x: float32, %y: float32) {{ {0} }} def @other(%x: float32, %y: float32) {{ {0} }}"
    mods = [parse(whole.format(body)) for body in BODIES]
    for one, other in itertools.permutations(mods, 2):
        mismatch = find_mismatch(one, other)
        assert mismatch is not None
        is_inside = (
            re.search(r"(arguments|parameters|clauses) against|different constants", mismatch.reason) is not None
        )
        path = mismatch.path.rpartition(".")[0] if is_inside else mismatch.path
        assert part_at(one, path) is mismatch.left, mismatch
        assert part_at(other, path) is mismatch.right, mismatch
