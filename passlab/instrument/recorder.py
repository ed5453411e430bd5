"""`EventRecorder`: the instrument that records a pipeline as a tree of events.

It takes snapshots (which cost nothing, since programs are immutable), measures time and memory, and observes rewrites
and logs. `lab.recordings.recording.Recorder`, which users know as `instrument.Recorder`, adds the queries.

The file begins with arrays that a pass computed and replaced: a recording keeps what they are computed from instead of
them.
"""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from passlab.errors import RunError
from passlab.instrument.base import PassInstrument
from passlab.instrument.events import ContextOptions, Event
from passlab.instrument.per_run import PerRun
from passlab.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.released_arrays import release_data
from passlab.ir.walk import CHILDREN, post_order
from passlab.op.dtypes import Array
from passlab.rewriting.constant_folding import FOLDED, fold
from passlab.table import Table, Tabular
from passlab.transform.base import FunctionPass, ModulePass, PassRun, current_run
from passlab.transform.context import PassContext
from passlab.transform.pass_info import PassInfo
from passlab.transform.sequential import Sequential

LEAST_BYTES = 1 << 16  # of an array that is worth the time of computing it again


def release_replaced_arrays(event: Event) -> None:
    """Let the constants that a pass folded drop their arrays, if neither the program before it nor after it has them.

    Each can be computed again from the program before the pass, whose arrays are kept.
    """
    folded = [
        (old, new)
        for old, new, rule in event.rewrites.with_rules()
        if rule == FOLDED and type(new) is Constant and new.data.nbytes >= LEAST_BYTES
    ]
    if not folded:
        return
    functions = [*event.before.functions.values(), *event.after.functions.values()]
    kept = {id(node.data) for node in post_order(*functions) if type(node) is Constant}
    computed = _computed_from(kept, (old for old, _ in folded))
    for old, new in folded:
        if id(new.data) not in kept and old in computed:
            release_data(new, partial(_folded_again, old))


def _computed_from(kept: set[int], roots: Iterable[Expr]) -> set[Expr]:
    """Return the nodes of expressions that are computed by operators alone from constants whose arrays are kept."""
    computed: set[Expr] = set()
    seen: set[Expr] = set()
    for root in roots:
        for node in post_order(root, seen=seen):
            if type(node) is Constant:
                holds = id(node.data) in kept
            elif type(node) is Call or type(node) is Tuple or type(node) is TupleGetItem:
                holds = computed.issuperset(CHILDREN[type(node)](node))
            else:
                holds = type(node) is Op
            if holds:
                computed.add(node)
    return computed


def _folded_again(expr: Expr) -> Array:
    result = fold(expr, fold_qnn=True)
    if type(result) is not Constant:
        raise RunError("an array of a recording cannot be computed again: its operators have changed")
    return result.data


# `MemoryInstrument`: the memory that each pass takes, and `MemoryMeter`, which recorders use as well.


class MemoryMeter:
    """Peak and kept bytes of nested intervals of work: `begin`, work, `end`.

    An interval without an end is dropped with the one around it. Tracing is started when it is off, and stopped again
    by `close`.
    """

    def __init__(self) -> None:
        self._open: list[list[int]] = []  # [bytes at the start, highest so far]
        self._started = False

    def begin(self) -> list[int]:
        """Start an interval inside the current one, and return it."""
        if not tracemalloc.is_tracing():
            self._started = True  # first: an interrupt between the two lines must not leave it running for good
            tracemalloc.start()
        now, peak = tracemalloc.get_traced_memory()
        for around in self._open[-1:]:  # the peak so far belongs to the interval around this one
            around[1] = max(around[1], peak)
        tracemalloc.reset_peak()
        self._open.append(interval := [now, now])
        return interval

    def end(self, interval: list[int]) -> tuple[int, int]:
        """End an interval; return (peak, kept): its highest and its last bytes above those at its start."""
        start, highest = interval
        while any(other is interval for other in self._open):  # also drops inner intervals that an error left open
            highest = max(highest, self._open.pop()[1])
        now, peak = tracemalloc.get_traced_memory()
        highest = max(highest, peak)
        for around in self._open[-1:]:
            around[1] = max(around[1], highest)
        tracemalloc.reset_peak()
        return max(0, highest - start), now - start

    def close(self) -> None:
        """Stop the tracing that this meter started."""
        self._open = []
        if self._started:
            tracemalloc.stop()
            self._started = False


