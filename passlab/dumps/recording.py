"""`TextRecording`: the passes of another compiler, read from its dump, to browse and query.

    rec = passlab.dumps.read("dump.txt")
    rec.steps, rec[12].before, rec["SROAPass"].diff(), rec.blame("main"), rec.first("vector<"), rec.operations()

Step 0 is the input if it is known. `display` draws recordings.
"""

from __future__ import annotations

import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from passlab import limits
from passlab.arguments import checked
from passlab.diffing.text_diff import TextDiff, diff_texts
from passlab.diffing.text_lines import LineReader
from passlab.dumps import commands, queries
from passlab.dumps.assembly import Assembly
from passlab.dumps.blame import LineOrigin, UnitHistory
from passlab.dumps.comparison import TextComparison
from passlab.dumps.declarations import unknown_type
from passlab.dumps.filters import filters_named
from passlab.dumps.fusions import operations_inside
from passlab.dumps.gaps import MACHINE
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.language import HEAD, LANGUAGES, WHOLE, Language
from passlab.dumps.mlir_program import declarations_of, unknown_symbol, whole_text
from passlab.dumps.reports import Remark, Reports, join, reports_of
from passlab.dumps.source import BytesSource, Excerpt
from passlab.dumps.source_lines import SourceMap
from passlab.dumps.step import Step, Unit
from passlab.errors import Diagnostic, DumpError, PassTypeError, counted, did_you_mean, type_in_words
from passlab.lazy import late
from passlab.steps import Steps
from passlab.table import Table

LARGE = 3000  # lines of a program above which a diff shows only the units that the step changed
MOST_HISTORIES = 64  # units whose versions and origins are cached


