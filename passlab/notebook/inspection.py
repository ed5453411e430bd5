"""The answers to Shift-Tab in `%%relay` cells and pipelines: the operator or the pass under the cursor.

Kernels know Python names only, not Relay's operators or passes on the line of a magic. `describe` takes the text of a
cell and a position in it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from passlab import instrument
from passlab.ir.attrs import REQUIRED
from passlab.ir.op import Op, find_op
from passlab.notebook.instruments import INSTRUMENTS
from passlab.transform.registry import find_factory, list_passes

_WORD = re.compile(r"[\w.]+")
_CALL = re.compile(r"([\w.]+)\([^()]*\Z")
_LIVE = re.compile(r"%%relay\b.*--live\b.*\Z")  # the cursor is on the magic's own line
_SHOWN = 72  # characters of a signature on one line


def describe(code: str, position: int) -> str | None:
    """Return the description of the operator or pass at a position of a cell, or of the one whose arguments are there.

    None if there is none, and in cells that are neither Relay nor a pipeline. A position after the end counts as the
    end: JupyterLab's completer uses such positions for the text that it would insert.
    """
    position = min(position, len(code))
    head = code.lstrip()
    if head.startswith("%%relay") and "\n" in code[:position].lstrip():
        describe_name: Callable[[str], str | None] = _operator
    elif re.match(r"%%?(passes|bisect|culprit|fuzz|blame)\b", head) or _LIVE.match(code[:position].lstrip()):
        describe_name = _pass
    elif re.match(r"%vm\b", head):
        describe_name = _operator
    elif re.match(r"%instruments\b", head):
        describe_name = _instrument
    else:
        return None
    word = next((m[0] for m in _WORD.finditer(code) if m.start() <= position <= m.end()), "")
    call = _CALL.search(code[:position])
    return describe_name(word) or (describe_name(call[1]) if call else None)


def _operator(name: str) -> str | None:
    """The operator of a name: its signature in Relay text, and the docstring of its Python function."""
    op = find_op(name)
    return (
        None
        if op is None
        else f"{_signature(op)}\n\n{(inspect.getdoc(op.spec.builder) if op.spec.builder else '') or op.spec.doc}"
    )


def _signature(op: Op) -> str:
    inputs = [f"%{name}" for name in op.spec.inputs]
    schema = op.spec.attrs.schema if op.spec.attrs is not None else ()
    attrs = [f.name if f.default is REQUIRED else f"{f.name}={_value(f.default)}" for f in schema]
    line = f"{op.name}({', '.join([*inputs, *attrs])})"
    if len(line) <= _SHOWN:
        return line
    lines = ",\n    ".join([", ".join(inputs), *attrs])
    return f"{op.name}(\n    {lines})"


def _value(value: Any) -> str:
    """A default as it is written in Relay, where tuples are lists and strings have double quotes."""
    return json.dumps(value) if isinstance(value, (tuple, str)) else str(value)


def _pass(name: str) -> str | None:
    """The pass of a name: its row of `transform.list_passes()`, and its docstring."""
    factory = find_factory(name) if name else None
    row = next((row for row in list_passes() if factory is not None and row["pass"] == name), None)
    if row is None:
        return None
    facts = [
        f"{kind.replace('_', ' ')}: {row[kind]}" for kind in ("opt_level", "required", "contract") if row[kind] != ""
    ]
    return f"{name}({row['options']})\n{'   '.join(facts)}\n\n{inspect.getdoc(factory) or ''}".rstrip()


def _instrument(name: str) -> str | None:
    """The instrument that `%instruments` calls by a name."""
    if name not in INSTRUMENTS:
        return None
    return f"{name}: {inspect.getdoc(getattr(instrument, INSTRUMENTS[name].kind)) or ''}"
