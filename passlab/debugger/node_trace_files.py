"""The program part of files of traces by node: Relay text, and the options it was built under.

Reading one runs the program again, at once, since the log of such a run speaks of nodes; what was written down is then
compared with what happens, and gives its times and its lines of source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.debugger.log_files import check_same
from passlab.debugger.node_runs import record_nodes
from passlab.debugger.node_trace import T
from passlab.debugger.trace_data import TraceData
from passlab.errors import RunError
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from passlab.transform import PassContext

if TYPE_CHECKING:
    from passlab.debugger.code_map import CodeMap
    from passlab.vm.tracing.log import Log


def program_of(trace: TraceData) -> str:
    """Return the program of a trace as text that reads back to the same. Raises `RunError` where it is not known."""
    if trace.source is None:
        raise RunError("this trace does not know its program")
    return trace.source.astext()


def options_of(trace: TraceData) -> dict[str, Any]:
    """Return the options of the context the program was built under."""
    recording = trace.code_map.recording
    events = [] if recording is None else recording.runs
    if not events:
        return {}
    context = events[0].context
    return {
        "opt_level": context.opt_level,
        "required_pass": list(context.required_pass),
        "disabled_pass": list(context.disabled_pass),
    }


def read_program(text: str) -> IRModule:
    """Return the program of a file. Raises `ParseError`."""
    return parse(text, source_name="trace")


def run_again(cls: type[T], head: Mapping[str, Any], mod: IRModule, args: list[Any], most: int) -> T:
    """Run a program as the head of a file says it ran, for at most so many steps."""
    options, entry, kind = head["options"], str(head["entry"]), str(head["kind"])
    with limits.override(trace_instants=most):
        if not options:
            return record_nodes(cls, mod, args, entry, kind)
        required, disabled = map(str, options["required_pass"]), map(str, options["disabled_pass"])
        with PassContext(int(options["opt_level"]), list(required), list(disabled)):
            return record_nodes(cls, mod, args, entry, kind)


def compare(trace: TraceData, old: Log) -> None:
    """Check that a run that was done again went as a log says, and take over its times. Raises `VerifyError`."""
    log: Log = trace.log
    check_same(old, log, trace.finished)
    check_same(log, old, trace.finished)
    log.started, log.clock = old.started, old.clock


def lines_of(records: Sequence[Any], code_map: CodeMap) -> list[tuple[tuple[str, int], ...]]:
    """Return the lines of source of each site, as a file tells them."""
    lines = [tuple([(str(name), int(line)) for name, line in places]) for places in records]
    if len(lines) != len(code_map):
        raise ValueError("the lines of its source do not fit its program")
    return lines
