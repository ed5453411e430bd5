"""`TextComparison`: two recordings of text, pass by pass, and where their programs diverge.

comparison = read("o2.txt").compare(read("o3.txt"))
comparison.first, comparison.diff(comparison.first)

Versions of a compiler spell one program in different ways. What differs in attributes, metadata, types of pointers and
the like, and not in instructions, is a difference of spelling, at which programs do not diverge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from passlab.diffing.text_diff import TextDiff, diff_texts, steps_of_both
from passlab.dumps.filters import filters_named
from passlab.dumps.step import Step
from passlab.errors import Diagnostic, DumpError, counted, visible
from passlab.lazy import late
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    from passlab.dumps.recording import TextRecording

MOST_CLASSES = 2000  # pairs whose difference the text looks into
_NOISE = ("debug info", "metadata", "attributes", "locations", "comments")
_ATTRIBUTES = (
    "alwaysinline|captures|cold|dead_on_return|dead_on_unwind|dso_local|fastcc|hot|immarg|inreg|initializes"
    "|local_unnamed_addr|memory|mustprogress|noalias|nocallback|nocapture|nocf_check|nocreateundeforpoison|nofree"
    "|noinline|nonnull|norecurse|noreturn|nosync|nounwind|noundef|optsize|range|readnone|readonly|returned|signext"
    "|speculatable|unnamed_addr|willreturn|writable|writeonly|zeroext|dereferenceable|dereferenceable_or_null"
    r"|align(?= \d+ [%@)])"
)
# What two versions of LLVM may write differently in equal programs, and what stands for it in the comparison.
_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:source_filename = |target |declare |; ).*$"), ""),
    (re.compile(r"(@llvm\.lifetime\.(?:start|end))(?:\.\w+)?\((?:i64 (?:immarg )?-?\d+, )?"), r"\1("),
    (re.compile(r"\balign \d+ (?=[%@])"), ""),
    (re.compile(rf"(?<=[ (])(?:{_ATTRIBUTES})(?:\((?:[^()]|\([^()]*\))*\))? "), ""),
    (re.compile(r'(?:%[\w.$]+|%"[^"]*"|\b[a-z]\w*|\[\d+ x [^\[\]]*\]|<\d+ x [^<>]*>)\*+'), "ptr"),
    (re.compile(r"<(\w+ [^<>,]+)(?:, \1)+>"), r"splat (\1)"),
    (re.compile(r" #\d+(?= *(?:\{|$|,))"), ""),
)

# Flags that newer versions have: no difference where one of the two programs has none of them at all.
_FLAGS = tuple(
    re.compile(rf"\b({before}) (?:{flags})\b")
    for before, flags in (
        ("getelementptr inbounds", "nuw"),
        ("getelementptr", "nuw|nusw nuw|nusw"),
        ("zext|uitofp", "nneg"),
        ("or", "disjoint"),
        ("icmp", "samesign"),
        ("trunc", "nuw nsw|nuw|nsw"),
    )
)


def _respelled(line: str) -> str:
    """Return a line of LLVM as all versions would spell it."""
    for pattern, instead in _SPELLINGS:
        line = pattern.sub(instead, line)
    return line


class Pair(NamedTuple):
    """A pass of one recording and the same pass of the other; None where it ran in one only."""

    left: Step | None
    right: Step | None
    same: bool | None  # whether the texts after it are equal; None where one is missing

    @property
    def name(self) -> str:
        """The name of the pass."""
        step = self.left or self.right
        return step.name if step is not None else ""

    @property
    def unit(self) -> str:
        """The unit of the pass."""
        step = self.left or self.right
        return step.unit if step is not None else ""


class TextComparison(Tabular):
    """The passes of two recordings, aligned by name and unit."""

    def __init__(self, left: TextRecording, right: TextRecording) -> None:
        self.left, self.right = left, right
        self._kinds: dict[tuple[int, int], str] = {}

    @cached_property
    def pairs(self) -> list[Pair]:
        """All passes of both, in order."""
        return list(self._pairs())

    def _pairs(self) -> Iterator[Pair]:
        old, new = ([(s.name, s.unit) for s in recording.steps] for recording in (self.left, self.right))
        matcher = SequenceMatcher(None, old, new, autojunk=False)  # `autojunk` would ignore frequent passes
        for tag, i, k, j, m in matcher.get_opcodes():
            here, there = self.left.steps[i:k], self.right.steps[j:m]
            if tag == "equal":
                for a, b in zip(here, there, strict=True):
                    # A dump may lack the text after a pass; digests leave noise such as addresses out.
                    shown = a.after_body is not None and b.after_body is not None
                    yield Pair(a, b, a.digest == b.digest if shown else None)
            else:
                yield from (Pair(step, None, None) for step in here)
                yield from (Pair(None, step, None) for step in there)

    @cached_property
    def first(self) -> Pair | None:
        """The first pass in both after which the programs differ in more than names and spelling; None for none."""
        # Digests are compared first, since a difference of texts takes far longer.
        return next((pair for pair in self.pairs if self.kind(pair) == "different"), None)

    def kind(self, pair: Pair | int) -> str:
        """Return how the texts after a pass differ: "same", "spelling" or "different"; "unknown" where one is missing.

        Names of values do not count as differences.
        """
        pair = self.pairs[pair] if isinstance(pair, int) else pair
        if pair.left is None or pair.right is None or pair.same is None:
            return "unknown"
        if pair.same:
            return "same"
        key = (pair.left.digest, pair.right.digest)
        if key not in self._kinds:
            self._kinds[key] = "same" if not self.diff(pair) else "spelling" if self._is_spelling(pair) else "different"
        return self._kinds[key]

    def _is_spelling(self, pair: Pair) -> bool:
        assert pair.left is not None
        assert pair.right is not None
        reader = self.left.reader(pair.left.language)
        old, new = pair.left.after, pair.right.after
        if pair.left.language == "llvm":
            old, new = ("\n".join(filter(str.strip, map(_respelled, text.split("\n")))) for text in (old, new))
            for flag in _FLAGS:
                if not (flag.search(old) and flag.search(new)):
                    old, new = flag.sub(r"\1", old), flag.sub(r"\1", new)
        return not diff_texts(old, new, reader.syntax, filters_named(_NOISE), reader)

    def diff(self, pair: Pair | int) -> TextDiff:
        """Return the difference of the texts after a pass, given as a `Pair` or its number in `pairs`.

        Raises `DumpError` for a pass that ran in one recording only.
        """
        pair = self.pairs[pair] if isinstance(pair, int) else pair
        if pair.left is None or pair.right is None:
            where = "first" if pair.right is None else "second"
            raise DumpError(Diagnostic(f"{pair.name} on {pair.unit} ran in the {where} recording alone"))
        reader = self.left.reader(pair.left.language)
        return diff_texts(pair.left.after, pair.right.after, reader.syntax, (), reader)

    def summary(self) -> str:
        """Return where the programs diverge, and how many passes ran in both and in one only."""
        both = sum(pair.left is not None and pair.right is not None for pair in self.pairs)
        one, other = (sum(getattr(pair, side) is None for pair in self.pairs) for side in ("right", "left"))
        first = self.first
        counts = steps_of_both(both, one, other)
        spelled = sum(kind == "spelling" for kind in self._kinds.values())
        counts += f"; {counted(spelled, 'text')} spelled in two ways" if spelled else ""
        if first is None or first.left is None or first.right is None:
            return f"what they left is the same but for names; {counts}"
        where = f"{first.name} on {first.unit}" if first.unit else first.name
        return f"the programs diverge at {where} (step {first.left.number} and {first.right.number}); {counts}"

    def table(self) -> Table:
        """Return one row per pass of either."""
        columns = ("step_a", "step_b", "pass", "unit", "verdict_a", "verdict_b", "same_text")
        return Table(columns, [self._row(pair) for pair in self.pairs])

    @staticmethod
    def _row(pair: Pair) -> tuple[object, ...]:
        sides = (pair.left, pair.right)
        numbers = [step.number if step is not None else None for step in sides]
        verdicts = [step.verdict if step is not None else "" for step in sides]
        return (*numbers, pair.name, pair.unit, *verdicts, pair.same)

    def text(self) -> str:
        """Return the passes that differ, in verdict or text, or that ran in one recording only, as text."""
        lines = [f"{self.summary()}."]
        quiet = 0
        for pair in self.pairs:
            verdicts = [step.verdict if step is not None else "-" for step in (pair.left, pair.right)]
            if verdicts[0] == verdicts[1] and pair.same is not False:
                quiet += 1
                continue
            lines += [f"      {quiet:,} alike"] if quiet else []
            quiet = 0
            numbers = [str(step.number) if step is not None else "" for step in (pair.left, pair.right)]
            row = f"{numbers[0]:>5} {numbers[1]:>5} {pair.name} on {pair.unit}: {' / '.join(dict.fromkeys(verdicts))}"
            kind = self.kind(pair) if pair.same is False and len(self._kinds) < MOST_CLASSES else ""
            how = {"spelling": ", spelled in another way", "same": ", other names"}.get(kind, ", other text")
            lines.append(visible(row) + (how if pair.same is False else ""))
        return "\n".join([*lines, *([f"      {quiet:,} alike"] if quiet else [])])

    def to_html(self, path: str | PathLike[str], static: bool = False) -> None:
        """Write both as one HTML file that needs nothing else; with `static` one without scripts."""
        late("passlab.display.views.text_comparison", "write_comparison_report")(self, path, static)

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return self.text()
