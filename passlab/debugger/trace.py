"""`Trace` and `Fork`: recorded runs with everything that users ask of them.

    trace = Trace.record(mod, [x, w])
    trace[10].registers, trace.frame(), trace.profile(), trace.save("run.trace")

What was recorded is in `trace_data`; tables, storages, comparisons and files are functions of it, in modules that do
not import this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.debugger.code_map import CodeMap
from passlab.debugger.forks import Difference, branch_off, branches_of, differences, parting
from passlab.debugger.instant import Instant, same_values
from passlab.debugger.replay import MachineEngine, own_deep
from passlab.debugger.run_values import node_values_of
from passlab.debugger.storage_map import StorageMap, storage_map
from passlab.debugger.tables import instructions
from passlab.debugger.tables import profile as profile_of
from passlab.debugger.trace_data import TraceData
from passlab.debugger.trace_files import load as load_trace
from passlab.debugger.trace_files import save as save_trace
from passlab.debugger.values import short_text
from passlab.errors import Diagnostic, PasslabError, RunError, RunTypeError
from passlab.evaluate.arguments import check_argument
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.node_values import NodeValues
from passlab.lab.recording import Recorder, Recording, module_of
from passlab.lazy import late
from passlab.table import Table
from passlab.transform import PassContext
from passlab.vm.compiling.compiler import compile as compile_vm
from passlab.vm.executable import Executable
from passlab.vm.objects import VMClosure
from passlab.vm.report import Report
from passlab.vm.tracing.recorder import TracingMachine

if TYPE_CHECKING:
    import os

    import pandas as pd

    from passlab.debugger.debugger import Debugger


class Trace(TraceData):
    """A recorded run. `len(trace)` is the number of instructions; `trace[n]` the instant after n of them.

    `result` is what the program returned. A program that failed leaves its `error`, and the instants up to it. When
    recording stopped early, `stopped` says why. `kind` is "vm", "graph" or "debug".
    """

    @classmethod
    def record(
        cls,
        program: Executable | IRModule | Expr | Recording,
        args: Sequence[Any] = (),
        entry: str = "main",
        *,
        memory: int | None = None,
        most: int | None = None,
        recording: Recording | None = None,
    ) -> Trace:
        """Run a program on the virtual machine and return the trace. A program that is no executable is compiled.

        `memory` is the number of bytes that values in the trace may take (`limits.trace_bytes`), `most` the number of
        instructions (`limits.trace_instants`). Compiling is recorded too, so that instructions know the passes that
        made them; an executable compiled elsewhere may come with its `recording`. Raises `RunError` for arguments that
        do not fit; an error while running is kept as `error`.
        """
        caps = limits.current()
        if isinstance(program, Executable):
            exe = program
        else:
            exe, recording = compile_program(program)
        values = check(exe, entry, args)
        machine = TracingMachine(exe, memory or caps.trace_bytes, most or caps.trace_instants)
        trace = cls(CodeMap(exe, recording), machine.log, values, entry, MachineEngine(machine))
        try:
            trace.result = machine.trace(exe.global_map[entry], values)
        except PasslabError as error:
            trace.error = error
        trace.stopped = machine.stopped
        return trace

    def __getitem__(self, instant: int) -> Instant:
        if not -len(self) - 1 <= instant <= len(self):
            raise IndexError(f"the trace has the instants 0 to {len(self)}")
        return Instant(self, instant + len(self) + 1 if instant < 0 else instant)

    def __iter__(self) -> Iterator[Instant]:
        return (self[i] for i in range(len(self) + 1))

    # ------------------------------------------------------------ tables
    def frame(self) -> pd.DataFrame:
        """Return one row per instruction: function, pc, opcode, text, depth, microseconds, what it wrote."""
        return instructions(self)

    def profile(self) -> Report:
        """Return the table of a profiler: where the time went, by kernel and by kind of instruction."""
        return profile_of(self)

    def node_values(self) -> NodeValues:
        """Return what each node of the program computed in this run: shape, range, NaN and infinities, time, bytes.

        The operators of a kernel have one value, that of the last of them. Raises `RunError` where the program of an
        executable is not known.
        """
        return node_values_of(self)

    @property
    def sites(self) -> CodeMap:
        """`code_map`, by its name up to version 0.1."""
        return self.code_map

    @cached_property
    def storage(self) -> StorageMap:
        """The storages of the run: when each was allocated and given up, and how many bytes were live."""
        return storage_map(self)

    @property
    def forks(self) -> list[Fork]:
        """The forks that were made from this trace, the latest `limits.trace_forks` of them.

        It remembers how each left, not its result: a fork that is no longer referenced is run again here.
        """
        return [Fork.of(branch) for branch in branches_of(self)]

    def fork(self, instant: int, changes: Mapping[int, Any]) -> Fork:
        """Run on from an instant with other values in registers. Raises `RunError` for what does not fit."""
        return Fork.of(branch_off(self, instant, changes))

    # ------------------------------------------------------------ files
    def save(self, path: str | os.PathLike[str], forks: bool = True) -> None:
        """Write the program, the arguments and the log to a file; values are computed again when it is read.

        The `forks` made from it come with it, and theirs; of a branch also the traces that it left. Raises `OSError`,
        and `RunError` where a fork was given a value that has no written form, such as a function of the evaluator.
        """
        save_trace(self, path, forks)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trace:
        """Read a trace. Raises `OSError`, and `VerifyError` for files that hold none or do not fit together."""
        return load_trace(path, Trace)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as one HTML page in which it can be stepped, without a kernel or a network."""
        view = late("passlab.display.stepper", "stepper_view")(self)
        late("passlab.display.page", "write")(view, path)


