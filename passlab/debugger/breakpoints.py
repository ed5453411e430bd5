"""Breakpoints: instants of a trace before certain instructions, or just after certain values were written.

Breakpoints on the program (an instruction, an opcode, an operator, a function, a line of source) need the log alone.
Breakpoints on values call a Python predicate, once for each tensor that a kernel or a constant makes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN
from passlab.debugger.trace_data import TraceData
from passlab.debugger.values import Unwritten, kind_text
from passlab.errors import Diagnostic, PasslabError, RunError, did_you_mean
from passlab.ir.op import find_op

Predicate = Callable[[Any], Any]
_POINT = re.compile(r"@?(?P<function>[\w.]*):(?P<pc>\d+)\Z|(?P<only>\d+)\Z")
_LINE = re.compile(r"line (?P<line>\d+)\Z|(?P<name>.+):(?P<at>\d+)\Z")


def _floats(value: Any) -> np.ndarray[Any, Any] | None:
    if not isinstance(value, np.ndarray) or value.size == 0 or value.dtype.kind in "iub":
        return None
    # Other floats, such as bfloat16, have no more values than float32.
    return value if value.dtype.kind in "fc" else value.astype(np.float32)


def _is_nan(value: Any) -> bool:
    numbers = _floats(value)
    return numbers is not None and bool(np.isnan(numbers).any())


def _is_inf(value: Any) -> bool:
    numbers = _floats(value)
    return numbers is not None and bool(np.isinf(numbers).any())


PREDICATES: dict[str, Predicate] = {
    "nan": _is_nan,
    "inf": _is_inf,
    "not finite": lambda value: _is_nan(value) or _is_inf(value),
}


def predicate_of(stop: str | Predicate) -> Predicate:
    """Return a predicate over values: the function itself, or the predicate called `nan`, `inf` or `not finite`.

    A name may begin with `first`. Raises `RunError` for other names.
    """
    if callable(stop):
        return stop
    name = stop.lower().removeprefix("first ").strip()
    if name not in PREDICATES:
        raise RunError(Diagnostic(f"there is no predicate `{stop}`", hint=did_you_mean(name, PREDICATES) or "nan, inf"))
    return PREDICATES[name]


def holds(predicate: Predicate, value: Any) -> bool:
    """Whether a predicate holds for a value, False for all but written tensors. Raises `RunError` where it fails."""
    if not isinstance(value, np.ndarray) or isinstance(value, Unwritten):
        return False
    try:
        with np.errstate(all="ignore"):
            return bool(predicate(value))
    except PasslabError:
        raise
    except Exception as error:
        raise RunError(
            Diagnostic(
                f"the predicate failed on {kind_text(value)}: {type(error).__name__}: {error}",
                hint="a predicate takes an array and returns one truth value",
            )
        ) from error


class Breakpoint:
    """Instants to stop at. `text` describes the condition; `enabled` may be set."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.enabled = True

    def after(self, instant: int) -> int | None:
        """Return the first instant of the breakpoint after this one, or None after the last."""
        raise NotImplementedError

    def before(self, instant: int) -> int | None:
        """Return the last instant of the breakpoint before this one, or None before the first."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"breakpoint {self.number}: {self.text}{'' if self.enabled else ' (off)'}"


class PointBreakpoint(Breakpoint):
    """Stops at given instants: those before the instructions of some program points."""

    def __init__(self, number: int, text: str, instants: Sequence[int], points: Sequence[int] = ()) -> None:
        super().__init__(number, text)
        self.instants = instants
        self.points = tuple(points)

    def after(self, instant: int) -> int | None:
        index = bisect_right(self.instants, instant)  # behind the instant itself
        return int(self.instants[index]) if index < len(self.instants) else None

    def before(self, instant: int) -> int | None:
        index = bisect_left(self.instants, instant)
        return int(self.instants[index - 1]) if index else None


class ValueBreakpoint(Breakpoint):
    """Stops after an instruction that wrote a value for which a predicate holds, and at instant 0 for arguments."""

    def __init__(self, number: int, text: str, trace: TraceData, predicate: Predicate) -> None:
        super().__init__(number, text)
        self.trace = trace
        self.predicate = predicate
        self.candidates = value_instants(trace)
        self._results: dict[int, bool] = {}  # by instant: a predicate may be slow

    def at(self, instant: int) -> bool:
        """Whether the predicate holds for a value that was written just before an instant."""
        result = self._results.get(instant)
        if result is None:
            values = self.trace.args if instant == 0 else [v for _, _, v in self.trace.written(instant - 1)]
            result = self._results[instant] = any(holds(self.predicate, value) for value in values)
        return result

    def after(self, instant: int) -> int | None:
        start = bisect_right(self.candidates, instant)
        return next((i for i in self.candidates[start:] if self.at(i)), None)

    def before(self, instant: int) -> int | None:
        start = bisect_left(self.candidates, instant)
        return next((i for i in reversed(self.candidates[:start]) if self.at(i)), None)


def value_instants(trace: TraceData) -> list[int]:
    """Return instant 0 and those just after a new tensor; moves, calls and returns only pass tensors on."""
    code_map = trace.code_map
    makes = [
        code_map.role[s] == KERNEL or code_map.mnemonic(s) in ("load_const", "device_copy")
        for s in range(len(code_map))
    ]
    if trace.kind != "vm":
        makes = [bool(r not in (CALL, RETURN)) for r in code_map.role.tolist()]
    events = np.flatnonzero(np.array(makes, bool)[trace.point]) if len(trace) else np.zeros(0, int)
    # What an event writes is there one instant later.
    return [0, *(events + 1).tolist()]


# ---------------------------------------------------------------- from the texts of users
def breakpoint_of(trace: TraceData, number: int, stop: Any) -> Breakpoint:
    """Return the breakpoint that a text or a predicate describes.

    A text is an operator (`nn.dense`), an opcode (`invoke_packed`), a function (`@loop`), an instruction (`@loop:12`,
    `12`), a line of source (`line 6`, `net:6`), or `nan` or `inf`. A predicate is a function of a tensor. Raises
    `RunError` for a text that names nothing in the program.
    """
    if callable(stop):
        name = getattr(stop, "__name__", "predicate")
        return ValueBreakpoint(number, f"value {'predicate' if name == '<lambda>' else name}", trace, stop)
    text = str(stop).strip()
    if text.lower().removeprefix("first ").strip() in PREDICATES:
        return ValueBreakpoint(number, text, trace, predicate_of(text))
    points = points_of(trace, text)
    mask = np.zeros(len(trace.code_map) + 1, bool)
    mask[points] = True
    return PointBreakpoint(number, text, np.flatnonzero(mask[trace.point]).tolist() if len(trace) else [], points)


def points_of(trace: TraceData, text: str) -> list[int]:
    """Return the program points that a text names. Raises `RunError`, with the nearest names, if none exist."""
    code_map = trace.code_map
    every = range(len(code_map))
    point = _POINT.match(text)
    names = [f.name for f in code_map.functions]
    if point is not None and (point["only"] or not point["function"] or point["function"] in names):
        function = point["function"] or trace.entry
        pc = int(point["pc"] or point["only"])
        number = names.index(function)
        if not 0 <= pc < len(trace.code_map.functions[number].instructions):
            last = len(trace.code_map.functions[number].instructions) - 1
            raise RunError(Diagnostic(f"@{function} has no instruction {pc}", hint=f"its instructions are 0 to {last}"))
        return [trace.code_map.offsets[number] + pc]
    if text.startswith("@") and text[1:] in names:
        return [code_map.offsets[names.index(text[1:])]]
    matches = [s for s in every if text in code_map.operators(s)] or [s for s in every if code_map.mnemonic(s) == text]
    if not matches and text in names:
        matches = [code_map.offsets[names.index(text)]]
    line = _LINE.match(text)
    if not matches and line is not None:
        matches = _points_of_line(trace, line["name"] or "", int(line["line"] or line["at"]))
    if not matches:
        raise _no_such_point(trace, text)
    return matches


def _points_of_line(trace: TraceData, name: str, line: int) -> list[int]:
    code_map = trace.code_map
    matches = [
        s for s in range(len(code_map)) if any(n == line and (not name or m == name) for m, n in code_map.lines[s])
    ]
    # A line also has allocations and constants; a reader wants to stop at its kernels and calls.
    main = [s for s in matches if code_map.role[s] in (KERNEL, CALL) or trace.kind != "vm"]
    return main or matches[:1]


def words_of(trace: TraceData) -> list[str]:
    """Return the texts that a breakpoint may be: operators, opcodes and functions of the trace, and predicates."""
    code_map = trace.code_map
    every = range(len(code_map))
    operators = sorted({name for s in every for name in code_map.operators(s)})
    opcodes = sorted({code_map.mnemonic(s) for s in every} - set(operators))
    return [*operators, *opcodes, *(f"@{f.name}" for f in code_map.functions), *PREDICATES]


def _no_such_point(trace: TraceData, text: str) -> RunError:
    code_map = trace.code_map
    operators = sorted({name for s in range(len(code_map)) for name in code_map.operators(s)})
    words = words_of(trace)
    if not text:
        return RunError(Diagnostic("the breakpoint is empty", hint="nn.dense, @loop, @loop:12, line 6, nan"))
    if _LINE.match(text):
        lines = sorted({line for lines_of in code_map.lines for _, line in lines_of})
        advice = (
            f"instructions come from lines {lines[0]} to {lines[-1]}" if lines else "the program was built, not parsed"
        )
        return RunError(Diagnostic(f"no instruction comes from `{text}`", hint=advice))
    if find_op(text) is not None:
        hint = f"the program uses {', '.join(operators) or 'no operators'}"
        return RunError(Diagnostic(f"no instruction executes `{text}`", hint=hint))
    hint = (
        did_you_mean(text, words) or "an operator, an opcode, @function, @function:12, `line 6`, `nan` or a predicate"
    )
    return RunError(Diagnostic(f"nothing in the program is called `{text}`", hint=hint))
