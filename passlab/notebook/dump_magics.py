"""The magics for other compilers: `%dump` opens a dump, `%%llvm` and `%%mlir` run a compiler on the cell and record
it.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from passlab.errors import Diagnostic, DumpError
from passlab.notebook import lazy_modules as rooms
from passlab.notebook.naming import NamedMagics, shield_quotes

SECONDS = 300.0  # that one run of a compiler may take
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
    @argument("-o", "--out", metavar="NAME", default="", help="the name the recording is bound to")
    @line_magic
    def dump(self, line: str) -> Any:
        """Open the pass dump of LLVM, MLIR, IREE, XLA, TVM, xDSL, GCC, rustc or torch.compile.

        %dump build/after-all.txt -o rec
        """
        options = parse_argstring(self.dump, shield_quotes(line))
        return self._bound(rooms.dumps.read(Path(options.path).expanduser(), options.format), options.out)

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
        is_ir = any(row.lstrip().startswith(_IR_STARTS) for row in cell.split("\n"))
        tool = options.tool or _tool("opt" if is_ir else "clang")
        if is_ir:
            passes = [f for f in flags if not f.startswith("-O")]
            level = next((f[1:] for f in flags if f.startswith("-O")), "O2")
            pipeline = [] if any(f.startswith("-passes") for f in passes) else [f"-passes=default<{level}>"]
            command = [tool, "-disable-output", "-print-changed", *pipeline, *passes]
            return self._bound(_record(command, cell, ".ll"), options.out)
        default = [] if any(f.startswith("-O") for f in flags) else ["-O2"]
        language = [] if "-x" in flags else ["-x", "c++" if "++" in Path(tool).name else "c"]
        command = [tool, *default, *flags, *language, "-c", "-o", "/dev/null", "-mllvm", "-print-changed"]
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
        tool = options.tool or _tool("mlir-opt")
        is_whole = options.passes.startswith(("builtin.module(", "any("))
        pipeline = options.passes if is_whole else f"builtin.module({options.passes})"
        printing = ["--mlir-disable-threading", "--mlir-print-ir-before-all", "--mlir-print-ir-after-all"]
        command = [tool, *printing, *([f"--pass-pipeline={pipeline}"] if options.passes else []), *flags]
        return self._bound(_record(command, cell, ".mlir"), options.out)

    def _bound(self, recording: rooms.dumps.TextRecording, name: str) -> rooms.dumps.TextRecording:
        if name:
            self._check_targets(name)
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
    """Return the newest installed tool of a name. Raises `DumpError` if there is none."""
    for candidate in (*(f"{name}-{version}" for version in VERSIONS), name):
        path = shutil.which(candidate)
        if path is not None:
            return path
    hint = "install LLVM, name the tool with --tool, or open a dump made elsewhere with %dump"
    raise DumpError(Diagnostic(f"`{name}` is not installed here", hint=hint))


def _record(command: list[str], text: str, ending: str) -> rooms.dumps.TextRecording:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"cell{ending}"
        source.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*command, str(source)], capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DumpError(Diagnostic(f"{command[0]} cannot be run: {error}")) from error
    recording = rooms.dumps.read(done.stderr)
    if done.returncode and not recording.steps:
        remark = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        raise DumpError(Diagnostic(f"{Path(command[0]).name} failed: {remark[:2000]}"))
    recording.name = f"{Path(command[0]).name} {ending}"
    return recording
