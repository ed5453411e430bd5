"""The programs that passes carry in their docstrings: `before:` and `after:` pairs, and `keep:`, with options.

before: inline_once=True
    def @main(...) { ... }
after:
    def @main(...) { ... }
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import Any

from passlab import pattern
from passlab.passes import PASSES

_HEADING = re.compile(r"^(before|after|keep):[ \t]*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One program: what the pass makes of `before` is `after`, or `before` itself where that is None."""

    factory: str
    options: dict[str, Any]
    before: str
    after: str | None
    number: int

    def __str__(self) -> str:
        return f"{self.factory}-{self.number}"


def parse_options(text: str) -> dict[str, Any]:
    """Return the options of a heading, written as in a call."""
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {k.arg: _value(k.value) for k in call.keywords if k.arg}


def _value(node: ast.expr) -> Any:
    """Return what an expression of literals, and calls of what `passlab.pattern` offers, stands for."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(e) for e in node.elts]
    if isinstance(node, ast.Call):
        return _value(node.func)(*map(_value, node.args), **{str(k.arg): _value(k.value) for k in node.keywords})
    return getattr(pattern, node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)


def cases_of(factory: str) -> list[Case]:
    """Return the programs in the docstring of a pass's file."""
    module = PASSES[factory].partition(":")[0]
    doc = inspect.getdoc(importlib.import_module(f"passlab.passes.{module}")) or ""
    parts = _HEADING.split(doc)[1:]
    results: list[Case] = []
    for kind, options, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        program = textwrap.dedent(_indented(text))
        if kind == "after":
            last = results.pop()
            results.append(Case(factory, last.options, last.before, program, last.number))
        else:
            results.append(Case(factory, parse_options(options), program, None if kind == "keep" else "", len(results)))
    return results


def _indented(text: str) -> str:
    """Return the indented lines right below a heading."""
    lines = []
    for line in text.strip("\n").split("\n"):
        if line.strip() and not line.startswith(" "):
            break
        lines.append(line)
    return "\n".join(lines)


def all_cases() -> list[Case]:
    """Return the programs of all standard passes."""
    return [case for factory in sorted(PASSES) for case in cases_of(factory)]
