"""`Recording`: what a pipeline did to a program, pass by pass, as data to walk through, query and run again.

    rec = passlab.record(mod, "InferType, FoldConstant, FuseOps(fuse_opt_level=2)")
    rec[2].before, rec["FuseOps"].after, rec.where(op="nn.relu"), rec.first(lambda mod: len(mod) > 1)

An `EventRecorder` writes the events; this module numbers and queries them. `files` saves and loads them,
`provenance` has the origins of nodes, and `display` draws.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from passlab.arguments import checked
from passlab.diffing.diff import Diff
from passlab.errors import (
    Diagnostic,
    InterruptedPassesError,
    PassError,
    PassTypeError,
    visible,
)
from passlab.instrument.events import ContextOptions, Event
from passlab.instrument.recorder import EventRecorder
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.node_errors import not_a_node_error
from passlab.lab.recordings.event_rows import COLUMNS, change, kind_of, outcome, row_of
from passlab.lab.recordings.lineage import Lineage, diff
from passlab.lab.recordings.provenance import Biography, Provenance
from passlab.lazy import late
from passlab.oracle.deadline import Deadline
from passlab.pickling import OfOneProcess
from passlab.steps import Steps
from passlab.table import Table
from passlab.transform.base import Pass
from passlab.transform.context import PassContext
from passlab.transform.pipeline_text import Pipeline, as_pass

if TYPE_CHECKING:
    import pandas as pd

    from passlab.lab.culprits.bisection import Bisection
    from passlab.lab.variants.pipeline_variants import WhatIf

Predicate = Callable[[IRModule], Any]
DEFAULT_LEVEL = 3  # of a pipeline that is recorded outside of any PassContext


class Recording(Steps[Event]):
    """The steps of one or more pipelines over one program. Step 0 is the input, step n the n-th pass.

    `rec[3]` is a step, `rec["3.1"]` a pass inside it, `rec["FuseOps"]` the first pass of that name, steps before those
    inside; a slice gives a list of steps. `runs` are the outermost passes; a pipeline among them is not a step itself,
    its passes are.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> rec = passlab.record(mod, "FoldConstant, FuseOps")
    >>> rec[0].name, rec["FuseOps"].changed, rec["FuseOps"].before is rec["FoldConstant"].after
    ('input', True, True)
    """

    @checked
    def __init__(
        self,
        runs: Iterable[Event],
        input: IRModule | None = None,  # noqa: A002
        name: str = "",
        earlier: Recording | None = None,
    ) -> None:
        self.runs = list(runs)
        self.name = name
        self.earlier = earlier  # the recording whose last program is the input of this one
        self.overlays: dict[str, dict[Expr, float]] = {}
        start = input if input is not None else self.runs[0].before if self.runs else IRModule()
        self.steps: list[Event] = [RecordedPass("input", start, start, status="input", id="0")]
        for run in self.runs:
            self.steps += run.children if run.kind == "sequential" else [run]
        _number_events(self.steps)
        reference = weakref.ref(self)
        for event in self.events:
            for mod in (event.before, event.after):
                if mod.recorded is None or mod.recorded() is None:
                    mod.recorded = reference

    def __copy__(self) -> Recording:
        return Recording(self.runs, self.input, self.name, self.earlier)

    def __deepcopy__(self, memo: object) -> Recording:
        return self.__copy__()  # what it consists of never changes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the files that `save` writes."""
        from passlab.lab.recordings.files import pickled

        return pickled(self)

    # ------------------------------------------------------------ reading
    @property
    def input(self) -> IRModule:
        """The program at the start."""
        return self.steps[0].after

    @property
    def last(self) -> IRModule:
        """The program at the end; after a failure, the last one before it."""
        return self.steps[-1].after

    @property
    def output(self) -> IRModule:
        """The program at the end, a new module whose `history` is this recording.

        Raises the error of the pass that failed, if one did.
        """
        if self.error is not None:
            raise self.error
        return self._output

    @cached_property
    def _output(self) -> IRModule:
        mod = self.last.snapshot()
        mod.history = self
        return mod

    @property
    def failed(self) -> Event | None:
        """The innermost pass that failed, or None."""
        return next((e for e in reversed(self.events) if e.status == "failed"), None) or next(
            (run for run in self.runs if run.status == "failed"), None
        )

    @property
    def error(self) -> BaseException | None:
        """What ended the recording, or None."""
        return next((run.error for run in self.runs if run.error is not None), None)

    @property
    def events(self) -> list[Event]:
        """All events, the input first, each before those inside it."""
        return [event for step in self.steps for event in step.walk()]

    def whole(self) -> Recording:
        """Return one recording of this and the earlier ones that made its input; this one if none exist."""
        chain = [self]
        while chain[-1].earlier is not None:
            chain.append(chain[-1].earlier)
        if len(chain) == 1:
            return self
        runs = [copy_of(run) for recording in reversed(chain) for run in recording.runs]
        return Recording(runs, chain[-1].input, self.name)

    @checked
    def all(self, name: str) -> list[Event]:
        """Return every event of the pass called `name`, also inside other passes."""
        return [event for event in self.events if event.name == name]

    @property
    def page_writer(self) -> Callable[..., None]:
        """The function that writes a recording of this kind as a page."""
        writer: Callable[..., None] = late("passlab.display.pages.report", "write_html")
        return writer

    @checked
    def named(self, name: str) -> Event | None:
        """Return the pass of an id or a name: steps before passes inside them, the first of several."""
        matches = [event for event in self.events if name in (event.id, event.name)]
        return min(matches, key=lambda event: event.depth, default=None)

    def names(self) -> list[str]:
        """Return the names of all passes."""
        return [event.name for event in self.events]

    # ------------------------------------------------------------ asking
    @checked
    def where(
        self,
        op: str | None = None,
        *,
        name: str | None = None,
        status: str | None = None,
        changed: bool | None = None,
        predicate: Callable[[Event], Any] | None = None,
    ) -> list[Event]:
        """Return the events that meet all given conditions.

        `op`: the pass changed how often that operator is called. `name`, `status`, `changed` come from the event.
        `predicate`: a function of the event.
        """
        events = self.events[1:]
        for field, value in (("name", name), ("status", status), ("changed", changed)):
            if value is not None:
                events = [e for e in events if getattr(e, field) == value]
        if op is not None:
            events = [e for e in events if e.changed and count_module(e.before)[1][op] != count_module(e.after)[1][op]]
        return [e for e in events if predicate(e)] if predicate is not None else events

    def first(self, predicate: Predicate) -> Event | None:
        """Return the first step after which a predicate over modules holds, or the pass inside it that made it true.

        The input counts as a step. None when it never holds. Raises `PassTypeError` if the predicate is not a function.
        """
        holds = _evaluate_once(predicate)
        event = next((step for step in self.steps if holds(step.after)), None)
        while event is not None and event.children and event.status != "input" and not holds(event.before):
            inner = next((e for e in event.children if holds(e.after) and not holds(e.before)), None)
            if inner is None:
                break
            event = inner
        return event

    def when(self, predicate: Predicate) -> list[Event]:
        """Return the steps (the input included) after which a predicate over modules holds.

        Raises `PassTypeError` if the predicate is not a function.
        """
        holds = _evaluate_once(predicate)
        return [step for step in self.steps if holds(step.after)]

    @cached_property
    def provenance(self) -> Provenance:
        """Which pass made which node, from which one."""
        return Provenance(self.events)

    @cached_property
    def whole_provenance(self) -> Provenance:
        """The origins of all nodes, through the earlier recordings that made the input as well."""
        return self.provenance if self.earlier is None else self.whole().provenance

    @cached_property
    def lineage(self) -> Lineage:
        """Which node of one of the programs is which node of another."""
        return Lineage(self.whole_provenance)

    def blame(self, mod: IRModule | None = None) -> Table:
        """Return for each node of a module (by default the last) the pass that made it, and from which node.

        Raises `PassTypeError` if `module` is not a module.
        """
        _check_module(self.last if mod is None else mod, "only a module can be blamed", "rec.blame(rec[3].after)")
        return self.provenance.blame(self.last if mod is None else mod)

    def biography(self, node: Expr) -> Biography:
        """Return the history of a node: its ancestors back to the input, and the pass that replaced each.

        Raises `NodeTypeError` for what is not a node.
        """
        if not isinstance(node, Expr):
            raise not_a_node_error(node, "a node of one of the programs")
        return self.provenance.biography(node)

    @checked
    def follow(self, node: Expr) -> list[tuple[Event, list[Expr]]]:
        """Return for each step the nodes of its program that are the node, its ancestors, or its descendants, in order.

        Raises `NodeTypeError` for what is not a node. Linear in the programs of the recording.
        """
        if not isinstance(node, Expr):
            raise not_a_node_error(node, "a node of one of the programs")
        return self.provenance.follow(node, self.steps)

    @checked
    def overlay(self, name: str, numbers: Mapping[Expr, float]) -> None:
        """Add numbers by node as a colouring of the graphs of all steps; descendants of a node have its number."""
        self.overlays[name] = dict(numbers)

    def bisect(self, good: Predicate | None = None, **options: Any) -> Bisection:
        """Return which of the passes broke the program: see `lab.bisect`, whose options these are."""
        from passlab.lab.culprits.bisection import bisect

        return bisect(self, None, good, **options)

    @property
    def what_if(self) -> WhatIf:
        """The pipeline, to be changed: its methods switch passes off, move, repeat, insert and configure them."""
        from passlab.lab.variants.pipeline_variants import WhatIf

        return WhatIf(self)

    @checked
    def diff(self, start: int | str = 0, end: int | str = -1) -> Diff:
        """Return the difference between the modules after two steps, each by number, id or name."""
        return diff(self[start].after, self[end].after)

    # ------------------------------------------------------------ showing
    def table(self) -> Table:
        """Return one row per event: id, pass, outcome, time, memory and changes."""
        return Table(COLUMNS, map(row_of, self.events))

    def text(self) -> str:
        """Return the recording as text without times: the same for every run."""
        rows = [("  " * e.depth + e.id, e.text or e.name, outcome(e), change(e)) for e in self.events]
        shown = Table(("step", "pass", "outcome", "operators"), rows)
        title = f"recording{f' of {self.name}' if self.name else ''}: {self.summary()}"
        return "\n".join([title, str(shown), *self._failure()])

    def _failure(self) -> list[str]:
        """Return a line with the error of the pass that failed: its view has the lines of the user's code."""
        failed = self.failed
        if failed is None or failed.error is None:
            return []
        message = visible(str(failed.error)).split("\n")[0].removeprefix("error: ")
        return [f"step {failed.id}, {visible(failed.name)}, failed: {kind_of(failed.error)}: {message}"]

    def summary(self) -> str:
        """Return how many passes ran, changed the program, were skipped and failed, in words."""
        passes = self.steps[1:]
        ran = [e for e in passes if e.status == "ran"]
        parts = [
            f"{len(ran)} of {len(passes)} passes ran",
            f"{sum(e.changed for e in ran) or 'none'} changed the program",
            f"{sum(e.status == 'skipped' for e in passes)} skipped",
            f"{sum(e.status == 'failed' for e in passes)} failed",
        ]
        return ", ".join(parts[:2] + [part for part in parts[2:] if not part.startswith("0 ")])

    # ------------------------------------------------------------ keeping
    def save(self, directory: str | PathLike[str]) -> None:
        """Write the recording to a directory: Relay text, arrays and JSON. Raises `FileAccessError`, `PassError`."""
        from passlab.lab.recordings.files import save

        save(self, directory)

    @staticmethod
    def load(directory: str | PathLike[str]) -> Recording:
        """Read a saved recording. Raises `FileAccessError`, and `PassError` for files that are not a recording."""
        from passlab.lab.recordings.files import load

        return load(directory)


