"""A printed program as lines to display: each with its tokens and the node that it defines.

Lines contain no types (views show them next to the lines, or on hovering), and the head of a function with
many parameters has one parameter per line. The time is linear in the text of the program.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from passlab import limits
from passlab.display.protocol.programs import LineRow, LineTableData
from passlab.errors import visible
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, TensorType, TupleType, Type
from passlab.text.marks import KINDS, Mark, MarkedText
from passlab.text.printer import render

HEAD_WIDTH = 100  # characters, and
HEAD_PARTS = 6  # parameters and attributes, up to which the head of a function stays on one line
LINE_WIDTH = 4000  # characters of one line that are shown
_SPREAD = frozenset(("call", "function", "branch"))  # marks around others
_CODES = {kind: code for code, kind in enumerate(KINDS)}


class Token(NamedTuple):
    """Characters `start` up to `end` of a line: their kind (of `marks.KINDS`), node, and enclosing call."""

    start: int
    end: int
    kind: str
    node: Any
    call: Expr | None


class Line(NamedTuple):
    """One line: its text, its tokens from left to right, and its subject.

    `subject` is the node that the line defines: the value of a temporary, the variable of a let, the call or
    function in tail position; None for parameters and closing brackets. `result` is the node whose origin is the origin
    of the line: the subject, or for a let its value if that is a call, a function or a branch.
    """

    text: str
    tokens: tuple[Token, ...]
    subject: Expr | None
    result: Expr | None

    @property
    def type(self) -> Type | None:
        """The type of what the line defines, None if it has none to show."""
        if self.subject is None or isinstance(self.subject, Function):
            return None
        return self.subject.checked_type_


class ProgramLines(list[Line]):
    """The lines of a program, at most `limits.program_lines` of those printed; `left_out` counts the others."""

    left_out = 0
    whole: MarkedText | None = None  # all of the text, while it may be needed
    numbers: list[int] | None = None  # of the nodes that the lines select, once `nodes.line_numbers` was asked
    first: ProgramLines | None = None  # of a view, the first lines that say the same, also on hovering; not of excerpts


def listing(program: Any) -> ProgramLines:
    """Return the lines of a module, expression, type or pattern."""
    return lines_of(marked_text(program))


def marked_text(program: Any) -> MarkedText:
    """Return a program as it is listed, with marks: without types."""
    return render(program, annotate=lambda expr: "")


def lines_of(whole: MarkedText, first: int = 0) -> ProgramLines:
    """Return the lines of a printed program from number `first` on."""
    printed, left_out = whole.excerpt(first, limits.current().program_lines)
    lines = ProgramLines(_lines(printed, _cuts(printed)))
    lines.left_out = left_out
    lines.whole = whole if left_out else None
    return lines


class Listings:
    """The lines of the programs of one view: each is printed once, and equal texts are cut into lines once."""

    def __init__(self) -> None:
        self._lines: dict[int, ProgramLines] = {}
        # Those of one text differ in types and spans.
        self._known: dict[str, list[tuple[MarkedText, ProgramLines]]] = {}

    def of(self, mod: IRModule) -> ProgramLines:
        """Return the lines of a module, which must live as long as the view."""
        lines = self._lines.get(id(mod))
        if lines is None:
            lines = self._lines[id(mod)] = self._new(marked_text(mod))
            for earlier in [*self._lines.values()][:-2]:
                earlier.whole = None  # a diff has two texts, and the next one shares a text with it
        return lines

    def _new(self, whole: MarkedText) -> ProgramLines:
        if whole.excerpt(0, limits.current().program_lines)[1]:
            return lines_of(whole)
        known = self._known.setdefault(whole.annotated, [])
        made: ProgramLines | None = None
        for text, lines in known:
            nodes = text.counterparts(whole)
            if nodes is None:
                continue
            made = made or ProgramLines(_lines_about(lines, nodes))
            if text.has_equal(whole, _hover):
                made.first = lines
                return made
        made = made or lines_of(whole)
        made.first = made
        known.append((whole, made))
        return made


def _lines_about(lines: Sequence[Line], nodes: Mapping[int, Any]) -> Iterator[Line]:
    """Yield the lines of an equal text about other nodes: `nodes` has them by the `id` of those in the lines."""
    for text, tokens, subject, result in lines:
        yield Line(
            text,
            tuple(
                [
                    Token(start, end, kind, nodes[id(node)], None if call is None else nodes[id(call)])
                    for start, end, kind, node, call in tokens
                ]
            ),
            None if subject is None else nodes[id(subject)],
            None if result is None else nodes[id(result)],
        )


# ---------------------------------------------------------------- where lines end
class _Cut(NamedTuple):
    """A line ends before `end`, the next one starts at `start` of the text behind `indent`."""

    end: int
    start: int
    indent: str


def _cuts(printed: MarkedText) -> list[_Cut]:
    text = printed.text
    cuts = []
    at = text.find("\n")
    while at >= 0:
        cuts.append(_Cut(at, at + 1, ""))
        at = text.find("\n", at + 1)
    heads = [
        cut for index, mark in enumerate(printed.marks) if mark.kind == "function" for cut in _head_cuts(printed, index)
    ]
    return sorted(cuts + heads) if heads else cuts


def _head_cuts(printed: MarkedText, index: int) -> list[_Cut]:
    """Break the head of a function that is too long for one line, as a code formatter would."""
    text, marks = printed.text, printed.marks
    mark = marks[index]
    function: Function = mark.node
    end = text.find("\n", mark.start)
    begin = text.rfind("\n", 0, mark.start) + 1
    if end - begin <= HEAD_WIDTH:
        return []
    starts, close = _head_parts(marks, index, end, function)
    if len(starts) <= HEAD_PARTS or text[close] != ")":
        return []
    indent = text[begin : begin + len(text[begin:end]) - len(text[begin:end].lstrip(" "))]
    inner = indent + "    "
    first, *others = starts
    return [_Cut(first, first, inner), *(_Cut(s - 1, s, inner) for s in others), _Cut(close, close, indent)]


def _head_parts(marks: Sequence[Mark], index: int, end: int, function: Function) -> tuple[list[int], int]:
    """Return where each parameter and attribute of a function starts, and where its closing bracket is."""
    params = set(function.params)
    starts: list[int] = []
    close = end - 3  # `) {`
    for at in range(index + 1, len(marks)):
        spans = marks[at]
        if spans.start >= end:
            break
        if (spans.kind == "binder" and spans.node in params) or (
            spans.kind == "attribute" and spans.node[0] is function
        ):
            starts.append(spans.start)
        elif spans.kind == "type" and spans.node is function.ret_type and spans.end == end - 2:
            close = spans.start - 5  # `) -> `
    return starts, close


# ---------------------------------------------------------------- lines
class _Builder:
    """The tokens of one line, while they are collected."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.subject: Expr | None = None
        self.fixed = False
        self.value: Expr | None = None  # of the let that the line begins

    def add(self, token: Token) -> None:
        kind = token.kind
        if kind == "temporary" or (kind == "binder" and len(self.tokens) == 1 and self.tokens[0].kind == "keyword"):
            self.subject, self.fixed = token.node, True
        self.tokens.append(token)

    def around(self, mark: Mark) -> None:
        if self.subject is None and not self.fixed:
            self.subject = mark.node
        if self.value is None and type(self.subject) is Var:
            self.value = mark.node


