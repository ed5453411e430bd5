"""What the manual makes of passlab itself: the pages of operators and passes, and the colours of Relay programs.

A page named in `PAGES` ends in a part that is written while the manual builds, from the declarations alone.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from passlab import transform
from passlab.display.text.lexer import RelayLexer
from passlab.frontend.onnx.entries import entries
from passlab.frontend.pytorch.entries import entries as aten_entries
from passlab.ir.attrs import REQUIRED
from passlab.ir.op import Op, OpSpec
from passlab.op import load
from passlab.transform import find_factory


def operators() -> Iterator[str]:
    """The operators, one paragraph each, in groups by the room their name begins with."""
    load()
    yield "\n| operator | what it does | shapes |\n|---|---|---|"
    for name in Op.list_op_names():
        spec = Op.get(name).spec
        yield f"| [`{name}`](#{_anchor(name)}) | {_cell(spec.doc.partition(chr(10))[0])} | {_cell(spec.shapes)} |"
    room = None
    for name in sorted(Op.list_op_names(), key=lambda name: (name.rpartition(".")[0], name)):
        spec = Op.get(name).spec
        if name.rpartition(".")[0] != room:
            room = name.rpartition(".")[0]
            yield f"\n## {f'`{room}`' if room else 'Without a prefix'}\n"
        yield from _operator(spec)


def _anchor(name: str) -> str:
    """The anchor of a heading, as the manual makes it."""
    return "".join(c for c in name if c.isalnum() or c in "_-").lower()


def _cell(text: str) -> str:
    """Text for a table: a bar would end the cell."""
    return _prose(text).replace("|", "\\|")


def _operator(spec: OpSpec) -> Iterator[str]:
    yield f"\n### `{spec.name}`\n"
    yield f"{_prose(spec.doc)}\n"
    fields = spec.attrs.schema if spec.attrs is not None else ()
    yield f"Shapes: {_prose(spec.shapes)}. Source: {_prose(spec.source)}. {_facts(spec)}\n"
    yield f"`{spec.name}({', '.join([*(f'%{i}' for i in spec.inputs), *(f'{f.name}' for f in fields)])})`\n"
    for field in fields:
        default = "" if field.default is REQUIRED else f", default `{field.default!r}`"
        yield f"- `{field.name}`: {_prose(field.doc or '')} ({_prose(field.kind)}{default})"
    if spec.example:
        yield f"\n```relay\n{spec.example}\n```\n"


def _facts(spec: OpSpec) -> str:
    """What passes know of an operator, in a line."""
    kind = spec.pattern.name.lower().replace("_", " ")
    facts = [
        f"Fusion: {kind}",
        f"mixed precision: {spec.precision.name.lower() if spec.precision is not None else 'unknown, follows'}",
    ]
    facts += ["goes along with other data layouts"] if spec.layout else []
    facts += ["has a gradient" if spec.gradient else f"has no gradient: {spec.no_gradient}"]
    facts += ["shape depends on data"] if spec.shape_function else []
    return "; ".join([*facts, *(["has effects"] if spec.stateful else [])]) + "."


def passes() -> Iterator[str]:
    """The passes: a table, then one paragraph each."""
    yield "\n| pass | level | contract | what it does |\n|---|---|---|---|"
    for row in transform.list_passes():
        link = f"[`{row['pass']}`](#{_anchor(row['pass'])})"
        yield f"| {link} | {row['opt_level']} | {row['contract'] or ''} | {_cell(row['what_it_does'])} |"
    for row in transform.list_passes():
        yield f"\n## `{row['pass']}`\n"
        yield f"{_prose(row['what_it_does'])}\n"
        also = f"Relay's name: `{row['other_name']}`. " if row["other_name"] else ""
        needs = f" Requires `{row['required']}`." if row["required"] else ""
        contract = f" Contract: `{row['contract']}`." if row["contract"] else ""
        yield f"{also}A {row['kind']} pass of level {row['opt_level']}.{needs}{contract}\n"
        if row["options"]:
            yield f"Options: `{row['options']}`\n"
        yield from _examples(sys.modules[find_factory(row["pass"]).__module__].__doc__ or "")


_TITLES = {"before": "Before", "after": "After", "keep": "Left as it is"}


def _examples(doc: str) -> Iterator[str]:
    """The programs of a pass's docstring, which are its tests."""
    for title, options, program in re.findall(
        r"^(before|after|keep):[ ]*(.*)\n((?:(?:[ ]{4}.*)?\n)+)", f"{doc}\n", re.MULTILINE
    ):
        given = f" with `{options}`" if options else ""
        yield f"{_TITLES[title]}{given}:\n\n```relay\n{textwrap.dedent(program).strip()}\n```\n"


_MARKUP = str.maketrans({"*": r"\*", "_": r"\_", "<": "&lt;", "[": r"\[", "$": r"\$"})


def _prose(text: str) -> str:
    """Documentation as Markdown: code in backticks is code, everything else is shown as it is."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if number % 2 else part.translate(_MARKUP) for number, part in enumerate(parts))


def onnx_operators() -> Iterator[str]:
    """The operators of ONNX that are imported: a table."""
    yield "\n| ONNX operator | definitions of opset | becomes |\n|---|---|---|"
    for entry in entries().values():
        yield f"| `{entry.name}` | {', '.join(map(str, entry.versions))} | {_cell(entry.doc)} |"


def pytorch_operators() -> Iterator[str]:
    """The operators of PyTorch that are imported: a table."""
    yield "\n| PyTorch operator | becomes |\n|---|---|"
    for name, translation in aten_entries().items():
        yield f"| `{name}` | {_cell(translation.__doc__ or '')} |"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/operators": operators,
    "reference/passes": passes,
    "how-to/importing-models": onnx_operators,
    "how-to/importing-pytorch": pytorch_operators,
}


def add_generated_part(app: Any, name: str, source: list[str]) -> None:
    """Append the generated part to a page as it is read."""
    if name in PAGES:
        source[0] += "\n".join(PAGES[name]())


def setup(app: Any) -> dict[str, Any]:
    """Join the build."""
    app.add_lexer("relay", RelayLexer)
    app.connect("source-read", add_generated_part)
    return {"parallel_read_safe": True}
