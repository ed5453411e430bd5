"""Typing of patterns: the type of the scrutinee determines the types of the variables that a pattern binds."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.errors import Diagnostic, SourceLocation
from passlab.infer.inference_state import InferenceState
from passlab.infer.kinds import undefined_type
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar
from passlab.ir.expr import Match, Var
from passlab.ir.types import FuncType, IncompleteType, TupleType, Type, TypeCall, TypeVar, map_type


class PatternTyper:
    """Assigns types to patterns and constructors in a state of inference."""

    def __init__(self, state: InferenceState) -> None:
        self.state = state
        self.solver = state.solver

    def constructor_type(self, constructor: Constructor, place: SourceLocation | None) -> FuncType | None:
        """Return the polymorphic type of a constructor under the module's definitions; if it has none, report that."""
        definition = self._definition(constructor, place)
        if definition is None:
            return None
        defined, type_vars = definition
        return FuncType(defined.inputs, TypeCall(defined.belong_to, type_vars), type_vars)

    def _definition(
        self, constructor: Constructor, place: SourceLocation | None
    ) -> tuple[Constructor, tuple[TypeVar, ...]] | None:
        head = constructor.belong_to
        mod = self.state.env.mod
        data = self.state.env.data(head.name_hint)
        if data is None:
            if mod is not None:
                self.state.error(undefined_type(head, mod, place))
            else:
                self.state.error(
                    Diagnostic(
                        f"the type variable : `{head.name_hint}` is undefined", place, hint="infer it within its module"
                    )
                )
            return None
        defined = mod.find_constructor(constructor.name_hint) if mod is not None else None
        if defined is not None and defined.belong_to is head:
            return defined, data.type_vars
        constructors = ", ".join(f"`{c.name_hint}`" for c in data.constructors) or "none"
        self.state.error(
            Diagnostic(
                f"the type `{head.name_hint}` has no constructor `{constructor.name_hint}`",
                place,
                hint=f"it has {constructors}",
            )
        )
        return None

    def pattern(self, root: Pattern, scrutinee: Type, match: Match) -> None:
        """Check a pattern against the type of the value it matches, and assign types to the variables it binds."""
        stack: list[tuple[Pattern, Type]] = [(root, scrutinee)]
        while stack:
            pattern, ty = stack.pop()
            if isinstance(pattern, PatternVar):
                self._pattern_var(pattern.var, ty, pattern, match)
            elif isinstance(pattern, PatternConstructor):
                fields = self._constructor_fields(pattern, ty, match)
                stack += reversed(list(zip(pattern.patterns, fields, strict=True)))
            elif isinstance(pattern, PatternTuple):
                parts = self._tuple_fields(pattern, ty, match)
                stack += reversed(list(zip(pattern.patterns, parts, strict=True)))

    def _pattern_var(self, var: Var, ty: Type, pattern: Pattern, match: Match) -> None:
        place = pattern.span or var.span or match.span
        if var.type_annotation is not None:
            self.state.annotation(var.type_annotation, place)
            self.state.types[var] = var.type_annotation
            self.state.unify(
                var.type_annotation,
                ty,
                place,
                lambda: [*self.state.origin_notes(var), *self.state.origin_notes(match.data)],
            )
        elif var in self.state.types:
            self.state.unify(
                self.state.types[var],
                ty,
                place,
                lambda: [*self.state.origin_notes(var), *self.state.origin_notes(match.data)],
            )
        else:
            self.state.types[var] = ty

    def _unknowns(self, count: int) -> list[Type]:
        return [self.solver.fresh() for _ in range(count)]

    def _constructor_fields(self, pattern: PatternConstructor, ty: Type, match: Match) -> Sequence[Type]:
        """Return the types of the fields of a constructor pattern; unknowns after an error."""
        place = pattern.span or match.span
        constructor = pattern.constructor
        self.state.data.add(constructor.belong_to.name_hint)
        definition = self._definition(constructor, place)
        if definition is None:
            return self._unknowns(len(pattern.patterns))
        defined, type_vars = definition
        head = self._head(ty)
        if isinstance(head, TypeCall) and head.func is defined.belong_to and len(head.args) == len(type_vars):
            args: Sequence[Type] = head.args
        else:
            args = self._unknowns(len(type_vars))
            self.state.unify(
                TypeCall(defined.belong_to, args),
                ty,
                place,
                lambda: [
                    (f"`{defined.name_hint}` makes values of type `{defined.belong_to.name_hint}`", defined.span),
                    *self.state.origin_notes(match.data),
                ],
            )
        if len(pattern.patterns) != len(defined.inputs):
            few = "Not enough" if len(pattern.patterns) < len(defined.inputs) else "Too many"
            self.state.error(
                Diagnostic(
                    f"{few} inputs for the constructor; expected {len(defined.inputs)}, got {len(pattern.patterns)}",
                    place,
                    notes=((f"`{defined.name_hint}` is defined here", defined.span),) if defined.span else (),
                )
            )
            return self._unknowns(len(pattern.patterns))
        if not type_vars:
            return defined.inputs
        names: dict[Type, Type] = dict(zip(type_vars, args, strict=True))
        return [map_type(t, names.get) for t in defined.inputs]

    def _tuple_fields(self, pattern: PatternTuple, ty: Type, match: Match) -> Sequence[Type]:
        """Return the types of the fields of a tuple pattern; unknowns after an error."""
        head = self._head(ty)
        size = len(pattern.patterns)
        if isinstance(head, TupleType) and len(head.fields) == size:
            return head.fields
        fields = self._unknowns(size)
        self.state.unify(TupleType(fields), ty, pattern.span or match.span, lambda: self.state.origin_notes(match.data))
        return fields

    def _head(self, ty: Type) -> Type:
        head = self.solver.head(ty)
        if type(head) is IncompleteType:
            self.solver.solve()
            head = self.solver.head(ty)
        return head
