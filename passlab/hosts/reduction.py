"""`reduce`: the smallest input on which the compiler still does wrong, made by the compiler's own reducer.

llvm-reduce and mlir-reduce run a test on each candidate. The test is a small program that asks this process, so the
check may be a Python function. Each reducer gets the exit status that it wants (0 for llvm-reduce, any other one for
mlir-reduce). The smallest candidate so far is kept, whatever happens to the reducer.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.atomic_file import write_bytes
from passlab.dumps.checks import SECONDS, run
from passlab.errors import Diagnostic, DumpError, MissingPackageError, visible
from passlab.hosts.bisection import ToolRuns
from passlab.hosts.compilers import VERSIONS, Command, command_of

# The test that a reducer runs: it asks the socket beside it, and exits with the status that says yes or no.
_TEST = """#!{python} -ISE
import os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    line.sendall(os.path.abspath(sys.argv[-1]).encode("utf-8", "surrogateescape") + b"\\n")
    sys.exit({yes} if line.recv(1) == b"y" else {no})
"""
_STATUS = {"llvm-reduce": (0, 1), "mlir-reduce": (1, 0)}  # for an interesting candidate, and for another one
_FRONT_END = ("-Xclang", "-disable-llvm-passes")  # the IR as the optimiser gets it


@dataclass(frozen=True)
class Reduction:
    """The smallest input that was found, as text; how it was found, and the command that shows the fault on it."""

    text: str
    lines: int
    before: int  # lines of the input
    tried: int  # candidates
    command: str
    note: str = ""

    def summary(self) -> str:
        """Return in a sentence how much smaller the input is."""
        note = f"; {self.note}" if self.note else ""
        return f"{self.before:,} lines to {self.lines:,}, {self.tried:,} candidates tried{note}"

    def __repr__(self) -> str:
        return visible(f"{self.summary()}\nshow the fault: {self.command}\n\n{self.text}")


@checked
def reduce(
    command: str | Sequence[str] | Callable[..., Any],
    check: Any = None,
    inputs: Sequence[Any] = (),
    *,
    out: Any = None,
    seconds: float = SECONDS,
) -> Reduction:
    """Make the input of a command smaller, as long as the check holds without the passes and not with them.

    The check is as for `bisect`; without one, the tool must crash as it does on the whole input. C is compiled to LLVM
    IR first. The result is written to `out` where that is given. For torch, `command` is a function or module, called
    on the tensors `inputs`, and the check gets a smaller module and its inputs and returns whether the result is right.

    Raises `DumpError` for a command without an input, a tool without a reducer, and an input that shows no fault.
    """
    if callable(command):
        return _reduce_torch(command, check, inputs)
    parsed = command_of(command)
    if not parsed.tool.reducer:
        hint = "cvise reduces a source of any language; `rec.save_before(step, file)` saves the input of a pass"
        raise DumpError(Diagnostic(f"{parsed.program} has no reducer", hint=hint))
    if not parsed.input:
        hint = f"the last word that ends in {' or '.join(parsed.tool.endings)} is the input"
        raise DumpError(Diagnostic("the command names no file that exists", hint=hint))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        search = _Search(*_as_ir(parsed, folder, seconds), check, folder, seconds)
        result = search.reduce()
    if out is not None:
        write_bytes(out, result.text.encode("utf-8", "surrogateescape"))
    return result


def _as_ir(command: Command, folder: Path, seconds: float) -> tuple[Command, Path]:
    """Return a command whose input the reducer reads, and the input: clang compiles C to LLVM IR first."""
    source = Path(command.input)
    if command.tool.name != "clang" or source.suffix in (".ll", ".bc"):
        return command, source
    target = folder / f"{source.stem}.ll"
    levels = [word for word in command.words[command.at + 1 :] if word not in ("-c", "-S")]
    words = _without_o(levels)
    done = run([*command.words[: command.at + 1], *words, *_FRONT_END, "-S", "-emit-llvm", "-o", str(target)], seconds)
    said = done.said(2000).strip()
    if not target.exists():
        raise DumpError(
            Diagnostic(f"{command.program} cannot compile {source.name} to LLVM IR: {done.trouble}", hint=said)
        )
    replaced = [str(target) if word == command.input else word for word in command.words]
    return Command(replaced, command.at, command.tool), target


def _without_o(words: list[str]) -> list[str]:
    return [word for at, word in enumerate(words) if word != "-o" and (at == 0 or words[at - 1] != "-o")]


class _Search:
    """One reduction: the test of candidates, and the smallest one so far."""

    def __init__(self, command: Command, source: Path, check: Any, folder: Path, seconds: float) -> None:
        self.command, self.source, self.folder, self.seconds = command, source, folder, seconds
        self.runs = ToolRuns(command, check, folder, min(seconds, 60.0))
        self.best = source.read_bytes()
        self.tried = 0
        self.crash = ""
        self.error: BaseException | None = None

    def reduce(self) -> Reduction:
        """Run the reducer; the result is the smallest candidate that shows the fault."""
        tool = self._reducer()
        lines = self.best.count(b"\n")
        right, wrong = (self.runs.attempt(number, str(self.source)) for number in (0, -1))
        if not right.holds or wrong.holds:
            why = "the check holds" if right.holds else "the check does not hold without passes, either"
            raise DumpError(
                Diagnostic(f"the input shows no fault: {why}", hint="`bisect` with the same check says more")
            )
        self.crash = wrong.trouble
        start = self.folder / f"input{self.source.suffix}"
        shutil.copy(self.source, start)
        test, output = self.folder / "test", self.folder / f"reduced{self.source.suffix}"
        name = next(name for name in _STATUS if name in Path(tool).name)
        yes, no = _STATUS[name]
        if name == "llvm-reduce":
            words = [tool, f"--test={test}", "-j", "1", str(start), "-o", str(output)]
        else:
            words = [tool, str(start), f"--reduction-tree=traversal-mode=0 test={test}", "-o", str(output)]
        with self._asked(self.folder / "line") as address:
            test.write_text(_TEST.format(python=sys.executable, address=address, yes=yes, no=no))
            test.chmod(0o700)
            done = run(words, self.seconds)
            done.err.close()
        if self.error is not None:
            raise self.error
        note = (
            f"{Path(tool).name} did not end well, this is the smallest candidate: {done.trouble}"
            if done.trouble
            else ""
        )
        text = self.best.decode("utf-8", "surrogateescape")
        shown = [word if word != self.command.input else f"reduced{self.source.suffix}" for word in self.command.words]
        return Reduction(text, self.best.count(b"\n"), lines, self.tried, self.command.line(shown), note)

    def _reducer(self) -> str:
        """Return the reducer of the same version as the tool, or else the newest one."""
        name = self.command.tool.reducer
        version = re.search(r"-\d+\Z", self.command.program)
        names = [name + version[0]] if version else []
        for candidate in (*names, name, *(f"{name}-{number}" for number in VERSIONS)):
            if shutil.which(candidate) is not None:
                return candidate
        raise DumpError(Diagnostic(f"`{name}` is not installed here", hint=self.command.tool.fix))

    @contextlib.contextmanager
    def _asked(self, path: Path) -> Iterator[str]:
        """Answer the tests of the reducer while the block runs."""
        if not hasattr(socket, "AF_UNIX"):
            raise DumpError(Diagnostic("reducing needs Unix sockets, which this system does not have"))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen(8)
            thread = threading.Thread(target=self._answer, args=(server,), daemon=True)
            thread.start()
            yield str(path)
            with socket.socket(socket.AF_UNIX) as last:  # an empty name ends the thread
                last.connect(str(path))
                last.sendall(b"\n")
            thread.join()

    def _answer(self, server: socket.socket) -> None:
        while True:
            line, _ = server.accept()
            with line, line.makefile("rb") as words, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                name = words.readline().rstrip(b"\n").decode("utf-8", "surrogateescape")
                if not name:
                    return
                line.sendall(b"y" if self._is_interesting(name) else b"n")

    def _is_interesting(self, path: str) -> bool:
        """Whether a candidate shows the fault; the smallest one is kept."""
        if self.error is not None:
            return False
        self.tried += 1
        try:
            data = Path(path).read_bytes()
            wrong = self.runs.attempt(-1, path)
            if wrong.holds or wrong.trouble != self.crash or not self.runs.attempt(0, path).holds:
                return False
        except (Exception, KeyboardInterrupt) as error:  # raised again by the thread that reduces
            self.error = error
            return False
        if len(data) < len(self.best):
            self.best = data
        return True


def _reduce_torch(function: Callable[..., Any], check: Any, inputs: Sequence[Any]) -> Reduction:
    """Let torch's minifier make a graph smaller, as long as the check returns False."""
    try:
        minifier = import_module("torch._functorch.fx_minifier").minifier
        make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    except ImportError as error:
        hint = "pip install torch; for another compiler, give its command"
        raise MissingPackageError(
            Diagnostic("a function is reduced by torch, which is not installed", hint=hint)
        ) from error
    if not callable(check) or not inputs:
        hint = "reduce(function, check, [tensor, ...]); the check gets a module and its inputs"
        raise DumpError(Diagnostic("a function is reduced with a check and its inputs", hint=hint))
    graph = make_fx(function)(*inputs)
    tried = 0

    def fails(module: Any, values: Sequence[Any]) -> bool:
        nonlocal tried
        tried += 1
        try:
            return not check(module, values)
        except Exception:  # of torch, or of the check on a graph that it does not know: this candidate says nothing
            return False

    if not fails(graph, list(inputs)):
        raise DumpError(Diagnostic("the input shows no fault: the check holds", hint="the check returns False for it"))
    nowhere = io.StringIO()  # the minifier prints its progress
    with contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere):
        module, values = minifier(graph, list(inputs), fails, lambda *_: None)
    text = str(module.print_readable(print_output=False))
    shapes = ", ".join(
        f"{value.dtype} {list(value.shape)}" if hasattr(value, "shape") else repr(value) for value in values
    )
    return Reduction(
        text,
        len(module.graph.nodes),
        len(graph.graph.nodes),
        tried,
        f"check(module, inputs), with {shapes}",
        "the lines are nodes",
    )