def _lines(printed: MarkedText, cuts: list[_Cut]) -> list[Line]:
    text = printed.text
    starts = [0, *(cut.start for cut in cuts)]
    ends = [*(cut.end for cut in cuts), len(text)]
    indents = ["", *(cut.indent for cut in cuts)]
    builders = [_Builder() for _ in starts]
    calls: list[Mark] = []
    shown = 0  # where the last token ended: marks inside it are skipped
    row, last = 0, len(starts) - 1
    for mark in printed.marks:
        while row < last and starts[row + 1] <= mark.start:
            row += 1
        while calls and calls[-1].end <= mark.start:
            calls.pop()
        if mark.kind in _SPREAD:
            builders[row].around(mark)
            if mark.kind == "call":
                calls.append(mark)
        elif mark.start >= shown:
            shift = len(indents[row]) - starts[row]
            stop = min(mark.end, ends[row])
            shown = stop
            call = calls[-1].node if calls else None
            builders[row].add(Token(mark.start + shift, stop + shift, mark.kind, mark.node, call))
    lines = [
        _line(f"{indent}{text[start:end]}", builder)
        for indent, start, end, builder in zip(indents, starts, ends, builders, strict=True)
    ]
    while lines and not lines[-1].text:
        lines.pop()
    return lines


def _line(text: str, builder: _Builder) -> Line:
    subject = builder.value or builder.subject
    if len(text) > LINE_WIDTH:
        more = len(text) - LINE_WIDTH
        kept = tuple(p for p in builder.tokens if p.end <= LINE_WIDTH)
        return Line(f"{text[:LINE_WIDTH]} ... {more:,} more characters", kept, builder.subject, subject)
    return Line(text, tuple(builder.tokens), builder.subject, subject)