class MemoryInstrument(PassInstrument, Tabular):
    """Measure the memory of every pass: `frame()` gives the peak above its start and what it kept, in bytes.

    >>> memory = instrument.MemoryInstrument()
    >>> with transform.PassContext(instruments=[memory]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> list(memory.frame()["pass"])
    ['FoldConstant', 'InferType']
    """

    def __init__(self) -> None:
        super().__init__()
        self._meter = MemoryMeter()
        self._rows: list[list[Any]] = []
        self._running: PerRun[tuple[list[Any], list[int]]] = PerRun()

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        if not self._running.inside:
            self._rows = []

    def exit_pass_ctx(self) -> None:
        if not self._running.inside:
            self._meter.close()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        row = [len(self._running.enclosing()), info.name, None, None, False]
        self._rows.append(row)
        self._running.begin((row, self._meter.begin()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._end(failed=False)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._end(failed=True)

    def _end(self, failed: bool) -> None:
        state = self._running.end()
        if state is not None:
            row, interval = state
            row[2:] = [*self._meter.end(interval), failed]

    def table(self) -> Table:
        """Return the passes in order of starting, with their bytes."""
        return Table(("depth", "pass", "peak_bytes", "kept_bytes", "failed"), self._rows)

    def text(self) -> str:
        """Return the passes without figures: the same for every run."""
        return "\n".join(f"{'  ' * row[0]}{row[1]}{' (failed)' if row[4] else ''}" for row in self._rows)


_KINDS: tuple[tuple[type, str], ...] = ((Sequential, "sequential"), (ModulePass, "module"), (FunctionPass, "function"))


class EventRecorder(PassInstrument):
    """Records passes: `roots` are the events of the outermost passes, each with those inside it.

    With `memory` the peak memory of each pass is measured, which is slow. With `rewrites=False` rewrites are not
    recorded, and provenance is unknown. A recorder of several contexts records them one after the other.
    """

    event_class = Event

    def __init__(self, memory: bool = False, rewrites: bool = True) -> None:
        super().__init__()
        self.roots: list[Event] = []
        self.input: IRModule | None = None
        self._meter = MemoryMeter() if memory else None
        self._rewrites = rewrites
        self._open: dict[PassRun, Event] = {}
        self._intervals: dict[PassRun, list[int]] = {}  # of memory, by the run that takes it
        self._required: dict[PassRun, list[Event]] = {}  # by pipeline: their pass has not begun yet
        self._snapshots: dict[int, tuple[IRModule, IRModule]] = {}  # by identity of a module: it and its snapshot
        self._contexts: dict[int, tuple[PassContext, ContextOptions]] = {}
        self._handler = _LogHandler(self)

    # ------------------------------------------------------------ hooks
    def enter_pass_ctx(self) -> None:
        self.close_interrupted()
        logging.getLogger("passlab").addHandler(self._handler)

    def exit_pass_ctx(self) -> None:
        logging.getLogger("passlab").removeHandler(self._handler)
        self.close_interrupted()
        if self._meter is not None and not self._open:
            self._meter.close()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        run = current_run()
        if run is None:
            return
        event = self._new_event(run, mod)
        self._open[run] = event
        self._insert(run, event)
        if self._meter is not None:
            self._intervals[run] = self._meter.begin()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._end_event(mod, None)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._end_event(None, error)

    def pass_skipped(self, run: PassRun, reason: str) -> None:
        event = self._new_event(run, run.module)
        event.status, event.reason = "skipped", reason
        self._insert(run, event)

    def rewrite_observer(self, run: PassRun) -> Callable[[Expr, Expr, str], None] | None:
        event = self._open.get(run)
        return event.rewrites.note if event is not None and self._rewrites else None

    # ------------------------------------------------------------ writing
    def _new_event(self, run: PassRun, mod: IRModule) -> Event:
        pass_ = run.pass_
        before = self.snapshot(mod)
        if self.input is None:
            self.input = before
        cls = type(pass_)
        return self.event_class(
            pass_.info.name,
            before,
            before,
            opt_level=pass_.info.opt_level,
            pass_=pass_,
            kind=next((kind for base, kind in _KINDS if issubclass(cls, base)), "pass"),
            context=self._options(run.context),
        )

    def _insert(self, run: PassRun, event: Event) -> None:
        """Insert the event of a run into the tree: below its pipeline, or below the pass that requires it."""
        parent = self._open.get(run.parent) if run.parent is not None else None
        if parent is None or run.parent is None:
            self.roots.append(event)
            return
        event.parent, event.role = parent, "nested"
        if run.parent.requiring is not None:
            event.role = "required"
            # The pass that requires this one begins after it, so it has no event yet.
            self._required.setdefault(run.parent, []).append(event)
            return
        if isinstance(run.parent.pass_, Sequential):
            event.role = "step"
        for required in self._required.pop(run.parent, ()):  # run before this event began, and belong to it
            required.parent = event
            event.children.append(required)
        parent.children.append(event)

    def _end_event(self, mod: IRModule | None, error: BaseException | None) -> None:
        run = current_run()
        event = self._open.get(run) if run is not None else None
        if run is None or event is None:
            return
        event.seconds = run.seconds
        if self._meter is not None:
            interval = self._intervals.pop(run, None)
            event.peak_bytes = self._meter.end(interval)[0] if interval is not None else None
        event.children += self._required.pop(run, ())  # their pass never began
        event.after = self.snapshot(mod) if mod is not None else self._partial_result(event, run)
        event.status, event.error = ("ran", None) if error is None else ("failed", error)
        if self._rewrites and event.replaced and not len(event.rewrites) and not isinstance(run.pass_, Sequential):
            _note_functions(event)
        release_replaced_arrays(event)
        if run.diagnostics is not None:
            event.diagnostics = tuple(run.diagnostics.diagnostics)
        self._open.pop(run)  # last: an event that is open after its pass has ended was interrupted

    def close_interrupted(self) -> None:
        """Mark passes as failed that an interrupt ended, so that no hook was called after them."""
        for run, event in list(self._open.items()):
            if run.has_ended:
                self._open.pop(run)
                event.children += self._required.pop(run, ())
                event.seconds, event.after = run.seconds, self._partial_result(event, run)
                event.status, event.error = "failed", event.error or KeyboardInterrupt("interrupted")
                self._intervals.pop(run, None)

    def _partial_result(self, event: Event, run: PassRun) -> IRModule:
        """Return the partial result of a failed pass: the same module as before where it changed nothing."""
        return event.before if event.before.same_contents(run.partial) else self.snapshot(run.partial)

    def snapshot(self, mod: IRModule) -> IRModule:
        """Return a snapshot of a module; the same snapshot again while its contents are the same objects."""
        cached = self._snapshots.get(id(mod))
        # Compared by contents, since a module, unlike its nodes, may be changed.
        if cached is not None and cached[0] is mod and cached[1].same_contents(mod):
            return cached[1]
        result = mod.snapshot()
        self._snapshots[id(mod)] = (mod, result)
        return result

    def _options(self, context: PassContext) -> ContextOptions:
        cached = self._contexts.get(id(context))
        required, disabled = tuple(context.required_pass), tuple(context.disabled_pass)
        if cached is not None:
            _, options = cached
            same_passes = options.required_pass == required and options.disabled_pass == disabled
            if same_passes and options.opt_level == context.opt_level and options.config == context.config:
                return options
        options = ContextOptions(context.opt_level, required, disabled, dict(context.config))
        self._contexts[id(context)] = (context, options)
        return options

    def _log(self, message: str) -> None:
        run = current_run()
        while run is not None:
            if run in self._open:
                self._open[run].log.append(message)
                return
            run = run.parent


def _note_functions(event: Event) -> None:
    """Record the functions that a pass replaced without reporting rewrites."""
    if any(child.replaced for child in event.children):  # the changes are those of the passes inside
        return
    old = dict(event.before.items())
    for name, function in event.after.items():
        if name in old and old[name] is not function:
            event.rewrites.note(old[name], function)


class _LogHandler(logging.Handler):
    """Adds log messages of the passes of this thread or task to the event of the innermost one."""

    def __init__(self, recorder: EventRecorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        self._recorder._log(f"{record.levelname}: {record.getMessage()}")
