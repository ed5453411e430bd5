"""`fuzz`: a random search for programs that a pass breaks.

    campaign = lab.fuzz(my_pass, seconds=60)
    campaign.failures[0].module, campaign.failures[0].why, campaign.save("tests/fuzzed")

Programs that make the pass do something (`fuzz_programs`) are run before and after it on inputs of all kinds, and
counterexamples are reduced. Failures with equal signatures count once. Saved failures are tests for plain pytest.
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
from passlab.ir.module import IRModule
from passlab.lab.culprits.bisection import Bisection, bisect
from passlab.lab.fuzzer.constants_in_pass import mentions
from passlab.lab.fuzzer.programs import SOURCES, ProgramSource
from passlab.lab.recordings.recording import record
from passlab.lab.reducer.script import bisection_script
from passlab.oracle.deadline import Deadline, check_seconds
from passlab.oracle.signature import signature_of
from passlab.oracle.validation import DEFAULT_CONTRACT
from passlab.table import Table, Tabular
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import NumericContract
from passlab.transform.pipeline import as_pass
from passlab.transform.sequential import Sequential

Progress = Callable[[str, str, float], Any]
PASS_SECONDS = 5.0  # after which a pass on one program counts as not terminating
PROGRAM_SECONDS = 15.0  # limit of one program, the comparison included
REDUCE_SECONDS = 10.0
STATE = "campaign.json"


@dataclass
class Failure:
    """A program that the pass breaks, reduced; why it is wrong; and the signature that equal failures share."""

    number: int
    source: str
    bisection: Bisection
    module: IRModule
    why: str
    signature: str

    def script(self) -> str:
        """Return a Python script that shows the failure."""
        check = self.bisection.check_of(self.module)
        return bisection_script(self.bisection, self.module, () if check is None else check.arguments)

    def test(self) -> str:
        """Return a test that fails until the pass is fixed."""
        lines = self.script().rstrip("\n").split("\n")
        head, asked = lines[:-3], lines[-3]
        name = re.sub(r"\W+", "_", f"{self.bisection.event.name if self.bisection.event else 'pass'}_{self.number}")
        body = [f"    {asked}", "    assert not bisection.found, bisection.summary()"]
        return "\n".join([*head, "", "", f"def test_{name.lower()}():", *body]) + "\n"

    def record(self) -> Record:
        """Return the part of the failure that is saved."""
        return Record(self.number, self.source, self.why, self.module.astext(annotate=lambda expr: ""), self.test())

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Record:
    """The part of a failure that is saved between two runs of a campaign, all as text."""

    number: int
    source: str
    why: str
    program: str
    test: str


@dataclass
class Campaign(Tabular):
    """The outcome of a search: `tried` programs were drawn, the pass changed `fired`, `left_out` were not compared.

    `earlier` are the failures of the earlier runs of a campaign in a directory, which took `earlier_seconds`;
    `by_source` counts the programs of all runs.
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
        """The failures of all runs of the campaign, the earlier ones first."""
        return (*self.earlier, *(f.record() for f in self.failures))

    def totals(self) -> str:
        """Return the outcome of all runs of the campaign in a sentence."""
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
        """Return the outcome of this run in sentences."""
        name = self.pass_.as_text()
        ways = counted(len(self.failures), "way")
        none = f"{name} broke programs in no new way" if self.earlier else f"{name} broke no program"
        result = f"{name} breaks programs in {ways}" if self.failures else none
        text = (
            f"{result}: {counted(self.tried, 'program')} in {self.seconds:.0f} s, of which it changed {self.fired:,}."
        )
        if not self.fired:
            text += " It changed none, so the campaign has not tested it."
        if self.left_out:
            text += f" Not compared: {', '.join(f'{why} ({count:,})' for why, count in self.left_out.items())}."
        return f"{text} Stopped: {self.stopped}." if self.stopped else text

    def table(self) -> Table:
        """Return one row for each failure: program, source, operators and why."""
        rows = [(f.number, f.source, sum(count_operators(f.module).values()), f.why) for f in self.failures]
        return Table(("program", "source", "operators", "why"), rows)

    def sources(self) -> Table:
        """Return how many programs of each source were tried, and how many of them the pass changed."""
        return Table(("source", "tried", "changed"), [(name, *counts) for name, counts in self.by_source.items()])

    def text(self) -> str:
        """Return the summary, and each failure with its program."""
        parts = [self.summary(), *(f"{f.why}\n{f.module.astext()}" for f in self.failures)]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return self.text()

    def save(self, directory: str | PathLike[str]) -> list[Path]:
        """Write each failure as a test for plain pytest, and the state of the campaign, from which a later run resumes.

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
    default_contract: NumericContract | None = DEFAULT_CONTRACT,
    progress: Progress | None = None,
    executor: Executor | None = None,
    directory: str | PathLike[str] | None = None,
) -> Campaign:
    """Look for programs that a pass (or pipeline) breaks, until `most` kinds of failures are found or time is up.

    With `programs` it ends after so many, which are the same for the same seed; with `seconds=None` neither the search
    nor a program nor a reduction has a time limit, so that results do not depend on the speed of the machine. A pass
    without contract is held to `default_contract`. `progress(stage, text, seconds_left)` is called for each program.
    With a `directory` the campaign there is resumed and saved at the end. Raises `PassError` for passes that do not
    exist.
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
    run = _CampaignRun(campaign, ProgramSource(mentions(subject), seed), end, programs, default_contract, executor)
    run.source.resume(campaign.weights, campaign.learned)
    started = monotonic()
    try:
        run.run(most, progress)
    except KeyboardInterrupt:
        campaign.stopped = "interrupted"
    campaign.seconds = monotonic() - started
    campaign.weights, campaign.learned = dict(run.source.weights), tuple(run.source.operators)
    if directory is not None:
        campaign.save(directory)
    return campaign


