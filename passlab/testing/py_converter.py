"""Programs as Python: `to_python` returns the syntax tree of a module that computes an expression, `run_as_python` its
value.

The module comes from the ahead-of-time compiler: it needs NumPy alone.
"""

from __future__ import annotations

import ast
from typing import Any

from passlab.evaluate import Evaluator
from passlab.executor.aot import CompiledProgram, python_source
from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.variables import free_vars


def _program(expr: Expr, mod: IRModule | None) -> IRModule:
    """Return a module whose `main` is an expression, or the function that it is."""
    whole = IRModule() if mod is None else mod.snapshot()
    whole["main"] = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
    return infer_module(whole)


def to_python(expr: Expr, mod: IRModule | None = None, target: Any = None) -> ast.Module:
    """Return the syntax tree of a Python module that computes an expression. `target` is ignored."""
    return ast.parse(python_source(_program(expr, mod)).text)


def run_as_python(expr: Expr, mod: IRModule | None = None, target: Any = None) -> Any:
    """Compile an expression to Python and return its value; for a function with parameters, a callable."""
    program = _program(expr, mod)
    if isinstance(expr, Function) and expr.params:
        return CompiledProgram(python_source(program), program["main"], program)
    if isinstance(expr, Function):
        return Evaluator(program).run("main", [])
    return CompiledProgram(python_source(program), program["main"], program)()
