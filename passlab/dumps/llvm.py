"""LLVM's `-print-before-all`, `-print-after-all` and `-print-changed`: streams and dump directories, IR and machine
code.

Versions 14 to 22 write headings in three ways (with "; ", with "# " for machine code, without either), and the legacy
pass manager writes prose with an identifier in brackets. The unit follows the first " on ".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

from passlab.dumps.banner import DIFF, FRAGMENT, MODULE, NONE, UNIT, Banner, Scan
from passlab.dumps.extents import begin_of_llvm, begins_block, is_diff
from passlab.dumps.listed_passes import lists_passes_of_llvm
from passlab.dumps.source import LONGEST_LINE, PEEK, DumpSource, FileSource, decode, find_lines, without_colours

MARK = b"*** IR "
_HEAD = re.compile(
    r"(?P<sign>[;#] )?\*\*\* IR (?P<what>Dump At Start|Dump Before|Dump After|Pass|Deleted After) ?"
    r"(?P<rest>.*?) ?\*\*\*:?(?: \(function: (?P<function>.*)\))?:?\s*"
)
_TAILS = (
    (" omitted because no change", "unchanged", NONE),
    (" filtered out", "filtered", NONE),
    (" ignored", "ignored", NONE),
    (" (invalidated)", "invalidated", MODULE),
    (" invalidated", "invalidated", NONE),
)
_ENDS = tuple(tail for tail, _, _ in _TAILS)
_LEGACY = re.compile(r".* \([\w.:-]+\)")
_LOOP = re.compile(r"(?:Parallel )?[Ll]oop ")
_MANAGER = re.compile(
    r"PassManager<|\w*PassAdaptor\b|ExtraLoopPassManager|DevirtSCCRepeatedPass|ModuleInlinerWrapperPass"
)
FEW = 3  # passes that begin before others have ended, as those of one compiler do not
_MODULE_ID = re.compile(rb"; ModuleID = '([^\n]*)'")
_BEHIND = re.compile(rb":?(?: \(function: [^\n]*\))?:?\s*")  # what stands behind the stars of a heading
_NEXT = re.compile(rb"\*\*\* IR (?:Dump (?:At Start|Before|After)|Pass|Deleted After) [^\n]*\*\*\*")
PART = "the dump shows only some functions of the module"
NOT_RUN = b"BISECT: NOT running pass"
_NOT_RUN = re.compile(r"BISECT: NOT running pass \((?P<number>\d+)\) (?P<name>.+?) on (?P<unit>.+)")
FAR = 2**16  # bytes below a heading in which its program is looked for, before more are read
_FILE = re.compile(
    r"(\d+)-[0-9a-f]+-(module|function|scc|loop)(?:-[0-9a-f]+)?-(.+)-(before|after|invalidated)\.(?:ll|mir)"
)
_DEFINE = re.compile(rb'^define [^\n]*?@("[^"\n]*"|[-\w.$]+)\(', re.MULTILINE)
_MACHINE = re.compile(rb"^# Machine code for function ([^:\n]+):", re.MULTILINE)


def parse_heading(line: str) -> tuple[str, str, str, str, str] | None:
    """Return when, name, unit, status and scope of a heading, or None if the line is not a heading."""
    plain = line.removeprefix("; ")
    if (
        plain.startswith("*** IR Dump After ") and plain.endswith(" ***") and not plain[:-4].endswith(_ENDS)
    ):  # the usual case
        name, sign, unit = plain[18:-4].partition(" on ")  # between "*** IR Dump After " and " ***"
        if sign and not unit.endswith(")"):
            return "after", name, unit, "", UNIT
    match = _HEAD.fullmatch(line)
    if match is None:
        return None
    rest, status, scope = match["rest"], "", UNIT
    for tail, verdict, shown in _TAILS:
        if rest.endswith(tail):
            rest, status, scope = rest.removesuffix(tail), verdict, shown
            break
    what = match["what"]
    if what == "Dump At Start":
        return ("start", "", "", status, MODULE) if not rest else None
    if what in ("Pass", "Deleted After"):
        scope = NONE
    name, sign, unit = rest.partition(" on ")
    if sign and _LEGACY.fullmatch(unit) and not unit.startswith("("):
        name, unit = rest, ""  # the prose of the legacy pass manager may contain " on "
    when = "before" if what == "Dump Before" else "after"
    return when, name, unit or match["function"] or "", status if what != "Deleted After" else "changed", scope


def find_heading(line: bytes) -> tuple[int, int] | None:
    """Return start and end of the heading in a line; other output may stand in front of it, a program behind it."""
    start = line.find(MARK)
    end = line.find(b"***", start + len(MARK)) + 3
    if end < 3 or line.count(b'"', 0, start) % 2:  # in the text of a constant
        return None
    if line[max(start - 2, 0) : start] in (b"; ", b"# "):
        start -= 2
    return start, len(line) if _BEHIND.fullmatch(line, end) else end


def _headings(source: DumpSource) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield start and end of each line with a heading, the heading, and the first bytes below it."""
    for start, end, line, below in find_lines(source, MARK):
        found = find_heading(line)
        if found is not None:
            first, last = found
            glued = line[last:] + b"\n" if last < len(line) else b""
            yield start + first, start + last if glued else end, decode(line[first:last]), glued + below


