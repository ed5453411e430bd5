"""The program of a trace by node in a file: Relay text, and the options of its compilation.

Reading a trace by node runs the program at once, since its log refers to nodes. The log in the file is then compared
with that of the new run, which takes over its times and its lines of source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passlab import limits
from passlab.debugger.code_map import CodeMap
from passlab.debugger.log_files import check_same
from passlab.debugger.node_runs import record_nodes
from passlab.debugger.node_trace import T
from passlab.debugger.trace_data import TraceData
from passlab.errors import RunError
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from passlab.transform import PassContext
from passlab.vm.tracing.log import Log


def program_of(trace: TraceData) -> str:
    """Return the program of a trace as text that parses to the same program. Raises `RunError` where it is unknown."""
    if trace.source is None:
        raise RunError("the program of this trace is unknown")
    return trace.source.astext()


def options_of(trace: TraceData) -> dict[str, Any]:
    """Return the options of the pass context of the compilation."""
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
    """Run a program with the options in the head of a file, for at most `most` steps."""
    options, entry, kind = head["options"], str(head["entry"]), str(head["kind"])
    with limits.override(trace_instants=most):
        if not options:
            return record_nodes(cls, mod, args, entry, kind)
        required, disabled = map(str, options["required_pass"]), map(str, options["disabled_pass"])
        with PassContext(int(options["opt_level"]), list(required), list(disabled)):
            return record_nodes(cls, mod, args, entry, kind)


def compare(trace: TraceData, old: Log) -> None:
    """Check that a second run has the same log, and take over the times of the first. Raises `VerifyError`."""
    log = trace.log
    # In both directions, since each check accepts a second log that is longer.
    check_same(old, log, trace.finished)
    check_same(log, old, trace.finished)
    log.started, log.clock = old.started, old.clock


def lines_of(records: Sequence[Any], code_map: CodeMap) -> list[tuple[tuple[str, int], ...]]:
    """Return the source lines of each program point from a file. Raises `ValueError` where their number is wrong."""
    lines = [tuple([(str(name), int(line)) for name, line in pairs]) for pairs in records]
    if len(lines) != len(code_map):
        raise ValueError("the lines of its source do not fit its program")
    return lines
