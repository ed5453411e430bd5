"""`Assembly`: turns the banners of a dump into steps: the unit of each pass, its texts before and after, its verdict.

One `Assembly` serves all formats. It keeps the state of the program as a table of units (functions, operations with
symbols), and pairs banners of before and after. It gives an exact verdict only where the dump proves one: by before and
after, by a verdict of the compiler, or by whole programs. Otherwise it gives a range of passes.

What `extents` leaves of a body is other output, of the pass that ran when it was printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from passlab import limits
from passlab.dumps import verdicts
from passlab.dumps.banner import DIFF, FRAGMENT, MODULE, NONE, UNIT, Banner, Scan
from passlab.dumps.consistency import is_consistent
from passlab.dumps.extents import Extent, extent_of, is_torn
from passlab.dumps.gaps import MACHINE, Gaps
from passlab.dumps.language import HEAD, LANGUAGES, WHOLE, Language
from passlab.dumps.llvm import without_slots
from passlab.dumps.source import FORMS, Excerpt
from passlab.dumps.step import Step, Unit

CRASH = re.compile(
    rb"(?m)^(?:PLEASE (?:submit|ATTACH)|Stack dump|[^\s%@][^\n]*: [^\n]*Assertion [`'\"]|terminate called"
    rb"|Segmentation fault|LLVM ERROR: |fatal error: |Traceback \(most recent call last\))[^\n]*"
)


@dataclass(slots=True)
class Body:
    """The text below one banner: as a whole, and its units."""

    piece: Excerpt
    names: tuple[str, ...]
    pieces: tuple[Excerpt, ...]
    numbers: int = 0  # a digest of the text as printed; `piece.digest` ignores noise of the language
    whole: bool | None = True  # False where the program is cut off, None where only the end of the dump ends it


@dataclass(slots=True, eq=False)
class _OpenPass:
    """A pass that has begun: its banner, the text before it, the steps inside it so far."""

    banner: Banner
    body: Body | None
    children: list[int] = field(default_factory=list)
    other: list[Excerpt] = field(default_factory=list)  # what was printed since it began
    names: tuple[str, ...] = ()  # the paths of its units in the program
    tears: int = 0  # how often lines were missing before it


class Assembly:
    """Makes the steps of a recording from the banners of a scan."""

    def __init__(self, scan: Scan, traits: verdicts.Traits, language: Language) -> None:
        self.scan, self.traits, self.language = scan, traits, language
        self.steps: list[Step] = []
        self.units: dict[str, Unit] = {}
        self.input: Body | None = None
        self.other: list[Excerpt] = list(scan.other)
        self.crash = ""
        self.saw_program = False  # whether a body of the whole program was seen, so that all its units are known
        self._programs: set[str] = set()  # the phases of which one was seen
        self.cut_off = False
        self._pieces: dict[tuple[int, str], Excerpt] = {}
        self._bodies: dict[tuple[int, str, str], tuple[tuple[str, ...], tuple[Excerpt, ...]]] = {}
        self._last_names: dict[str, tuple[int, int]] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._clean: set[int] = set()  # digests of whole bodies without other output
        self._extents: dict[tuple[int, str], Extent] = {}  # by the digest and the scope of a body
        self._slotless: dict[int, int] = {}  # digests of machine code, with and without slots
        self._broken: set[int] = set()  # digests of parts from which something is missing
        self._sound = 0  # the number of all others
        self._inside: list[Excerpt] = []  # other output in the last body,
        self._printed: list[Excerpt] = []  # and since its end
        self.prints: list[tuple[int, str, Excerpt]] = []  # of MLIR: the step, the path and the text of each body
        self._paths: dict[str, str] = {}  # operations first printed alone -> their paths in the program
        self._last_path: dict[str, str] = {}
        self._open: list[_OpenPass] = []
        self._orphans: list[_OpenPass] = []
        self.gaps = Gaps()
        self.tears = 0  # the places so far where lines of the dump are missing
        self._is_torn = False  # whether such a place follows the last banner
        self.inside: dict[int, int] = {}  # of a dump of begins: the index of a pass, and the step that runs it

    def run(self) -> None:
        """Fill `steps`, `units`, `input` and `other`."""
        limits.check("dump_steps", len(self.scan.banners), "a recording of this dump")
        for banner in self.scan.banners:
            earlier, self._printed, self._inside = self._printed, [], []
            if banner.scope != NONE:
                body: Body | None = self._read_body(banner)
            else:
                body = None
                self._leave_out(banner, ())
                self._printed, self._inside = self._inside, []
            self._inside = earlier + self._inside
            if banner.when == "start":
                self._handle_start(banner, body)
            elif banner.when == "before":
                self._handle_before(banner, body)
            else:
                self._handle_after(banner, body)
            if self._is_torn:
                self.gaps.tear(len(self.steps))
                self.tears, self._is_torn = self.tears + 1, False
        self._close_open()
        if self._paths:
            for step in self.steps:
                step.names = tuple([self._paths.get(name, name) for name in step.names])
        verdicts.settle(self.steps, self.traits, self.units, self.tears > 0)

    def append(self, part: Assembly, phase: str) -> None:
        """Append the steps and units of another program."""
        shift = len(self.steps)
        for step in part.steps:
            step.number, step.since, step.phase = step.number + shift, step.since + shift, phase
            step.parent += shift if step.parent else 0
            step.gap += shift if step.gap else 0
            step.names = tuple([f"{phase}: {name}" if name else phase for name in step.names])
        for unit in part.units.values():
            unit.name = f"{phase}: {unit.name}" if unit.name else phase
            # Step 0 stays: the input of a program is not what the last pass on the program before it left.
            unit.steps = [number + shift if number else 0 for number in unit.steps]
            unit.since = [number + shift if number else 0 for number in unit.since]
            unit.last_seen += shift
            self.units[unit.name] = unit
        self.prints += [(number + shift, f"{phase}: {path}", piece) for number, path, piece in part.prints]
        self.steps += part.steps
        self.other += part.other
        self.input = self.input or part.input
        self.crash = self.crash or part.crash

    # ------------------------------------------------------------ bodies
    def _read_body(self, banner: Banner) -> Body:
        raw = banner.source.read(banner.body, banner.end)
        clean = hash(raw)
        whole: bool | None = True
        if clean not in self._clean and not self.scan.is_live:
            extent = self._extent(raw, clean, banner)
            whole = extent.whole
            if whole is None and banner.end < banner.source.size:
                whole = True  # a heading ends it
            if extent.spans == (0, len(raw)):
                self._clean.update([clean] if whole else [])
            else:
                is_cut = self._leave_out(banner, extent.spans)
                whole = False if is_cut or (extent.whole is None and self._is_torn) else whole
        spans = banner.spans()
        form = "diff after" if banner.scope == DIFF else banner.form
        plain = spans == (banner.body, banner.end)
        parts = [raw] if plain else [raw[a - banner.body : b - banner.body] for a, b in _span_pairs(spans)]
        data = FORMS[form](b"".join(parts))
        digest = self._digest_of_machine_code(data) if banner.language == "mir" else hash(data.strip())
        piece = Excerpt(banner.source, spans, digest, form, data.count(b"\n"))
        key = (piece.digest, banner.unit if banner.scope != MODULE else "", banner.phase)
        entry = self._bodies.get(key) if banner.scope != FRAGMENT else ((), ())
        if entry is None:
            entry = self._bodies[key] = self._units_of_body(banner, data, piece, plain)
        if whole is not False and not self._broken.isdisjoint(one.digest for one in entry[1]):
            whole = False
        self._is_torn = self._is_torn or whole is False
        return Body(piece, *entry, piece.digest, whole)

    def _extent(self, raw: bytes, digest: int, banner: Banner) -> Extent:
        """Return the extent of the program in a body; most passes print again what the one before has printed."""
        language = banner.language or self.language.name
        if banner.end == banner.source.size or language not in ("mir", "llvm") or banner.form:
            return extent_of(raw, banner, language)
        key = digest, banner.scope
        if key not in self._extents:
            self._extents[key] = extent_of(raw, banner, language)
        return self._extents[key]

    def _digest_of_machine_code(self, data: bytes) -> int:
        """Return the digest of machine code without the slots of its lines."""
        key = hash(data)
        if key not in self._slotless:
            self._slotless[key] = hash(without_slots(data))
        return self._slotless[key]

    def _leave_out(self, banner: Banner, spans: tuple[int, ...]) -> bool:
        """Make all but some ranges of a body other output: of its pass, and behind a program after a pass of the next.

        What stands behind a program before a pass was printed while that pass ran. Returns whether lines of the
        program itself are missing.
        """
        is_cut = False
        edges = [banner.body, *[banner.body + at for at in spans], banner.end]
        banner.holes = tuple(edges)
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            piece = Excerpt(banner.source, (start, end))
            data = piece.raw
            if not data.strip():
                continue
            self.other.append(piece)
            if not self.crash and (match := CRASH.search(data)):
                self.crash = match[0].decode("utf-8", "surrogateescape")
            ends_body = end == banner.end and bool(spans)
            (self._printed if ends_body else self._inside).append(piece)
            if is_torn(data, banner.language or self.language.name):
                self._is_torn, is_cut = True, is_cut or not ends_body
        return is_cut

    def _units_of_body(
        self, banner: Banner, data: bytes, whole: Excerpt, plain: bool
    ) -> tuple[tuple[str, ...], tuple[Excerpt, ...]]:
        """Return names and texts of the units of a body."""
        language = LANGUAGES.get(banner.language, self.language)
        names: list[str] = []
        pieces: list[Excerpt] = []
        for name, cuts, text in language.parts(data):
            if plain and not whole.form:
                part = Excerpt(banner.source, tuple([banner.body + at for at in cuts]))
            elif len(cuts) == 2 and cuts[1] - cuts[0] >= len(data):
                part = Excerpt(banner.source, whole.spans, 0, whole.form)
            else:
                part = _excerpt_of_part(banner, whole.spans, cuts, whole.form)
            part.digest = hash(text)
            names.append(self._unit_name(name, banner))
            if (part.digest, part.form) not in self._pieces and not self.scan.is_live and not whole.form:
                shown = data[cuts[0] : cuts[-1]] if name else b"".join([data[a:b] for a, b in _span_pairs(cuts)])
                if is_consistent(name, shown, language.name, data):
                    self._sound += 1
                elif len(self._broken) <= self._sound + 1:  # else the language has what is not known here
                    self._broken.add(part.digest)
            pieces.append(self._pieces.setdefault((part.digest, part.form), part))  # equal texts are one object
        key = tuple(names)
        return self._names.setdefault(key, key), tuple(pieces)

    def _unit_name(self, name: str, banner: Banner) -> str:
        if name == WHOLE and banner.scope == DIFF:
            return banner.unit.rpartition(" in function ")[2] or banner.unit
        if banner.phase and self.traits.chains:
            return f"{banner.phase}: {name}" if name else banner.phase
        is_op = banner.kind == "op" and " @" in banner.unit  # a function of MLIR without a body
        if name == WHOLE and banner.scope == UNIT and (banner.kind in ("function", "graph") or is_op):
            return banner.unit
        return name

    # ------------------------------------------------------------ events
    def _handle_start(self, banner: Banner, body: Body | None) -> None:
        self._printed = self._inside + self._printed
        if body is None or body.whole is False:
            return
        if self.input is None:
            self.input = body
        number = 0 if self.traits.chains else len(self.steps)  # the input of its program, not what a pass left
        self._update_units(body, body.names, number, banner, number)

    def _handle_before(self, banner: Banner, body: Body | None) -> None:
        if self.input is None and not self.steps and not self._open and body is not None:
            self.input = body
        begun = _OpenPass(banner, body, other=self._inside + self._printed, tears=self.tears)
        if body is not None and banner.scope != FRAGMENT and body.whole is not False:
            begun.names, is_ambiguous = self._named_in_program(body, banner)
            if not is_ambiguous:
                is_inside = any(not self._runs_beside(one.banner, banner) for one in self._open)
                self._update_units(body, begun.names, len(self.steps), banner, is_inside=is_inside)
        self._open.append(begun)
        self._printed = []

    def _handle_after(self, banner: Banner, body: Body | None) -> None:
        begun = self._pop_open(banner, body)
        number = len(self.steps) + 1
        step = Step(number, banner.name, banner.unit, banner.kind)
        step.argument, step.options, step.phase, step.note = banner.argument, banner.options, banner.phase, banner.note
        step.scope, step.status, step.language = banner.scope, banner.status, banner.language or self.language.name
        step.other = tuple((begun.other if begun is not None else []) + self._inside)
        if begun is not None:
            step.options = step.options or begun.banner.options
            for child in begun.children:
                self.steps[child].parent = number
        around = next((one for one in reversed(self._open) if not self._runs_beside(one.banner, banner)), None)
        if around is not None:
            around.children.append(number - 1)
        self.steps.append(step)
        self._fill_step(step, banner, body, begun)

    def _fill_step(self, step: Step, banner: Banner, body: Body | None, begun: _OpenPass | None) -> None:
        before = begun.body if begun is not None else None
        step.before_body = before.piece if before is not None else banner.inputs
        if banner.scope == DIFF and body is not None:
            step.before_body = Excerpt(body.piece.source, body.piece.spans, 0, "diff before")
        if body is not None:
            step.after_body, step.pieces, step.digest = body.piece, body.pieces, body.numbers
            is_part = self.language.name == "mlir" and banner.scope != MODULE and begun is not None and begun.names
            if is_part and begun is not None and begun.body is not None and begun.body.names[:1] == body.names[:1]:
                root = body.names[0]
                step.names = self._shared(tuple([begun.names[0] + name.removeprefix(root) for name in body.names]))
            else:
                step.names, step.ambiguous = self._named_in_program(body, banner)
        is_torn = begun is not None and (begun.tears < self.tears or begun.banner.unit != banner.unit)
        verdicts.judge(step, body, before, self, is_torn)
        verdicts.note_gap(step, self)
        if body is not None and banner.scope != FRAGMENT and body.whole is not False and not step.ambiguous:
            self._update_units(body, step.names, step.number, banner, step.since)
            if banner.scope == DIFF and banner.kind == "loop":
                self.gaps.add(step)
        elif step.status == "changed" and step.unit in self.units:  # "Deleted After": the function is gone
            self.units[step.unit].put(step.number, None, step.number)
        elif step.verdict not in ("unchanged", "filtered", "ignored") or verdicts.is_hidden(step, self.scan.is_live):
            self.gaps.add(step)

    def _runs_beside(self, one: Banner, other: Banner) -> bool:
        """Whether two passes run in different threads: on different operations of the same kind."""
        kind, sign, _ = one.unit.partition(" @")
        if self.language.name != "mlir" or kind in ("", "builtin.module") or kind != other.unit.partition(" @")[0]:
            return False
        return one.unit != other.unit or not sign

    def _is_of_another_thread(self, begun: _OpenPass, body: Body | None, at: int) -> bool:
        """Whether the pass of an operation without a symbol still runs: another open pass began with this very text."""
        alike = [one for one in self._open[:at] if one.banner.unit == begun.banner.unit]
        alike = [one for one in alike if one.banner.name == begun.banner.name and one.body is not None]
        if body is None or begun.body is None or not alike or " @" in begun.banner.unit or self.language.name != "mlir":
            return False
        digest = body.piece.digest
        return begun.body.piece.digest != digest and any(one.body.piece.digest == digest for one in alike if one.body)

    def _pop_open(self, banner: Banner, body: Body | None) -> _OpenPass | None:
        """Remove and return the open pass that a banner ends, None where its begin was not printed.

        Passes that began after it, in the same thread, have no end: they become orphans.
        """
        for at in range(len(self._open) - 1, -1, -1):
            begun = self._open[at]
            # Below a heading that another thread interrupted, no program says what the pass runs on.
            is_same = begun.banner.unit in (banner.unit, "") or banner.status == "invalidated" or not banner.unit
            if begun.banner.name == banner.name and is_same:
                if self._is_of_another_thread(begun, body, at):
                    continue
                later = self._open[at + 1 :]
                self._open[at:] = beside = [one for one in later if self._runs_beside(one.banner, banner)]
                for lost in later:
                    if lost not in beside:
                        begun.children += lost.children
                        self._orphans.append(lost)
                return begun
            if len(self._open) - at > 64:  # no search further back
                break
        return None

    # ------------------------------------------------------------ the state
    def _named_in_program(self, body: Body, banner: Banner) -> tuple[tuple[str, ...], bool]:
        """Return the names of the units of a body as paths in the program, and whether several have its name."""
        names = body.names
        if self.language.name != "mlir" or banner.scope == MODULE or not names:
            return names, False
        root = names[0]
        path, is_ambiguous = self._path_of(root, body, banner.when == "before")
        if path is None or path == root:
            return names, is_ambiguous
        # The path of one of several without a symbol, which their texts tell apart, ends in a number.
        return self._shared(tuple([path + name.removeprefix(root) for name in names])), False

    def _shared(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return self._names.setdefault(names, names)

    def _path_of(self, root: str, body: Body, is_before: bool) -> tuple[str | None, bool]:
        """Return the path in the program of the operation of a partial body; None if it is new or ambiguous."""
        alike = re.compile("(?:^|/)" + re.escape(root) + r"(?: #\d+)?\Z")
        paths = [name for name, unit in self.units.items() if root in name and unit.alive and alike.search(name)]
        if len(paths) <= 1:
            return (paths[0] if paths else None), False
        # Of several operations of the same name, the one with this very text, or else the one with the most of the
        # operations that were printed inside.
        parts = [(name.removeprefix(root), piece.digest) for name, piece in zip(body.names, body.pieces, strict=True)]
        parts = [(name, digest) for name, digest in parts if not name.endswith(HEAD)]
        same = [path for path in paths if all(self._digest_of(path + name) == digest for name, digest in parts)]
        same = same if is_before else []  # after a pass, another one may have got this text
        scores = {p: sum(self._digest_of(p + name) is not None for name, _ in parts[1:]) for p in paths}
        best = same or [path for path in paths if scores[path] == max(scores.values())]
        if len(best) > 1 and self._last_path.get(root) in best:
            best = [self._last_path[root]]  # passes on one operation follow one another
        if len(best) == 1:
            self._last_path[root] = best[0]
            return best[0], False
        return None, True

    def _digest_of(self, name: str) -> int | None:
        """Return the digest of the latest text of a unit; None for one that the program does not have."""
        unit = self.units.get(name)
        return unit.last.digest if unit is not None and unit.last is not None else None

    def _update_units(
        self,
        body: Body,
        names: tuple[str, ...],
        number: int,
        banner: Banner,
        since: int | None = None,
        is_inside: bool = False,
    ) -> None:
        """Enter the units of a body into the state of the program after step `number`.

        One of the steps from `since` on made the text; None is for a text before a pass. Where that pass runs inside
        another, and the text after the step is known and differs, the one around has changed it since: the text is
        entered at the next step.
        """
        is_new, moved = False, 0
        is_begin = self._may_begin(banner)
        for name, piece in zip(names, body.pieces, strict=True):
            unit = self.units.get(name) or self._adopt_unit(name, names)
            if unit is None:
                unit = self.units[name] = Unit(name, banner.language or self.language.name)
            place = number + (is_inside and unit.is_known_after(number, piece))
            moved = moved or place - number
            # A text before a pass was there since the step after the last one that printed the unit.
            first = min(place, unit.last_seen + 1) if unit.pieces else number
            first = min(first if since is None else since, self.gaps.since(name, unit) or place)
            source = name.removesuffix(MACHINE)  # machine code is made of a function that was printed before
            if is_begin and not unit.pieces and (source == name or source not in self.units):
                first = 0
            is_other = unit.put(place, piece, first, seen=number)
            is_new = is_new or (is_other and not name.endswith(HEAD))
        # A text before a pass is mostly that after the pass before it, in which the aliases are those of the program.
        if self.language.name == "mlir" and names and (is_new or since is not None):
            self.prints.append((number + moved, names[0], body.piece))
        is_whole = banner.scope == MODULE or self._is_program(names)
        self.saw_program = self.saw_program or is_whole
        if is_whole:
            self._programs.add(banner.phase)
        if is_whole or (banner.kind == "op" and names):
            self._remove_missing(names, number + moved, banner, is_whole)

    def _may_begin(self, banner: Banner) -> bool:
        """Whether no text above shows the program, so that what a text shows first may be of the input."""
        if self.scan.is_live or self.traits.snapshots:
            return False
        return banner.phase not in self._programs if self.traits.chains else not self.saw_program

    def _is_program(self, names: tuple[str, ...]) -> bool:
        """Whether a body is the outermost module: the program has no other one, but for one with its parts."""
        root = names[0] if names and self.language.name == "mlir" else ""
        if not root.startswith("builtin.module") or "/" in root:
            return False
        others = [name for name, unit in self.units.items() if unit.alive and name.startswith("builtin.module")]
        tops = [name for name in others if "/" not in name and name != names[0]]
        inside = {name.partition("/")[2] for name in names[1:]}
        return not tops or not inside or any(name.partition("/")[2] in inside for name in others if "/" in name)

    def _adopt_unit(self, name: str, names: tuple[str, ...]) -> Unit | None:
        """Return the unit of an operation that was printed alone before its program, and give it its full path."""
        bare = name.rpartition("/")[2]
        unit = self.units.pop(bare, None) if bare != name and " @" in bare else None
        if unit is None:
            return None
        self._last_path.pop(bare, None)
        # Several operations have the bare name: it is unknown which of them the earlier steps show.
        if sum(other.endswith("/" + bare) for other in names) > 1:
            verdicts.retract(bare, self.steps)
            return None
        unit.name = name
        self.units[name] = unit
        self._paths[bare] = name
        return unit

    def _remove_missing(self, names: tuple[str, ...], number: int, banner: Banner, is_whole: bool) -> None:
        """Take the units out of the program that its text, or the text of the operation around them, no longer has."""
        key = banner.phase if is_whole else names[0]
        # Equal tuples of names are one object here: nothing was removed where neither they nor the units are new.
        if self._last_names.get(key) == (id(names), len(self.units)):
            return
        self._last_names[key] = (id(names), len(self.units))
        present = set(names)
        root = "" if is_whole else names[0] + "/"
        chain = banner.phase if self.traits.chains else ""
        for name, unit in self.units.items():
            if unit.alive and name not in present and name.startswith(chain or root) and "(machine code)" not in name:
                unit.put(number, None, number)

    def _close_open(self) -> None:
        """Add the passes without an end: all of a dump of begins, else those that a crash or a cut interrupted."""
        waiting = self._orphans + self._open
        if not waiting:
            return
        if not self.steps:
            self._steps_from_begins(waiting)
            return
        for begun in self._open:
            step = self._begun_step(begun)
            step.scope, step.verdict, step.since = NONE, "failed" if self.crash else "unknown", step.number
            step.note = "the pass began and its end is not in the dump"
            for child in begun.children:
                self.steps[child].parent = step.number
            self.steps.append(step)

    def _steps_from_begins(self, waiting: list[_OpenPass]) -> None:
        """Add the steps of a dump of begins: the text after a pass is the text before the next pass.

        Where the texts are whole programs, any pass is the next one; else a pass on the same unit.
        """
        are_whole = all(one.body is not None and one.banner.scope == MODULE for one in waiting)
        pairs = self._with_next_program(waiting) if are_whole else self._with_next_text(waiting)
        self.saw_program = False
        self.units.clear()
        self.prints.clear()
        self._last_names.clear()
        self.gaps, tears = Gaps(), 0
        for begun, following in pairs:
            if begun.tears > tears:
                self.gaps.tear(len(self.steps))
            tears = begun.tears
            step = self._step_between(begun, following, are_whole)
            if begun.body is not None and not self.steps:
                self.input = begun.body
            if begun.body is not None and begun.banner.scope != FRAGMENT and begun.body.whole is not False:
                since = step.number - 1 if are_whole else None  # else passes on other functions ran in between
                self._update_units(begun.body, begun.body.names, step.number - 1, begun.banner, since)
            self.steps.append(step)
            if not are_whole:
                verdicts.judge_runner(step, is_whole=False)
        if are_whole:
            verdicts.judge_inside(self.steps, self.units)

    @staticmethod
    def _with_next_text(waiting: list[_OpenPass]) -> list[tuple[_OpenPass, _OpenPass | None]]:
        following: dict[str, _OpenPass] = {}
        pairs = []
        # Backwards, so that the next text of a unit is known where a pass on it begins.
        for begun in reversed(waiting):
            unit = begun.banner.unit
            pairs.append((begun, following.get(unit)))
            if begun.body is not None and begun.banner.scope != FRAGMENT:
                following[unit] = begun
        return pairs[::-1]

    @staticmethod
    def _with_next_program(waiting: list[_OpenPass]) -> list[tuple[_OpenPass, _OpenPass | None]]:
        """Return each pass with the program before the next one that does not run inside it."""
        pairs = []
        for at, begun in enumerate(waiting):
            following = at + 1
            while following < len(waiting) and verdicts.may_run_inside(waiting[following].banner, begun.banner):
                begun.children.append(following)
                following += 1
            pairs.append((begun, waiting[following] if following < len(waiting) else None))
        return pairs

    def _begun_step(self, begun: _OpenPass) -> Step:
        """Return the next step, with what the begin of its pass says."""
        banner = begun.banner
        step = Step(len(self.steps) + 1, banner.name, banner.unit, banner.kind)
        step.argument, step.options, step.phase = banner.argument, banner.options, banner.phase
        step.scope, step.language = banner.scope, banner.language or self.language.name
        step.before_body = begun.body.piece if begun.body is not None else None
        step.other = tuple(begun.other)
        return step

    def _step_between(self, begun: _OpenPass, following: _OpenPass | None, is_whole: bool) -> Step:
        """Return the step of a pass from the text before it and, if there is one, the text after it."""
        step = self._begun_step(begun)
        body = following.body if following is not None else None
        if body is not None:
            step.after_body, step.names, step.pieces = body.piece, body.names, body.pieces
            step.digest = body.numbers
        both = (body, begun.body) if body is not None and begun.body is not None else None
        same = both is not None and (
            both[0].numbers == both[1].numbers or (is_whole and verdicts.are_alike(*both, begun.banner.name))
        )
        step.verdict, step.since = ("unchanged" if same else "unknown"), step.number
        for child in begun.children:
            self.inside[child] = step.number
        step.parent = self.inside.get(len(self.steps), 0)
        is_cut = any(one is not None and one.whole is False for one in (body, begun.body))
        if is_cut or (following is not None and begun.tears < following.tears):
            step.verdict, step.note = "unknown", verdicts.CUT_OFF if is_cut else verdicts.TORN
        elif both is not None and not (both[0].piece.size or both[1].piece.size):
            step.verdict, step.note = "unknown", verdicts.NO_PROGRAM
        elif body is None:
            what = "the program" if is_whole else "the text"
            step.note = f"{what} after the last pass{'' if is_whole else ' on this unit'} is not in the dump"
        elif is_whole and not same and begun.body is not None and verdicts.is_elsewhere(step, begun.body):
            step.verdict = "unchanged"
            step.note = "the program changed elsewhere: by what ran between this pass and the next"
        elif is_whole and not same:
            step.verdict = "changed"
            verdicts.doubt_end(step, body, begun.body, self)
            if begun.body is not None and step.verdict == "changed":
                verdicts.doubt_strange(step, [(begun.body.piece, body.piece)])
        elif not same:
            step.note = "changed by this pass or by one between it and the next pass on the same unit"
        return step


def _span_pairs(spans: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(spans[::2], spans[1::2], strict=True))


def _excerpt_of_part(banner: Banner, spans: tuple[int, ...], cuts: tuple[int, ...], form: str) -> Excerpt:
    """Return a part of a body with holes; `cuts` are offsets into the bytes without the holes."""
    if form:
        return Excerpt(banner.source, spans, 0, form)
    result: list[int] = []
    for start, end in _span_pairs(cuts):
        at = 0  # bytes of the body before the span
        for low, high in _span_pairs(spans):
            size = high - low
            first, last = max(start, at), min(end, at + size)
            if first < last:
                result += [low + first - at, low + last - at]
            at += size
    return Excerpt(banner.source, tuple(result))
