"""Kinds of types."""

from __future__ import annotations

import pytest

from passlab.errors import TypeInferenceError
from passlab.infer import check_kind
from passlab.ir import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
)
from passlab.ir.adt import Constructor
from tests.infer.programs import LIST, untyped

T, A = TensorType((2,)), TypeVar("A")
SHAPE = TypeVar("s", Kind.ShapeVar)
MOD = untyped(LIST + "def @main() { 1 }")
LIST_VAR = MOD.get_global_type_var("List")
RELATION = TypeRelation("add", [T, T, T], 2)


@pytest.mark.parametrize(
    ("ty", "kind"),
    [
        (T, Kind.Type),
        (TupleType([T, A]), Kind.Type),
        (FuncType([T], A, [A], [RELATION]), Kind.Type),
        (RefType(T), Kind.Type),
        (IncompleteType(), Kind.Type),
        (A, Kind.Type),
        (SHAPE, Kind.ShapeVar),
        (SizeVar("n"), Kind.ShapeVar),
        (RELATION, Kind.Constraint),
        (LIST_VAR, Kind.AdtHandle),
        (TypeCall(LIST_VAR, [T]), Kind.Type),
        (MOD.type_data("List"), Kind.TypeData),
    ],
)
def test_the_kind_of_a_type(ty, kind):
    assert check_kind(ty, MOD) is kind
    assert check_kind(ty) is kind


def data(header, *fields, owner=None):
    return TypeData(header, [], [Constructor("Made", fields, owner or header)])


@pytest.mark.parametrize(
    ("ty", "message"),
    [
        (TupleType([T, SHAPE]), "a tuple's member must be of kind Type"),
        (TupleType([LIST_VAR]), "a tuple's member must be of kind Type"),
        (FuncType([SHAPE], T), "a function's parameter or result must be of kind Type"),
        (FuncType([T], LIST_VAR), "a function's parameter or result must be of kind Type"),
        (RefType(SHAPE), "a reference's content must be of kind Type"),
        (TypeRelation("add", [SHAPE], 1), "a relation's argument must be of kind Type"),
        (TypeCall(LIST_VAR, [SHAPE]), "a type argument must be of kind Type"),
        (TypeCall(LIST_VAR, [MOD.type_data("List")]), "a type argument must be of kind Type"),
        (TypeCall(A, [T]), "only a data type takes type arguments"),
        (TypeCall(LIST_VAR, [T, T]), "Expected 1 arguments for List"),
        (TypeCall(GlobalTypeVar("Lost"), []), "the type variable : `Lost` is undefined"),
        (TupleType([RefType(TypeCall(LIST_VAR, []))]), "Expected 1 arguments for List"),
        (data(GlobalTypeVar("D"), SHAPE), "a constructor's field must be of kind Type"),
        (data(GlobalTypeVar("D"), TypeCall(LIST_VAR, [])), "Expected 1 arguments for List"),
        (data(GlobalTypeVar("D"), T, owner=LIST_VAR), "belongs to `List`, not to `D`"),
        (data(GlobalTypeVar("D", Kind.Type)), "must be of kind AdtHandle"),
    ],
)
def test_an_ill_kinded_type(ty, message):
    with pytest.raises(TypeInferenceError, match=message):
        check_kind(ty, MOD)


def test_without_a_module_data_types_are_taken_as_defined():
    assert check_kind(TypeCall(GlobalTypeVar("Lost"), [T])) is Kind.Type
