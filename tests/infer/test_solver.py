"""Laws of unification, over types drawn at random."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from passlab.infer.solver import MismatchError, Solver, WeakenedError, brief
from passlab.infer.unify import unify
from passlab.ir import ANY, FuncType, IncompleteType, RefType, TensorType, TupleType, TypeCall
from passlab.ir.types import GlobalTypeVar, is_dynamic, map_type, type_nodes

BOX = GlobalTypeVar("Box")
TENSORS = st.builds(
    TensorType, st.lists(st.sampled_from([1, 2, 3, ANY]), max_size=2).map(tuple), st.sampled_from(["int32", "float32"])
)
TYPES = st.recursive(
    TENSORS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(TupleType),
        st.builds(FuncType, st.lists(inner, max_size=2), inner),
        inner.map(RefType),
        inner.map(lambda t: TypeCall(BOX, [t])),
    ),
    max_leaves=8,
)


def weaker(ty, choose):
    """`ty` with some dimensions unknown."""

    def weak(part):
        if isinstance(part, TensorType):
            return TensorType(tuple(ANY if choose() else d for d in part.shape), part.dtype)
        return None

    return map_type(ty, weak)


def with_unknowns(ty, choose):
    """`ty` with some parts unknown."""
    return map_type(ty, lambda part: IncompleteType() if choose() and part is not BOX else None)


@given(TYPES)
def test_a_type_is_one_with_itself(ty):
    assert unify(Solver(), ty, ty) is ty


@given(TYPES, TYPES)
def test_unifying_is_symmetric(a, b):
    def attempt(x, y):
        try:
            return unify(Solver(), x, y)
        except MismatchError:
            return None

    assert attempt(a, b) is attempt(b, a)


@given(TYPES, st.randoms(use_true_random=False))
def test_the_unknown_dimension_wins(ty, random):
    weak = weaker(ty, lambda: random.random() < 0.5)
    assert unify(Solver(), ty, weak) is weak
    assert unify(Solver(), weak, ty) is weak


@given(TYPES, st.randoms(use_true_random=False))
def test_unknowns_learn_what_they_meet(ty, random):
    solver = Solver(exact=True)
    hole = with_unknowns(ty, lambda: random.random() < 0.3)
    assert solver.resolve(unify(solver, hole, ty)) is ty
    assert solver.resolve(hole) is ty
    other = with_unknowns(ty, lambda: random.random() < 0.3)
    assert solver.resolve(unify(solver, other, hole)) is ty
    assert solver.resolve(other) is ty


@given(TYPES, st.randoms(use_true_random=False))
def test_unknowns_on_both_sides_learn_from_each_other(ty, random):
    solver = Solver()
    a, b = (with_unknowns(ty, lambda: random.random() < 0.3) for _ in range(2))
    assert solver.resolve(unify(solver, a, b)) is solver.resolve(a) is solver.resolve(b)
    unify(solver, a, ty)
    assert solver.resolve(b) is ty


@given(TYPES, st.randoms(use_true_random=False))
def test_a_bound_unknown_is_weakened_in_the_exact_mode_only(ty, random):
    weak = weaker(ty, lambda: random.random() < 0.5)
    assume(weak is not ty)
    solver = Solver(exact=True)
    hole = solver.fresh()
    unify(solver, hole, ty)
    unify(solver, hole, weak)
    assert solver.resolve(hole) is weak
    assert is_dynamic(solver.resolve(hole))
    quick = Solver()
    hole = quick.fresh()
    unify(quick, hole, ty)
    with pytest.raises(WeakenedError):
        unify(quick, hole, weak)


@given(TYPES, st.randoms(use_true_random=False))
def test_the_right_side_may_be_kept(ty, random):
    weak = weaker(ty, lambda: random.random() < 0.5)
    solver = Solver(exact=True)
    param, arg = solver.fresh(), solver.fresh()
    unify(solver, arg, ty)
    unify(solver, param, arg, keep_right=True)
    unify(solver, param, weak)
    assert solver.resolve(param) is weak
    assert solver.resolve(arg) is ty


def test_no_type_contains_itself():
    solver = Solver()
    a, b = solver.fresh(), solver.fresh()
    unify(solver, a, TupleType([b]))
    with pytest.raises(MismatchError, match="infinite"):
        unify(solver, b, RefType(a))


def test_types_are_graphs_and_unify_as_such():
    solver = Solver()
    a, b = solver.fresh(), TensorType((2,))
    left, right = a, b
    for _ in range(200):
        left, right = TupleType([left, left]), TupleType([right, right])
    assert solver.resolve(unify(solver, left, right)) is right
    weak = solver.fresh()
    for _ in range(200):
        weak = TupleType([weak, weak])
    assert solver.resolve(unify(solver, weak, right)) is right


class Answers:
    """A relation on one unknown that answers its attempts as it is told."""

    queued, place = False, None

    def __init__(self, unknown, answers):
        self.mentions, self.answers = [unknown], iter(answers)

    def attempt(self):
        return next(self.answers)


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_relations_wait_as_their_last_attempt_says(answers):
    solver = Solver(exact=True)
    unknown = solver.fresh_as(TensorType((2,)))
    relation = Answers(unknown, answers)
    solver.add(relation)
    for weaker_size in range(len(answers) - 1):
        solver.weaken(solver.root(unknown), TensorType((weaker_size, ANY)))
        solver.solve()
    assert solver.waiting_relations() == ([] if answers[-1] else [relation])


def test_a_deep_type_is_no_deeper_than_any_other():
    solver = Solver()
    left, right = solver.fresh(), TensorType((2,))
    for _ in range(20_000):
        left, right = RefType(left), RefType(right)
    assert solver.resolve(unify(solver, left, right)) is right


@given(TYPES)
def test_the_text_of_a_type_is_cut_where_it_gets_long(ty):
    assert brief(ty) == str(ty)
    wide = TupleType([ty] * 300)
    assert len(brief(wide)) < len(str(wide))
    assert brief(wide).count("...") > 0
    assert len(type_nodes(wide)) > 0
