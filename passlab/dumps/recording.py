"""`TextRecording`: what the passes of some compiler did, read from what it printed, to walk through and ask.

    rec = passlab.dumps.read("dump.txt")
    rec.steps, rec[12].before, rec["SROAPass"].diff(), rec.blame("main"), rec.first("vector<"), rec.operations()

Step 0 is the input where it is known. Nothing here draws: `display` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.diffing.text_diff import TextDiff, diff_texts
from passlab.diffing.text_lines import LineReader
from passlab.dumps import commands, queries
from passlab.dumps.assembly import Assembly
from passlab.dumps.blame import Origin, UnitHistory
from passlab.dumps.comparison import TextComparison
from passlab.dumps.filters import filters_named
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.language import LANGUAGES, WHOLE, Language
from passlab.dumps.mlir_program import declarations_of, unknown_symbol
from passlab.dumps.source import BytesSource, Piece
from passlab.dumps.stand_ins import unknown_type
from passlab.dumps.step import Step, Unit
from passlab.errors import Diagnostic, DumpError, counted, did_you_mean
from passlab.lazy import late
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    import os


MACHINE = " (machine code)"  # behind the names of functions of machine code
LARGE = 3000  # lines of a program above which a step shows only the units that it wrote
MOST_HISTORIES = 64  # units whose versions and origins are kept
StepLike = "Step | int | str"


class TextRecording(Tabular):
    """The passes of one dump. `steps` are the passes in order of the dump; `rec[n]` is step n, from 1 on."""

    def __init__(self, assembly: Assembly, format_name: str, name: str, size: int) -> None:
        self.format, self.name, self.size = format_name, name, size
        self.steps: list[Step] = assembly.steps
        self.units: dict[str, Unit] = assembly.units
        self.other: list[Piece] = assembly.other
        self.notes: list[str] = list(assembly.scan.notes)
        self.crash = assembly.crash
        self.language: Language = assembly.language
        self.chains: bool = assembly.traits.chains
        self.input_piece = assembly.input.piece if assembly.input is not None else None
        self.nodes_of: Callable[[Any], Iterable[GraphNode]] | None = None  # of live programs that are graphs
        self.live_input: Any = None
        self._readers: dict[str, LineReader] = {}
        self._histories: dict[str, UnitHistory] = {}
        for step in self.steps:
            step.recording = self

    # ------------------------------------------------------------ reading
    @property
    def input(self) -> str | None:
        """The program before the first pass, None where the dump does not have it."""
        return self.input_piece.text if self.input_piece is not None else None

    @cached_property
    def counts(self) -> Counter[str]:
        """How many steps there are of each verdict."""
        return Counter(step.verdict for step in self.steps)

    def summary(self) -> str:
        """Return how many passes there are and what became of them, in a sentence."""
        what = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts.most_common())
        head = f"{counted(len(self.steps), 'pass').replace('passs', 'passes')} ({self.format})"
        return f"{head}: {what}" if what else f"{head}: nothing that looks like a dump of passes"

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.steps[key]
        if isinstance(key, int):
            return self.step(key)
        if not isinstance(key, str):
            raise TypeError(f"a recording is indexed by number or name of a pass, not by {type(key).__name__}")
        hit = self.where(name=key)
        if not hit:
            names = dict.fromkeys(step.name for step in self.steps)
            hint = did_you_mean(key, names) or f"it has {', '.join([*names][:12])}"
            raise DumpError(Diagnostic(f"no pass `{key}` is in the dump", hint=hint))
        return next((step for step in hit if step.verdict == "changed"), hit[0])

    def step(self, number: int) -> Step:
        """Return step `number`, from 1 on; negative numbers count from the end."""
        at = number - 1 if number > 0 else len(self.steps) + number
        if number == 0 or not 0 <= at < len(self.steps):
            raise IndexError(f"step {number} of a recording with steps 1 to {len(self.steps)}")
        return self.steps[at]

    def where(
        self, name: str | None = None, *, unit: str | None = None, verdict: str | None = None, phase: str | None = None
    ) -> list[Step]:
        """Return the steps for which everything asked holds; a unit is matched by its name anywhere in the unit's
        text.
        """
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
        """The steps that changed something, as far as the dump tells."""
        return [step for step in self.steps if step.verdict == "changed"]

    @property
    def failed(self) -> Step | None:
        """The first pass that failed, or None."""
        return next((step for step in self.steps if step.verdict == "failed"), None)

    def children(self, step: Step) -> list[Step]:
        """Return the steps that ran right inside another, where the dump tells."""
        return [other for other in self.steps if other.parent == step.number]

    # ------------------------------------------------------------ texts
    def number_of(self, step: Any) -> int:
        """Return the number of a step given as a step, a number (negative ones count from the end) or a name."""
        if isinstance(step, Step):
            return step.number
        if isinstance(step, str):
            hit: Step = self[step]
            return hit.number
        return int(step) if step >= 0 else len(self.steps) + 1 + int(step)

    def before(self, step: Any) -> str:
        """Return what the pass of a step ran on, as text; empty where the dump does not have it."""
        at = self.step(self.number_of(step))
        if at.before_body is not None:
            return at.before_body.text
        if at.scope == "module" and at.number > 1 and self.steps[at.number - 2].scope == "module" and not self.chains:
            last = self.steps[at.number - 2].after_body
            return last.text if last is not None else ""
        if at.after_body is None and at.verdict in ("unchanged", "filtered", "ignored"):
            return self._as_it_was(at)
        pieces = [unit.at(at.number - 1) for name in at.names if (unit := self.units.get(name)) is not None]
        if at.number == 1 and self.input_piece is not None and at.names and (at.scope == "module" or not any(pieces)):
            return self.input_piece.text
        return "\n".join([piece.text for piece in pieces if piece is not None])

    def after(self, step: Any) -> str:
        """Return what the pass of a step left, as text: what was before where it changed nothing."""
        at = self.step(self.number_of(step))
        if at.after_body is not None:
            return at.after_body.text
        if at.verdict in ("unchanged", "filtered", "ignored"):
            return self._as_it_was(at)
        return ""

    def _as_it_was(self, step: Step) -> str:
        """What a pass ran on that changed nothing and shows nothing: its functions, as they are after it."""
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
        """Return one unit after a step; empty where it is not there."""
        hit = self._unit(unit).at(self.number_of(step))
        return hit.text if hit is not None else ""

    def _unit(self, name: str) -> Unit:
        hit = self.units.get(name)
        if hit is None:
            ends = [key for key in self.units if key.endswith(("/" + name, "@" + name, " " + name))]
            if len(ends) == 1:
                return self.units[ends[0]]
            hint = (
                did_you_mean(name, self.units) or f"there are {', '.join([key or repr('') for key in self.units][:12])}"
            )
            raise DumpError(Diagnostic(f"no unit `{name}` is in the dump", hint=hint))
        return hit

    def units_at(self, step: Any) -> list[str]:
        """Return the names of the units that the program has after a step."""
        number = self.number_of(step)
        return [name for name, unit in self.units.items() if unit.at(number) is not None]

    def program(self, step: Any = -1, text_of: Callable[[Piece], str] = lambda piece: piece.text) -> str:
        """Return the whole program after a step, put together from the latest text of each unit.

        `text_of` gives the text of one.
        """
        number = self.number_of(step)
        if number > 0 and self.steps and self.steps[number - 1].scope == "module":
            body = self.steps[number - 1].after_body
            if body is not None:
                return body.text
        units = list(self.units.values())
        if self.chains and self.steps:
            phase = self.steps[max(number, 1) - 1].phase
            units = [unit for unit in units if unit.name == phase or unit.name.startswith(f"{phase}: ")]
        if self.language.name == "llvm":  # its layout, its types and its globals stand in front
            units.sort(key=lambda unit: not self._is_rest(unit))
        pieces = [unit.at(number) for unit in units]
        nested = self.language.name == "mlir" and any("/" in name for name in self.units)
        texts = [text_of(piece) for piece in pieces if piece is not None]
        return "\n".join(texts) if not nested else queries.nest(self, number, text_of)

    @cached_property
    def declarations(self) -> dict[str, str]:
        """The lines of MLIR that declare a symbol without a body, by symbol."""
        return declarations_of(self)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols that some dump of MLIR shows."""
        return frozenset([*self.declarations, *[name.rpartition("@")[2] for name in self.units]])

    @staticmethod
    def _is_rest(unit: Unit) -> bool:
        """Whether a unit is what stands between the functions of a program."""
        piece = next((piece for piece in unit.pieces if piece is not None), None)
        return piece is not None and not unit.name.endswith(MACHINE) and b"\ndefine " not in b"\n" + piece.data

    # ------------------------------------------------------------ asking
    def reader(self, language: str = "") -> LineReader:
        """Return the reader of lines of a language; by default that of the dump."""
        name = language or self.language.name
        hit = self._readers.get(name)
        if hit is None:
            hit = self._readers[name] = LineReader(LANGUAGES.get(name, self.language).syntax)
        return hit

    def diff(self, step: Any, other: Any = None, *, unit: str | None = None, filters: Iterable[str] = ()) -> TextDiff:
        """Return what a step changed, or with `other` what changed between two steps; of one unit, or of all it
        shows.
        """
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
            texts = self.unit_text(at - 1, unit), self.unit_text(at, unit)
        else:
            texts = self._changed_texts(self.step(at))
        return diff_texts(*texts, reader.syntax, chosen, reader)

    def _changed_texts(self, step: Step) -> tuple[str, str]:
        """What a step ran on and left; of a large program only the units that it wrote."""
        body = step.after_body
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
        hit = self._unit(unit)
        entry = self._histories.get(hit.name)
        if entry is None:
            if len(self._histories) >= MOST_HISTORIES:
                self._histories.pop(next(iter(self._histories)))
            language = "mir" if hit.name.endswith("(machine code)") else ""
            entry = UnitHistory(hit, self.reader(language), limits.current().dump_lines)
            self._histories[hit.name] = entry
        return entry

    def blame(self, unit: str = WHOLE, step: Any = -1) -> queries.Blame:
        """Return for every line of a unit after a step the step that made it, or the range of steps that may have."""
        history = self.history(unit)
        version = history.version_at(self.number_of(step))
        origins: list[Origin] = history.origins(version)
        return queries.Blame(self, history, version, origins)

    def graph(self, unit: str = WHOLE, step: Any = -1) -> Any:
        """Return the graph of the values of a unit after a step, as a view; what the step changed in it is marked.

        A live program that its host has as a graph is drawn from its nodes, a text from its lines.
        """
        number = self.number_of(step)
        at = self.steps[number - 1] if number else None
        live, before = (at.live, at.live_before) if at is not None else (self.live_input, None)
        if self.nodes_of is not None and live is not None:
            nodes = [None if one is None else list(self.nodes_of(one)) for one in (live, before)]
            return late("passlab.display.text_graph", "live_graph_view")(*nodes)
        history = self.history(unit)
        version = history.version_at(number)
        wrote = version > 0 and history.unit.steps[version] == number
        kinds = [kind for kind, _ in history.diff(version).origin] if wrote else []
        make = late("passlab.display.text_graph", "text_graph_view")
        return make(history.lines(version), history.reader.syntax, kinds)

    def timing(self) -> Any:
        """Return how long each pass took as a view with a flame chart; only live recordings have times."""
        return late("passlab.display.timing", "timing_view")(self)

    def nested(self) -> Iterator[tuple[int, Step]]:
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
        """Return a value of a unit through all steps: what it is called and the line that defines it, where one
        changed.
        """
        return queries.follow(self, name, unit, self.number_of(step))

    def find(self, pattern: str | re.Pattern[str]) -> list[queries.Occurrence]:
        """Return where text that matches a regular expression stands: a unit, its first and its last step with it."""
        return queries.find(self, pattern)

    def first(self, pattern: str | re.Pattern[str]) -> Step | None:
        """Return the first step after which some text matches a regular expression; None for none, or for the input."""
        return queries.first(self, pattern)

    def last(self, pattern: str | re.Pattern[str]) -> Step | None:
        """Return the last step after which some text matches; the step after it took the last of it away."""
        return queries.last(self, pattern)

    def operations(self, *names: str, changed_only: bool = True) -> Table:
        """Return how many operations of each name the program has after each step; by default of steps that changed."""
        return queries.operations(self, names, changed_only)

    def compare(self, other: Any) -> TextComparison:
        """Return two recordings pass by pass: steps aligned by name and unit, and where their programs part.

        Raises `DumpError` where the other is no recording of text.
        """
        if not isinstance(other, TextRecording):
            hint = "`passlab.dumps.read` and `passlab.recorders` make recordings of text"
            raise DumpError(
                Diagnostic(f"a recording of text cannot be compared with a {type(other).__name__}", hint=hint)
            )
        return TextComparison(self, other)

    def bisect(
        self, predicate: Any, *, unit: str | None = None, low: int = 0, high: int | None = None
    ) -> queries.Bisection:
        """Return the first step after which a predicate on text, or a command (exit status 0), no longer holds.

        A predicate is a function of the program's text, or a regular expression that must be found. A command is a list
        of words; the program is written to a file whose name replaces `{}`, or is added at the end.
        """
        return queries.bisect(self, predicate, unit, low, high)

    # ------------------------------------------------------------ doing
    def command(self, step: Any, path: str = "before") -> str:
        """Return the command that runs just the pass of a step on a file with `before(step)`; empty where there is
        none.
        """
        at = self.step(self.number_of(step))
        return "" if self.no_command(at) else commands.command_for(at, self.format, path)

    def no_command(self, step: Any) -> str:
        """Why no command runs just the pass of a step, where what it ran on cannot be put together; empty otherwise."""
        at = self.step(self.number_of(step))
        missing = ""
        if self.language.name == "mlir" and (symbol := unknown_symbol(self, at)):
            missing = f"@{symbol}"
        elif at.language == "llvm" and at.scope != "module" and not self.has_types:
            missing = unknown_type(self.before(at))
        return f"no dump shows {missing}, to which the program refers" if missing else ""

    @cached_property
    def has_types(self) -> bool:
        """Whether some dump of LLVM shows what stands outside of functions, and with it the types."""
        return any(self._is_rest(unit) for unit in self.units.values())

    def save_before(self, step: Any, path: str | os.PathLike[str]) -> str:
        """Write what a pass ran on to a file, and return the command that runs just this pass on it."""
        return queries.save_before(self, self.step(self.number_of(step)), path)

    @property
    def advice(self) -> str:
        """The command that makes a better dump, where this one leaves verdicts open; empty otherwise."""
        if not any(step.verdict == "unknown" or step.assumed for step in self.steps):
            return ""
        return commands.better_dump(self.format)

    @property
    def reducer(self) -> str:
        """The host compiler's own tool that makes a failing program smaller."""
        return commands.REDUCERS.get(self.format, "")

    @property
    def other_output(self) -> str:
        """What the dump holds beside the passes: warnings, a crash report, text before and between."""
        return "\n".join([piece.text for piece in self.other])

    def hold(self) -> None:
        """Keep all texts in memory, so that the dump may be deleted."""
        pieces = [self.input_piece, *self.other, *[piece for unit in self.units.values() for piece in unit.pieces]]
        for step in self.steps:
            pieces += [step.before_body, step.after_body, *step.pieces]
        for piece in pieces:
            if piece is not None and not isinstance(piece.source, BytesSource):
                data = piece.raw
                piece.source, piece.spans = BytesSource(data, piece.source.name), (0, len(data))

    # ------------------------------------------------------------ forms
    def table(self) -> Table:
        """Return one row per step."""
        columns = ("step", "pass", "unit", "verdict", "since", "phase", "lines", "note")
        return Table(
            columns,
            [
                (
                    s.number,
                    s.name,
                    s.unit,
                    s.verdict + ("?" if s.assumed else ""),
                    s.since,
                    s.phase,
                    s.after_body.lines if s.after_body is not None else None,
                    s.note,
                )
                for s in self.steps
            ],
        )

    def text(self) -> str:
        """Return the recording as plain text."""
        return str(late("passlab.display.text_recording", "text_recording_view")(self).text())

    def to_html(self, path: str | os.PathLike[str], static: bool = False) -> None:
        """Write the recording as one HTML file that needs nothing else; with `static` one without any script."""
        late("passlab.display.text_recording", "write_text_report")(self, path, static)

    def _repr_html_(self) -> str:
        return str(late("passlab.display.text_recording", "text_recording_view")(self).html())

    def __repr__(self) -> str:
        return self.text()