def _check_programs(programs: Any) -> None:
    if programs is not None and (isinstance(programs, bool) or not isinstance(programs, int) or programs < 0):
        raise PassTypeError(Diagnostic("`programs` is a whole number from 0 on, or None", found=repr(programs)))


def _resume(campaign: Campaign, directory: Path) -> None:
    """Load the saved state of a campaign of the same pass and seed. Raises `PassError` for an invalid file."""
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


class _CampaignRun:
    """One run of a campaign."""

    def __init__(
        self,
        campaign: Campaign,
        source: ProgramSource,
        end: float | None,
        programs: int | None,
        default_contract: NumericContract | None,
        executor: Executor | None,
    ) -> None:
        self.campaign = campaign
        self.source = source
        self.end = end
        self.programs = programs
        self.default_contract = default_contract
        self.executor = executor

    def left(self) -> float:
        return inf if self.end is None else self.end - monotonic()

    def within(self, least: float, most: float = inf) -> float | None:
        """Return the seconds that a step may take; None where the search has no time limit."""
        return None if self.end is None else min(most, max(least, self.left()))

    def is_over(self, most: int) -> bool:
        """Whether the time, the programs, or the kinds of failures to search for are used up."""
        campaign = self.campaign
        return self.left() <= 0 or campaign.tried == self.programs or len(campaign.failures) >= most

    def run(self, most: int, progress: Progress | None) -> None:
        campaign = self.campaign
        # One second more: the loop ends by itself unless a program hangs.
        deadline = Deadline(None if self.end is None else max(0.0, self.left()) + 1.0)
        try:
            with deadline:
                for number, source, mod in self.source.programs(campaign.next):
                    if self.is_over(most):
                        break
                    if progress is not None:
                        progress("fuzz", f"program {campaign.tried + 1:,}, {campaign.fired:,} changed", self.left())
                    fired = campaign.fired
                    self.try_program(number, source, mod)
                    campaign.tried += 1  # counted after the run: an interrupted program is the first of the next run
                    campaign.by_source[source][0] += 1
                    campaign.by_source[source][1] += campaign.fired - fired
                    campaign.next = number + 1
        except deadline.error:
            deadline.close()
            campaign.stopped = "time was up within one program"

    def try_program(self, number: int, source: str, mod: IRModule) -> None:
        """Run the pass on one program and compare."""
        campaign = self.campaign
        patience = Deadline(self.within(0.1, PROGRAM_SECONDS))
        try:
            with patience:
                recording = record(mod, campaign.pass_, 4, seconds=None if self.end is None else PASS_SECONDS)
                if recording.error is None and not any(e.changed for e in recording.steps[1:]):
                    return
                campaign.fired += 1
                self.source.reward(source)
                before, after = count_operators(recording.input), count_operators(recording.last)
                self.source.learn([name for name in before if before[name] > after[name]])
                bisection = bisect(recording, default_contract=self.default_contract, without_contract=True)
                if bisection.stopped:
                    raise KeyboardInterrupt
        except patience.error:
            patience.close()
            self._count_omission("no time")
            return
        except PasslabError as error:
            self._count_omission("the program does not run before the pass" if "run" in str(error) else "it is refused")
            return
        if bisection.found and not self._is_refusal(bisection):
            self._add_failure(number, source, bisection)

    def _is_refusal(self, bisection: Bisection) -> bool:
        """Whether the pass refused a program by a diagnostic, which is no fault."""
        if bisection.error is None or not isinstance(bisection.error, PasslabError) or bisection.cause is not None:
            return False
        self._count_omission("refused by a diagnostic")
        return True

    def _count_omission(self, why: str) -> None:
        self.campaign.left_out[why] = self.campaign.left_out.get(why, 0) + 1

    def _add_failure(self, number: int, source: str, bisection: Bisection) -> None:
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
            self._count_omission("not reduced")
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
    change = _wrong_change(bisection) or f"{node_name(check.node.old)} to {node_name(check.node.node)}"
    return f"{bisection.event.name}: {change}"


def _wrong_change(bisection: Bisection) -> str:
    """Return the rule of the wrong rewrite, or the operators it replaced and their replacements; "" where unknown."""
    rewrite = bisection.rewrite
    if rewrite is None or rewrite.rule:
        return "" if rewrite is None else rewrite.rule
    before, after = (Counter(count_operators(mod)) for mod in (rewrite.before, rewrite.after))
    return f"{_operator_list(before - after)} to {_operator_list(after - before)}"


def _operator_list(counts: Counter[str]) -> str:
    return ", ".join(sorted(counts.elements())) or "nothing"
