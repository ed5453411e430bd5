"""The view of the operators of a program: how often each is called, by functions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from passlab.diffing.diff import count_operators
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Part
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.table import Table


class OperatorsView(View):
    """How often a program calls each operator.

    >>> view = display.operators_view(passlab.parse("def @main(%x: float32) { exp(exp(%x)) }"))
    >>> print(view.text())
    operator  calls
    --------  -----
    exp           2
    """

    kind = "operators"

    def __init__(self, program: Any) -> None:
        self.program = program

    @cached_property
    def counts(self) -> list[tuple[str, int]]:
        """Operators and how often each is called, the most frequent first."""
        return sorted(count_operators(self.program).items(), key=lambda item: (-item[1], item[0]))

    def parts(self) -> Iterable[Part]:
        yield Rows(Table(("operator", "calls"), self.counts), bars=("calls",))

    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "title": f"{len(self.counts)} operators", "rows": [list(row) for row in self.counts]}

    def source(self) -> HasFrame:
        """Return one row per operator."""
        return Table(("operator", "calls"), self.counts)


@checked_view(IRModule, Expr, hint="passlab.parse(text) returns a module")
def operators_view(program: Any) -> OperatorsView:
    """Return the view of the operators of a module or expression.

    >>> print(display.operators_view(passlab.parse("def @main(%x: float32) { exp(exp(%x)) }")))
    operator  calls
    --------  -----
    exp           2
    """
    return OperatorsView(program)
