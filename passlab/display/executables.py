"""The view of an executable: its functions instruction by instruction, its constants and its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from passlab.display.module import module_view
from passlab.display.parts import Embedded, Fold, Part, PartsView, Rows, Sentence
from passlab.errors import counted
from passlab.table import Table
from passlab.vm.executable import Executable, VMFunction

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("function", "pc", "instruction")


class ExecutableView(PartsView):
    """An executable, listed."""

    kind = "executable"

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
            yield Fold(_head(function), [Rows(_listing(function))])
        if exe.constants:
            yield Fold(counted(len(exe.constants), "constant"), [Rows(_constants(exe))])
        for name, kernel in zip(exe.kernel_names, exe.kernel_functions, strict=True):
            yield Fold(f"kernel {name}", [Embedded(module_view(kernel))])

    def frame(self) -> pd.DataFrame:
        """Return one row per instruction."""
        functions = self.executable.functions
        rows = [(f"@{f.name}", pc, str(i)) for f in functions for pc, i in enumerate(f.instructions)]
        return Table(_COLUMNS, rows).frame()


def executable_view(executable: Executable) -> ExecutableView:
    """Return the view of an executable of the virtual machine."""
    return ExecutableView(executable)


def _head(function: VMFunction) -> str:
    size = counted(function.register_file_size, "register")
    count = counted(len(function.instructions), "instruction")
    return f"@{function.name}({', '.join(function.params)}): {count}, {size}"


def _listing(function: VMFunction) -> Table:
    return Table(("pc", "instruction"), [(pc, str(i)) for pc, i in enumerate(function.instructions)])


def _constants(exe: Executable) -> Table:
    rows: list[tuple[Any, ...]] = []
    for number, value in enumerate(exe.constants):
        if value is None:
            rows.append((number, exe.late_bound.get(number, ""), "", "bound later"))
        else:
            text = str(value) if value.ndim == 0 else ""
            rows.append((number, value.dtype.name, f"({', '.join(map(str, value.shape))})", text))
    return Table(("constant", "dtype", "shape", "value"), rows)


__all__ = ["ExecutableView", "executable_view"]
