"""The view of an executable: its functions instruction by instruction, its constants and its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from passlab import limits
from passlab.debugger.code_map import CodeMap
from passlab.debugger.trace import recorded_code
from passlab.display.nodes import Links, number_of
from passlab.display.protocol.programs import ModuleData
from passlab.display.rows import Rows
from passlab.display.text.listing import Line, LineTable, Token
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Embedded, Fold, Part, Sentence
from passlab.display.views.module import module_view
from passlab.errors import counted, visible
from passlab.table import Table
from passlab.vm.executable import Executable, VMFunction

_COLUMNS = ("function", "pc", "instruction")
_INSTRUCTION = 8  # the column where an instruction begins, behind its number
_WORDS = re.compile(r"\$\d+|@[\w.]+|Const\[\d+\]|[A-Za-z_]\w*")


class ExecutableView(View):
    """An executable, listed."""

    kind = "executable"
    script = "module"

    def __init__(self, executable: Executable) -> None:
        self.executable = executable

    @property
    def title(self) -> str:
        """How many functions, instructions, constants and kernels there are."""
        exe = self.executable
        instructions = sum(len(function.instructions) for function in exe.functions)
        counts = ((len(exe.functions), "function"), (instructions, "instruction"), (len(exe.constants), "constant"))
        kernels = counted(len(exe.kernel_names), "kernel")
        return f"Executable: {', '.join([*(counted(*count) for count in counts), kernels])}"

    def parts(self) -> Iterable[Part]:
        exe = self.executable
        yield Sentence(self.title, "muted")
        for function in exe.functions:
            yield Fold(
                _head(function),
                [Rows(Table(("pc", "instruction"), [(pc, str(i)) for pc, i in enumerate(function.instructions)]))],
            )
        if exe.constants:
            yield Fold(counted(len(exe.constants), "constant"), [Rows(_constants(exe))])
        for name, kernel in zip(exe.kernel_names, exe.kernel_functions, strict=True):
            yield Fold(f"kernel {name}", [Embedded(module_view(kernel))])

    def data(self) -> ModuleData:
        most = limits.current().shown_lines
        table, code = LineTable(), self._code
        links = None if code.recording is None else Links(code.recording)
        rows: list[int] = []
        nodes: list[list[int]] = []
        chosen: list[list[int]] = []
        for line, point in islice(self._lines(), most):
            rows.append(table.add(line))
            own = [] if point is None else code.nodes(point)
            nodes.append([number_of(node) for node in own])
            chosen.append([] if point is None else [number_of(node) for node in code.sources(point)])
            if links is not None:
                for node in own:
                    links.add_node(node)
        left_out = max(0, sum(len(function.instructions) + 2 for function in self.executable.functions) - most)
        return {
            "kind": self.kind,
            "title": self.title,
            "rows": rows,
            "nodes": nodes,
            "chosen": chosen,
            "left_out": left_out,
            "links": links.data(lambda rule: table.text(visible(rule))) if links is not None else [],
            "lines": table.lines,
            "texts": table.texts,
        }

    @cached_property
    def _code(self) -> CodeMap:
        """The instructions, with the recording of their compilation: a selection has nodes of the source program."""
        return recorded_code(self.executable)

    def _lines(self) -> Iterator[tuple[Line, int | None]]:
        """Yield each line of the listing, and the number of its instruction."""
        code = self._code
        for number, function in enumerate(self.executable.functions):
            head = f"{_head(function)} {{"
            yield Line(head, (Token(0, head.index("("), "global", None, None),), None, None), None
            for point in range(code.offsets[number], code.offsets[number + 1]):
                text = f"  {code.pc[point]:>4}  {code.text(point)}"
                tokens = tuple(self._tokens(text, len(code.functions) == 1))
                yield Line(text, tokens, None, None), point
            yield Line("}", (), None, None), None

    def _tokens(self, text: str, only: bool) -> Iterator[Token]:
        """Yield the tokens of an instruction. Registers are names only if there is a single function."""
        for match in _WORDS.finditer(text):
            word, kind = match[0], "constant"
            if word.startswith("$"):
                if not only:
                    continue
                kind = "use"
            elif word.startswith("@"):
                kind = "global"
            elif match.start() == _INSTRUCTION:
                kind = "op" if word in self._kernels else "keyword"
            elif not word.startswith("Const["):
                continue
            yield Token(match.start(), match.end(), kind, None, None)

    @cached_property
    def _kernels(self) -> frozenset[str]:
        return frozenset(self.executable.kernel_names)

    def source(self) -> HasFrame:
        """Return one row per instruction."""
        functions = self.executable.functions
        rows = [(f"@{f.name}", pc, str(i)) for f in functions for pc, i in enumerate(f.instructions)]
        return Table(_COLUMNS, rows)


@checked_view(Executable, hint="relay.vm.compile(mod) returns one")
def executable_view(executable: Executable) -> ExecutableView:
    """Return the view of an executable of the virtual machine.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> print(display.executable_view(exe).text().splitlines()[0])
    Executable: 1 function, 8 instructions, 2 constants, 1 kernel
    """
    return ExecutableView(executable)


def _head(function: VMFunction) -> str:
    size = counted(function.register_file_size, "register")
    count = counted(len(function.instructions), "instruction")
    return f"@{function.name}({', '.join(function.params)}): {count}, {size}"


def _constants(exe: Executable) -> Table:
    rows: list[tuple[Any, ...]] = []
    for number, value in enumerate(exe.constants):
        if value is None:
            rows.append((number, exe.late_bound.get(number, ""), "", "bound later"))
        else:
            text = str(value) if value.ndim == 0 else ""
            rows.append((number, value.dtype.name, f"({', '.join(map(str, value.shape))})", text))
    return Table(("constant", "dtype", "shape", "value"), rows)