class RecordedPass(Event):
    """An event that can be run again."""

    def __copy__(self) -> RecordedPass:
        return replace(self)

    def __deepcopy__(self, memo: object) -> RecordedPass:
        return self  # copies of recordings share their events, by which others know them

    def __reduce__(self) -> tuple[Any, ...]:
        raise PassTypeError(Diagnostic("a step is pickled with its recording", hint="pickle `rec`, and take `rec[3]`"))

    def diff(self) -> Diff:
        """Return the difference between the modules before and after (`lab.Diff`), by what the pass noted."""
        return diff(self.before, self.after)

    def rerun(self, pass_: Any = None, **context: Any) -> Recording:
        """Run the pass again on the same input under the same options, and return the new recording.

        `pass_` replaces the pass; `context` changes options of the context, as in `opt_level=2`. Raises `PassError` for
        the input, which no pass made.
        """
        if self.status == "input":
            raise PassError(Diagnostic("step 0 is the input of the recording: no pass to run again"))
        again: Pass = as_pass(pass_ if pass_ is not None else self.pass_ if self.pass_ is not None else self.text)
        disabled = tuple(n for n in self.context.disabled_pass if n != again.info.name)  # it runs in any case
        changes = {key: value for key, value in context.items() if key not in ("instruments", "name")}
        checked = PassContext(**{**vars(replace(self.context, disabled_pass=disabled)), **changes})
        options = ContextOptions(
            checked.opt_level, tuple(checked.required_pass), tuple(checked.disabled_pass), checked.config
        )
        return record_alone(
            self.before, again, options, context.get("instruments", ()), context.get("name", again.as_text())
        )


