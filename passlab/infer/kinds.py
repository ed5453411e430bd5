"""Kind checking. A value has a type of kind `Type`; a data type must be defined and fully applied.

Source: the kind rules of Relay (TVM, src/relay/analysis/kind_check.cc), without recursion.
"""

from __future__ import annotations

from passlab.arguments import checked
from passlab.errors import Diagnostic, SourceLocation, TypeInferenceError, did_you_mean
from passlab.infer.solver import brief
from passlab.ir.adt import TypeData
from passlab.ir.module import IRModule
from passlab.ir.types import (
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
    type_children,
)


@checked
def check_kind(ty: Type | SizeVar, mod: IRModule | None = None) -> Kind:
    """Return the kind of a type, checking every type inside it.

    Data types are looked up in `mod`; without one they are assumed to be defined. Raises `TypeInferenceError`.

    >>> relay.analysis.check_kind(relay.TensorType((2,), "float32"))
    <Kind.Type: 0>
    """
    if isinstance(ty, SizeVar):
        return Kind.ShapeVar
    error = kind_error(ty, mod, None)
    if error is not None:
        raise TypeInferenceError(error)
    return _kind(ty)


def kind_error(
    ty: Type, mod: IRModule | None, place: SourceLocation | None, done: set[Type] | None = None
) -> Diagnostic | None:
    """Return the kind error inside `ty`, or None. Types in `done` are not checked again; correct ones are added."""
    done = set() if done is None else done
    stack = [ty]
    while stack:
        part = stack[-1]
        unchecked = [child for child in type_children(part) if child not in done]
        if unchecked:
            stack += unchecked
            continue
        stack.pop()
        if part not in done:
            error = _level_error(part, mod, place)
            if error is not None:
                return error
            done.add(part)
    if isinstance(ty, TypeData):
        return _definition_error(ty, mod, place)
    return None


def _kind(ty: Type) -> Kind:
    if isinstance(ty, (TypeVar, GlobalTypeVar, IncompleteType)):
        return ty.kind
    if isinstance(ty, TypeRelation):
        return Kind.Constraint
    return Kind.TypeData if isinstance(ty, TypeData) else Kind.Type


def _level_error(ty: Type, mod: IRModule | None, place: SourceLocation | None) -> Diagnostic | None:
    """Return the kind error of the outermost level of a type; the levels below were checked before."""
    if isinstance(ty, TensorType):
        return None
    if isinstance(ty, TypeCall):
        return _type_call_error(ty, mod, place)
    if isinstance(ty, TupleType):
        return _check_kinds(Kind.Type, ty.fields, "a tuple's member", ty, place)
    if isinstance(ty, RefType):
        return _check_kinds(Kind.Type, (ty.value,), "a reference's content", ty, place)
    if isinstance(ty, TypeRelation):
        return _check_kinds(Kind.Type, ty.args, "a relation's argument", ty, place)
    if isinstance(ty, FuncType):
        return _check_kinds(
            Kind.Type, (*ty.arg_types, ty.ret_type), "a function's parameter or result", ty, place
        ) or _check_kinds(Kind.Constraint, ty.type_constraints, "a function's constraint", ty, place)
    return None


def _check_kinds(
    kind: Kind, parts: tuple[Type, ...], role: str, ty: Type, place: SourceLocation | None
) -> Diagnostic | None:
    for part in parts:
        if _kind(part) is not kind:
            hint = f"write `{brief(part)}[...]`" if isinstance(part, GlobalTypeVar) else None
            message = f"`{brief(part)}` in `{brief(ty)}` is of kind {_kind(part).name}"
            return Diagnostic(f"{role} must be of kind {kind.name}: {message}", place, hint=hint)
    return None


def _type_call_error(ty: TypeCall, mod: IRModule | None, place: SourceLocation | None) -> Diagnostic | None:
    head = ty.func
    if not isinstance(head, GlobalTypeVar) or head.kind is not Kind.AdtHandle:
        message = f"only a data type takes type arguments, and `{brief(head)}` is not a data type"
        return Diagnostic(message, place, found=brief(ty))
    if mod is not None:
        data = mod.find_type(head.name_hint)
        if data is None:
            return undefined_type(head, mod, place)
        if len(data.type_vars) != len(ty.args):
            return Diagnostic(f"Expected {len(data.type_vars)} arguments for {brief(ty)}; got {len(ty.args)}", place)
    return _check_kinds(Kind.Type, ty.args, "a type argument", ty, place)


def undefined_type(head: GlobalTypeVar, mod: IRModule, place: SourceLocation | None) -> Diagnostic:
    """Return the error for a data type that the module does not define."""
    hint = did_you_mean(head.name_hint, [g.name_hint for g in mod.get_global_type_vars()])
    return Diagnostic(
        f"the type variable : `{head.name_hint}` is undefined",
        place,
        hint=hint or f"define it: `type {head.name_hint} {{ ... }}`",
    )


# recurses: one level, as the fields of a constructor hold no definitions
def _definition_error(data: TypeData, mod: IRModule | None, place: SourceLocation | None) -> Diagnostic | None:
    if data.header.kind is not Kind.AdtHandle:
        return Diagnostic(f"the header of the data type `{data.header.name_hint}` must be of kind AdtHandle", place)
    for constructor in data.constructors:
        if constructor.belong_to is not data.header:
            owners = f"`{constructor.belong_to.name_hint}`, not to `{data.header.name_hint}`"
            return Diagnostic(f"the constructor `{constructor.name_hint}` belongs to {owners}", place)
        for ty in constructor.inputs:
            error = kind_error(ty, mod, constructor.span or place) or _check_kinds(
                Kind.Type, (ty,), "a constructor's field", ty, constructor.span or place
            )
            if error is not None:
                return error
    return None
