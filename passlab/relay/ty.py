"""The types of Relay, at the address from which Relay's examples import them."""

from passlab.ir.type_text import type_text
from passlab.ir.types import (
    ANY,
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
    is_dynamic,
    scalar_type,
)
from passlab.relay.var_const import ShapeVar

TypeKind = Kind
type_has_any = is_dynamic
__all__ = [
    "ANY", "Any", "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "ShapeVar", "SizeVar", "TensorType",
    "TupleType", "Type", "TypeCall", "TypeKind", "TypeRelation", "TypeVar", "is_dynamic", "scalar_type",
    "type_has_any", "type_text",
]  # fmt: skip
