"""Traces by node: runs on the graph executor or the evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.debugger.evaluator_trace import evaluator_trace
from passlab.debugger.node_trace import T, graph_trace
from passlab.debugger.replay import copy_arrays
from passlab.errors import Diagnostic, RunError
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording, module_of


def record_nodes(
    cls: type[T], program: IRModule | Expr | Recording, args: Sequence[Any], entry: str, executor: str
) -> T:
    """Run a program with the executor "graph" or "debug" and return its trace, which is a `cls`.

    Raises `RunError` for another executor.
    """
    source: IRModule | Expr = module_of(program)
    mod = source if isinstance(source, IRModule) else IRModule.from_expr(source)
    recorders = {"graph": graph_trace, "debug": evaluator_trace}
    if executor not in recorders:
        raise RunError(Diagnostic(f"the debugger has no executor `{executor}`", hint="vm, graph or debug"))
    return recorders[executor](cls, mod, [copy_arrays(value) for value in args], entry)
