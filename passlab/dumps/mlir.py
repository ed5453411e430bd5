"""MLIR's `--mlir-print-ir-*`, with threads or without, and its trees of files; IREE's phases.

Without module scope a heading does not name the unit; the first operation of the body does. Operations with a symbol
are found by indentation, which MLIR's printer keeps.
"""

from __future__ import annotations

import re
from pathlib import Path

from passlab.dumps.banner import MODULE, UNIT, Banner, Scan
from passlab.dumps.extents import root_operation
from passlab.dumps.listed_passes import lists_passes_of_mlir
from passlab.dumps.source import DumpSource, FileSource, decode, find_lines

MARK = b"// -----// IR Dump "
_HEAD = re.compile(r"// -----// IR Dump (?P<when>Before|After) (?P<rest>.*?) //----- //\s*")
_SCOPE = re.compile(r" \('(?P<op>[^']*)' operation(?:: @(?P<symbol>.*))?\)\Z")
_ARGUMENT = re.compile(r" \((?P<argument>[^()]*)\)\Z")
_COLON = re.compile(r"(?P<name>[\w.:<>, ()*&-]*?): (?P<argument>[\w.-]+)(?P<options>\{.*\})?\Z", re.DOTALL)
PEEK = 4000
# A line that opens an operation with a region: dialect.op, keywords such as `public`, and a symbol or none.
_OPENING = re.compile(
    rb"( *)(module|[a-z_]\w*(?:\.\w+)+)(?: (?:public|private|nested|variadic|import|export|extern(?:al)?|local))*"
    rb'(?: @("[^"\n]*"|[\w.$-]+)|(?<=module)(?= attributes| *\{)|(?<=initializer)(?= attributes| *\{))[^\n]*'
)
# The same as `--mlir-print-op-generic` prints it.
_GENERIC = re.compile(
    rb'( *)"([a-z_]\w*(?:\.\w+)+)"\((?:[^\n"]*)\)(?:[^\n]*?\bsym_name = ("[^"\n]*")[^\n]*|(?<=\(\)) )[^\n]*'
)
_ROOT = re.compile(r'\s*(?:%\S+ = )?"?([\w.]+)"?(?:(?: [a-z_]\w*)* @("[^"]*"|[\w.$-]+)|(?=[\s({<\[]|\Z))')
_SYMBOL_NAME = re.compile(r'\bsym_name = "([^"]*)"')
_CLOSING = re.compile(rb"^\}\)[^\n]*", re.MULTILINE)  # the end of an operation in generic form
_ALIAS = re.compile(rb"^([#!][A-Za-z_][\w.$-]*) = ([^\n]+)\n", re.MULTILINE)
_TREE = re.compile(r"(?P<numbers>\d+(?:_\d+)*)_(?P<pass>[A-Za-z][\w.-]*)\.mlir")


def parse_heading(line: str) -> tuple[str, str, str, str, str, str] | None:
    """Return when, name, argument, options, unit and status of a heading, or None if the line is not a heading."""
    match = _HEAD.fullmatch(line)
    if match is None:
        return None
    rest, unit, status = match["rest"], "", ""
    if scope := _SCOPE.search(rest):
        unit = scope["op"] + (f" @{scope['symbol']}" if scope["symbol"] is not None else "")
        rest = rest[: scope.start()]
    argument = options = ""
    if colon := _COLON.fullmatch(rest):
        name, argument, options = colon["name"], colon["argument"], (colon["options"] or "")
    elif bracket := _ARGUMENT.search(rest):
        name, argument = rest[: bracket.start()], bracket["argument"]
    else:
        name = rest
    if name.endswith(" Failed"):
        name, status = name.removesuffix(" Failed"), "failed"
    return match["when"].lower(), name, argument, " ".join(options[1:-1].split()), unit, status


_END = b"//----- //"


