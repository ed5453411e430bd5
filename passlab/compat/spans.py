"""Spans with the interface of TVM's newer programs, and the check that every node has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError
from passlab.ir.expr import Expr
from passlab.ir.op import Op
from passlab.ir.walk import post_order


class SequentialSpan:
    """Several spans in a row: the origins of a node, step by step."""

    def __init__(self, spans: Sequence[Any], span: Any = None) -> None:
        flat = [s.spans if isinstance(s, SequentialSpan) else (s,) for s in spans if s is not None]
        self.spans: tuple[Any, ...] = tuple(one for several in flat for one in several)

    @property
    def source_name(self) -> object:
        """The name of the first text."""
        return self.spans[0].source_name if self.spans else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SequentialSpan) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(self.spans)


class SpanCheck:
    """Finds nodes without a span: `SpanCheck().visit(expr)` raises `DiagnosticError` for the first."""

    def visit(self, expr: Expr) -> None:
        """Visit an expression and all its parts except operators."""
        bare = next((node for node in post_order(expr) if not isinstance(node, Op) and node.span is None), None)
        if bare is not None:
            raise DiagnosticError(Diagnostic("a node has no span", found=type(bare).__name__))
