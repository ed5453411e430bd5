"""Relations that may have to wait: of an operator, a projection from a tuple, a use of an unsolved signature.

Each holds its expression and reports to a `FindingReporter`, so that a relation that fails late is reported at the
source location of the expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from passlab.errors import Diagnostic, PasslabError, SourceLocation
from passlab.infer import diagnose
from passlab.infer.solver import MismatchError, Solver, brief
from passlab.infer.unify import unify
from passlab.ir.expr import Call, Expr, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.types import IncompleteType, TupleType, Type, map_type


class FindingReporter(Protocol):
    """Receives the findings of relations."""

    def error(self, finding: Diagnostic) -> None:
        """Record an error."""

    def origin_notes(self, expr: Expr) -> Sequence[diagnose.Note]:
        """Return notes on the origin of an expression's type."""


class OperatorReporter:
    """The reporter of an operator's relation: `assign` states the type of an input."""

    __slots__ = ("solver", "types", "call", "report")

    def __init__(self, solver: Solver, report: FindingReporter) -> None:
        self.solver = solver
        self.report = report
        self.types: Sequence[Type] = ()
        self.call: Call | None = None

    def assign(self, index: int, ty: Type) -> None:
        """State that input number `index` has type `ty`."""
        current = self.types[index]
        try:
            unify(self.solver, ty, current)
        except MismatchError as mismatch:
            call = self.call
            argument = call.args[index] if call is not None and index < len(call.args) else None
            notes = self.report.origin_notes(argument) if argument is not None else ()
            place = diagnose.place_in(argument, call) if argument is not None and call is not None else None
            self.report.error(diagnose.mismatch(mismatch, ty, self.solver.resolve(current), place, notes))

    def run(self, op: Op, types: Sequence[Type], attrs: Any, call: Call) -> Type | None:
        """Run the relation of `op` on input types. An error is reported and raised again as `RefusedError`."""
        self.types, self.call = types, call
        try:
            return op.spec.relation(types, attrs, self)
        except PasslabError as error:
            index = getattr(error, "argument", None)
            argument = call.args[index] if index is not None and 0 <= index < len(call.args) else None
            notes = self._argument_notes(op, types, call)
            for finding in diagnose.refusal(error, argument, call, notes):
                self.report.error(finding)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            self.report.error(diagnose.broken_relation(error, call, op.name))
        raise RefusedError

    def _argument_notes(self, op: Op, types: Sequence[Type], call: Call) -> list[diagnose.Note]:
        replacements = op.spec.inputs
        notes: list[diagnose.Note] = []
        for i, (arg, ty) in enumerate(zip(call.args, types, strict=False)):
            name = replacements[i] if i < len(replacements) else str(i)
            notes.append((f"input `{name}` of `{op.name}` is `{brief(self.solver.resolve(ty))}`", arg.span))
        return notes[:6]


class RefusedError(Exception):
    """A relation rejected its inputs, and this was reported: its result stays unknown."""


class OperatorRelation:
    """The call of an operator with too few known inputs: its result is `out`."""

    __slots__ = ("op", "types", "attrs", "out", "call", "reporter", "queued")

    def __init__(
        self, op: Op, types: Sequence[Type], attrs: Any, out: Type, call: Call, reporter: OperatorReporter
    ) -> None:
        self.op = op
        self.types = types
        self.attrs = attrs
        self.out = out
        self.call = call
        self.reporter = reporter
        self.queued = False

    @property
    def mentions(self) -> Iterable[Type]:
        return self.types

    @property
    def place(self) -> SourceLocation | None:
        return self.call.span

    def attempt(self) -> bool:
        solver = self.reporter.solver
        try:
            result = self.reporter.run(self.op, [solver.resolve(t) for t in self.types], self.attrs, self.call)
        except RefusedError:
            return True
        if result is None:
            return False
        _unify_result(solver, self.reporter.report, self.out, result, self.call.span)
        return not solver.meets_unknown(result)


def _unify_result(
    solver: Solver, report: FindingReporter, out: Type, result: Type, place: SourceLocation | None
) -> None:
    """Unify the expected type of a result with its actual type; a conflict is reported at `place`."""
    try:
        unify(solver, out, result)
    except MismatchError as mismatch:
        report.error(diagnose.mismatch(mismatch, solver.resolve(out), solver.resolve(result), place))


class Projection:
    """Element `index` of a tuple of unknown type: its type is `out`."""

    __slots__ = ("node", "source", "out", "solver", "report", "queued")

    def __init__(self, node: TupleGetItem, source: Type, out: Type, solver: Solver, report: FindingReporter) -> None:
        self.node = node
        self.source = source
        self.out = out
        self.solver = solver
        self.report = report
        self.queued = False

    @property
    def mentions(self) -> Iterable[Type]:
        return (self.source,)

    @property
    def place(self) -> SourceLocation | None:
        return self.node.span

    def attempt(self) -> bool:
        source = self.solver.head(self.source)
        if type(source) is IncompleteType:
            return False
        try:
            element = project(self.node, source)
        except PasslabError as error:
            for finding in error.diagnostics:
                self.report.error(finding)
        else:
            _unify_result(self.solver, self.report, self.out, element, self.node.span)
        return True


def project(node: TupleGetItem, source: Type) -> Type:
    """Return the type of an element of a tuple type. Raises a `PasslabError` for other types and indices outside."""
    if not isinstance(source, TupleType):
        raise PasslabError(
            Diagnostic(
                "only a tuple has elements",
                diagnose.place_in(node.tuple_value, node),
                expected="a tuple",
                found=brief(source),
            )
        )
    size = len(source.fields)
    if not 0 <= node.index < size:
        allowed = f"its elements are .0 to .{size - 1}" if size else "it has no elements"
        raise PasslabError(
            Diagnostic(
                f"there is no element .{node.index} in a tuple of {size}", node.span, found=brief(source), hint=allowed
            )
        )
    return source.fields[node.index]


class Instance:
    """A use of a generic function whose result type is being inferred: `out` is that type after `replacements`."""

    __slots__ = ("source", "replacements", "out", "place", "solver", "report", "queued")

    def __init__(
        self,
        source: Type,
        replacements: Mapping[Type, Type],
        out: Type,
        place: SourceLocation | None,
        solver: Solver,
        report: FindingReporter,
    ) -> None:
        self.source = source
        self.replacements = replacements
        self.out = out
        self.place = place
        self.solver = solver
        self.report = report
        self.queued = False

    @property
    def mentions(self) -> Iterable[Type]:
        return (self.source,)

    def attempt(self) -> bool:
        if self.solver.unknowns_in((self.source,)):
            return False
        result = map_type(self.solver.resolve(self.source), self.replacements.get)
        _unify_result(self.solver, self.report, self.out, result, self.place)
        return True
