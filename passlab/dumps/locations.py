"""Locations: the lines of the user's source from which each line of a program comes, in the text of any compiler.

    places_of(text, "mlir")[12]      # of line 12 of the text (from 0): Place("kernel.py", 8), ...

MLIR writes `loc(...)` behind an operation, LLVM `!dbg` and metadata, machine code a comment, assembly `.loc`, PyTorch a
comment above, XLA `metadata={...}`, GCC `[file:line:column]`, rustc a comment. A line that was inlined comes from the
line of the callee and from the lines of the calls around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Place(NamedTuple):
    """A line of a source file, from 1 on."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Places = tuple[Place, ...]  # of one line of a program, the innermost first, each once
NOWHERE: Places = ()
LONGEST_RANGE = 1000  # lines that one location of MLIR may cover


def places_of(text: str, language: str, context: str = "") -> list[Places]:
    """Return for each line of a text the places that it comes from.

    `context` is the dump that the text is a part of: it defines the aliases or metadata that the text uses.
    """
    lines = text.split("\n")
    if not has_places(text, language):
        return [NOWHERE] * len(lines)
    return _READERS[language](lines, context or text)


def has_places(text: str, language: str) -> bool:
    """Whether a text may have locations: a quick look at it."""
    return language in _READERS and any(mark in text for mark in _MARKS.get(language, ("",)))


_MARKS = {
    "mlir": ("loc(",),
    "llvm": ("!dbg", "#dbg_", "debug-location"),
    "mir": ("debug-location", "!dbg"),
    "asm": (".loc",),
    "sass": ("//## File",),
    "torch": ("# File: ",),
    "fx": ("# File: ",),
    "python": ("# File: ",),
    "hlo": ("metadata=",),
}


def is_same_file(one: str, other: str) -> bool:
    """Whether two names may belong to one file: one is the end of the other's path."""
    if one == other:
        return True
    short, long = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return bool(short) and long.endswith("/" + short.lstrip("/"))


def _unique(places: Iterable[Place]) -> Places:
    return tuple(dict.fromkeys(places))


def _path(directory: str, name: str) -> str:
    return name if not directory or name.startswith("/") or name[1:3] in (":\\", ":/") else f"{directory}/{name}"


_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|([\"\\]))")


def _unescaped(text: str) -> str:
    """Return a text of LLVM or MLIR without its escapes."""
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)
    try:
        return data.encode("latin-1").decode("utf-8")  # escapes are those of bytes
    except UnicodeError:
        return data


@lru_cache(maxsize=6)
def _shared(make: Callable[[str], T], context: str) -> T:
    """Return what a dump defines, which its parts share."""
    return make(context)


# ---------------------------------------------------------------- MLIR
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LOC_ALIAS = re.compile(r"^(#[A-Za-z_][\w.$-]*) = (loc\(.*)$", re.MULTILINE)
_LOC_PART = re.compile(rf"(?P<string>{_STRING})|(?P<open>(?<![\w.$])loc\()|(?P<bracket>[()])")
_PLACE_OR_USE = re.compile(
    rf"(?P<file>{_STRING}):(?P<line>\d{{1,9}})(?::\d+)?(?: to (?:(?P<last>\d{{1,9}})?:\d+|(?P<only>\d{{1,9}})))?"
    rf"|(?P<string>{_STRING})|(?P<use>#[A-Za-z_][\w.$-]*)"
)
_IGNORED = re.compile(r"\s*(?://|[#!][A-Za-z_][\w.$-]* = |$)")
_BLOCK = re.compile(r"\s*\^\S+?(?:\(.*\))?:\s*(?://.*)?$")


def _locations_in(line: str) -> tuple[list[str], bool]:
    """Return the insides of the `loc(...)` of a line, and whether one of them ends the line."""
    found, depth, start, end = [], 0, 0, -1
    for match in _LOC_PART.finditer(line):
        if match["open"] and not depth:
            depth, start = 1, match.end()
        elif depth and (match["open"] or match["bracket"]):
            depth += -1 if match["bracket"] == ")" else 1
            if not depth:
                found.append(line[start : match.start()])
                end = match.end()
    return found, end >= 0 and not line[end:].strip(" ,")


