"""`bisect`: the pass after which a property of the output no longer holds, found with the counter of the compiler.

LLVM (`-opt-bisect-limit`) and MLIR (`--mlir-debug-counter`) run the first n passes and leave the others out. The search
needs about log2 of the number of passes runs. In the pass at fault, MLIR also counts the rewrites. torch has a bisector
of its own, which takes a Python function.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from passlab.arguments import checked
from passlab.diffing.text_diff import TextDiff, diff_texts
from passlab.dumps.checks import SECONDS, holds, run
from passlab.dumps.language import LANGUAGES
from passlab.errors import Diagnostic, DumpError, MissingPackageError, visible
from passlab.hosts.compilers import Command, command_of, with_output
from passlab.table import Table, Tabular

Check = str | re.Pattern[str] | Sequence[str] | Callable[..., Any]
BY = ("pass", "rewrite")
_RUNNING = re.compile(r"^BISECT: (?:NOT )?running pass \((\d+)\) ([^\n]*)$", re.MULTILINE)
_ACTION = re.compile(r"begins [^\n]*?Action `(?P<tag>pass-execution|apply-pattern)\b`? (?P<what>[^\n]*)")
_RUNS = re.compile(
    r"running `(?P<name>[^`]+)` on Operation `(?P<op>[^`]*)`(?: \((?P<line>[^\n]*?)(?: \{\.\.\.\})?\)`?)?"
)
_SYMBOL = re.compile(r'@("[^"]*"|[\w.$-]+)')
_COUNTERLESS = "record it, and search its dump: `record(command).bisect(check)`"


class ToolRun(NamedTuple):
    """One run in a search: how many passes ran, whether the check held, and what the tool wrote."""

    number: int
    holds: bool
    trouble: str  # why the tool did not end well; empty where it did
    text: str  # the output; empty where it is no text


@dataclass(frozen=True, eq=False)
class HostBisection(Tabular):
    """The pass at fault: its number for the counter, its name and unit; `why` says what was found. Number 0: none."""

    number: int
    name: str
    unit: str
    why: str
    count: int  # of all passes
    runs: tuple[ToolRun, ...] = ()
    commands: tuple[str, str] = ("", "")  # that run the passes before it, and it as well
    language: str = "text"

    @cached_property
    def diff(self) -> TextDiff | None:
        """What the pass changed in the output; None if the output is not text."""
        texts = {one.number: one.text for one in self.runs}
        before, after = texts.get(self.number - 1, ""), texts.get(self.number, "")
        if not self.number or not (before and after):
            return None
        return diff_texts(before, after, LANGUAGES[self.language].syntax)

    def table(self) -> Table:
        """Return a row for each run: how many passes ran, and whether the check held."""
        rows = [(one.number, one.holds, one.trouble) for one in sorted(self.runs, key=lambda one: one.number)]
        return Table(("passes", "holds", "how_the_tool_ended"), rows)

    def text(self) -> str:
        """Return the pass at fault, the commands that show it, and what it changed."""
        lines = [self.why]
        if self.commands[1]:
            lines += [f"right: {self.commands[0]}", f"wrong: {self.commands[1]}"]
        if self.diff is not None:
            lines += ["", self.diff.text()]
        return visible("\n".join(lines))

    def __repr__(self) -> str:
        return self.text()


@checked
def bisect(
    command: str | Sequence[str] | Callable[..., Any],
    check: Any = None,
    *,
    by: str = "pass",
    seconds: float = SECONDS,
) -> HostBisection:
    """Find the pass after which a check of the compiler's output no longer holds.

    The check is a function of the output, a regular expression that must match, or a command, which holds with exit
    status 0. A command is a list of words; `{}` is the file with the output, by default the last word. The output of
    opt, mlir-opt, llc and `clang -S` is a text; else the check gets the path of the file. Without a check, the
    tool must end well: this finds the pass that crashes. With `by="rewrite"`, MLIR then counts the rewrites of the
    pass at fault.

    For torch, `command` is a function without arguments that compiles and runs something, and returns whether the
    result is right. Raises `DumpError` for an unknown or missing tool, and one without a counter.
    """
    if callable(command):
        return _bisect_torch(command)
    parsed = command_of(command)
    if by not in BY or (by == "rewrite" and not parsed.tool.rewrites):
        hint = "LLVM counts passes, MLIR passes and rewrites: by is `pass` or `rewrite`"
        raise DumpError(Diagnostic(f"{parsed.program} does not count by `{by}`", hint=hint))
    if not parsed.tool.limit:
        raise DumpError(Diagnostic(f"{parsed.program} has no counter of its passes", hint=_COUNTERLESS))
    with tempfile.TemporaryDirectory() as folder:
        runs = ToolRuns(parsed, check, Path(folder), seconds)
        if not runs.can_count:
            what = f"{parsed.program} has no counter of its passes: MLIR counts them since version 17"
            raise DumpError(Diagnostic(what, hint=_COUNTERLESS))
        return runs.search(by)


class ToolRuns:
    """Runs a command with the first of its passes, and asks the check about the output."""

    def __init__(self, command: Command, check: Any, folder: Path, seconds: float) -> None:
        self.command, self.check, self.folder, self.seconds = command, check, folder, seconds
        self.done: dict[int, ToolRun] = {}
        self.passes: int | None = None  # that run where rewrites are counted; None where passes are
        self.makes_text = command.tool.name != "clang" or command.has("-S")
        if not self.makes_text:
            self.ending = ".o" if command.has("-c") else ".out"
        elif command.tool.name == "opt" or command.has("-emit-llvm"):
            self.ending = ".ll"
        else:
            self.ending = ".mlir" if command.tool.rewrites else ".s"

    def words(self, number: int, output: str, source: str = "") -> list[str]:
        """Return the words that run the first passes, or rewrites, only; -1 runs all."""
        command = self.command
        words = with_output(command, output)
        if source and command.input:
            at = max(i for i, word in enumerate(words) if word == command.input)
            words[at] = source
        limit = command.tool.limit.format(n=number if self.passes is None else self.passes)
        if self.passes is not None:
            limit += command.tool.rewrites.format(n=number)
        options = command.llvm(limit) if number >= 0 else []
        return [*words[: command.at + 1], *options, *words[command.at + 1 :]]

    @cached_property
    def can_count(self) -> bool:
        """Whether this version of the tool has the counter."""
        if not self.command.tool.rewrites:
            return True
        done = run([*self.command.words[: self.command.at + 1], "--help-hidden"], self.seconds)
        done.err.close()
        return self.command.tool.limit.partition("=")[0].encode() in done.out

    def attempt(self, number: int, source: str = "") -> ToolRun:
        """Run the first passes, and check the output; without a counter and passes, the output is the input."""
        if not number and not self.can_count:
            given = Path(source or self.command.input)
            text = given.read_text("utf-8", "surrogateescape")
            return ToolRun(0, self.check is None or holds(self.check, text, given, self.seconds), "", text)
        path = self.folder / f"out{number}{self.ending}"
        path.unlink(missing_ok=True)
        done = run(self.words(number, str(path), source), self.seconds)
        done.err.close()
        if done.was_interrupted:
            raise KeyboardInterrupt
        trouble = done.trouble or ("" if path.exists() else "it wrote no output")
        text = path.read_text("utf-8", "surrogateescape") if self.makes_text and path.exists() else ""
        is_right = not trouble
        if is_right and self.check is not None:
            is_right = holds(self.check, text if self.makes_text else path, path, self.seconds)
        return ToolRun(number, is_right, trouble, text)

    def holds(self, number: int) -> bool:
        """Whether the check holds after the first passes."""
        if number not in self.done:
            self.done[number] = self.attempt(number)
        return self.done[number].holds

    def actions(self) -> tuple[list[tuple[str, str]], list[list[tuple[str, str]]]]:
        """Return name and unit of each pass that the counter counts, and the rewrites of each."""
        output, log = str(self.folder / f"all{self.ending}"), self.folder / "actions"
        words, at = with_output(self.command, output), self.command.at + 1
        option = self.command.llvm(self.command.tool.log.format(file=log))
        done = run([*words[:at], *option, *words[at:]], self.seconds)
        said = done.said()
        passes: list[tuple[str, str]] = []
        rewrites: list[list[tuple[str, str]]] = []
        if self.command.tool.rewrites:
            for match in _ACTION.finditer(log.read_text("utf-8", "replace") if log.exists() else ""):
                if match["tag"] == "pass-execution":
                    passes.append(_action(match["what"]))
                    rewrites.append([])
                elif rewrites:
                    rewrites[-1].append(_action(match["what"]))
        else:
            found = {int(match[1]): match[2] for match in _RUNNING.finditer(said)}
            for number in range(1, max(found, default=0) + 1):
                name, _, unit = found.get(number, "?").partition(" on ")
                passes.append((name, unit))
        if passes:
            return passes, rewrites
        hint = said.strip()[:2000] or _COUNTERLESS
        trouble = f": {done.trouble}" if done.trouble else ""
        raise DumpError(Diagnostic(f"{self.command.program} counted no pass{trouble}", hint=hint))

    def search(self, by: str) -> HostBisection:
        """Return the first pass after which the check no longer holds, by binary search; or a rewrite of that pass."""
        passes, rewrites = self.actions()
        count = len(passes)
        if not self.holds(0):
            trouble = self.done[0].trouble
            without = "without passes, either"
            why = (
                f"{self.command.program} does not end well {without}: {trouble}"
                if trouble
                else f"the check does not hold {without}"
            )
            return self._found(0, ("", ""), f"{why}. No pass is at fault.", count)
        if self.holds(count):
            return self._found(0, ("", ""), f"The check holds after all {count} passes: there is no fault.", count)
        bad = self._first(0, count)
        found = self._found(bad, passes[bad - 1], "", count)
        if by == "pass":
            return found
        before = sum(map(len, rewrites[: bad - 1]))
        inside = rewrites[bad - 1]
        if not inside:
            return replace(found, why=f"{found.why} It applies no rewrites that MLIR counts.")
        self.passes, self.done = bad, {}
        if not self.holds(before) or self.holds(before + len(inside)):
            why = f"{found.why} It is none of its rewrites: MLIR counts those by patterns."
            return replace(found, why=why)
        one = self._first(before, before + len(inside))
        why = f"{found.why} Rewrite {one - before} of {len(inside)} of it: "
        return self._found(one, inside[one - before - 1], why, before + len(inside))

    def _first(self, good: int, bad: int) -> int:
        """Return the first number after which the check does not hold."""
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.holds(middle) else (good, middle)
        return bad

    def _found(self, number: int, name: tuple[str, str], why: str, count: int) -> HostBisection:
        output = f"out{self.ending}"
        lines = [self.command.line(self.words(one, output)) for one in (number - 1, number)] if number else ["", ""]
        language = "llvm" if self.ending == ".ll" else "mlir" if self.ending == ".mlir" else "text"
        if number:
            trouble = self.done[number].trouble
            where = " on ".join(filter(None, name))
            place = where if self.passes is not None else f"Pass {number} of {count}, {where}:"
            how = "" if self.passes is not None else " it holds before and not after"
            why = f"{why}{place}{how}{f'; {trouble}' if trouble else ''}."
        return HostBisection(number, *name, why, count, tuple(self.done.values()), (lines[0], lines[1]), language)


def _action(what: str) -> tuple[str, str]:
    """Return the name of a pass or pattern in MLIR's log, and what it ran on."""
    match = _RUNS.search(what)
    if match is None:
        name, _, on = what.removeprefix("pattern: ").partition(" (")
        return name.rpartition("::")[2] or name, on.rstrip("`)")[:80]
    symbol = _SYMBOL.search(match["line"] or "")
    return match["name"].rpartition("::")[2], match["op"] + (f" @{symbol[1]}" if symbol else "")


