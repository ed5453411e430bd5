"""A type knows what kinds of types are in it: the same as a walk through it finds."""

from __future__ import annotations

import pytest

from passlab.ir import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from passlab.ir.types import holds, is_dynamic, map_type, type_nodes

KNOWN, UNKNOWN = TensorType((2,)), TensorType((ANY, 2))
A, U, LIST = TypeVar("A"), IncompleteType(), GlobalTypeVar("List")
TYPES = [
    KNOWN, UNKNOWN, A, U, LIST, TupleType(()), TupleType((KNOWN, UNKNOWN)), TupleType((KNOWN, TupleType((U,)))),
    RefType(A), TypeCall(LIST, (KNOWN,)), FuncType((KNOWN, RefType(UNKNOWN)), U),
    FuncType((A,), A, (A,), (TypeRelation("Identity", (A, KNOWN), 1),)),
    TupleType((FuncType((), TypeCall(LIST, (U,))), A)),
]  # fmt: skip
KINDS = (TensorType, TupleType, FuncType, RefType, TypeVar, GlobalTypeVar, TypeCall, IncompleteType, TypeRelation)


@pytest.mark.parametrize("ty", TYPES, ids=str)
def test_holds_says_what_a_walk_finds(ty):
    kinds = {type(part) for part in type_nodes(ty)}
    assert {kind for kind in KINDS if holds(ty, kind)} == kinds
    assert is_dynamic(ty) == (UNKNOWN in type_nodes(ty))


@pytest.mark.parametrize("ty", TYPES, ids=str)
def test_a_type_made_of_another_knows_what_is_in_itself(ty):
    solved = map_type(ty, lambda part: KNOWN if part is U or part is A or part is UNKNOWN else None)
    assert not holds(solved, IncompleteType)
    assert not is_dynamic(solved)