class Fork:
    """A branch of a trace. `trace` is the branch; its instant 0 is `instant` of the `original`."""

    def __init__(self, original: Trace, instant: int, trace: Trace, changes: Mapping[int, Any]) -> None:
        self.original = original
        self.instant = instant
        self.trace = trace
        self.changes = dict(changes)

    @staticmethod
    def of(trace: TraceData) -> Fork:
        """Return the fork whose branch a trace is. Raises `RunError` for one that left no other trace."""
        assert isinstance(trace, Trace)
        if trace.parent is None:
            raise RunError(
                Diagnostic(f"{trace!r} is not a fork: it began at its start", hint="its forks: `trace.forks`")
            )
        original, instant = trace.parent
        assert isinstance(original, Trace)
        return Fork(original, instant, trace, trace.changes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fork, the traces that it left, and its own forks to a file. Raises as `Trace.save` does."""
        self.trace.save(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fork:
        """Read a fork, with its comparison. Raises `OSError`, `VerifyError`, and `RunError` where a whole run is."""
        return Fork.of(Trace.load(path))

    @property
    def result(self) -> Any:
        """What the branch returned."""
        return self.trace.result

    def debugger(self) -> Debugger:
        """Return a debugger at the start of the branch."""
        debugger: Debugger = late("passlab.debugger.debugger", "Debugger")(self.trace)
        return debugger

    @property
    def parted(self) -> int | None:
        """The instant of the branch at which the two go different ways, None when they do not."""
        return parting(self.trace, self.original, self.instant)

    def differences(self, most: int = 1000) -> list[Difference]:
        """Return what was written with another value, in order, as long as both go the same way."""
        return differences(self.trace, self.original, self.instant, most)

    def compare(self) -> Table:
        """Return the differences as a table: instant of the original, register, both values, the largest error."""
        rows = []
        for d in self.differences():
            error = d.error_text()
            rows.append(
                (
                    d.instant + self.instant,
                    f"${d.register}",
                    short_text(d.before),
                    short_text(d.after),
                    error,
                    d.instruction,
                )
            )
        return Table(("instant", "register", "original", "branch", "largest error", "instruction"), rows)

    def text(self) -> str:
        """Return the comparison in words and as a table."""
        changed = ", ".join(f"${r}" for r in self.changes) or "nothing"
        parted = self.parted
        way = "both go the same way" if parted is None else f"they part at instant {parted + self.instant:,}"
        same = "the same result" if same_values(self.original.result, self.trace.result) else "another result"
        table = self.compare()
        body = str(table) if table.rows else "nothing was written with another value"
        return f"fork at instant {self.instant:,}, changed: {changed}; {way}; {same}\n{body}"

    def __repr__(self) -> str:
        return self.text()


def compile_program(program: IRModule | Expr | Recording) -> tuple[Executable, Recording]:
    """Compile a program under a recorder, in the current context; return both.

    The recording begins where the program's own history does: a module that came out of a recording knows it.
    """
    source: IRModule | Expr = module_of(program)
    recorder = Recorder()
    with PassContext.current().derived(instruments=[recorder]):
        exe = compile_vm(source)
    return exe, recorder.recording_of(source)


def recorded_code(exe: Executable) -> CodeMap:
    """Return the instructions of an executable, with the recording of its compilation where that is known.

    It is compiled once more for it; where other instructions come of that, or none, the recording is not known.
    """
    how = exe.compilation
    if how is None:
        return CodeMap(exe)
    recorder = Recorder()
    try:
        with PassContext(**how.options, instruments=[recorder]):
            again = compile_vm(how.program, how.target, params=how.params)
    except PasslabError:
        return CodeMap(exe)
    if [f.listing() for f in again.functions] != [f.listing() for f in exe.functions]:
        return CodeMap(exe)
    return CodeMap(again, recorder.recording_of(how.program))


def check(exe: Executable, entry: str, args: Sequence[Any]) -> list[Any]:
    """Return arguments fitted to the parameters of a function. Raises `RunError` for what does not fit."""
    if not isinstance(entry, str):
        raise RunTypeError(
            Diagnostic("the function to run is named", hint="arguments are one list: `record(net, [x, w])`")
        )
    names = exe.function(entry).params
    if len(args) != len(names):
        params = ", ".join(names) or "none"
        raise RunError(
            Diagnostic(f"@{entry} takes {len(names)} arguments and was given {len(args)}", hint=f"it takes {params}")
        )
    function = exe.entry_types.get(entry)
    if function is None:
        return [own_deep(value) for value in args]
    return [check_argument(p, own_deep(v), (VMClosure,)) for p, v in zip(function.params, args, strict=True)]
