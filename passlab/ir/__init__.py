"""The program representation: types, expressions, data types, modules, spans, attributes; traversals and comparison."""

from passlab.ir.adt import (
    Clause,
    Constructor,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.equal import (
    assert_structural_equal,
    find_mismatch,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern, register_op_attr
from passlab.ir.span import Source, Span
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
)
from passlab.lazy import lazy_module

__all__ = [
    "ANY", "Any", "Attrs", "Call", "Clause", "Constant", "Constructor", "DictAttrs", "Expr", "FuncType", "Function",
    "GlobalTypeVar", "GlobalVar", "IRModule", "If", "IncompleteType", "Kind", "Let", "Match", "Op", "OpPattern",
    "Pattern", "PatternConstructor", "PatternTuple", "PatternVar", "PatternWildcard", "RefCreate", "RefRead",
    "RefType", "RefWrite", "RelayExpr", "SizeVar", "Source", "Span", "TensorType", "Tuple", "TupleGetItem",
    "TupleType", "Type", "TypeCall", "TypeData", "TypeRelation", "TypeVar", "Var", "assert_structural_equal",
    "find_mismatch", "get_first_structural_mismatch", "register_op_attr", "structural_equal", "structural_hash",
]  # fmt: skip

# Aliases, and names of packages above this one.
_LATE = {
    "BaseExpr": "passlab.ir.expr:Expr",
    "BaseFunc": "passlab.ir.expr:Function",
    "RelayRefType": "passlab.ir.types:RefType",
    "TypeKind": "passlab.ir.types:Kind",
    "PrimType": "passlab.ir.types:PrimType",
    "diagnostics": "passlab.ir.diagnostics",
    "instrument": "passlab.ir.instrument",
    "supply": "passlab.ir.supply",
    "transform": "passlab.ir.transform",
    "load_json": "passlab.text.program_json:load_json",
    "make_node": "passlab.text.records:make_node",
    "save_json": "passlab.text.program_json:save_json",
}
__getattr__, _ = lazy_module(__name__, _LATE)
