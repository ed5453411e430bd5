"""Which values a match leaves out: by example, and against a brute-force oracle."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passlab import limits
from passlab.errors import LimitError, TypeInferenceError
from passlab.infer import pattern_text, unmatched_cases
from passlab.ir import Constant, Match, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, Var
from passlab.ir.adt import Clause
from tests.infer.programs import LIST, untyped

MOD = untyped(LIST + "type Tree { Leaf, Node(Tree, Tree), }\ntype Pair[A] { Pair(A, A), }\ndef @main() { 1 }")
CONS, NIL = MOD.get_type("List")[1:]
LEAF, NODE = MOD.get_type("Tree")[1:]
ANY = PatternWildcard()


def c(constructor, *patterns):
    return PatternConstructor(constructor, patterns)


def missing(*patterns):
    match = Match(Var("x"), [Clause(p, Constant(1)) for p in patterns])
    return [pattern_text(p) for p in unmatched_cases(match, MOD)]


@pytest.mark.parametrize(
    ("patterns", "cases"),
    [
        ([], ["_"]),
        ([ANY], []),
        ([PatternVar(Var("x"))], []),
        ([c(CONS, ANY, ANY)], ["Nil"]),
        ([c(NIL), c(CONS, ANY, ANY)], []),
        ([c(CONS, ANY, c(NIL)), c(NIL)], ["Cons(_, Cons(_, _))"]),
        ([c(CONS, ANY, c(CONS, ANY, c(NIL)))], ["Nil", "Cons(_, Nil)", "Cons(_, Cons(_, Cons(_, _)))"]),
        ([PatternTuple([ANY, ANY])], []),
        ([PatternTuple([c(NIL), ANY]), PatternTuple([ANY, c(NIL)])], ["(Cons(_, _), Cons(_, _))"]),
        ([PatternTuple([c(LEAF)])], ["(Node(_, _),)"]),
        ([PatternTuple([])], []),
        ([c(NODE, c(LEAF), ANY), c(NODE, ANY, c(LEAF)), c(LEAF)], ["Node(Node(_, _), Node(_, _))"]),
    ],
)
def test_missing_cases(patterns, cases):
    assert missing(*patterns) == cases


def test_the_order_of_clauses_does_not_matter():
    patterns = [c(CONS, ANY, c(NIL)), c(NIL), c(CONS, ANY, c(CONS, ANY, c(NIL)))]
    expected = missing(*patterns)
    for order in itertools.permutations(patterns):
        assert missing(*order) == expected


# ---------------------------------------------------------------- the oracle
def trees(depth: int):
    """Every tree value up to a depth, as nested tuples."""
    if depth == 0:
        return [()]
    smaller = trees(depth - 1)
    return [(), *itertools.product(smaller, repeat=2)]


def fits(pattern, value) -> bool:
    if isinstance(pattern, PatternConstructor):
        return len(pattern.patterns) == len(value) and all(map(fits, pattern.patterns, value))
    return True


PATTERN = st.recursive(
    st.sampled_from([ANY, c(LEAF)]), lambda inner: st.builds(lambda a, b: c(NODE, a, b), inner, inner), max_leaves=4
)


def depth_of(pattern) -> int:
    return 1 + max(map(depth_of, pattern.patterns), default=0) if isinstance(pattern, PatternConstructor) else 0


@given(st.lists(PATTERN.filter(lambda p: depth_of(p) <= 3), max_size=5))
def test_the_missing_cases_are_the_values_that_no_clause_fits(patterns):
    cases = unmatched_cases(Match(Var("x"), [Clause(p, Constant(1)) for p in patterns]), MOD)
    for value in trees(3):
        fitting = sum(fits(case, value) for case in cases)
        assert fitting == (0 if any(fits(p, value) for p in patterns) else 1)


# ---------------------------------------------------------------- bounds
def test_a_deep_pattern_costs_its_depth():
    pattern = c(NIL)
    for _ in range(50_000):
        pattern = c(CONS, ANY, pattern)
    assert len(missing(pattern)) == 100


def test_interlocking_clauses_end_in_a_limit():
    width = 30
    rows = []
    for i in range(width):
        for first, second in ((c(LEAF), c(NODE, ANY, ANY)), (c(NODE, ANY, ANY), c(LEAF))):
            row = [ANY] * (2 * width)
            row[i], row[width + i] = first, second
            rows.append(PatternTuple(row))
    with limits.override(match_cases=20_000), pytest.raises(LimitError, match="too many cases"):
        missing(*rows)


def test_a_type_that_is_not_defined():
    with pytest.raises(TypeInferenceError, match="`List` is undefined"):
        unmatched_cases(Match(Var("x"), [Clause(c(NIL), Constant(1))]), None)
