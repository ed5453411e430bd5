"""The places in passlab's source that make a diagnostic or refuse something, and which of them a piece of work reached.

A place is a call of `Diagnostic`, a `raise` that says something (`raise error` repeats what was said elsewhere, and a signal without arguments is not
for people), or a call of a function of passlab that does nothing but refuse: one that is declared to return `NoReturn`, a diagnostic or an error. Its name is the qualified function and the number of the place among those of functions with that name
(`VirtualMachine.run diagnostic 2`), so that neither changed lines nor moved files rename it.
"""

from __future__ import annotations

import ast
import dis
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import passlab
from passlab.errors import Diagnostic, PasslabError, visible

_CALLERS = 6  # how far above a diagnostic the call stands that asked for it
ROOT = Path(passlab.__file__).parent


@dataclass(frozen=True)
class Place:
    """One place: its file and range in the source, its name, and its text in one line."""

    name: str
    kind: str  # diagnostic, raise or call
    file: str
    line: int
    end_line: int
    text: str


_REFUSES = re.compile(r"(?:errors\.)?(?:NoReturn|Never|Diagnostic|\w*Error)")
_MAY_REFUSE = re.compile(r"->\s*[\"']?" + _REFUSES.pattern + r"\b")


def _refusing_functions(sources: Iterable[str]) -> set[str]:
    trees = [ast.parse(source) for source in sources if _MAY_REFUSE.search(source)]
    functions = [
        n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.returns is not None
    ]
    return {f.name for f in functions if f.returns is not None and _REFUSES.fullmatch(ast.unparse(f.returns))}


class _Finder(ast.NodeVisitor):
    """Finds the places in one file. `lines` are those with a word of a place: what has none of them is passed over."""

    def __init__(self, refusing: set[str], lines: list[int]) -> None:
        self.refusing = refusing
        self.lines = lines
        self.scope: list[str] = []
        self.found: list[tuple[str, str, ast.expr | ast.Raise]] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.stmt, ast.expr)):
            next_line = bisect_left(self.lines, node.lineno)
            if next_line == len(self.lines) or self.lines[next_line] > (node.end_lineno or node.lineno):
                return
        super().visit(node)

    def _enter(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _enter

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "Diagnostic":
            self.found.append(("diagnostic", ".".join(self.scope), node))
        elif self._name(node) in self.refusing and not self._forwards(node):
            self.found.append(("call", ".".join(self.scope), node))
        self.generic_visit(node)

    @staticmethod
    def _name(node: ast.Call) -> str | None:
        return getattr(node.func, "id", getattr(node.func, "attr", None))

    def _forwards(self, node: ast.Call) -> bool:
        """Whether a call only hands on what another call says: `self.error(finding)`, `self.error(Diagnostic(...))`."""
        first = node.args[0] if node.args else None
        made = isinstance(first, ast.Call) and self._name(first) in {"Diagnostic", *self.refusing}
        return made or (self._name(node) == "error" and isinstance(first, ast.Name))

    def visit_Raise(self, node: ast.Raise) -> None:
        if isinstance(node.exc, ast.Call) and (node.exc.args or node.exc.keywords):
            self.found.append(("raise", ".".join(self.scope), node))
        if isinstance(node.exc, ast.Call):
            for part in ast.iter_child_nodes(node.exc):  # the call itself is the place above
                self.visit(part)


@cache
def places() -> dict[tuple[str, int, int], Place]:
    """Every place by the file, line and column at which it begins."""
    result: dict[tuple[str, int, int], Place] = {}
    numbers: Counter[str] = Counter()
    # What exercises say of wrong answers is asked for by these answers: tests/notebook/test_course_answers.py.
    paths = (path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT / "course" / "lessons")
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    refusing = _refusing_functions(sources.values())
    words = re.compile(rf"\b(?:Diagnostic|raise|{'|'.join(sorted(refusing))})\b")
    for path, source in sources.items():
        lines = [number for number, line in enumerate(source.split("\n"), 1) if words.search(line)]
        if not lines:
            continue
        finder = _Finder(refusing, lines)
        finder.visit(ast.parse(source))
        for kind, function, node in finder.found:
            stem = f"{function or path.stem} {kind}"
            numbers[stem] += 1
            text = " ".join(ast.unparse(node).split())
            key = (str(path), node.lineno, node.col_offset)
            result[key] = Place(
                f"{stem} {numbers[stem]}", kind, str(path), node.lineno, node.end_lineno or node.lineno, text
            )
    return result


@cache
def _raises_by_file() -> dict[str, list[Place]]:
    result: dict[str, list[Place]] = {}
    for place in places().values():
        if place.kind == "raise":
            result.setdefault(place.file, []).append(place)
    return result


@cache
def _position(code: CodeType, index: int) -> tuple[int | None, int | None]:
    positions = list(code.co_positions())
    line, _, column, _ = positions[index // 2]
    return line, column


def _called_from(code: CodeType, index: int) -> Place | None:
    line, column = _position(code, index)
    if line is None or column is None:
        return None
    return places().get((code.co_filename, line, column))


@cache
def _raise_offsets(code: CodeType) -> frozenset[int]:
    return frozenset(i.offset for i in dis.get_instructions(code) if i.opname == "RAISE_VARARGS")


def _raised_at(frame: FrameType) -> Iterator[Place]:
    code = frame.f_code
    if frame.f_lasti in _raise_offsets(code):
        for place in _raises_by_file().get(code.co_filename, ()):
            if place.line <= frame.f_lineno <= place.end_line:
                yield place


@dataclass
class Notes:
    """The diagnostics that were made and the errors that were raised, each with its place."""

    made: list[tuple[Place, Diagnostic]]
    raised: list[tuple[Place, BaseException]]

    def seen_in(self, text: str) -> set[Place]:
        """The places whose message stands in a text. An error without a message of its own counts when it was raised."""
        seen = {place for place, diagnostic in self.made if visible(diagnostic.message) in text}
        for place, error in self.raised:
            parts = [d.message for d in error.diagnostics] if isinstance(error, PasslabError) else error.args
            texts = [visible(part) for part in parts if isinstance(part, str)]
            if not texts or any(part in text for part in texts):
                seen.add(place)
        return seen


@contextmanager
def noting() -> Iterator[Notes]:
    """Note what is said inside: each diagnostic that is made and each error that is raised by passlab, with its place."""
    notes = Notes([], [])
    original = Diagnostic.__init__

    def init(self: Diagnostic, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_CALLERS):
            if frame is None:
                break
            place = _called_from(frame.f_code, frame.f_lasti)
            if place is not None:
                notes.made.append((place, self))
            frame = frame.f_back

    def calls(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename in _raises_by_file():
            frame.f_trace_lines = False
            return events
        return None

    def events(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            notes.raised += [(place, arg[1]) for place in _raised_at(frame)]
        return events

    Diagnostic.__init__ = init  # type: ignore[method-assign]
    before = sys.gettrace()
    sys.settrace(calls)
    try:
        yield notes
    finally:
        sys.settrace(before)
        Diagnostic.__init__ = original  # type: ignore[method-assign]
