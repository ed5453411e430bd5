"""The view of one program: its Relay text, highlighted, with types beside the lines and in what hovering shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.diffing.diff import count_operators
from passlab.display.html import Markup, join, tag
from passlab.display.listing import Line, LineTable, listing, short_type, type_text
from passlab.display.nodes import line_numbers
from passlab.display.palette import BOX, CODE, KIND_COLOURS, MUTED, PROSE
from passlab.display.view import View, cap
from passlab.errors import counted
from passlab.ir.module import IRModule

if TYPE_CHECKING:
    import pandas as pd

STATIC_LINES = 400  # lines of a program that static HTML shows


class ModuleView(View):
    """A module, expression, type or pattern as Relay text."""

    kind = "module"

    def __init__(self, program: Any) -> None:
        self.program = program

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of the program."""
        return listing(self.program)

    @cached_property
    def title(self) -> str:
        """What this is, in a few words: `@main: 70 operators`."""
        counts = (
            count_operators(self.program) if hasattr(self.program, "items") or hasattr(self.program, "span") else {}
        )
        calls = sum(counts.values())
        words = counted(calls, "operator")
        if not isinstance(self.program, IRModule):
            return f"{type(self.program).__name__.lower()}: {words}" if calls else type(self.program).__name__.lower()
        names = [f"@{name}" for name, _ in self.program.items()]
        if len(names) > 3:
            names = [f"{len(names)} functions"]
        return f"{', '.join(names) or 'empty module'}: {words}"

    def text(self) -> str:
        return cap([line_text(line) for line in self.lines], "str() of the program has all")

    def html(self) -> Markup:
        parts: list[Markup] = []
        shown = 0
        for start, end, folded in _stretches(self.lines):
            shown += 0 if folded else end - start
            pre = tag("pre", *[self.line_html(at) for at in range(start, end)], style=_PRE)
            if folded:
                many = tag("summary", f"⋯ {end - start} parameters", style=self.fold_looks)
                pre = tag("details", many, pre)
            parts.append(pre)
            if shown >= STATIC_LINES and end < len(self.lines):
                parts.append(more(len(self.lines) - end))
                break
        title = tag("div", self.title, style=f"{PROSE};color:{MUTED}")
        return tag("div", title, tag("div", *parts, style=f"{BOX};padding:6px 0"))

    @property
    def fold_looks(self) -> str:
        """The style of the line that stands for a folded list of parameters."""
        return f"{PROSE};color:{MUTED};padding:0 12px 0 40px"

    def line_html(self, at: int) -> Markup:
        """Return one line as highlighted HTML, a row of its own."""
        return tag("span", code_line(self.lines[at]), style=_LINE)

    def data(self) -> dict[str, Any]:
        table = LineTable()
        return {"kind": self.kind, "title": self.title, **self.data_with(table), **table.data()}

    def data_with(self, table: LineTable) -> dict[str, Any]:
        """Return what the widget draws, with the lines in a table that others may add to before it is read."""
        lines = self.lines[: limits.current().shown_lines]
        return {
            "rows": [table.add(line) for line in lines],
            "nodes": line_numbers(lines),
            "left_out": len(self.lines) - len(lines),
        }

    def frame(self) -> pd.DataFrame:
        """Return one row per operator: how often it is called."""
        import pandas as pd

        counts = sorted(count_operators(self.program).items(), key=lambda item: (-item[1], item[0]))
        return pd.DataFrame(counts, columns=["operator", "calls"])


def module_view(program: Any) -> ModuleView:
    """Return the view of a module, expression, type or pattern."""
    return ModuleView(program)


# ---------------------------------------------------------------- lines in text and HTML
_LINE = "display:block;padding-left:44px;text-indent:-44px"
_PRE = f"{CODE};margin:0;padding:0 12px;background:transparent;white-space:pre-wrap"


def _stretches(lines: Sequence[Line]) -> Iterator[tuple[int, int, bool]]:
    """Yield stretches of lines (start, end, whether to fold them): long lists of parameters are folded."""
    at = 0
    for number, line in enumerate(lines):
        if not line.text.endswith("(") or number < at:
            continue
        depth = len(line.text) - len(line.text.lstrip())
        end = number + 1
        while end < len(lines) and len(lines[end].text) - len(lines[end].text.lstrip()) > depth:
            end += 1
        if end - number > 8:
            yield at, number + 1, False
            yield number + 1, end, True
            at = end
    for start in range(at, len(lines), STATIC_LINES):
        yield start, min(start + STATIC_LINES, len(lines)), False


def line_text(line: Line) -> str:
    """Return a line as Relay text, with the type of what it defines as a comment."""
    beside = type_text(line.type)
    if not beside or "/*" in beside or "*/" in beside:
        return line.text
    return f"{line.text}  /* ty={beside} */"


def code_line(line: Line, types: bool = True) -> Markup:
    """Return a line as highlighted HTML."""
    parts: list[str] = []
    at = 0
    for piece in line.pieces:
        colour = KIND_COLOURS.get(piece.kind)
        if colour is not None and piece.start >= at:
            parts += (
                line.text[at : piece.start],
                tag("span", line.text[piece.start : piece.end], style=f"color:{colour}"),
            )
            at = piece.end
    parts.append(line.text[at:])
    beside = short_type(line.type) if types and line.type is not None else ""
    if beside:
        parts.append(tag("span", f"   {beside}", style=f"color:{MUTED}"))
    return join(parts)


def more(count: int) -> Markup:
    """Return the note that lines were left out."""
    return tag("div", f"⋯ {count:,} more lines", style=f"{PROSE};color:{MUTED};padding:4px 12px")


__all__ = ["ModuleView", "code_line", "line_text", "module_view", "more"]
