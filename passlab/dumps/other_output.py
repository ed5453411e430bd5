"""Whether two texts of a program differ in other output alone, which came between its lines or into one of them.

      %3 = add i32 %1, %2                 %3 = add i32 %1, %2
      ret i32 %3                          Total Execution Time: 0.0012 seconds
                                          ret i[licm] visiting loop 3
                                    32 %3

The scanners of `extents` know what begins a line of a program, and a tool that indents its lines passes for one. So a
change is not believed where all that differs are lines that no instruction begins, what the scanners left out, and
lines of which the two halves stand apart. The same holds for white space at the ends of lines, and for bytes that are
not of a text: a console or a disk has written them.
"""

from __future__ import annotations

import re

from passlab.dumps.extents import INSTRUCTION_OF_LLVM
from passlab.dumps.llvm import without_slots
from passlab.dumps.source import FORMS, Excerpt

_LLVM = re.compile(
    rb"(?:" + INSTRUCTION_OF_LLVM + rb")|    (?:i\d+ -?\d+, label |#dbg_)|[ \t]*;|[^ \t]|[ \t]*\Z|  +uselistorder"
)
# What begins a line inside an operation of MLIR; a row of words alone is a sentence.
_MLIR = re.compile(
    rb"[ \t]*(?:[%\"^#!@}{)(\]\[<>,:|*+?-]|[a-z_][\w$-]*(?:\.[\w$-]+)*(?:[^\w .]|\Z| *[^\w ])|[a-z_][\w$-]*\.[\w.$-]+|"
    rb"[\w-]+ *[:=({<\[]|(?:return|module|attributes|else|do|to|step|then|private|public|ins|outs|func)|"
    rb"-?\d+ ?[,:>\]]|\Z)"
)
_MIR_LINE = rb"[ \t]|#|;|bb\.\d|\d+B?\b|\Z|Frame Objects|Function Live Ins|Constant Pool|Jump Tables|fi#|cp#|jt#"
# Statements of Python and of machine code begin with nearly anything, but for rows of tables and their titles.
_TABLE = rb"[ \t]*(?:\d[\d.]* +[a-zA-Z(]|\.\.\. [A-Z])|[ \t]+[A-Z]\w* [A-Z]\w* [A-Z]\w*:"
_PYTHON = re.compile(rb"(?!" + _TABLE + rb")")
_MIR = re.compile(rb"(?!" + _TABLE + rb")(?:" + _MIR_LINE + rb")")
_OWN = {"llvm": _LLVM, "mlir": _MLIR, "mir": _MIR, "python": _PYTHON}
_NUMBERS = re.compile(rb"[#!][\w.$]*\d")
_FARTHEST = 4  # lines of other output in the middle of a line
_NEAR = 64  # rows that most changes are decided by
MOST_LINES = 200_000
Row = tuple[bytes, bool]  # a line, and whether it was left out of the program


_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f-\xff]+")  # of a line that is not a text


def differ_in_other_output(old: Excerpt, new: Excerpt, language: str, are_programs: bool = True) -> bool:
    """Whether two texts would be equal without lines that may be other output, and without damage to their lines.

    Parts of programs may also differ in the numbers of attributes and metadata.
    """
    own = _OWN.get(language)
    if own is None or max(old.lines, new.lines) > MOST_LINES:
        return False
    if len(old.spans) > 2 or len(new.spans) > 2:
        return _match_rows(_rows(old), _rows(new), own, language, are_programs) < 0
    lines, others = old.data.split(b"\n"), new.data.split(b"\n")
    pairs = enumerate(zip(lines, others, strict=False))
    begin = next((at for at, (line, other) in pairs if line != other), min(len(lines), len(others)))
    for most in (_NEAR, MOST_LINES):  # what decides it mostly stands near the first line that differs
        olds, news = ([(line, False) for line in one[begin : begin + most] if line.strip()] for one in (lines, others))
        found = _match_rows(olds, news, own, language, are_programs)
        if found >= 0 and found + _FARTHEST < min(len(olds), len(news)):
            return False
    return found < 0


