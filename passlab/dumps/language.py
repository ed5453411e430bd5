"""The languages of dumps: how each splits into units, and its names, operations, noise and lexer.

A `Language` splits a body into units (functions, operations with symbols), normalizes their texts for comparison across
scopes, and has the regular expressions of its names and operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from passlab.diffing.text_lines import Syntax
from passlab.dumps import folders, llvm, mlir

Part = tuple[str, tuple[int, ...], bytes]  # name, ranges of the body, text to compare by
HEAD = "/(aliases)"  # the end of the name of what stands above and below an operation of MLIR: no part of it
WHOLE = ""  # the unit of globals and declarations, and of a body that is not split


@dataclass(frozen=True)
class Language:
    """One textual representation of programs."""

    name: str
    syntax: Syntax
    lexer: str  # of Pygments
    parts: Callable[[bytes], Iterator[Part]]


def _whole(data: bytes) -> Iterator[Part]:
    yield WHOLE, (0, len(data)), data


def _functions(
    data: bytes, split: Callable[[bytes], list[tuple[str, int, int]]], normal: Callable[[bytes], bytes]
) -> Iterator[Part]:
    """Yield the functions of a body and, as one part, the text between them."""
    at = 0
    rest: list[int] = []
    for name, start, end in split(data):
        if start > at:
            rest += [at, start]
        yield name, (start, end), normal(data[start:end].strip(b"\n"))
        at = end
    if at < len(data):
        rest += [at, len(data)]
    text = b"".join([data[rest[i] : rest[i + 1]] for i in range(0, len(rest), 2)])
    if text.strip():
        yield WHOLE, tuple(rest), normal(text)


def _llvm_parts(data: bytes) -> Iterator[Part]:
    return _functions(data, llvm.split_ir, llvm.without_numbers)


def _mir_parts(data: bytes) -> Iterator[Part]:
    return _functions(data, llvm.split_mir, llvm.without_slots)


def _gcc_parts(data: bytes) -> Iterator[Part]:
    for name, start, end in folders.split_gcc(data):
        yield name, (start, end), _without_remarks(data[start:end])


def _without_remarks(data: bytes) -> bytes:
    return b"\n".join([line for line in data.split(b"\n") if line.strip() and not line.startswith(b";;")])


# The address of a graph, and in front of its class the file that its code has.
_GRAPH_ID = re.compile(rb"(?m)^\s*# graph id: \d+\s*$|^[^\n#]*?(?=class [\w.]+\(torch\.nn\.Module\):)")


def _torch_parts(data: bytes) -> Iterator[Part]:
    yield WHOLE, (0, len(data)), _GRAPH_ID.sub(b"", data).strip()


_LOC = re.compile(rb" loc\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)|#loc\d*\b")
_DIALECT = re.compile(rb"[#!][A-Za-z_][\w.$-]*(?=<)")  # the printer omits it where the context determines the attribute
# IREE's driver counts its iterations in these attributes.
_DRIVER = re.compile(rb"iree\.fixedpoint\.\w+(?: = [^,}]*)?(?:, )?| attributes \{\}")


def _mlir_parts(data: bytes) -> Iterator[Part]:
    """Yield the operations with symbols, each without the text of the operations nested in it."""
    ops = mlir.split_ops(data)
    aliases = mlir.aliases_of(data)
    if not ops:
        yield WHOLE, (0, len(data)), mlir.replace_aliases(data.strip(), aliases)
        return
    holes: list[list[int]] = [[] for _ in ops]
    stack: list[int] = []
    for number, (_, start, end, _) in enumerate(ops):
        while stack and ops[stack[-1]][2] <= start:
            stack.pop()
        if stack:
            holes[stack[-1]] += [start, min(end, ops[stack[-1]][2])]
        stack.append(number)
    for (path, start, end, indent), inner in zip(ops, holes, strict=True):
        edges = [start, *inner, end]
        pairs = [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]
        text = mlir.dedent(b"".join([data[a:b] for a, b in pairs]), indent)
        if b"iree.fixedpoint." in text:
            # Twice, since the first time may leave an empty `attributes {}`.
            text = _DRIVER.sub(b"", _DRIVER.sub(b"", text))
        if b"#" in text or b"!" in text:
            text = _DIALECT.sub(b"", mlir.replace_aliases(text, aliases))
        if b" loc(" in text:
            text = _LOC.sub(b"", text)
        if text.startswith(b'"'):
            text = mlir.renumber(text)
        yield path, tuple(x for pair in pairs for x in pair), text.strip(b"\n").removeprefix(b"builtin.")
    begin, end = ops[0][1], max(one[2] for one in ops)
    around = b"".join([data[:begin], data[end:]])
    if around.strip():
        yield ops[0][0] + HEAD, (0, begin, end, len(data)), around


LLVM = Language(
    "llvm",
    Syntax(
        "llvm",
        names=r'%[-\w.$]+|%"[^"\n]*"|[!#]\d+\b|^[-\w.$]+(?=:)',
        comment=";",
        operation=r"^\s*(?:%\S+ = )?(?:(?:tail|musttail|notail) )?([a-z][\w.]*)",
        label="%",
        function=r"define ",
    ),
    "llvm",
    _llvm_parts,
)
MIR = Language(
    "mir",
    Syntax(
        "mir",
        names=r"%[\w.:]+|\bbb\.\d+\b|%stack\.\d+|^\d+B",
        comment=";",
        operation=r"^(?:\d+B)?\s*(?:.*? = )?(?:(?:nofpexcept|frame-setup|frame-destroy|n[su]w|exact|disjoint|nneg) )*"
        r"([A-Z][A-Za-z0-9_]+)",
        function="# Machine code for function ",
    ),
    "llvm-mir",
    _mir_parts,
)
MLIR = Language(
    "mlir",
    Syntax(
        "mlir",
        names=r"%[-\w.$]+(?:[:#]\d+)?|\^[\w$.-]+|#(?:map|set|loc|alias|composite_of|executable_target|pipeline_layout)\w*",
        comment="//",
        operation=r'^\s*(?:%[^=]*= )?"?([a-z_]\w*(?:\.[\w.]+)+|return|module)"?',
        function=r'\s*"?\w[\w.]*\.(?:func|initializer|global|executable)\b',
    ),
    "mlir",
    _mlir_parts,
)
HLO = Language(
    "hlo",
    Syntax(
        "hlo",
        names=r"%?[a-z_][-\w]*\.\d+(?:\.\w+)*|%[-\w.]+",
        comment="//",
        operation=r"^\s*(?:ROOT )?%?\S+ = .*?\)?\s([a-z][-a-z0-9]*)\(",
        function=r"(?:ENTRY )?%?[-\w.]+ .*\{\Z",
    ),
    "mlir",
    _whole,
)
PYTHON = Language(
    "python",
    Syntax(
        "python",
        names=r"(?<![\w.\"'])[A-Za-z_]\w*(?=\s*(?:[:=](?!=)))|\b(?:lv|gv|cls|v_ax|v_i|ax|i|cse_v|alloc|storage|R\.prim_value)\d*(?:_\d+)*\b",
        comment="#",
        operation=r"(?:=|return|^)\s*((?:[A-Za-z_]\w*\.)+[a-z_]\w*)\(",
        function=r"\s*def ",
    ),
    "python",
    _whole,
)
FX = Language(
    "fx",
    Syntax(
        "fx",
        names=r"%[\w.]+",
        comment="#",
        operation=r"\[target=([\w.]+)\]|= (placeholder|get_attr)\[|^\s*(return)\b",
    ),
    "python",
    _whole,
)
TORCH = Language(  # a graph as a module of Python, as `print_readable` prints it
    "torch",
    Syntax(
        "torch",
        names=r"(?<![\w.\"'])[A-Za-z_]\w*(?=: \"| = (?!=))"
        r"|(?<=[(\[, ])(?!None\b|True\b|False\b|self\b)[A-Za-z_]\w*(?=[,)\]])",
        comment="#",
        operation=r"= ((?:torch\.)?[A-Za-z_][\w.]*)\(|^\s*(return)\b",
        function=r"\s*def ",
    ),
    "python",
    _torch_parts,
)
GCC = Language(
    "gcc",
    Syntax(
        "gcc",
        names=r"\b\w*_\d+(?:\(D\))?|\bD\.\d+|<bb \d+>|<L?\d+>|\br?\d+:",
        comment=";;",
        operation=r"= ?(?:\(\w+\) )?([a-z_]\w*) ?\(|^\s*(if|return|goto)|\((set|parallel|jump_insn|insn|call_insn)\b",
        function=";; Function ",
    ),
    "c",
    _gcc_parts,
)
RUST = Language(
    "rust",
    Syntax(
        "rust",
        names=r"\b_\d+\b|\bbb\d+\b|\bscope \d+",
        comment="//",
        operation=r"= ([A-Za-z]\w*)\(|^\s*(goto|return|switchInt|drop|assert|StorageLive|StorageDead|unreachable)",
        function=r"(?:\w+ )*fn ",
    ),
    "rust",
    _whole,
)
# Assembly and machine code are whole programs; no unit of them has the name of one of the languages above.
_ASM_NAMES = r"%[\w.]+|\$?\.?L\w+|(?<![\w.])[vs]\d+\b|(?<![\w.])[vs]\[\d+:\d+\]|\b[RP]\d+\b|\bU[RP]\d+\b"
ASM = Language(
    "asm",
    Syntax("asm", names=_ASM_NAMES, comment="//", operation=r"^\s*(?:@!?%\w+\s+)?([a-z]\w*(?:\.\w+)*)(?=[\s;]|$)"),
    "ptx",
    lambda data: iter([("assembly", (0, len(data)), data.strip())]),
)
SASS = Language(
    "sass",
    Syntax("sass", names=_ASM_NAMES, comment="//", operation=r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)"),
    "ptx",
    lambda data: iter([("SASS", (0, len(data)), data.strip())]),
)
ONNX = Language("onnx", Syntax("onnx", names=r"%[^\s,)(:]+", comment="//", operation=r"= ([\w.]+)\("), "mlir", _whole)
TEXT = Language("text", Syntax("text", names=r"(?!)", comment="#", operation=r"^\s*([A-Za-z_]\w*)"), "text", _whole)
LANGUAGES = {
    language.name: language for language in (LLVM, MIR, MLIR, HLO, PYTHON, FX, TORCH, GCC, RUST, ASM, SASS, ONNX, TEXT)
} | {
    "gcc tree": GCC,
    "gcc rtl": GCC,
    "gcc ipa": GCC,
}
