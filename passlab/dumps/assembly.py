"""From banners to steps: what each pass ran on, what the program was before and after it, and what became of it.

One `Assembly` serves all formats. It keeps the state of the program as a table of units (functions, operations with
symbols), pairs headings of before and after, and decides a verdict only where the dump holds the truth: an exact one
from before and after, from the compiler's own word or from whole programs; otherwise a range of passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from passlab import limits
from passlab.dumps import evidence
from passlab.dumps.banner import DIFF, FRAGMENT, MODULE, NONE, UNIT, Banner, Scan
from passlab.dumps.interruptions import find_holes
from passlab.dumps.language import LANGUAGES, WHOLE, Language
from passlab.dumps.llvm import without_slots
from passlab.dumps.source import FORMS, Piece
from passlab.dumps.step import Step, Unit


@dataclass(slots=True)
class Body:
    """The text below one heading: as a whole, and its units."""

    piece: Piece
    names: tuple[str, ...]
    pieces: tuple[Piece, ...]
    numbers: int = 0  # a digest of the text as printed; `piece.digest` ignores what the language calls noise


@dataclass(slots=True, eq=False)
class _Open:
    """A pass that has begun: its heading, the text before it, the steps inside it so far."""

    banner: Banner
    body: Body | None
    children: list[int] = field(default_factory=list)


class Assembly:
    """Makes the steps of a recording from the banners of a reader."""

    def __init__(self, scan: Scan, traits: evidence.Traits, language: Language) -> None:
        self.scan, self.traits, self.language = scan, traits, language
        self.steps: list[Step] = []
        self.units: dict[str, Unit] = {}
        self.input: Body | None = None
        self.other: list[Piece] = list(scan.other)
        self.crash = ""
        self.saw_program = False  # whether a body of the whole program was seen, so that all its units are known
        self.cut_off = False
        self._pieces: dict[tuple[int, str], Piece] = {}
        self._bodies: dict[tuple[int, str, str], tuple[tuple[str, ...], tuple[Piece, ...]]] = {}
        self._last_names: dict[str, tuple[str, ...]] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._clean: set[int] = set()  # digests of bodies without other output in them
        self._paths: dict[str, str] = {}  # operations first printed alone -> where they stand in the program
        self._last_place: dict[str, str] = {}
        self._open: list[_Open] = []
        self._orphans: list[_Open] = []

    def run(self) -> None:
        """Fill `steps`, `units`, `input` and `other`."""
        limits.check("dump_steps", len(self.scan.banners), "a recording of this dump")
        for index, banner in enumerate(self.scan.banners):
            last = index + 1 == len(self.scan.banners)
            body = self._read(banner, last) if banner.scope != NONE else None
            if banner.scope == NONE:
                self._trailing(banner)
            if banner.when == "start":
                self._start(banner, body)
            elif banner.when == "before":
                self._before(banner, body)
            else:
                self._after(banner, body)
        self._close_open()
        if self._paths:
            for step in self.steps:
                step.names = tuple([self._paths.get(name, name) for name in step.names])
        evidence.settle(self.steps, self.traits, self.units)

    def append(self, part: Assembly, phase: str) -> None:
        """Put the steps and units of another program behind those that are here."""
        shift = len(self.steps)
        for step in part.steps:
            step.number, step.since, step.phase = step.number + shift, step.since + shift, phase
            step.parent += shift if step.parent else 0
            step.names = tuple([f"{phase}: {name}" if name else phase for name in step.names])
        for unit in part.units.values():
            unit.name = f"{phase}: {unit.name}" if unit.name else phase
            unit.steps = [number + shift for number in unit.steps]
            unit.since = [number + shift for number in unit.since]
            unit.last_seen += shift
            self.units[unit.name] = unit
        self.steps += part.steps
        self.other += part.other
        self.input = self.input or part.input
        self.crash = self.crash or part.crash

    # ------------------------------------------------------------ bodies
    def _read(self, banner: Banner, last: bool) -> Body:
        raw = banner.source.read(banner.body, banner.end)
        clean = hash(raw)
        holes: tuple[int, ...] = ()
        crash = ""
        if last or clean not in self._clean:
            holes, crash = find_holes(raw, last, banner.language or self.language.name)
            if not holes:
                self._clean.add(clean)
        if holes and not banner.holes:
            banner.holes = tuple(banner.body + at for at in holes)
            for start, end in zip(banner.holes[::2], banner.holes[1::2], strict=True):
                self.other.append(Piece(banner.source, (start, end)))
            self.crash = crash or self.crash
        spans = banner.spans()
        form = "diff after" if banner.scope == DIFF else banner.form
        plain = spans == (banner.body, banner.end)
        parts = [raw] if plain else [raw[a - banner.body : b - banner.body] for a, b in _pairs(spans)]
        data = FORMS[form](b"".join(parts))
        compared = without_slots(data) if banner.language == "mir" else data.strip()
        piece = Piece(banner.source, spans, hash(compared), form, data.count(b"\n"))
        if banner.scope == FRAGMENT:
            return Body(piece, (), (), piece.digest)
        key = (piece.digest, banner.unit if banner.scope != MODULE else "", banner.phase)
        entry = self._bodies.get(key)
        if entry is None:
            entry = self._bodies[key] = self._parts(banner, data, piece, plain)
        return Body(piece, *entry, piece.digest)

    def _parts(
        self, banner: Banner, data: bytes, whole: Piece, plain: bool
    ) -> tuple[tuple[str, ...], tuple[Piece, ...]]:
        """Return names and texts of the units of a body."""
        language = LANGUAGES.get(banner.language, self.language)
        names: list[str] = []
        pieces: list[Piece] = []
        for name, cuts, text in language.parts(data):
            if plain and not whole.form:
                part = Piece(banner.source, tuple([banner.body + at for at in cuts]))
            elif len(cuts) == 2 and cuts[1] - cuts[0] >= len(data):
                part = Piece(banner.source, whole.spans, 0, whole.form)
            else:
                part = _within(banner, whole.spans, cuts, whole.form)
            part.digest = hash(text)
            names.append(self._unit_name(name, banner))
            pieces.append(self._pieces.setdefault((part.digest, part.form), part))
        key = tuple(names)
        return self._names.setdefault(key, key), tuple(pieces)

    def _unit_name(self, name: str, banner: Banner) -> str:
        if name == WHOLE and banner.scope == DIFF:
            return banner.unit.rpartition(" in function ")[2] or banner.unit
        if banner.phase and self.traits.chains:
            return f"{banner.phase}: {name}" if name else banner.phase
        if name == WHOLE and banner.scope == UNIT and banner.kind in ("function", "graph"):
            return banner.unit
        return name

    # ------------------------------------------------------------ events
    def _start(self, banner: Banner, body: Body | None) -> None:
        if body is None:
            return
        if self.input is None:
            self.input = body
        self._write(body, len(self.steps), True, banner)

    def _before(self, banner: Banner, body: Body | None) -> None:
        if self.input is None and not self.steps and not self._open and body is not None:
            self.input = body
        if body is not None and banner.scope != FRAGMENT:
            self._write(body, len(self.steps), False, banner)
        self._open.append(_Open(banner, body))

    def _after(self, banner: Banner, body: Body | None) -> None:
        begun = self._take(banner, body)
        number = len(self.steps) + 1
        step = Step(number, banner.name, banner.unit, banner.kind)
        step.argument, step.options, step.phase, step.note = banner.argument, banner.options, banner.phase, banner.note
        step.scope, step.status, step.language = banner.scope, banner.status, banner.language or self.language.name
        if begun is not None:
            step.options = step.options or begun.banner.options
            for child in begun.children:
                self.steps[child].parent = number
        around = next((one for one in reversed(self._open) if not self._is_beside(one.banner, banner)), None)
        if around is not None:
            around.children.append(number - 1)
        self.steps.append(step)
        self._fill(step, banner, body, begun.body if begun is not None else None)

    def _fill(self, step: Step, banner: Banner, body: Body | None, before: Body | None) -> None:
        step.before_body = before.piece if before is not None else banner.inputs
        if banner.scope == DIFF and body is not None:
            step.before_body = Piece(body.piece.source, body.piece.spans, 0, "diff before")
        if body is not None:
            step.after_body, step.names, step.pieces, step.digest = body.piece, body.names, body.pieces, body.numbers
            step.names = self._resolved(step, banner)
        evidence.judge(step, body.piece if body else None, before.piece if before else None, self)
        if body is not None and banner.scope != FRAGMENT:
            self._write(body, step.number, True, banner, step)

    def _is_beside(self, one: Banner, other: Banner) -> bool:
        """Whether a pass runs in another thread than another: on another operation of the same kind."""
        kind, sign, _ = one.unit.partition(" @")
        if self.language.name != "mlir" or kind in ("", "builtin.module") or kind != other.unit.partition(" @")[0]:
            return False
        return one.unit != other.unit or not sign

    def _is_of_another_thread(self, begun: _Open, body: Body | None, at: int) -> bool:
        """Whether an operation without a symbol is not the one whose pass ended: another one open has just its text."""
        alike = [one for one in self._open[:at] if one.banner.unit == begun.banner.unit]
        alike = [one for one in alike if one.banner.name == begun.banner.name and one.body is not None]
        if body is None or begun.body is None or not alike or " @" in begun.banner.unit or self.language.name != "mlir":
            return False
        digest = body.piece.digest
        return begun.body.piece.digest != digest and any(one.body.piece.digest == digest for one in alike if one.body)

    def _take(self, banner: Banner, body: Body | None) -> _Open | None:
        """Return the pass that this heading ends, if its begin was printed; those begun after it never ended."""
        for at in range(len(self._open) - 1, -1, -1):
            begun = self._open[at]
            if begun.banner.name == banner.name and (
                begun.banner.unit == banner.unit or banner.status == "invalidated" or not banner.unit
            ):
                if self._is_of_another_thread(begun, body, at):
                    continue
                later = self._open[at + 1 :]
                self._open[at:] = beside = [one for one in later if self._is_beside(one.banner, banner)]
                for lost in later:
                    if lost not in beside:
                        begun.children += lost.children
                        self._orphans.append(lost)
                return begun
            if len(self._open) - at > 64:
                break
        return None

    # ------------------------------------------------------------ the state
    def _resolved(self, step: Step, banner: Banner) -> tuple[str, ...]:
        """Give the units of a partial body the paths that they have in the program."""
        if self.language.name != "mlir" or banner.scope == MODULE or not step.names:
            return step.names
        root = step.names[0]
        place = self._place(root, step)
        if place is None:
            return step.names
        head = place.removesuffix(root)
        names = tuple(head + name for name in step.names)
        if " #" in place[-8:]:  # one of several without a symbol, told apart by its text
            names = tuple(place + name.removeprefix(root) for name in step.names)
        return self._names.setdefault(names, names)

    def _place(self, root: str, step: Step) -> str | None:
        """Return the path of the operation in the program that a partial body shows; None for a new or unclear one."""
        alike = re.compile("(?:^|/)" + re.escape(root) + r"(?: #\d+)?\Z")
        places = [name for name, unit in self.units.items() if unit.alive and alike.search(name)]
        if len(places) <= 1:
            return places[0] if places else None
        inside = {name.removeprefix(root) for name in step.names[1:]}
        scores = {p: sum(p + name in self.units and self.units[p + name].alive for name in inside) for p in places}
        best = [place for place in places if scores[place] == max(scores.values())]
        if len(best) > 1 and self._last_place.get(root) in best:
            best = [self._last_place[root]]  # passes on one operation follow one another
        if len(best) == 1:
            self._last_place[root] = best[0]
            return best[0]
        step.ambiguous = True
        return None

    def _write(self, body: Body, number: int, after: bool, banner: Banner, step: Step | None = None) -> None:
        """Put the units of a body into the state of the program, as they are after step `number`."""
        names = step.names if step is not None else body.names
        if step is not None and step.ambiguous:
            return
        since = step.since if step is not None else number
        for name, piece in zip(names, body.pieces, strict=True):
            unit = self.units.get(name) or self._adopt(name, names)
            if unit is None:
                unit = self.units[name] = Unit(name)
            first = since if after else min(number, unit.last_seen + 1) if unit.pieces else number
            unit.put(number, piece, first)
        if banner.scope == MODULE or (names and names[0] == "builtin.module"):
            self.saw_program = True
        if banner.scope == MODULE or (banner.kind == "op" and names):
            self._remove_missing(names, number, banner)

    def _adopt(self, name: str, names: tuple[str, ...]) -> Unit | None:
        """Return the history of an operation that was printed alone before the program around it was."""
        bare = name.rpartition("/")[2]
        unit = self.units.pop(bare, None) if bare != name and " @" in bare else None
        if unit is None:
            return None
        self._last_place.pop(bare, None)
        if sum(other.endswith("/" + bare) for other in names) > 1:
            evidence.retract(bare, self.steps)
            return None
        unit.name = name
        self.units[name] = unit
        self._paths[bare] = name
        return unit

    def _remove_missing(self, names: tuple[str, ...], number: int, banner: Banner) -> None:
        key = banner.phase if banner.scope == MODULE else names[0]
        if self._last_names.get(key) is names and banner.scope != MODULE:
            return
        self._last_names[key] = names
        present = set(names)
        root = "" if banner.scope == MODULE else (names[0] + "/" if names else "\x00")
        chain = banner.phase if self.traits.chains else ""
        for name, unit in self.units.items():
            if unit.alive and name not in present and name.startswith(chain or root) and "(machine code)" not in name:
                if banner.scope != MODULE and name == root:
                    continue
                unit.put(number, None, number)

    def _close_open(self) -> None:
        """Passes that began and never ended: in a dump of begins alone all of them, else those a crash or a cut
        left.
        """
        waiting = self._orphans + self._open
        if not waiting:
            return
        if not self.steps:
            self._steps_from_begins(waiting)
            return
        for begun in self._open:
            banner = begun.banner
            step = Step(len(self.steps) + 1, banner.name, banner.unit, banner.kind)
            step.argument, step.options, step.phase, step.scope = banner.argument, banner.options, banner.phase, NONE
            step.language = banner.language or self.language.name
            step.before_body = begun.body.piece if begun.body is not None else None
            step.verdict = "failed" if self.crash else "unknown"
            step.since = step.number
            step.note = "the pass began and its end is not in the dump"
            for child in begun.children:
                self.steps[child].parent = step.number
            self.steps.append(step)

    def _steps_from_begins(self, waiting: list[_Open]) -> None:
        """Steps of a dump with begins alone: the text after a pass is what the next pass on its unit begins with."""
        following: dict[str, Body | None] = {}
        pairs = []
        for begun in reversed(waiting):
            unit = begun.banner.unit
            pairs.append((begun, following.get(unit)))
            if begun.body is not None and begun.banner.scope != FRAGMENT:
                following[unit] = begun.body
        self.units.clear()
        for begun, body in reversed(pairs):
            step = self._step_between(begun, body)
            if begun.body is not None and not self.steps:
                self.input = begun.body
            if begun.body is not None and begun.banner.scope != FRAGMENT:
                self._write(begun.body, step.number - 1, True, begun.banner)
            self.steps.append(step)

    def _step_between(self, begun: _Open, body: Body | None) -> Step:
        """Return the step of a pass from the text that it began with to that after it, where there is one."""
        banner = begun.banner
        step = Step(len(self.steps) + 1, banner.name, banner.unit, banner.kind)
        step.argument, step.options, step.phase = banner.argument, banner.options, banner.phase
        step.scope, step.language = banner.scope, banner.language or self.language.name
        step.before_body = begun.body.piece if begun.body is not None else None
        if body is not None:
            step.after_body, step.names, step.pieces = body.piece, body.names, body.pieces
            step.digest = body.numbers
        same = body is not None and begun.body is not None and body.numbers == begun.body.numbers
        step.verdict, step.since = ("unchanged" if same else "unknown"), step.number
        if body is None:
            step.note = "the text after the last pass on this unit is not in the dump"
        elif not same:
            step.note = "changed by this pass or by one between it and the next pass on the same unit"
        return step

    def _trailing(self, banner: Banner) -> None:
        """Lines below a heading that announces no body are other output."""
        if banner.end > banner.body:
            data = banner.source.read(banner.body, banner.end)
            if data.strip():
                self.other.append(Piece(banner.source, (banner.body, banner.end)))
                _, crash = find_holes(data, True, self.language.name)
                self.crash = crash or self.crash


def _pairs(spans: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(spans[::2], spans[1::2], strict=True))


def _within(banner: Banner, spans: tuple[int, ...], cuts: tuple[int, ...], form: str) -> Piece:
    """Return a part of a body that has holes: its cuts count the bytes that are left."""
    if form:
        return Piece(banner.source, spans, 0, form)
    result: list[int] = []
    for start, end in _pairs(cuts):
        at = 0
        for low, high in _pairs(spans):
            size = high - low
            first, last = max(start, at), min(end, at + size)
            if first < last:
                result += [low + first - at, low + last - at]
            at += size
    return Piece(banner.source, tuple(result))