class Recorder(OfOneProcess, EventRecorder):
    """Records passes that run in a context of your own.

    recorder = Recorder()
    with PassContext(opt_level=3, instruments=[recorder]):
        mod = pipeline(mod)
    recorder.recording

    >>> recorder = instrument.Recorder()
    >>> with transform.PassContext(instruments=[recorder]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> recorder.recording["FoldConstant"].changed
    True
    """

    event_class = RecordedPass
    pickled_instead = "pickle its `recording`"

    @property
    def recording(self) -> Recording:
        """The recording so far."""
        self.close_interrupted()
        return Recording(self.roots, self.input)

    def recording_of(self, program: Any) -> Recording:
        """Return what was recorded while a program was built, after the recordings that made the program."""
        return Recording(self.roots, self.input, earlier=history_of(program)).whole()

    def frame(self) -> pd.DataFrame:
        """Return what was recorded as a pandas data frame, a row for each pass."""
        return self.recording.frame()

    def text(self) -> str:
        """Return what was recorded as text without times."""
        return self.recording.text()


@checked
def record(
    mod: IRModule,
    passes: Pipeline,
    opt_level: int | None = None,
    *,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    config: Mapping[str, Any] | None = None,
    instruments: Iterable[Any] = (),
    scope: Mapping[str, Any] | None = None,
    name: str = "",
    memory: bool = False,
    seconds: float | None = None,
) -> Recording:
    """Run passes over a module and return the recording.

    Options start from the `PassContext` in force, as without a recording. `opt_level` replaces its level (outside of
    any `with` the level is 3); `required_pass`, `disabled_pass`, `config` and `instruments` are added to its own.

    `passes` is a pass, a list of passes, or a text of the pipeline language, in which `scope` may add names. A pass
    that raises ends the recording: `rec.error` is what it raised, `rec.last` the program before it, and `rec.output`
    raises. With `memory` each event has the peak memory of its pass in bytes, which costs time; `name` is for titles. A
    pass that has not ended after `seconds` of work, or three times as long by the clock, failed. Raises `PassError` for
    passes that do not exist, `PassTypeError` for arguments of other types, and `InterruptedPassesError`, with the
    recording so far, for a keyboard interrupt.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> rec = passlab.record(mod, "FoldConstant, FuseOps")
    >>> [step.name for step in rec.steps if step.changed]
    ['FoldConstant', 'FuseOps']
    >>> rec["FoldConstant"].diff().summary
    'removed 2 constants and 1 add; added 1 constant; changed an operand of 1 multiply'
    """
    if not isinstance(instruments, Iterable):
        raise PassTypeError(Diagnostic("instruments must be a list", hint="write `instruments=[...]`"))
    context = PassContext.current()
    if opt_level is None:
        opt_level = context.opt_level if context.entered else DEFAULT_LEVEL
    recorder = Recorder(memory=memory)
    inside = context.derived(
        opt_level,
        required_pass=required_pass,
        disabled_pass=disabled_pass,
        instruments=[*instruments, recorder],
        config=config,
    )
    return _record(module_of(mod), as_pass(passes, scope), inside, recorder, name, seconds)


