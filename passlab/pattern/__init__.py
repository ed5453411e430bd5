"""The dataflow pattern language: search for patterns in programs, rewrite matches, move them into functions.

`relay.dataflow_pattern` exports the same names. `explain(pattern, expr)`, which Relay does not have, returns why an
expression does not match.
"""

from passlab.pattern.explanation import Explanation, explain
from passlab.pattern.groups import Group, find_groups
from passlab.pattern.language import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from passlab.pattern.matcher import find_match, match
from passlab.pattern.partitioner import partition
from passlab.pattern.program import Program
from passlab.pattern.rewriter import DFPatternCallback, rewrite

__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DFPatternCallback", "DataTypePattern",
    "DominatorPattern", "Explanation", "ExprPattern", "FunctionPattern", "Group", "IfPattern", "LetPattern", "Program",
    "ShapePattern", "TupleGetItemPattern", "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern", "dominates",
    "explain", "find_groups", "find_match", "has_attr", "has_dtype", "has_shape", "has_type", "is_constant", "is_expr",
    "is_if", "is_let", "is_op", "is_tuple", "is_tuple_get_item", "is_var", "match", "partition", "rewrite", "wildcard",
]  # fmt: skip
