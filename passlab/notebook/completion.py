"""Tab completion inside `%%relay` cells and on the lines of the magics: operators, attributes, passes, variables.

The file ends with `describe`, which says what the word under the cursor means.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from passlab import instrument
from passlab.ir.attrs import REQUIRED
from passlab.ir.module import IRModule
from passlab.ir.op import Op, find_op
from passlab.ir.walk import post_order
from passlab.lab.recordings.recording import Recording
from passlab.notebook.instruments import INSTRUMENTS
from passlab.notebook.pipelines import passes_of
from passlab.passes import PASSES
from passlab.steps import Steps
from passlab.transform.base import Pass
from passlab.transform.registry import find_factory, list_passes

_WORD = re.compile(r"(?:--)?[%@]?[\w.]*\Z")
_CALL = re.compile(r"([\w.]+)\([^()]*\Z")
_RUNS = ("Trace", "Debugger", "Executable")
KEYWORDS = ("def", "else", "extern", "fn", "free_var", "if", "let", "match", "ref", "ref_read", "ref_write", "type")
DTYPES = ("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "Tensor")


def candidates(text: str, before: str, namespace: Mapping[str, Any]) -> tuple[list[tuple[str, str]], str]:
    """Return ((name, kind), ...) that may follow `before` in a cell, and the part of a word that they complete."""
    fragment = _WORD.search(before).group()  # type: ignore[union-attr]
    head = text.lstrip()
    if head.startswith("%%relay") and "\n" in before.lstrip():
        pool = _in_relay(text, before, fragment)
    elif re.match(r"%%?(passes|bisect|culprit)\b", head):
        pool = _in_passes(before, fragment, namespace)
    elif re.match(r"%fuzz\b", head):
        pool = _pass_names(namespace)
    elif head.startswith("%instruments"):
        pool = ((name, "instrument") for name in (*INSTRUMENTS, "none"))
    elif re.match(r"%(graph|run)\b", head):
        pool = _programs(namespace)
    elif re.match(r"%compare\b", head):
        pool = _recordings(namespace)
    elif re.match(r"%blame\b", head):
        pool = _in_blame(before, fragment, namespace)
    elif re.match(r"%vm\b", head):
        pool = _in_vm(before, fragment, namespace)
    else:
        return [], fragment
    return sorted({(n, k) for n, k in pool if n.startswith(fragment) and n != fragment}), fragment


def _in_relay(text: str, before: str, fragment: str) -> Iterator[tuple[str, str]]:
    body = text.partition("\n")[2]
    if fragment.startswith(("%", "@")):
        for name in re.findall(r"[%@][^\W\d][\w/]*", body):
            yield name, "variable" if name[0] == "%" else "function"
        return
    call = _CALL.search(before[: len(before) - len(fragment)])
    op = find_op(call.group(1)) if call else None
    if op is not None and op.spec.attrs is not None:
        for field in op.spec.attrs.schema:
            yield f"{field.name}=", "attribute"
    for name in Op.list_op_names():
        yield name, "operator"
    for name in KEYWORDS:
        yield name, "keyword"
    for name in DTYPES:
        yield name, "type"


def _in_passes(before: str, fragment: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = before.split()
    if before.lstrip().startswith("%") and len(words) - bool(fragment) <= 1:
        yield from _programs(namespace)
        if re.match(r"%%?(bisect|culprit)\b", before.lstrip()):
            yield from ((n, "recording") for n, v in namespace.items() if type(v).__name__ == "Recording")
        return
    call = _CALL.search(before[: len(before) - len(fragment)])
    factory = (passes_of(namespace).get(call[1]) or find_factory(call[1])) if call else None
    if factory is not None and not isinstance(factory, Pass):
        yield from ((f"{name}=", "option") for name in inspect.signature(factory).parameters)
        return
    if words[-2 if fragment else -1] == "--good":
        yield from ((n, "function") for n, v in namespace.items() if callable(v) and not n.startswith("_"))
        return
    yield from _pass_names(namespace)
    yield from ((name, "pass") for name, value in passes_of(namespace).items() if isinstance(value, type))


def _pass_names(namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, "pass") for name in PASSES)
    yield from ((name, "pass") for name, value in passes_of(namespace).items() if isinstance(value, Pass))


def _in_blame(before: str, fragment: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = before[: len(before) - len(fragment)].split()
    if words[-1] == "--step":
        value = namespace.get(words[1])
        yield from ((step.name, "pass") for step in (value.events[1:] if isinstance(value, Recording) else ()))
        return
    yield "--step", "option"
    if len(words) == 1:
        yield from _recordings(namespace)


def _recordings(namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((n, "recording") for n, v in namespace.items() if isinstance(v, Steps) and not n.startswith("_"))


def _in_vm(before: str, fragment: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = before[: len(before) - len(fragment)].split()
    options = [word for word in words if word.startswith("--")]
    listed = words[-1] if words[-1].startswith("--") else options[-1] if options and words[-1].endswith(",") else ""
    if len(words) == 1:
        yield from _programs(namespace)
        yield from ((n, "trace") for n, v in namespace.items() if type(v).__name__ in _RUNS)
    elif listed == "--args":
        yield from ((n, "variable") for n, v in namespace.items() if hasattr(v, "shape") and not n.startswith("_"))
    elif listed == "--break":
        yield from _stops(namespace.get(words[1]))
    elif listed == "--entry":
        mod = namespace.get(words[1])
        yield from ((name, "function") for name, _ in (mod.items() if isinstance(mod, IRModule) else ()))
    elif listed == "--executor":
        yield from ((name, "executor") for name in ("vm", "graph", "debug"))
    else:
        yield from ((name, "option") for name in ("--args", "--break", "--entry", "--executor", "--out", "--random"))


def _stops(program: Any) -> Iterator[tuple[str, str]]:
    """The possible breakpoints: operators (of the program if it is known), predicates, functions."""
    yield from ((name, "predicate") for name in ("nan", "inf"))
    if not isinstance(program, IRModule):
        yield from ((name, "operator") for name in Op.list_op_names())
        return
    for name, function in program.items():
        yield f"@{name}", "function"
        yield from ((node.name, "operator") for node in post_order(function) if isinstance(node, Op))


def _programs(namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return (
        (name, "program")
        for name, value in namespace.items()
        if isinstance(value, IRModule) and not name.startswith("_")
    )


# ---------------------------------------------------------------- what the words under the cursor mean
_NAME = re.compile(r"[\w.]+")
_LIVE = re.compile(r"%%relay\b.*--live\b.*\Z")  # the cursor is on the magic's own line
_SHOWN = 72  # characters of a signature on one line


def describe(code: str, position: int) -> str | None:
    """Return the description of the operator or pass at a position of a cell, or of the one that has its arguments
    there.

    None if nothing is there, and in cells that are neither Relay nor a pipeline. A position after the end counts as the
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
    word = next((m[0] for m in _NAME.finditer(code) if m.start() <= position <= m.end()), "")
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
