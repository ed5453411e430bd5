"""Load the extension into a shell, and unload it.

The file begins with the hooks of a shell and its kernel for completion and inspection.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError
from IPython.core.magic import cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

from passlab.atomic_file import write_text
from passlab.errors import Diagnostic, DumpError
from passlab.instrument.presenter import Presenter
from passlab.notebook import formatters
from passlab.notebook import lazy_modules as rooms
from passlab.notebook.fault_magics import FaultMagics, ModelMagics
from passlab.notebook.magics import RelayMagics
from passlab.notebook.naming import NamedMagics, options_of


def _is_asked(text: str) -> bool:
    """Whether a cell begins with a magic; passlab ignores all others."""
    return text.lstrip().startswith("%")


def register_completion(shell: Any, magics: Any) -> Any:
    """Add the completer to a shell and return it; None if IPython is too old to have matchers (before 8.6)."""
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:
        return None

    @context_matcher(identifier="passlab")  # type: ignore[misc, unused-ignore]
    def matcher(context: Any) -> Any:
        text = context.full_text
        if not _is_asked(text):
            return {"completions": [], "suppress": False}
        before = _text_before(text, context.cursor_line, context.cursor_position)
        choices, fragment = rooms.completion.candidates(text, before, shell.user_ns)
        results = [SimpleCompletion(name, type=kind) for name, kind in choices]
        return {"completions": results, "suppress": bool(results), "matched_fragment": fragment}

    shell.Completer.custom_matchers.append(matcher)
    return matcher


def unregister_completion(shell: Any, matcher: Any) -> None:
    """Take the completer out again."""
    if matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(matcher)


def _text_before(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:line], lines[line][:column]]) if line < len(lines) else text


def register_inspection(shell: Any) -> Callable[[], None] | None:
    """Let the kernel of a shell describe operators and passes; return the undo function, None without a kernel."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return None
    others = kernel.do_inspect

    def do_inspect(code: str, cursor_pos: int, *args: Any, **options: Any) -> Any:
        text = rooms.completion.describe(code, cursor_pos) if _is_asked(code) else None
        if text is None:
            return others(code, cursor_pos, *args, **options)
        return {"status": "ok", "found": True, "data": {"text/plain": text}, "metadata": {}}

    kernel.do_inspect = do_inspect

    def take_out() -> None:
        if kernel.__dict__.get("do_inspect") is do_inspect:
            kernel.do_inspect = others

    return take_out


# The magics for other compilers: `%dump` opens a dump, `%%llvm` and `%%mlir` run a compiler on the cell and record
# it.

_IR_STARTS = ("define ", "declare ", "target ", "; ModuleID")
_OWN = ("--out", "--tool", "--passes")  # options of the magics, each with a value
VERSIONS = range(30, 12, -1)  # of LLVM, as distributions name its tools: clang-22


@magics_class
class DumpMagics(NamedMagics):
    """The magics that record other compilers."""

    @no_var_expand
    @magic_arguments()
    @argument("path", help="a file or folder with the pass dump of a compiler")
    @argument("--format", default=None, help="the format, if it cannot be detected")
    @argument("--every-pass", action="store_true", help="the compiler printed all of its passes, and no list")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the recording is bound to")
    @line_magic
    def dump(self, line: str) -> Any:
        """Open the pass dump of LLVM, MLIR, IREE, XLA, TVM, xDSL, GCC, rustc or torch.compile.

        %dump build/after-all.txt -o rec
        """
        options = options_of(self.dump, line)
        self._check_targets(options.out)
        rec = rooms.dumps.read(options.path, options.format, every_pass=options.every_pass)
        return self._bound(rec, options.out)

    @no_var_expand
    @magic_arguments()
    @argument("flags", nargs="*", help="flags of clang, or of opt if the cell is LLVM IR")
    @argument("--out", metavar="NAME", default="", help="the name the recording is bound to")
    @argument("--tool", default="", help="the compiler to run; by default the newest installed clang or opt")
    @cell_magic
    def llvm(self, line: str, cell: str) -> Any:
        """Compile C, or run passes on LLVM IR, and record what each pass did.

        %%llvm -O2 --out rec
        int twice(int x) { return x + x; }

        The cell is C unless it defines an IR function; C++ with `-x c++`. Flags are passed on; -O2 unless given.
        """
        options, flags = _split(self.llvm, line)
        self._check_targets(options.out)
        is_ir = any(row.lstrip().startswith(_IR_STARTS) for row in cell.split("\n"))
        tool = options.tool or _tool("opt" if is_ir else "clang")
        if is_ir:
            passes = [f for f in flags if not f.startswith("-O")]
            level = next((f[1:] for f in flags if f.startswith("-O")), "O2")
            pipeline = [] if any(f.startswith("-passes") for f in passes) else [f"-passes=default<{level}>"]
            command = [tool, "-disable-output", *pipeline, *passes]
            return self._bound(_record(command, cell, ".ll"), options.out)
        default = [] if any(f.startswith("-O") for f in flags) else ["-O2"]
        language = [] if "-x" in flags else ["-x", "c++" if "++" in Path(tool).name else "c"]
        command = [tool, *default, *flags, *language, "-c", "-o", os.devnull]
        return self._bound(_record(command, cell, ".c"), options.out)

    @no_var_expand
    @magic_arguments()
    @argument("flags", nargs="*", help="flags of mlir-opt")
    @argument("--passes", metavar="PASSES", default="", help="passes, separated by commas, or a pipeline")
    @argument("--out", metavar="NAME", default="", help="the name the recording is bound to")
    @argument("--tool", default="", help="the tool to run; by default the newest installed mlir-opt")
    @cell_magic
    def mlir(self, line: str, cell: str) -> Any:
        """Run passes of MLIR on the cell and record what each pass did.

        %%mlir --passes canonicalize,cse --out rec
        func.func @f(%x: i32) -> i32 { return %x : i32 }
        """
        options, flags = _split(self.mlir, line)
        self._check_targets(options.out)
        tool = options.tool or _tool("mlir-opt")
        is_whole = options.passes.startswith(("builtin.module(", "any("))
        pipeline = options.passes if is_whole else f"builtin.module({options.passes})"
        command = [tool, *([f"--pass-pipeline={pipeline}"] if options.passes else []), *flags, "-o", os.devnull]
        return self._bound(_record(command, cell, ".mlir"), options.out)

    def _bound(self, recording: rooms.dumps.TextRecording, name: str) -> rooms.dumps.TextRecording:
        if name:
            self.shell.user_ns[name] = recording
        return recording


