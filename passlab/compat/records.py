"""The record of attributes that TVM's own programs test with, and renderers of findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any

from passlab.compat.scalars import FloatImm, IntImm
from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir import diagnostics
from passlab.ir.attrs import Field, attrs_class


def _axis(value: Any) -> int:
    if not 1 <= int(value) <= 10:
        raise ValueError(f"{value} is {'below the lower bound 1' if value < 1 else 'above the upper bound 10'}")
    return int(value)


TestAttrs = attrs_class(
    "attrs.TestAttrs",
    (
        Field("axis", _axis, 10, "an axis", "int"),
        Field("name", str, doc="a name", kind="str"),
        Field("padding", lambda sizes: tuple(IntImm("int32", size) for size in sizes), (0, 0), "two sizes", "Array"),
        Field("func", lambda value: value, None, "a function", "TypedEnvFunc<int(int)>"),
    ),
)


FOUND_BY_NAME: dict[str, Any] = {TestAttrs.type_key: TestAttrs, "IntImm": IntImm, "FloatImm": FloatImm}


def finding_tests(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return the search for a class of records by name that also finds `TestAttrs` and literals."""

    @wraps(find)
    def record_class(type_key: str, fields: Iterable[str] = ()) -> Any:
        return FOUND_BY_NAME.get(type_key) or find(type_key, fields)

    return record_class


_MATCH = "The Relay type checker is unable to show the following types match"
_SIZES = re.compile(r"(dimension \d+ conflicts: )(\S+)( does not match )(\S+)\.")


def _as_tvm(finding: Diagnostic) -> Diagnostic:
    """Return a finding whose message alone says what TVM's does: both types, and where they differ."""
    if not finding.message.startswith(_MATCH) or finding.expected is None or not finding.notes:
        return finding
    detail = _SIZES.sub(r"\1\4\3\2.", finding.notes[0][0])
    message = f"{_MATCH}:\n  {finding.found}\n  {finding.expected}\nIn particular:\n  {detail}"
    return replace(finding, message=message)


def override_renderer(render: Callable[[diagnostics.DiagnosticContext], object] | None) -> None:
    """Let a function show findings, with messages as TVM's; the error is then `DiagnosticError` itself, as in TVM."""

    def show(context: diagnostics.DiagnosticContext) -> None:
        assert render is not None
        findings = tuple(map(_as_tvm, context.diagnostics))
        render(replace(context, diagnostics=findings))
        raise DiagnosticError(*findings)

    diagnostics.override_renderer(None if render is None else show)
