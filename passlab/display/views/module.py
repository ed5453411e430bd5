"""The view of one program: its Relay text, highlighted, with types next to the lines and on hovering."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from passlab.diffing.diff import count_operators
from passlab.display.code_lines import CodeLine, GutterLabel, Listing
from passlab.display.nodes import line_numbers
from passlab.display.protocol.programs import ModuleData, ProgramRows
from passlab.display.text.listing import Line, LineTable, ProgramLines, listing, short_type, type_text
from passlab.display.view import BriefView, HasFrame, checked_view
from passlab.display.view_parts import HtmlOnly, Part, Sentence
from passlab.errors import counted
from passlab.ir.adt import Pattern
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.types import Type
from passlab.table import Table


class ModuleView(BriefView):
    """A module, expression, type or pattern as Relay text."""

    kind = script = "module"
    whole = "str() of the program has all"

    rest = "print(PROGRAM) prints all of them"

    def __init__(self, program: Any) -> None:
        self.program = program

    @cached_property
    def lines(self) -> ProgramLines:
        """The lines of the program."""
        return listing(self.program)

    @property
    def left_out(self) -> int:
        return self.lines.left_out

    @cached_property
    def title(self) -> str:
        """The functions and the number of operators: `@main: 70 operators`."""
        calls = sum(count_operators(self.program).values()) if isinstance(self.program, (IRModule, Expr)) else 0
        words = counted(calls, "operator")
        if not isinstance(self.program, IRModule):
            return f"{type(self.program).__name__.lower()}: {words}" if calls else type(self.program).__name__.lower()
        names = [f"@{name}" for name, _ in self.program.items()]
        if len(names) > 3:
            names = [f"{len(names)} functions"]
        return f"{', '.join(names) or 'empty module'}: {words}"

    def parts(self) -> Iterable[Part]:
        yield HtmlOnly(Sentence(self.title, "muted"))
        yield self.code([code_line(line, line_comment(line)) for line in self.lines])

    def code(self, lines: list[CodeLine]) -> Listing:
        """Return lines as a part, cut as far as the view is."""
        return Listing(lines, rest=self.rest, brief=self.brief)

    def data(self) -> ModuleData:
        table, title = LineTable(), self.title
        if isinstance(self.program, IRModule) and is_untyped(self.program):
            title = f"{title}, no types yet: InferType finds them"
        if self.left_out:
            title = f"{title}; {self.left_out:,} more lines are not shown"
        rows = self.data_with(table)
        return {
            "kind": self.kind,
            "title": title,
            "rows": rows["rows"],
            "nodes": rows["nodes"],
            "left_out": rows["left_out"],
            "lines": table.lines,
            "texts": table.texts,
        }

    def data_with(self, table: LineTable) -> ProgramRows:
        """Return the data of the widget, with the lines in a table that views can share."""
        rows = [table.add(line) for line in self.lines]
        return {"rows": rows, "nodes": line_numbers(self.lines), "left_out": self.left_out}

    def source(self) -> HasFrame:
        """Return one row per operator: how often it is called."""
        counts = sorted(count_operators(self.program).items(), key=lambda item: (-item[1], item[0]))
        return Table(("operator", "calls"), counts)


def is_untyped(mod: IRModule) -> bool:
    """Whether a program has functions and all of them are untyped."""
    functions = list(mod.functions.values())
    return bool(functions) and all(function.checked_type_ is None for function in functions)


@checked_view(IRModule, Expr, Type, Pattern, hint="passlab.parse(text) returns a module")
def module_view(program: Any) -> ModuleView:
    """Return the view of a module, expression, type or pattern.

    >>> print(display.module_view(passlab.parse("def @main(%x: float32) { exp(%x) }")))
    def @main(%x: float32) -> float32 {
      exp(%x)  /* ty=float32 */
    }
    """
    return ModuleView(program)


def line_comment(line: Line) -> str:
    """Return the type of a line's node as a comment, "" if the type itself contains a comment sign."""
    beside = type_text(line.type)
    return "" if not beside or "/*" in beside or "*/" in beside else f"  /* ty={beside} */"


def code_line(line: Line, comment: str = "", beside: str | None = None, gutter: GutterLabel | None = None) -> CodeLine:
    """Return a line of a listing, highlighted, with its type `beside` it unless that is given."""
    if beside is None:
        beside = short_type(line.type) if line.type is not None else ""
    return CodeLine(line.text, line.tokens, "", comment, beside, gutter)
