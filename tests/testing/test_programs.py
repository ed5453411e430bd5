"""Generated programs: reproducible, typed, run by the evaluator, printed and parsed; and their contents."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import passlab
from passlab.analysis.purity import LocalPurity
from passlab.analysis.state import Movability
from passlab.analysis.well_formed import well_formed
from passlab.errors import OpNotFoundError, RunError
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import disagreement
from passlab.infer import infer_module
from passlab.ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    IRModule,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    Var,
    structural_equal,
)
from passlab.ir.adt import Constructor, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.walk import CHILDREN, post_order
from passlab.rewriting.let_binding import BindingPlan
from passlab.testing import programs
from passlab.testing.programs import effects
from passlab.testing.programs.constructs import DTYPES
from passlab.testing.programs.operators import integers
from passlab.testing.programs.registry import EXCLUDED, operator_names, templates
from passlab.testing.programs.writer import Options, ProgramWriter
from tests.each import each

SEEDS = range(30)
ELEMENT_DTYPES = (
    *("bool", "int4", "int8", "int16", "int32", "int64", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"),
)


def kinds(mod: IRModule) -> set[type]:
    return {type(node) for _, function in mod.items() for node in post_order(function)}


def operators_called(mod: IRModule) -> set[str]:
    nodes = post_order(mod["main"])
    return {node.op.name for node in nodes if isinstance(node, Call) and isinstance(node.op, Op)}


@pytest.mark.parametrize("effects", [True, False])
def test_a_program_is_typed_and_well_formed_and_its_text_means_the_same(effects: bool):
    for seed in range(8):
        mod = programs.generate(seed, effects=effects, size=4)
        assert well_formed(mod)
        assert mod["main"].checked_type is not None
        assert structural_equal(infer_module(passlab.parse(mod.astext(show_meta_data=True))), mod)


@each("rule", effects._TICKS, ids=lambda rule: rule.__name__)
def test_no_function_of_a_program_is_there_twice(rule):
    """Two copies of a function with the same parameters bind these twice."""
    for seed in range(60):
        writer = ProgramWriter(seed, Options(), (), None)
        body = rule(writer)
        for var, value in reversed(writer.lets):
            body = Let(var, value, body)
        assert well_formed(writer.library.mod.with_functions({"main": Function([], body)}))


def test_a_seed_and_its_options_give_one_program_and_its_value():
    one, two = programs.program(7), programs.program(7)
    assert structural_equal(one.mod, two.mod)
    assert disagreement(one.value, two.value) is None
    assert disagreement(Evaluator(one.mod).run("main", one.args), one.value) is None
    assert not structural_equal(one.mod, programs.generate(8))


def test_programs_with_effects_read_and_write_references_and_others_do_not():
    assert all({RefRead, RefWrite} <= kinds(programs.generate(seed)) for seed in SEEDS)
    assert not any({RefRead, RefWrite} & kinds(programs.generate(seed, effects=False)) for seed in SEEDS)


@pytest.mark.rotating
def test_programs_use_most_of_the_registry():
    used = set[str]().union(*(operators_called(programs.generate(seed, size=9)) for seed in range(60)))
    assert len(used) > 80
    assert any(name.startswith("nn.") for name in used)


def test_every_operator_is_drawn_or_left_out_for_a_reason():
    drawn = set(operator_names(smooth=False))
    assert drawn | set(EXCLUDED) == set(Op.list_op_names())
    assert not drawn & set(EXCLUDED)
    assert [name for name in drawn if not any(templates(name, dtype) for dtype in set(DTYPES))] == []


@pytest.mark.rotating
def test_every_dtype_that_an_operator_is_declared_for_is_drawn():
    swept = {name: op for name in operator_names(smooth=False) if (op := Op.get(name)).spec.edge_cases}
    declared = [dtype for dtype in ELEMENT_DTYPES if sum(bool(templates(n, dtype)) for n in swept) > len(swept) / 4]
    assert set(declared) <= set(DTYPES)
    seen: set[str] = set()
    for seed in range(150):
        for node in post_order(programs.generate(seed, size=4)["main"]):
            if isinstance(ty := node.checked_type_, TensorType):
                seen.add(ty.dtype)
    assert seen >= set(DTYPES)


# Every construct, and every place where an expression with an effect may stand.
PLACES = {
    *((Call, "operand"), (Call, "argument of a function"), (Call, "callee"), (Call, "field of data")),
    *((If, "condition"), (If, "branch"), (If, "other branch"), (Match, "data"), (Match, "arm"), (Let, "value")),
    *((Let, "body"), (Tuple, "field"), (TupleGetItem, "tuple"), (RefCreate, "value"), (RefRead, "reference")),
    *((RefWrite, "reference"), (RefWrite, "value"), (Function, "body")),
}


def places(node: Expr) -> list[tuple[Expr, str]]:
    """The parts of a node, each with the name of its place."""
    if isinstance(node, Call):
        kind = {Op: "operand", Constructor: "field of data"}.get(type(node.op), "argument of a function")
        return [(node.op, "callee"), *((arg, kind) for arg in node.args)]
    if isinstance(node, If):
        return [(node.cond, "condition"), (node.true_branch, "branch"), (node.false_branch, "other branch")]
    if isinstance(node, Match):
        return [(node.data, "data"), *((clause.rhs, "arm") for clause in node.clauses)]
    if isinstance(node, RefWrite):
        return [(node.ref, "reference"), (node.value, "value")]
    if isinstance(node, Let):
        return [(node.value, "value"), (node.body, "body")]
    names = {Tuple: "field", TupleGetItem: "tuple", RefCreate: "value", RefRead: "reference", Function: "body"}
    return (
        [(part, names[type(node)]) for part in CHILDREN[type(node)](node) if not isinstance(part, Var)]
        if type(node) in names
        else []
    )


def test_effects_stand_in_every_place():
    seen = set()
    for seed in range(400):
        for function in programs.generate(seed, size=1 + seed % 3).functions.values():
            purity = LocalPurity()
            for node in post_order(function):
                seen |= {(type(node), place) for part, place in places(node) if not purity.of(part)}
    assert seen == PLACES


def test_patterns_are_nested_in_data_and_tuples():
    seen: set[tuple[type, type]] = set()
    arms: set[int] = set()
    for seed in range(120):
        for node in post_order(programs.generate(seed, size=3)["main"]):
            if isinstance(node, Match):
                arms.add(len(node.clauses))
                stack = [clause.lhs for clause in node.clauses]
                while stack:
                    pattern = stack.pop()
                    parts = getattr(pattern, "patterns", ())
                    seen |= {(type(pattern), type(part)) for part in parts}
                    stack += parts
    kinds = (PatternConstructor, PatternTuple)
    assert arms == {1, 2, 3}
    assert {pair for pair in seen if pair[1] is not PatternWildcard} == {
        (PatternConstructor, PatternConstructor), (PatternTuple, PatternConstructor), *((kind, PatternVar) for kind in kinds)
    }  # fmt: skip


def test_operators_can_be_chosen():
    chosen = {"nn.relu", "tanh"}
    mods = [programs.generate(seed, operators=chosen, effects=False, gradients=False, size=5) for seed in SEEDS]
    plumbing = {"less", "subtract", "minimum"}
    assert set[str]().union(*map(operators_called, mods)) - plumbing == chosen


def test_options_leave_constructs_out():
    assert not any(
        Match in {type(n) for n in post_order(programs.generate(s, data_types=False)["main"])} for s in SEEDS
    )
    static = [programs.generate(seed, dynamic=False)["main"].params for seed in SEEDS]
    assert not any("?" in str(param.checked_type) for params in static for param in params)


def test_arguments_are_the_same_for_a_seed_and_fit_the_program():
    case = programs.program(3)
    one, two = programs.arguments(case.mod, 5), programs.arguments(case.mod, 5)
    assert disagreement(tuple(one), tuple(two)) is None
    assert disagreement(tuple(one), tuple(programs.arguments(case.mod, 6))) is not None
    Evaluator(case.mod).run("main", one)
    with pytest.raises(RunError, match="no random argument of this type"):
        programs.arguments(passlab.parse("def @main(%f: fn (int32) -> int32) { %f(1) }"))


def test_an_unknown_operator_is_named():
    with pytest.raises(OpNotFoundError, match=r"nn\.rely"):
        programs.generate(0, operators=["nn.rely"])


@settings(max_examples=5, deadline=None)
@given(programs.strategy(size=2))
def test_hypothesis_draws_programs(case: programs.Program):
    assert disagreement(Evaluator(case.mod).run("main", case.args), case.value) is None


def test_values_with_effects_are_shared_between_branches_functions_and_what_is_around_them():
    owners = set()
    for seed in range(60):
        mod = programs.program(seed, effects=True, size=3).mod
        is_movable = Movability(mod)
        for plan in map(BindingPlan, mod.functions.values()):
            shared = [n for n in plan.crossing if not is_movable(n)]
            owners |= {type(owner) for owner in plan.inner if any(_holds(owner, node) for node in shared)}
    assert owners >= {If, Function, Match}


def _holds(owner: Expr, node: Expr) -> bool:
    """Whether a node stands in a branch, arm or body of another."""
    return owner is not node and node in post_order(owner)


def test_whole_numbers_are_divided_by_constants_that_are_not_zero() -> None:
    divided = set()
    for seed in range(60):
        writer = ProgramWriter(seed, Options(), (), None)
        writer.scope += [writer.new_var(TensorType((2, 3), "int32"), "x")]
        call = integers(writer)
        if call is not None and call.op.name in ("divide", "floor_mod"):
            assert isinstance(call.args[1], Constant)
            assert call.args[1].data != 0
            divided.add(call.op.name)
    assert divided == {"divide", "floor_mod"}
