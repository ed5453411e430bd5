"""`Trace` and `Fork`: recorded runs, with the methods that users call.

    trace = Trace.record(mod, [x, w])
    trace[10].registers, trace.frame(), trace.profile(), trace.save("run.trace")

`trace_data` holds the data; tables, storages, comparisons and files are functions of it, in modules that do not import
this one.

The file begins with the tables of a trace: one row per instruction, and the report of a profiler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab import limits
from passlab.arguments import checked
from passlab.debugger.code_map import CALL, KERNEL, PLAIN, RETURN, CodeMap
from passlab.debugger.forks import Difference, branch_off, branches_of, differences, parting
from passlab.debugger.instant import Instant, same_values
from passlab.debugger.replay import MachineEngine, copy_arrays
from passlab.debugger.storage_map import StorageMap, storage_map
from passlab.debugger.trace_data import TraceData
from passlab.debugger.trace_files import load as load_trace
from passlab.debugger.trace_files import save as save_trace
from passlab.debugger.values import kind_text, short_text
from passlab.errors import Diagnostic, PasslabError, RunError, RunTypeError, counted
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.values import Value
from passlab.ir.expr import Expr, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, Type, is_dynamic
from passlab.ir.walk import post_order
from passlab.lab.node_values import NodeValues
from passlab.lab.recordings.recording import Recorder, Recording, module_of
from passlab.lazy import late, notebook_forms
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
    from passlab.debugger.trace_data import TraceData

DEVICE = "cpu0"


def instructions(trace: TraceData) -> pd.DataFrame:
    """Return one row per instruction executed; its index is the instant before it."""
    import pandas as pd

    code, point = trace.code_map, trace.point
    names = np.array([f.name for f in code.functions], object)
    every = range(len(code))
    columns = {
        "function": names[code.function][point],
        "pc": code.pc[point],
        "opcode": np.array([code.mnemonic(s) for s in every], object)[point],
        "instruction": np.array([code.text(s) for s in every], object)[point],
        "operators": np.array([" + ".join(code.operators(s)) for s in every], object)[point],
        "line": np.array([", ".join(f"{n}:{line}" for n, line in lines) for lines in code.lines], object)[point],
        "depth": trace.depth,
        "frame": trace.frame_of,
        "seconds": trace.seconds,
        "wrote": [_wrote(trace, event) for event in range(len(trace))],
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(trace), name="instant"))


def _wrote(trace: TraceData, event: int) -> str:
    writes = ((register, value) for _, register, value in trace.written(event) if value is not None)
    return ", ".join(f"${register} = {short_text(value)}" for register, value in writes)


def _argument_shapes(trace: TraceData, event: int) -> str:
    """Return dtype and shape of the arguments and results of a kernel call."""
    code, point = trace.code_map, int(trace.point[event])
    held = trace.registers(int(trace.frame_of[event]), event)
    return ", ".join(kind_text(held[register]) for register in (*code.reads(point), *code.results(point)))


def _has_dynamic_shapes(code: CodeMap, point: int) -> bool:
    """Whether calls of a kernel may differ in the shapes of their arguments and results."""
    kernel = code.kernel(point)
    ty = None if kernel is None else kernel.checked_type_
    return ty is None or is_dynamic(ty)


def profile(trace: TraceData) -> Report:
    """Return the report of a profiler: kernels by name and shapes, other instructions by mnemonic."""
    code, rows = trace.code_map, []
    static: dict[int, str] = {}  # by program point: the shapes of a kernel that always has the same ones
    for event, (point, seconds) in enumerate(zip(trace.point.tolist(), trace.seconds.tolist(), strict=True)):
        kernel = code.role[point] == KERNEL
        name = code.name(point) if kernel else f"VM::{code.mnemonic(point)}"
        shapes = static.get(point, "")
        if kernel and not shapes:
            shapes = _argument_shapes(trace, event)
            if not _has_dynamic_shapes(code, point):
                static[point] = shapes
        rows.append({"Name": name, "Duration (us)": seconds * 1e6, "Device": DEVICE, "Argument Shapes": shapes})
    total = float(trace.seconds.sum()) * 1e6
    return Report(
        tuple(rows),
        {DEVICE: {"Duration (us)": total, "Percent": 100.0, "Count": 1}},
        {"Executor": trace.kind, "NumPy": np.__version__},
    )


# The values that a recorded run computed for the nodes of its source program.

_NO_PROJECTION = ("kill_register", "move")  # instructions of a projection that do not compute it


def node_values_of(trace: TraceData) -> NodeValues:
    """Return the values of the nodes of a recorded run's program.

    Raises `RunError` for the run of an executable whose program is unknown.
    """
    mod = trace.source
    if mod is None:
        hint = "debug the program or a recording of its compilation: vm.Debugger(net, *args)"
        raise RunError(Diagnostic("the program of this executable is unknown", hint=hint))
    run = NodeValues(mod, trace.entry)
    for param, value in zip(mod[trace.entry].params, trace.args, strict=False):
        run.note(param, value)
    sources = _SourceNodes(trace, {node for function in mod.functions.values() for node in post_order(function)})
    for event in range(len(trace)):
        for node, start in sources.computed_by(event):
            values = [value for _, _, value in trace.written(event)]
            value = values[0] if len(values) == 1 else tuple(values)
            if values and _has_shape(value, node.checked_type_):
                run.note(node, value, float(trace.seconds[start : event + 1].sum()))
    run.error = trace.error
    if trace.finished:
        run.result = trace.result
    return run


class _SourceNodes:
    """The nodes of the source program whose values instructions write."""

    def __init__(self, trace: TraceData, program: set[Expr]) -> None:
        self.trace, self.program = trace, program
        recording = trace.code_map.recording
        events = [] if recording is None else recording.events
        self._replaced = {new: old for event in events for old, new in event.rewrites if new is not old}
        self._origins = {} if recording is None else recording.provenance.origins
        code = trace.code_map
        claims = {point: (self._source_node(point), code.function[point]) for point in np.unique(trace.point).tolist()}
        counts = Counter(claims.values())
        self._nodes = {point: claim[0] for point, claim in claims.items() if counts[claim] == 1}

    def computed_by(self, event: int) -> list[tuple[Expr, int]]:
        """Return the nodes whose value an event writes, each with the event that began to compute it."""
        trace = self.trace
        starts = [event]
        if trace.role[event] == RETURN:
            starts = self._calls(int(trace.frame_of[event]))
        nodes = [(self._nodes.get(int(trace.point[start])), start) for start in starts]
        return [(node, start) for node, start in nodes if node is not None]

    def _calls(self, frame: int) -> list[int]:
        """Return the calls whose value a frame returns: several after tail calls, none for the entry of the program."""
        log, calls = self.trace.log, []
        while (created := int(log.created[frame])) >= 0:
            calls.append(created)
            caller = int(self.trace.frame_of[created])
            if caller == int(log.parent[frame]):
                break
            frame = caller
        return calls

    def _source_node(self, point: int) -> Expr | None:
        """Return the source node that the last node of an instruction replaced or rebuilt."""
        code = self.trace.code_map
        nodes = code.nodes(point)
        if not nodes or code.role[point] not in (PLAIN, KERNEL, CALL):
            return None
        if code.role[point] == PLAIN and (
            type(nodes[-1]) is not TupleGetItem or code.mnemonic(point) in _NO_PROJECTION
        ):
            return None
        node: Expr | None = nodes[-1]
        while node is not None and node not in self.program:
            # The node that a pass replaced by this one; None where this is only a part of the replacement.
            origin = self._origins.get(node)
            exact = origin is not None and (origin.rebuilt or self._replaced.get(node) is origin.old)
            node = origin.old if origin is not None and exact and origin.old is not node else None
        return node


def _has_shape(value: Any, ty: Type | None) -> bool:
    """Whether a value has the known dimensions of a node's type; passes of layouts change them."""
    if not isinstance(ty, TensorType) or not isinstance(value, np.ndarray):
        return True
    sizes = zip(value.shape, ty.shape, strict=False)
    return value.ndim == len(ty.shape) and all(dim == size for size, dim in sizes if isinstance(dim, int))