def find_heading(line: bytes) -> tuple[int, int] | None:
    """Return start and end of the heading in a line; other output may stand in front of it, a program behind it."""
    start = line.find(MARK)
    end = line.find(_END, start) + len(_END)
    if end < len(_END) or line.count(b'"', 0, start) % 2:  # in the text of an attribute
        return None
    return start, len(line) if not line[end:].strip() else end


def scan_stream(source: DumpSource) -> Scan:
    """Return the dumps in a stream."""
    banners: list[Banner] = []
    for start, end, line, _ in find_lines(source, MARK):
        found = find_heading(line)
        heading = parse_heading(decode(line[found[0] : found[1]])) if found is not None else None
        if found is None or heading is None:
            continue
        if found[1] < len(line):
            end = start + found[1]
        start += found[0]
        if banners:
            banners[-1].end = start
        when, name, argument, options, unit, status = heading
        banner = Banner(source, when, name, unit, "op", argument, options, status, start=start, body=end, end=end)
        banner.scope = MODULE if unit else UNIT
        banners.append(banner)
    if banners:
        banners[-1].end = source.size
    for banner in banners:
        if not banner.unit:
            banner.unit = _unit_of(banner)
        elif banner.scope == MODULE and "module" not in root_of(_head_of(banner)):
            banner.scope = UNIT
    return scan_of(banners)


def scan_of(banners: list[Banner]) -> Scan:
    """Return the scan of headings, each with the symbol of its program where several follow one another."""
    if all(banner.when == "before" and banner.scope == MODULE for banner in banners):
        _name_programs(banners)
    afters = all(banner.when == "after" for banner in banners)
    is_list = lists_passes_of_mlir(banners)
    return Scan(banners, may_be_quiet=afters, is_partial=is_list, is_list=is_list)


_USED_SYMBOL = re.compile(rb'@("[^"\n]*"|[\w.$-]+)')


def _name_programs(banners: list[Banner]) -> None:
    """Set the phase of all banners to the symbol of their program, where whole programs follow one another.

    Another program begins where no symbol is left of the one before, or where the first pass runs again on a text that
    is more like the first one than like the one before.
    """
    runs: list[tuple[int, list[bytes]]] = []  # the number of the first heading, and the symbols that stay
    first: set[bytes] = set()
    last: set[bytes] = set()
    symbols: set[bytes] = set()
    for number, banner in enumerate(banners):
        data = banner.source.read(banner.body, banner.end)
        named = list(dict.fromkeys(_USED_SYMBOL.findall(data)))
        lines = set()
        again = bool(runs) and (banner.name, banner.unit) == (banners[runs[-1][0]].name, banners[runs[-1][0]].unit)
        if again or not runs:
            lines = set(data.split(b"\n"))
            before = banners[number - 1]
            last = set(before.source.read(before.body, before.end).split(b"\n")) if runs else set()
        other = bool(symbols) and bool(named) and symbols.isdisjoint(named)
        if not runs or other or (again and len(lines & first) > len(lines & last)):
            runs.append((number, named))
            first = lines or set(data.split(b"\n"))
        elif named:
            runs[-1] = (runs[-1][0], [name for name in runs[-1][1] if name in named] or named)
        symbols = set(named) or symbols
    if len(runs) < 2:
        return
    names = [decode(named[0]).strip('"') if named else "program" for _, named in runs]
    ends = [start for start, _ in runs[1:]] + [len(banners)]
    for at, (start, _) in enumerate(runs):
        earlier = names[:at].count(names[at])
        for banner in banners[start : ends[at]]:
            banner.phase = f"{names[at]} ({earlier + 1})" if earlier else names[at]


def _head_of(banner: Banner) -> bytes:
    """Return the first bytes of the program below a heading, from its operation on; empty without one."""
    for size in (PEEK, 2**16, banner.end - banner.body):  # other output may stand above it
        head = banner.source.read(banner.body, min(banner.end, banner.body + size))
        if root := root_operation(head, len(head), banner.unit if banner.scope == MODULE else ""):
            return head[root.start() :]
        if banner.body + size >= banner.end:
            break
    return b""