class _Aliases:
    """The locations that aliases stand for."""

    def __init__(self, context: str) -> None:
        self._texts = dict(_LOC_ALIAS.findall(context))
        self._places: dict[str, Places] = {}

    def places(self, text: str) -> Places:
        """Return the places of an expression, including the places of its aliases."""
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = _unique(self._walk(text))
        return found

    def _walk(self, text: str) -> Iterator[Place]:
        """Yield the places in an expression from left to right; an alias is followed once."""
        seen: set[str] = set()
        stack = [_PLACE_OR_USE.finditer(text)]
        while stack:
            match = next(stack[-1], None)
            if match is None:
                stack.pop()
            elif match["file"]:
                first = int(match["line"])
                last = min(int(match["last"] or match["only"] or first), first + LONGEST_RANGE)
                file = _unescaped(match["file"][1:-1])
                yield from (Place(file, line) for line in range(max(first, 1), last + 1))
            elif (use := match["use"]) in self._texts and use not in seen:
                seen.add(use)
                stack.append(_PLACE_OR_USE.finditer(self._texts[use]))


def _mlir_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of MLIR: an operation ends with its location, which counts for all lines of its own.

    These are its first line, those that begin or end one of its regions, and no line of another operation.
    """
    found: list[Places] = [NOWHERE] * len(lines)
    if "loc(" not in context:
        return found
    aliases = _shared(_Aliases, context)
    open_lines: list[list[int]] = [[]]  # for each open bracket: the lines of the operation that is not yet ended
    for number, line in enumerate(lines):
        if _IGNORED.match(line):
            continue
        stripped = line.strip()
        if stripped[0] in "}])" and len(open_lines) > 1:
            open_lines.pop()
        inside, ends = _locations_in(line)
        found[number] = _unique(place for text in inside for place in aliases.places(text))
        if _BLOCK.match(line):
            open_lines[-1] = []
            continue
        open_lines[-1].append(number)
        if stripped[-1] in "{[(":
            open_lines.append([])
        elif ends:
            places = aliases.places(inside[-1])
            for one in open_lines[-1]:
                found[one] = _unique((*places, *found[one]))
            open_lines[-1] = []
    return found


# ---------------------------------------------------------------- LLVM
_NODE = re.compile(r"^(!\d+) = (?:distinct )?!(DI\w+)\((.*)\)\s*$", re.MULTILINE)
_FIELD = re.compile(rf"(\w+): ({_STRING}|!DI\w+\([^()]*\)|[^,()]+)")
_DEBUG_USE = re.compile(r"!dbg (!\d+|!DILocation\([^()]*\))")
_DEBUG_RECORD = re.compile(r"^\s*#dbg_\w+\(.*, (!\d+)\)\s*$")
_MACHINE = re.compile(r"debug-location (!\d+|!DILocation\([^()]*\))")
_CHAIN_PART = re.compile(r"(?P<file>[^\s@\[\]][^@\[\]\n]*?):(?P<line>\d{1,9})(?::\d+)?(?=\s|$|\])")
_CHAIN = re.compile(r";\s*(?P<chain>(?:[^;@\n]+?:\d+(?::\d+)?)(?: @\[ .* \])?)\s*$")


_NUMBER = re.compile(r"[0-9]{1,9}")


class _Metadata:
    """The debug information of LLVM, by the names of its nodes."""

    def __init__(self, context: str) -> None:
        self._nodes = {match[1]: (match[2], match[3]) for match in _NODE.finditer(context)}
        self._fields: dict[str, dict[str, str]] = {}
        self._places: dict[str, Places] = {}

    def fields(self, name: str) -> dict[str, str]:
        """Return the fields of a node, or of one that is written where it is used."""
        found = self._fields.get(name)
        if found is None:
            text = self._nodes.get(name, ("", ""))[1] if name[1:].isdigit() else name.partition("(")[2].rstrip(")")
            found = self._fields[name] = dict(_FIELD.findall(text))
        return found

    def file(self, name: str) -> str:
        """Return the path of the file of a scope."""
        seen: set[str] = set()
        while name.startswith("!") and name not in seen:
            seen.add(name)
            fields = self.fields(name)
            if "filename" in fields:
                directory, file = (_unescaped(fields.get(key, '""')[1:-1]) for key in ("directory", "filename"))
                return _path(directory, file)
            name = fields.get("file") or fields.get("scope", "")
        return ""

    def places(self, name: str) -> Places:
        """Return the place of a location, a function or a variable, and those that it was inlined at."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = _unique(self._walk(name))
        return found

    def _walk(self, name: str) -> Iterator[Place]:
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            fields = self.fields(name)
            if "var" in fields and "line" not in fields:  # an expression of a global variable
                name = fields["var"]
                continue
            line = fields.get("line", "0")
            file = self.file(fields.get("file") or fields.get("scope", ""))
            if file and _NUMBER.fullmatch(line) and int(line):
                yield Place(file, int(line))
            name = fields.get("inlinedAt", "")