def _bisect_torch(function: Callable[..., Any]) -> HostBisection:
    """Ask torch's own bisector which stage, and which application of it, makes a function return False."""
    try:
        bisector = import_module("torch._inductor.compiler_bisector").CompilerBisector
        dynamo = import_module("torch._dynamo")
    except ImportError as error:
        hint = "pip install torch (2.6 or newer); for another compiler, give its command"
        raise MissingPackageError(
            Diagnostic("a function is bisected by torch, which is not installed", hint=hint)
        ) from error
    runs: list[ToolRun] = []

    def test() -> bool:
        dynamo.reset()
        try:
            holds, trouble = bool(function()), ""
        except Exception as error:  # of the function or the compiler: a crash is a fault
            holds, trouble = False, f"{type(error).__name__}: {error}".partition("\n")[0]
        runs.append(ToolRun(len(runs), holds, trouble, ""))
        return holds

    with contextlib.redirect_stdout(io.StringIO()):  # the bisector prints its progress
        found = bisector.do_bisect(test)
    if found is None:
        return HostBisection(
            0, "", "", "the function returns True with every backend: there is no fault", 0, tuple(runs)
        )
    if found.backend == "eager":
        return HostBisection(0, "", "eager", "the function returns False even without a compiler", 0, tuple(runs))
    name, number = found.subsystem or found.backend, found.bisect_number or 0
    where = f", application {number}" if number else ""
    about = f": {found.debug_info}" if found.debug_info and found.debug_info != name else ""
    return HostBisection(
        number,
        name,
        found.backend,
        f"{name} of the backend {found.backend}{where}: without it the result is right{about}",
        0,
        tuple(runs),
    )
