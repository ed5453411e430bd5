"""The program part of files of traces by node: Relay text, and the options it was built under.

Reading one runs the program again, at once, since the log of such a run speaks of nodes; what was written down is then
compared with what happens, and gives its times and its lines of source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.errors import RunError, VerifyError
from passlab.ir.module import IRModule
from passlab.lab.time_travel.node_trace import NodeTrace, record_nodes
from passlab.text.parser import parse
from passlab.transform import PassContext

if TYPE_CHECKING:
    from passlab.lab.time_travel.sites import Sites
    from passlab.vm.tracing.log import Log


def program_of(trace: NodeTrace) -> str:
    """Return the program of a trace as text that reads back to the same. Raises `RunError` where it is not known."""
    if trace.source is None:
        raise RunError("this trace does not know its program")
    return trace.source.astext()


def options_of(trace: NodeTrace) -> dict[str, Any]:
    """Return the options of the context the program was built under."""
    recording = trace.sites.recording
    events = [] if recording is None else recording.runs
    if not events:
        return {}
    context = events[0].context
    return {
        "opt_level": context.opt_level, "required_pass": list(context.required_pass),
        "disabled_pass": list(context.disabled_pass),
    }  # fmt: skip


def read_program(text: str) -> IRModule:
    """Return the program of a file. Raises `ParseError`."""
    return parse(text, source_name="trace")


def run_again(told: Mapping[str, Any], mod: IRModule, args: list[Any]) -> NodeTrace:
    """Run a program as the head of a file says it ran."""
    options = told["options"]
    if not options:
        return record_nodes(mod, args, str(told["entry"]), str(told["kind"]))
    required, disabled = map(str, options["required_pass"]), map(str, options["disabled_pass"])
    with PassContext(int(options["opt_level"]), list(required), list(disabled)):
        return record_nodes(mod, args, str(told["entry"]), str(told["kind"]))


def compared(trace: NodeTrace, columns: Mapping[str, np.ndarray[Any, Any]], started: float) -> None:
    """Check that a run that was done again went as the columns of its log say, and take over its times.

    Raises `VerifyError` when it went another way.
    """
    log: Log = trace.log
    alike = all(
        np.array_equal(np.array(getattr(log, name)), columns[name])
        for name in ("sites", "switched_at", "switched_to", "parent", "function", "created", "result_register")
    )
    if not alike or columns["clock"].shape != (len(log),) or columns["clock"].dtype != np.float64:
        raise VerifyError("the run took another way than the trace says: it was recorded with another program")
    log.started = started
    del log.clock[:]
    log.clock.frombytes(np.ascontiguousarray(columns["clock"]).tobytes())


def lines_of(told: Mapping[str, Any], sites: Sites) -> list[tuple[tuple[str, int], ...]]:
    """Return the lines of source of each site, as a file tells them."""
    lines = [tuple([(str(name), int(line)) for name, line in found]) for found in told["lines"]]
    if len(lines) != len(sites):
        raise ValueError("the lines of its source do not fit its program")
    return lines


__all__ = ["compared", "lines_of", "options_of", "program_of", "read_program", "run_again"]
