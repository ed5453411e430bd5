"""Declarations of symbols that a program uses and no dump defines, so that the host's tools accept the program.

A dump of single functions has neither the functions that they call nor their globals. The uses of a symbol determine
its type: calls in LLVM and MLIR have the types of operands and results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SYMBOL = r'"[^"\n]*"|[-\w.$]+'
_COMMENT_OR_TEXT = re.compile(r'(?<![@%])"[^"\n]*"|;[^\n]*')
_DEFINED = re.compile(rf"(?m)^(?:(?:define|declare)\b[^@\n]*)?@({_SYMBOL})(?= = |\()")
_CALLED = re.compile(rf"\b(?:call|invoke|callbr)\b(?P<head>[^@\n]*?)@(?P<name>{_SYMBOL})\(")
_USED = re.compile(rf"@({_SYMBOL})")
_IN_THREADS = re.compile(rf"@llvm\.threadlocal\.address\b[^\n(]*\([^\n@]*@({_SYMBOL})")
_ATTRIBUTES = re.compile(r"(?: (?:[a-z]+|[a-z]+\(\d+\)|align \d+))+\Z")  # of a parameter, behind its type
_TYPE = re.compile(r'(?:%[-\w.$]+|%"[^"\n]*"|[a-z]\w*)(?: addrspace\(\d+\))?\**')
_STRUCTURES = re.compile(r'%(?:struct|class|union)\.[-\w.$]+|%"(?:struct|class|union)\.[^"\n]*"')
_CLOSING = {"{": "}", "[": "]", "<": ">", "(": ")"}


def declared_llvm(text: str) -> list[str]:
    """Return a declaration for each function and global that a program of LLVM uses without defining it."""
    plain = _COMMENT_OR_TEXT.sub("", text)
    definitions = {match[1] for match in _DEFINED.finditer(plain)}
    in_threads = set(_IN_THREADS.findall(plain))
    lines: dict[str, str] = {}
    for match in _CALLED.finditer(plain):
        if match["name"] not in definitions:
            end = _closing_index(plain, match.end() - 1)
            line = _declaration(match["head"].strip(), match["name"], plain[match.end() : end - 1])
            lines.setdefault(match["name"], line)
    for match in _USED.finditer(plain):
        name = match[1]
        if name not in definitions and name not in lines:
            line = plain[plain.rfind("\n", 0, match.start()) + 1 : match.start()].rstrip()
            kind = _last_type(_ATTRIBUTES.sub("", line[_last_part_start(line) :].strip()))
            where = "thread_local " if name in in_threads else ""
            if kind.endswith(")*"):  # a typed pointer to a function, in older versions
                start = _opening_index(kind, len(kind) - 2)
                lines[name] = f"declare {kind[:start].rstrip()} @{name}{kind[start:-1]}"
            else:
                lines[name] = f"@{name} = external {where}global {kind[:-1] if kind.endswith('*') else 'i8'}"
    return list(lines.values())


def unknown_type(text: str) -> str:
    """Return a structure that a program of LLVM uses and does not define; empty for none."""
    plain = _COMMENT_OR_TEXT.sub("", text)
    return next((name for name in _STRUCTURES.findall(plain) if f"\n{name} = type" not in "\n" + plain), "")


def _declaration(head: str, name: str, arguments: str) -> str:
    if head.endswith(")") and "..." in head:  # the type of the function is written out: `i32 (ptr, ...)`
        start = head.rindex("(")
        return f"declare {_last_type(head[:start].rstrip())} @{name}{head[start:]}"
    taken = [_first_type(argument) for argument in _split_list(arguments)]
    return f"declare {_last_type(head)} @{name}({', '.join(taken)})"


def _first_type(text: str) -> str:
    text = text.strip()
    end = _closing_index(text, 0) if text[:1] in _CLOSING else _match_end(_TYPE.match(text))
    while text[end : end + 1] == "*" or text[end : end + 2] == " (":
        end = end + 1 if text[end] == "*" else _closing_index(text, end + 1)
    return text[:end] or "ptr"


def _last_type(text: str) -> str:
    """Return the type at the end of the text before a name, after attributes and calling conventions."""
    bare = text.rstrip("*")
    if bare[-1:] != ")":
        return _value_type(text)
    start = _opening_index(bare, len(bare) - 1)
    head = bare[:start].rstrip()
    if head.endswith("addrspace"):
        return _value_type(text)
    return text[len(head) - len(_value_type(head)) :]  # the type of a function


def _value_type(text: str) -> str:
    bare = text.rstrip("*")
    if bare[-1:] in ("}", "]", ">"):
        return text[_opening_index(bare, len(bare) - 1) :]
    hits = [match[0] for match in _TYPE.finditer(text) if match.end() == len(text)]
    return hits[-1] if hits else "void"


def _last_part_start(line: str) -> int:
    """Return the start of the last part of a line: after the last comma or opening bracket on the level of its end."""
    depth = 0
    for at in range(len(line) - 1, -1, -1):
        char = line[at]
        if char in _CLOSING.values():
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        if depth < 0 or (char == "," and not depth):
            return at + 1
    return 0


def _match_end(match: re.Match[str] | None) -> int:
    return match.end() if match else 0


def _opening_index(text: str, end: int) -> int:
    """Return the index of the bracket that the one at `end` closes."""
    starts = (at for at in range(end) if text[at] in _CLOSING and _closing_index(text, at) == end + 1)
    return next(starts, 0)


def _closing_index(text: str, start: int) -> int:
    """Return the index after the bracket that closes the one at `start`."""
    waiting: list[str] = []
    for at in range(start, len(text)):
        char = text[at]
        if char in _CLOSING:
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at + 1
    return len(text)


def _split_list(text: str) -> Iterator[str]:
    """Yield the parts of a list between commas outside of brackets."""
    start = at = 0
    while at < len(text):
        if text[at] == ",":
            yield text[start:at]
            start = at + 1
        at = _closing_index(text, at) if text[at] in _CLOSING else at + 1
    if text[start:].strip():
        yield text[start:]


# Uses of symbols in MLIR, with the declaration that follows from the type in the use.
_MLIR_USES = (
    (re.compile(r"(?<![\w.])(?:func\.)?call @([\w.$-]+)\([^\n]*?\) : (\([^\n]*)"), "func.func private @{}{}"),
    (re.compile(r"\bllvm\.call @([\w.$-]+)\([^\n]*?\) : (\([^\n]*)"), "llvm.func @{}{}"),
    (re.compile(r"\bmemref\.get_global @([\w.$-]+) : (memref<[^\n]*)"), 'memref.global "private" @{} : {}'),
    (re.compile(r"\bllvm\.mlir\.addressof @([\w.$-]+) : (!llvm\.ptr)"), "llvm.mlir.global external @{}() : i8"),
    (re.compile(r"\bconstant @([\w.$-]+) : (\([^\n]*)"), "func.func private @{}{}"),
)
_LOCATION = re.compile(r" loc\([^\n]*\)\Z")


def declared_mlir(text: str) -> dict[str, str]:
    """Return by symbol a line that declares it, for the uses in a program of MLIR that determine its type."""
    lines: dict[str, str] = {}
    for pattern, declaration in _MLIR_USES:
        for match in pattern.finditer(text):
            kind = _LOCATION.sub("", match[2].rstrip()).removesuffix(" -> ()")
            lines.setdefault(match[1], declaration.format(match[1], kind))
    return lines