def _filtered(source: DumpSource) -> list[Banner]:
    """Return the passes that `-opt-bisect-limit` left out."""
    banners = []
    for start, end, line, _ in find_lines(source, NOT_RUN):
        if match := _NOT_RUN.search(decode(line)):
            unit = match["unit"]
            banner = Banner(source, "after", match["name"], unit, kind_of(unit), status="filtered", scope=NONE)
            banner.start, banner.body, banner.end = start, end, end
            banner.note = f"-opt-bisect-limit left it out: number {match['number']}"
            banners.append(banner)
    return banners


def scan_stream(source: DumpSource) -> Scan:
    """Return the dumps in a stream."""
    banners: list[Banner] = []
    bare = True
    programs: list[tuple[int, str]] = []  # number of a heading, name of the module below it
    for start, end, line, below in _headings(source):
        heading = parse_heading(line)
        if heading is None:
            continue
        when, name, unit, status, scope = heading
        bare = bare and when == "after" and line.startswith("*** IR ") and (bool(unit) or status == "invalidated")
        if is_no_pass(name, status):
            status = "manager"
        banners.append(
            Banner(source, when, name, unit, kind_of(unit), status=status, scope=scope, start=start, body=end, end=end)
        )
        text = _inspect_body(banners[-1], below)
        if (program := _MODULE_ID.match(text)) and (banners[-1].scope == MODULE or when == "start"):
            programs.append((len(banners) - 1, decode(program[1])))
    _name_programs(banners, programs)
    if left_out := _filtered(source):
        banners = sorted([*banners, *left_out], key=lambda banner: banner.start)
        _spread_phases(banners)
    for banner, following in pairwise(banners):
        banner.end = following.start
    if banners:
        banners[-1].end = source.size
    _mark_diffs(banners)
    scan = scan_of([banner for banner in banners if banner.status != "manager"], bare, says_all(banners))
    scan.is_mixed = _is_mixed(banners, programs)
    _open_hidden(scan.banners)
    return scan


def says_all(banners: list[Banner]) -> bool:
    """Whether LLVM says of each pass what it did, also of those that changed nothing (`-print-changed`)."""
    return any(
        one.when == "start" or one.scope == DIFF or (one.scope == NONE and one.status and not one.note)
        for one in banners
    )


def scan_of(banners: list[Banner], may_be_quiet: bool, has_all: bool) -> Scan:
    """Return the scan of some banners, with what they prove about passes that are not among them."""
    scan = Scan(banners, says_all=has_all, may_be_quiet=may_be_quiet)
    scan.is_list = not has_all and lists_passes_of_llvm(banners)
    scan.is_partial = scan.is_list or (not has_all and _hides_functions(banners))
    return scan


