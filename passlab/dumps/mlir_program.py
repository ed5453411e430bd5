"""A program of MLIR assembled from dumps of single operations, so that MLIR's tools accept it.

The latest text of the whole module, in which each operation that was printed alone since then has its latest text.
Each part has the aliases (`#map = ...`) of its own dump. They are written above the program, renamed where two dumps
define one name differently. Where no dump has the whole module, the parts are joined, and declarations are added.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from passlab.dumps.declarations import declared_mlir
from passlab.dumps.mlir import split_ops
from passlab.dumps.source import Excerpt, decode

if TYPE_CHECKING:
    from passlab.dumps.recording import TextRecording
    from passlab.dumps.step import Step

_ALIAS = re.compile(r"^([#!][\w.$-]+) = (.+)$", re.MULTILINE)
_USE = re.compile(r"[#!][A-Za-z_][\w$-]*")
# Uses of symbols that must be in the module: calls, and addresses.
_REFERENCE = re.compile(r"(?:\bcall|\bconstant|\bget_global|\baddressof)[ (]+@([\w.$-]+)")
_DECLARATION = re.compile(r"^\s*(?:\w+\.)*(?:func|import|global)\b[^@\n]*@([\w.$-]+)[^\n]*$", re.MULTILINE)
LARGEST = 2_000_000  # characters of a text up to which its references are searched


def whole_text(prints: Sequence[tuple[int, str, Excerpt]], number: int) -> str | None:
    """Return the program after a step: the last whole one, with what was printed of its parts since then.

    `prints` are the step, the path and the text of each body. None where no whole program was printed.
    """
    end = bisect_right(prints, number, key=lambda one: one[0])
    at = next((n for n in range(end - 1, -1, -1) if _is_top(prints[n][1])), None)
    if at is None:
        return None
    _, top, base = prints[at]
    parts: dict[str, Excerpt] = {}
    for _, path, piece in prints[at + 1 : end]:
        parts = {other: text for other, text in parts.items() if not f"{other}/".startswith(path + "/")}
        parts[path] = piece
    if not parts:
        return base.text
    new = [parts.pop(path) for path in list(parts) if not path.startswith(top + "/")]  # the whole one lacks these
    aliases = dict(_ALIAS.findall(base.text))
    added: list[str] = []
    data, prefix = base.data, top.rpartition(": ")[0]
    for depth in sorted({path.count("/") for path in parts}):  # parents before what is in them
        level = {
            path: _with_aliases(piece.text, aliases, added) for path, piece in parts.items() if path.count("/") == depth
        }
        data = _replace_parts(data, level, f"{prefix}: " if prefix else "")
    text = decode(data).strip("\n")
    if new:
        lines = [f"  {line}" for piece in new for line in _with_aliases(piece.text, aliases, added).split("\n")]
        end_of_module = text.rfind("\n}") + 1
        text = "\n".join([text[:end_of_module].rstrip("\n"), *lines, text[end_of_module:]])
    return "\n".join([*added, text])


def _is_top(path: str) -> bool:
    return "/" not in path and path.rpartition(": ")[2].startswith("builtin.module")


def _replace_parts(data: bytes, parts: Mapping[str, str], prefix: str) -> bytes:
    """Return a program with other texts of some of its operations, by path."""
    pieces, at = [], 0
    for path, start, end, indent in split_ops(data):
        text = parts.get(prefix + path)
        if text is not None and start >= at:
            lines = [f"{' ' * indent}{line}" if line else line for line in text.split("\n")]
            pieces += [data[at:start], "\n".join(lines).encode("utf-8", "surrogateescape"), b"\n"]
            at = end
    return b"".join([*pieces, data[at:]])


def _with_aliases(text: str, aliases: dict[str, str], added: list[str]) -> str:
    """Return the text of an operation without the aliases above and below it, which join the aliases of its program.

    A name that has another meaning there gets a new one.
    """
    own = dict(_ALIAS.findall(text))
    renamed: dict[str, str] = {}
    for name, value in own.items():
        new, count = name, 0
        meaning = _rename(value, renamed)
        while aliases.get(new, meaning) != meaning:
            count += 1
            new = f"{name}_{count}"
        if new not in aliases:
            aliases[new] = meaning
            added.append(f"{new} = {meaning}")
        renamed[name] = new
    body = _ALIAS.sub("", text).strip("\n") if own else text
    return _rename(body, renamed) if any(name != new for name, new in renamed.items()) else body


def program_text(recording: TextRecording, number: int) -> str:
    """Return the program after a step with its aliases and the declarations in the dumps."""
    last = recording.steps[number - 1] if number else None
    if last is not None and last.scope == "module" and last.after_body is not None:
        return last.after_body.text
    aliases = _Aliases(recording)
    text = recording.program(number, aliases.text_of)
    missing = set(_REFERENCE.findall(text)) - {match[1] for match in _DECLARATION.finditer(text)}
    declared = declared_mlir(text) | recording.declarations
    added = [declared[name] for name in sorted(missing) if name in declared]
    if added:
        head, brace, tail = text.rpartition("}")
        is_module = text.lstrip().startswith(("module", "builtin.module", '"builtin.module"'))
        text = "\n".join([head.rstrip("\n"), *added, brace + tail] if is_module else [text, *added])
    return "\n".join([*aliases.definitions, text])


def declarations_of(recording: TextRecording) -> dict[str, str]:
    """Return the lines of all dumps that declare a symbol without a body, by symbol."""
    lines: dict[str, str] = {}
    for name, unit in recording.units.items():
        if name.rpartition("/")[2].startswith(("builtin.module", "module")):
            for piece in unit.pieces:
                for match in _DECLARATION.finditer(piece.text) if piece is not None else ():
                    if not match[0].rstrip().endswith("{"):
                        lines.setdefault(match[1], match[0])
    return lines


def unknown_symbol(recording: TextRecording, step: Step) -> str:
    """Return a symbol that the input of a pass refers to and no dump defines; empty for none."""
    if step.scope == "module" or (step.before_body is not None and step.unit.startswith("builtin.module")):
        return ""  # the text is a whole program
    text = recording.before(step)
    if len(text) > LARGEST:
        return ""
    used = [name for name in _REFERENCE.findall(text) if name not in recording.symbols]
    own = {match[1] for match in _DECLARATION.finditer(text)} if used else set()
    if used:
        own |= set(declared_mlir(text))
    return next((name for name in used if name not in own), "")


class _Aliases:
    """The aliases of the parts of one program; `definitions` are the lines for the top of it."""

    def __init__(self, recording: TextRecording) -> None:
        bodies = {(id(body.source), body.spans[0]): body for body in _bodies(recording)}
        self._starts = sorted(bodies)
        self._bodies = [bodies[start] for start in self._starts]
        self._defined: dict[int, dict[str, str]] = {}  # of each body
        self._names: dict[str, tuple[int, str]] = {}  # a used name -> the body, and the name there
        self.definitions: list[str] = []

    def text_of(self, piece: Excerpt) -> str:
        """Return the text of a part with the names of aliases as in `definitions`."""
        text = piece.text
        at = bisect_right(self._starts, (id(piece.source), piece.spans[0])) - 1 if piece.spans else -1
        if at < 0 or self._bodies[at].source is not piece.source or _ALIAS.search(text):
            return text
        meanings = self._defined.get(at)
        if meanings is None:
            meanings = self._defined[at] = dict(_ALIAS.findall(self._bodies[at].text))
        needed: set[str] = set()
        worklist = [text] if meanings else []
        while worklist:
            new_names = {name for name in _USE.findall(worklist.pop()) if name in meanings} - needed
            needed |= new_names
            worklist += [meanings[name] for name in new_names]
        renamed = {name: self._unique_name(name, at) for name in meanings if name in needed}
        for name, new in renamed.items():
            line = f"{new} = {_rename(meanings[name], renamed)}"
            if line not in self.definitions:
                self.definitions.append(line)
        return _rename(text, renamed) if renamed else text

    def _unique_name(self, name: str, body: int) -> str:
        count = 0
        new = name
        while self._names.setdefault(new, (body, name)) != (body, name):
            count += 1
            new = f"{name}_{count}"
        return new


def _rename(text: str, names: dict[str, str]) -> str:
    return _USE.sub(lambda match: names.get(match[0], match[0]), text)


def _bodies(recording: TextRecording) -> Iterator[Excerpt]:
    """Yield the bodies of all dumps."""
    pieces = [
        recording.input_piece,
        *[body for step in recording.steps for body in (step.before_body, step.after_body)],
    ]
    return (piece for piece in pieces if piece is not None and piece.spans)