# ---------------------------------------------------------------- types in a few characters
@lru_cache(maxsize=8192)
def short_type(type_: Type) -> str:
    """Return the short form of a type, to be shown next to a line: `(1, 64) float32`; "" for functions."""
    return _short_type(type_, 3)


# recurses: at most 3 levels of tuples
def _short_type(type_: Type, depth: int) -> str:
    if isinstance(type_, TensorType):
        dims = ", ".join(str(dim) for dim in type_.shape)
        return f"({dims}) {type_.dtype}" if type_.shape else type_.dtype
    if isinstance(type_, TupleType):
        fields = [_short_type(field, depth - 1) if depth else "..." for field in type_.fields[:4]]
        if len(type_.fields) > 1 and len(type_.fields) + sum(map(len, fields)) > 36:
            del fields[1:]
        if len(fields) < len(type_.fields):
            fields.append(f"{len(type_.fields) - len(fields)} more")
        return f"({'; '.join(fields)})"
    if isinstance(type_, FuncType):
        return ""
    text = visible(str(type_))
    return text if len(text) <= 60 else f"{text[:57]}..."


def type_text(type_: Type | None) -> str:
    """Return a type in full, for hovering."""
    return "" if type_ is None else _full_type(type_)


@lru_cache(maxsize=8192)
def _full_type(type_: Type) -> str:
    text = visible(str(type_))
    return text if len(text) <= 2000 else f"{text[:2000]}..."


# ---------------------------------------------------------------- compact data
def _hover(node: Any) -> Hashable:
    """What hovering over a node shows, as a key: equal keys have equal texts."""
    return (node.checked_type_, id(node.span)) if isinstance(node, Expr) else None


class LineTable:
    """Lines as data for a browser, each different one once: `add` returns its number."""

    def __init__(self) -> None:
        self.lines: list[LineRow] = []
        self.texts: list[str] = []
        self._numbers: dict[Any, int] = {}
        self._texts: dict[str, int] = {}
        self._hovers: dict[Any, int] = {}

    def add(self, line: Line) -> int:
        """Return the number of a line."""
        marks: list[int] = []
        for token in line.tokens:
            marks += (token.start, token.end, _CODES[token.kind], self._hover(token))
        beside = "" if line.type is None else short_type(line.type)
        key = (line.text, beside, *marks)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.lines)
            self.lines.append(LineRow(visible(line.text), marks, self.text(beside) if beside else -1))
        return number

    def text(self, text: str) -> int:
        """Return the number of a text."""
        number = self._texts.get(text)
        if number is None:
            number = self._texts[text] = len(self.texts)
            self.texts.append(text)
        return number

    def _hover(self, token: Token) -> int:
        node = token.call if token.kind == "op" and token.call is not None else token.node
        if not isinstance(node, Expr) or token.kind == "keyword":
            return -1
        key = _hover(node)
        number = self._hovers.get(key)
        if number is None:
            lines = [type_text(node.checked_type_), "" if node.span is None else f"at {visible(str(node.span))}"]
            text = "\n".join(line for line in lines if line)
            number = self._hovers[key] = self.text(text) if text else -1
        return number

    def data(self) -> LineTableData:
        """Return the table as JSON-able data."""
        return {"lines": self.lines, "texts": self.texts}