def parts_that_say_less(scan: Scan) -> list[tuple[str, Scan]]:
    """Return the programs of a stream where LLVM says of some programs what each pass did, and of others nothing."""
    runs = [(phase, list(banners)) for phase, banners in groupby(scan.banners, key=lambda banner: banner.phase)]
    says = [says_all(banners) for _, banners in runs]
    if all(says):
        return []
    return [(run[0], scan_of(run[1], scan.may_be_quiet, has_all)) for run, has_all in zip(runs, says, strict=True)]


def _open_hidden(banners: list[Banner]) -> None:
    """Withdraw what LLVM says of units of which it looked at some functions alone (`-filter-print-funcs`)."""
    functions = [banner for banner in banners if banner.kind == "function"]
    hidden = [banner for banner in functions if banner.status == "filtered" and not banner.note]
    shown = [banner for banner in functions if banner.status != "filtered"]
    left_out = {banner.unit for banner in hidden} - {banner.unit for banner in shown}
    if not left_out or {banner.name for banner in hidden}.isdisjoint(banner.name for banner in shown):
        return  # -filter-passes: it leaves out passes
    for banner in banners:
        is_whole = banner.kind != "module" and left_out.isdisjoint(_functions_of(banner.unit))
        if banner.status == "unchanged" and not is_whole:
            banner.status, banner.note = "", PART


def _is_mixed(banners: list[Banner], programs: list[tuple[int, str]]) -> bool:
    """Whether modules alternate, or passes begin before others have ended: LLVM runs them one after the other."""
    first: dict[str, str] = {}  # the pass that began with each module: where it runs again, the compiler does
    last, returns, begins = "", 0, 0
    for number, name in programs:
        pass_name = banners[number].name
        returns += name != last and first.setdefault(name, pass_name) != pass_name
        last = name
    for banner, following in pairwise(banners):
        begins += banner.when == following.when == "before" and not banner.status
    ends = sum(banner.when == "after" and banner.scope != NONE for banner in banners)
    return returns >= 2 or (begins >= FEW and 2 * begins < ends)


def _spread_phases(banners: list[Banner]) -> None:
    """Give the passes that were left out the program of the pass before them."""
    phase = next((banner.phase for banner in banners if banner.phase), "")
    for banner in banners:
        phase = banner.phase or phase
        banner.phase = phase


def _name_programs(banners: list[Banner], programs: list[tuple[int, str]]) -> None:
    """Set the phase of all banners to their module, where a stream has several."""
    runs: list[tuple[int, str]] = []
    for number, name in programs:
        if not runs or runs[-1][1] != name or banners[number].when == "start":
            runs.append((number, name))
    if runs and runs[0][0] and banners[runs[0][0]].when == "start":  # what stands above is of a run before
        runs.insert(0, (0, ""))
    if len(runs) < 2:
        return
    names = [name for _, name in runs]
    for at, (start, name) in enumerate(runs):
        earlier = names[:at].count(name) if banners[start].when == "start" else 0
        end = runs[at + 1][0] if at + 1 < len(runs) else len(banners)
        for banner in banners[start if at else 0 : end]:
            banner.phase = f"{name} ({earlier + 1})" if earlier else name


def _hides_functions(banners: list[Banner]) -> bool:
    """Whether passes on functions are printed for some functions alone, as with `-filter-print-funcs`.

    Where a pass over the module follows passes on functions, these have visited every function of the module.
    """
    modules = [at for at, banner in enumerate(banners) if banner.scope == MODULE and banner.language != "mir"]
    ends = [at for at in modules if banners[at].kind == "module"]
    named = {
        name for one in banners[: ends[-1] if ends else 0] if one.kind != "module" for name in _functions_of(one.unit)
    }
    if not named or any(banner.when == "before" for banner in banners):
        return False
    texts = [one.source.read(one.body, one.end) for one in (banners[modules[0]], banners[ends[-1]])]
    first, last = ({decode(name).strip('"') for name in _DEFINE.findall(text)} for text in texts)
    return bool((first & last) - named)


