"""The types of Relay, at the address from which Relay's examples import them."""

from passlab.ir.type_text import type_text as type_text
from passlab.ir.types import ANY as ANY
from passlab.ir.types import Any as Any
from passlab.ir.types import FuncType as FuncType
from passlab.ir.types import GlobalTypeVar as GlobalTypeVar
from passlab.ir.types import IncompleteType as IncompleteType
from passlab.ir.types import Kind as Kind
from passlab.ir.types import Kind as TypeKind
from passlab.ir.types import RefType as RefType
from passlab.ir.types import SizeVar as SizeVar
from passlab.ir.types import TensorType as TensorType
from passlab.ir.types import TupleType as TupleType
from passlab.ir.types import Type as Type
from passlab.ir.types import TypeCall as TypeCall
from passlab.ir.types import TypeRelation as TypeRelation
from passlab.ir.types import TypeVar as TypeVar
from passlab.ir.types import is_dynamic as is_dynamic
from passlab.ir.types import is_dynamic as type_has_any
from passlab.ir.types import scalar_type as scalar_type
from passlab.relay.var_const import ShapeVar as ShapeVar

__all__ = [
    "type_text",
    "ANY",
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "Kind",
    "RefType",
    "SizeVar",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeRelation",
    "TypeVar",
    "is_dynamic",
    "scalar_type",
    "ShapeVar",
    "TypeKind",
    "type_has_any",
]