def _unit_of(banner: Banner) -> str:
    """Return the operation of a body; the generic form of older versions has its symbol after the region."""
    head = _head_of(banner)
    root = root_of(head)
    if not root or " @" in root or not head.startswith(b'"'):
        return root
    tail = banner.source.read(max(banner.body, banner.end - PEEK), banner.end)
    closing = [decode(match[0]) for match in _CLOSING.finditer(tail)]
    symbol = _SYMBOL_NAME.search(closing[-1]) if closing else None
    return f"{root} @{symbol[1]}" if symbol else root


def root_of(head: bytes) -> str:
    """Return the first operation of a body as MLIR's headings write it: `func.func @f`, `builtin.module`."""
    for match in re.finditer(rb"^[^\n]+$", head, re.MULTILINE):
        line = match[0]
        if line.startswith((b"//", b"#", b"!")) or not line.strip():
            continue
        text = decode(line)
        root = _ROOT.match(text)
        if root is None:
            return ""
        op = "builtin.module" if root[1] == "module" else root[1]
        if "." not in op:
            return ""
        generic = _SYMBOL_NAME.search(text) if text.lstrip().startswith('"') else None
        symbol = generic[1] if generic else root[2]
        return op + (f" @{symbol}" if symbol else "")
    return ""


# ---------------------------------------------------------------- folders
def scan_tree(files: list[Path], root: Path) -> Scan:
    """Return the dumps of `--mlir-print-ir-tree-dir`; the counters of the enclosing operations give the order.

    Before and after of one run share a counter and a name; their headings differ. Sibling operations have the order of
    the program, which is also the order of a run without threads.
    """
    dumps: list[tuple[tuple[str, ...], tuple[int, ...], Banner]] = []
    for path in sorted(files):
        match = _TREE.fullmatch(path.name)
        if match is None:
            continue
        source = FileSource(path)
        inside = scan_stream(source).banners
        argument = match["pass"]
        unit = root_of(source.read(0, PEEK))
        banner = inside[0] if inside else Banner(source, "after", argument, unit, "op", argument)
        banner.end = source.size
        numbers = tuple(map(int, match["numbers"].split("_")))
        dumps.append((path.parent.relative_to(root).parts, numbers, banner))
    offsets = _folder_offsets([banner for _, _, banner in dumps])

    def key(item: tuple[tuple[str, ...], tuple[int, ...], Banner]) -> tuple[object, ...]:
        folders, numbers, banner = item
        top = folders[: len(folders) - len(numbers) + 1]
        parts: list[object] = [top]
        for depth, number in enumerate(numbers):
            nested = depth + 1 < len(numbers)
            folder = folders[len(top) + depth] if nested and len(top) + depth < len(folders) else ""
            parts.append((number, nested, offsets.get(folder, 0), folder))
        return (*parts, banner.when == "after")

    return Scan([item[2] for item in sorted(dumps, key=key)])


def _folder_offsets(banners: list[Banner]) -> dict[str, int]:
    """Return for each folder the offset of its operation in a dump of the whole program, for sorting."""
    offsets: dict[str, int] = {}
    whole = [b.source.read(b.body, b.end) for b in banners if b.unit.startswith("builtin.module")][:4]
    for banner in banners:
        folder = Path(getattr(banner.source, "path", ".")).parent.name
        symbol = banner.unit.partition(" @")[2].encode("utf-8", "surrogateescape")
        if symbol and folder not in offsets:
            at = next((at for text in whole if (at := text.find(b"@" + symbol)) >= 0), -1)
            if at >= 0:
                offsets[folder] = at
    return offsets


def is_tree(names: list[str]) -> bool:
    """Whether files are named as in a tree of dumps."""
    return any(_TREE.fullmatch(name) for name in names)