def _functions_of(unit: str) -> list[str]:
    """Return the names of the functions that a unit is or is in: `(f, g)`, `loop %l in function f`, `f`."""
    return unit.rpartition(" in function ")[2].strip("()").split(", ")


def is_no_pass(name: str, status: str) -> bool:
    """Whether a heading names a pass manager, or a pass that LLVM itself ignores."""
    return status == "ignored" or (status == "invalidated" and _MANAGER.match(name) is not None)


def kind_of(unit: str) -> str:
    """Return the kind of a unit: module, loop, scc, function or ""."""
    if unit == "[module]":
        return "module"
    if _LOOP.match(unit):
        return "loop"
    return "scc" if unit.startswith("(") else "function" if unit else ""


# A module that was read from a text has no comment with its name.
_MODULE_HEAD = (b"; ModuleID", b"source_filename = ", b"target datalayout = ", b"target triple = ")


def _inspect_body(banner: Banner, below: bytes) -> bytes:
    """Set scope, kind, unit and language of a banner from the first lines of its program; return these."""
    if banner.scope == NONE:
        return b""
    head, begin, size = below, -1, len(below)
    while True:  # other output may stand above the program
        following = _NEXT.search(head)
        head = head[: following.start()] if following else head
        begin = begin_of_llvm(head)
        # Where the heading does not name the function, a block above it may be other output.
        is_found = begin >= 0 and (banner.unit or _DEFINE.search(head, begin) or _MACHINE.search(head, begin))
        most = FAR if begin >= 0 else LONGEST_LINE
        if is_found or following or size >= min(most, banner.source.size - banner.body):
            break
        size = max(4 * size, FAR // 4)
        head = banner.source.read(banner.body, banner.body + size)
    text = head[begin:] if begin >= 0 else b""
    if text.startswith(_MODULE_HEAD):
        banner.scope = MODULE
    elif banner.language == "mir" or ((match := _MACHINE.search(text)) and not _DEFINE.search(text, 0, match.start())):
        banner.language = "mir"
        if match := _MACHINE.search(text):
            banner.unit, banner.kind = banner.unit or decode(match[1]), "function"
    elif banner.kind == "loop" or text.startswith((b"; Preheader:", b"; Loop:")):
        banner.scope = FRAGMENT if b"define " not in text else UNIT
        banner.kind = "loop"
    elif not banner.unit:
        match = _DEFINE.search(text)
        if match:
            banner.unit, banner.kind = decode(match[1]).strip('"'), "function"
        elif begins_block(head):  # of a legacy pass on regions
            banner.scope, banner.kind = FRAGMENT, "region"
    return text


def _mark_diffs(banners: list[Banner]) -> None:
    """Mark the bodies of `-print-changed=diff`, whose lines begin with a sign, with or without colours.

    Other output may stand above the first line that decides; a body that does not decide is as most others are.
    """
    said: list[tuple[Banner, bool | None]] = []
    for banner in banners:
        if banner.scope not in (UNIT, FRAGMENT) or banner.when != "after" or banner.status or banner.language == "mir":
            continue
        head = banner.source.read(banner.body, min(banner.end, banner.body + PEEK)).lstrip(b"\r\n")
        is_plain = begin_of_llvm(head) == 0
        body = b"" if is_plain else without_colours(banner.source.read(banner.body, banner.end))
        said.append((banner, False if is_plain else is_diff(body)))
    are_diffs = 2 * sum(one is True for _, one in said) > sum(one is not None for _, one in said)
    for banner, one in said:
        if one or (one is None and are_diffs):
            banner.scope = DIFF


def scan_folder(files: list[Path]) -> Scan:
    """Return the dumps of `-ir-dump-directory`: numbered files, each with its heading inside."""
    matches = [(m, path) for path in files if (m := _FILE.fullmatch(path.name))]
    begun = {(int(match[1]), match[3]) for match, _ in matches if match[4] == "before"}
    numbered = sorted((_sort_key(match, begun), path, match) for match, path in matches)
    banners: list[Banner] = []
    for _, path, match in numbered:
        source = FileSource(path)
        inside = scan_stream(source).banners
        if inside:
            banners += inside[:1]
            inside[0].end = source.size
            continue
        kind, name, when = match[2], match[3], match[4]
        status = "invalidated" if when == "invalidated" else ""
        unit = "[module]" if kind == "module" else ""
        banner = Banner(source, "before" if when == "before" else "after", name, unit, kind, status=status)
        banner.end = source.size
        _inspect_body(banner, source.read(0, PEEK))
        banners.append(banner)
    return Scan(banners)


def _sort_key(match: re.Match[str], begun: set[tuple[int, str]]) -> tuple[int, int]:
    """Return the sort key of a file: before and after share a number; an invalidated unit has the one before."""
    number, when = int(match[1]), match[4]
    if when == "invalidated" and (number + 1, match[3]) in begun:
        number += 1
    return number, ("before", "after", "invalidated").index(when)


def is_folder(names: list[str]) -> bool:
    """Whether files are named as in a dump directory."""
    return any(_FILE.fullmatch(name) for name in names)


# ---------------------------------------------------------------- bodies
def split_ir(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, start and end of each function defined in IR text, with the comment above it."""
    parts: list[tuple[str, int, int]] = []
    for match in _DEFINE.finditer(data):
        start = match.start()
        while start > 0:
            line = data.rfind(b"\n", 0, start - 1) + 1
            is_comment = data.startswith(b";", line) and not data.startswith(b"; ModuleID", line)
            if not is_comment and data[line:start].strip():
                break
            start = line
        start = match.start() - len(data[start : match.start()].lstrip())
        close = data.find(b"\n}", match.end())
        # `find` gives -1 in the last line, so the sum is 0, and the end is that of the data.
        end = len(data) if close < 0 else data.find(b"\n", close + 1) + 1 or len(data)
        if parts and start < parts[-1][2]:
            continue
        parts.append((decode(match[1]).strip('"'), start, end))
    return parts


def split_mir(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, start and end of each function in printed machine code."""
    parts = []
    for match in _MACHINE.finditer(data):
        name = match[1]
        close = data.find(b"# End machine code for function " + name, match.end())
        end = len(data) if close < 0 else data.find(b"\n", close) + 1 or len(data)
        parts.append((f"{decode(name)} (machine code)", match.start(), end))
    return parts


_SLOTS = re.compile(rb"^(?:\d+B)?[\t ]+", re.MULTILINE)  # a terminal may have expanded tabs
_FLAGS = re.compile(rb"^(# Machine code for function [^:\n]+):[^\n]*", re.MULTILINE)


def without_slots(data: bytes) -> bytes:
    """Return machine code without the slot numbers that analyses give its lines."""
    return _SLOTS.sub(b"", data).strip()


_KILLS = re.compile(rb" (?:killed|dead)(?= )")
_DEBUG_LINES = re.compile(rb"^[ \t]*DBG_[^\n]*\n", re.MULTILINE)


def without_flags(data: bytes) -> bytes:
    """Return machine code without flags and debug values, which analyses change without printing anything.

    The analysis of debug variables takes their values out until registers are allocated.
    """
    plain = _FLAGS.sub(rb"\1", without_slots(data))
    return _DEBUG_LINES.sub(b"", _KILLS.sub(b"", plain) + b"\n")


_NUMBERS = re.compile(rb"[!#]\d+")


def without_numbers(data: bytes) -> bytes:
    """Return IR text without the numbers of metadata and attribute groups, which depend on what else is printed."""
    return _NUMBERS.sub(b"!", data)