def record_alone(
    mod: IRModule,
    passes: Any,
    options: ContextOptions,
    instruments: Iterable[Any] = (),
    name: str = "",
    seconds: float | None = None,
) -> Recording:
    """Run passes under recorded options alone: the `PassContext` in force has no influence."""
    recorder = Recorder()
    required, disabled = options.required_pass, options.disabled_pass
    inside = PassContext(options.opt_level, required, disabled, [*instruments, recorder], options.config)
    return _record(mod, as_pass(passes), inside, recorder, name, seconds)


def _record(
    mod: IRModule,
    pipeline: Pass,
    inside: AbstractContextManager[Any],
    recorder: Recorder,
    name: str,
    seconds: float | None,
) -> Recording:
    """Run a pipeline in a context that has a recorder, and return what it recorded."""
    _check_module(mod, "passes run on a module", "passlab.parse and IRModule.from_expr make one")
    earlier, deadline = history_of(mod), Deadline(seconds, busy=True)
    try:
        with inside, deadline:
            pipeline(mod)
    except deadline.error:
        deadline.close()
        if not recorder.recording.failed:
            raise PassError(Diagnostic(f"the pipeline did not end within {seconds:g} s")) from None
    except (Exception, SystemExit):
        if not any(run.error is not None for run in recorder.roots):
            raise  # raised outside of any pass, so the recording would not show it
    except KeyboardInterrupt as error:
        if not recorder.roots:
            raise
        recording = Recording(recorder.roots, recorder.input or mod.snapshot(), name, earlier)
        where = f"in step {recording.failed.id}, {recording.failed.name}" if recording.failed else "between passes"
        finding = Diagnostic(f"the pipeline was interrupted {where}", hint="`error.recording` has what was recorded")
        raise InterruptedPassesError(recording, finding) from error
    return Recording(recorder.roots, recorder.input or mod.snapshot(), name, earlier)