# ---------------------------------------------------------------- bodies
def split_ops(data: bytes) -> list[tuple[str, int, int, int]]:
    """Return path, start, end and indentation of each operation with a symbol (or module) that has a region.

    Paths name the enclosing operations: `builtin.module/func.func @f`. Parents come before their children.
    """
    operations: list[tuple[str, int, int, int]] = []
    around: list[tuple[str, int]] = []  # path and end of the operations that are open
    seen: dict[str, int] = {}
    at = data.find(b"{\n")
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        pattern = _GENERIC if data[at - 1 : at] == b"(" else _OPENING  # the generic form has `({`
        match = pattern.fullmatch(data, start, at + 1)
        at = data.find(b"{\n", at + 2)
        if match is None:
            continue
        indent = len(match[1])
        close = data.find(b"\n" + match[1] + b"}", match.end() - 1)
        end = len(data) if close < 0 else data.find(b"\n", close + 1) + 1 or len(data)
        while around and around[-1][1] <= start:
            around.pop()
        op = "builtin.module" if match[2] == b"module" else decode(match[2])
        symbol = decode(match[3] or b"")
        if pattern is _GENERIC:
            behind = _SYMBOL_NAME.search(decode(data[close + 1 : end])) if close >= 0 and not symbol else None
            symbol = behind[1] if behind else symbol.strip('"')
        name = op + (f" @{symbol}" if symbol else "")
        path = f"{around[-1][0]}/{name}" if around else name
        seen[path] = count = seen.get(path, 0) + 1
        if count > 1:
            path = f"{path} #{count}"
        operations.append((path, start, end, indent))
        around.append((path, end))
    return operations


def aliases_of(data: bytes) -> dict[bytes, bytes]:
    """Return the `#map` aliases that a body defines, with their values; dumps of one function have them inlined."""
    if b" = " not in data[:4000].partition(b"{")[0] and not data.startswith((b"#", b"!")):
        return {}
    aliases = {m[1]: m[2] for m in _ALIAS.finditer(data) if not m[1].startswith((b"#loc", b"#di_"))}
    for name, value in list(aliases.items()):  # an alias may use those above it
        aliases[name] = replace_aliases(value, aliases)
    return aliases


_USE = re.compile(rb"[#!][A-Za-z_][\w.$-]*")


def replace_aliases(text: bytes, aliases: dict[bytes, bytes]) -> bytes:
    """Return text with each alias replaced by its value."""
    return _USE.sub(lambda m: aliases.get(m[0], m[0]), text) if aliases else text


_VALUE = re.compile(rb"[%^][\w.$-]+")


def renumber(text: bytes) -> bytes:
    """Return text with its values and blocks numbered from 0; the generic form numbers them across the module."""
    names: dict[bytes, bytes] = {}
    # The first byte stays: % of a value, ^ of a block.
    return _VALUE.sub(lambda m: names.setdefault(m[0], b"%c%d" % (m[0][0], len(names))), text)


_PLACE = re.compile(rb'[#!][A-Za-z_][\w.$-]*|(?:"[^"\n]{0,400}"|[\w./-]{1,200}):\d+:\d+')
_SPELLED = re.compile(_PLACE.pattern + rb"|[%^][\w.$-]+")


def are_alike(text: bytes, other: bytes) -> bool:
    """Whether two texts differ only in what the printer spells by its scope: numbers of values, aliases, places."""
    rows, others = text.split(b"\n"), other.split(b"\n")
    if len(rows) != len(others):
        return False
    pairs = [(one.strip(), two.strip()) for one, two in zip(rows, others, strict=True)]
    if any(one != two and _SPELLED.sub(b"", one) != _SPELLED.sub(b"", two) for one, two in pairs):
        return False  # the first line that differs decides, mostly
    spelled = [(_PLACE.sub(b"", one), _PLACE.sub(b"", two)) for one, two in pairs]
    return renumber(b"\n".join([one for one, _ in spelled])) == renumber(b"\n".join([two for _, two in spelled]))


def dedent(data: bytes, indent: int) -> bytes:
    """Return text without `indent` spaces in front of its lines."""
    if not indent:
        return data
    space = b" " * indent
    return data.removeprefix(space).replace(b"\n" + space, b"\n")
