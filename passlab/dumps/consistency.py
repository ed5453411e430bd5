"""Whether a text is a program, or something is missing in it: brackets close, and names that it uses are defined.

    define i32 @f(i32 %0) {
      %2 = add i32 %0, 1
      %5 = mul i32 %4, 2          here %3 and %4 are gone
      ret i32 %5
    }

A disk or a tool that keeps logs may lose bytes and say nothing. Where two programs then become one, the second half
uses values that the first does not define, or the numbers of values jump.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterable

_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|;[^\n]*')
_PAIRS = (b"{}", b"()", b"[]")
# ---------------------------------------------------------------- LLVM
_HEAD = re.compile(rb"(?m)^define [^\n]*")
_NUMBER = re.compile(rb"%(\d+)\b")
_NUMBERED = re.compile(rb"\n(?:  %|; <label>:)?(\d+)(?: = |:)")
_WORD = rb"([A-Za-z_.$-][-\w$.]*|\"[^\"\n]*\")"
_NAMED = re.compile(rb"\n  %" + _WORD + rb" = ")
_NAME = re.compile(rb"%" + _WORD)
_LABEL = re.compile(rb"\n(?:; <label>:)?(\d+|" + _WORD[1:] + rb":")
_TARGET = re.compile(rb"label %(\d+|" + _WORD[1:])
_USED = re.compile(rb"\b(?:ptr|i\d+|float|double|half|bfloat) %" + _WORD)  # no type stands in these places
_BEHIND_END = re.compile(rb"\n  (?:ret|br|unreachable|indirectbr|resume)\b[^\n]*\n  (?=[%a-z])")  # of a block
_GROUP = re.compile(rb"(?m)^attributes #(\d+) = ")
_METADATA = re.compile(rb"(?m)^!(\d+) = ")
_NAMED_METADATA = re.compile(rb"(?m)^![a-zA-Z]")
# ---------------------------------------------------------------- MLIR
_RESULTS = re.compile(rb"\n *(%[^=\n]+) = ")
_RESULT = re.compile(rb"%[\w.$-]+")
_VALUE = re.compile(rb"%(?:\d+|c\d\w*|cst\w*|true\w*|false\w*)(?![\w.$-])")  # these are results of operations
_COMMENTS = re.compile(rb"(?<! ) +// [^\n]*")
_BLOCK_LINE = re.compile(rb"(?m)^ *(\^[^\n]*)")
_BLOCK = re.compile(rb"\^\w+")
_BLOCK_HEAD = re.compile(rb"(?m)^ *(\^\w+)")
# ---------------------------------------------------------------- machine code
_BB = re.compile(rb"%(bb\.\d+)")
_BB_HEAD = re.compile(rb"(?m)^(?:\d+B[ \t]*)?(bb\.\d+)")
_GIVEN = frozenset(("T", "R", "I", "cls", "tvm", "self", "metadata", *dir(builtins)))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMING = (*_FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def is_consistent(name: str, data: bytes, language: str, whole: bytes = b"") -> bool:
    """Whether nothing seems to be missing in a part of a program: a function, an operation, the rest of a module.

    `whole` is the program around the rest of a module.
    """
    if language == "llvm":
        return _closes(data) and (_llvm_function(data) if b"define " in data else _llvm_rest(data, whole or data))
    if language == "mlir":  # what stands in a function uses the values of the function
        is_function = name.rpartition("/")[2].partition(" @")[0].endswith((".func", ".initializer"))
        return ("/" in name or _closes(data)) and (not is_function or _mlir(data))
    if language == "mir":
        return set(_BB.findall(data)) <= set(_BB_HEAD.findall(data))
    return _python(data) if language == "python" else True


def _closes(data: bytes) -> bool:
    """Whether each kind of bracket opens as often as it closes."""
    if all(data.count(pair[:1]) == data.count(pair[1:]) for pair in _PAIRS):
        return True
    text = _STRING.sub(b"", data)
    return all(text.count(pair[:1]) == text.count(pair[1:]) for pair in _PAIRS)


def _llvm_function(data: bytes) -> bool:
    head = _HEAD.search(data)
    if head is None:
        return True
    body = data[head.end() :]
    if _BEHIND_END.search(body):
        return False
    numbers = [int(one) for one in _NUMBERED.findall(body)]
    entry = len({*_NUMBER.findall(head[0])})  # the number of the first block, unless it has a name
    expected = entry if numbers[:1] == [entry] else entry + 1
    if numbers != list(range(expected, expected + len(numbers))):  # all numbers below the last are then defined
        return False
    labels = {b"%d" % entry, *_LABEL.findall(body)}
    if not {*_TARGET.findall(body)} <= labels:
        return False
    named = _NAMED.findall(body)
    if not named and {*_NAME.findall(body)} <= labels:
        return True
    defined = {*named, *_NAME.findall(head[0])}
    return len(named) == len({*named}) and {*_USED.findall(body)} <= defined


def _llvm_rest(data: bytes, whole: bytes) -> bool:
    """Whether groups of attributes and metadata are numbered in order, unless somebody kept only some of them.

    LLVM leaves out the number of a node that nothing in the program uses.
    """
    for pattern, sign in ((_GROUP, b"#"), (_METADATA, b"!")):
        numbers = [int(one) for one in pattern.findall(data)]
        is_whole = numbers[:1] == [0] or (pattern is _METADATA and _NAMED_METADATA.search(data))
        if not is_whole or numbers == list(range(len(numbers))):
            continue
        missing = set(range(max(numbers, default=0))).difference(numbers)
        if numbers != sorted(set(numbers)) or any(re.search(rb"%s%d\b" % (sign, one), whole) for one in missing):
            return False
    return True


def _mlir(data: bytes) -> bool:
    data = b"\n" + data
    defined = set(_RESULT.findall(b" ".join(_RESULTS.findall(data))))
    if b" // " in data:  # predecessors of blocks, users of values, and numbers of operations without a value
        data = _COMMENTS.sub(b"", data)
    if b"^" in data:
        defined.update(_VALUE.findall(b" ".join(_BLOCK_LINE.findall(data))))
        if not set(_BLOCK.findall(data)) <= set(_BLOCK_HEAD.findall(data)):
            return False
    return defined.issuperset(_VALUE.findall(data))


def parsed_script(data: bytes) -> ast.Module | None:
    """Return the syntax tree of a script of Python, None for a text that is not a script."""
    try:
        with warnings.catch_warnings():
            # Of literals that Python will no longer take: the text is no program of ours.
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _python(data: bytes) -> bool:
    """Whether each function of a script uses only names that it, or the script, binds."""
    tree = parsed_script(data)
    if tree is None:
        return False
    outside: list[ast.AST] = [tree]  # what is not in a function
    functions: list[ast.AST] = []
    for node in outside:
        for child in ast.iter_child_nodes(node):
            (functions if isinstance(child, _FUNCTIONS) else outside).append(child)
    given = _GIVEN | _bound(outside) | _bound(functions)
    if "*" in given:  # imported: any name may be bound
        return True
    for function in functions:
        inside = list(ast.walk(function))  # with the functions in it
        used = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        if not used <= given | _bound(inside):
            return False
    return True


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are assigned, imported, declared, or parameters."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, _NAMING):
            names.add(node.name or "")
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names
