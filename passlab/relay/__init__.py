"""Relay's Python interface under Relay's names: `from passlab import relay`.

Every name is loaded on first use. Operators without a dot in their name are functions of this module (`relay.add`), the
others are in submodules (`relay.nn.conv2d`, `relay.qnn.op.quantize`). Nothing is defined here: this is a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.lazy import lazy_module

if TYPE_CHECKING:
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
        Tuple,
        TupleGetItem,
        Var,
    )
    from passlab.ir.module import IRModule
    from passlab.ir.types import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall, TypeVar
    from passlab.relay.parsing import fromtext, parse, parse_expr
    from passlab.relay.prelude import Prelude
    from passlab.relay.scope_builder import ScopeBuilder
    from passlab.relay.var_const import const, var

_ROOMS = (
    "adt", "analysis", "annotation", "backend", "base", "build_module", "data_dep_optimization", "dataflow_pattern",
    "debug_executor", "expr", "expr_functor", "frontend", "function", "graph_executor", "image", "loops", "memory",
    "nn", "op", "prelude", "qnn", "quantize", "random", "runtime", "scope_builder", "testing",
    "transform", "ty", "type_functor", "vision", "vm",
)  # fmt: skip
_EXPRESSIONS = (
    "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "Match", "RefCreate", "RefRead", "RefWrite",
    "RelayExpr", "Tuple", "TupleGetItem", "Var",
)  # fmt: skip
_DATA_TYPES = (
    "Clause",
    "Constructor",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "TypeData",
)
_TYPES = (
    "Any", "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "SizeVar", "TensorType", "TupleType",
    "Type", "TypeCall", "TypeRelation", "TypeVar", "is_dynamic", "scalar_type",
)  # fmt: skip
_FUNCTORS = (
    "ExprFunctor",
    "ExprMutator",
    "ExprRewriter",
    "ExprVisitor",
    "MixedModeMutator",
    "MixedModeVisitor",
    "TypeFunctor",
    "TypeMutator",
    "TypeVisitor",
)
_NAMES = {
    **{name: f"passlab.relay.{name}" for name in _ROOMS},
    **{name: f"passlab.ir.expr:{name}" for name in _EXPRESSIONS},
    **{name: f"passlab.ir.adt:{name}" for name in _DATA_TYPES},
    **{name: f"passlab.ir.types:{name}" for name in _TYPES},
    **{name: f"passlab.ir.functor:{name}" for name in _FUNCTORS},
    **{name: f"passlab.relay.var_const:{name}" for name in ("ShapeVar", "const", "var")},
    **{name: f"passlab.relay.parsing:{name}" for name in ("fromtext", "parse", "parse_expr")},
    **{name: f"passlab.devices:{name}" for name in ("Device", "Target", "cpu", "cuda", "device", "gpu")},
    "IRModule": "passlab.ir.module:IRModule",
    "Module": "passlab.ir.module:IRModule",
    "Prelude": "passlab.relay.prelude:Prelude",
    "ScopeBuilder": "passlab.relay.scope_builder:ScopeBuilder",
    "Op": "passlab.ir.op:Op",
    "SourceName": "passlab.relay.constructors:SourceName",
    "Span": "passlab.relay.constructors:Span",
    "Feature": "passlab.analysis.features:Feature",
    "TupleWrapper": "passlab.ir.expr:TupleWrapper",
    "TypeKind": "passlab.ir.types:Kind",
    **{name: f"passlab.transform:{name}" for name in ("PassContext", "PassInfo", "function_pass", "module_pass")},
    "astext": "passlab.text.printer:astext",
    "build": "passlab.executor:build",
    "build_config": "passlab.relay.build_module:build_config",
    "create_executor": "passlab.executor:create_executor",
    "contrib": "passlab.relay.op.contrib",
    "feature": "passlab.analysis.features",
    "param_dict": "passlab.executor.param_dict",
    "bind": "passlab.ir.variables:bind",
    "load_param_dict": "passlab.executor.param_dict:load_param_dict",
    "save_param_dict": "passlab.executor.param_dict:save_param_dict",
    "optimize": "passlab.executor:optimize",
    "to_onnx": "passlab.frontend:to_onnx",
    "pretty_print": "passlab.text.printer:pretty",
}


def _operator(name: str) -> object:
    from passlab.relay.operators import OperatorNamespace

    return OperatorNamespace("", __name__).find(name)


def _operators() -> list[str]:
    from passlab.relay.operators import OperatorNamespace

    return OperatorNamespace("", __name__).names()


__getattr__, __dir__ = lazy_module(__name__, _NAMES, _operator, _operators)
