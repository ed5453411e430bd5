"""Operators that users declare in Relay's way: registered by name, then described step by step.

    relay.op.op.register("my_log", "The natural logarithm.")
    op = relay.op.get("my_log")
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "The input.")
    op.add_type_rel("my_log", lambda types, attrs: types[0])
    op.add_kernel(lambda attrs, data: np.log(data))

Such an operator is opaque and has no attribute record: its calls have a `DictAttrs` or none. `relay.op.operator`
declares the same in one block, as passlab declares its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, OpNotFoundError, RelationError, did_you_mean
from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, OpSpec, Relation, Reporter, declare_op, find_op, remove_op
from passlab.ir.types import IncompleteType, Type
from passlab.op.declare import OpBuilder
from passlab.op.relations import broadcast, broadcast_compare, identity

RELATIONS: dict[str, Relation] = {"Identity": identity, "Broadcast": broadcast, "BroadcastComp": broadcast_compare}
REFUSALS: tuple[type[Exception], ...] = (AssertionError,)  # by which a user's relation refuses a call


def register(op_name: str, describe: str = "") -> Op:
    """Register a new operator without inputs or type relation, and return it.

    Registering a user's operator again replaces it by an empty one, so that a notebook cell may run twice. Raises
    `OpNotFoundError` for the name of an operator that passlab declares.
    """
    op = find_op(op_name)
    if op is not None and not op.spec.registered:
        raise OpNotFoundError(Diagnostic(f"passlab declares the operator `{op_name}`", hint="choose another name"))
    if op is not None:
        remove_op(op_name)
    return declare_op(with_builder(OpSpec(op_name, (), _no_relation, None, doc=describe, registered=True)))


def named_relation(name: str, function: Callable[..., Type | None] | None) -> Relation:
    """Return the relation that a user's function defines, or by default Relay's relation of that name."""
    if function is not None:
        return _relation_of(function)
    if name not in RELATIONS:
        hint = did_you_mean(name, RELATIONS) or f"there are {', '.join(RELATIONS)}; others are given as functions"
        raise OpNotFoundError(Diagnostic(f"there is no type relation `{name}`", hint=hint))
    return RELATIONS[name]


def _relation_of(function: Callable[..., Type | None]) -> Relation:
    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        if any(isinstance(ty, IncompleteType) for ty in types):
            return None
        try:
            return function(list(types), attrs)
        except REFUSALS as error:
            raise RelationError(Diagnostic(f"the type relation rejects the call: {error}")) from error

    return relation


def _no_relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    hint = "`relay.op.get(name).add_type_rel(name, function)` gives it one"
    raise RelationError(Diagnostic("the operator has no type relation", hint=hint))


def with_builder(spec: OpSpec) -> OpSpec:
    """Return a declaration with the Python function that builds calls of its operator."""
    object.__setattr__(spec, "builder", OpBuilder(spec, 1))
    return spec


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Set how an operator may be fused, an `OpPattern`."""
    return Op.get(op_name).set_attr("TOpPattern", OpPattern(pattern), level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Set whether an operator has effects."""
    return Op.get(op_name).set_attr("TOpIsStateful", bool(stateful), level)