# ---------------------------------------------------------------- from module to recording
def history_of(mod: Any) -> Recording | None:
    """Return the recording whose last program a module is; None without one, or when the module has changed since."""
    recording = getattr(mod, "history", None)
    if isinstance(recording, Recording) and mod.same_contents(recording.steps[-1].after):
        return recording
    return None


def module_of(program: Any) -> Any:
    """Return the program at the end of a recording, and anything else as it is. Raises the error of a failed one."""
    return program.output if isinstance(program, Recording) else program


def checked_module(program: Any) -> IRModule:
    """Return a module, or that at the end of a recording. Raises `PassTypeError` for anything else."""
    mod: IRModule = module_of(program)
    _check_module(mod, "this is neither a module nor a recording of one", "IRModule.from_expr(function) returns one")
    return mod


def _check_module(value: Any, message: str, hint: str) -> None:
    """Raise `PassTypeError` for what is not a module."""
    if not isinstance(value, IRModule):
        raise PassTypeError(Diagnostic(message, expected="IRModule", found=type(value).__name__, hint=hint))


def copy_of(run: Event) -> Event:
    """Return a copy of an event and of all inside it, to be numbered anew."""
    copies: dict[Event, Event] = {event: replace(event) for event in run.walk()}
    for event, copy in copies.items():
        copy.parent = None if event.parent is None else copies.get(event.parent)
        copy.children = [copies[child] for child in event.children]
    return copies[run]


# ---------------------------------------------------------------- numbering
def _number_events(steps: list[Event]) -> None:
    stack = [(step, str(number)) for number, step in enumerate(steps)]
    while stack:
        event, number = stack.pop()
        event.id = number
        stack.extend((child, f"{number}.{index}") for index, child in enumerate(event.children, 1))


def _evaluate_once(predicate: Predicate) -> Callable[[IRModule], bool]:
    """Return a predicate that is evaluated once per module: unchanged steps share one."""
    if not callable(predicate):
        raise PassTypeError(
            Diagnostic("a predicate is a function of a module", hint="as in `lambda mod: len(mod) > 1`")
        )
    cache: dict[int, bool] = {}  # by id: the recording keeps its modules alive

    def ask(mod: IRModule) -> bool:
        if id(mod) not in cache:
            cache[id(mod)] = bool(predicate(mod))
        return cache[id(mod)]

    return ask
