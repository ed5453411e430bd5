"""Every limit in one frozen record, so that hostile or runaway input ends in a `LimitError` that names its limit.

Nothing else in passlab holds such a number. Change limits for a block of code with `override`:

    with limits.override(elements=10**9):
        mod = passlab.parse(text)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from passlab.arguments import checked
from passlab.errors import LimitError, did_you_mean


@dataclass(frozen=True)
class Limits:
    """The limits. Names in `_bytes` are bytes, names in `_seconds` seconds, and all others are counts."""

    text_bytes: int = 256 * 2**20  # bytes of Relay text that one parse reads
    nesting: int = 10_000_000  # open constructs while parsing
    pipeline_nesting: int = 100  # pipelines inside pipelines, and lists inside the options of passes
    nodes: int = 50_000_000  # expression nodes in one program
    rank: int = 64  # dimensions of one tensor (NumPy's own limit)
    elements: int = 2**31  # elements of one tensor
    tensor_bytes: int = 8 * 2**30  # bytes allocated for one tensor
    live_bytes: int = 16 * 2**30  # bytes that a run of the virtual machine, or a graph, holds at once
    model_bytes: int = 2 * 2**30  # bytes of one model file (what protobuf can read), its external data not counted
    model_nesting: int = 50  # graphs inside graphs, and calls of functions inside functions, of one model
    model_nodes: int = 1_000_000  # nodes of one model, counted each time that they are translated
    tuple_fields: int = 1_000_000  # results of one operator
    operations: int = 10**12  # products that one call of `einsum` adds up
    type_parts: int = 1_000_000  # types in the text of one type that has type parameters of its surroundings
    numeral_digits: int = 400  # characters of one number in a text
    instructions: int = 10**12  # virtual machine instructions of one run
    frames: int = 1_000_000  # virtual machine or evaluator call depth
    trace_instants: int = 20_000_000  # instructions that one trace records before it stops
    trace_bytes: int = 2 * 2**30  # bytes of values that one trace keeps before it drops, and computes again, the oldest
    trace_forks: int = 64  # forks that one trace remembers, the latest
    shown_instants: int = 250_000  # instants of one trace that a widget holds
    output_bytes: int = 256 * 2**10  # bytes of one plain-text display in a notebook before it is summarised
    shown_lines: int = 100_000  # instructions of one executable, or rows of one table, that a widget holds
    program_lines: int = 10_000  # lines of one program that a view shows
    match_cases: int = 1_000_000  # pattern rows that the check of one match for completeness visits
    dump_bytes: int = 64 * 2**30  # bytes of one dump of passes
    dump_steps: int = 2_000_000  # passes of one dump
    dump_lines: int = 200_000  # lines of one program of a dump that are compared, blamed or drawn
    graph_nodes: int = 6_000  # nodes of one drawn graph before it is summarised
    layout_seconds: float = 10.0  # seconds one graph layout may take


_current: ContextVar[Limits] = ContextVar("passlab_limits", default=Limits())


def current() -> Limits:
    """Return the current limits of this thread or task.

    >>> passlab.limits.current().rank
    64
    """
    return _current.get()


@contextmanager
def override(**changes: float) -> Iterator[Limits]:
    """Change some limits inside a `with` block. Raises `LimitError` for an unknown limit, or one that is not a number.

    >>> with passlab.limits.override(rank=3):
    ...     passlab.limits.current().rank
    3
    """
    names = [f.name for f in fields(Limits)]
    limits: dict[str, object] = dict(changes)
    for name, limit in limits.items():
        if name not in names:
            raise LimitError(f"there is no limit named `{name}`: {did_you_mean(name, names) or ', '.join(names)}")
        if not isinstance(limit, (int, float)) or not limit >= 0:
            raise LimitError(f"the limit `{name}` is a number from 0 on, not {limit!r}")
    token = _current.set(replace(_current.get(), **changes))  # type: ignore[arg-type]
    try:
        yield _current.get()
    finally:
        _current.reset(token)


@checked
def check(name: str, value: float, what: str) -> None:
    """Raise `LimitError` when `value` is over the limit called `name`; `what` says whose value it is."""
    limit = getattr(_current.get(), name, None)
    if limit is None:
        raise LimitError(f"there is no limit `{name}`")
    if value > limit:
        raise LimitError(
            f"{what} needs {value:,} and the limit `{name}` is {limit:,}; "
            f"raise it with `passlab.limits.override({name}=...)`"
        )
