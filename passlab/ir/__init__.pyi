"""The names of `passlab.ir`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.ir import diagnostics as diagnostics
from passlab.ir import instrument as instrument
from passlab.ir import supply as supply
from passlab.ir import transform as transform
from passlab.ir.adt import Clause as Clause
from passlab.ir.adt import Constructor as Constructor
from passlab.ir.adt import Pattern as Pattern
from passlab.ir.adt import PatternConstructor as PatternConstructor
from passlab.ir.adt import PatternTuple as PatternTuple
from passlab.ir.adt import PatternVar as PatternVar
from passlab.ir.adt import PatternWildcard as PatternWildcard
from passlab.ir.adt import TypeData as TypeData
from passlab.ir.attrs import Attrs as Attrs
from passlab.ir.attrs import DictAttrs as DictAttrs
from passlab.ir.digest import structural_hash as structural_hash
from passlab.ir.dimensions import Any as Any
from passlab.ir.dimensions import SizeVar as SizeVar
from passlab.ir.equal import assert_structural_equal as assert_structural_equal
from passlab.ir.equal import find_mismatch as find_mismatch
from passlab.ir.equal import get_first_structural_mismatch as get_first_structural_mismatch
from passlab.ir.equal import structural_equal as structural_equal
from passlab.ir.expr import Call as Call
from passlab.ir.expr import Constant as Constant
from passlab.ir.expr import Expr as Expr
from passlab.ir.expr import Expr as _BaseExpr
from passlab.ir.expr import Function as Function
from passlab.ir.expr import Function as _BaseFunc
from passlab.ir.expr import GlobalVar as GlobalVar
from passlab.ir.expr import If as If
from passlab.ir.expr import Let as Let
from passlab.ir.expr import Match as Match
from passlab.ir.expr import RefCreate as RefCreate
from passlab.ir.expr import RefRead as RefRead
from passlab.ir.expr import RefWrite as RefWrite
from passlab.ir.expr import RelayExpr as RelayExpr
from passlab.ir.expr import Tuple as Tuple
from passlab.ir.expr import TupleGetItem as TupleGetItem
from passlab.ir.expr import Var as Var
from passlab.ir.module import IRModule as IRModule
from passlab.ir.op import Op as Op
from passlab.ir.op import OpPattern as OpPattern
from passlab.ir.op import register_op_attr as register_op_attr
from passlab.ir.span import Source as Source
from passlab.ir.span import Span as Span
from passlab.ir.types import ANY as ANY
from passlab.ir.types import FuncType as FuncType
from passlab.ir.types import GlobalTypeVar as GlobalTypeVar
from passlab.ir.types import IncompleteType as IncompleteType
from passlab.ir.types import Kind as Kind
from passlab.ir.types import Kind as _TypeKind
from passlab.ir.types import PrimType as PrimType
from passlab.ir.types import RefType as RefType
from passlab.ir.types import RefType as _RelayRefType
from passlab.ir.types import TensorType as TensorType
from passlab.ir.types import TupleType as TupleType
from passlab.ir.types import Type as Type
from passlab.ir.types import TypeCall as TypeCall
from passlab.ir.types import TypeRelation as TypeRelation
from passlab.ir.types import TypeVar as TypeVar
from passlab.text.program_json import load_json as load_json
from passlab.text.program_json import save_json as save_json
from passlab.text.records import make_node as make_node

BaseExpr = _BaseExpr
BaseFunc = _BaseFunc
RelayRefType = _RelayRefType
TypeKind = _TypeKind