def _split(magic: Any, line: str) -> tuple[Any, list[str]]:
    """Return the magic's own options, and all other words in order, for the compiler."""
    try:
        words = shlex.split(line)
        options, _ = magic.parser.parse_known_args(words)
    except ValueError as error:
        raise UsageError(str(error)) from error
    flags: list[str] = []
    at = 0
    while at < len(words):
        name, sign, _ = words[at].partition("=")
        if name in _OWN:
            at += 1 if sign else 2
        else:
            flags.append(words[at])
            at += 1
    return options, flags


def _tool(name: str) -> str:
    """Return the newest installed tool of a name. Raises `DumpError` if none is installed."""
    for candidate in (*(f"{name}-{version}" for version in VERSIONS), name):
        path = shutil.which(candidate)
        if path is not None:
            return path
    hint = "install LLVM, name the tool with --tool, or open a dump made elsewhere with %dump"
    raise DumpError(Diagnostic(f"`{name}` is not installed here", hint=hint))


def _record(command: list[str], text: str, ending: str) -> rooms.dumps.TextRecording:
    """Run a compiler on a cell, and return the recording of its passes."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"cell{ending}"
        write_text(source, text)
        return rooms.hosts.record([*command, str(source)])


_loaded: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
MAGICS = {
    "line": (
        "passes",
        "bisect",
        "culprit",
        "fuzz",
        "instruments",
        "compare",
        "graph",
        "blame",
        "run",
        "vm",
        "dump",
        "simplify",
    ),
    "cell": ("relay", "passes", "bisect", "culprit", "llvm", "mlir"),
}


def load(shell: Any) -> None:
    """Register magics, completion and formatters, unless they are registered already."""
    if shell in _loaded:
        return
    before = {
        (kind, name): _resolve(shell.magics_manager.magics[kind].get(name))
        for kind, names in MAGICS.items()
        for name in names
    }
    # The shell's own %run stays reachable: ours calls it for everything that is not a program.
    magics = RelayMagics(shell, run_script=before[("line", "run")])
    shell.register_magics(magics, FaultMagics, DumpMagics, ModelMagics)
    shell.events.register("post_run_cell", cell_ended)
    Presenter.show = _show_printed
    _loaded[shell] = {
        "magics": before,
        "formatters": formatters.register(shell.display_formatter),
        "completer": register_completion(shell, magics),
        "inspection": register_inspection(shell),
    }


def cell_ended(result: Any = None) -> None:
    """Let live programs follow passes that a cell has redefined, and the course know which cells ran."""
    live = sys.modules.get(f"{__package__}.live")
    if live is not None:
        live.cell_ended()
    course = sys.modules.get("passlab.course.registry")
    if course is not None and result is not None:
        course.CELLS.ran(result.info.raw_cell, result.error_before_exec or result.error_in_exec)


def _show_printed(printer: Any, whole: bool) -> None:
    rooms.printed.HERE.show(printer, whole)


def _resolve(magic: Any) -> Any:
    """Return the magic itself: IPython may have a proxy that looks it up by name when called, and would find ours."""
    resolve = getattr(magic, "_resolve", None)
    return resolve() if callable(resolve) else magic


def unload(shell: Any) -> None:
    """Undo `load`, and restore what was registered before."""
    state = _loaded.pop(shell, None)
    if state is None:
        return
    shell.events.unregister("post_run_cell", cell_ended)
    Presenter.show = None
    for (kind, name), old in state["magics"].items():
        table = shell.magics_manager.magics[kind]
        if old is None:
            table.pop(name, None)
        else:
            table[name] = old
    formatters.unregister(shell.display_formatter, state["formatters"])
    unregister_completion(shell, state["completer"])
    if state["inspection"] is not None:
        state["inspection"]()
