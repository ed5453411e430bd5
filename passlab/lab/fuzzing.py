"""`fuzz`: programs that a pass breaks, looked for at random.

    campaign = lab.fuzz(my_pass, seconds=60)
    campaign.failures[0].module, campaign.failures[0].why, campaign.save("tests/fuzzed")

Programs are drawn that make the pass do something (`fuzz_programs`), run before and after it on inputs of all kinds,
and what is wrong is reduced. Failures of one kind are kept once. What is saved are files that plain pytest runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from math import inf
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

from passlab.diffing.diff import count_operators, node_name
from passlab.errors import Diagnostic, FileAccessError, PassError, PasslabError, PassTypeError, counted
from passlab.instrument.deadline import Deadline, check_seconds
from passlab.instrument.validation import UNDECLARED
from passlab.ir.module import IRModule
from passlab.lab.bisection import Bisection, bisect
from passlab.lab.fuzz_programs import SOURCES, ProgramSource
from passlab.lab.mentions import mentions
from passlab.lab.recording import record
from passlab.lab.script import bisection_script
from passlab.lab.signature import signature_of
from passlab.table import Table
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import Promise
from passlab.transform.pipeline import as_pass
from passlab.transform.sequential import Sequential

Progress = Callable[[str, str, float], Any]
PASS_SECONDS = 5.0  # that the pass may take on one program: one that takes longer does not end
PROGRAM_SECONDS = 15.0  # that one program may take, the comparison included
REDUCE_SECONDS = 10.0
STATE = "campaign.json"


@dataclass
class Failure:
    """One program that the pass breaks: the smallest found, why, and what makes it the same failure as another."""

    number: int
    source: str
    bisection: Bisection
    module: IRModule
    why: str
    signature: str

    def script(self) -> str:
        """Return a Python script that shows it."""
        check = self.bisection.check_of(self.module)
        return bisection_script(self.bisection, self.module, () if check is None else check.arguments)

    def test(self) -> str:
        """Return the same as a test that fails until the pass is mended."""
        lines = self.script().rstrip("\n").split("\n")
        head, asked = lines[:-3], lines[-3]
        name = re.sub(r"\W+", "_", f"{self.bisection.event.name if self.bisection.event else 'pass'}_{self.number}")
        body = [f"    {asked}", "    assert not found.found, found.summary()"]
        return "\n".join([*head, "", "", f"def test_{name.lower()}():", *body]) + "\n"

    def record(self) -> Record:
        """Return what is kept of it."""
        return Record(self.number, self.source, self.why, self.module.astext(annotate=lambda expr: ""), self.test())

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Record:
    """What is kept of a failure between two runs of a campaign, all as text."""

    number: int
    source: str
    why: str
    program: str
    test: str


@dataclass
class Campaign:
    """The outcome of a search: `tried` programs were drawn, the pass changed `fired`, `left_out` were not compared.

    `earlier` are the failures of the runs that a campaign in a directory goes on from, of `all_seconds` in all;
    `by_source` counts their programs, too.
    """

    pass_: Pass
    seed: int
    failures: list[Failure] = field(default_factory=list)
    tried: int = 0
    fired: int = 0
    next: int = 0
    seconds: float = 0.0
    stopped: str = ""
    repeated: int = 0
    by_source: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in SOURCES})
    left_out: dict[str, int] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)
    earlier: tuple[Record, ...] = ()
    earlier_seconds: float = 0.0
    weights: dict[str, float] = field(default_factory=dict)
    learned: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Record, ...]:
        """All failures of a campaign, those of earlier runs first."""
        return (*self.earlier, *(f.record() for f in self.failures))

    def totals(self) -> str:
        """Return in a sentence what all runs of a campaign came to."""
        tried, fired = (sum(counts[n] for counts in self.by_source.values()) for n in (0, 1))
        ways = counted(len(self.records), "way")
        seconds = self.seconds + self.earlier_seconds
        what = f"{self.pass_.as_text()} breaks programs in {ways}" if self.records else "no program was broken"
        return f"{what}: {counted(tried, 'program')} in {seconds:.0f} s, of which it changed {fired:,}."

    @property
    def found(self) -> bool:
        """Whether the pass broke a program."""
        return bool(self.failures)

    def summary(self) -> str:
        """Return what came of it in sentences."""
        name = self.pass_.as_text()
        ways = counted(len(self.failures), "way")
        none = f"{name} broke programs in no new way" if self.earlier else f"{name} broke no program"
        result = f"{name} breaks programs in {ways}" if self.failures else none
        text = (
            f"{result}: {counted(self.tried, 'program')} in {self.seconds:.0f} s, of which it changed {self.fired:,}."
        )
        if not self.fired:
            text += " It changed none: this says nothing about it."
        if self.left_out:
            text += f" Not compared: {', '.join(f'{why} ({count:,})' for why, count in self.left_out.items())}."
        return f"{text} Stopped: {self.stopped}." if self.stopped else text

    def table(self) -> Table:
        """Return one row for each failure: program, source, nodes and why."""
        rows = [(f.number, f.source, sum(count_operators(f.module).values()), f.why) for f in self.failures]
        return Table(("program", "source", "operators", "why"), rows)

    def sources(self) -> Table:
        """Return how many programs of each source were tried, and how many of them the pass changed."""
        return Table(("source", "tried", "changed"), [(name, *counts) for name, counts in self.by_source.items()])

    def frame(self) -> Any:
        """Return `table()` as a pandas data frame."""
        return self.table().frame()

    def text(self) -> str:
        """Return the summary, and each failure with its program."""
        parts = [self.summary(), *(f"{f.why}\n{f.module.astext()}" for f in self.failures)]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return self.text()

    def save(self, directory: str | PathLike[str]) -> list[Path]:
        """Write each failure as a test that plain pytest runs, and where the campaign stands, to go on from there.

        Returns the paths of the tests. Raises `FileAccessError`.
        """
        target, paths = Path(directory), list[Path]()
        state = {
            "pass": self.pass_.as_text(),
            "seed": self.seed,
            "next": self.next,
            "signatures": sorted(self.signatures),
            "seconds": self.seconds + self.earlier_seconds,
            "by_source": self.by_source,
            "weights": self.weights,
            "learned": list(self.learned),
            "failures": [asdict(record) for record in self.records],
        }
        try:
            target.mkdir(parents=True, exist_ok=True)
            for failure in self.failures:
                name = re.sub(r"\W+", "_", self.pass_.info.name).lower()
                paths.append(target / f"test_{name}_{failure.number}.py")
                paths[-1].write_text(failure.test(), encoding="utf-8")
            (target / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")
        except OSError as error:
            raise FileAccessError(Diagnostic(f"{error.filename} cannot be written: {error.strerror}")) from error
        return paths


def fuzz(
    pass_: Any,
    *,
    seconds: float | None = 60.0,
    programs: int | None = None,
    seed: int = 0,
    most: int = 3,
    undeclared: Promise | None = UNDECLARED,
    progress: Progress | None = None,
    executor: Executor | None = None,
    directory: str | PathLike[str] | None = None,
) -> Campaign:
    """Look for programs that a pass (or pipeline) breaks, until `most` kinds of failures are found or time is up.

    With `programs` it ends after so many, which are the same for the same seed; with `seconds=None` nothing is cut
    short on a slow machine: neither the search nor a program nor a reduction ends by time. A pass that promises nothing
    is held to `undeclared`. `progress(stage, text, seconds_left)` is called for each program. With a `directory` the
    campaign goes on where the last one there stopped, and what is found is saved at the end. Raises `PassError` for
    passes that do not exist.
    """
    check_seconds(seconds)
    _check_programs(programs)
    subject = as_pass(pass_)
    if isinstance(subject, Sequential) and len(subject.passes) == 1:
        subject = subject.passes[0]
    campaign = Campaign(subject, seed)
    if directory is not None:
        _resume(campaign, Path(directory))
    end = None if seconds is None else monotonic() + seconds
    hunt = _Hunt(campaign, ProgramSource(mentions(subject), seed), end, programs, undeclared, executor)
    hunt.source.go_on(campaign.weights, campaign.learned)
    started = monotonic()
    try:
        hunt.run(most, progress)
    except KeyboardInterrupt:
        campaign.stopped = "interrupted"
    campaign.seconds = monotonic() - started
    campaign.weights, campaign.learned = dict(hunt.source.weights), tuple(hunt.source.operators)
    if directory is not None:
        campaign.save(directory)
    return campaign


def _check_programs(programs: Any) -> None:
    if programs is not None and (isinstance(programs, bool) or not isinstance(programs, int) or programs < 0):
        raise PassTypeError(Diagnostic("`programs` is a whole number from 0 on, or None", found=repr(programs)))


def _resume(campaign: Campaign, directory: Path) -> None:
    """Go on from a saved campaign of the same pass and seed. Raises `PassError` for a file that is none."""
    path = directory / STATE
    if not path.is_file():
        return
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        same = state["pass"] == campaign.pass_.as_text() and state["seed"] == campaign.seed
        number, signatures = int(state["next"]), {str(s) for s in state["signatures"]}
        seconds, weights = float(state["seconds"]), {name: float(state["weights"].get(name, 1.0)) for name in SOURCES}
        by_source = {name: [int(n) for n in state["by_source"].get(name, (0, 0))][:2] for name in SOURCES}
        learned = tuple(map(str, state["learned"]))
        records = tuple([Record(**record) for record in state["failures"]])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise PassError(Diagnostic(f"{path} is not a campaign: {error}")) from None
    if same:
        campaign.next, campaign.signatures, campaign.by_source = number, signatures, by_source
        campaign.earlier, campaign.earlier_seconds = records, seconds
        campaign.weights, campaign.learned = weights, learned


class _Hunt:
    """One campaign while it runs."""

    def __init__(
        self,
        campaign: Campaign,
        source: ProgramSource,
        end: float | None,
        programs: int | None,
        undeclared: Promise | None,
        executor: Executor | None,
    ) -> None:
        self.campaign = campaign
        self.source = source
        self.end = end
        self.programs = programs
        self.undeclared = undeclared
        self.executor = executor

    def left(self) -> float:
        return inf if self.end is None else self.end - monotonic()

    def within(self, least: float, most: float = inf) -> float | None:
        """Return the time that a step may take; None where the search has no limit in time."""
        return None if self.end is None else min(most, max(least, self.left()))

    def is_over(self, most: int) -> bool:
        """Whether there is no time, no program, or no kind of failure left to look for."""
        campaign = self.campaign
        return self.left() <= 0 or campaign.tried == self.programs or len(campaign.failures) >= most

    def run(self, most: int, progress: Progress | None) -> None:
        campaign = self.campaign
        deadline = Deadline(None if self.end is None else max(0.0, self.left()) + 1.0)
        try:
            with deadline:
                for number, source, mod in self.source.programs(campaign.next):
                    if self.is_over(most):
                        break
                    if progress is not None:
                        progress("fuzz", f"program {campaign.tried + 1:,}, {campaign.fired:,} changed", self.left())
                    fired = campaign.fired
                    self.try_one(number, source, mod)
                    campaign.tried += 1  # one that is interrupted is not done: the campaign goes on with it
                    campaign.by_source[source][0] += 1
                    campaign.by_source[source][1] += campaign.fired - fired
                    campaign.next = number + 1
        except deadline.error:
            deadline.close()
            campaign.stopped = "time was up within one program"

    def try_one(self, number: int, source: str, mod: IRModule) -> None:
        """Run the pass on one program and compare."""
        campaign = self.campaign
        patience = Deadline(self.within(0.1, PROGRAM_SECONDS))
        try:
            with patience:
                recording = record(mod, campaign.pass_, 4, seconds=None if self.end is None else PASS_SECONDS)
                if recording.error is None and not any(e.changed for e in recording.steps[1:]):
                    return
                campaign.fired += 1
                self.source.fired(source)
                before, after = count_operators(recording.input), count_operators(recording.last)
                self.source.learn([name for name in before if before[name] > after[name]])
                bisection = bisect(recording, undeclared=self.undeclared, unpromised=True)
        except patience.error:
            patience.close()
            self._leave_out("no time")
            return
        except PasslabError as error:
            self._leave_out("the program does not run before the pass" if "run" in str(error) else "it is refused")
            return
        if bisection.found and not self._is_refusal(bisection):
            self._add(number, source, bisection)

    def _is_refusal(self, bisection: Bisection) -> bool:
        """Whether a standard pass only refused a program by a diagnostic, as it may."""
        if bisection.error is None or not isinstance(bisection.error, PasslabError) or bisection.cause is not None:
            return False
        self._leave_out("refused by a diagnostic")
        return True

    def _leave_out(self, why: str) -> None:
        self.campaign.left_out[why] = self.campaign.left_out.get(why, 0) + 1

    def _add(self, number: int, source: str, bisection: Bisection) -> None:
        campaign = self.campaign
        signature = failure_signature(bisection)
        if signature in campaign.signatures:
            campaign.repeated += 1
            return
        campaign.signatures.add(signature)
        module = bisection.before
        try:
            module = bisection.reduce(seconds=self.within(1.0, REDUCE_SECONDS), executor=self.executor).module
        except PassError:
            self._leave_out("not reduced")
        campaign.failures.append(Failure(number, source, bisection, module, bisection.summary(), signature))


def failure_signature(bisection: Bisection) -> str:
    """Return what makes two failures the same: the pass and its error, or the operator that it makes wrong."""
    assert bisection.event is not None
    error = bisection.error or bisection.cause
    if error is not None:
        return f"{bisection.event.name}: {signature_of(error)}"
    check = bisection.check
    if check is None or check.node is None:
        return f"{bisection.event.name}: result"
    if check.error is not None:
        return f"{bisection.event.name}: {signature_of(check.error)}"
    change = _change_of(bisection) or f"{node_name(check.node.old)} to {node_name(check.node.node)}"
    return f"{bisection.event.name}: {change}"


def _change_of(bisection: Bisection) -> str:
    """Return the rule of the wrong rewrite, or the operators it replaced and their replacements; "" where unknown."""
    rewrite = bisection.rewrite
    if rewrite is None or rewrite.rule:
        return "" if rewrite is None else rewrite.rule
    before, after = (Counter(count_operators(mod)) for mod in (rewrite.before, rewrite.after))
    return f"{_names(before - after)} to {_names(after - before)}"


def _names(counts: Counter[str]) -> str:
    return ", ".join(sorted(counts.elements())) or "nothing"
