"""The rows of the table of a recording: the outcome of each pass, what it changed, and its error."""

from __future__ import annotations

from collections import Counter
from typing import Any

from passlab.errors import Diagnostic, PassError
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module, shown_change
from passlab.lab.recordings.rewrites import count_rewrites


def outcome(event: Event) -> str:
    """Return the outcome of a pass in a few words."""
    if event.status == "ran":
        return "changed" if event.changed else "unchanged"
    if event.status == "skipped":
        return f"skipped: {event.reason}"
    if event.status == "failed":
        return f"failed: {kind_of(event.error)}"
    return "" if event.status == "input" else event.status


def change(event: Event) -> str:
    """Return how a pass changed the number of calls of each operator: `-2 nn.bias_add +2 add`."""
    return shown_change(count_module(event.before)[1], count_module(event.after)[1]) if event.changed else ""


COLUMNS = (
    "step", "depth", "pass", "kind", "role", "opt_level", "status", "why", "changed", "seconds", "peak_bytes",
    "rewrites", "rules", "functions", "nodes", "operators", "error",
)  # fmt: skip


def row_of(event: Event) -> tuple[Any, ...]:
    """Return the row of an event in the table of a recording: see `COLUMNS`."""
    error = "" if event.error is None else f"{kind_of(event.error)}: {event.error}"
    applied = Counter[str]()
    for inner in event.walk():
        applied.update(inner.rewrites.rules)
    rules = ", ".join(f"{name} x{count}" for name, count in applied.items())
    return (
        event.id, event.depth, event.text or event.name, event.kind, event.role, event.opt_level, event.status,
        event.reason, event.changed, event.seconds, event.peak_bytes, count_rewrites(event), rules,
        len(event.after), count_module(event.after)[0], change(event), error,
    )  # fmt: skip


class RecordedError(PassError):
    """The error that ended a recording, read from a file: `kind` is the name of its class."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(Diagnostic(text))
        self.kind = kind


def kind_of(error: BaseException | None) -> str:
    """Return the name of the class of an error, also of an error that was read from a file."""
    return error.kind if isinstance(error, RecordedError) else type(error).__name__