def _llvm_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of LLVM IR and of its machine code; names of metadata are defined in the context."""
    metadata = _shared(_Metadata, context)
    found = []
    for line in lines:
        uses = _DEBUG_USE.findall(line) or _DEBUG_RECORD.findall(line) or _MACHINE.findall(line)
        places = _unique(place for use in uses for place in metadata.places(use))
        if not places and (uses or "debug-location" in line) and (comment := _CHAIN.search(line)):
            places = _chain_places(comment["chain"])  # machine code alone: the comment has the location
        found.append(places)
    return found


def _chain_places(text: str) -> Places:
    """Return the places of `a.py:3:5 @[ b.py:8:1 @[ ... ] ]`; line 0 belongs to no line."""
    parts = _CHAIN_PART.finditer(text.replace("@[", "\n").replace("]", " "))
    return _unique(Place(part["file"].strip(), int(part["line"])) for part in parts if int(part["line"]))


# ---------------------------------------------------------------- assembly
_ASM_FILE = re.compile(rf"^\s*\.file\s+(\d+)\s+({_STRING})(?:\s*,?\s*({_STRING}))?")
_ASM_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d{1,9})(?:\s+(\d+))?(?P<rest>.*)$")
_INLINED_AT = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_SASS_PLACE = re.compile(
    r'//## File "(?P<file>[^"]*)", line (?P<line>\d{1,9})'
    r'(?P<inlined> inlined at "(?P<at>[^"]*)", line (?P<atline>\d{1,9}))?'
)
_ASM_END = re.compile(r"^(?:\}|\.?L\w*func_end\w*:|\s*\.cfi_endproc\b|\s*\.section\b)")
_ASM_QUIET = re.compile(r"^\s*(?:$|\.[a-z_]|//|#(?!\s*%)|;|\S+:\s*(?:[;#@/].*)?$|[{}]\s*$)")


def _asm_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of assembly or PTX: `.loc` counts for the instructions up to the next one.

    The calls around an inlined line come from the last `.loc` with the place that `inlined_at` names, or from the
    comment behind it.
    """
    files = {}
    for line in context.split("\n") if ".file" in context else ():
        if match := _ASM_FILE.match(line):
            parts = [_unescaped(part[1:-1]) for part in match.groups()[1:] if part]
            files[match[1]] = _path(parts[0], parts[1]) if len(parts) == 2 else parts[0]
    last: dict[tuple[str, ...], Places] = {}
    found, now = [], NOWHERE
    for line in lines:
        if match := _ASM_LOC.match(line):
            now = _loc_places(match, files, last)
            last[match[1], match[2], match[3] or "0"] = now
            found.append(now)
            continue
        if _ASM_END.match(line):
            now = NOWHERE
        found.append(NOWHERE if _ASM_QUIET.match(line) else now)
    return found


def _loc_places(match: re.Match[str], files: dict[str, str], last: dict[tuple[str, ...], Places]) -> Places:
    file, line = files.get(match[1], ""), int(match[2])
    own = (Place(file, line),) if file and line else ()
    inlined = _INLINED_AT.search(match["rest"])
    if inlined:
        around = last.get(inlined.groups(), ())
    else:
        _, sign, comment = match["rest"].partition("@[")
        names = [*files.values()]
        around = tuple(Place(_full_name(one.file, names), one.line) for one in _chain_places(comment)) if sign else ()
    return _unique((*own, *around))


def _full_name(name: str, files: Iterable[str]) -> str:
    """Return the path whose end a name is, if there is exactly one."""
    alike = {file for file in files if is_same_file(file, name)}
    return alike.pop() if len(alike) == 1 else name


