"""`culprit`: what broke the program, in one call.

    culprit = lab.culprit(mod, "InferType, FoldConstant, FoldScaleAxis, FuseOps")
    culprit.sentences, culprit.event, culprit.rewrite, culprit.node, culprit.module
    culprit.script("bug.py"), culprit.notebook("bug.ipynb")

The search records the pipeline and holds every step to its contract on inputs of many kinds. It looks for the guilty
rewrite and the passes that the fault needs, shrinks the program, and lists what it did not examine. Where every pass is
right, it compares executors and names the wrong kernel. Its stages are `bisect`, `reduce` and `compare_executors`,
which can be called one by one. It ends after `seconds`, or when it is interrupted, with the best answer so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.atomic_file import write_text
from passlab.diffing.diff import count_operators, node_name
from passlab.errors import Diagnostic, InterruptedPassesError, PassError, PasslabError, RunError, counted
from passlab.infer import infer_module
from passlab.instrument.change import changed_functions
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.lab.culprits.bisection import Bisection, GuiltyRewrite, bisect, record_guarded
from passlab.lab.culprits.coverage import Coverage
from passlab.lab.culprits.executors import (
    KINDS,
    ExecutorFault,
    check_kinds,
    compare_executors,
    kernel_fault,
    reference_fault,
)
from passlab.lab.culprits.kernel_search import wrong_kernel
from passlab.lab.fuzzer.fuzzing import fuzz
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.validation import is_checked
from passlab.lab.reducer.reduction import Reduction
from passlab.lab.reducer.script import bisection_script
from passlab.lab.reducer.search import NOT_SHOWN
from passlab.oracle.deadline import Deadline, Stopwatch, TimeUpError, check_seconds
from passlab.oracle.first_wrong import WrongNode
from passlab.oracle.signature import raising_line
from passlab.oracle.trial import SECONDS, Inputs, Trial
from passlab.oracle.validation import Check
from passlab.table import Table, Tabular
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract

Progress = Callable[[str, str, float], Any]
CLEAR_SECONDS = 1.0  # limit of the search for a wrong kernel behind a guilty pass
FEW = 3  # the smallest program names its operators, up to so many, where the wrong one is unknown
RECORDING = 0.25  # of the time, for the pipeline: a pass that takes longer counts as endless
FUZZING = 5.0  # seconds of each pass of the user, on programs that it is given before none is blamed
FUZZED = 200  # such programs
SHARE = 0.5  # of the remaining time that one stage may take, so that later stages have time as well


class Culprit(Tabular):
    """What broke a program. `sentences` say it; `found` is False when nothing was.

    `compiler` is the executor whose compiler the guilty pass belongs to, "" for a pass of the pipeline itself.
    `bisection` has the guilty pass, `reduction` the smallest program, `fault` the wrong executor and kernel where every
    pass is right. With `elsewhere` the program itself shows no fault: a program of the fuzzer does. `stopped` says why
    the search ended early, "" when it was complete.
    """

    def __init__(self, program: IRModule, coverage: Coverage) -> None:
        self.program = program
        self.coverage = coverage
        self.recording: Recording | None = None
        self.bisection: Bisection | None = None
        self.reduction: Reduction | None = None
        self.rewrite: GuiltyRewrite | None = None
        self.needed: tuple[Event, ...] = ()
        self.fault: ExecutorFault | None = None
        self.compiler = ""
        self.elsewhere = False
        self.stopped = ""
        self.seconds = 0.0

    # ------------------------------------------------------------ the answer
    @property
    def found(self) -> bool:
        """Whether something is wrong."""
        return self.event is not None or self.fault is not None

    @property
    def event(self) -> Event | None:
        """The guilty pass in the recording, None when no pass is."""
        return None if self.bisection is None else self.bisection.event

    @property
    def name(self) -> str:
        """What is wrong: a pass, an executor, or "kernel"; "" where nothing is."""
        if self.fault is not None:
            return self.fault.executor
        return "" if self.event is None else self.event.name

    @property
    def where(self) -> str:
        """Where it is wrong: the rule and the operator of a pass; the stage, kernel or instruction of an executor."""
        if self.fault is not None:
            return self.fault.where
        parts = [] if self.rewrite is None else [self.rewrite.rule or "rewrite"]
        if self.rewrite is not None and self.rewrite.node is not None:
            parts.append(node_name(self.rewrite.node))
        if self.node is not None:
            parts.append(_wrong_operator_name(self.node))
        elif self.event is not None and self.event.error is None:
            names = list(count_operators(self.module))
            parts += names if len(names) <= FEW else []
        return "; ".join(parts) or self._wrong_part()

    def _wrong_part(self) -> str:
        """Name the wrong part of the pass or of the program where neither rewrite nor operator is known."""
        if self.event is None:
            return ""
        if self.event.error is not None and (line := raising_line(self.event.error)):
            return line
        changed = ", ".join(f"@{name}" for name in changed_functions(self.event.before, self.event.after))
        return self._changed_parameters() or self._removed_functions() or (f"the whole of {changed}" if changed else "")

    def _removed_functions(self) -> str:
        """Name the functions that the guilty pass removed from the module, "" if none exist."""
        assert self.event is not None
        names = [f"@{name}" for name, _ in self.event.before.items() if name not in self.event.after]
        # A condition as the end of a slice: the "s" is there only for several names.
        return f"the function{'s'[: len(names) > 1]} that it removed: {', '.join(names)}" if names else ""

    def _changed_parameters(self) -> str:
        """Name the functions whose parameters the guilty pass changed or reordered, "" if none exist."""
        if self.event is None:
            return ""
        before, after = self.event.before, self.event.after
        names = [
            name for name, function in before.items() if name in after and _has_other_parameters(function, after[name])
        ]
        return f"the parameters of {', '.join(f'@{name}' for name in names)}" if names else ""

    @property
    def check(self) -> Check | None:
        """How the guilty pass broke its contract; None where programs were not compared."""
        return None if self.bisection is None else self.bisection.check

    @property
    def node(self) -> WrongNode | None:
        """The first operator with a wrong value; None if it is unknown."""
        return None if self.check is None else self.check.node

    @property
    def module(self) -> IRModule:
        """The smallest known program that shows the fault; the whole program without a fault."""
        if self.fault is not None:
            return self.fault.module
        if self.reduction is not None:
            return self.reduction.module
        return self.program if self.event is None else self.event.before

    @property
    def shown(self) -> Bisection | None:
        """The bisection of the smallest program: the guilty pass, or one that replays what it did there."""
        return self.bisection if self.reduction is None else self.reduction.of

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong, since which step, by which rule, where and by how much, and what was not examined."""
        if self.fault is not None:
            return (*self.fault.sentences(), self._omission_sentence())
        if self.bisection is None or self.event is None:
            found = "No fault was found"
            if why := self.stopped or (self.bisection.stopped if self.bisection is not None else ""):
                found = f"The search was {why} before it found a fault"
            compared = self.coverage.text(full=False, ended=not why)
            if why and not self.coverage.checks:
                compared = "no step was compared"
            return (f"{found}: {compared}.", self._omission_sentence())
        if self.elsewhere:
            compared = f"The program itself shows no fault: {self.coverage.text(full=False)}"
            found = f"a program that `lab.fuzz` made shows one: {self.bisection.summary()}"
            return (f"{compared}; {found}.", self._rule_sentence(), self._where_sentence(), self._omission_sentence())
        return (
            self._guilty_sentence(),
            self._since_sentence(),
            self._rule_sentence(),
            self._where_sentence(),
            self._omission_sentence(),
        )

    def _guilty_sentence(self) -> str:
        assert self.bisection is not None
        compiler = f"The compiler of the executor `{self.compiler}` is wrong: " if self.compiler else ""
        return f"{compiler}{_capital(self.bisection.summary())}."

    def _since_sentence(self) -> str:
        assert self.bisection is not None
        assert self.event is not None
        events = self.bisection.recording.events
        number = next(at for at, event in enumerate(events) if event is self.event)
        before_it = {id(event) for event in events[:number]}
        good = [verdict for verdict in self.bisection.verdicts if verdict.good and id(verdict.event) in before_it]
        before = f"The {len(good):,} steps before it kept their contracts" if good else "No step comes before it"
        if len(good) == 1:
            before = "The step before it kept its contract"
        others = [f"step {e.id}, {e.name}" for e in self.needed if e is not self.event]
        if others:
            return f"{before}; the fault occurs only after {', '.join(others)}."
        alone = f", and the fault occurs without {'it' if len(good) == 1 else 'them'}" if self.needed and good else ""
        return f"{before}{alone}."

    def _rule_sentence(self) -> str:
        if self.rewrite is not None:
            return f"It is {self.rewrite}."
        assert self.event is not None
        what = f"{self.event.name} reports no rewrite that can be left out by itself: the pass as a whole is wrong"
        if self.event.error is not None and (line := raising_line(self.event.error)):
            return f"{what}; it {'was' if isinstance(self.event.error, TimeUpError) else 'raised'} {line}."
        if where := self._changed_parameters():
            return f"{what}, and it changed {where}."
        where = self._removed_functions()
        return f"{what}; the fault is in {where}." if where else f"{what}."

    def _where_sentence(self) -> str:
        check = self.check
        if check is None or check.finding is None:
            return f"The program has {counted(count_module(self.module)[0], 'node')} now."
        on = f"on {check.inputs}" if check.inputs else ""
        if self.node is None:
            return f"The result differs {on}: {check.finding}."
        name = node_name(self.node.old if self.node.removed else self.node.node)
        return f"The first operator that is wrong is `{name}`, {on}: {self.node.finding}."

    def _omission_sentence(self) -> str:
        lines = self.coverage.left_out()
        if self.bisection is not None and self.bisection.stopped:
            lines.append(self.bisection.summary().partition(": ")[0])
        elif self.stopped:
            lines.append(f"the search was {self.stopped}")
        if self.bisection is not None and self.event is not None and not self.elsewhere:
            lines += [f"step {step.id}, {step.name}, which came after" for step in self.bisection.later_steps()]
        return f"Not examined: {'; '.join(lines)}." if lines else self.coverage.all_reached()

    def summary(self) -> str:
        """Return what was found, in sentences."""
        return " ".join(self.sentences)

    def table(self) -> Table:
        """Return one row for each examined step: the inputs it was compared on, and the outcome."""
        return self.coverage.table()

    def text(self) -> str:
        """Return the sentences, one a line, and the smallest program."""
        lines = list(self.sentences)
        if self.found:
            lines += ["", self.module.astext()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    # ------------------------------------------------------------ reproducers
    def script(self, path: str | PathLike[str] | None = None) -> str:
        """Return a Python script that shows the fault, also written to a file. Raises `PassError` without a fault."""
        if self.fault is not None:
            text = self.fault.script()
        elif self.bisection is None or self.event is None:
            raise PassError(Diagnostic("there is nothing to reproduce: no fault was found"))
        else:
            shown = self.shown or self.bisection
            again = shown.check_of(self.module)
            text = bisection_script(shown, self.module, () if again is None else again.arguments)
        if path is not None:
            write_text(path, text)
        return text

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a notebook that shows the fault and return its path. Raises `PassError` if no pass is at fault."""
        if self.bisection is None or self.event is None:
            raise PassError(
                Diagnostic("there is no notebook: no pass broke the program", hint="culprit.script() has it")
            )
        return self.bisection.notebook(path) if self.reduction is None else self.reduction.notebook(path)


@checked
def culprit(
    program: IRModule | Recording,
    pipeline: Any = None,
    *,
    inputs: Inputs = None,
    entry: str = "main",
    seed: int = 0,
    default_contract: NumericContract | None = DEFAULT_CONTRACT,
    executors: Sequence[str] = KINDS,
    seconds: float | None = 60.0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Culprit:
    """Search for what broke a program, for at most `seconds` of processor time (three times as long by the clock).

    `pipeline` and `options` are as for `record`; a recording has its own. `inputs`, `entry`, `seed` and
    `default_contract` are as for `bisect`. Where no pass is at fault, each of the `executors` is compared with the
    reference evaluator; "definition" compares kernels with the definitions of their operators. Where these
    agree, `lab.fuzz` tries the passes of the user on other programs.
    `progress(stage, text, seconds_left)` is called during the search. An `executor` (of `concurrent.futures`) reduces
    in parallel. Raises `PassError` for passes that do not exist and `RunError` where the program does not run before
    any pass.

    >>> @transform.function_pass(opt_level=0)
    ... def forgets(func, mod, ctx):
    ...     return relay.Function(func.params, relay.abs(func.body))
    >>> mod = passlab.parse("def @main(%x: float32) { %x * 2f }")
    >>> lab.culprit(mod, [transform.InferType(), forgets], seconds=10).sentences[0].partition(":")[0]
    'Step 2, forgets, broke the program'
    """
    check_seconds(seconds)
    check_kinds(executors)
    if isinstance(program, Recording) and (pipeline is not None or options):
        raise PassError(Diagnostic("a recording has its pipeline already", hint="culprit(mod, passes) runs another"))
    start = program.input if isinstance(program, Recording) else program
    result = Culprit(start, Coverage())
    search = _CulpritSearch(result, seconds, progress)
    bisecting = {
        "inputs": inputs,
        "entry": entry,
        "seed": seed,
        "default_contract": default_contract,
        "without_contract": True,
    }
    search.run(program, pipeline, bisecting, options, executors, executor)
    result.seconds = search.seconds_spent()
    return result


class _CulpritSearch:
    """The stages of one search for a culprit, and its remaining time."""

    def __init__(self, result: Culprit, seconds: float | None, progress: Progress | None) -> None:
        self.culprit = result
        self.seconds = seconds
        self.progress = progress
        self.watch = Stopwatch()

    def seconds_spent(self) -> float:
        return self.watch.spent()

    def left(self, share: float = 1.0) -> float | None:
        # Never 0, which would end a stage before its first step.
        return None if self.seconds is None else max(0.05, (self.seconds - self.seconds_spent()) * share)

    def tell(self, stage: str, text: str) -> None:
        if self.progress is not None:
            self.progress(
                stage, text, float("inf") if self.seconds is None else max(0.0, self.seconds - self.seconds_spent())
            )

    def run(
        self,
        program: Any,
        pipeline: Any,
        bisecting: dict[str, Any],
        options: dict[str, Any],
        executors: Sequence[str],
        executor: Executor | None,
    ) -> None:
        result = self.culprit
        deadline = Deadline(self.left(), busy=True)
        try:
            self.tell("record", "running the pipeline")
            if isinstance(program, Recording):
                result.recording = program
            else:
                result.recording = record_guarded(program, pipeline, self.left(RECORDING), None, options)
            with deadline:
                self._bisect(result.recording, bisecting)
                if result.event is None and result.fault is None:
                    self._compare(executors, bisecting)
                if result.event is None and result.fault is None:
                    self._fuzz(result.recording, bisecting)
                if result.elsewhere:
                    return
                if result.event is not None:
                    self._narrow(executor)
                    self._clear_kernels()
        except deadline.error:
            deadline.close()
            result.stopped = f"stopped after {self.seconds:g} s"
        except MemoryError:
            result.stopped = "stopped for lack of memory"
        except KeyboardInterrupt as error:
            result.stopped = "interrupted"
            if isinstance(error, InterruptedPassesError) and result.recording is None:
                result.recording = error.recording

    def _bisect(self, recording: Recording, bisecting: dict[str, Any]) -> None:
        steps = len(recording.events) - 1
        changing = sum(event.changed for event in recording.events)
        left = self.left(SHARE)
        bisecting["step_seconds"] = float("inf") if left is None else max(SECONDS, left / max(1, changing))

        def looking(event: Event) -> None:
            self.tell("compare", f"step {event.id} of {steps}, {event.name}")

        result = self.culprit
        try:
            result.bisection = bisect(recording, coverage=result.coverage, looking=looking, **bisecting)
            if result.bisection.stopped:
                raise KeyboardInterrupt  # `bisect` returns when it is interrupted; the whole search ends then
        except RunError:  # the input program does not run: the fault is in it or in the evaluator
            options = {name: bisecting[name] for name in ("inputs", "entry", "seed")}
            result.fault = reference_fault(recording.input, Trial(**options))
            if result.fault is None:
                raise

    def _fuzz(self, recording: Recording, bisecting: dict[str, Any]) -> None:
        """Ask the fuzzer about the user's passes, which may do nothing wrong on this program."""
        result = self.culprit
        passes = {id(e.pass_): e.pass_ for e in recording.events if e.pass_ is not None and is_checked(e)}
        for pass_ in (p for p in passes.values() if not p.trusted):
            self.tell("fuzz", f"running {pass_.info.name} on other programs")
            seconds = min(FUZZING, self.left(SHARE) or FUZZING)
            contract = bisecting["default_contract"]
            campaign = fuzz(pass_, seconds=seconds, programs=FUZZED, most=2, default_contract=contract)
            # A pass that raises elsewhere is not what broke this program: only wrong values count.
            failure = next((f for f in campaign.failures if f.bisection.check is not None), None)
            if failure is not None:
                found = failure.bisection
                result.elsewhere, result.bisection, result.recording = True, found, found.recording
                result.reduction = Reduction(found.before, failure.module, (), 0, of=found)
                return

    def _compare(self, executors: Sequence[str], bisecting: dict[str, Any]) -> None:
        """Compare executors. A wrong pass of a compiler becomes the culprit, with the recording of that compiler."""
        result = self.culprit

        def tell(kind: str) -> None:
            self.tell("executors", f"comparing {kind} with the reference evaluator")

        def keep(fault: ExecutorFault) -> None:
            result.fault = fault

        coverage = result.coverage
        fault = compare_executors(result.program, executors, bisecting, coverage.notes, tell, keep, coverage.executors)
        if fault is None or fault.stage is None:
            result.fault = fault
            return
        result.fault, result.compiler = None, fault.executor
        result.bisection, result.recording = fault.stage, fault.stage.recording

    def _clear_kernels(self) -> None:
        """Acquit a pass that is right but calls an operator whose kernel is wrong: that kernel becomes the fault."""
        result = self.culprit
        check = result.check
        if result.bisection is None or check is None or result.bisection.criterion.good is not None:
            return
        self.tell("kernels", "holding the kernels to their definitions")
        # After the pass as well: it may only have introduced the call of a wrong kernel.
        for mod in (result.module, (result.shown or result.bisection).after(result.module)):
            if mod is None or result.bisection.criterion.entry not in mod:
                continue
            trial = (result.shown or result.bisection).criterion.small_trial(check, mod)
            try:
                wrong = wrong_kernel(infer_module(mod), trial, CLEAR_SECONDS)
            except PasslabError:
                continue
            if wrong is not None:
                result.fault = kernel_fault(wrong)
                return

    def _narrow(self, executor: Executor | None) -> None:
        """Reduce the program of the guilty pass; search for its wrong rewrite and the passes that the fault needs."""
        result, bisection = self.culprit, self.culprit.bisection
        assert bisection is not None
        self.tell("reduce", "shrinking the program")
        try:
            result.reduction = bisection.reduce(executor=executor, seconds=self.left(SHARE))
        except PassError as error:
            why = error.diagnostics[0].message
            if why == NOT_SHOWN:
                why = f"{result.name} did not break this one when it ran again"
            result.coverage.notes.append(f"a smaller program ({why})")
        for stage, text in (("rewrite", "looking for the rewrite"), ("needed", "looking for the passes it needs")):
            self.tell(stage, text)
            part = Deadline(self.left(SHARE), busy=True)
            try:
                with part:
                    # Both are cached properties of the bisection, computed here.
                    setattr(result, stage, getattr(bisection, stage))
            except part.error:
                part.close()
                result.coverage.notes.append(f"{text[12:]} (no time)")  # without "looking for "
            except PasslabError as error:
                result.coverage.notes.append(f"{text[12:]} ({error.diagnostics[0].message})")


def _has_other_parameters(before: Function, after: Function) -> bool:
    """Whether the names, types or order of the parameters differ between two versions of a function."""
    old, new = ([(p.name_hint, p.checked_type_) for p in function.params] for function in (before, after))
    return old != new


def _wrong_operator_name(node: WrongNode) -> str:
    """Name the wrong operator and, where it differs, the operator that it replaced."""
    old, new = node_name(node.old), node_name(node.node)
    return old if node.removed else new if old == new else f"{new}, which was {old}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