@checked
class Trace(TraceData):
    """A recorded run. `len(trace)` is the number of instructions; `trace[n]` the instant after n of them.

    `result` is what the program returned. The trace of a program that failed has its `error` and the instants before
    it. When recording stopped early, `stopped` says why. `kind` is "vm", "graph" or "debug".

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }")
    >>> trace = passlab.Debugger(mod, np.float32([0, 1])).trace
    >>> print(trace.result, trace.error)
    [1. 2.] None
    """

    _repr_mimebundle_ = notebook_forms

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
        """Run a program on the virtual machine, compiled if it is not an executable, and return the trace.

        `memory` is the number of bytes that values in the trace may take (`limits.trace_bytes`), `most` the number of
        instructions (`limits.trace_instants`). The compilation is recorded too, so that instructions know the passes
        that made them; `recording` belongs to an executable compiled before. Raises `RunError` for wrong arguments;
        an error while running becomes `error`.
        """
        current = limits.current()
        if isinstance(program, Executable):
            exe = program
        else:
            exe, recording = compile_program(program, entry)
        values = fit_arguments(exe, entry, args)
        machine = TracingMachine(exe, memory or current.trace_bytes, most or current.trace_instants)
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
        """Return one row per instruction: function, pc, opcode, instruction, depth, seconds, the registers it wrote."""
        return instructions(self)

    def profile(self) -> Report:
        """Return the report of a profiler: the time of each kernel and each kind of instruction."""
        return profile(self)

    def node_values(self) -> NodeValues:
        """Return what each node of the program computed in this run: shape, range, NaN and infinities, time, bytes.

        Of the operators in a kernel only the last has a value. Raises `RunError` for an executable whose program is
        unknown.
        """
        return node_values_of(self)

    @cached_property
    def storage(self) -> StorageMap:
        """The storages of the run: when each was allocated and released, and the live bytes."""
        return storage_map(self)

    @property
    def forks(self) -> list[Fork]:
        """The forks of this trace, the latest `limits.trace_forks` of them.

        A trace keeps the changes of its forks, not their results: a fork that nothing references is run again here.
        """
        return [Fork.of(branch) for branch in branches_of(self)]

    def fork(self, instant: int, changes: Mapping[int, Any]) -> Fork:
        """Run on from an instant with other values in registers. Raises `RunError` for changes that do not fit."""
        return Fork.of(branch_off(self, instant, changes))

    # ------------------------------------------------------------ files
    def save(self, path: str | os.PathLike[str], forks: bool = True) -> None:
        """Write the program, the arguments and the log to a file; values are computed again when it is read.

        With `forks` its forks are written too, and theirs; with a branch, the traces that it branched off. Raises
        `OSError`, and `RunError` where a value in a fork has no file format, such as a closure of the evaluator.
        """
        save_trace(self, path, forks)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trace:
        """Read a trace. Raises `FileAccessError`, and `VerifyError` for files that are not traces or are damaged."""
        return load_trace(path, Trace)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as one HTML page that steps through it without a kernel or a network."""
        late("passlab.display.pages.report", "write_trace")(self, path)


@checked
class Fork:
    """A branch of a trace. `trace` is the branch; its instant 0 is `instant` of the `original`.

    >>> dbg = passlab.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(2))
    >>> register = dbg.goto(dbg.query("add")[0]).reads[0]
    >>> fork = dbg.fork({register: np.float32(5)})
    >>> print(fork.result, dbg.trace.result)
    6.0 3.0
    """

    def __init__(self, original: Trace, instant: int, trace: Trace, changes: Mapping[int, Any]) -> None:
        self.original = original
        self.instant = instant
        self.trace = trace
        self.changes = dict(changes)

    @staticmethod
    def of(trace: TraceData) -> Fork:
        """Return the fork whose branch a trace is. Raises `RunError` for a trace that is not a branch."""
        assert isinstance(trace, Trace)
        if trace.parent is None:
            raise RunError(
                Diagnostic(
                    f"{trace!r} is not a fork: it starts at the start of the program", hint="its forks: `trace.forks`"
                )
            )
        original, instant = trace.parent
        assert isinstance(original, Trace)
        return Fork(original, instant, trace, trace.changes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fork, the traces that it branched off, and its own forks to a file. Raises as `Trace.save` does."""
        self.trace.save(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fork:
        """Read a fork. Raises `FileAccessError`, `VerifyError`, and `RunError` for the file of a whole run."""
        return Fork.of(Trace.load(path))

    @property
    def result(self) -> Value:
        """What the branch returned."""
        return self.trace.result

    def debugger(self) -> Debugger:
        """Return a debugger at the start of the branch."""
        debugger: Debugger = late("passlab.debugger.debugger", "Debugger")(self.trace)
        return debugger

    @property
    def parted(self) -> int | None:
        """The instant of the branch at which its control flow differs from the original's, None where it does not."""
        return parting(self.trace, self.original, self.instant)

    def differences(self, most: int = 1000) -> list[Difference]:
        """Return the writes with different values, in order, up to the instant `parted`."""
        return differences(self.trace, self.original, self.instant, most)

    def compare(self) -> Table:
        """Return the differences as a table: instant of the original, register, both values, the largest error."""
        head = ("instant", "register", "original", "branch", "largest_error", "instruction")
        rows = [
            (
                d.instant + self.instant,
                f"${d.register}",
                short_text(d.before),
                short_text(d.after),
                d.error_text(),
                d.instruction,
            )
            for d in self.differences()
        ]
        return Table(head, rows)

    def text(self) -> str:
        """Return the comparison as a sentence and a table."""
        changed = ", ".join(f"${r}" for r in self.changes) or "nothing"
        parted = self.parted
        way = "both follow the same path" if parted is None else f"they diverge at instant {parted + self.instant:,}"
        same = "the same result" if same_values(self.original.result, self.trace.result) else "another result"
        table = self.compare()
        body = str(table) if table.rows else "nothing was written with another value"
        return f"fork at instant {self.instant:,}, changed: {changed}; {way}; {same}\n{body}"

    def __repr__(self) -> str:
        return self.text()


def compile_program(program: IRModule | Expr | Recording, entry: Any) -> tuple[Executable, Recording]:
    """Compile the function `entry` in the current context; return the executable and the recording of its compilation.

    The recording of a module that came out of another recording begins where that one does.
    """
    source: IRModule | Expr = module_of(program)
    recorder = Recorder()
    with PassContext.current().derived(instruments=[recorder]):
        # `fit_arguments` says what is wrong with a name that is none.
        known = isinstance(source, IRModule) and isinstance(entry, str) and entry in source
        exe = compile_vm(source, entry=entry if known else "main")
    return exe, recorder.recording_of(source)


def recorded_code(exe: Executable) -> CodeMap:
    """Return the code map of an executable, with a recording of its compilation where one can be made.

    The program is compiled once more under a recorder. Without a program, or where the instructions differ, the code
    map has no recording.
    """
    compilation = exe.compilation
    if compilation is None:
        return CodeMap(exe)
    recorder = Recorder()
    try:
        with PassContext(**compilation.options, instruments=[recorder]):
            again = compile_vm(
                compilation.program, compilation.target, params=compilation.params, entry=compilation.entry
            )
    except PasslabError:
        return CodeMap(exe)
    # With other instructions the recording would explain code that this executable does not have.
    if [f.listing() for f in again.functions] != [f.listing() for f in exe.functions]:
        return CodeMap(exe)
    return CodeMap(again, recorder.recording_of(compilation.program))


def fit_arguments(exe: Executable, entry: str, args: Sequence[Any]) -> list[Value]:
    """Return copies of arguments as the parameters of a function take them. Raises `RunError` for wrong ones."""
    if not isinstance(entry, str):
        raise RunTypeError(
            Diagnostic(
                "the entry is the name of a function",
                found=repr(entry)[:80],
                hint="pass the arguments as one list: `record(net, [x, w])`",
            )
        )
    names = exe.function(entry).params
    if len(args) != len(names):
        params = ", ".join(names) or "none"
        raise RunError(
            Diagnostic(
                f"@{entry} takes {counted(len(names), 'argument')}, not {len(args)}", hint=f"its parameters: {params}"
            )
        )
    function = exe.entry_types.get(entry)
    if function is None:
        return [copy_arrays(value) for value in args]
    return [check_argument(p, copy_arrays(v), (VMClosure,)) for p, v in zip(function.params, args, strict=True)]
