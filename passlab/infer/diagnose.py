"""Messages of type errors: the expected type, the type found, and the origin of each.

Everything here only builds `Diagnostic`s; inference decides when to report them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from passlab.errors import Diagnostic, PasslabError, SourceLocation
from passlab.infer.solver import MismatchError, brief
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from passlab.ir.op import Op, OpSpec
from passlab.ir.span import Span
from passlab.ir.types import IncompleteType, Type

Note = tuple[str, SourceLocation | None]

_MAX_SEARCHED_TEXT = 2000  # characters of a parent's text that are searched for a use

UNRESOLVED = (
    "The type inference pass was unable to infer a type for this expression. "
    "This usually occurs when an operator call is under constrained in some way"
)


def name_of(expr: Expr) -> str:
    """Return the name of an expression in messages."""
    if isinstance(expr, Var):
        return f"`%{expr.name_hint}`"
    if isinstance(expr, GlobalVar):
        return f"`@{expr.name_hint}`"
    if isinstance(expr, Op):
        return f"`{expr.name}`"
    if isinstance(expr, Constructor):
        return f"`{expr.name_hint}`"
    return (
        "this function"
        if isinstance(expr, Function)
        else "this constant"
        if isinstance(expr, Constant)
        else "this expression"
    )


def place_in(expr: Expr, parent: Expr) -> SourceLocation | None:
    """Return the source location of `expr` as a child of `parent`.

    A variable is one object at all its uses, and has the span of its binder, so a use is searched in the text of the
    parent. If it is ambiguous, the span of the parent is returned.
    """
    span = parent.span
    if not isinstance(expr, (Var, GlobalVar)) or span is None:
        return expr.span or span
    text = span.text if span.end - span.start <= _MAX_SEARCHED_TEXT else None
    if text is None:
        return span
    mark = "%" if isinstance(expr, Var) else "@"
    start, end = _only_use(text, mark + expr.name_hint)
    return Span(span.source, span.start + start, span.start + end) if end else span


def _only_use(text: str, name: str) -> tuple[int, int]:
    """Return the position of a name in a text if it occurs once, (0, 0) otherwise; longer names are other names.

    Called for every `let %a = %b`, so it compiles no pattern from the name.
    """
    first_use = (0, 0)
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        after = text[end : end + 2]
        dotted = after[:1] == "." and (after[1:].isalpha() or after[1:] == "_")
        longer = dotted or after[:1].isalnum() or after[:1] == "_"
        if not longer:
            if first_use[1]:
                return (0, 0)
            first_use = (start, end)
        start = text.find(name, end)
    return first_use


def other_notes(notes: Sequence[Note], place: SourceLocation | None) -> tuple[Note, ...]:
    """Return notes without the locations that the diagnostic itself shows."""
    return tuple((text, None if where is None or where == place else where) for text, where in notes)


def mismatch(
    problem: MismatchError, expected: Type, actual: Type, place: SourceLocation | None, notes: Sequence[Note] = ()
) -> Diagnostic:
    """Two types that should be equal; `problem` holds the innermost parts that differ."""
    detail: tuple[Note, ...] = ((problem.detail, None),) if problem.detail else ()
    return Diagnostic(
        "The Relay type checker is unable to show the following types match. "
        f"In particular `{brief(problem.left)}` does not match `{brief(problem.right)}`",
        place,
        expected=brief(expected),
        found=brief(actual),
        notes=(*detail, *other_notes(notes, place)),
    )


def arity(place: SourceLocation | None, expected: int, actual: int, at_least: bool, callee: Expr) -> Diagnostic:
    """A call with the wrong number of arguments."""
    many = "many" if actual > expected else "few"
    plural = " or more" if at_least else ""
    message = f"the function is provided too {many} arguments expected {expected}{plural}, found {actual}"
    inputs, hint = "", None
    if isinstance(callee, Op) and callee.spec.inputs:
        inputs = f": {', '.join(callee.spec.inputs)}"
        hint = _attribute_hint(callee.spec) if actual > expected else None
    takes = f"{name_of(callee)} takes {expected}{plural}{inputs}"
    return Diagnostic(message, place, notes=((takes, callee.span),), hint=hint)


def _attribute_hint(spec: OpSpec) -> str | None:
    """Return a hint for a call with more arguments than inputs: they were probably meant as attributes."""
    if spec.example.startswith(f"{spec.name}(("):
        return f"its input is a tuple: `{spec.example}`"
    names = [f"`{field.name}=...`" for field in spec.attrs.schema] if spec.attrs is not None else []
    return f"attributes are given by name: {', '.join(names)}" if names else None


def refusal(error: PasslabError, argument: Expr | None, call: Expr, notes: Sequence[Note]) -> list[Diagnostic]:
    """The error of a type relation, located at the argument it names, if any."""
    place = place_in(argument, call) if argument is not None else call.span
    return [replace(d, place=d.place or place, notes=(*d.notes, *other_notes(notes, place))) for d in error.diagnostics]


def broken_relation(error: Exception, call: Expr, name: str) -> Diagnostic:
    """A type relation that raised an unexpected error: it was not written for such inputs."""
    return Diagnostic(
        f"the type relation of `{name}` cannot handle these inputs: {type(error).__name__}: {error}",
        call.span,
        hint="check the number, the types and the attributes of the inputs",
    )


def unresolved_type(expr: Expr, ty: Type) -> Diagnostic:
    """An expression whose type is not determined."""
    if isinstance(expr, Var):
        message, hint = (
            f"{UNRESOLVED}: nothing determines the type of `%{expr.name_hint}`",
            f"annotate it: `%{expr.name_hint}: Tensor[(...), float32]`",
        )
    elif isinstance(expr, Call) and isinstance(expr.op, GlobalVar):
        message = UNRESOLVED
        hint = f"annotate the result of `@{expr.op.name_hint}`: `-> Tensor[(...), float32]`"
    else:
        message, hint = UNRESOLVED, "annotate the variables that it uses"
    actual = None if isinstance(ty, IncompleteType) else brief(ty)
    return Diagnostic(message, expr.span, found=actual, hint=hint)


def undetermined_relation(place: SourceLocation | None) -> Diagnostic:
    """A relation whose inputs were never determined."""
    return Diagnostic(UNRESOLVED, place, hint="annotate the variables that it uses")


def inexhaustive(cases: Sequence[str], place: SourceLocation | None) -> Diagnostic:
    """A `match` that does not cover all values."""
    case_list = ", ".join(f"case {i}: {case}" for i, case in enumerate(cases))
    return Diagnostic(
        f"match expression does not handle the following cases: {case_list}",
        place,
        hint="add the missing cases, or write `match?` if they cannot happen",
    )
