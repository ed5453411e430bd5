"""Extents: where the program below a heading begins, where it ends, and whether it is whole.

    ; *** IR Dump After SROAPass on f ***        heading
    define i32 @f() {                            program
    [sroa] slice of %x                           other output
      ret i32 0                                  program
    }                                            program: whole
    Running analysis: AAManager on f             other output

Each language has a scanner, which knows the lines of its programs and no message of any compiler. What is not of the
language is other output. A program that begins and is not closed is cut off. Some languages do not close theirs (a
module of LLVM, a script of Python), so one of their programs at the end of a dump may also be cut off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise, zip_longest
from typing import NamedTuple

from passlab.dumps.banner import DIFF, FRAGMENT, Banner
from passlab.dumps.consistency import parsed_script
from passlab.dumps.folders import GCC_FUNCTION, split_gcc


class Extent(NamedTuple):
    """The program in a body: its ranges, as start, end, start, end ..., and whether it is whole.

    `whole` is None where the language does not say where a program ends.
    """

    spans: tuple[int, ...]
    whole: bool | None


def _ends_dump(banner: Banner) -> bool:
    """Whether at most a part of a line of a log stands below a body."""
    return b"\n" not in banner.source.read(banner.end, min(banner.source.size, banner.end + _PREFIX))


def extent_of(data: bytes, banner: Banner, language: str) -> Extent:
    """Return the extent of the program in the bytes below a heading."""
    all_of_it = Extent((0, len(data)) if data else (), None)
    if banner.form == "torch" and not _ends_graph(data, banner):
        return Extent(all_of_it.spans, False)
    if banner.form not in ("", "onnx"):
        return all_of_it
    if banner.scope == DIFF:
        extent = _diff_extent(data)
    elif language == "llvm":
        extent = _blocks_extent(data) if banner.scope == FRAGMENT else _llvm_extent(data)
    elif language == "mlir":
        extent = _mlir_extent(data, banner.unit if banner.scope == "module" else "")
    else:
        scanner = _SCANNERS.get(language)
        if scanner is None:
            return all_of_it
        extent = scanner(data)
    if banner.end < banner.source.size or language.startswith("gcc"):  # a pass of GCC may print nothing
        return extent
    is_cut = not extent.spans or (language == "python" and not _parses(extent, data))  # the dump ends here
    return Extent(extent.spans, False) if is_cut else extent


# A graph, or the function of its code that calls the kernels, has its result at the end.
_PREFIX = 400  # bytes of a line of a log, which may be cut off as well
_RETURN = re.compile(rb"(?m)^(?:[^\n]*\] )?\s*return\b")


def _ends_graph(data: bytes, banner: Banner) -> bool:
    """Whether a graph of torch, or its code, is there up to its result."""
    if banner.argument == "output_code":  # the kernels in it return as well; a wrapper in C++ has no such function
        call = data.find(b"def call(")
        return _RETURN.search(data, call) is not None if call >= 0 else b"cpp_wrapper" in data
    return _RETURN.search(data) is not None or not (banner.language == "torch" or _ends_dump(banner))


_LOSS = (
    *(b"trunc", b"omit", b"skip", b"elid", b"clipp", b"trimm", b"suppress", b"hidden", b"snip", b"exceed"),
    *(b"cut off", b"too long", b"too large", b"too big", b" more "),
)
_LOST = re.compile(rb"\b(?:logs?|output|lines?|(?:kilo|mega)?bytes?|[km]i?b|chars|characters|messages?|content)\b")
_MARK = re.compile(rb"\W*(?:\.\.\.|\xe2\x80\xa6|(?:truncated|omitted|skipped|clipped|trimmed|snip|cut))\W*")
_CLOSINGS = {"llvm": b"}", "mlir": b"}", "mir": b"# End machine code"}
_HALF = re.compile(  # of a heading
    rb"(?m)^(?:[;#] )?\*\*\* IR [^\n]*$|^// -----// IR Dump [^\n]*$|(?: \*\*\*:?| //----- //)$"
)


def is_torn(data: bytes, language: str) -> bool:
    """Whether other output shows that lines of a dump are missing.

    It says so, or closes what it did not open, or has half a heading.
    """
    if (b"***" in data or b"-----" in data) and _HALF.search(data):
        return True
    closing, is_open = _CLOSINGS.get(language, b"\0"), 0
    if b"\n" + closing in data:
        for line, following in pairwise(data.split(b"\n")):
            is_open += line.endswith(b"{") - following.startswith(closing)
            # A brace without a line of a program above it may be of anything.
            if is_open < 0 and (closing != b"}" or line.startswith((b" ", b"\t", b"^"))):
                return True
    return any(_says_loss(line) for line in _lines_of_loss(data.lower()))


def _lines_of_loss(data: bytes) -> Iterator[bytes]:
    """Yield the lines that have a word for what is left out, or dots."""
    if any(word in data for word in (*_LOSS, b"...", b"\xe2\x80\xa6", b"[cut")):
        yield from (line.strip() for line in data.split(b"\n") if 3 <= len(line) < 300)


def _says_loss(line: bytes) -> bool:
    """Whether a line of a tool says that it left out others: `... 1234 lines omitted ...`, `[truncated]`, `[...]`."""
    if _MARK.fullmatch(line):
        return True
    return any(word in line for word in _LOSS) and _LOST.search(line) is not None


def _joined(data: bytes, spans: list[int], whole: bool | None) -> Extent:
    """Return the extent of ranges: neighbours become one, and a hole takes the empty lines that it leaves double."""
    joined: list[int] = []
    for start, end in zip(spans[::2], spans[1::2], strict=True):
        if joined and joined[-1] == start:
            joined[-1] = end
            continue
        if not joined or data[joined[-1] - 2 : joined[-1]] == b"\n\n":
            while start < end and data[start : start + 1] == b"\n":
                start += 1
        if start < end:
            joined += [start, end]
    return Extent(tuple(joined), whole)


def _line_end(data: bytes, at: int) -> int:
    """Return the offset after the line that has the byte `at`."""
    return data.find(b"\n", at) + 1 or len(data)


# ---------------------------------------------------------------- LLVM
_NAME = rb'(?:[-\w$.]+|"[^"\n]*")'
# A line between functions: what the language has there, and comments that its printer writes there.
_TOP = (
    rb"declare |@" + _NAME + rb" = |%" + _NAME + rb" = type |\$" + _NAME + rb" = comdat |attributes #\d+ = |!\d+ = "
    rb"|![-\w.$\\]+ = !\{|source_filename = |target (?:datalayout|triple) = |module asm |\^\d+ = |uselistorder"
    rb"|; (?:ModuleID = |Function Attrs: |Materializable|uselistorder directives)"
)
_LABEL = rb"(?:" + _NAME + rb":(?: +;[^\n]*)?|; <label>:\d+:[^\n]*)\r?\n"
_INSIDE = rb"(?:  |\t)(?! *;)[^\n]*\n|\r?\n|" + _LABEL
_FUNCTION = rb"define [^\n]*\{\r?\n(?:" + _INSIDE + rb"){0,4000}\}\r?(?:\n|\Z)"
_CLEAN = re.compile(rb"(?:(?:" + _TOP + rb")[^\n]*(?:\n|\Z)|\r?\n|" + _FUNCTION + rb"){0,400}")
_INSIDE_LINES = re.compile(rb"(?:" + _INSIDE + rb"){0,4000}")
_BEGIN = re.compile(rb"define [^\n]*\{\r?\n")
_CLOSE = re.compile(rb"\}\r?(?:\n|\Z)")
_STRANGE = re.compile(rb"(?:(?!define |" + _TOP + rb"|\r?\n)[^\n]*(?:\n|\Z)){1,4000}")
_OPEN_TERMINATORS = rb"switch|invoke|callbr"  # they go on in the lines below
_TERMINATORS = rb"ret|br|indirectbr|resume|catchswitch|catchret|cleanupret|unreachable"
_OPCODES = (
    rb"fneg|add|fadd|sub|fsub|mul|fmul|[us]div|fdiv|[us]rem|frem|shl|lshr|ashr|and|or|xor|extractelement|insertelement"
    rb"|shufflevector|extractvalue|insertvalue|alloca|load|store|fence|cmpxchg|atomicrmw|getelementptr|trunc|zext|sext"
    rb"|fptrunc|fpext|fptou?[si]i?|[us]itofp|ptrtoint|ptrtoaddr|inttoptr|bitcast|addrspacecast|icmp|fcmp|phi|select"
    rb"|freeze|call|va_arg|landingpad|catchpad|cleanuppad"
)
_RESULT = rb"  (?:%" + _NAME + rb" = )?(?:(?:tail|musttail|notail) )?(?:"
_CASES = rb"    (?:i\d+ [^\n]*, label |#dbg_)[^\n]*|          (?:cleanup|catch|filter|unwind)\b[^\n]*"
_ENDS = rb"  \](?:, ![^\n]*)?(?=\r?(?:\n|\Z))|          to label\b[^\n]*"
_CONTINUED = _CASES + rb"|" + _ENDS
INSTRUCTION_OF_LLVM = (
    _RESULT + _TERMINATORS + rb"|" + _OPEN_TERMINATORS + rb"|" + _OPCODES + rb")\b[^\n]*|" + _CONTINUED
)
_BEFORE_INSTRUCTION = (
    rb"(?=(?:[ \t]*;[^\n]*\n)*" + _RESULT + _TERMINATORS + rb"|" + _OPEN_TERMINATORS + rb"|" + _OPCODES + rb")\b)"
)
# A part of a function that stands alone, such as a loop: nothing closes it, so its instructions are known by name.
# The printer names the predecessors of each block; only the first block of a function, a preheader, has none.
_LABEL_OF_LOOP = rb"(?:" + _NAME + rb": +;[^\n]*|; <label>:\d+:[^\n]*)\r?\n"
_HEAD_OF_LOOP = rb"; (?:Preheader:[^\n]*\n(?:" + _LABEL + rb")?|(?:Loop|Exit blocks)[^\n]*\n)"
_BLOCK = re.compile(
    rb"(?:"
    + _HEAD_OF_LOOP
    + rb"|"
    + _LABEL_OF_LOOP
    + _BEFORE_INSTRUCTION
    + rb"|\r?\n|(?:"
    + _CASES
    + rb"|"
    + _RESULT
    + _OPCODES
    + rb"|"
    + _OPEN_TERMINATORS
    + rb")\b[^\n]*)(?:\n|\Z)){0,4000}"
    rb"(?P<end>(?:" + _ENDS + rb"|" + _RESULT + _TERMINATORS + rb")\b[^\n]*)(?:\n|\Z))?"
)


_BLOCK_BEGIN = re.compile(_HEAD_OF_LOOP + rb"|" + _LABEL_OF_LOOP + _BEFORE_INSTRUCTION)


_FIRST_BLOCK = re.compile(rb"(?:\r?\n)*(?:" + _LABEL_OF_LOOP + rb")?" + _BEFORE_INSTRUCTION)


def begins_block(data: bytes) -> bool:
    """Whether a body begins with an instruction, below a label or not: a part of a function."""
    return _FIRST_BLOCK.match(data) is not None


def _blocks_extent(data: bytes) -> Extent:
    """A block begins with its label or a heading, and ends with its terminator."""
    spans: list[int] = []
    # The first block of a function, in a region, has no label; a loop has a heading above its blocks.
    is_open, at = b"\n; Loop:" not in data and begins_block(data), 0
    while at < len(data):
        begins = is_open or _BLOCK_BEGIN.match(data, at)
        block = _BLOCK.match(data, at) if begins else _BLANK.match(data, at)
        if block is None or block.end() == at:
            at = _line_end(data, at)
            continue
        spans += block.span()
        at = block.end()
        is_open = bool(begins) and block.groupdict().get("end") is None
    return _joined(data, spans, False if is_open else None)


_BLANK = re.compile(rb"\r?\n")


def _llvm_extent(data: bytes) -> Extent:
    spans: list[int] = []
    whole, at = True, 0
    while at < len(data):
        match = _CLEAN.match(data, at)
        end = match.end() if match else at
        if end > at:
            spans += [at, end]
            at = end
        elif begin := _BEGIN.match(data, at):
            spans += begin.span()
            at, closed = _function_with_holes(data, begin.end(), spans)
            whole = whole and closed
        else:
            whole = whole and not data.startswith(b"define ", at)
            strange = _STRANGE.match(data, at)
            at = strange.end() if strange and strange.end() > at else _line_end(data, at)
    if _MODULE.search(data):
        return _joined(data, spans, None if whole else False)
    return _joined(data, spans, whole and (b"define " in data or b"declare " in data or not spans))


_FIRST = re.compile(
    rb"^(?:define |# Machine code for function |; (?:Preheader|Loop|Exit blocks)|" + _TOP + rb")", re.MULTILINE
)
# The line breaks in front let a search skip from line to line.
_SIGNED_LINE = re.compile(
    rb"\n(?:\*\*\* IR for function |[-+ ](?:define |; (?:Preheader|Loop|Exit blocks)|"
    + _TOP
    + rb"|"
    + _NAME
    + rb": +;|"
    + INSTRUCTION_OF_LLVM
    + rb"))"
)
_PLAIN_LINE = re.compile(rb"\n(?:define |# Machine code for function |; (?:Preheader|Loop|Exit blocks)|" + _TOP + rb")")
_MODULE = re.compile(rb"^(?:; ModuleID = |source_filename = |target |attributes #|!\d+ = )", re.MULTILINE)


def begin_of_llvm(data: bytes) -> int:
    """Return the offset of the first line of IR, machine code or a part of a function; -1 without one."""
    match = _FIRST.search(data)
    return match.start() if match else -1


def is_diff(data: bytes) -> bool | None:
    """Whether a body is a diff of IR, with signs in front of lines; None where no line decides, or both kinds do."""
    data = b"\n" + data
    signed, plain = _SIGNED_LINE.search(data) is not None, _PLAIN_LINE.search(data) is not None
    return signed if signed != plain else None


def _function_with_holes(data: bytes, at: int, spans: list[int]) -> tuple[int, bool]:
    """Add the ranges of a function from its second line on; return where it ends, and whether it is closed."""
    while at < len(data):
        lines = _INSIDE_LINES.match(data, at)
        if lines and lines.end() > at:
            spans += lines.span()
            at = lines.end()
        elif close := _CLOSE.match(data, at):
            spans += close.span()
            return close.end(), True
        elif data.startswith((b"define ", b"; ModuleID = "), at):
            return at, False
        else:
            at = _line_end(data, at)
    return at, False


def _diff_extent(data: bytes) -> Extent:
    """A diff has signs in front of its lines, and headings; colours of a terminal may stand around both.

    An empty line begins a block, so that a line of the program stands below it.
    """
    spans = [edge for match in _SIGNED.finditer(data) for edge in match.span()]
    return _joined(data, spans, None)


_COLOURS = rb"(?:\x1b\[[0-9;]*m)*"
_SIGNED = re.compile(
    rb"(?m)(?:^"
    + _COLOURS
    + rb"(?:\*\*\* IR for function |(?:[-+ ][ \t]*"
    + _COLOURS
    + rb"\r?\n"
    + _COLOURS
    + rb")?[-+ ](?:define |\}|; (?! )|"
    + _TOP
    + rb"|"
    + _NAME
    + rb":(?: +;|"
    + _COLOURS
    + rb"\r?$)|"
    + INSTRUCTION_OF_LLVM
    + rb"))[^\n]*(?:\n|\Z)|^\r?\n)+"
)

# ---------------------------------------------------------------- machine code
_MACHINE = re.compile(rb"^# Machine code for function ([^:\n]+):", re.MULTILINE)
# Comments, and lines that are neither indented nor numbered nor the head of a block: some of them are of a tool.
_MACHINE_LINE = re.compile(
    rb"(?m)^(?:(?P<comment>[ \t]*;(?! predecessors: ))|(?![ \t\r\n;]|bb\.\d|\d+B[ \t]|# (?:Machine|End machine) code ))"
    rb"[^\n]*\n"
)


def _mir_extent(data: bytes) -> Extent:
    spans: list[int] = []
    whole, at = True, 0
    while begin := _MACHINE.search(data, at):
        close = data.find(b"# End machine code for function " + begin[1] + b".", begin.end())
        at = len(data) if close < 0 else _line_end(data, close)
        whole = whole and close >= 0
        spans += [begin.start()]
        for line in _MACHINE_LINE.finditer(data, begin.start(), at):
            if line["comment"] is not None or _says_loss(line[0].strip().lower()):
                spans += line.span()
        spans += [at]
    return _joined(data, spans, whole if spans else None)


def _without(data: bytes, start: int, end: int, pattern: re.Pattern[bytes]) -> list[int]:
    """Return the range from `start` to `end` without the matches of a pattern, as ranges."""
    edges = [start]
    if pattern is _OUTSIDE and not _is_dirty(data, start, end):
        return [start, end]
    for match in pattern.finditer(data, start, end):
        edges += match.span()
    return [*edges, end]


# ---------------------------------------------------------------- MLIR
_ROOT = re.compile(
    rb'(?m)^(?:%[\w$.:, %-]+ = )?"?(?P<op>module|[a-z_]\w*(?:\.[\w$-]+)+)"?(?=[\s({<\[@])(?P<rest>[^\n]*)(?:\n|\Z)'
)
_HEADING = re.compile(rb"(?m)^// -----//[^\n]*(?:\n|\Z)")
_ABOVE = re.compile(rb"(?m)^[#!][A-Za-z_][\w.$-]* = [^\n]*\n")
# Below an operation are the aliases of its locations and its resources. Behind an empty line, aliases are those of
# another program, such as the output of the tool.
_TAIL = re.compile(
    rb"(?:[#!][A-Za-z_][\w.$-]* = [^\n]*(?:\n|\Z))*(?:(?:\r?\n)*\{-#\r?\n(?:[^\n]*\n)*?#-\}[^\n]*(?:\n|\Z))?(?:\r?\n)*"
)
# In the region of an operation that begins a line, lines are indented, are labels, or close and open regions.
_OUTSIDE = re.compile(rb"(?m)^(?:(?![ \t}^\r\n])[^\n]*|[ \t]*//[^\n]*)\n")
_DECLARED = (b"func.func", b"util.func", b"tt.func")  # without a region, these are private
_SYMBOL = re.compile(rb'@("[^"\n]*"|[\w.$-]+)')
_LOCATION_USED = re.compile(rb"\(#loc\d*\)|[\[, ]#loc\d*[\],)]")


def _mlir_extent(data: bytes, unit: str) -> Extent:
    root, stop = None, -1
    while root is None and stop < len(data):  # another heading ends what stands above it
        heading = _HEADING.search(data, stop + 1)
        stop = heading.start() if heading else len(data)
        root = root_operation(data, stop, unit)
    if root is None:
        spans = [edge for match in _ABOVE.finditer(data, 0, stop) for edge in match.span()]
        return _joined(data, spans, False if spans else None)
    spans = [edge for match in _ABOVE.finditer(data, 0, root.start()) for edge in match.span()]
    if not _opens(root[0]):
        end = root.end()
        spans += root.span()
        is_declared = root["op"] not in _DECLARED or b" private " in root[0] or b"{...}" in root[0]
        closed = root[0].endswith(b"\n") and is_declared
    else:
        end, closed = _region_end(data, root.end(), stop)
        spans += [root.start(), *_without(data, root.end(), end, _OUTSIDE)[1:]]
    if not closed:
        return _joined(data, spans, False)
    tail = _TAIL.match(data, end, stop)
    spans += tail.span() if tail else ()
    below = data[root.start() : root.start() + 200_000]
    return _joined(data, spans, None if b"#loc" in below or b"dense_resource<" in below else True)


def _is_dirty(data: bytes, start: int, end: int) -> bool:
    """Whether some line of a region is not of it; counting is faster than the search of a pattern."""
    left = data.count(b"\n", start - 1, end) - 1  # the last one ends the operation
    for first in (b" ", b"}", b"^", b"\n", b"\t", b"\r"):
        if left <= 0:
            break
        left -= data.count(b"\n" + first, start - 1, end)
    return left > 0 or b"//" in data[start:end]


def _opens(line: bytes) -> bool:
    """Whether a line ends with the brace of a region."""
    return line.rstrip().endswith(b"{")


def root_operation(data: bytes, stop: int, unit: str = "") -> re.Match[bytes] | None:
    """Return the line of the first operation: one with a region before one without, and the one that is asked for."""
    op, _, symbol = unit.partition(" @")
    names = [name.encode("utf-8", "surrogateescape") for name in (op.removeprefix("builtin."), op)]
    single: re.Match[bytes] | None = None
    at = 0
    while root := _ROOT.search(data, at, stop):
        if _opens(root[0]):
            if not op or root["op"] in (*names, b"module", b"builtin.module"):
                return root
            at = _region_end(data, root.end(), stop)[0]
            continue
        at = root.end()
        if single is None and _is_operation(root[0], symbol):
            single = root
    return single


def _is_operation(line: bytes, symbol: str) -> bool:
    """Whether a line without a region is an operation: it has a symbol, quotes or a type."""
    if symbol:
        return symbol.encode("utf-8", "surrogateescape") in line
    return line.startswith((b'"', b"%")) or _SYMBOL.search(line) is not None or b" : " in line


def _region_end(data: bytes, at: int, stop: int) -> tuple[int, bool]:
    """Return where the regions of an operation that begins a line end, and whether they are closed."""
    at -= 1
    while (at := data.find(b"\n}", at, stop)) >= 0:
        end = data.find(b"\n", at + 1, stop) + 1
        line = data[at + 1 : end or stop]
        if not _opens(line):
            return end or stop, bool(end) or line.rstrip() == b"}"
        at += 1
    return stop, False


# ---------------------------------------------------------------- GCC
_TREE_BEGIN = re.compile(rb"(?m)^(?![;{} \t\r\n])[^\n]*\([^\n]*\n\{\r?$")
# In the braces of a function, lines are indented, are labels or blocks, or are empty.
_NO_TREE = re.compile(rb"(?m)^(?![ \t{}<\r\n]|__|[\w.$]+ ?(?:\(|:)|;; )[^\n]*\n")
_NO_INSTRUCTION = re.compile(rb"(?m)^(?![ \t(\r\n])[^\n]*\n")
_QUOTED = re.compile(rb'"(?:[^"\\\n]|\\.)*"')


def _gcc_extent(data: bytes) -> Extent:
    """The headings of functions and the code below each; what a pass logs before its code is other output."""
    heads = list(GCC_FUNCTION.finditer(data))
    if not heads:
        return Extent((0, len(data)) if data else (), None)
    code = {start: end for _, start, end in split_gcc(data)}
    spans: list[int] = []
    whole = True
    for head, following in zip_longest(heads, heads[1:]):
        stop = following.start() if following is not None else len(data)
        spans += head.span()
        start = next((at for at in code if head.end() <= at < stop), None)
        if start is None:
            begins = list(_TREE_BEGIN.finditer(data, head.end(), stop))
            whole = whole and not begins
            spans += [begins[-1].start(), stop] if begins else []
            continue
        end = code[start] if code[start] == len(data) else _line_end(data, code[start])
        opens = _TREE_BEGIN.search(data, end, stop)  # a later form of the function, which does not end
        is_list = data[start : start + 1] == b"("  # instructions as lists, which close
        text = _QUOTED.sub(b"", data[start:end]) if is_list else b""
        whole = whole and opens is None and text.count(b"(") == text.count(b")")
        brace = data.find(b"\n{", start, end)
        inside = brace + 1 if brace >= 0 else start
        spans += [start, *_without(data, inside, end, _NO_TREE if brace >= 0 else _NO_INSTRUCTION)[1:]]
    return _joined(data, spans, whole)


# ---------------------------------------------------------------- HLO, Rust, Python, models
_ENTRY = re.compile(rb"(?ms)^ENTRY [^\n]*\{\r?$.*?^\}")


def _hlo_extent(data: bytes) -> Extent:
    entry = _ENTRY.search(data)
    if entry is None:
        return Extent((0, len(data)) if data else (), False if data.startswith(b"HloModule") else None)
    return Extent((0, len(data)), None if data[entry.end() :].strip() else True)


def _braces_extent(data: bytes) -> Extent:
    """A program of functions with braces: the last one that begins a line is closed, or it is cut off."""
    opened = data.rfind(b"{\n")
    return Extent((0, len(data)) if data else (), None if data.find(b"\n}", max(opened, 0)) >= 0 else False)


# What begins a line of TVM's scripts: what they import, decorators, classes, functions, and what stands below these.
_SCRIPT = re.compile(
    rb"(?:(?:from |import |@\w|class |def |# from |# import|# Metadata|metadata\b|[)\]}]|[ \t]+[^\s])[^\n]*(?:\n|\Z)"
    rb"|\r?\n){1,4000}"
)
_SCRIPT_BEGIN = re.compile(rb"(?m)^(?:from |import |@\w|class |def |# from |# import|metadata\b)")
_FUNCTION_BEGIN = re.compile(rb"(?m)^(?:    )?(?:@|def )")
_STATEMENT = re.compile(rb"(?m)^[ \t]+(?:[\w.]+(?:: [^=\n]+)? = |(?:return|with|for|if)\b|[TR]\.\w)")
_MOST_DROPPED = 400  # lines below a script, within other output


def _python_extent(data: bytes) -> Extent:
    """A script ends where it no longer parses with the lines below."""
    spans: list[int] = []
    begin = _SCRIPT_BEGIN.search(data)
    at = begin.start() if begin else len(data)
    while at < len(data):
        lines = _SCRIPT.match(data, at)
        if lines:
            spans += lines.span()
        at = lines.end() if lines else _line_end(data, at)
    whole = _joined(data, spans, None)
    if len(spans) <= 2 and not _has_odd_line(data):
        return whole
    if _parses(whole, data):
        return whole
    for _ in range(_MOST_DROPPED):  # the last lines may be other output, as far as they look like a script
        if len(spans) < 2:
            break
        last = data.rfind(b"\n", spans[-2], spans[-1] - 1) + 1
        spans[-1] = last
        if last <= spans[-2]:
            del spans[-2:]
        if spans and _parses(shorter := _joined(data, spans, None), data):
            return Extent(shorter.spans, False if _STATEMENT.search(data, spans[-1]) else None)
    return Extent(whole.spans, False)


def _has_odd_line(data: bytes) -> bool:
    """Whether the last function does not parse, with what stands below it."""
    begins = [match.start() for match in _FUNCTION_BEGIN.finditer(data)]
    last = data[begins[-1] :] if begins else b""
    text = b"class _:\n" + last if last.startswith(b" ") else last
    return not _parses(Extent((0, len(text)), None), text)


def _parses(extent: Extent, data: bytes) -> bool:
    pairs = zip(extent.spans[::2], extent.spans[1::2], strict=True)
    return parsed_script(b"".join([data[start:end] for start, end in pairs])) is not None


_SCANNERS: dict[str, Callable[[bytes], Extent]] = {
    "mir": _mir_extent,
    "hlo": _hlo_extent,
    "rust": _braces_extent,
    "python": _python_extent,
    "gcc tree": _gcc_extent,
    "gcc rtl": _gcc_extent,
    "gcc ipa": lambda _: Extent((), None),  # the report of an interprocedural pass: other output
}
