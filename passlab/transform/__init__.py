"""The pass manager: passes, pipelines, and the contexts in which they run.

Every standard pass is also exported by this package, loaded on first use: `transform.FoldConstant()`. So are the plain
functions next to the passes, such as `transform.gradient`.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import did_you_mean
from passlab.lazy import PASSES, late
from passlab.transform.base import FunctionPass, ModulePass, Pass, PassRun, current_run, is_optimizable
from passlab.transform.config import register_config_option
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass
from passlab.transform.decorators import function_pass, module_pass
from passlab.transform.diagnostics import PassDiagnostics
from passlab.transform.numeric_contract import EXACT, FINITE, NumericContract, Rounds
from passlab.transform.pass_info import PassInfo
from passlab.transform.pipeline_text import as_pass, parse_pipeline
from passlab.transform.registry import find_factory, get_pass, list_passes, pass_names, register_pass, unregister_pass
from passlab.transform.sequential import Sequential

__all__ = [
    "EXACT", "FINITE", "PassDiagnostics", "FunctionPass", "ModulePass", "Pass", "PassContext", "PassInfo", "PassRun",
    "NumericContract", "Rounds", "Sequential", "as_pass", "current_run", "function_pass", "get_pass",
    "is_optimizable", "list_passes", "module_pass", "parse_pipeline", "pass_names", "register_config_option",
    "register_pass", "standard_pass", "unregister_pass",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _functions():
        module, _, function = _functions()[name].partition(":")
        return late(f"{PASSES}.{module}", function)
    factory = None if name.startswith("_") else find_factory(name)
    if factory is None:
        hint = "" if name.startswith("_") else did_you_mean(name, [*__all__, *_functions(), *pass_names()])
        raise AttributeError(f"passlab.transform has no `{name}`" + (f": {hint}" if hint else ""))
    return factory


def __dir__() -> list[str]:
    return sorted({*__all__, *_functions(), *late(PASSES, "PASSES")})


def _functions() -> dict[str, str]:
    """Return the table of plain functions next to the passes."""
    table: dict[str, str] = late(PASSES, "FUNCTIONS")
    return table
