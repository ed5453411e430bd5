"""What the magics do once their arguments are read: read a program, run a pipeline. Knows nothing of IPython."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

from passlab import instrument
from passlab.display import TableView, table_view
from passlab.errors import Diagnostic, PassError, did_you_mean
from passlab.infer import infer_expr, infer_module
from passlab.instrument import PassInstrument
from passlab.instrument.recorder import EventRecorder
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.applicable import prospects
from passlab.lab.recording import Recording, record
from passlab.passes import PASSES
from passlab.rewriting.parameters import bind_params
from passlab.table import Table
from passlab.text import parser
from passlab.text.lexer import lex
from passlab.transform.base import Pass
from passlab.transform.pipeline import as_pass, context_names


class _Nowhere:
    """Takes the text of an instrument whose view is shown instead."""

    def write(self, text: str) -> None:
        """Drop the text; the instrument itself keeps what it printed."""


NOWHERE = _Nowhere()

# The instruments `%instruments` knows, by the name typed there.
INSTRUMENTS: dict[str, Callable[[], Any]] = {
    "timing": instrument.PassTimingInstrument,
    "print": partial(instrument.PrintIRAfter, file=NOWHERE),
    "diff": partial(instrument.PrintIRAfter, only_changed=True, diff=True, file=NOWHERE),
    "memory": instrument.MemoryInstrument,
    "statistics": instrument.StatisticsInstrument,
    "progress": instrument.ProgressInstrument,
    "verify": instrument.VerifyInstrument,
    "validate": instrument.Validate,
}


def read(
    text: str, source_name: str, infer: bool = True, constants: Mapping[str, Any] | None = None
) -> IRModule | Expr:
    """Return the module, or the one expression, that a cell holds; `constants` are bound to parameters of `main`.

    The text begins in the second line of its source, below the magic, so that errors count lines as the cell does.
    """
    text = f"\n{text}"
    words = set(lex(text, source_name).texts)
    if not words & {"def", "type", "extern"}:
        expr = parser.parse_expr(text, source_name)
        return infer_expr(expr) if infer else expr
    mod = bind_params(parser.parse(text, source_name), constants)
    return infer_module(mod) if infer else mod


class ContextOptions(NamedTuple):
    """What a magic adds to the PassContext in force: the level, where one is given, passes, and options."""

    opt_level: int | None
    required: list[str]
    disabled: list[str]
    config: dict[str, Any]


def run(
    mod: IRModule, pipeline: str, context: ContextOptions, namespace: Mapping[str, Any], instruments: list[str]
) -> tuple[Recording, list[Any]]:
    """Record a pipeline, given as text, over a module. Passes bound to names of the notebook may be used by name.

    It runs under the PassContext in force, its instruments included, with what `context` changes. Returns the
    recording, and the instruments of `instruments` that have something to show.
    """
    own = passes_of(namespace)
    watching = [instrument_of(name, namespace) for name in instruments]
    passes = as_pass(pipeline, own)
    recording = record(
        mod,
        passes,
        context.opt_level,
        required_pass=context_names(context.required, passes),
        disabled_pass=context_names(context.disabled, passes),
        config=context.config,
        instruments=watching,
    )
    return recording, [one for one in watching if has_report(one)]


def passes_of(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the passes of a notebook by name, and what is meant as one."""
    return {name: value for name, value in namespace.items() if isinstance(value, Pass) or _is_meant_as_pass(value)}


def pass_names(namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of all passes: those of the notebook, then passlab's."""
    return [*(name for name, value in namespace.items() if isinstance(value, Pass)), *PASSES]


def instrument_of(name: str, namespace: Mapping[str, Any]) -> Any:
    """Return the instrument of a name: a new one of passlab's, or the notebook's own (of a class: a new one).

    Raises `PassError` for a name that is neither.
    """
    value = namespace.get(name)
    if isinstance(value, type) and issubclass(value, PassInstrument):
        return value()
    if isinstance(value, PassInstrument):
        return value
    if name in INSTRUMENTS:
        return INSTRUMENTS[name]()
    if value is not None:
        kind = "class" if isinstance(value, type) else type(value).__name__
        hint = f"decorate the class with `@passlab.instrument.pass_instrument`; `{name}` is a {kind}"
        raise PassError(Diagnostic(f"`{name}` is not an instrument", hint=hint))
    own = [n for n, v in namespace.items() if not n.startswith("_") and _is_instrument(v)]
    hint = did_you_mean(name, [*INSTRUMENTS, *own]) or f"there are {', '.join([*INSTRUMENTS, *own])}"
    raise PassError(Diagnostic(f"there is no instrument `{name}`", hint=hint))


def _is_instrument(value: Any) -> bool:
    """Whether a value is an instrument, or a class of instruments that the notebook defines."""
    if isinstance(value, type):
        return issubclass(value, PassInstrument) and value.__module__ == "__main__"
    return isinstance(value, PassInstrument)


def has_report(watching: Any) -> bool:
    """Whether an instrument is shown after a run: all but a recorder, since the run is recorded anyway."""
    return not isinstance(watching, EventRecorder)


def outlook(mod: IRModule, name: str) -> TableView:
    """Return which passes would change a program of this name, and what each would do."""
    table = prospects(mod)
    what = "these passes, each by itself, would change" if len(table) else "no pass that needs no options would change"
    rows = sorted(table.rows, key=lambda row: str(row[-1]).startswith("fails"))  # what one can use comes first
    return table_view(Table(table.columns, rows), f"{what} `{name}`; `%passes {name} PASS` runs one")


def _is_meant_as_pass(value: Any) -> bool:
    """Whether a value is a class or function of the notebook that could become a pass: the error says how."""
    own = getattr(value, "__module__", None) == "__main__"
    return own and (isinstance(value, FunctionType) or (isinstance(value, type) and issubclass(value, Pass)))