def _match_rows(rows: list[Row], others: list[Row], own: re.Pattern[bytes], language: str, are_programs: bool) -> int:
    """Return -1 if rows differ in other output or damage alone, else the further one of the rows that show a change."""
    at = to = dropped = 0
    is_same = True  # but for white space
    while at < len(rows) or to < len(others):
        if at < len(rows) and to < len(others):
            if rows[at][0] == others[to][0] or _plain(rows[at], language) == _plain(others[to], language):
                is_same = is_same and (not are_programs or _is_same(rows[at][0], others[to][0], language))
                at, to = at + 1, to + 1
                continue
            if step := _damaged(rows[at][0], others, to):
                at, to, dropped = at + 1, to + step, dropped + 1
                continue
            if step := _damaged(others[to][0], rows, at):
                at, to, dropped = at + step, to + 1, dropped + 1
                continue
            if step := _halves(rows[at][0], others, to):
                at, to, dropped = at + 1, to + step, dropped + 1
                continue
            if step := _halves(others[to][0], rows, at):
                at, to, dropped = at + step, to + 1, dropped + 1
                continue
        if to < len(others) and _is_strange(others[to], own):
            at, to = at + _is_glued(others[to], rows, at), to + 1
        elif at < len(rows) and _is_strange(rows[at], own):
            at, to = at + 1, to + _is_glued(rows[at], others, to)
        else:
            return max(at, to)
        dropped += 1
    return -1 if dropped or is_same else len(rows)


def _rows(text: Excerpt) -> list[Row]:
    """Return the lines of a text, and of the other output inside it, but not of an operation inside it, which opens."""
    rows: list[Row] = []
    last = None
    for start, end in zip(text.spans[::2], text.spans[1::2], strict=True):
        hole = text.source.read(last, start) if last is not None else b""
        if b"{\n" not in hole or hole.count(b"\n") <= _FARTHEST:  # else an operation, or the end of a torn line
            rows += [(line, True) for line in hole.split(b"\n") if line.strip()]
        data = FORMS[text.form](text.source.read(start, end))
        rows += [(line, False) for line in data.split(b"\n") if line.strip()]
        last = end
    return rows


def _plain(row: Row, language: str) -> bytes:
    line = without_slots(row[0]).strip() if language == "mir" else row[0].strip()
    return _NUMBERS.sub(b"#", line) if b"#" in line or b"!" in line else line


def _is_same(line: bytes, other: bytes, language: str) -> bool:
    """Whether two lines differ in white space at most; in front of a line of Python it has a meaning."""
    return line.rstrip() == other.rstrip() if language == "python" else line.strip() == other.strip()


def _damaged(line: bytes, rows: list[Row], at: int) -> int:
    """Return how many rows a line was, before bytes that are not of a text took the place of some; 0 for none."""
    if _NO_TEXT.search(line) is None or _is_text(line):
        return 0
    parts = _NO_TEXT.split(line.strip())
    first = rows[at][0].strip()
    begin, end = parts[0].rstrip(), parts[-1].lstrip()
    if not begin + end or not first.startswith(begin):
        return 0
    if first[len(begin) :].endswith(end):
        return 1
    return 2 if at + 1 < len(rows) and rows[at + 1][0].strip().endswith(end) else 0


def _is_text(line: bytes) -> bool:
    try:
        return line.strip().expandtabs().decode().isprintable()
    except UnicodeDecodeError:
        return False


def _is_strange(row: Row, own: re.Pattern[bytes]) -> bool:
    return row[1] or (own.match(row[0]) is None and not row[0].endswith(b"{"))


def _is_glued(row: Row, rows: list[Row], at: int) -> bool:
    """Whether a line is other output with a line of the program behind it."""
    line = rows[at][0].strip() if at < len(rows) else b""
    return len(line) > 1 and row[0].strip().endswith(line)


def strange_lines(text: Excerpt, language: str) -> list[bytes]:
    """Return the lines of a text that may be other output."""
    own = _OWN.get(language)
    return [row[0] for row in _rows(text) if own is not None and _is_strange(row, own)]


def _halves(line: bytes, rows: list[Row], at: int) -> int:
    """Return how many rows make a line that is torn in two, 0 for none: its begin, other output, its end."""
    line, first = line.strip(), rows[at][0].strip()
    if line[:1] != first[:1]:
        return 0
    for step in range(1, min(_FARTHEST + 1, len(rows) - at)):
        second = rows[at + step][0].strip()
        begin = line[: -len(second)].rstrip()
        if begin and line.endswith(second) and first.startswith(begin):
            return step + 1
    return 0