def _sass_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of machine code of NVIDIA, as `nvdisasm -gi` prints them: above the instructions."""
    found, now, is_head = [], NOWHERE, False
    for line in lines:
        if match := _SASS_PLACE.search(line):
            own = (Place(match["file"], int(match["line"])),) if int(match["line"]) else ()
            at = (Place(match["at"], int(match["atline"])),) if match["inlined"] else ()
            now = _unique((*(now if is_head else ()), *own, *at))
            is_head = True
            found.append(now)
            continue
        is_head = False
        code = line.strip()
        found.append(now if code.startswith("/*") else NOWHERE)
        if code.startswith((".section", "//-----")):
            now = NOWHERE
    return found


# ---------------------------------------------------------------- Python graphs, XLA, GCC, rustc
_TORCH_FILE = re.compile(r"^\s*# File: (?P<file>.+?):(?P<line>\d{1,9}) in ")
_NO_FILE = re.compile(r"^\s*# No stacktrace found")
_HLO_SOURCE = re.compile(rf"metadata=\{{[^{{}}]*?source_file=({_STRING})(?:[^{{}}]*?source_line=(\d{{1,9}}))?")
_HLO_FRAME = re.compile(r"metadata=\{[^{}]*?stack_frame_id=(\d{1,9})")
_HLO_ENTRY = re.compile(rf"^(\d{{1,9}}) (?:({_STRING})|\{{([^{{}}]*)\}})\s*$", re.MULTILINE)
_HLO_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_GCC_PLACE = re.compile(r"\[([^\[\]\s:][^\[\]\n:]*):(\d{1,9}):\d+(?: discrim \d+)?\]")
_RUST_PLACE = re.compile(r"// (?:.* at )?(?P<file>[^\s:]+\.rs):(?P<line>\d{1,9}):\d+")


def _torch_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of a graph of PyTorch: a comment counts for itself and the nodes below it."""
    found, now = [], NOWHERE
    for line in lines:
        if match := _TORCH_FILE.match(line):
            now = (Place(match["file"], int(match["line"])),)
        elif _NO_FILE.match(line) or not line.strip() or line.lstrip().startswith(("def ", "class ", "return")):
            now = NOWHERE
        found.append(now)
    return found


def _hlo_places(lines: list[str], context: str) -> list[Places]:
    """Return the places of XLA's programs: a file and a line, or a frame of the stacks at the head of the module."""
    found = []
    for line in lines:
        places = NOWHERE
        if match := _HLO_SOURCE.search(line):
            number = int(match[2] or 0)
            places = (Place(_unescaped(match[1][1:-1]), number),) if number else NOWHERE
        elif match := _HLO_FRAME.search(line):
            places = _shared(_Frames, context).places(int(match[1]))
        found.append(places)
    return found


class _Frames:
    """The stacks of an HLO module."""

    def __init__(self, context: str) -> None:
        tables: dict[str, dict[int, str]] = {}
        for name in _HLO_TABLES:
            start = context.find(f"\n{name}\n")
            table = context[start + len(name) + 2 :].partition("\n\n")[0] if start >= 0 else ""
            tables[name] = {int(match[1]): match[2] or match[3] for match in _HLO_ENTRY.finditer(table)}
        self._files = {number: _unescaped(name[1:-1]) for number, name in tables["FileNames"].items()}
        self._locations = {number: _numbers(text) for number, text in tables["FileLocations"].items()}
        frames = {number: _numbers(text) for number, text in tables["StackFrames"].items()}
        # No frame is its own parent: where one seems to be, the printer counts parents from 1 and 0 is not printed.
        shift = any(fields.get("parent_frame_id") == number for number, fields in frames.items())
        self._frames = {
            number: (fields.get("file_location_id", 0), fields.get("parent_frame_id", 0) - shift)
            for number, fields in frames.items()
        }

    def places(self, number: int) -> Places:
        """Return the places of a frame and of the calls around it."""
        found, seen = [], set()
        while number in self._frames and number not in seen:
            seen.add(number)
            location, number = self._frames[number]
            fields = self._locations.get(location, {})
            file, line = self._files.get(fields.get("file_name_id", 0), ""), fields.get("line", 0)
            found += [Place(file, line)] if file and line else []
        return _unique(found)


def _numbers(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d{1,9})\b", text)}


def _pattern_places(pattern: re.Pattern[str]) -> Callable[[list[str], str], list[Places]]:
    def read(lines: list[str], context: str) -> list[Places]:
        return [_unique(Place(m[1], int(m[2])) for m in pattern.finditer(line) if int(m[2])) for line in lines]

    return read


_READERS: dict[str, Callable[[list[str], str], list[Places]]] = {
    "mlir": _mlir_places,
    "llvm": _llvm_places,
    "mir": _llvm_places,
    "asm": _asm_places,
    "sass": _sass_places,
    "torch": _torch_places,
    "fx": _torch_places,
    "python": _torch_places,
    "hlo": _hlo_places,
    "gcc": _pattern_places(_GCC_PLACE),
    "gcc tree": _pattern_places(_GCC_PLACE),
    "rust": _pattern_places(_RUST_PLACE),
}
