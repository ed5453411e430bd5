"""What the magics do once their arguments are read: read a program, run a pipeline. Knows nothing of IPython."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from passlab import instrument
from passlab.infer import infer_expr, infer_module
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recording import Recording, record
from passlab.text import parser
from passlab.text.lexer import lex
from passlab.transform.base import Pass
from passlab.transform.parameters import bind_params

# The instruments `%instruments` knows, by the name typed there.
INSTRUMENTS: dict[str, Callable[[], Any]] = {
    "timing": instrument.PassTimingInstrument,
    "print": instrument.PrintIRAfter,
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
) -> Recording:  # fmt: skip
    """Record a pipeline, given as text, over a module. Passes bound to names of the notebook may be used by name."""
    own = {name: value for name, value in namespace.items() if isinstance(value, Pass) or _is_pass_class(value)}
    return record(
        mod, pipeline, opt_level, required_pass=required, disabled_pass=disabled, scope=own,
        instruments=[INSTRUMENTS[name]() for name in instruments],
    )  # fmt: skip


def _is_pass_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Pass) and value.__module__ == "__main__"
