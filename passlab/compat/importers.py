"""`tvm.relay.frontend.common`: what importers of models are written with."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from passlab.devices import cpu
from passlab.errors import Diagnostic, OpNotFoundError, did_you_mean
from passlab.executor import create_executor
from passlab.infer import infer_expr
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import TensorType, Type
from passlab.ir.variables import free_vars
from passlab.rewriting.parameters import bind_params_by_name
from passlab.transform import get_pass

relay: Any = importlib.import_module("passlab.relay")


def infer_type(node: Expr, mod: IRModule | None = None) -> Expr:
    """Return an expression with its type."""
    return infer_expr(node) if mod is None else infer_expr(node, mod)


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> tuple[Any, ...]:
    """Return the shape of a tensor."""
    ty: Type = infer_type(inputs, mod).checked_type
    return ty.shape if isinstance(ty, TensorType) else ()


class ExprTable:
    """Expressions by name, as importers store them."""

    def __init__(self) -> None:
        self.exprs: dict[str, Expr] = {}
        self.params: dict[str, Any] = {}

    def get_expr(self, name: str) -> Expr:
        """Return the expression of a name."""
        return self.exprs[name]

    def set_expr(self, name: str, expr: Expr, force_override: bool = False) -> None:
        """Enter an expression, unless the name is taken."""
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """Whether a name has an expression."""
        return name in self.exprs


class StrAttrsDict:
    """Attributes that are texts, converted to numbers."""

    def __init__(self, attrs: dict[str, str]) -> None:
        self.attrs = attrs

    def get_str(self, key: str, default: str = "") -> str:
        """Return an attribute."""
        return self.attrs.get(key, default)

    def get_int(self, key: str, default: int = 0) -> int:
        """Return an attribute as a whole number."""
        return int(self.attrs[key]) if key in self.attrs else default

    def get_float(self, key: str, default: float = 0.0) -> float:
        """Return an attribute as a number."""
        return float(self.attrs[key]) if key in self.attrs else default

    def get_bool(self, key: str, default: bool = False) -> bool:
        """Return an attribute as a bool."""
        return self.attrs[key] in ("True", "true", "1") if key in self.attrs else default


def infer_channels(inputs: Expr, transpose: bool = False) -> int:
    """Return the number of channels of a weight: its first size, or the second with `transpose`."""
    return int(infer_shape(inputs)[1 if transpose else 0])


def infer_value(input_val: Expr, params: Mapping[str, Any], mod: IRModule | None = None) -> Any:
    """Return the value of an expression whose variables are all among `params`."""
    module = IRModule(mod.functions) if mod is not None else IRModule()
    function = Function(free_vars(input_val), input_val)
    module["main"] = bind_params_by_name(function, params)
    return create_executor("debug", module, cpu()).evaluate()()


def fold_constant(node: Expr, mod: IRModule | None = None) -> Any:
    """Return the expression with its constant subexpressions computed."""
    module = IRModule.from_expr(Function(free_vars(node), node))
    return get_pass("FoldConstant")(module)["main"].body


def get_relay_op(op_name: str) -> Any:
    """Return the function that makes calls of an operator. Raises `OpNotFoundError` for an unknown one."""
    places = (relay, relay.nn, relay.image, relay.vision, relay.op)
    function = next((getattr(place, op_name) for place in places if hasattr(place, op_name)), None)
    if function is None:
        hint = did_you_mean(op_name, dir(relay.op))
        raise OpNotFoundError(Diagnostic(f"there is no operator `{op_name}`", hint=hint))
    return function


def get_name(node: Expr) -> str:
    """Return the name of a variable, "" for other nodes."""
    return node.name_hint if isinstance(node, Var) else ""


def new_var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Any:
    """Return a variable."""
    return relay.var(name_hint, type_annotation, shape, dtype)


def shape_of(x: Expr, dtype: str = "int64", start: Any = None, end: Any = None) -> Any:
    """Return the shape of a tensor as an expression: a constant if it is known."""
    shape = infer_shape(x)[start:end]
    if all(isinstance(dim, int) for dim in shape):
        return relay.const(list(shape), dtype)
    whole = relay.shape_of(x, dtype)
    if start is None and end is None:
        return whole
    return relay.strided_slice(whole, [start or 0], [len(infer_shape(x)) if end is None else end])


def unbind(data: Expr, axis: int = 0) -> Any:
    """Return the parts of a tensor along an axis, without that axis."""
    count = int(infer_shape(data)[axis])
    parts = relay.split(data, count, axis)
    return TupleWrapper(relay.Tuple([relay.squeeze(parts[at], axis=[axis]) for at in range(count)]), count)
