"""What the magics do once their arguments are read: read a program, run a pipeline. Knows nothing of IPython."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from passlab import instrument
from passlab.display import TableView, table_view
from passlab.infer import infer_expr, infer_module
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.prospects import prospects
from passlab.lab.recording import Recording, record
from passlab.text import parser
from passlab.text.lexer import lex
from passlab.transform.base import Pass
from passlab.transform.parameters import bind_params
from passlab.transform.pipeline import as_pass, context_names

# The instruments `%instruments` knows, by the name typed there.
INSTRUMENTS: dict[str, Callable[[], Any]] = {
    "timing": instrument.PassTimingInstrument,
    "print": instrument.PrintIRAfter,
    "diff": partial(instrument.PrintIRAfter, only_changed=True, diff=True),
    "memory": instrument.MemoryInstrument,
    "statistics": instrument.StatisticsInstrument,
    "progress": instrument.ProgressInstrument,
    "verify": instrument.VerifyInstrument,
    "validate": instrument.Validate,
}


def read(
    text: str, source_name: str, infer: bool = True, constants: Mapping[str, Any] | None = None
) -> IRModule | Expr:
    """Return the module, or the one expression, that a cell holds; `constants` are bound to parameters of `main`."""
    words = set(lex(text, source_name).texts)
    if not words & {"def", "type", "extern"}:
        expr = parser.parse_expr(text, source_name)
        return infer_expr(expr) if infer else expr
    mod = bind_params(parser.parse(text, source_name), constants)
    return infer_module(mod) if infer else mod


def run(
    mod: IRModule, pipeline: str, opt_level: int, disabled: list[str], required: list[str],
    namespace: Mapping[str, Any], instruments: list[str],
) -> tuple[Recording, list[Any]]:  # fmt: skip
    """Record a pipeline, given as text, over a module. Passes bound to names of the notebook may be used by name.

    Returns the recording, and what the instruments have to show for it.
    """
    own = {name: value for name, value in namespace.items() if isinstance(value, Pass) or _is_meant_as_pass(value)}
    made = [INSTRUMENTS[name]() for name in instruments]
    passes = as_pass(pipeline, own)
    recording = record(
        mod, passes, opt_level, required_pass=context_names(required, passes),
        disabled_pass=context_names(disabled, passes), instruments=made,
    )  # fmt: skip
    reports = [_report(name, one) for name, one in zip(instruments, made, strict=True)]
    return recording, [report for report in reports if report is not None]


def outlook(mod: IRModule, name: str) -> TableView:
    """Return which passes would change a program of this name, and what each would do."""
    found = prospects(mod)
    what = "these passes, each by itself, would change" if len(found) else "no pass that needs no options would change"
    return table_view(found, f"{what} `{name}`")


def _report(name: str, made: Any) -> Any:
    """What an instrument has to show after a run, or None."""
    if isinstance(made, instrument.PassTimingInstrument):
        return made  # shows itself, with bars
    table = getattr(made, "table", None)
    return None if table is None else table_view(table(), name)


def _is_meant_as_pass(value: Any) -> bool:
    """Whether a value is a class of passes of the notebook, or a function of it: one is told how it becomes a pass."""
    own = getattr(value, "__module__", None) == "__main__"
    return own and (isinstance(value, FunctionType) or (isinstance(value, type) and issubclass(value, Pass)))
