"""The tools that passlab drives: their options, the counters of their passes, their reducers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from passlab.errors import Diagnostic, DumpError, did_you_mean

VERSIONS = range(30, 12, -1)  # of LLVM, as distributions name its tools: clang-22
_MLIR = ("--mlir-disable-threading", "--mlir-print-ir-before-all", "--mlir-print-ir-after-all")


@dataclass(frozen=True)
class Tool:
    """One tool: the options that record its passes, the options that stop after a number of them, its reducer.

    `whole` prints the whole program with each pass. In `limit`, `{n}` is the number of passes to run, in `rewrites` the
    number of rewrites; `log` prints them. `text` makes the output a text, and `nowhere` throws it away.
    """

    name: str
    record: tuple[str, ...]
    whole: str = ""
    limit: str = ""
    rewrites: str = ""
    log: str = ""
    text: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = ()
    endings: tuple[str, ...] = (".mlir",)  # of its inputs
    reducer: str = ""
    prefix: tuple[str, ...] = ()  # before each option of LLVM: clang's -mllvm
    folder: str = ""  # the option that names a folder for the dump, where the tool writes files
    reports: tuple[str, ...] = ()  # options for remarks in one file, and times in another or on the terminal
    record_code: tuple[str, ...] = ()  # options to record with where those of `record` leave out the code generator
    fix: str = "apt-get install llvm"


_BISECT = "-opt-bisect-limit={n}"
_BOTH = ("-print-before-all", "-print-after-all")
_MODULES = "--mlir-print-ir-module-scope"
_NOWHERE = ("-o", os.devnull)
_REPORTS = ("-pass-remarks-output={remarks}", "-time-trace", "-time-trace-file={trace}", "-time-trace-granularity=0")
TOOLS = (
    Tool(
        "opt",
        ("-print-changed",),
        "-print-module-scope",
        limit=_BISECT,
        log=_BISECT.format(n=-1),
        text=("-S",),
        nowhere=("-disable-output",),
        endings=(".ll", ".bc"),
        reducer="llvm-reduce",
        reports=_REPORTS,
    ),
    Tool(
        "llc",
        _BOTH,
        "-print-module-scope",
        limit=_BISECT,
        log=_BISECT.format(n=-1),
        nowhere=_NOWHERE,
        endings=(".ll", ".bc", ".mir"),
        reducer="llvm-reduce",
        reports=("-pass-remarks-output={remarks}", "-time-passes"),
    ),
    Tool(
        "clang",
        ("-print-changed",),
        "-print-module-scope",
        limit=_BISECT,
        log=_BISECT.format(n=-1),
        nowhere=("-c", *_NOWHERE),
        endings=(".c", ".cc", ".cpp", ".cxx", ".m", ".ll", ".bc"),
        reducer="llvm-reduce",
        prefix=("-mllvm",),
        record_code=_BOTH,
        reports=(
            "-fsave-optimization-record",
            "-foptimization-record-file={remarks}",
            "-ftime-trace={trace}",
            "-ftime-trace-granularity=0",
        ),
        fix="apt-get install clang",
    ),
    Tool(
        "mlir-opt",
        _MLIR,
        _MODULES,
        limit="--mlir-debug-counter=pass-execution-skip=0,pass-execution-count={n}",
        rewrites=",apply-pattern-skip=0,apply-pattern-count={n}",
        log="--log-actions-to={file}",
        nowhere=_NOWHERE,
        reducer="mlir-reduce",
        reports=("--mlir-timing", "--mlir-pass-statistics"),
        fix="apt-get install mlir-22-tools",
    ),
    Tool(
        "iree-opt", _MLIR, _MODULES, nowhere=_NOWHERE, reports=("--mlir-timing",), fix="pip install iree-base-compiler"
    ),
    Tool(
        "iree-compile",
        _MLIR,
        _MODULES,
        nowhere=_NOWHERE,
        endings=(".mlir", ".mlirbc", ".stablehlo"),
        fix="pip install iree-base-compiler",
    ),
    Tool(
        "triton-opt",
        _MLIR,
        _MODULES,
        nowhere=_NOWHERE,
        endings=(".mlir", ".ttir", ".ttgir"),
        fix="build Triton from its sources: its wheels have no triton-opt",
    ),
    Tool(
        "gcc",
        ("-fdump-tree-all", "-fdump-rtl-all", "-fdump-ipa-all"),
        nowhere=("-c", *_NOWHERE),
        endings=(".c", ".cc", ".cpp", ".cxx"),
        folder="-dumpdir",
        fix="apt-get install gcc",
    ),
)
_ALIASES = {"clang++": "clang", "g++": "gcc", "cc1": "gcc"}
_VERSION = re.compile(r"-\d+(?:\.\d+)*\Z")
_COMPILES = frozenset(("-c", "-S", "-E", "-emit-llvm", "-fsyntax-only", "-o"))


def tool_named(name: str) -> Tool | None:
    """Return the tool that a program is, judged by its name: `/usr/bin/clang++-22` is clang; None for another program.

    Any other `-opt` is taken for a tool with the options of MLIR, such as stablehlo-opt.
    """
    base = _VERSION.sub("", Path(name).name.removesuffix(".exe"))
    base = _ALIASES.get(base, base)
    base = base.rpartition("-")[2] if base.endswith(("-gcc", "-clang")) else base  # aarch64-linux-gnu-gcc
    found = next((tool for tool in TOOLS if tool.name == base), None)
    if found is None and base.endswith("-opt"):
        return Tool(base, _MLIR, _MODULES, nowhere=_NOWHERE, fix=f"install {base}")
    return found


class Command(NamedTuple):
    """A command: its words, and the tool that one of them is."""

    words: list[str]
    at: int  # of the tool: others may stand before it (`env X=1`, `ccache`)
    tool: Tool

    @property
    def program(self) -> str:
        """The name of the program, as the user wrote it."""
        return Path(self.words[self.at]).name

    def value(self, *options: str) -> str:
        """Return the value of the last of some options, such as -o; empty without one."""
        found = ""
        for word, following in zip(self.words[self.at + 1 :], [*self.words[self.at + 2 :], ""], strict=True):
            for option in options:
                if word == option:
                    found = following
                elif word.startswith(f"{option}="):
                    found = word.partition("=")[2]
        return found

    def has(self, *options: str) -> bool:
        """Whether one of some options is given."""
        return any(word.partition("=")[0] in options for word in self.words[self.at + 1 :])

    def llvm(self, *options: str) -> list[str]:
        """Return options of LLVM in the form of the tool."""
        return [word for option in options for word in (*self.tool.prefix, option)]

    @property
    def input(self) -> str:
        """The last word that is an existing file with an ending that the tool reads; empty for none.

        The output of an earlier run is also such a file, and is not the input.
        """
        words = without_output(self.words, self.at)[self.at + 1 :]
        names = [w for w in words if w.endswith(self.tool.endings) and Path(w).is_file()]
        return names[-1] if names else ""

    @property
    def makes_code(self) -> bool:
        """Whether a compiler for C makes machine code, and no IR for later."""
        return not self.has("-emit-llvm", "-fsyntax-only", "-E", "-M", "-MM", "--analyze", "-flto")

    def line(self, words: Sequence[str] | None = None) -> str:
        """Return the command as one line of a shell."""
        return shlex.join(self.words if words is None else words)


def words_of(command: str | Sequence[str]) -> list[str]:
    """Return the words of a command. Raises `DumpError` for a line that no shell reads."""
    try:
        return shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    except (ValueError, TypeError) as error:
        raise DumpError(
            Diagnostic(f"this is not a command: {error}", hint="one line of a shell, or a list of words")
        ) from error


def command_of(command: str | Sequence[str]) -> Command:
    """Return a command with its tool, and its program where that is installed under a longer name (opt-22).

    Raises `DumpError` for a line that no shell reads, a command without a known tool, and a tool that is not installed.
    """
    words = words_of(command)
    names = [tool.name for tool in TOOLS]
    for at, word in enumerate(words):
        tool = tool_named(word)
        if tool is not None:
            return Command([*words[:at], _installed(word, tool), *words[at + 1 :]], at, tool)
    hint = (
        did_you_mean(words[0], names) if words else ""
    ) or f"passlab drives {', '.join(names)}, and any other -opt of MLIR"
    what = (
        f"`{shlex.join(words)[:200]}` runs no tool that passlab knows" if words else "a command has at least one word"
    )
    raise DumpError(Diagnostic(what, hint=hint))


def _installed(word: str, tool: Tool) -> str:
    """Return the program of a word: itself, or the newest version that a distribution has under a longer name."""
    for candidate in (word, *(f"{word}-{version}" for version in VERSIONS)):
        if shutil.which(candidate) is not None:
            return candidate
    raise DumpError(Diagnostic(f"`{word}` is not installed here", hint=f"{tool.fix}; or read a dump made elsewhere"))


def with_output(command: Command, path: str = "") -> list[str]:
    """Return the words of a command that writes its output to a file, or nowhere where the user asks for none."""
    tool, words = command.tool, list(command.words)
    if path:
        words, text = without_output(words, command.at), [w for w in tool.text if w not in words]
        compiles = ["-c"] if tool.name == "clang" and path.endswith(".o") else []
        return [*words, *text, *compiles, "-o", path]
    given = _COMPILES & {*words[command.at + 1 :]}
    if tool.name == "opt":
        return words if given & {"-S", "-o"} or "-disable-output" in words else [*words, *tool.nowhere]
    if "-o" in given or command.has("-o", "--output"):
        return words
    return [*words, *([w for w in tool.nowhere if w != "-c"] if given & {"-S", "-E", "-c"} else tool.nowhere)]


def without_output(words: list[str], at: int) -> list[str]:
    """Return the words without the options that say where the output goes."""
    kept: list[str] = []
    skip = False
    for number, word in enumerate(words):
        if skip:
            skip = False
        elif number > at and word == "-o":
            skip = True
        elif not (number > at and (word.startswith("-o=") or word == "-disable-output")):
            kept.append(word)
    return kept