@checked
class TextRecording(Steps[Step]):
    """The passes of one dump.

    `steps` are the passes in order of the dump; `rec[n]` is step n, from 1 on. `size` is the length of the dump in
    bytes.

    >>> dump = '''*** IR Dump Before InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 %x
    ... }
    ... *** IR Dump After InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 0
    ... }'''
    >>> rec = dumps.read_text(dump)
    >>> rec.summary(), len(rec.history("f").lines(0))
    ('1 pass (llvm): 1 changed', 3)
    """

    first_number = 1
    unknown_name = DumpError

    def __init__(self, assembly: Assembly, format_name: str, name: str, size: int) -> None:
        self.format, self.name, self.size = format_name, name, size
        self.steps: list[Step] = assembly.steps
        self.units: dict[str, Unit] = assembly.units
        self.other: list[Excerpt] = assembly.other
        self.notes: list[str] = list(assembly.scan.notes)
        self.crash = assembly.crash
        self.language: Language = assembly.language
        self.prints = assembly.prints
        self.chains: bool = assembly.traits.chains
        self.input_piece = assembly.input.piece if assembly.input is not None else None
        self.nodes_of: Callable[[Any], Iterable[GraphNode]] | None = None  # of live programs that are graphs
        self.live_input: Any = None
        self.compiler = ""  # the program that made the dump, where passlab ran it: opt-22
        self.target = ""  # the options of that run which choose the target of LLVM
        self._readers: dict[str, LineReader] = {}
        self._histories: dict[str, UnitHistory] = {}
        for step in self.steps:
            step.recording = self
        self.reports = reports_of(self.steps, self.other)

    # ------------------------------------------------------------ reading
    @property
    def input(self) -> str | None:
        """The program before the first pass, None where the dump does not have it."""
        return self.input_piece.text if self.input_piece is not None else None

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of steps by verdict."""
        return Counter(step.verdict for step in self.steps)

    def summary(self) -> str:
        """Return the number of passes, and how many have each verdict, in a sentence."""
        what = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts.most_common())
        head = f"{counted(len(self.steps), 'pass').replace('passs', 'passes')} ({self.format})"  # `counted` adds an s
        return f"{head}: {what}" if what else f"{head}: nothing that looks like a dump of passes"

    @property
    def page_writer(self) -> Callable[..., None]:
        """The function that writes a recording of this kind as a page."""
        writer: Callable[..., None] = late("passlab.display.views.text_recording", "write_text_report")
        return writer

    def named(self, name: str) -> Step | None:
        """Return the first step of this name that changed something, which says most; without one the first."""
        steps = self.where(name=name)
        return next((step for step in steps if step.verdict == "changed"), steps[0] if steps else None)

    def names(self) -> list[str]:
        """Return the names of all steps."""
        return [step.name for step in self.steps]

    def where(
        self, name: str | None = None, *, unit: str | None = None, verdict: str | None = None, phase: str | None = None
    ) -> list[Step]:
        """Return the steps that meet all given conditions; `unit` may be any name within the unit of a step."""
        return [
            step
            for step in self.steps
            if (name is None or name in (step.name, step.argument))
            and (unit is None or unit in (step.unit, *step.names) or unit in re.split(r"[\s(),@]+", step.unit))
            and (verdict is None or step.verdict == verdict)
            and (phase is None or step.phase == phase)
        ]

    @property
    def changed(self) -> list[Step]:
        """The steps with the verdict "changed"."""
        return [step for step in self.steps if step.verdict == "changed"]

    @property
    def failed(self) -> Step | None:
        """The first pass that failed, or None."""
        return next((step for step in self.steps if step.verdict == "failed"), None)

    def children(self, step: Step) -> list[Step]:
        """Return the steps directly inside another, where the dump has them; the input has none."""
        return [other for other in self.steps if other.parent == step.number > 0]

    def step(self, number: int) -> Step:
        """Return the step of a number; negative ones count from the end, and 0 is the input, where the dump has it.

        Raises `PassIndexError`.
        """
        if number == 0 and self._input_step is not None:
            return self._input_step
        return super().step(number)

    @cached_property
    def _input_step(self) -> Step | None:
        if self.input_piece is None and not self.units_at(0):
            return None
        step = Step(0, "input", "", "input")
        step.verdict, step.language, step.recording = "unchanged", self.language.name, self
        return step

    # ------------------------------------------------------------ texts
    def number_of(self, step: Any) -> int:
        """Return the number of a step given as a step, a number (negative ones count from the end) or a name. Raises
        `PassTypeError` for anything else.
        """
        if isinstance(step, Step):
            return step.number
        if isinstance(step, str):
            named: Step = self[step]
            return named.number
        try:
            number = operator.index(step)
        except TypeError:
            what = "a step is given as a step, its number or the name of its pass"
            raise PassTypeError(Diagnostic(what, found=type(step).__name__)) from None
        return number if number >= 0 else len(self.steps) + 1 + number

    def before(self, step: Any) -> str:
        """Return the text before a step; empty where the dump does not have it."""
        at = self.step(self.number_of(step))
        if at.number == 0:
            return self.program(0)
        if at.before_body is not None:
            return at.before_body.text
        if at.verdict == "unchanged" and at.after_body is not None and len(at.names) > 1:
            return at.after_body.text  # as printed, not put together of its parts
        last = self.steps[at.number - 2] if at.number > 1 else None
        if last is not None and at.scope == last.scope == "module" and last.phase == at.phase:
            return last.after_body.text if last.after_body is not None else ""
        if at.after_body is None and at.verdict in ("unchanged", "filtered", "ignored"):
            return self._unchanged_text(at)
        pieces = [unit.at(at.number - 1) for name in at.names if (unit := self.units.get(name)) is not None]
        if at.number == 1 and self.input_piece is not None and at.names and (at.scope == "module" or not any(pieces)):
            return self.input_piece.text
        return "\n".join([piece.text for piece in pieces if piece is not None])

    def after(self, step: Any) -> str:
        """Return the text after a step, which is that before it where it changed nothing."""
        at = self.step(self.number_of(step))
        if at.number == 0:
            return self.program(0)
        if at.after_body is not None:
            return at.after_body.text
        if at.verdict in ("unchanged", "filtered", "ignored"):
            return self._unchanged_text(at)
        return ""

    def _unchanged_text(self, step: Step) -> str:
        """Return the text of the unit of a pass that changed nothing and printed nothing, if the dump shows it."""
        if step.gap:
            return ""
        if step.kind == "module":
            return self.program(step.number)
        inside = step.unit.rpartition(" in function ")[2].strip("()")
        texts = []
        for name in dict.fromkeys((inside, *inside.split(", "))):
            names = [f"{head}{name}{tail}" for tail in (MACHINE, "") for head in (f"{step.phase}: ", "")]
            pieces = [self.units[one].at(step.number) for one in names if one in self.units]
            texts += [piece.text for piece in pieces if piece is not None][:1]
        return "\n".join(texts)

    def unit_text(self, step: Any, unit: str) -> str:
        """Return the text of a unit after a step; empty where the program does not have it."""
        at = self._unit(unit)
        excerpt = at.at(self.number_of(step))
        return excerpt.text if excerpt is not None else ""

    def _unit(self, name: Any) -> Unit:
        if not isinstance(name, str):
            hint = "unit_text(step, unit) takes the step first, blame(unit, step) the unit"
            raise DumpError(Diagnostic(f"a unit is given by its name, not by {type_in_words(name)}", hint=hint))
        unit = self.units.get(name)
        if unit is None:
            ends = [key for key in self.units if key.endswith(("/" + name, "@" + name, " " + name, f" ({name})"))]
            ends = ends or [key for key in self.units if key.startswith(f"{name} (")]  # overloads of C++
            if len(ends) == 1:
                return self.units[ends[0]]
            hint = (
                did_you_mean(name, self.units) or f"there are {', '.join([key or repr('') for key in self.units][:12])}"
            )
            raise DumpError(Diagnostic(f"no unit `{name}` is in the dump", hint=hint))
        return unit

    def units_at(self, step: Any) -> list[str]:
        """Return the names of the units that the program has after a step."""
        number = self.number_of(step)
        return [name for name, unit in self.units.items() if unit.at(number) is not None]

    def program(self, step: Any = -1, text_of: Callable[[Excerpt], str] = lambda piece: piece.text) -> str:
        """Return the whole program after a step: the latest text of each unit, as `text_of` gives it."""
        number = self.number_of(step)
        if number > 0 and self.steps and self.steps[number - 1].scope == "module":
            body = self.steps[number - 1].after_body
            if body is not None:
                return body.text
        language = (number and self.steps[number - 1].language) or self.language.name
        if language == "mlir" and (whole := whole_text(self.prints, number)) is not None:
            return whole
        units = [unit for unit in self.units.values() if not unit.name.endswith(HEAD)]
        if self.chains and self.steps:
            phase = self.steps[max(number, 1) - 1].phase
            units = [unit for unit in units if unit.name == phase or unit.name.startswith(f"{phase}: ")]
        if language == "llvm":  # data layout, types and globals come first
            units.sort(key=lambda unit: not self._is_rest(unit))
        pieces = [unit.at(number) for unit in units]
        nested = language == "mlir" and any("/" in name for name in self.units)
        texts = [text_of(piece) for piece in pieces if piece is not None]
        return "\n".join(texts) if not nested else queries.nest(self, number, text_of)

    @cached_property
    def declarations(self) -> dict[str, str]:
        """The lines of MLIR that declare a symbol without a body, by symbol."""
        return declarations_of(self)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols that some dump of MLIR defines or declares."""
        return frozenset([*self.declarations, *[name.rpartition("@")[2] for name in self.units]])

    @staticmethod
    def _is_rest(unit: Unit) -> bool:
        """Whether a unit is the text between the functions of a program."""
        piece = next((piece for piece in unit.pieces if piece is not None), None)
        return piece is not None and not unit.name.endswith(MACHINE) and b"\ndefine " not in b"\n" + piece.data

    # ------------------------------------------------------------ asking
    def reader(self, language: str = "") -> LineReader:
        """Return the line reader of a language; by default the language of the dump."""
        name = language or self.language.name
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = LineReader(LANGUAGES.get(name, self.language).syntax)
        return reader

    def diff(self, step: Any, other: Any = None, *, unit: str | None = None, filters: Iterable[str] = ()) -> TextDiff:
        """Return what a step changed, or with `other` the change between two steps, in one unit or in all."""
        at = self.number_of(step)
        chosen = filters_named(filters)
        language = self.steps[at - 1].language if at else self.language.name
        reader = self.reader(language)
        if other is not None:
            end = self.number_of(other)
            texts = (
                (self.program(at), self.program(end))
                if unit is None
                else (self.unit_text(at, unit), self.unit_text(end, unit))
            )
        elif unit is not None:
            texts = self.unit_text(max(at - 1, 0), unit), self.unit_text(at, unit)
        else:
            texts = self._changed_texts(self.step(at))
        return diff_texts(*texts, reader.syntax, chosen, reader)

    def _changed_texts(self, step: Step) -> tuple[str, str]:
        """Return the texts before and after a step; of a large program only the units that it changed."""
        body = step.after_body
        if step.verdict == "unchanged":  # what may differ is noise: slots of machine code, or the work of other passes
            return self.after(step), self.after(step)
        by_units = self.language.name == "gcc" or (body is not None and body.lines > LARGE and len(step.names) > 1)
        if body is None or not by_units:
            return self.before(step), self.after(step)
        texts: tuple[list[str], list[str]] = ([], [])
        for unit in self.units.values():
            before, after = unit.at(step.number - 1), unit.at(step.number)
            if before is not after:
                for piece, part in zip((before, after), texts, strict=True):
                    part += [piece.text] if piece is not None else []
        return "\n".join(texts[0]), "\n".join(texts[1])

    def history(self, unit: str) -> UnitHistory:
        """Return all versions of a unit. Raises `DumpError` for one that the dump does not have."""
        target = self._unit(unit)
        entry = self._histories.get(target.name)
        if entry is None:
            if len(self._histories) >= MOST_HISTORIES:
                self._histories.pop(next(iter(self._histories)))  # the oldest one
            entry = UnitHistory(target, self.reader(target.language), limits.current().dump_lines)
            self._histories[target.name] = entry
        return entry

    def blame(self, unit: str = WHOLE, step: Any = -1) -> queries.Blame:
        """Return for every line of a unit after a step the step, or range of steps, that made it."""
        history = self.history(unit)
        version = history.version_at(self.number_of(step))
        origins: list[LineOrigin] = history.origins(version)
        return queries.Blame(self, history, version, origins)

    def graph(self, unit: str = WHOLE, step: Any = -1) -> Any:
        """Return the graph of the values of a unit after a step, as a view; what the step changed in it is marked.

        A live program that is a graph in its host is drawn from its nodes, a text from its lines.
        """
        number = self.number_of(step)
        at = self.steps[number - 1] if number else None
        live, before = (at.live, at.live_before) if at is not None else (self.live_input, None)
        if self.nodes_of is not None and live is not None:
            nodes = [None if one is None else list(self.nodes_of(one)) for one in (live, before)]
            return late("passlab.display.views.text_recording", "live_graph_view")(*nodes)
        history = self.history(unit)
        version = history.version_at(number)
        wrote = version > 0 and history.unit.steps[version] == number
        kinds = [kind for kind, _ in history.diff(version).origin] if wrote else []
        make = late("passlab.display.views.text_recording", "text_graph_view")
        return make(history.lines(version), history.reader.syntax, kinds)

    def timing(self) -> Any:
        """Return the time of each pass as a view with a flame chart; only live recordings have times."""
        return late("passlab.display.views.timing", "timing_view")(self)

    def nested_steps(self) -> Iterator[tuple[int, Step]]:
        """Yield the steps in the order in which they began, each with the number of passes around it."""
        inside: dict[int, list[Step]] = {}
        for step in self.steps:
            inside.setdefault(step.parent, []).append(step)
        stack = [(0, step) for step in reversed(inside.get(0, []))]
        while stack:
            depth, step = stack.pop()
            yield depth, step
            stack += [(depth + 1, child) for child in reversed(inside.get(step.number, ()))]

    def follow(self, name: str, unit: str = WHOLE, step: Any = -1) -> Table:
        """Return a row for each step that changed the name of a value of a unit or the line that defines it."""
        return queries.follow(self, name, unit, self.number_of(step))

    def find(self, pattern: str | re.Pattern[str]) -> list[queries.Occurrence]:
        """Return the ranges of steps, unit by unit, whose text matches a regular expression."""
        return queries.find(self, pattern)

    def first(self, pattern: str | re.Pattern[str]) -> Step | None:
        """Return the first step after which some text matches a regular expression; None for none.

        The input counts as a step: its number is 0.
        """
        return queries.first(self, pattern)

    def last(self, pattern: str | re.Pattern[str]) -> Step | None:
        """Return the last step after which some text matches; the step after it removed the last match. None for none.

        The input counts as a step: its number is 0.
        """
        return queries.last(self, pattern)

    def operations(self, *names: str, changed_only: bool = True) -> Table:
        """Return the counts of operations by name after each step; by default after steps that changed something."""
        return queries.operations(self, names, changed_only)

    def inside(self, name: str, step: Any = -1) -> Table:
        """Return the operations inside a fusion, a loop or a reduction of HLO after a step: what its instruction calls.

        `fusion_33` and `%fusion.33` are the same name. Raises `DumpError` for one that the program does not have.
        """
        return operations_inside(self.program(step), name)

    def compare(self, other: Any) -> TextComparison:
        """Align the steps of two recordings by name and unit, and compare their programs.

        Raises `DumpError` where the other is not a recording of text.
        """
        if not isinstance(other, TextRecording):
            hint = "`passlab.dumps.read` and `passlab.recorders` make recordings of text"
            raise DumpError(
                Diagnostic(f"a recording of text cannot be compared with {type_in_words(other)}", hint=hint)
            )
        return TextComparison(self, other)

    def bisect(
        self, predicate: Any, *, unit: str | None = None, low: int = 0, high: int | None = None
    ) -> queries.TextBisection:
        """Return the first step after which a predicate on text, or a command (exit status 0), no longer holds.

        A predicate is a function of the text of the program, or a regular expression that must match. A command is a
        list of words; the program is written to a file whose name replaces `{}`, or becomes the last word.
        """
        return queries.bisect(self, predicate, unit, low, high)

    # ------------------------------------------------------------ the user's source
    @cached_property
    def source_map(self) -> SourceMap:
        """The places in the user's source from which the lines of the programs come."""
        return SourceMap(self)

    def lines_of(self, place: str, step: Any = None) -> Table:
        """Return the lines that come from a line of the user's source, written `softmax.py:8`.

        These are the lines of every version of every unit, each after the step that made the version; with `step`, only
        the lines of the program after it. Lines of inlined code also come from the line of the call.
        """
        return self.source_map.lines_of(place, None if step is None else self.number_of(step))

    def places(self, unit: str, step: Any = -1) -> list[tuple[str, ...]]:
        """Return for each line of a unit after a step the source lines that it comes from, the innermost first."""
        target = self._unit(unit)
        found = self.source_map.places(target, self.history(unit).version_at(self.number_of(step)))
        return [tuple(map(str, self.source_map.canonical(places))) for places in found]

    def steps_of(self, place: str) -> list[Step]:
        """Return the steps that changed, added or removed a line that comes from a line of the source."""
        return self.source_map.steps_of(place)

    def sources(self) -> Table:
        """Return one row per line of the user's source: its code, its lines at the end, how many steps changed them."""
        return self.source_map.sources()

    def add_source(self, path: str | os.PathLike[str], text: str | None = None) -> None:
        """Give the text of a source file, for views and tables; without `text` the file is read.

        No file is read for its name in a dump alone, since a page may be shown to others.
        """
        self.source_map.add(path, text)

    # ------------------------------------------------------------ commands
    def command(self, step: Any, path: str = "before") -> str:
        """Return the command that runs the pass of a step alone on a file with `before(step)`; empty without one."""
        at = self.step(self.number_of(step))
        return "" if self._lacks_input(at) else commands.command_or_reason(at, self.format, path)[0]

    def no_command(self, step: Any) -> str:
        """Return why no command runs the pass of a step alone; empty if one does."""
        at = self.step(self.number_of(step))
        return self._lacks_input(at) or commands.command_or_reason(at, self.format)[1]

    def _lacks_input(self, at: Step) -> str:
        """Return why the tool of a pass cannot read its input; empty if it can."""
        if at.number == 0:
            return "it is the input, and no pass"
        missing = ""
        if at.kind not in commands.NO_PASSES and self._is_on_machine_code(at):
            return commands.no_machine_command(at)
        if at.language == "mlir" and (symbol := unknown_symbol(self, at)):
            missing = f"@{symbol}"
        elif at.language == "llvm" and at.gap and not self.before(at):
            return f"the dump does not show its input, which step {at.gap} may have changed"
        elif at.language == "llvm" and at.scope != "module" and not self.has_types:
            missing = unknown_type(self.before(at))
        return f"no dump shows {missing}, to which the program refers" if missing else ""

    def _is_on_machine_code(self, step: Step) -> bool:
        """Whether a pass ran on machine code, which one without a text does not say itself."""
        unit = self.units.get(re.sub(r"^\(function: (.*)\)$", r"\1", step.unit) + MACHINE)
        return step.language == "mir" or (unit is not None and unit.at(step.number - 1) is not None)

    @cached_property
    def has_types(self) -> bool:
        """Whether some dump of LLVM has the text outside of functions, with the types."""
        return any(self._is_rest(unit) for unit in self.units.values())

    def save_before(self, step: Any, path: str | os.PathLike[str]) -> str:
        """Write the input of a pass to a file, and return the command that runs this pass alone on it.

        The file and the command are empty where no dump shows the program before the pass.
        """
        return queries.save_before(self, self.step(self.number_of(step)), path)

    @cached_property
    def tool(self) -> str:
        """The tool that runs single passes of a recording of MLIR: mlir-opt, iree-opt or triton-opt."""
        return commands.mlir_tool(step.argument for step in self.steps)

    @property
    def advice(self) -> str:
        """The command that makes a dump with more evidence, where this one leaves verdicts open; empty otherwise."""
        if not any(step.verdict == "unknown" or step.assumed for step in self.steps):
            return ""
        if self.tool == "triton-opt":
            return "" if self.steps[0].after_body is not None else commands.better_dump("triton")
        return commands.better_dump(self.format)

    @property
    def reducer(self) -> str:
        """The tool of the host compiler that reduces a failing program."""
        return commands.REDUCERS.get(self.format, "")

    @property
    def other_output(self) -> str:
        """The text in the dump that belongs to no pass: warnings, a crash report, text before and between."""
        return "\n".join([piece.text for piece in self.other])

    def join(self, path: str | os.PathLike[str]) -> Reports:
        """Read a report of the compiler, and join its remarks and times to the steps; return what was in it.

        Reports are remarks (`-fsave-optimization-record`, `-pass-remarks-output`), traces of times (`-ftime-trace`) and
        tables of times and statistics (`-time-passes`, `-stats`, `--mlir-timing`). Raises `DumpError` for another file.
        """
        return join(self.reports, self.steps, path)

    def remarks_of(self, step: Any) -> list[Remark]:
        """Return the remarks that a step made, or may have made."""
        number = self.number_of(step)
        return [one for one in self.reports.remarks if one.first <= number <= one.last]

    def detach(self) -> None:
        """Keep all texts in memory, so that the dump may be deleted."""
        pieces = [self.input_piece, *self.other, *[piece for unit in self.units.values() for piece in unit.pieces]]
        for step in self.steps:
            pieces += [step.before_body, step.after_body, *step.pieces]
        for piece in pieces:
            if piece is not None and not isinstance(piece.source, BytesSource):
                data = piece.raw
                piece.source, piece.spans = BytesSource(data, piece.source.name), (0, len(data))

    # ------------------------------------------------------------ showing
    def table(self) -> Table:
        """Return one row per step."""
        rows = []
        for s in self.steps:
            verdict, lines = s.verdict + ("?" if s.assumed else ""), s.after_body.lines if s.after_body else None
            rows.append([s.number, s.name, s.unit, verdict, s.since, s.phase, lines, s.note])
        columns = ["step", "pass", "unit", "verdict", "since", "phase", "lines", "note"]
        if any(s.seconds is not None for s in self.steps):
            columns.append("seconds")
            rows = [[*row, s.seconds] for row, s in zip(rows, self.steps, strict=True)]
        if self.reports.remarks:
            columns.append("remarks")
            exact = Counter(one.first for one in self.reports.remarks if one.first == one.last)
            rows = [[*row, exact[s.number]] for row, s in zip(rows, self.steps, strict=True)]
        if self.reports.statistics:
            columns.append("statistics")
            rows = [[*row, self.reports.statistics_of(s)] for row, s in zip(rows, self.steps, strict=True)]
        return Table(columns, rows)

    @property
    def tables(self) -> dict[str, Callable[[], Table]]:
        """The tables of the recording, by name: the table of the steps, and further tables of its compiler."""
        own = {name: lambda t=table: t for name, table in self.reports.tables().items()}
        return {"steps": self.table, "sources": self.sources} | own

    def overview(self) -> dict[str, Table]:
        """Return the tables that a view shows with the steps, by title; none for most compilers."""
        return self.reports.overview()

    def text(self) -> str:
        """Return the recording as plain text."""
        return str(late("passlab.display.views.text_recording", "text_recording_view")(self).text())
